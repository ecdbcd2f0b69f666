//! The body of a kernel in the making.

use cotangent_ir::{Builder, Value};
use rustc_hash::FxHashMap;

/// A body with indices of its own; what it uses from outside becomes a capture, once.
pub(crate) struct Body {
    pub(crate) b: Builder,
    pub(crate) indices: Vec<Value>,
    pub(crate) captures: Vec<Value>,
    /// Their parameters in the body.
    params: FxHashMap<Value, Value>,
}

impl Body {
    pub(crate) fn new(rank: usize) -> Body {
        let mut b = Builder::new("");
        let indices = b.indices(rank);
        Body { b, indices, captures: Vec::new(), params: FxHashMap::default() }
    }

    /// A value from outside.
    pub(crate) fn captured(&mut self, outer: &Builder, value: Value) -> Value {
        let Body { b, captures, params, .. } = self;
        *params.entry(value).or_insert_with(|| {
            captures.push(value);
            b.param(format!("c{}", captures.len()), outer.ty(value))
        })
    }
}
