//! Forward mode: dual numbers, several directions at a time.

use cotangent_numbers::{Brand, Dual, Fault, Unguarded, fault};

use super::buffers::Buffers;
use cotangent_sparse::{Cost, Costs};

use super::{Backend, Engine};
use crate::error::Error;
use crate::function::Differentiable;
use crate::point::{Point, Real, Sizes, any_nan};

/// The most directions computed at a time.
pub(crate) const MOST: usize = 12;

/// Forward mode.
///
/// Costs one evaluation of the function on dual numbers for every chunk of directions: best for few
/// inputs, or more outputs than inputs.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> S { x[0].exp() * x[1] });
/// assert_eq!(gradient(&f, &Forward::default(), &[0.0, 3.0]).unwrap(), [3.0, 1.0]);
/// assert_eq!(gradient(&f, &Forward { chunk: Some(1) }, &[0.0, 3.0]).unwrap(), [3.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forward {
    /// How many directions to compute at a time, up to 12; by default all if there are no more than
    /// that, else chunks of nearly equal size.
    pub chunk: Option<usize>,
}

/// The chunk for so many directions: as few chunks as possible, and those balanced.
pub(crate) fn chunk_size(directions: usize) -> usize {
    if directions <= MOST {
        directions.max(1)
    } else {
        directions.div_ceil(directions.div_ceil(MOST))
    }
}

impl Forward {
    pub(crate) fn chunk_for(&self, directions: usize) -> Result<usize, Error> {
        match self.chunk {
            None => Ok(chunk_size(directions)),
            Some(chunk) if (1..=MOST).contains(&chunk) => Ok(chunk.min(directions.max(1))),
            Some(chunk) => Err(Error::Chunk { chunk, most: MOST }),
        }
    }
}

impl Backend for Forward {
    type Engine<F: Differentiable, T: Real> = ForwardEngine<F>;

    fn engine<F: Differentiable, T: Real>(
        &self,
        f: F,
        sizes: Sizes,
        _: Point<'_, T>,
    ) -> Result<ForwardEngine<F>, Error> {
        Ok(ForwardEngine { chunk: self.chunk_for(sizes.directions)?, f, sizes })
    }

    /// 12 lanes cost 4 evaluations (see `Auto`).
    fn product_costs(&self) -> Costs {
        Costs { jvp: Some(Cost::each(0.35)), ..Costs::default() }
    }
}

/// Forward mode of one function.
#[derive(Clone, Debug)]
pub struct ForwardEngine<F> {
    f: F,
    sizes: Sizes,
    chunk: usize,
}

/// The numbers of a forward evaluation.
pub struct ForwardWorkspace<F, T> {
    lanes: Box<dyn Lanes<F, T> + Send>,
    guarded: Pass<T, 1, ()>,
    columns: Vec<T>,
}

/// Dual numbers of some width.
trait Lanes<F, T> {
    /// Sets the point.
    fn load(&mut self, at: Point<'_, T>);

    /// Makes good for a call that did not return.
    fn reset(&mut self);

    /// The derivatives along the inputs from `first` on, as many as there are columns.
    fn along_inputs(&mut self, f: &F, first: usize, values: &mut [T], columns: &mut [T]);

    /// The derivatives along given tangents, as many as there are columns.
    /// With a number, the tangents stay: a call with the same number need not set them.
    fn along_tangents(
        &mut self,
        f: &F,
        tangents: &[T],
        number: Option<u64>,
        values: &mut [T],
        columns: &mut [T],
    );
}

/// Between calls all partials of the inputs are zero, but for those of the seeded ones: lane k of the
/// k-th of them is one. Seeds that stay need not be written, and what is not written just before it
/// is read as a vector does not stall.
struct Pass<T, const N: usize, B: Brand> {
    buffers: Buffers<Dual<T, N, B>>,
    seeded: std::ops::Range<usize>,
    /// Whether tangents are in the partials: they stay if they have a number, or if a call does not
    /// return.
    dirty: bool,
    number: Option<u64>,
}

impl<T: Real, const N: usize, B: Brand> Pass<T, N, B> {
    fn new<F: Differentiable>(f: &F, sizes: Sizes) -> Self {
        Pass { buffers: Buffers::new(f, sizes), seeded: 0..0, dirty: false, number: None }
    }

    fn clear(&mut self) {
        self.buffers.x.fill(Dual::fixed(T::zero()));
        self.seeded = 0..0;
        self.dirty = false;
        self.number = None;
    }

    /// Removes tangents that stayed.
    fn drop_tangents(&mut self) {
        if self.number.take().is_some() {
            self.drop_partials();
        }
    }

    fn drop_partials(&mut self) {
        for x in &mut self.buffers.x {
            x.partials = [T::zero(); N];
        }
        self.dirty = false;
    }

    fn seed(&mut self, inputs: std::ops::Range<usize>) {
        if self.seeded == inputs {
            return;
        }
        for (lane, i) in self.seeded.clone().enumerate() {
            self.buffers.x[i].partials[lane] = T::zero();
        }
        for (lane, i) in inputs.clone().enumerate() {
            self.buffers.x[i].partials[lane] = T::one();
        }
        self.seeded = inputs;
    }

    fn store(&self, values: &mut [T], columns: &mut [T]) {
        let y = &self.buffers.y;
        if let ([value], [y]) = (&mut *values, &y[..]) {
            *value = y.value;
            columns.copy_from_slice(&y.partials[..columns.len()]);
            return;
        }
        for (value, y) in values.iter_mut().zip(y) {
            *value = y.value;
        }
        // In blocks that stay in the cache: lane by lane over all outputs, each pass would fetch all
        // lanes from memory again.
        const BLOCK: usize = 64;
        let m = y.len().max(1);
        for (b, block) in y.chunks(BLOCK).enumerate() {
            for (lane, column) in columns.chunks_mut(m).enumerate() {
                for (entry, y) in column[b * BLOCK..].iter_mut().zip(block) {
                    *entry = y.partials[lane];
                }
            }
        }
    }
}

impl<F: Differentiable, T: Real, const N: usize, B: Brand> Lanes<F, T> for Pass<T, N, B> {
    fn load(&mut self, at: Point<'_, T>) {
        if self.dirty && self.number.is_none() {
            self.clear();
        }
        for (to, from) in self.buffers.x.iter_mut().zip(at.x) {
            to.value = *from;
        }
        for (to, from) in self.buffers.constants.iter_mut().zip(at.constants) {
            to.value = *from;
        }
    }

    fn reset(&mut self) {
        self.clear();
    }

    fn along_inputs(&mut self, f: &F, first: usize, values: &mut [T], columns: &mut [T]) {
        self.drop_tangents();
        let lanes = columns.len() / self.buffers.y.len().max(1);
        self.seed(first..first + lanes);
        self.buffers.call(f);
        self.store(values, columns);
    }

    fn along_tangents(
        &mut self,
        f: &F,
        tangents: &[T],
        number: Option<u64>,
        values: &mut [T],
        columns: &mut [T],
    ) {
        if self.number.is_none() || self.number != number {
            self.drop_tangents();
            self.seed(0..0);
            self.dirty = true;
            let n = self.buffers.x.len();
            for (i, x) in self.buffers.x.iter_mut().enumerate() {
                for lane in 0..N {
                    x.partials[lane] = tangents.get(lane * n + i).copied().unwrap_or_else(T::zero);
                }
            }
            self.number = number;
        }
        self.buffers.call(f);
        if self.number.is_none() {
            self.drop_partials();
        }
        self.store(values, columns);
    }
}

/// Dual numbers at least as wide as the chunk. Not every width is there: each is another copy of the
/// user's function, and lanes that fill whole vectors are the fastest: 10 partials of Rosenbrock took
/// 3.4 times the hand-written gradient in numbers of 10 lanes, whose last two LLVM packs together with
/// the value and reshuffles at every step of a sum, and take under 3 times in numbers of 12.
fn lanes<F: Differentiable, T: Real>(
    f: &F,
    sizes: Sizes,
    chunk: usize,
) -> Box<dyn Lanes<F, T> + Send> {
    macro_rules! narrowest {
        ($($width:literal)* else $widest:literal) => {
            match chunk {
                $(_ if chunk <= $width => Box::new(Pass::<T, $width, Unguarded>::new(f, sizes)),)*
                _ => Box::new(Pass::<T, $widest, Unguarded>::new(f, sizes)),
            }
        };
    }
    narrowest!(1 2 4 8 else 12)
}

/// What is differentiated along what.
struct Sweep<'a, F, T> {
    f: &'a F,
    at: Point<'a, T>,
    /// Along the inputs if there are none.
    tangents: Option<&'a [T]>,
    /// The number of tangents that are the same each time, if one chunk holds them.
    number: Option<u64>,
    inputs: usize,
    outputs: usize,
}

impl<F: Differentiable, T: Real> Sweep<'_, F, T> {
    /// The derivatives along the directions from `first` on, as many as there are columns.
    fn run(&self, lanes: &mut dyn Lanes<F, T>, first: usize, values: &mut [T], columns: &mut [T]) {
        let count = columns.len() / self.outputs.max(1);
        match self.tangents {
            None => lanes.along_inputs(self.f, first, values, columns),
            Some(tangents) => {
                let tangents = &tangents[first * self.inputs..(first + count) * self.inputs];
                lanes.along_tangents(self.f, tangents, self.number, values, columns);
            }
        }
    }

    /// One chunk of directions; if a column holds NaN, all once more with guarded numbers: an
    /// unguarded 0·∞ is NaN, and so tells itself from every other number but a real NaN.
    fn chunk(
        &self,
        lanes: &mut dyn Lanes<F, T>,
        guarded: &mut Pass<T, 1, ()>,
        first: usize,
        values: &mut [T],
        columns: &mut [T],
    ) {
        self.run(lanes, first, values, columns);
        if any_nan(columns) {
            Lanes::<F, T>::load(guarded, self.at);
            // One at a time, so that none of them stays.
            let anew = Sweep { number: None, ..*self };
            for (i, column) in columns.chunks_mut(self.outputs).enumerate() {
                anew.run(guarded, first + i, values, column);
            }
        }
    }
}

impl<F: Differentiable> ForwardEngine<F> {
    fn sweep<'a, T: Real>(
        &'a self,
        at: Point<'a, T>,
        tangents: Option<&'a [T]>,
    ) -> Sweep<'a, F, T> {
        let Sizes { inputs, outputs, .. } = self.sizes;
        Sweep { f: &self.f, at, tangents, number: None, inputs, outputs }
    }

    /// All columns, a chunk at a time.
    fn columns<T: Real>(
        &self,
        sweep: &Sweep<'_, F, T>,
        values: &mut [T],
        columns: &mut [T],
        workspace: &mut ForwardWorkspace<F, T>,
    ) -> Result<(), Error> {
        let ForwardWorkspace { lanes, guarded, .. } = workspace;
        let width = self.chunk * sweep.outputs.max(1);
        let done = fault::catch(|| {
            lanes.load(sweep.at);
            for (i, chunk) in columns.chunks_mut(width).enumerate() {
                sweep.chunk(&mut **lanes, guarded, i * self.chunk, values, chunk);
            }
        });
        workspace.finish(done)
    }
}

impl<F: Differentiable, T: Real> ForwardWorkspace<F, T> {
    fn finish(&mut self, done: Result<(), Fault>) -> Result<(), Error> {
        if done.is_err() {
            self.lanes.reset();
            Lanes::<F, T>::reset(&mut self.guarded);
        }
        done.map_err(Error::from)
    }
}

impl<F: Differentiable, T: Real> Engine<T> for ForwardEngine<F> {
    type Workspace = ForwardWorkspace<F, T>;

    fn workspace(&self) -> Self::Workspace {
        ForwardWorkspace {
            lanes: lanes(&self.f, self.sizes, self.chunk),
            guarded: Pass::new(&self.f, self.sizes),
            columns: vec![T::zero(); self.chunk * self.sizes.outputs],
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
        self.columns(&self.sweep(at, None), values, jacobian, workspace)
    }

    fn pushforward(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        values: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        self.columns(&self.sweep(at, Some(tangents)), values, images, workspace)
    }

    fn pushforward_again(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        number: u64,
        values: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        let single = tangents.len() <= self.chunk * self.sizes.inputs;
        let sweep = Sweep { number: single.then_some(number), ..self.sweep(at, Some(tangents)) };
        self.columns(&sweep, values, images, workspace)
    }

    /// The Jacobian, a chunk of columns at a time, each weighted by the cotangents.
    fn pullback(
        &self,
        at: Point<'_, T>,
        cotangents: &[T],
        values: &mut [T],
        gradients: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        let Sizes { inputs: n, outputs: m, .. } = self.sizes;
        let sweep = self.sweep(at, None);
        let ForwardWorkspace { lanes, guarded, columns } = workspace;
        let done = fault::catch(|| {
            lanes.load(at);
            for first in (0..n).step_by(self.chunk) {
                let count = self.chunk.min(n - first);
                let chunk = &mut columns[..count * m];
                sweep.chunk(&mut **lanes, guarded, first, values, chunk);
                for (weights, gradient) in cotangents.chunks(m.max(1)).zip(gradients.chunks_mut(n))
                {
                    for (column, entry) in chunk.chunks(m).zip(&mut gradient[first..]) {
                        *entry = column
                            .iter()
                            .zip(weights)
                            .fold(T::zero(), |sum, (d, w)| sum + w.strong_mul(*d));
                    }
                }
            }
        });
        workspace.finish(done)
    }
}
