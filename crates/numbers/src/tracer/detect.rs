//! From a function to the pattern of its derivatives.

use std::panic::Location;

use cotangent_ops::{Primitive, Scalar};
use cotangent_sparse::Pattern;

use super::second::Interaction;
use super::sets::Set;
use super::{Dependence, GradientTracer, HessianTracer, Known, Local, SetKind, Trace};
use crate::fault::{Fault, catch};
use crate::place::here;
use crate::trace::{self, NO_STAMP};

/// A number type that detects a pattern.
pub trait Detection: Scalar {
    /// What it carries.
    type Dependence: Dependence;

    /// The input with this index.
    fn input(index: usize, value: f64, stamp: u32) -> Self;

    /// What it depends on.
    fn dependence(self) -> Self::Dependence;
}

macro_rules! detection {
    ($Tracer:ident { $($field:ident: $none:expr),* }) => {
        impl Detection for $Tracer {
            type Dependence = $Tracer;

            #[inline]
            fn input(index: usize, _: f64, stamp: u32) -> Self {
                $Tracer { set: Set::singleton(index as u32), $($field: $none,)* stamp }
            }

            #[inline]
            fn dependence(self) -> Self {
                self
            }
        }
    };
}

detection!(GradientTracer {});
detection!(HessianTracer { interaction: 0 });

impl<D: Dependence + Detection<Dependence = D>> Detection for Local<D> {
    type Dependence = D;

    #[inline]
    fn input(index: usize, value: f64, stamp: u32) -> Self {
        Local { value, dependence: D::input(index, value, stamp) }
    }

    #[inline]
    fn dependence(self) -> D {
        self.dependence
    }
}

impl<D: Dependence + Detection<Dependence = D>> Detection for Known<D> {
    type Dependence = D;

    #[inline]
    fn input(index: usize, value: f64, stamp: u32) -> Self {
        Known::input(D::input(index, value, stamp))
    }

    #[inline]
    fn dependence(self) -> D {
        self.dependence
    }
}

/// Room for detections, kept from one to the next.
///
/// ```
/// use cotangent_numbers::{Detector, GradientTracer, SetKind};
///
/// let mut detector = Detector::<GradientTracer>::new(SetKind::Sorted);
/// for n in [2, 3] {
///     let pattern = detector.jacobian(&vec![0.0; n], n, |x, y| y.copy_from_slice(x)).unwrap();
///     assert_eq!(pattern.nnz(), n);
/// }
/// ```
pub struct Detector<S> {
    x: Vec<S>,
    y: Vec<S>,
    trace: Trace,
}

impl<S: Detection> Detector<S> {
    /// Room that grows with the first use.
    pub fn new(kind: SetKind) -> Self {
        Detector { x: Vec::new(), y: Vec::new(), trace: Trace::new(kind) }
    }

    /// Runs a function of `x.len()` inputs and `outputs` outputs on tracers.
    #[track_caller]
    fn run(
        &mut self,
        point: &[f64],
        outputs: usize,
        f: impl FnOnce(&[S], &mut [S]),
    ) -> Result<(), Fault> {
        if point.len() >= 1 << 31 {
            return Err(Fault::TraceTooLong { limit: 1 << 31 });
        }
        let Detector { x, y, trace } = self;
        trace.clear();
        y.clear();
        y.resize(outputs, S::from(0.0));
        let stamp = trace::activate(trace, |stamp| {
            x.clear();
            x.extend(point.iter().enumerate().map(|(i, v)| S::input(i, *v, stamp)));
            catch(|| f(x, y)).map(|()| stamp)
        })?;
        let of = |y: &S| y.dependence().stamp();
        if y.iter().any(|y| of(y) != NO_STAMP && of(y) != stamp) {
            return Err(Fault::MixedTraces { at: here(Location::caller()) });
        }
        Ok(())
    }
}

impl<S: Detection<Dependence = GradientTracer>> Detector<S> {
    /// The pattern of the Jacobian, see [`jacobian_pattern`].
    ///
    /// # Errors
    /// The fault that a tracer raised in `f`.
    #[track_caller]
    pub fn jacobian(
        &mut self,
        x: &[f64],
        outputs: usize,
        f: impl FnOnce(&[S], &mut [S]),
    ) -> Result<Pattern, Fault> {
        self.run(x, outputs, f)?;
        // Each set is read once: the pattern goes over its rows twice.
        let mut columns: Vec<u32> = Vec::with_capacity(outputs);
        let mut ends = Vec::with_capacity(outputs + 1);
        ends.push(0);
        for y in &self.y {
            self.trace.sets.append_to(&mut columns, y.dependence().set);
            ends.push(columns.len());
        }
        let row = |i: usize| columns[ends[i]..ends[i + 1]].iter().map(|j| *j as usize);
        Ok(valid(Pattern::from_rows(outputs, x.len(), row)))
    }
}

impl<S: Detection<Dependence = HessianTracer>> Detector<S> {
    /// The pattern of the Hessian, see [`hessian_pattern`].
    ///
    /// # Errors
    /// The fault that a tracer raised in `f`.
    #[track_caller]
    pub fn hessian(
        &mut self,
        x: &[f64],
        outputs: usize,
        f: impl FnOnce(&[S], &mut [S]),
    ) -> Result<Pattern, Fault> {
        self.run(x, outputs, f)?;
        let (n, trace) = (x.len(), &self.trace);
        let mut pairs = Pairs::new(trace, n);
        let mut seen = vec![false; trace.interactions.len()];
        let mut pending: Vec<u32> = self.y.iter().map(|y| y.dependence().interaction).collect();
        while let Some(id) = pending.pop() {
            if id == 0 || std::mem::replace(&mut seen[id as usize], true) {
                continue;
            }
            let interaction = trace.interactions[id as usize];
            pending.extend(interaction.kept);
            pairs.add(interaction);
        }
        Ok(valid(Pattern::from_entries(n, n, pairs.entries())))
    }
}

/// The pattern of the Jacobian of a function, found with the tracer `S`: [`GradientTracer`] for all
/// inputs, [`Local`]`<GradientTracer>` near `x`. A global tracer looks at the length of `x` only.
///
/// ```
/// use cotangent_numbers::{GradientTracer, SetKind, jacobian_pattern};
///
/// let pattern = jacobian_pattern::<GradientTracer>(SetKind::Sorted, &[0.0; 3], 2, |x, y| {
///     y[0] = x[0] * x[1];
///     y[1] = x[2].sin() + x[0].floor();
/// });
/// assert_eq!(pattern.unwrap().to_string(), "11·\n··1\n");
/// ```
///
/// # Errors
/// The fault that a tracer raised in `f`, such as a branch on a value that a global tracer has not.
#[track_caller]
pub fn jacobian_pattern<S: Detection<Dependence = GradientTracer>>(
    kind: SetKind,
    x: &[f64],
    outputs: usize,
    f: impl FnOnce(&[S], &mut [S]),
) -> Result<Pattern, Fault> {
    Detector::new(kind).jacobian(x, outputs, f)
}

/// The pattern of the Hessian of a function, or of the sum of the Hessians of its outputs, found
/// with the tracer `S`: [`HessianTracer`] for all inputs, [`Local`]`<HessianTracer>` near `x`.
///
/// ```
/// use cotangent_numbers::{HessianTracer, SetKind, hessian_pattern};
///
/// let pattern = hessian_pattern::<HessianTracer>(SetKind::Sorted, &[0.0; 3], 1, |x, y| {
///     y[0] = x[0] * x[1] + x[2].exp();
/// });
/// assert_eq!(pattern.unwrap().to_string(), "·1·\n1··\n··1\n");
/// ```
///
/// # Errors
/// As [`jacobian_pattern`].
#[track_caller]
pub fn hessian_pattern<S: Detection<Dependence = HessianTracer>>(
    kind: SetKind,
    x: &[f64],
    outputs: usize,
    f: impl FnOnce(&[S], &mut [S]),
) -> Result<Pattern, Fault> {
    Detector::new(kind).hessian(x, outputs, f)
}

/// What the tracers find is in range by construction.
fn valid<E: std::fmt::Debug>(pattern: Result<Pattern, E>) -> Pattern {
    pattern.expect("traced indices are sorted and in range")
}

/// The pairs of inputs that interact.
struct Pairs<'t> {
    trace: &'t Trace,
    inputs: usize,
    products: rustc_hash::FxHashSet<(Set, Set)>,
    pairs: Vec<u64>,
    sorted: usize,
}

impl<'t> Pairs<'t> {
    fn new(trace: &'t Trace, inputs: usize) -> Self {
        Pairs { trace, inputs, products: Default::default(), pairs: Vec::new(), sorted: 0 }
    }

    fn add(&mut self, interaction: Interaction) {
        let Interaction { x, y, products: [xx, yy, xy], .. } = interaction;
        if xx {
            self.product(x, x);
        }
        if yy {
            self.product(y, y);
        }
        if xy {
            self.product(x, y);
        }
    }

    /// Adds a×b, once for each pair of sets.
    fn product(&mut self, a: Set, b: Set) {
        if !self.products.insert((a, b)) {
            return;
        }
        let sets = &self.trace.sets;
        for i in sets.iter(a) {
            self.pairs
                .extend(sets.iter(b).map(|j| u64::from(i.min(j)) << 32 | u64::from(i.max(j))));
        }
        // Overlapping products repeat pairs; thin them out before they fill the memory.
        if self.pairs.len() > 2 * self.sorted + 64 * self.inputs + (1 << 16) {
            self.thin();
        }
    }

    fn thin(&mut self) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.sorted = self.pairs.len();
    }

    fn entries(mut self) -> Vec<(usize, usize)> {
        self.thin();
        let both = |p: &u64| {
            let (i, j) = ((p >> 32) as usize, (p & 0xffff_ffff) as usize);
            [(i, j), (j, i)]
        };
        self.pairs.iter().flat_map(both).collect()
    }
}

/// The dependences of an array operation.
#[track_caller]
pub(super) fn array<P: Primitive, D: Dependence>(primitive: &P, x: &[D], y: &mut [D]) {
    let linear = primitive.is_linear();
    for (j, y) in y.iter_mut().enumerate() {
        let inputs = x.iter().enumerate().filter(|(i, _)| primitive.depends(j, *i));
        *y = D::gather(inputs.map(|(_, x)| *x), linear);
    }
}
