//! What an optimisation may change.

use std::fmt;

/// What a rule may change in the numbers that come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Nothing: the same bits, infinities and NaN included (one NaN is as good as another).
    Exact,
    /// The sign of a zero, and what a zero coefficient makes of an infinite or undefined tangent: zero, as
    /// `strong_mul` does with a zero on either side.
    Zero,
    /// One rounding less: a product and a sum in one operation.
    Contract,
    /// The order of sums and products, and so their rounding.
    Reassoc,
    /// More: special cases, overflow, rounding by other functions.
    Approx,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 5] =
        [Class::Exact, Class::Zero, Class::Contract, Class::Reassoc, Class::Approx];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Exact => "exact",
            Class::Zero => "zero",
            Class::Contract => "contract",
            Class::Reassoc => "reassoc",
            Class::Approx => "approx",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an optimisation may change, and how long it may take.
///
/// ```
/// use cotangent_optimize::{Class, Options};
///
/// let options = Options::default();
/// assert!(options.allows(Class::Zero) && !options.allows(Class::Reassoc));
/// assert!(options.with(Class::Reassoc).allows(Class::Reassoc));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    allowed: [bool; 5],
    /// The most rounds of all passes.
    pub rounds: usize,
    /// Whether every use of a rule is written down.
    pub trace: bool,
}

impl Default for Options {
    /// [`Exact`](Class::Exact) and [`Zero`](Class::Zero): derivatives are added up from zero, and without
    /// `x + 0 = x` every one of those sums would stay, for the sake of the sign of a zero. Sums are not
    /// reordered and nothing is contracted unless asked for.
    fn default() -> Self {
        Options { allowed: [true, true, false, false, false], rounds: 12, trace: false }
    }
}

impl Options {
    /// Only what gives the same bits.
    pub fn exact() -> Self {
        Options { allowed: [true, false, false, false, false], ..Options::default() }
    }

    /// The same with rules of one more class.
    #[must_use]
    pub fn with(mut self, class: Class) -> Self {
        self.allowed[class as usize] = true;
        self
    }

    /// The same with every use of a rule written down.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.trace = true;
        self
    }

    /// Whether rules of a class may be used.
    pub fn allows(&self, class: Class) -> bool {
        self.allowed[class as usize]
    }
}
