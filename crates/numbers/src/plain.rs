//! A plain floating-point number as a `Scalar`.

use std::fmt;

use cotangent_ops::{Binary, Comparison, Elementary, Lift, Precision, Ternary, Unary};

use crate::number::{inherent, number};

/// A plain number that can be combined with `f64`: how a function over `Scalar` is evaluated in `f32`.
///
/// ```
/// use cotangent_numbers::Plain;
///
/// let x = Plain(2.0_f32);
/// assert_eq!((x * 0.1 + 1.0).0, 2.0 * 0.1_f32 + 1.0);
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Plain<T>(pub T);

impl<T: Elementary<Mask = bool>> Lift for Plain<T> {
    type Mask = bool;

    const PLAIN: bool = T::PLAIN;

    #[inline(always)]
    fn lift(c: f64) -> Self {
        Plain(T::constant(c))
    }

    #[inline(always)]
    fn lift_rounded(c: f64) -> Self {
        Plain(T::rounded(c))
    }

    #[inline]
    fn precision() -> Precision {
        T::precision()
    }

    #[inline(always)]
    fn primal(self) -> f64 {
        self.0.value()
    }

    #[inline(always)]
    fn unary<O: Unary>(self, op: O) -> Self {
        Plain(op.value(self.0))
    }

    #[inline(always)]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        Plain(op.value(self.0, y.0))
    }

    #[inline(always)]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        Plain(op.value(self.0, y.0, z.0))
    }

    #[inline(always)]
    fn compare(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.0, &y.0)
    }

    #[inline(always)]
    fn choose(mask: bool, x: Self, y: Self) -> Self {
        if mask { x } else { y }
    }

    #[inline(always)]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.0, &y.0)
    }

    #[inline(always)]
    fn vanishes(self) -> bool {
        self.0.vanishes()
    }

    #[inline(always)]
    fn all_finite(self) -> bool {
        self.0.all_finite()
    }

    #[inline]
    fn doubles(x: &[Self]) -> Option<&[f64]> {
        T::as_f64s(inner(x))
    }

    #[inline]
    fn doubles_mut(x: &mut [Self]) -> Option<&mut [f64]> {
        T::as_f64s_mut(inner_mut(x))
    }

    #[inline]
    fn singles(x: &[Self]) -> Option<&[f32]> {
        T::as_f32s(inner(x))
    }

    #[inline]
    fn singles_mut(x: &mut [Self]) -> Option<&mut [f32]> {
        T::as_f32s_mut(inner_mut(x))
    }
}

/// What the numbers hold.
#[inline]
fn inner<T>(x: &[Plain<T>]) -> &[T] {
    // SAFETY: a `Plain` is laid out as what it holds.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast::<T>(), x.len()) }
}

/// What the numbers hold.
#[inline]
fn inner_mut<T>(x: &mut [Plain<T>]) -> &mut [T] {
    // SAFETY: a `Plain` is laid out as what it holds, and nobody else has the slice meanwhile.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast::<T>(), x.len()) }
}

number!([T: Elementary<Mask = bool>] Plain<T>);

impl<T: fmt::Debug> fmt::Debug for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
