//! Type: a branch → the same branch with what is decided in it as further results, and its bodies that are given that.
//!
//! What goes beside a branch is a branch of its own, whose bodies compute again what they need of the values. To find out which way a
//! branch inside goes, that may be all there is: then a loop that is turned around keeps numbers by the dozen, and computes with
//! them, for the sake of one truth value. So a branch hands on what was decided in it, and the one beside it takes that.

use std::convert::Infallible;
use std::sync::Arc;

use cotangent_ir::{Builder, Function, Op, Structure, Type, Value};
use rustc_hash::FxHashMap;

/// A branch in two forms.
pub(crate) struct Decided {
    /// The branch; behind its results there are the decisions in it, false those of the way not taken.
    pub(crate) handing: Structure,
    /// The branch, whose bodies are given the decisions behind what they captured.
    pub(crate) taking: Structure,
}

/// More decisions than these are made again: in a long chain of branches each would hand on all those below it.
const MOST: usize = 32;

/// A branch with its decisions; none if nothing is decided in it.
pub(crate) fn decided(structure: &Structure) -> Option<Decided> {
    let Structure::If { yes, no } = structure else { return None };
    let counts = [count(yes), count(no)];
    (1..=MOST)
        .contains(&(counts[0] + counts[1]))
        .then(|| Decided { handing: handing(yes, no, counts), taking: taking(yes, no, counts) })
}

/// What is decided in a body, as far as it is computed there: the conditions of its branches and of its choices between numbers, each
/// one decision, and the branches, with the number of decisions in them.
fn decisions(f: &Function) -> Vec<(Value, usize)> {
    let mut seen = vec![false; f.len()];
    let mut all = Vec::new();
    for value in f.values() {
        let branch = match f.structure(value) {
            Some(Structure::If { yes, no }) => Some(count(yes) + count(no)),
            _ => None,
        };
        if branch.is_some() || f.op(value) == Op::Select {
            let condition = f.operand(value, 0);
            let computed = !f.op(condition).is_leaf() && f.ty(condition) == Type::BOOL;
            if computed && !std::mem::replace(&mut seen[condition.index()], true) {
                all.push((condition, 1));
            }
        }
        all.extend(branch.map(|count| (value, count)));
    }
    all
}

/// How many decisions there are in a body.
fn count(f: &Function) -> usize {
    decisions(f).iter().map(|(_, count)| count).sum()
}

fn handing(yes: &Function, no: &Function, [first, second]: [usize; 2]) -> Structure {
    Structure::If { yes: handing_body(yes, 0, second), no: handing_body(no, first, 0) }
}

/// A body with its decisions behind its results, and as many falses before and behind them.
fn handing_body(f: &Function, before: usize, behind: usize) -> Arc<Function> {
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    // By value: the decisions it is, or that are made in it.
    let mut made: Vec<Vec<Value>> = vec![Vec::new(); f.len()];
    let Ok(mut results) = f.write_into(&mut b, &args, |b, copies, value| {
        if let Some(Structure::If { yes, no }) = f.structure(value) {
            let counts = [count(yes), count(no)];
            let new = handing(yes, no, counts);
            let mut parts = b.structure(new, &copies.operands(f, value));
            made[value.index()] = parts.split_off(parts.len() - counts[0] - counts[1]);
            copies.set_parts(value, parts);
        } else {
            copies.value(b, f, value, &args);
            if f.ty(value) == Type::BOOL {
                made[value.index()] = vec![copies.of(value)];
            }
        }
        Ok::<_, Infallible>(true)
    });
    let no = b.truth(false);
    results.extend(vec![no; before]);
    for (value, _) in decisions(f) {
        results.extend(&made[value.index()]);
    }
    results.extend(vec![no; behind]);
    Arc::new(b.finish(results))
}

fn taking(yes: &Function, no: &Function, [first, second]: [usize; 2]) -> Structure {
    let all = first + second;
    Structure::If { yes: taking_body(yes, all, 0), no: taking_body(no, all, first) }
}

/// A body that is given so many decisions; its own are those from one on.
fn taking_body(f: &Function, all: usize, from: usize) -> Arc<Function> {
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let given: Vec<Value> = (0..all).map(|k| b.param(format!("d{k}"), Type::BOOL)).collect();
    let mut known: Vec<Option<Vec<Value>>> = vec![None; f.len()];
    let mut next = given[from..].iter().copied();
    for (value, count) in decisions(f) {
        known[value.index()] = Some(next.by_ref().take(count).collect());
    }
    let Ok(results) = f.write_into(&mut b, &args, |b, copies, value| {
        let Some(own) = &known[value.index()] else { return Ok(false) };
        match f.structure(value) {
            Some(Structure::If { yes, no }) => {
                let new = taking(yes, no, [count(yes), count(no)]);
                let mut operands = copies.operands(f, value);
                operands.extend(own);
                let parts = b.structure(new, &operands);
                copies.set_parts(value, parts);
            }
            _ => copies.set(value, own[0]),
        }
        Ok::<_, Infallible>(true)
    });
    Arc::new(b.finish(results))
}

/// The function with branches that give what is used of them only: a branch that stays for its decisions does nothing else.
pub(crate) fn needed(f: &Function) -> Function {
    let mut used = vec![false; f.len()];
    f.results().iter().for_each(|v| used[v.index()] = true);
    f.guards().iter().for_each(|guard| used[guard.condition.index()] = true);
    for value in f.values() {
        f.operands(value).for_each(|v| used[v.index()] = true);
    }
    // By operation with a body: which of its parts somebody looks at.
    let mut parts: FxHashMap<Value, Vec<usize>> = FxHashMap::default();
    for value in f.values().filter(|v| used[v.index()]) {
        if let Op::Part(k) = f.op(value) {
            parts.entry(f.operand(value, 0)).or_default().push(k as usize);
        }
    }
    f.rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value) else { return false };
        if structure.is_named() || matches!(structure, Structure::Derive(_)) {
            return false;
        }
        let count = structure.bodies().last().map_or(0, |body| body.results().len());
        let keep: Vec<usize> = match structure {
            Structure::If { .. } => {
                let looked_at = parts.get(&value).map_or(&[][..], |parts| parts);
                (0..count).filter(|k| looked_at.contains(k)).collect()
            }
            _ => (0..count).collect(),
        };
        let fewer = keep.len() < count;
        let new = structure.with_bodies(|body| {
            Arc::new(match fewer {
                true => needed(&with_results(body, &keep)),
                false => needed(body),
            })
        });
        let operands = copies.operands(f, value);
        let found = b.structure(new, &operands);
        let all = match fewer {
            false => found,
            true => {
                let mut all = vec![b.truth(false); count];
                keep.iter().zip(found).for_each(|(k, part)| all[*k] = part);
                all
            }
        };
        copies.set_parts(value, all);
        true
    })
}

/// A body with some of its results.
fn with_results(f: &Function, keep: &[usize]) -> Function {
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let results = b.inline(f, &args);
    b.finish(keep.iter().map(|k| results[*k]).collect())
}
