//! Backends: ways to compute derivatives, as small values that combine.
//!
//! A [`Backend`] makes an [`Engine`] for a function: immutable, shared between threads. What changes
//! during an evaluation is in the engine's workspace, which the caller owns.

mod auto;
mod buffers;
mod finite;
mod forward;
mod machine;
mod mixed;
mod reverse;
mod second;

use cotangent_sparse::{Cost, Costs};

pub use auto::{Auto, Choice};
pub use finite::FiniteDifferences;
pub use forward::Forward;
pub use machine::MachineCode;
pub use mixed::{Mixed, MixedEngine};
pub use reverse::Reverse;
pub(crate) use reverse::record_program;
pub(crate) use second::OUTER_LANES;
pub use second::{Inner, Outer, SecondOrder, SecondOrderBackend, SecondOrderEngine};

pub(crate) use buffers::Buffers;
pub(crate) use finite::{Differences, differentiate};

use crate::error::Error;
use crate::function::Differentiable;
use crate::point::{Point, Real, Sizes};

/// A way to compute first derivatives.
pub trait Backend: Clone + std::fmt::Debug + Send + Sync {
    /// What computes them for a function.
    type Engine<F: Differentiable, T: Real>: Engine<T>;

    /// Prepares for a function of these sizes, typically used near `at`.
    ///
    /// # Errors
    /// If the backend's settings are impossible, or the function fails at the point.
    fn engine<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error>;

    /// What products with tangents (jvp) and cotangents (vjp) cost, in evaluations of the function;
    /// `None` for a kind that is only had by way of the whole Jacobian.
    fn product_costs(&self) -> Costs {
        Costs { jvp: Some(Cost::each(1.0)), ..Costs::default() }
    }
}

/// First derivatives of one function.
///
/// Matrices are in column-major order; several tangents or cotangents follow one another. All slices
/// have been checked against [`sizes`](Engine::sizes) by the caller.
pub trait Engine<T: Real> {
    /// What changes during an evaluation.
    type Workspace: Send;

    /// Room for evaluations; what depends on the point grows with the first one.
    fn workspace(&self) -> Self::Workspace;

    /// The sizes it was prepared for.
    fn sizes(&self) -> Sizes;

    /// The outputs and the Jacobian.
    ///
    /// # Errors
    /// What the function raised.
    fn jacobian(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        jacobian: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error>;

    /// The outputs and the products of the Jacobian with tangents.
    ///
    /// # Errors
    /// What the function raised.
    fn pushforward(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        values: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error>;

    /// [`pushforward`](Engine::pushforward) with tangents that are the same at each call with this
    /// number: an engine may keep them in the workspace.
    ///
    /// # Errors
    /// What the function raised.
    fn pushforward_again(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        _number: u64,
        values: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        self.pushforward(at, tangents, values, images, workspace)
    }

    /// The outputs and the products of the transposed Jacobian with cotangents.
    ///
    /// # Errors
    /// What the function raised.
    fn pullback(
        &self,
        at: Point<'_, T>,
        cotangents: &[T],
        values: &mut [T],
        gradients: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error>;
}
