//! Producers into consumers: an element of a table is computed where it is used.
//!
//! The load of a table at an index is its body at that index; the load of an array that is computed
//! element by element is the computation on the elements. Slices, shifts and transpositions of tables
//! are loads at other indices, so they vanish with it, and of a table only what is used is computed. It is
//! done where it costs less; an index that may be out of range is left alone.

use std::sync::Arc;

use cotangent_ir::ranges::{Range, in_range, of_body};
use cotangent_ir::{Builder, Copied, Dim, Function, Op, Param, Structure, Type, Value};

use crate::rewrite::{bound, is_elementwise};
use crate::stats::Tally;
use crate::visit::{copy_into, rebuild};

/// The most producers that are tried in a function at a time.
const TRIES: usize = 64;

/// The function with producers in their consumers, in all bodies.
pub(crate) fn fuse(f: &Function, tally: &mut Tally) -> Function {
    let f = rebuild(f, &mut |b, site| {
        if site.structure.is_named() {
            return None;
        }
        let inner = site.structure.with_bodies(|body| Arc::new(here(body, tally)));
        Some(b.structure(inner, site.operands))
    });
    here(&f, tally)
}

/// In one function, without its bodies: through whole chains of producers, so a chain does not take as many rounds as it is long.
fn here(f: &Function, tally: &mut Tally) -> Function {
    let mut f = f.clone();
    let (mut from, mut changed) = (0, false);
    for _ in 0..TRIES {
        let Some(value) = f.values().skip(from).find(|v| is_producer(&f, *v)) else {
            if !std::mem::take(&mut changed) {
                break;
            }
            from = 0;
            continue;
        };
        from = value.index() + 1;
        let Some(new) = absorb_all(&f, value) else { continue };
        if new.cost().total() < f.cost().total() {
            tally.structural("fuse", "a load of an array", "its element");
            (f, changed) = (new, true);
            // Numbers have moved; those before this one have not.
            from = value.index().min(f.len());
        }
    }
    f
}

fn is_producer(f: &Function, value: Value) -> bool {
    if f.ty(value).is_scalar() || f.ty(value) == Type::PARTS {
        return false;
    }
    match f.op(value) {
        Op::Part(_) => matches!(f.structure(f.operand(value, 0)), Some(Structure::Tab { .. })),
        op => is_elementwise(op) && !matches!(op, Op::Stop | Op::Keep | Op::Recompute),
    }
}

/// How an element is computed.
enum Producer {
    Tab { dims: Vec<Dim>, body: Arc<Function>, part: usize },
    Elementwise { op: Op, ty: Type, types: Vec<Type> },
}

impl Producer {
    /// Of a value, with what it is computed from.
    fn of(f: &Function, value: Value) -> Option<(Producer, Vec<Value>)> {
        if let Op::Part(k) = f.op(value) {
            let whole = f.operand(value, 0);
            let Some(Structure::Tab { dims, body }) = f.structure(whole) else { return None };
            let producer =
                Producer::Tab { dims: dims.clone(), body: body.clone(), part: k as usize };
            return Some((producer, f.operands(whole).collect()));
        }
        let operands: Vec<Value> = f.operands(value).collect();
        let types = operands.iter().map(|v| f.ty(*v)).collect();
        Some((Producer::Elementwise { op: f.op(value), ty: f.ty(value), types }, operands))
    }

    /// The element at some indices, given what it is computed from.
    fn element(
        &self,
        b: &mut Builder,
        from: &[Value],
        indices: &[Value],
        context: &Context,
    ) -> Option<Value> {
        match self {
            Producer::Tab { dims, body, part } => {
                let whole = Type::array(cotangent_ir::Element::F64, dims);
                if indices.len() < dims.len()
                    || !in_range(
                        b.function(),
                        whole,
                        &indices[..dims.len()],
                        &context.ranges,
                        &context.domain,
                    )
                {
                    return None;
                }
                let args: Vec<Option<Value>> =
                    indices[..dims.len()].iter().chain(from).map(|v| Some(*v)).collect();
                let result = body.results()[*part];
                let mut copies = Copied::new(body.len());
                copy_into(b, body, &mut copies, &args, &[result]);
                Some(b.load(copies.of(result), &indices[dims.len()..]))
            }
            Producer::Elementwise { op, ty, types } => {
                let operands: Vec<Value> = from
                    .iter()
                    .zip(types)
                    .map(|(v, ty)| if ty.is_scalar() { *v } else { b.load(*v, indices) })
                    .collect();
                let ty = ty.after(indices.len());
                let new = b.copy(*op, ty, &operands);
                Some(b.fill(new, ty))
            }
        }
    }
}

/// What is known where a load stands.
#[derive(Clone, Default)]
struct Context {
    ranges: Vec<Range>,
    domain: Vec<Dim>,
}

/// The function with a producer in all its consumers that can take it.
fn absorb_all(f: &Function, value: Value) -> Option<Function> {
    let (producer, from) = Producer::of(f, value)?;
    let linear = f.linear_values().ok()?;
    let context = Context { ranges: vec![None; f.params().len()], domain: Vec::new() };
    let extra: Vec<Param> = from
        .iter()
        .map(|v| Param { name: "f".to_string(), ty: f.ty(*v), linear: linear[v.index()] })
        .collect();
    let mut any = false;
    let new = f.rebuilt(|b, copies, user| {
        if f.operands(user).all(|v| v != value) {
            return false;
        }
        let from: Vec<Value> = from.iter().map(|v| copies.of(*v)).collect();
        let taken = consume(b, f, user, value, copies, &producer, &from, &extra, &context);
        any |= taken.is_some();
        taken.is_some()
    });
    any.then_some(new)
}

/// A user of a producer without it.
#[allow(clippy::too_many_arguments, reason = "a user, what it uses, and where it is being built")]
fn consume(
    b: &mut Builder,
    f: &Function,
    user: Value,
    value: Value,
    copies: &mut Copied,
    producer: &Producer,
    from: &[Value],
    extra: &[Param],
    context: &Context,
) -> Option<()> {
    let operands: Vec<Value> = f.operands(user).collect();
    if f.op(user) == Op::Load {
        if operands[1..].contains(&value) {
            return None;
        }
        let indices: Vec<Value> = operands[1..].iter().map(|v| copies.of(*v)).collect();
        copies.set(user, producer.element(b, from, &indices, context)?);
        return Some(());
    }
    let structure = f.structure(user)?;
    if structure.is_named() {
        return None;
    }
    let (own, _) = structure.own_params();
    let mut params = Vec::new();
    for (k, operand) in operands.iter().enumerate() {
        if *operand == value {
            params.push(structure.param_of(k).filter(|param| *param >= own)?);
        }
    }
    let new_operands: Vec<Value> =
        operands.iter().map(|v| copies.of(*v)).chain(from.iter().copied()).collect();
    let domain = match structure {
        Structure::For { .. } => bound(f, &operands).into_iter().collect(),
        other => other.domain().to_vec(),
    };
    let count = structure.bodies().next().map_or(0, |body| body.params().len());
    let built: Vec<Value> = operands.iter().map(|v| copies.of(*v)).collect();
    let ranges = of_body(b.function(), structure, &built, &context.ranges, count);
    let inner = Context { ranges, domain };
    let absorbed = |body: &Arc<Function>| absorb(body, &params, producer, extra, &inner).ok_or(());
    let new = structure.try_with_bodies(absorbed).ok()?;
    copies.set_parts(user, b.structure(new, &new_operands));
    Some(())
}

/// A body with elements in the place of loads of some of its parameters.
fn absorb(
    body: &Arc<Function>,
    params: &[usize],
    producer: &Producer,
    extra: &[Param],
    context: &Context,
) -> Option<Arc<Function>> {
    let mut b = Builder::new(body.name());
    let args = b.params_of(body.params());
    let from = b.params_of(extra);
    let arrays: Vec<Value> = body
        .values()
        .filter(|v| matches!(body.op(*v), Op::Param(k) if params.contains(&(k as usize))))
        .collect();
    if body.results().iter().any(|v| arrays.contains(v)) {
        return None;
    }
    let results = body.write_into(&mut b, &args, |b, copies, user| {
        let Some(array) = body.operands(user).find(|v| arrays.contains(v)) else {
            return Ok(false);
        };
        // One array by two names would have been one.
        if body.operands(user).any(|v| v != array && arrays.contains(&v)) {
            return Err(());
        }
        let taken = consume(b, body, user, array, copies, producer, &from, extra, context);
        taken.map(|()| true).ok_or(())
    });
    Some(Arc::new(b.finish(results.ok()?)))
}
