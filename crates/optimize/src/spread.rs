//! Bodies whose arrays have further dimensions: every load gets the point as further indices.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Op, Param, Structure, Type, Value};
use rustc_hash::FxHashMap;

/// A function that is being written at a point, some of whose values are arrays over all points.
pub(crate) struct Spread<'f> {
    f: &'f Function,
    params: Vec<Option<Value>>,
    point: Vec<Value>,
    pub(crate) copies: Copied,
    /// Arrays, and behind how many of their dimensions the domain comes.
    arrays: FxHashMap<Value, (Value, usize)>,
}

impl<'f> Spread<'f> {
    pub(crate) fn new(f: &'f Function, point: Vec<Value>) -> Spread<'f> {
        let copies = Copied::new(f.len());
        Spread { f, params: f.param_values(), point, copies, arrays: FxHashMap::default() }
    }

    pub(crate) fn set_param(&mut self, k: usize, copy: Value) {
        if let Some(value) = self.params.get(k).copied().flatten() {
            self.copies.set(value, copy);
        }
    }

    pub(crate) fn set_array(&mut self, value: Value, array: Value, behind: usize) {
        self.arrays.insert(value, (array, behind));
    }

    /// A value at the point: of an array over all points, a copy of what belongs to it.
    pub(crate) fn of(&self, b: &mut Builder, value: Value) -> Option<Value> {
        let Some((array, behind)) = self.arrays.get(&value).copied() else {
            return self.copies.get(value);
        };
        if behind == 0 {
            return Some(b.load(array, &self.point));
        }
        let dims = self.f.ty(value).dims();
        let mut inner = Builder::new("");
        let own = inner.indices(dims.len());
        let whole = inner.param("x", b.ty(array));
        let point: Vec<Value> = self.point.iter().map(|_| inner.param("p", Type::I64)).collect();
        let element = inner.load(whole, &[&own[..behind], &point, &own[behind..]].concat());
        let body = Arc::new(inner.finish(vec![element]));
        let operands: Vec<Value> =
            std::iter::once(array).chain(self.point.iter().copied()).collect();
        b.structure(Structure::Tab { dims: dims.to_vec(), body }, &operands).first().copied()
    }

    /// Writes what some values need, and gives them.
    pub(crate) fn results(mut self, b: &mut Builder, results: &[Value]) -> Option<Vec<Value>> {
        let needed = crate::visit::live(self.f, results);
        for value in self.f.values().filter(|v| needed[v.index()]) {
            if !matches!(self.f.op(value), Op::Param(_)) {
                copy_node(b, &mut self, value)?;
            }
        }
        results.iter().map(|v| self.of(b, *v)).collect()
    }
}

/// Writes one operation, whose operands have been.
pub(crate) fn copy_node(b: &mut Builder, spread: &mut Spread<'_>, value: Value) -> Option<()> {
    let f = spread.f;
    let is_array = |v: &Value| spread.arrays.contains_key(v);
    if !f.operands(value).any(|v| is_array(&v)) {
        spread.copies.value(b, f, value, &[]);
        return Some(());
    }
    let operands: Vec<Value> = f.operands(value).collect();
    if f.op(value) == Op::Load
        && let Some((array, behind)) = spread.arrays.get(&operands[0]).copied()
        && behind < operands.len()
        && !operands[1..].iter().any(is_array)
    {
        let indices: Vec<Value> = operands[1..].iter().map(|v| spread.copies.of(*v)).collect();
        let all = [&indices[..behind], &spread.point, &indices[behind..]].concat();
        spread.copies.set(value, b.load(array, &all));
        return Some(());
    }
    if let Some(structure) = f.structure(value) {
        let (own, _) = structure.own_params();
        let captured = |k: usize| structure.param_of(k).is_some_and(|param| param >= own);
        let all = operands.iter().enumerate().all(|(k, v)| !is_array(v) || captured(k));
        if all && !structure.is_named() {
            let mut changed = Vec::new();
            let mut given = Vec::with_capacity(operands.len());
            for (k, operand) in operands.iter().enumerate() {
                match (spread.arrays.get(operand), structure.param_of(k)) {
                    (Some((array, behind)), Some(param)) => {
                        changed.push((param, b.ty(*array), *behind));
                        given.push(*array);
                    }
                    _ => given.push(spread.copies.get(*operand)?),
                }
            }
            let point = &spread.point;
            let new =
                structure.try_with_bodies(|body| inside(body, &changed, point.len()).ok_or(()));
            given.extend(point);
            let parts = b.structure(new.ok()?, &given);
            spread.copies.set_parts(value, parts);
            return Some(());
        }
    }
    for operand in operands.iter().filter(|v| is_array(v)) {
        // Taken whole: a copy of what belongs to the point.
        if spread.copies.get(*operand).is_none() {
            let copy = spread.of(b, *operand)?;
            spread.copies.set(*operand, copy);
        }
    }
    spread.copies.value(b, f, value, &[]);
    Some(())
}

/// A body some of whose parameters are arrays over all points; the point comes behind its parameters.
fn inside(
    body: &Arc<Function>,
    changed: &[(usize, Type, usize)],
    point: usize,
) -> Option<Arc<Function>> {
    let mut b = Builder::new(body.name());
    let mut params = Vec::with_capacity(body.params().len());
    for (k, param) in body.params().iter().enumerate() {
        let ty = changed.iter().find(|(at, ..)| *at == k).map_or(param.ty, |(_, ty, _)| *ty);
        params.push(b.add_param(Param { ty, ..param.clone() }));
    }
    let point: Vec<Value> = (0..point).map(|_| b.param("p", Type::I64)).collect();
    let mut spread = Spread::new(body, point);
    for (k, param) in params.iter().enumerate() {
        match changed.iter().find(|(at, ..)| *at == k) {
            Some((_, _, behind)) => {
                if let Some(value) = spread.params.get(k).copied().flatten() {
                    spread.set_array(value, *param, *behind);
                }
            }
            None => spread.set_param(k, *param),
        }
    }
    let results = spread.results(&mut b, body.results())?;
    Some(Arc::new(b.finish(results)))
}
