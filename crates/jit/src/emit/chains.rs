//! Sums that a loop goes on with: what is added is rounded before it is.
//!
//! A round waits for the sum of the round before. An addition takes three cycles on many processors, a multiplication and an addition in
//! one take four, so products that do not wait for the sum are multiplied beside it. (Nested derivatives of an ascent, whose
//! way back has two sums a round and little else: 97 µs instead of 98.8.) Where there are lanes, or arrays, there is enough else to do.

use cotangent_ir::{Function, Op, Structure, Value};
use cotangent_ops::Opcode;

use super::{Emitter, Frame};

impl Emitter<'_> {
    /// Notes the sums of a loop's body that go from round to round, while that body is written: its carries are the parameters from
    /// one on. Which ones those are.
    pub(super) fn note_chains(&mut self, body: &Function, first: usize, count: usize) -> Vec<Sum> {
        let mut found = Vec::new();
        let numbers = |k: &usize| body.ty(body.results()[*k]).is_scalar();
        if self.options.contract && count <= MOST && (0..count).any(|k| numbers(&k)) {
            let alone = alone(body, first, count);
            for k in (0..count).filter(numbers).filter(|k| alone[*k]) {
                chain(body, body.results()[k], first + k, &mut found);
            }
        }
        self.chains.extend(&found);
        found
    }

    /// The body has been written.
    pub(super) fn forget_chains(&mut self, sums: &[Sum]) {
        self.chains.retain(|sum| !sums.contains(sum));
    }

    /// Whether a value is such a sum.
    pub(super) fn is_chained(&self, frame: &Frame<'_>, value: Value) -> bool {
        self.chains.contains(&(std::ptr::from_ref(frame.f), value))
    }
}

/// Loops that carry more are not looked at: one has other things to wait for.
const MOST: usize = 128;

/// A sum, by the body it stands in.
pub(super) type Sum = (*const Function, Value);

/// By carry: whether no other one that it depends on depends on it in turn. Otherwise what is added may be what everything waits for:
/// of a particle, the place waits for the velocity, which waits for the force at the place.
fn alone(body: &Function, first: usize, count: usize) -> Vec<bool> {
    let of = |k: usize| {
        let params = reads(body, body.results()[k]);
        (0..count).filter(|j| params[first + j]).fold(0_u128, |all, j| all | 1 << j)
    };
    // By carry: a bit for each one that it depends on.
    let mut on: Vec<u128> = (0..count).map(of).collect();
    for through in 0..count {
        let more = on[through];
        on.iter_mut().filter(|on| **on >> through & 1 == 1).for_each(|on| *on |= more);
    }
    let each_other = |k: usize, j: usize| on[k] >> j & 1 == 1 && on[j] >> k & 1 == 1;
    (0..count).map(|k| (0..count).all(|j| j == k || !each_other(k, j))).collect()
}

/// Adds the sum of a body that goes on with what a parameter was, if a result is one.
fn chain(f: &Function, result: Value, param: usize, found: &mut Vec<Sum>) {
    let is_carry = |v: Value| f.op(v) == Op::Param(param as u32);
    match f.op(result) {
        Op::Elementary(Opcode::Add | Opcode::Sub, _) if f.ty(result).is_scalar() => {
            let (a, b) = (f.operand(result, 0), f.operand(result, 1));
            if is_carry(a) && !reads(f, b)[param] || is_carry(b) && !reads(f, a)[param] {
                found.push((std::ptr::from_ref(f), result));
            }
        }
        Op::Part(part) => {
            let whole = f.operand(result, 0);
            let Some(structure @ Structure::If { yes, no }) = f.structure(whole) else { return };
            for (at, operand) in f.operands(whole).enumerate() {
                if let Some(inside) = structure.param_of(at).filter(|_| is_carry(operand)) {
                    for body in [yes, no] {
                        chain(body, body.results()[part as usize], inside, found);
                    }
                }
            }
        }
        _ => {}
    }
}

/// By parameter: whether a value depends on it.
fn reads(f: &Function, value: Value) -> Vec<bool> {
    let mut params = vec![false; f.params().len()];
    let mut reached = vec![false; f.len()];
    reached[value.index()] = true;
    for v in f.values().rev().filter(|v| v.index() <= value.index()) {
        if !reached[v.index()] {
            continue;
        }
        match f.op(v) {
            Op::Param(k) => params[k as usize] = true,
            Op::Part(part) => {
                let whole = f.operand(v, 0);
                match f.structure(whole) {
                    // Not on all that the branch reads.
                    Some(structure @ Structure::If { yes, no }) => {
                        reached[f.operand(whole, 0).index()] = true;
                        for body in [yes, no] {
                            let inside = reads(body, body.results()[part as usize]);
                            for (at, operand) in f.operands(whole).enumerate() {
                                let param = structure.param_of(at);
                                if param.is_some_and(|param| inside[param]) {
                                    reached[operand.index()] = true;
                                }
                            }
                        }
                    }
                    _ => reached[whole.index()] = true,
                }
            }
            _ => f.operands(v).for_each(|operand| reached[operand.index()] = true),
        }
    }
    params
}
