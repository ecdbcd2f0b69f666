//! What a recording keeps beyond its nodes when it is to become a program.

use std::panic::Location;

use cotangent_ops::{Comparison, Opcode};

/// What a node computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Code {
    /// An operation of the table.
    Operation(Opcode),
    /// The first two operands of a ternary operation, which the next node completes.
    Join,
    /// One of two operands, by a mask.
    Select(u32),
}

/// An operand of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operand {
    Slot(u32),
    Constant(f64),
}

/// A truth value of the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MaskNode {
    Compare(Comparison, Operand, Operand),
    And(u32, u32),
    Or(u32, u32),
    Not(u32),
    Known(bool),
}

/// What a branch was decided by.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    /// A comparison came out so.
    Compare(Comparison, Operand, Operand, bool),
    /// The value was this one, to the bit: the code has it, and may have done anything with it.
    Same(Operand, f64),
}

/// A condition under which the recording is right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    pub(super) condition: Condition,
    pub(super) at: &'static Location<'static>,
    /// How many nodes and how many array operations come before it.
    pub(super) after: u32,
    pub(super) blocks: usize,
}

/// The operations of a recording: one code a node, and the constants, parameters and truth values
/// that they use, in the order of use.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    pub(super) codes: Vec<Code>,
    /// Where in the user's code each stands.
    pub(super) places: Vec<&'static Location<'static>>,
    pub(super) constants: Vec<f64>,
    pub(super) parameters: Vec<i32>,
    pub(super) masks: Vec<MaskNode>,
    pub(super) guards: Vec<Guard>,
}

impl Listing {
    pub(super) fn code(&mut self, code: Code, at: &'static Location<'static>) {
        self.codes.push(code);
        self.places.push(at);
    }

    pub(super) fn guard(
        &mut self,
        condition: Condition,
        blocks: usize,
        at: &'static Location<'static>,
    ) {
        let after = self.codes.len() as u32;
        self.guards.push(Guard { condition, at, after, blocks });
    }

    pub(super) fn mask(&mut self, node: MaskNode) -> u32 {
        self.masks.push(node);
        (self.masks.len() - 1) as u32
    }
}
