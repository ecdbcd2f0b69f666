//! Reverse mode: a tape, swept back for each output or forth for each tangent.

use cotangent_numbers::{Fault, Program, Replay, Tape, Var};

use cotangent_sparse::{Cost, Costs};

use super::{Backend, Engine};
use crate::error::Error;
use crate::function::{Context, Differentiable};
use crate::point::{Point, Real, Sizes};

/// Reverse mode.
///
/// Costs one recorded evaluation and one sweep an output: best for many inputs and few outputs.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> S { x.iter().map(|x| x.sin()).sum::<S>() });
/// let g = gradient(&f, &Reverse::default(), &vec![0.0; 1000]).unwrap();
/// assert!(g.iter().all(|g| *g == 1.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reverse {
    /// Record the function once, when it is prepared, and replay the recording. Where a branch goes
    /// another way than when it was recorded, the function is recorded anew, for that evaluation.
    /// For `f64` only; other types are recorded each time.
    pub replay: bool,
}

impl Backend for Reverse {
    type Engine<F: Differentiable, T: Real> = ReverseEngine<F>;

    fn engine<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<ReverseEngine<F>, Error> {
        let program = match (T::as_f64s(at.x), T::as_f64s(at.constants)) {
            (Some(x), Some(constants)) if self.replay => {
                Some(record_program(&f, sizes, x, constants)?)
            }
            _ => None,
        };
        Ok(ReverseEngine { f, sizes, program })
    }

    /// Recording costs 5 evaluations, a sweep 4 (see `Auto`).
    fn product_costs(&self) -> Costs {
        Costs { vjp: Some(Cost { once: 5.0, each: 4.0 }), ..Costs::default() }
    }
}

/// Records a function as a program; the constants are inputs behind the others.
pub(crate) fn record_program<F: Differentiable>(
    f: &F,
    sizes: Sizes,
    x: &[f64],
    constants: &[f64],
) -> Result<Program, Fault> {
    let all = [x, constants].concat();
    Program::record(&all, |all| {
        let (x, constants) = all.split_at(sizes.inputs);
        let mut y = vec![Var::from(0.0); sizes.outputs];
        let mut cache = vec![Var::from(0.0); f.cache(sizes.inputs)];
        f.call(x, &mut y, Context { constants, cache: &mut cache });
        y
    })
}

/// Reverse mode of one function.
pub struct ReverseEngine<F> {
    f: F,
    sizes: Sizes,
    program: Option<Program>,
}

/// The tape of a reverse evaluation.
pub struct ReverseWorkspace<T: Real> {
    tape: Tape<T>,
    y: Vec<Var<T>>,
    constants: Vec<Var<T>>,
    cache: Vec<Var<T>>,
    weights: Vec<(Var<T>, T)>,
    replay: Replay<f64>,
    /// Input and constants of a replay, and its weights.
    inputs: Vec<f64>,
    plain: Vec<f64>,
    /// A unit vector and a row of the Jacobian.
    unit: Vec<T>,
    row: Vec<T>,
}

/// What an evaluation is to be swept for.
enum Recorded {
    Tape,
    Replay,
}

impl<F: Differentiable> ReverseEngine<F> {
    /// Evaluates the function and keeps what the sweeps need.
    fn evaluate<T: Real>(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        workspace: &mut ReverseWorkspace<T>,
    ) -> Result<Recorded, Error> {
        if let (Some(program), Some(x), Some(constants), Some(values)) =
            (&self.program, T::as_f64s(at.x), T::as_f64s(at.constants), T::as_f64s_mut(values))
        {
            workspace.inputs.clear();
            workspace.inputs.extend_from_slice(x);
            workspace.inputs.extend_from_slice(constants);
            match program.replay(&workspace.inputs, &mut workspace.replay) {
                Ok(()) => {
                    program.values(&workspace.replay, values)?;
                    return Ok(Recorded::Replay);
                }
                Err(Fault::GuardFailed { .. }) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
        self.record(at, workspace)?;
        for (value, y) in values.iter_mut().zip(&workspace.y) {
            *value = y.peek();
        }
        Ok(Recorded::Tape)
    }

    fn record<T: Real>(
        &self,
        at: Point<'_, T>,
        workspace: &mut ReverseWorkspace<T>,
    ) -> Result<(), Error> {
        let ReverseWorkspace { tape, y, constants, cache, .. } = workspace;
        y.fill(Var::from(0.0));
        cache.fill(Var::from(0.0));
        for (to, from) in constants.iter_mut().zip(at.constants) {
            *to = Var::fixed(*from);
        }
        tape.record(at.x, |x| self.f.call(x, y, Context { constants, cache }))?;
        Ok(())
    }

    /// The gradient of the weighted outputs.
    fn weigh<T: Real>(
        &self,
        recorded: &Recorded,
        weights: &[T],
        gradient: &mut [T],
        workspace: &mut ReverseWorkspace<T>,
    ) -> Result<(), Error> {
        match (recorded, &self.program) {
            (Recorded::Replay, Some(program)) => {
                workspace.plain.clear();
                workspace.plain.extend(weights.iter().map(|w| (*w).into()));
                let found = program.pullback(&workspace.plain, &mut workspace.replay)?;
                for (to, from) in gradient.iter_mut().zip(found) {
                    *to = T::constant(*from);
                }
            }
            _ => {
                workspace.weights.clear();
                workspace.weights.extend(workspace.y.iter().copied().zip(weights.iter().copied()));
                let found = workspace.tape.pullback(&workspace.weights)?;
                gradient.copy_from_slice(found);
            }
        }
        Ok(())
    }

    /// The derivatives of the outputs along a tangent, over the tape.
    fn push<T: Real>(
        &self,
        tangent: &[T],
        image: &mut [T],
        workspace: &mut ReverseWorkspace<T>,
    ) -> Result<(), Error> {
        workspace.tape.pushforward(tangent, &workspace.y, image)?;
        Ok(())
    }
}

impl<F: Differentiable, T: Real> Engine<T> for ReverseEngine<F> {
    type Workspace = ReverseWorkspace<T>;

    fn workspace(&self) -> Self::Workspace {
        let Sizes { inputs, outputs, constants, .. } = self.sizes;
        ReverseWorkspace {
            tape: Tape::new(),
            y: vec![Var::from(0.0); outputs],
            constants: vec![Var::from(0.0); constants],
            cache: vec![Var::from(0.0); self.f.cache(inputs)],
            weights: Vec::with_capacity(outputs),
            replay: Replay::new(),
            inputs: Vec::with_capacity(inputs + constants),
            plain: Vec::with_capacity(outputs),
            unit: Vec::with_capacity(inputs.max(outputs)),
            row: Vec::with_capacity(inputs),
        }
    }

    fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Row by row or column by column, whichever are fewer.
    fn jacobian(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        jacobian: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        let recorded = self.evaluate(at, values, workspace)?;
        if m == 1 {
            return self.weigh(&recorded, &[T::one()], jacobian, workspace);
        }
        let mut unit = std::mem::take(&mut workspace.unit);
        let mut line = std::mem::take(&mut workspace.row);
        unit.clear();
        unit.resize(n.max(m), T::zero());
        line.resize(n, T::zero());
        if m <= n || matches!(recorded, Recorded::Replay) {
            for row in 0..m {
                unit[row] = T::one();
                self.weigh(&recorded, &unit[..m], &mut line, workspace)?;
                unit[row] = T::zero();
                for (column, d) in line.iter().enumerate() {
                    jacobian[row + column * m] = *d;
                }
            }
        } else {
            for (i, column) in jacobian.chunks_mut(m).enumerate() {
                unit[i] = T::one();
                self.push(&unit[..n], column, workspace)?;
                unit[i] = T::zero();
            }
        }
        (workspace.unit, workspace.row) = (unit, line);
        Ok(())
    }

    fn pushforward(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        values: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        self.record(at, workspace)?;
        for (value, y) in values.iter_mut().zip(&workspace.y) {
            *value = y.peek();
        }
        for (tangent, image) in tangents.chunks(n.max(1)).zip(images.chunks_mut(m.max(1))) {
            self.push(tangent, image, workspace)?;
        }
        Ok(())
    }

    fn pullback(
        &self,
        at: Point<'_, T>,
        cotangents: &[T],
        values: &mut [T],
        gradients: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        let recorded = self.evaluate(at, values, workspace)?;
        for (weights, gradient) in cotangents.chunks(m.max(1)).zip(gradients.chunks_mut(n.max(1))) {
            self.weigh(&recorded, weights, gradient, workspace)?;
        }
        Ok(())
    }
}
