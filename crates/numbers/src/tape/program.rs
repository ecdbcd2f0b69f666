//! The static use of the tape: record once, replay with new inputs.

use std::sync::Arc;

use cotangent_ops::{
    Binary, Elementary, Opcode, Partial, Primitive, Scalar, Ternary, Unary, Visitor,
};

use super::block::{AnyPrimitive, Block, Erased, Recorded, Slots, gather};
use super::listing::{Code, Listing, MaskNode, Operand};
use super::record::{Node, Tape};
use super::sweep;
use super::var::Var;
use crate::Base;
use crate::fault::{Fault, catch};

/// A function as the list of operations it performed at one point.
///
/// It can be evaluated on every number type, at points where its branches go the same way. It is
/// immutable and `Sync`; what changes during a replay is in a [`Replay`].
///
/// ```
/// use cotangent_numbers::{Dual, Program, Replay};
///
/// let program = Program::record(&[3.0, 4.0], |x| vec![if x[0] < x[1] { x[0] * x[1] } else { x[0] }]).unwrap();
/// let mut y = [0.0];
/// program.evaluate(&[5.0, 6.0], &mut y).unwrap();
/// assert_eq!(y, [30.0]);
///
/// let mut replay = Replay::new();
/// program.replay(&[5.0, 6.0], &mut replay).unwrap();
/// assert_eq!(program.pullback(&[1.0], &mut replay), [6.0, 5.0]);
///
/// // The branch would go the other way here.
/// assert!(program.evaluate(&[2.0, 1.0], &mut y).unwrap_err().to_string().contains("came out otherwise"));
/// ```
#[derive(Clone)]
pub struct Program {
    inputs: usize,
    slots: usize,
    listing: Listing,
    parents: Vec<[u32; 2]>,
    blocks: Vec<Array>,
    outputs: Vec<Operand>,
}

/// An array operation of a program.
#[derive(Clone)]
struct Array {
    after: usize,
    first: usize,
    results: usize,
    operands: Slots,
    count: usize,
    constants: Vec<f64>,
    primitive: Arc<dyn AnyPrimitive>,
}

/// The values and partials of a program at one point, and room for sweeps.
pub struct Replay<T: Base = f64> {
    values: Vec<T>,
    nodes: Vec<Node<T>>,
    blocks: Vec<Block<T>>,
    masks: Vec<T::Mask>,
    adjoints: Vec<T>,
    scratch: Vec<T>,
}

impl<T: Base> Default for Replay<T> {
    fn default() -> Self {
        Replay::new()
    }
}

impl<T: Base> Replay<T> {
    /// Room for replays, filled by the first one.
    pub fn new() -> Self {
        Replay {
            values: Vec::new(),
            nodes: Vec::new(),
            blocks: Vec::new(),
            masks: Vec::new(),
            adjoints: Vec::new(),
            scratch: Vec::new(),
        }
    }
}

impl Program {
    /// Records `f` at the point `x`.
    ///
    /// # Errors
    /// The fault that a variable raised in `f`.
    pub fn record(
        x: &[f64],
        f: impl FnOnce(&[Var<f64>]) -> Vec<Var<f64>>,
    ) -> Result<Program, Fault> {
        let mut tape = Tape::new();
        tape.listing = Some(Box::default());
        let outputs = tape.run(x, f)?;
        let outputs = outputs
            .into_iter()
            .map(|y| {
                Ok(match tape.slot_of(y)? {
                    Some(slot) => Operand::Slot(slot as u32),
                    None => Operand::Constant(y.value),
                })
            })
            .collect::<Result<_, Fault>>()?;
        let slots = tape.slots();
        let blocks = tape
            .blocks
            .drain(..)
            .filter_map(|block| {
                let (primitive, constants) = block.primitive?;
                let Block { after, first, results, operands, count, .. } = block;
                Some(Array { after, first, results, operands, count, constants, primitive })
            })
            .collect();
        Ok(Program {
            inputs: x.len(),
            slots,
            listing: tape.listing.take().map(|l| *l).unwrap_or_default(),
            parents: tape.nodes.iter().map(|n| n.parents).collect(),
            blocks,
            outputs,
        })
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// The number of operations; an array operation counts as one.
    pub fn operations(&self) -> usize {
        self.parents.len() + self.blocks.len()
    }

    /// The number of comparisons that fixed a branch.
    pub fn guards(&self) -> usize {
        self.listing.guards.len()
    }

    fn check(&self, what: &'static str, expected: usize, found: usize) -> Result<(), Fault> {
        if expected == found {
            return Ok(());
        }
        Err(Fault::Length { name: "program".to_string(), what, expected, found })
    }

    /// Evaluates the program on any kind of number.
    ///
    /// # Errors
    /// [`Fault::GuardFailed`] where a branch would go the other way, [`Fault::Length`] if a slice
    /// does not fit, and what the numbers raise.
    pub fn evaluate<S: Scalar>(&self, x: &[S], y: &mut [S]) -> Result<(), Fault> {
        let mut values = Vec::with_capacity(self.slots);
        let mut masks = Vec::with_capacity(self.listing.masks.len());
        self.evaluate_with(x, y, &mut values, &mut masks)
    }

    /// [`evaluate`](Program::evaluate) with room brought along.
    pub fn evaluate_with<S: Scalar>(
        &self,
        x: &[S],
        y: &mut [S],
        values: &mut Vec<S>,
        masks: &mut Vec<S::Mask>,
    ) -> Result<(), Fault> {
        self.check("the point", self.inputs, x.len())?;
        self.check("the result", self.outputs.len(), y.len())?;
        catch(|| {
            values.clear();
            values.extend_from_slice(x);
            masks.clear();
            let mut operands = Vec::new();
            let mut interpreter = Interpreter::new(self, values, masks);
            let failed = interpreter.run(
                |code, parameter, x| code.visit(parameter, Value(x)),
                |array, before, results| {
                    gather(&array.operands, array.count, before, &mut operands, |i| {
                        S::constant(array.constants[i])
                    });
                    S::array(&Erased(array.primitive.clone()), &operands, results);
                },
                |_| (),
            );
            if failed.is_none() {
                for (y, output) in y.iter_mut().zip(&self.outputs) {
                    *y = operand(*output, values);
                }
            }
            failed
        })?
        .map_or(Ok(()), Err)
    }

    /// Runs the program at a new point, keeping the partials for sweeps.
    ///
    /// # Errors
    /// As [`evaluate`](Program::evaluate).
    pub fn replay<T: Base>(&self, x: &[T], replay: &mut Replay<T>) -> Result<(), Fault> {
        self.check("the point", self.inputs, x.len())?;
        let Replay { values, nodes, blocks, masks, .. } = replay;
        values.clear();
        values.extend_from_slice(x);
        nodes.clear();
        blocks.clear();
        masks.clear();
        let nodes = std::cell::RefCell::new(nodes);
        catch(|| {
            let mut interpreter = Interpreter::new(self, values, masks);
            interpreter.run(
                |code, parameter, x| {
                    let (value, partials, joined) = code.visit(parameter, ValueAndPartials(x));
                    let mut nodes = nodes.borrow_mut();
                    if let (Some(joined), Some(last)) = (joined, nodes.last_mut()) {
                        last.partials = joined;
                    }
                    nodes.push(Node { partials, parents: [0; 2] });
                    value
                },
                |array, before, results| {
                    let mut operands = Vec::new();
                    gather(&array.operands, array.count, before, &mut operands, |i| {
                        T::constant(array.constants[i])
                    });
                    blocks.push(array.record(operands, results));
                },
                |partials| nodes.borrow_mut().push(Node { partials, parents: [0; 2] }),
            )
        })?
        .map_or(Ok(()), Err)?;
        for (node, parents) in nodes.into_inner().iter_mut().zip(&self.parents) {
            node.parents = *parents;
        }
        Ok(())
    }

    /// The values of the outputs in a replay.
    pub fn values<T: Base>(&self, replay: &Replay<T>, y: &mut [T]) {
        for (y, output) in y.iter_mut().zip(&self.outputs) {
            *y = operand(*output, &replay.values);
        }
    }

    /// The weights, one an output, times the Jacobian at the point of the replay.
    pub fn pullback<'r, T: Base>(&self, weights: &[T], replay: &'r mut Replay<T>) -> &'r [T] {
        let Replay { nodes, blocks, adjoints, scratch, .. } = replay;
        adjoints.clear();
        adjoints.resize(self.slots, T::zero());
        for (output, weight) in self.outputs.iter().zip(weights) {
            if let Operand::Slot(slot) = output {
                adjoints[*slot as usize] += *weight;
            }
        }
        sweep::reverse(nodes, blocks, self.inputs, self.slots, adjoints, scratch);
        &adjoints[..self.inputs]
    }
}

impl Array {
    /// The block of a replay.
    fn record<T: Base>(&self, x: Vec<T>, results: &mut [T]) -> Block<T> {
        let primitive = Erased(self.primitive.clone());
        let saved = primitive.value_and_save(&x, results);
        Block {
            after: self.after,
            first: self.first,
            results: self.results,
            operands: self.operands.clone(),
            count: self.count,
            rule: Box::new(Recorded { primitive, x, y: results.to_vec(), saved }),
            primitive: None,
        }
    }
}

fn operand<S: Elementary>(operand: Operand, values: &[S]) -> S {
    match operand {
        Operand::Slot(slot) => values[slot as usize],
        Operand::Constant(c) => S::constant(c),
    }
}

/// The state of running a program over numbers S.
struct Interpreter<'a, S: Elementary> {
    program: &'a Program,
    values: &'a mut Vec<S>,
    masks: &'a mut Vec<S::Mask>,
    constants: std::slice::Iter<'a, f64>,
    parameters: std::slice::Iter<'a, i32>,
}

impl<'a, S: Elementary> Interpreter<'a, S> {
    fn new(program: &'a Program, values: &'a mut Vec<S>, masks: &'a mut Vec<S::Mask>) -> Self {
        let listing = &program.listing;
        Interpreter {
            program,
            values,
            masks,
            constants: listing.constants.iter(),
            parameters: listing.parameters.iter(),
        }
    }

    fn constant(&mut self) -> S {
        S::constant(self.constants.next().copied().unwrap_or(f64::NAN))
    }

    fn fetch(&mut self, slot: u32, own: usize) -> S {
        if slot as usize == own { self.constant() } else { self.values[slot as usize] }
    }

    /// Runs all instructions; the fault of the first guard that fails, if one does.
    fn run(
        &mut self,
        mut apply: impl FnMut(Opcode, i32, [S; 3]) -> S,
        mut array: impl FnMut(&Array, &[S], &mut [S]),
        mut structural: impl FnMut([S; 2]),
    ) -> Option<Fault> {
        let program = self.program;
        let mut guards = program.listing.guards.iter().peekable();
        let mut blocks = program.blocks.iter().peekable();
        let mut joined = [S::zero(); 2];
        for (i, code) in program.listing.codes.iter().enumerate() {
            while let Some(block) = blocks.next_if(|b| b.after == i) {
                self.block(block, &mut array);
            }
            while let Some(guard) = guards.next_if(|g| g.after as usize == i) {
                if let Some(fault) = self.guard(guard) {
                    return Some(fault);
                }
            }
            let own = self.values.len();
            let [a, b] = program.parents[i];
            let value = match *code {
                Code::Operation(op) => {
                    let parameter = match op {
                        Opcode::Powi | Opcode::Polygamma | Opcode::SincDerivative => {
                            self.parameters.next().copied().unwrap_or(0)
                        }
                        _ => 0,
                    };
                    let operands = match op.arity() {
                        1 => [self.fetch(a, own), S::zero(), S::zero()],
                        2 => [self.fetch(a, own), self.fetch(b, own), S::zero()],
                        _ => [joined[0], joined[1], self.fetch(b, own)],
                    };
                    apply(op, parameter, operands)
                }
                Code::Join => {
                    joined = [self.fetch(a, own), self.fetch(b, own)];
                    structural([S::zero(); 2]);
                    S::zero()
                }
                Code::Select(mask) => {
                    let (x, y) = (self.fetch(a, own), self.fetch(b, own));
                    let mask = self.mask(mask);
                    structural([
                        S::select(mask, S::one(), S::zero()),
                        S::select(mask, S::zero(), S::one()),
                    ]);
                    S::select(mask, x, y)
                }
            };
            self.values.push(value);
        }
        for block in blocks {
            self.block(block, &mut array);
        }
        guards.find_map(|guard| self.guard(guard))
    }

    fn block(&mut self, block: &Array, array: &mut impl FnMut(&Array, &[S], &mut [S])) {
        self.values.resize(block.first + block.results, S::zero());
        let (before, results) = self.values.split_at_mut(block.first);
        array(block, before, results);
    }

    fn guard(&self, guard: &super::listing::Guard) -> Option<Fault> {
        let (a, b) = (operand(guard.lhs, self.values), operand(guard.rhs, self.values));
        (guard.comparison.holds(&a, &b) != guard.outcome)
            .then_some(Fault::GuardFailed { comparison: guard.comparison, at: guard.at })
    }

    /// The truth value with this number; those before it are computed on the way.
    fn mask(&mut self, id: u32) -> S::Mask {
        while self.masks.len() <= id as usize {
            let mask = match self.program.listing.masks[self.masks.len()] {
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

/// The value of an operation.
struct Value<S>([S; 3]);

impl<S: Elementary> Visitor for Value<S> {
    type Output = S;

    #[inline]
    fn unary<O: Unary>(self, op: O) -> S {
        op.value(self.0[0])
    }

    #[inline]
    fn binary<O: Binary>(self, op: O) -> S {
        op.value(self.0[0], self.0[1])
    }

    #[inline]
    fn ternary<O: Ternary>(self, op: O) -> S {
        op.value(self.0[0], self.0[1], self.0[2])
    }
}

/// The value of an operation, the partials of its node, and for a ternary operation those of the
/// node that joins its first two operands.
struct ValueAndPartials<T>([T; 3]);

impl<T: Elementary> Visitor for ValueAndPartials<T> {
    type Output = (T, [T; 2], Option<[T; 2]>);

    #[inline]
    fn unary<O: Unary>(self, op: O) -> Self::Output {
        let x = self.0[0];
        let y = op.value(x);
        (y, [op.d(x, y).value(), T::zero()], None)
    }

    #[inline]
    fn binary<O: Binary>(self, op: O) -> Self::Output {
        let (x, y) = (self.0[0], self.0[1]);
        let z = op.value(x, y);
        (z, [op.d1(x, y, z).value(), op.d2(x, y, z).value()], None)
    }

    fn ternary<O: Ternary>(self, op: O) -> Self::Output {
        let [x, y, z] = self.0;
        let w = op.value(x, y, z);
        let [d, e, f] = op.d(x, y, z, w).map(Partial::value);
        (w, [T::one(), f], Some([d, e]))
    }
}
