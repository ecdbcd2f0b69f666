//! First derivatives over any number.

use cotangent_numbers::{Base, Dual, Fault, Scalar, Tape, Var};

use crate::backend::buffers::Buffers;
use crate::backend::finite::{Differences, differentiate, scale_of};
use crate::backend::{FiniteDifferences, Forward, Reverse};
use crate::error::Error;
use crate::function::{Context, Differentiable};
use crate::point::Sizes;

/// Lanes of an inner forward gradient: each is multiplied by the width of the outer number, so few.
const LANES: usize = 4;

/// A backend that computes first derivatives over any number, to be differentiated again.
pub trait Inner: Clone + std::fmt::Debug + Send + Sync {
    /// Whether a directional derivative costs much less than a gradient.
    const DIRECTIONAL: bool;

    /// Room for evaluations over numbers S.
    type Scratch<S: Base>: Send;

    /// Room for a function of these sizes.
    fn scratch<F: Differentiable, S: Base + Scalar>(&self, f: &F, sizes: Sizes)
    -> Self::Scratch<S>;

    /// Whether the settings are possible.
    ///
    /// # Errors
    /// If not.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The value and the gradient of a function of one output.
    ///
    /// # Errors
    /// What the function raised.
    fn gradient<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        x: &[S],
        constants: &[S],
        gradient: &mut [S],
        scratch: &mut Self::Scratch<S>,
    ) -> Result<S, Fault>;

    /// The outputs and their derivatives along a tangent.
    ///
    /// # Errors
    /// What the function raised.
    #[allow(clippy::too_many_arguments, reason = "a point, a tangent and two results")]
    fn directional<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        x: &[S],
        constants: &[S],
        tangent: &[S],
        values: &mut [S],
        images: &mut [S],
        scratch: &mut Self::Scratch<S>,
    ) -> Result<(), Fault>;
}

/// Room for inner forward mode.
pub struct ForwardScratch<S: Base> {
    wide: Buffers<Dual<S, LANES>>,
    narrow: Buffers<Dual<S, 1>>,
}

impl Inner for Forward {
    const DIRECTIONAL: bool = true;

    type Scratch<S: Base> = ForwardScratch<S>;

    fn scratch<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        sizes: Sizes,
    ) -> ForwardScratch<S> {
        ForwardScratch { wide: Buffers::new(f, sizes), narrow: Buffers::new(f, sizes) }
    }

    fn gradient<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        x: &[S],
        constants: &[S],
        gradient: &mut [S],
        scratch: &mut ForwardScratch<S>,
    ) -> Result<S, Fault> {
        let wide = &mut scratch.wide;
        wide.load(x, constants, Dual::fixed);
        let mut value = S::zero();
        for (i, chunk) in gradient.chunks_mut(LANES).enumerate() {
            let first = i * LANES;
            for lane in 0..chunk.len() {
                wide.x[first + lane].partials[lane] = S::one();
            }
            wide.call(f);
            for (lane, g) in chunk.iter_mut().enumerate() {
                *g = wide.y[0].partials[lane];
                wide.x[first + lane].partials[lane] = S::zero();
            }
            value = wide.y[0].value;
        }
        Ok(value)
    }

    fn directional<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        x: &[S],
        constants: &[S],
        tangent: &[S],
        values: &mut [S],
        images: &mut [S],
        scratch: &mut ForwardScratch<S>,
    ) -> Result<(), Fault> {
        let narrow = &mut scratch.narrow;
        narrow.load(x, constants, Dual::fixed);
        for (x, t) in narrow.x.iter_mut().zip(tangent) {
            x.partials[0] = *t;
        }
        narrow.call(f);
        for ((value, image), y) in values.iter_mut().zip(images).zip(&narrow.y) {
            (*value, *image) = (y.value, y.partials[0]);
        }
        Ok(())
    }
}

/// Room for inner reverse mode.
pub struct ReverseScratch<S: Base> {
    tape: Tape<S>,
    y: Vec<Var<S>>,
    constants: Vec<Var<S>>,
    cache: Vec<Var<S>>,
}

impl<S: Base> ReverseScratch<S> {
    fn record<F: Differentiable>(&mut self, f: &F, x: &[S], constants: &[S]) -> Result<(), Fault> {
        let ReverseScratch { tape, y, constants: p, cache } = self;
        y.fill(Var::from(0.0));
        cache.fill(Var::from(0.0));
        for (to, from) in p.iter_mut().zip(constants) {
            *to = Var::fixed(*from);
        }
        tape.record(x, |x| f.call(x, y, Context { constants: p, cache }))
    }
}

impl Inner for Reverse {
    const DIRECTIONAL: bool = false;

    type Scratch<S: Base> = ReverseScratch<S>;

    fn scratch<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        sizes: Sizes,
    ) -> ReverseScratch<S> {
        ReverseScratch {
            tape: Tape::new(),
            y: vec![Var::from(0.0); sizes.outputs],
            constants: vec![Var::from(0.0); sizes.constants],
            cache: vec![Var::from(0.0); f.cache(sizes.inputs)],
        }
    }

    fn gradient<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        x: &[S],
        constants: &[S],
        gradient: &mut [S],
        scratch: &mut ReverseScratch<S>,
    ) -> Result<S, Fault> {
        scratch.record(f, x, constants)?;
        let y = scratch.y[0];
        gradient.copy_from_slice(scratch.tape.gradient(y)?);
        Ok(y.peek())
    }

    fn directional<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        x: &[S],
        constants: &[S],
        tangent: &[S],
        values: &mut [S],
        images: &mut [S],
        scratch: &mut ReverseScratch<S>,
    ) -> Result<(), Fault> {
        scratch.record(f, x, constants)?;
        for (value, y) in values.iter_mut().zip(&scratch.y) {
            *value = y.peek();
        }
        scratch.tape.pushforward(tangent, &scratch.y, images)
    }
}

/// Room for inner finite differences.
pub struct FiniteScratch<S: Base> {
    buffers: Buffers<S>,
    room: Differences<S>,
    column: Vec<S>,
}

impl FiniteDifferences {
    fn along<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        x: &[S],
        tangent: impl Fn(usize) -> S,
        scratch: &mut FiniteScratch<S>,
    ) {
        let FiniteScratch { buffers, room, column } = scratch;
        let scale = scale_of(x, |i| tangent(i).value());
        let evaluate = |t: f64, y: &mut [S]| {
            for (i, to) in buffers.x.iter_mut().enumerate() {
                *to = x[i] + tangent(i) * t;
            }
            buffers.call(f);
            y.copy_from_slice(&buffers.y);
        };
        differentiate(self, scale, room, evaluate, column);
    }
}

impl Inner for FiniteDifferences {
    const DIRECTIONAL: bool = true;

    type Scratch<S: Base> = FiniteScratch<S>;

    fn scratch<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        sizes: Sizes,
    ) -> FiniteScratch<S> {
        FiniteScratch {
            buffers: Buffers::new(f, sizes),
            room: Differences::new(sizes.outputs),
            column: vec![S::zero(); sizes.outputs],
        }
    }

    fn check(&self) -> Result<(), Error> {
        FiniteDifferences::check(self)
    }

    fn gradient<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        x: &[S],
        constants: &[S],
        gradient: &mut [S],
        scratch: &mut FiniteScratch<S>,
    ) -> Result<S, Fault> {
        scratch.buffers.load(x, constants, |v| v);
        scratch.buffers.call(f);
        let value = scratch.buffers.y[0];
        for (j, g) in gradient.iter_mut().enumerate() {
            self.along(f, x, |i| if i == j { S::one() } else { S::zero() }, scratch);
            *g = scratch.column[0];
        }
        Ok(value)
    }

    fn directional<F: Differentiable, S: Base + Scalar>(
        &self,
        f: &F,
        x: &[S],
        constants: &[S],
        tangent: &[S],
        values: &mut [S],
        images: &mut [S],
        scratch: &mut FiniteScratch<S>,
    ) -> Result<(), Fault> {
        scratch.buffers.load(x, constants, |v| v);
        scratch.buffers.call(f);
        values.copy_from_slice(&scratch.buffers.y);
        self.along(f, x, |i| tangent[i], scratch);
        images.copy_from_slice(&scratch.column);
        Ok(())
    }
}
