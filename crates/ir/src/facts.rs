//! What is known of every value before a function is run.

use cotangent_numbers::Interval;
use cotangent_ops::{Apply, Comparison, Opcode};

use crate::build::Builder;
use crate::function::{Function, Value};
use crate::op::{Integral, Op, squared};
use crate::ranges::{Range, arithmetic};
use crate::structure::{Reducer, Structure};
use crate::table::Entries;
use crate::types::{Dim, Element, Type};

/// What is known of a value for all inputs; of an array, of each of its elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fact {
    /// Between which bounds an integer lies, if that is known.
    pub range: Range,
    /// Between which bounds a number lies, unless it is NaN.
    pub bounds: Interval<f64>,
    /// Whether a number is neither infinite nor NaN.
    pub finite: bool,
    /// Whether no two elements of a list of integers are equal.
    pub unique: bool,
    /// Whether an array of two dimensions equals its transpose.
    pub symmetric: bool,
    /// Whether it depends linearly on the linear parameters.
    pub linear: bool,
}

impl Default for Fact {
    fn default() -> Self {
        Fact {
            range: None,
            bounds: Interval::ALL,
            finite: false,
            unique: false,
            symmetric: false,
            linear: false,
        }
    }
}

impl Fact {
    /// A number between bounds; finite, if both are.
    ///
    /// ```
    /// use cotangent_ir::{Fact, parse};
    ///
    /// let f = parse("fn @f(%x: f64) -> f64 { %a = mul %x, %x %r = exp %a ret %r }").unwrap();
    /// let facts = f.facts(&[Fact::between(-1.0, 2.0)]);
    /// let result = facts[f.results()[0].index()];
    /// assert!(result.finite && result.bounds.contains(1.0) && !result.bounds.contains(0.99));
    /// ```
    pub fn between(low: f64, high: f64) -> Fact {
        let finite = low.is_finite() && high.is_finite();
        Fact { bounds: Interval::new(low, high), finite, ..Fact::default() }
    }

    /// A finite number.
    pub fn finite() -> Fact {
        Fact { bounds: Interval::new(f64::MIN, f64::MAX), finite: true, ..Fact::default() }
    }

    /// What holds of either.
    fn or(self, other: Fact) -> Fact {
        let range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            _ => None,
        };
        Fact {
            range,
            bounds: self.bounds.hull(other.bounds),
            finite: self.finite && other.finite,
            unique: false,
            symmetric: self.symmetric && other.symmetric,
            linear: self.linear || other.linear,
        }
    }

    /// What is left of it for an element.
    fn element(self) -> Fact {
        Fact { unique: false, symmetric: false, ..self }
    }
}

impl Fact {
    /// How a comparison of two numbers comes out, if that is known: NaN compares with nothing.
    ///
    /// ```
    /// use cotangent_ir::Fact;
    /// use cotangent_ops::Comparison;
    ///
    /// let (a, b) = (Fact::between(0.0, 1.0), Fact::between(2.0, 3.0));
    /// assert_eq!(a.compare(b, Comparison::Less), Some(true));
    /// assert_eq!(a.compare(a, Comparison::Less), None);
    /// ```
    pub fn compare(self, other: Fact, comparison: Comparison) -> Option<bool> {
        let (a, b) = (self.bounds, other.bounds);
        let (less, at_most) = (a.high() < b.low(), a.high() <= b.low());
        let (greater, at_least) = (a.low() > b.high(), a.low() >= b.high());
        // What may be NaN makes a comparison false, whatever the bounds; all but `≠`.
        let sure = self.finite && other.finite;
        match comparison {
            Comparison::Less if at_least => Some(false),
            Comparison::AtMost if greater => Some(false),
            Comparison::Greater if at_most => Some(false),
            Comparison::AtLeast if less => Some(false),
            Comparison::Equal if less || greater => Some(false),
            Comparison::Less if sure && less => Some(true),
            Comparison::AtMost if sure && at_most => Some(true),
            Comparison::Greater if sure && greater => Some(true),
            Comparison::AtLeast if sure && at_least => Some(true),
            Comparison::Differ if less || greater => Some(true),
            _ => None,
        }
    }
}

impl Function {
    /// What is known of each value, given what is known of the parameters; nothing is known of those that are
    /// not given.
    ///
    /// Bounds are those of interval arithmetic; what a loop carries is not bounded.
    pub fn facts(&self, params: &[Fact]) -> Vec<Fact> {
        let mut facts: Vec<Fact> = Vec::with_capacity(self.len());
        let mut parts: Vec<Vec<Fact>> = vec![Vec::new(); self.structures.len()];
        for value in self.values() {
            let args: Vec<Fact> = match self.op(value) {
                Op::Part(_) => Vec::new(),
                _ => self.operands(value).map(|v| facts[v.index()]).collect(),
            };
            let mut fact = match self.op(value) {
                Op::Param(k) => {
                    let given = params.get(k as usize).copied().unwrap_or_default();
                    Fact { linear: self.params()[k as usize].linear, ..given }
                }
                Op::Structure(number) => {
                    let structure = &self.structures[number as usize];
                    parts[number as usize] = self.of_structure(structure, value, &args);
                    Fact::default()
                }
                Op::Part(k) => match self.op(self.operand(value, 0)) {
                    Op::Structure(number) => {
                        parts[number as usize].get(k as usize).copied().unwrap_or_default()
                    }
                    _ => Fact::default(),
                },
                op => self.of_operation(op, value, &args),
            };
            if let [Dim::Size(n), Dim::Size(m)] = self.ty(value).dims() {
                // A matrix of one number everywhere, or of one number.
                fact.symmetric |= n == m && (self.op(value) == Op::Fill || *n == 1);
            }
            facts.push(fact);
        }
        facts
    }

    fn of_operation(&self, op: Op, value: Value, args: &[Fact]) -> Fact {
        let ty = self.ty(value);
        let linear = ty.is_float() && args.iter().any(|a| a.linear);
        // Element by element, so symmetric if all arrays are.
        let mut arrays = self.operands(value).zip(args).filter(|(v, _)| !self.ty(*v).is_scalar());
        let symmetric = ty.dims().len() == 2 && arrays.all(|(_, a)| a.symmetric);
        let plain = Fact { linear, ..Fact::default() };
        match op {
            Op::Constant(bits) => {
                let c = f64::from_bits(bits);
                if c.is_finite() { Fact::between(c, c) } else { plain }
            }
            Op::Rounded(bits) => {
                let c = f64::from_bits(bits);
                Fact::between(c.next_down(), c.next_up())
            }
            Op::Integer(c) => Fact { range: Some((c, c)), ..plain },
            Op::Table(_) => self.of_table(value),
            Op::Elementary(code, parameter) => {
                let same = args.len() == 2 && self.operand(value, 0) == self.operand(value, 1);
                let (code, parameter) = squared(code, parameter, same);
                let of = |k: usize| args.get(k).map_or(Interval::ALL, |a| a.bounds);
                let bounds = code.visit(parameter, Apply([of(0), of(1), of(2)]));
                let bounded = bounds.low().is_finite() && bounds.high().is_finite();
                let single = ty.element() == Element::F32;
                let fits = !single || bounds.high().max(-bounds.low()) < f64::from(f32::MAX);
                let finite = bounded && fits && bounds.is_total() && args.iter().all(|a| a.finite);
                // A single is rounded once more.
                let bounds = if single { Interval::ALL } else { bounds };
                Fact { bounds, finite, symmetric, ..plain }
            }
            Op::Compare(_) | Op::And | Op::Or | Op::Not => Fact { symmetric, ..plain },
            Op::Select => {
                let either = args[1].or(args[2]);
                Fact { symmetric, linear, ..either }
            }
            Op::Integral(integral) => {
                let range = arithmetic(integral, args[0].range, args[1].range);
                let fits = |c: i64| ty.element() != Element::I32 || i32::try_from(c).is_ok();
                let range = range.filter(|(a, b)| fits(*a) && fits(*b));
                Fact { range, symmetric, ..plain }
            }
            Op::Cast if ty.is_float() => match args[0].range {
                Some((a, b)) if a > -(1 << 24) && b < 1 << 24 => {
                    Fact { symmetric, ..Fact::between(a as f64, b as f64) }
                }
                _ => {
                    let integer = !self.ty(self.operand(value, 0)).is_float();
                    Fact { finite: integer, symmetric, ..plain }
                }
            },
            Op::Fill => args[0].element(),
            Op::Load => args[0].element(),
            Op::Put => args[0].or(args[1]).element(),
            Op::Extent(_) => Fact { range: Some((0, i64::from(u32::MAX))), ..plain },
            Op::Argsort => {
                let n = match ty.dims().first() {
                    Some(Dim::Size(n)) => *n as i64,
                    _ => i64::from(u32::MAX),
                };
                Fact { range: Some((0, (n - 1).max(0))), unique: true, ..plain }
            }
            Op::Stop => Fact { linear: false, ..args[0] },
            Op::Keep | Op::Recompute => args[0],
            _ => plain,
        }
    }

    fn of_table(&self, value: Value) -> Fact {
        let Some(table) = self.table(value) else { return Fact::default() };
        let hull = |range: Range, c: i64| match range {
            None => Some((c, c)),
            Some((a, b)) => Some((a.min(c), b.max(c))),
        };
        match table.entries() {
            Entries::Integers(entries) => {
                let mut sorted = entries.clone();
                sorted.sort_unstable();
                let unique = sorted.windows(2).all(|pair| pair[0] != pair[1]);
                let range = entries.iter().copied().fold(None, hull);
                Fact { range, unique, ..Fact::default() }
            }
            Entries::Numbers(bits) => {
                let numbers: Vec<f64> = bits.iter().map(|b| f64::from_bits(*b)).collect();
                let finite = numbers.iter().all(|x| x.is_finite());
                let points = numbers.iter().map(|x| Interval::point(*x));
                let bounds = points.reduce(Interval::hull).filter(|_| finite);
                Fact { bounds: bounds.unwrap_or(Interval::ALL), finite, ..Fact::default() }
            }
        }
    }

    /// What is known of the parts of an operation with a body.
    fn of_structure(&self, structure: &Structure, value: Value, args: &[Fact]) -> Vec<Fact> {
        let count = structure.part_types(Dim::Any).len();
        let linear = structure.linear_parts().unwrap_or_else(|_| vec![false; count]);
        let size = |dim: &Dim| match dim {
            Dim::Size(n) => Some(*n as i64),
            _ => None,
        };
        // Own parameters: indices by the domain; of what is carried nothing is known.
        let inside = |body: &Function| -> Vec<Fact> {
            let (own, _) = structure.own_params();
            let mut params = vec![Fact::default(); own];
            for (param, dim) in params.iter_mut().zip(structure.domain()) {
                param.range = Some((0, size(dim).map_or(i64::from(u32::MAX), |n| (n - 1).max(0))));
            }
            if let (Structure::For { .. }, Some(bound)) = (structure, args.first()) {
                params[0].range = bound.range.map(|(_, most)| (0, (most - 1).max(0)));
            }
            let captures = (own..body.params().len()).map(|k| {
                let operand = structure.operand_of(k).and_then(|o| args.get(o));
                operand.copied().unwrap_or_default()
            });
            params.extend(captures);
            let facts = body.facts(&params);
            body.results().iter().map(|v| facts[v.index()]).collect()
        };
        let found: Vec<Fact> = match structure {
            Structure::Tab { dims, body } => {
                let of = |(result, fact): (&Value, Fact)| Fact {
                    unique: dims.len() == 1 && is_injective(body, *result),
                    symmetric: dims.len() == 2 && is_symmetric(dims, body, *result),
                    ..fact
                };
                body.results().iter().zip(inside(body)).map(of).collect()
            }
            Structure::Red { reducer, body, dims } => {
                let points = dims.iter().map(size).try_fold(1i64, |n, m| n.checked_mul(m?));
                let one = inside(body).first().copied().unwrap_or_default();
                vec![reduced(*reducer, one, points, body.ty(body.results()[0]))]
            }
            Structure::If { yes, no } => {
                inside(yes).into_iter().zip(inside(no)).map(|(a, b)| a.or(b)).collect()
            }
            Structure::Call { function } => inside(function),
            Structure::For { carries, body } | Structure::While { carries, body, .. } => {
                let stacked = inside(body).into_iter().skip(*carries).map(Fact::element);
                vec![Fact::default(); *carries].into_iter().chain(stacked).collect()
            }
            Structure::Acc { .. } | Structure::Derive(_) => Vec::new(),
        };
        debug_assert!(self.structure(value).is_some());
        (0..count)
            .map(|k| Fact {
                linear: linear.get(k) == Some(&true),
                ..found.get(k).copied().unwrap_or_default()
            })
            .collect()
    }
}

/// What is known of a reduction of so many points.
fn reduced(reducer: Reducer, one: Fact, points: Option<i64>, ty: Type) -> Fact {
    let double = ty.element() == Element::F64;
    match (reducer, points) {
        (Reducer::Max | Reducer::Min, Some(n)) if n > 0 => one.element(),
        (Reducer::ArgMax | Reducer::ArgMin, Some(n)) => {
            Fact { range: Some((0, (n - 1).max(0))), ..Fact::default() }
        }
        (Reducer::Sum, Some(n)) if double => {
            // Rounding adds to it, by no more than a part of it for each summand.
            let times = Interval::new(0.0, n as f64 * (1.0 + 1e-10 * n as f64));
            let bounds = Opcode::Mul.visit(0, Apply([one.bounds, times, times]));
            let finite = one.finite && bounds.low().is_finite() && bounds.high().is_finite();
            Fact { bounds, finite, ..Fact::default() }
        }
        _ => Fact::default(),
    }
}

/// Whether a value of a body is another one at each index: the index, moved, turned around or stretched.
fn is_injective(body: &Function, value: Value) -> bool {
    match body.op(value) {
        Op::Param(0) => true,
        Op::Integral(integral) => {
            let (a, b) = (body.operand(value, 0), body.operand(value, 1));
            let known = |v: Value| match body.op(v) {
                Op::Integer(c) => Some(c),
                _ => None,
            };
            // So small that nothing wraps around.
            let small = |c: i64| c.unsigned_abs() < 1 << 20;
            match (integral, known(a), known(b)) {
                (Integral::Add | Integral::Sub, Some(c), None) => small(c) && is_injective(body, b),
                (Integral::Add | Integral::Sub, None, Some(c)) => small(c) && is_injective(body, a),
                (Integral::Mul, Some(c), None) => c != 0 && small(c) && is_injective(body, b),
                (Integral::Mul, None, Some(c)) => c != 0 && small(c) && is_injective(body, a),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether a value of a body over a square is the same with its indices exchanged.
fn is_symmetric(dims: &[Dim], body: &Function, value: Value) -> bool {
    if dims[0] != dims[1] || !body.ty(value).is_scalar() {
        return false;
    }
    // In one function equal operations are one.
    let mut b = Builder::new("");
    let args = b.params_of(body.params());
    let mut exchanged = args.clone();
    exchanged.swap(0, 1);
    let (one, other) = (b.inline(body, &args), b.inline(body, &exchanged));
    let mut results = body.results().iter().zip(one.iter().zip(other));
    results.any(|(v, (a, b))| *v == value && *a == b)
}
