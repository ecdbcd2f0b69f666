//! The Hessian of a function of several variables.

use super::{Prepared, Workspace, sizes};
use crate::backend::{SecondOrderBackend, SecondOrderEngine};
use crate::error::{Error, check_size};
use crate::function::{Differentiable, Many, One};
use crate::matrix::Matrix;
use crate::point::{Point, Real};

const REMEDY: &str = "a Hessian has one row and one column an input, a gradient one entry";

/// The Hessian.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> S { x[0].powi(2) * x[1] });
/// let h = hessian(&f, &Auto, &[3.0, 5.0])?;
/// assert_eq!((h.row(0), h.row(1)), (vec![10.0, 6.0], vec![6.0, 0.0]));
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn hessian<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<Matrix<T>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
{
    value_gradient_and_hessian(f, backend, at).map(|(_, _, hessian)| hessian)
}

/// The value, the gradient and the Hessian.
///
/// # Errors
/// As [`hessian`].
pub fn value_gradient_and_hessian<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<(T, Vec<T>, Matrix<T>), Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    prepare_hessian(f, backend, at)?.value_gradient_and_hessian(at)
}

/// The Hessian, in place.
///
/// # Errors
/// As [`hessian`].
pub fn hessian_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    hessian: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_hessian(f, backend, at)?;
    prepared.hessian_into(at, hessian, &mut prepared.fresh())
}

/// The value, and the gradient and the Hessian in place.
///
/// # Errors
/// As [`hessian`].
pub fn value_gradient_and_hessian_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    gradient: &mut [T],
    hessian: &mut [T],
) -> Result<T, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_hessian(f, backend, at)?;
    prepared.value_gradient_and_hessian_into(at, gradient, hessian, &mut prepared.fresh())
}

/// Prepares Hessians of a function at points of the size of `at`.
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn prepare_hessian<'a, F, B, T>(
    f: F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<PreparedHessian<B::Engine<F, T>, T>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let sizes = sizes(&f, at)?;
    Ok(PreparedHessian(Prepared::new(backend.second_order(f, sizes, at)?, at)))
}

/// A Hessian that has been prepared.
#[derive(Debug)]
pub struct PreparedHessian<E, T = f64>(Prepared<E, T>);

impl<T: Real, E: SecondOrderEngine<T>> PreparedHessian<E, T> {
    /// Room for evaluations on one thread. It is tried out where the derivative was prepared, so that
    /// evaluations with it allocate nothing.
    pub fn workspace(&self) -> Workspace<E::Workspace, T> {
        let mut workspace = self.fresh();
        let n = self.0.engine.sizes().inputs;
        let mut hessian = vec![T::zero(); n * n];
        let _ = self.hessian_into(self.0.sample(), &mut hessian, &mut workspace);
        workspace
    }

    fn fresh(&self) -> Workspace<E::Workspace, T> {
        self.0.workspace(self.0.engine.workspace(), [self.0.engine.sizes().inputs, 0])
    }

    /// The Hessian.
    ///
    /// # Errors
    /// A point of another size than prepared for, NaN in it, and what the function raised.
    pub fn hessian<'a>(&self, at: impl Into<Point<'a, T>>) -> Result<Matrix<T>, Error> {
        self.value_gradient_and_hessian(at).map(|(_, _, hessian)| hessian)
    }

    /// The value, the gradient and the Hessian.
    ///
    /// # Errors
    /// As [`PreparedHessian::hessian`].
    pub fn value_gradient_and_hessian<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
    ) -> Result<(T, Vec<T>, Matrix<T>), Error> {
        let n = self.0.engine.sizes().inputs;
        let (mut gradient, mut hessian) =
            (vec![T::zero(); n], Matrix::try_filled(n, n, T::zero())?);
        let matrix = hessian.as_mut_slice();
        let mut workspace = self.fresh();
        let value =
            self.value_gradient_and_hessian_into(at, &mut gradient, matrix, &mut workspace)?;
        Ok((value, gradient, hessian))
    }

    /// The Hessian, in place.
    ///
    /// # Errors
    /// As [`PreparedHessian::hessian`], and a workspace of another derivative.
    pub fn hessian_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        hessian: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        let (inner, [gradient, _]) = self.0.open(workspace)?;
        self.evaluate(at.into(), gradient, hessian, inner).map(|_| ())
    }

    /// The value, and the gradient and the Hessian in place.
    ///
    /// # Errors
    /// As [`PreparedHessian::hessian_into`].
    pub fn value_gradient_and_hessian_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        gradient: &mut [T],
        hessian: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<T, Error> {
        let (inner, _) = self.0.open(workspace)?;
        self.evaluate(at.into(), gradient, hessian, inner)
    }

    fn evaluate(
        &self,
        at: Point<'_, T>,
        gradient: &mut [T],
        hessian: &mut [T],
        inner: &mut E::Workspace,
    ) -> Result<T, Error> {
        let sizes = self.0.engine.sizes();
        sizes.check(at)?;
        check_size("the gradient", sizes.inputs, gradient.len(), REMEDY)?;
        check_size("the Hessian", sizes.inputs * sizes.inputs, hessian.len(), REMEDY)?;
        self.0.engine.hessian(at, gradient, hessian, inner)
    }
}
