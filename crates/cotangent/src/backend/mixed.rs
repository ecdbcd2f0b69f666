//! Forward mode for products with the Jacobian, reverse mode for products with its transpose.

use std::sync::Arc;

use cotangent_sparse::Costs;

use super::{Backend, Engine, Forward, Inner, Outer, Reverse, SecondOrder, SecondOrderBackend};
use crate::error::Error;
use crate::function::Differentiable;
use crate::point::{Point, Real, Sizes};

/// Two backends: one for products with tangents, one for products with cotangents.
///
/// A sparse Jacobian with dense rows and dense columns is found from a few of each kind.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::Mixed;
///
/// let f = function!(|x: &[S]| -> [S; 2] { [x[0] * x[1], x[0] + x[1]] });
/// let both = Mixed::<Forward, Reverse>::default();
/// assert_eq!(pushforward(&f, &both, &[2.0, 3.0], &[[1.0, 0.0]])?, [[3.0, 1.0]]);
/// assert_eq!(pullback(&f, &both, &[2.0, 3.0], &[[1.0, 0.0]])?, [[3.0, 2.0]]);
/// # Ok::<(), cotangent::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mixed<A = Forward, B = Reverse> {
    /// For products with tangents.
    pub forward: A,
    /// For products with cotangents.
    pub reverse: B,
}

impl<A: Backend, B: Backend> Backend for Mixed<A, B> {
    type Engine<F: Differentiable, T: Real> =
        MixedEngine<A::Engine<Arc<F>, T>, B::Engine<Arc<F>, T>>;

    fn engine<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error> {
        let f = Arc::new(f);
        let forward = self.forward.engine(f.clone(), sizes, at)?;
        Ok(MixedEngine { forward, reverse: self.reverse.engine(f, sizes, at)? })
    }

    fn product_costs(&self) -> Costs {
        Costs {
            jvp: self.forward.product_costs().jvp,
            vjp: self.reverse.product_costs().vjp,
            hvp: None,
        }
    }
}

impl<O: Outer, I: Inner> SecondOrderBackend for Mixed<O, I> {
    type Engine<F: Differentiable, T: Real> =
        <SecondOrder<O, I> as SecondOrderBackend>::Engine<F, T>;

    fn second_order<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error> {
        let Mixed { forward, reverse } = self.clone();
        SecondOrder { outer: forward, inner: reverse }.second_order(f, sizes, at)
    }
}

/// Two engines for one function.
#[derive(Debug)]
pub struct MixedEngine<A, B> {
    forward: A,
    reverse: B,
}

impl<T: Real, A: Engine<T>, B: Engine<T>> Engine<T> for MixedEngine<A, B> {
    type Workspace = (A::Workspace, B::Workspace);

    fn workspace(&self) -> Self::Workspace {
        (self.forward.workspace(), self.reverse.workspace())
    }

    fn sizes(&self) -> Sizes {
        self.forward.sizes()
    }

    /// By the mode that has fewer directions to take.
    fn jacobian(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        jacobian: &mut [T],
        (forward, reverse): &mut Self::Workspace,
    ) -> Result<(), Error> {
        if self.sizes().outputs < self.sizes().inputs {
            self.reverse.jacobian(at, values, jacobian, reverse)
        } else {
            self.forward.jacobian(at, values, jacobian, forward)
        }
    }

    fn pushforward(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        values: &mut [T],
        images: &mut [T],
        (workspace, _): &mut Self::Workspace,
    ) -> Result<(), Error> {
        self.forward.pushforward(at, tangents, values, images, workspace)
    }

    fn pushforward_again(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        number: u64,
        values: &mut [T],
        images: &mut [T],
        (workspace, _): &mut Self::Workspace,
    ) -> Result<(), Error> {
        self.forward.pushforward_again(at, tangents, number, values, images, workspace)
    }

    fn pullback(
        &self,
        at: Point<'_, T>,
        cotangents: &[T],
        values: &mut [T],
        gradients: &mut [T],
        (_, workspace): &mut Self::Workspace,
    ) -> Result<(), Error> {
        self.reverse.pullback(at, cotangents, values, gradients, workspace)
    }
}
