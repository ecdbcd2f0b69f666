//! Loops and branches. Lanes that go different ways go both, each where it counts.

use cotangent_ir::ranges::of_body;
use cotangent_ir::{Element, Function, Integral, Op, Structure, Type, Value};
use cotangent_ops::Comparison;

use super::carries::{Carry, Way};
use super::classify::{Class, body_args, carried, classes};
use super::growing::Growing;
use super::value::{Array, Val};
use super::{Emitter, Failure, Frame, Lanes, ROUNDS, Result, internal, llvm_type};
use crate::JitError;

/// The most operations of all rounds of a loop that is written out. One with a loop in it never is: text would grow by the product.
const UNROLLED: usize = 64;

impl Emitter<'_> {
    pub(super) fn for_loop(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        count: usize,
        body: &Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let f = frame.f;
        let Some(structure) = f.structure(value) else { return Err(internal("no loop")) };
        let mut bound = frame.get(operands[0])?.clone();
        let element = f.ty(operands[0]).element();
        if element != Element::I64 {
            bound = self.pointwise(Op::Cast, &[bound], &[element], Element::I64, cx)?;
        }
        let mut given = Vec::with_capacity(operands.len());
        for operand in operands {
            given.push(Class::of(frame.get(*operand)?));
        }
        let mut args = carried(structure, body, count, &given);
        let uniform = matches!(bound, Val::One(_));
        if !uniform {
            args[1..=count].fill(Class::Many);
        }
        let found = classes(body, &args);
        let chains = self.note_chains(body, 1, count);
        // Stacks.
        let types = structure.part_types(f.stack_dim(value));
        let parts = frame.parts_of(value, types.len());
        let mut stacks: Vec<Option<Array>> = Vec::new();
        let mut ways = self.ways(body, (count, 1), cx);
        for (k, ty) in types.iter().enumerate().skip(count) {
            // A carry stands in it, if there can be a row more.
            let carry = ways.iter().position(|way| *way == Way::Rows(k - count));
            let own = parts[k].is_some_and(|part| !frame.dests.contains_key(&part));
            if let Some(carry) = carry.filter(|_| !own || ty.is_unknown()) {
                ways[carry] = Way::Turns;
            }
            let class = found[body.results()[k].index()];
            let many = cx.width > 1 && (class != Class::One || !uniform);
            stacks.push(match parts[k] {
                None => None,
                Some(_) if ty.is_unknown() && uniform && cx.width == 1 => {
                    let grown = self.grown(body.ty(body.results()[k]))?;
                    let Val::One(rows) = &bound else { return Err(internal("a bound in lanes")) };
                    let none = self.op(format_args!("icmp sgt i64 {rows}, 0"));
                    let rows = self.op(format_args!("select i1 {none}, i64 {rows}, i64 0"));
                    self.grow(&grown, &rows);
                    match self.grown_array(&grown, &rows) {
                        Val::Array(array) => Some(array),
                        _ => None,
                    }
                }
                Some(_) if ways.contains(&Way::Rows(k - count)) => {
                    let len = self.known(*ty)?;
                    let row = self.known(body.ty(body.results()[k]))?;
                    let stack = self.allocate(*ty, len + row, false, 1);
                    Some(Array { len, ..stack })
                }
                Some(part) => {
                    let len = self.known(*ty)?;
                    let stack = self.allocate_for(frame, part, (*ty, len), cx, many);
                    if !uniform {
                        // Lanes that are done leave zeros.
                        let zero = if ty.is_float() {
                            super::value::number(0.0, ty.element())
                        } else {
                            "0".into()
                        };
                        self.fill(&stack, &Val::One(zero), &Lanes { mask: None, ..cx.clone() })?;
                    }
                    Some(stack)
                }
            });
        }
        if cx.width == 1 {
            self.views(frame, (body, operands), (&parts, count), &mut ways)?;
        }
        // Memory of rows, as those that write them ask for it.
        let rows: Vec<Option<Array>> = stacks
            .iter()
            .enumerate()
            .map(|(k, stack)| {
                let ty = body.ty(body.results()[count + k]);
                let here = cx.width == 1 && self.is_long(ty) && !ways.contains(&Way::Rows(k));
                let stack = stack.as_ref().filter(|_| here)?;
                Some(self.outside(stack.base.clone(), ty, ty.len()?))
            })
            .collect();
        let (moving, started) = (&operands[1..=count], &args[1..=count]);
        let carries = self.carries(frame, value, moving, started, (&ways, &stacks), cx)?;
        let mut captures = Vec::new();
        for operand in &operands[1 + count..] {
            captures.push(frame.get(*operand)?.clone());
        }
        let ranges = of_body(f, structure, operands, &frame.ranges, body.params().len());
        let end = match &bound {
            Val::One(end) => end.clone(),
            many => {
                let x = self.many(many, Element::I64, cx);
                let (ty, name) = (
                    llvm_type(Element::I64, cx.width),
                    format!("llvm.vector.reduce.smax.v{}i64", cx.width),
                );
                // Lanes that do not count go no round.
                let x = match cx.mask.clone() {
                    None => x,
                    Some(mask) => {
                        let masks = llvm_type(Element::Bool, cx.width);
                        self.op(format_args!(
                            "select {masks} {mask}, {ty} {x}, {ty} zeroinitializer"
                        ))
                    }
                };
                self.call("i64", &name, &[(&ty, &x)])
            }
        };
        if uniform {
            self.note_counts(f, body, operands, count, &end);
        }
        let round = |e: &mut Self, i: &Val| -> Result<()> {
            let mut inner = cx.clone();
            if !uniform {
                let op = Op::Compare(Comparison::Less);
                let integers = [Element::I64, Element::I64];
                let going =
                    e.pointwise(op, &[i.clone(), bound.clone()], &integers, Element::Bool, cx)?;
                let going = e.many(&going, Element::Bool, cx);
                inner.mask = Some(e.masked(&going, cx));
            }
            let mut args = vec![i.clone()];
            args.extend(e.current(&carries, cx, true));
            for val in &captures {
                e.retain(val);
                args.push(val.clone());
            }
            let mut ranges = ranges.clone();
            if let Some(c) = i.known() {
                ranges[0] = Some((c, c));
            }
            let mut wanted = e.wanted(&carries, body, 1);
            for (row, stack) in rows.iter().zip(&stacks) {
                wanted.push(match (row, stack) {
                    (Some(row), Some(stack)) => {
                        let len = Val::int(row.len as i64);
                        let at = e.integral(Integral::Mul, i, &len, Element::I64, &inner);
                        let Val::Array(view) = e.part_of(stack, &at, (row.ty, row.len), &inner)?
                        else {
                            return Err(internal("a row that is no array"));
                        };
                        let base = view.base.clone();
                        e.release(Val::Array(view));
                        Some(Array { base, ..row.clone() })
                    }
                    _ => None,
                });
            }
            let results = e.body_into(body, args, &inner, ranges, &wanted)?;
            let mut results = e.apart(results, &wanted, &inner);
            let stacked = results.split_off(count);
            for (k, (result, stack)) in stacked.into_iter().zip(&stacks).enumerate() {
                let written = match (&result, &wanted[count + k]) {
                    (Val::Array(array), Some(row)) => array.base == row.base,
                    _ => ways.contains(&Way::Rows(k)),
                };
                if let (Some(stack), false) = (stack, written) {
                    let len = if let Val::Array(array) = &result { array.len } else { 1 };
                    let row =
                        e.integral(Integral::Mul, i, &Val::int(len as i64), Element::I64, &inner);
                    if let (Val::Array(array), true) = (&result, cx.width == 1) {
                        let Val::Array(to) = e.part_of(stack, &row, (array.ty, len), &inner)?
                        else {
                            return Err(internal("a row that is no array"));
                        };
                        e.copy(array, &to, &inner);
                        e.release(Val::Array(to));
                        e.release(result);
                        continue;
                    }
                    e.each(len, |e, k| {
                        let at = e.integral(Integral::Add, &row, k, Element::I64, &inner);
                        let x = e.element_of(&result, k, &inner);
                        e.store(stack, &at, &x, &inner);
                        Ok(())
                    })?;
                }
                e.release(result);
            }
            e.next(&carries, results, &inner)
        };
        match end.parse::<i64>() {
            Ok(n)
                if n <= 1
                    || !has_loops(body) && n as usize * body.operations().max(1) <= UNROLLED =>
            {
                for i in 0..n.max(0) {
                    round(self, &Val::int(i))?;
                }
            }
            _ => self.count("0", &end, 1, |e, i| round(e, &Val::One(i.to_string())))?,
        }
        self.forget_counts(body);
        self.forget_chains(&chains);
        let mut parts = self.last(carries, cx);
        parts.extend(stacks.into_iter().map(|s| s.map_or(Val::One("poison".into()), Val::Array)));
        Ok(parts)
    }

    #[allow(clippy::too_many_arguments, reason = "what a loop is made of")]
    pub(super) fn while_loop(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        count: usize,
        condition: &Function,
        body: &Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let f = frame.f;
        let Some(structure) = f.structure(value) else { return Err(internal("no loop")) };
        let types = structure.part_types(cotangent_ir::Dim::Any);
        let parts = frame.parts_of(value, types.len());
        let keeps = parts[count..types.len() - 1].iter().any(Option::is_some);
        if keeps && cx.width > 1 {
            return Err(JitError::Unsupported(
                "a `while` that keeps its rounds, at each point of a kernel".into(),
            ));
        }
        let mut stacks: Vec<Option<Growing>> = Vec::new();
        for (part, result) in parts[count..types.len() - 1].iter().zip(&body.results()[count..]) {
            stacks.push(match part {
                None => None,
                Some(_) => Some(self.grown(body.ty(*result))?),
            });
        }
        let mut given = Vec::with_capacity(operands.len());
        for operand in operands {
            given.push(Class::of(frame.get(*operand)?));
        }
        let mut args = carried(structure, body, count, &given);
        let goes = classes(condition, &args);
        let chains = self.note_chains(body, 0, count);
        let uniform = cx.width == 1 || goes[condition.results()[0].index()] == Class::One;
        if !uniform {
            args[..count].fill(Class::Many);
        }
        let mut ways = match uniform {
            true => self.ways(body, (count, 0), cx),
            false => vec![Way::Still; count],
        };
        // Rows of stacks that grow do not stay where they are.
        ways.iter_mut().filter(|way| **way != Way::Still).for_each(|way| *way = Way::Turns);
        let (moving, started) = (&operands[..count], &args[..count]);
        let carries = self.carries(frame, value, moving, started, (&ways, &[]), cx)?;
        let mut captures = Vec::new();
        for operand in &operands[count..] {
            captures.push(frame.get(*operand)?.clone());
        }
        let ranges = of_body(f, structure, operands, &frame.ranges, body.params().len());
        let rounds = Carry::Slot { place: String::new(), element: Element::I64, many: !uniform };
        let rounds = self.started(rounds, &Val::int(0), cx);
        let (total, limit) = (self.slot("i64"), self.slot("i64"));
        self.line(format_args!("store i64 0, ptr {total}"));
        self.line(format_args!("store i64 0, ptr {limit}"));
        let active = self.slot(&llvm_type(Element::Bool, cx.width));
        let masks = llvm_type(Element::Bool, cx.width);
        if !uniform {
            let all =
                cx.mask.clone().unwrap_or_else(|| super::value::splat("true", "i1", cx.width));
            self.line(format_args!("store {masks} {all}, ptr {active}"));
        }
        let n = self.fresh("");
        self.line(format_args!("br label %w{n}"));
        self.label(&format!("w{n}"));
        let mut inner = cx.clone();
        if !uniform {
            inner.mask = Some(self.op(format_args!("load {masks}, ptr {active}")));
        }
        let mut args = self.current(&carries, cx, false);
        for val in &captures {
            self.retain(val);
            args.push(val.clone());
        }
        let truth = self.body(condition, args, &inner, ranges.clone(), &[])?.remove(0);
        let goes = match uniform {
            true => match truth {
                Val::One(goes) => goes,
                _ => return Err(internal("a condition that differs from lane to lane")),
            },
            false => {
                let truth = self.many(&truth, Element::Bool, &inner);
                let still = self.masked(&truth, &inner);
                self.line(format_args!("store {masks} {still}, ptr {active}"));
                inner.mask = Some(still.clone());
                self.any(&still, &inner)
            }
        };
        self.line(format_args!("br i1 {goes}, label %d{n}, label %z{n}"));
        self.label(&format!("d{n}"));
        let before = self.op(format_args!("load i64, ptr {total}"));
        let after = self.op(format_args!("add i64 {before}, 1"));
        self.line(format_args!("store i64 {after}, ptr {total}"));
        let endless = Failure::Endless { function: f.name().to_string() };
        if keeps {
            let growing: Vec<&Growing> = stacks.iter().flatten().collect();
            self.grow_all(&growing, &limit, (&before, &after), endless)?;
        } else {
            let ends = Val::One(self.op(format_args!("icmp slt i64 {before}, {ROUNDS}")));
            self.require(&ends, true, endless, &Lanes::none());
        }
        let counted = self.current(std::slice::from_ref(&rounds), cx, false).remove(0);
        let counted = self.integral(Integral::Add, &counted, &Val::int(1), Element::I64, cx);
        self.next(std::slice::from_ref(&rounds), vec![counted], &inner)?;
        let mut args = self.current(&carries, cx, true);
        for val in &captures {
            self.retain(val);
            args.push(val.clone());
        }
        let wanted = self.wanted(&carries, body, 0);
        let results = self.body_into(body, args, &inner, ranges, &wanted)?;
        let mut results = self.apart(results, &wanted, &inner);
        for (stacked, stack) in results.split_off(count).into_iter().zip(&stacks) {
            if let Some(stack) = stack {
                self.stack(stack, &before, &stacked, cx)?;
            }
            self.release(stacked);
        }
        self.next(&carries, results, &inner)?;
        self.line(format_args!("br label %w{n}"));
        self.label(&format!("z{n}"));
        self.forget_chains(&chains);
        let mut out = self.last(carries, cx);
        let rows = match keeps {
            true => self.op(format_args!("load i64, ptr {total}")),
            false => String::new(),
        };
        out.extend(
            stacks
                .into_iter()
                .map(|s| s.map_or(Val::One("poison".into()), |s| self.grown_array(&s, &rows))),
        );
        // As many rounds as rows.
        out.extend(match keeps {
            true => vec![Val::One(rows)],
            false => self.last(vec![rounds], cx),
        });
        Ok(out)
    }

    pub(super) fn branch(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        yes: &Function,
        no: &Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let f = frame.f;
        let Some(structure) = f.structure(value) else { return Err(internal("no branch")) };
        let condition = frame.get(operands[0])?.clone();
        let mut captures = Vec::new();
        for operand in &operands[1..] {
            captures.push(frame.get(*operand)?.clone());
        }
        let given: Vec<Class> =
            std::iter::once(Class::of(&condition)).chain(captures.iter().map(Class::of)).collect();
        let args = body_args(structure, &given, yes.params().len());
        let (a, b) = (classes(yes, &args), classes(no, &args));
        let uniform = matches!(condition, Val::One(_));
        // Where results go.
        let mut outs: Vec<Option<Carry>> = Vec::new();
        let parts = frame.parts_of(value, yes.results().len());
        for (k, (x, y)) in yes.results().iter().zip(no.results()).enumerate() {
            let class = a[x.index()].join(b[y.index()]);
            let many = cx.width > 1 && (class != Class::One || !uniform);
            let ty: Type = yes.ty(*x);
            outs.push(match ty.is_scalar() {
                true => {
                    let element = ty.element();
                    let width = if many { cx.width } else { 1 };
                    let place = self.slot(&llvm_type(element, width));
                    Some(Carry::Slot { place, element, many })
                }
                false => match parts[k] {
                    None => None,
                    Some(part) => {
                        let len = self.known(ty)?;
                        Some(Carry::Memory(self.allocate_for(frame, part, (ty, len), cx, many)))
                    }
                },
            });
        }
        let ranges = of_body(f, structure, operands, &frame.ranges, yes.params().len());
        let mut handed: Vec<Option<Val>> = vec![None; outs.len()];
        let mut side = |e: &mut Self, body: &Function, cx: &Lanes| -> Result<()> {
            for val in &captures {
                e.retain(val);
            }
            let results = e.body(body, captures.clone(), cx, ranges.clone(), &[])?;
            for (k, result) in results.into_iter().enumerate() {
                match (&result, &outs[k]) {
                    (Val::Target(_), _) => handed[k] = Some(result.clone()),
                    (Val::Array(array), Some(Carry::Memory(out))) => e.copy(array, out, cx),
                    (_, Some(Carry::Slot { place, element, many })) => {
                        let lanes = Lanes { width: if *many { cx.width } else { 1 }, mask: None };
                        let ty = llvm_type(*element, lanes.width);
                        let mut x = e.many(&result, *element, &lanes);
                        // Of lanes that went the other way, what they got there.
                        if !uniform && let Some(mask) = cx.mask.clone() {
                            let before = e.op(format_args!("load {ty}, ptr {place}"));
                            let masks = llvm_type(Element::Bool, cx.width);
                            x = e
                                .op(format_args!("select {masks} {mask}, {ty} {x}, {ty} {before}"));
                        }
                        e.line(format_args!("store {ty} {x}, ptr {place}"));
                    }
                    _ => {}
                }
                e.release(result);
            }
            Ok(())
        };
        if let Val::One(c) = &condition {
            let n = self.fresh("");
            self.line(format_args!("br i1 {c}, label %t{n}, label %f{n}"));
            self.label(&format!("t{n}"));
            side(self, yes, cx)?;
            self.line(format_args!("br label %e{n}"));
            self.label(&format!("f{n}"));
            side(self, no, cx)?;
            self.line(format_args!("br label %e{n}"));
            self.label(&format!("e{n}"));
        } else {
            let c = self.many(&condition, Element::Bool, cx);
            let (masks, all) =
                (llvm_type(Element::Bool, cx.width), super::value::splat("true", "i1", cx.width));
            let other = self.op(format_args!("xor {masks} {c}, {all}"));
            for (mask, body) in [(c, yes), (other, no)] {
                let mask = self.masked(&mask, cx);
                let inner = Lanes { mask: Some(mask.clone()), ..cx.clone() };
                let any = self.any(&mask, cx);
                self.when(&any, |e| side(e, body, &inner))?;
            }
        }
        let mut parts = Vec::with_capacity(outs.len());
        for (out, target) in outs.into_iter().zip(handed) {
            parts.push(match (target, out) {
                (Some(target), out) => {
                    if let Some(Carry::Memory(array)) = out {
                        self.release(Val::Array(array));
                    }
                    self.retain(&target);
                    target
                }
                (None, Some(Carry::Memory(array))) => Val::Array(array),
                (None, Some(slot)) => self.current(&[slot], cx, false).remove(0),
                (None, None) => Val::One("poison".into()),
            });
        }
        Ok(parts)
    }
}

/// Whether there is a loop in a body.
fn has_loops(body: &Function) -> bool {
    body.values().filter_map(|v| body.structure(v)).any(|structure| match structure {
        Structure::For { .. } | Structure::While { .. } => true,
        other => other.bodies().any(|inner| has_loops(inner)),
    })
}
