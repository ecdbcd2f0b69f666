//! What goes wrong inside a number, and how it reaches the caller as a value.
//!
//! An operator has no way to return an error, so a number that cannot go on raises a [`Fault`]: it
//! unwinds to the nearest [`catch`], which returns it. Every entry point that runs user code on
//! such numbers catches. Used by hand outside a `catch`, a number that cannot go on panics with
//! the same message.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use cotangent_ops::Comparison;

impl Fault {
    /// A matrix that cannot be solved with.
    pub(crate) fn singular(name: &str, pivot: usize) -> Fault {
        Fault::Singular { name: name.to_string(), pivot }
    }
}

/// Why a number could not go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A branch on a number that has no value.
    #[error(
        "{at}: `{}` decides a branch, but a global sparsity tracer has no value; use `S::select`, \
         or a local tracer at a sample point, or give the pattern yourself",
        .comparison.symbol()
    )]
    BranchWithoutValue {
        /// The comparison.
        comparison: Comparison,
        /// Where in the user's code.
        at: &'static Location<'static>,
    },
    /// A branch in a function that is traced for all points.
    #[error(
        "{at}: `{}` decides a branch, but the function is traced for all points; use `S::select`, or trace \
         it at a sample point, where the branch becomes a guard",
        .comparison.symbol()
    )]
    TracedBranch {
        /// The comparison.
        comparison: Comparison,
        /// Where in the user's code.
        at: &'static Location<'static>,
    },
    /// A branch in a body that is traced once for all its rounds.
    #[error(
        "{at}: `{}` decides a branch, but the body of a loop or branch is traced once for all its rounds; \
         use `cond` or `select`",
        .comparison.symbol()
    )]
    BodyBranch {
        /// The comparison.
        comparison: Comparison,
        /// Where in the user's code.
        at: &'static Location<'static>,
    },
    /// Traced values that do not fit together.
    #[error("{at}: {what}")]
    Misfit {
        /// What does not fit, and what to do.
        what: String,
        /// Where in the user's code.
        at: &'static Location<'static>,
    },
    /// The plain value of a number that has none was asked for.
    #[error(
        "{at}: the value of a global sparsity tracer was asked for; use a local tracer at a sample \
         point, or keep the computation in the number type"
    )]
    NoValue {
        /// Where in the user's code.
        at: &'static Location<'static>,
    },
    /// A comparison of overlapping intervals.
    #[error(
        "{at}: `{lhs} {} {rhs}` is true for some of the points and false for others; split the box, \
         or use `S::select`, which encloses both cases",
        .comparison.symbol()
    )]
    Undecided {
        /// The left interval.
        lhs: String,
        /// The comparison.
        comparison: Comparison,
        /// The right interval.
        rhs: String,
        /// Where in the user's code.
        at: &'static Location<'static>,
    },
    /// The plain value of an interval was asked for.
    #[error(
        "{at}: the value of {interval} was asked for, which holds more than one number; keep the \
         computation in the number type, split the box, or take the `midpoint`"
    )]
    ManyValues {
        /// The interval.
        interval: String,
        /// Where in the user's code.
        at: &'static Location<'static>,
    },
    /// A sweep without a run before it.
    #[error(
        "this replay holds no run of this program; call `replay` with it first, and again after an error"
    )]
    NoReplay,
    /// Numbers of two recordings met, or a recording had ended.
    #[error(
        "{at}: a variable of another recording (or of one that has ended, or on another thread) was \
         used; variables are valid only inside the call that made them"
    )]
    MixedTraces {
        /// Where in the user's code.
        at: &'static Location<'static>,
    },
    /// More operations than a recording can number.
    #[error("the recording has more than {limit} values; record a part of the function at a time")]
    TraceTooLong {
        /// The limit.
        limit: u64,
    },
    /// A replay met a comparison that came out otherwise than when it was recorded.
    #[error(
        "{at}: `{}` came out otherwise than when the function was recorded; record it anew at this \
         point, or use `S::select`",
        .comparison.symbol()
    )]
    GuardFailed {
        /// The comparison.
        comparison: Comparison,
        /// Where in the user's code.
        at: &'static Location<'static>,
    },
    /// A rule on plain `f64` was asked for more than a first derivative.
    #[error(
        "the rule of `{name}` is written for f64 and gives first derivatives only, but was used for \
         more (a higher derivative, a Taylor series, bounds, sparsity); write it as a `Primitive`, \
         over any number"
    )]
    RuleOrder {
        /// The rule.
        name: String,
    },
    /// A rule failed.
    #[error("the rule of `{name}` failed: {reason}")]
    RuleFailed {
        /// The rule.
        name: String,
        /// Why.
        reason: String,
    },
    /// An array operation was called with arrays that do not fit.
    #[error("`{name}`: {what} has {found} entries, {expected} are needed")]
    Length {
        /// The operation.
        name: String,
        /// Which array.
        what: &'static str,
        /// How many entries are needed.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A matrix has no inverse.
    #[error("`{name}`: the matrix is singular (pivot {pivot} is zero)")]
    Singular {
        /// The operation.
        name: String,
        /// The pivot.
        pivot: usize,
    },
    /// NaN or infinity appeared.
    #[error("{0}")]
    NotFinite(crate::observe::NanReport),
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs a function and returns the fault raised in it, if any.
///
/// ```
/// use cotangent_numbers::{Interval, fault};
///
/// let x = Interval::new(-1.0, 1.0);
/// let answer = fault::catch(|| if x > 0.0 { x } else { -x });
/// assert!(answer.unwrap_err().to_string().contains("split the box"));
/// ```
pub fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Fault> {
    struct Scope;
    impl Drop for Scope {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    DEPTH.set(DEPTH.get() + 1);
    let scope = Scope;
    // What a fault leaves behind is owned by the callers of `catch`, who reset it before use.
    let result = catch_unwind(AssertUnwindSafe(f));
    drop(scope);
    result.map_err(|payload| match payload.downcast::<Fault>() {
        Ok(fault) => *fault,
        Err(payload) => resume_unwind(payload),
    })
}

/// Ends the computation on numbers with a fault.
///
/// # Panics
/// Outside a [`catch`], with the fault's message.
#[cold]
#[inline(never)]
pub fn raise(fault: Fault) -> ! {
    if DEPTH.get() == 0 {
        panic!("{fault}");
    }
    // Not `panic_any`: the fault is handled, so the panic hook has nothing to print.
    resume_unwind(Box::new(fault))
}
