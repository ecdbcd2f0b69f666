//! Branches: what both do is done before, and what a branch knows of its condition is used in it.
//! And calls, written out.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Op, Structure, Type, Value};

use crate::hoist::{is_made_in_place, take_out};
use crate::stats::Tally;
use crate::visit::{Site, copy_into, rebuild, same_outside, with_params};

/// The function with calls written out, but for those of functions with a derivative of their own: it
/// would be lost. Of those only small solves in derivatives are written out. In bodies there are no guards, so functions that have some stay there, too.
pub(crate) fn inline(f: &Function, tally: &mut Tally) -> Function {
    rebuild(f, &mut |b, site| {
        let Structure::Call { function } = site.structure else { return None };
        let stays = function.rule().is_some() && !function.is_written_out();
        if stays || site.inside && function.has_guards() {
            return None;
        }
        tally.structural("inline", function.name(), "its operations");
        Some(b.inline(function, site.operands))
    })
}

/// The function with simpler branches.
pub(crate) fn branch(f: &Function, tally: &mut Tally) -> Function {
    rebuild(f, &mut |b, site| {
        let Structure::If { yes, no } = site.structure else { return None };
        if let Some(parts) = alike(b, site, yes, no) {
            tally.structural("same_in_both", "if", "with fewer results");
            return Some(parts);
        }
        if let Some(parts) = decided(b, site) {
            tally.structural("known_condition", "if", "with the condition known in its branches");
            return Some(parts);
        }
        let parts = common(b, site, yes, no)?;
        tally.structural("done_by_both", "if", "what both do before it");
        Some(parts)
    })
}

/// Results that are one value, whichever way it goes.
fn alike(b: &mut Builder, site: &Site<'_>, yes: &Function, no: &Function) -> Option<Vec<Value>> {
    let both: Vec<Option<Value>> = yes
        .results()
        .iter()
        .zip(no.results())
        .map(|(v, w)| {
            let captured = match yes.op(*v) {
                Op::Param(k) => site.operands.get(1 + k as usize).copied(),
                op if op.is_constant() => Some(b.copy(op, yes.ty(*v), &[])),
                _ => None,
            }?;
            let same =
                same_outside(b, site, yes, *v, captured) && same_outside(b, site, no, *w, captured);
            same.then_some(captured)
        })
        .collect();
    if both.iter().all(Option::is_none) {
        return None;
    }
    let fewer = |body: &Function| {
        let of: Vec<Option<usize>> = (0..body.params().len()).map(Some).collect();
        let results: Vec<Value> = body
            .results()
            .iter()
            .zip(&both)
            .filter(|(_, both)| both.is_none())
            .map(|(v, _)| *v)
            .collect();
        with_params(body, body.params(), &of, &results)
    };
    let left = both.iter().any(Option::is_none);
    let new = Structure::If { yes: fewer(yes), no: fewer(no) };
    let mut found = if left { b.structure(new, site.operands) } else { Vec::new() }.into_iter();
    let nothing = b.constant(0.0, Type::F64);
    Some(both.into_iter().map(|v| v.or_else(|| found.next()).unwrap_or(nothing)).collect())
}

/// The condition in its own branches.
fn decided(b: &mut Builder, site: &Site<'_>) -> Option<Vec<Value>> {
    let condition = site.operands[0];
    let asked: Vec<usize> = (1..site.operands.len())
        .filter(|k| site.operands[*k] == condition)
        .map(|k| k - 1)
        .collect();
    if asked.is_empty() {
        return None;
    }
    let mut outcomes = [true, false].into_iter();
    let new = site.structure.with_bodies(|body| {
        let outcome = outcomes.next().unwrap_or(false);
        let mut inner = Builder::new(body.name());
        let mut args = inner.params_of(body.params());
        for k in &asked {
            args[*k] = inner.truth(outcome);
        }
        let results = inner.inline(body, &args);
        Arc::new(inner.finish(results))
    });
    Some(b.structure(new, site.operands))
}

/// Operations that are in both branches.
fn common(b: &mut Builder, site: &Site<'_>, yes: &Function, no: &Function) -> Option<Vec<Value>> {
    // Both in one function: equal operations are one there.
    let mut both = Builder::new("");
    let params: Vec<Option<Value>> = both.params_of(yes.params()).into_iter().map(Some).collect();
    let mut in_both = |f: &Function| -> Vec<Option<usize>> {
        let mut copies = Copied::new(f.len());
        let all: Vec<Value> = f.values().collect();
        copy_into(&mut both, f, &mut copies, &params, &all);
        all.iter().map(|v| copies.get(*v).map(Value::index)).collect()
    };
    let (first, second) = (in_both(yes), in_both(no));
    let shared = |f: &Function, own: &[Option<usize>], other: &[Option<usize>]| -> Vec<Value> {
        let common: Vec<bool> = f
            .values()
            .map(|v| {
                let leaf = f.op(v).is_leaf();
                leaf || own[v.index()].is_some() && other.contains(&own[v.index()])
            })
            .collect();
        let mut needed = vec![false; f.len()];
        f.results().iter().for_each(|v| needed[v.index()] = true);
        let mut found = Vec::new();
        for value in f.values().rev() {
            if !needed[value.index()] || f.op(value).is_leaf() {
                continue;
            }
            if common[value.index()] && !is_made_in_place(f, value) {
                found.push(value);
            } else {
                f.operands(value).for_each(|v| needed[v.index()] = true);
            }
        }
        found.reverse();
        found
    };
    let chosen = [shared(yes, &first, &second), shared(no, &second, &first)];
    // A value that is computed anyway by one and used by the other alone is not common.
    take_out(b, site, &chosen)
}
