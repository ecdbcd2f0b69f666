//! [`Lanes`] in two registers: the doubles that as many singles are widened to.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use crate::{LaneBits, LaneMask, Lanes, Table};

/// Two of the same; every instruction is done to both.
#[derive(Clone, Copy)]
pub(crate) struct Pair<T>(pub(crate) T, pub(crate) T);

macro_rules! operators {
    ($($class:ident $method:ident)*) => {$(
        impl<T: $class<Output = T>> $class for Pair<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                Self(self.0.$method(o.0), self.1.$method(o.1))
            }
        }
    )*};
}
operators!(Add add Sub sub Mul mul Div div BitAnd bitand BitOr bitor BitXor bitxor);

impl<T: Neg<Output = T>> Neg for Pair<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl<T: Not<Output = T>> Not for Pair<T> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0, !self.1)
    }
}

impl<M: LaneMask> LaneMask for Pair<M> {}

macro_rules! both {
    ($class:ident; $($name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $type),*) -> $out {
            Pair($class::$name(self.0, $($arg.0),*), $class::$name(self.1, $($arg.1),*))
        }
    )*};
}

impl<L: Lanes<Wide = L>> Lanes for Pair<L> {
    type Bits = Pair<L::Bits>;
    type Mask = Pair<L::Mask>;
    type Wide = Self;
    const DOUBLE: bool = L::DOUBLE;

    both! { Lanes;
        abs() -> Self;
        sqrt() -> Self;
        fma(b: Self, c: Self) -> Self;
        round_even() -> Self;
        copysign(sign: Self) -> Self;
        lt(o: Self) -> Self::Mask;
        le(o: Self) -> Self::Mask;
        gt(o: Self) -> Self::Mask;
        ge(o: Self) -> Self::Mask;
        eq(o: Self) -> Self::Mask;
        ne(o: Self) -> Self::Mask;
        smaller(o: Self) -> Self;
        larger(o: Self) -> Self;
        to_bits() -> Self::Bits;
    }
    #[inline(always)]
    fn splat(c: f64) -> Self {
        Self(L::splat(c), L::splat(c))
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self(L::select(mask.0, yes.0, no.0), L::select(mask.1, yes.1, no.1))
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Self(L::from_bits(bits.0), L::from_bits(bits.1))
    }
    #[inline(always)]
    fn look_up(table: &'static Table, index: Self::Bits) -> Self {
        Self(L::look_up(table, index.0), L::look_up(table, index.1))
    }
    #[inline(always)]
    fn widen(self) -> Self {
        self
    }
    #[inline(always)]
    fn narrow(wide: Self) -> Self {
        wide
    }
    #[inline(always)]
    fn rarely<const K: usize>(
        mask: Self::Mask,
        values: [Self; K],
        slow: impl FnOnce() -> [Self; K],
    ) -> [Self; K] {
        // Both halves go the slow way together; the empty array asks only whether any lane does.
        let mut out = values;
        L::rarely(
            mask.0 | mask.1,
            [],
            #[inline(always)]
            || {
                let slow = slow();
                for k in 0..K {
                    out[k] = Self::select(mask, slow[k], values[k]);
                }
                []
            },
        );
        out
    }
}

impl<B: LaneBits> LaneBits for Pair<B> {
    type Mask = Pair<B::Mask>;

    both! { LaneBits;
        add(o: Self) -> Self;
        sub(o: Self) -> Self;
        and(o: Self) -> Self;
        or(o: Self) -> Self;
        xor(o: Self) -> Self;
        eq(o: Self) -> Self::Mask;
        lt(o: Self) -> Self::Mask;
    }
    #[inline(always)]
    fn splat(c: i64) -> Self {
        Self(B::splat(c), B::splat(c))
    }
    #[inline(always)]
    fn shl(self, by: u32) -> Self {
        Self(self.0.shl(by), self.1.shl(by))
    }
    #[inline(always)]
    fn shr(self, by: u32) -> Self {
        Self(self.0.shr(by), self.1.shr(by))
    }
    #[inline(always)]
    fn sar(self, by: u32) -> Self {
        Self(self.0.sar(by), self.1.sar(by))
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self(B::select(mask.0, yes.0, no.0), B::select(mask.1, yes.1, no.1))
    }
}
