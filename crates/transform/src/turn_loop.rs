//! Loops turned around: the way there keeps what the way back needs.
//!
//! What the way back needs of a round is stacked, round by round: the values that take the fewest bytes and from
//! which the others can be computed again (see [`residuals`](crate::residuals)). Carries may come back in other
//! ways. An array that a round only changes in places: the way there keeps what stood in those places, and the
//! way back carries the array along and puts it back (an *undo log*, O(1) a round). An integer that a round only
//! adds to: the way back takes it away again. And of a carry that is stacked, the way back knows what each round has made of it, too:
//! what the round after it has begun with.

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Integral, Op, Structure, Type, Value};

use crate::error::TransformError;
use crate::residuals;
use crate::strip::{strip, strip_to};
use crate::transpose::Turner;

/// Arrays of so many elements stand in registers, or near: to carry them costs less than to wait for what they are computed from. Numbers
/// are carried only where that saves work.
/// (A network of six layers, in which each reads what the one before it gives: 0.96 of the time of its gradient.)
const SHORT: usize = 64;

/// How a loop of values and tangents is turned around.
pub(crate) struct Turned<'f> {
    /// How often it goes round.
    pub(crate) rounds: Value,
    /// Carries that are put back, as the last round left them.
    restored: Vec<Value>,
    /// What is handed to the way back besides: kept values, captures.
    captures: Vec<Value>,
    plan: Plan,
    parted: Loop<'f>,
}

/// How the values of a round come to the way back.
struct Plan {
    /// Of each ordinary carry.
    carries: Vec<Keep>,
    /// Values of the body that are stacked.
    stacked: Vec<Value>,
}

/// How the value of a carry at the beginning of a round comes to the way back, beside stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Nothing,
    Undo,
    Invert,
    /// It is stacked; and what the round makes of it is what the round after it has begun with.
    After,
}

/// A loop whose parts are told apart.
struct Loop<'f> {
    structure: &'f Structure,
    body: &'f Function,
    /// How many parameters of the body come before the carries: the index of a `for`.
    first: usize,
    lead: usize,
    linear_carries: Vec<usize>,
    ordinary_carries: Vec<usize>,
    linear_stacked: Vec<usize>,
    ordinary_stacked: Vec<usize>,
    /// Operands.
    targets: Vec<usize>,
    captures: Vec<usize>,
    /// The dimension of what is stacked.
    dim: Dim,
    /// The ordinary part of the body.
    stripped: Function,
    /// By value of the body: whether it does not depend on the carries.
    free: Vec<bool>,
}

impl Loop<'_> {
    /// By ordinary carry: the changes a round makes to it, if that is all it does, the first one first.
    fn changes(&self) -> Vec<Vec<Value>> {
        let of = |at: usize| changes(&self.stripped, self.first, at);
        (0..self.ordinary_carries.len()).map(of).collect()
    }

    /// What a round adds to an integer that it carries, if that is all it does and it does not depend on the
    /// carries.
    fn step(&self, at: usize) -> Option<(Integral, Value)> {
        let (body, k) = (self.body, self.ordinary_carries[at]);
        let result = body.results()[k];
        let own = |v: Value| body.op(v) == Op::Param((self.first + k) as u32);
        let args: Vec<Value> = body.operands(result).collect();
        let (integral, step) = match (body.op(result), args[..].as_ref()) {
            (Op::Integral(Integral::Add), [a, b]) if own(*a) => (Integral::Sub, *b),
            (Op::Integral(Integral::Add), [a, b]) if own(*b) => (Integral::Sub, *a),
            (Op::Integral(Integral::Sub), [a, b]) if own(*a) => (Integral::Add, *b),
            _ => return None,
        };
        self.free[step.index()].then_some((integral, step))
    }

    /// The types of what is kept of a change: the indices, and what stood there.
    fn change_types(&self, put: Value) -> Vec<Type> {
        let f = &self.stripped;
        let mut types: Vec<Type> = f.operands(put).skip(2).map(|v| f.ty(v)).collect();
        types.push(f.ty(f.operand(put, 1)));
        types
    }

    /// The way back: j counts up, i down. Its parameters: j; cotangents of the carries; sums for the
    /// captures; carries that are put back; the number of rounds; what was stacked; what was changed; carries
    /// that nobody needs; ordinary captures; cotangents of what the loop stacks.
    /// `came` says to which of the stacked values something came back.
    fn back(
        &self,
        f: &Function,
        operands: &[Value],
        plan: &Plan,
        came: impl Fn(usize) -> bool,
    ) -> Result<Function, TransformError> {
        let body = self.body;
        let mut t = Builder::new("");
        let j = t.param("j", Type::I64);
        let carried: Vec<Value> = self
            .linear_carries
            .iter()
            .map(|k| t.linear_param(format!("c{k}"), body.params()[self.first + k].ty))
            .collect();
        let sums: Vec<Value> = self
            .targets
            .iter()
            .map(|o| t.linear_param(format!("c{o}"), f.ty(operands[*o])))
            .collect();
        let with = |wanted: &'static [Keep]| {
            let pairs = self.ordinary_carries.iter().zip(&plan.carries).enumerate();
            let chosen = pairs.filter(move |(_, (_, keep))| wanted.contains(keep));
            chosen.map(|(at, (k, keep))| (at, *k, *keep))
        };
        let put_back: Vec<(usize, usize, Keep)> =
            with(&[Keep::Undo, Keep::Invert, Keep::After]).collect();
        let restored: Vec<Value> = put_back
            .iter()
            .map(|(_, k, _)| t.param(format!("r{k}"), body.params()[self.first + k].ty))
            .collect();
        let rounds = t.param("n", Type::I64);
        let one = t.integer(1);
        let last = t.integral(Integral::Sub, rounds, one);
        let i = t.integral(Integral::Sub, last, j);
        let mut args: Vec<Option<Value>> = vec![None; body.params().len()];
        if self.first == 1 {
            args[0] = Some(i);
        }
        let mut given = Vec::with_capacity(plan.stacked.len());
        for value in &plan.stacked {
            let stack = t.param(format!("h{}", value.index()), body.ty(*value).within(&[self.dim]));
            given.push((*value, t.load(stack, &[i])));
        }
        let changes = self.changes();
        let mut before = vec![None; put_back.len()];
        for (((at, k, keep), array), before) in put_back.iter().zip(&restored).zip(&mut before) {
            let params = body.param_values();
            let stacked = given.iter().find(|(value, _)| params[self.first + k] == Some(*value));
            if let (Keep::After, Some((_, row))) = (keep, stacked) {
                (args[self.first + k], *before) = (Some(*row), Some(*row));
                given.push((body.results()[*k], *array));
            }
            if *keep != Keep::Undo {
                continue;
            }
            let mut array = *array;
            // What was changed last is put back first.
            let mut kept: Vec<Vec<Value>> = Vec::new();
            for put in &changes[*at] {
                let types = self.change_types(*put);
                kept.push(
                    types
                        .into_iter()
                        .map(|ty| t.param(format!("u{k}"), ty.within(&[self.dim])))
                        .collect(),
                );
            }
            for stacks in kept.iter().rev() {
                let entries: Vec<Value> = stacks.iter().map(|s| t.load(*s, &[i])).collect();
                if let Some((old, indices)) = entries.split_last() {
                    array = t.put(array, *old, indices);
                }
            }
            args[self.first + k] = Some(array);
            *before = Some(array);
        }
        // A carry that nobody needs has no value here, but its place must be filled.
        for (_, k, _) in with(&[Keep::Nothing]) {
            let param = &body.params()[self.first + k];
            args[self.first + k] = Some(t.param(format!("unused{k}"), param.ty));
        }
        for o in &self.captures {
            if let Some(k) = self.structure.param_of(*o) {
                args[k] = Some(t.add_param(body.params()[k].clone()));
            }
        }
        for (((at, k, keep), after), before) in put_back.iter().zip(&restored).zip(&mut before) {
            if let (Keep::Invert, Some((integral, step))) = (keep, self.step(*at)) {
                let mut copies = Copied::new(body.len());
                let known: Vec<Value> = args.iter().map(|arg| arg.unwrap_or(i)).collect();
                copy_needed(&mut t, body, &mut copies, &known, step);
                let value = t.integral(integral, *after, copies.of(step));
                args[self.first + k] = Some(value);
                *before = Some(value);
            }
        }
        let stacked: Vec<usize> =
            self.linear_stacked.iter().copied().filter(|k| came(*k)).collect();
        let stacks: Vec<Value> = stacked
            .iter()
            .map(|k| {
                let ty = body.ty(body.results()[*k]).within(&[self.dim]);
                t.linear_param(format!("y{k}"), ty)
            })
            .collect();
        let linear = body.linear_values()?;
        let mut turner = Turner::given(body, linear, &mut t, &args, &given)?;
        for (k, cotangent) in self.linear_carries.iter().zip(&carried) {
            let result = body.results()[*k];
            if turner.linear[result.index()] {
                turner.add(&mut t, result, *cotangent);
            }
        }
        for (k, stack) in stacked.iter().zip(&stacks) {
            let result = body.results()[*k];
            let cotangent = t.load(*stack, &[i]);
            if turner.linear[result.index()] {
                turner.add(&mut t, result, cotangent);
            }
        }
        let new_sums = turner.with_targets(&mut t, self.structure, &self.targets, &sums)?;
        let params = body.param_values();
        let mut results = Vec::new();
        for k in &self.linear_carries {
            let ty = body.params()[self.first + k].ty;
            results.push(match params[self.first + k] {
                Some(param) => turner.or_zero(&mut t, param)?,
                None => t.constant(0.0, ty),
            });
        }
        results.extend(new_sums);
        results.extend(before.into_iter().flatten());
        Ok(t.finish(results))
    }

    /// What the way back needs of a round: of all its values that depend on the carries, those that are used
    /// if all of them are at hand.
    fn needed(&self, f: &Function, operands: &[Value]) -> Result<Vec<Value>, TransformError> {
        let linear = self.body.linear_values()?;
        let stackable = |v: &Value| {
            let ty = self.body.ty(*v);
            let part_of = matches!(self.body.op(*v), Op::Structure(_));
            !linear[v.index()] && !self.free[v.index()] && !part_of && ty != Type::PARTS
        };
        let stacked: Vec<Value> = self.body.values().filter(stackable).collect();
        let nothing = vec![Keep::Nothing; self.ordinary_carries.len()];
        let plan = Plan { carries: nothing, stacked };
        let back = self.back(f, operands, &plan, |_| true)?;
        let first = 1 + self.linear_carries.len() + self.targets.len() + 1;
        let params = back.param_values();
        let mut used = vec![false; back.len()];
        for value in back.values() {
            back.operands(value).for_each(|v| used[v.index()] = true);
        }
        back.results().iter().for_each(|v| used[v.index()] = true);
        let is_used = |k: usize| params[first + k].is_some_and(|v| used[v.index()]);
        Ok(plan.stacked.iter().enumerate().filter(|(k, _)| is_used(*k)).map(|(_, v)| *v).collect())
    }

    /// What is kept, and how.
    fn plan(&self, f: &Function, operands: &[Value]) -> Result<Plan, TransformError> {
        let needed = self.needed(f, operands)?;
        let changes = self.changes();
        let params = self.body.param_values();
        let at_of = |k: usize| {
            let carry = k.checked_sub(self.first)?;
            self.ordinary_carries.iter().position(|c| *c == carry)
        };
        let log = |at: usize| -> u64 {
            let types = changes[at].iter().flat_map(|put| self.change_types(*put));
            types.map(residuals::bytes).fold(0, u64::saturating_add)
        };
        let capacity = |k: usize| {
            let at = at_of(k)?;
            match (self.step(at), changes[at].is_empty()) {
                (Some(_), _) => Some(0),
                (None, false) => Some(log(at)),
                _ => None,
            }
        };
        // If there is no cut, what is needed is stacked as it is, and it is said there what cannot be.
        let linear = self.body.linear_values()?;
        let at_hand: Vec<bool> = self.free.iter().zip(linear).map(|(a, b)| *a || b).collect();
        let rounds = match (self.structure, operands.first().map(|v| f.op(*v))) {
            (Structure::For { .. }, Some(Op::Integer(n))) => u64::try_from(n).ok(),
            _ => None,
        };
        let cuts = residuals::kept(self.body, &at_hand, &needed, rounds, capacity);
        let plan = |cut: Vec<Value>| {
            let mut carries = vec![Keep::Nothing; self.ordinary_carries.len()];
            let mut stacked = Vec::new();
            for value in cut {
                let param = params.iter().position(|p| *p == Some(value));
                match param.and_then(at_of) {
                    Some(at) if self.step(at).is_some() => carries[at] = Keep::Invert,
                    Some(at) if !changes[at].is_empty() => carries[at] = Keep::Undo,
                    _ => stacked.push(value),
                }
            }
            // What a round begins with and what it makes of that are the same numbers, one round apart.
            let begins = |k: usize| params[self.first + k].is_some_and(|v| stacked.contains(&v));
            let made = self.ordinary_carries.iter().filter(|k| begins(**k));
            let made: Vec<Value> = made.map(|k| self.body.results()[*k]).collect();
            let begun = |v: &Value| matches!(self.body.op(*v), Op::Param(_));
            let (twice, stacked): (Vec<Value>, Vec<Value>) =
                stacked.iter().partition(|v| made.contains(v) && !begun(v));
            let (after, work) = self.known_after(&needed, &stacked, &twice);
            after.into_iter().for_each(|at| carries[at] = Keep::After);
            (Plan { carries, stacked }, work)
        };
        let Some([last, first]) = cuts else { return Ok(plan(needed.clone()).0) };
        let ((last, late), (first, early)) = (plan(last), plan(first));
        // The last is less to compute again, unless what the carries become is known.
        Ok(if early < late { first } else { last })
    }

    /// Which ordinary carries that are stacked are worth carrying on the way back, too: what a round makes of them is then known
    /// without computing it again, as what the round after it has begun with. So are those that would have been stacked twice. And what there
    /// still is to compute again.
    fn known_after(
        &self,
        needed: &[Value],
        stacked: &[Value],
        twice: &[Value],
    ) -> (Vec<usize>, f64) {
        let (body, params) = (self.body, self.body.param_values());
        let mut all = Vec::new();
        for (at, k) in self.ordinary_carries.iter().enumerate() {
            let result = body.results()[*k];
            let kept = params[self.first + k].is_some_and(|param| stacked.contains(&param));
            let computed = !self.free[result.index()] && !stacked.contains(&result);
            if kept && computed && !matches!(body.op(result), Op::Param(_)) {
                all.push((at, result));
            }
        }
        let given = |with: &[(usize, Value)]| -> Vec<Value> {
            stacked.iter().copied().chain(with.iter().map(|(_, v)| *v)).collect()
        };
        let (_, touched) = self.again(needed, &given(&all));
        all.retain(|(_, result)| touched[result.index()]);
        let mut found = Vec::new();
        let (work, _) = self.again(needed, &given(&all));
        for k in 0..all.len() {
            let (at, result) = all[k];
            let ty = body.ty(result);
            let saved = || {
                let others: Vec<(usize, Value)> =
                    all.iter().filter(|(other, _)| *other != at).copied().collect();
                self.again(needed, &given(&others)).0 - work
            };
            let short = !ty.is_scalar() && ty.len().is_some_and(|len| len <= SHORT);
            if twice.contains(&result) || short || saved() > residuals::price(ty) {
                found.push((at, result));
            }
        }
        let (work, _) = self.again(needed, &given(&found));
        (found.into_iter().map(|(at, _)| at).collect(), work)
    }

    /// What it takes to compute some values again, given others; and the values that this touches.
    fn again(&self, needed: &[Value], given: &[Value]) -> (f64, Vec<bool>) {
        let body = self.body;
        let (mut touched, mut known) = (vec![false; body.len()], self.free.clone());
        given.iter().for_each(|v| known[v.index()] = true);
        needed.iter().for_each(|v| touched[v.index()] = true);
        let mut work = 0.0;
        for value in body.values().rev() {
            if touched[value.index()] && !known[value.index()] {
                work += body.cost_of(value).total();
                body.operands(value).for_each(|v| touched[v.index()] = true);
            }
        }
        (work, touched)
    }

    /// The way there: the ordinary part, and behind its results what is kept.
    fn there(&self, plan: &Plan) -> Result<Function, TransformError> {
        let results = self.ordinary_carries.iter().chain(&self.ordinary_stacked);
        let wanted: Vec<Value> =
            results.map(|k| self.body.results()[*k]).chain(plan.stacked.iter().copied()).collect();
        let f = &strip_to(self.body, &wanted)?;
        let mut p = Builder::new("");
        let args = p.params_of(f.params());
        let mut copies = Copied::new(f.len());
        for value in f.values() {
            copies.value(&mut p, f, value, &args);
        }
        let mut results: Vec<Value> = f.results().iter().map(|v| copies.of(*v)).collect();
        let undone = plan.carries.iter().enumerate().filter(|(_, keep)| **keep == Keep::Undo);
        for put in undone.flat_map(|(at, _)| changes(f, self.first, at)) {
            let indices: Vec<Value> = f.operands(put).skip(2).map(|v| copies.of(v)).collect();
            let old = p.load(copies.of(f.operand(put, 0)), &indices);
            results.extend(indices);
            results.push(old);
        }
        Ok(p.finish(results))
    }
}

/// Which values do not depend on the carries.
fn free(body: &Function, first: usize, carries: usize) -> Vec<bool> {
    let mut free = vec![true; body.len()];
    for value in body.values() {
        free[value.index()] = match body.op(value) {
            Op::Param(k) => !(first..first + carries).contains(&(k as usize)),
            _ => body.operands(value).all(|v| free[v.index()]),
        };
    }
    free
}

/// Copies what a value needs, given the parameters.
fn copy_needed(b: &mut Builder, f: &Function, copies: &mut Copied, args: &[Value], root: Value) {
    let mut needed = vec![false; f.len()];
    needed[root.index()] = true;
    for value in f.values().rev() {
        if needed[value.index()] {
            f.operands(value).for_each(|v| needed[v.index()] = true);
        }
    }
    f.values().filter(|v| needed[v.index()]).for_each(|v| copies.value(b, f, v, args));
}

/// The changes that a round makes to a carry, if that is all it does, the first one first.
fn changes(f: &Function, first: usize, at: usize) -> Vec<Value> {
    let mut found = Vec::new();
    let mut value = f.results()[at];
    while f.op(value) == Op::Put {
        found.push(value);
        value = f.operand(value, 0);
    }
    found.reverse();
    if f.op(value) == Op::Param((first + at) as u32) { found } else { Vec::new() }
}

impl<'f> Turner<'f> {
    /// The ordinary part of a loop, which keeps what the way back needs; and the way back.
    pub(crate) fn copy_loop(
        &mut self,
        b: &mut Builder,
        value: Value,
        structure: &'f Structure,
    ) -> Result<(), TransformError> {
        let (Structure::For { carries, body } | Structure::While { carries, body, .. }) = structure
        else {
            return Ok(());
        };
        let operands: Vec<Value> = self.f.operands(value).collect();
        let total = body.results().len();
        let parts = structure.linear_parts()?;
        let which = |range: std::ops::Range<usize>, linear: bool| -> Vec<usize> {
            range.filter(|k| parts[*k] == linear).collect()
        };
        let lead = structure.lead();
        let captured = lead + carries..operands.len();
        let ordinary_carries = which(0..*carries, false);
        let ordinary_stacked = which(*carries..total, false);
        let kept_results: Vec<usize> =
            ordinary_carries.iter().chain(&ordinary_stacked).copied().collect();
        let parted = Loop {
            structure,
            body,
            first: structure.own_params().0 - carries,
            lead,
            linear_carries: which(0..*carries, true),
            linear_stacked: which(*carries..total, true),
            targets: captured.clone().filter(|k| self.is_linear(value, *k)).collect(),
            captures: captured.filter(|k| !self.is_linear(value, *k)).collect(),
            dim: match structure {
                Structure::For { .. } => self.f.stack_dim(value),
                _ => Dim::Any,
            },
            stripped: strip(body, &kept_results)?,
            free: free(body, structure.own_params().0 - carries, *carries),
            ordinary_carries,
            ordinary_stacked,
        };
        let plan = parted.plan(self.f, &operands)?;
        self.write_loop(b, value, parted, plan, &operands, &parts)
    }

    fn write_loop(
        &mut self,
        b: &mut Builder,
        value: Value,
        parted: Loop<'f>,
        plan: Plan,
        operands: &[Value],
        parts: &[bool],
    ) -> Result<(), TransformError> {
        let (lead, count) = (parted.lead, parted.ordinary_carries.len());
        let there = Arc::new(parted.there(&plan)?);
        let is_while = matches!(parted.structure, Structure::While { .. });
        let new = match parted.structure {
            Structure::While { condition, .. } => {
                let condition = Arc::new(strip(condition, &[0])?);
                Structure::While { carries: count, condition, body: there }
            }
            _ => Structure::For { carries: count, body: there },
        };
        let mut handed: Vec<Value> = operands[..lead].iter().map(|v| self.copies.of(*v)).collect();
        handed.extend(parted.ordinary_carries.iter().map(|k| self.copies.of(operands[lead + k])));
        handed.extend(parted.captures.iter().map(|o| self.copies.of(operands[*o])));
        let nothing = count == 0 && parted.ordinary_stacked.is_empty() && !is_while;
        let found = if nothing { Vec::new() } else { b.structure(new, &handed) };
        let mut all: Vec<Option<Value>> = vec![None; parts.len()];
        let ordinary = parted.ordinary_carries.iter().chain(&parted.ordinary_stacked);
        ordinary.clone().zip(&found).for_each(|(k, part)| all[*k] = Some(*part));
        let mut kept = found.iter().copied().skip(ordinary.count());
        let rounds = match is_while {
            true => {
                let rounds = found.last().copied();
                all[parts.len() - 1] = rounds;
                rounds.unwrap_or_else(|| b.integer(0))
            }
            false => handed[0],
        };
        let finals: Vec<Option<Value>> = parted.ordinary_carries.iter().map(|k| all[*k]).collect();
        self.set_parts(b, value, all);
        // As the parameters of the way back stand.
        let mut captures = vec![rounds];
        captures.extend(plan.stacked.iter().filter_map(|_| kept.next()));
        let changes = parted.changes();
        let mut restored = Vec::new();
        for (at, keep) in plan.carries.iter().enumerate() {
            if *keep == Keep::Undo {
                for put in &changes[at] {
                    let types = parted.change_types(*put);
                    captures.extend(types.iter().filter_map(|_| kept.next()));
                }
            }
            if *keep != Keep::Nothing {
                restored.extend(finals[at]);
            }
        }
        let unused = plan.carries.iter().enumerate().filter(|(_, keep)| **keep == Keep::Nothing);
        captures.extend(unused.filter_map(|(at, _)| finals[at]));
        captures.extend(parted.captures.iter().map(|o| self.copies.of(operands[*o])));
        self.loops[value.index()] = Some(Turned { rounds, restored, captures, plan, parted });
        Ok(())
    }

    pub(crate) fn turn_loop(
        &mut self,
        b: &mut Builder,
        turned: &Turned<'_>,
        parts: &[Option<Value>],
        operands: &[Value],
    ) -> Result<(), TransformError> {
        let Loop { lead, linear_carries, linear_stacked, targets, .. } = &turned.parted;
        let mut all = vec![turned.rounds];
        for k in linear_carries {
            all.push(match parts[*k] {
                Some(part) => self.or_zero(b, part)?,
                None => self.zeros(b, operands[lead + k])?,
            });
        }
        for o in targets {
            all.push(self.or_zero(b, operands[*o])?);
        }
        all.extend(&turned.restored);
        all.extend(&turned.captures);
        let came: Vec<Option<Value>> =
            parts.iter().map(|part| part.and_then(|v| self.came(b, v))).collect();
        all.extend(linear_stacked.iter().filter_map(|k| came[*k]));
        let back = turned.parted.back(self.f, operands, &turned.plan, |k| came[k].is_some())?;
        let carries = linear_carries.len() + targets.len() + turned.restored.len();
        let found = b.structure(Structure::For { carries, body: Arc::new(back) }, &all);
        // The sums began with what had come so far, so they go first: a value may be both.
        for (o, sum) in targets.iter().zip(&found[linear_carries.len()..]) {
            self.of[operands[*o].index()] = Some(*sum);
        }
        for (k, cotangent) in linear_carries.iter().zip(&found) {
            if self.linear[operands[lead + k].index()] {
                self.add(b, operands[lead + k], *cotangent);
            }
        }
        Ok(())
    }
}
