//! Functions without their linear part.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Op, Structure, Value};

use crate::error::TransformError;

/// Some results of a function, none of them linear, without its linear parameters.
pub(crate) fn strip(f: &Function, results: &[usize]) -> Result<Function, TransformError> {
    let values: Vec<Value> = results.iter().map(|k| f.results()[*k]).collect();
    strip_to(f, &values)
}

/// Some values of a function, none of them linear, without its linear parameters.
pub(crate) fn strip_to(f: &Function, values: &[Value]) -> Result<Function, TransformError> {
    let linear = f.linear_values()?;
    let mut b = Builder::new(f.name());
    let mut copies = Copied::new(f.len());
    for (param, value) in f.params().iter().zip(f.param_values()) {
        if !param.linear {
            let copy = b.add_param(param.clone());
            if let Some(value) = value {
                copies.set(value, copy);
            }
        }
    }
    for value in f.values() {
        match (f.op(value), f.structure(value)) {
            (Op::Param(_), _) => {}
            (_, Some(structure)) => {
                let parts = structure.linear_parts()?;
                let operands: Vec<Value> = f.operands(value).collect();
                let mixed = operands.iter().any(|v| linear[v.index()]) || parts.contains(&true);
                if !mixed {
                    copies.value(&mut b, f, value, &[]);
                } else if parts.contains(&false) {
                    let (stripped, kept) = strip_structure(structure, &parts)?;
                    let handed: Vec<Value> = (0..operands.len())
                        .filter(|k| !is_linear_param(structure, *k))
                        .map(|k| copies.of(operands[k]))
                        .collect();
                    let found = b.structure(stripped, &handed);
                    let filler = b.truth(false);
                    let mut all = vec![filler; parts.len()];
                    kept.iter().zip(found).for_each(|(k, part)| all[*k] = part);
                    copies.set_parts(value, all);
                }
            }
            _ if !linear[value.index()] => copies.value(&mut b, f, value, &[]),
            _ => {}
        }
    }
    Ok(b.finish(values.iter().map(|v| copies.of(*v)).collect()))
}

/// Whether an operand goes to a linear parameter.
pub(crate) fn is_linear_param(structure: &Structure, operand: usize) -> bool {
    let params = structure.bodies().next().map(|body| body.params()).unwrap_or_default();
    structure.param_of(operand).and_then(|k| params.get(k)).is_some_and(|p| p.linear)
}

/// An operation with a body without its linear parts, and which parts are left.
pub(crate) fn strip_structure(
    structure: &Structure,
    parts: &[bool],
) -> Result<(Structure, Vec<usize>), TransformError> {
    let kept: Vec<usize> = (0..parts.len()).filter(|k| !parts[*k]).collect();
    let mut stripped = structure.try_with_bodies(|body| {
        // The condition of a `while` has one result, and no part.
        let results: Vec<usize> = match body.results().len() {
            1 if is_condition(structure, body) => vec![0],
            count => kept.iter().copied().filter(|k| *k < count).collect(),
        };
        strip(body, &results).map(Arc::new)
    })?;
    if let Structure::For { carries, .. } | Structure::While { carries, .. } = &mut stripped {
        *carries = kept.iter().filter(|k| **k < *carries).count();
    }
    if let Structure::Acc { targets, .. } = &mut stripped {
        *targets = kept.len();
    }
    Ok((stripped, kept))
}

fn is_condition(structure: &Structure, body: &Arc<Function>) -> bool {
    match structure {
        Structure::While { condition, .. } => Arc::ptr_eq(condition, body),
        _ => false,
    }
}
