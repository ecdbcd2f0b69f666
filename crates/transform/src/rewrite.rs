//! Functions rebuilt with a change.

use cotangent_ir::{Builder, Function, Op, Value};

use crate::error::TransformError;

/// Copies what is not linear, parameters included; none for what is.
pub(crate) fn copy_ordinary(f: &Function, linear: &[bool], b: &mut Builder) -> Vec<Option<Value>> {
    let mut values: Vec<Option<Value>> = vec![None; f.len()];
    for value in f.values().filter(|v| !linear[v.index()]) {
        // Its operands are not linear either, so all are there.
        let args: Vec<Value> = f.operands(value).filter_map(|v| values[v.index()]).collect();
        values[value.index()] = Some(match f.op(value) {
            Op::Param(k) => b.add_param(f.params()[k as usize].clone()),
            op => b.copy(op, f.ty(value), &args),
        });
    }
    values
}

/// Copies the guards, whose conditions are not linear.
pub(crate) fn copy_guards(f: &Function, values: &[Option<Value>], b: &mut Builder) {
    for guard in f.guards() {
        if let Some(condition) = values[guard.condition.index()] {
            b.guard(condition, guard.expected);
        }
    }
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
    let mut b = Builder::new(f.name());
    let mut values: Vec<Value> = Vec::with_capacity(f.len());
    for value in f.values() {
        let args: Vec<Value> = f.operands(value).map(|v| values[v.index()]).collect();
        values.push(match f.op(value) {
            Op::Param(k) if k as usize == param => b.constant(c, f.ty(value)),
            Op::Param(k) => b.add_param(f.params()[k as usize].clone()),
            op => b.copy(op, f.ty(value), &args),
        });
    }
    for guard in f.guards() {
        b.guard(values[guard.condition.index()], guard.expected);
    }
    Ok(b.finish(f.results().iter().map(|v| values[v.index()]).collect()))
}
