//! Numbers of tables that are computed again where they are read, where that is less than to write and to read them.
//!
//! The way back through the stages of a solver is a chain of tables that each read their neighbours' points. Much of what they hand
//! on is a product of what the next one reads in any case. (Runge–Kutta steps of 400 numbers, whose stages are four tables: 25 µs instead of
//! 36, and the gradient 86 instead of 104; of 10⁵ numbers 6.3 ms instead of 14.9, and 31 instead of 59.)

use std::sync::Arc;

use cotangent_ir::ranges::{in_range, of_body};
use cotangent_ir::{Builder, Copied, Dim, Element, Function, Op, Param, Structure, Type, Value};

use crate::emit::is_cheap;
use crate::joined::table;

/// The most numbers of tables that are tried in a function.
const TRIES: usize = 128;

/// The most tables in a function that is looked at.
const TABLES: usize = 48;

/// The most operations of a table that computes numbers of others: registers run out.
const MOST: usize = 64;

/// The function with numbers computed again, also in loops and branches, not within kernels.
pub(crate) fn recomputed(f: &Function) -> Function {
    let control = |s: &Structure| {
        matches!(s, Structure::For { .. } | Structure::While { .. } | Structure::If { .. })
    };
    let inside = f.values().filter_map(|v| f.structure(v)).any(control);
    let mut f = match inside {
        false => f.clone(),
        true => f.rebuilt(|b, copies, value| {
            let Some(structure) = f.structure(value).filter(|s| control(s)) else { return false };
            let operands = copies.operands(f, value);
            let inner = structure.with_bodies(|body| Arc::new(recomputed(body)));
            copies.set_parts(value, b.structure(inner, &operands));
            true
        }),
    };
    let tables = f.values().filter(|v| table(&f, *v).is_some()).count();
    if !(2..=TABLES).contains(&tables) {
        return f;
    }
    let mut from = 0;
    let mut cost = cost_of(&f);
    for _ in 0..TRIES {
        let is_part =
            |v: &Value| matches!(f.op(*v), Op::Part(_)) && table(&f, f.operand(*v, 0)).is_some();
        let Some(part) = f.values().skip(from).find(is_part) else { break };
        from = part.index() + 1;
        let Some(new) = without(&f, part) else { continue };
        let less = cost_of(&new);
        if less < cost {
            // What was dearer may be cheaper now.
            (f, cost, from) = (new, less, 0);
        }
    }
    f
}

/// What the tables of a function cost: two loads go with one store, and with four operations.
fn cost_of(f: &Function) -> f64 {
    let of = |(dims, body): (&[Dim], &Function)| {
        let points: f64 =
            dims.iter().map(|dim| if let Dim::Size(n) = dim { *n as f64 } else { 1.0 }).product();
        let each = body.values().map(|v| match body.op(v) {
            Op::Load => 1.0,
            Op::Elementary(code, _) if is_cheap(code) => 0.5,
            Op::Elementary(..) => 8.0,
            Op::Select | Op::Compare(_) | Op::Cast => 0.25,
            _ => 0.0,
        });
        // A round, and a table, take their time, too.
        points * (0.25 + each.sum::<f64>() + 2.0 * body.results().len() as f64) + 16.0
    };
    f.values().filter_map(|v| table(f, v)).map(of).sum()
}

/// The function without numbers of a table: those who read them compute them.
fn without(f: &Function, part: Value) -> Option<Function> {
    let Op::Part(k) = f.op(part) else { return None };
    let k = k as usize;
    let maker = f.operand(part, 0);
    let (dims, made) = table(f, maker)?;
    if f.results().contains(&part) || f.guards().iter().any(|guard| guard.condition == part) {
        return None;
    }
    let new = f.try_rebuilt(|b, copies, value| {
        if value == part {
            return Ok::<_, ()>(true);
        }
        if value == maker {
            let others: Vec<Value> = made.results().to_vec();
            let results = others.into_iter().enumerate().filter(|(j, _)| *j != k);
            let results: Vec<Value> = results.map(|(_, v)| v).collect();
            if !results.is_empty() {
                let captures: Vec<Value> = f.operands(maker).collect();
                let (body, captures) = only(made, &results, dims.len(), &captures);
                let mut parts = tabled(b, copies, dims, body, &captures);
                // Nobody asks for it.
                parts.insert(k, parts[0]);
                copies.set_parts(maker, parts);
            }
            return Ok(true);
        }
        if f.operands(value).all(|v| v != part) {
            return Ok(false);
        }
        let (body, captures) = reader(f, value, (part, maker, k)).ok_or(())?;
        let (dims, _) = table(f, value).ok_or(())?;
        let parts = tabled(b, copies, dims, body, &captures);
        copies.set_parts(value, parts);
        Ok(true)
    });
    new.ok()
}

fn tabled(
    b: &mut Builder,
    copies: &Copied,
    dims: &[Dim],
    body: Function,
    captures: &[Value],
) -> Vec<Value> {
    let captures: Vec<Value> = captures.iter().map(|v| copies.of(*v)).collect();
    b.structure(Structure::Tab { dims: dims.to_vec(), body: Arc::new(body) }, &captures)
}

/// The body of a table that computes what it has read of another one, and what it captures then.
fn reader(
    f: &Function,
    user: Value,
    (part, maker, k): (Value, Value, usize),
) -> Option<(Function, Vec<Value>)> {
    let (whole, made) = table(f, maker)?;
    let (domain, body) = table(f, user)?;
    let operands: Vec<Value> = f.operands(user).collect();
    let unknown = vec![None; f.params().len()];
    let ranges = of_body(f, f.structure(user)?, &operands, &unknown, body.params().len());
    let mut own = Builder::new("");
    let mut args: Vec<Value> = domain.iter().map(|_| own.param("i", Type::I64)).collect();
    let first = *args.first()?;
    let mut captures: Vec<Value> = Vec::new();
    let mut params: Vec<Value> = Vec::new();
    let mut param_of =
        |own: &mut Builder, operand: Value| match captures.iter().position(|v| *v == operand) {
            Some(known) => params[known],
            None => {
                captures.push(operand);
                let ty = f.ty(operand);
                params.push(own.add_param(Param { name: "x".to_string(), ty, linear: false }));
                params[params.len() - 1]
            }
        };
    for operand in &operands {
        // In the place of what is not read any more there is anything.
        args.push(if *operand == part { first } else { param_of(&mut own, *operand) });
    }
    let given: Vec<Value> = f.operands(maker).map(|v| param_of(&mut own, v)).collect();
    let read = |v: Value| match body.op(v) {
        Op::Param(j) => {
            operands.get((j as usize).wrapping_sub(domain.len())).is_some_and(|v| *v == part)
        }
        _ => false,
    };
    let ty = Type::array(Element::F64, whole);
    let results = body.write_into(&mut own, &args, |b, copies, value| {
        if !body.operands(value).any(read) {
            return Ok(false);
        }
        let indices: Vec<Value> = body.operands(value).skip(1).collect();
        let plain = body.op(value) == Op::Load
            && indices.len() == whole.len()
            && !indices.iter().any(|v| read(*v) || is_looked_up(body, *v))
            && in_range(body, ty, &indices, &ranges, domain);
        if !plain {
            return Err(());
        }
        let mut args: Vec<Value> = indices.iter().map(|v| copies.of(*v)).collect();
        args.extend(&given);
        copies.set(value, copied(b, made, made.results()[k], &args));
        Ok(true)
    });
    let results = results.ok()?;
    let body = own.finish(results);
    let (body, captures) = pruned(&body, domain.len(), &captures);
    (body.operations() <= MOST).then_some((body, captures))
}

/// Whether an index is read from an array: what is loaded there has a place of its own in each lane.
fn is_looked_up(body: &Function, index: Value) -> bool {
    let needed = needed(body, index);
    body.values().any(|v| needed[v.index()] && body.op(v) == Op::Load)
}

/// By value: whether another one needs it.
fn needed(f: &Function, root: Value) -> Vec<bool> {
    let mut needed = vec![false; f.len()];
    needed[root.index()] = true;
    for value in f.values().rev() {
        if needed[value.index()] {
            f.operands(value).for_each(|v| needed[v.index()] = true);
        }
    }
    needed
}

/// Copies a value with what it needs, given the parameters.
fn copied(b: &mut Builder, f: &Function, root: Value, args: &[Value]) -> Value {
    let needed = needed(f, root);
    let mut copies = Copied::new(f.len());
    for value in f.values().filter(|v| needed[v.index()]) {
        copies.value(b, f, value, args);
    }
    copies.of(root)
}

/// A body with some of its results, and what it then captures.
fn only(
    body: &Function,
    results: &[Value],
    rank: usize,
    captures: &[Value],
) -> (Function, Vec<Value>) {
    let mut b = Builder::new("");
    let args = b.params_of(body.params());
    let mut copies = Copied::new(body.len());
    body.values().for_each(|v| copies.value(&mut b, body, v, &args));
    let body = b.finish(results.iter().map(|v| copies.of(*v)).collect());
    pruned(&body, rank, captures)
}

/// A body without parameters that it does not use, and what it then captures.
fn pruned(body: &Function, rank: usize, captures: &[Value]) -> (Function, Vec<Value>) {
    let mut used = vec![false; body.params().len()];
    let operands =
        body.values().flat_map(|v| body.operands(v)).chain(body.results().iter().copied());
    for value in operands {
        if let Op::Param(k) = body.op(value) {
            used[k as usize] = true;
        }
    }
    let mut b = Builder::new("");
    let mut args: Vec<Value> = Vec::with_capacity(used.len());
    for (k, param) in body.params().iter().enumerate() {
        let own = k < rank || used[k];
        args.push(if own { b.add_param(param.clone()) } else { args[0] });
    }
    let mut copies = Copied::new(body.len());
    body.values().for_each(|v| copies.value(&mut b, body, v, &args));
    let results = body.results().iter().map(|v| copies.of(*v)).collect();
    let kept = captures.iter().zip(&used[rank..]).filter(|(_, used)| **used);
    (b.finish(results), kept.map(|(v, _)| *v).collect())
}
