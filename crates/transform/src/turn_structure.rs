//! Operations with bodies turned around.
//!
//! A body that is linear in some of its captures becomes one that adds to their cotangents: the cotangent
//! that has come to a capture so far goes in, more comes out. A kernel becomes an accumulation over the
//! same domain, a branch a branch on the same condition. Loops have a file of their own.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Function, Structure, Value};

use crate::error::TransformError;
use crate::strip::{is_linear_param, strip_structure};
use crate::transpose::Turner;

impl Turner<'_> {
    pub(crate) fn is_linear(&self, value: Value, operand: usize) -> bool {
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
                let (stripped, kept) = strip_structure(structure, &parts)?;
                let handed: Vec<Value> = (0..operands.len())
                    .filter(|k| !self.is_linear(value, *k) && !is_linear_param(structure, *k))
                    .map(|k| self.copies.of(operands[k]))
                    .collect();
                let found = b.structure(stripped, &handed);
                let mut all = vec![None; parts.len()];
                kept.iter().zip(found).for_each(|(k, part)| all[*k] = Some(part));
                self.set_parts(b, value, all);
                Ok(())
            }
        }
    }

    /// Parts of which some are linear and have no copy.
    pub(crate) fn set_parts(&mut self, b: &mut Builder, value: Value, parts: Vec<Option<Value>>) {
        let filler = b.truth(false);
        self.copies.set_parts(value, parts.into_iter().map(|p| p.unwrap_or(filler)).collect());
    }

    /// Hands the cotangents of the parts of an operation with a body on to its operands.
    pub(crate) fn turn_structure(
        &mut self,
        b: &mut Builder,
        value: Value,
    ) -> Result<(), TransformError> {
        let Some(structure) = self.f.structure(value) else { return Ok(()) };
        let parts = self.parts.remove(&value).unwrap_or_default();
        let cotangents: Vec<Option<Value>> =
            parts.iter().map(|part| part.and_then(|v| self.came(b, v))).collect();
        if cotangents.iter().all(Option::is_none) {
            return Ok(());
        }
        let operands: Vec<Value> = self.f.operands(value).collect();
        if let Some(turned) = self.loops[value.index()].take() {
            return self.turn_loop(b, &turned, &parts, &operands);
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
            // All others are written out.
            Structure::Call { function } => {
                let (Some(k), Some(turned)) =
                    (function.linear_operand(), function.transposed_form())
                else {
                    return Ok(());
                };
                let Some(Some(cotangent)) = cotangents.first() else { return Ok(()) };
                let handed: Vec<Value> = (0..operands.len())
                    .map(|o| if o == k { *cotangent } else { self.copies.of(operands[o]) })
                    .collect();
                let call = Structure::Call { function: Arc::new(turned) };
                let found = b.structure(call, &handed);
                self.add(b, operands[k], found[0]);
                Ok(())
            }
            // Loops have been seen to.
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
    pub(crate) fn with_targets(
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
}
