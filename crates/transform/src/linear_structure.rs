//! Tangents of operations with bodies: the body gets tangents, and so does what is around it.
//!
//! Kernels and branches get a second operation beside them, which computes tangents only and what they need
//! of the values; loops carry values and tangents together.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Element, Function, Integral, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use crate::error::TransformError;
use crate::linearize::{Moved, Writer, write};
use crate::rewrite::{check_rule, ordinary, zeros_like};

impl Writer<'_> {
    /// Copies an operation with a body and gives tangents to its parts.
    pub(crate) fn structure(
        &mut self,
        b: &mut Builder,
        value: Value,
    ) -> Result<(), TransformError> {
        let (args, moving) = self.operands(b, value);
        let Some(structure) = self.f.structure(value) else { return Ok(()) };
        if moving.iter().all(Option::is_none) {
            self.copies.value(b, self.f, value, &[]);
            return Ok(());
        }
        let tangents = match structure {
            // Integers do not move.
            Structure::Red { body, .. } if !body.ty(body.results()[0]).is_float() => {
                self.copies.value(b, self.f, value, &[]);
                vec![None]
            }
            Structure::Tab { .. }
            | Structure::Red { reducer: Reducer::Sum, .. }
            | Structure::If { .. } => {
                self.copies.value(b, self.f, value, &[]);
                self.beside(b, structure, &args, &moving)?
            }
            Structure::Red { reducer: Reducer::ArgMax | Reducer::ArgMin, .. } => {
                self.copies.value(b, self.f, value, &[]);
                vec![None]
            }
            Structure::Red { reducer: reducer @ (Reducer::Max | Reducer::Min), dims, body } => {
                self.copies.value(b, self.f, value, &[]);
                let which =
                    if *reducer == Reducer::Max { Reducer::ArgMax } else { Reducer::ArgMin };
                let at = Structure::Red { dims: dims.clone(), reducer: which, body: body.clone() };
                let place = b.structure(at, &args)[0];
                let indices = point(b, place, dims);
                let inner: Vec<Value> = indices.iter().chain(&args).copied().collect();
                let still = vec![None; indices.len()];
                let inner_tangents: Vec<Option<Value>> =
                    still.into_iter().chain(moving.iter().copied()).collect();
                write(body, b, &inner, &inner_tangents, self.element)?.tangents
            }
            Structure::Red { reducer: Reducer::Product, dims, body } => {
                let (looped, bound) = product(b, dims, body);
                let one = b.constant(1.0, Type::scalar(self.element));
                let all: Vec<Value> = [bound, one].into_iter().chain(args).collect();
                let all_moving: Vec<Option<Value>> =
                    [None, None].into_iter().chain(moving).collect();
                let parts = self.carried(b, &looped, &all, &all_moving)?;
                self.copies.set_parts(value, parts.values);
                parts.tangents
            }
            Structure::Acc { .. } => {
                self.copies.value(b, self.f, value, &[]);
                self.accumulated(b, structure, &args, &moving)?
            }
            Structure::For { .. } | Structure::While { .. } => {
                let parts = self.carried(b, structure, &args, &moving)?;
                self.copies.set_parts(value, parts.values);
                parts.tangents
            }
            // Written out before.
            Structure::Derive(_) => Vec::new(),
            Structure::Call { function } => match function.rule() {
                None => {
                    let moved = write(function, b, &args, &moving, self.element)?;
                    self.copies.set_parts(value, moved.values);
                    moved.tangents
                }
                Some(rule) => {
                    self.copies.value(b, self.f, value, &[]);
                    by_rule(b, function, rule, &args, &moving, self.element)?
                }
            },
        };
        self.parts[value.index()] = tangents;
        Ok(())
    }

    /// A kernel or branch that computes the tangents.
    fn beside(
        &self,
        b: &mut Builder,
        structure: &Structure,
        args: &[Value],
        moving: &[Option<Value>],
    ) -> Result<Vec<Option<Value>>, TransformError> {
        // With tangents behind the captures.
        let mut bodies = Vec::new();
        for body in structure.bodies() {
            bodies.push(self.with_tangents(body, structure, moving)?);
        }
        let count = bodies[0].1.tangents.len();
        let active: Vec<usize> =
            (0..count).filter(|k| bodies.iter().any(|(_, m)| m.tangents[*k].is_some())).collect();
        if active.is_empty() {
            return Ok(vec![None; count]);
        }
        let mut finished = bodies.into_iter().map(|(mut inner, moved)| {
            let results = active
                .iter()
                .map(|k| {
                    moved.tangents[*k].unwrap_or_else(|| zeros_like(&mut inner, moved.values[*k]))
                })
                .collect();
            Arc::new(inner.finish(results))
        });
        let fallback = Arc::new(Builder::new("").finish(Vec::new()));
        let moved = structure.with_bodies(|_| finished.next().unwrap_or_else(|| fallback.clone()));
        let operands: Vec<Value> =
            args.iter().copied().chain(moving.iter().flatten().copied()).collect();
        let parts = b.structure(moved, &operands);
        let mut tangents = vec![None; count];
        for (k, part) in active.into_iter().zip(parts) {
            tangents[k] = Some(part);
        }
        Ok(tangents)
    }

    /// A body with the tangents of those of its parameters that move behind all others.
    fn with_tangents(
        &self,
        body: &Function,
        structure: &Structure,
        moving: &[Option<Value>],
    ) -> Result<(Builder, Moved), TransformError> {
        let mut inner = Builder::new("");
        let params = inner.params_of(body.params());
        let mut tangents = vec![None; params.len()];
        for (operand, _) in moving.iter().enumerate().filter(|(_, t)| t.is_some()) {
            if let Some(k) = structure.param_of(operand) {
                let p = &body.params()[k];
                tangents[k] = Some(inner.linear_param(format!("d{}", p.name), p.ty));
            }
        }
        let moved = write(body, &mut inner, &params, &tangents, self.element)?;
        Ok((inner, moved))
    }

    /// The accumulation of the tangents: of all targets, from zero if need be.
    fn accumulated(
        &self,
        b: &mut Builder,
        structure: &Structure,
        args: &[Value],
        moving: &[Option<Value>],
    ) -> Result<Vec<Option<Value>>, TransformError> {
        let Structure::Acc { dims, targets, body } = structure else { return Ok(Vec::new()) };
        let mut inner = Builder::new("");
        let rank = dims.len();
        let indices = inner.params_of(&body.params()[..rank]);
        let target_tangents: Vec<Value> = body.params()[rank..rank + targets]
            .iter()
            .map(|p| inner.linear_param(format!("d{}", p.name), p.ty))
            .collect();
        // The targets themselves are not looked at.
        let mut params = indices;
        params.extend(inner.params_of(&body.params()[rank..]));
        let mut tangents: Vec<Option<Value>> = vec![None; params.len()];
        for (k, t) in target_tangents.iter().enumerate() {
            tangents[rank + k] = Some(*t);
        }
        let captures = moving.iter().enumerate().skip(*targets);
        for (operand, _) in captures.filter(|(_, t)| t.is_some()) {
            let p = &body.params()[rank + operand];
            tangents[rank + operand] = Some(inner.linear_param(format!("d{}", p.name), p.ty));
        }
        let moved = write(body, &mut inner, &params, &tangents, self.element)?;
        let results = moved.tangents.into_iter().flatten().collect();
        let body_moved = Arc::new(inner.finish(results));
        let starts: Vec<Value> =
            (0..*targets).map(|k| moving[k].unwrap_or_else(|| zeros_like(b, args[k]))).collect();
        let operands: Vec<Value> = starts
            .into_iter()
            .chain(args.iter().copied())
            .chain(moving[*targets..].iter().flatten().copied())
            .collect();
        let structure = Structure::Acc { dims: dims.clone(), targets: *targets, body: body_moved };
        Ok(b.structure(structure, &operands).into_iter().map(Some).collect())
    }

    /// A loop that carries values and tangents.
    fn carried(
        &self,
        b: &mut Builder,
        structure: &Structure,
        args: &[Value],
        moving: &[Option<Value>],
    ) -> Result<Moved, TransformError> {
        let (Structure::For { carries, body } | Structure::While { carries, body, .. }) = structure
        else {
            return Ok(Moved { values: Vec::new(), tangents: Vec::new() });
        };
        let (lead, first) = (structure.lead(), structure.own_params().0 - carries);
        // A carry moves if it begins to, or if the body makes it.
        let mut active: Vec<bool> = (0..*carries).map(|k| moving[lead + k].is_some()).collect();
        let (mut inner, moved) = loop {
            let mut inner = Builder::new("");
            let own = inner.params_of(&body.params()[..first + carries]);
            let carried: Vec<Option<Value>> = (0..*carries)
                .map(|k| {
                    let p = &body.params()[first + k];
                    active[k].then(|| inner.linear_param(format!("d{}", p.name), p.ty))
                })
                .collect();
            let captures = inner.params_of(&body.params()[first + carries..]);
            let mut tangents: Vec<Option<Value>> = vec![None; first];
            tangents.extend(&carried);
            for (k, p) in body.params()[first + carries..].iter().enumerate() {
                let moves = moving[lead + carries + k].is_some();
                tangents.push(moves.then(|| inner.linear_param(format!("d{}", p.name), p.ty)));
            }
            let params: Vec<Value> = own.into_iter().chain(captures).collect();
            let moved = write(body, &mut inner, &params, &tangents, self.element)?;
            let more: Vec<usize> =
                (0..*carries).filter(|k| !active[*k] && moved.tangents[*k].is_some()).collect();
            if more.is_empty() {
                break (inner, moved);
            }
            more.into_iter().for_each(|k| active[k] = true);
        };
        let total = body.results().len();
        let stacked: Vec<usize> =
            (*carries..total).filter(|k| moved.tangents[*k].is_some()).collect();
        let mut results: Vec<Value> = moved.values[..*carries].to_vec();
        for k in (0..*carries).filter(|k| active[*k]) {
            let value = moved.values[k];
            results.push(moved.tangents[k].unwrap_or_else(|| zeros_like(&mut inner, value)));
        }
        results.extend(&moved.values[*carries..]);
        results.extend(stacked.iter().filter_map(|k| moved.tangents[*k]));
        let count = carries + active.iter().filter(|a| **a).count();
        let new_body = Arc::new(inner.finish(results));
        let new = match structure {
            Structure::While { condition, .. } => {
                let mut test = Builder::new("");
                let mut inner_args = test.params_of(&condition.params()[..*carries]);
                for k in (0..*carries).filter(|k| active[*k]) {
                    let p = &condition.params()[k];
                    test.linear_param(format!("d{}", p.name), p.ty);
                }
                inner_args.extend(test.params_of(&condition.params()[*carries..]));
                for (k, p) in condition.params()[*carries..].iter().enumerate() {
                    if moving[lead + carries + k].is_some() {
                        test.linear_param(format!("d{}", p.name), p.ty);
                    }
                }
                let results = test.inline(condition, &inner_args);
                let condition = Arc::new(test.finish(results));
                Structure::While { carries: count, condition, body: new_body }
            }
            _ => Structure::For { carries: count, body: new_body },
        };
        let mut operands: Vec<Value> = args[..lead + carries].to_vec();
        for k in (0..*carries).filter(|k| active[*k]) {
            let start = moving[lead + k];
            operands.push(start.unwrap_or_else(|| zeros_like(b, args[lead + k])));
        }
        operands.extend(&args[lead + carries..]);
        operands.extend(moving[lead + carries..].iter().flatten());
        let parts = b.structure(new, &operands);
        // Carries, their tangents, what is stacked, its tangents, and of a `while` the rounds.
        let mut values: Vec<Value> = parts[..*carries].to_vec();
        values.extend(&parts[count..count + total - carries]);
        let mut tangents: Vec<Option<Value>> = vec![None; total];
        let moving_carries = (0..*carries).filter(|k| active[*k]);
        for (k, part) in moving_carries.zip(&parts[*carries..]) {
            tangents[k] = Some(*part);
        }
        for (k, part) in stacked.iter().zip(&parts[count + total - carries..]) {
            tangents[*k] = Some(*part);
        }
        if let (Structure::While { .. }, Some(rounds)) = (structure, parts.last()) {
            values.push(*rounds);
            tangents.push(None);
        }
        Ok(Moved { values, tangents })
    }
}

/// The indices of a point of a domain from its number.
pub(crate) fn point(b: &mut Builder, number: Value, dims: &[Dim]) -> Vec<Value> {
    let mut indices = Vec::with_capacity(dims.len());
    let mut rest = number;
    for (k, dim) in dims.iter().enumerate().rev() {
        if k == 0 {
            indices.push(rest);
            break;
        }
        let size = b.integer(if let Dim::Size(n) = dim { *n as i64 } else { 1 });
        indices.push(b.integral(Integral::Rem, rest, size));
        rest = b.integral(Integral::Div, rest, size);
    }
    indices.reverse();
    indices
}

/// A product over a domain as a loop, and how often it goes round.
fn product(b: &mut Builder, dims: &[Dim], body: &Function) -> (Structure, Value) {
    let points = dims.iter().fold(1usize, |all, dim| match dim {
        Dim::Size(n) => all.saturating_mul(*n),
        _ => 0,
    });
    let mut inner = Builder::new("");
    let index = inner.param("i", Type::I64);
    let ty = body.results().first().map_or(Type::F64, |v| body.ty(*v));
    let so_far = inner.param("p", ty);
    let indices = point(&mut inner, index, dims);
    let captures = inner.params_of(&body.params()[dims.len()..]);
    let args: Vec<Value> = indices.into_iter().chain(captures).collect();
    let factor = inner.inline(body, &args)[0];
    let next = inner.elementary(Opcode::Mul, 0, &[so_far, factor]);
    let looped = Structure::For { carries: 1, body: Arc::new(inner.finish(vec![next])) };
    (looped, b.integer(points as i64))
}

/// The tangents of a call by the rule of the function.
fn by_rule(
    b: &mut Builder,
    function: &Function,
    rule: &Function,
    args: &[Value],
    moving: &[Option<Value>],
    element: Element,
) -> Result<Vec<Option<Value>>, TransformError> {
    let numbers = || function.params().iter().enumerate().filter(|(_, p)| p.ty.is_float());
    let float = |v: &&Value| function.ty(**v).is_float();
    let wants = function.params().len() + numbers().count();
    let gives = function.results().iter().filter(float).count();
    if rule.params().len() != wants || rule.results().len() != gives {
        let function = function.name().to_string();
        return Err(TransformError::Rule { function, rule: rule.name().to_string(), wants, gives });
    }
    // It is linear in the tangents, so it is its own derivative by them: what does not move is left out.
    check_rule(rule, function.params().len())?;
    let tangents: Vec<Option<Value>> = numbers().map(|(k, _)| moving[k]).collect();
    let mut all: Vec<Value> = args.to_vec();
    for (k, _) in numbers() {
        all.push(zeros_like(b, args[k]));
    }
    let along: Vec<Option<Value>> = vec![None; args.len()].into_iter().chain(tangents).collect();
    let mut found = write(&ordinary(rule), b, &all, &along, element)?.tangents.into_iter();
    let results = function.results().iter();
    Ok(results
        .map(|v| if function.ty(*v).is_float() { found.next().flatten() } else { None })
        .collect())
}
