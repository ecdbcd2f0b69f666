//! The second derivative of a function of one variable.

use super::{Prepared, Workspace, sizes};
use crate::backend::{SecondOrderBackend, SecondOrderEngine};
use crate::error::{Error, check_size};
use crate::function::{Arity, Differentiable, One};
use crate::point::{Point, Real, ScalarPoint};

const REMEDY: &str = "there is one value, one first and one second derivative an output";

/// The second derivative: a number, or one an output.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x| x.powi(3));
/// assert_eq!(second_derivative(&f, &Forward::default(), 2.0)?, 12.0);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// NaN in the point, and what the function raised.
pub fn second_derivative<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
) -> Result<<F::Output as Arity>::Of<T>, Error>
where
    F: Differentiable<Input = One>,
    B: SecondOrderBackend,
    T: Real,
{
    value_derivative_and_second_derivative(f, backend, at).map(|(_, _, second)| second)
}

/// What a function of arity A gives, and its first and second derivative.
type Triple<A, T> = (<A as Arity>::Of<T>, <A as Arity>::Of<T>, <A as Arity>::Of<T>);

/// The value, the derivative and the second derivative.
///
/// # Errors
/// As [`second_derivative`].
pub fn value_derivative_and_second_derivative<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
) -> Result<Triple<F::Output, T>, Error>
where
    F: Differentiable<Input = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let [values, first, second] =
        prepare_second_derivative(f, backend, at)?.value_derivative_and_second_derivative(at)?;
    Ok((F::Output::of(values), F::Output::of(first), F::Output::of(second)))
}

/// The second derivative, in place.
///
/// # Errors
/// As [`second_derivative`].
pub fn second_derivative_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
    second: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable<Input = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_second_derivative(f, backend, at)?;
    prepared.second_derivative_into(at, second, &mut prepared.fresh())
}

/// The value, the derivative and the second derivative, in place.
///
/// # Errors
/// As [`second_derivative`].
pub fn value_derivative_and_second_derivative_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
    values: &mut [T],
    first: &mut [T],
    second: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable<Input = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_second_derivative(f, backend, at)?;
    let mut workspace = prepared.fresh();
    prepared.value_derivative_and_second_derivative_into(at, values, first, second, &mut workspace)
}

/// Prepares second derivatives of a function.
///
/// # Errors
/// NaN in the point, and what the function raised.
pub fn prepare_second_derivative<'a, F, B, T>(
    f: F,
    backend: &B,
    at: impl Into<ScalarPoint<'a, T>>,
) -> Result<PreparedSecondDerivative<B::Engine<F, T>, T>, Error>
where
    F: Differentiable<Input = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let sizes = sizes(&f, at.point())?;
    Ok(PreparedSecondDerivative(Prepared::new(
        backend.second_order(f, sizes, at.point())?,
        at.point(),
    )))
}

/// A second derivative that has been prepared.
#[derive(Debug)]
pub struct PreparedSecondDerivative<E, T = f64>(Prepared<E, T>);

impl<T: Real, E: SecondOrderEngine<T>> PreparedSecondDerivative<E, T> {
    /// Room for evaluations on one thread. It is tried out where the derivative was prepared, so that
    /// evaluations with it allocate nothing.
    pub fn workspace(&self) -> Workspace<E::Workspace, T> {
        let mut workspace = self.fresh();
        let mut second = vec![T::zero(); self.outputs()];
        if let Ok((inner, [values, first])) = self.0.open(&mut workspace) {
            let _ = self.evaluate(self.0.sample(), [values, first, &mut second], inner);
        }
        workspace
    }

    fn fresh(&self) -> Workspace<E::Workspace, T> {
        self.0.workspace(self.0.engine.workspace(), [self.outputs(); 2])
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.0.engine.sizes().outputs
    }

    /// The second derivatives of all outputs.
    ///
    /// # Errors
    /// NaN in the point, and what the function raised.
    pub fn second_derivative<'a>(
        &self,
        at: impl Into<ScalarPoint<'a, T>>,
    ) -> Result<Vec<T>, Error> {
        self.value_derivative_and_second_derivative(at).map(|[_, _, second]| second)
    }

    /// The outputs, their derivatives and their second derivatives.
    ///
    /// # Errors
    /// As [`PreparedSecondDerivative::second_derivative`].
    pub fn value_derivative_and_second_derivative<'a>(
        &self,
        at: impl Into<ScalarPoint<'a, T>>,
    ) -> Result<[Vec<T>; 3], Error> {
        let mut results = [0; 3].map(|_| vec![T::zero(); self.outputs()]);
        let [values, first, second] = &mut results;
        let mut workspace = self.fresh();
        self.value_derivative_and_second_derivative_into(
            at,
            values,
            first,
            second,
            &mut workspace,
        )?;
        Ok(results)
    }

    /// The second derivatives of all outputs, in place.
    ///
    /// # Errors
    /// As [`PreparedSecondDerivative::second_derivative`], and a workspace of another derivative.
    pub fn second_derivative_into<'a>(
        &self,
        at: impl Into<ScalarPoint<'a, T>>,
        second: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        let (inner, [values, first]) = self.0.open(workspace)?;
        self.evaluate(at.into().point(), [values, first, second], inner)
    }

    /// The outputs, their derivatives and their second derivatives, in place.
    ///
    /// # Errors
    /// As [`PreparedSecondDerivative::second_derivative_into`].
    pub fn value_derivative_and_second_derivative_into<'a>(
        &self,
        at: impl Into<ScalarPoint<'a, T>>,
        values: &mut [T],
        first: &mut [T],
        second: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        let (inner, _) = self.0.open(workspace)?;
        self.evaluate(at.into().point(), [values, first, second], inner)
    }

    fn evaluate(
        &self,
        at: Point<'_, T>,
        [values, first, second]: [&mut [T]; 3],
        inner: &mut E::Workspace,
    ) -> Result<(), Error> {
        let sizes = self.0.engine.sizes();
        sizes.check(at)?;
        check_size("the values", sizes.outputs, values.len(), REMEDY)?;
        check_size("the first derivative", sizes.outputs, first.len(), REMEDY)?;
        check_size("the second derivative", sizes.outputs, second.len(), REMEDY)?;
        self.0.engine.second_derivative(at, values, first, second, inner)
    }
}
