//! Accumulations at places that are found by a search, as two kernels: a table of what the search finds, and the
//! accumulation that looks it up.
//!
//! Lanes that add at places nobody knows add one after the other. What is computed before need not: the nearest of many
//! centres is found for several points at a time, then the points are added one by one.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Param, Structure, Value};
use rustc_hash::FxHashMap;

use crate::kernels::rewritten;

/// The most numbers that the table has.
const MOST: usize = 1 << 24;

/// A kernel that takes fewer operations stays where it is.
const LEAST: f64 = 64.0;

/// The function with such accumulations taken apart, also in loops and branches.
pub(crate) fn apart(f: &Function) -> Function {
    rewritten(f, &|b, structure, operands| match structure {
        Structure::Acc { targets, body, .. } => two(b, structure, *targets, body, operands),
        _ => None,
    })
}

/// An accumulation as a table and an accumulation.
fn two(
    b: &mut Builder,
    structure: &Structure,
    targets: usize,
    body: &Function,
    operands: &[Value],
) -> Option<Vec<Value>> {
    let dims = structure.domain();
    let rank = dims.len();
    let own = |k: usize| (rank..rank + targets).contains(&k);
    // What comes from the targets stays.
    let mut added = vec![false; body.len()];
    for value in body.values() {
        added[value.index()] = match body.op(value) {
            Op::Param(k) => own(k as usize),
            _ => body.operands(value).any(|v| added[v.index()]),
        };
    }
    let found: Vec<Value> = body
        .values()
        .filter(|v| {
            let whole = if let Op::Part(_) = body.op(*v) { body.operand(*v, 0) } else { *v };
            matches!(body.structure(whole), Some(Structure::Red { .. }))
                && whole != *v
                && body.ty(*v).is_scalar()
                && !added[v.index()]
                && body.cost_of(whole).total() >= LEAST
        })
        .collect();
    let points = dims.iter().try_fold(1usize, |all, dim| match dim {
        Dim::Size(n) => all.checked_mul(*n),
        _ => None,
    })?;
    if found.is_empty() || points.saturating_mul(found.len()) > MOST || !places(body, &found) {
        return None;
    }
    // The table.
    let mut needed = vec![false; body.len()];
    found.iter().for_each(|v| needed[v.index()] = true);
    for k in (0..body.len()).rev() {
        let Some(value) = body.values().nth(k).filter(|_| needed[k]) else { continue };
        body.operands(value).for_each(|v| needed[v.index()] = true);
    }
    let mut first = Builder::new(body.name());
    let indices = first.params_of(&body.params()[..rank]);
    let captures = first.params_of(&body.params()[rank + targets..]);
    let nothing = indices.first().copied()?;
    let args: Vec<Value> = [&indices[..], &vec![nothing; targets][..], &captures[..]].concat();
    let mut copies = Copied::new(body.len());
    for value in body.values().filter(|v| needed[v.index()]) {
        copies.value(&mut first, body, value, &args);
    }
    let results = found.iter().map(|v| copies.of(*v)).collect();
    let table = Structure::Tab { dims: dims.to_vec(), body: Arc::new(first.finish(results)) };
    let tables = b.structure(table, &operands[targets..]);
    // The accumulation.
    let mut second = Builder::new(body.name());
    let args = second.params_of(body.params());
    let mut known: FxHashMap<Value, Value> = FxHashMap::default();
    for (value, table) in found.iter().zip(&tables) {
        let name = "found".to_string();
        let param = second.add_param(Param { name, ty: b.ty(*table), linear: false });
        let entry = second.load(param, &args[..rank]);
        known.insert(*value, entry);
    }
    let Ok(results) = body.write_into(&mut second, &args, |_, copies, value| {
        if let Some(entry) = known.get(&value) {
            copies.set(value, *entry);
        }
        Ok::<bool, std::convert::Infallible>(known.contains_key(&value))
    });
    let body = Arc::new(second.finish(results));
    let acc = Structure::Acc { dims: dims.to_vec(), targets, body };
    Some(b.structure(acc, &[operands, &tables[..]].concat()))
}

/// Whether something is added at a place that depends on some values.
fn places(f: &Function, on: &[Value]) -> bool {
    let mut depends = vec![false; f.len()];
    on.iter().for_each(|v| depends[v.index()] = true);
    f.values().any(|value| {
        let operands: Vec<Value> = f.operands(value).collect();
        depends[value.index()] |= operands.iter().any(|v| depends[v.index()]);
        let depends = |v: &Value| depends[v.index()];
        match (f.op(value), f.structure(value)) {
            (Op::PutAdd, _) => operands[2..].iter().any(depends),
            (_, Some(structure)) => structure.bodies().any(|body| {
                let inner = operands.iter().enumerate().filter(|(_, v)| depends(v));
                let inner: Vec<usize> = inner.filter_map(|(k, _)| structure.param_of(k)).collect();
                let params = body.values().filter(|v| match body.op(*v) {
                    Op::Param(k) => inner.contains(&(k as usize)),
                    _ => false,
                });
                places(body, &params.collect::<Vec<Value>>())
            }),
            _ => false,
        }
    })
}
