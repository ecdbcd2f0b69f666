//! Tracers without a value: what they find holds for all inputs.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};
use std::panic::Location;

use cotangent_ops::{Binary, Comparison, Lift, Mask, Partial, Primitive, Ternary, Unary};

use super::{Dependence, EITHER, GradientTracer, HessianTracer};
use crate::fault::{Fault, raise};
use crate::number::{inherent, number};
use crate::place::here;

/// The outcome of comparing numbers without a value: either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

impl Mask for Unknown {}

impl From<bool> for Unknown {
    fn from(_: bool) -> Self {
        Unknown
    }
}

impl BitAnd for Unknown {
    type Output = Self;
    fn bitand(self, _: Self) -> Self {
        Unknown
    }
}

impl BitOr for Unknown {
    type Output = Self;
    fn bitor(self, _: Self) -> Self {
        Unknown
    }
}

impl Not for Unknown {
    type Output = Self;
    fn not(self) -> Self {
        Unknown
    }
}

/// Whether a unary operation has a first and a second derivative; its parameter may make one vanish
/// that others have.
#[inline(always)]
pub(super) fn unary_flags<O: Unary>(op: O) -> (bool, bool) {
    let flags = const { O::INFO.flags };
    (
        flags.first[0] && !matches!(op.d(1.0_f64, 1.0), Partial::Zero),
        flags.second[0] && !matches!(op.dd(1.0_f64, 1.0), Partial::Zero),
    )
}

macro_rules! global_tracer {
    ($Tracer:ident) => {
        impl Lift for $Tracer {
            type Mask = Unknown;

            #[inline(always)]
            fn lift(_: f64) -> Self {
                Self::NONE
            }

            #[track_caller]
            fn primal(self) -> f64 {
                raise(Fault::NoValue { at: here(Location::caller()) })
            }

            fn sample(self) -> Option<f64> {
                None
            }

            fn unknown() -> Option<Self> {
                Some(Self::NONE)
            }

            fn same(self, other: Self) -> bool {
                Dependence::same(self, other)
            }

            #[inline(always)]
            #[track_caller]
            fn unary<O: Unary>(self, op: O) -> Self {
                let (first, second) = unary_flags(op);
                Dependence::unary(self, first, second)
            }

            #[inline(always)]
            #[track_caller]
            fn binary<O: Binary>(self, y: Self, _: O) -> Self {
                Dependence::binary(self, y, const { O::INFO.flags })
            }

            #[inline(always)]
            #[track_caller]
            fn binary_constant<O: Binary>(self, _: f64, _: O) -> Self {
                let flags = const { O::INFO.flags };
                Dependence::unary(self, flags.first[0], flags.second[0])
            }

            #[inline(always)]
            #[track_caller]
            fn constant_binary<O: Binary>(_: f64, y: Self, _: O) -> Self {
                let flags = const { O::INFO.flags };
                Dependence::unary(y, flags.first[1], flags.second[1])
            }

            #[inline(always)]
            #[track_caller]
            fn ternary<O: Ternary>(self, y: Self, z: Self, _: O) -> Self {
                Dependence::ternary(self, y, z, const { O::INFO.flags })
            }

            #[inline(always)]
            fn compare(self, _: Self, _: Comparison) -> Unknown {
                Unknown
            }

            #[inline(always)]
            #[track_caller]
            fn choose(_: Unknown, x: Self, y: Self) -> Self {
                Dependence::binary(x, y, EITHER)
            }

            #[track_caller]
            fn decide(self, _: Self, comparison: Comparison) -> bool {
                raise(Fault::BranchWithoutValue { comparison, at: here(Location::caller()) })
            }

            /// Never: library code that skips work on zeros would lose dependences.
            fn vanishes(self) -> bool {
                false
            }

            fn all_finite(self) -> bool {
                true
            }

            #[track_caller]
            fn array<P: Primitive>(primitive: &P, x: &[Self], y: &mut [Self]) {
                super::detect::array(primitive, x, y);
            }
        }

        number!([] $Tracer);

        impl fmt::Debug for $Tracer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($Tracer))
            }
        }

        impl fmt::Display for $Tracer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("?")
            }
        }
    };
}

global_tracer!(GradientTracer);
global_tracer!(HessianTracer);
