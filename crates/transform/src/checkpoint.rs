//! Checkpoints: loops written so that reverse mode keeps few states.

use std::sync::Arc;

use cotangent_ir::{Function, Op, Structure, loop_lengths};

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
    f.try_rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value) else { return Ok(false) };
        let operands = copies.operands(f, value);
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
            let inner = structure.try_with_bodies(|body| checkpoint(body, states).map(Arc::new))?;
            b.structure(inner, &operands)
        };
        copies.set_parts(value, parts);
        Ok(true)
    })
}
