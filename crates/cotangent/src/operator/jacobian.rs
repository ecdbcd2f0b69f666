//! The Jacobian of a function of several variables with several outputs.

use super::{Prepared, Workspace, sizes};
use crate::backend::{Backend, Engine};
use crate::error::{Error, check_size};
use crate::function::{Differentiable, Many};
use crate::matrix::Matrix;
use crate::point::{Point, Real};

const REMEDY: &str = "a Jacobian has one column an input, each with one entry an output";
const VALUES: &str = "there is one value an output";

/// The Jacobian.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> [S; 2] { [x[0] * x[1], x[0].exp()] });
/// let j = jacobian(&f, &Forward::default(), &[0.0, 3.0])?;
/// assert_eq!((j.row(0), j.row(1)), (vec![3.0, 0.0], vec![1.0, 0.0]));
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn jacobian<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<Matrix<T>, Error>
where
    F: Differentiable<Input = Many, Output = Many>,
    B: Backend,
    T: Real,
{
    value_and_jacobian(f, backend, at).map(|(_, jacobian)| jacobian)
}

/// The outputs and the Jacobian.
///
/// # Errors
/// As [`jacobian`].
pub fn value_and_jacobian<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<(Vec<T>, Matrix<T>), Error>
where
    F: Differentiable<Input = Many, Output = Many>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    prepare_jacobian(f, backend, at)?.value_and_jacobian(at)
}

/// The Jacobian, in place, column by column.
///
/// # Errors
/// As [`jacobian`].
pub fn jacobian_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    jacobian: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable<Input = Many, Output = Many>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_jacobian(f, backend, at)?;
    prepared.jacobian_into(at, jacobian, &mut prepared.fresh())
}

/// The outputs and the Jacobian, in place.
///
/// # Errors
/// As [`jacobian`].
pub fn value_and_jacobian_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    values: &mut [T],
    jacobian: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable<Input = Many, Output = Many>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_jacobian(f, backend, at)?;
    prepared.value_and_jacobian_into(at, values, jacobian, &mut prepared.fresh())
}

/// Prepares Jacobians of a function at points of the size of `at`.
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn prepare_jacobian<'a, F, B, T>(
    f: F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<PreparedJacobian<B::Engine<F, T>, T>, Error>
where
    F: Differentiable<Input = Many, Output = Many>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let sizes = sizes(&f, at)?;
    Ok(PreparedJacobian(Prepared::new(backend.engine(f, sizes, at)?, at)))
}

/// A Jacobian that has been prepared.
#[derive(Debug)]
pub struct PreparedJacobian<E, T = f64>(Prepared<E, T>);

impl<T: Real, E: Engine<T>> PreparedJacobian<E, T> {
    /// Room for evaluations on one thread. It is tried out where the derivative was prepared, so that
    /// evaluations with it allocate nothing.
    pub fn workspace(&self) -> Workspace<E::Workspace, T> {
        let mut workspace = self.fresh();
        let (m, n) = self.shape();
        let mut jacobian = vec![T::zero(); m * n];
        let _ = self.jacobian_into(self.0.sample(), &mut jacobian, &mut workspace);
        workspace
    }

    fn fresh(&self) -> Workspace<E::Workspace, T> {
        self.0.workspace(self.0.engine.workspace(), [self.0.engine.sizes().outputs, 0])
    }

    /// The numbers of rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        let sizes = self.0.engine.sizes();
        (sizes.outputs, sizes.inputs)
    }

    /// The Jacobian.
    ///
    /// # Errors
    /// A point of another size than prepared for, NaN in it, and what the function raised.
    pub fn jacobian<'a>(&self, at: impl Into<Point<'a, T>>) -> Result<Matrix<T>, Error> {
        self.value_and_jacobian(at).map(|(_, jacobian)| jacobian)
    }

    /// The outputs and the Jacobian.
    ///
    /// # Errors
    /// As [`PreparedJacobian::jacobian`].
    pub fn value_and_jacobian<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
    ) -> Result<(Vec<T>, Matrix<T>), Error> {
        let (m, n) = self.shape();
        let (mut values, mut jacobian) = (vec![T::zero(); m], Matrix::try_filled(m, n, T::zero())?);
        let matrix = jacobian.as_mut_slice();
        self.value_and_jacobian_into(at, &mut values, matrix, &mut self.fresh())?;
        Ok((values, jacobian))
    }

    /// The Jacobian, in place, column by column.
    ///
    /// # Errors
    /// As [`PreparedJacobian::jacobian`], and a workspace of another derivative.
    pub fn jacobian_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        jacobian: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        let (inner, [values, _]) = self.0.open(workspace)?;
        self.evaluate(at.into(), values, jacobian, inner)
    }

    /// The outputs and the Jacobian, in place.
    ///
    /// # Errors
    /// As [`PreparedJacobian::jacobian_into`].
    pub fn value_and_jacobian_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        values: &mut [T],
        jacobian: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        let (inner, _) = self.0.open(workspace)?;
        self.evaluate(at.into(), values, jacobian, inner)
    }

    fn evaluate(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        jacobian: &mut [T],
        inner: &mut E::Workspace,
    ) -> Result<(), Error> {
        let sizes = self.0.engine.sizes();
        sizes.check(at)?;
        check_size("the values", sizes.outputs, values.len(), VALUES)?;
        check_size("the Jacobian", sizes.inputs * sizes.outputs, jacobian.len(), REMEDY)?;
        self.0.engine.jacobian(at, values, jacobian, inner)
    }
}
