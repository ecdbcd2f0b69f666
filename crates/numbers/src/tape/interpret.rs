//! The instructions of a program, and running them on any number.

use std::panic::Location;

use cotangent_ops::{Binary, Comparison, Elementary, Opcode, Partial, Ternary, Unary, Visitor};
use rustc_hash::FxHashMap;

use super::listing::{Code, Condition, Guard, Listing, MaskNode, Operand};
use super::program::Array;
use crate::fault::Fault;
use crate::place::Recorded;

/// What a program does, ready to run.
///
/// The values stand in one array: the inputs, a slot for each node, then the constants. So an operand
/// is a place like any other; to ask at each whether it is a constant made a replay slower than a new
/// recording.
#[derive(Clone, Debug)]
pub(super) struct Instructions {
    inputs: usize,
    slots: usize,
    codes: Vec<Code>,
    places: Vec<&'static Location<'static>>,
    /// Where the operands of a node stand; of an operation with an integer parameter, the second is
    /// that.
    operands: Vec<[u32; 2]>,
    constants: Vec<f64>,
    masks: Vec<MaskNode>,
    guards: Vec<Guard>,
}

/// What is kept of a run besides the values.
pub(super) trait Keep<S> {
    /// Whether partials are wanted at all.
    const PARTIALS: bool;

    /// Keeps the partials of a node to its two operands.
    fn partials(&mut self, node: usize, partials: [S; 2]);

    /// Computes an array operation on the values before it.
    fn array(&mut self, array: &Array, before: &[S], results: &mut [S]);
}

impl Instructions {
    /// Makes instructions of a recording with these parents; an operand that is the node itself is a
    /// constant of the listing.
    pub(super) fn new(
        listing: Listing,
        inputs: usize,
        slots: usize,
        parents: &[[u32; 2]],
        blocks: &[Array],
    ) -> Result<Self, Fault> {
        let Listing { codes, places, constants: listed, parameters, masks, guards } = listing;
        let (mut listed, mut parameters) = (listed.into_iter(), parameters.into_iter());
        let mut constants: Vec<f64> = Vec::new();
        let mut slots_of: FxHashMap<u64, u32> = FxHashMap::default();
        let mut blocks = blocks.iter().peekable();
        let mut own = inputs;
        let mut operands = Vec::with_capacity(codes.len());
        for (i, code) in codes.iter().enumerate() {
            while let Some(block) = blocks.next_if(|b| b.after == i) {
                own += block.results;
            }
            let mut place = |slot: u32| {
                if slot as usize != own {
                    return slot;
                }
                let c = listed.next().unwrap_or(f64::NAN);
                *slots_of.entry(c.to_bits()).or_insert_with(|| {
                    constants.push(c);
                    (slots + constants.len() - 1) as u32
                })
            };
            let [a, b] = parents[i];
            operands.push(match code {
                Code::Operation(op) => match op.arity() {
                    1 if has_parameter(*op) => {
                        [place(a), parameters.next().unwrap_or(0).cast_unsigned()]
                    }
                    1 => [place(a), 0],
                    2 => [place(a), place(b)],
                    // The first two stand with the node before, which joins them.
                    _ => [0, place(b)],
                },
                Code::Join | Code::Select(_) => [place(a), place(b)],
            });
            own += 1;
        }
        match u32::try_from(slots + constants.len()) {
            Ok(_) => Ok(Instructions {
                inputs,
                slots,
                codes,
                places,
                operands,
                constants,
                masks,
                guards,
            }),
            Err(_) => Err(Fault::TraceTooLong { limit: u64::from(u32::MAX) }),
        }
    }

    pub(super) fn codes(&self) -> &[Code] {
        &self.codes
    }

    pub(super) fn operands(&self, node: usize) -> [u32; 2] {
        self.operands[node]
    }

    /// The number of comparisons that fixed a branch.
    pub(super) fn guards(&self) -> usize {
        self.guards.len()
    }

    /// Runs all instructions; the fault of the first guard that fails, if one does.
    pub(super) fn run<S: Elementary, K: Keep<S>>(
        &self,
        x: &[S],
        blocks: &[Array],
        values: &mut Vec<S>,
        masks: &mut Vec<S::Mask>,
        keep: &mut K,
    ) -> Option<Fault> {
        values.resize(self.slots + self.constants.len(), S::zero());
        values[..self.inputs].copy_from_slice(x);
        for (value, c) in values[self.slots..].iter_mut().zip(&self.constants) {
            *value = S::constant(*c);
        }
        masks.clear();
        let place = Recorded::enter();
        let mut run =
            Run { program: self, values, masks, keep, place, next: 0, offset: self.inputs };
        let mut guards = self.guards.iter().peekable();
        for (i, block) in blocks.iter().enumerate() {
            while let Some(guard) = guards.next_if(|g| g.blocks <= i) {
                run.span(guard.after as usize);
                if let Some(fault) = run.guard(guard) {
                    return Some(fault);
                }
            }
            run.span(block.after);
            run.block(block);
        }
        for guard in guards {
            run.span(guard.after as usize);
            if let Some(fault) = run.guard(guard) {
                return Some(fault);
            }
        }
        run.span(self.codes.len());
        None
    }
}

fn has_parameter(op: Opcode) -> bool {
    matches!(op, Opcode::Powi | Opcode::Polygamma | Opcode::SincDerivative)
}

pub(super) fn operand<S: Elementary>(operand: Operand, values: &[S]) -> S {
    match operand {
        Operand::Slot(slot) => values[slot as usize],
        Operand::Constant(c) => S::constant(c),
    }
}

/// The state of running a program over numbers S.
struct Run<'a, S: Elementary, K> {
    program: &'a Instructions,
    values: &'a mut [S],
    masks: &'a mut Vec<S::Mask>,
    keep: &'a mut K,
    place: Recorded,
    /// The next node, and how much its slot is ahead of its number.
    next: usize,
    offset: usize,
}

impl<S: Elementary, K: Keep<S>> Run<'_, S, K> {
    /// Runs the nodes before `end`.
    fn span(&mut self, end: usize) {
        for node in self.next..end {
            // Plain numbers do not ask.
            if !S::PLAIN {
                self.place.at(self.program.places[node]);
            }
            match self.program.codes[node] {
                // One jump an operation: the visitor fetches as many operands as it has.
                Code::Operation(op) => {
                    let operands = &self.program.operands[..=node];
                    let parameter = operands[node][1].cast_signed();
                    let (values, keep) = (&mut *self.values, &mut *self.keep);
                    op.visit(parameter, Step { operands, own: node + self.offset, values, keep });
                }
                Code::Join => {
                    // Its partials come with those of the operation it belongs to.
                    self.values[node + self.offset] = S::zero();
                }
                Code::Select(mask) => self.select(node, mask),
            }
        }
        self.next = end.max(self.next);
    }

    fn select(&mut self, node: usize, mask: u32) {
        let [a, b] = self.program.operands[node];
        let (x, y) = (self.values[a as usize], self.values[b as usize]);
        let mask = self.mask(mask);
        if K::PARTIALS {
            let weight = |x, y| S::select(mask, x, y);
            self.keep.partials(node, [weight(S::one(), S::zero()), weight(S::zero(), S::one())]);
        }
        self.values[node + self.offset] = S::select(mask, x, y);
    }

    fn block(&mut self, block: &Array) {
        let (before, rest) = self.values.split_at_mut(block.first);
        self.keep.array(block, before, &mut rest[..block.results]);
        self.offset += block.results;
    }

    fn guard(&self, guard: &Guard) -> Option<Fault> {
        self.place.at(guard.at);
        let (holds, comparison) = match guard.condition {
            Condition::Compare(comparison, a, b, outcome) => {
                let (a, b) = (operand(a, self.values), operand(b, self.values));
                (comparison.holds(&a, &b) == outcome, comparison)
            }
            Condition::Same(a, value) => {
                let same = operand(a, self.values).value().to_bits() == value.to_bits();
                (same, Comparison::Equal)
            }
        };
        (!holds).then_some(Fault::GuardFailed { comparison, at: guard.at })
    }

    /// The truth value with this number; those before it are computed on the way.
    fn mask(&mut self, id: u32) -> S::Mask {
        while self.masks.len() <= id as usize {
            let mask = match self.program.masks[self.masks.len()] {
                MaskNode::Compare(comparison, a, b) => {
                    operand(a, self.values).compare(operand(b, self.values), comparison)
                }
                MaskNode::And(a, b) => self.masks[a as usize] & self.masks[b as usize],
                MaskNode::Or(a, b) => self.masks[a as usize] | self.masks[b as usize],
                MaskNode::Not(a) => !self.masks[a as usize],
                MaskNode::Known(outcome) => S::Mask::from(outcome),
            };
            self.masks.push(mask);
        }
        self.masks[id as usize]
    }
}

/// One operation: the last of `operands`, whose result goes to the slot `own`.
struct Step<'a, S, K> {
    operands: &'a [[u32; 2]],
    own: usize,
    values: &'a mut [S],
    keep: &'a mut K,
}

impl<S: Elementary, K: Keep<S>> Step<'_, S, K> {
    #[inline(always)]
    fn finish(self, value: S, partials: impl FnOnce() -> [S; 2]) {
        self.values[self.own] = value;
        if K::PARTIALS {
            self.keep.partials(self.operands.len() - 1, partials());
        }
    }

    /// The operands of the node that is so many before the last.
    #[inline(always)]
    fn fetch(&self, before: usize) -> [S; 2] {
        let [a, b] = self.operands[self.operands.len() - 1 - before];
        [self.values[a as usize], self.values[b as usize]]
    }
}

impl<S: Elementary, K: Keep<S>> Visitor for Step<'_, S, K> {
    type Output = ();

    #[inline(always)]
    fn unary<O: Unary>(self, op: O) {
        let x = self.values[self.operands[self.operands.len() - 1][0] as usize];
        let y = op.value(x);
        self.finish(y, || [op.d(x, y).value(), S::zero()]);
    }

    #[inline(always)]
    fn binary<O: Binary>(self, op: O) {
        let [x, y] = self.fetch(0);
        let z = op.value(x, y);
        self.finish(z, || [op.d1(x, y, z).value(), op.d2(x, y, z).value()]);
    }

    #[inline(always)]
    fn ternary<O: Ternary>(self, op: O) {
        let ([x, y], [_, z]) = (self.fetch(1), self.fetch(0));
        let w = op.value(x, y, z);
        if K::PARTIALS {
            let [d, e, f] = op.d(x, y, z, w).map(Partial::value);
            self.keep.partials(self.operands.len() - 2, [d, e]);
            self.finish(w, || [S::one(), f]);
        } else {
            self.finish(w, || [S::zero(); 2]);
        }
    }
}
