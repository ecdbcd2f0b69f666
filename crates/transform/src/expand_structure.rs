//! What goes beside operations with bodies: the body is expanded, and so is what is around it.
//!
//! Kernels and branches get a second operation beside them, which computes what goes beside only and what that
//! needs of the values; loops carry both together.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Function, Integral, Param, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use crate::decisions::{Decided, decided};
use crate::error::TransformError;
use crate::expand::{Along, Moved, Writer, write};

impl Writer<'_> {
    /// Copies an operation with a body, and finds what goes beside its parts.
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
        let along = match structure {
            // Integers do not move.
            Structure::Red { body, .. } if !body.ty(body.results()[0]).is_float() => {
                self.copies.value(b, self.f, value, &[]);
                vec![None]
            }
            Structure::Tab { .. } | Structure::Red { reducer: Reducer::Sum, .. } => {
                self.copies.value(b, self.f, value, &[]);
                self.beside_structure(b, structure, &args, &moving)?
            }
            Structure::If { yes, .. } => match decided(structure) {
                None => {
                    self.copies.value(b, self.f, value, &[]);
                    self.beside_structure(b, structure, &args, &moving)?
                }
                Some(Decided { handing, taking }) => {
                    let mut parts = b.structure(handing, &args);
                    let decisions = parts.split_off(yes.results().len());
                    self.copies.set_parts(value, parts);
                    let still = decisions.iter().map(|_| None);
                    let moving: Vec<Option<Along>> = moving.into_iter().chain(still).collect();
                    let args = [args, decisions].concat();
                    self.beside_structure(b, &taking, &args, &moving)?
                }
            },
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
                let inner_along: Vec<Option<Along>> =
                    still.into_iter().chain(moving.iter().cloned()).collect();
                write(body, b, &inner, &inner_along, self.expansion)?.along
            }
            Structure::Red { reducer: Reducer::Product, dims, body } => {
                let (looped, bound) = product(b, dims, body);
                let one = b.constant(1.0, Type::scalar(self.expansion.element()));
                let all: Vec<Value> = [bound, one].into_iter().chain(args).collect();
                let all_moving: Vec<Option<Along>> =
                    [None, None].into_iter().chain(moving).collect();
                let parts = self.carried(b, &looped, &all, &all_moving)?;
                self.copies.set_parts(value, parts.values);
                parts.along
            }
            Structure::Acc { .. } => {
                self.copies.value(b, self.f, value, &[]);
                self.accumulated(b, structure, &args, &moving)?
            }
            Structure::For { .. } | Structure::While { .. } => {
                let parts = self.carried(b, structure, &args, &moving)?;
                self.copies.set_parts(value, parts.values);
                parts.along
            }
            // Written out before.
            Structure::Derive(_) => Vec::new(),
            Structure::Call { function } => match function.rule() {
                None => {
                    let moved = write(function, b, &args, &moving, self.expansion)?;
                    self.copies.set_parts(value, moved.values);
                    moved.along
                }
                Some(rule) => {
                    self.copies.value(b, self.f, value, &[]);
                    match self.linear_call(b, function, &args, &moving) {
                        Some(along) => along,
                        None => self.expansion.by_rule(b, function, rule, &args, &moving)?,
                    }
                }
            },
        };
        self.parts[value.index()] = along;
        Ok(())
    }

    /// A call in which only that moves in which it is linear: what goes beside goes through the same function.
    fn linear_call(
        &self,
        b: &mut Builder,
        function: &Function,
        args: &[Value],
        moving: &[Option<Along>],
    ) -> Option<Vec<Option<Along>>> {
        let k = function.linear_operand()?;
        let along = moving[k].as_ref()?;
        if moving.iter().enumerate().any(|(j, along)| j != k && along.is_some()) {
            return None;
        }
        let form = match self.expansion.is_linear() {
            true => function.linear_form()?,
            false => function.strong_form()?,
        };
        let function = Arc::new(form);
        let mut beside = |v: &Value| {
            let mut all = args.to_vec();
            all[k] = *v;
            b.structure(Structure::Call { function: function.clone() }, &all)[0]
        };
        Some(vec![Some(along.iter().map(&mut beside).collect())])
    }

    /// A kernel or branch that computes what goes beside another.
    fn beside_structure(
        &self,
        b: &mut Builder,
        structure: &Structure,
        args: &[Value],
        moving: &[Option<Along>],
    ) -> Result<Vec<Option<Along>>, TransformError> {
        let mut bodies = Vec::new();
        for body in structure.bodies() {
            bodies.push(self.expanded(body, structure, moving)?);
        }
        let count = bodies[0].1.along.len();
        let active: Vec<usize> =
            (0..count).filter(|k| bodies.iter().any(|(_, m)| m.along[*k].is_some())).collect();
        if active.is_empty() {
            return Ok(vec![None; count]);
        }
        let mut bodies = bodies.into_iter().map(|(mut inner, moved)| {
            let results = self.results(&mut inner, &moved, &active);
            inner.finish(results)
        });
        let operands: Vec<Value> =
            args.iter().chain(moving.iter().flatten().flatten()).copied().collect();
        let parts = match structure {
            Structure::Red { dims, .. } if self.expansion.width() > 1 => {
                sums(b, dims, bodies.next(), &operands)
            }
            _ => {
                let next = |body: &Arc<Function>| bodies.next().map_or(body.clone(), Arc::new);
                b.structure(structure.with_bodies(next), &operands)
            }
        };
        Ok(self.grouped(&active, count, &parts))
    }

    /// What goes beside some of the values.
    fn results(&self, inner: &mut Builder, moved: &Moved, active: &[usize]) -> Vec<Value> {
        let along = |k: &usize| match &moved.along[*k] {
            Some(along) => along.clone(),
            None => self.expansion.zeros(inner, moved.values[*k]),
        };
        active.iter().flat_map(along).collect()
    }

    /// What goes beside all of so many values, given it one after the other for those that move.
    fn grouped(&self, active: &[usize], count: usize, parts: &[Value]) -> Vec<Option<Along>> {
        let mut along = vec![None; count];
        for (k, of) in active.iter().zip(parts.chunks(self.expansion.width())) {
            along[*k] = Some(of.into());
        }
        along
    }

    /// A body with what goes beside those of its parameters that move behind all others.
    fn expanded(
        &self,
        body: &Function,
        structure: &Structure,
        moving: &[Option<Along>],
    ) -> Result<(Builder, Moved), TransformError> {
        let mut inner = Builder::new("");
        let params = inner.params_of(body.params());
        let mut along = vec![None; params.len()];
        for (operand, _) in moving.iter().enumerate().filter(|(_, t)| t.is_some()) {
            if let Some(k) = structure.param_of(operand) {
                let p = &body.params()[k];
                along[k] = Some(self.expansion.params(&mut inner, &p.name, p.ty));
            }
        }
        let moved = write(body, &mut inner, &params, &along, self.expansion)?;
        Ok((inner, moved))
    }

    /// The accumulation of what goes beside the targets: beside all of them, from zero if need be.
    fn accumulated(
        &self,
        b: &mut Builder,
        structure: &Structure,
        args: &[Value],
        moving: &[Option<Along>],
    ) -> Result<Vec<Option<Along>>, TransformError> {
        let Structure::Acc { dims, targets, body } = structure else { return Ok(Vec::new()) };
        let (rank, expansion) = (dims.len(), self.expansion);
        let mut inner = Builder::new("");
        let mut params = inner.params_of(&body.params()[..rank]);
        let mut along: Vec<Option<Along>> = vec![None; rank];
        for p in &body.params()[rank..rank + targets] {
            along.push(Some(expansion.params(&mut inner, &p.name, p.ty)));
        }
        // The targets themselves are not looked at.
        params.extend(inner.params_of(&body.params()[rank..]));
        for (p, moves) in body.params()[rank + targets..].iter().zip(&moving[*targets..]) {
            along.push(moves.as_ref().map(|_| expansion.params(&mut inner, &p.name, p.ty)));
        }
        let moved = write(body, &mut inner, &params, &along, expansion)?;
        let all: Vec<usize> = (0..*targets).collect();
        let results = self.results(&mut inner, &moved, &all);
        let body_moved = Arc::new(inner.finish(results));
        let mut operands: Vec<Value> = Vec::new();
        for (start, target) in moving.iter().zip(args).take(*targets) {
            operands.extend(start.clone().unwrap_or_else(|| expansion.zeros(b, *target)));
        }
        operands.extend(args);
        operands.extend(moving[*targets..].iter().flatten().flatten());
        let targets = targets * expansion.width();
        let structure = Structure::Acc { dims: dims.clone(), targets, body: body_moved };
        let parts = b.structure(structure, &operands);
        Ok(self.grouped(&all, all.len(), &parts))
    }

    /// A loop that carries values and what goes beside them.
    fn carried(
        &self,
        b: &mut Builder,
        structure: &Structure,
        args: &[Value],
        moving: &[Option<Along>],
    ) -> Result<Moved, TransformError> {
        let (Structure::For { carries, body } | Structure::While { carries, body, .. }) = structure
        else {
            return Ok(Moved { values: Vec::new(), along: Vec::new() });
        };
        let (lead, first) = (structure.lead(), structure.own_params().0 - carries);
        let (width, captured) = (self.expansion.width(), &moving[lead + carries..]);
        // A carry moves if it begins to, or if the body makes it.
        let mut active: Vec<bool> = (0..*carries).map(|k| moving[lead + k].is_some()).collect();
        let (mut inner, moved) = loop {
            let mut inner = Builder::new("");
            let (params, mut along) = self.loop_params(
                &mut inner,
                &body.params()[first..],
                &active,
                captured,
                &body.params()[..first],
            );
            along.splice(0..0, vec![None; first]);
            let moved = write(body, &mut inner, &params, &along, self.expansion)?;
            let more: Vec<usize> =
                (0..*carries).filter(|k| !active[*k] && moved.along[*k].is_some()).collect();
            if more.is_empty() {
                break (inner, moved);
            }
            more.into_iter().for_each(|k| active[k] = true);
        };
        let total = body.results().len();
        let moving_carries: Vec<usize> = (0..*carries).filter(|k| active[*k]).collect();
        let stacked: Vec<usize> = (*carries..total).filter(|k| moved.along[*k].is_some()).collect();
        let mut results: Vec<Value> = moved.values[..*carries].to_vec();
        results.extend(self.results(&mut inner, &moved, &moving_carries));
        results.extend(&moved.values[*carries..]);
        results.extend(self.results(&mut inner, &moved, &stacked));
        let count = carries + moving_carries.len() * width;
        let new_body = Arc::new(inner.finish(results));
        let new = match structure {
            Structure::While { condition, .. } => {
                let mut test = Builder::new("");
                let (params, _) =
                    self.loop_params(&mut test, condition.params(), &active, captured, &[]);
                let results = test.inline(condition, &params);
                let condition = Arc::new(test.finish(results));
                Structure::While { carries: count, condition, body: new_body }
            }
            _ => Structure::For { carries: count, body: new_body },
        };
        let mut operands: Vec<Value> = args[..lead + carries].to_vec();
        for k in &moving_carries {
            let start = moving[lead + k].clone();
            operands.extend(start.unwrap_or_else(|| self.expansion.zeros(b, args[lead + k])));
        }
        operands.extend(&args[lead + carries..]);
        operands.extend(captured.iter().flatten().flatten());
        let parts = b.structure(new, &operands);
        // Carries, what goes beside them, what is stacked, what goes beside it, and of a `while` the rounds.
        let mut values: Vec<Value> = parts[..*carries].to_vec();
        values.extend(&parts[count..count + total - carries]);
        let beside: Vec<Value> = parts[*carries..count]
            .iter()
            .chain(&parts[count + total - carries..])
            .copied()
            .collect();
        let both: Vec<usize> = moving_carries.iter().chain(&stacked).copied().collect();
        let mut along = self.grouped(&both, total, &beside);
        if let (Structure::While { .. }, Some(rounds)) = (structure, parts.last()) {
            values.push(*rounds);
            along.push(None);
        }
        Ok(Moved { values, along })
    }

    /// The parameters of a body of a loop, and what goes beside the carries and captures: own ones, carries,
    /// what goes beside those that are active, captures, what goes beside those that move.
    fn loop_params(
        &self,
        inner: &mut Builder,
        params: &[Param],
        active: &[bool],
        captured: &[Option<Along>],
        own: &[Param],
    ) -> (Vec<Value>, Vec<Option<Along>>) {
        let mut all = inner.params_of(own);
        let mut along = Vec::with_capacity(params.len());
        let moves = captured.iter().map(Option::is_some);
        for (params, moves) in [
            (&params[..active.len()], active.to_vec()),
            (&params[active.len()..], moves.collect::<Vec<bool>>()),
        ] {
            all.extend(inner.params_of(params));
            for (p, moves) in params.iter().zip(moves) {
                along.push(moves.then(|| self.expansion.params(inner, &p.name, p.ty)));
            }
        }
        (all, along)
    }
}

/// Sums of several values over a domain at once: added up from zero.
fn sums(b: &mut Builder, dims: &[Dim], body: Option<Function>, operands: &[Value]) -> Vec<Value> {
    let Some(body) = body else { return Vec::new() };
    let types: Vec<Type> = body.results().iter().map(|v| body.ty(*v)).collect();
    let mut inner = Builder::new("");
    let mut args = inner.params_of(&body.params()[..dims.len()]);
    let targets: Vec<Value> =
        types.iter().enumerate().map(|(k, ty)| inner.param(format!("s{k}"), *ty)).collect();
    args.extend(inner.params_of(&body.params()[dims.len()..]));
    let found = inner.inline(&body, &args);
    let add = |(target, v): (&Value, Value)| inner.elementary(Opcode::Add, 0, &[*target, v]);
    let results = targets.iter().zip(found).map(add).collect();
    let body = Arc::new(inner.finish(results));
    let starts: Vec<Value> = types.iter().map(|ty| b.constant(0.0, *ty)).collect();
    let all: Vec<Value> = starts.iter().chain(operands).copied().collect();
    let targets = targets.len();
    b.structure(Structure::Acc { dims: dims.to_vec(), targets, body }, &all)
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
        let size = size(b, *dim);
        indices.push(b.integral(Integral::Rem, rest, size));
        rest = b.integral(Integral::Div, rest, size);
    }
    indices.reverse();
    indices
}

/// A product over a domain as a loop, and how often it goes round.
fn product(b: &mut Builder, dims: &[Dim], body: &Function) -> (Structure, Value) {
    let one = b.integer(1);
    let points = dims.iter().fold(one, |all, dim| {
        let size = size(b, *dim);
        b.integral(Integral::Mul, all, size)
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
    (looped, points)
}

/// How many points a dimension has; one that has a name is counted.
fn size(b: &mut Builder, dim: Dim) -> Value {
    if let Dim::Size(n) = dim {
        return b.integer(n as i64);
    }
    let mut body = Builder::new("");
    body.indices(1);
    let one = body.integer(1);
    let body = Arc::new(body.finish(vec![one]));
    b.structure(Structure::Red { dims: vec![dim], reducer: Reducer::Sum, body }, &[])[0]
}
