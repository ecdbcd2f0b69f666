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
//! A factor that is not simply an array is made one.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use super::product::{self, Factor, Product, Strong, factors};
use super::{known_call, pays_product};

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

fn kernel(b: &mut Builder, structure: &Structure, operands: &[Value]) -> Option<Vec<Value>> {
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

/// Which indices something depends on, as bits; nothing is known of targets.
type Indices = Option<u32>;

/// A kernel, and possibly one in it: indices are counted through, those of the outer one first.
struct Nest<'n> {
    structure: &'n Structure,
    operands: &'n [Value],
    body: &'n Function,
    rank: usize,
    sizes: Vec<usize>,
    depends: Vec<Indices>,
    inner: Option<Inner<'n>>,
}

struct Inner<'n> {
    whole: Value,
    structure: &'n Structure,
    body: &'n Function,
    depends: Vec<Indices>,
}

/// A factor of a product: an array that is there, or a value that has yet to be made one.
enum Side {
    There(Factor<Value>),
    Made(Value, Vec<usize>),
}

impl Side {
    fn along(&self) -> &[usize] {
        match self {
            Side::There(factor) => &factor.along,
            Side::Made(_, along) => along,
        }
    }
}

fn sizes_of(dims: &[Dim]) -> Option<Vec<usize>> {
    dims.iter().map(|dim| if let Dim::Size(n) = dim { Some(*n) } else { None }).collect()
}

/// By value of a body: the indices it depends on, given those of the parameters.
fn dependences(body: &Function, param: impl Fn(usize) -> Indices) -> Vec<Indices> {
    let mut found: Vec<Indices> = Vec::with_capacity(body.len());
    for value in body.values() {
        found.push(match body.op(value) {
            Op::Param(k) => param(k as usize),
            _ => body.operands(value).try_fold(0, |all, v| Some(all | found[v.index()]?)),
        });
    }
    found
}

impl<'n> Nest<'n> {
    fn new(structure: &'n Structure, operands: &'n [Value]) -> Option<Nest<'n>> {
        let body = structure.bodies().next()?;
        let sizes = sizes_of(structure.domain())?;
        let rank = sizes.len();
        if !(1..=4).contains(&rank) {
            return None;
        }
        let (own, _) = structure.own_params();
        let depends = dependences(body, |k| match k {
            k if k < rank => Some(1 << k),
            k if k < own => None,
            _ => Some(0),
        });
        Some(Nest { structure, operands, body, rank, sizes, depends, inner: None })
    }

    /// The same with a kernel in its body.
    fn within(&self, whole: Value) -> Option<Nest<'n>> {
        let structure = self.body.structure(whole)?;
        let body: &'n Function = structure.bodies().next()?;
        let mut sizes = self.sizes.clone();
        sizes.extend(sizes_of(structure.domain())?);
        let (rank, count) = (self.rank, structure.domain().len());
        let (own, _) = structure.own_params();
        if sizes.len() > 5 || count == 0 {
            return None;
        }
        let depends = dependences(body, |k| match k {
            k if k < count => Some(1 << (rank + k)),
            k if k < own => None,
            k => {
                let operand = self.body.operand(whole, structure.operand_of(k)?);
                self.depends[operand.index()]
            }
        });
        let inner = Some(Inner { whole, structure, body, depends });
        Some(Nest { sizes, depends: self.depends.clone(), inner, ..*self })
    }

    /// The body in which products stand.
    fn innermost(&self) -> &'n Function {
        self.inner.as_ref().map_or(self.body, |inner| inner.body)
    }

    /// The value of the outer body that a parameter of the innermost one stands for; an index of the inner kernel is none.
    fn outer(&self, param: usize) -> Option<Value> {
        match &self.inner {
            None => self.body.param_values().get(param).copied().flatten(),
            Some(inner) => {
                let (own, _) = inner.structure.own_params();
                let operand = inner.structure.operand_of(param).filter(|_| param >= own)?;
                Some(self.body.operand(inner.whole, operand))
            }
        }
    }

    /// The index that a parameter of the innermost body is.
    fn index(&self, param: usize) -> Option<usize> {
        if let Some(inner) = &self.inner
            && param < inner.structure.domain().len()
        {
            return Some(self.rank + param);
        }
        match self.body.op(self.outer(param)?) {
            Op::Param(k) => Some(k as usize).filter(|k| *k < self.rank),
            _ => None,
        }
    }

    /// The array outside that a parameter of the innermost body is.
    fn array(&self, param: usize) -> Option<Value> {
        let (own, _) = self.structure.own_params();
        match self.body.op(self.outer(param)?) {
            Op::Param(k) if k as usize >= own => {
                self.structure.operand_of(k as usize).map(|operand| self.operands[operand])
            }
            _ => None,
        }
    }

    /// A factor in the innermost body.
    fn side(&self, b: &Builder, value: Value) -> Option<Side> {
        let body = self.innermost();
        let load = product::load(body, value, |k| self.array(k), |k| self.index(k));
        if let Some((array, along)) = load {
            let fits = |(dim, k): (&Dim, &usize)| *dim == Dim::Size(self.sizes[*k]);
            if b.ty(array).dims().iter().zip(&along).all(fits) && apart(&along) {
                return Some(Side::There(Factor { array, along }));
            }
        }
        let depends = self.inner.as_ref().map_or(&self.depends, |inner| &inner.depends);
        let bits = depends[value.index()]?;
        let along: Vec<usize> = (0..self.sizes.len()).filter(|k| bits >> k & 1 == 1).collect();
        (1..=2).contains(&along.len()).then_some(Side::Made(value, along))
    }

    /// The array of a factor.
    fn factor(&self, b: &mut Builder, side: &Side) -> Option<Factor<Value>> {
        let (value, along) = match side {
            Side::There(factor) => return Some(factor.clone()),
            Side::Made(value, along) => (*value, along.clone()),
        };
        let mut t = Builder::new("");
        let indices: Vec<Value> = along.iter().map(|_| t.param("i", Type::I64)).collect();
        let given = |k: usize| along.iter().position(|id| *id == k).map(|place| indices[place]);
        let (own, _) = self.structure.own_params();
        let captured = self.structure.operand_of(own)?;
        let outside = &self.operands[captured..];
        let mut args: Vec<Option<Value>> = (0..own).map(given).collect();
        args[self.rank..].fill(None);
        args.extend(outside.iter().map(|v| Some(t.param("x", b.ty(*v)))));
        let entry = match &self.inner {
            None => needed(&mut t, self.body, &args, &[value])?[0],
            Some(inner) => {
                let count = inner.structure.domain().len();
                let own = inner.structure.own_params().0;
                let used = used_params(inner.body, value);
                let mut wanted = Vec::new();
                for param in (own..inner.body.params().len()).filter(|k| used[*k]) {
                    wanted.push(self.outer(param)?);
                }
                let mut found = needed(&mut t, self.body, &args, &wanted)?.into_iter();
                let all: Vec<Option<Value>> = (0..inner.body.params().len())
                    .map(|param| match param {
                        k if k < count => given(self.rank + k),
                        k if k < own => None,
                        k if used[k] => found.next(),
                        _ => None,
                    })
                    .collect();
                needed(&mut t, inner.body, &all, &[value])?[0]
            }
        };
        let body = Arc::new(t.finish(vec![entry]));
        let dims = along.iter().map(|k| Dim::Size(self.sizes[*k])).collect();
        let tab = Structure::Tab { dims, body };
        // What it is computed from may be a product in its turn.
        let parts = kernel(b, &tab, outside).unwrap_or_else(|| b.structure(tab, outside));
        Some(Factor { array: parts[0], along })
    }

    /// The table of a product over some indices, the last of which may be summed over; none if it is no product, or does
    /// not pay and has to.
    fn table(&self, b: &mut Builder, term: &Term, pays: bool) -> Option<Value> {
        let renumbered = |along: &[usize]| -> Option<Vec<usize>> {
            along.iter().map(|k| term.over.iter().position(|id| id == k)).collect()
        };
        let sizes: Vec<usize> = term.over.iter().map(|k| self.sizes[*k]).collect();
        let along = [renumbered(term.sides[0].along())?, renumbered(term.sides[1].along())?];
        if term.summed {
            let [x, y] = [0, 1].map(|k| Factor { array: k, along: along[k].clone() });
            let shape = Product::from_factors(&sizes, [x, y], term.strong)?.shape;
            let element = self.innermost().ty(term.product).element();
            let made = |side: &Side| matches!(side, Side::Made(_, along) if along.len() > 1);
            // To make a matrix takes as long as to multiply it with a list.
            if pays && !pays_product(&shape, element) || shape.n == 1 && term.sides.iter().any(made)
            {
                return None;
            }
        }
        let first = self.factor(b, &term.sides[0])?;
        let second = self.factor(b, &term.sides[1])?;
        let [x, y] = along;
        let factors =
            [Factor { array: first.array, along: x }, Factor { array: second.array, along: y }];
        Some(product::table(b, &sizes, term.summed, &factors, term.strong == Strong::First))
    }
}

/// A product, and the indices it goes over: those of the result in their order, then the one that is summed over.
struct Term {
    product: Value,
    sides: [Side; 2],
    strong: Strong,
    over: Vec<usize>,
    summed: bool,
}

fn apart(along: &[usize]) -> bool {
    along.iter().enumerate().all(|(place, k)| !along[..place].contains(k))
}

/// By parameter of a body: whether a value needs it.
fn used_params(body: &Function, value: Value) -> Vec<bool> {
    let mut needs = vec![false; body.len()];
    needs[value.index()] = true;
    let mut used = vec![false; body.params().len()];
    for value in body.values().rev() {
        if needs[value.index()] {
            body.operands(value).for_each(|v| needs[v.index()] = true);
            if let Op::Param(k) = body.op(value) {
                used[k as usize] = true;
            }
        }
    }
    used
}

/// Copies what some values need; none if that is a parameter which is not given.
fn needed(
    b: &mut Builder,
    f: &Function,
    args: &[Option<Value>],
    roots: &[Value],
) -> Option<Vec<Value>> {
    let mut needs = vec![false; f.len()];
    roots.iter().for_each(|v| needs[v.index()] = true);
    for value in f.values().rev() {
        if needs[value.index()] {
            f.operands(value).for_each(|v| needs[v.index()] = true);
        }
    }
    let mut copies = Copied::new(f.len());
    for value in f.values().filter(|v| needs[v.index()]) {
        match f.op(value) {
            Op::Param(k) => copies.set(value, args[k as usize]?),
            _ => copies.value(b, f, value, &[]),
        }
    }
    Some(roots.iter().map(|v| copies.of(*v)).collect())
}

/// A kernel with the sums of products in it as tables before it.
fn with_sums(b: &mut Builder, structure: &Structure, operands: &[Value]) -> Option<Vec<Value>> {
    let nest = Nest::new(structure, operands)?;
    let mut made: Vec<(Value, Value, Vec<usize>)> = Vec::new();
    for value in nest.body.values() {
        let sum = matches!(
            nest.body.structure(value),
            Some(Structure::Red { dims, reducer: Reducer::Sum, .. }) if dims.len() == 1
        );
        if !sum {
            continue;
        }
        let Some((table, along)) = nest.within(value).and_then(|nest| summed(b, &nest)) else {
            continue;
        };
        made.push((value, table, along));
    }
    if made.is_empty() {
        return None;
    }
    // The body with loads in the place of the sums.
    let mut inner = Builder::new(nest.body.name());
    let args = inner.params_of(nest.body.params());
    let tables: Vec<Value> = made.iter().map(|(_, t, _)| inner.param("z", b.ty(*t))).collect();
    let mut copies = Copied::new(nest.body.len());
    for value in nest.body.values() {
        match made.iter().position(|(sum, ..)| *sum == value) {
            Some(k) => {
                let at: Vec<Value> = made[k].2.iter().map(|index| args[*index]).collect();
                let entry = inner.load(tables[k], &at);
                copies.set_parts(value, vec![entry]);
            }
            None => copies.value(&mut inner, nest.body, value, &args),
        }
    }
    let results: Vec<Value> = nest.body.results().iter().map(|v| copies.of(*v)).collect();
    let body = inner.finish(results);
    let mut all = operands.to_vec();
    all.extend(made.iter().map(|(_, table, _)| *table));
    let Structure::Tab { dims, .. } = structure else {
        return Some(b.structure(structure.with_bodies(|_| Arc::new(body.clone())), &all));
    };
    // A table of nothing but the sums is theirs.
    let own = |v: &Value| -> Option<Value> {
        let (table, along) = product::load(&body, *v, |k| k.checked_sub(dims.len()), |k| Some(k))?;
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

/// The table of a sum of products, and which indices of the kernel around it go into it.
fn summed(b: &mut Builder, nest: &Nest<'_>) -> Option<(Value, Vec<usize>)> {
    let body = nest.innermost();
    let [result] = body.results() else { return None };
    let (values, strong) = factors(body, *result)?;
    let sides = [nest.side(b, values[0])?, nest.side(b, values[1])?];
    let mut over: Vec<usize> =
        (0..nest.rank).filter(|k| sides.iter().any(|side| side.along().contains(k))).collect();
    let along = over.clone();
    over.push(nest.rank);
    let term = Term { product: *result, sides, strong, over, summed: true };
    Some((nest.table(b, &term, true)?, along))
}

/// An accumulation of products as tables of their sums, added to the targets.
fn accumulation(b: &mut Builder, structure: &Structure, operands: &[Value]) -> Option<Vec<Value>> {
    let Structure::Acc { targets, .. } = structure else { return None };
    let nest = Nest::new(structure, operands)?;
    let mut sums: Vec<Option<Value>> = vec![None; *targets];
    let mut rest = Vec::new();
    for target in 0..*targets {
        match addition(b, &nest, target) {
            Some((nest, term)) if term.summed => sums[target] = nest.table(b, &term, true),
            _ => {}
        }
    }
    if sums.iter().all(Option::is_none) {
        return None;
    }
    // What is left of products without a sum is a table, too; all else is added as before.
    for target in (0..*targets).filter(|t| sums[*t].is_none()).collect::<Vec<_>>() {
        if let Some((nest, term)) = addition(b, &nest, target).filter(|(_, term)| !term.summed) {
            sums[target] = nest.table(b, &term, false);
        }
        if sums[target].is_none() {
            rest.push(target);
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

/// The product that is added to a target at each point, and nothing else: here or in a kernel within.
fn addition<'n>(b: &Builder, nest: &Nest<'n>, target: usize) -> Option<(Nest<'n>, Term)> {
    let body = nest.body;
    let result = body.results()[target];
    let is_target = |f: &Function, v: Value, param: usize| f.op(v) == Op::Param(param as u32);
    let (nest, place, param) = match body.op(result) {
        Op::PutAdd => {
            let nest = Nest {
                sizes: nest.sizes.clone(),
                depends: nest.depends.clone(),
                inner: None,
                ..*nest
            };
            let param = nest.rank + target;
            (nest, result, param)
        }
        Op::Part(part) => {
            let whole = body.operand(result, 0);
            let Some(Structure::Acc { dims, targets, body: inner }) = body.structure(whole) else {
                return None;
            };
            let given = (part as usize) < *targets
                && is_target(body, body.operand(whole, part as usize), nest.rank + target);
            if !given {
                return None;
            }
            let place = inner.results()[part as usize];
            (nest.within(whole)?, place, dims.len() + part as usize)
        }
        _ => return None,
    };
    let f = nest.innermost();
    if f.op(place) != Op::PutAdd || !is_target(f, f.operand(place, 0), param) {
        return None;
    }
    let ty = f.ty(place);
    let value = f.operand(place, 1);
    let (values, strong) = factors(f, value)?;
    let at: Vec<usize> = f
        .operands(place)
        .skip(2)
        .map(|v| match f.op(v) {
            Op::Param(k) => nest.index(k as usize),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let fits = |(dim, k): (&Dim, &usize)| *dim == Dim::Size(nest.sizes[*k]);
    if at.len() != ty.dims().len() || !apart(&at) || !ty.dims().iter().zip(&at).all(fits) {
        return None;
    }
    let left: Vec<usize> = (0..nest.sizes.len()).filter(|k| !at.contains(k)).collect();
    let sides = [nest.side(b, values[0])?, nest.side(b, values[1])?];
    if left.len() > 1 {
        return None;
    }
    let summed = !left.is_empty();
    let over = at.into_iter().chain(left).collect();
    Some((nest, Term { product: value, sides, strong, over, summed }))
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
