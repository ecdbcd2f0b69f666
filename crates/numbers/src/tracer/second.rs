//! Second order: the inputs that a value depends on and the pairs that interact in it.
//!
//! The pairs are not kept as sets while the function runs. An operation with second derivatives is an
//! interaction: it names the index sets whose products it adds, and the interactions of its operands
//! that it keeps. At the end those that the outputs reach are multiplied out, each once. Interactions
//! that lead nowhere, or end in a step, are never looked at.

use cotangent_ops::Flags;

use super::sets::Set;
use super::{Dependence, Trace};
use crate::trace::{self, NO_STAMP};

/// The pairs of inputs that an operation makes interact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interaction {
    /// Interactions of the operands that are kept; 0 for none.
    pub(super) kept: [u32; 2],
    /// The operands' sets.
    pub(super) x: Set,
    pub(super) y: Set,
    /// Whether x×x, y×y, x×y are added.
    pub(super) products: [bool; 3],
}

impl Interaction {
    pub(super) const NONE: Interaction =
        Interaction { kept: [0; 2], x: Set::EMPTY, y: Set::EMPTY, products: [false; 3] };
}

/// The inputs that a value depends on and the pairs that interact, for the pattern of a Hessian.
#[derive(Clone, Copy)]
pub struct HessianTracer {
    pub(super) set: Set,
    pub(super) interaction: u32,
    pub(super) stamp: u32,
}

impl Dependence for HessianTracer {
    const NONE: Self = HessianTracer { set: Set::EMPTY, interaction: 0, stamp: NO_STAMP };

    #[inline]
    #[track_caller]
    fn unary(self, first: bool, second: bool) -> Self {
        pair(self, Self::NONE, [first, false], [second, false, false])
    }

    #[inline]
    #[track_caller]
    fn binary(self, y: Self, flags: Flags) -> Self {
        let [a, b, _] = flags.first;
        pair(self, y, [a, b], [flags.second[0], flags.second[1], flags.mixed[0]])
    }

    #[inline]
    #[track_caller]
    fn ternary(self, y: Self, z: Self, flags: Flags) -> Self {
        // No operation of the table has its third argument interact.
        debug_assert!(!(flags.second[2] || flags.mixed[1] || flags.mixed[2]));
        pair(self.binary(y, flags), z, [true, flags.first[2]], [false; 3])
    }

    #[track_caller]
    fn gather(values: impl Iterator<Item = Self>, linear: bool) -> Self {
        let sum = values.fold(Self::NONE, |a, b| pair(a, b, [true, true], [false; 3]));
        if linear { sum } else { pair(sum, Self::NONE, [true, false], [true, false, false]) }
    }

    #[inline(always)]
    fn is_none(self) -> bool {
        self.set.is_empty()
    }

    #[inline]
    fn same(self, other: Self) -> bool {
        self.set == other.set && self.interaction == other.interaction
    }

    fn stamp(self) -> u32 {
        self.stamp
    }
}

/// A value of two others: which first derivatives it has, and which second ones (xx, yy, xy).
#[inline]
#[track_caller]
fn pair(x: HessianTracer, y: HessianTracer, first: [bool; 2], second: [bool; 3]) -> HessianTracer {
    let stamp = trace::join(x.stamp, y.stamp);
    if stamp == NO_STAMP {
        return HessianTracer::NONE;
    }
    let [has_x, has_y] = [!x.set.is_empty(), !y.set.is_empty()];
    let products = [second[0] && has_x, second[1] && has_y, second[2] && has_x && has_y];
    let kept = [if first[0] { x.interaction } else { 0 }, if first[1] { y.interaction } else { 0 }];
    let set = match (first[0] && has_x, first[1] && has_y) {
        (true, true) if x.set != y.set => None,
        (true, _) => Some(x.set),
        (false, true) => Some(y.set),
        (false, false) => Some(Set::EMPTY),
    };
    let interaction = match (kept, products) {
        ([a, 0], [false, false, false]) => Some(a),
        ([0, b], [false, false, false]) => Some(b),
        ([a, b], [false, false, false]) if a == b => Some(a),
        _ => None,
    };
    if let (Some(set), Some(interaction)) = (set, interaction) {
        return HessianTracer { set, interaction, stamp };
    }
    trace::with::<Trace, _>(stamp, |trace| {
        let set = set.unwrap_or_else(|| trace.union(x.set, y.set));
        let interaction = interaction.unwrap_or_else(|| {
            trace.interactions.push(Interaction { kept, x: x.set, y: y.set, products });
            (trace.interactions.len() - 1) as u32
        });
        HessianTracer { set, interaction, stamp }
    })
}
