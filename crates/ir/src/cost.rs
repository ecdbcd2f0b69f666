//! What a run of a function costs, counted without running it.
//!
//! A model, not a measurement: operations weighted by how often they are done. It answers which of two
//! programs for the same thing does less, and how the work grows with the sizes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul};

use cotangent_ops::Opcode;

use crate::derive::Mode;
use crate::function::{Function, Value};
use crate::op::Op;
use crate::structure::Structure;
use crate::types::{Dim, Type};

/// How often a loop goes round if that is not known.
pub const UNKNOWN_ROUNDS: f64 = 10.0;

/// How large a dimension is that has only a name.
pub const UNKNOWN_SIZE: f64 = 1000.0;

/// What a run costs, by kinds of work.
///
/// Points of a kernel and rounds of a loop multiply what is in their bodies; of two branches the dearer
/// one counts; an operation on arrays counts once for each element. A loop whose number of rounds is not
/// known counts [`UNKNOWN_ROUNDS`], a dimension that has only a name [`UNKNOWN_SIZE`].
///
/// ```
/// use cotangent_ir::parse;
///
/// let f = parse("fn @f(%x: [100]f64) -> f64 {
///   %s = red sum (%i < 100) { %a = ld %x[%i] %b = exp %a yield %b }
///   ret %s
/// }").unwrap();
/// let cost = f.cost();
/// assert_eq!((cost.transcendental, cost.loads, cost.flops), (100.0, 100.0, 100.0));
/// assert_eq!(cost.to_string(), "1800 = 100 flops + 100 transcendental + 100 loads + 100 rounds");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Additions, products, comparisons and choices of numbers.
    pub flops: f64,
    /// Divisions and roots.
    pub divisions: f64,
    /// Exponentials, logarithms, sines and all other functions that take many steps.
    pub transcendental: f64,
    /// Operations on integers and truth values.
    pub integer: f64,
    /// Elements read from arrays by index.
    pub loads: f64,
    /// Elements written into arrays.
    pub stores: f64,
    /// Points of kernels and rounds of loops.
    pub rounds: f64,
    /// Bytes of the arrays that are made.
    pub bytes: f64,
}

impl Cost {
    /// The kinds of work with their names and what one of each weighs in [`total`](Cost::total): about the
    /// time of an addition, on a machine that has the data at hand.
    pub fn parts(&self) -> [(&'static str, f64, f64); 8] {
        [
            ("flops", self.flops, 1.0),
            ("divisions", self.divisions, 4.0),
            ("transcendental", self.transcendental, 16.0),
            ("integer", self.integer, 0.25),
            ("loads", self.loads, 0.5),
            ("stores", self.stores, 0.5),
            ("rounds", self.rounds, 0.5),
            ("bytes", self.bytes, 1.0 / 32.0),
        ]
    }

    /// All in one number.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, count, weight)| count * weight).sum()
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            flops: self.flops + other.flops,
            divisions: self.divisions + other.divisions,
            transcendental: self.transcendental + other.transcendental,
            integer: self.integer + other.integer,
            loads: self.loads + other.loads,
            stores: self.stores + other.stores,
            rounds: self.rounds + other.rounds,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Mul<f64> for Cost {
    type Output = Cost;

    fn mul(self, times: f64) -> Cost {
        Cost {
            flops: self.flops * times,
            divisions: self.divisions * times,
            transcendental: self.transcendental * times,
            integer: self.integer * times,
            loads: self.loads * times,
            stores: self.stores * times,
            rounds: self.rounds * times,
            bytes: self.bytes * times,
        }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), Add::add)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}", self.total())?;
        let parts = self.parts().into_iter().filter(|(_, count, _)| *count > 0.0);
        for (k, (name, count, _)) in parts.enumerate() {
            write!(f, " {} {count} {name}", if k == 0 { "=" } else { "+" })?;
        }
        Ok(())
    }
}

/// How many a dimension stands for.
fn size(dim: Dim) -> f64 {
    match dim {
        Dim::Size(n) => n as f64,
        Dim::Symbol(_) => UNKNOWN_SIZE,
        Dim::Any => UNKNOWN_ROUNDS,
    }
}

fn elements(ty: Type) -> f64 {
    ty.dims().iter().map(|dim| size(*dim)).product()
}

/// An array that is written.
fn written(ty: Type) -> Cost {
    if ty.is_scalar() || ty == Type::PARTS {
        return Cost::default();
    }
    let count = elements(ty);
    Cost { stores: count, bytes: count * ty.element().bytes() as f64, ..Cost::default() }
}

impl Function {
    /// What a run costs.
    pub fn cost(&self) -> Cost {
        self.values().map(|value| self.cost_of(value)).sum()
    }

    /// What one of its operations costs, its bodies included, what it works on not.
    ///
    /// # Panics
    /// If it is a value of a longer function.
    pub fn cost_of(&self, value: Value) -> Cost {
        let ty = self.ty(value);
        if let Some(structure) = self.structure(value) {
            let operands: Vec<Value> = self.operands(value).collect();
            return structure.cost(self.bound_rounds(structure, &operands));
        }
        let times = elements(ty);
        let op = self.op(value);
        let one = match op {
            Op::Param(_) | Op::Constant(_) | Op::Rounded(_) | Op::Truth(_) | Op::Integer(_) => {
                return Cost::default();
            }
            // Parts are counted with what they are of, dimensions and marks cost nothing.
            Op::Part(_)
            | Op::Extent(_)
            | Op::Stop
            | Op::Keep
            | Op::Recompute
            | Op::Structure(_)
            | Op::Table(_) => {
                return Cost::default();
            }
            Op::Elementary(code, parameter) => elementary(code, parameter),
            Op::Compare(_) | Op::Select | Op::Cast
                if self.operands(value).any(|v| self.ty(v).is_float()) =>
            {
                Cost { flops: 1.0, ..Cost::default() }
            }
            Op::Compare(_)
            | Op::Select
            | Op::Cast
            | Op::And
            | Op::Or
            | Op::Not
            | Op::Integral(_) => Cost { integer: 1.0, ..Cost::default() },
            Op::Fill => Cost::default(),
            Op::Load => Cost { loads: 1.0, ..Cost::default() },
            // In place: only what is put is touched. What is added in memory waits for the addition before it, and nobody shares
            // it: it counts as much as computing a light summand again would.
            Op::Put | Op::PutAdd => {
                let count = elements(self.ty(self.operand(value, 1)));
                let put = Cost { stores: count, ..Cost::default() };
                return match op {
                    Op::Put => put,
                    _ => put + Cost { loads: count, flops: 4.0 * count, ..Cost::default() },
                };
            }
            Op::Argsort => Cost { integer: times.log2().max(1.0) * 4.0, ..Cost::default() },
        };
        one * times + written(ty)
    }

    fn bound_rounds(&self, structure: &Structure, operands: &[Value]) -> f64 {
        match (self.bound(structure, operands), structure) {
            // No more than this: of a long loop in pieces, the length of a piece.
            (Dim::Any, Structure::For { .. }) => {
                self.at_most(operands[0]).map_or(size(Dim::Any), |n| n as f64)
            }
            (dim, _) => size(dim),
        }
    }
}

impl Structure {
    /// What it costs; `rounds` is how often a `for` goes round.
    fn cost(&self, rounds: f64) -> Cost {
        let results =
            |f: &Function| -> Vec<Type> { f.results().iter().map(|v| f.ty(*v)).collect() };
        let points: f64 = self.domain().iter().map(|dim| size(*dim)).product();
        let round = Cost { rounds: 1.0, ..Cost::default() };
        // What is stacked: every element written once.
        let stacked = |ty: Type, times: f64| {
            let count = elements(ty) * times;
            let bytes = count * ty.element().bytes() as f64;
            Cost { stores: count, bytes, ..Cost::default() }
        };
        match self {
            Structure::Tab { body, .. } => {
                let arrays: Cost = results(body).into_iter().map(|ty| stacked(ty, points)).sum();
                (body.cost() + round) * points + arrays
            }
            Structure::Red { body, .. } => {
                let ty = results(body).first().copied().unwrap_or(Type::F64);
                let sum = match ty.is_float() {
                    true => Cost { flops: elements(ty), ..Cost::default() },
                    false => Cost { integer: elements(ty), ..Cost::default() },
                };
                let bytes = if ty.is_scalar() { 0.0 } else { elements(ty) };
                let bytes = bytes * ty.element().bytes() as f64;
                let result = Cost { bytes, ..Cost::default() };
                (body.cost() + round + sum) * points + result
            }
            Structure::Acc { body, .. } => (body.cost() + round) * points,
            Structure::For { carries, body } => {
                let stacks: Cost =
                    results(body).into_iter().skip(*carries).map(|ty| stacked(ty, rounds)).sum();
                (body.cost() + round) * rounds + stacks
            }
            Structure::While { carries, condition, body } => {
                let stacks: Cost = results(body)
                    .into_iter()
                    .skip(*carries)
                    .map(|ty| stacked(ty, UNKNOWN_ROUNDS))
                    .sum();
                (body.cost() + condition.cost() + round) * UNKNOWN_ROUNDS
                    + condition.cost()
                    + stacks
            }
            Structure::If { yes, no } => {
                let (a, b) = (yes.cost(), no.cost());
                let dearer = if a.total() >= b.total() { a } else { b };
                dearer + Cost { integer: 1.0, ..Cost::default() }
            }
            Structure::Call { function } => function.cost(),
            // Before it is written out: a few times the function, as often as there are seeds.
            Structure::Derive(derive) => {
                let seeds: f64 = match derive.mode {
                    Mode::Forward | Mode::Reverse => derive.width.unwrap_or(1) as f64,
                    // A product of series takes a sum for each coefficient.
                    Mode::Jet { order } => (order * (order + 1)) as f64 / 4.0,
                    Mode::Jacobian | Mode::Hessian => {
                        let active = derive.function.params().iter().zip(&derive.args);
                        active.filter(|(_, a)| a.moves()).map(|(p, _)| elements(p.ty)).sum()
                    }
                };
                derive.function.cost() * (4.0 * seeds.max(1.0))
            }
        }
    }
}

/// One operation of the table.
fn elementary(code: Opcode, parameter: i32) -> Cost {
    let flops = |flops: f64| Cost { flops, ..Cost::default() };
    match code {
        Opcode::Neg
        | Opcode::Abs
        | Opcode::Signum
        | Opcode::Sgn
        | Opcode::Floor
        | Opcode::Ceil
        | Opcode::Round
        | Opcode::Trunc
        | Opcode::Fract
        | Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        // The test for zero is done beside the product.
        | Opcode::StrongMul
        | Opcode::MulAdd
        | Opcode::Max
        | Opcode::Min
        | Opcode::Copysign => flops(1.0),
        Opcode::Div | Opcode::StrongDiv | Opcode::Recip | Opcode::Sqrt => {
            Cost { divisions: 1.0, ..Cost::default() }
        }
        Opcode::Powi => {
            let n = parameter.unsigned_abs();
            // By squaring: one product for each bit and one more for each that is set.
            let products = n.checked_ilog2().unwrap_or(0) + n.count_ones().saturating_sub(1);
            let inverse = if parameter < 0 { 1.0 } else { 0.0 };
            Cost { divisions: inverse, ..flops(f64::from(products).max(1.0)) }
        }
        _ => Cost { transcendental: 1.0, ..Cost::default() },
    }
}
