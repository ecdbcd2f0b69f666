//! What does not depend on the round goes out of the loop, and out of the kernel.
//!
//! Whole kernels, too: a sum inside a loop over the same array is computed once. What could go wrong (a
//! load out of range) goes out only if the body is run at least once.

use std::sync::Arc;

use cotangent_ir::ranges::{Range, in_range, of_body};
use cotangent_ir::{Builder, Copied, Dim, Function, Op, Param, Reducer, Structure, Value};

use crate::rewrite::bound;
use crate::stats::Tally;
use crate::visit::{Site, copy_into, rebuild};

/// The function with all that can be out of its bodies out of them.
pub(crate) fn hoist(f: &Function, tally: &mut Tally) -> Function {
    rebuild(f, &mut |b, site| {
        let parts = out_of(b, site)?;
        tally.structural("hoist", site.structure.name(), "what does not depend on it before it");
        Some(parts)
    })
}

/// Whether the body is run at least once for certain.
fn runs(b: &Builder, site: &Site<'_>) -> bool {
    match site.structure {
        Structure::For { .. } => b.known_integer(site.operands[0]).is_some_and(|n| n > 0),
        Structure::While { .. } => false,
        other => other.domain().iter().all(|dim| matches!(dim, Dim::Size(n) if *n > 0)),
    }
}

fn out_of(b: &mut Builder, site: &Site<'_>) -> Option<Vec<Value>> {
    let structure = site.structure;
    if matches!(structure, Structure::If { .. }) || structure.is_named() {
        return None;
    }
    let (own, _) = structure.own_params();
    let runs = runs(b, site);
    // By body: the values that go out.
    let mut chosen: Vec<Vec<Value>> = Vec::new();
    for (k, body) in structure.bodies().enumerate() {
        // The condition of a `while` comes first and is always asked for once.
        let once = runs || (k == 0 && matches!(structure, Structure::While { .. }));
        chosen.push(invariant(body, own, once));
    }
    take_out(b, site, &chosen)
}

/// Values of a body that are needed in it and could be computed outside.
fn invariant(body: &Function, own: usize, runs: bool) -> Vec<Value> {
    let mut outer = vec![false; body.len()];
    let none: Vec<Range> = vec![None; body.params().len()];
    for value in body.values() {
        outer[value.index()] = match body.op(value) {
            Op::Param(k) => k as usize >= own,
            _ => {
                body.operands(value).all(|v| outer[v.index()])
                    && (runs || !may_fail(body, value, &none, &[]))
            }
        };
    }
    frontier(body, &outer)
}

/// Of the values that could be outside, those that are used inside.
fn frontier(body: &Function, outer: &[bool]) -> Vec<Value> {
    let mut needed = vec![false; body.len()];
    body.results().iter().for_each(|v| needed[v.index()] = true);
    let mut found = Vec::new();
    for value in body.values().rev() {
        if !needed[value.index()] || body.op(value).is_leaf() {
            continue;
        }
        if !outer[value.index()] || is_made_in_place(body, value) {
            body.operands(value).for_each(|v| needed[v.index()] = true);
        } else {
            found.push(value);
        }
    }
    found.reverse();
    found
}

/// Whether a value is made where it is needed. Arrays of one value are: there they can be written to, and zeros are
/// seen to be zeros, as something linear may have to be.
pub(crate) fn is_made_in_place(body: &Function, value: Value) -> bool {
    matches!(body.op(value), Op::Fill | Op::Extent(_) | Op::Structure(_)) || body.is_zero(value)
}

/// The operation with some values of its bodies as captures, computed before it.
pub(crate) fn take_out(
    b: &mut Builder,
    site: &Site<'_>,
    chosen: &[Vec<Value>],
) -> Option<Vec<Value>> {
    if chosen.iter().all(Vec::is_empty) {
        return None;
    }
    let structure = site.structure;
    let (own, _) = structure.own_params();
    let mut operands = site.operands.to_vec();
    let mut extra: Vec<Param> = Vec::new();
    for (body, values) in structure.bodies().zip(chosen) {
        let linear = body.linear_values().ok()?;
        let args: Vec<Option<Value>> = (0..body.params().len())
            .map(|k| {
                let operand = structure.operand_of(k).filter(|_| k >= own)?;
                site.operands.get(operand).copied()
            })
            .collect();
        let mut copies = Copied::new(body.len());
        copy_into(b, body, &mut copies, &args, values);
        for value in values {
            operands.push(copies.of(*value));
            let linear = linear[value.index()];
            extra.push(Param { name: "h".to_string(), ty: body.ty(*value), linear });
        }
    }
    let mut first = 0;
    let mut chosen = chosen.iter();
    let new = structure.with_bodies(|body| {
        let mut inner = Builder::new(body.name());
        let params = inner.params_of(body.params());
        let fresh = inner.params_of(&extra);
        let mut copies = Copied::new(body.len());
        let values = chosen.next().map(Vec::as_slice).unwrap_or_default();
        for (value, param) in values.iter().zip(&fresh[first..]) {
            copies.set(*value, *param);
        }
        first += values.len();
        let args: Vec<Option<Value>> = params.into_iter().map(Some).collect();
        copy_into(&mut inner, body, &mut copies, &args, body.results());
        let results = body.results().iter().map(|v| copies.of(*v)).collect();
        Arc::new(inner.finish(results))
    });
    Some(b.structure(new, &operands))
}

/// Whether an operation can go wrong: a place out of range, a loop without end, a guard.
pub(crate) fn may_fail(f: &Function, value: Value, ranges: &[Range], domain: &[Dim]) -> bool {
    match f.op(value) {
        op @ (Op::Load | Op::Put | Op::PutAdd) => {
            let skip = if op == Op::Load { 1 } else { 2 };
            let indices: Vec<Value> = f.operands(value).skip(skip).collect();
            !in_range(f, f.ty(f.operand(value, 0)), &indices, ranges, domain)
        }
        Op::Structure(_) => {
            let Some(structure) = f.structure(value) else { return true };
            let operands: Vec<Value> = f.operands(value).collect();
            let inner = match structure {
                Structure::While { .. } => return true,
                Structure::Call { function } if !function.guards().is_empty() => return true,
                Structure::Red { reducer: Reducer::ArgMax | Reducer::ArgMin, dims, .. }
                    if !dims.iter().all(|dim| matches!(dim, Dim::Size(n) if *n > 0)) =>
                {
                    return true;
                }
                Structure::For { .. } => bound(f, &operands).into_iter().collect(),
                other => other.domain().to_vec(),
            };
            structure.bodies().any(|body| {
                let ranges = of_body(f, structure, &operands, ranges, body.params().len());
                body.values().any(|v| may_fail(body, v, &ranges, &inner))
            })
        }
        _ => false,
    }
}
