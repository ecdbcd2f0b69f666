//! The outcome of a comparison that has not been turned into a branch.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, Not};

/// The outcome of comparing two numbers, to be used by
/// [`select`](crate::Elementary::select).
///
/// For plain numbers it is `bool`. A tape keeps the comparison so that a replay decides anew, an
/// interval may not know the outcome, and a sparsity tracer never does.
pub trait Mask:
    Copy + Debug + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> + From<bool>
{
}

impl Mask for bool {}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// x < y
    Less,
    /// x ≤ y
    AtMost,
    /// x > y
    Greater,
    /// x ≥ y
    AtLeast,
    /// x = y
    Equal,
    /// x ≠ y
    Differ,
}

impl Comparison {
    /// The outcome for numbers that have an order.
    #[inline]
    pub fn holds<T: PartialOrd>(self, x: &T, y: &T) -> bool {
        match self {
            Comparison::Less => x < y,
            Comparison::AtMost => x <= y,
            Comparison::Greater => x > y,
            Comparison::AtLeast => x >= y,
            Comparison::Equal => x == y,
            Comparison::Differ => x != y,
        }
    }

    /// The sign between the two operands.
    pub const fn symbol(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::Greater => ">",
            Comparison::AtLeast => ">=",
            Comparison::Equal => "==",
            Comparison::Differ => "!=",
        }
    }
}
