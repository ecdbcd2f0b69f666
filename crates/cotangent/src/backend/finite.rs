//! Finite differences: derivatives from values alone.

use cotangent_numbers::{Elementary, Plain, Scalar, fault};

use super::buffers::Buffers;
use super::{Backend, Engine};
use crate::error::Error;
use crate::function::Differentiable;
use crate::point::{Point, Real, Sizes};

/// Finite differences.
///
/// For checking derivatives, and for functions that no number type can run. Expect about
/// ε^(p/(p + 1)) relative accuracy for order p, and a few digits more with Richardson extrapolation.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x| x.exp());
/// let exact = 1.0_f64.exp();
/// let error = |b: FiniteDifferences| (derivative(&f, &b, 1.0).unwrap() - exact).abs();
/// assert!(error(FiniteDifferences::default()) < 1e-9);
/// assert!(error(FiniteDifferences { order: 4, ..Default::default() }) < 1e-11);
/// assert!(error(FiniteDifferences::richardson()) < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiniteDifferences {
    /// The order of the error: 1 for one-sided, 2, 4, 6 or 8 for central differences.
    pub order: usize,
    /// The step relative to the size of the input (absolute below 1); by default the best for the
    /// order.
    pub step: Option<f64>,
    /// Central differences at shrinking steps, extrapolated to step zero; `order` is then not used.
    pub richardson: bool,
}

impl Default for FiniteDifferences {
    fn default() -> Self {
        FiniteDifferences { order: 2, step: None, richardson: false }
    }
}

impl FiniteDifferences {
    /// Differences extrapolated to step zero: the most accurate, at some 20 evaluations a direction.
    pub fn richardson() -> Self {
        FiniteDifferences { richardson: true, ..Default::default() }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(step) = self.step
            && !(step >= f64::EPSILON && step.is_finite())
        {
            return Err(Error::Step { step });
        }
        let orders = [1, 2, 4, 6, 8];
        if !self.richardson && !orders.contains(&self.order) {
            return Err(Error::Order { order: self.order });
        }
        Ok(())
    }

    fn relative_step(&self, epsilon: f64) -> f64 {
        match self.step {
            Some(step) => step,
            None if self.richardson => epsilon.powf(1.0 / 16.0) * 0.5,
            None => epsilon.powf(1.0 / (self.order as f64 + 1.0)),
        }
    }
}

/// Weights of f(x + kh) − f(x − kh), k = 1, 2, …, for central differences of order 2, 4, 6 and 8.
const CENTRAL: [&[f64]; 4] = [
    &[0.5],
    &[2.0 / 3.0, -1.0 / 12.0],
    &[3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0],
    &[4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0],
];

/// Rows of the extrapolation table, and the factor between steps.
const ROWS: usize = 10;
const SHRINK: f64 = 1.6;

/// Room for differences of a function with so many outputs.
pub(crate) struct Differences<S> {
    low: Vec<S>,
    high: Vec<S>,
    /// Two rows of the extrapolation table, one after the other.
    table: Vec<S>,
    error: Vec<f64>,
}

impl<S: Scalar> Differences<S> {
    pub(crate) fn new(outputs: usize) -> Self {
        Differences {
            low: vec![S::zero(); outputs],
            high: vec![S::zero(); outputs],
            table: vec![S::zero(); 2 * ROWS * outputs],
            error: vec![0.0; outputs],
        }
    }
}

/// The derivative of `f` at 0 from its values: `f(t, y)` writes f(t). `scale` is the size of an
/// argument that matters.
pub(crate) fn differentiate<S: Scalar>(
    method: &FiniteDifferences,
    scale: f64,
    room: &mut Differences<S>,
    mut f: impl FnMut(f64, &mut [S]),
    derivative: &mut [S],
) {
    let step = method.relative_step(S::precision().epsilon) * scale;
    if method.richardson {
        return extrapolate(step, room, f, derivative);
    }
    if method.order == 1 {
        f(0.0, &mut room.low);
        f(step, &mut room.high);
        for ((d, a), b) in derivative.iter_mut().zip(&room.high).zip(&room.low) {
            *d = (*a - *b) / step;
        }
        return;
    }
    derivative.fill(S::zero());
    let weights = CENTRAL[(method.order / 2 - 1).min(CENTRAL.len() - 1)];
    for (k, weight) in weights.iter().enumerate() {
        let t = step * (k + 1) as f64;
        f(t, &mut room.high);
        f(-t, &mut room.low);
        for ((d, a), b) in derivative.iter_mut().zip(&room.high).zip(&room.low) {
            *d += (*a - *b) * (*weight / step);
        }
    }
}

/// Ridders' method (Adv. Eng. Software 4, 1982): Neville's table over shrinking steps; each output
/// keeps the entry that its neighbours in the table agree with best.
fn extrapolate<S: Scalar>(
    step: f64,
    room: &mut Differences<S>,
    mut f: impl FnMut(f64, &mut [S]),
    derivative: &mut [S],
) {
    let m = derivative.len();
    room.error.fill(f64::INFINITY);
    let mut step = step;
    for row in 0..ROWS {
        f(step, &mut room.high);
        f(-step, &mut room.low);
        let (old, new) = room.table.split_at_mut(ROWS * m);
        for i in 0..m {
            new[i] = (room.high[i] - room.low[i]) / (2.0 * step);
            if row == 0 {
                derivative[i] = new[i];
            }
            let mut factor = SHRINK * SHRINK;
            for column in 1..=row {
                let (left, above) = (new[(column - 1) * m + i], old[(column - 1) * m + i]);
                let better = left + (left - above) / (factor - 1.0);
                let distance = |a: S, b: S| (a.value() - b.value()).abs();
                let error = distance(better, left).max(distance(better, above));
                if error <= room.error[i] {
                    room.error[i] = error;
                    derivative[i] = better;
                }
                new[column * m + i] = better;
                factor *= SHRINK * SHRINK;
            }
        }
        old.copy_from_slice(new);
        step /= SHRINK;
    }
}

/// The size of a point that a step is relative to.
pub(crate) fn scale_of<T: Elementary>(x: &[T], tangent: impl Fn(usize) -> f64) -> f64 {
    let mut size: f64 = 1.0;
    let mut length: f64 = 0.0;
    for (i, x) in x.iter().enumerate() {
        let t = tangent(i).abs();
        if t > 0.0 {
            size = size.max(x.value().abs());
            length = length.max(t);
        }
    }
    if length > 0.0 { size / length } else { size }
}

impl Backend for FiniteDifferences {
    type Engine<F: Differentiable, T: Real> = FiniteEngine<F>;

    fn engine<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        _: Point<'_, T>,
    ) -> Result<FiniteEngine<F>, Error> {
        self.check()?;
        Ok(FiniteEngine { f, sizes, method: *self })
    }
}

/// Finite differences of one function.
#[derive(Clone, Debug)]
pub struct FiniteEngine<F> {
    f: F,
    sizes: Sizes,
    method: FiniteDifferences,
}

/// The numbers of finite differences.
pub struct FiniteWorkspace<T> {
    buffers: Buffers<Plain<T>>,
    room: Differences<Plain<T>>,
    column: Vec<Plain<T>>,
}

impl<F: Differentiable> FiniteEngine<F> {
    /// The derivative along a tangent, into the workspace's column.
    fn along<T: Real>(
        &self,
        at: Point<'_, T>,
        tangent: impl Fn(usize) -> T,
        workspace: &mut FiniteWorkspace<T>,
    ) -> Result<(), Error> {
        let FiniteWorkspace { buffers, room, column } = workspace;
        let scale = scale_of(at.x, |i| tangent(i).into());
        fault::catch(|| {
            let evaluate = |t: f64, y: &mut [Plain<T>]| {
                for (i, x) in buffers.x.iter_mut().enumerate() {
                    *x = Plain(at.x[i] + tangent(i) * T::constant(t));
                }
                buffers.call(&self.f);
                y.copy_from_slice(&buffers.y);
            };
            differentiate(&self.method, scale, room, evaluate, column);
        })?;
        Ok(())
    }

    fn value<T: Real>(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        workspace: &mut FiniteWorkspace<T>,
    ) -> Result<(), Error> {
        workspace.buffers.load(at.x, at.constants, Plain);
        fault::catch(|| workspace.buffers.call(&self.f))?;
        for (value, y) in values.iter_mut().zip(&workspace.buffers.y) {
            *value = y.0;
        }
        Ok(())
    }
}

impl<F: Differentiable, T: Real> Engine<T> for FiniteEngine<F> {
    type Workspace = FiniteWorkspace<T>;

    fn workspace(&self) -> Self::Workspace {
        FiniteWorkspace {
            buffers: Buffers::new(&self.f, self.sizes),
            room: Differences::new(self.sizes.outputs),
            column: vec![Plain(T::zero()); self.sizes.outputs],
        }
    }

    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn jacobian(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        jacobian: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        self.value(at, values, workspace)?;
        for j in 0..self.sizes.inputs {
            self.along(at, |i| if i == j { T::one() } else { T::zero() }, workspace)?;
            let m = self.sizes.outputs;
            for (to, from) in jacobian[j * m..(j + 1) * m].iter_mut().zip(&workspace.column) {
                *to = from.0;
            }
        }
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
        self.value(at, values, workspace)?;
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        for (tangent, image) in tangents.chunks(n.max(1)).zip(images.chunks_mut(m.max(1))) {
            self.along(at, |i| tangent[i], workspace)?;
            for (to, from) in image.iter_mut().zip(&workspace.column) {
                *to = from.0;
            }
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
        self.value(at, values, workspace)?;
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        for j in 0..n {
            self.along(at, |i| if i == j { T::one() } else { T::zero() }, workspace)?;
            for (weights, gradient) in cotangents.chunks(m.max(1)).zip(gradients.chunks_mut(n)) {
                gradient[j] = workspace
                    .column
                    .iter()
                    .zip(weights)
                    .fold(T::zero(), |sum, (d, w)| sum + w.strong_mul(d.0));
            }
        }
        Ok(())
    }
}
