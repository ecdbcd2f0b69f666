//! Accumulations at shifted places as tables: what scatters to neighbours is gathered from them.
//!
//! The cotangent of a stencil adds to the neighbours of each point, `acc (i) c[i − 1] += v(i)`. The same is
//! `tab (j) v(j + 1)`, with nothing where that is no point of the domain. Places may be clamped, `max(i − 1, 0)`: the points
//! that meet at an end are added there one by one. Several additions come in the order in which their points do, so
//! that the sums are the same to the bit (but for a zero's sign).

use cotangent_ir::{Builder, Copied, Dim, Function, Integral, Op, Param, Structure, Value};
use cotangent_ops::{Comparison, Opcode};

use std::cmp::Reverse;
use std::sync::Arc;

use crate::accumulate::{Single, leads_to};
use crate::dead::dead;
use crate::options::{Class, Options};
use crate::rewrite::algebra;
use crate::stats::Tally;
use crate::visit::{copy_into, use_counts};

/// The most times that a summand is written.
const MOST: usize = 8;

/// An accumulation whose places are neighbours of its points.
#[derive(Clone)]
pub(crate) struct Gather {
    single: Single,
    /// By dimension of the target: the index of the domain.
    place: Vec<usize>,
    additions: Vec<Addition>,
    from_zero: bool,
}

/// A summand and where it goes, by dimension of the target.
#[derive(Clone)]
struct Addition {
    value: Value,
    ways: Vec<Way>,
    /// How many come after it at a point.
    after: usize,
}

/// Where an index of the domain leads: i + shift, not below `low` and not above `high`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Way {
    shift: i64,
    low: i64,
    high: i64,
}

/// A summand at the points that some indices give.
struct Term {
    /// Which addition.
    number: usize,
    /// By dimension of the target.
    from: Vec<From>,
}

/// One of the indices of the domain that lead to a place j.
#[derive(Clone, Copy)]
enum From {
    /// j − shift, where j lies between two bounds.
    Here { shift: i64, least: i64, most: i64 },
    /// One index, if j is this.
    Only { index: i64, at: i64 },
}

impl Gather {
    pub(crate) fn of(single: &Single, from_zero: bool, options: Options) -> Option<Gather> {
        let (body, rank) = (&*single.body, single.dims.len());
        let own = Op::Param(rank as u32);
        let uses = use_counts(body);
        let ty = body.params()[rank].ty;
        if ty.dims().len() != rank || rank == 0 || !options.allows(Class::Zero) {
            return None;
        }
        let mut at = body.results()[0];
        let mut place: Option<Vec<usize>> = None;
        let mut additions = Vec::new();
        while body.op(at) != own {
            if uses[at.index()] != 1 || body.op(at) != Op::PutAdd {
                return None;
            }
            let args: Vec<Value> = body.operands(at).collect();
            if args.len() != rank + 2 || !leads_to(body, args[0], own) {
                return None;
            }
            let found: Option<Vec<(usize, Way)>> =
                args[2..].iter().map(|v| way(body, *v, rank)).collect();
            let (indices, ways): (Vec<usize>, Vec<Way>) = found?.into_iter().unzip();
            if place.as_ref().is_some_and(|place| *place != indices) {
                return None;
            }
            place = Some(indices);
            additions.push(Addition { value: args[1], ways, after: additions.len() });
            at = args[0];
        }
        let place = place?;
        let distinct = (0..rank).all(|k| !place[..k].contains(&place[k]));
        if uses[at.index()] != 1 || !distinct {
            return None;
        }
        // In the order of the points, and at a point in that of the body.
        additions.reverse();
        let by = |k: usize| place.iter().position(|index| *index == k);
        let order: Vec<usize> = (0..rank).filter_map(by).collect();
        additions.sort_by_key(|addition: &Addition| {
            order.iter().map(|k| -addition.ways[*k].shift).collect::<Vec<i64>>()
        });
        let gather = Gather { single: single.clone(), place, additions, from_zero };
        (gather.terms()?.len() <= MOST).then_some(gather)
    }

    /// What is added to an element, in the order of the points.
    fn terms(&self) -> Option<Vec<Term>> {
        let mut terms: Vec<Term> = Vec::new();
        let mut ends: Vec<Term> = Vec::new();
        for (number, addition) in self.additions.iter().enumerate() {
            let froms = self.froms(addition)?;
            let count: usize = froms.iter().map(Vec::len).product();
            if count > MOST {
                return None;
            }
            for combination in 0..count {
                let mut left = combination;
                let mut from = Vec::with_capacity(froms.len());
                // The last dimension goes fastest, as points do.
                for of in froms.iter().rev() {
                    from.push(of[left % of.len()]);
                    left /= of.len();
                }
                from.reverse();
                let at_end = from.iter().any(|from| matches!(from, From::Only { .. }));
                if at_end { &mut ends } else { &mut terms }.push(Term { number, from });
            }
        }
        if ends.is_empty() {
            return Some(terms);
        }
        match self.place.len() {
            // Those that come together at an end stand between the others so that they are added in the order of the points there.
            1 => {
                for end in ends {
                    let From::Only { index, at } = end.from[0] else { return None };
                    // Points in their order, additions at a point in theirs.
                    let key = |i: i64, number: usize| (i, Reverse(self.additions[number].after));
                    let before = |term: &Term| {
                        let there = term.from[0].index_at(at).map(|i| key(i, term.number));
                        there > Some(key(index, end.number))
                    };
                    let place = terms.iter().position(before).unwrap_or(terms.len());
                    terms.insert(place, end);
                }
                Some(terms)
            }
            // In several dimensions only those of one addition are known to be in order, with indices in that of the domain.
            _ if self.additions.len() == 1 && self.place.is_sorted() => self.in_order(),
            _ => None,
        }
    }

    /// All terms of one addition, the last dimension fastest.
    fn in_order(&self) -> Option<Vec<Term>> {
        let froms = self.froms(self.additions.first()?)?;
        let mut all = vec![Vec::new()];
        for of in froms {
            all = all
                .iter()
                .flat_map(|from: &Vec<From>| of.iter().map(move |f| [&from[..], &[*f]].concat()))
                .collect();
        }
        Some(all.into_iter().map(|from| Term { number: 0, from }).collect())
    }

    /// By dimension: the indices that lead to a place. None, if one may lead out of the target.
    fn froms(&self, addition: &Addition) -> Option<Vec<Vec<From>>> {
        let ty = self.single.body.params()[self.single.dims.len()].ty;
        let size = |dim: Dim| match dim {
            Dim::Size(n) if n > 0 => i64::try_from(n).ok(),
            _ => None,
        };
        let mut all = Vec::with_capacity(self.place.len());
        for ((way, index), dim) in addition.ways.iter().zip(&self.place).zip(ty.dims()) {
            let (n, m) = (size(self.single.dims[*index])?, size(*dim)?);
            let Way { shift, low, high } = *way;
            if way.at(0) < 0 || way.at(n - 1) >= m || low > high {
                return None;
            }
            let below = (low.saturating_sub(shift)).clamp(0, n);
            let above = (n - 1).saturating_sub(high.saturating_sub(shift)).clamp(0, n);
            if below + above > MOST as i64 {
                return None;
            }
            let mut froms: Vec<From> =
                (0..below).map(|index| From::Only { index, at: low }).collect();
            let (least, most) = (shift.max(low).max(0), (n - 1 + shift).min(high).min(m - 1));
            if least <= most {
                froms.push(From::Here { shift, least, most });
            }
            froms.extend((n - above..n).map(|index| From::Only { index, at: high }));
            all.push(froms);
        }
        Some(all)
    }

    /// The table: what was there and what is added, in the order of the points.
    pub(crate) fn build(&self, b: &mut Builder, start: Value, captures: &[Value]) -> Option<Value> {
        let (body, rank) = (&*self.single.body, self.single.dims.len());
        let target = &body.params()[rank];
        let mut inner = Builder::new(body.name());
        let params: Vec<Param> = self.place.iter().map(|k| body.params()[*k].clone()).collect();
        let here = inner.params_of(&params);
        let captured = inner.params_of(&body.params()[rank + 1..]);
        let mut operands = captures.to_vec();
        let mut sum = None;
        if !self.from_zero {
            let before = inner.add_param(target.clone());
            operands.push(start);
            sum = Some(inner.load(before, &here));
        }
        let zero = inner.constant(0.0, target.ty.after(rank));
        for Term { number, from } in self.terms()? {
            let mut args: Vec<Option<Value>> = vec![None; rank + 1];
            let mut condition = None;
            for (k, from) in from.iter().enumerate() {
                let (index, holds) = from.index(&mut inner, here[k], target.ty.dims()[k]);
                args[self.place[k]] = Some(index);
                condition = match (condition, holds) {
                    (Some(a), Some(b)) => Some(inner.and(a, b)),
                    (a, b) => a.or(b),
                };
            }
            args.extend(captured.iter().map(|v| Some(*v)));
            let summand = self.additions[number].value;
            let mut copies = Copied::new(body.len());
            copy_into(&mut inner, body, &mut copies, &args, &[summand]);
            let mut value = copies.of(summand);
            if let Some(condition) = condition {
                value = inner.select(condition, value, zero);
            }
            sum = Some(match sum {
                Some(sum) => inner.elementary(Opcode::Add, 0, &[sum, value]),
                None => value,
            });
        }
        let body = Arc::new(inner.finish(vec![sum?]));
        // What an addition is at an end is often known, and nothing: the table is made simpler where it stands alone, with
        // its domain around it.
        let mut alone = Builder::new("");
        let args: Vec<Value> = operands.iter().map(|v| alone.param("x", b.ty(*v))).collect();
        let dims = target.ty.dims().to_vec();
        let table = alone.structure(Structure::Tab { dims, body }, &args);
        let alone = algebra(&alone.finish(table), &mut Tally::default(), false);
        let alone = dead(&alone, &mut Tally::default());
        b.inline(&alone, &operands).first().copied()
    }
}

impl Way {
    fn at(self, i: i64) -> i64 {
        i.saturating_add(self.shift).max(self.low).min(self.high)
    }
}

impl From {
    /// The index of the domain that leads to a place, if one does.
    fn index_at(self, j: i64) -> Option<i64> {
        match self {
            From::Only { index, at } => (at == j).then_some(index),
            From::Here { shift, least, most } => (least..=most).contains(&j).then_some(j - shift),
        }
    }

    /// An index of the domain, in it whatever j is, and when it counts.
    fn index(self, b: &mut Builder, j: Value, dim: Dim) -> (Value, Option<Value>) {
        match self {
            From::Only { index, at } => {
                let at = b.integer(at);
                (b.integer(index), Some(b.compare(Comparison::Equal, j, at)))
            }
            From::Here { shift, least, most } => {
                let by = b.integer(-shift);
                let mut index = if shift == 0 { j } else { b.integral(Integral::Add, j, by) };
                let mut holds = None;
                if least > 0 {
                    let bound = b.integer(least - shift);
                    index = b.integral(Integral::Max, index, bound);
                    let bound = b.integer(least);
                    holds = Some(b.compare(Comparison::AtLeast, j, bound));
                }
                if dim != Dim::Size((most + 1).max(0) as usize) {
                    let bound = b.integer(most - shift);
                    index = b.integral(Integral::Min, index, bound);
                    let bound = b.integer(most);
                    let below = b.compare(Comparison::AtMost, j, bound);
                    holds = Some(holds.map_or(below, |holds| b.and(holds, below)));
                }
                (index, holds)
            }
        }
    }
}

/// An index of the domain with something added, clamped.
fn way(body: &Function, value: Value, rank: usize) -> Option<(usize, Way)> {
    let constant = |v: Value| match body.op(v) {
        Op::Integer(c) if c.unsigned_abs() < 1 << 40 => Some(c),
        _ => None,
    };
    match body.op(value) {
        Op::Param(k) if (k as usize) < rank => {
            Some((k as usize, Way { shift: 0, low: i64::MIN / 4, high: i64::MAX / 4 }))
        }
        Op::Integral(integral) => {
            let (index, Way { shift, low, high }) = way(body, body.operand(value, 0), rank)?;
            let c = constant(body.operand(value, 1))?;
            let moved = |c: i64| Way { shift: shift + c, low: low + c, high: high + c };
            Some((
                index,
                match integral {
                    Integral::Add => moved(c),
                    Integral::Sub => moved(-c),
                    Integral::Max => Way { shift, low: low.max(c), high: high.max(c) },
                    Integral::Min => Way { shift, low: low.min(c), high: high.min(c) },
                    _ => return None,
                },
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_ir::parse;

    /// An index with something added, once or twice clamped.
    fn place(random: &mut fastrand::Rng, index: &str, name: &str, size: i64, text: &mut String) {
        let shift = random.i64(-2..=2);
        *text += &format!("    %{name}a = iadd %{index}, {shift}\n");
        *text += &format!("    %{name}b = imax %{name}a, {}\n", random.i64(0..=1));
        *text += &format!("    %{name} = imin %{name}b, {}\n", size - 1 - random.i64(0..=1));
    }

    /// A program of one or two dimensions, with one to three additions.
    fn program(seed: u64) -> String {
        let mut random = fastrand::Rng::with_seed(seed);
        let two = random.bool();
        let (n, m) = (random.i64(4..=9), random.i64(3..=7));
        let (dims, domain, at) = match two {
            true => (format!("[{n}, {m}]"), format!("%i < {n}, %j < {m}"), "%i, %j"),
            false => (format!("[{n}]"), format!("%i < {n}"), "%i"),
        };
        let (mut body, mut last) = (String::new(), "t".to_string());
        for k in 0..random.usize(1..=3) {
            place(&mut random, "i", &format!("p{k}"), n, &mut body);
            let mut places = format!("%p{k}");
            if two {
                place(&mut random, "j", &format!("q{k}"), m, &mut body);
                places += &format!(", %q{k}");
            }
            let value = match random.bool() {
                true => format!("%v{k} = ld %x[{at}]"),
                false => {
                    format!("%w{k} = ld %x[{at}] %z{k} = ld %x[{places}] %v{k} = mul %w{k}, %z{k}")
                }
            };
            body += &format!("    {value}\n    %t{k} = put_add %{last}[{places}], %v{k}\n");
            last = format!("t{k}");
        }
        let start = match random.bool() {
            true => format!("%s = fill 0.0 : {dims}f64"),
            false => "%s = mul %y, 3.0".to_string(),
        };
        format!(
            "fn @f(%x: {dims}f64, %y: {dims}f64) -> {dims}f64 {{\n  {start}\n  \
             %r = acc ({domain}) (%t = %s) {{\n{body}    yield %{last}\n  }}\n  ret %r\n}}"
        )
    }

    #[test]
    fn sums_at_neighbouring_places_stay_what_they_are() {
        let mut tables = 0;
        for seed in 0..400 {
            let text = program(seed);
            let f = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let Some(new) = gathered(&f) else { continue };
            new.verify().unwrap_or_else(|e| panic!("{e}\n{text}\n{new}"));
            assert!(!new.to_string().contains("acc"), "{new}");
            tables += 1;
            let mut random = fastrand::Rng::with_seed(seed + 1_000_000);
            let count: usize = f.params().iter().filter_map(|p| p.ty.len()).sum();
            let x: Vec<f64> = (0..count).map(|_| random.f64() * 10.0 - 5.0).collect();
            let (a, b) = (f.run(&x).expect("it runs"), new.run(&x).expect("it runs"));
            // The sign of a zero may change.
            assert_eq!(a, b, "seed {seed}\n{text}\n{new}");
        }
        assert!(tables > 100, "only {tables} became tables");
    }

    /// The only accumulation of a function as a table, whatever it costs.
    fn gathered(f: &Function) -> Option<Function> {
        let mut found = false;
        let new = f.rebuilt(|b, copies, value| {
            let Some(Structure::Acc { dims, targets, body }) = f.structure(value) else {
                return false;
            };
            let operands = copies.operands(f, value);
            let from_zero = b.function().is_zero(operands[0]);
            let gather = Single::of(dims, *targets, body, 0)
                .and_then(|single| Gather::of(&single, from_zero, Options::default()));
            let Some(gather) = gather else { return false };
            let table = gather.build(b, operands[0], &operands[1..]).expect("it has terms");
            copies.set_parts(value, vec![table]);
            found = true;
            true
        });
        found.then_some(new)
    }
}
