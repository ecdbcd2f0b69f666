//! Looking on while a function runs.

use cotangent_numbers::Scalar;

use crate::function::{Function, Value};
use crate::slot::Slot;

/// An operation that was run.
pub(crate) struct Seen<'s, S: Scalar> {
    pub(crate) function: &'s Function,
    pub(crate) value: Value,
    /// The operands; of an array that is written to, the elements that stood at the place.
    pub(crate) operands: &'s [Slot<S>],
    /// The result; of an array that is written to, the elements that now stand at the place.
    pub(crate) result: &'s Slot<S>,
    pub(crate) lanes: usize,
}

/// Where in an operation with a body a run of the body is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At<'a> {
    /// There is one run only.
    Once,
    /// A round of a loop.
    Round(i64),
    /// Points of a domain: the first of them, and the sizes.
    Points(usize, &'a [usize]),
}

/// Somebody who looks on.
pub(crate) trait Watcher<S: Scalar> {
    /// An operation without a body has been run.
    fn operation(&mut self, seen: &Seen<'_, S>);

    /// An operation with a body has been run.
    fn structure(&mut self, f: &Function, value: Value, parts: &[Slot<S>], lanes: usize);

    /// A reduction has gone on by one point: what it was, what came, what it is.
    fn reduced(&mut self, f: &Function, value: Value, step: [S; 3]);

    /// A body is about to run for so many lanes.
    fn enter(&mut self, f: &Function, value: Value, body: usize, at: At<'_>, lanes: usize);

    /// It has run.
    fn leave(&mut self);

    /// Whether enough has been seen.
    fn is_done(&self) -> bool {
        false
    }
}
