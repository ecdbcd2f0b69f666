//! Observers: numbers that compute what their base computes and look on.
//!
//! [`Counted`] counts operations, [`Logged`] keeps a list of them, [`NanCheck`] stops at the first that
//! turns finite operands into NaN or infinity. They work over any base: over a dual number, `NanCheck`
//! finds the operation at which a derivative breaks down.

mod count;
mod log;
mod nan;

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

use cotangent_ops::{
    Binary, Comparison, Elementary, Lift, Opcode, Precision, Primitive, Ternary, Unary,
};

pub use count::{Count, Counts, count};
pub use log::{Entry, Log, log};
pub use nan::{Nan, NanReport, nan_check};

use crate::number::{inherent, number};
use crate::place::here;

/// A number whose operations are counted.
pub type Counted<T = f64> = Observed<T, Count>;
/// A number whose operations are logged.
pub type Logged<T = f64> = Observed<T, Log>;
/// A number whose operations must give finite results.
pub type NanCheck<T = f64> = Observed<T, Nan>;

/// What an observer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// An operation of the table.
    Operation(Opcode),
    /// A comparison.
    Compare(Comparison),
    /// A choice between two numbers.
    Select,
}

impl Event {
    /// The name of the operation, or the sign of the comparison.
    pub fn name(self) -> &'static str {
        match self {
            Event::Operation(op) => op.name(),
            Event::Compare(comparison) => comparison.symbol(),
            Event::Select => "select",
        }
    }
}

/// Somebody who looks on.
pub trait Observer: Copy + fmt::Debug + Send + Sync + 'static {
    /// Sees an operation, its operands and, where it gives a number, its result.
    fn saw<T: Elementary>(
        event: Event,
        operands: &[T],
        result: Option<T>,
        at: &'static Location<'static>,
    );
}

/// A number under observation.
#[derive(Clone, Copy)]
pub struct Observed<T, O> {
    /// The number itself.
    pub inner: T,
    observer: PhantomData<O>,
}

impl<T, O> Observed<T, O> {
    /// Puts a number under observation.
    #[inline]
    pub fn new(inner: T) -> Self {
        Observed { inner, observer: PhantomData }
    }
}

impl<T: Elementary, W: Observer> Lift for Observed<T, W> {
    type Mask = T::Mask;

    const RECORDS: bool = T::RECORDS;

    #[inline]
    fn lift(c: f64) -> Self {
        Observed::new(T::constant(c))
    }

    #[inline]
    fn lift_rounded(c: f64) -> Self {
        Observed::new(T::rounded(c))
    }

    fn precision() -> Precision {
        T::precision()
    }

    #[track_caller]
    fn primal(self) -> f64 {
        self.inner.value()
    }

    #[inline]
    fn sample(self) -> Option<f64> {
        self.inner.sample()
    }

    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        let y = op.value(self.inner);
        W::saw(Event::Operation(O::INFO.opcode), &[self.inner], Some(y), here(Location::caller()));
        Observed::new(y)
    }

    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        let z = op.value(self.inner, y.inner);
        let operands = [self.inner, y.inner];
        W::saw(Event::Operation(O::INFO.opcode), &operands, Some(z), here(Location::caller()));
        Observed::new(z)
    }

    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        let operands = [self.inner, y.inner, z.inner];
        let w = op.value(self.inner, y.inner, z.inner);
        W::saw(Event::Operation(O::INFO.opcode), &operands, Some(w), here(Location::caller()));
        Observed::new(w)
    }

    #[track_caller]
    fn compare(self, y: Self, comparison: Comparison) -> T::Mask {
        W::saw(Event::Compare(comparison), &[self.inner, y.inner], None, here(Location::caller()));
        self.inner.compare(y.inner, comparison)
    }

    #[track_caller]
    fn choose(mask: T::Mask, x: Self, y: Self) -> Self {
        let chosen = T::select(mask, x.inner, y.inner);
        W::saw(Event::Select, &[x.inner, y.inner], Some(chosen), here(Location::caller()));
        Observed::new(chosen)
    }

    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        W::saw(Event::Compare(comparison), &[self.inner, y.inner], None, here(Location::caller()));
        comparison.holds(&self.inner, &y.inner)
    }

    fn value_is_nan(self) -> bool {
        self.inner.is_nan()
    }

    fn value_is_finite(self) -> bool {
        self.inner.is_finite()
    }

    fn vanishes(self) -> bool {
        self.inner.vanishes()
    }

    fn all_finite(self) -> bool {
        self.inner.all_finite()
    }

    #[track_caller]
    fn array<P: Primitive>(primitive: &P, x: &[Self], y: &mut [Self]) {
        // An array operation is left to the base; its inside is not observed.
        let inputs: Vec<T> = x.iter().map(|x| x.inner).collect();
        let mut outputs = vec![T::zero(); y.len()];
        T::array(primitive, &inputs, &mut outputs);
        for (y, value) in y.iter_mut().zip(outputs) {
            *y = Observed::new(value);
        }
    }
}

number!([T: Elementary, W: Observer] Observed<T, W>);

impl<T: fmt::Debug, O> fmt::Debug for Observed<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: fmt::Display, O> fmt::Display for Observed<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
