//! Checkpoints: loops written so that reverse mode keeps few states.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Op, Structure, Value, loop_lengths};

use crate::error::TransformError;

/// The function with its long loops written as nests of loops, so that reverse mode keeps no more than so many
/// states of each of them at a time and goes through the rounds between them again. It computes the same, to
/// the bit.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::{checkpoint, gradient};
///
/// let f = parse("fn @f(%x: f64) -> f64 {
///   %y = for %i < 1000 (%a = %x) { %s = sin %a %b = add %a, %s yield %b }
///   ret %y }").unwrap();
/// let (plain, few) = (gradient(&f).unwrap(), gradient(&checkpoint(&f, 32).unwrap()).unwrap());
/// assert_eq!(plain.run(&[0.3]).unwrap(), few.run(&[0.3]).unwrap());
/// assert!(few.peak_bytes().unwrap() < plain.peak_bytes().unwrap() / 10);
/// ```
///
/// # Errors
/// Too few states for a loop.
pub fn checkpoint(f: &Function, states: usize) -> Result<Function, TransformError> {
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let mut copies = Copied::new(f.len());
    for value in f.values() {
        let Some(structure) = f.structure(value) else {
            copies.value(&mut b, f, value, &args);
            continue;
        };
        let operands: Vec<Value> = f.operands(value).map(|v| copies.of(v)).collect();
        let rounds = match (structure, f.op(f.operand(value, 0))) {
            (Structure::For { .. }, Op::Integer(n)) => usize::try_from(n).unwrap_or(0),
            _ => 0,
        };
        let parts = if rounds > states {
            let Some(lengths) = loop_lengths(rounds, states) else {
                let function = f.name().to_string();
                return Err(TransformError::States { function, states, rounds });
            };
            b.split_loop(structure, &operands, &lengths)
        } else {
            let mut failure = None;
            let inner = structure.with_bodies(|body| match checkpoint(body, states) {
                Ok(body) => Arc::new(body),
                Err(error) => {
                    failure = Some(error);
                    body.clone()
                }
            });
            match failure {
                Some(error) => return Err(error),
                None => b.structure(inner, &operands),
            }
        };
        copies.set_parts(value, parts);
    }
    for guard in f.guards() {
        b.guard(copies.of(guard.condition), guard.expected);
    }
    let new = b.finish(f.results().iter().map(|v| copies.of(*v)).collect());
    Ok(match f.rule() {
        Some(rule) => new.with_rule((**rule).clone()),
        None => new,
    })
}
