//! Sweeps over a recording: back for cotangents, forth for tangents.

use cotangent_ops::Elementary;

use super::block::Block;
use super::record::{Node, Tape};
use super::var::Var;
use crate::Base;
use crate::fault::Fault;
use crate::lanes::product;

impl<T: Base> Tape<T> {
    /// The gradient of one variable to the inputs.
    ///
    /// # Errors
    /// [`Fault::MixedTraces`] if the variable is not of the last recording.
    pub fn gradient(&mut self, y: Var<T>) -> Result<&[T], Fault> {
        self.pullback(&[(y, T::one())])
    }

    /// The gradient of the weighted sum of variables to the inputs: one row of weights times the
    /// Jacobian.
    ///
    /// # Errors
    /// [`Fault::MixedTraces`] if a variable is not of the last recording.
    #[track_caller]
    pub fn pullback(&mut self, weights: &[(Var<T>, T)]) -> Result<&[T], Fault> {
        self.adjoints.clear();
        self.adjoints.resize(self.slots(), T::zero());
        let mut end = 0;
        for (y, weight) in weights {
            if let Some(slot) = self.slot_of(*y)? {
                self.adjoints[slot] += *weight;
                end = end.max(slot + 1);
            }
        }
        reverse(&self.nodes, &self.blocks, self.inputs, end, &mut self.adjoints, &mut self.scratch);
        Ok(&self.adjoints[..self.inputs])
    }

    /// The cotangents of all values after the last [`pullback`](Tape::pullback), by slot.
    pub fn cotangents(&self) -> &[T] {
        &self.adjoints
    }

    /// The derivatives of variables along a direction of the inputs: the Jacobian times a column.
    ///
    /// # Errors
    /// [`Fault::MixedTraces`] if a variable is not of the last recording, [`Fault::Length`] if the
    /// direction does not fit the inputs.
    #[track_caller]
    pub fn pushforward(
        &mut self,
        direction: &[T],
        outputs: &[Var<T>],
        image: &mut [T],
    ) -> Result<(), Fault> {
        if direction.len() != self.inputs {
            return Err(Fault::Length {
                name: "pushforward".to_string(),
                what: "the direction",
                expected: self.inputs,
                found: direction.len(),
            });
        }
        self.adjoints.clear();
        self.adjoints.extend_from_slice(direction);
        self.adjoints.resize(self.slots(), T::zero());
        forward(&self.nodes, &self.blocks, self.inputs, &mut self.adjoints, &mut self.scratch);
        for (y, image) in outputs.iter().zip(image) {
            *image = self.slot_of(*y)?.map_or_else(T::zero, |slot| self.adjoints[slot]);
        }
        Ok(())
    }
}

/// Carries the cotangents of the slots below `end` back to the inputs.
pub(super) fn reverse<T: Elementary>(
    nodes: &[Node<T>],
    blocks: &[Block<T>],
    inputs: usize,
    end: usize,
    adjoints: &mut [T],
    scratch: &mut Vec<T>,
) {
    let mut last = nodes.len();
    for (i, block) in blocks.iter().enumerate().rev() {
        let offset = block.first + block.results - block.after;
        let stop = end.saturating_sub(offset).min(last);
        if stop > block.after {
            reverse_nodes(&nodes[block.after..stop], block.after + offset, adjoints);
        }
        if block.first < end {
            block.reverse(adjoints, scratch);
        }
        last = blocks[i].after;
    }
    let stop = end.saturating_sub(inputs).min(last);
    reverse_nodes(&nodes[..stop], inputs, adjoints);
}

/// Sweeps a run of scalar nodes whose slots follow one another from `first`.
#[inline]
fn reverse_nodes<T: Elementary>(nodes: &[Node<T>], first: usize, adjoints: &mut [T]) {
    let adjoints = &mut adjoints[..first + nodes.len()];
    for (i, node) in nodes.iter().enumerate().rev() {
        let own = first + i;
        // SAFETY: own < first + nodes.len(), the length of `adjoints`; parents are slots that were
        // given out before the node, hence below its own, or its own.
        unsafe {
            let weight = *adjoints.get_unchecked(own);
            // A zero on either side of a product wins over ∞; and most of a row is zero.
            if weight.vanishes() {
                continue;
            }
            let [a, b] = node.parents;
            debug_assert!(a as usize <= own && b as usize <= own);
            if a as usize != own {
                *adjoints.get_unchecked_mut(a as usize) += product(weight, node.partials[0]);
            }
            if b as usize != own {
                *adjoints.get_unchecked_mut(b as usize) += product(weight, node.partials[1]);
            }
        }
    }
}

/// Carries the tangents of the inputs to all slots.
fn forward<T: Elementary>(
    nodes: &[Node<T>],
    blocks: &[Block<T>],
    inputs: usize,
    tangents: &mut [T],
    scratch: &mut Vec<T>,
) {
    let (mut start, mut offset) = (0, inputs);
    for block in blocks {
        forward_nodes(&nodes[start..block.after], start + offset, tangents);
        block.forward(tangents, scratch);
        start = block.after;
        offset = block.first + block.results - block.after;
    }
    forward_nodes(&nodes[start..], start + offset, tangents);
}

fn forward_nodes<T: Elementary>(nodes: &[Node<T>], first: usize, tangents: &mut [T]) {
    for (i, node) in nodes.iter().enumerate() {
        let own = first + i;
        let mut tangent = T::zero();
        for (parent, partial) in node.parents.iter().zip(node.partials) {
            if *parent as usize != own {
                tangent += product(tangents[*parent as usize], partial);
            }
        }
        tangents[own] = tangent;
    }
}
