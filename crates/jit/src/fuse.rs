//! Operations on whole arrays as tables: what is used once is computed where it is used, and never stands in memory.
//!
//! A chain of operations then goes through memory once, and threads can share it out.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Param, Structure, Type, Value};
use rustc_hash::FxHashMap;

/// Shorter arrays, or arrays of shorter rows, are done as they stand.
pub(crate) const LEAST: usize = 64;

/// The most operations that become one table: LLVM takes long over long loops, and registers run out.
const MOST: usize = 64;

/// The function with tables for operations on arrays, also in loops and branches, not within kernels.
pub(crate) fn fused(f: &Function, least: usize) -> Function {
    let needed = |v| is_pointwise(f, v, least) || f.structure(v).is_some_and(is_control);
    if !f.values().any(needed) {
        return f.clone();
    }
    let inlined = inlined(f, least);
    f.rebuilt(|b, copies, value| {
        if let Some(structure) = f.structure(value).filter(|s| is_control(s)) {
            let operands = copies.operands(f, value);
            let inner = structure.with_bodies(|body| Arc::new(fused(body, least)));
            copies.set_parts(value, b.structure(inner, &operands));
            return true;
        }
        if !is_pointwise(f, value, least) {
            return false;
        }
        if !inlined[value.index()] {
            let table = Tree::new(f, &inlined, value).table(b, copies);
            copies.set(value, table);
        }
        true
    })
}

fn is_control(structure: &Structure) -> bool {
    matches!(structure, Structure::For { .. } | Structure::While { .. } | Structure::If { .. })
}

/// Whether a value is an array, long enough, whose elements each come from the elements at the same place.
fn is_pointwise(f: &Function, value: Value, least: usize) -> bool {
    let op = matches!(
        f.op(value),
        Op::Elementary(..)
            | Op::Compare(_)
            | Op::And
            | Op::Or
            | Op::Not
            | Op::Select
            | Op::Integral(_)
            | Op::Cast
    );
    let ty = f.ty(value);
    op && matches!(ty.dims().last(), Some(Dim::Size(n)) if *n >= least)
        && ty.len().is_some()
        && f.operands(value).all(|v| f.ty(v).is_scalar() || f.ty(v).dims() == ty.dims())
}

/// By value: whether it is used once, by an operation that is done together with it.
fn inlined(f: &Function, least: usize) -> Vec<bool> {
    let mut uses = vec![0; f.len()];
    let mut together = vec![false; f.len()];
    for value in f.values() {
        for operand in f.operands(value) {
            uses[operand.index()] += 1;
            together[operand.index()] =
                is_pointwise(f, value, least) && f.ty(value).dims() == f.ty(operand).dims();
        }
    }
    let roots = f.results().iter().copied().chain(f.guards().iter().map(|g| g.condition));
    roots.for_each(|v| uses[v.index()] += 2);
    let mut inlined = vec![false; f.len()];
    let mut sizes = vec![1; f.len()];
    for value in f.values() {
        let own = f.operands(value).filter(|v| inlined[v.index()]);
        sizes[value.index()] += own.map(|v| sizes[v.index()]).sum::<usize>();
        inlined[value.index()] = is_pointwise(f, value, least)
            && together[value.index()]
            && uses[value.index()] == 1
            && sizes[value.index()] < MOST;
    }
    inlined
}

/// An operation on arrays with all that is computed for it alone.
struct Tree<'f> {
    f: &'f Function,
    inlined: &'f [bool],
    root: Value,
    /// What stands outside: arrays and numbers, in the order in which they are met.
    leaves: Vec<Value>,
}

impl<'f> Tree<'f> {
    fn new(f: &'f Function, inlined: &'f [bool], root: Value) -> Tree<'f> {
        let mut tree = Tree { f, inlined, root, leaves: Vec::new() };
        let mut open = vec![root];
        while let Some(value) = open.pop() {
            for operand in f.operands(value) {
                if inlined[operand.index()] {
                    open.push(operand);
                    continue;
                }
                let leaf = tree.outside(operand);
                if !tree.leaves.contains(&leaf) {
                    tree.leaves.push(leaf);
                }
            }
        }
        tree
    }

    /// What an operand is read from: arrays of one value are that value.
    fn outside(&self, operand: Value) -> Value {
        match self.f.op(operand) {
            Op::Fill => self.f.operand(operand, 0),
            _ => operand,
        }
    }

    fn table(&self, b: &mut Builder, copies: &Copied) -> Value {
        let (f, ty) = (self.f, self.f.ty(self.root));
        let mut body = Builder::new("");
        let indices: Vec<Value> = ty.dims().iter().map(|_| body.param("i", Type::I64)).collect();
        let mut inside: FxHashMap<Value, Value> = FxHashMap::default();
        for leaf in &self.leaves {
            let param = Param { name: "x".to_string(), ty: f.ty(*leaf), linear: false };
            let param = body.add_param(param);
            let element = match f.ty(*leaf).is_scalar() {
                true => param,
                false => body.load(param, &indices),
            };
            inside.insert(*leaf, element);
        }
        // Operands stand before what uses them.
        let mut own = vec![self.root];
        let mut next = 0;
        while next < own.len() {
            let operands = f.operands(own[next]).filter(|v| self.inlined[v.index()]);
            own.extend(operands);
            next += 1;
        }
        own.sort_unstable();
        let mut result = None;
        for value in own {
            let args: Option<Vec<Value>> = f
                .operands(value)
                .map(|v| inside.get(&v).or_else(|| inside.get(&self.outside(v))).copied())
                .collect();
            let element = Type::scalar(f.ty(value).element());
            let done = body.copy(f.op(value), element, &args.unwrap_or_default());
            inside.insert(value, done);
            result = Some(done);
        }
        let body = Arc::new(body.finish(result.into_iter().collect()));
        let captures: Vec<Value> = self.leaves.iter().map(|v| copies.of(*v)).collect();
        b.structure(Structure::Tab { dims: ty.dims().to_vec(), body }, &captures)[0]
    }
}
