//! Accumulations that are tables: each element added to once, or by a sum of its own.
//!
//! The cotangent of a load is an addition at its place. Where the places are the points of the domain,
//! nothing is scattered: `acc (i) c[i] += v` is `tab (i) c[i] + v`, and `acc (i, j) c[i] += v` into zeros is
//! `tab (i) red sum (j) v`. Both add in the same order. Each target is looked at by itself; merging puts
//! together what shares its work, and the cost model says whether it was worth it.

use std::sync::Arc;

use cotangent_ir::{
    Builder, Copied, Dim, Function, Integral, Op, Param, Reducer, Structure, Type, Value,
};
use cotangent_ops::Opcode;

use crate::dead::dead;
use crate::gather::Gather;
use crate::merge::merge;
use crate::options::{Class, Options};
use crate::stats::Tally;
use crate::visit::{copy_into, pays, rebuild, use_counts, with_params};

/// The function with tables in the place of accumulations.
pub(crate) fn accumulate(f: &Function, tally: &mut Tally) -> Function {
    let options = tally.options;
    let mut changed = false;
    let new = rebuild(f, &mut |b, site| {
        let Structure::Acc { dims, targets, body } = site.structure else { return None };
        let found: Vec<Option<Way>> = (0..*targets)
            .map(|k| {
                let from_zero = b.function().is_zero(site.operands[k]);
                // A table would read what was there.
                let reads = !site.is_target(b, site.operands[k]);
                let single = Single::of(dims, *targets, body, k)?;
                let table = Table::of(&single, from_zero, options);
                match table.filter(|table| table.from_zero || reads) {
                    Some(table) => Some(Way::Here(table)),
                    None if from_zero || reads => {
                        Gather::of(&single, from_zero, options).map(Way::Around)
                    }
                    None => None,
                }
            })
            .collect();
        // All of them, or only those that need no sums of their own: what targets share is then computed
        // once.
        let plain = |way: &Way| match way {
            Way::Here(table) => table.rest.is_empty(),
            Way::Around(_) => true,
        };
        let tables = found.iter().map(|t| t.clone().filter(plain)).collect();
        for choice in [found, tables] {
            if choice.iter().all(Option::is_none) {
                continue;
            }
            let mut change =
                |b: &mut Builder, operands: &[Value]| tables_of(b, dims, body, operands, &choice);
            if pays(b, site, &mut change) {
                tally.structural("acc_to_tab", "acc", "tab, or red in it");
                changed = true;
                return change(b, site.operands);
            }
        }
        None
    });
    // Tables of one accumulation share their work, as it was reckoned above.
    if changed { merge(&new, tally) } else { new }
}

/// How an accumulation is a table.
#[derive(Clone)]
enum Way {
    /// Its places are the points of its domain.
    Here(Table),
    /// They are neighbours of them.
    Around(Gather),
}

/// An accumulation of one target: indices, target, captures.
#[derive(Clone)]
pub(crate) struct Single {
    pub(crate) dims: Vec<Dim>,
    pub(crate) body: Arc<Function>,
}

impl Single {
    /// One of the targets, with accumulations in it as part of its domain.
    pub(crate) fn of(
        dims: &[Dim],
        targets: usize,
        body: &Function,
        target: usize,
    ) -> Option<Single> {
        let rank = dims.len();
        // Only what this target needs; the others must go.
        let all: Vec<Option<usize>> = (0..body.params().len()).map(Some).collect();
        let alone = with_params(body, body.params(), &all, &[body.results()[target]]);
        let alone = dead(&alone, &mut Tally::default());
        let others = rank..rank + targets;
        let uses = use_counts(&alone);
        let needs_other = alone.values().any(|v| match alone.op(v) {
            Op::Param(k) => {
                let k = k as usize;
                others.contains(&k) && k != rank + target && uses[v.index()] > 0
            }
            _ => false,
        });
        if needs_other {
            return None;
        }
        let mut order: Vec<usize> = (0..rank).collect();
        order.push(rank + target);
        order.extend(rank + targets..body.params().len());
        let params: Vec<Param> = order.iter().map(|k| body.params()[*k].clone()).collect();
        let of: Vec<Option<usize>> =
            (0..body.params().len()).map(|k| order.iter().position(|o| *o == k)).collect();
        let body = with_params(&alone, &params, &of, alone.results());
        let mut single = Single { dims: dims.to_vec(), body };
        while let Some(flat) = single.flattened() {
            single = flat;
        }
        Some(single)
    }

    /// With the accumulation that its body is, as one over both domains.
    fn flattened(&self) -> Option<Single> {
        let (f, rank) = (&*self.body, self.dims.len());
        let result = f.results()[0];
        if f.op(result) != Op::Part(0) {
            return None;
        }
        let whole = f.operand(result, 0);
        let Some(Structure::Acc { dims, targets: 1, body }) = f.structure(whole) else {
            return None;
        };
        let target = f.operand(whole, 0);
        if f.op(target) != Op::Param(rank as u32) || use_counts(f)[target.index()] != 1 {
            return None;
        }
        let mut b = Builder::new(f.name());
        let outer = b.params_of(&f.params()[..rank]);
        let mut args = b.params_of(&body.params()[..dims.len()]);
        args.push(b.add_param(f.params()[rank].clone()));
        let captures = b.params_of(&f.params()[rank + 1..]);
        let given: Vec<Option<Value>> = outer
            .iter()
            .map(|v| Some(*v))
            .chain([None])
            .chain(captures.into_iter().map(Some))
            .collect();
        let wanted: Vec<Value> = f.operands(whole).skip(1).collect();
        let mut copies = Copied::new(f.len());
        copy_into(&mut b, f, &mut copies, &given, &wanted);
        args.extend(wanted.iter().map(|v| copies.of(*v)));
        let results = b.inline(body, &args);
        let dims = [&self.dims[..], dims].concat();
        Some(Single { dims, body: Arc::new(b.finish(results)) })
    }
}

/// An accumulation as a table.
#[derive(Clone)]
struct Table {
    single: Single,
    /// What is added, first to last.
    added: Vec<Value>,
    /// Indices of the domain in the order of the dimensions of the target.
    place: Vec<usize>,
    /// By place: what the index is taken from, if it goes backwards.
    back: Vec<Option<i64>>,
    /// The other indices of the domain.
    rest: Vec<usize>,
    /// Whether nothing was there before.
    from_zero: bool,
}

impl Table {
    fn of(single: &Single, from_zero: bool, options: Options) -> Option<Table> {
        let (body, rank) = (&*single.body, single.dims.len());
        let own = Op::Param(rank as u32);
        let uses = use_counts(body);
        let ty = body.params()[rank].ty;
        let mut at = body.results()[0];
        let mut added = Vec::new();
        let mut place: Option<Vec<(usize, Option<i64>)>> = None;
        while body.op(at) != own {
            if uses[at.index()] != 1 {
                return None;
            }
            let args: Vec<Value> = body.operands(at).collect();
            let (before, value, indices) = match body.op(at) {
                Op::PutAdd => (args[0], args[1], &args[2..]),
                Op::Elementary(Opcode::Add, _) => {
                    let first = leads_to(body, args[0], own);
                    let k = usize::from(!first);
                    (args[k], args[1 - k], &[][..])
                }
                _ => return None,
            };
            let here: Option<Vec<(usize, Option<i64>)>> =
                indices.iter().map(|v| index(body, *v, &single.dims)).collect();
            let here = here?;
            if place.as_ref().is_some_and(|place| *place != here) {
                return None;
            }
            place = Some(here);
            added.push(value);
            at = before;
        }
        added.reverse();
        if uses[at.index()] != 1 {
            return None;
        }
        let (place, back): (Vec<usize>, Vec<Option<i64>>) = place?.into_iter().unzip();
        let distinct = (0..place.len()).all(|k| !place[..k].contains(&place[k]));
        let whole = place.iter().zip(ty.dims()).all(|(k, dim)| single.dims[*k] == *dim);
        let rest: Vec<usize> = (0..rank).filter(|k| !place.contains(k)).collect();
        let zero = from_zero && options.allows(Class::Zero);
        // A sum of its own is started anew, so from zero, and of one summand at each point.
        let one = added.len() == 1 && body.ty(added[0]) == ty.after(place.len());
        let sums = rest.is_empty() || one && (zero || options.allows(Class::Reassoc));
        (distinct && whole && sums).then_some(Table {
            added,
            place,
            back,
            rest,
            from_zero: zero,
            single: single.clone(),
        })
    }

    fn dims(&self, which: &[usize]) -> Vec<Dim> {
        which.iter().map(|k| self.single.dims[*k]).collect()
    }

    /// Parameters for the place, and the indices of the domain that lead there.
    fn indices(&self, inner: &mut Builder) -> (Vec<Value>, Vec<Value>) {
        let params: Vec<Param> =
            self.place.iter().map(|k| self.single.body.params()[*k].clone()).collect();
        let place = inner.params_of(&params);
        let mut old = place.clone();
        for (index, back) in old.iter_mut().zip(&self.back) {
            if let Some(last) = back {
                let last = inner.integer(*last);
                *index = inner.integral(Integral::Sub, last, *index);
            }
        }
        (place, old)
    }

    fn build(&self, b: &mut Builder, start: Value, captures: &[Value]) -> Value {
        match self.rest.is_empty() && !self.place.is_empty() {
            true => self.of_elements(b, start, captures),
            false => self.of_sums(b, start, captures),
        }
    }

    /// What was there and what is added, in its order.
    fn of_elements(&self, b: &mut Builder, start: Value, captures: &[Value]) -> Value {
        let (body, rank) = (&*self.single.body, self.single.dims.len());
        let mut inner = Builder::new(body.name());
        let (indices, old) = self.indices(&mut inner);
        let captured = inner.params_of(&body.params()[rank + 1..]);
        let mut args: Vec<Option<Value>> = vec![None; rank + 1];
        for (k, index) in self.place.iter().zip(&old) {
            args[*k] = Some(*index);
        }
        args.extend(captured.into_iter().map(Some));
        let mut copies = Copied::new(body.len());
        copy_into(&mut inner, body, &mut copies, &args, &self.added);
        let mut added = self.added.iter().map(|v| copies.of(*v));
        let param = &body.params()[rank];
        let ty = param.ty.after(self.place.len());
        let mut operands = captures.to_vec();
        let mut sum = match added.next() {
            // Nothing and something is that.
            Some(first) if self.from_zero => inner.fill(first, ty),
            first => {
                let before = inner.add_param(param.clone());
                operands.push(start);
                let before = inner.load(before, &indices);
                first.map_or(before, |v| inner.elementary(Opcode::Add, 0, &[before, v]))
            }
        };
        for value in added {
            sum = inner.elementary(Opcode::Add, 0, &[sum, value]);
        }
        let body = Arc::new(inner.finish(vec![sum]));
        b.structure(Structure::Tab { dims: self.dims(&self.place), body }, &operands)[0]
    }

    /// A sum over the other indices.
    fn of_sums(&self, b: &mut Builder, start: Value, captures: &[Value]) -> Value {
        let (body, rank) = (&*self.single.body, self.single.dims.len());
        // rest, place, captures
        let order: Vec<usize> = (self.rest.iter().chain(&self.place).copied())
            .chain(rank + 1..body.params().len())
            .collect();
        let params: Vec<Param> = order.iter().map(|k| body.params()[*k].clone()).collect();
        let of: Vec<Option<usize>> =
            (0..body.params().len()).map(|k| order.iter().position(|o| *o == k)).collect();
        let summand = with_params(body, &params, &of, &self.added[..1]);
        let red =
            Structure::Red { dims: self.dims(&self.rest), reducer: Reducer::Sum, body: summand };
        let sum = if self.place.is_empty() {
            b.structure(red, captures)[0]
        } else {
            let mut inner = Builder::new(body.name());
            let (_, mut args) = self.indices(&mut inner);
            args.extend(inner.params_of(&body.params()[rank + 1..]));
            let sum = inner.structure(red, &args);
            let body = Arc::new(inner.finish(sum));
            b.structure(Structure::Tab { dims: self.dims(&self.place), body }, captures)[0]
        };
        match self.from_zero {
            true => sum,
            false => b.elementary(Opcode::Add, 0, &[start, sum]),
        }
    }
}

/// An index of the domain, as it is or from its end.
fn index(body: &Function, value: Value, dims: &[Dim]) -> Option<(usize, Option<i64>)> {
    match body.op(value) {
        Op::Param(k) if (k as usize) < dims.len() => Some((k as usize, None)),
        Op::Integral(Integral::Sub) => {
            let (Op::Integer(last), Op::Param(k)) =
                (body.op(body.operand(value, 0)), body.op(body.operand(value, 1)))
            else {
                return None;
            };
            let dim = *dims.get(k as usize)?;
            (dim == Dim::Size(usize::try_from(last.checked_add(1)?).ok()?))
                .then_some((k as usize, Some(last)))
        }
        _ => None,
    }
}

/// Whether a value is a target with something added.
pub(crate) fn leads_to(body: &Function, value: Value, own: Op) -> bool {
    match body.op(value) {
        op if op == own => true,
        Op::PutAdd => leads_to(body, body.operand(value, 0), own),
        Op::Elementary(Opcode::Add, _) => {
            body.operands(value).any(|operand| leads_to(body, operand, own))
        }
        _ => false,
    }
}

/// The tables, and the accumulation that is left.
fn tables_of(
    b: &mut Builder,
    dims: &[Dim],
    body: &Function,
    operands: &[Value],
    tables: &[Option<Way>],
) -> Option<Vec<Value>> {
    let targets = tables.len();
    let captures = &operands[targets..];
    let nothing = b.constant(0.0, Type::F64);
    let mut parts = vec![nothing; targets];
    for (k, table) in tables.iter().enumerate() {
        match table {
            Some(Way::Here(table)) => parts[k] = table.build(b, operands[k], captures),
            Some(Way::Around(gather)) => parts[k] = gather.build(b, operands[k], captures)?,
            None => {}
        }
    }
    let left: Vec<usize> = (0..targets).filter(|k| tables[*k].is_none()).collect();
    if !left.is_empty() {
        // All targets stay until those that nobody looks at any more go by themselves.
        let of: Vec<Option<usize>> = (0..body.params().len()).map(Some).collect();
        let inner = with_params(body, body.params(), &of, body.results());
        let acc = Structure::Acc { dims: dims.to_vec(), targets, body: inner };
        let found = b.structure(acc, operands);
        left.iter().for_each(|k| parts[*k] = found[*k]);
    }
    Some(parts)
}
