//! Reverse mode: the linear part turned around.

use cotangent_ir::{Builder, Function, Op, Param, Value};
use cotangent_ops::Opcode;

use crate::error::TransformError;
use crate::linearize::{float_type, linearize_to};
use crate::rewrite::{copy_guards, copy_ordinary, fix};

/// Turns the linear part of a function around. Its first `primals` results stay as they are; instead of
/// each linear parameter it takes a cotangent of each of the other results, and it gives a cotangent of
/// each linear parameter.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::transpose;
///
/// let f = parse("fn @f(%x: f64, %dx: lin f64) -> f64 { %r = mul %dx, %x ret %r }").unwrap();
/// let t = transpose(&f, 0).unwrap();
/// assert_eq!(t.to_string(), "\
/// fn @f.t(%x: f64, %c0: lin f64) -> f64 {
///   %0 = mul %x, %c0
///   ret %0
/// }
/// ");
/// ```
///
/// # Errors
/// A function that is not well formed, and a result that is not linear.
pub fn transpose(f: &Function, primals: usize) -> Result<Function, TransformError> {
    f.verify()?;
    let ty = float_type(f)?;
    let linear = f.linear_values()?;
    let function = || f.name().to_string();
    let Some((ordinary, turned)) = f.results().split_at_checked(primals) else {
        let results = f.results().len();
        return Err(TransformError::Primals { function: function(), results, primals });
    };
    let zero = |v: &Value| f.op(*v) == Op::Constant(0);
    if let Some(result) = turned.iter().position(|v| !linear[v.index()] && !zero(v)) {
        return Err(TransformError::NotLinear { function: function(), result: primals + result });
    }
    if let Some(result) = ordinary.iter().position(|v| linear[v.index()]) {
        return Err(TransformError::NotLinear { function: function(), result });
    }
    let mut b = Builder::new(format!("{}.t", f.name()));
    let values = copy_ordinary(f, &linear, &mut b);
    let mut cotangents = Cotangents { of: vec![None; f.len()], b };
    for (k, result) in turned.iter().enumerate() {
        let cotangent = cotangents.b.linear_param(format!("c{k}"), f.ty(*result));
        if linear[result.index()] {
            cotangents.add(*result, cotangent);
        }
    }
    for value in f.values().rev().filter(|v| linear[v.index()]) {
        if let Some(cotangent) = cotangents.of[value.index()] {
            cotangents.hand_on(f, value, cotangent, &linear, &values);
        }
    }
    let Cotangents { of, mut b } = cotangents;
    copy_guards(f, &values, &mut b);
    let mut results: Vec<Value> = ordinary.iter().filter_map(|v| values[v.index()]).collect();
    let params = f.values().filter(|v| matches!(f.op(*v), Op::Param(_)) && linear[v.index()]);
    for param in params {
        results.push(of[param.index()].unwrap_or_else(|| b.constant(0.0, ty)));
    }
    Ok(b.finish(results))
}

struct Cotangents {
    /// By value: what has come to it so far.
    of: Vec<Option<Value>>,
    b: Builder,
}

impl Cotangents {
    fn add(&mut self, value: Value, cotangent: Value) {
        let sum = match self.of[value.index()] {
            None => cotangent,
            Some(before) => self.b.elementary(Opcode::Add, 0, &[before, cotangent]),
        };
        self.of[value.index()] = Some(sum);
    }

    /// Hands the cotangent of a linear operation on to its linear operands.
    fn hand_on(
        &mut self,
        f: &Function,
        value: Value,
        cotangent: Value,
        linear: &[bool],
        values: &[Option<Value>],
    ) {
        let args: Vec<Value> = f.operands(value).collect();
        let is = |k: usize| linear[args[k].index()];
        // An operand that is not linear has been copied.
        let copied = |k: usize| values[args[k].index()].unwrap_or(cotangent);
        match f.op(value) {
            Op::Elementary(Opcode::Neg, _) => {
                let turned = self.b.elementary(Opcode::Neg, 0, &[cotangent]);
                self.add(args[0], turned);
            }
            Op::Elementary(code @ (Opcode::Add | Opcode::Sub), _) => {
                if is(0) {
                    self.add(args[0], cotangent);
                }
                if is(1) {
                    let turned = match code {
                        Opcode::Sub => self.b.elementary(Opcode::Neg, 0, &[cotangent]),
                        _ => cotangent,
                    };
                    self.add(args[1], turned);
                }
            }
            Op::Elementary(code @ (Opcode::Mul | Opcode::StrongMul), _) => {
                let k = usize::from(!is(0));
                let turned = self.b.elementary(code, 0, &[cotangent, copied(1 - k)]);
                self.add(args[k], turned);
            }
            Op::Elementary(Opcode::Div, _) => {
                let turned = self.b.elementary(Opcode::Div, 0, &[cotangent, copied(1)]);
                self.add(args[0], turned);
            }
            Op::Select => {
                let zero = self.b.constant(0.0, f.ty(value));
                for (k, [yes, no]) in [(1, [cotangent, zero]), (2, [zero, cotangent])] {
                    if is(k) {
                        let turned = self.b.select(copied(0), yes, no);
                        self.add(args[k], turned);
                    }
                }
            }
            // A parameter keeps what has come to it; nothing else is linear (see `verify`).
            _ => {}
        }
    }
}

/// Reverse mode: the function's results, then the cotangents of its numbers, for cotangents of its results
/// that are given behind its parameters.
///
/// # Errors
/// As [`linearize`](crate::linearize) and [`transpose`].
pub fn reverse(f: &Function) -> Result<Function, TransformError> {
    reverse_to(f, |_| true)
}

/// [`reverse`] with cotangents of some parameters only.
///
/// # Errors
/// As [`reverse`].
pub fn reverse_to(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
) -> Result<Function, TransformError> {
    let turned = transpose(&linearize_to(f, moves)?, f.results().len())?;
    Ok(turned.renamed(format!("{}.rev", f.name())))
}

/// The value and the gradient of a function with one number as its result.
///
/// # Errors
/// A function with more results, and as [`reverse`].
pub fn gradient(f: &Function) -> Result<Function, TransformError> {
    gradient_to(f, |_| true)
}

/// [`gradient`] to some parameters only.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::gradient_to;
///
/// let f = parse("fn @f(%x: f64, %y: f64) -> f64 { %r = mul %x, %y ret %r }").unwrap();
/// let g = gradient_to(&f, |p| p.name == "y").unwrap();
/// assert_eq!(g.run(&[3.0, 5.0]).unwrap(), [15.0, 3.0]);
/// ```
///
/// # Errors
/// As [`gradient`].
pub fn gradient_to(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
) -> Result<Function, TransformError> {
    match f.results() {
        [result] if f.ty(*result).is_float() => {}
        results => {
            let (function, results) = (f.name().to_string(), results.len());
            return Err(TransformError::NotOne { function, results });
        }
    }
    let reversed = reverse_to(f, moves)?;
    let seed = reversed.params().len() - 1;
    Ok(fix(&reversed, seed, 1.0)?.renamed(format!("{}.grad", f.name())))
}
