//! The trait that user functions are generic over.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Rem, RemAssign, Sub, SubAssign};

use crate::Elementary;

/// A number as user code sees it: `f64` itself, or anything that stands for it.
///
/// A function written over `Scalar` can be evaluated, differentiated, bounded, traced and recorded
/// as it stands. It has all methods of [`Elementary`], the operators, and arithmetic and comparison
/// with `f64` on the right.
///
/// ```
/// use cotangent_ops::{Elementary, Scalar};
///
/// fn rosenbrock<S: Scalar>(x: &[S]) -> S {
///     let mut sum = S::zero();
///     for w in x.windows(2) {
///         sum += (w[1] - w[0] * w[0]).powi(2) * 100.0 + (w[0] - 1.0).powi(2);
///     }
///     sum
/// }
/// assert_eq!(rosenbrock(&[1.0, 1.0, 1.0]), 0.0);
/// assert_eq!(rosenbrock(&[0.0, 0.0]), 1.0);
/// ```
///
/// `f32` is [`Elementary`] and a base of every number type, but not a `Scalar`, because Rust has no
/// product of `f32` and `f64`; its stand-in is `Plain<f32>`.
pub trait Scalar:
    Elementary
    + From<f64>
    + PartialEq<f64>
    + PartialOrd<f64>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + Rem<f64, Output = Self>
    + AddAssign<f64>
    + SubAssign<f64>
    + MulAssign<f64>
    + DivAssign<f64>
    + RemAssign<f64>
{
}

impl<T> Scalar for T where
    T: Elementary
        + From<f64>
        + PartialEq<f64>
        + PartialOrd<f64>
        + Add<f64, Output = T>
        + Sub<f64, Output = T>
        + Mul<f64, Output = T>
        + Div<f64, Output = T>
        + Rem<f64, Output = T>
        + AddAssign<f64>
        + SubAssign<f64>
        + MulAssign<f64>
        + DivAssign<f64>
        + RemAssign<f64>
{
}
