//! Going over a function and its bodies, and changing operations with bodies on the way.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Op, Param, Structure, Value};

use crate::pattern::number;
use crate::stats::Tally;

/// An operation with a body, where it is being built.
pub(crate) struct Site<'s> {
    /// It, with its bodies already changed.
    pub(crate) structure: &'s Structure,
    /// Its operands in the new function.
    pub(crate) operands: &'s [Value],
    /// Which of its parts anybody uses.
    pub(crate) used: &'s [bool],
    /// Whether it stands in a body: there are no guards in bodies.
    pub(crate) inside: bool,
    /// Which parameters of the function around it are targets of an accumulation, further out or not.
    pub(crate) targets: &'s [bool],
}

impl Site<'_> {
    /// Whether an operand is a target of the accumulation around it, with what has been added so far. Nothing
    /// may be done with it but to add more.
    pub(crate) fn is_target(&self, b: &Builder, operand: Value) -> bool {
        is_targeted(b.function(), self.targets, operand)
    }
}

fn is_targeted(f: &Function, targets: &[bool], value: Value) -> bool {
    targets.contains(&true) && depending(f, |k| targets[k])[value.index()]
}

/// Which parameters of a body are targets of an accumulation: its own, and those that are handed in.
pub(crate) fn targets_inside(
    structure: &Structure,
    mut handed: impl FnMut(usize) -> bool,
) -> Vec<bool> {
    let count = structure.bodies().map(|body| body.params().len()).max().unwrap_or(0);
    let own = match structure {
        Structure::Acc { dims, targets, .. } => dims.len()..dims.len() + targets,
        _ => 0..0,
    };
    (0..count)
        .map(|k| own.contains(&k) || structure.operand_of(k).is_some_and(&mut handed))
        .collect()
}

/// What a pass makes of an operation with a body: its parts, or none to leave it alone.
pub(crate) type Change<'c> = dyn FnMut(&mut Builder, &Site<'_>) -> Option<Vec<Value>> + 'c;

/// The function with operations with bodies changed, from the innermost to the outermost.
pub(crate) fn rebuild(f: &Function, change: &mut Change<'_>) -> Function {
    rebuild_in(f, false, &vec![false; f.params().len()], change)
}

fn rebuild_in(f: &Function, inside: bool, targets: &[bool], change: &mut Change<'_>) -> Function {
    if f.values().all(|v| f.structure(v).is_none()) {
        return f.clone();
    }
    let used = used_parts(f);
    f.rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value) else { return false };
        let operands = copies.operands(f, value);
        let inner = match structure {
            Structure::Call { .. } | Structure::Derive(_) => structure.clone(),
            other => {
                let handed = |k: usize| is_targeted(b.function(), targets, operands[k]);
                let inside = targets_inside(other, handed);
                other.with_bodies(|body| Arc::new(rebuild_in(body, true, &inside, change)))
            }
        };
        let used = &used[value.index()];
        let site = Site { structure: &inner, operands: &operands, used, inside, targets };
        let parts = match change(b, &site) {
            Some(parts) => parts,
            None => b.structure(inner, &operands),
        };
        copies.set_parts(value, parts);
        true
    })
}

/// By operation with a body: which of its parts are used.
pub(crate) fn used_parts(f: &Function) -> Vec<Vec<bool>> {
    let mut used: Vec<Vec<bool>> = vec![Vec::new(); f.len()];
    for value in f.values() {
        if let Some(structure) = f.structure(value) {
            used[value.index()] = vec![false; structure.part_types(cotangent_ir::Dim::Any).len()];
        }
        if let Op::Part(k) = f.op(value) {
            used[f.operand(value, 0).index()][k as usize] = true;
        }
    }
    used
}

/// How often each value is used, as an operand or a result.
pub(crate) fn use_counts(f: &Function) -> Vec<usize> {
    let mut counts = vec![0; f.len()];
    let roots = f.results().iter().copied().chain(f.guards().iter().map(|g| g.condition));
    for used in f.values().flat_map(|v| f.operands(v)).chain(roots) {
        counts[used.index()] += 1;
    }
    counts
}

/// What some values need, themselves included.
pub(crate) fn live(f: &Function, roots: &[Value]) -> Vec<bool> {
    let mut live = vec![false; f.len()];
    roots.iter().for_each(|v| live[v.index()] = true);
    for value in f.values().rev().filter(|v| v.index() < f.len()) {
        if live[value.index()] {
            f.operands(value).for_each(|v| live[v.index()] = true);
        }
    }
    live
}

/// Values that depend on some parameters.
pub(crate) fn depending(f: &Function, on: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut depends = vec![false; f.len()];
    for value in f.values() {
        depends[value.index()] = match f.op(value) {
            Op::Param(k) => on(k as usize),
            _ => f.operands(value).any(|v| depends[v.index()]),
        };
    }
    depends
}

/// Copies what some values need, given the parameters; what has a copy already is not looked into.
pub(crate) fn copy_into(
    b: &mut Builder,
    f: &Function,
    copies: &mut Copied,
    args: &[Option<Value>],
    roots: &[Value],
) {
    let mut needed = vec![false; f.len()];
    roots.iter().for_each(|v| needed[v.index()] = true);
    for value in f.values().rev() {
        if needed[value.index()] && copies.get(value).is_none() {
            f.operands(value).for_each(|v| needed[v.index()] = true);
        }
    }
    for value in f.values() {
        if !needed[value.index()] || copies.get(value).is_some() {
            continue;
        }
        match f.op(value) {
            Op::Param(k) => {
                if let Some(arg) = args[k as usize] {
                    copies.set(value, arg);
                }
            }
            _ => copies.value(b, f, value, &[]),
        }
    }
}

/// A body with other parameters and some of its results: by old parameter, the number of the new one.
pub(crate) fn with_params(
    body: &Function,
    params: &[Param],
    of: &[Option<usize>],
    results: &[Value],
) -> Arc<Function> {
    let mut b = Builder::new(body.name());
    let new = b.params_of(params);
    let args: Vec<Option<Value>> = of.iter().map(|k| k.map(|k| new[k])).collect();
    let mut copies = Copied::new(body.len());
    copy_into(&mut b, body, &mut copies, &args, results);
    let results = results.iter().map(|v| copies.of(*v)).collect();
    Arc::new(b.finish(results))
}

/// A value of a body as one outside, if it is a capture or a constant.
pub(crate) fn same_outside(
    b: &Builder,
    site: &Site<'_>,
    body: &Function,
    result: Value,
    outside: Value,
) -> bool {
    let f = b.function();
    if let Op::Param(k) = body.op(result) {
        let (own, _) = site.structure.own_params();
        let operand = site.structure.operand_of(k as usize).map(|o| site.operands[o]);
        return k as usize >= own && operand == Some(outside);
    }
    match (number(body, result), number(f, outside)) {
        (Some(a), Some(c)) => a.to_bits() == c.to_bits() && body.ty(result) == f.ty(outside),
        _ => {
            let (a, c) = (body.op(result), f.op(outside));
            a.is_constant() && a == c && body.ty(result) == f.ty(outside)
        }
    }
}

/// What writes a change down: its parts, given the operands; none if there is nothing to change.
pub(crate) type Replacement<'c> = dyn FnMut(&mut Builder, &[Value]) -> Option<Vec<Value>> + 'c;

/// Whether a change costs no more: both built on their own, with what is known of the operands.
pub(crate) fn pays(b: &Builder, site: &Site<'_>, change: &mut Replacement<'_>) -> bool {
    gains(b, site, 1.0 + 1e-12, change)
}

/// Whether a change comes to at most so much of the cost.
pub(crate) fn gains(
    b: &Builder,
    site: &Site<'_>,
    factor: f64,
    change: &mut Replacement<'_>,
) -> bool {
    let mut alone = |changed: bool| -> Option<f64> {
        let mut scratch = Builder::new("");
        let operands: Vec<Value> =
            site.operands.iter().map(|v| known_operand(b, &mut scratch, *v)).collect();
        let parts = match changed {
            true => change(&mut scratch, &operands)?,
            false => scratch.structure(site.structure.clone(), &operands),
        };
        let results =
            parts.iter().zip(site.used).filter(|(_, used)| **used).map(|(v, _)| *v).collect();
        // What shares its work is put together later, and what nobody looks at goes.
        let built = scratch.finish(results);
        let tidy = crate::merge::merge(&built, &mut Tally::default());
        let tidy = crate::dead::dead(&tidy, &mut Tally::default());
        Some(tidy.cost().total().min(built.cost().total()))
    };
    match (alone(false), alone(true)) {
        (Some(old), Some(new)) => new <= old * factor,
        _ => false,
    }
}

/// An operand as a parameter, or as the constant it is.
fn known_operand(b: &Builder, scratch: &mut Builder, value: Value) -> Value {
    let f = b.function();
    match f.op(value) {
        op if op.is_constant() => scratch.copy(op, f.ty(value), &[]),
        Op::Fill => {
            let scalar = known_operand(b, scratch, f.operand(value, 0));
            scratch.fill(scalar, f.ty(value))
        }
        Op::Extent(k) => {
            let array = scratch.param("a", f.ty(f.operand(value, 0)));
            scratch.extent(array, k)
        }
        _ => scratch.param("x", f.ty(value)),
    }
}
