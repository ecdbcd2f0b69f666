//! The tape while it is being filled.

use super::block::Block;
use std::panic::Location;

use super::listing::Listing;
use super::var::Var;
use crate::Base;
use crate::fault::{Fault, catch, raise};
use crate::place::here;
use crate::trace::{self, Arena, Header, NO_STAMP};

/// The most values that one recording can number; the last number is not used.
pub(super) const LIMIT: u64 = u32::MAX as u64;

/// An operation as the reverse sweep sees it: two operands and the partials to them.
///
/// An operand that is a constant, or absent, is the node itself, with partial zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<T> {
    pub(super) partials: [T; 2],
    pub(super) parents: [u32; 2],
}

/// A recording of a function, to be swept for derivatives.
///
/// Every value has a slot: the inputs first, then one for each operation (an array operation has one
/// node and as many slots as results).
///
/// ```
/// use cotangent_numbers::Tape;
///
/// let mut tape = Tape::new();
/// let y = tape.record(&[1.0, 1.0], |x| x[0].sin() * x[1].cos()).unwrap();
/// let gradient = tape.gradient(y).unwrap();
/// assert_eq!(gradient, [1.0_f64.cos() * 1.0_f64.cos(), -(1.0_f64.sin() * 1.0_f64.sin())]);
/// ```
#[repr(C)]
pub struct Tape<T: Base = f64> {
    header: Header,
    /// Slot of the next node minus its index.
    pub(super) offset: u32,
    pub(super) nodes: Vec<Node<T>>,
    pub(super) blocks: Vec<Block<T>>,
    /// The operations themselves, where the recording is to become a program.
    pub(super) listing: Option<Box<Listing>>,
    pub(super) inputs: usize,
    pub(super) adjoints: Vec<T>,
    pub(super) scratch: Vec<T>,
    variables: Vec<Var<T>>,
    /// The stamp of the last recording.
    stamp: u32,
}

// SAFETY: `repr(C)` with the header first.
unsafe impl<T: Base> Arena for Tape<T> {}

impl<T: Base> Default for Tape<T> {
    fn default() -> Self {
        Tape::new()
    }
}

impl<T: Base> Tape<T> {
    /// An empty tape.
    pub fn new() -> Self {
        Tape {
            header: Header::default(),
            offset: 0,
            nodes: Vec::new(),
            blocks: Vec::new(),
            listing: None,
            inputs: 0,
            adjoints: Vec::new(),
            scratch: Vec::new(),
            variables: Vec::new(),
            stamp: NO_STAMP,
        }
    }

    /// Records `f` at the point `x`, in place of what the tape held.
    ///
    /// # Errors
    /// The fault that a variable raised in `f`: mixing of recordings, too many operations, a rule
    /// that failed.
    pub fn record<R>(&mut self, x: &[T], f: impl FnOnce(&[Var<T>]) -> R) -> Result<R, Fault> {
        self.listing = None;
        self.run(x, f)
    }

    pub(super) fn run<R>(&mut self, x: &[T], f: impl FnOnce(&[Var<T>]) -> R) -> Result<R, Fault> {
        self.nodes.clear();
        self.blocks.clear();
        self.inputs = x.len();
        self.offset = u32::try_from(x.len())
            .ok()
            .filter(|n| u64::from(*n) < LIMIT)
            .ok_or(Fault::TraceTooLong { limit: LIMIT })?;
        let mut variables = std::mem::take(&mut self.variables);
        // Should `f` not return, what the tape holds belongs to no variable.
        self.stamp = NO_STAMP;
        let mut last = NO_STAMP;
        let result = trace::activate(self, |stamp| {
            last = stamp;
            variables.clear();
            variables.extend(x.iter().zip(0..).map(|(&value, slot)| Var { value, slot, stamp }));
            catch(|| f(&variables))
        });
        self.variables = variables;
        // A variable that has outlived 2³² recordings may have borne this one's stamp.
        if trace::may_repeat() && !parents_come_before(&self.nodes, &self.blocks, self.inputs) {
            self.nodes.clear();
            self.blocks.clear();
            return Err(Fault::MixedTraces { at: here(Location::caller()) });
        }
        self.stamp = last;
        result
    }

    /// The number of inputs of the recording.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of nodes: scalar operations and array operations.
    pub fn nodes(&self) -> usize {
        self.nodes.len() + self.blocks.len()
    }

    /// The number of values: inputs and results of all operations.
    pub fn slots(&self) -> usize {
        self.nodes.len() + self.offset as usize
    }

    /// Appends a node and gives its slot.
    #[inline(always)]
    pub(super) fn push(&mut self, node: impl FnOnce(u32) -> Node<T>) -> u32 {
        if self.nodes.len() == self.nodes.capacity() {
            self.grow();
        }
        let index = self.nodes.len();
        // The sum does not overflow: `grow` keeps capacity + offset within the limit.
        let slot = index as u32 + self.offset;
        let node = node(slot);
        // SAFETY: index < capacity after `grow`, and the entry is written before it is counted.
        unsafe {
            self.nodes.as_mut_ptr().add(index).write(node);
            self.nodes.set_len(index + 1);
        }
        slot
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let most = (LIMIT - u64::from(self.offset)) as usize;
        let capacity = (2 * self.nodes.capacity()).max(64).min(most);
        if capacity <= self.nodes.len() {
            raise(Fault::TraceTooLong { limit: LIMIT });
        }
        self.nodes.reserve_exact(capacity - self.nodes.len());
        if self.nodes.capacity() > most {
            raise(Fault::TraceTooLong { limit: LIMIT });
        }
    }

    /// Reserves slots for the results of an array operation.
    pub(super) fn reserve_slots(&mut self, count: usize) -> u32 {
        let first = self.slots() as u64;
        // Room for the nodes that fit the present capacity must remain, see `push`.
        let end = self.nodes.capacity() as u64 + u64::from(self.offset) + count as u64;
        if end >= LIMIT {
            raise(Fault::TraceTooLong { limit: LIMIT });
        }
        self.offset += count as u32;
        first as u32
    }

    /// The slot of a variable of this recording; `None` for a constant.
    pub(super) fn slot_of(&self, y: Var<T>) -> Result<Option<usize>, Fault> {
        if y.stamp == NO_STAMP {
            Ok(None)
        } else if y.stamp == self.stamp {
            Ok(Some(y.slot as usize))
        } else {
            Err(Fault::MixedTraces { at: here(Location::caller()) })
        }
    }
}

impl<T: Base> std::fmt::Debug for Tape<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tape")
            .field("inputs", &self.inputs)
            .field("nodes", &self.nodes())
            .field("slots", &self.slots())
            .finish_non_exhaustive()
    }
}

/// Whether no node has a parent beyond itself: sweeps rely on it for their safety.
fn parents_come_before<T>(nodes: &[Node<T>], blocks: &[Block<T>], inputs: usize) -> bool {
    let mut blocks = blocks.iter().peekable();
    let mut offset = inputs;
    nodes.iter().enumerate().all(|(i, node)| {
        while let Some(block) = blocks.next_if(|b| b.after <= i) {
            offset += block.results;
        }
        node.parents.iter().all(|p| *p as usize <= i + offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_beyond_its_node_is_noticed() {
        let node = |a, b| Node { partials: [1.0, 1.0], parents: [a, b] };
        assert!(parents_come_before(&[node(0, 1), node(2, 3)], &[], 2));
        assert!(!parents_come_before(&[node(0, 1), node(2, 4)], &[], 2));
    }
}
