//! Accumulations in which every index of one dimension has rows of the targets to itself, as tables of accumulations.
//!
//! `acc (i, j) c[i, …] += v` is `tab (i) acc (j) row[…] += v`: what lanes add together is then a row, which they can have
//! copies of, and threads can share the rows out. Rows begin as nothing and are added to what was there.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Param, Structure, Type, Value};
use cotangent_ops::Opcode;

use crate::blocks::work;
use crate::kernels::rewritten;

/// A row is filled and added once; that must be little beside the points that are added to it.
const ELEMENT: f64 = 4.0;

/// The function with accumulations of rows as tables, also in loops and branches.
pub(crate) fn by_rows(f: &Function) -> Function {
    rewritten(f, &|b, structure, operands| match structure {
        Structure::Acc { dims, targets, body } => {
            (0..dims.len()).find_map(|k| table(b, dims, *targets, body, k, operands))
        }
        _ => None,
    })
}

/// An accumulation as a table over one of its dimensions.
fn table(
    b: &mut Builder,
    dims: &[Dim],
    targets: usize,
    body: &Function,
    dimension: usize,
    operands: &[Value],
) -> Option<Vec<Value>> {
    let rank = dims.len();
    let types: Vec<Type> = operands[..targets].iter().map(|v| b.ty(*v)).collect();
    if targets == 0 || types.iter().any(|ty| ty.dims().first() != Some(&dims[dimension])) {
        return None;
    }
    let rows: Vec<Type> = types.iter().map(|ty| ty.after(1)).collect();
    let rest: Vec<Dim> = (0..rank).filter(|k| *k != dimension).map(|k| dims[k]).collect();
    let elements = rows.iter().map(|ty| ty.len()).sum::<Option<usize>>()? as f64;
    // With no other dimension the sums must be in the body itself.
    let heavy = body.values().any(|v| matches!(body.structure(v), Some(Structure::Acc { .. })));
    if work(&rest, body) < ELEMENT * elements || rest.is_empty() && !heavy {
        return None;
    }
    let own: Vec<bool> =
        (0..body.params().len()).map(|k| (rank..rank + targets).contains(&k)).collect();
    let (row, _) = of_rows(body, Some(dimension), &own)?;
    // The accumulation of one row.
    let mut outer = Builder::new(body.name());
    let index = outer.add_param(body.params()[dimension].clone());
    let captures = outer.params_of(&body.params()[rank + targets..]);
    let zeros: Vec<Value> = rows.iter().map(|ty| outer.constant(0.0, *ty)).collect();
    let results = if rest.is_empty() {
        outer.inline(&row, &[&[index], &zeros[..], &captures[..]].concat())
    } else {
        let mut inner = Builder::new(body.name());
        let others = (0..rank).filter(|k| *k != dimension);
        let params: Vec<Param> = others.map(|k| row.params()[k].clone()).collect();
        let mut args = inner.params_of(&params);
        let handed = inner.params_of(&row.params()[rank..]);
        args.insert(dimension, inner.add_param(row.params()[dimension].clone()));
        args.extend(handed);
        let results = inner.inline(&row, &args);
        let acc = Structure::Acc { dims: rest, targets, body: Arc::new(inner.finish(results)) };
        outer.structure(acc, &[&zeros[..], &captures[..], &[index]].concat())
    };
    let body = Arc::new(outer.finish(results));
    let tab = Structure::Tab { dims: vec![dims[dimension]], body };
    let found = b.structure(tab, &operands[targets..]);
    let parts =
        found.into_iter().zip(operands).map(|(table, start)| match b.function().is_zero(*start) {
            true => table,
            false => b.elementary(Opcode::Add, 0, &[*start, table]),
        });
    Some(parts.collect())
}

/// A body with rows in the place of some parameters that are added to, at a row that another parameter names; and which results
/// are such. None, if they are added to anywhere else.
fn of_rows(f: &Function, index: Option<usize>, own: &[bool]) -> Option<(Function, Vec<bool>)> {
    let mut b = Builder::new(f.name());
    let params = f.params().iter().zip(own);
    let params: Vec<Param> = params
        .map(|(p, own)| Param { ty: if *own { p.ty.after(1) } else { p.ty }, ..p.clone() })
        .collect();
    let args = b.params_of(&params);
    let is_index = |v: Value| index.is_some_and(|k| f.op(v) == Op::Param(k as u32));
    let mut derived = vec![false; f.len()];
    let mut parts: Vec<Vec<bool>> = vec![Vec::new(); f.len()];
    let mut copies = Copied::new(f.len());
    for value in f.values() {
        let operands: Vec<Value> = f.operands(value).collect();
        let from = |v: &Value| derived[v.index()];
        match f.op(value) {
            Op::Param(k) => {
                derived[value.index()] = own[k as usize];
                copies.value(&mut b, f, value, &args);
            }
            Op::Part(k) => {
                let whole = parts[operands[0].index()].get(k as usize);
                derived[value.index()] = whole.copied().unwrap_or(false);
                copies.value(&mut b, f, value, &args);
            }
            _ if !operands.iter().any(from) => copies.value(&mut b, f, value, &args),
            Op::PutAdd if !operands[1..].iter().any(from) && operands.len() > 2 => {
                if !is_index(operands[2]) {
                    return None;
                }
                let new: Vec<Value> = operands.iter().map(|v| copies.of(*v)).collect();
                let sum = match &new[3..] {
                    [] => b.elementary(Opcode::Add, 0, &[new[0], new[1]]),
                    rest => b.put_add(new[0], new[1], rest),
                };
                copies.set(value, sum);
                derived[value.index()] = true;
            }
            Op::Structure(_) => {
                let structure = f.structure(value)?;
                let fixed = structure.own_params().0;
                let place = operands.iter().enumerate().filter(|(_, v)| is_index(**v));
                let place = place.filter_map(|(k, _)| structure.param_of(k)).find(|p| *p >= fixed);
                let count = structure.bodies().next()?.params().len();
                let mut own = vec![false; count];
                for (k, operand) in operands.iter().enumerate() {
                    if derived[operand.index()] {
                        own[structure.param_of(k)?] = true;
                    }
                }
                let mut given = Vec::new();
                let new = structure.try_with_bodies(|body| {
                    let (body, results) = of_rows(body, place, &own).ok_or(())?;
                    given = results;
                    Ok::<_, ()>(Arc::new(body))
                });
                let operands = copies.operands(f, value);
                copies.set_parts(value, b.structure(new.ok()?, &operands));
                parts[value.index()] = given;
            }
            _ => return None,
        }
    }
    let results = f.results().iter().map(|v| copies.of(*v)).collect();
    let given = f.results().iter().map(|v| derived[v.index()]).collect();
    Some((b.finish(results), given))
}
