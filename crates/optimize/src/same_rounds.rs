//! Two `while` loops that go the same rounds become one.
//!
//! The tangents along two directions are two loops that carry the same values, and go on by them. What decides whether a loop goes
//! on is the condition and the carries it depends on, round after round. If those begin alike and are computed alike, both loops
//! end together: one carries them for both.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Function, Op, Param, Structure, Value};

use crate::visit::copy_into;

/// Writes the results of a body, given the parameters of the first loop and those of the second.
type Write<'w> = dyn Fn(&mut Builder, &[Value], &[Value]) -> Vec<Value> + 'w;

/// A loop, seen from outside.
struct Loop<'f> {
    carries: usize,
    condition: &'f Function,
    body: &'f Function,
    operands: Vec<Value>,
    /// The carries that decide how often it goes round.
    decide: Vec<usize>,
}

impl<'f> Loop<'f> {
    fn of(f: &'f Function, value: Value) -> Option<Loop<'f>> {
        let Structure::While { carries, condition, body } = f.structure(value)? else {
            return None;
        };
        let mut decides = vec![false; *carries];
        let mut open = vec![(&**condition, *condition.results().first()?)];
        while let Some((of, result)) = open.pop() {
            for k in params(of, result).into_iter().filter(|k| *k < *carries) {
                if !std::mem::replace(&mut decides[k], true) {
                    open.push((&**body, *body.results().get(k)?));
                }
            }
        }
        let decide = (0..*carries).filter(|k| decides[*k]).collect();
        let operands = f.operands(value).collect();
        Some(Loop { carries: *carries, condition, body, operands, decide })
    }

    /// The condition and the next of the carries that decide, of those carries and what comes from outside.
    fn decision(&self, outside: &[Value], f: &Function) -> Option<Function> {
        let mut b = Builder::new("");
        let types = self.decide.iter().map(|k| self.body.params()[*k].ty);
        let types: Vec<_> = types.chain(outside.iter().map(|v| f.ty(*v))).collect();
        let given: Vec<Value> = types.into_iter().map(|ty| b.param("p", ty)).collect();
        let args: Vec<Option<Value>> = (0..self.body.params().len())
            .map(|k| match k < self.carries {
                true => self.decide.iter().position(|d| *d == k).map(|at| given[at]),
                false => {
                    let at = outside.iter().position(|v| *v == self.operands[k])?;
                    Some(given[self.decide.len() + at])
                }
            })
            .collect();
        let mut results = Vec::new();
        let next = self.decide.iter().map(|k| self.body.results()[*k]);
        for (of, wanted) in [
            (self.condition, vec![*self.condition.results().first()?]),
            (self.body, next.collect()),
        ] {
            let mut copies = Copied::new(of.len());
            copy_into(&mut b, of, &mut copies, &args, &wanted);
            results.extend(wanted.iter().map(|v| copies.of(*v)));
        }
        Some(b.finish(results))
    }

    /// What the decision takes from outside.
    fn outside(&self) -> Vec<Value> {
        let body = self.decide.iter().flat_map(|k| params(self.body, self.body.results()[*k]));
        let condition = self.condition.results().iter().flat_map(|v| params(self.condition, *v));
        let all = body.chain(condition).filter(|k| *k >= self.carries);
        let mut all: Vec<Value> = all.map(|k| self.operands[k]).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The parameters that a value depends on.
fn params(f: &Function, value: Value) -> Vec<usize> {
    let mut seen = vec![false; f.len()];
    let mut open = vec![value];
    let mut found = Vec::new();
    while let Some(v) = open.pop() {
        if std::mem::replace(&mut seen[v.index()], true) {
            continue;
        }
        match f.op(v) {
            Op::Param(k) => found.push(k as usize),
            _ => open.extend(f.operands(v)),
        }
    }
    found
}

/// Whether two loops go the same rounds.
pub(crate) fn go_together(f: &Function, first: Value, second: Value) -> bool {
    let (Some(a), Some(b)) = (Loop::of(f, first), Loop::of(f, second)) else { return false };
    let starts = |l: &Loop<'_>| -> Vec<Value> { l.decide.iter().map(|k| l.operands[*k]).collect() };
    let outside = a.outside();
    starts(&a) == starts(&b)
        && outside == b.outside()
        && a.decision(&outside, f).is_some_and(|d| Some(d) == b.decision(&outside, f))
}

/// Builds the one, and hands its parts to the two.
pub(crate) fn one(
    b: &mut Builder,
    f: &Function,
    copies: &mut Copied,
    first: Value,
    second: Value,
) -> Option<()> {
    let (p, q) = (Loop::of(f, first)?, Loop::of(f, second)?);
    let own: Vec<usize> = (0..q.carries).filter(|k| !q.decide.contains(k)).collect();
    // Carries of the first, those of the second that do not decide, captures of both.
    let params: Vec<Param> = (p.body.params()[..p.carries].iter())
        .chain(own.iter().map(|k| &q.body.params()[*k]))
        .chain(&p.body.params()[p.carries..])
        .chain(&q.body.params()[q.carries..])
        .cloned()
        .collect();
    let (m, n) = (p.body.params().len(), own.len());
    let of_first: Vec<usize> = (0..m).map(|k| if k < p.carries { k } else { n + k }).collect();
    let of_second: Vec<usize> = (0..q.body.params().len())
        .map(|k| match q.decide.iter().position(|d| *d == k) {
            Some(at) => p.decide[at],
            None if k < q.carries => p.carries + own.iter().position(|o| *o == k).unwrap_or(0),
            None => m + n + k - q.carries,
        })
        .collect();
    let written = |results: &Write<'_>| {
        let mut inner = Builder::new(p.body.name());
        let args = inner.params_of(&params);
        let pick = |which: &[usize]| -> Vec<Value> { which.iter().map(|k| args[*k]).collect() };
        let found = results(&mut inner, &pick(&of_first), &pick(&of_second));
        Arc::new(inner.finish(found))
    };
    let condition = written(&|b, args, _| b.inline(p.condition, args));
    let body = written(&|b, args, others| {
        let (x, y) = (b.inline(p.body, args), b.inline(q.body, others));
        let (carried, stacked) = x.split_at(p.carries);
        let others: Vec<Value> = own.iter().map(|k| y[*k]).collect();
        [carried, &others[..], stacked, &y[q.carries..]].concat()
    });
    let operands: Vec<Value> = (p.operands[..p.carries].iter())
        .chain(own.iter().map(|k| &q.operands[*k]))
        .chain(&p.operands[p.carries..])
        .chain(&q.operands[q.carries..])
        .map(|v| copies.of(*v))
        .collect();
    let carries = p.carries + n;
    let parts = b.structure(Structure::While { carries, condition, body }, &operands);
    let stacks = p.body.results().len() - p.carries;
    let (rounds, parts) = parts.split_last()?;
    let (carried, stacked) = parts.split_at(carries);
    let at_end = |stacked: &[Value]| [stacked, &[*rounds]].concat();
    copies.set_parts(first, [&carried[..p.carries], &at_end(&stacked[..stacks])[..]].concat());
    let carried: Vec<Value> = of_second[..q.carries].iter().map(|k| carried[*k]).collect();
    copies.set_parts(second, [&carried[..], &at_end(&stacked[stacks..])[..]].concat());
    Some(())
}
