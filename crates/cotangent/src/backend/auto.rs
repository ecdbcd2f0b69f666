//! The choice of a backend by the shape of the problem.

use std::fmt;

use cotangent_numbers::{Counted, Counts, Elementary, count};

use super::forward::{ForwardEngine, chunk_size};
use super::reverse::ReverseEngine;
use super::second::{SecondOrderBackend, SecondOrderEngine, TINY};
use super::{Backend, Engine, Forward, Reverse, SecondOrder};
use crate::error::Error;
use crate::function::{Context, Differentiable};
use crate::point::{Point, Real, Sizes};

/// Forward or reverse mode, by the numbers of inputs, outputs and operations.
///
/// The rule of thumb: more outputs than inputs, or few inputs for the size of the code, forward;
/// fewer outputs than inputs and many inputs, reverse. [`Auto::explain`] says what it chose and why.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> S { x.windows(2).map(|w| (w[1] - w[0] * w[0]).powi(2)).sum::<S>() });
/// let few = Auto.explain(&f, &[1.0, 2.0]).unwrap();
/// assert!(few.to_string().starts_with("forward mode: 2 inputs"), "{few}");
/// let many = Auto.explain(&f, &vec![1.0; 500]).unwrap();
/// assert!(many.to_string().starts_with("reverse mode: 500 inputs"), "{many}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auto;

/// What [`Auto`] chose, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Whether it is forward mode; reverse mode if not.
    pub forward: bool,
    /// The estimated cost of a Jacobian by forward mode, in evaluations of the function.
    pub forward_cost: f64,
    /// The estimated cost of a Jacobian by reverse mode, in evaluations of the function.
    pub reverse_cost: f64,
    /// Inputs, outputs and constants.
    pub sizes: Sizes,
    /// The operations of one evaluation.
    pub operations: u64,
}

/// The cost of an operation on dual numbers: the value, and a share of a vector for each lane
/// (measured on Rosenbrock: 12 lanes cost 4 plain evaluations).
fn lane_cost(lanes: usize) -> f64 {
    1.0 + 0.25 * lanes as f64
}

/// The cost of recording an operation and of sweeping it, in arithmetic operations (measured on
/// Rosenbrock: 2 ns to record and 1.6 ns to sweep against 0.4 ns).
const RECORD: f64 = 5.0;
const SWEEP: f64 = 4.0;
/// What a call of a mathematical function costs, in arithmetic operations.
const FUNCTION: f64 = 12.0;

impl Choice {
    fn new(sizes: Sizes, counts: &Counts) -> Choice {
        let m = sizes.outputs;
        // Functions cost the same in both modes, so they speak for neither.
        let total = counts.total().max(1) as f64;
        let plain = counts.arithmetic() as f64 + FUNCTION * counts.functions() as f64;
        let chunk = chunk_size(sizes.directions);
        let passes = sizes.directions.div_ceil(chunk.max(1)) as f64;
        let forward = passes * (plain + total * (lane_cost(chunk) - 1.0));
        let sweeps = sizes.directions.min(m) as f64;
        let reverse = plain + total * (RECORD + SWEEP * sweeps);
        Choice {
            forward: forward <= reverse,
            forward_cost: forward / plain.max(1.0),
            reverse_cost: reverse / plain.max(1.0),
            sizes,
            operations: counts.total(),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes { inputs, outputs, .. } = self.sizes;
        let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mode = if self.forward { "forward" } else { "reverse" };
        write!(
            f,
            "{mode} mode: {}, {}, {} operations; a Jacobian costs about {:.1} evaluations by forward and \
             {:.1} by reverse mode",
            plural(inputs, "input"),
            plural(outputs, "output"),
            self.operations,
            self.forward_cost,
            self.reverse_cost,
        )
    }
}

impl Auto {
    /// What is chosen for a function near a point, and why.
    ///
    /// # Errors
    /// What the function raised.
    pub fn explain<'a, F: Differentiable, T: Real>(
        &self,
        f: &F,
        at: impl Into<Point<'a, T>>,
    ) -> Result<Choice, Error> {
        let at = at.into();
        let sizes = crate::operator::sizes(f, at)?;
        self.choose(f, sizes, at)
    }

    pub(super) fn choose<F: Differentiable, T: Real>(
        &self,
        f: &F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Choice, Error> {
        let constants: Vec<Counted<T>> = at.constants.iter().map(|v| Counted::new(*v)).collect();
        let mut y = vec![Counted::constant(0.0); sizes.outputs];
        let mut cache = vec![Counted::constant(0.0); f.cache(sizes.inputs)];
        let ((), counts) = count(at.x, |x| {
            f.call(x, &mut y, Context { constants: &constants, cache: &mut cache });
        })?;
        Ok(Choice::new(sizes, &counts))
    }
}

/// One of two engines.
pub enum Either<A, B> {
    /// The first.
    Forward(A),
    /// The second.
    Reverse(B),
}

impl Backend for Auto {
    type Engine<F: Differentiable, T: Real> = Either<ForwardEngine<F>, ReverseEngine<F>>;

    fn engine<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error> {
        Ok(if self.choose(&f, sizes, at)?.forward {
            Either::Forward(Forward::default().engine(f, sizes, at)?)
        } else {
            Either::Reverse(Reverse::default().engine(f, sizes, at)?)
        })
    }
}

/// Calls the engine that was chosen with the workspace of its kind; a workspace of the other kind,
/// made by another engine, is replaced.
macro_rules! either {
    ($self:ident, $workspace:ident, |$engine:ident, $room:ident| $call:expr) => {
        match $self {
            Either::Forward($engine) => {
                if !matches!($workspace, Either::Forward(_)) {
                    *$workspace = Either::Forward($engine.workspace());
                }
                let Either::Forward($room) = $workspace else { unreachable!("just replaced") };
                $call
            }
            Either::Reverse($engine) => {
                if !matches!($workspace, Either::Reverse(_)) {
                    *$workspace = Either::Reverse($engine.workspace());
                }
                let Either::Reverse($room) = $workspace else { unreachable!("just replaced") };
                $call
            }
        }
    };
}

impl<T: Real, A: Engine<T>, B: Engine<T>> Engine<T> for Either<A, B> {
    type Workspace = Either<A::Workspace, B::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        match self {
            Either::Forward(engine) => Either::Forward(engine.workspace()),
            Either::Reverse(engine) => Either::Reverse(engine.workspace()),
        }
    }

    fn sizes(&self) -> Sizes {
        match self {
            Either::Forward(engine) => engine.sizes(),
            Either::Reverse(engine) => engine.sizes(),
        }
    }

    fn jacobian(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        jacobian: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        either!(self, workspace, |engine, room| engine.jacobian(at, values, jacobian, room))
    }

    fn pushforward(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        values: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        either!(self, workspace, |engine, room| engine
            .pushforward(at, tangents, values, images, room))
    }

    fn pullback(
        &self,
        at: Point<'_, T>,
        cotangents: &[T],
        values: &mut [T],
        gradients: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        either!(self, workspace, |engine, room| engine
            .pullback(at, cotangents, values, gradients, room))
    }
}

/// Forward over reverse.
type ForwardOverReverse = SecondOrder<Forward, Reverse>;

impl SecondOrderBackend for Auto {
    type Engine<F: Differentiable, T: Real> = Either<
        <Forward as SecondOrderBackend>::Engine<F, T>,
        <ForwardOverReverse as SecondOrderBackend>::Engine<F, T>,
    >;

    /// Second-order numbers where they are wide enough, forward over reverse beyond.
    fn second_order<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, T>, Error> {
        Ok(if sizes.inputs <= TINY {
            Either::Forward(SecondOrderBackend::second_order(&Forward::default(), f, sizes, at)?)
        } else {
            let backend = ForwardOverReverse::default();
            Either::Reverse(backend.second_order(f, sizes, at)?)
        })
    }
}

impl<T: Real, A: SecondOrderEngine<T>, B: SecondOrderEngine<T>> SecondOrderEngine<T>
    for Either<A, B>
{
    type Workspace = Either<A::Workspace, B::Workspace>;

    fn workspace(&self) -> Self::Workspace {
        match self {
            Either::Forward(engine) => Either::Forward(engine.workspace()),
            Either::Reverse(engine) => Either::Reverse(engine.workspace()),
        }
    }

    fn sizes(&self) -> Sizes {
        match self {
            Either::Forward(engine) => engine.sizes(),
            Either::Reverse(engine) => engine.sizes(),
        }
    }

    fn hessian(
        &self,
        at: Point<'_, T>,
        gradient: &mut [T],
        hessian: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error> {
        either!(self, workspace, |engine, room| engine.hessian(at, gradient, hessian, room))
    }

    fn hvp(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        gradient: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error> {
        either!(self, workspace, |engine, room| engine.hvp(at, tangents, gradient, images, room))
    }

    fn second_derivative(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        first: &mut [T],
        second: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        either!(self, workspace, |engine, room| engine
            .second_derivative(at, values, first, second, room))
    }
}
