//! [`Lanes`] of one number: `f64` and `f32` themselves.

use crate::{LaneBits, Lanes, Table};

macro_rules! scalar {
    ($float:ty, $int:ty, $entries:ident, $double:expr) => {
        impl Lanes for $float {
            type Bits = $int;
            type Mask = bool;
            type Wide = f64;
            const DOUBLE: bool = $double;

            #[inline(always)]
            fn splat(c: f64) -> Self {
                c as $float
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$float>::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$float>::sqrt(self)
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn round_even(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$float>::copysign(self, sign)
            }
            #[inline(always)]
            fn lt(self, o: Self) -> bool {
                self < o
            }
            #[inline(always)]
            fn le(self, o: Self) -> bool {
                self <= o
            }
            #[inline(always)]
            fn gt(self, o: Self) -> bool {
                self > o
            }
            #[inline(always)]
            fn ge(self, o: Self) -> bool {
                self >= o
            }
            #[inline(always)]
            fn eq(self, o: Self) -> bool {
                self == o
            }
            #[inline(always)]
            fn ne(self, o: Self) -> bool {
                self != o
            }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
            #[inline(always)]
            fn to_bits(self) -> $int {
                <$float>::to_bits(self).cast_signed()
            }
            #[inline(always)]
            fn from_bits(bits: $int) -> Self {
                <$float>::from_bits(bits.cast_unsigned())
            }
            #[inline(always)]
            fn look_up(table: &'static Table, index: $int) -> Self {
                table.$entries[index as usize % table.$entries.len()]
            }
            #[inline(always)]
            fn widen(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn narrow(wide: f64) -> Self {
                wide as $float
            }
            #[inline(always)]
            fn rarely<const K: usize>(
                mask: bool,
                values: [Self; K],
                slow: impl FnOnce() -> [Self; K],
            ) -> [Self; K] {
                if mask { slow() } else { values }
            }
        }

        impl LaneBits for $int {
            type Mask = bool;

            #[inline(always)]
            fn splat(c: i64) -> Self {
                c as $int
            }
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                self.wrapping_sub(o)
            }
            #[inline(always)]
            fn and(self, o: Self) -> Self {
                self & o
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                self | o
            }
            #[inline(always)]
            fn xor(self, o: Self) -> Self {
                self ^ o
            }
            #[inline(always)]
            fn shl(self, by: u32) -> Self {
                self << by
            }
            #[inline(always)]
            fn shr(self, by: u32) -> Self {
                (self.cast_unsigned() >> by).cast_signed()
            }
            #[inline(always)]
            fn sar(self, by: u32) -> Self {
                self >> by
            }
            #[inline(always)]
            fn eq(self, o: Self) -> bool {
                self == o
            }
            #[inline(always)]
            fn lt(self, o: Self) -> bool {
                self < o
            }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
        }
    };
}

scalar!(f64, i64, doubles, true);
scalar!(f32, i32, singles, false);
