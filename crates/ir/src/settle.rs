//! Zeros where something linear is expected and no tangent goes in.
//!
//! A transformation may find that a tangent is zero. What is linear in it is then zero as well, but need not look
//! like it: `put` of zero into zeros, the product of zero and a coefficient. The verifier knows zeros by their
//! looks, so they are written as what they are.

use std::convert::Infallible;
use std::sync::Arc;

use cotangent_ops::Opcode;

use crate::build::Builder;
use crate::function::{Function, Value};
use crate::op::Op;
use crate::structure::Structure;
use crate::types::Dim;

/// Which values of a function in the making are linear, as far as they have been asked for.
#[derive(Default)]
pub struct LinearValues {
    known: Vec<bool>,
}

impl LinearValues {
    /// Whether a value is linear: whether something linear goes into it.
    pub fn is(&mut self, f: &Function, value: Value) -> bool {
        for v in f.values().skip(self.known.len()).take_while(|v| *v <= value) {
            let linear = match f.op(v) {
                Op::Param(k) => f.params()[k as usize].linear,
                Op::Part(k) => f
                    .structure(f.operand(v, 0))
                    .and_then(|s| s.linear_parts().ok())
                    .is_some_and(|parts| parts.get(k as usize) == Some(&true)),
                _ => f.ty(v).is_float() && f.operands(v).any(|o| self.known[o.index()]),
            };
            self.known.push(linear);
        }
        self.known[value.index()]
    }

    /// The value, or zero if nothing linear goes into it.
    fn or_zero(&mut self, b: &mut Builder, value: Value) -> Value {
        let ty = b.ty(value);
        let fits = self.is(b.function(), value) || b.function().is_zero(value);
        if fits || !ty.is_float() || ty.dims().contains(&Dim::Any) {
            return value;
        }
        b.constant(0.0, ty)
    }
}

impl Function {
    /// The function with zeros where something linear is expected and nothing linear goes in, in its bodies
    /// as well.
    ///
    /// ```
    /// use cotangent_ir::{Builder, Type};
    /// use cotangent_ops::Opcode;
    ///
    /// let mut b = Builder::new("f");
    /// let (x, t) = (b.param("x", Type::F64), b.linear_param("t", Type::F64));
    /// let zero = b.constant(0.0, Type::F64);
    /// let product = b.elementary(Opcode::Mul, 0, &[x, zero]);
    /// let sum = b.elementary(Opcode::Add, 0, &[product, t]);
    /// let f = b.finish(vec![sum]);
    /// assert!(f.verify().is_err());
    /// f.settled().verify().unwrap();
    /// ```
    #[must_use]
    pub fn settled(&self) -> Function {
        if self.has_linear_params() { settled(self, &[], &[]) } else { self.clone() }
    }

    fn has_linear_params(&self) -> bool {
        let inside = |s: &Structure| s.bodies().any(|body| body.has_linear_params());
        self.params.iter().any(|p| p.linear) || self.structures.iter().any(inside)
    }
}

impl Structure {
    /// The same with its bodies [settled](Function::settled), their results as well: what is carried as
    /// something linear, or is in one branch, is linear or zero.
    #[must_use]
    pub fn settled(&self) -> Structure {
        if self.bodies().any(|body| body.has_linear_params()) {
            with_settled_bodies(self, &[])
        } else {
            self.clone()
        }
    }
}

/// With zeros for results that are wanted to be linear, too, and for elements of parameters that are zero.
fn settled(f: &Function, wanted: &[bool], zeros: &[bool]) -> Function {
    let mut linear = LinearValues::default();
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let written = f.write_into(&mut b, &args, |b, copies, value| {
        if let Some(structure) = f.structure(value) {
            let mut operands = copies.operands(f, value);
            // Zeros of a size that is not known stay where they are; their elements do not.
            let mut zeros = vec![false; structure.params().len()];
            for (k, operand) in operands.iter().enumerate() {
                if let Some(zero) = structure.param_of(k).and_then(|k| zeros.get_mut(k)) {
                    *zero = k >= structure.lead() + structure.own_params().1
                        && b.ty(*operand).is_unknown()
                        && b.function().is_zero(*operand);
                }
            }
            let structure = with_settled_bodies(structure, &zeros);
            for (k, operand) in operands.iter_mut().enumerate() {
                let param = structure.param_of(k).and_then(|k| structure.params().get(k));
                if !structure.is_named() && param.is_some_and(|p| p.linear) {
                    *operand = linear.or_zero(b, *operand);
                }
            }
            let parts = b.structure(structure, &operands);
            copies.set_parts(value, parts);
            return Ok(true);
        }
        // What is added up is linear as a whole or not at all.
        let addends = match f.op(value) {
            Op::Elementary(Opcode::Add | Opcode::Sub, _) | Op::Put | Op::PutAdd => 0..2,
            Op::Select => 1..3,
            Op::Load => {
                let of_zeros = match f.op(f.operand(value, 0)) {
                    Op::Param(k) => zeros.get(k as usize) == Some(&true),
                    _ => false,
                };
                if of_zeros {
                    let zero = b.constant(0.0, f.ty(value));
                    copies.set(value, zero);
                }
                return Ok(of_zeros);
            }
            _ => return Ok::<_, Infallible>(false),
        };
        let mut operands = copies.operands(f, value);
        if operands[addends.clone()].iter().any(|v| linear.is(b.function(), *v)) {
            for operand in &mut operands[addends] {
                *operand = linear.or_zero(b, *operand);
            }
        }
        let new = b.copy(f.op(value), f.ty(value), &operands);
        copies.set(value, new);
        Ok(true)
    });
    let Ok(mut results) = written;
    for (result, wanted) in results.iter_mut().zip(wanted) {
        if *wanted {
            *result = linear.or_zero(&mut b, *result);
        }
    }
    b.finish(results).with_rule_of(f)
}

fn with_settled_bodies(structure: &Structure, zeros: &[bool]) -> Structure {
    let wanted: Vec<bool> = match structure {
        Structure::Call { .. } | Structure::Derive(_) => return structure.clone(),
        // What one branch gives that is linear, the other does.
        Structure::If { yes, no } => {
            let of = |f: &Function| -> Vec<bool> {
                let mut linear = LinearValues::default();
                f.results().iter().map(|v| linear.is(f, *v)).collect()
            };
            of(yes).iter().zip(of(no)).map(|(a, b)| *a || b).collect()
        }
        other => {
            let (own, handed) = other.own_params();
            other.params()[own - handed..own].iter().map(|p| p.linear).collect()
        }
    };
    let condition = match structure {
        Structure::While { condition, .. } => Some(condition.clone()),
        _ => None,
    };
    structure.with_bodies(|body| match &condition {
        Some(condition) if Arc::ptr_eq(condition, body) => Arc::new(settled(body, &[], zeros)),
        _ => Arc::new(settled(body, &wanted, zeros)),
    })
}
