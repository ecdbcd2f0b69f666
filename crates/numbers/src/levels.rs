//! Outer values in inner derivatives.
//!
//! A number built on another is one level above it; an operation between the two takes the lower one
//! as a constant of the upper level. The levels are in the types, so there is nothing to confuse:
//! numbers of two derivatives at the same level differ in their brand, and numbers two or more
//! levels apart do not mix without [`Dual::fixed`].

use std::ops::{Add, Div, Mul, Rem, Sub};

use cotangent_ops::Elementary;

use crate::Base;
use crate::dual::{Brand, Dual};
use crate::jet::Jet;
use crate::tape::Var;

/// A number that carries more than a value, hence can be the level below another.
///
/// `f64` and `f32` are not: they are constants at every level.
pub trait Level: Elementary {}

impl<T: Elementary, const N: usize, B: Brand> Level for Dual<T, N, B> {}
impl<T: Elementary, const L: usize> Level for Jet<T, L> {}
impl<T: Base> Level for Var<T> {}

/// All operations between a level and the one below it, the lower one on the right.
macro_rules! with_lower {
    ($generics:tt $Upper:ty, $Lower:ty) => {
        operator!($generics $Upper, $Lower => $Upper, Add add);
        operator!($generics $Upper, $Lower => $Upper, Sub sub);
        operator!($generics $Upper, $Lower => $Upper, Mul mul);
        operator!($generics $Upper, $Lower => $Upper, Div div);
        operator!($generics $Upper, $Lower => $Upper, Rem rem);
    };
}

/// All operations between a level and the one above it, the lower one on the left.
macro_rules! with_upper {
    ($generics:tt $Lower:ty, $Upper:ty) => {
        operator!($generics $Lower, $Upper => $Upper, Add add);
        operator!($generics $Lower, $Upper => $Upper, Sub sub);
        operator!($generics $Lower, $Upper => $Upper, Mul mul);
        operator!($generics $Lower, $Upper => $Upper, Div div);
        operator!($generics $Lower, $Upper => $Upper, Rem rem);
    };
}

macro_rules! operator {
    ([$($generics:tt)*] $Left:ty, $Right:ty => $Upper:ty, $Op:ident $op:ident) => {
        impl<$($generics)*> $Op<$Right> for $Left {
            type Output = $Upper;
            #[inline]
            #[track_caller]
            fn $op(self, y: $Right) -> $Upper {
                let (x, y): ($Upper, $Upper) = (Raise::raise(self), Raise::raise(y));
                $Op::$op(x, y)
            }
        }
    };
}

/// A number as one of the level above it, or of its own.
trait Raise<Upper> {
    fn raise(self) -> Upper;
}

macro_rules! raise {
    ([$($generics:tt)*] [$($own:tt)*] $Upper:ident) => {
        impl<$($generics)*> Raise<$Upper<$($own)*>> for $Upper<$($own)*> {
            #[inline(always)]
            fn raise(self) -> Self {
                self
            }
        }

        impl<$($generics)*> Raise<$Upper<$($own)*>> for T {
            #[inline(always)]
            fn raise(self) -> $Upper<$($own)*> {
                <$Upper<$($own)*>>::fixed(self)
            }
        }
    };
}

raise!([T: Level, const N: usize, B: Brand] [T, N, B] Dual);
raise!([T: Level, const L: usize] [T, L] Jet);
raise!([T: Level + 'static] [T] Var);

with_lower!([T: Level, const N: usize, B: Brand] Dual<T, N, B>, T);
with_lower!([T: Level, const L: usize] Jet<T, L>, T);
with_lower!([T: Level + 'static] Var<T>, T);

with_upper!([T: Elementary, const N: usize, const M: usize, B: Brand, C: Brand] Dual<T, N, B>, Dual<Dual<T, N, B>, M, C>);
with_upper!([T: Elementary, const N: usize, const L: usize, B: Brand] Dual<T, N, B>, Jet<Dual<T, N, B>, L>);
with_upper!([T: Base, const N: usize, B: Brand + 'static] Dual<T, N, B>, Var<Dual<T, N, B>>);
with_upper!([T: Elementary, const L: usize, const N: usize, B: Brand] Jet<T, L>, Dual<Jet<T, L>, N, B>);
with_upper!([T: Elementary, const L: usize, const M: usize] Jet<T, L>, Jet<Jet<T, L>, M>);
with_upper!([T: Base, const L: usize] Jet<T, L>, Var<Jet<T, L>>);
with_upper!([T: Base, const N: usize, B: Brand] Var<T>, Dual<Var<T>, N, B>);
with_upper!([T: Base, const L: usize] Var<T>, Jet<Var<T>, L>);
with_upper!([T: Base] Var<T>, Var<Var<T>>);
