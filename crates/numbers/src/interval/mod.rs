//! Interval arithmetic with outward rounding: rigorous bounds of a function over a box.
//!
//! The bounds contain every value that the function takes, in exact arithmetic, at points of the box.
//! They rest on two assumptions: basic arithmetic is rounded to nearest, and the functions of the
//! platform's mathematical library keep the error bounds stated in the table (each is widened by
//! one unit more).

mod round;
mod rules;

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};
use std::panic::Location;

use cotangent_ops::{Binary, Comparison, Lift, Mask, Opcode, Precision, Shape, Ternary, Unary};

pub use round::Endpoint;

use crate::fault::{Fault, raise};
use crate::number::{inherent, number};
use crate::place::here;

/// The set of numbers from `low` to `high`.
///
/// Comparing overlapping intervals is a fault (an error value inside [`catch`](crate::fault::catch)
/// and every entry point of the interface), not a guess; `select` encloses both cases.
///
/// ```
/// use cotangent_numbers::Interval;
///
/// let x = Interval::new(-1.0, 2.0);
/// let y = x * x - x; // every occurrence of x is on its own
/// assert_eq!((y.low(), y.high()), (-4.0, 5.0));
/// let z = x.powi(2); // a power knows that it is one number
/// assert_eq!((z.low(), z.high()), (0.0, 4.0));
/// let w = Interval::new(0.1, 0.1) + Interval::new(0.2, 0.2);
/// assert!(w.low() < w.high() && w.contains(0.3));
/// ```
#[derive(Clone, Copy)]
pub struct Interval<T = f64> {
    low: T,
    high: T,
    total: bool,
}

impl<T: Endpoint> Interval<T> {
    /// The empty set: the values of a function nowhere defined on the box.
    pub const EMPTY: Self = Interval { low: T::INFINITY, high: T::NEG_INFINITY, total: false };

    /// All numbers.
    pub const ALL: Self = Interval { low: T::NEG_INFINITY, high: T::INFINITY, total: true };

    /// The numbers from `low` to `high`; empty if `low > high` or an end is NaN.
    #[inline]
    pub fn new(low: T, high: T) -> Self {
        if low <= high { Interval { low, high, total: true } } else { Interval::EMPTY }
    }

    /// The single number `x`; empty if it is NaN.
    #[inline]
    pub fn point(x: T) -> Self {
        Interval::new(x, x)
    }

    /// The lower end.
    #[inline]
    pub fn low(self) -> T {
        self.low
    }

    /// The upper end.
    #[inline]
    pub fn high(self) -> T {
        self.high
    }

    /// Whether no number is in it.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// Whether everything that led here was defined on the whole box. If not, the interval still
    /// contains every value that the function takes where it is defined.
    #[inline]
    pub fn is_total(self) -> bool {
        self.total
    }

    /// Whether a number is in it.
    #[inline]
    pub fn contains(self, x: T) -> bool {
        self.low <= x && x <= self.high
    }

    /// An upper bound of the distance of its ends.
    pub fn width(self) -> T {
        if self.is_empty() { T::zero() } else { round::add_up(self.high, -self.low) }
    }

    /// A finite number in the middle: 0 for all numbers, twice the finite end (1 at least) away from 0
    /// where the other is infinite.
    pub fn midpoint(self) -> T {
        let beyond = |end: T| (end + end).max(T::one());
        if self.low == T::NEG_INFINITY && self.high == T::INFINITY {
            T::zero()
        } else if self.high == T::INFINITY {
            beyond(self.low).max(self.low).min(T::constant(f64::MAX))
        } else if self.low == T::NEG_INFINITY {
            (-beyond(-self.high)).min(self.high).max(T::constant(-f64::MAX))
        } else {
            let half = T::constant(0.5);
            (self.low * half + self.high * half).max(self.low).min(self.high)
        }
    }

    /// The smallest interval that contains both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        if self.is_empty() {
            return Interval { total: false, ..other };
        }
        if other.is_empty() {
            return Interval { total: false, ..self };
        }
        Interval {
            low: if other.low < self.low { other.low } else { self.low },
            high: if other.high > self.high { other.high } else { self.high },
            total: self.total && other.total,
        }
    }

    /// The numbers that are in both.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        let low = if other.low > self.low { other.low } else { self.low };
        let high = if other.high < self.high { other.high } else { self.high };
        if low <= high {
            Interval { low, high, total: self.total && other.total }
        } else {
            Interval::EMPTY
        }
    }

    /// The two halves.
    pub fn split(self) -> (Self, Self) {
        let middle = self.midpoint();
        (Interval { high: middle, ..self }, Interval { low: middle, ..self })
    }

    #[inline]
    fn is_point(self) -> bool {
        self.low == self.high
    }

    /// The same set, marked as not coming from the whole box.
    #[inline]
    fn partial(self) -> Self {
        Interval { total: false, ..self }
    }

    #[inline]
    fn with_total(self, total: bool) -> Self {
        Interval { total: self.total && total, ..self }
    }
}

/// The outcome of comparing intervals: the same for all points, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trilean {
    /// Holds for all points.
    True,
    /// Holds for no point.
    False,
    /// Holds for some, or is not known.
    Unknown,
}

impl Mask for Trilean {}

impl From<bool> for Trilean {
    fn from(outcome: bool) -> Self {
        if outcome { Trilean::True } else { Trilean::False }
    }
}

impl BitAnd for Trilean {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        match (self, other) {
            (Trilean::False, _) | (_, Trilean::False) => Trilean::False,
            (Trilean::True, Trilean::True) => Trilean::True,
            _ => Trilean::Unknown,
        }
    }
}

impl BitOr for Trilean {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        !(!self & !other)
    }
}

impl Not for Trilean {
    type Output = Self;
    fn not(self) -> Self {
        match self {
            Trilean::True => Trilean::False,
            Trilean::False => Trilean::True,
            Trilean::Unknown => Trilean::Unknown,
        }
    }
}

impl<T: Endpoint> Lift for Interval<T> {
    type Mask = Trilean;

    #[inline]
    fn lift(c: f64) -> Self {
        if c.is_nan() { Interval::EMPTY } else { Interval::new(T::below(c), T::above(c)) }
    }

    /// The table's rounded constants are products of a few rounded numbers: two units cover them.
    fn lift_rounded(c: f64) -> Self {
        Interval::new(round::lower(T::below(c), 2), round::upper(T::above(c), 2))
    }

    #[inline]
    fn precision() -> Precision {
        T::precision()
    }

    /// Of an interval that holds one number only; anything else would be a guess.
    #[inline]
    #[track_caller]
    fn primal(self) -> f64 {
        if self.is_empty() {
            f64::NAN
        } else if self.is_point() && self.total {
            self.low.value()
        } else {
            raise(Fault::ManyValues { interval: self.to_string(), at: here(Location::caller()) })
        }
    }

    fn sample(self) -> Option<f64> {
        (!self.is_empty()).then(|| self.midpoint().value())
    }

    /// All numbers, defined or not.
    fn unknown() -> Option<Self> {
        Some(Interval::ALL.partial())
    }

    fn same(self, other: Self) -> bool {
        (self.low, self.high, self.total) == (other.low, other.high, other.total)
    }

    fn pivot_size(self) -> f64 {
        if self.contains(T::zero()) {
            0.0
        } else {
            self.low.abs().value().min(self.high.abs().value())
        }
    }

    #[inline]
    fn unary<O: Unary>(self, op: O) -> Self {
        if self.is_empty() {
            return self;
        }
        let (low, high) = O::INFO.domain;
        let domain = Interval::new(T::constant(low), T::constant(high));
        let inside = self.low >= domain.low && self.high <= domain.high;
        let x = if inside { self } else { self.intersection(domain).partial() };
        if x.is_empty() {
            return x;
        }
        let ulps = O::INFO.ulps;
        let bounds = |at_low: T, at_high: T, range: (f64, f64)| {
            // A correctly rounded root is not exact; all else that has no error is.
            let (low, high) = match O::INFO.opcode {
                Opcode::Sqrt => (round::sqrt_down(x.low), round::sqrt_up(x.high)),
                _ if ulps == 0 => (at_low, at_high),
                _ => (round::lower(at_low, ulps + 1), round::upper(at_high, ulps + 1)),
            };
            rules::outward(range).intersection(Interval::new(low, high))
        };
        let y = match O::SHAPE {
            Shape::Increasing(range) => bounds(op.value(x.low), op.value(x.high), range),
            Shape::Decreasing(range) => bounds(op.value(x.high), op.value(x.low), range),
            Shape::Valley(least) => {
                let (a, b) = (op.value(x.low), op.value(x.high));
                let far = if a > b { a } else { b };
                let near = if x.contains(T::zero()) {
                    T::constant(least)
                } else if a < b {
                    a
                } else {
                    b
                };
                bounds(near, far, (least, f64::INFINITY))
            }
            Shape::Hill((least, most)) => {
                let (a, b) = (op.value(x.low), op.value(x.high));
                let far = if a < b { a } else { b };
                let near = if x.contains(T::zero()) {
                    T::constant(most)
                } else if a < b {
                    b
                } else {
                    a
                };
                bounds(far, near, (least, most))
            }
            Shape::Custom => rules::unary(op, x),
        };
        y.with_total(x.total)
    }

    #[inline]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        if self.is_empty() || y.is_empty() {
            return Interval::EMPTY;
        }
        rules::binary(op, self, y).with_total(self.total && y.total)
    }

    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        let total = self.total && y.total && z.total;
        if self.is_empty() || y.is_empty() || z.is_empty() {
            return Interval::EMPTY;
        }
        match O::INFO.opcode {
            Opcode::MulAdd => self * y + z,
            // A range whose ends may have changed places.
            _ if y.high > z.low => self.hull(y).hull(z),
            // What else there is does not decrease in any argument.
            _ => {
                Interval::new(op.value(self.low, y.low, z.low), op.value(self.high, y.high, z.high))
            }
        }
        .with_total(total)
    }

    fn compare(self, y: Self, comparison: Comparison) -> Trilean {
        // Where a side is not defined, it is NaN, of which only ≠ holds.
        let of_nan = Trilean::from(comparison == Comparison::Differ);
        if self.is_empty() || y.is_empty() {
            return of_nan;
        }
        if !(self.total && y.total) {
            let defined = |x: Self| Interval { total: true, ..x };
            let elsewhere = defined(self).compare(defined(y), comparison);
            return if elsewhere == of_nan { of_nan } else { Trilean::Unknown };
        }
        match comparison {
            Comparison::Less if self.high < y.low => Trilean::True,
            Comparison::Less if self.low >= y.high => Trilean::False,
            Comparison::AtMost if self.high <= y.low => Trilean::True,
            Comparison::AtMost if self.low > y.high => Trilean::False,
            Comparison::Greater => y.compare(self, Comparison::Less),
            Comparison::AtLeast => y.compare(self, Comparison::AtMost),
            Comparison::Equal if self.is_point() && y.is_point() && self.low == y.low => {
                Trilean::True
            }
            Comparison::Equal if self.high < y.low || y.high < self.low => Trilean::False,
            Comparison::Differ => !self.compare(y, Comparison::Equal),
            _ => Trilean::Unknown,
        }
    }

    fn choose(mask: Trilean, x: Self, y: Self) -> Self {
        match mask {
            Trilean::True => x,
            Trilean::False => y,
            Trilean::Unknown => x.hull(y),
        }
    }

    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        match Lift::compare(self, y, comparison) {
            Trilean::True => true,
            Trilean::False => false,
            Trilean::Unknown => raise(Fault::Undecided {
                lhs: self.to_string(),
                comparison,
                rhs: y.to_string(),
                at: here(Location::caller()),
            }),
        }
    }

    #[track_caller]
    fn value_is_nan(self) -> bool {
        // NaN is what differs from itself.
        self.is_empty() || (!self.total && self.decide(self, Comparison::Differ))
    }

    #[track_caller]
    fn value_is_finite(self) -> bool {
        if self.is_empty() || (self.total && self.all_finite()) {
            return !self.is_empty();
        }
        let most = Interval::new(T::constant(-f64::MAX), T::constant(f64::MAX));
        self.decide(Interval { total: true, ..most }, Comparison::AtMost)
    }

    #[inline]
    fn vanishes(self) -> bool {
        self.low == T::zero() && self.high == T::zero()
    }

    #[inline]
    fn all_finite(self) -> bool {
        self.low.all_finite() && self.high.all_finite()
    }
}

number!([T: Endpoint] Interval<T>);

impl<T: Endpoint> fmt::Debug for Interval<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T: Endpoint> fmt::Display for Interval<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("∅");
        }
        if f.precision().is_some() {
            f.write_str("[")?;
            fmt::Display::fmt(&self.low, f)?;
            f.write_str(", ")?;
            fmt::Display::fmt(&self.high, f)?;
            return f.write_str("]");
        }
        // As `{:?}` prints numbers: shortest, with an exponent where it is long.
        write!(f, "[{:?}, {:?}]", self.low, self.high)
    }
}
