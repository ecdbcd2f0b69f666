//! Loops, branches and kernels as ordinary functions of closures.
//!
//! The closure is run once, on values that write down what is done with them, whatever the number of rounds:
//! so the function that is traced does not grow with it. What a closure uses from outside is captured.

#![allow(clippy::needless_pass_by_value, reason = "a range or a state is given, not lent")]

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use cotangent_numbers::fault::{Fault, raise};

use crate::carried::{Carried, Tabulated, TracedValue, Values};
use crate::function::{Function, Param, Value};
use crate::parse_structure::join;
use crate::structure::{Reducer, Structure};
use crate::trace::{Traced, TracedMask, own};
use crate::trace_array::TracedArray;
use crate::trace_index::TracedIndex;
use crate::trace_region::{Innermost, Place, with_all, with_innermost};
use crate::types::{Dim, Type};

type At = &'static Location<'static>;

/// A body with the values that it captures.
type Closed = (Function, Vec<Value>);

/// Runs a closure as a body with parameters of its own; the body, and what the closure gave.
fn close<R: Carried>(
    params: Vec<Param>,
    at: At,
    f: impl FnOnce(Vec<TracedValue>) -> R,
) -> (Closed, R) {
    let innermost = Innermost::begin_body(at);
    let stamp = innermost.stamp;
    let params = own(stamp, Place::NONE, at, |trace, _| {
        let mut all = Vec::with_capacity(params.len());
        for param in params {
            let value = trace.builder.push_param(param);
            all.push(TracedValue::of(trace, value, at));
        }
        all
    });
    let result = f(params);
    let mut given = Vec::new();
    result.values(&mut given);
    let values = given.iter().map(|x| own(stamp, x.place(), at, |t, p| x.value_in(t, p))).collect();
    match innermost.end() {
        Some((builder, captures)) => ((builder.finish(values), captures), result),
        None => raise(Fault::MixedTraces { at }),
    }
}

/// Adds an operation with a body to the innermost trace; its parts.
pub(crate) fn add(
    structure: Structure,
    lead: &[TracedValue],
    captures: &[Value],
    at: At,
) -> Vec<TracedValue> {
    let innermost = with_innermost(|trace| trace.stamp);
    with_all(lead.iter().map(|x| x.place()).collect(), at, |trace, places| {
        if innermost != Some(trace.stamp) {
            raise(Fault::MixedTraces { at });
        }
        let mut operands: Vec<Value> =
            lead.iter().zip(places).map(|(x, p)| x.value_in(trace, *p)).collect();
        operands.extend(captures);
        let types: Vec<Type> = operands.iter().map(|v| trace.builder.ty(*v)).collect();
        if let Err(error) = structure.check(&types) {
            raise(Fault::Misfit { what: error.to_string(), at });
        }
        let parts = trace.builder.structure(structure, &operands);
        parts.into_iter().map(|part| TracedValue::of(trace, part, at)).collect()
    })
}

fn index(name: &str) -> Param {
    Param { name: name.to_string(), ty: Type::I64, linear: false }
}

/// The values that something is made of, and their types.
fn parts<S: Carried>(state: &S) -> (Vec<TracedValue>, Vec<Type>) {
    let number = with_innermost(|trace| trace.ty).unwrap_or(Type::F64);
    let mut values = Vec::new();
    state.values(&mut values);
    let types = values.iter().map(|value| value.ty(number)).collect();
    (values, types)
}

fn carries(types: &[Type]) -> impl Iterator<Item = Param> {
    types.iter().enumerate().map(|(k, ty)| {
        let name = if types.len() == 1 { "s".to_string() } else { format!("s{k}") };
        Param { name, ty: *ty, linear: false }
    })
}

/// What a round gives must be what it began with.
fn check_same(name: &str, before: &[Type], after: &[Type], at: At) {
    if before != after {
        let what = format!(
            "`{name}` begins with {before:?} and a round gives {after:?}; a state keeps its shape"
        );
        raise(Fault::Misfit { what, at });
    }
}

/// Where a kernel is computed: a range, or several as a tuple, an array or a list.
pub trait Domain {
    /// The indices of one point.
    type Point;

    /// The ranges, the first varying slowest.
    fn ranges(&self) -> Vec<Range<usize>>;

    /// A point, from an index for each range.
    fn point(&self, indices: &mut std::vec::IntoIter<TracedIndex>) -> Self::Point;
}

impl Domain for Range<usize> {
    type Point = TracedIndex;

    fn ranges(&self) -> Vec<Range<usize>> {
        vec![self.clone()]
    }

    fn point(&self, indices: &mut std::vec::IntoIter<TracedIndex>) -> TracedIndex {
        indices.next().unwrap_or_else(|| TracedIndex::from(0usize))
    }
}

impl<D: Domain> Domain for Vec<D> {
    type Point = Vec<D::Point>;

    fn ranges(&self) -> Vec<Range<usize>> {
        self.iter().flat_map(Domain::ranges).collect()
    }

    fn point(&self, indices: &mut std::vec::IntoIter<TracedIndex>) -> Self::Point {
        self.iter().map(|domain| domain.point(indices)).collect()
    }
}

impl<D: Domain, const N: usize> Domain for [D; N] {
    type Point = [D::Point; N];

    fn ranges(&self) -> Vec<Range<usize>> {
        self.iter().flat_map(Domain::ranges).collect()
    }

    fn point(&self, indices: &mut std::vec::IntoIter<TracedIndex>) -> Self::Point {
        std::array::from_fn(|k| self[k].point(indices))
    }
}

macro_rules! domains {
    ($(($($T:ident $k:tt),+);)*) => {
        $(impl<$($T: Domain),+> Domain for ($($T,)+) {
            type Point = ($($T::Point,)+);

            fn ranges(&self) -> Vec<Range<usize>> {
                let mut all = Vec::new();
                $(all.extend(self.$k.ranges());)+
                all
            }

            fn point(&self, indices: &mut std::vec::IntoIter<TracedIndex>) -> Self::Point {
                ($(self.$k.point(indices),)+)
            }
        })*
    };
}

domains! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
}

/// The sizes of a domain.
fn dims(ranges: &[Range<usize>]) -> Vec<Dim> {
    ranges.iter().map(|r| Dim::Size(r.end.saturating_sub(r.start))).collect()
}

/// A kernel's body over a domain.
fn over<D: Domain, R: Carried>(
    domain: &D,
    at: At,
    f: impl FnOnce(D::Point) -> R,
) -> (Vec<Dim>, Closed, R) {
    let ranges = domain.ranges();
    let names = ["i", "j", "k", "l"];
    let name = |k: usize| names.get(k).map_or_else(|| format!("i{k}"), ToString::to_string);
    let params = (0..ranges.len()).map(|k| index(&name(k))).collect();
    let (closed, result) = close(params, at, |indices| {
        let shifted: Vec<TracedIndex> = indices
            .iter()
            .zip(&ranges)
            .filter_map(|(i, range)| match i {
                TracedValue::Index(i) => Some(*i + range.start),
                _ => None,
            })
            .collect();
        f(domain.point(&mut shifted.into_iter()))
    });
    (dims(&ranges), closed, result)
}

fn reduce<D: Domain, R: Carried>(
    reducer: Reducer,
    domain: &D,
    at: At,
    f: impl FnOnce(D::Point) -> R,
) -> (R, Values) {
    let (dims, (body, captures), result) = over(domain, at, f);
    let structure = Structure::Red { dims, reducer, body: Arc::new(body) };
    (result, Values::new(add(structure, &[], &captures, at), at))
}

/// What can be summed: a number, or an array element by element.
pub trait Summand: Carried {}

impl Summand for Traced {}
impl Summand for TracedArray {}

/// The sum over a domain, first point to last; zero if there is none.
///
/// ```
/// use cotangent_ir::{sum_over, trace_arrays};
///
/// let f = trace_arrays("f", &[&[2, 3]], |x| {
///     sum_over((0..2, 0..3), |(i, j)| x[0].at((i, j)) * (i + j).to_number())
/// })?;
/// assert_eq!(f.run(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).unwrap(), [0.0 + 1.0 + 2.0 + 1.0 + 2.0 + 3.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[track_caller]
pub fn sum_over<D: Domain, R: Summand>(domain: D, term: impl FnOnce(D::Point) -> R) -> R {
    let (result, mut values) = reduce(Reducer::Sum, &domain, Location::caller(), term);
    result.with_values(&mut values)
}

/// The product over a domain, first point to last; one if there is none.
#[track_caller]
pub fn prod_over<D: Domain>(domain: D, factor: impl FnOnce(D::Point) -> Traced) -> Traced {
    let (result, mut values) = reduce(Reducer::Product, &domain, Location::caller(), factor);
    result.with_values(&mut values)
}

/// The largest over a domain, the first of equal ones; −∞ if there is none.
#[track_caller]
pub fn max_over<D: Domain>(domain: D, f: impl FnOnce(D::Point) -> Traced) -> Traced {
    let (result, mut values) = reduce(Reducer::Max, &domain, Location::caller(), f);
    result.with_values(&mut values)
}

/// The smallest over a domain, the first of equal ones; ∞ if there is none.
#[track_caller]
pub fn min_over<D: Domain>(domain: D, f: impl FnOnce(D::Point) -> Traced) -> Traced {
    let (result, mut values) = reduce(Reducer::Min, &domain, Location::caller(), f);
    result.with_values(&mut values)
}

/// Where a function is largest over a domain: the first such point.
///
/// ```
/// use cotangent_ir::{argmax_over, trace_arrays};
///
/// let f = trace_arrays("f", &[&[4], &[4]], |x| x[1].at(argmax_over(0..4, |i| x[0].at(i))))?;
/// assert_eq!(f.run(&[1.0, 7.0, 3.0, 7.0, 10.0, 11.0, 12.0, 13.0]).unwrap(), [11.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[track_caller]
pub fn argmax_over<D: Domain>(domain: D, f: impl FnOnce(D::Point) -> Traced) -> D::Point {
    place_of(Reducer::ArgMax, &domain, Location::caller(), f)
}

/// Where a function is smallest over a domain: the first such point.
#[track_caller]
pub fn argmin_over<D: Domain>(domain: D, f: impl FnOnce(D::Point) -> Traced) -> D::Point {
    place_of(Reducer::ArgMin, &domain, Location::caller(), f)
}

fn place_of<D: Domain>(
    reducer: Reducer,
    domain: &D,
    at: At,
    f: impl FnOnce(D::Point) -> Traced,
) -> D::Point {
    let (_, mut values) = reduce(reducer, domain, at, f);
    let mut rest = TracedIndex::from(0usize).with_values(&mut values);
    let mut indices = Vec::new();
    for (k, range) in domain.ranges().iter().enumerate().rev() {
        let size = range.end.saturating_sub(range.start);
        indices.push(range.start + if k == 0 { rest } else { rest % size });
        rest = rest / size;
    }
    indices.reverse();
    domain.point(&mut indices.into_iter())
}

/// A value for every point of a domain, side by side: arrays of what the closure gives.
///
/// ```
/// use cotangent_ir::{map_over, trace_arrays};
///
/// let f = trace_arrays("polar", &[&[2], &[2]], |x| {
///     map_over(0..2, |i| {
///         let (r, a) = (x[0].at(i), x[1].at(i));
///         (r * a.cos(), r * a.sin())
///     })
/// })?;
/// assert_eq!(f.run(&[1.0, 2.0, 0.0, 0.0]).unwrap(), [1.0, 2.0, 0.0, 0.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[track_caller]
pub fn map_over<D: Domain, R: Tabulated>(domain: D, f: impl FnOnce(D::Point) -> R) -> R::Table {
    let at = Location::caller();
    let (dims, (body, captures), result) = over(&domain, at, f);
    let structure = Structure::Tab { dims, body: Arc::new(body) };
    result.table(&mut Values::new(add(structure, &[], &captures, at), at))
}

/// So many rounds, each from what the last one gave.
///
/// The state is whatever is [`Carried`]; the number of rounds may be computed.
///
/// ```
/// use cotangent_ir::{Traced, fori, trace};
///
/// let f = trace("fibonacci", 2, |x| {
///     let (a, _) = fori(10, (x[0], x[1]), |_, (a, b)| (b, a + b));
///     vec![a]
/// })?;
/// assert_eq!(f.run(&[0.0, 1.0]).unwrap(), [55.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[track_caller]
pub fn fori<S: Carried>(
    rounds: impl Into<TracedIndex>,
    init: S,
    body: impl FnOnce(TracedIndex, S) -> S,
) -> S {
    let at = Location::caller();
    rounds_of("fori", rounds.into(), init, at, |i, state| (body(i, state), ())).0
}

/// A loop that also gives something in every round: the last state, and arrays of what was given.
///
/// ```
/// use cotangent_ir::{Traced, scan, trace_arrays};
///
/// let f = trace_arrays("sums", &[&[4]], |x| {
///     scan(4, Traced::from(0.0), |i, sum| {
///         let sum = sum + x[0].at(i);
///         (sum, sum)
///     }).1
/// })?;
/// assert_eq!(f.run(&[1.0, 2.0, 3.0, 4.0]).unwrap(), [1.0, 3.0, 6.0, 10.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[track_caller]
pub fn scan<S: Carried, Y: Tabulated>(
    rounds: usize,
    init: S,
    body: impl FnOnce(TracedIndex, S) -> (S, Y),
) -> (S, Y::Table) {
    rounds_of("scan", TracedIndex::from(rounds), init, Location::caller(), body)
}

fn rounds_of<S: Carried, Y: Tabulated>(
    name: &str,
    rounds: TracedIndex,
    init: S,
    at: At,
    body: impl FnOnce(TracedIndex, S) -> (S, Y),
) -> (S, Y::Table) {
    let (start, types) = parts(&init);
    let params = std::iter::once(index("i")).chain(carries(&types)).collect();
    let ((body, captures), (next, given)) = close(params, at, |params| {
        let mut values = Values::new(params, at);
        let i = rounds.with_values(&mut values);
        body(i, init.with_values(&mut values))
    });
    check_same(name, &types, &parts(&next).1, at);
    let structure = Structure::For { carries: types.len(), body: Arc::new(body) };
    let lead: Vec<TracedValue> = std::iter::once(TracedValue::Index(rounds)).chain(start).collect();
    let mut values = Values::new(add(structure, &lead, &captures, at), at);
    (init.with_values(&mut values), given.table(&mut values))
}

/// Rounds as long as a condition of the state holds.
///
/// ```
/// use cotangent_ir::{trace, while_};
/// use cotangent_numbers::Elementary;
///
/// let root = trace("root", 1, |a| {
///     let a = a[0];
///     vec![while_(a, |x| (x * x - a).abs().greater(1e-12), |x| (x + a / x) * 0.5)]
/// })?;
/// assert!((root.run(&[2.0]).unwrap()[0] - 2.0_f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[track_caller]
pub fn while_<S: Carried>(
    init: S,
    condition: impl FnOnce(S) -> TracedMask,
    body: impl FnOnce(S) -> S,
) -> S {
    let at = Location::caller();
    let (start, types) = parts(&init);
    let state = |params: Vec<TracedValue>| init.with_values(&mut Values::new(params, at));
    let (condition, _) = close(carries(&types).collect(), at, |params| condition(state(params)));
    let (body, next) = close(carries(&types).collect(), at, |params| body(state(params)));
    check_same("while_", &types, &parts(&next).1, at);
    let (condition, body, captures) = join(types.len(), &condition, &body);
    let structure = Structure::While {
        carries: types.len(),
        condition: Arc::new(condition),
        body: Arc::new(body),
    };
    init.with_values(&mut Values::new(add(structure, &start, &captures, at), at))
}

/// One of two closures, decided when the function runs. Both are traced; only one is run.
///
/// ```
/// use cotangent_ir::{cond, trace};
/// use cotangent_numbers::Elementary;
///
/// let f = trace("f", 1, |x| vec![cond(x[0].greater(0.0), || x[0].ln(), || -x[0])])?;
/// assert_eq!(f.run(&[1.0]).unwrap(), [0.0]);
/// assert_eq!(f.run(&[-2.0]).unwrap(), [2.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[track_caller]
pub fn cond<R: Carried>(
    mask: impl Into<TracedMask>,
    yes: impl FnOnce() -> R,
    no: impl FnOnce() -> R,
) -> R {
    let (mask, at) = (mask.into(), Location::caller());
    if mask.place.is_constant() {
        return if mask.outcome { yes() } else { no() };
    }
    let (yes, result) = close(Vec::new(), at, |_| yes());
    let (no, other) = close(Vec::new(), at, |_| no());
    let (a, b) = (parts(&result).1, parts(&other).1);
    if a != b {
        let what = format!("one branch of `cond` gives {a:?}, the other {b:?}; they must fit");
        raise(Fault::Misfit { what, at });
    }
    let (yes, no, captures) = join(0, &yes, &no);
    let structure = Structure::If { yes: Arc::new(yes), no: Arc::new(no) };
    let parts = add(structure, &[TracedValue::Mask(mask)], &captures, at);
    result.with_values(&mut Values::new(parts, at))
}

/// One of two values that are both computed: numbers, arrays, or whatever is [`Carried`].
///
/// ```
/// use cotangent_ir::{map_over, select, trace_arrays};
///
/// let f = trace_arrays("f", &[&[4]], |x| map_over(0..4, |i| select(i.less(2), x[0].at(i), 0.0.into())))?;
/// assert_eq!(f.run(&[1.0, 2.0, 3.0, 4.0]).unwrap(), [1.0, 2.0, 0.0, 0.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[track_caller]
pub fn select<R: Carried>(mask: impl Into<TracedMask>, yes: R, no: R) -> R {
    let (mask, at) = (mask.into(), Location::caller());
    let ((a, a_types), (b, b_types)) = (parts(&yes), parts(&no));
    if a_types != b_types {
        let what = format!("`select` between {a_types:?} and {b_types:?}; they must fit");
        raise(Fault::Misfit { what, at });
    }
    if mask.place.is_constant() {
        return if mask.outcome { yes } else { no };
    }
    let chosen = a.into_iter().zip(b).map(|(x, y)| match (x, y) {
        // With its value, where the trace is at a point.
        (TracedValue::Number(x), TracedValue::Number(y)) => {
            TracedValue::Number(cotangent_ops::Lift::choose(mask, x, y))
        }
        (TracedValue::Mask(x), TracedValue::Mask(y)) => TracedValue::Mask((mask & x) | (!mask & y)),
        (x, y) => with_all(vec![mask.place, x.place(), y.place()], at, |trace, places| {
            let (x, y) = (x.value_in(trace, places[1]), y.value_in(trace, places[2]));
            let value = trace.builder.select(places[0].value(), x, y);
            TracedValue::of(trace, value, at)
        }),
    });
    let values = chosen.collect();
    yes.with_values(&mut Values::new(values, at))
}
