//! Derivative operations written out, the innermost first.

use std::sync::Arc;

use cotangent_ir::{Activity, Builder, Derive, Dim, Function, Mode, Structure, Value};

use crate::error::TransformError;
use crate::expand::{Expansion, float_element, write};
use crate::jacobian::{hessian_to, jacobian_to};
use crate::jet::Series;
use crate::linearize::linearize_some;
use crate::rewrite::{by_its_rule, ordinary};
use crate::transpose::transpose;

/// The function with all derivative operations (`fwd`, `rev`, `jac`, `hess`, `jet`) written out, in its bodies and
/// in what it calls as well: first those of the function that is differentiated, then its own.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::lower;
///
/// let f = parse("
///   fn @square(%x: f64) -> f64 { %y = mul %x, %x ret %y }
///   fn @slope(%x: f64) -> f64 { %t = fwd @square(%x: dup 1.0) ret(dupnn) ret %t }
/// ").unwrap();
/// assert_eq!(lower(&f).unwrap().run(&[3.0]).unwrap(), [6.0]);
/// ```
///
/// # Errors
/// What cannot be differentiated.
pub fn lower(f: &Function) -> Result<Function, TransformError> {
    if !has_derivatives(f) {
        return Ok(f.clone());
    }
    f.verify()?;
    let lowered = f.try_rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value) else { return Ok(false) };
        let operands = copies.operands(f, value);
        let parts = match structure.try_with_bodies(|body| lower(body).map(Arc::new))? {
            Structure::Derive(derive) => write_out(b, &derive, &operands)?,
            inner => b.structure(inner, &operands),
        };
        copies.set_parts(value, parts);
        Ok::<_, TransformError>(true)
    })?;
    Ok(match f.rule() {
        Some(rule) => lowered.with_rule(lower(rule)?),
        None => lowered,
    })
}

/// Whether there is a derivative operation in it, its bodies or what it calls.
pub fn has_derivatives(f: &Function) -> bool {
    f.values().filter_map(|v| f.structure(v)).any(|structure| {
        matches!(structure, Structure::Derive(_)) || structure.bodies().any(|b| has_derivatives(b))
    })
}

fn write_out(
    b: &mut Builder,
    derive: &Derive,
    operands: &[Value],
) -> Result<Vec<Value>, TransformError> {
    let f = &*derive.function;
    if let Mode::Jet { order } = derive.mode {
        return series(b, derive, order, operands);
    }
    let mut rest = operands.iter().copied();
    let (mut args, mut moving) = (Vec::new(), Vec::new());
    for activity in &derive.args {
        args.extend(rest.next());
        if matches!(activity, Activity::Dup | Activity::DupNoNeed) {
            moving.extend(rest.next());
        }
    }
    moving.extend(rest);
    let moves: Vec<bool> = derive.args.iter().map(|a| a.moves()).collect();
    let by_name = |p: &cotangent_ir::Param| {
        f.params().iter().zip(&moves).any(|(param, moves)| param.name == p.name && *moves)
    };
    let count = f.results().len();
    match derive.mode {
        Mode::Jacobian => {
            let all = b.inline(&ordinary(&jacobian_to(f, by_name)?), &args);
            return Ok(all[count..].to_vec());
        }
        Mode::Hessian => {
            let all = b.inline(&ordinary(&hessian_to(f, by_name)?), &args);
            let active = moves.iter().filter(|moves| **moves).count();
            return Ok(all[1 + active..].to_vec());
        }
        Mode::Forward | Mode::Reverse | Mode::Jet { .. } => {}
    }
    let forward = linearize_some(f, &moves)?;
    // The tangents that are wanted, behind the values.
    let kept: Vec<usize> = (0..count).filter(|k| derive.results[*k].moves()).collect();
    let numbers: Vec<usize> = (0..count).filter(|k| f.ty(f.results()[*k]).is_float()).collect();
    let place = |k: &usize| count + numbers.iter().position(|n| n == k).unwrap_or(0);
    let selected = with_results(&forward, (0..count).chain(kept.iter().map(place)));
    let linear = match derive.mode {
        Mode::Forward => selected,
        _ => transpose(&selected, count)?,
    };
    let linear = ordinary(&linear);
    let (values, derivatives) = match derive.width {
        None => {
            let all: Vec<Value> = args.iter().chain(&moving).copied().collect();
            let found = b.inline(&linear, &all);
            (found[..count].to_vec(), found[count..].to_vec())
        }
        Some(width) => {
            let values = b.inline(f, &args);
            let mut inner = Builder::new("");
            let index = inner.indices(1);
            let mut all = inner.params_of(f.params());
            for (k, moved) in moving.iter().enumerate() {
                let whole = inner.param(format!("t{k}"), b.ty(*moved));
                all.push(inner.load(whole, &index));
            }
            let found = inner.inline(&linear, &all);
            let body = Arc::new(inner.finish(found[count..].to_vec()));
            let outer: Vec<Value> = args.iter().chain(&moving).copied().collect();
            let tab = Structure::Tab { dims: vec![Dim::Size(width)], body };
            (values, b.structure(tab, &outer))
        }
    };
    let mut parts = Vec::new();
    let mut derivatives = derivatives.into_iter();
    for (k, activity) in derive.results.iter().enumerate() {
        if activity.wants_value() {
            parts.push(values[k]);
        }
        if derive.mode == Mode::Forward && activity.moves() {
            parts.extend(derivatives.next());
        }
    }
    parts.extend(derivatives);
    Ok(parts)
}

/// Taylor coefficients of the results that are wanted.
fn series(
    b: &mut Builder,
    derive: &Derive,
    order: usize,
    operands: &[Value],
) -> Result<Vec<Value>, TransformError> {
    let f = &ordinary(&by_its_rule((*derive.function).clone()));
    let series = Series::new(order, float_element(f)?)?;
    let mut rest = operands.iter().copied();
    let (mut args, mut along) = (Vec::new(), Vec::new());
    for activity in &derive.args {
        args.extend(rest.next());
        along.push(activity.moves().then(|| rest.by_ref().take(order).collect()));
    }
    let moved = write(f, b, &args, &along, &series)?;
    let mut parts = Vec::new();
    for ((value, along), activity) in moved.values.iter().zip(moved.along).zip(&derive.results) {
        if activity.wants_value() {
            parts.push(*value);
        }
        if activity.moves() {
            parts.extend(along.unwrap_or_else(|| series.zeros(b, *value)));
        }
    }
    Ok(parts)
}

/// Some results of a function.
pub(crate) fn with_results(f: &Function, kept: impl Iterator<Item = usize>) -> Function {
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let all = b.inline(f, &args);
    b.finish(kept.map(|k| all[k]).collect())
}
