//! [`Lanes`] of an array: `N` numbers side by side.

use std::array::from_fn;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use crate::{LaneBits, LaneMask, Lanes, Table};

/// `N` numbers, integers or truth values that every instruction treats alike.
///
/// Where the compiler has vector instructions these loops become them: 8 doubles or 16 singles
/// fill a register of AVX-512.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Pack<T, const N: usize>(pub [T; N]);

impl<T: Copy, const N: usize> Pack<T, N> {
    #[inline(always)]
    fn map<R>(self, f: impl Fn(T) -> R) -> Pack<R, N> {
        Pack(from_fn(|i| f(self.0[i])))
    }
    #[inline(always)]
    fn zip<S: Copy, R>(self, o: Pack<S, N>, f: impl Fn(T, S) -> R) -> Pack<R, N> {
        Pack(from_fn(|i| f(self.0[i], o.0[i])))
    }
}

#[inline(always)]
fn pick<T: Copy, const N: usize>(
    mask: Pack<bool, N>,
    yes: Pack<T, N>,
    no: Pack<T, N>,
) -> Pack<T, N> {
    Pack(from_fn(|i| if mask.0[i] { yes.0[i] } else { no.0[i] }))
}

macro_rules! operators {
    ($($class:ident $method:ident)*) => {$(
        impl<T: Copy + $class<Output = T>, const N: usize> $class for Pack<T, N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                self.zip(o, T::$method)
            }
        }
    )*};
}
operators!(Add add Sub sub Mul mul Div div BitAnd bitand BitOr bitor BitXor bitxor);

impl<T: Copy + Neg<Output = T>, const N: usize> Neg for Pack<T, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(T::neg)
    }
}

impl<T: Copy + Not<Output = T>, const N: usize> Not for Pack<T, N> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self.map(T::not)
    }
}

impl<const N: usize> LaneMask for Pack<bool, N> {}

macro_rules! compare {
    ($($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> Self::Mask {
            self.zip(o, Lanes::$name)
        }
    )*};
}

macro_rules! pack {
    ($float:ty, $int:ty) => {
        impl<const N: usize> Lanes for Pack<$float, N> {
            type Bits = Pack<$int, N>;
            type Mask = Pack<bool, N>;
            type Wide = Pack<f64, N>;
            const DOUBLE: bool = <$float>::DOUBLE;

            compare!(lt le gt ge eq ne);

            #[inline(always)]
            fn splat(c: f64) -> Self {
                Pack([<$float>::splat(c); N])
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.map(Lanes::abs)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.map(Lanes::sqrt)
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                Pack(from_fn(|i| self.0[i].fma(b.0[i], c.0[i])))
            }
            #[inline(always)]
            fn round_even(self) -> Self {
                self.map(Lanes::round_even)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                self.zip(sign, Lanes::copysign)
            }
            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                pick(mask, yes, no)
            }
            #[inline(always)]
            fn to_bits(self) -> Self::Bits {
                self.map(Lanes::to_bits)
            }
            #[inline(always)]
            fn from_bits(bits: Self::Bits) -> Self {
                bits.map(Lanes::from_bits)
            }
            #[inline(always)]
            fn look_up(table: &'static Table, index: Self::Bits) -> Self {
                index.map(|index| <$float>::look_up(table, index))
            }
            #[inline(always)]
            fn widen(self) -> Self::Wide {
                self.map(Lanes::widen)
            }
            #[inline(always)]
            fn narrow(wide: Self::Wide) -> Self {
                wide.map(Lanes::narrow)
            }
            #[inline(always)]
            fn rarely<const K: usize>(
                mask: Self::Mask,
                values: [Self; K],
                slow: impl FnOnce() -> [Self; K],
            ) -> [Self; K] {
                if mask.0.iter().fold(false, |any, &m| any | m) {
                    let slow = slow();
                    from_fn(|k| pick(mask, slow[k], values[k]))
                } else {
                    values
                }
            }
        }

        impl<const N: usize> LaneBits for Pack<$int, N> {
            type Mask = Pack<bool, N>;

            #[inline(always)]
            fn splat(c: i64) -> Self {
                Pack([<$int>::splat(c); N])
            }
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                self.zip(o, LaneBits::add)
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                self.zip(o, LaneBits::sub)
            }
            #[inline(always)]
            fn and(self, o: Self) -> Self {
                self.zip(o, LaneBits::and)
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                self.zip(o, LaneBits::or)
            }
            #[inline(always)]
            fn xor(self, o: Self) -> Self {
                self.zip(o, LaneBits::xor)
            }
            #[inline(always)]
            fn shl(self, by: u32) -> Self {
                self.map(|x| LaneBits::shl(x, by))
            }
            #[inline(always)]
            fn shr(self, by: u32) -> Self {
                self.map(|x| LaneBits::shr(x, by))
            }
            #[inline(always)]
            fn sar(self, by: u32) -> Self {
                self.map(|x| x.sar(by))
            }
            #[inline(always)]
            fn eq(self, o: Self) -> Self::Mask {
                self.zip(o, LaneBits::eq)
            }
            #[inline(always)]
            fn lt(self, o: Self) -> Self::Mask {
                self.zip(o, LaneBits::lt)
            }
            #[inline(always)]
            fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
                pick(mask, yes, no)
            }
        }
    };
}

pack!(f64, i64);
pack!(f32, i32);
