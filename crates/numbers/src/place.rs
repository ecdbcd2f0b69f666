//! Where in the user's code an operation stands.
//!
//! Mostly the caller is the place. While a program runs its instructions on other numbers, the caller
//! is the interpreter, and the place is the one that the instruction was recorded at.

use std::cell::Cell;
use std::panic::Location;

type Place = &'static Location<'static>;

thread_local! {
    static RECORDED: Cell<Option<Place>> = const { Cell::new(None) };
}

/// The place of an operation that this caller asks for.
#[inline]
pub(crate) fn here(caller: Place) -> Place {
    RECORDED.get().unwrap_or(caller)
}

/// A stretch of instructions with places of their own; the places before it are restored at its end,
/// also if it does not return.
pub(crate) struct Recorded {
    before: Option<Place>,
}

impl Recorded {
    pub(crate) fn enter() -> Self {
        Recorded { before: RECORDED.get() }
    }

    #[inline]
    pub(crate) fn at(&self, place: Place) {
        RECORDED.set(Some(place));
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        RECORDED.set(self.before);
    }
}
