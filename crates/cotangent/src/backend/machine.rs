//! Machine code: the function recorded as a program, differentiated as one, compiled.

use cotangent_ir as ir;
use cotangent_sparse::{Cost, Costs};

use super::{Backend, Engine, SecondOrderBackend, SecondOrderEngine};
use crate::compile::called;
use crate::compile::recording::{Kind, Recordings};
use crate::error::Error;
use crate::function::Differentiable;
use crate::point::{Point, Real, Sizes};

/// Machine code, by LLVM; interpreted where there is none.
///
/// Preparing costs milliseconds, an evaluation about what hand-written code does: for derivatives that are evaluated many
/// times. The function is recorded where it is prepared; where a branch goes another way, it is recorded anew and both
/// are kept. All is computed in the numbers of the point: at one of singles, vectors have twice as many lanes.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::MachineCode;
///
/// let f = function!(|x: &[S]| -> S { x.iter().map(|x| x.sin()).sum::<S>() });
/// let prepared = prepare_gradient(f, &MachineCode, &[0.1, 0.2])?;
/// let mut workspace = prepared.workspace();
/// let mut g = [0.0; 2];
/// prepared.value_and_gradient_into(&[0.0, 0.5], &mut g, &mut workspace)?;
/// assert!((g[1] - 0.5_f64.cos()).abs() < 1e-15);
/// # Ok::<(), cotangent::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineCode;

/// Machine code of one function.
pub struct MachineEngine<F, T: Real> {
    f: F,
    sizes: Sizes,
    recordings: Recordings<T>,
}

/// Numbers that come otherwise than they are asked for.
#[derive(Clone, Debug, Default)]
pub struct MachineWorkspace<T>(Vec<T>);

impl<T: Real> MachineWorkspace<T> {
    /// Room for so many numbers.
    fn room(&mut self, len: usize) -> &mut [T] {
        self.0.resize(len, T::zero());
        &mut self.0
    }
}

impl<F: Differentiable, T: Real> MachineEngine<F, T> {
    fn new(f: F, sizes: Sizes, at: Point<'_, T>) -> Result<Self, Error> {
        let recordings = Recordings::new(&record(&f, sizes, at)?, sizes.inputs);
        Ok(MachineEngine { f, sizes, recordings })
    }

    /// Runs what computes something at a point, along a direction if it takes one.
    fn run(
        &self,
        kind: Kind,
        at: Point<'_, T>,
        direction: &[T],
        out: &mut [&mut [T]],
    ) -> Result<(), Error> {
        let anew = || record(&self.f, self.sizes, at);
        self.recordings.run(kind, &[at.x, at.constants, direction], out, Some(&anew))
    }
}

/// Records a function at a point with its constants; these are parameters behind the others.
fn record<F: Differentiable, T: Real>(
    f: &F,
    sizes: Sizes,
    at: Point<'_, T>,
) -> Result<ir::Function, Error> {
    let (x, constants) = at.to_f64();
    Ok(ir::trace_at("f", &[x, constants].concat(), |all| {
        let (x, constants) = all.split_at(sizes.inputs);
        called(f, x, constants, sizes.outputs)
    })?)
}

impl Backend for MachineCode {
    type Engine<F: Differentiable, T: Real> = MachineEngine<F, T>;

    fn engine<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<MachineEngine<F, T>, Error> {
        MachineEngine::new(f, sizes, at)
    }

    /// The function is evaluated with each product, and costs as much as a product does.
    fn product_costs(&self) -> Costs {
        Costs { jvp: Some(Cost::each(1.5)), vjp: Some(Cost::each(2.5)), ..Costs::default() }
    }
}

impl<F: Differentiable, T: Real> Engine<T> for MachineEngine<F, T> {
    type Workspace = MachineWorkspace<T>;

    fn workspace(&self) -> MachineWorkspace<T> {
        MachineWorkspace::default()
    }

    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn jacobian(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        jacobian: &mut [T],
        workspace: &mut MachineWorkspace<T>,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        if m == 1 {
            return self.run(Kind::Gradient, at, &[], &mut [values, jacobian]);
        }
        let rows = workspace.room(m * n);
        self.run(Kind::Jacobian, at, &[], &mut [values, rows])?;
        // Rows there, columns here.
        for (i, row) in rows.chunks(n.max(1)).enumerate() {
            row.iter().enumerate().for_each(|(j, d)| jacobian[i + j * m] = *d);
        }
        Ok(())
    }

    fn pushforward(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        values: &mut [T],
        images: &mut [T],
        _: &mut MachineWorkspace<T>,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        for (tangent, image) in tangents.chunks(n.max(1)).zip(images.chunks_mut(m.max(1))) {
            self.run(Kind::Pushforward, at, tangent, &mut [values, image])?;
        }
        Ok(())
    }

    fn pullback(
        &self,
        at: Point<'_, T>,
        cotangents: &[T],
        values: &mut [T],
        gradients: &mut [T],
        _: &mut MachineWorkspace<T>,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        for (weights, gradient) in cotangents.chunks(m.max(1)).zip(gradients.chunks_mut(n.max(1))) {
            self.run(Kind::Pullback, at, weights, &mut [values, gradient])?;
        }
        Ok(())
    }
}

impl SecondOrderBackend for MachineCode {
    type Engine<F: Differentiable, T: Real> = MachineEngine<F, T>;

    fn second_order<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<MachineEngine<F, T>, Error> {
        MachineEngine::new(f, sizes, at)
    }
}

impl<F: Differentiable, T: Real> SecondOrderEngine<T> for MachineEngine<F, T> {
    type Workspace = MachineWorkspace<T>;

    fn workspace(&self) -> MachineWorkspace<T> {
        MachineWorkspace::default()
    }

    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn hessian(
        &self,
        at: Point<'_, T>,
        gradient: &mut [T],
        hessian: &mut [T],
        _: &mut MachineWorkspace<T>,
    ) -> Result<T, Error> {
        let mut value = [T::zero()];
        self.run(Kind::Hessian, at, &[], &mut [&mut value, gradient, hessian])?;
        Ok(value[0])
    }

    fn hvp(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        gradient: &mut [T],
        images: &mut [T],
        _: &mut MachineWorkspace<T>,
    ) -> Result<T, Error> {
        let n = self.sizes.inputs;
        let (mut value, mut slope) = ([T::zero()], [T::zero()]);
        for (tangent, image) in tangents.chunks(n.max(1)).zip(images.chunks_mut(n.max(1))) {
            let out: &mut [&mut [T]] = &mut [&mut value, gradient, &mut slope, image];
            self.run(Kind::Hvp, at, tangent, out)?;
        }
        Ok(value[0])
    }

    fn second_derivative(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        first: &mut [T],
        second: &mut [T],
        workspace: &mut MachineWorkspace<T>,
    ) -> Result<(), Error> {
        let m = self.sizes.outputs;
        // The derivatives of the outputs come twice.
        let again = workspace.room(m);
        self.run(Kind::Second, at, &[], &mut [values, first, again, second])
    }
}
