//! Functions rebuilt with a change.

use std::convert::Infallible;
use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Structure, Type, Value};

use crate::error::TransformError;

/// The function with nothing linear: what were tangents are numbers like others.
pub(crate) fn ordinary(f: &Function) -> Function {
    f.clone().map_params(&|param| param.linear = false)
}

/// Checks that a rule is linear in its tangents, the parameters from the k-th on; those of a rule with
/// bodies must say so.
pub(crate) fn check_rule(rule: &Function, k: usize) -> Result<(), TransformError> {
    let tangents: Vec<&str> = rule.params()[k..].iter().map(|p| p.name.as_str()).collect();
    let declared = rule.params()[k..].iter().all(|p| p.linear);
    if declared {
        rule.verify()?;
    } else if rule.is_flat() {
        rule.clone().map_params(&|p| p.linear = tangents.contains(&p.name.as_str())).verify()?;
    }
    Ok(())
}

/// The function as a call of it, if it has a derivative of its own: then that is taken.
pub(crate) fn by_its_rule(f: Function) -> Function {
    if f.rule().is_none() {
        return f;
    }
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let results = b.structure(Structure::Call { function: Arc::new(f) }, &args);
    b.finish(results)
}

/// Zeros of a type. Of an array whose size is not known before, as many as a loop of these rounds stacks.
pub(crate) fn zeros(
    b: &mut Builder,
    ty: Type,
    rounds: impl FnOnce(&mut Builder) -> Value,
) -> Value {
    if !ty.is_unknown() {
        return b.constant(0.0, ty);
    }
    let mut body = Builder::new("");
    body.param("i", Type::I64);
    let zero = body.constant(0.0, ty.after(1));
    let body = Arc::new(body.finish(vec![zero]));
    let rounds = rounds(b);
    b.structure(Structure::For { carries: 0, body }, &[rounds])[0]
}

/// Zeros of the type of a value.
pub(crate) fn zeros_like(b: &mut Builder, value: Value) -> Value {
    let ty = b.ty(value);
    zeros(b, ty, |b| b.extent(value, 0))
}

/// The function with what it calls written out, but for calls of functions with a derivative of their own
/// that nothing linear goes into, and of those that are turned around by name.
pub(crate) fn without_calls(f: &Function) -> Function {
    f.rebuilt(|b, copies, value| called_here(f, b, copies, value))
}

/// Writes out what an operation with a body calls.
fn called_here(f: &Function, b: &mut Builder, copies: &mut Copied, value: Value) -> bool {
    let Some(structure) = f.structure(value) else { return false };
    let operands = copies.operands(f, value);
    let parts = match structure {
        Structure::Call { function }
            if function.rule().is_none()
                || function.params().iter().any(|p| p.linear)
                    && function.transposed_form().is_none() =>
        {
            let Ok(results) = function.write_into(b, &operands, |b, copies, value| {
                Ok::<_, Infallible>(called_here(function, b, copies, value))
            });
            results
        }
        Structure::Call { .. } => b.structure(structure.clone(), &operands),
        other => {
            let inner = other.with_bodies(|body| Arc::new(without_calls(body)));
            b.structure(inner, &operands)
        }
    };
    copies.set_parts(value, parts);
    true
}

/// The function with a number in the place of a parameter.
///
/// # Errors
/// If there is no such parameter, or it is no number.
pub fn fix(f: &Function, param: usize, c: f64) -> Result<Function, TransformError> {
    if f.params().get(param).is_none_or(|p| !p.ty.is_float()) {
        let (function, param) = (f.name().to_string(), param.to_string());
        return Err(TransformError::NoParam { function, param });
    }
    // With a tangent or cotangent fixed nothing is linear any more: what it came to is a number.
    let f = &if f.params()[param].linear { ordinary(f) } else { f.clone() };
    let mut b = Builder::new(f.name());
    let mut args = Vec::with_capacity(f.params().len());
    for (k, p) in f.params().iter().enumerate() {
        args.push(if k == param { b.constant(c, p.ty) } else { b.add_param(p.clone()) });
    }
    let results = b.inline(f, &args);
    Ok(b.finish(results))
}
