//! Keeping a list of operations.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;

use cotangent_ops::Elementary;

use super::{Event, Logged, Observed, Observer};
use crate::fault::{Fault, catch};

/// The observer that keeps a list.
#[derive(Clone, Copy, Debug)]
pub struct Log;

/// An operation that was performed.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it was.
    pub event: Event,
    /// Its operands.
    pub operands: Vec<String>,
    /// Its result, if it is a number.
    pub result: Option<String>,
    /// Where in the user's code.
    pub at: &'static Location<'static>,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.event.name(), self.operands.join(", "))?;
        if let Some(result) = &self.result {
            write!(f, " = {result}")?;
        }
        Ok(())
    }
}

thread_local! {
    static OPEN: RefCell<Vec<Vec<Entry>>> = const { RefCell::new(Vec::new()) };
}

impl Observer for Log {
    fn saw<T: Elementary>(
        event: Event,
        operands: &[T],
        result: Option<T>,
        at: &'static Location<'static>,
    ) {
        // Printed before the list is open: a base may log, too.
        let entry = Entry {
            event,
            operands: operands.iter().map(|x| format!("{x:?}")).collect(),
            result: result.map(|y| format!("{y:?}")),
            at,
        };
        OPEN.with_borrow_mut(|open| {
            if let Some(entries) = open.last_mut() {
                entries.push(entry);
            }
        });
    }
}

/// Runs a function at `x` and lists its operations.
///
/// ```
/// use cotangent_numbers::log;
///
/// let (_, entries) = log(&[3.0, 4.0], |x| x[0].hypot(x[1]) * 2.0).unwrap();
/// let lines: Vec<String> = entries.iter().map(|e| e.to_string()).collect();
/// assert_eq!(lines, ["hypot(3.0, 4.0) = 5.0", "mul(5.0, 2.0) = 10.0"]);
/// ```
///
/// # Errors
/// The fault that the base number raised.
pub fn log<T: Elementary, R>(
    x: &[T],
    f: impl FnOnce(&[Logged<T>]) -> R,
) -> Result<(R, Vec<Entry>), Fault> {
    let x: Vec<Logged<T>> = x.iter().map(|v| Observed::new(*v)).collect();
    OPEN.with_borrow_mut(|open| open.push(Vec::new()));
    let result = catch(|| f(&x));
    let entries = OPEN.with_borrow_mut(Vec::pop).unwrap_or_default();
    Ok((result?, entries))
}
