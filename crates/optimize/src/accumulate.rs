//! Accumulations that are tables: each element added to once, or by a sum of its own.
//!
//! The cotangent of a load is an addition at its place. Where the places are the points of the domain,
//! nothing is scattered: `acc (i) c[i] += v` is `tab (i) c[i] + v`, and `acc (i, j) c[i] += v` into zeros is
//! `tab (i) red sum (j) v`. Both add in the same order.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Param, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use crate::options::{Class, Options};
use crate::stats::Tally;
use crate::visit::{copy_into, pays, rebuild, use_counts, with_params};

/// The function with tables in the place of accumulations.
pub(crate) fn accumulate(f: &Function, tally: &mut Tally) -> Function {
    let options = tally.options;
    rebuild(f, &mut |b, site| {
        let Structure::Acc { dims, targets, body } = site.structure else { return None };
        let starts: Vec<bool> =
            site.operands[..*targets].iter().map(|v| b.function().is_zero(*v)).collect();
        let found: Vec<Option<Chain>> =
            (0..*targets).map(|k| chain(body, dims, k, starts[k], options)).collect();
        // All of them, or only those that need no sums of their own: what targets share is then computed
        // once.
        let tables = found.iter().map(|c| c.clone().filter(|c| c.rest.is_empty())).collect();
        for choice in [found, tables] {
            if choice.iter().all(Option::is_none) {
                continue;
            }
            let mut change = |b: &mut Builder, operands: &[Value]| {
                Some(tables_of(b, dims, body, operands, &choice, &starts, options))
            };
            if pays(b, site, &mut change) {
                tally.structural("acc_to_tab", "acc", "tab, or red in it");
                return change(b, site.operands);
            }
        }
        None
    })
}

/// How a target is added to.
#[derive(Clone, Debug)]
struct Chain {
    /// What is added, first to last.
    added: Vec<Value>,
    /// Indices of the domain in the order of the dimensions of the target.
    place: Vec<usize>,
    /// The other indices of the domain.
    rest: Vec<usize>,
}

fn chain(
    body: &Function,
    dims: &[Dim],
    target: usize,
    from_zero: bool,
    options: Options,
) -> Option<Chain> {
    let own = Op::Param((dims.len() + target) as u32);
    let uses = use_counts(body);
    let ty = body.params()[dims.len() + target].ty;
    let mut at = body.results()[target];
    let (mut added, mut place): (Vec<Value>, Option<Vec<usize>>) = (Vec::new(), None);
    while body.op(at) != own {
        if uses[at.index()] != 1 {
            return None;
        }
        let args: Vec<Value> = body.operands(at).collect();
        let (before, value, indices) = match body.op(at) {
            Op::PutAdd => (args[0], args[1], &args[2..]),
            Op::Elementary(Opcode::Add, _) => {
                let first = leads_to(body, args[0], own);
                let (before, value) = if first { (args[0], args[1]) } else { (args[1], args[0]) };
                (before, value, &[][..])
            }
            _ => return None,
        };
        let here: Option<Vec<usize>> = indices
            .iter()
            .map(|v| match body.op(*v) {
                Op::Param(k) if (k as usize) < dims.len() => Some(k as usize),
                _ => None,
            })
            .collect();
        let here = here?;
        if place.as_ref().is_some_and(|place| *place != here) {
            return None;
        }
        place = Some(here);
        added.push(value);
        at = before;
    }
    added.reverse();
    if uses[at.index()] != 1 || added.is_empty() {
        return None;
    }
    let place = place?;
    let distinct = (0..place.len()).all(|k| !place[..k].contains(&place[k]));
    let whole = place.iter().zip(ty.dims()).all(|(k, dim)| dims[*k] == *dim);
    let rest: Vec<usize> = (0..dims.len()).filter(|k| !place.contains(k)).collect();
    // A sum of its own is started anew, so from zero, and of one summand at each point.
    let sums = rest.is_empty() && !place.is_empty()
        || added.len() == 1
            && body.ty(added[0]) == ty.after(place.len())
            && (from_zero && options.allows(Class::Zero) || options.allows(Class::Reassoc));
    (distinct && whole && sums).then_some(Chain { added, place, rest })
}

/// Whether a value is a target with something added.
fn leads_to(body: &Function, value: Value, own: Op) -> bool {
    match body.op(value) {
        op if op == own => true,
        Op::PutAdd => leads_to(body, body.operand(value, 0), own),
        Op::Elementary(Opcode::Add, _) => {
            body.operands(value).any(|operand| leads_to(body, operand, own))
        }
        _ => false,
    }
}

fn tables_of(
    b: &mut Builder,
    dims: &[Dim],
    body: &Arc<Function>,
    operands: &[Value],
    chains: &[Option<Chain>],
    from_zero: &[bool],
    options: Options,
) -> Vec<Value> {
    let targets = chains.len();
    let captures = &operands[targets..];
    let nothing = b.constant(0.0, Type::F64);
    let mut parts = vec![nothing; targets];
    // Targets with the same places and no sums share a table.
    let mut done = vec![false; targets];
    for first in 0..targets {
        let Some(chain) = &chains[first] else { continue };
        if done[first] {
            continue;
        }
        let group: Vec<usize> = (first..targets)
            .filter(|k| {
                chains[*k].as_ref().is_some_and(|other| {
                    *k == first
                        || chain.rest.is_empty()
                            && other.rest.is_empty()
                            && other.place == chain.place
                })
            })
            .collect();
        let table = Table { dims, body, targets, chain };
        let found = if chain.rest.is_empty() {
            table.of_elements(b, operands, &group, chains, from_zero, options)
        } else {
            vec![table.of_sums(b, captures, operands[first], from_zero[first])]
        };
        for (k, part) in group.iter().zip(found) {
            parts[*k] = part;
            done[*k] = true;
        }
    }
    let left: Vec<usize> = (0..targets).filter(|k| chains[*k].is_none()).collect();
    if !left.is_empty() {
        let rank = dims.len();
        let mut order: Vec<usize> = (0..rank).collect();
        order.extend(left.iter().map(|k| rank + k));
        order.extend(rank + targets..body.params().len());
        let params: Vec<Param> = order.iter().map(|k| body.params()[*k].clone()).collect();
        let of: Vec<Option<usize>> =
            (0..body.params().len()).map(|k| order.iter().position(|o| *o == k)).collect();
        let results: Vec<Value> = left.iter().map(|k| body.results()[*k]).collect();
        let inner = with_params(body, &params, &of, &results);
        let acc = Structure::Acc { dims: dims.to_vec(), targets: left.len(), body: inner };
        let args: Vec<Value> =
            left.iter().map(|k| operands[*k]).chain(captures.iter().copied()).collect();
        let found = b.structure(acc, &args);
        left.iter().zip(found).for_each(|(k, part)| parts[*k] = part);
    }
    parts
}

/// A table that is being made of an accumulation.
struct Table<'t> {
    dims: &'t [Dim],
    body: &'t Function,
    targets: usize,
    chain: &'t Chain,
}

impl Table<'_> {
    fn captured(&self) -> &[Param] {
        &self.body.params()[self.dims.len() + self.targets..]
    }

    /// What was there and what is added, in its order.
    fn of_elements(
        &self,
        b: &mut Builder,
        operands: &[Value],
        group: &[usize],
        chains: &[Option<Chain>],
        from_zero: &[bool],
        options: Options,
    ) -> Vec<Value> {
        let rank = self.dims.len();
        let mut inner = Builder::new(self.body.name());
        let indices = self.indices(&mut inner, &self.chain.place);
        let captures = inner.params_of(self.captured());
        let mut args: Vec<Option<Value>> = vec![None; self.body.params().len()];
        for (k, index) in self.chain.place.iter().zip(&indices) {
            args[*k] = Some(*index);
        }
        for (k, capture) in captures.iter().enumerate() {
            args[rank + self.targets + k] = Some(*capture);
        }
        let mut copies = Copied::new(self.body.len());
        let mut all = operands[self.targets..].to_vec();
        let mut results = Vec::new();
        for k in group {
            let Some(chain) = &chains[*k] else { continue };
            copy_into(&mut inner, self.body, &mut copies, &args, &chain.added);
            let mut added = chain.added.iter().map(|v| copies.of(*v));
            let param = &self.body.params()[rank + k];
            let zero = from_zero[*k] && options.allows(Class::Zero);
            let mut sum = if zero {
                // Nothing is zero and something is that.
                let ty = param.ty.after(chain.place.len());
                let first = added.next().unwrap_or_else(|| inner.constant(0.0, ty));
                inner.fill(first, ty)
            } else {
                let before = inner.add_param(param.clone());
                all.push(operands[*k]);
                inner.load(before, &indices)
            };
            for value in added {
                sum = inner.elementary(Opcode::Add, 0, &[sum, value]);
            }
            results.push(sum);
        }
        let dims = self.chain.place.iter().map(|k| self.dims[*k]).collect();
        b.structure(Structure::Tab { dims, body: Arc::new(inner.finish(results)) }, &all)
    }

    fn indices(&self, inner: &mut Builder, which: &[usize]) -> Vec<Value> {
        inner.params_of(&which.iter().map(|k| self.body.params()[*k].clone()).collect::<Vec<_>>())
    }

    /// A sum over the other indices.
    fn of_sums(&self, b: &mut Builder, captures: &[Value], start: Value, from_zero: bool) -> Value {
        let rank = self.dims.len();
        let chain = self.chain;
        let value = chain.added[0];
        // rest, place, captures
        let order: Vec<usize> = (chain.rest.iter().chain(&chain.place).copied())
            .chain(rank + self.targets..self.body.params().len())
            .collect();
        let params: Vec<Param> = order.iter().map(|k| self.body.params()[*k].clone()).collect();
        let of: Vec<Option<usize>> =
            (0..self.body.params().len()).map(|k| order.iter().position(|o| *o == k)).collect();
        let summand = with_params(self.body, &params, &of, &[value]);
        let dims = |which: &[usize]| -> Vec<Dim> { which.iter().map(|k| self.dims[*k]).collect() };
        let red = Structure::Red { dims: dims(&chain.rest), reducer: Reducer::Sum, body: summand };
        let sum = if chain.place.is_empty() {
            b.structure(red, captures)[0]
        } else {
            let mut inner = Builder::new(self.body.name());
            let mut args = self.indices(&mut inner, &chain.place);
            args.extend(inner.params_of(self.captured()));
            let sum = inner.structure(red, &args);
            let body = Arc::new(inner.finish(sum));
            b.structure(Structure::Tab { dims: dims(&chain.place), body }, captures)[0]
        };
        match from_zero {
            true => sum,
            false => b.elementary(Opcode::Add, 0, &[start, sum]),
        }
    }
}
