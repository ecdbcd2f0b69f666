//! The traces being made: one inside the other, and how values get from an outer one to an inner one.
//!
//! A *body* is a trace that stands for a part of the one around it: the closure of a loop or of a branch.
//! What it uses from outside is captured: it becomes a parameter of the body, once, through as many bodies
//! as lie between. Any other trace has nothing to do with the ones around it.

use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use cotangent_numbers::fault::{Fault, raise};
use rustc_hash::FxHashMap;

use crate::build::Builder;
use crate::function::{Function, Param, Value};
use crate::types::Type;

/// The stamp of constants, which belong to no trace.
pub(crate) const NO_STAMP: u32 = 0;

/// Where a value stands: its number in the trace with a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) id: u32,
    pub(crate) stamp: u32,
}

impl Place {
    /// The place of a constant.
    pub(crate) const NONE: Place = Place { id: 0, stamp: NO_STAMP };

    pub(crate) fn is_constant(self) -> bool {
        self.stamp == NO_STAMP
    }

    pub(crate) fn value(self) -> Value {
        Value(self.id)
    }
}

/// A trace in the making.
pub(crate) struct Trace {
    pub(crate) stamp: u32,
    pub(crate) builder: Builder,
    /// The point it is traced at, so that values are known and branches can be decided.
    pub(crate) point: Option<Rc<[f64]>>,
    /// The type of its numbers.
    pub(crate) ty: Type,
    /// Whether it is a body of the trace around it.
    pub(crate) body: bool,
    /// Whether what is recorded are coefficients of derivatives: a sum with zero is what is added to it.
    pub(crate) coefficients: bool,
    /// Values of the trace around it, and as what they are known here.
    captured: FxHashMap<Value, Value>,
    /// Values of the trace around it, in the order of the parameters they are.
    captures: Vec<Value>,
}

impl Trace {
    pub(crate) fn is_sampled(&self) -> bool {
        self.point.is_some()
    }

    pub(crate) fn at(&self, value: Value) -> Place {
        Place { id: value.0, stamp: self.stamp }
    }

    /// The value of the trace around it as one of this: a constant again, else a parameter.
    fn capture(&mut self, outer: &Builder, value: Value) -> Value {
        if let Some(known) = self.captured.get(&value) {
            return *known;
        }
        let (op, ty) = (outer.function().op(value), outer.ty(value));
        if op.is_constant() {
            return self.builder.copy(op, ty, &[]);
        }
        let name = format!("c{}", self.builder.function().params().len());
        let inner = self.builder.push_param(Param { name, ty, linear: false });
        self.captured.insert(value, inner);
        self.captures.push(value);
        inner
    }

    /// The value that a recording so far gives at its point.
    pub(crate) fn so_far(&self, value: Value) -> Option<(Function, Rc<[f64]>)> {
        let point = self.point.clone()?;
        let mut function = self.builder.function().clone();
        function.guards.clear();
        function.results = vec![value];
        Some((function.without_dead(), point))
    }
}

thread_local! {
    /// The traces being made on this thread, the innermost last.
    static TRACES: RefCell<Vec<Trace>> = const { RefCell::new(Vec::new()) };
}

static NEXT: AtomicU32 = AtomicU32::new(1);

/// The last trace that is a body, or a body of a body, of the one at this place; or that one.
fn end_of_chain(traces: &[Trace], first: usize) -> usize {
    first + traces[first + 1..].iter().take_while(|t| t.body).count()
}

/// The trace that an operation on these values goes to, to which those of traces around it are brought.
/// Of constants alone, it is the innermost one.
#[inline]
fn settle<'t>(
    traces: &'t mut [Trace],
    places: &mut [Place],
    at: &'static Location<'static>,
) -> &'t mut Trace {
    let last = traces.len().wrapping_sub(1);
    let inside = traces
        .last()
        .is_some_and(|top| places.iter().all(|p| p.stamp == top.stamp || p.stamp == NO_STAMP));
    let to = if inside { last } else { bring(traces, places, at) };
    &mut traces[to]
}

/// Brings values of several traces together.
#[cold]
fn bring(traces: &mut [Trace], places: &mut [Place], at: &'static Location<'static>) -> usize {
    let mut to = None;
    for place in places.iter().filter(|p| !p.is_constant()) {
        let Some(from) = traces.iter().rposition(|t| t.stamp == place.stamp) else {
            raise(Fault::MixedTraces { at });
        };
        let end = end_of_chain(traces, from);
        if to.is_some_and(|to| to != end) {
            raise(Fault::MixedTraces { at });
        }
        to = Some(end);
    }
    let Some(to) = to else { raise(Fault::MixedTraces { at }) };
    for place in places.iter_mut().filter(|p| !p.is_constant()) {
        let Some(from) = traces.iter().rposition(|t| t.stamp == place.stamp) else { continue };
        for k in from + 1..=to {
            let (around, inside) = traces.split_at_mut(k);
            let inner = inside[0].capture(&around[k - 1].builder, place.value());
            *place = inside[0].at(inner);
        }
    }
    to
}

/// Gives `f` the trace that an operation on these values goes to, where they stand in it. `f` must not
/// operate on traced numbers.
#[inline]
pub(crate) fn with<R, const N: usize>(
    mut places: [Place; N],
    at: &'static Location<'static>,
    f: impl FnOnce(&mut Trace, [Place; N]) -> R,
) -> R {
    TRACES.with_borrow_mut(|traces| {
        let trace = settle(traces, &mut places, at);
        f(trace, places)
    })
}

/// [`with`] for any number of values.
pub(crate) fn with_all<R>(
    mut places: Vec<Place>,
    at: &'static Location<'static>,
    f: impl FnOnce(&mut Trace, &[Place]) -> R,
) -> R {
    TRACES.with_borrow_mut(|traces| {
        if traces.is_empty() && places.iter().all(|p| p.is_constant()) {
            raise(outside(at));
        }
        let trace = settle(traces, &mut places, at);
        f(trace, &places)
    })
}

/// Gives `f` the outermost of the bodies that are being made, or the trace they are bodies of.
pub(crate) fn with_outermost<R>(
    at: &'static Location<'static>,
    f: impl FnOnce(&mut Trace) -> R,
) -> R {
    TRACES.with_borrow_mut(|traces| match traces.iter_mut().rev().find(|t| !t.body) {
        Some(trace) => f(trace),
        None => raise(outside(at)),
    })
}

/// Gives `f` the innermost trace, where there is one.
#[inline]
pub(crate) fn with_innermost<R>(f: impl FnOnce(&mut Trace) -> R) -> Option<R> {
    TRACES.with_borrow_mut(|traces| traces.last_mut().map(f))
}

fn outside(at: &'static Location<'static>) -> Fault {
    let what = "arrays and loops are recorded only while a function is traced; call this inside `trace` or \
                `trace_arrays`";
    Fault::Misfit { what: what.to_string(), at }
}

/// The innermost trace; removed however its making ends.
pub(crate) struct Innermost {
    pub(crate) stamp: u32,
}

impl Innermost {
    pub(crate) fn begin(builder: Builder, point: Option<Rc<[f64]>>, ty: Type) -> Self {
        Innermost::push(builder, point, ty, false)
    }

    /// A body of the innermost trace.
    pub(crate) fn begin_body(at: &'static Location<'static>) -> Self {
        match with_innermost(|trace| trace.ty) {
            Some(ty) => Innermost::push(Builder::new(""), None, ty, true),
            None => raise(outside(at)),
        }
    }

    fn push(builder: Builder, point: Option<Rc<[f64]>>, ty: Type, body: bool) -> Self {
        let stamp = loop {
            let stamp = NEXT.fetch_add(1, Ordering::Relaxed);
            if stamp != NO_STAMP {
                break stamp;
            }
        };
        let (captured, captures) = (FxHashMap::default(), Vec::new());
        let coefficients = false;
        let trace = Trace { stamp, builder, point, ty, body, coefficients, captured, captures };
        TRACES.with_borrow_mut(|t| t.push(trace));
        Innermost { stamp }
    }

    /// The builder, and the values that were captured.
    pub(crate) fn end(self) -> Option<(Builder, Vec<Value>)> {
        let stamp = self.stamp;
        std::mem::forget(self);
        TRACES.with_borrow_mut(|traces| {
            let at = traces.iter().rposition(|trace| trace.stamp == stamp)?;
            let trace = traces.remove(at);
            Some((trace.builder, trace.captures))
        })
    }
}

impl Drop for Innermost {
    fn drop(&mut self) {
        TRACES.with_borrow_mut(|traces| traces.retain(|trace| trace.stamp != self.stamp));
    }
}
