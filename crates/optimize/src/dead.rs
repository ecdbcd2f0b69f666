//! Results that nobody uses, carries that nobody needs, carries that never change.

use cotangent_ir::{Builder, Function, Op, Param, Structure, Type, Value};

use crate::stats::Tally;
use crate::visit::{Site, live, rebuild, same_outside, with_params};

/// The function without them.
pub(crate) fn dead(f: &Function, tally: &mut Tally) -> Function {
    rebuild(f, &mut |b, site| {
        if let Some(parts) = unused(b, site) {
            tally.structural("dead_result", site.structure.name(), "with fewer results");
            return Some(parts);
        }
        let parts = unchanged(b, site)?;
        tally.structural("unchanged_carry", site.structure.name(), "with fewer carries");
        Some(parts)
    })
}

/// How many results of the bodies are carried, and the first parameter they go to.
fn carried(structure: &Structure) -> (usize, usize) {
    let (own, handed) = structure.own_params();
    (handed, own - handed)
}

fn unused(b: &mut Builder, site: &Site<'_>) -> Option<Vec<Value>> {
    let structure = site.structure;
    if matches!(structure, Structure::Red { .. }) || structure.is_named() {
        return None;
    }
    let (carries, first) = carried(structure);
    let body = structure.bodies().last()?;
    let results = body.results();
    let mut keep: Vec<bool> = (0..results.len()).map(|k| site.used[k]).collect();
    // A carry is needed if something that is needed looks at it.
    loop {
        let roots: Vec<Value> =
            results.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(v, _)| *v).collect();
        let mut looked_at = looked_at(body, &roots);
        if let Structure::While { condition, .. } = structure {
            for (k, asked) in looked_at_by_all(condition).into_iter().enumerate() {
                looked_at[k] |= asked;
            }
        }
        let more: Vec<usize> = (0..carries).filter(|k| !keep[*k] && looked_at[first + k]).collect();
        if more.is_empty() {
            break;
        }
        more.into_iter().for_each(|k| keep[k] = true);
    }
    if keep.iter().all(|keep| *keep) {
        return None;
    }
    Some(without(b, site, &keep, &[]))
}

fn looked_at(body: &Function, roots: &[Value]) -> Vec<bool> {
    let live = live(body, roots);
    let mut found = vec![false; body.params().len()];
    for value in body.values().filter(|v| live[v.index()]) {
        if let Op::Param(k) = body.op(value) {
            found[k as usize] = true;
        }
    }
    found
}

fn looked_at_by_all(body: &Function) -> Vec<bool> {
    looked_at(body, body.results())
}

fn unchanged(b: &mut Builder, site: &Site<'_>) -> Option<Vec<Value>> {
    let structure = site.structure;
    let (carries, first) = carried(structure);
    let body = structure.bodies().last()?;
    let same: Vec<usize> = (0..carries)
        .filter(|k| {
            let result = body.results()[*k];
            let start = site.operands[structure.lead() + k];
            body.op(result) == Op::Param((first + k) as u32)
                || same_outside(b, site, body, result, start)
        })
        .collect();
    if same.is_empty() {
        return None;
    }
    let keep: Vec<bool> = (0..body.results().len()).map(|k| !same.contains(&k)).collect();
    Some(without(b, site, &keep, &same))
}

/// The operation with some results only. Carries in `captured` become captures of what they start with.
fn without(b: &mut Builder, site: &Site<'_>, keep: &[bool], captured: &[usize]) -> Vec<Value> {
    let structure = site.structure;
    let (carries, first) = carried(structure);
    let (own, _) = structure.own_params();
    let lead = structure.lead();
    let kept: Vec<usize> = (0..carries).filter(|k| keep[*k]).collect();
    let params = |body: &Function| -> (Vec<Param>, Vec<Option<usize>>) {
        let old = body.params();
        let mut order: Vec<usize> = (0..first).collect();
        order.extend(kept.iter().map(|k| first + k));
        order.extend(own..old.len());
        order.extend(captured.iter().map(|k| first + k));
        let params = order.iter().map(|k| old[*k].clone()).collect();
        let of = (0..old.len()).map(|k| order.iter().position(|o| *o == k)).collect();
        (params, of)
    };
    let two = structure.bodies().count();
    let mut at = 0;
    let mut new = structure.with_bodies(|body| {
        at += 1;
        let (params, of) = params(body);
        // The condition of a `while` has its own result.
        let condition = matches!(structure, Structure::While { .. }) && at < two;
        let results: Vec<Value> = body
            .results()
            .iter()
            .enumerate()
            .filter(|(k, _)| condition || keep[*k])
            .map(|(_, v)| *v)
            .collect();
        with_params(body, &params, &of, &results)
    });
    match &mut new {
        Structure::For { carries, .. } | Structure::While { carries, .. } => *carries = kept.len(),
        Structure::Acc { targets, .. } => *targets = kept.len(),
        _ => {}
    }
    let mut operands: Vec<Value> = site.operands[..lead].to_vec();
    operands.extend(kept.iter().map(|k| site.operands[lead + k]));
    operands.extend(&site.operands[lead + carries..]);
    operands.extend(captured.iter().map(|k| site.operands[lead + k]));
    // Nothing is left to do for an accumulation without targets.
    let empty = matches!(&new, Structure::Acc { targets: 0, .. });
    let found = if empty { Vec::new() } else { b.structure(new, &operands) };
    let mut found = found.into_iter();
    let nothing = b.constant(0.0, Type::F64);
    (0..site.used.len())
        .map(|k| match keep.get(k) {
            Some(false) if captured.contains(&k) => site.operands[lead + k],
            Some(false) => nothing,
            // Behind the results of a `while` the number of its rounds.
            Some(true) | None => found.next().unwrap_or(nothing),
        })
        .collect()
}
