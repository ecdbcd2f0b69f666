//! Reverse mode: the linear part turned around.

use cotangent_ir::{Builder, Copied, Function, Op, Param, Type, Value};
use cotangent_ops::Opcode;
use rustc_hash::FxHashMap;

use crate::collected::collected;
use crate::error::TransformError;
use crate::linearize::linearize_to;
use crate::lower::lower;
use crate::rewrite::{fix, without_calls, zeros};
use crate::turn_loop::Turned;

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
    let f = &collected(&without_calls(&lower(f)?));
    let linear = f.linear_values()?;
    let function = || f.name().to_string();
    let Some((ordinary, turned)) = f.results().split_at_checked(primals) else {
        let results = f.results().len();
        return Err(TransformError::Primals { function: function(), results, primals });
    };
    if let Some(result) = turned.iter().position(|v| !linear[v.index()] && !f.is_zero(*v)) {
        return Err(TransformError::NotLinear { function: function(), result: primals + result });
    }
    if let Some(result) = ordinary.iter().position(|v| linear[v.index()]) {
        return Err(TransformError::NotLinear { function: function(), result });
    }
    let mut b = Builder::new(format!("{}.t", f.name()));
    let args: Vec<Option<Value>> =
        f.params().iter().map(|p| (!p.linear).then(|| b.add_param(p.clone()))).collect();
    let mut turner = Turner::new(f, linear, &mut b, &args)?;
    for (k, result) in turned.iter().enumerate() {
        let cotangent = b.linear_param(format!("c{k}"), f.ty(*result));
        if turner.linear[result.index()] {
            turner.add(&mut b, *result, cotangent);
        }
    }
    turner.turn(&mut b)?;
    for guard in f.guards() {
        b.guard(turner.copies.of(guard.condition), guard.expected);
    }
    let mut results: Vec<Value> = ordinary.iter().map(|v| turner.copies.of(*v)).collect();
    for (param, value) in f.params().iter().zip(f.param_values()) {
        let Some(param) = value.filter(|_| param.linear) else { continue };
        results.push(turner.or_zero(&mut b, param)?);
    }
    Ok(b.finish(results))
}

/// A function whose linear part is being turned around.
pub(crate) struct Turner<'f> {
    pub(crate) f: &'f Function,
    pub(crate) linear: Vec<bool>,
    /// The values that are not linear, in the new function.
    pub(crate) copies: Copied,
    /// By value: the cotangent that has come to it so far.
    pub(crate) of: Vec<Option<Value>>,
    /// Loops that are mixed: how they are turned around, found when their ordinary part was copied.
    pub(crate) loops: Vec<Option<Turned<'f>>>,
    /// The parts of operations with bodies, until they are turned around.
    pub(crate) parts: FxHashMap<Value, Vec<Option<Value>>>,
}

impl<'f> Turner<'f> {
    /// Copies what is not linear, given the parameters that are not.
    pub(crate) fn new(
        f: &'f Function,
        linear: Vec<bool>,
        b: &mut Builder,
        args: &[Option<Value>],
    ) -> Result<Self, TransformError> {
        Turner::given(f, linear, b, args, &[])
    }

    /// [`new`](Turner::new) with some values given: they are not computed again.
    pub(crate) fn given(
        f: &'f Function,
        linear: Vec<bool>,
        b: &mut Builder,
        args: &[Option<Value>],
        given: &[(Value, Value)],
    ) -> Result<Self, TransformError> {
        let mut turner = Turner {
            f,
            linear,
            copies: Copied::new(f.len()),
            of: vec![None; f.len()],
            loops: (0..f.len()).map(|_| None).collect(),
            parts: f.all_parts(),
        };
        given.iter().for_each(|(value, copy)| turner.copies.set(*value, *copy));
        for value in f.values() {
            if turner.copies.get(value).is_some() {
                continue;
            }
            match f.op(value) {
                Op::Param(k) => {
                    if let Some(arg) = args[k as usize] {
                        turner.copies.set(value, arg);
                    }
                }
                Op::Structure(_) => turner.copy_structure(b, value)?,
                _ if !turner.linear[value.index()] => turner.copies.value(b, f, value, &[]),
                _ => {}
            }
        }
        Ok(turner)
    }

    /// Adds to the cotangent of a value; one of many entries for a scalar is summed.
    pub(crate) fn add(&mut self, b: &mut Builder, value: Value, cotangent: Value) {
        if b.function().is_zero(cotangent) {
            return;
        }
        let ty = self.f.ty(value);
        let cotangent =
            if ty.is_scalar() { b.total(cotangent, true) } else { b.fill(cotangent, ty) };
        let sum = match self.came(b, value) {
            None => cotangent,
            Some(before) => b.elementary(Opcode::Add, 0, &[before, cotangent]),
        };
        self.of[value.index()] = Some(sum);
    }

    /// The cotangent that has come to a value; none if it is zero.
    pub(crate) fn came(&self, b: &Builder, value: Value) -> Option<Value> {
        self.of[value.index()].filter(|cotangent| !b.function().is_zero(*cotangent))
    }

    /// The cotangent of a value.
    pub(crate) fn or_zero(
        &mut self,
        b: &mut Builder,
        value: Value,
    ) -> Result<Value, TransformError> {
        match self.of[value.index()] {
            Some(cotangent) => Ok(cotangent),
            None => self.zeros(b, value),
        }
    }

    /// Zeros of the type of a value. How many there are of what a loop stacked, the loop says.
    pub(crate) fn zeros(&self, b: &mut Builder, value: Value) -> Result<Value, TransformError> {
        let ty = self.f.ty(value);
        if !ty.is_unknown() {
            return Ok(b.constant(0.0, ty));
        }
        // What it was made of, as far as that is as long: an ordinary value, or a part of a loop.
        let mut at = value;
        loop {
            if let Some(copy) = self.copies.get(at).filter(|_| !self.linear[at.index()]) {
                return Ok(zeros(b, ty, |b| b.extent(copy, 0)));
            }
            let whole = match self.f.op(at) {
                Op::Part(_) => Some(self.f.operand(at, 0)),
                _ => None,
            };
            if let Some(turned) = whole.and_then(|whole| self.loops[whole.index()].as_ref()) {
                return Ok(zeros(b, ty, |_| turned.rounds));
            }
            let as_long = |v: &Value| self.f.ty(*v).dims() == ty.dims();
            match self.f.operands(at).find(as_long).filter(|_| whole.is_none()) {
                Some(operand) => at = operand,
                None => {
                    let function = self.f.name().to_string();
                    let what = format!("how many elements {ty} has is not known; give it a size");
                    return Err(TransformError::Reverse { function, what });
                }
            }
        }
    }

    /// Hands all cotangents on, from the last value to the first.
    pub(crate) fn turn(&mut self, b: &mut Builder) -> Result<(), TransformError> {
        for value in self.f.values().rev() {
            match self.f.op(value) {
                Op::Structure(_) => self.turn_structure(b, value)?,
                _ if self.linear[value.index()] => {
                    if let Some(cotangent) = self.came(b, value) {
                        self.hand_on(b, value, cotangent)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Hands the cotangent of a linear operation on to its linear operands.
    fn hand_on(
        &mut self,
        b: &mut Builder,
        value: Value,
        cotangent: Value,
    ) -> Result<(), TransformError> {
        let f = self.f;
        let args: Vec<Value> = f.operands(value).collect();
        let linear: Vec<bool> = args.iter().map(|v| self.linear[v.index()]).collect();
        let is = |k: usize| linear[k];
        match f.op(value) {
            Op::Elementary(Opcode::Neg, _) => {
                let turned = b.elementary(Opcode::Neg, 0, &[cotangent]);
                self.add(b, args[0], turned);
            }
            Op::Elementary(code @ (Opcode::Add | Opcode::Sub), _) => {
                if is(0) {
                    self.add(b, args[0], cotangent);
                }
                if is(1) {
                    let turned = match code {
                        Opcode::Sub => b.elementary(Opcode::Neg, 0, &[cotangent]),
                        _ => cotangent,
                    };
                    self.add(b, args[1], turned);
                }
            }
            Op::Elementary(code @ (Opcode::Mul | Opcode::StrongMul), _) => {
                let k = usize::from(!is(0));
                let turned = b.elementary(code, 0, &[cotangent, self.copies.of(args[1 - k])]);
                self.add(b, args[k], turned);
            }
            Op::Elementary(Opcode::Div, _) => {
                let divisor = self.copies.of(args[1]);
                let turned = b.elementary(Opcode::Div, 0, &[cotangent, divisor]);
                self.add(b, args[0], turned);
            }
            Op::Select => {
                let zero = b.constant(0.0, Type::scalar(f.ty(value).element()));
                let mask = self.copies.of(args[0]);
                for (k, [yes, no]) in [(1, [cotangent, zero]), (2, [zero, cotangent])] {
                    if is(k) {
                        let turned = b.select(mask, yes, no);
                        self.add(b, args[k], turned);
                    }
                }
            }
            Op::Cast => {
                let turned = b.cast(cotangent, f.ty(args[0]).element());
                self.add(b, args[0], turned);
            }
            Op::Fill | Op::Keep | Op::Recompute => self.add(b, args[0], cotangent),
            Op::Load => {
                let indices: Vec<Value> = args[1..].iter().map(|v| self.copies.of(*v)).collect();
                let before = self.or_zero(b, args[0])?;
                self.of[args[0].index()] = Some(b.put_add(before, cotangent, &indices));
            }
            op @ (Op::Put | Op::PutAdd) => {
                let indices: Vec<Value> = args[2..].iter().map(|v| self.copies.of(*v)).collect();
                if is(1) {
                    let turned = b.load(cotangent, &indices);
                    self.add(b, args[1], turned);
                }
                if is(0) && op == Op::Put {
                    let zero = b.constant(0.0, f.ty(value).after(indices.len()));
                    let rest = b.put(cotangent, zero, &indices);
                    self.add(b, args[0], rest);
                } else if is(0) {
                    self.add(b, args[0], cotangent);
                }
            }
            // A parameter keeps what has come to it; nothing else is linear (see `verify`).
            _ => {}
        }
        Ok(())
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
        [result] if f.ty(*result).is_float() && f.ty(*result).is_scalar() => {}
        results => {
            let (function, results) = (f.name().to_string(), results.len());
            return Err(TransformError::NotOne { function, results });
        }
    }
    let reversed = reverse_to(f, moves)?;
    let seed = reversed.params().len() - 1;
    Ok(fix(&reversed, seed, 1.0)?.renamed(format!("{}.grad", f.name())))
}
