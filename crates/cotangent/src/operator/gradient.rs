//! The gradient of a function of several variables.

use super::{Prepared, Workspace, sizes};
use crate::backend::{Backend, Engine};
use crate::error::{Error, check_size};
use crate::function::{Differentiable, Many, One};
use crate::point::{Point, Real};

const REMEDY: &str = "a gradient has one entry an input";

/// The gradient.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> S { x[0].sin() * x[1].cos() });
/// let g = gradient(&f, &Auto, &[1.0, 1.0])?;
/// assert!((g[0] - 0.2919265817264289).abs() < 1e-15);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn gradient<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<Vec<T>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: Backend,
    T: Real,
{
    value_and_gradient(f, backend, at).map(|(_, gradient)| gradient)
}

/// The value and the gradient.
///
/// # Errors
/// As [`gradient`].
pub fn value_and_gradient<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<(T, Vec<T>), Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let mut gradient = vec![T::zero(); at.x.len()];
    let value = value_and_gradient_into(f, backend, at, &mut gradient)?;
    Ok((value, gradient))
}

/// The gradient, in place.
///
/// # Errors
/// As [`gradient`].
pub fn gradient_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    gradient: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: Backend,
    T: Real,
{
    value_and_gradient_into(f, backend, at, gradient).map(|_| ())
}

/// The value, and the gradient in place.
///
/// # Errors
/// As [`gradient`].
pub fn value_and_gradient_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    gradient: &mut [T],
) -> Result<T, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_gradient(f, backend, at)?;
    prepared.value_and_gradient_into(at, gradient, &mut prepared.fresh())
}

/// Prepares gradients of a function at points of the size of `at`.
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn prepare_gradient<'a, F, B, T>(
    f: F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<PreparedGradient<B::Engine<F, T>, T>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: Backend,
    T: Real,
{
    let at = at.into();
    let sizes = sizes(&f, at)?;
    Ok(PreparedGradient(Prepared::new(backend.engine(f, sizes, at)?, at)))
}

/// A gradient that has been prepared.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> S { x.iter().map(|x| x.powi(2)).sum::<S>() });
/// let prepared = prepare_gradient(f, &Reverse::default(), &[0.0; 3])?;
/// let mut workspace = prepared.workspace();
/// let mut gradient = [0.0; 3];
/// for k in 0..10 {
///     // allocates nothing
///     prepared.gradient_into(&[1.0, 2.0, f64::from(k)], &mut gradient, &mut workspace)?;
///     assert_eq!(gradient, [2.0, 4.0, 2.0 * f64::from(k)]);
/// }
/// assert!(prepared.gradient(&[1.0, 2.0]).is_err());
/// # Ok::<(), cotangent::Error>(())
/// ```
#[derive(Debug)]
pub struct PreparedGradient<E, T = f64>(Prepared<E, T>);

impl<T: Real, E: Engine<T>> PreparedGradient<E, T> {
    /// Room for evaluations on one thread. It is tried out where the derivative was prepared, so that
    /// evaluations with it allocate nothing.
    pub fn workspace(&self) -> Workspace<E::Workspace, T> {
        let mut workspace = self.fresh();
        let mut gradient = vec![T::zero(); self.0.engine.sizes().inputs];
        let _ = self.gradient_into(self.0.sample(), &mut gradient, &mut workspace);
        workspace
    }

    fn fresh(&self) -> Workspace<E::Workspace, T> {
        self.0.workspace(self.0.engine.workspace(), [0, 0])
    }

    /// The gradient.
    ///
    /// # Errors
    /// A point of another size than prepared for, NaN in it, and what the function raised.
    pub fn gradient<'a>(&self, at: impl Into<Point<'a, T>>) -> Result<Vec<T>, Error> {
        self.value_and_gradient(at).map(|(_, gradient)| gradient)
    }

    /// The value and the gradient.
    ///
    /// # Errors
    /// As [`PreparedGradient::gradient`].
    pub fn value_and_gradient<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
    ) -> Result<(T, Vec<T>), Error> {
        let mut gradient = vec![T::zero(); self.0.engine.sizes().inputs];
        let value = self.value_and_gradient_into(at, &mut gradient, &mut self.fresh())?;
        Ok((value, gradient))
    }

    /// The gradient, in place.
    ///
    /// # Errors
    /// As [`PreparedGradient::gradient`], and a workspace of another derivative.
    pub fn gradient_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        gradient: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        self.value_and_gradient_into(at, gradient, workspace).map(|_| ())
    }

    /// The value, and the gradient in place.
    ///
    /// # Errors
    /// As [`PreparedGradient::gradient_into`].
    pub fn value_and_gradient_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        gradient: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<T, Error> {
        let at = at.into();
        let sizes = self.0.engine.sizes();
        sizes.check(at)?;
        check_size("the gradient", sizes.inputs, gradient.len(), REMEDY)?;
        let (inner, _) = self.0.open(workspace)?;
        let mut value = [T::zero()];
        self.0.engine.jacobian(at, &mut value, gradient, inner)?;
        Ok(value[0])
    }
}
