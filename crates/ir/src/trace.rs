//! Tracing: a number that writes down what is done with it, as a function.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};
use std::panic::Location;
use std::rc::Rc;

use cotangent_numbers::fault::{Fault, catch, raise};
use cotangent_numbers::{inherent, number};
use cotangent_ops::{Binary, Comparison, Lift, Mask, Opcode, Operation, Ternary, Unary};

use crate::build::{Builder, fold};
use crate::function::{Function, Param, Value};
use crate::functions;
use crate::op::Op;
use crate::trace_region::{Innermost, Place, Trace, with, with_innermost};
use crate::types::Type;

/// A number that is traced.
///
/// It is a small `Copy` value: its place in the trace, and its value if it is traced at a point. Using it
/// in another trace, or after the end of its own, is a fault.
#[derive(Clone, Copy)]
pub struct Traced {
    value: f64,
    pub(crate) place: Place,
    /// Whether a constant is the rounded value of what it stands for.
    rounded: bool,
    /// Whether the value at the point of the trace is not known yet: it comes out of a loop or of an array.
    unknown: bool,
}

impl Traced {
    pub(crate) fn fixed(value: f64, rounded: bool) -> Self {
        Traced { value, place: Place::NONE, rounded, unknown: false }
    }

    /// A value of a trace that is a number.
    pub(crate) fn of(trace: &Trace, value: Value) -> Self {
        match trace.builder.known(value) {
            // As a constant, so that rules see what vanishes.
            Some(c) => Traced::fixed(c, false),
            None => {
                Traced { value: f64::NAN, place: trace.at(value), rounded: false, unknown: true }
            }
        }
    }

    pub(crate) fn is_constant(self) -> bool {
        self.place.is_constant()
    }

    /// The value in a trace in which it has a place; a constant is added.
    pub(crate) fn value_in(self, trace: &mut Trace, place: Place) -> Value {
        match (place.is_constant(), self.rounded) {
            (true, false) => trace.builder.constant(self.value, trace.ty),
            (true, true) => trace.builder.rounded(self.value, trace.ty),
            (false, _) => place.value(),
        }
    }

    /// The value at the point of the trace, if it is traced at one.
    #[track_caller]
    fn at_point(self) -> Option<f64> {
        if self.is_constant() {
            return Some(self.value);
        }
        let at = Location::caller();
        let so_far = with([self.place], at, |trace, [place]| match self.unknown {
            false => trace.is_sampled().then_some(Err(self.value)),
            true => trace.so_far(place.value()).map(Ok),
        })?;
        Some(so_far.map_or_else(|known| known, |recording| evaluate(&recording, at)))
    }
}

/// What a sum with zero leaves as it is, where the sign of a zero says nothing.
fn unchanged_sum(code: Opcode, operands: &[Traced]) -> Option<Traced> {
    let zero = |x: &Traced| x.is_constant() && x.value == 0.0;
    let same = match (code, operands) {
        (Opcode::Add | Opcode::Sub, [x, y]) if zero(y) => *x,
        (Opcode::Add, [x, y]) if zero(x) => *y,
        _ => return None,
    };
    with_innermost(|trace| trace.coefficients)?.then_some(same)
}

impl Traced {
    /// The number itself; in a loop reverse mode keeps it, whatever it takes.
    #[must_use]
    #[track_caller]
    pub fn keep(self) -> Traced {
        self.marked(Op::Keep)
    }

    /// The number itself; in a loop reverse mode computes it again and never keeps it.
    #[must_use]
    #[track_caller]
    pub fn recompute(self) -> Traced {
        self.marked(Op::Recompute)
    }

    /// The number, through which derivatives do not go.
    ///
    /// ```
    /// use cotangent_ir::trace;
    ///
    /// let f = trace("f", 1, |x| vec![x[0] * x[0].stop()])?;
    /// assert!(f.to_string().contains("stop %x0"));
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn stop(self) -> Traced {
        self.passed_on(Builder::stop)
    }

    #[track_caller]
    fn marked(self, mark: Op) -> Traced {
        self.passed_on(|builder, value| builder.marked(mark, value))
    }

    /// The same number as another value of the trace.
    #[track_caller]
    fn passed_on(self, pass: impl FnOnce(&mut Builder, Value) -> Value) -> Traced {
        if self.is_constant() {
            return self;
        }
        let place = with([self.place], Location::caller(), |trace, [place]| {
            let value = pass(&mut trace.builder, place.value());
            trace.at(value)
        });
        Traced { place, ..self }
    }
}

#[track_caller]
fn record<O: Operation, const N: usize>(op: O, value: f64, operands: [Traced; N]) -> Traced {
    if operands.iter().all(|x| x.is_constant()) {
        let plain = operands.iter().all(|x| !x.rounded);
        let code = O::INFO.opcode;
        let exact = plain && fold(code, &operands.map(|x| x.value), Type::F64).is_some();
        // What is rounded to the nearest number is known as such. What a function makes of constants may
        // be off by more, so it is left to what runs the trace.
        let nearest =
            matches!(code, Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Div | Opcode::Sqrt);
        if exact || (plain && nearest) || with_innermost(|_| ()).is_none() {
            return Traced::fixed(value, !exact);
        }
    }
    if let Some(same) = unchanged_sum(O::INFO.opcode, &operands) {
        return same;
    }
    let unknown = operands.iter().any(|x| x.unknown);
    let place = with(operands.map(|x| x.place), Location::caller(), |trace, places| {
        let mut values = [Value(0); N];
        for ((to, x), place) in values.iter_mut().zip(&operands).zip(places) {
            *to = x.value_in(trace, place);
        }
        let value = trace.builder.elementary(O::INFO.opcode, op.parameter(), &values);
        trace.at(value)
    });
    Traced { value, place, rounded: false, unknown }
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
        let value = self.at_point().unwrap_or(self.value);
        if !self.is_constant() {
            let same = self.decide(Traced::lift(value), Comparison::Equal);
            if !same {
                // A NaN is not equal to itself; that it is one is what is known.
                self.decide(self, Comparison::Differ);
            }
        }
        value
    }

    #[track_caller]
    fn sample(self) -> Option<f64> {
        self.at_point()
    }

    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        record(op, functions::unary(op, self.value), [self])
    }

    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        record(op, functions::binary(op, self.value, y.value), [self, y])
    }

    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        record(op, op.value(self.value, y.value, z.value), [self, y, z])
    }

    #[track_caller]
    fn compare(self, y: Self, comparison: Comparison) -> TracedMask {
        let outcome = comparison.holds(&self.value, &y.value);
        if self.is_constant() && y.is_constant() {
            return TracedMask::from(outcome);
        }
        let places = [self.place, y.place];
        let place = with(places, Location::caller(), |trace, [p, q]| {
            let (x, y) = (self.value_in(trace, p), y.value_in(trace, q));
            let value = trace.builder.compare(comparison, x, y);
            trace.at(value)
        });
        TracedMask { outcome, place, unknown: self.unknown || y.unknown }
    }

    #[track_caller]
    fn choose(mask: TracedMask, x: Self, y: Self) -> Self {
        let chosen = if mask.outcome { x } else { y };
        if mask.place.is_constant() {
            return chosen;
        }
        let places = [mask.place, x.place, y.place];
        let place = with(places, Location::caller(), |trace, [m, p, q]| {
            let (x, y) = (x.value_in(trace, p), y.value_in(trace, q));
            let value = trace.builder.select(m.value(), x, y);
            trace.at(value)
        });
        let unknown = mask.unknown || x.unknown || y.unknown;
        Traced { value: chosen.value, place, rounded: false, unknown }
    }

    /// With a point, the outcome is a guard of the function; without, there is none.
    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        let mask = self.compare(y, comparison);
        if mask.place.is_constant() {
            return mask.outcome;
        }
        let at = Location::caller();
        let so_far =
            with([mask.place], at, |trace, [place]| match (trace.is_sampled(), trace.body) {
                (false, true) => raise(Fault::BodyBranch { comparison, at }),
                (false, false) => raise(Fault::TracedBranch { comparison, at }),
                (true, _) if mask.unknown => trace.so_far(place.value()),
                (true, _) => None,
            });
        let outcome = match so_far {
            Some(recording) => evaluate(&recording, at) == 1.0,
            None => mask.outcome,
        };
        with([mask.place], at, |trace, [place]| trace.builder.guard(place.value(), outcome));
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
        write!(f, "%{} ({:?})", self.place.id, self.value)
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
    pub(crate) outcome: bool,
    pub(crate) place: Place,
    unknown: bool,
}

impl Mask for TracedMask {}

impl From<bool> for TracedMask {
    fn from(outcome: bool) -> Self {
        TracedMask { outcome, place: Place::NONE, unknown: false }
    }
}

impl TracedMask {
    /// A value of a trace that is a truth value.
    pub(crate) fn of(trace: &Trace, value: Value) -> Self {
        match trace.builder.known_truth(value) {
            Some(truth) => TracedMask::from(truth),
            None => TracedMask { outcome: false, place: trace.at(value), unknown: true },
        }
    }

    /// The value in a trace in which it has a place; a constant is added.
    pub(crate) fn value_in(self, trace: &mut Trace, place: Place) -> Value {
        match place.is_constant() {
            true => trace.builder.truth(self.outcome),
            false => place.value(),
        }
    }

    #[track_caller]
    fn combine(
        self,
        other: TracedMask,
        outcome: bool,
        op: fn(&mut Builder, Value, Value) -> Value,
    ) -> TracedMask {
        if self.place.is_constant() && other.place.is_constant() {
            return TracedMask::from(outcome);
        }
        let places = [self.place, other.place];
        let place = with(places, Location::caller(), |trace, [p, q]| {
            let (x, y) = (self.value_in(trace, p), other.value_in(trace, q));
            let value = op(&mut trace.builder, x, y);
            trace.at(value)
        });
        TracedMask { outcome, place, unknown: self.unknown || other.unknown }
    }
}

impl BitAnd for TracedMask {
    type Output = Self;
    #[track_caller]
    fn bitand(self, other: Self) -> Self {
        self.combine(other, self.outcome && other.outcome, Builder::and)
    }
}

impl BitOr for TracedMask {
    type Output = Self;
    #[track_caller]
    fn bitor(self, other: Self) -> Self {
        self.combine(other, self.outcome || other.outcome, Builder::or)
    }
}

impl Not for TracedMask {
    type Output = Self;
    #[track_caller]
    fn not(self) -> Self {
        if self.place.is_constant() {
            return TracedMask::from(!self.outcome);
        }
        let place = with([self.place], Location::caller(), |trace, [place]| {
            let value = trace.builder.not(place.value());
            trace.at(value)
        });
        TracedMask { outcome: !self.outcome, place, ..self }
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
#[track_caller]
pub fn trace(
    name: &str,
    inputs: usize,
    f: impl FnOnce(&[Traced]) -> Vec<Traced>,
) -> Result<Function, Fault> {
    run(name, &vec![f64::NAN; inputs], None, f)
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
#[track_caller]
pub fn trace_at(
    name: &str,
    point: &[f64],
    f: impl FnOnce(&[Traced]) -> Vec<Traced>,
) -> Result<Function, Fault> {
    run(name, point, Some(point.into()), f)
}

#[track_caller]
fn run(
    name: &str,
    point: &[f64],
    sample: Option<Rc<[f64]>>,
    f: impl FnOnce(&[Traced]) -> Vec<Traced>,
) -> Result<Function, Fault> {
    let at = Location::caller();
    let mut builder = Builder::new(name);
    let params: Vec<Value> = (0..point.len())
        .map(|k| {
            let param = Param { name: format!("x{k}"), ty: Type::F64, linear: false };
            builder.push_param(param)
        })
        .collect();
    let innermost = Innermost::begin(builder, sample, Type::F64);
    let stamp = innermost.stamp;
    let number = |(id, value): (&Value, &f64)| {
        let place = Place { id: id.0, stamp };
        Traced { value: *value, place, rounded: false, unknown: false }
    };
    let inputs: Vec<Traced> = params.iter().zip(point).map(number).collect();
    let results = catch(|| {
        let results = f(&inputs);
        // A result of another trace is found out here.
        results.into_iter().map(|y| own(stamp, y.place, at, |t, p| y.value_in(t, p))).collect()
    })?;
    match innermost.end() {
        Some((builder, _)) => Ok(builder.finish(results)),
        None => Err(Fault::MixedTraces { at }),
    }
}

/// Gives `f` the innermost trace, which must be the one with this stamp, with a value in it.
pub(crate) fn own<R>(
    stamp: u32,
    place: Place,
    at: &'static Location<'static>,
    f: impl FnOnce(&mut Trace, Place) -> R,
) -> R {
    with([place], at, |trace, [place]| {
        if trace.stamp != stamp {
            raise(Fault::MixedTraces { at });
        }
        f(trace, place)
    })
}

/// What a recording so far gives at its point.
fn evaluate((function, point): &(Function, Rc<[f64]>), at: &'static Location<'static>) -> f64 {
    match function.run(point) {
        Ok(results) => results.first().copied().unwrap_or(f64::NAN),
        Err(error) => raise(Fault::Misfit { what: error.to_string(), at }),
    }
}

/// Values of a function in the making as numbers: what is done with them is added to it.
#[derive(Debug)]
pub struct Numbers {
    stamp: u32,
}

impl Numbers {
    /// A value as a number.
    #[track_caller]
    pub fn number(&self, value: Value) -> Traced {
        let place = Place { id: value.0, stamp: self.stamp };
        own(self.stamp, place, Location::caller(), |trace, _| Traced::of(trace, value))
    }

    /// The value of a number.
    #[track_caller]
    pub fn place(&self, number: Traced) -> Value {
        own(self.stamp, number.place, Location::caller(), |t, p| number.value_in(t, p))
    }

    /// The value of a truth value.
    #[track_caller]
    pub fn place_mask(&self, mask: TracedMask) -> Value {
        own(self.stamp, mask.place, Location::caller(), |t, p| mask.value_in(t, p))
    }

    /// The function in the making. `f` must not operate on numbers.
    #[track_caller]
    pub fn build<R>(&self, f: impl FnOnce(&mut Builder) -> R) -> R {
        own(self.stamp, Place::NONE, Location::caller(), |trace, _| f(&mut trace.builder))
    }
}

impl Builder {
    /// Runs `f`, which adds operations by operating on numbers of this type: the formulas of the table
    /// write themselves down.
    ///
    /// # Errors
    /// What the numbers raised; the function in the making is then lost.
    pub fn numbers<R>(&mut self, ty: Type, f: impl FnOnce(&Numbers) -> R) -> Result<R, Fault> {
        self.write_down(ty, false, f)
    }

    /// [`numbers`](Builder::numbers) that are coefficients of derivatives: sums that begin with zero are
    /// written down without it, as the sign of a zero says nothing there.
    ///
    /// # Errors
    /// As [`numbers`](Builder::numbers).
    pub fn coefficients<R>(&mut self, ty: Type, f: impl FnOnce(&Numbers) -> R) -> Result<R, Fault> {
        self.write_down(ty, true, f)
    }

    fn write_down<R>(
        &mut self,
        ty: Type,
        coefficients: bool,
        f: impl FnOnce(&Numbers) -> R,
    ) -> Result<R, Fault> {
        let builder = std::mem::replace(self, Builder::new(""));
        let innermost = Innermost::begin(builder, None, ty);
        with_innermost(|trace| trace.coefficients = coefficients);
        let numbers = Numbers { stamp: innermost.stamp };
        let result = catch(|| f(&numbers))?;
        if let Some((builder, _)) = innermost.end() {
            *self = builder;
        }
        Ok(result)
    }
}
