//! Kernels around loops become loops around kernels.
//!
//! A table whose body has a loop repeats in the loop what does not depend on the point: forward mode along many directions
//! computes the function once for each. With the loop outside that is computed once, and what does depend on the point gets
//! the domain as further dimensions, behind its own: points lie side by side.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Op, Structure, Type, Value};
use rustc_hash::FxHashMap;

use crate::body::Body;
use crate::spread::{Spread, copy_node};
use crate::stats::Tally;
use crate::visit::{Site, gains, live, rebuild};

/// The most points of a domain that goes into loops: each keeps what the loop carries.
const MOST_POINTS: usize = 1024;
/// The most bytes that loops may carry for all points.
const MOST_BYTES: usize = 1 << 26;
/// What it must come to: beside what is computed, memory is used.
const GAIN: f64 = 0.8;
/// The most operations that are computed where they are needed, not once before.
const CHEAP: usize = 4;

/// The function with loops out of tables where that is less work.
pub(crate) fn distribute(f: &Function, tally: &mut Tally) -> Function {
    rebuild(f, &mut |b, site| {
        let parts = apart(b, site)?;
        tally.structural("distribute", "a loop in a table", "a table in a loop");
        Some(parts)
    })
}

fn apart(b: &mut Builder, site: &Site<'_>) -> Option<Vec<Value>> {
    let Structure::Tab { dims, body } = site.structure else { return None };
    let points = Type::array(cotangent_ir::Element::F64, dims).len()?;
    let has_loop = |v| matches!(body.structure(v), Some(Structure::For { .. }));
    if points == 0 || points > MOST_POINTS || !body.values().any(has_loop) || is_linear(body) {
        return None;
    }
    // Stacks of unknown length differ from point to point.
    if has_unknown(body) {
        return None;
    }
    let batch = Batch { dims };
    let mut change = |b: &mut Builder, operands: &[Value]| batch.table(b, body, operands);
    if !gains(b, site, GAIN, &mut change) {
        return None;
    }
    change(b, site.operands)
}

/// Whether something in a body is a tangent or cotangent: then how it is used must not change.
fn is_linear(body: &Function) -> bool {
    let inside = body.values().filter_map(|v| body.structure(v)).flat_map(Structure::bodies);
    body.params().iter().any(|p| p.linear) || inside.into_iter().any(|body| is_linear(body))
}

/// Whether there is an array in a body whose length a loop decides.
fn has_unknown(body: &Function) -> bool {
    body.values().any(|v| {
        let inside = body.structure(v).into_iter().flat_map(Structure::bodies);
        body.ty(v).is_unknown() || inside.into_iter().any(|body| has_unknown(body))
    })
}

/// Where a value of the body is, once the domain is inside.
#[derive(Clone, Copy, Debug)]
enum At {
    /// The same at all points.
    Once(Value),
    /// An array with the domain among its dimensions, behind so many.
    Each(Value, usize),
    /// Not computed yet: cheap, or needed only once.
    Later,
}

/// The domain that goes inside.
struct Batch<'d> {
    dims: &'d [Dim],
}

/// A table in the making, over some dimensions and then the domain.
struct Kernel {
    body: Body,
    /// How many dimensions come before the domain.
    own: usize,
}

impl Kernel {
    fn new(own: usize, domain: usize) -> Kernel {
        Kernel { body: Body::new(own + domain), own }
    }

    fn point(&self) -> &[Value] {
        &self.body.indices[self.own..]
    }

    fn finish(self, outer: &mut Builder, dims: Vec<Dim>, results: Vec<Value>) -> Vec<Value> {
        let body = Arc::new(self.body.b.finish(results));
        outer.structure(Structure::Tab { dims, body }, &self.body.captures)
    }
}

/// A body on its way outside.
struct Walk<'f> {
    f: &'f Function,
    varies: Vec<bool>,
    state: Vec<At>,
    /// What is the same at all points, written.
    once: Copied,
    /// By operation with a body: where its parts are.
    parts: FxHashMap<Value, Vec<At>>,
    /// The parameters that are the indices of the domain.
    indices: usize,
}

impl Batch<'_> {
    /// A table over the domain, as several.
    fn table(&self, b: &mut Builder, body: &Function, operands: &[Value]) -> Option<Vec<Value>> {
        let params: Vec<At> = (0..body.params().len())
            .map(|k| match k.checked_sub(self.dims.len()) {
                Some(capture) => At::Once(operands[capture]),
                None => At::Later,
            })
            .collect();
        let mut walk = self.walk(b, body, &params, self.dims.len())?;
        let mut results = Vec::with_capacity(body.results().len());
        for value in body.results() {
            let array = self.laid_out(b, &mut walk, *value, 0)?;
            results.push(array);
        }
        Some(results)
    }

    /// Writes a body, given where its parameters are; what is cheap is left for later.
    fn walk<'f>(
        &self,
        b: &mut Builder,
        f: &'f Function,
        params: &[At],
        indices: usize,
    ) -> Option<Walk<'f>> {
        let flags: Vec<bool> = params.iter().map(|at| !matches!(at, At::Once(_))).collect();
        let varies = varying(f, &flags);
        let mut walk = Walk {
            f,
            varies,
            state: vec![At::Later; f.len()],
            once: Copied::new(f.len()),
            parts: FxHashMap::default(),
            indices,
        };
        let needed = live(f, f.results());
        for value in f.values().filter(|v| needed[v.index()]) {
            let at = value.index();
            match f.op(value) {
                Op::Param(k) => {
                    walk.state[at] = params[k as usize];
                    if let At::Once(given) = params[k as usize] {
                        walk.once.set(value, given);
                    }
                }
                Op::Structure(_) if walk.varies[at] => self.structure(b, &mut walk, value)?,
                Op::Part(k) => {
                    let whole = f.operand(value, 0);
                    walk.state[at] = match walk.parts.get(&whole) {
                        Some(parts) => parts[k as usize],
                        None if walk.varies[whole.index()] => At::Later,
                        None => At::Once(walk.once.parts(whole)?[k as usize]),
                    };
                    if let At::Once(copy) = walk.state[at] {
                        walk.once.set(value, copy);
                    }
                }
                Op::Put if walk.varies[at] => walk.state[at] = self.put(b, &mut walk, value)?,
                Op::Structure(_) => walk.once.value(b, f, value, &[]),
                _ if !walk.varies[at] => {
                    walk.once.value(b, f, value, &[]);
                    walk.state[at] = At::Once(walk.once.of(value));
                }
                _ => {}
            }
        }
        Some(walk)
    }

    /// An operation with a body that varies.
    fn structure(&self, b: &mut Builder, walk: &mut Walk<'_>, value: Value) -> Option<()> {
        let f = walk.f;
        match f.structure(value)? {
            Structure::Tab { dims, body } => {
                let parts = self.inner_table(b, walk, value, dims, body)?;
                walk.parts.insert(value, parts);
            }
            Structure::For { carries, body } => {
                let parts = self.inner_loop(b, walk, value, *carries, body)?;
                walk.parts.insert(value, parts);
            }
            // Computed where its parts are needed.
            _ => {}
        }
        Some(())
    }

    /// A table within the body: what varies over its own domain and this one, the rest over its own.
    fn inner_table(
        &self,
        b: &mut Builder,
        walk: &mut Walk<'_>,
        value: Value,
        dims: &[Dim],
        body: &Function,
    ) -> Option<Vec<At>> {
        let f = walk.f;
        let operands: Vec<Value> = f.operands(value).collect();
        let flags: Vec<bool> = (0..body.params().len())
            .map(|k| k >= dims.len() && walk.varies[operands[k - dims.len()].index()])
            .collect();
        let varies = varying(body, &flags);
        let (each, once): (Vec<Value>, Vec<Value>) =
            body.results().iter().partition(|v| varies[v.index()]);
        let mut places: Vec<At> = Vec::new();
        let mut singles = Vec::new().into_iter();
        if !once.is_empty() {
            // What only others need may be anything.
            let nothing = b.integer(0);
            let given: Vec<Value> =
                operands.iter().map(|v| walk.once.get(*v).unwrap_or(nothing)).collect();
            let mut inner = Builder::new("");
            let params = inner.params_of(body.params());
            let args: Vec<Option<Value>> = params.into_iter().map(Some).collect();
            let mut copies = Copied::new(body.len());
            crate::visit::copy_into(&mut inner, body, &mut copies, &args, &once);
            let results = once.iter().map(|v| copies.of(*v)).collect();
            let body = Arc::new(inner.finish(results));
            singles = b.structure(Structure::Tab { dims: dims.to_vec(), body }, &given).into_iter();
        }
        let mut kernel = Kernel::new(dims.len(), self.dims.len());
        let mut spread = Spread::new(body, kernel.point().to_vec());
        for (k, index) in kernel.body.indices[..dims.len()].iter().enumerate() {
            spread.set_param(k, *index);
        }
        let needed = live(body, &each);
        for (param, inside) in body.param_values().iter().enumerate().skip(dims.len()) {
            let Some(inside) = inside.filter(|v| needed[v.index()]) else { continue };
            let operand = operands[param - dims.len()];
            if matches!(walk.state[operand.index()], At::Later) && !self.is_cheap(walk, operand) {
                let made = self.made(b, walk, operand)?;
                walk.state[operand.index()] = made;
            }
            match walk.state[operand.index()] {
                At::Each(array, behind) if !f.ty(operand).is_scalar() => {
                    let array = kernel.body.captured(b, array);
                    spread.set_array(inside, array, behind);
                }
                _ => {
                    let copy = self.sliced(b, walk, &mut kernel, operand)?;
                    spread.set_param(param, copy);
                }
            }
        }
        let results = spread.results(&mut kernel.body.b, &each)?;
        let domain: Vec<Dim> = dims.iter().chain(self.dims).copied().collect();
        let mut many = kernel.finish(b, domain, results).into_iter();
        for result in body.results() {
            places.push(match varies[result.index()] {
                true => At::Each(many.next()?, dims.len()),
                false => At::Once(singles.next()?),
            });
        }
        Some(places)
    }

    /// A loop within the body: around what it carries at all points.
    fn inner_loop(
        &self,
        b: &mut Builder,
        walk: &mut Walk<'_>,
        value: Value,
        carries: usize,
        body: &Function,
    ) -> Option<Vec<At>> {
        let f = walk.f;
        let operands: Vec<Value> = f.operands(value).collect();
        let At::Once(bound) = walk.state[operands[0].index()] else { return None };
        let mut flags: Vec<bool> = operands[1..].iter().map(|v| walk.varies[v.index()]).collect();
        let results = loop_variance(body, carries, &mut flags);
        if results[carries..].contains(&true) {
            return None;
        }
        let mut inner = Builder::new("");
        let index = inner.param("i", Type::I64);
        let (mut given, mut params) = (vec![bound], vec![At::Once(index)]);
        for (k, (operand, varies)) in operands[1..].iter().zip(&flags).enumerate() {
            let rank = f.ty(*operand).dims().len();
            let (outside, behind) = match (varies, walk.state[operand.index()]) {
                (false, At::Once(outside)) => (outside, None),
                (false, _) => return None,
                // What is carried has the domain last, so that places of it can be written to.
                (true, _) if k < carries => (self.laid_out(b, walk, *operand, rank)?, Some(rank)),
                (true, At::Each(array, behind)) => (array, Some(behind)),
                (true, _) => match self.made(b, walk, *operand)? {
                    At::Each(array, behind) => (array, Some(behind)),
                    _ => return None,
                },
            };
            let param = inner.param("c", b.ty(outside));
            given.push(outside);
            params.push(match behind {
                Some(behind) => At::Each(param, behind),
                None => At::Once(param),
            });
        }
        let bytes = |v: &Value| b.ty(*v).len().unwrap_or(0) * b.ty(*v).element().bytes();
        if given[1..].iter().map(bytes).sum::<usize>() > MOST_BYTES {
            return None;
        }
        let mut within = self.walk(&mut inner, body, &params, 0)?;
        let mut results = Vec::with_capacity(body.results().len());
        for (k, result) in body.results().iter().enumerate() {
            results.push(match flags.get(k).filter(|_| k < carries) {
                Some(true) => {
                    let rank = body.ty(*result).dims().len();
                    self.laid_out(&mut inner, &mut within, *result, rank)?
                }
                _ => match within.state[result.index()] {
                    At::Once(copy) => copy,
                    _ => return None,
                },
            });
        }
        let new = Arc::new(inner.finish(results));
        let parts = b.structure(Structure::For { carries, body: new }, &given);
        let place = |(k, part): (usize, Value)| match k < carries && flags[k] {
            true => At::Each(part, body.ty(body.results()[k]).dims().len()),
            false => At::Once(part),
        };
        Some(parts.into_iter().enumerate().map(place).collect())
    }

    /// An array with something put in a place that is the same at all points.
    fn put(&self, b: &mut Builder, walk: &mut Walk<'_>, value: Value) -> Option<At> {
        let f = walk.f;
        let operands: Vec<Value> = f.operands(value).collect();
        let rank = f.ty(value).dims().len();
        let At::Each(array, behind) = walk.state[operands[0].index()] else {
            return Some(At::Later);
        };
        let indices: Option<Vec<Value>> = operands[2..].iter().map(|v| walk.once.get(*v)).collect();
        let Some(indices) = indices.filter(|_| behind == rank) else { return Some(At::Later) };
        let part = f.ty(operands[1]).dims().len();
        let element = self.laid_out(b, walk, operands[1], part)?;
        Some(At::Each(b.put(array, element, &indices), rank))
    }

    /// A value at all points, with the domain behind so many of its dimensions.
    fn laid_out(
        &self,
        b: &mut Builder,
        walk: &mut Walk<'_>,
        value: Value,
        behind: usize,
    ) -> Option<Value> {
        let ty = walk.f.ty(value);
        if let At::Later = walk.state[value.index()] {
            walk.state[value.index()] = self.made(b, walk, value)?;
        }
        let whole: Vec<Dim> = ty.dims()[..behind]
            .iter()
            .chain(self.dims)
            .chain(&ty.dims()[behind..])
            .copied()
            .collect();
        let (from, at) = match walk.state[value.index()] {
            At::Each(array, at) if at == behind || ty.is_scalar() => return Some(array),
            At::Each(array, at) => (array, Some(at)),
            At::Once(array) => {
                if let Some(zero) = b.known_everywhere(array) {
                    return Some(b.constant(zero, Type::array(ty.element(), &whole)));
                }
                (array, None)
            }
            At::Later => return None,
        };
        let mut kernel = Kernel::new(0, whole.len());
        let all = kernel.point().to_vec();
        let point = &all[behind..behind + self.dims.len()];
        let own: Vec<Value> =
            all[..behind].iter().chain(&all[behind + self.dims.len()..]).copied().collect();
        let indices = match at {
            Some(at) => [&own[..at], point, &own[at..]].concat(),
            None => own,
        };
        let array = kernel.body.captured(b, from);
        let element = kernel.body.b.load(array, &indices);
        kernel.finish(b, whole, vec![element]).first().copied()
    }

    /// A value that was left for later, at all points.
    fn made(&self, b: &mut Builder, walk: &mut Walk<'_>, value: Value) -> Option<At> {
        if let At::Once(_) = walk.state[value.index()] {
            let array = self.laid_out(b, walk, value, 0)?;
            return Some(At::Each(array, 0));
        }
        let mut kernel = Kernel::new(0, self.dims.len());
        let result = self.sliced(b, walk, &mut kernel, value)?;
        let parts = kernel.finish(b, self.dims.to_vec(), vec![result]);
        Some(At::Each(*parts.first()?, 0))
    }

    /// A value at the point of a kernel.
    fn sliced(
        &self,
        outer: &Builder,
        walk: &Walk<'_>,
        kernel: &mut Kernel,
        value: Value,
    ) -> Option<Value> {
        let f = walk.f;
        let needed = self.slice(walk, value);
        let mut spread = Spread::new(f, kernel.point().to_vec());
        for v in f.values().filter(|v| needed[v.index()]) {
            match walk.state[v.index()] {
                At::Once(copy) => {
                    let copy = kernel.body.captured(outer, copy);
                    spread.copies.set(v, copy);
                }
                At::Each(array, behind) => {
                    let array = kernel.body.captured(outer, array);
                    if f.ty(v).is_scalar() {
                        let point = kernel.point().to_vec();
                        let copy = kernel.body.b.load(array, &point);
                        spread.copies.set(v, copy);
                    } else {
                        spread.set_array(v, array, behind);
                    }
                }
                At::Later => match f.op(v) {
                    Op::Param(k) if (k as usize) < walk.indices => {
                        spread.copies.set(v, kernel.point()[k as usize]);
                    }
                    Op::Param(_) => return None,
                    _ => copy_node(&mut kernel.body.b, &mut spread, v)?,
                },
            }
        }
        spread.of(&mut kernel.body.b, value)
    }

    /// What a value that is left for later needs, as far as that is left, too.
    fn slice(&self, walk: &Walk<'_>, value: Value) -> Vec<bool> {
        let f = walk.f;
        let mut needed = vec![false; f.len()];
        needed[value.index()] = true;
        for v in f.values().rev().filter(|v| v.index() <= value.index()) {
            let later = matches!(walk.state[v.index()], At::Later);
            if needed[v.index()] && later {
                f.operands(v).for_each(|operand| needed[operand.index()] = true);
            }
        }
        needed
    }

    /// Whether a value is a few operations away.
    fn is_cheap(&self, walk: &Walk<'_>, value: Value) -> bool {
        let f = walk.f;
        let needed = self.slice(walk, value);
        let work = f.values().filter(|v| {
            needed[v.index()] && matches!(walk.state[v.index()], At::Later) && !f.op(*v).is_leaf()
        });
        let mut count = 0;
        for v in work {
            count += if f.structure(v).is_some() { CHEAP + 1 } else { 1 };
        }
        count <= CHEAP
    }
}

/// Which values differ from point to point, given which parameters do; of operations with several parts, part by part.
fn varying(f: &Function, params: &[bool]) -> Vec<bool> {
    let mut varies = vec![false; f.len()];
    let mut parts: FxHashMap<Value, Vec<bool>> = FxHashMap::default();
    for value in f.values() {
        varies[value.index()] = match f.op(value) {
            Op::Param(k) => params[k as usize],
            Op::Part(k) => parts.get(&f.operand(value, 0)).is_some_and(|parts| parts[k as usize]),
            Op::Structure(_) => {
                let operands: Vec<bool> = f.operands(value).map(|v| varies[v.index()]).collect();
                let found = f.structure(value).map(|s| part_variance(s, &operands));
                let any = found.as_ref().is_some_and(|parts| parts.contains(&true));
                parts.insert(value, found.unwrap_or_default());
                any
            }
            _ => f.operands(value).any(|v| varies[v.index()]),
        };
    }
    varies
}

fn part_variance(structure: &Structure, operands: &[bool]) -> Vec<bool> {
    let count = structure.part_types(Dim::Any).len();
    let all = vec![operands.contains(&true); count];
    let inside = |body: &Function| -> Vec<bool> {
        let given = |k: usize| structure.operand_of(k).is_some_and(|o| operands[o]);
        let flags: Vec<bool> = (0..body.params().len()).map(given).collect();
        let varies = varying(body, &flags);
        body.results().iter().map(|v| varies[v.index()]).collect()
    };
    match structure {
        Structure::Tab { body, .. } | Structure::Red { body, .. } => inside(body),
        Structure::For { carries, body } if !operands[0] => {
            loop_variance(body, *carries, &mut operands[1..].to_vec())
        }
        _ => all,
    }
}

/// Which results of a loop's body vary, once it is known which carries do: `flags` of carries and captures grow to it.
fn loop_variance(body: &Function, carries: usize, flags: &mut [bool]) -> Vec<bool> {
    loop {
        let params: Vec<bool> = std::iter::once(false).chain(flags.iter().copied()).collect();
        let varies = varying(body, &params);
        let results: Vec<bool> = body.results().iter().map(|v| varies[v.index()]).collect();
        let mut changed = false;
        for k in 0..carries {
            changed |= results[k] && !flags[k];
            flags[k] |= results[k];
        }
        if !changed {
            // A carry that varies from the beginning stays so.
            return results
                .iter()
                .enumerate()
                .map(|(k, r)| *r || k < carries && flags[k])
                .collect();
        }
    }
}
