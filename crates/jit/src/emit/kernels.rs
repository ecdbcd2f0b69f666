//! Kernels: the body at every point of a domain, several points at a time.

use cotangent_ir::ranges::{Range, of_body};
use cotangent_ir::{Dim, Element, Function, Integral, Op, Reducer, Structure, Type, Value};
use cotangent_ops::{Comparison, Opcode};

use super::classify::{Class, body_args, classes};
use super::value::{Array, Val, number, scalar_type, splat};
use super::{Emitter, Failure, Frame, Lanes, Result, internal, llvm_type};
use crate::JitError;

/// A kernel made ready.
pub(super) struct Kernel<'k> {
    pub(super) sizes: Vec<usize>,
    pub(super) body: &'k Function,
    pub(super) ranges: Vec<Range>,
    /// The dimension whose points are the lanes, and how many of them.
    pub(super) lane: Option<(usize, usize)>,
    /// How many vectors a round takes.
    pub(super) copies: usize,
}

impl Kernel<'_> {
    pub(super) fn points(&self) -> usize {
        self.sizes.iter().product()
    }
}

/// What is written for a point (or for the points of some lanes), given its indices.
pub(super) type AtPoint<'o, 'b> = dyn FnMut(&mut Emitter<'o>, &[Val], &Lanes) -> Result<()> + 'b;

/// The most operations that a loop is written out to.
const UNROLLED: usize = 96;

impl<'o> Emitter<'o> {
    pub(super) fn kernel<'k>(
        &self,
        frame: &Frame<'_>,
        value: Value,
        dims: &[Dim],
        body: &'k Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Kernel<'k>> {
        let mut sizes = Vec::with_capacity(dims.len());
        for dim in dims {
            match dim {
                Dim::Size(n) => sizes.push(*n),
                other => {
                    return Err(JitError::Unsupported(format!("a domain of unknown size {other}")));
                }
            }
        }
        let points = sizes.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
        if points.is_none_or(|points| points >= 1 << 40) {
            return Err(JitError::Unsupported(format!("a domain of {sizes:?} points")));
        }
        let Some(structure) = frame.f.structure(value) else { return Err(internal("no kernel")) };
        let ranges = of_body(frame.f, structure, operands, &frame.ranges, body.params().len());
        let mut kernel = Kernel { sizes, body, ranges, lane: None, copies: 1 };
        if cx.width == 1 {
            kernel.lane = self.choose(&kernel, structure);
        }
        Ok(kernel)
    }

    /// The dimension whose points become lanes, by what the loads then are.
    fn choose(&self, kernel: &Kernel<'_>, structure: &Structure) -> Option<(usize, usize)> {
        if self.options.scalar || kernel.points() < 2 || has_order(kernel.body) {
            return None;
        }
        let width = self.lanes_of(kernel.body);
        if width < 2 {
            return None;
        }
        let captures = vec![Class::One; kernel.body.params().len()];
        let mut best: Option<(f64, Option<(usize, usize)>)> = None;
        let mut consider = |cost: f64, choice| {
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, choice));
            }
        };
        let points = kernel.points() as f64;
        for (k, size) in kernel.sizes.iter().enumerate().rev() {
            if *size < 2 {
                continue;
            }
            let mut args = body_args(structure, &captures, kernel.body.params().len());
            args[k] = Class::Step(1);
            let strided = match structure {
                // Results that do not lie side by side.
                Structure::Tab { .. } if k + 1 < kernel.sizes.len() => width as f64,
                _ => 1.0,
            };
            let steps = (*size as f64 / width as f64).ceil() / *size as f64;
            let cost = self.body_cost(kernel.body, &args, width, false) + strided;
            consider(cost * points * steps, Some((k, width)));
        }
        // Or lanes within the body, if there are kernels in it.
        let args = vec![Class::One; kernel.body.params().len()];
        if kernel.body.values().any(|v| is_kernel(kernel.body, v)) {
            consider(self.body_cost(kernel.body, &args, width, true) * points, None);
        }
        best.and_then(|(_, choice)| choice)
    }

    /// What a body takes, about, in instructions. With `inner`, kernels in it have lanes of their own.
    fn body_cost(&self, body: &Function, args: &[Class], width: usize, inner: bool) -> f64 {
        let found = classes(body, args);
        let mut cost = 0.0;
        for value in body.values() {
            let operands: Vec<Value> = body.operands(value).collect();
            let class = |v: Value| found[v.index()];
            match body.op(value) {
                op if op.is_leaf() => {}
                Op::Part(_) | Op::Table(_) | Op::Extent(_) => {}
                Op::Load | Op::Put | Op::PutAdd => {
                    let from = if body.op(value) == Op::Load { 1 } else { 2 };
                    let last = operands.len() - 1;
                    let outer =
                        operands[from..last.max(from)].iter().all(|v| class(*v) == Class::One);
                    let len = body.ty(value).len().unwrap_or(1).min(16) as f64;
                    let near = operands.len() > from
                        && (class(operands[last]) == Class::Step(1)
                            && operands.len() - from == body.ty(operands[0]).dims().len());
                    let same = operands[from..].iter().all(|v| class(*v) == Class::One);
                    cost += match () {
                        () if same => 1.0,
                        () if outer && near => 1.5,
                        () => width as f64 * if body.ty(value).is_scalar() { 1.0 } else { len },
                    };
                }
                Op::Elementary(code, _) => {
                    let heavy = !matches!(
                        code,
                        Opcode::Add
                            | Opcode::Sub
                            | Opcode::Mul
                            | Opcode::Neg
                            | Opcode::Abs
                            | Opcode::Max
                            | Opcode::Min
                            | Opcode::StrongMul
                            | Opcode::MulAdd
                    );
                    let len = body.ty(value).len().unwrap_or(1) as f64;
                    cost += len * if heavy { 12.0 } else { 1.0 };
                }
                Op::Structure(_) => {
                    let Some(structure) = body.structure(value) else { continue };
                    let given: Vec<Class> = operands.iter().map(|v| class(*v)).collect();
                    let rounds: f64 = match structure {
                        Structure::For { .. } => match body.stack_dim(value) {
                            Dim::Size(n) => n as f64,
                            _ => 10.0,
                        },
                        Structure::While { .. } => 10.0,
                        _ => structure
                            .domain()
                            .iter()
                            .map(|d| if let Dim::Size(n) = d { *n as f64 } else { 10.0 })
                            .product(),
                    };
                    for inside in structure.bodies() {
                        let mut args = body_args(structure, &given, inside.params().len());
                        let mut once = self.body_cost(inside, &args, width, inner);
                        let last = structure.domain().len().wrapping_sub(1);
                        if inner && is_kernel(body, value) && rounds >= width as f64 / 2.0 {
                            args[last] = Class::Step(1);
                            let lanes = self.body_cost(inside, &args, width, false);
                            once = once.min((lanes + 8.0 / rounds * width as f64) / width as f64);
                        }
                        cost += rounds * once + 2.0;
                    }
                }
                _ => cost += body.ty(value).len().unwrap_or(1) as f64,
            }
        }
        cost
    }

    /// How many lanes fit what a body computes with.
    fn lanes_of(&self, body: &Function) -> usize {
        fn widest(f: &Function) -> usize {
            let own = f.values().filter(|v| {
                let op = f.op(*v);
                !op.is_constant() && f.ty(*v) != Type::PARTS && f.ty(*v).is_float()
            });
            let own = own.map(|v| f.ty(v).element().bytes()).max().unwrap_or(4);
            let inner = f.values().filter_map(|v| f.structure(v)).flat_map(Structure::bodies);
            inner.map(|body| widest(body)).fold(own, usize::max)
        }
        self.vector_bytes / widest(body)
    }

    /// Writes a body for all points of a domain. It may be written several times: for whole vectors and for the rest.
    pub(super) fn nest(
        &mut self,
        kernel: &Kernel<'_>,
        cx: &Lanes,
        body: &mut AtPoint<'o, '_>,
    ) -> Result<()> {
        let mut indices = vec![Val::int(0); kernel.sizes.len()];
        let mut order: Vec<usize> = (0..kernel.sizes.len()).collect();
        if let Some((lane, _)) = kernel.lane {
            order.retain(|k| *k != lane);
        }
        if kernel.points() == 0 {
            return Ok(());
        }
        let written = kernel.body.operations().max(1);
        self.levels(kernel, &order, written, &mut indices, cx, body)
    }

    fn levels(
        &mut self,
        kernel: &Kernel<'_>,
        order: &[usize],
        written: usize,
        indices: &mut Vec<Val>,
        cx: &Lanes,
        body: &mut AtPoint<'o, '_>,
    ) -> Result<()> {
        let Some((first, rest)) = order.split_first() else {
            let Some((lane, width)) = kernel.lane else { return body(self, indices, cx) };
            let size = kernel.sizes[lane];
            let none = Lanes::none();
            return self.side_by_side_in(kernel.copies, size, width, &none, |e, index, cx| {
                indices[lane] = index.clone();
                body(e, indices, cx)
            });
        };
        let size = kernel.sizes[*first];
        if size == 1 || size * written <= UNROLLED {
            for i in 0..size {
                indices[*first] = Val::int(i as i64);
                self.levels(kernel, rest, written * size, indices, cx, body)?;
            }
            return Ok(());
        }
        self.count("0", &size.to_string(), 1, |e, i| {
            indices[*first] = Val::One(i.to_string());
            e.levels(kernel, rest, written, indices, cx, body)
        })
    }

    /// The results of a body at a point.
    pub(super) fn at_point(
        &mut self,
        kernel: &Kernel<'_>,
        indices: &[Val],
        captures: &[Val],
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let mut args = indices.to_vec();
        for val in captures {
            self.retain(val);
            args.push(val.clone());
        }
        let mut ranges = kernel.ranges.clone();
        for (range, index) in ranges.iter_mut().zip(indices) {
            if let Some(c) = index.known() {
                *range = Some((c, c));
            }
        }
        self.body(kernel.body, args, cx, ranges, &[])
    }

    /// The number of a point of the domain.
    fn point(&mut self, kernel: &Kernel<'_>, indices: &[Val], cx: &Lanes) -> Val {
        let mut place = Val::int(0);
        for (index, size) in indices.iter().zip(&kernel.sizes) {
            place = self.integral(Integral::Mul, &place, &Val::int(*size as i64), Element::I64, cx);
            place = self.integral(Integral::Add, &place, index, Element::I64, cx);
        }
        place
    }

    fn captured(&self, frame: &Frame<'_>, operands: &[Value]) -> Result<Vec<Val>> {
        operands.iter().map(|v| frame.get(*v).cloned()).collect()
    }

    /// The classes of the results of a body in the lanes around it.
    fn result_classes(
        &self,
        frame: &Frame<'_>,
        value: Value,
        body: &Function,
        captures: &[Val],
    ) -> Vec<Class> {
        let given: Vec<Class> = captures.iter().map(Class::of).collect();
        let Some(structure) = frame.f.structure(value) else { return Vec::new() };
        let args = body_args(structure, &given, body.params().len());
        let found = classes(body, &args);
        body.results().iter().map(|v| found[v.index()].join(Class::One)).collect()
    }

    pub(super) fn tab(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        dims: &[Dim],
        body: &Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let kernel = self.kernel(frame, value, dims, body, operands, cx)?;
        let captures = self.captured(frame, operands)?;
        if dims.is_empty() {
            // One point: what the body gives.
            return self.at_point(&kernel, &[], &captures, cx);
        }
        let classes = self.result_classes(frame, value, body, &captures);
        let parts = frame.parts_of(value, body.results().len());
        let mut outs: Vec<Option<Array>> = Vec::new();
        for ((result, part), class) in body.results().iter().zip(&parts).zip(&classes) {
            let ty = body.ty(*result).within(dims);
            let len = self.known(ty)?;
            let varies = cx.width > 1 && *class != Class::One;
            outs.push(part.map(|part| self.allocate_for(frame, part, (ty, len), cx, varies)));
        }
        self.nest(&kernel, cx, &mut |e, indices, cx| {
            let results = e.at_point(&kernel, indices, &captures, cx)?;
            let point = e.point(&kernel, indices, cx);
            for (result, out) in results.iter().zip(&outs) {
                let Some(out) = out else { continue };
                match result {
                    Val::Array(array) => {
                        let row = Val::int(array.len as i64);
                        let row = e.integral(Integral::Mul, &point, &row, Element::I64, cx);
                        e.each(array.len, |e, k| {
                            let x = e.load(array, k, cx);
                            let at = e.integral(Integral::Add, &row, k, Element::I64, cx);
                            e.store(out, &at, &x, cx);
                            Ok(())
                        })?;
                    }
                    Val::Target(_) => return Err(internal("a target in a table")),
                    x => e.store(out, &point, x, cx),
                }
            }
            results.into_iter().for_each(|val| e.release(val));
            Ok(())
        })?;
        Ok(outs.into_iter().map(|out| out.map_or(Val::One("poison".into()), Val::Array)).collect())
    }

    #[allow(clippy::too_many_arguments, reason = "what a kernel is made of")]
    pub(super) fn red(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        dims: &[Dim],
        reducer: Reducer,
        body: &Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let mut kernel = self.kernel(frame, value, dims, body, operands, cx)?;
        let captures = self.captured(frame, operands)?;
        let ty = body.ty(body.results()[0]);
        let element = ty.element();
        if matches!(reducer, Reducer::ArgMax | Reducer::ArgMin) {
            kernel.lane = None;
            return self.red_place(frame, &kernel, reducer, element, &captures, value, cx);
        }
        let class = self.result_classes(frame, value, body, &captures)[0];
        if !ty.is_scalar() {
            return self.red_arrays(frame, value, &kernel, reducer, ty, &captures, class, cx);
        }
        if kernel.points() == 0 {
            return Ok(vec![Val::One(nothing(reducer, element))]);
        }
        let width = match kernel.lane {
            Some((_, width)) => width,
            None if class == Class::One => 1,
            None => cx.width,
        };
        if let Some((lane, width)) = kernel.lane {
            // A sum waits four cycles for the last one; what takes longer anyway does not notice (Ackley with two
            // vectors a round: 1.3 times as long).
            let most = match body.operations() {
                ..=12 if is_light(body) => 4,
                ..=40 if is_light(body) => 2,
                _ => 1,
            };
            kernel.copies = most.min((kernel.sizes[lane] / width).max(1));
        }
        let one = neutral(reducer, element);
        let slot_type = llvm_type(element, width);
        let start = splat(&one, scalar_type(element), width);
        let mut places = Vec::with_capacity(kernel.copies);
        for _ in 0..kernel.copies {
            let place = self.slot(&slot_type);
            self.line(format_args!("store {slot_type} {start}, ptr {place}"));
            places.push(place);
        }
        let neutral_val = Val::One(one);
        self.nest(&kernel, cx, &mut |e, indices, cx| {
            // Kernels inside count for themselves.
            let copy = std::mem::replace(&mut e.copy, 0);
            let results = e.at_point(&kernel, indices, &captures, cx)?;
            let inner = Lanes { width, mask: None };
            let mut x = results[0].clone();
            // Lanes of the rest that do not count. Where lanes are around, all go on.
            if kernel.lane.is_some()
                && let Some(mask) = cx.mask.clone()
            {
                let select = [Val::Many(mask), x, neutral_val.clone()];
                x = e.pointwise(
                    Op::Select,
                    &select,
                    &[Element::Bool, element, element],
                    element,
                    cx,
                )?;
            }
            let place = &places[copy];
            let before = e.op(format_args!("load {slot_type}, ptr {place}"));
            let before = if width == 1 { Val::One(before) } else { Val::Many(before) };
            let after = e.reduce(reducer, &before, &x, element, &inner)?;
            let after = e.many(&after, element, &inner);
            e.line(format_args!("store {slot_type} {after}, ptr {place}"));
            Ok(())
        })?;
        // Neighbours first, whatever the data.
        let lanes = Lanes { width, mask: None };
        let mut sums = Vec::with_capacity(places.len());
        for place in &places {
            let sum = self.op(format_args!("load {slot_type}, ptr {place}"));
            sums.push(if width == 1 { Val::One(sum) } else { Val::Many(sum) });
        }
        while sums.len() > 1 {
            let mut next = Vec::with_capacity(sums.len() / 2 + 1);
            for pair in sums.chunks(2) {
                next.push(match pair {
                    [a, b] => self.reduce(reducer, a, b, element, &lanes)?,
                    _ => pair[0].clone(),
                });
            }
            sums = next;
        }
        let all = self.many(&sums[0], element, &lanes);
        if kernel.lane.is_none() {
            return Ok(vec![if width == 1 { Val::One(all) } else { Val::Many(all) }]);
        }
        Ok(vec![Val::One(self.across(reducer, all, element, width)?)])
    }

    /// A vector put together to one number: halves with halves, in the same order whatever the data.
    pub(super) fn across(
        &mut self,
        reducer: Reducer,
        mut all: String,
        element: Element,
        mut width: usize,
    ) -> Result<String> {
        while width > 1 {
            let half = width / 2;
            let ty = llvm_type(element, width);
            let pick = |from: usize| -> String {
                let all: Vec<String> = (from..from + half).map(|k| format!("i32 {k}")).collect();
                all.join(", ")
            };
            let (low, high) = (pick(0), pick(half));
            let mut parts = Vec::new();
            for lanes in [low, high] {
                let x = self.op(format_args!(
                    "shufflevector {ty} {all}, {ty} poison, <{half} x i32> <{lanes}>"
                ));
                parts.push(match half {
                    1 => {
                        let one = llvm_type(element, 1);
                        Val::One(self.op(format_args!("extractelement <1 x {one}> {x}, i64 0")))
                    }
                    _ => Val::Many(x),
                });
            }
            let cx = Lanes { width: half, mask: None };
            let both = self.reduce(reducer, &parts[0], &parts[1], element, &cx)?;
            all = self.many(&both, element, &cx);
            width = half;
        }
        Ok(all)
    }

    fn reduce(
        &mut self,
        reducer: Reducer,
        x: &Val,
        y: &Val,
        element: Element,
        cx: &Lanes,
    ) -> Result<Val> {
        if element.is_integer() {
            let integral = match reducer {
                Reducer::Product => Integral::Mul,
                Reducer::Max => Integral::Max,
                Reducer::Min => Integral::Min,
                _ => Integral::Add,
            };
            return Ok(self.integral(integral, x, y, element, cx));
        }
        let code = match reducer {
            Reducer::Product => Opcode::Mul,
            Reducer::Max => Opcode::Max,
            Reducer::Min => Opcode::Min,
            _ => Opcode::Add,
        };
        let op = Op::Elementary(code, 0);
        self.pointwise(op, &[x.clone(), y.clone()], &[element, element], element, cx)
    }

    /// Where the largest or smallest is: one point after the other.
    #[allow(clippy::too_many_arguments, reason = "what a kernel is made of")]
    fn red_place(
        &mut self,
        frame: &Frame<'_>,
        kernel: &Kernel<'_>,
        reducer: Reducer,
        element: Element,
        captures: &[Val],
        value: Value,
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        if kernel.points() == 0 {
            let what = format!("`red {}` of no point", reducer.name());
            let failure = Failure::Other { function: frame.f.name().to_string(), what };
            self.require(&Val::One("false".into()), true, failure, cx);
            return Ok(vec![Val::int(0)]);
        }
        let class = self.result_classes(frame, value, kernel.body, captures)[0];
        let width = if class == Class::One { 1 } else { cx.width };
        let (ty, it) = (llvm_type(element, width), llvm_type(Element::I64, width));
        let (best, place) = (self.slot(&ty), self.slot(&it));
        let zero = if element.is_float() { number(0.0, element) } else { "0".to_string() };
        let zero = splat(&zero, scalar_type(element), width);
        let none = splat("0", "i64", width);
        self.line(format_args!("store {ty} {zero}, ptr {best}"));
        self.line(format_args!("store {it} {none}, ptr {place}"));
        let comparison =
            if reducer == Reducer::ArgMax { Comparison::Greater } else { Comparison::Less };
        self.nest(kernel, cx, &mut |e, indices, cx| {
            let results = e.at_point(kernel, indices, captures, cx)?;
            let point = e.point(kernel, indices, cx);
            let inner = Lanes { width, mask: None };
            let one = |text: String| if width == 1 { Val::One(text) } else { Val::Many(text) };
            let x = results[0].clone();
            let before = one(e.op(format_args!("load {ty}, ptr {best}")));
            let at = one(e.op(format_args!("load {it}, ptr {place}")));
            let op = Op::Compare(comparison);
            let better = e.pointwise(
                op,
                &[x.clone(), before.clone()],
                &[element, element],
                Element::Bool,
                &inner,
            )?;
            // The first is taken as it is.
            let equal = Op::Compare(Comparison::Equal);
            let integers = [Element::I64, Element::I64];
            let first = match point.known() {
                Some(c) => Val::One((c == 0).to_string()),
                None => e.pointwise(
                    equal,
                    &[point.clone(), Val::int(0)],
                    &integers,
                    Element::Bool,
                    &inner,
                )?,
            };
            let takes = e.pointwise(
                Op::Or,
                &[better, first],
                &[Element::Bool, Element::Bool],
                Element::Bool,
                &inner,
            )?;
            let from = [Element::Bool, element, element];
            let after =
                e.pointwise(Op::Select, &[takes.clone(), x, before], &from, element, &inner)?;
            let from = [Element::Bool, Element::I64, Element::I64];
            let where_ =
                e.pointwise(Op::Select, &[takes, point, at], &from, Element::I64, &inner)?;
            let (after, where_) =
                (e.many(&after, element, &inner), e.many(&where_, Element::I64, &inner));
            e.line(format_args!("store {ty} {after}, ptr {best}"));
            e.line(format_args!("store {it} {where_}, ptr {place}"));
            Ok(())
        })?;
        let at = self.op(format_args!("load {it}, ptr {place}"));
        Ok(vec![if width == 1 { Val::One(at) } else { Val::Many(at) }])
    }

    /// Arrays put together element by element.
    #[allow(clippy::too_many_arguments, reason = "what a kernel is made of")]
    fn red_arrays(
        &mut self,
        frame: &Frame<'_>,
        value: Value,
        kernel: &Kernel<'_>,
        reducer: Reducer,
        ty: Type,
        captures: &[Val],
        class: Class,
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let (len, element) = (self.known(ty)?, ty.element());
        let part = frame.parts_of(value, 1)[0];
        let varies = cx.width > 1 && class != Class::One;
        let out = match part {
            Some(part) => self.allocate_for(frame, part, (ty, len), cx, varies),
            None => self.allocate(ty, len, varies, cx.width),
        };
        let start = match kernel.points() {
            0 => nothing(reducer, element),
            _ => neutral(reducer, element),
        };
        let open = Lanes { mask: None, ..cx.clone() };
        let sums = match kernel.lane {
            Some((_, width)) => self.allocate(ty, len, true, width),
            None => out.clone(),
        };
        let inner = match kernel.lane {
            Some((_, width)) => Lanes { width, mask: None },
            None => open,
        };
        self.fill(&sums, &Val::One(start), &inner)?;
        self.nest(kernel, cx, &mut |e, indices, cx| {
            let results = e.at_point(kernel, indices, captures, cx)?;
            let Val::Array(array) = results[0].clone() else {
                return Err(internal("a sum of no arrays"));
            };
            let step = if kernel.lane.is_some() { cx.clone() } else { inner.clone() };
            e.each(len, |e, k| {
                let before = e.load(&sums, k, &Lanes { mask: None, ..step.clone() });
                let x = e.load(&array, k, &step);
                let after = e.reduce(reducer, &before, &x, element, &step)?;
                e.store(&sums, k, &after, &step);
                Ok(())
            })?;
            results.into_iter().for_each(|val| e.release(val));
            Ok(())
        })?;
        if let Some((_, width)) = kernel.lane {
            self.gathered(&sums, &out, reducer, width, None)?;
            self.release(Val::Array(sums));
        }
        Ok(vec![Val::Array(out)])
    }

    /// What each lane has, put together into an array that all share; with what is there already, if it is to be.
    pub(super) fn gathered(
        &mut self,
        own: &Array,
        out: &Array,
        reducer: Reducer,
        width: usize,
        onto: Option<&Array>,
    ) -> Result<()> {
        let element = own.element();
        let lanes = Lanes { width, mask: None };
        let none = Lanes::none();
        self.each(own.len, |e, k| {
            let Val::Many(all) = e.load(own, k, &lanes) else { return Err(internal("no lanes")) };
            let mut x = Val::One(e.across(reducer, all, element, width)?);
            if let Some(onto) = onto {
                let before = e.load(onto, k, &none);
                x = e.reduce(reducer, &before, &x, element, &none)?;
            }
            e.store(out, k, &x, &none);
            Ok(())
        })
    }
}

impl Frame<'_> {
    /// The values that are parts of a structure, as far as they are used.
    pub(super) fn parts_of(&self, whole: Value, count: usize) -> Vec<Option<Value>> {
        let mut found = self.all_parts.get(&whole).cloned().unwrap_or_default();
        found.resize(count, None);
        found
    }
}

fn is_kernel(f: &Function, value: Value) -> bool {
    matches!(
        f.structure(value),
        Some(Structure::Tab { .. } | Structure::Red { .. } | Structure::Acc { .. })
    )
}

/// Whether a body is arithmetic of scalars alone.
pub(super) fn is_light(body: &Function) -> bool {
    let light = |v: Value| match body.op(v) {
        Op::Elementary(code, _) => {
            body.ty(v).is_scalar()
                && matches!(
                    code,
                    Opcode::Add
                        | Opcode::Sub
                        | Opcode::Mul
                        | Opcode::Neg
                        | Opcode::Abs
                        | Opcode::StrongMul
                        | Opcode::MulAdd
                        | Opcode::Max
                        | Opcode::Min
                        | Opcode::Powi
                )
        }
        Op::Structure(_) => false,
        _ => true,
    };
    body.values().all(light)
}

/// Whether something in a body is done for one point at a time only.
fn has_order(f: &Function) -> bool {
    f.values().any(|v| {
        f.op(v) == Op::Argsort
            || f.structure(v).is_some_and(|s| s.bodies().any(|body| has_order(body)))
    })
}

/// What changes nothing: a negative zero, since a sum of one number is that number to the bit.
pub(super) fn neutral(reducer: Reducer, element: Element) -> String {
    match (element.is_float(), reducer) {
        (true, Reducer::Sum) => number(-0.0, element),
        (true, Reducer::Product) => number(1.0, element),
        // The other of a NaN is taken.
        (true, _) => number(f64::NAN, element),
        (false, Reducer::Product) => "1".to_string(),
        (false, Reducer::Max | Reducer::Min) => nothing(reducer, element),
        (false, _) => "0".to_string(),
    }
}

/// What comes of no point at all.
fn nothing(reducer: Reducer, element: Element) -> String {
    let (lowest, highest) = match element {
        Element::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    match (element.is_float(), reducer) {
        (true, Reducer::Sum) => number(0.0, element),
        (true, Reducer::Product) => number(1.0, element),
        (true, Reducer::Max | Reducer::ArgMax) => number(f64::NEG_INFINITY, element),
        (true, _) => number(f64::INFINITY, element),
        (false, Reducer::Product) => "1".to_string(),
        (false, Reducer::Max) => lowest.to_string(),
        (false, Reducer::Min) => highest.to_string(),
        (false, _) => "0".to_string(),
    }
}
