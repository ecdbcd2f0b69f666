//! Signs and powers of two pulled out of products, so that products are shared and short.
//!
//! Formulas of derivatives are full of factors such as 2, ½ and −1, each where its own formula puts it: of `(2x·½r)·(−r²)` and
//! `(2y·½r)·(−r²)` a person writes `−x·r·r²` and `−y·r·r²`. Here a number is written as a base and a scale, plus or minus a small
//! power of two. Products multiply scales, sums of equal scales keep them, and what knows nothing of scales gets the number
//! itself. A product with a power of two rounds nowhere, so all digits are the same, except where a number or a base leaves
//! the range of normal numbers: that is why scales are small ([`MOST`]), and why this is part of contraction. The sign of a zero is not
//! kept, as by the rules of class zero. What is added to a target of an accumulation stays as it is: nothing else may be done there.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Op, Structure, Value};
use cotangent_ops::Opcode;

/// The largest scale; the smallest is its inverse. Only numbers this close to the ends of the range can come out otherwise.
const MOST: f64 = 8.0;

/// The function with scales pulled out, in all bodies in which that takes fewer operations.
pub(crate) fn unscaled(f: &Function) -> Function {
    within(f, &[])
}

/// The same of a body some of whose parameters are targets of an accumulation.
fn within(f: &Function, targets: &[bool]) -> Function {
    let targeted = targeted(f, targets);
    let inner = f.rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value).filter(|s| is_open(s)) else { return false };
        let operands: Vec<Value> = f.operands(value).collect();
        let (own, handed) = structure.own_params();
        let new = structure.with_bodies(|body| {
            let inside: Vec<bool> = (0..body.params().len())
                .map(|k| {
                    let target = matches!(structure, Structure::Acc { .. })
                        && (own - handed..own).contains(&k);
                    let outside = structure.operand_of(k).and_then(|o| operands.get(o));
                    target || outside.is_some_and(|v| targeted[v.index()])
                })
                .collect();
            Arc::new(within(body, &inside))
        });
        let operands = copies.operands(f, value);
        copies.set_parts(value, b.structure(new, &operands));
        true
    });
    let scalars = |f: &Function| {
        f.values()
            .filter(|v| f.ty(*v).is_scalar() && matches!(f.op(*v), Op::Elementary(..)))
            .count()
    };
    if scalars(&inner) == 0 {
        return inner;
    }
    let new = Scaled::new(&inner, targets).written();
    if scalars(&new) < scalars(&inner) { new } else { inner }
}

/// By value: whether it is a target, or made of one.
fn targeted(f: &Function, targets: &[bool]) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(f.len());
    for value in f.values() {
        let own = match f.op(value) {
            Op::Param(k) => targets.get(k as usize).copied().unwrap_or(false),
            _ => f.operands(value).any(|v| found[v.index()]),
        };
        found.push(own);
    }
    found
}

/// What is known by its name stays what it is.
fn is_open(structure: &Structure) -> bool {
    !matches!(structure, Structure::Call { .. } | Structure::Derive(_))
}

/// A number as base and scale.
#[derive(Clone, Copy)]
struct Number {
    base: Value,
    scale: f64,
}

struct Scaled<'f> {
    f: &'f Function,
    b: Builder,
    /// The numbers themselves, as far as somebody needed them.
    copies: Copied,
    numbers: Vec<Option<Number>>,
    targeted: Vec<bool>,
}

impl<'f> Scaled<'f> {
    fn new(f: &'f Function, targets: &[bool]) -> Self {
        let (b, copies) = (Builder::new(f.name()), Copied::new(f.len()));
        let targeted = targeted(f, targets);
        Scaled { f, b, copies, numbers: vec![None; f.len()], targeted }
    }

    fn written(mut self) -> Function {
        let f = self.f;
        let args = self.b.params_of(f.params());
        for value in f.values() {
            match self.number(value) {
                Some(number) => self.numbers[value.index()] = Some(number),
                None => {
                    f.operands(value).for_each(|v| self.itself(v));
                    self.copies.value(&mut self.b, f, value, &args);
                }
            }
        }
        for guard in f.guards() {
            self.itself(guard.condition);
            self.b.guard(self.copies.of(guard.condition), guard.expected);
        }
        f.results().iter().for_each(|v| self.itself(*v));
        let results = f.results().iter().map(|v| self.copies.of(*v)).collect();
        self.b.finish(results)
    }

    /// The number itself is there, if it was not.
    fn itself(&mut self, value: Value) {
        if self.copies.get(value).is_none()
            && let Some(number) = self.numbers[value.index()]
        {
            let copy = self.times(number.base, number.scale);
            self.copies.set(value, copy);
        }
    }

    fn times(&mut self, x: Value, scale: f64) -> Value {
        if scale == 1.0 {
            return x;
        }
        if scale == -1.0 {
            return self.b.elementary(Opcode::Neg, 0, &[x]);
        }
        let ty = self.b.ty(x);
        let scale = self.b.constant(scale, ty);
        self.b.elementary(Opcode::Mul, 0, &[x, scale])
    }

    /// An operand as base and scale.
    fn of(&mut self, value: Value) -> Number {
        if let Some(number) = self.numbers[value.index()] {
            return number;
        }
        self.plain(value)
    }

    /// An operand as it is.
    fn plain(&mut self, value: Value) -> Number {
        self.itself(value);
        Number { base: self.copies.of(value), scale: 1.0 }
    }

    /// A value as base and scale, if it is an operation that knows of scales.
    fn number(&mut self, value: Value) -> Option<Number> {
        let f = self.f;
        let Op::Elementary(code, _) = f.op(value) else { return None };
        if !f.ty(value).is_scalar() || self.targeted[value.index()] {
            return None;
        }
        let operands: Vec<Value> = f.operands(value).collect();
        let mut of = Vec::with_capacity(operands.len());
        for operand in &operands {
            of.push(self.of(*operand));
        }
        let mut scale = match (code, &of[..]) {
            (Opcode::Neg, [x]) => return Some(Number { scale: -x.scale, ..*x }),
            (Opcode::Mul, [x, y]) => {
                if let Some(c) = power_of_two(self.b.function(), y.base) {
                    let scale = x.scale * y.scale * c;
                    if is_small(scale) {
                        return Some(Number { scale, ..*x });
                    }
                }
                let scale = x.scale * y.scale;
                match self.known(y.base) {
                    Some(c) if c < 0.0 => {
                        let ty = self.b.ty(y.base);
                        of[1].base = self.b.constant(-c, ty);
                        -scale
                    }
                    _ => scale,
                }
            }
            (Opcode::StrongMul, [x, y]) => x.scale * y.scale,
            (Opcode::Div, [x, y]) => x.scale / y.scale,
            (Opcode::Recip, [x]) => 1.0 / x.scale,
            (Opcode::Abs, [x]) => x.scale.abs(),
            (Opcode::Sqrt, [x]) if x.scale > 0.0 && x.scale.sqrt().log2().fract() == 0.0 => {
                x.scale.sqrt()
            }
            (Opcode::Add | Opcode::Sub, [x, y]) => return Some(self.sum(code, *x, *y)),
            _ => return None,
        };
        if !is_small(scale) {
            scale = 1.0;
            of = operands.iter().map(|v| self.plain(*v)).collect();
        }
        let bases: Vec<Value> = of.iter().map(|x| x.base).collect();
        Some(Number { base: self.b.elementary(code, 0, &bases), scale })
    }

    /// A sum or a difference: of the larger scale that is nearer to one.
    fn sum(&mut self, code: Opcode, x: Number, y: Number) -> Number {
        let other = if code == Opcode::Add { y.scale } else { -y.scale };
        let signed = |ratio: f64| if ratio > 0.0 { Opcode::Add } else { Opcode::Sub };
        if x.scale.abs() == other.abs() {
            let base = self.b.elementary(signed(other / x.scale), 0, &[x.base, y.base]);
            return Number { base, scale: x.scale };
        }
        // One of them is scaled: a fused product and sum.
        let far = |scale: f64| scale.abs().log2().abs();
        if far(x.scale) <= far(other) {
            let ratio = other / x.scale;
            let y = self.times(y.base, ratio.abs());
            let base = self.b.elementary(signed(ratio), 0, &[x.base, y]);
            Number { base, scale: x.scale }
        } else {
            let ratio = x.scale / other;
            let x = self.times(x.base, ratio.abs());
            let base = self.b.elementary(signed(ratio), 0, &[y.base, x]);
            Number { base, scale: other }
        }
    }

    fn known(&self, value: Value) -> Option<f64> {
        known(self.b.function(), value)
    }
}

fn known(f: &Function, value: Value) -> Option<f64> {
    match f.op(value) {
        Op::Constant(bits) => Some(f64::from_bits(bits)),
        _ => None,
    }
}

/// Plus or minus a small power of two that a value is known to be.
pub(crate) fn power_of_two(f: &Function, value: Value) -> Option<f64> {
    known(f, value).filter(|c| is_small(*c) && c.to_bits() & ((1 << 52) - 1) == 0)
}

fn is_small(scale: f64) -> bool {
    (1.0 / MOST..=MOST).contains(&scale.abs())
}
