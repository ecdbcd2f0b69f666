//! Operations on short arrays stand where they are first needed, in bodies of loops with many of them.
//!
//! The way back of a loop computes its round again, first to last, and then goes back through it, last to first: by then all that was
//! computed has left the registers. What is needed late is computed late. (The way back of a network of six layers wrote 629 vectors
//! to memory in each round, and writes 432: 0.86 of the time, with the way there. To stand operations further from those that they
//! wait for, as a processor with a short memory would like it, was tried, too: no gain.)

use std::sync::Arc;

use cotangent_ir::{Function, Op, Structure, Type, Value};

/// Arrays of so many elements stand in registers.
const SHORT: usize = 32;

/// So many operations on short arrays are more than registers hold.
const MANY: usize = 64;

/// The function with the bodies of its loops in this order.
pub(crate) fn later(f: &Function) -> Function {
    if !f.values().any(|v| matches!(f.op(v), Op::Structure(_))) {
        return f.clone();
    }
    f.rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value) else { return false };
        let new = match structure {
            Structure::For { .. } | Structure::While { .. } => {
                structure.with_bodies(|body| Arc::new(ordered(&later(body))))
            }
            Structure::If { .. } => structure.with_bodies(|body| Arc::new(later(body))),
            _ => return false,
        };
        let operands = copies.operands(f, value);
        copies.set_parts(value, b.structure(new, &operands));
        true
    })
}

fn is_short(ty: Type) -> bool {
    !ty.is_scalar() && ty.len().is_some_and(|len| len <= SHORT)
}

/// By value: whether it may be computed later than it stands. What reads a row of an array may not, if something is done to the array:
/// as long as somebody reads it, nothing is done in place.
fn movable(f: &Function) -> Vec<bool> {
    let mut read = vec![true; f.len()];
    for value in f.values().filter(|v| f.op(*v) != Op::Load) {
        f.operands(value).for_each(|v| read[v.index()] = false);
    }
    f.results().iter().for_each(|v| read[v.index()] = false);
    let rests =
        |v: Value| f.op(v) != Op::Load || f.ty(v).is_scalar() || read[f.operand(v, 0).index()];
    let moves = |v: Value| {
        matches!(f.op(v), Op::Elementary(..) | Op::Compare(_) | Op::Select)
            && is_short(f.ty(v))
            && f.operands(v).all(rests)
    };
    f.values().map(moves).collect()
}

/// A body with each operation on short arrays before the first value that needs it and stays where it is.
fn ordered(f: &Function) -> Function {
    let moves = movable(f);
    if moves.iter().filter(|moves| **moves).count() < MANY {
        return f.clone();
    }
    // By value: the one before which it stands; itself, if it stays.
    let mut place: Vec<usize> = (0..f.len()).collect();
    let mut first: Vec<usize> = vec![usize::MAX; f.len()];
    for kept in f.results().iter().copied().chain(f.guards().iter().map(|guard| guard.condition)) {
        first[kept.index()] = kept.index();
    }
    for value in f.values().rev() {
        let at = value.index();
        if moves[at] && first[at] != usize::MAX {
            place[at] = first[at];
        }
        for operand in f.operands(value) {
            first[operand.index()] = first[operand.index()].min(place[at]);
        }
    }
    let mut order: Vec<Value> = f.values().collect();
    order.sort_by_key(|v| (place[v.index()], v.index()));
    f.in_order(&order)
}
