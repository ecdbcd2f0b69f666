//! Kernels that do something else at the ends of their domain, as stencils do: the points in between are written for
//! themselves.
//!
//! Where `max(i − 1, 0)` is an index, elements of neighbouring points lie side by side everywhere but in the first
//! vector. So a body is written twice: as it is, for the vectors at the ends, and for those between, where all that the
//! range of the index decides is decided.

use std::sync::Arc;

use cotangent_ir::ranges::{Range, decided as outcome, of_body, picked, range};
use cotangent_ir::{Function, Integral, Op, Structure, Value};
use cotangent_ops::Comparison;

/// The points that are not at the ends, in whole vectors, and the body there.
pub(super) struct Inside {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) body: Arc<Function>,
}

/// How often a body is looked at again: what one index decides may decide another.
const ROUNDS: usize = 6;

/// Fewer vectors than this are not worth a second text.
const LEAST: usize = 3;

/// The longest body that is written twice.
const MOST: usize = 400;

/// The inside of a domain along one of its dimensions, if the ends are different.
pub(super) fn inside(
    body: &Function,
    ranges: &[Range],
    dimension: usize,
    size: usize,
    width: usize,
) -> Option<Inside> {
    if size < LEAST * width || body.operations() > MOST {
        return None;
    }
    let (n, near) = (size as i64, width as i64);
    let (mut first, mut last) = (0, n);
    let mut ranges = ranges.to_vec();
    let mut now: Option<Function> = None;
    for _ in 0..ROUNDS {
        let mut cuts = Vec::new();
        borders(now.as_ref().unwrap_or(body), &[(dimension, 0)], &mut cuts);
        let before = (first, last);
        for cut in cuts {
            if cut > first && cut <= near {
                first = cut;
            } else if cut < last && cut >= n - near {
                last = cut;
            }
        }
        if before == (first, last) {
            break;
        }
        ranges[dimension] = Some((first, last - 1));
        now = Some(decided(now.as_ref().unwrap_or(body), &ranges));
    }
    // In whole vectors.
    let from = (first as usize).next_multiple_of(width);
    let to = last as usize / width * width;
    let body = now.filter(|_| to >= from + LEAST.saturating_sub(1) * width)?;
    Some(Inside { from, to, body: Arc::new(body) })
}

/// Where along an index something is decided otherwise: the first index of the other way. `known` has the parameters that are
/// the index and something added.
fn borders(f: &Function, known: &[(usize, i64)], cuts: &mut Vec<i64>) {
    let at = |v: Value| match f.op(v) {
        Op::Param(k) => known.iter().find(|(param, _)| *param == k as usize).map(|(_, c)| *c),
        _ => None,
    };
    let constant = |v: Value| match f.op(v) {
        Op::Integer(c) => Some(c),
        _ => None,
    };
    // i + c
    let mut shifted: Vec<Option<i64>> = Vec::with_capacity(f.len());
    for value in f.values() {
        let operands: Vec<Value> = f.operands(value).collect();
        let of = |k: usize| shifted.get(operands[k].index()).copied().flatten();
        shifted.push(match f.op(value) {
            Op::Param(_) => at(value),
            Op::Integral(Integral::Add) => match (of(0), constant(operands[1])) {
                (Some(c), Some(d)) => c.checked_add(d),
                _ => None,
            },
            Op::Integral(Integral::Sub) => match (of(0), constant(operands[1])) {
                (Some(c), Some(d)) => c.checked_sub(d),
                _ => None,
            },
            _ => None,
        });
        if let Some(structure) = f.structure(value) {
            let mut inner: Vec<(usize, i64)> = Vec::new();
            for (k, operand) in operands.iter().enumerate() {
                let shift = shifted.get(operand.index()).copied().flatten();
                inner.extend(structure.param_of(k).zip(shift));
            }
            let (own, _) = structure.own_params();
            // What a loop carries does not stay.
            inner.retain(|(param, _)| *param >= own);
            if !inner.is_empty() {
                structure.bodies().for_each(|body| borders(body, &inner, cuts));
            }
        }
        let [x, y] = operands[..] else { continue };
        let (first, second) = (shifted[x.index()], shifted[y.index()]);
        let (c, m, turned) = match (first, constant(y), second, constant(x)) {
            (Some(c), Some(m), ..) => (c, m, false),
            (.., Some(c), Some(m)) => (c, m, true),
            _ => continue,
        };
        let Some(cut) = m.checked_sub(c) else { continue };
        let next = cut.saturating_add(1);
        match f.op(value) {
            Op::Integral(Integral::Max | Integral::Min) => cuts.push(cut),
            Op::Compare(Comparison::Equal | Comparison::Differ) => cuts.extend([cut, next]),
            Op::Compare(Comparison::Less | Comparison::AtLeast) => {
                cuts.push(if turned { next } else { cut });
            }
            Op::Compare(Comparison::AtMost | Comparison::Greater) => {
                cuts.push(if turned { cut } else { next });
            }
            _ => {}
        }
    }
}

/// A body with what the ranges of its parameters decide.
fn decided(f: &Function, ranges: &[Range]) -> Function {
    f.rebuilt(|b, copies, value| {
        let operands: Vec<Value> = f.operands(value).collect();
        let of = |k: usize| range(f, operands[k], ranges);
        let new = match f.op(value) {
            Op::Integral(integral @ (Integral::Max | Integral::Min)) => {
                let (Some(x), Some(y)) = (of(0), of(1)) else { return false };
                let Some(first) = picked(integral, x, y) else { return false };
                let one = operands[usize::from(!first)];
                // A number that wins over an array is not the array of it.
                if f.ty(one) != f.ty(value) {
                    return false;
                }
                copies.of(one)
            }
            Op::Compare(comparison) => {
                if !f.ty(operands[0]).element().is_integer() || !f.ty(value).is_scalar() {
                    return false;
                }
                let (Some(x), Some(y)) = (of(0), of(1)) else { return false };
                let Some(truth) = outcome(comparison, x, y) else { return false };
                b.truth(truth)
            }
            Op::Structure(_) => {
                let Some(structure) = f.structure(value) else { return false };
                if structure.is_named() || matches!(structure, Structure::Derive(_)) {
                    return false;
                }
                let count = structure.bodies().next().map_or(0, |body| body.params().len());
                let inner = of_body(f, structure, &operands, ranges, count);
                let new = structure.with_bodies(|body| Arc::new(decided(body, &inner)));
                let operands = copies.operands(f, value);
                copies.set_parts(value, b.structure(new, &operands));
                return true;
            }
            _ => return false,
        };
        copies.set(value, new);
        true
    })
}
