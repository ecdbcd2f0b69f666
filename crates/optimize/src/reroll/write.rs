//! The function with its parts as kernels.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Function, Op, Structure, Type, Value};
use cotangent_ops::Opcode;
use rustc_hash::{FxHashMap, FxHashSet};

use super::LEAST;
use super::chains::{Chain, Term};
use super::kernel::{kernel, together};
use super::roots::{Owner, Plan};
use super::shape::{Leaf, Part, Place, Reader, Word, write};
use crate::body::Body;

/// The most kernels that like parts are split into, so that each reads at even steps.
const MOST_PIECES: usize = 4;

struct Writer<'f> {
    f: &'f Function,
    plan: &'f Plan,
    reader: Reader<'f>,
    b: Builder,
    /// Parameters, and what kernels have given.
    arrays: Vec<Value>,
    places: Vec<Place>,
    /// The first result that a value is.
    result_of: FxHashMap<Value, usize>,
    /// The type of the numbers.
    number: Type,
}

/// Writes the function by its plan; a second array of parameters begins at `split`, arrays of results at `results`.
pub(super) fn written(
    f: &Function,
    plan: &Plan,
    split: usize,
    results: &[usize],
) -> Option<Function> {
    let mut b = Builder::new(f.name());
    let number = f.params()[0].ty;
    let (mut arrays, mut places) = (Vec::new(), vec![Place::Nowhere; f.len()]);
    let (values, total) = (f.param_values(), f.params().len());
    let ends = if split > 0 && split < total { vec![0, split, total] } else { vec![0, total] };
    for (ends, name) in ends.windows(2).zip(["x", "constants"]) {
        for (value, at) in values[ends[0]..ends[1]].iter().zip(0..) {
            if let Some(value) = value {
                places[value.index()] = Place::Element { array: arrays.len() as u32, at };
            }
        }
        arrays.push(b.param(name, number.within(&[Dim::Size(ends[1] - ends[0])])));
    }
    let mut result_of = FxHashMap::default();
    for (k, value) in f.results().iter().enumerate() {
        result_of.entry(*value).or_insert(k);
    }
    let reader = Reader::new(f, plan);
    let mut writer = Writer { f, plan, reader, b, arrays, places, result_of, number };
    for level in &plan.levels {
        writer.level(level)?;
    }
    for guard in f.guards() {
        let condition = writer.scalar(guard.condition);
        writer.b.guard(condition, guard.expected);
    }
    let mut starts = vec![0];
    starts.extend(results.iter().filter(|k| **k > 0 && **k < f.results().len()));
    starts.push(f.results().len());
    let mut results = Vec::with_capacity(starts.len());
    for ends in starts.windows(2) {
        results.push(match f.results().get(ends[0]..ends[1])? {
            [] => return None,
            [one] => writer.scalar(*one),
            several => writer.gathered(several)?,
        });
    }
    let new = writer.b.finish(results);
    new.verify().is_ok().then_some(new)
}

impl Writer<'_> {
    /// Writes roots that need only what has been written.
    fn level(&mut self, roots: &[Value]) -> Option<()> {
        let (mut plain, mut guards) = (Vec::new(), Vec::new());
        for root in roots {
            if self.plan.chains.by_top.contains_key(root) {
                continue;
            }
            let term = [Term { value: *root, negative: false }];
            let part = self.reader.part(root.index() as Owner, &term, &self.places)?;
            if self.plan.is_guard[root.index()] { &mut guards } else { &mut plain }
                .push((*root, part));
        }
        // In the order of the results, if they are some.
        let result = |root: &Value| self.result_of.get(root).copied().unwrap_or(usize::MAX);
        plain.sort_by_key(|(root, _)| (result(root), *root));
        let parts: Vec<&Part> = plain.iter().map(|(_, part)| part).collect();
        let (kernels, rest) = grouped(&parts);
        for members in kernels {
            let parts: Vec<&Part> = members.iter().map(|k| parts[*k]).collect();
            let array = kernel(&mut self.b, &self.arrays, &parts, None, self.number)?;
            let number = self.arrays.len() as u32;
            self.arrays.push(array);
            for (k, at) in members.iter().zip(0..) {
                self.places[plain[*k].0.index()] = Place::Element { array: number, at };
            }
        }
        for (root, part) in rest.into_iter().map(|k| &plain[k]).chain(&guards) {
            let terms = self.flat(part);
            self.places[root.index()] = Place::Scalar(terms.first()?.1);
        }
        for root in roots {
            if let Some(chain) = self.plan.chains.by_top.get(root) {
                self.places[root.index()] = Place::Scalar(self.chain(*root, chain)?);
            }
        }
        Some(())
    }

    /// A chain: its like rounds as reductions, the others as they are.
    fn chain(&mut self, top: Value, chain: &Chain) -> Option<Value> {
        let mut parts = Vec::with_capacity(chain.rounds.len());
        for (terms, owner) in chain.rounds.iter().zip(self.plan.first_round(top)..) {
            parts.push(self.reader.part(owner, terms, &self.places)?);
        }
        let parts: Vec<&Part> = parts.iter().collect();
        let (mut kernels, mut rest) = grouped(&parts);
        let apart = |members: &Vec<usize>| members.windows(2).any(|pair| pair[1] != pair[0] + 1);
        if chain.code != Opcode::Add && kernels.iter().any(apart) {
            // The first of equal ones counts: nothing may change its place.
            (kernels, rest) = (Vec::new(), (0..parts.len()).collect());
        }
        let mut pieces = Vec::new();
        for members in kernels {
            let parts: Vec<&Part> = members.iter().map(|k| parts[*k]).collect();
            let code = Some(chain.code);
            let sum = kernel(&mut self.b, &self.arrays, &parts, code, self.number)?;
            pieces.push((members[0], sum));
        }
        for k in rest {
            let terms = self.flat(parts[k]);
            pieces.push((k, together(&mut self.b, chain.code, terms)?));
        }
        pieces.sort_by_key(|(k, _)| *k);
        together(&mut self.b, chain.code, pieces.into_iter().map(|(_, value)| (false, value)))
    }

    /// A part in straight code; its terms.
    fn flat(&mut self, part: &Part) -> Vec<(bool, Value)> {
        let b = &mut self.b;
        let value = |leaf: &Leaf| match *leaf {
            Leaf::Constant(op) => b.copy(op, self.number, &[]),
            Leaf::Scalar(value) => value,
            Leaf::Element { array, at } => {
                let at = b.integer(i64::from(at));
                b.load(self.arrays[array as usize], &[at])
            }
        };
        let leaves: Vec<Value> = part.leaves.iter().map(value).collect();
        write(&mut self.b, &part.words, &leaves)
    }

    /// A value of the flat function, alone.
    fn scalar(&mut self, value: Value) -> Value {
        match self.places[value.index()] {
            Place::Scalar(value) => value,
            Place::Element { array, at } => {
                let at = self.b.integer(i64::from(at));
                self.b.load(self.arrays[array as usize], &[at])
            }
            // A constant.
            Place::Nowhere => self.b.copy(self.f.op(value), self.f.ty(value), &[]),
        }
    }

    /// Values of the flat function as one array.
    fn gathered(&mut self, values: &[Value]) -> Option<Value> {
        // From each array: which of the values, and where they are in it.
        let mut sources: Vec<u32> = Vec::new();
        let mut from: Vec<(Vec<i64>, Vec<i64>)> = Vec::new();
        for (value, to) in values.iter().zip(0..) {
            if let Place::Element { array, at } = self.places[value.index()] {
                let known = sources.iter().position(|source| *source == array);
                let k = known.unwrap_or_else(|| {
                    sources.push(array);
                    from.push(Default::default());
                    from.len() - 1
                });
                from[k].0.push(to);
                from[k].1.push(i64::from(at));
            }
        }
        let whole = self.number.within(&[Dim::Size(values.len())]);
        if let ([source], [(to, at)]) = (&sources[..], &from[..])
            && to.len() == values.len()
        {
            let source = self.arrays[*source as usize];
            if self.b.ty(source) == whole && at.iter().copied().eq(0..values.len() as i64) {
                return Some(source);
            }
            let mut body = Body::new(1);
            let index = body.through(&mut self.b, at)?;
            let element = body.element(&self.b, source, index);
            let (captures, dims) = (body.captures, whole.dims().to_vec());
            let body = Arc::new(body.b.finish(vec![element]));
            return self.b.structure(Structure::Tab { dims, body }, &captures).first().copied();
        }
        let mut array = self.b.constant(0.0, whole);
        let mut there: FxHashSet<i64> = FxHashSet::default();
        for (source, (to, at)) in sources.into_iter().zip(from) {
            if to.len() >= LEAST {
                there.extend(&to);
                array = self.scattered(array, self.arrays[source as usize], &to, &at)?;
            }
        }
        for (value, k) in values.iter().zip(0..).filter(|(_, k)| !there.contains(k)) {
            let (value, k) = (self.scalar(*value), self.b.integer(k));
            array = self.b.put(array, value, &[k]);
        }
        Some(array)
    }

    /// An array with elements of another one added at places.
    fn scattered(&mut self, array: Value, source: Value, to: &[i64], at: &[i64]) -> Option<Value> {
        let mut body = Body::new(1);
        let target = body.b.param("to", self.b.ty(array));
        let dims = vec![Dim::Size(to.len())];
        let (to, at) = (body.through(&mut self.b, to)?, body.through(&mut self.b, at)?);
        let element = body.element(&self.b, source, at);
        let added = body.b.put_add(target, element, &[to]);
        let operands: Vec<Value> = std::iter::once(array).chain(body.captures).collect();
        let body = Arc::new(body.b.finish(vec![added]));
        self.b.structure(Structure::Acc { dims, targets: 1, body }, &operands).first().copied()
    }
}

/// Like parts that are enough for a kernel, and the others.
fn grouped(parts: &[&Part]) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut known: FxHashMap<&[Word], usize> = FxHashMap::default();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (k, part) in parts.iter().enumerate() {
        let group = *known.entry(&part.words).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(k);
    }
    let (mut kernels, mut rest) = (Vec::new(), Vec::new());
    for group in groups {
        if group.len() < LEAST {
            rest.extend(group);
            continue;
        }
        for group in by_constants(parts, group) {
            pieces(parts, &group, &mut kernels, &mut rest);
        }
    }
    rest.sort_unstable();
    (kernels, rest)
}

/// A group split by the constants of its parts, if there are few kinds and enough of each: a table of constants is read for nothing then,
/// and what is multiplied by one constant hardly ever goes by the steps of what is multiplied by another.
fn by_constants(parts: &[&Part], group: Vec<usize>) -> Vec<Vec<usize>> {
    let mut known: FxHashMap<Vec<Op>, usize> = FxHashMap::default();
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for k in &group {
        let constants = parts[*k].leaves.iter().filter_map(|leaf| match leaf {
            Leaf::Constant(op) => Some(*op),
            _ => None,
        });
        let next = kinds.len();
        let kind = *known.entry(constants.collect()).or_insert(next);
        if kind == MOST_PIECES {
            return vec![group];
        }
        if kind == next {
            kinds.push(Vec::new());
        }
        kinds[kind].push(*k);
    }
    if kinds.iter().all(|kind| kind.len() >= LEAST) { kinds } else { vec![group] }
}

/// A group split where its steps change, if few pieces have nearly all of it; else as it is.
fn pieces(parts: &[&Part], group: &[usize], kernels: &mut Vec<Vec<usize>>, rest: &mut Vec<usize>) {
    let place = |k: usize, slot: usize| parts[group[k]].leaves[slot].place().unwrap_or(0);
    let slots = parts[group[0]].leaves.len();
    let even = |k: usize| {
        (0..slots).all(|slot| {
            place(k, slot) - place(k - 1, slot) == place(k - 1, slot) - place(k - 2, slot)
        })
    };
    let (mut runs, mut start) = (Vec::new(), 0);
    for k in 2..group.len() {
        // Two parts make any step: what does not fit begins anew, alone.
        if k >= start + 2 && !even(k) {
            runs.push(start..k);
            start = k;
        }
    }
    runs.push(start..group.len());
    let (long, short): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.len() >= LEAST);
    let covered: usize = long.iter().map(ExactSizeIterator::len).sum();
    if long.len() > MOST_PIECES || 10 * covered < 9 * group.len() {
        kernels.push(group.to_vec());
        return;
    }
    kernels.extend(long.into_iter().map(|run| group[run].to_vec()));
    short.into_iter().for_each(|run| rest.extend(&group[run]));
}
