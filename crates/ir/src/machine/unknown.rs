//! Integers and truth values of which nothing is known, on numbers that may lack a value.
//!
//! A number type whose numbers may lack a value says so by [`unknown`](cotangent_ops::Elementary::unknown).
//! On those one integer stands for all: what is computed from it is unknown, and an index that is unknown
//! picks every element.

use cotangent_numbers::Scalar;
use cotangent_ops::Comparison;

use super::{Code, Machine, Slots, UNDECIDED, fault};
use crate::interpret::RunError;
use crate::slot::{Integers, Kind, Numbers, Slot, Truths, by_kind};
use crate::types::Type;

/// The integer that stands for any. On numbers that always have a value it is one like the others.
pub(crate) const UNKNOWN: i64 = i64::MIN;

/// How a truth value comes out; none if it cannot be told.
pub(crate) fn outcome<S: Scalar>(mask: S::Mask) -> Option<bool> {
    match S::select(mask, S::one(), S::zero()).sample() {
        Some(1.0) => Some(true),
        Some(0.0) => Some(false),
        _ => None,
    }
}

/// A truth value of which nothing is known, if there are such.
pub(crate) fn either_way<S: Scalar>() -> S::Mask {
    match S::unknown() {
        Some(unknown) => unknown.compare(S::zero(), Comparison::Less),
        None => S::Mask::from(false),
    }
}

/// The plain number that a number is, for all it may stand for.
pub(crate) fn decided<S: Scalar>(x: S) -> Option<f64> {
    if S::unknown().is_none() {
        return Some(x.value());
    }
    let sample = x.sample()?;
    let mask = x.compare(S::constant(sample), Comparison::Equal);
    (outcome::<S>(mask) == Some(true)).then_some(sample)
}

/// The integer towards zero of a number.
pub(crate) fn integer<S: Scalar>(x: S) -> i64 {
    if S::unknown().is_none() {
        return x.value() as i64;
    }
    decided(x.trunc()).map_or(UNKNOWN, |x| x as i64)
}

/// One of two numbers, integers or truth values.
pub(crate) trait Join<S: Scalar>: Kind<S> {
    /// None if there is nothing that stands for both.
    fn join(mask: S::Mask, open: bool, x: Self::Item, y: Self::Item) -> Option<Self::Item>;

    /// Whether the same is known of both: what a further round of a loop depends on.
    fn alike(x: Self::Item, y: Self::Item) -> bool;

    /// Whether both carry the same, as far as can be told.
    fn same(x: Self::Item, y: Self::Item) -> bool;

    /// Of which nothing is known.
    fn any() -> Self::Item;
}

impl<S: Scalar> Join<S> for Numbers<S> {
    fn join(mask: S::Mask, _: bool, x: S, y: S) -> Option<S> {
        Some(S::select(mask, x, y))
    }

    fn alike(x: S, y: S) -> bool {
        x.sample().map(f64::to_bits) == y.sample().map(f64::to_bits)
    }

    fn same(x: S, y: S) -> bool {
        x.same(y)
    }

    fn any() -> S {
        S::unknown().unwrap_or(S::zero())
    }
}

impl<S: Scalar> Join<S> for Integers<S> {
    fn join(mask: S::Mask, open: bool, x: i64, y: i64) -> Option<i64> {
        match outcome::<S>(mask) {
            _ if x == y => Some(x),
            Some(true) => Some(x),
            Some(false) => Some(y),
            None => open.then_some(UNKNOWN),
        }
    }

    fn alike(x: i64, y: i64) -> bool {
        x == y
    }

    fn same(x: i64, y: i64) -> bool {
        x == y
    }

    fn any() -> i64 {
        UNKNOWN
    }
}

impl<S: Scalar> Join<S> for Truths<S> {
    fn join(mask: S::Mask, _: bool, x: S::Mask, y: S::Mask) -> Option<S::Mask> {
        match (outcome::<S>(x), outcome::<S>(y)) {
            (Some(a), Some(b)) if a == b => Some(x),
            _ => Some((mask & x) | (!mask & y)),
        }
    }

    fn alike(x: S::Mask, y: S::Mask) -> bool {
        outcome::<S>(x) == outcome::<S>(y)
    }

    fn same(x: S::Mask, y: S::Mask) -> bool {
        outcome::<S>(x) == outcome::<S>(y)
    }

    fn any() -> S::Mask {
        either_way::<S>()
    }
}

/// What changed from one round of a loop to the next.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// What is known of a value, so that the next round may go another way.
    pub(crate) known: bool,
    /// Anything, or it cannot be told.
    pub(crate) any: bool,
}

impl Code<'_> {
    /// The values of one or the other, where it is not known which, of one lane.
    pub(super) fn either<S: Scalar>(
        &self,
        machine: &Machine<'_, S>,
        mask: S::Mask,
        yes: &[Slot<S>],
        no: &[Slot<S>],
        types: &[Type],
    ) -> Result<Slots<S>, RunError> {
        let mut slots = Vec::with_capacity(yes.len());
        for ((a, b), ty) in yes.iter().zip(no).zip(types) {
            let (scalar, len) = (ty.is_scalar(), a.len());
            if len != b.len() {
                let what = "the length of an array depends on a comparison that is not decided";
                return fault(self.function, what.to_string());
            }
            slots.push(by_kind!(a, K => {
                let (x, y) = (a.view::<K<S>>(scalar, 1), b.view::<K<S>>(scalar, 1));
                let mut data = Vec::with_capacity(len);
                for e in 0..len {
                    match <K<S> as Join<S>>::join(mask, machine.open, x.at(e, 0), y.at(e, 0)) {
                        Some(item) => data.push(item),
                        None => return fault(self.function, UNDECIDED.to_string()),
                    }
                }
                Slot::new::<K<S>>(data, scalar, false, len)
            }));
        }
        Ok(slots)
    }
}

/// What two states of the carries of a loop differ in, of one lane.
pub(super) fn change<S: Scalar>(before: &[Slot<S>], after: &[Slot<S>], types: &[Type]) -> Change {
    let mut change = Change::default();
    for ((a, b), ty) in before.iter().zip(after).zip(types) {
        by_kind!(a, K => {
            let scalar = ty.is_scalar();
            let (x, y) = (a.view::<K<S>>(scalar, 1), b.view::<K<S>>(scalar, 1));
            for e in 0..a.len() {
                change.known |= !<K<S> as Join<S>>::alike(x.at(e, 0), y.at(e, 0));
                change.any |= !<K<S> as Join<S>>::same(x.at(e, 0), y.at(e, 0));
            }
        });
    }
    change
}

/// The same with nothing known of it, of one lane.
pub(super) fn forgotten<S: Scalar>(slot: &Slot<S>, ty: Type) -> Slot<S> {
    let len = slot.len();
    by_kind!(slot, K => {
        Slot::new::<K<S>>(vec![<K<S> as Join<S>>::any(); len], ty.is_scalar(), false, len)
    })
}
