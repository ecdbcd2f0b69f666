//! Operations, and how they stand in the arena: each in 16 bytes.
//!
//! Up to three operands stand in the operation itself, more in a pool beside the arena.

use cotangent_ops::{Comparison, Opcode};

use crate::function::Value;
use crate::types::{Element, Type};

/// Arithmetic of integers. It wraps around; what is divided by zero is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Integral {
    /// x + y
    Add,
    /// x − y
    Sub,
    /// x · y
    Mul,
    /// The quotient, rounded down.
    Div,
    /// What is left of it: never negative for a positive divisor.
    Rem,
    /// The smaller.
    Min,
    /// The larger.
    Max,
}

pub(crate) const INTEGRALS: [Integral; 7] = [
    Integral::Add,
    Integral::Sub,
    Integral::Mul,
    Integral::Div,
    Integral::Rem,
    Integral::Min,
    Integral::Max,
];

impl Integral {
    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Integral::Add => "iadd",
            Integral::Sub => "isub",
            Integral::Mul => "imul",
            Integral::Div => "idiv",
            Integral::Rem => "irem",
            Integral::Min => "imin",
            Integral::Max => "imax",
        }
    }

    /// The result, for integers of an element.
    pub fn apply(self, x: i64, y: i64, element: Element) -> i64 {
        let result = match self {
            Integral::Add => x.wrapping_add(y),
            Integral::Sub => x.wrapping_sub(y),
            Integral::Mul => x.wrapping_mul(y),
            Integral::Div | Integral::Rem if y == 0 => 0,
            // Rounded down, so that the remainder of an index stays an index.
            Integral::Div => {
                let (q, r) = (x.wrapping_div(y), x.wrapping_rem(y));
                if r != 0 && (r < 0) != (y < 0) { q.wrapping_sub(1) } else { q }
            }
            Integral::Rem => {
                let r = x.wrapping_rem(y);
                if r != 0 && (r < 0) != (y < 0) { r.wrapping_add(y) } else { r }
            }
            Integral::Min => x.min(y),
            Integral::Max => x.max(y),
        };
        if element == Element::I32 { i64::from(result as i32) } else { result }
    }
}

/// What an operation does; its operands stand beside it.
///
/// Operations of the table, comparisons, truth values, integers, `select` and `cast` work element by
/// element: on scalars, on arrays of equal dimensions, and on both together.
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
    /// An integer.
    Integer(i64),
    /// An array that is known: its number among those of the function.
    Table(u32),
    /// An operation of the table, with its integer parameter (0 where it takes none).
    Elementary(Opcode, i32),
    /// A comparison of two numbers or integers.
    Compare(Comparison),
    /// Both.
    And,
    /// One of the two, or both.
    Or,
    /// The opposite.
    Not,
    /// The second operand where the first holds, else the third.
    Select,
    /// Integers.
    Integral(Integral),
    /// The same number in another type; towards zero, if it is an integer.
    Cast,
    /// An array of one value everywhere.
    Fill,
    /// A dimension of an array.
    Extent(u32),
    /// An element of an array, or with fewer indices than dimensions the array of those that begin with
    /// them.
    Load,
    /// The array with another element (or elements) at a place: array, value, indices.
    Put,
    /// The array with something added at a place: array, value, indices.
    PutAdd,
    /// The order of the elements of a list, the smallest first, equal ones as they stand.
    Argsort,
    /// What a derivative does not go through.
    Stop,
    /// The value itself; in a loop it is kept for the way back, whatever it takes.
    Keep,
    /// The value itself; in a loop it is computed again on the way back and never kept.
    Recompute,
    /// An operation with a body: its number among those of the function.
    Structure(u32),
    /// A part of what an operation with a body gives.
    Part(u32),
}

impl Op {
    /// Whether it is a number that is known.
    pub fn is_number(self) -> bool {
        matches!(self, Op::Constant(_) | Op::Rounded(_))
    }

    /// Whether it is no operation: a parameter or a constant.
    pub fn is_leaf(self) -> bool {
        matches!(
            self,
            Op::Param(_) | Op::Constant(_) | Op::Rounded(_) | Op::Truth(_) | Op::Integer(_)
        )
    }

    /// Whether it is a constant.
    pub fn is_constant(self) -> bool {
        self.is_leaf() && !matches!(self, Op::Param(_))
    }

    /// How many operands it takes, if that is always the same.
    pub fn arity(self) -> Option<usize> {
        match self {
            op if op.is_leaf() => Some(0),
            Op::Table(_) => Some(0),
            Op::Elementary(code, _) => Some(code.info().arity),
            Op::Not
            | Op::Cast
            | Op::Fill
            | Op::Extent(_)
            | Op::Argsort
            | Op::Stop
            | Op::Keep
            | Op::Recompute
            | Op::Part(_) => Some(1),
            Op::Compare(_) | Op::And | Op::Or | Op::Integral(_) => Some(2),
            Op::Select => Some(3),
            _ => None,
        }
    }

    /// The name in text, of an operation that has operands.
    pub fn name(self) -> &'static str {
        match self {
            Op::Param(_) => "param",
            Op::Constant(_) | Op::Rounded(_) | Op::Truth(_) | Op::Integer(_) => "constant",
            Op::Table(_) => "table",
            Op::Elementary(code, _) => code.info().name,
            Op::Compare(comparison) => comparison_name(comparison),
            Op::And => "and",
            Op::Or => "or",
            Op::Not => "not",
            Op::Select => "select",
            Op::Integral(integral) => integral.name(),
            Op::Cast => "cast",
            Op::Fill => "fill",
            Op::Extent(_) => "extent",
            Op::Load => "ld",
            Op::Put => "put",
            Op::PutAdd => "put_add",
            Op::Argsort => "argsort",
            Op::Stop => "stop",
            Op::Keep => "keep",
            Op::Recompute => "recompute",
            Op::Structure(_) => "structure",
            Op::Part(_) => "part",
        }
    }

    /// The operation with this name, of those without bodies; an integer parameter is 0.
    pub fn by_name(name: &str) -> Option<Op> {
        let comparisons = COMPARISONS.into_iter().map(Op::Compare);
        let table = Opcode::ALL.iter().map(|code| Op::Elementary(*code, 0));
        comparisons
            .chain(INTEGRALS.into_iter().map(Op::Integral))
            .chain(OTHERS)
            .chain(table)
            .find(|op| op.name() == name)
    }

    /// The names of all operations without bodies.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let comparisons = COMPARISONS.into_iter().map(Op::Compare);
        let table = Opcode::ALL.iter().map(|code| Op::Elementary(*code, 0));
        comparisons
            .chain(INTEGRALS.into_iter().map(Op::Integral))
            .chain(OTHERS)
            .chain(table)
            .map(Op::name)
    }
}

const OTHERS: [Op; 15] = [
    Op::Table(0),
    Op::And,
    Op::Or,
    Op::Not,
    Op::Select,
    Op::Cast,
    Op::Fill,
    Op::Extent(0),
    Op::Load,
    Op::Put,
    Op::PutAdd,
    Op::Argsort,
    Op::Stop,
    Op::Keep,
    Op::Recompute,
];

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

/// The operation on bounds: a number times itself is a square, which is narrower than a product of two numbers.
pub(crate) fn squared(code: Opcode, parameter: i32, with_itself: bool) -> (Opcode, i32) {
    match code {
        Opcode::Mul if with_itself => (Opcode::Powi, 2),
        _ => (code, parameter),
    }
}

/// An operation in the arena: what it does in 8 bits, its type in 24, and three words: operands, or the bits
/// of a constant, or where the operands stand in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    head: u32,
    args: [u32; 3],
}

const PARAM: u8 = 0;
const CONSTANT: u8 = 1;
const ROUNDED: u8 = 2;
const FALSE: u8 = 3;
const TRUE: u8 = 4;
const INTEGER: u8 = 5;
const AND: u8 = 6;
const OR: u8 = 7;
const NOT: u8 = 8;
const SELECT: u8 = 9;
const CAST: u8 = 10;
const FILL: u8 = 11;
const EXTENT: u8 = 12;
const ARGSORT: u8 = 13;
const STOP: u8 = 14;
const PART: u8 = 15;
const LOAD: u8 = 16;
const PUT: u8 = 17;
const PUT_ADD: u8 = 18;
const STRUCTURE: u8 = 19;
const COMPARE: u8 = 20;
const TABLE: u8 = 26;
const KEEP: u8 = 27;
const RECOMPUTE: u8 = 28;
const INTEGRAL: u8 = 32;
const ELEMENTARY: u8 = 64;

impl Node {
    /// The operation; operands that do not fit go to the pool.
    pub(crate) fn new(op: Op, ty: Type, operands: &[Value], pool: &mut Vec<u32>) -> Node {
        let mut args = [u32::MAX; 3];
        let pooled = matches!(op, Op::Load | Op::Put | Op::PutAdd | Op::Structure(_));
        if pooled {
            (args[0], args[1]) = (pool.len() as u32, operands.len() as u32);
            pool.extend(operands.iter().map(|v| v.0));
        } else {
            for (arg, value) in args.iter_mut().zip(operands) {
                *arg = value.0;
            }
        }
        let code = match op {
            Op::Param(index) => {
                args[0] = index;
                PARAM
            }
            Op::Constant(bits) | Op::Rounded(bits) => {
                (args[0], args[1]) = (bits as u32, (bits >> 32) as u32);
                if matches!(op, Op::Rounded(_)) { ROUNDED } else { CONSTANT }
            }
            Op::Truth(truth) => {
                if truth {
                    TRUE
                } else {
                    FALSE
                }
            }
            Op::Integer(c) => {
                let bits = c.cast_unsigned();
                (args[0], args[1]) = (bits as u32, (bits >> 32) as u32);
                INTEGER
            }
            Op::Table(k) => {
                args[0] = k;
                TABLE
            }
            Op::Elementary(opcode, parameter) => {
                // Only operations of one operand take a parameter.
                if takes_parameter(opcode) {
                    args[1] = parameter.cast_unsigned();
                }
                ELEMENTARY + opcode as u8
            }
            Op::Compare(comparison) => COMPARE + comparison as u8,
            Op::Integral(integral) => INTEGRAL + integral as u8,
            Op::And => AND,
            Op::Or => OR,
            Op::Not => NOT,
            Op::Select => SELECT,
            Op::Cast => CAST,
            Op::Fill => FILL,
            Op::Extent(k) => {
                args[1] = k;
                EXTENT
            }
            Op::Argsort => ARGSORT,
            Op::Stop => STOP,
            Op::Keep => KEEP,
            Op::Recompute => RECOMPUTE,
            Op::Part(k) => {
                args[1] = k;
                PART
            }
            Op::Load => LOAD,
            Op::Put => PUT,
            Op::PutAdd => PUT_ADD,
            Op::Structure(k) => {
                args[2] = k;
                STRUCTURE
            }
        };
        Node { head: u32::from(code) | (ty.number() << 8), args }
    }

    pub(crate) fn op(&self) -> Op {
        let bits = || u64::from(self.args[0]) | (u64::from(self.args[1]) << 32);
        match self.head as u8 {
            PARAM => Op::Param(self.args[0]),
            CONSTANT => Op::Constant(bits()),
            ROUNDED => Op::Rounded(bits()),
            FALSE => Op::Truth(false),
            TRUE => Op::Truth(true),
            INTEGER => Op::Integer(bits().cast_signed()),
            AND => Op::And,
            OR => Op::Or,
            NOT => Op::Not,
            SELECT => Op::Select,
            CAST => Op::Cast,
            FILL => Op::Fill,
            EXTENT => Op::Extent(self.args[1]),
            ARGSORT => Op::Argsort,
            STOP => Op::Stop,
            KEEP => Op::Keep,
            RECOMPUTE => Op::Recompute,
            PART => Op::Part(self.args[1]),
            LOAD => Op::Load,
            PUT => Op::Put,
            PUT_ADD => Op::PutAdd,
            STRUCTURE => Op::Structure(self.args[2]),
            TABLE => Op::Table(self.args[0]),
            code if code >= ELEMENTARY => {
                let opcode = Opcode::ALL[(code - ELEMENTARY) as usize];
                let parameter =
                    if takes_parameter(opcode) { self.args[1].cast_signed() } else { 0 };
                Op::Elementary(opcode, parameter)
            }
            code if code >= INTEGRAL => Op::Integral(INTEGRALS[(code - INTEGRAL) as usize]),
            code => Op::Compare(COMPARISONS[(code - COMPARE) as usize]),
        }
    }

    pub(crate) fn ty(&self) -> Type {
        Type::from_number(self.head >> 8)
    }

    pub(crate) fn operands<'n>(&'n self, pool: &'n [u32]) -> &'n [u32] {
        match self.head as u8 {
            LOAD | PUT | PUT_ADD | STRUCTURE => {
                let start = self.args[0] as usize;
                &pool[start..start + self.args[1] as usize]
            }
            code if code >= ELEMENTARY => {
                &self.args[..Opcode::ALL[(code - ELEMENTARY) as usize].info().arity]
            }
            _ => &self.args[..self.op().arity().unwrap_or(0)],
        }
    }

    /// The same with operands in the pool of another function.
    pub(crate) fn is_pooled(&self) -> bool {
        matches!(self.head as u8, LOAD | PUT | PUT_ADD | STRUCTURE)
    }
}

const _: () = assert!(size_of::<Node>() == 16);
