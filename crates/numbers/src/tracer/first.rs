//! First order: the set of inputs that a value depends on.

use cotangent_ops::Flags;

use super::sets::Set;
use super::{Dependence, Trace};
use crate::trace::{self, NO_STAMP};

/// The inputs that a value depends on, for the pattern of a Jacobian.
#[derive(Clone, Copy)]
pub struct GradientTracer {
    pub(super) set: Set,
    pub(super) stamp: u32,
}

impl Dependence for GradientTracer {
    const NONE: Self = GradientTracer { set: Set::EMPTY, stamp: NO_STAMP };

    #[inline(always)]
    fn unary(self, first: bool, _: bool) -> Self {
        if first { self } else { Self::NONE }
    }

    #[inline(always)]
    #[track_caller]
    fn binary(self, y: Self, flags: Flags) -> Self {
        match (flags.first[0], flags.first[1]) {
            (true, true) => self.union(y),
            (true, false) => self,
            (false, true) => y,
            (false, false) => Self::NONE,
        }
    }

    #[inline(always)]
    #[track_caller]
    fn ternary(self, y: Self, z: Self, flags: Flags) -> Self {
        self.binary(y, flags).union(z.unary(flags.first[2], false))
    }

    #[track_caller]
    fn gather(values: impl Iterator<Item = Self>, _: bool) -> Self {
        values.fold(Self::NONE, Self::union)
    }

    #[inline(always)]
    fn is_none(self) -> bool {
        self.set.is_empty()
    }

    #[inline]
    fn same(self, other: Self) -> bool {
        self.set == other.set
    }

    fn stamp(self) -> u32 {
        self.stamp
    }
}

impl GradientTracer {
    #[inline(always)]
    #[track_caller]
    fn union(self, other: Self) -> Self {
        let stamp = trace::join(self.stamp, other.stamp);
        if other.set.is_empty() || self.set == other.set {
            return GradientTracer { set: self.set, stamp };
        }
        if self.set.is_empty() {
            return GradientTracer { set: other.set, stamp };
        }
        let set = trace::with::<Trace, _>(stamp, |trace| trace.union(self.set, other.set));
        GradientTracer { set, stamp }
    }
}
