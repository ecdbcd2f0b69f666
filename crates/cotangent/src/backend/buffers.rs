//! Room for calling a function on numbers of one type.

use cotangent_numbers::Scalar;

use crate::function::{Context, Differentiable};
use crate::point::Sizes;

/// Input, output, constants and cache of a function on numbers of one type.
pub(crate) struct Buffers<S> {
    pub(crate) x: Vec<S>,
    pub(crate) y: Vec<S>,
    pub(crate) constants: Vec<S>,
    pub(crate) cache: Vec<S>,
}

impl<S: Scalar> Buffers<S> {
    pub(crate) fn new<F: Differentiable>(f: &F, sizes: Sizes) -> Self {
        Buffers {
            x: vec![S::zero(); sizes.inputs],
            y: vec![S::zero(); sizes.outputs],
            constants: vec![S::zero(); sizes.constants],
            cache: vec![S::zero(); f.cache(sizes.inputs)],
        }
    }

    /// Sets input and constants.
    pub(crate) fn load<T: Copy>(&mut self, x: &[T], constants: &[T], lift: impl Fn(T) -> S) {
        for (to, from) in self.x.iter_mut().zip(x).chain(self.constants.iter_mut().zip(constants)) {
            *to = lift(*from);
        }
    }

    /// Calls the function on what is loaded. The outputs are zero before, so that a function may add to
    /// them.
    #[inline]
    pub(crate) fn call<F: Differentiable>(&mut self, f: &F) {
        self.y.fill(S::zero());
        let context = Context { constants: &self.constants, cache: &mut self.cache };
        f.call(&self.x, &mut self.y, context);
    }
}
