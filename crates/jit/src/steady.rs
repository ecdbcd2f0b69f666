//! Powers of two in products stand with the factor that the rounds of a loop, or the points of a kernel, share.
//!
//! Of `(a·x)·2` with an `a` that stays, LLVM computes `a·2` once, if it is written `(a·2)·x`. All digits are the same as far as
//! [`scales`](crate::scales) are, which is why this is part of contraction, too.

use std::sync::Arc;

use cotangent_ir::{Function, Op, Structure, Value};
use cotangent_ops::Opcode;

use crate::scales::power_of_two;

/// The function with powers of two in their places, in all bodies.
pub(crate) fn steady(f: &Function) -> Function {
    within(f, &vec![false; f.params().len()])
}

/// The same of a body some of whose parameters stay from round to round.
fn within(f: &Function, stays: &[bool]) -> Function {
    let mut steady: Vec<bool> = Vec::with_capacity(f.len());
    for value in f.values() {
        let own = match f.op(value) {
            Op::Param(k) => stays[k as usize],
            _ => f.operands(value).all(|v| steady[v.index()]),
        };
        steady.push(own);
    }
    let mut uses = vec![0usize; f.len()];
    let operands = f.values().flat_map(|v| f.operands(v));
    operands.chain(f.results().iter().copied()).for_each(|v| uses[v.index()] += 1);
    f.rebuilt(|b, copies, value| {
        if let Some(structure) = f.structure(value) {
            let operands: Vec<Value> = f.operands(value).collect();
            let new = match structure {
                Structure::Call { .. } | Structure::Derive(_) => return false,
                _ => structure.with_bodies(|body| {
                    let inside: Vec<bool> = (0..body.params().len())
                        .map(|k| handed(structure, k, &operands, &steady))
                        .collect();
                    Arc::new(within(body, &inside))
                }),
            };
            let operands = copies.operands(f, value);
            copies.set_parts(value, b.structure(new, &operands));
            return true;
        }
        let Some((product, scale)) = scaled(f, value) else { return false };
        let (x, y) = (f.operand(product, 0), f.operand(product, 1));
        let (stays, moves) = match (steady[x.index()], steady[y.index()]) {
            (true, false) => (x, y),
            (false, true) => (y, x),
            _ => return false,
        };
        if uses[product.index()] > 1
            || f.op(stays).is_leaf() && !matches!(f.op(stays), Op::Param(_))
        {
            return false;
        }
        let scaled = b.elementary(Opcode::Mul, 0, &[copies.of(stays), copies.of(scale)]);
        let new = b.elementary(Opcode::Mul, 0, &[scaled, copies.of(moves)]);
        copies.set(value, new);
        true
    })
}

/// Whether a parameter of a body is the same for all rounds or points.
fn handed(structure: &Structure, param: usize, operands: &[Value], steady: &[bool]) -> bool {
    let (own, _) = structure.own_params();
    let of = structure.operand_of(param).and_then(|o| operands.get(o));
    match structure {
        Structure::If { .. } => of.is_some_and(|v| steady[v.index()]),
        _ => param >= own && of.is_some(),
    }
}

/// A number that is a product of two numbers times a small power of two: the product and the power.
fn scaled(f: &Function, value: Value) -> Option<(Value, Value)> {
    let is_product = |v: Value| f.op(v) == Op::Elementary(Opcode::Mul, 0) && f.ty(v).is_scalar();
    if !is_product(value) {
        return None;
    }
    let (x, y) = (f.operand(value, 0), f.operand(value, 1));
    let power = |v: Value| power_of_two(f, v).is_some();
    match (is_product(x) && power(y), is_product(y) && power(x)) {
        (true, _) => Some((x, y)),
        (_, true) => Some((y, x)),
        _ => None,
    }
}
