//! Kernels written anew, wherever they stand outside of other kernels.

use std::sync::Arc;

use cotangent_ir::{Builder, Function, Structure, Value};

/// The parts of an operation with a body written otherwise, if it is.
pub(crate) type Change<'c> = dyn Fn(&mut Builder, &Structure, &[Value]) -> Option<Vec<Value>> + 'c;

/// The function with a change of its kernels, also of those in loops and branches.
pub(crate) fn rewritten(f: &Function, change: &Change<'_>) -> Function {
    if f.values().all(|v| f.structure(v).is_none()) {
        return f.clone();
    }
    f.rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value) else { return false };
        let operands = copies.operands(f, value);
        let parts = match structure {
            Structure::For { .. } | Structure::While { .. } | Structure::If { .. } => {
                let inner = structure.with_bodies(|body| Arc::new(rewritten(body, change)));
                Some(b.structure(inner, &operands))
            }
            kernel => change(b, kernel, &operands),
        };
        let Some(parts) = parts else { return false };
        copies.set_parts(value, parts);
        true
    })
}
