//! The derivative of a function of one variable.

use super::{Prepared, Workspace, sizes};
use crate::backend::{Backend, Engine};
use crate::error::{Error, check_size};
use crate::function::{Arity, Differentiable, One};
use crate::point::{Point, Real, ScalarPoint};

const REMEDY: &str = "there is one value and one derivative an output";

/// The derivative: a number, or one an output.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x| x.sin());
/// assert_eq!(derivative(&f, &Forward::default(), 0.0)?, 1.0);
/// let circle = function!(|t: S| -> [S; 2] { [t.cos(), t.sin()] });
/// assert_eq!(derivative(&circle, &Forward::default(), 0.0)?, [0.0, 1.0]);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// NaN in the point, and what the function raised.
pub fn derivative<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
) -> Result<<F::Output as Arity>::Of<T>, Error>
where
    F: Differentiable<Input = One>,
    B: Backend,
    T: Real,
{
    value_and_derivative(f, backend, at).map(|(_, derivative)| derivative)
}

/// What a function of arity A gives, and its derivative.
type Pair<A, T> = (<A as Arity>::Of<T>, <A as Arity>::Of<T>);

/// The value and the derivative.
///
/// # Errors
/// As [`derivative`].
pub fn value_and_derivative<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
) -> Result<Pair<F::Output, T>, Error>
where
    F: Differentiable<Input = One>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_derivative(f, backend, at)?;
    let m = prepared.outputs();
    let (mut values, mut derivative) = (vec![T::zero(); m], vec![T::zero(); m]);
    let mut workspace = prepared.fresh();
    prepared.value_and_derivative_into(at, &mut values, &mut derivative, &mut workspace)?;
    Ok((F::Output::of(values), F::Output::of(derivative)))
}

/// The derivative, in place.
///
/// # Errors
/// As [`derivative`].
pub fn derivative_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
    derivative: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable<Input = One>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_derivative(f, backend, at)?;
    prepared.derivative_into(at, derivative, &mut prepared.fresh())
}

/// The value and the derivative, in place.
///
/// # Errors
/// As [`derivative`].
pub fn value_and_derivative_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
    values: &mut [T],
    derivative: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable<Input = One>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_derivative(f, backend, at)?;
    prepared.value_and_derivative_into(at, values, derivative, &mut prepared.fresh())
}

/// Prepares derivatives of a function.
///
/// # Errors
/// NaN in the point, and what the function raised.
pub fn prepare_derivative<'a, F, B, T>(
    f: F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
) -> Result<PreparedDerivative<B::Engine<F, T>, T>, Error>
where
    F: Differentiable<Input = One>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let sizes = sizes(&f, at.point())?;
    Ok(PreparedDerivative(Prepared::new(backend.engine(f, sizes, at.point())?, at.point())))
}

/// A derivative that has been prepared.
#[derive(Debug)]
pub struct PreparedDerivative<E, T = f64>(Prepared<E, T>);

impl<T: Real, E: Engine<T>> PreparedDerivative<E, T> {
    /// Room for evaluations on one thread. It is tried out where the derivative was prepared, so that
    /// evaluations with it allocate nothing.
    pub fn workspace(&self) -> Workspace<E::Workspace, T> {
        let mut workspace = self.fresh();
        let mut derivative = vec![T::zero(); self.outputs()];
        if let Ok((inner, [values, _])) = self.0.open(&mut workspace) {
            let _ = self.evaluate(self.0.sample(), values, &mut derivative, inner);
        }
        workspace
    }

    fn fresh(&self) -> Workspace<E::Workspace, T> {
        self.0.workspace(self.0.engine.workspace(), [self.outputs(), 0])
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.0.engine.sizes().outputs
    }

    /// The derivatives of all outputs.
    ///
    /// # Errors
    /// NaN in the point, and what the function raised.
    pub fn derivative<'a>(&self, at: impl Into<ScalarPoint<'a, T>>) -> Result<Vec<T>, Error> {
        let mut derivative = vec![T::zero(); self.outputs()];
        self.derivative_into(at, &mut derivative, &mut self.fresh())?;
        Ok(derivative)
    }

    /// The outputs and their derivatives.
    ///
    /// # Errors
    /// As [`PreparedDerivative::derivative`].
    pub fn value_and_derivative<'a>(
        &self,
        at: impl Into<ScalarPoint<'a, T>>,
    ) -> Result<(Vec<T>, Vec<T>), Error> {
        let m = self.outputs();
        let (mut values, mut derivative) = (vec![T::zero(); m], vec![T::zero(); m]);
        self.value_and_derivative_into(at, &mut values, &mut derivative, &mut self.fresh())?;
        Ok((values, derivative))
    }

    /// The derivatives of all outputs, in place.
    ///
    /// # Errors
    /// As [`PreparedDerivative::derivative`], and a workspace of another derivative.
    pub fn derivative_into<'a>(
        &self,
        at: impl Into<ScalarPoint<'a, T>>,
        derivative: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        let (inner, [values, _]) = self.0.open(workspace)?;
        self.evaluate(at.into().point(), values, derivative, inner)
    }

    /// The outputs and their derivatives, in place.
    ///
    /// # Errors
    /// As [`PreparedDerivative::derivative_into`].
    pub fn value_and_derivative_into<'a>(
        &self,
        at: impl Into<ScalarPoint<'a, T>>,
        values: &mut [T],
        derivative: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        let (inner, _) = self.0.open(workspace)?;
        self.evaluate(at.into().point(), values, derivative, inner)
    }

    fn evaluate(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        derivative: &mut [T],
        inner: &mut E::Workspace,
    ) -> Result<(), Error> {
        let sizes = self.0.engine.sizes();
        sizes.check(at)?;
        check_size("the values", sizes.outputs, values.len(), REMEDY)?;
        check_size("the derivative", sizes.outputs, derivative.len(), REMEDY)?;
        self.0.engine.jacobian(at, values, derivative, inner)
    }
}
