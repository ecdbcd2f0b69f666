//! Products of matrices taken out of the kernels around them, before text is written.
//!
//! The optimiser puts a product into the sum or the table that uses it, and reverse mode adds up what goes back to its
//! factors point by point: loops around loops, and nobody sees a product. Where it pays, it is made a table by itself again,
//! which [`Product::of`] knows:
//!
//! - a sum of products within a kernel, each factor of which depends on the summed index and on one index of the kernel
//!   besides, becomes a table before the kernel;
//! - additions at the places of such a sum within an accumulation (`c[i, k] += s(i, j) b[k, j]`) become a table of the sums.
//!
//! A factor that is not simply an array is made one. A sum of several products is a sum of several tables.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use super::known_call;
use super::nest::{Nest, Term, apart, dependences, needed};
use super::product::{self, Product, factors};

/// The function with products that pay as tables of their own, in all bodies.
pub(crate) fn extracted(f: &Function) -> Function {
    if f.values().all(|v| f.structure(v).is_none()) {
        return f.clone();
    }
    f.rebuilt(|b, copies, value| {
        let Some(structure) = f.structure(value) else { return false };
        match structure {
            Structure::Derive(_) => return false,
            Structure::Call { function } if known_call(function).is_some() => return false,
            _ => {}
        }
        let inner = structure.with_bodies(|body| Arc::new(extracted(body)));
        let operands = copies.operands(f, value);
        let parts = kernel(b, &inner, &operands);
        let parts = parts.unwrap_or_else(|| b.structure(inner, &operands));
        copies.set_parts(value, parts);
        true
    })
}

pub(super) fn kernel(
    b: &mut Builder,
    structure: &Structure,
    operands: &[Value],
) -> Option<Vec<Value>> {
    match structure {
        Structure::Acc { .. } => {
            let parts = accumulation(b, structure, operands);
            parts.or_else(|| with_sums(b, structure, operands))
        }
        Structure::Tab { dims, body } if Product::of(dims, body).is_some() => None,
        Structure::Tab { .. } | Structure::Red { .. } => with_sums(b, structure, operands),
        _ => None,
    }
}

/// A sum of products within a kernel: the table of each, which indices of the kernel go into it, and whether it is taken away.
struct Sum {
    whole: Value,
    tables: Vec<(Value, Vec<usize>, bool)>,
}

/// A kernel with the sums of products in it as tables before it.
fn with_sums(b: &mut Builder, structure: &Structure, operands: &[Value]) -> Option<Vec<Value>> {
    let nest = Nest::new(structure, operands)?;
    let mut made: Vec<Sum> = Vec::new();
    for whole in nest.body.values() {
        let sum = matches!(
            nest.body.structure(whole),
            Some(Structure::Red { dims, reducer: Reducer::Sum, .. }) if dims.len() == 1
        );
        if sum && let Some(tables) = nest.within(whole).and_then(|nest| summed(b, &nest)) {
            made.push(Sum { whole, tables });
        }
    }
    if made.is_empty() {
        return None;
    }
    // The body with loads in the place of the sums.
    let mut inner = Builder::new(nest.body.name());
    let args = inner.params_of(nest.body.params());
    let mut all = operands.to_vec();
    let mut copies = Copied::new(nest.body.len());
    for value in nest.body.values() {
        let Some(sum) = made.iter().find(|sum| sum.whole == value) else {
            copies.value(&mut inner, nest.body, value, &args);
            continue;
        };
        let mut entries = Vec::with_capacity(sum.tables.len());
        for (table, along, negative) in &sum.tables {
            all.push(*table);
            let param = inner.param("z", b.ty(*table));
            let at: Vec<Value> = along.iter().map(|index| args[*index]).collect();
            entries.push((inner.load(param, &at), *negative));
        }
        let total = total(&mut inner, &entries);
        copies.set_parts(value, vec![total]);
    }
    let results: Vec<Value> = nest.body.results().iter().map(|v| copies.of(*v)).collect();
    let body = inner.finish(results);
    let Structure::Tab { dims, .. } = structure else {
        return Some(b.structure(structure.with_bodies(|_| Arc::new(body.clone())), &all));
    };
    // A table of nothing but the sums is theirs.
    let own = |v: &Value| -> Option<Value> {
        let (table, along) = product::load(&body, *v, |k| k.checked_sub(dims.len()), Some)?;
        let same = along.iter().copied().eq(0..dims.len());
        all.get(table).copied().filter(|_| same && table >= operands.len())
    };
    let owned: Vec<Option<Value>> = body.results().iter().map(own).collect();
    let rest: Vec<Value> = body
        .results()
        .iter()
        .zip(&owned)
        .filter(|(_, own)| own.is_none())
        .map(|(v, _)| *v)
        .collect();
    let mut found = Vec::new().into_iter();
    if !rest.is_empty() {
        let mut inner = Builder::new("");
        let args: Vec<Option<Value>> =
            inner.params_of(body.params()).into_iter().map(Some).collect();
        let results = needed(&mut inner, &body, &args, &rest)?;
        let body = Arc::new(inner.finish(results));
        found = b.structure(Structure::Tab { dims: dims.clone(), body }, &all).into_iter();
    }
    owned.into_iter().map(|own| own.or_else(|| found.next())).collect()
}

/// What is added up, and taken away.
fn total(b: &mut Builder, terms: &[(Value, bool)]) -> Value {
    let mut sum: Option<Value> = None;
    for (term, negative) in terms {
        sum = Some(match (sum, negative) {
            (None, false) => *term,
            (None, true) => b.elementary(Opcode::Neg, 0, &[*term]),
            (Some(sum), false) => b.elementary(Opcode::Add, 0, &[sum, *term]),
            (Some(sum), true) => b.elementary(Opcode::Sub, 0, &[sum, *term]),
        });
    }
    sum.unwrap_or_else(|| b.constant(0.0, Type::F64))
}

/// The terms of a sum, and which of them are taken away. Few, or they are better added up before they are summed over.
fn terms(f: &Function, value: Value) -> Option<Vec<(Value, bool)>> {
    let mut found = Vec::new();
    let mut open = vec![(value, false)];
    while let Some((value, negative)) = open.pop() {
        match f.op(value) {
            Op::Elementary(Opcode::Neg, _) => open.push((f.operand(value, 0), !negative)),
            Op::Elementary(code @ (Opcode::Add | Opcode::Sub), _) => {
                open.push((f.operand(value, 1), negative != (code == Opcode::Sub)));
                open.push((f.operand(value, 0), negative));
            }
            _ => found.push((value, negative)),
        }
        if found.len() + open.len() > 4 {
            return None;
        }
    }
    Some(found)
}

/// The tables of a sum of products.
fn summed(b: &mut Builder, nest: &Nest<'_>) -> Option<Vec<(Value, Vec<usize>, bool)>> {
    let body = nest.innermost();
    let [result] = body.results() else { return None };
    let mut all = Vec::new();
    for (product, negative) in terms(body, *result)? {
        let (values, strong) = factors(body, product)?;
        let sides = [nest.side(b, values[0])?, nest.side(b, values[1])?];
        let mut over: Vec<usize> =
            (0..nest.rank).filter(|k| sides.iter().any(|side| side.along().contains(k))).collect();
        let along = over.clone();
        over.push(nest.rank);
        let term = Term { sides, strong, over, summed: true, negative };
        if !nest.is_product(&term) {
            return None;
        }
        all.push((term, along));
    }
    let mut tables = Vec::with_capacity(all.len());
    for (term, along) in all {
        tables.push((nest.table(b, &term)?, along, term.negative));
    }
    Some(tables)
}

/// An accumulation of products as tables of their sums, added to the targets.
fn accumulation(b: &mut Builder, structure: &Structure, operands: &[Value]) -> Option<Vec<Value>> {
    let Structure::Acc { targets, .. } = structure else { return None };
    let nest = Nest::new(structure, operands)?;
    let all: Vec<Option<(Nest<'_>, Vec<Term>)>> =
        (0..*targets).map(|target| additions(b, &nest, target)).collect();
    let pays = |found: &Option<(Nest<'_>, Vec<Term>)>| {
        found.as_ref().is_some_and(|(nest, terms)| terms.iter().any(|t| nest.is_product(t)))
    };
    if !all.iter().any(pays) {
        return None;
    }
    // Beside products those without a sum are tables, too; all else is added as before.
    let mut sums: Vec<Option<Value>> = vec![None; *targets];
    let mut rest = Vec::new();
    for (target, found) in all.into_iter().enumerate() {
        let found =
            found.filter(|(nest, terms)| terms.iter().all(|t| !t.summed || nest.is_product(t)));
        match found {
            None => rest.push(target),
            Some((nest, terms)) => {
                let mut tables = Vec::with_capacity(terms.len());
                for term in &terms {
                    tables.push((nest.table(b, term)?, term.negative));
                }
                sums[target] = Some(total(b, &tables));
            }
        }
    }
    let left = match rest.is_empty() {
        true => Vec::new(),
        false => {
            let (smaller, handed) = only(structure, &rest)?;
            let all: Vec<Value> = handed.iter().map(|k| operands[*k]).collect();
            let parts = with_sums(b, &smaller, &all);
            parts.unwrap_or_else(|| b.structure(smaller, &all))
        }
    };
    let mut left = left.into_iter();
    let mut parts = Vec::with_capacity(*targets);
    for (target, sum) in sums.into_iter().enumerate() {
        parts.push(match sum {
            None => left.next()?,
            Some(sum) if b.function().is_zero(operands[target]) => sum,
            Some(sum) => b.elementary(Opcode::Add, 0, &[operands[target], sum]),
        });
    }
    Some(parts)
}

/// The products that are added to a target at each point, and nothing else: here or in a kernel within.
fn additions<'n>(b: &Builder, nest: &Nest<'n>, target: usize) -> Option<(Nest<'n>, Vec<Term>)> {
    let body = nest.body;
    let result = body.results()[target];
    let is_param = |f: &Function, v: Value, param: usize| f.op(v) == Op::Param(param as u32);
    let (nest, mut place, param) = match body.op(result) {
        Op::PutAdd => {
            let (sizes, depends) = (nest.sizes.clone(), nest.depends.clone());
            let nest = Nest { sizes, depends, inner: None, ..*nest };
            let param = nest.rank + target;
            (nest, result, param)
        }
        Op::Part(part) => {
            let whole = body.operand(result, 0);
            let Some(Structure::Acc { dims, targets, body: inner }) = body.structure(whole) else {
                return None;
            };
            let part = part as usize;
            let given =
                part < *targets && is_param(body, body.operand(whole, part), nest.rank + target);
            if !given {
                return None;
            }
            (nest.within(whole)?, inner.results()[part], dims.len() + part)
        }
        _ => return None,
    };
    let f = nest.innermost();
    let mut all = Vec::new();
    while f.op(place) == Op::PutAdd {
        let index = |v: Value| match f.op(v) {
            Op::Param(k) => nest.index(k as usize),
            _ => None,
        };
        let at: Vec<usize> = f.operands(place).skip(2).map(index).collect::<Option<_>>()?;
        let dims = f.ty(place).dims();
        let fits = |(dim, k): (&Dim, &usize)| *dim == Dim::Size(nest.sizes[*k]);
        let left: Vec<usize> = (0..nest.sizes.len()).filter(|k| !at.contains(k)).collect();
        let whole = at.len() == dims.len() && apart(&at) && dims.iter().zip(&at).all(fits);
        if !whole || left.len() > 1 {
            return None;
        }
        for (product, negative) in terms(f, f.operand(place, 1))? {
            let (values, strong) = factors(f, product)?;
            let sides = [nest.side(b, values[0])?, nest.side(b, values[1])?];
            let over = at.iter().chain(&left).copied().collect();
            all.push(Term { sides, strong, over, summed: !left.is_empty(), negative });
        }
        place = f.operand(place, 0);
    }
    is_param(f, place, param).then_some((nest, all))
}

/// An accumulation to some of its targets only, and which operands are left.
fn only(structure: &Structure, kept: &[usize]) -> Option<(Structure, Vec<usize>)> {
    let Structure::Acc { dims, targets, body } = structure else { return None };
    let (rank, count) = (dims.len(), body.params().len());
    let dropped = |k: usize| (rank..rank + targets).contains(&k) && !kept.contains(&(k - rank));
    let mut b = Builder::new(body.name());
    let mut args: Vec<Option<Value>> = Vec::with_capacity(count);
    for (k, param) in body.params().iter().enumerate() {
        args.push((!dropped(k)).then(|| b.add_param(param.clone())));
    }
    let roots: Vec<Value> = kept.iter().map(|k| body.results()[*k]).collect();
    let mut needs = vec![false; body.len()];
    roots.iter().for_each(|v| needs[v.index()] = true);
    let mut copies = Copied::new(body.len());
    let gone = dependences(body, |k| (!dropped(k)).then_some(0));
    for value in body.values().rev() {
        if needs[value.index()] {
            body.operands(value).for_each(|v| needs[v.index()] = true);
        }
    }
    for value in body.values().filter(|v| needs[v.index()]) {
        match (body.op(value), body.structure(value)) {
            (Op::Param(k), _) => {
                if let Some(arg) = args[k as usize] {
                    copies.set(value, arg);
                }
            }
            (_, Some(inner @ Structure::Acc { targets, .. })) if gone[value.index()].is_none() => {
                let operands: Vec<Value> = body.operands(value).collect();
                let own: Vec<usize> =
                    (0..*targets).filter(|t| gone[operands[*t].index()].is_some()).collect();
                let (smaller, handed) = only(inner, &own)?;
                let all: Vec<Value> =
                    handed.iter().map(|o| copies.get(operands[*o])).collect::<Option<_>>()?;
                let found = b.structure(smaller, &all);
                let filler = b.truth(false);
                let mut parts = vec![filler; *targets];
                own.iter().zip(found).for_each(|(t, part)| parts[*t] = part);
                copies.set_parts(value, parts);
            }
            (Op::Part(_), _) => copies.value(&mut b, body, value, &[]),
            _ if gone[value.index()].is_none() => return None,
            _ => copies.value(&mut b, body, value, &[]),
        }
    }
    let results = roots.iter().map(|v| copies.get(*v)).collect::<Option<Vec<_>>>()?;
    let body = Arc::new(b.finish(results));
    let handed = (0..count - rank).filter(|o| *o >= *targets || kept.contains(o)).collect();
    Some((Structure::Acc { dims: dims.clone(), targets: kept.len(), body }, handed))
}
