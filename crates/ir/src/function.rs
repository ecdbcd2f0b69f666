//! The function: a list of pure operations in an arena, each in 16 bytes.

use std::fmt;
use std::hash::{Hash, Hasher};

use cotangent_ops::{Comparison, Opcode};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Type {
    /// A double.
    F64,
    /// A single.
    F32,
    /// A truth value.
    Bool,
}

impl Type {
    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Type::F64 => "f64",
            Type::F32 => "f32",
            Type::Bool => "bool",
        }
    }

    /// Whether it has derivatives.
    pub fn is_float(self) -> bool {
        matches!(self, Type::F64 | Type::F32)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value of a function: the place of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub(crate) u32);

impl Value {
    /// The number of the value.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an operation does; its operands stand beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A parameter of the function.
    Param(u32),
    /// A number, by its bits.
    Constant(u64),
    /// A number of which these are the rounded bits, such as π: bounds enclose the exact one.
    Rounded(u64),
    /// A truth value.
    Truth(bool),
    /// An operation of the table, with its integer parameter (0 where it takes none).
    Elementary(Opcode, i32),
    /// A comparison of two numbers.
    Compare(Comparison),
    /// Both.
    And,
    /// One of the two, or both.
    Or,
    /// The opposite.
    Not,
    /// The second operand where the first holds, else the third.
    Select,
}

impl Op {
    /// Whether it is a number that is known.
    pub fn is_number(self) -> bool {
        matches!(self, Op::Constant(_) | Op::Rounded(_))
    }

    /// How many operands it takes.
    pub fn arity(self) -> usize {
        match self {
            Op::Param(_) | Op::Constant(_) | Op::Rounded(_) | Op::Truth(_) => 0,
            Op::Elementary(code, _) => code.info().arity,
            Op::Not => 1,
            Op::Compare(_) | Op::And | Op::Or => 2,
            Op::Select => 3,
        }
    }

    /// The name in text, of an operation that has operands.
    pub fn name(self) -> &'static str {
        match self {
            Op::Param(_) => "param",
            Op::Constant(_) | Op::Rounded(_) | Op::Truth(_) => "constant",
            Op::Elementary(code, _) => code.info().name,
            Op::Compare(comparison) => comparison_name(comparison),
            Op::And => "and",
            Op::Or => "or",
            Op::Not => "not",
            Op::Select => "select",
        }
    }

    /// The operation with this name; the integer parameter is 0.
    pub fn by_name(name: &str) -> Option<Op> {
        let comparisons = COMPARISONS.into_iter().map(Op::Compare);
        let table = Opcode::ALL.iter().map(|code| Op::Elementary(*code, 0));
        comparisons
            .chain([Op::And, Op::Or, Op::Not, Op::Select])
            .chain(table)
            .find(|op| op.name() == name)
    }
}

pub(crate) const COMPARISONS: [Comparison; 6] = [
    Comparison::Less,
    Comparison::AtMost,
    Comparison::Greater,
    Comparison::AtLeast,
    Comparison::Equal,
    Comparison::Differ,
];

fn comparison_name(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Less => "lt",
        Comparison::AtMost => "le",
        Comparison::Greater => "gt",
        Comparison::AtLeast => "ge",
        Comparison::Equal => "eq",
        Comparison::Differ => "ne",
    }
}

/// Whether an operation takes an integer parameter, written `powi{3}`.
pub fn takes_parameter(code: Opcode) -> bool {
    matches!(code, Opcode::Powi | Opcode::Polygamma | Opcode::SincDerivative)
}

/// An operation in the arena. A constant has its bits in the place of operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    code: u8,
    detail: u8,
    ty: Type,
    args: [u32; 3],
}

/// Marks the end of the operands.
const NONE: u32 = u32::MAX;

impl Node {
    pub(crate) fn new(op: Op, ty: Type, operands: &[Value]) -> Node {
        let mut args = [NONE; 3];
        for (arg, value) in args.iter_mut().zip(operands) {
            *arg = value.0;
        }
        let (code, detail) = match op {
            Op::Param(index) => {
                args[0] = index;
                (0, 0)
            }
            Op::Constant(bits) | Op::Rounded(bits) => {
                (args[0], args[1]) = (bits as u32, (bits >> 32) as u32);
                (1, u8::from(matches!(op, Op::Rounded(_))))
            }
            Op::Truth(truth) => (2, u8::from(truth)),
            Op::Elementary(opcode, parameter) => {
                // Only operations of one operand take a parameter.
                if takes_parameter(opcode) {
                    args[1] = parameter.cast_unsigned();
                }
                (3, opcode as u8)
            }
            Op::Compare(comparison) => (4, comparison as u8),
            Op::And => (5, 0),
            Op::Or => (6, 0),
            Op::Not => (7, 0),
            Op::Select => (8, 0),
        };
        Node { code, detail, ty, args }
    }

    pub(crate) fn op(&self) -> Op {
        match self.code {
            0 => Op::Param(self.args[0]),
            1 => {
                let bits = u64::from(self.args[0]) | (u64::from(self.args[1]) << 32);
                if self.detail == 0 { Op::Constant(bits) } else { Op::Rounded(bits) }
            }
            2 => Op::Truth(self.detail == 1),
            3 => {
                let opcode = Opcode::ALL[self.detail as usize];
                let parameter =
                    if takes_parameter(opcode) { self.args[1].cast_signed() } else { 0 };
                Op::Elementary(opcode, parameter)
            }
            4 => Op::Compare(COMPARISONS[self.detail as usize]),
            5 => Op::And,
            6 => Op::Or,
            7 => Op::Not,
            _ => Op::Select,
        }
    }

    pub(crate) fn ty(&self) -> Type {
        self.ty
    }

    pub(crate) fn operands(&self) -> impl ExactSizeIterator<Item = Value> + '_ {
        self.args[..self.op().arity()].iter().map(|arg| Value(*arg))
    }
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// Its name, without the sign before it.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether the results depend on it linearly: it is a tangent or a cotangent.
    pub linear: bool,
}

/// A truth value that a recording took for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The condition.
    pub condition: Value,
    /// How it came out.
    pub expected: bool,
}

/// A function of numbers: parameters, operations, results.
///
/// Operations are pure and stand in an order in which operands come first. Equal operations are one
/// (see [`Builder`](crate::Builder)). It prints as text that parses back.
#[derive(Clone, PartialEq, Eq)]
pub struct Function {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) results: Vec<Value>,
}

impl Function {
    /// The name, without the sign before it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The function under another name.
    #[must_use]
    pub fn renamed(mut self, name: impl Into<String>) -> Function {
        self.name = name.into();
        self
    }

    /// The parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The results.
    pub fn results(&self) -> &[Value] {
        &self.results
    }

    /// The conditions under which it stands for what was recorded.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// The number of values: parameters, constants and operations.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no value at all.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All values, operands before what uses them.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + use<> {
        (0..self.nodes.len() as u32).map(Value)
    }

    /// What a value is computed by.
    ///
    /// # Panics
    /// If it is a value of a longer function.
    pub fn op(&self, value: Value) -> Op {
        self.nodes[value.index()].op()
    }

    /// The type of a value.
    ///
    /// # Panics
    /// If it is a value of a longer function.
    pub fn ty(&self, value: Value) -> Type {
        self.nodes[value.index()].ty()
    }

    /// The operands of a value.
    ///
    /// # Panics
    /// If it is a value of a longer function.
    pub fn operands(&self, value: Value) -> impl ExactSizeIterator<Item = Value> + '_ {
        self.nodes[value.index()].operands()
    }

    /// The operations, without parameters and constants.
    pub fn operations(&self) -> usize {
        self.nodes.iter().filter(|node| node.op().arity() > 0).count()
    }

    /// A hash of what the function does: equal for functions whose text is equal, names aside.
    pub fn structural_hash(&self) -> u64 {
        let mut hasher = rustc_hash::FxHasher::default();
        for param in &self.params {
            (param.ty, param.linear).hash(&mut hasher);
        }
        // Operations by their number in the text: where constants stand in the arena is no part of it.
        let mut numbers = vec![0u32; self.nodes.len()];
        let operations = self.values().filter(|v| self.op(*v).arity() > 0);
        for (value, number) in operations.zip(0u32..) {
            (self.op(value), self.ty(value)).hash(&mut hasher);
            self.operands(value).for_each(|v| self.hash_use(v, &numbers, &mut hasher));
            numbers[value.index()] = number;
        }
        for guard in &self.guards {
            guard.expected.hash(&mut hasher);
            self.hash_use(guard.condition, &numbers, &mut hasher);
        }
        self.results.iter().for_each(|v| self.hash_use(*v, &numbers, &mut hasher));
        hasher.finish()
    }

    fn hash_use(&self, value: Value, numbers: &[u32], hasher: &mut impl Hasher) {
        match self.op(value) {
            op if op.arity() == 0 => (op, self.ty(value)).hash(hasher),
            _ => numbers[value.index()].hash(hasher),
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const _: () = assert!(size_of::<Node>() == 16);
