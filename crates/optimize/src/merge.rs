//! Kernels over the same domain side by side become one: what they share is loaded and computed once.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Param, Structure, Value};

use crate::rewrite::finish;
use crate::same_rounds::{self, go_together};
use crate::stats::Tally;
use crate::visit::rebuild;

/// The most merges in a function at a time.
const MOST: usize = 64;

/// The function with kernels over the same domain merged, in all bodies.
pub(crate) fn merge(f: &Function, tally: &mut Tally) -> Function {
    let f = rebuild(f, &mut |b, site| {
        if site.structure.is_named() {
            return None;
        }
        let inner = site.structure.with_bodies(|body| Arc::new(here(body, tally)));
        Some(b.structure(inner, site.operands))
    });
    here(&f, tally)
}

fn here(f: &Function, tally: &mut Tally) -> Function {
    let mut f = f.clone();
    for _ in 0..MOST {
        let Some((first, second)) = pair(&f) else { break };
        let Some(new) = merged(&f, first, second) else { break };
        tally.structural("merge", "two kernels over one domain", "one");
        f = new;
    }
    f
}

/// Two kernels of one kind over one domain, or loops of as many rounds, of which none needs the other.
fn pair(f: &Function) -> Option<(Value, Value)> {
    let kernels: Vec<Value> = f
        .values()
        .filter(|v| {
            matches!(
                f.structure(*v),
                Some(
                    Structure::Tab { .. }
                        | Structure::Acc { .. }
                        | Structure::For { .. }
                        | Structure::While { .. }
                )
            )
        })
        .collect();
    for (k, first) in kernels.iter().enumerate() {
        let mut depends = vec![false; f.len()];
        depends[first.index()] = true;
        let mut at = first.index() + 1;
        for second in &kernels[k + 1..] {
            // What depends on the first, as far as the second.
            for v in f.values().skip(at).take_while(|v| v <= second) {
                depends[v.index()] = f.operands(v).any(|o| depends[o.index()]);
            }
            at = second.index() + 1;
            let fits = match (f.structure(*first), f.structure(*second)) {
                (Some(Structure::Tab { dims: a, .. }), Some(Structure::Tab { dims: b, .. }))
                | (Some(Structure::Acc { dims: a, .. }), Some(Structure::Acc { dims: b, .. })) => {
                    a == b
                }
                (Some(Structure::For { .. }), Some(Structure::For { .. })) => {
                    f.operand(*first, 0) == f.operand(*second, 0)
                }
                (Some(Structure::While { .. }), Some(Structure::While { .. })) => {
                    !depends[second.index()] && go_together(f, *first, *second)
                }
                _ => false,
            };
            if fits && !depends[second.index()] {
                return Some((*first, *second));
            }
        }
    }
    None
}

/// The function with two kernels as one.
fn merged(f: &Function, first: Value, second: Value) -> Option<Function> {
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let mut copies = Copied::new(f.len());
    let mut done = vec![false; f.len()];
    for value in f.values() {
        // What is needed comes first: for the two, what either of them needs.
        let mut open = vec![value];
        while let Some(at) = open.last().copied() {
            if done[at.index()] {
                open.pop();
                continue;
            }
            let both = at == first || at == second;
            let needs: Vec<Value> = if both {
                f.operands(first).chain(f.operands(second)).collect()
            } else {
                f.operands(at).collect()
            };
            let missing = needs.iter().rev().filter(|v| !done[v.index()]).copied();
            let before = open.len();
            open.extend(missing);
            if open.len() > before {
                continue;
            }
            open.pop();
            if both {
                one(&mut b, f, &mut copies, first, second)?;
                done[first.index()] = true;
                done[second.index()] = true;
            } else {
                copies.value(&mut b, f, at, &args);
                done[at.index()] = true;
            }
        }
    }
    for guard in f.guards() {
        b.guard(copies.of(guard.condition), guard.expected);
    }
    let results = f.results().iter().map(|v| copies.of(*v)).collect();
    Some(finish(b, f, results))
}

/// Builds the one, and hands its parts to the two.
fn one(
    b: &mut Builder,
    f: &Function,
    copies: &mut Copied,
    first: Value,
    second: Value,
) -> Option<()> {
    let (s, t) = (f.structure(first)?, f.structure(second)?);
    if let Structure::While { .. } = s {
        return same_rounds::one(b, f, copies, first, second);
    }
    let body = |s: &Structure| s.bodies().next().cloned();
    let (p, q) = (body(s)?, body(t)?);
    let ((own, handed), (other_own, other_handed)) = (s.own_params(), t.own_params());
    let (shared, lead) = (own - handed, s.lead());
    // Own parameters, what the first is handed, the second, captures of the first, of the second.
    let mut inner = Builder::new(p.name());
    let add = |inner: &mut Builder, params: &[Param]| inner.params_of(params);
    let indices = add(&mut inner, &p.params()[..shared]);
    let a = add(&mut inner, &p.params()[shared..own]);
    let c = add(&mut inner, &q.params()[shared..other_own]);
    let d = add(&mut inner, &p.params()[own..]);
    let e = add(&mut inner, &q.params()[other_own..]);
    let concat = |parts: [&[Value]; 3]| -> Vec<Value> { parts.concat() };
    let from_first = inner.inline(&p, &concat([&indices, &a, &d]));
    let from_second = inner.inline(&q, &concat([&indices, &c, &e]));
    // Carries of both before what both stack.
    let (x, y) = match s {
        Structure::For { .. } => (handed, other_handed),
        _ => (from_first.len(), from_second.len()),
    };
    let results: Vec<Value> =
        [&from_first[..x], &from_second[..y], &from_first[x..], &from_second[y..]].concat();
    let body = Arc::new(inner.finish(results));
    let new = match s {
        Structure::Tab { dims, .. } => Structure::Tab { dims: dims.clone(), body },
        Structure::Acc { dims, .. } => {
            Structure::Acc { dims: dims.clone(), targets: handed + other_handed, body }
        }
        Structure::For { .. } => Structure::For { carries: handed + other_handed, body },
        _ => return None,
    };
    let of = |whole: Value| -> Vec<Value> { f.operands(whole).map(|v| copies.of(v)).collect() };
    let (left, right) = (of(first), of(second));
    let operands: Vec<Value> = [
        &left[..lead],
        &left[lead..lead + handed],
        &right[lead..lead + other_handed],
        &left[lead + handed..],
        &right[lead + other_handed..],
    ]
    .concat();
    let parts = b.structure(new, &operands);
    let (m, n) = (from_first.len() - x, from_second.len() - y);
    let (carried, stacked) = parts.split_at(x + y);
    copies.set_parts(first, [&carried[..x], &stacked[..m]].concat());
    copies.set_parts(second, [&carried[x..], &stacked[m..m + n]].concat());
    Some(())
}
