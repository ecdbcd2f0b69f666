//! Second derivatives: one backend over another.
//!
//! An [`Inner`] backend computes first derivatives over any number; an [`Outer`] backend chooses that
//! number and differentiates the result once more. Every outer goes with every inner.

mod inner;
mod outer;
mod tiny;

pub use inner::Inner;
pub(crate) use outer::LANES as OUTER_LANES;
pub use outer::Outer;
pub(super) use tiny::MOST as TINY;

use super::{FiniteDifferences, Forward, Reverse};
use crate::error::Error;
use crate::function::Differentiable;
use crate::point::{Point, Real, Sizes};

/// One backend over another.
///
/// Forward over reverse costs one recording and sweep on dual numbers for every few columns of
/// a Hessian, and is right for all but the smallest functions.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> S { x[0].powi(2) * x[1] });
/// let backend = SecondOrder { outer: Forward::default(), inner: Reverse::default() };
/// let h = hessian(&f, &backend, &[3.0, 5.0]).unwrap();
/// assert_eq!(h.row(0), [10.0, 6.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondOrder<O, I> {
    /// Differentiates the first derivative.
    pub outer: O,
    /// Computes the first derivative.
    pub inner: I,
}

/// A way to compute second derivatives.
///
/// A first-order backend is one, too: [`Forward`] uses second-order numbers for few inputs and nested
/// duals beyond, [`Reverse`] is differentiated by forward mode, and [`FiniteDifferences`] by itself.
pub trait SecondOrderBackend: Clone + std::fmt::Debug + Send + Sync {
    /// What computes them for a function.
    type Engine<F: Differentiable, T: Real>: SecondOrderEngine<T>;

    /// Prepares for a function of these sizes, typically used near `at`.
    ///
    /// # Errors
    /// If the backend's settings are impossible.
    fn second_order<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error>;
}

/// Second derivatives of one function.
///
/// Slices have been checked by the caller; `hessian` and `hvp` are for functions of one output,
/// `second_derivative` for functions of one input.
pub trait SecondOrderEngine<T: Real> {
    /// What changes during an evaluation.
    type Workspace: Send;

    /// Room for evaluations; what depends on the point grows with the first one.
    fn workspace(&self) -> Self::Workspace;

    /// The sizes it was prepared for.
    fn sizes(&self) -> Sizes;

    /// The value, the gradient and the Hessian.
    ///
    /// # Errors
    /// What the function raised.
    fn hessian(
        &self,
        at: Point<'_, T>,
        gradient: &mut [T],
        hessian: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error>;

    /// The value, the gradient and the products of the Hessian with tangents.
    ///
    /// # Errors
    /// What the function raised.
    fn hvp(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        gradient: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error>;

    /// The outputs and their first and second derivatives to the one input.
    ///
    /// # Errors
    /// What the function raised.
    fn second_derivative(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        first: &mut [T],
        second: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error>;
}

impl<O: Outer, I: Inner> SecondOrderBackend for SecondOrder<O, I> {
    type Engine<F: Differentiable, T: Real> = O::Engine<F, I, T>;

    fn second_order<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error> {
        self.outer.second_order(f, self.inner.clone(), sizes, at)
    }
}

impl SecondOrderBackend for Forward {
    type Engine<F: Differentiable, T: Real> = tiny::ForwardSecond<F>;

    fn second_order<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error> {
        tiny::ForwardSecond::new(*self, f, sizes, at)
    }
}

impl SecondOrderBackend for Reverse {
    type Engine<F: Differentiable, T: Real> = <Forward as Outer>::Engine<F, Reverse, T>;

    fn second_order<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error> {
        Outer::second_order(&Forward::default(), f, *self, sizes, at)
    }
}

impl SecondOrderBackend for FiniteDifferences {
    type Engine<F: Differentiable, T: Real> =
        <FiniteDifferences as Outer>::Engine<F, FiniteDifferences, T>;

    /// Steps for second differences: the inner error is divided by the outer step, so both are larger.
    fn second_order<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error> {
        let mut twice = *self;
        if twice.step.is_none() && !twice.richardson {
            twice.step = Some(T::precision().epsilon.powf(1.0 / (twice.order as f64 + 2.0)));
        }
        Outer::second_order(&twice, f, twice, sizes, at)
    }
}
