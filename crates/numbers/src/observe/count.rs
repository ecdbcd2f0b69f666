//! Counting operations.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::Location;

use cotangent_ops::{Elementary, Opcode};

use super::{Counted, Event, Observed, Observer};
use crate::fault::{Fault, catch};

/// The observer that counts.
#[derive(Clone, Copy, Debug)]
pub struct Count;

/// How often each operation was performed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    operations: BTreeMap<Opcode, u64>,
    /// Comparisons, of both kinds: for a branch and for a selection.
    pub comparisons: u64,
    /// Selections.
    pub selects: u64,
}

impl Counts {
    /// How often an operation was performed.
    pub fn of(&self, op: Opcode) -> u64 {
        self.operations.get(&op).copied().unwrap_or(0)
    }

    /// All operations of the table.
    pub fn total(&self) -> u64 {
        self.operations.values().sum()
    }

    /// Sums, differences, products, quotients and other operations of a few instructions.
    pub fn arithmetic(&self) -> u64 {
        self.operations.iter().filter(|(op, _)| is_arithmetic(**op)).map(|(_, n)| n).sum()
    }

    /// Calls of mathematical functions.
    pub fn functions(&self) -> u64 {
        self.total() - self.arithmetic()
    }

    /// The operations that were performed, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (Opcode, u64)> + '_ {
        self.operations.iter().map(|(op, n)| (*op, *n))
    }
}

fn is_arithmetic(op: Opcode) -> bool {
    op.info().ulps == 0 && op != Opcode::Rem
        || matches!(op, Opcode::Powi | Opcode::ToDegrees | Opcode::ToRadians)
}

thread_local! {
    static OPEN: RefCell<Vec<Counts>> = const { RefCell::new(Vec::new()) };
}

impl Observer for Count {
    fn saw<T: Elementary>(event: Event, _: &[T], _: Option<T>, _: &'static Location<'static>) {
        OPEN.with_borrow_mut(|open| {
            if let Some(counts) = open.last_mut() {
                match event {
                    Event::Operation(op) => *counts.operations.entry(op).or_insert(0) += 1,
                    Event::Compare(_) => counts.comparisons += 1,
                    Event::Select => counts.selects += 1,
                }
            }
        });
    }
}

/// Runs a function at `x` and counts its operations.
///
/// ```
/// use cotangent_numbers::count;
/// use cotangent_ops::Opcode;
///
/// let (_, counts) = count(&[1.0, 2.0], |x| (x[0] * x[1]).sin() + x[0]).unwrap();
/// assert_eq!((counts.total(), counts.of(Opcode::Sin), counts.arithmetic()), (3, 1, 2));
/// ```
///
/// # Errors
/// The fault that the base number raised.
pub fn count<T: Elementary, R>(
    x: &[T],
    f: impl FnOnce(&[Counted<T>]) -> R,
) -> Result<(R, Counts), Fault> {
    let x: Vec<Counted<T>> = x.iter().map(|v| Observed::new(*v)).collect();
    OPEN.with_borrow_mut(|open| open.push(Counts::default()));
    let result = catch(|| f(&x));
    let counts = OPEN.with_borrow_mut(Vec::pop).unwrap_or_default();
    Ok((result?, counts))
}
