//! The variable: a number that records what is done with it.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};
use std::panic::Location;

use cotangent_ops::{
    Binary, Comparison, Lift, Mask, Opcode, Operation, Partial, Precision, Primitive, Ternary,
    Unary,
};

use super::block;
use super::listing::{Code, Condition, MaskNode, Operand};
use super::record::{Node, Tape};
use crate::Base;
use crate::number::{inherent, number};
use crate::place::here;
use crate::trace::{self, NO_STAMP};

/// A value on a [`Tape`].
///
/// It is a small `Copy` value: the number, its place, and the stamp of its recording. Using it in
/// another recording, after the end of its own or on another thread is a fault.
#[derive(Clone, Copy)]
pub struct Var<T = f64> {
    pub(super) value: T,
    pub(super) slot: u32,
    pub(super) stamp: u32,
}

impl<T: Base> Var<T> {
    /// The value; unlike [`value`](cotangent_ops::Elementary::value), it leaves no trace in a recorded program.
    #[inline]
    pub fn peek(self) -> T {
        self.value
    }

    /// The place of the value on its tape, `None` for a constant.
    pub fn slot(self) -> Option<usize> {
        (self.stamp != NO_STAMP).then_some(self.slot as usize)
    }

    /// A constant of the same type, for the point of an inner derivative.
    #[inline]
    #[must_use]
    pub fn like(self, c: f64) -> Self {
        Self::lift(c)
    }

    /// A number that depends on nothing recorded: an outer value in an inner recording.
    #[inline]
    pub fn fixed(value: T) -> Self {
        Var { value, slot: 0, stamp: NO_STAMP }
    }

    #[inline(always)]
    fn is_constant(self) -> bool {
        self.stamp == NO_STAMP
    }

    /// Whether its recording is to become a program.
    #[track_caller]
    fn is_listed(self) -> bool {
        trace::with::<Tape<T>, _>(self.stamp, |tape| tape.listing.is_some())
    }

    fn operand(self) -> Operand {
        if self.is_constant() {
            Operand::Constant(self.value.value())
        } else {
            Operand::Slot(self.slot)
        }
    }
}

/// Puts an operation on the tape: the partials and slots of its operands, given the node's own slot.
#[inline(always)]
#[track_caller]
fn record<T: Base, O: Operation>(
    op: O,
    value: T,
    operands: [Option<Var<T>>; 2],
    stamp: u32,
    node: impl FnOnce(u32) -> ([T; 2], [u32; 2]),
) -> Var<T> {
    let at = Location::caller();
    let slot = trace::with::<Tape<T>, _>(stamp, |tape| {
        if tape.listing.is_some() {
            note(tape, op, operands, at);
        }
        tape.push(|own| {
            let (partials, parents) = node(own);
            Node { partials, parents }
        })
    });
    Var { value, slot, stamp }
}

/// Keeps the operation for a program.
#[cold]
#[inline(never)]
fn note<T: Base, O: Operation>(
    tape: &mut Tape<T>,
    op: O,
    operands: [Option<Var<T>>; 2],
    at: &'static Location<'static>,
) {
    let Some(listing) = tape.listing.as_deref_mut() else { return };
    listing.code(Code::Operation(O::INFO.opcode), here(at));
    if matches!(O::INFO.opcode, Opcode::Powi | Opcode::Polygamma | Opcode::SincDerivative) {
        listing.parameters.push(op.parameter());
    }
    for x in operands.into_iter().flatten().filter(|x| x.is_constant()) {
        listing.constants.push(x.value.value());
    }
}

impl<T: Base> Lift for Var<T> {
    type Mask = VarMask;

    const RECORDS: bool = true;

    #[inline(always)]
    fn lift(c: f64) -> Self {
        Var::fixed(T::constant(c))
    }

    #[inline(always)]
    fn lift_rounded(c: f64) -> Self {
        Var::fixed(T::rounded(c))
    }

    #[inline]
    fn precision() -> Precision {
        T::precision()
    }

    /// In a program, what the caller does with the value is out of sight, so the program is good
    /// for this very value only.
    #[inline]
    #[track_caller]
    fn primal(self) -> f64 {
        let value = self.value.value();
        if !self.is_constant() {
            let at = here(Location::caller());
            trace::with::<Tape<T>, _>(self.stamp, |tape| {
                if let Some(listing) = tape.listing.as_deref_mut() {
                    let blocks = tape.blocks.len();
                    listing.guard(Condition::Same(self.operand(), value), blocks, at);
                }
            });
        }
        value
    }

    /// A sample decides nothing, so a program does not depend on it.
    #[inline]
    fn sample(self) -> Option<f64> {
        self.value.sample()
    }

    #[inline(always)]
    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        let y = op.value(self.value);
        if self.is_constant() {
            return Var { value: y, ..self };
        }
        let d = op.d(self.value, y);
        // A step has no derivative; only a program must know that it was taken.
        if matches!(d, Partial::Zero) && !self.is_listed() {
            return Var::fixed(y);
        }
        let partials = [d.value(), T::zero()];
        record(op, y, [Some(self), None], self.stamp, |own| (partials, [self.slot, own]))
    }

    #[inline(always)]
    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        let (a, b) = (self.value, y.value);
        let z = op.value(a, b);
        let operands = [Some(self), Some(y)];
        // A partial to a constant is not computed: that of a power would cost a logarithm.
        match (self.is_constant(), y.is_constant()) {
            (false, false) => {
                let stamp = trace::join(self.stamp, y.stamp);
                let partials = [op.d1(a, b, z).value(), op.d2(a, b, z).value()];
                record(op, z, operands, stamp, |_| (partials, [self.slot, y.slot]))
            }
            (false, true) => {
                let partials = [op.d1(a, b, z).value(), T::zero()];
                record(op, z, operands, self.stamp, |own| (partials, [self.slot, own]))
            }
            (true, false) => {
                let partials = [T::zero(), op.d2(a, b, z).value()];
                record(op, z, operands, y.stamp, |own| (partials, [own, y.slot]))
            }
            (true, true) => Var { value: z, ..self },
        }
    }

    /// Three operands are two nodes: the first two are joined, then the third.
    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        let stamp = trace::join(trace::join(self.stamp, y.stamp), z.stamp);
        let w = op.value(self.value, y.value, z.value);
        if stamp == NO_STAMP {
            return Var { value: w, ..self };
        }
        let [d, e, f] = op.d(self.value, y.value, z.value, w).map(Partial::value);
        let (zero, one) = (T::zero(), T::one());
        let at = here(Location::caller());
        let joined = trace::with::<Tape<T>, _>(stamp, |tape| {
            if let Some(listing) = tape.listing.as_deref_mut() {
                listing.code(Code::Join, at);
                for x in [self, y].iter().filter(|x| x.is_constant()) {
                    listing.constants.push(x.value.value());
                }
            }
            tape.push(|own| {
                let mut node = Node { partials: [zero; 2], parents: [own; 2] };
                for (i, (x, partial)) in [(self, d), (y, e)].into_iter().enumerate() {
                    if !x.is_constant() {
                        node.partials[i] = partial;
                        node.parents[i] = x.slot;
                    }
                }
                node
            })
        });
        record(op, w, [None, Some(z)], stamp, |own| {
            if z.is_constant() {
                ([one, zero], [joined, own])
            } else {
                ([one, f], [joined, z.slot])
            }
        })
    }

    #[inline]
    #[track_caller]
    fn compare(self, y: Self, comparison: Comparison) -> VarMask {
        let stamp = trace::join(self.stamp, y.stamp);
        let outcome = comparison.holds(&self.value, &y.value);
        let node = MaskNode::Compare(comparison, self.operand(), y.operand());
        VarMask::record::<T>(outcome, stamp, node)
    }

    #[inline]
    #[track_caller]
    fn choose(mask: VarMask, x: Self, y: Self) -> Self {
        let chosen = if mask.outcome { x } else { y };
        let Some(id) = mask.id else { return chosen };
        let stamp = trace::join(trace::join(x.stamp, y.stamp), mask.stamp);
        let (zero, one) = (T::zero(), T::one());
        let at = here(Location::caller());
        let slot = trace::with::<Tape<T>, _>(stamp, |tape| {
            if let Some(listing) = tape.listing.as_deref_mut() {
                listing.code(Code::Select(id), at);
                for v in [x, y].iter().filter(|v| v.is_constant()) {
                    listing.constants.push(v.value.value());
                }
            }
            tape.push(|own| {
                let mut node = Node { partials: [zero; 2], parents: [own; 2] };
                for (i, v) in [x, y].into_iter().enumerate().filter(|(_, v)| !v.is_constant()) {
                    node.parents[i] = v.slot;
                    if mask.outcome == (i == 0) {
                        node.partials[i] = one;
                    }
                }
                node
            })
        });
        Var { value: chosen.value, slot, stamp }
    }

    #[inline]
    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        let outcome = comparison.holds(&self.value, &y.value);
        let stamp = trace::join(self.stamp, y.stamp);
        if stamp != NO_STAMP {
            let at = here(Location::caller());
            trace::with::<Tape<T>, _>(stamp, |tape| {
                if let Some(listing) = tape.listing.as_deref_mut() {
                    let blocks = tape.blocks.len();
                    let condition =
                        Condition::Compare(comparison, self.operand(), y.operand(), outcome);
                    listing.guard(condition, blocks, at);
                }
            });
        }
        outcome
    }

    #[track_caller]
    fn value_is_nan(self) -> bool {
        self.decide(self, Comparison::Differ)
    }

    #[track_caller]
    fn value_is_finite(self) -> bool {
        self.decide(Self::lift(f64::INFINITY), Comparison::Less)
            && self.decide(Self::lift(f64::NEG_INFINITY), Comparison::Greater)
    }

    /// Whether the number is a constant zero: a recorded one may be another on a replay, and
    /// carries a derivative.
    #[inline]
    fn vanishes(self) -> bool {
        self.is_constant() && self.value.vanishes()
    }

    #[inline]
    fn all_finite(self) -> bool {
        self.value.all_finite()
    }

    #[track_caller]
    fn array<P: Primitive>(primitive: &P, x: &[Self], y: &mut [Self]) {
        let stamp = x.iter().fold(NO_STAMP, |stamp, x| trace::join(stamp, x.stamp));
        block::record(primitive, stamp, x, y);
    }
}

number!([T: Base] Var<T>);

/// The outcome of comparing variables; in a program, the comparison itself.
#[derive(Clone, Copy, Debug)]
pub struct VarMask {
    outcome: bool,
    /// The comparison in the program, if one is being recorded.
    id: Option<u32>,
    stamp: u32,
    /// Keeps what two masks become in the recording of their own number type.
    combine: Option<Combine>,
}

type Combine = fn(u32, MaskNode) -> Option<u32>;

fn keep<T: Base>(stamp: u32, node: MaskNode) -> Option<u32> {
    trace::with::<Tape<T>, _>(stamp, |tape| Some(tape.listing.as_deref_mut()?.mask(node)))
}

impl VarMask {
    #[track_caller]
    fn record<T: Base>(outcome: bool, stamp: u32, node: MaskNode) -> VarMask {
        if stamp == NO_STAMP {
            return VarMask::from(outcome);
        }
        let id = keep::<T>(stamp, node);
        VarMask { outcome, id, stamp, combine: id.map(|_| keep::<T> as Combine) }
    }

    /// The mask of a combination; one that is known has no place in the program yet.
    fn combined(self, other: VarMask, outcome: bool, node: fn(u32, u32) -> MaskNode) -> VarMask {
        let stamp = trace::join(self.stamp, other.stamp);
        let Some(combine) = self.combine.or(other.combine) else {
            return VarMask { outcome, id: None, stamp, combine: None };
        };
        let place = |m: VarMask| m.id.or_else(|| combine(stamp, MaskNode::Known(m.outcome)));
        let id = match (place(self), place(other)) {
            (Some(a), Some(b)) => combine(stamp, node(a, b)),
            _ => None,
        };
        VarMask { outcome, id, stamp, combine: Some(combine) }
    }
}

impl Mask for VarMask {}

impl From<bool> for VarMask {
    fn from(outcome: bool) -> Self {
        VarMask { outcome, id: None, stamp: NO_STAMP, combine: None }
    }
}

impl BitAnd for VarMask {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.combined(other, self.outcome && other.outcome, MaskNode::And)
    }
}

impl BitOr for VarMask {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.combined(other, self.outcome || other.outcome, MaskNode::Or)
    }
}

impl Not for VarMask {
    type Output = Self;
    fn not(self) -> Self {
        let id = match (self.id, self.combine) {
            (Some(id), Some(combine)) => combine(self.stamp, MaskNode::Not(id)),
            _ => None,
        };
        VarMask { outcome: !self.outcome, id, ..self }
    }
}

impl<T: fmt::Debug> fmt::Debug for Var<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Var");
        out.field("value", &self.value);
        if self.stamp != NO_STAMP {
            out.field("slot", &self.slot);
        }
        out.finish()
    }
}

impl<T: fmt::Display> fmt::Display for Var<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
