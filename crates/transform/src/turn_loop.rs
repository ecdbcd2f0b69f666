//! Loops turned around: the way there keeps what the way back needs.
//!
//! What a round needs of the carries at its beginning is kept in one of two ways. Mostly it is stacked, round
//! by round. An array that a round only changes in places is not: the way there keeps what stood in those
//! places, and the way back carries the array along and puts it back (an *undo log*, O(1) a round).

use std::sync::Arc;

use cotangent_ir::{Builder, Copied, Dim, Function, Integral, Op, Structure, Type, Value};

use crate::error::TransformError;
use crate::strip::strip;
use crate::transpose::Turner;

/// How a loop of values and tangents is turned around.
pub(crate) struct Turned<'f> {
    /// How often it goes round.
    pub(crate) rounds: Value,
    /// Arrays that are put back, as the last round left them.
    restored: Vec<Value>,
    /// What is handed to the way back besides: kept values, captures.
    captures: Vec<Value>,
    keep: Vec<Keep>,
    parted: Loop<'f>,
}

/// How the value of a carry at the beginning of a round comes to the way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Nothing,
    History,
    Undo,
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
}

impl Loop<'_> {
    /// By ordinary carry: the changes a round makes to it, if that is all it does, the first one first.
    fn changes(&self) -> Vec<Vec<Value>> {
        let f = &self.stripped;
        let params = f.param_values();
        let of = |k: usize| -> Vec<Value> {
            let mut found = Vec::new();
            let mut at = f.results()[k];
            while f.op(at) == Op::Put {
                found.push(at);
                at = f.operand(at, 0);
            }
            found.reverse();
            if params[self.first + k] == Some(at) { found } else { Vec::new() }
        };
        (0..self.ordinary_carries.len()).map(of).collect()
    }

    /// The types of what is kept of a change: the indices, and what stood there.
    fn change_types(&self, put: Value) -> Vec<Type> {
        let f = &self.stripped;
        let mut types: Vec<Type> = f.operands(put).skip(2).map(|v| f.ty(v)).collect();
        types.push(f.ty(f.operand(put, 1)));
        types
    }

    /// The way back: j counts up, i down. Its parameters: j; cotangents of the carries; sums for the
    /// captures; arrays that are put back; the number of rounds; what was kept; ordinary captures;
    /// cotangents of what was stacked.
    /// `came` says to which of the stacked values something came back.
    fn back(
        &self,
        f: &Function,
        operands: &[Value],
        keep: &[Keep],
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
        let with = |wanted: Keep| {
            let pairs = self.ordinary_carries.iter().zip(keep).enumerate();
            pairs.filter(move |(_, (_, keep))| **keep == wanted).map(|(at, (k, _))| (at, *k))
        };
        let undone: Vec<(usize, usize)> = with(Keep::Undo).collect();
        let restored: Vec<Value> = undone
            .iter()
            .map(|(_, k)| t.param(format!("r{k}"), body.params()[self.first + k].ty))
            .collect();
        let rounds = t.param("n", Type::I64);
        let one = t.integer(1);
        let last = t.integral(Integral::Sub, rounds, one);
        let i = t.integral(Integral::Sub, last, j);
        let mut args: Vec<Option<Value>> = vec![None; body.params().len()];
        if self.first == 1 {
            args[0] = Some(i);
        }
        for (_, k) in with(Keep::History) {
            let ty = body.params()[self.first + k].ty;
            let history = t.param(format!("h{k}"), ty.within(&[self.dim]));
            args[self.first + k] = Some(t.load(history, &[i]));
        }
        let changes = self.changes();
        let mut before = Vec::with_capacity(undone.len());
        for ((at, k), array) in undone.iter().zip(&restored) {
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
            before.push(array);
        }
        // A carry that nobody needs has no value here, but its place must be filled.
        for (_, k) in with(Keep::Nothing) {
            let param = &body.params()[self.first + k];
            args[self.first + k] = Some(t.param(format!("unused{k}"), param.ty));
        }
        for o in &self.captures {
            if let Some(k) = self.structure.param_of(*o) {
                args[k] = Some(t.add_param(body.params()[k].clone()));
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
        let mut turner = Turner::new(body, linear, &mut t, &args)?;
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
        results.extend(before);
        Ok(t.finish(results))
    }

    /// Which of the ordinary carries the way back needs.
    fn needed(&self, back: &Function) -> Vec<bool> {
        let first = 1 + self.linear_carries.len() + self.targets.len() + 1;
        let params = back.param_values();
        let mut used = vec![false; back.len()];
        for value in back.values() {
            back.operands(value).for_each(|v| used[v.index()] = true);
        }
        back.results().iter().for_each(|v| used[v.index()] = true);
        (0..self.ordinary_carries.len())
            .map(|k| params[first + k].is_some_and(|v| used[v.index()]))
            .collect()
    }

    /// The way there: the ordinary part, and behind its results what is kept.
    fn there(&self, keep: &[Keep]) -> Function {
        let f = &self.stripped;
        let mut p = Builder::new("");
        let args = p.params_of(f.params());
        let mut copies = Copied::new(f.len());
        for value in f.values() {
            copies.value(&mut p, f, value, &args);
        }
        let mut results: Vec<Value> = f.results().iter().map(|v| copies.of(*v)).collect();
        for (at, _) in keep.iter().enumerate().filter(|(_, keep)| **keep == Keep::History) {
            results.push(args[self.first + at]);
        }
        let changes = self.changes();
        for (at, _) in keep.iter().enumerate().filter(|(_, keep)| **keep == Keep::Undo) {
            for put in &changes[at] {
                let indices: Vec<Value> = f.operands(*put).skip(2).map(|v| copies.of(v)).collect();
                let old = p.load(copies.of(f.operand(*put, 0)), &indices);
                results.extend(indices);
                results.push(old);
            }
        }
        p.finish(results)
    }
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
            ordinary_carries,
            ordinary_stacked,
        };
        let all = vec![Keep::History; parted.ordinary_carries.len()];
        let needed = parted.needed(&parted.back(self.f, &operands, &all, |_| true)?);
        let changes = parted.changes();
        let keep: Vec<Keep> = needed
            .iter()
            .zip(&changes)
            .map(|(needed, changes)| match (needed, changes.is_empty()) {
                (false, _) => Keep::Nothing,
                (true, true) => Keep::History,
                (true, false) => Keep::Undo,
            })
            .collect();
        self.write_loop(b, value, parted, keep, &operands, &parts)
    }

    fn write_loop(
        &mut self,
        b: &mut Builder,
        value: Value,
        parted: Loop<'f>,
        keep: Vec<Keep>,
        operands: &[Value],
        parts: &[bool],
    ) -> Result<(), TransformError> {
        let (lead, count) = (parted.lead, parted.ordinary_carries.len());
        let there = Arc::new(parted.there(&keep));
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
        let of = |wanted: Keep| keep.iter().enumerate().filter(move |(_, k)| **k == wanted);
        captures.extend(of(Keep::History).filter_map(|_| kept.next()));
        let changes = parted.changes();
        let mut restored = Vec::new();
        for (at, _) in of(Keep::Undo) {
            for put in &changes[at] {
                let types = parted.change_types(*put);
                captures.extend(types.iter().filter_map(|_| kept.next()));
            }
            restored.extend(finals[at]);
        }
        captures.extend(of(Keep::Nothing).filter_map(|(at, _)| finals[at]));
        captures.extend(parted.captures.iter().map(|o| self.copies.of(operands[*o])));
        self.loops[value.index()] = Some(Turned { rounds, restored, captures, keep, parted });
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
        let back = turned.parted.back(self.f, operands, &turned.keep, |k| came[k].is_some())?;
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
