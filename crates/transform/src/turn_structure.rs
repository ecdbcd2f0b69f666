//! Operations with bodies turned around.
//!
//! A body that is linear in some of its captures becomes one that adds to their cotangents: the cotangent
//! that has come to a capture so far goes in, more comes out. A kernel becomes an accumulation over the
//! same domain, a branch a branch on the same condition, and a loop one that runs backwards over what the
//! loop kept of its values.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Function, Integral, Param, Structure, Type, Value};

use crate::error::TransformError;
use crate::rewrite::ordinary;
use crate::transpose::Turner;

/// How a loop of values and tangents is turned around.
pub(crate) struct Turned {
    /// How often it goes round.
    pub(crate) rounds: Value,
    /// What is handed to the way back besides cotangents: kept values, captures.
    captures: Vec<Value>,
    parted: Parted,
}

/// What of a loop is linear and what is not.
struct Parted {
    /// How many operands come before the carries, and how many parameters of the body.
    lead: usize,
    first: usize,
    /// The first dimension of what is stacked.
    dim: Dim,
    /// Of the results of the body.
    linear_carries: Vec<usize>,
    ordinary_carries: Vec<usize>,
    linear_stacked: Vec<usize>,
    /// Of the operands: ordinary captures, and linear ones, to whose cotangents is added.
    ordinary_captures: Vec<usize>,
    targets: Vec<usize>,
}

impl Turner<'_> {
    fn is_linear(&self, value: Value, operand: usize) -> bool {
        self.linear[self.f.operand(value, operand).index()]
    }

    /// Copies the part of an operation with a body that is not linear.
    pub(crate) fn copy_structure(
        &mut self,
        b: &mut Builder,
        value: Value,
    ) -> Result<(), TransformError> {
        let Some(structure) = self.f.structure(value) else { return Ok(()) };
        let parts = structure.linear_parts()?;
        let operands: Vec<Value> = self.f.operands(value).collect();
        let any = (0..operands.len()).any(|k| self.is_linear(value, k)) || parts.contains(&true);
        if !any {
            self.copies.value(b, self.f, value, &[]);
            return Ok(());
        }
        match structure {
            Structure::For { .. } | Structure::While { .. } => self.copy_loop(b, value, structure),
            _ if parts.iter().all(|linear| *linear) => Ok(()),
            _ => {
                // The parts that are not linear, by themselves.
                let kept: Vec<usize> = (0..parts.len()).filter(|k| !parts[*k]).collect();
                let lead = structure.lead();
                let ordinary: Vec<usize> =
                    (0..operands.len()).filter(|k| !self.is_linear(value, *k)).collect();
                let bodies = structure.with_bodies(|body| {
                    Arc::new(select(body, &kept, |k| {
                        structure.operand_of(k).is_none_or(|o| ordinary.contains(&o))
                    }))
                });
                let handed: Vec<Value> = ordinary
                    .iter()
                    .filter(|k| **k >= lead || lead > 0)
                    .map(|k| self.copies.of(operands[*k]))
                    .collect();
                let found = b.structure(bodies, &handed);
                let mut all = vec![None; parts.len()];
                kept.iter().zip(found).for_each(|(k, part)| all[*k] = Some(part));
                self.set_parts(b, value, all);
                Ok(())
            }
        }
    }

    /// Parts of which some are linear and have no copy.
    fn set_parts(&mut self, b: &mut Builder, value: Value, parts: Vec<Option<Value>>) {
        let filler = b.truth(false);
        self.copies.set_parts(value, parts.into_iter().map(|p| p.unwrap_or(filler)).collect());
    }

    /// The ordinary part of a loop, which keeps what the way back needs; and the way back.
    fn copy_loop(
        &mut self,
        b: &mut Builder,
        value: Value,
        structure: &Structure,
    ) -> Result<(), TransformError> {
        let (Structure::For { carries, body } | Structure::While { carries, body, .. }) = structure
        else {
            return Ok(());
        };
        let (lead, first) = (structure.lead(), structure.own_params().0 - carries);
        let operands: Vec<Value> = self.f.operands(value).collect();
        let total = body.results().len();
        let parts = structure.linear_parts()?;
        let linear_carries: Vec<usize> = (0..*carries).filter(|k| parts[*k]).collect();
        let ordinary_carries: Vec<usize> = (0..*carries).filter(|k| !parts[*k]).collect();
        let linear_stacked: Vec<usize> = (*carries..total).filter(|k| parts[*k]).collect();
        let ordinary_stacked: Vec<usize> = (*carries..total).filter(|k| !parts[*k]).collect();
        let captures = lead + carries..operands.len();
        let targets: Vec<usize> = captures.clone().filter(|k| self.is_linear(value, *k)).collect();
        let ordinary_captures: Vec<usize> =
            captures.filter(|k| !self.is_linear(value, *k)).collect();

        let parted = Parted {
            lead,
            first,
            dim: match structure {
                Structure::For { .. } => self.f.stack_dim(value),
                _ => Dim::Any,
            },
            linear_carries,
            ordinary_carries,
            linear_stacked,
            ordinary_captures,
            targets,
        };
        let back = self.way_back(structure, &operands, &parted, |_| true)?;
        let Parted { linear_carries, ordinary_carries, ordinary_captures, targets, .. } = &parted;
        let behind = 1 + linear_carries.len() + targets.len() + 1;
        let needed = used(&back, behind..behind + ordinary_carries.len());

        // The way there: ordinary carries, what they stack, and the histories that are needed.
        let mut p = Builder::new("");
        let mut there: Vec<Option<Value>> = vec![None; body.params().len()];
        if first == 1 {
            there[0] = Some(p.param("i", Type::I64));
        }
        for k in ordinary_carries {
            there[first + k] = Some(p.add_param(body.params()[first + k].clone()));
        }
        for o in ordinary_captures {
            if let Some(k) = structure.param_of(*o) {
                there[k] = Some(p.add_param(body.params()[k].clone()));
            }
        }
        let inner: Vec<Value> = there
            .iter()
            .zip(body.params())
            .map(|(arg, param)| arg.unwrap_or_else(|| p.constant(0.0, param.ty)))
            .collect();
        // Nothing is linear on the way there: what bodies inside make of the zeros is a number like others.
        let found = p.inline(&ordinary(body), &inner);
        let mut results: Vec<Value> = ordinary_carries.iter().map(|k| found[*k]).collect();
        results.extend(ordinary_stacked.iter().map(|k| found[*k]));
        let kept: Vec<usize> = (0..ordinary_carries.len()).filter(|k| needed[*k]).collect();
        results.extend(kept.iter().map(|k| inner[first + ordinary_carries[*k]]));
        let count = ordinary_carries.len();
        let body_there = Arc::new(p.finish(results));
        let new = match structure {
            Structure::While { condition, .. } => {
                let condition = Arc::new(select(condition, &[0], |k| match k < *carries {
                    true => ordinary_carries.contains(&k),
                    false => ordinary_captures.contains(&(k + lead)),
                }));
                Structure::While { carries: count, condition, body: body_there }
            }
            _ => Structure::For { carries: count, body: body_there },
        };
        let mut handed: Vec<Value> = operands[..lead].iter().map(|v| self.copies.of(*v)).collect();
        handed.extend(ordinary_carries.iter().map(|k| self.copies.of(operands[lead + k])));
        handed.extend(ordinary_captures.iter().map(|o| self.copies.of(operands[*o])));
        let found = if count == 0 && ordinary_stacked.is_empty() && first == 1 {
            Vec::new()
        } else {
            b.structure(new, &handed)
        };
        let mut all: Vec<Option<Value>> = vec![None; parts.len()];
        ordinary_carries.iter().zip(&found).for_each(|(k, part)| all[*k] = Some(*part));
        let rest = found.get(count..).unwrap_or_default();
        ordinary_stacked.iter().zip(rest).for_each(|(k, part)| all[*k] = Some(*part));
        let kept_parts = rest.get(ordinary_stacked.len()..).unwrap_or_default();
        let rounds = match structure {
            Structure::While { .. } => {
                let rounds = found.last().copied();
                all[parts.len() - 1] = rounds;
                rounds.unwrap_or_else(|| b.integer(0))
            }
            _ => handed[0],
        };
        self.set_parts(b, value, all);
        let filler = b.truth(false);
        let mut captures = vec![rounds];
        for k in 0..ordinary_carries.len() {
            let place = kept.iter().position(|other| *other == k);
            captures.push(place.and_then(|at| kept_parts.get(at).copied()).unwrap_or(filler));
        }
        captures.extend(ordinary_captures.iter().map(|o| self.copies.of(operands[*o])));
        self.loops[value.index()] = Some(Turned { rounds, captures, parted });
        Ok(())
    }

    /// The body of the way back of a loop: from the cotangents of the tangents after a round to those before
    /// it. `came` says to which of the stacked values something came back.
    fn way_back(
        &self,
        structure: &Structure,
        operands: &[Value],
        parted: &Parted,
        came: impl Fn(usize) -> bool,
    ) -> Result<Function, TransformError> {
        let (Structure::For { body, .. } | Structure::While { body, .. }) = structure else {
            return Ok(Builder::new("").finish(Vec::new()));
        };
        let (first, dim) = (parted.first, parted.dim);
        // The way back: j counts up, i down. Behind the cotangents: the number of rounds, the ordinary
        // carries at the beginning of round i, ordinary captures, cotangents of what was stacked.
        let mut t = Builder::new("");
        let j = t.param("j", Type::I64);
        let carried: Vec<Value> = parted
            .linear_carries
            .iter()
            .map(|k| t.linear_param(format!("c{k}"), body.params()[first + k].ty))
            .collect();
        let sums: Vec<Value> = parted
            .targets
            .iter()
            .map(|o| t.linear_param(format!("c{o}"), self.f.ty(operands[*o])))
            .collect();
        let rounds = t.param("n", Type::I64);
        let one = t.integer(1);
        let last = t.integral(Integral::Sub, rounds, one);
        let i = t.integral(Integral::Sub, last, j);
        let mut args: Vec<Option<Value>> = vec![None; body.params().len()];
        if first == 1 {
            args[0] = Some(i);
        }
        for k in &parted.ordinary_carries {
            let ty = body.params()[first + k].ty;
            let history = t.param(format!("h{k}"), ty.within(&[dim]));
            args[first + k] = Some(t.load(history, &[i]));
        }
        for o in &parted.ordinary_captures {
            if let Some(k) = structure.param_of(*o) {
                args[k] = Some(t.add_param(body.params()[k].clone()));
            }
        }
        let stacked: Vec<usize> =
            parted.linear_stacked.iter().copied().filter(|k| came(*k)).collect();
        let stacks: Vec<Value> = stacked
            .iter()
            .map(|k| {
                let ty = body.ty(body.results()[*k]).within(&[dim]);
                t.linear_param(format!("y{k}"), ty)
            })
            .collect();
        let linear = body.linear_values()?;
        let mut turner = Turner::new(body, linear, &mut t, &args)?;
        for (k, cotangent) in parted.linear_carries.iter().zip(&carried) {
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
        let params: Vec<Option<Value>> = body.param_values();
        let sums = turner.with_targets(&mut t, structure, &parted.targets, &sums)?;
        let mut results = Vec::new();
        for k in &parted.linear_carries {
            let ty = body.params()[first + k].ty;
            results.push(match params[first + k] {
                Some(param) => turner.or_zero(&mut t, param)?,
                None => t.constant(0.0, ty),
            });
        }
        results.extend(sums);
        Ok(t.finish(results))
    }
    /// Hands the cotangents of the parts of an operation with a body on to its operands.
    pub(crate) fn turn_structure(
        &mut self,
        b: &mut Builder,
        value: Value,
    ) -> Result<(), TransformError> {
        let Some(structure) = self.f.structure(value) else { return Ok(()) };
        let parts = self.f.parts_of(value);
        let cotangents: Vec<Option<Value>> =
            parts.iter().map(|part| part.and_then(|v| self.came(b, v))).collect();
        if cotangents.iter().all(Option::is_none) {
            return Ok(());
        }
        let operands: Vec<Value> = self.f.operands(value).collect();
        if let Some(turned) = self.loops[value.index()].take() {
            return self.turn_loop(b, value, &turned, &parts, &operands);
        }
        let linear: Vec<bool> = operands.iter().map(|v| self.linear[v.index()]).collect();
        match structure {
            Structure::Tab { dims, body } | Structure::Red { dims, body, .. } => {
                let inside = matches!(structure, Structure::Tab { .. });
                self.kernel(b, structure, dims, body, 0, (&operands, &linear), &cotangents, inside)
            }
            Structure::Acc { dims, targets, body } => {
                self.kernel(
                    b,
                    structure,
                    dims,
                    body,
                    *targets,
                    (&operands, &linear),
                    &cotangents,
                    false,
                )?;
                for k in (0..*targets).filter(|k| linear[*k]) {
                    if let Some(cotangent) = cotangents[k] {
                        self.add(b, operands[k], cotangent);
                    }
                }
                Ok(())
            }
            Structure::If { .. } => self.turn_branch(b, structure, &operands, &linear, &cotangents),
            // Loops have been seen to, and calls are written out.
            _ => Ok(()),
        }
    }

    /// An accumulation over the domain of a kernel. `inside`: the cotangents have an entry for each point.
    #[allow(clippy::too_many_arguments, reason = "what a kernel is, and what has come to it")]
    fn kernel(
        &mut self,
        b: &mut Builder,
        structure: &Structure,
        dims: &[Dim],
        body: &Function,
        skipped: usize,
        (operands, linear): (&[Value], &[bool]),
        cotangents: &[Option<Value>],
        inside: bool,
    ) -> Result<(), TransformError> {
        let targets: Vec<usize> = (skipped..operands.len()).filter(|k| linear[*k]).collect();
        if targets.is_empty() {
            return Ok(());
        }
        let mut t = Builder::new("");
        let indices = t.params_of(&body.params()[..dims.len()]);
        let sums: Vec<Value> = targets
            .iter()
            .map(|o| t.linear_param(format!("c{o}"), self.f.ty(operands[*o])))
            .collect();
        let mut args: Vec<Option<Value>> = vec![None; body.params().len()];
        indices.iter().enumerate().for_each(|(k, i)| args[k] = Some(*i));
        let mut handed = Vec::new();
        for o in (skipped..operands.len()).filter(|k| !linear[*k]) {
            if let Some(k) = structure.param_of(o) {
                args[k] = Some(t.add_param(body.params()[k].clone()));
                handed.push(self.copies.of(operands[o]));
            }
        }
        let values = body.linear_values()?;
        let mut turner = Turner::new(body, values, &mut t, &args)?;
        for (k, cotangent) in cotangents.iter().enumerate() {
            let Some(cotangent) = cotangent else { continue };
            let inner = t.linear_param(format!("y{k}"), b.ty(*cotangent));
            handed.push(*cotangent);
            let entry = if inside { t.load(inner, &indices) } else { inner };
            let result = body.results()[k];
            if turner.linear[result.index()] {
                turner.add(&mut t, result, entry);
            }
        }
        let results = turner.with_targets(&mut t, structure, &targets, &sums)?;
        let acc = Structure::Acc {
            dims: dims.to_vec(),
            targets: targets.len(),
            body: Arc::new(t.finish(results)),
        };
        let mut all = Vec::with_capacity(targets.len() + handed.len());
        for o in &targets {
            all.push(self.or_zero(b, operands[*o])?);
        }
        all.extend(handed);
        let found = b.structure(acc, &all);
        targets.iter().zip(found).for_each(|(o, sum)| self.of[operands[*o].index()] = Some(sum));
        Ok(())
    }

    /// Turns a body around whose linear captures begin with what has come to them so far; their cotangents
    /// after it.
    fn with_targets(
        &mut self,
        t: &mut Builder,
        structure: &Structure,
        targets: &[usize],
        sums: &[Value],
    ) -> Result<Vec<Value>, TransformError> {
        let params = self.f.param_values();
        let of: Vec<Option<Value>> =
            targets.iter().map(|o| structure.param_of(*o).and_then(|k| params[k])).collect();
        for (param, sum) in of.iter().zip(sums) {
            if let Some(param) = param {
                let before = self.of[param.index()].take();
                self.of[param.index()] = Some(*sum);
                if let Some(before) = before {
                    self.add(t, *param, before);
                }
            }
        }
        self.turn(t)?;
        let mut results = Vec::with_capacity(sums.len());
        for (param, sum) in of.iter().zip(sums) {
            results.push(match param {
                Some(param) => self.or_zero(t, *param)?,
                None => *sum,
            });
        }
        Ok(results)
    }

    fn turn_branch(
        &mut self,
        b: &mut Builder,
        structure: &Structure,
        operands: &[Value],
        linear: &[bool],
        cotangents: &[Option<Value>],
    ) -> Result<(), TransformError> {
        let targets: Vec<usize> = (1..operands.len()).filter(|k| linear[*k]).collect();
        let ordinary: Vec<usize> = (1..operands.len()).filter(|k| !linear[*k]).collect();
        let mut turned = Vec::new();
        for body in structure.bodies() {
            let mut t = Builder::new("");
            let sums: Vec<Value> = targets
                .iter()
                .map(|o| t.linear_param(format!("c{o}"), self.f.ty(operands[*o])))
                .collect();
            let mut args: Vec<Option<Value>> = vec![None; body.params().len()];
            for o in &ordinary {
                if let Some(k) = structure.param_of(*o) {
                    args[k] = Some(t.add_param(body.params()[k].clone()));
                }
            }
            let values = body.linear_values()?;
            let mut turner = Turner::new(body, values, &mut t, &args)?;
            for (k, cotangent) in cotangents.iter().enumerate() {
                let Some(cotangent) = cotangent else { continue };
                let inner = t.linear_param(format!("y{k}"), b.ty(*cotangent));
                let result = body.results()[k];
                if turner.linear[result.index()] {
                    turner.add(&mut t, result, inner);
                }
            }
            let results = turner.with_targets(&mut t, structure, &targets, &sums)?;
            turned.push(Arc::new(t.finish(results)));
        }
        let mut all = vec![self.copies.of(operands[0])];
        for o in &targets {
            all.push(self.or_zero(b, operands[*o])?);
        }
        all.extend(ordinary.iter().map(|o| self.copies.of(operands[*o])));
        all.extend(cotangents.iter().flatten());
        let mut turned = turned.into_iter();
        let (Some(yes), Some(no)) = (turned.next(), turned.next()) else { return Ok(()) };
        let found = b.structure(Structure::If { yes, no }, &all);
        targets.iter().zip(found).for_each(|(o, sum)| self.of[operands[*o].index()] = Some(sum));
        Ok(())
    }

    fn turn_loop(
        &mut self,
        b: &mut Builder,
        value: Value,
        turned: &Turned,
        parts: &[Option<Value>],
        operands: &[Value],
    ) -> Result<(), TransformError> {
        let Some(structure) = self.f.structure(value) else { return Ok(()) };
        let Parted { lead, linear_carries, linear_stacked, targets, .. } = &turned.parted;
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
        all.extend(&turned.captures);
        let came: Vec<Option<Value>> =
            parts.iter().map(|part| part.and_then(|v| self.came(b, v))).collect();
        all.extend(linear_stacked.iter().filter_map(|k| came[*k]));
        let back = self.way_back(structure, operands, &turned.parted, |k| came[k].is_some())?;
        let carries = linear_carries.len() + targets.len();
        let found = b.structure(Structure::For { carries, body: Arc::new(back) }, &all);
        for (o, sum) in targets.iter().zip(&found[linear_carries.len()..]) {
            self.of[operands[*o].index()] = Some(*sum);
        }
        // Behind the captures: a value may be one and a carry, too.
        for (k, cotangent) in linear_carries.iter().zip(&found) {
            if self.linear[operands[lead + k].index()] {
                self.add(b, operands[lead + k], *cotangent);
            }
        }
        Ok(())
    }
}

/// Some results of a function, without the parameters that are not kept, which they do not need.
fn select(f: &Function, results: &[usize], keep: impl Fn(usize) -> bool) -> Function {
    let mut b = Builder::new("");
    let args: Vec<Value> = f
        .params()
        .iter()
        .enumerate()
        .map(|(k, p)| {
            if keep(k) {
                b.add_param(Param { linear: false, ..p.clone() })
            } else {
                b.constant(0.0, p.ty)
            }
        })
        .collect();
    let found = b.inline(&ordinary(f), &args);
    b.finish(results.iter().map(|k| found[*k]).collect())
}

/// Which of its parameters a function uses.
fn used(f: &Function, params: std::ops::Range<usize>) -> Vec<bool> {
    let values = f.param_values();
    let used: std::collections::BTreeSet<Value> =
        f.values().flat_map(|v| f.operands(v)).chain(f.results().iter().copied()).collect();
    params.map(|k| values[k].is_some_and(|v| used.contains(&v))).collect()
}
