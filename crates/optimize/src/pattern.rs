//! Rules of algebra as data: a pattern, what it becomes, and when it may be used.

use cotangent_ir::{Builder, Element, Function, Op, Type, Value, is_commutative};
use cotangent_ops::{Comparison, Opcode};

use crate::options::Class;

/// What a variable of a rule stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A finite number that is known.
    Constant,
    /// An integer.
    Integer,
    /// An integer that is known.
    KnownInteger,
    /// A truth value.
    Truth,
    /// Anything.
    Any,
}

/// A variable of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var {
    /// Which one.
    pub index: usize,
    /// What it stands for.
    pub kind: Kind,
}

/// How many variables there are.
pub(crate) const VARS: usize = 15;

/// A pattern, or what one becomes.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// A variable.
    Var(Var),
    /// This number, to the bit.
    Number(f64),
    /// This integer.
    Integer(i64),
    /// This truth value.
    Truth(bool),
    /// An operation.
    Op(Op, Vec<Pattern>),
    /// A number made of known ones.
    Fold(Vec<Var>, fn(&[f64]) -> f64),
    /// A number made of known ones, by whether numbers are doubles or singles.
    FoldIn(Vec<Var>, fn(&[f64], Element) -> f64),
    /// An integer made of known ones.
    FoldIntegers(Vec<Var>, fn(&[i64]) -> i64),
}

impl From<Var> for Pattern {
    fn from(var: Var) -> Pattern {
        Pattern::Var(var)
    }
}

impl From<f64> for Pattern {
    fn from(c: f64) -> Pattern {
        Pattern::Number(c)
    }
}

impl From<i64> for Pattern {
    fn from(c: i64) -> Pattern {
        Pattern::Integer(c)
    }
}

impl From<bool> for Pattern {
    fn from(c: bool) -> Pattern {
        Pattern::Truth(c)
    }
}

/// Something that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// A number.
    Number(f64),
    /// An integer.
    Integer(i64),
}

/// A condition on what is known: its text, its variables, itself.
pub(crate) type Guard = (&'static str, Vec<Var>, fn(&[Known]) -> bool);

/// A rule: wherever the left side stands, the right side may.
#[derive(Clone)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What it may change.
    pub class: Class,
    /// The equation as it was written.
    pub text: &'static str,
    /// What is looked for.
    pub left: Pattern,
    /// What it becomes.
    pub right: Pattern,
    pub(crate) guard: Option<Guard>,
}

/// What the variables of a rule are.
#[derive(Clone, Debug)]
pub struct Bound {
    values: [Option<Value>; VARS],
    /// Operations inside the pattern that have been matched.
    pub(crate) inner: Vec<Value>,
}

impl Bound {
    pub(crate) fn new() -> Bound {
        Bound { values: [None; VARS], inner: Vec::new() }
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.values.iter().flatten().copied()
    }
}

/// The number that a value is, everywhere.
pub(crate) fn number(f: &Function, value: Value) -> Option<f64> {
    match f.op(value) {
        Op::Constant(bits) => Some(f64::from_bits(bits)),
        Op::Fill => number(f, f.operand(value, 0)),
        _ => None,
    }
}

/// The integer that a value is, everywhere.
pub(crate) fn integer(f: &Function, value: Value) -> Option<i64> {
    match f.op(value) {
        Op::Integer(c) => Some(c),
        Op::Fill => integer(f, f.operand(value, 0)),
        _ => None,
    }
}

fn truth(f: &Function, value: Value) -> Option<bool> {
    match f.op(value) {
        Op::Truth(c) => Some(c),
        Op::Fill => truth(f, f.operand(value, 0)),
        _ => None,
    }
}

/// Whether the operands may change places for matching.
fn symmetric(op: Op) -> bool {
    use cotangent_ir::Integral;
    match op {
        Op::Elementary(code, _) => is_commutative(code),
        Op::And | Op::Or | Op::Compare(Comparison::Equal | Comparison::Differ) => true,
        Op::Integral(i) => !matches!(i, Integral::Sub | Integral::Div | Integral::Rem),
        _ => false,
    }
}

impl Rule {
    /// The variables for which the rule matches an operation that is to be built.
    pub(crate) fn matches(&self, f: &Function, op: Op, operands: &[Value]) -> Option<Bound> {
        let Pattern::Op(root, args) = &self.left else { return None };
        if *root != op || args.len() != operands.len() {
            return None;
        }
        let mut bound = Bound::new();
        if !all(f, op, args, operands, &mut Vec::new(), &mut bound) {
            return None;
        }
        if let Some((_, vars, holds)) = &self.guard {
            let known: Option<Vec<Known>> = vars.iter().map(|var| known(f, &bound, *var)).collect();
            if !holds(&known?) {
                return None;
            }
        }
        Some(bound)
    }

    /// Whether the guard holds of these.
    pub fn allows(&self, of: impl Fn(Var) -> Known) -> bool {
        match &self.guard {
            None => true,
            Some((_, vars, holds)) => {
                let known: Vec<Known> = vars.iter().map(|var| of(*var)).collect();
                holds(&known)
            }
        }
    }

    /// The equation with its condition.
    pub fn equation(&self) -> String {
        match &self.guard {
            Some((text, ..)) => format!("{} if {text}", self.text),
            None => self.text.to_string(),
        }
    }

    /// The variables of the left side, in the order of their first use.
    pub fn vars(&self) -> Vec<Var> {
        fn collect(pattern: &Pattern, found: &mut Vec<Var>) {
            match pattern {
                Pattern::Var(var) if !found.contains(var) => found.push(*var),
                Pattern::Op(_, args) => args.iter().for_each(|arg| collect(arg, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        collect(&self.left, &mut found);
        found
    }

    /// How much more it builds than it takes away, if what is inside stays for others.
    pub(crate) fn growth(&self) -> f64 {
        fn weight(op: Op) -> f64 {
            match op {
                Op::Elementary(
                    Opcode::Div | Opcode::Recip | Opcode::Sqrt | Opcode::StrongDiv,
                    _,
                ) => 4.0,
                Op::Elementary(code, _) => match code {
                    Opcode::Neg | Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::StrongMul => {
                        1.0
                    }
                    Opcode::MulAdd | Opcode::Abs | Opcode::Max | Opcode::Min | Opcode::Sgn => 1.0,
                    Opcode::Powi => 1.0,
                    _ => 16.0,
                },
                Op::Integral(_) | Op::And | Op::Or | Op::Not => 0.25,
                _ => 1.0,
            }
        }
        fn all(pattern: &Pattern) -> f64 {
            match pattern {
                Pattern::Op(op, args) => weight(*op) + args.iter().map(all).sum::<f64>(),
                _ => 0.0,
            }
        }
        let root = match &self.left {
            Pattern::Op(op, _) => weight(*op),
            _ => 0.0,
        };
        all(&self.right) - root
    }

    /// Whether the right side has an operation in which it is not linear.
    pub(crate) fn bends(&self) -> bool {
        fn bends(pattern: &Pattern) -> bool {
            match pattern {
                Pattern::Op(op, args) => {
                    let linear = match op {
                        Op::Elementary(code, _) => matches!(
                            code,
                            Opcode::Neg
                                | Opcode::Add
                                | Opcode::Sub
                                | Opcode::Mul
                                | Opcode::StrongMul
                                | Opcode::Div
                        ),
                        _ => true,
                    };
                    !linear || args.iter().any(bends)
                }
                _ => false,
            }
        }
        bends(&self.right)
    }
}

fn known(f: &Function, bound: &Bound, var: Var) -> Option<Known> {
    let value = bound.values[var.index]?;
    match var.kind {
        Kind::KnownInteger => integer(f, value).map(Known::Integer),
        _ => number(f, value).map(Known::Number),
    }
}

/// Matches operands in one order or the other, and all that is left to match.
fn all<'p>(
    f: &Function,
    op: Op,
    args: &'p [Pattern],
    operands: &[Value],
    rest: &mut Vec<(&'p Pattern, Value)>,
    bound: &mut Bound,
) -> bool {
    let mark = rest.len();
    let (values, inner) = (bound.values, bound.inner.len());
    rest.extend(args.iter().zip(operands.iter().copied()));
    if solve(f, &mut rest.clone(), bound) {
        return true;
    }
    if !symmetric(op) {
        return false;
    }
    rest.truncate(mark);
    bound.values = values;
    bound.inner.truncate(inner);
    rest.extend(args.iter().zip(operands.iter().rev().copied()));
    solve(f, &mut rest.clone(), bound)
}

fn solve(f: &Function, goals: &mut Vec<(&Pattern, Value)>, bound: &mut Bound) -> bool {
    let Some((pattern, value)) = goals.pop() else { return true };
    let fits = match pattern {
        Pattern::Var(var) => bind(f, *var, value, bound),
        Pattern::Number(c) => number(f, value).is_some_and(|k| k.to_bits() == c.to_bits()),
        Pattern::Integer(c) => integer(f, value) == Some(*c),
        Pattern::Truth(c) => truth(f, value) == Some(*c),
        Pattern::Op(op, args) => {
            if f.op(value) != *op {
                return false;
            }
            bound.inner.push(value);
            let operands: Vec<Value> = f.operands(value).collect();
            return all(f, *op, args, &operands, goals, bound);
        }
        Pattern::Fold(..) | Pattern::FoldIn(..) | Pattern::FoldIntegers(..) => false,
    };
    fits && solve(f, goals, bound)
}

fn bind(f: &Function, var: Var, value: Value, bound: &mut Bound) -> bool {
    let element = f.ty(value).element();
    let fits = match var.kind {
        Kind::Number => element.is_float(),
        Kind::Constant => element.is_float() && number(f, value).is_some_and(f64::is_finite),
        Kind::Integer => element.is_integer(),
        Kind::KnownInteger => element.is_integer() && integer(f, value).is_some(),
        Kind::Truth => element == Element::Bool,
        Kind::Any => true,
    };
    if !fits {
        return false;
    }
    match bound.values[var.index] {
        None => {
            bound.values[var.index] = Some(value);
            true
        }
        Some(before) => before == value,
    }
}

/// Builds the right side of a rule. `each` builds an operation on operands.
pub(crate) fn build(
    pattern: &Pattern,
    bound: &Bound,
    b: &mut Builder,
    each: &mut impl FnMut(&mut Builder, Op, &[Value]) -> Value,
) -> Option<Value> {
    let element = |b: &Builder, fits: fn(Element) -> bool, or: Element| {
        let found = bound.values().map(|v| b.ty(v).element()).find(|e| fits(*e));
        Type::scalar(found.unwrap_or(or))
    };
    Some(match pattern {
        Pattern::Var(var) => bound.values[var.index]?,
        Pattern::Number(c) => {
            let ty = element(b, Element::is_float, Element::F64);
            b.constant(*c, ty)
        }
        Pattern::Integer(c) => {
            let ty = element(b, Element::is_integer, Element::I64);
            b.integer_of(*c, ty)
        }
        Pattern::Truth(c) => b.truth(*c),
        Pattern::Op(op, args) => {
            let mut operands = Vec::with_capacity(args.len());
            for arg in args {
                operands.push(build(arg, bound, b, each)?);
            }
            each(b, *op, &operands)
        }
        Pattern::Fold(vars, f) => {
            let all: Option<Vec<f64>> =
                vars.iter().map(|var| number(b.function(), bound.values[var.index]?)).collect();
            let ty = element(b, Element::is_float, Element::F64);
            b.constant(f(&all?), ty)
        }
        Pattern::FoldIn(vars, f) => {
            let all: Option<Vec<f64>> =
                vars.iter().map(|var| number(b.function(), bound.values[var.index]?)).collect();
            let ty = element(b, Element::is_float, Element::F64);
            b.constant(f(&all?, ty.element()), ty)
        }
        Pattern::FoldIntegers(vars, f) => {
            let all: Option<Vec<i64>> =
                vars.iter().map(|var| integer(b.function(), bound.values[var.index]?)).collect();
            let ty = element(b, Element::is_integer, Element::I64);
            b.integer_of(f(&all?), ty)
        }
    })
}
