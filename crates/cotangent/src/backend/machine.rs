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
/// are kept. All is computed in doubles.
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
pub struct MachineEngine<F> {
    f: F,
    sizes: Sizes,
    recordings: Recordings,
}

/// Numbers on their way to machine code and back.
#[derive(Clone, Debug, Default)]
pub struct MachineWorkspace {
    /// The point, with the constants behind it.
    x: Vec<f64>,
    /// A tangent or cotangent.
    v: Vec<f64>,
    values: Vec<f64>,
    out: Vec<f64>,
}

impl<F: Differentiable> MachineEngine<F> {
    fn new<T: Real>(f: F, sizes: Sizes, at: Point<'_, T>) -> Result<Self, Error> {
        let mut x = Vec::new();
        copy(at.x.iter().chain(at.constants), &mut x);
        let recordings = Recordings::new(&record(&f, sizes, &x)?, sizes.inputs);
        Ok(MachineEngine { f, sizes, recordings })
    }

    /// Runs what computes something at a point: so many values, and `out`.
    fn run<T: Real>(
        &self,
        kind: Kind,
        at: Point<'_, T>,
        direction: &[T],
        (values, out): (usize, usize),
        workspace: &mut MachineWorkspace,
    ) -> Result<(), Error> {
        let MachineWorkspace { x, v, values: first, out: rest } = workspace;
        copy(at.x.iter().chain(at.constants), x);
        copy(direction.iter(), v);
        first.resize(values, 0.0);
        rest.resize(out, 0.0);
        let (x, v) = (&x[..], &v[..]);
        let anew = || record(&self.f, self.sizes, x);
        self.recordings.run(kind, &[x, v], &mut [first, rest], Some(&anew))
    }
}

/// Records a function at a point with its constants; these are parameters behind the others.
fn record<F: Differentiable>(f: &F, sizes: Sizes, at: &[f64]) -> Result<ir::Function, Error> {
    Ok(ir::trace_at("f", at, |all| {
        let (x, constants) = all.split_at(sizes.inputs);
        called(f, x, constants, sizes.outputs)
    })?)
}

fn copy<'t, T: Real>(from: impl Iterator<Item = &'t T>, to: &mut Vec<f64>) {
    to.clear();
    to.extend(from.map(|x| -> f64 { (*x).into() }));
}

fn give<T: Real>(from: &[f64], to: &mut [T]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = T::constant(*from));
}

impl Backend for MachineCode {
    type Engine<F: Differentiable, T: Real> = MachineEngine<F>;

    fn engine<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<MachineEngine<F>, Error> {
        MachineEngine::new(f, sizes, at)
    }

    /// The function is evaluated with each product, and costs as much as a product does.
    fn product_costs(&self) -> Costs {
        Costs { jvp: Some(Cost::each(1.5)), vjp: Some(Cost::each(2.5)), ..Costs::default() }
    }
}

impl<F: Differentiable, T: Real> Engine<T> for MachineEngine<F> {
    type Workspace = MachineWorkspace;

    fn workspace(&self) -> MachineWorkspace {
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
        workspace: &mut MachineWorkspace,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        let kind = if m == 1 { Kind::Gradient } else { Kind::Jacobian };
        self.run(kind, at, &[], (m, m * n), workspace)?;
        give(&workspace.values, values);
        // Rows there, columns here.
        for (i, row) in workspace.out.chunks(n.max(1)).enumerate() {
            row.iter().enumerate().for_each(|(j, d)| jacobian[i + j * m] = T::constant(*d));
        }
        Ok(())
    }

    fn pushforward(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        values: &mut [T],
        images: &mut [T],
        workspace: &mut MachineWorkspace,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        for (tangent, image) in tangents.chunks(n.max(1)).zip(images.chunks_mut(m.max(1))) {
            self.run(Kind::Pushforward, at, tangent, (m, m), workspace)?;
            give(&workspace.values, values);
            give(&workspace.out, image);
        }
        Ok(())
    }

    fn pullback(
        &self,
        at: Point<'_, T>,
        cotangents: &[T],
        values: &mut [T],
        gradients: &mut [T],
        workspace: &mut MachineWorkspace,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        for (weights, gradient) in cotangents.chunks(m.max(1)).zip(gradients.chunks_mut(n.max(1))) {
            self.run(Kind::Pullback, at, weights, (m, n), workspace)?;
            give(&workspace.values, values);
            give(&workspace.out, gradient);
        }
        Ok(())
    }
}

impl SecondOrderBackend for MachineCode {
    type Engine<F: Differentiable, T: Real> = MachineEngine<F>;

    fn second_order<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<MachineEngine<F>, Error> {
        MachineEngine::new(f, sizes, at)
    }
}

impl<F: Differentiable, T: Real> SecondOrderEngine<T> for MachineEngine<F> {
    type Workspace = MachineWorkspace;

    fn workspace(&self) -> MachineWorkspace {
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
        workspace: &mut MachineWorkspace,
    ) -> Result<T, Error> {
        let n = self.sizes.inputs;
        self.run(Kind::Hessian, at, &[], (1 + n, n * n), workspace)?;
        give(&workspace.values[1..], gradient);
        give(&workspace.out, hessian);
        Ok(T::constant(workspace.values[0]))
    }

    fn hvp(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        gradient: &mut [T],
        images: &mut [T],
        workspace: &mut MachineWorkspace,
    ) -> Result<T, Error> {
        let n = self.sizes.inputs;
        let mut value = T::zero();
        for (tangent, image) in tangents.chunks(n.max(1)).zip(images.chunks_mut(n.max(1))) {
            self.run(Kind::Hvp, at, tangent, (1 + n, 1 + n), workspace)?;
            value = T::constant(workspace.values[0]);
            give(&workspace.values[1..], gradient);
            give(&workspace.out[1..], image);
        }
        Ok(value)
    }

    fn second_derivative(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        first: &mut [T],
        second: &mut [T],
        workspace: &mut MachineWorkspace,
    ) -> Result<(), Error> {
        let m = self.sizes.outputs;
        // The derivatives of the outputs come twice.
        self.run(Kind::Second, at, &[], (2 * m, 2 * m), workspace)?;
        give(&workspace.values[..m], values);
        give(&workspace.values[m..], first);
        give(&workspace.out[m..], second);
        Ok(())
    }
}
