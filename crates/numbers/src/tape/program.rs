//! The static use of the tape: record once, replay with new inputs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cotangent_ops::{Elementary, Primitive, Scalar};

use super::block::{AnyPrimitive, Block, Erased, Recorded, Slots, gather};
use super::interpret::{Instructions, Keep, operand};
use super::listing::{Code, Operand};
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
/// assert_eq!(program.pullback(&[1.0], &mut replay).unwrap(), [6.0, 5.0]);
///
/// // The branch would go the other way here.
/// assert!(program.evaluate(&[2.0, 1.0], &mut y).unwrap_err().to_string().contains("came out otherwise"));
/// ```
#[derive(Clone)]
pub struct Program {
    /// Clones share it: they are the same program.
    id: u64,
    inputs: usize,
    slots: usize,
    instructions: Instructions,
    parents: Vec<[u32; 2]>,
    blocks: Vec<Array>,
    outputs: Vec<Operand>,
}

impl std::fmt::Debug for Program {
    /// Its size: the operations are too many to list.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("inputs", &self.inputs())
            .field("outputs", &self.outputs())
            .field("operations", &self.operations())
            .field("guards", &self.guards())
            .finish_non_exhaustive()
    }
}

/// An array operation of a program.
#[derive(Clone)]
pub(super) struct Array {
    pub(super) after: usize,
    pub(super) first: usize,
    pub(super) results: usize,
    operands: Slots,
    count: usize,
    constants: Vec<f64>,
    primitive: Arc<dyn AnyPrimitive>,
}

/// The values and partials of a program at one point, and room for sweeps.
pub struct Replay<T: Base = f64> {
    /// The program whose run it holds, if it came to its end.
    of: Option<u64>,
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
            of: None,
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
        let blocks: Vec<Array> = tape
            .blocks
            .drain(..)
            .filter_map(|block| {
                let (primitive, constants) = block.primitive?;
                let Block { after, first, results, operands, count, .. } = block;
                Some(Array { after, first, results, operands, count, constants, primitive })
            })
            .collect();
        let listing = tape.listing.take().map(|l| *l).unwrap_or_default();
        let parents: Vec<[u32; 2]> = tape.nodes.iter().map(|n| n.parents).collect();
        let instructions = Instructions::new(listing, x.len(), slots, &parents, &blocks)?;
        Ok(Program {
            id: fresh_id(),
            inputs: x.len(),
            slots,
            instructions,
            parents,
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
        self.instructions.guards()
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Marks the slots of the outputs.
    pub(super) fn mark_outputs(&self, reached: &mut [bool]) {
        for output in &self.outputs {
            if let Operand::Slot(slot) = output {
                reached[*slot as usize] = true;
            }
        }
    }

    pub(super) fn codes(&self) -> &[Code] {
        self.instructions.codes()
    }

    pub(super) fn operands(&self, node: usize) -> [u32; 2] {
        self.instructions.operands(node)
    }

    /// The name of an array operation, if there is one.
    pub(super) fn first_array(&self) -> Option<String> {
        let name = |block: &Array| Primitive::name(&Erased(block.primitive.clone())).to_string();
        self.blocks.first().map(name)
    }

    /// Computes all values at a point.
    pub(super) fn run_values(
        &self,
        x: &[f64],
        values: &mut Vec<f64>,
        masks: &mut Vec<bool>,
    ) -> Option<Fault> {
        let mut keep = ValuesOnly { operands: Vec::new() };
        self.instructions.run(x, &self.blocks, values, masks, &mut keep)
    }

    /// Adds the weights of the outputs to their cotangents.
    pub(super) fn weigh<T: Elementary>(&self, weights: &[T], adjoints: &mut [T]) {
        for (output, weight) in self.outputs.iter().zip(weights) {
            if let Operand::Slot(slot) = output {
                adjoints[*slot as usize] += *weight;
            }
        }
    }

    pub(super) fn check(
        &self,
        what: &'static str,
        expected: usize,
        found: usize,
    ) -> Result<(), Fault> {
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
        let (mut values, mut masks) = (Vec::new(), Vec::new());
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
            let mut keep = ValuesOnly { operands: Vec::new() };
            let failed = self.instructions.run(x, &self.blocks, values, masks, &mut keep);
            if failed.is_none() {
                self.store(values, y);
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
        let Replay { of, values, nodes, blocks, masks, .. } = replay;
        *of = None;
        nodes.resize(self.parents.len(), Node { partials: [T::zero(); 2], parents: [0; 2] });
        blocks.clear();
        catch(|| {
            let mut keep = Partials { nodes, parents: &self.parents, blocks };
            self.instructions.run(x, &self.blocks, values, masks, &mut keep)
        })?
        .map_or(Ok(()), Err)?;
        *of = Some(self.id);
        Ok(())
    }

    /// Whether a replay holds a run of this program.
    fn check_replay<T: Base>(&self, replay: &Replay<T>) -> Result<(), Fault> {
        if replay.of == Some(self.id) { Ok(()) } else { Err(Fault::NoReplay) }
    }

    pub(super) fn store<S: Elementary>(&self, values: &[S], y: &mut [S]) {
        for (y, output) in y.iter_mut().zip(&self.outputs) {
            *y = operand(*output, values);
        }
    }

    /// The values of the outputs in a replay.
    ///
    /// # Errors
    /// [`Fault::NoReplay`] if the replay holds no run of this program, [`Fault::Length`].
    pub fn values<T: Base>(&self, replay: &Replay<T>, y: &mut [T]) -> Result<(), Fault> {
        self.check_replay(replay)?;
        self.check("the result", self.outputs.len(), y.len())?;
        self.store(&replay.values, y);
        Ok(())
    }

    /// The weights, one an output, times the Jacobian at the point of the replay.
    ///
    /// # Errors
    /// As [`values`](Program::values).
    pub fn pullback<'r, T: Base>(
        &self,
        weights: &[T],
        replay: &'r mut Replay<T>,
    ) -> Result<&'r [T], Fault> {
        self.check_replay(replay)?;
        self.check("the weights", self.outputs.len(), weights.len())?;
        let Replay { nodes, blocks, adjoints, scratch, .. } = replay;
        adjoints.clear();
        adjoints.resize(self.slots, T::zero());
        self.weigh(weights, adjoints);
        sweep::reverse(nodes, blocks, self.inputs, self.slots, adjoints, scratch);
        Ok(&adjoints[..self.inputs])
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

fn fresh_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Array {
    fn gather<S: Elementary>(&self, before: &[S], operands: &mut Vec<S>) {
        gather(&self.operands, self.count, before, operands, |i| S::constant(self.constants[i]));
    }
}

/// An evaluation: nothing is kept but the values.
struct ValuesOnly<S> {
    operands: Vec<S>,
}

impl<S: Elementary> Keep<S> for ValuesOnly<S> {
    const PARTIALS: bool = false;

    fn partials(&mut self, _: usize, _: [S; 2]) {}

    fn array(&mut self, array: &Array, before: &[S], results: &mut [S]) {
        array.gather(before, &mut self.operands);
        S::array(&Erased(array.primitive.clone()), &self.operands, results);
    }
}

/// A replay: the partials are kept for sweeps.
struct Partials<'r, T: Base> {
    nodes: &'r mut [Node<T>],
    parents: &'r [[u32; 2]],
    blocks: &'r mut Vec<Block<T>>,
}

impl<T: Base> Keep<T> for Partials<'_, T> {
    const PARTIALS: bool = true;

    #[inline(always)]
    fn partials(&mut self, node: usize, partials: [T; 2]) {
        self.nodes[node] = Node { partials, parents: self.parents[node] };
    }

    fn array(&mut self, array: &Array, before: &[T], results: &mut [T]) {
        let mut operands = Vec::new();
        array.gather(before, &mut operands);
        self.blocks.push(array.record(operands, results));
    }
}
