//! Reductions: the results of a body at all points put together.

use cotangent_ir::{Dim, Element, Function, Integral, Op, Reducer, Type, Value};
use cotangent_ops::{Comparison, Opcode};

use super::classify::Class;
use super::kernels::{Kernel, UNROLLED, is_light};
use super::value::{Array, Val, number, scalar_type, splat};
use super::{Emitter, Failure, Frame, Lanes, Result, internal, llvm_type};

/// So many numbers are worth a second loop beside the one that finds the largest.
const LONG: usize = 64;

/// What is added up, in vectors of which width, by how many of them, and whether they take even and odd places.
#[derive(Clone, Copy)]
struct Sums {
    reducer: Reducer,
    element: Element,
    width: usize,
    split: bool,
    copies: usize,
}

impl Emitter<'_> {
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
            (kernel.lane, kernel.inside) = (None, None);
            return self.red_place(frame, &kernel, reducer, element, &captures, value, cx);
        }
        let class = self.result_classes(frame, value, body, &captures)[0];
        if !ty.is_scalar() {
            return self.red_arrays(frame, value, &kernel, reducer, ty, &captures, class, cx);
        }
        self.red_rows(&mut kernel, reducer, &[captures], class, cx)
    }

    /// Reductions to numbers of one body with what it takes from outside at several points: in one loop, so that what is the same
    /// for all is there once. One number for each.
    pub(super) fn red_rows(
        &mut self,
        kernel: &mut Kernel<'_>,
        reducer: Reducer,
        rows: &[Vec<Val>],
        class: Class,
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let body = kernel.body;
        let element = body.ty(body.results()[0]).element();
        if kernel.points() == 0 {
            return Ok(vec![Val::One(nothing(reducer, element)); rows.len()]);
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
        kernel.captures = rows.to_vec();
        let split = self.splits(kernel, reducer, cx);
        let sums = Sums {
            reducer,
            element,
            width,
            split,
            copies: kernel.copies.max(1 + usize::from(split)),
        };
        // (Bodies with kernels of their own are long already, and would be written twice at each level.)
        let plain = body.values().all(|v| body.structure(v).is_none());
        let extreme = matches!(reducer, Reducer::Max | Reducer::Min) && element.is_float();
        if !(extreme && plain) || kernel.points() < LONG {
            return self.together(kernel, rows, &sums, None, cx);
        }
        // From the end of all numbers on, one instruction takes the larger of two numbers, but for NaN: what is there still is that
        // end, or only NaN have come. (With a NaN to begin with it is five: the largest of 10⁶ took 1.9 times as long.)
        let end = nothing(reducer, element);
        let found = self.together(kernel, rows, &sums, Some(&end), cx)?;
        let lanes = Lanes { width: if kernel.lane.is_some() { 1 } else { width }, mask: None };
        let ty = llvm_type(element, lanes.width);
        let ends = splat(&end, scalar_type(element), lanes.width);
        let mut places = Vec::with_capacity(found.len());
        let mut doubt: Option<String> = None;
        for found in &found {
            let place = self.slot(&ty);
            let found = self.many(found, element, &lanes);
            self.line(format_args!("store {ty} {found}, ptr {place}"));
            places.push(place);
            let mut same = self.op(format_args!("fcmp oeq {ty} {found}, {ends}"));
            if lanes.width > 1 {
                same = self.any(&same, &lanes);
            }
            doubt = Some(match doubt {
                None => same,
                Some(doubt) => self.op(format_args!("or i1 {doubt}, {same}")),
            });
        }
        let doubt = doubt.unwrap_or_else(|| "false".to_string());
        self.seldom(&doubt, |e| {
            let found = e.together(kernel, rows, &sums, None, cx)?;
            for (place, found) in places.iter().zip(&found) {
                let found = e.many(found, element, &lanes);
                e.line(format_args!("store {ty} {found}, ptr {place}"));
            }
            Ok(())
        })?;
        let mut all = Vec::with_capacity(places.len());
        for place in places {
            let found = self.op(format_args!("load {ty}, ptr {place}"));
            all.push(if lanes.width == 1 { Val::One(found) } else { Val::Many(found) });
        }
        Ok(all)
    }

    /// Everything added up, one number for each row; or the largest or smallest number from a given end on, NaN left out.
    fn together(
        &mut self,
        kernel: &Kernel<'_>,
        rows: &[Vec<Val>],
        sums: &Sums,
        end: Option<&str>,
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let Sums { reducer, element, width, split, copies } = *sums;
        let one = end.map_or_else(|| neutral(reducer, element), str::to_string);
        let slot_type = llvm_type(element, width);
        let start = splat(&one, scalar_type(element), width);
        let mut places = Vec::with_capacity(copies * rows.len());
        for _ in 0..copies * rows.len() {
            let place = self.slot(&slot_type);
            self.line(format_args!("store {slot_type} {start}, ptr {place}"));
            places.push(place);
        }
        let neutral_val = Val::One(one);
        self.nest(kernel, cx, &mut |e, indices, cx| {
            // Kernels inside count for themselves.
            let mut copy = std::mem::replace(&mut e.copy, 0);
            if split {
                let last = indices.last().and_then(Val::known);
                copy = last.map_or(0, |k| usize::from(k % 2 != 0));
            }
            let inner = Lanes { width, mask: None };
            for (row, captures) in rows.iter().enumerate() {
                let results = e.at_point(kernel, indices, (row, captures), cx)?;
                let mut x = results[0].clone();
                // Lanes of the rest that do not count. Where lanes are around, all go on.
                if kernel.lane.is_some()
                    && let Some(mask) = cx.mask.clone()
                {
                    let select = [Val::Many(mask), x, neutral_val.clone()];
                    let from = [Element::Bool, element, element];
                    x = e.pointwise(Op::Select, &select, &from, element, cx)?;
                }
                let place = &places[row * copies + copy];
                let before = e.op(format_args!("load {slot_type}, ptr {place}"));
                let before = if width == 1 { Val::One(before) } else { Val::Many(before) };
                let after = match end {
                    None => e.reduce(reducer, &before, &x, element, &inner)?,
                    Some(_) => {
                        let more = match reducer {
                            Reducer::Max => Comparison::Greater,
                            _ => Comparison::Less,
                        };
                        let both = [x.clone(), before.clone()];
                        let from = [element; 2];
                        let more = Op::Compare(more);
                        let more = e.pointwise(more, &both, &from, Element::Bool, &inner)?;
                        let from = [Element::Bool, element, element];
                        e.pointwise(Op::Select, &[more, x, before], &from, element, &inner)?
                    }
                };
                let after = e.many(&after, element, &inner);
                e.line(format_args!("store {slot_type} {after}, ptr {place}"));
            }
            Ok(())
        })?;
        // Neighbours first, whatever the data.
        let lanes = Lanes { width, mask: None };
        let mut all = Vec::with_capacity(rows.len());
        for places in places.chunks(copies) {
            let mut sums = Vec::with_capacity(places.len());
            for place in places {
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
            let sum = self.many(&sums[0], element, &lanes);
            all.push(match kernel.lane {
                Some(_) => Val::One(self.across(reducer, sum, element, width)?),
                None if width == 1 => Val::One(sum),
                None => Val::Many(sum),
            });
        }
        Ok(all)
    }

    /// Whether a sum at each point of lanes is added up in two parts: the even and the odd places of its last dimension, which is
    /// written out. One part waits for itself (skinning a hand: 173 µs, in two parts 163).
    fn splits(&self, kernel: &Kernel<'_>, reducer: Reducer, cx: &Lanes) -> bool {
        let body = kernel.body;
        let written = match kernel.sizes.last() {
            Some(last) => *last >= 2 && last * body.operations().max(1) <= UNROLLED,
            None => false,
        };
        let adds = matches!(reducer, Reducer::Sum | Reducer::Product);
        let long = kernel.points() >= 8;
        self.options.contract
            && !self.tiled
            && cx.width > 1
            && adds
            && written
            && long
            && is_light(body)
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
            let results = e.at_point(kernel, indices, (0, captures), cx)?;
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
            let results = e.at_point(kernel, indices, (0, captures), cx)?;
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
