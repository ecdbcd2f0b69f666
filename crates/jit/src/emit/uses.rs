//! Where values are used last, and where results are made.

use cotangent_ir::{Function, Op, Structure, Value};
use rustc_hash::FxHashMap;

use super::kernels::is_read_at_points;
use super::value::Array;

/// By value: what uses it last; itself if nothing does, nothing if it is a result.
pub(super) fn last_uses(f: &Function) -> Vec<Option<Value>> {
    last_uses_of(f, |_| false)
}

/// The same, where some results are handed on at once.
pub(super) fn last_uses_of(f: &Function, delivered: impl Fn(Value) -> bool) -> Vec<Option<Value>> {
    let mut last: Vec<Option<Value>> = f.values().map(Some).collect();
    for value in f.values() {
        for operand in f.operands(value) {
            last[operand.index()] = Some(value);
        }
    }
    let guards = f.guards().iter().map(|guard| guard.condition);
    for kept in f.results().iter().copied().filter(|v| !delivered(*v)).chain(guards) {
        last[kept.index()] = None;
    }
    last
}

/// Where results are to stand, and what they are made of in place.
pub(super) fn destinations(f: &Function, wanted: &[Option<Array>]) -> FxHashMap<Value, Array> {
    let mut dests: FxHashMap<Value, Array> = FxHashMap::default();
    if wanted.iter().all(Option::is_none) {
        return dests;
    }
    let mut taken = vec![false; f.len()];
    for (result, out) in f.results().iter().zip(wanted) {
        let Some(out) = out else { continue };
        if !std::mem::replace(&mut taken[result.index()], true) && !f.ty(*result).is_scalar() {
            dests.insert(*result, out.clone());
        }
    }
    let last = last_uses(f);
    for value in f.values().rev() {
        let Some(dest) = dests.get(&value).cloned() else { continue };
        let (made_of, user) = match f.op(value) {
            Op::Put | Op::PutAdd => (f.operand(value, 0), value),
            Op::Stop | Op::Keep | Op::Recompute => (f.operand(value, 0), value),
            Op::Part(k) => {
                let whole = f.operand(value, 0);
                match f.structure(whole) {
                    Some(Structure::Acc { targets, .. }) if (k as usize) < *targets => {
                        (f.operand(whole, k as usize), whole)
                    }
                    Some(Structure::For { carries, .. }) if (k as usize) < *carries => {
                        (f.operand(whole, 1 + k as usize), whole)
                    }
                    Some(Structure::Tab { dims, body }) if body.results().len() == 1 => {
                        let read = |j: &usize| {
                            f.ty(f.operand(whole, *j)) == f.ty(value)
                                && last[f.operand(whole, *j).index()] == Some(whole)
                                && !matches!(
                                    f.op(f.operand(whole, *j)),
                                    Op::Param(_) | Op::Table(_)
                                )
                                && is_read_at_points(body, dims.len() + j, dims.len())
                        };
                        match (0..f.operands(whole).len()).find(read) {
                            Some(j) => (f.operand(whole, j), whole),
                            None => continue,
                        }
                    }
                    _ => continue,
                }
            }
            _ => continue,
        };
        let once = f.operands(user).filter(|v| *v == made_of).count() == 1;
        if last[made_of.index()] == Some(user) && once && f.ty(made_of) == f.ty(value) {
            dests.entry(made_of).or_insert(dest);
        }
    }
    dests
}
