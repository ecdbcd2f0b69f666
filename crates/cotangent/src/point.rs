//! Where a function is differentiated.

use cotangent_ir::{Function, RunError};
use cotangent_jit::Number;
use cotangent_numbers::{Base, Elementary, Plain};

use crate::error::{Error, check_size};

/// A floating-point type that derivatives are computed in: `f64` or `f32`.
pub trait Real:
    Elementary<Mask = bool>
    + Base
    + Number
    + std::fmt::Display
    + std::fmt::Debug
    + Default
    + Send
    + Sync
    + sealed::Sealed
{
    /// The numbers themselves as a [`Scalar`](crate::Scalar).
    #[doc(hidden)]
    fn plain(x: Self) -> Plain<Self> {
        Plain(x)
    }

    /// What a program gives for these numbers, interpreted on them.
    #[doc(hidden)]
    fn interpreted(program: &Function, x: &[Self]) -> Result<Vec<Self>, RunError>;
}

impl Real for f64 {
    fn interpreted(program: &Function, x: &[f64]) -> Result<Vec<f64>, RunError> {
        program.run(x)
    }
}

impl Real for f32 {
    fn interpreted(program: &Function, x: &[f32]) -> Result<Vec<f32>, RunError> {
        let x: Vec<Plain<f32>> = x.iter().copied().map(Plain).collect();
        Ok(program.run(&x)?.into_iter().map(|y| y.0).collect())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

/// The input of a function and the constants it is called with.
///
/// Anything that is a slice makes a point; a pair of them is a point with constants:
///
/// ```
/// use cotangent::Point;
///
/// let x = vec![1.0, 2.0];
/// let plain: Point<f64> = (&x).into();
/// assert!(plain.constants.is_empty());
/// let with_constants = Point::from((&x, &[3.0]));
/// assert_eq!(with_constants.constants, [3.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Point<'a, T = f64> {
    /// The input.
    pub x: &'a [T],
    /// What the function's [`Context`](crate::Context) holds as constants.
    pub constants: &'a [T],
}

impl<'a, T, X: AsRef<[T]> + ?Sized> From<&'a X> for Point<'a, T> {
    fn from(x: &'a X) -> Self {
        Point { x: x.as_ref(), constants: &[] }
    }
}

impl<'a, T, X: AsRef<[T]> + ?Sized, P: AsRef<[T]> + ?Sized> From<(&'a X, &'a P)> for Point<'a, T> {
    fn from((x, constants): (&'a X, &'a P)) -> Self {
        Point { x: x.as_ref(), constants: constants.as_ref() }
    }
}

impl<T: Real> Point<'_, T> {
    /// The point in double precision.
    pub(crate) fn to_f64(self) -> (Vec<f64>, Vec<f64>) {
        let plain = |v: &[T]| v.iter().map(|v| (*v).into()).collect();
        (plain(self.x), plain(self.constants))
    }
}

/// The sizes that a derivative was prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Inputs.
    pub inputs: usize,
    /// Outputs.
    pub outputs: usize,
    /// Constants.
    pub constants: usize,
    /// The tangents that are taken together: as many as there are inputs, if nothing else is known.
    pub directions: usize,
}

impl Sizes {
    /// Checks that a point fits and holds no NaN.
    pub(crate) fn check<T: Real>(&self, at: Point<'_, T>) -> Result<(), Error> {
        let remedy = "prepare anew for points of another size";
        check_size("the point", self.inputs, at.x.len(), remedy)?;
        check_size("the constants", self.constants, at.constants.len(), remedy)?;
        check_numbers("the point", at.x)?;
        check_numbers("the constants", at.constants)
    }
}

/// Whether there is a NaN; without an early exit, so that it vectorises.
#[inline]
pub(crate) fn any_nan<T: Real>(x: &[T]) -> bool {
    x.iter().fold(false, |found, v| found | v.is_nan())
}

/// Refuses NaN.
#[inline]
pub(crate) fn check_numbers<T: Real>(what: &'static str, x: &[T]) -> Result<(), Error> {
    if !any_nan(x) {
        return Ok(());
    }
    let index = x.iter().position(|v| v.is_nan()).unwrap_or(0);
    Err(Error::NotANumber { what, index })
}

/// The one input of a function and the constants it is called with: a number, or a pair.
#[derive(Clone, Copy, Debug)]
pub struct ScalarPoint<'a, T = f64> {
    /// The input.
    pub x: [T; 1],
    /// What the function's [`Context`](crate::Context) holds as constants.
    pub constants: &'a [T],
}

impl<T: Real> ScalarPoint<'_, T> {
    pub(crate) fn point(&self) -> Point<'_, T> {
        Point { x: &self.x, constants: self.constants }
    }
}

impl<T: Real> From<T> for ScalarPoint<'_, T> {
    fn from(x: T) -> Self {
        ScalarPoint { x: [x], constants: &[] }
    }
}

impl<'a, T: Real, P: AsRef<[T]> + ?Sized> From<(T, &'a P)> for ScalarPoint<'a, T> {
    fn from((x, constants): (T, &'a P)) -> Self {
        ScalarPoint { x: [x], constants: constants.as_ref() }
    }
}
