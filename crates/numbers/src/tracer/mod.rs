//! Sparsity tracers: numbers that know which inputs they depend on.
//!
//! [`GradientTracer`] carries the inputs that a value depends on, [`HessianTracer`] also the pairs of
//! inputs that interact. Both are *global*: they have no value, see both sides of a `select`, and what
//! they find holds for all inputs; a branch on them is a fault that says what to do. [`Local`] adds
//! a value: branches go as at the point, and what is found holds at the point only. [`Known`] is global and
//! keeps the values of what depends on no input, so that what is decided for all inputs is.
//!
//! What an operation passes on comes from the sparsity class of its row in the table. There are no
//! false negatives: an entry that is not in the pattern is zero.

mod detect;
mod first;
mod global;
mod known;
mod local;
mod second;
mod sets;

pub use detect::{Detection, Detector, hessian_pattern, jacobian_pattern};
pub use first::GradientTracer;
pub use global::Unknown;
pub use known::Known;
pub use local::Local;
pub use second::HessianTracer;
pub use sets::SetKind;

use cotangent_ops::Flags;

use crate::fault::{Fault, raise};
use crate::trace::{Arena, Header};
use sets::Sets;

/// The sets and interactions of one trace.
#[repr(C)]
pub(crate) struct Trace {
    header: Header,
    sets: Sets,
    interactions: Vec<second::Interaction>,
}

// SAFETY: `repr(C)` with the header first.
unsafe impl Arena for Trace {}

impl Trace {
    fn new(kind: SetKind) -> Trace {
        Trace {
            header: Header::default(),
            sets: Sets::new(kind),
            // Interaction 0 is "none".
            interactions: vec![second::Interaction::NONE],
        }
    }

    fn clear(&mut self) {
        self.sets.clear();
        self.interactions.truncate(1);
    }

    #[inline]
    fn union(&mut self, a: sets::Set, b: sets::Set) -> sets::Set {
        match self.sets.union(a, b) {
            Some(set) => set,
            None => raise(Fault::TraceTooLong { limit: 1 << 31 }),
        }
    }
}

/// What a value depends on, and how an operation passes it on.
pub trait Dependence: Copy + std::fmt::Debug + Send + Sync + 'static {
    /// Depends on nothing.
    const NONE: Self;

    /// The dependence of an operation on one value, by the orders of its derivatives.
    fn unary(self, first: bool, second: bool) -> Self;

    /// The dependence of an operation on two values, by its flags.
    fn binary(self, y: Self, flags: Flags) -> Self;

    /// The dependence of an operation on three values, by its flags.
    fn ternary(self, y: Self, z: Self, flags: Flags) -> Self;

    /// The dependence of a function of many values, linear or not.
    fn gather(values: impl Iterator<Item = Self>, linear: bool) -> Self;

    /// Whether it depends on nothing.
    fn is_none(self) -> bool;

    /// Whether both are known to be the same.
    fn same(self, other: Self) -> bool;

    /// The stamp of its trace, 0 if it belongs to none.
    #[doc(hidden)]
    fn stamp(self) -> u32;
}

/// The flags of a value that is one of two others.
const EITHER: Flags = Flags { first: [true, true, false], second: [false; 3], mixed: [false; 3] };
