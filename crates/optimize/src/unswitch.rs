//! A branch in a loop that goes the same way in every round: the way is chosen once, before the loop.

use std::sync::Arc;

use cotangent_ir::{Builder, Function, Op, Param, Structure, Value};

use crate::stats::Tally;
use crate::visit::{Site, pays, rebuild};

/// The most operations of a body that is written twice.
const OPERATIONS: usize = 256;

/// The function with such branches around their loops and kernels.
pub(crate) fn unswitch(f: &Function, tally: &mut Tally) -> Function {
    rebuild(f, &mut |b, site| {
        let capture = invariant(b, site)?;
        let mut change =
            |b: &mut Builder, operands: &[Value]| Some(around(b, site, operands, capture));
        if !pays(b, site, &mut change) {
            return None;
        }
        tally.structural("unswitch", site.structure.name(), "in the branches of an if");
        change(b, site.operands)
    })
}

/// The capture that a branch in the body goes by.
fn invariant(b: &Builder, site: &Site<'_>) -> Option<usize> {
    let structure = site.structure;
    if structure.is_named() || matches!(structure, Structure::If { .. }) {
        return None;
    }
    // How long what a loop stacks is must be known inside the branches, too.
    let unknown = match structure {
        Structure::For { carries, body } => {
            body.results().len() > *carries && b.known_integer(site.operands[0]).is_none()
        }
        _ => false,
    };
    let (own, _) = structure.own_params();
    let body = structure.bodies().last()?;
    if unknown || body.operations() > OPERATIONS {
        return None;
    }
    let decided_by = |v: Value| match body.structure(v)? {
        Structure::If { .. } => match body.op(body.operand(v, 0)) {
            Op::Param(k) => Some(k as usize).filter(|k| *k >= own),
            _ => None,
        },
        _ => None,
    };
    body.values().find_map(decided_by)
}

/// The operation in both branches, with what decides known there.
fn around(b: &mut Builder, site: &Site<'_>, operands: &[Value], capture: usize) -> Vec<Value> {
    let structure = site.structure;
    let Some(condition) = structure.operand_of(capture).map(|o| operands[o]) else {
        return b.structure(structure.clone(), operands);
    };
    let params = structure.bodies().next().map(|body| body.params()).unwrap_or_default();
    let handed: Vec<Param> = operands
        .iter()
        .enumerate()
        .map(|(o, v)| {
            let param = structure.param_of(o).and_then(|k| params.get(k));
            Param { name: "u".to_string(), ty: b.ty(*v), linear: param.is_some_and(|p| p.linear) }
        })
        .collect();
    let branch = |outcome: bool| {
        let mut inner = Builder::new("");
        let args = inner.params_of(&handed);
        let decided = structure.with_bodies(|body| {
            let mut known = Builder::new(body.name());
            let mut args = known.params_of(body.params());
            args[capture] = known.truth(outcome);
            let results = known.inline(body, &args);
            Arc::new(known.finish(results))
        });
        let parts = inner.structure(decided, &args);
        Arc::new(inner.finish(parts))
    };
    let all: Vec<Value> = std::iter::once(condition).chain(operands.iter().copied()).collect();
    b.structure(Structure::If { yes: branch(true), no: branch(false) }, &all)
}
