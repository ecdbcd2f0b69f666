//! Tracing: a number that writes down what is done with it, as a function.

use std::cell::RefCell;
use std::fmt;
use std::ops::{BitAnd, BitOr, Not};
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

use cotangent_numbers::fault::{Fault, catch, raise};
use cotangent_numbers::{inherent, number};
use cotangent_ops::{Binary, Comparison, Lift, Mask, Opcode, Operation, Ternary, Unary};

use crate::build::{Builder, fold};
use crate::function::{Function, Value};
use crate::types::Type;

/// The stamp of constants, which belong to no trace.
const NO_STAMP: u32 = 0;

/// A trace in the making.
struct Trace {
    stamp: u32,
    builder: Builder,
    /// Whether it is traced at a point, so that values are known and branches can be decided.
    sampled: bool,
    /// The type of its numbers.
    ty: Type,
}

thread_local! {
    /// The traces being made on this thread, the innermost last.
    static TRACES: RefCell<Vec<Trace>> = const { RefCell::new(Vec::new()) };
}

static NEXT: AtomicU32 = AtomicU32::new(1);

/// Gives `f` the trace with this stamp. `f` must not operate on traced numbers.
#[track_caller]
fn with<R>(stamp: u32, f: impl FnOnce(&mut Trace) -> R) -> R {
    let at = Location::caller();
    TRACES.with_borrow_mut(|traces| match traces.iter_mut().rev().find(|t| t.stamp == stamp) {
        Some(trace) => f(trace),
        None => raise(Fault::MixedTraces { at }),
    })
}

/// A number that is traced.
///
/// It is a small `Copy` value: its place in the trace, and its value if it is traced at a point. Using it
/// in another trace, or after the end of its own, is a fault.
#[derive(Clone, Copy)]
pub struct Traced {
    value: f64,
    id: u32,
    stamp: u32,
    /// Whether a constant is the rounded value of what it stands for.
    rounded: bool,
}

impl Traced {
    fn fixed(value: f64, rounded: bool) -> Self {
        Traced { value, id: 0, stamp: NO_STAMP, rounded }
    }

    fn is_constant(self) -> bool {
        self.stamp == NO_STAMP
    }

    /// The value in its trace, where a constant is added.
    fn place(self, trace: &mut Trace) -> Value {
        match (self.is_constant(), self.rounded) {
            (true, false) => trace.builder.constant(self.value, trace.ty),
            (true, true) => trace.builder.rounded(self.value, trace.ty),
            (false, _) => Value(self.id),
        }
    }
}

/// The stamp of operands: the one that is not constant; a fault if they differ.
#[track_caller]
fn join(numbers: &[Traced]) -> u32 {
    let mut stamp = NO_STAMP;
    for number in numbers.iter().filter(|n| !n.is_constant()) {
        if stamp != NO_STAMP && stamp != number.stamp {
            raise(Fault::MixedTraces { at: Location::caller() });
        }
        stamp = number.stamp;
    }
    stamp
}

#[track_caller]
fn record<O: Operation>(op: O, value: f64, operands: &[Traced]) -> Traced {
    let stamp = join(operands);
    if stamp == NO_STAMP {
        let plain = operands.iter().all(|x| !x.rounded);
        let mut numbers = [0.0; 3];
        for (number, x) in numbers.iter_mut().zip(operands) {
            *number = x.value;
        }
        let code = O::INFO.opcode;
        let exact = plain && fold(code, &numbers[..operands.len()], Type::F64).is_some();
        // What is rounded to the nearest number is known as such. What a function makes of constants may
        // be off by more, so it is left to what runs the trace.
        let nearest =
            matches!(code, Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Div | Opcode::Sqrt);
        if exact || (plain && nearest) || innermost().is_none() {
            return Traced::fixed(value, !exact);
        }
    }
    let stamp = if stamp == NO_STAMP { innermost().unwrap_or(NO_STAMP) } else { stamp };
    let id = with(stamp, |trace| {
        let mut places = [Value(0); 3];
        for (place, x) in places.iter_mut().zip(operands) {
            *place = x.place(trace);
        }
        trace.builder.elementary(O::INFO.opcode, op.parameter(), &places[..operands.len()])
    });
    Traced { value, id: id.0, stamp, rounded: false }
}

/// The stamp of the trace that constants go to, if one is being made.
fn innermost() -> Option<u32> {
    TRACES.with_borrow(|traces| traces.last().map(|trace| trace.stamp))
}

impl Lift for Traced {
    type Mask = TracedMask;

    const RECORDS: bool = true;

    fn lift(c: f64) -> Self {
        Traced::fixed(c, false)
    }

    fn lift_rounded(c: f64) -> Self {
        Traced::fixed(c, true)
    }

    /// What the caller does with the value is out of sight, so the trace is good for this very value
    /// only.
    #[track_caller]
    fn primal(self) -> f64 {
        if !self.is_constant() {
            let same = self.decide(Traced::lift(self.value), Comparison::Equal);
            if !same {
                // A NaN is not equal to itself; that it is one is what is known.
                self.decide(self, Comparison::Differ);
            }
        }
        self.value
    }

    fn sample(self) -> Option<f64> {
        let sampled = self.is_constant() || with(self.stamp, |trace| trace.sampled);
        sampled.then_some(self.value)
    }

    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        record(op, op.value(self.value), &[self])
    }

    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        record(op, op.value(self.value, y.value), &[self, y])
    }

    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        record(op, op.value(self.value, y.value, z.value), &[self, y, z])
    }

    #[track_caller]
    fn compare(self, y: Self, comparison: Comparison) -> TracedMask {
        let outcome = comparison.holds(&self.value, &y.value);
        let stamp = join(&[self, y]);
        if stamp == NO_STAMP {
            return TracedMask::from(outcome);
        }
        let id = with(stamp, |trace| {
            let (x, y) = (self.place(trace), y.place(trace));
            trace.builder.compare(comparison, x, y)
        });
        TracedMask { outcome, id: id.0, stamp }
    }

    #[track_caller]
    fn choose(mask: TracedMask, x: Self, y: Self) -> Self {
        let chosen = if mask.outcome { x } else { y };
        if mask.stamp == NO_STAMP {
            return chosen;
        }
        let of_mask = Traced { value: 0.0, id: 0, stamp: mask.stamp, rounded: false };
        let stamp = join(&[x, y, of_mask]);
        let id = with(stamp, |trace| {
            let (x, y) = (x.place(trace), y.place(trace));
            trace.builder.select(Value(mask.id), x, y)
        });
        Traced { value: chosen.value, id: id.0, stamp, rounded: false }
    }

    /// With a point, the outcome is a guard of the function; without, there is none.
    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        let outcome = comparison.holds(&self.value, &y.value);
        let mask = self.compare(y, comparison);
        if mask.stamp != NO_STAMP {
            let at = Location::caller();
            let sampled = with(mask.stamp, |trace| {
                if trace.sampled {
                    trace.builder.guard(Value(mask.id), outcome);
                }
                trace.sampled
            });
            if !sampled {
                raise(Fault::TracedBranch { comparison, at });
            }
        }
        outcome
    }

    #[track_caller]
    fn value_is_nan(self) -> bool {
        self.decide(self, Comparison::Differ)
    }

    #[track_caller]
    fn value_is_finite(self) -> bool {
        self.decide(Self::lift(f64::INFINITY), Comparison::Less)
            && self.decide(Self::lift(f64::NEG_INFINITY), Comparison::Greater)
    }

    fn vanishes(self) -> bool {
        self.is_constant() && self.value == 0.0
    }

    fn all_finite(self) -> bool {
        // A traced number may be anything; the rules that ask are then written for the worst.
        self.is_constant() && self.value.is_finite()
    }
}

number!([] Traced);

impl fmt::Debug for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_constant() {
            return write!(f, "{:?}", self.value);
        }
        write!(f, "%{} ({:?})", self.id, self.value)
    }
}

impl fmt::Display for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The outcome of a comparison in a trace.
#[derive(Clone, Copy, Debug)]
pub struct TracedMask {
    outcome: bool,
    id: u32,
    stamp: u32,
}

impl Mask for TracedMask {}

impl From<bool> for TracedMask {
    fn from(outcome: bool) -> Self {
        TracedMask { outcome, id: 0, stamp: NO_STAMP }
    }
}

impl TracedMask {
    #[track_caller]
    fn combine(
        self,
        other: TracedMask,
        outcome: bool,
        op: fn(&mut Builder, Value, Value) -> Value,
    ) -> TracedMask {
        if self.stamp == NO_STAMP && other.stamp == NO_STAMP {
            return TracedMask::from(outcome);
        }
        if self.stamp != NO_STAMP && other.stamp != NO_STAMP && self.stamp != other.stamp {
            raise(Fault::MixedTraces { at: Location::caller() });
        }
        let stamp = self.stamp.max(other.stamp);
        let id = with(stamp, |trace| {
            let mut place = |mask: TracedMask| match mask.stamp {
                NO_STAMP => trace.builder.truth(mask.outcome),
                _ => Value(mask.id),
            };
            let (x, y) = (place(self), place(other));
            op(&mut trace.builder, x, y)
        });
        TracedMask { outcome, id: id.0, stamp }
    }
}

impl BitAnd for TracedMask {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.combine(other, self.outcome && other.outcome, Builder::and)
    }
}

impl BitOr for TracedMask {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.combine(other, self.outcome || other.outcome, Builder::or)
    }
}

impl Not for TracedMask {
    type Output = Self;
    fn not(self) -> Self {
        if self.stamp == NO_STAMP {
            return TracedMask::from(!self.outcome);
        }
        let id = with(self.stamp, |trace| trace.builder.not(Value(self.id)));
        TracedMask { outcome: !self.outcome, id: id.0, ..self }
    }
}

/// Removes the trace however its making ends.
struct Innermost {
    stamp: u32,
}

impl Innermost {
    fn begin(builder: Builder, sampled: bool, ty: Type) -> Self {
        let stamp = loop {
            let stamp = NEXT.fetch_add(1, Ordering::Relaxed);
            if stamp != NO_STAMP {
                break stamp;
            }
        };
        TRACES.with_borrow_mut(|t| t.push(Trace { stamp, builder, sampled, ty }));
        Innermost { stamp }
    }

    fn end(self) -> Option<Trace> {
        let trace = TRACES.with_borrow_mut(Vec::pop);
        std::mem::forget(self);
        trace
    }
}

impl Drop for Innermost {
    fn drop(&mut self) {
        TRACES.with_borrow_mut(|traces| traces.retain(|trace| trace.stamp != self.stamp));
    }
}

/// Traces a function of `inputs` numbers for all points: no branch may depend on them.
///
/// ```
/// use cotangent_ir::trace;
///
/// let f = trace("f", 2, |x| vec![(x[0] * x[1]).sin()])?;
/// assert_eq!(f.to_string(), "fn @f(%x0: f64, %x1: f64) -> f64 {\n  %0 = mul %x0, %x1\n  %1 = sin %0\n  ret %1\n}\n");
/// let branch = trace("g", 1, |x| vec![if x[0] > 0.0 { x[0] } else { -x[0] }]);
/// assert!(branch.unwrap_err().to_string().contains("decides a branch"));
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
///
/// # Errors
/// A branch, with its place, and what else the numbers raised.
pub fn trace(
    name: &str,
    inputs: usize,
    f: impl FnOnce(&[Traced]) -> Vec<Traced>,
) -> Result<Function, Fault> {
    run(name, &vec![f64::NAN; inputs], false, f)
}

/// Traces a function at a point: branches go as they go there, and are guards of the function.
///
/// ```
/// use cotangent_ir::trace_at;
///
/// let f = trace_at("f", &[3.0], |x| vec![if x[0] > 0.0 { x[0] * 2.0 } else { x[0] }])?;
/// assert_eq!(f.run(&[5.0]).unwrap(), [10.0]);
/// assert!(f.run(&[-5.0]).unwrap_err().to_string().contains("record it anew"));
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
///
/// # Errors
/// What the numbers raised.
pub fn trace_at(
    name: &str,
    point: &[f64],
    f: impl FnOnce(&[Traced]) -> Vec<Traced>,
) -> Result<Function, Fault> {
    run(name, point, true, f)
}

fn run(
    name: &str,
    point: &[f64],
    sampled: bool,
    f: impl FnOnce(&[Traced]) -> Vec<Traced>,
) -> Result<Function, Fault> {
    let innermost = Innermost::begin(Builder::new(name), sampled, Type::F64);
    let stamp = innermost.stamp;
    let inputs: Vec<Traced> = point
        .iter()
        .enumerate()
        .map(|(k, value)| {
            let id = with(stamp, |trace| trace.builder.param(format!("x{k}"), Type::F64));
            Traced { value: *value, id: id.0, stamp, rounded: false }
        })
        .collect();
    let results = catch(|| {
        let results = f(&inputs);
        // A result of another trace is found out here.
        let places = results.into_iter().map(|y| {
            let of = if y.is_constant() { stamp } else { y.stamp };
            if of != stamp {
                raise(Fault::MixedTraces { at: Location::caller() });
            }
            with(stamp, |trace| y.place(trace))
        });
        places.collect::<Vec<Value>>()
    })?;
    match innermost.end() {
        Some(trace) => Ok(trace.builder.finish(results)),
        None => Err(Fault::MixedTraces { at: Location::caller() }),
    }
}

/// Values of a function in the making as numbers: what is done with them is added to it.
#[derive(Debug)]
pub struct Numbers {
    stamp: u32,
}

impl Numbers {
    /// A value as a number.
    pub fn number(&self, value: Value) -> Traced {
        let known = with(self.stamp, |trace| trace.builder.known(value));
        match known {
            // As a constant, so that rules see what vanishes.
            Some(c) => Traced::fixed(c, false),
            None => Traced { value: f64::NAN, id: value.0, stamp: self.stamp, rounded: false },
        }
    }

    /// The value of a number.
    pub fn place(&self, number: Traced) -> Value {
        with(self.stamp, |trace| number.place(trace))
    }

    /// The value of a truth value.
    pub fn place_mask(&self, mask: TracedMask) -> Value {
        with(self.stamp, |trace| match mask.stamp {
            NO_STAMP => trace.builder.truth(mask.outcome),
            _ => Value(mask.id),
        })
    }

    /// The function in the making. `f` must not operate on numbers.
    pub fn build<R>(&self, f: impl FnOnce(&mut Builder) -> R) -> R {
        with(self.stamp, |trace| f(&mut trace.builder))
    }
}

impl Builder {
    /// Runs `f`, which adds operations by operating on numbers of this type: the formulas of the table
    /// write themselves down.
    ///
    /// # Errors
    /// What the numbers raised; the function in the making is then lost.
    pub fn numbers<R>(&mut self, ty: Type, f: impl FnOnce(&Numbers) -> R) -> Result<R, Fault> {
        let builder = std::mem::replace(self, Builder::new(""));
        let innermost = Innermost::begin(builder, false, ty);
        let numbers = Numbers { stamp: innermost.stamp };
        let result = catch(|| f(&numbers))?;
        if let Some(trace) = innermost.end() {
            *self = trace.builder;
        }
        Ok(result)
    }
}
