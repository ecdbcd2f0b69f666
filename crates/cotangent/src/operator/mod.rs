//! The operators: what is computed of a function.
//!
//! Each comes in the same forms: a function that returns the result, one that also returns the value,
//! one that writes in place (`…_into`), and one that prepares. A prepared derivative is immutable and
//! can be shared between threads; evaluated with a workspace of its own, it allocates nothing.

mod derivative;
mod gradient;
mod hessian;
mod hvp;
mod jacobian;
mod products;
mod second_derivative;
mod taylor;

use std::sync::atomic::{AtomicU64, Ordering};

use cotangent_numbers::fault;

pub use derivative::{
    PreparedDerivative, derivative, derivative_into, prepare_derivative, value_and_derivative,
    value_and_derivative_into,
};
pub use gradient::{
    PreparedGradient, gradient, gradient_into, prepare_gradient, value_and_gradient,
    value_and_gradient_into,
};
pub use hessian::{
    PreparedHessian, hessian, hessian_into, prepare_hessian, value_gradient_and_hessian,
    value_gradient_and_hessian_into,
};
pub use hvp::{PreparedHvp, gradient_and_hvp, gradient_and_hvp_into, hvp, hvp_into, prepare_hvp};
pub use jacobian::{
    PreparedJacobian, jacobian, jacobian_into, prepare_jacobian, value_and_jacobian,
    value_and_jacobian_into,
};
pub use products::{
    PreparedPullback, PreparedPushforward, prepare_pullback, prepare_pushforward, pullback,
    pullback_into, pushforward, pushforward_into, value_and_pullback, value_and_pullback_into,
    value_and_pushforward, value_and_pushforward_into,
};
pub use second_derivative::{
    PreparedSecondDerivative, prepare_second_derivative, second_derivative, second_derivative_into,
    value_derivative_and_second_derivative, value_derivative_and_second_derivative_into,
};
pub use taylor::{PreparedTaylor, prepare_taylor, taylor, taylor_along, taylor_into};

use crate::error::{Error, check_size};
use crate::function::{Arity, Differentiable};
use crate::point::{Point, Real, Sizes, check_numbers};

/// The sizes of a function at a point.
pub(crate) fn sizes<F: Differentiable, T: Real>(f: &F, at: Point<'_, T>) -> Result<Sizes, Error> {
    check_numbers("the point", at.x)?;
    check_numbers("the constants", at.constants)?;
    if at.x.is_empty() {
        return Err(Error::Empty { what: "the point" });
    }
    if f.takes_constants() && at.constants.is_empty() {
        return Err(Error::NoConstants);
    }
    if F::Input::ONE {
        check_size("the point", 1, at.x.len(), "the function takes one number, not a slice")?;
    }
    let outputs = if F::Output::ONE {
        1
    } else {
        let (x, constants) = at.to_f64();
        fault::catch(|| f.outputs(&x, &constants))?
    };
    if outputs == 0 {
        return Err(Error::Empty { what: "the output" });
    }
    let inputs = at.x.len();
    Ok(Sizes { inputs, outputs, constants: at.constants.len(), directions: inputs })
}

/// An engine with an identity that its workspaces share.
#[derive(Debug)]
pub(crate) struct Prepared<E, T> {
    pub(crate) engine: E,
    id: u64,
    /// Where it was prepared: new workspaces are used there once, so that they are large enough.
    sample: (Vec<T>, Vec<T>),
}

impl<E, T: Real> Prepared<E, T> {
    pub(crate) fn new(engine: E, at: Point<'_, T>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let sample = (at.x.to_vec(), at.constants.to_vec());
        Prepared { engine, id: NEXT.fetch_add(1, Ordering::Relaxed), sample }
    }

    /// The number that tells it from all others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn sample(&self) -> Point<'_, T> {
        Point { x: &self.sample.0, constants: &self.sample.1 }
    }

    /// A workspace with room for results that an evaluation computes but was not asked for.
    pub(crate) fn workspace<W>(&self, inner: W, lengths: [usize; 2]) -> Workspace<W, T> {
        Workspace { inner, id: self.id, spare: lengths.map(|n| vec![T::zero(); n]) }
    }

    /// The inside of a workspace, if it is one of this engine's.
    pub(crate) fn open<'w, W>(
        &self,
        workspace: &'w mut Workspace<W, T>,
    ) -> Result<(&'w mut W, &'w mut [Vec<T>; 2]), Error> {
        if workspace.id == self.id {
            Ok((&mut workspace.inner, &mut workspace.spare))
        } else {
            Err(Error::ForeignWorkspace)
        }
    }
}

/// What changes during the evaluations of a prepared derivative: one for each thread that evaluates.
#[derive(Debug)]
pub struct Workspace<W, T = f64> {
    inner: W,
    id: u64,
    spare: [Vec<T>; 2],
}

/// Checks several tangents or cotangents of equal length and joins them.
pub(crate) fn join<T: Real, V: AsRef<[T]>>(
    what: &'static str,
    vectors: &[V],
    length: usize,
) -> Result<Vec<T>, Error> {
    let mut all = Vec::with_capacity(vectors.len() * length);
    for v in vectors {
        let v = v.as_ref();
        check_size(what, length, v.len(), "each has one entry for every number it goes with")?;
        check_numbers(what, v)?;
        all.extend_from_slice(v);
    }
    Ok(all)
}
