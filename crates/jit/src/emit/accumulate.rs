//! Accumulations: lanes that add to the same arrays.
//!
//! Where all lanes add at the same places, each has a copy of the target of its own, and copies are summed at the end;
//! where they add at places side by side, vectors are added; else one lane after the other. Nothing is atomic, and the
//! order of additions depends on the domain and the width only.

use cotangent_ir::{Dim, Element, Function, Op, Reducer, Value};
use cotangent_ops::Opcode;

use super::classify::{Adds, Class, adds, body_args};
use super::kernels::is_light;
use super::reduce::neutral;
use super::value::{Array, Target, Val, number, scalar_type, splat};
use super::{Emitter, Frame, Lanes, Result, internal, llvm_type};
use crate::JitError;

/// The most bytes that copies of a target take for all lanes.
const COPIES: usize = 1 << 20;

/// What becomes of a target.
enum Plan {
    /// A target of an accumulation around this one.
    Handed(Target),
    /// A number on the stack: what it began with.
    Number(String, Element, Val),
    /// An array that is added to where it stands.
    Here(Array),
    /// Copies for each lane, and what they are added to at the end.
    Copies(Array, Array),
}

impl Emitter<'_> {
    #[allow(clippy::too_many_arguments, reason = "what a kernel is made of")]
    pub(super) fn acc(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        dims: &[Dim],
        targets: usize,
        body: &Function,
        operands: &[Value],
        cx: &Lanes,
    ) -> Result<Vec<Val>> {
        let kernel = self.kernel(frame, value, dims, body, operands, cx)?;
        let mut captures = Vec::new();
        for operand in &operands[targets..] {
            captures.push(frame.get(*operand)?.clone());
        }
        let width = kernel.lane.map_or(cx.width, |(_, width)| width);
        let mut plans = Vec::with_capacity(targets);
        for (k, operand) in operands[..targets].iter().enumerate() {
            plans.push(self.plan(frame, value, *operand, (k, dims.len()), &kernel, cx)?);
        }
        let given: Vec<Val> = plans.iter().map(Plan::target).map(Val::Target).collect();
        // Vectors that are added at places that overlap wait for each other in memory: with few operations it is faster to go
        // through the points again for each addition (Rosenbrock, 1000 variables: 0.6 of the time).
        let times =
            match kernel.lane.is_some() && is_repeated(body) && plans.iter().all(Plan::is_shared) {
                true => additions(body).clamp(1, 3),
                false => 1,
            };
        for time in 0..times {
            self.nest(&kernel, cx, &mut |e, indices, cx| {
                let mut args = indices.to_vec();
                for val in given.iter().chain(&captures) {
                    e.retain(val);
                    args.push(val.clone());
                }
                e.only = (times > 1).then_some((time, times, 0));
                let ranges = kernel.ranges_at(indices, &vec![true; indices.len()]);
                let results = e.body(kernel.body(), args, cx, ranges, &[])?;
                e.only = None;
                for (k, result) in results.into_iter().enumerate() {
                    if result != given[k] {
                        return Err(internal("a target that became another"));
                    }
                    e.release(result);
                }
                Ok(())
            })?;
        }
        let mut parts = Vec::with_capacity(targets);
        for plan in plans {
            parts.push(match plan {
                Plan::Handed(target) => {
                    let val = Val::Target(target);
                    self.retain(&val);
                    val
                }
                Plan::Here(array) => Val::Array(array),
                Plan::Copies(copies, array) => {
                    self.gathered(&copies, &array, Reducer::Sum, width, Some(&array))?;
                    self.release(Val::Array(copies));
                    Val::Array(array)
                }
                Plan::Number(place, element, start) => {
                    let ty = llvm_type(element, width);
                    let all = self.op(format_args!("load {ty}, ptr {place}"));
                    match kernel.lane {
                        Some(_) => {
                            let sum = Val::One(self.across(Reducer::Sum, all, element, width)?);
                            self.sum(&start, &sum, element, &Lanes::none())?
                        }
                        None if width == 1 => Val::One(all),
                        None => Val::Many(all),
                    }
                }
            });
        }
        Ok(parts)
    }

    fn plan(
        &mut self,
        frame: &Frame<'_>,
        value: Value,
        operand: Value,
        (k, own): (usize, usize),
        kernel: &super::kernels::Kernel<'_>,
        cx: &Lanes,
    ) -> Result<Plan> {
        let val = frame.get(operand)?.clone();
        let element = frame.f.ty(operand).element();
        let array = match val {
            Val::Target(target) => return Ok(Plan::Handed(target)),
            Val::Array(array) if array.rows.is_some() => {
                return Err(JitError::Unsupported(
                    "an array of unknown length that is added to".into(),
                ));
            }
            Val::Array(array) => array,
            number => {
                let width = kernel.lane.map_or(cx.width, |(_, width)| width);
                let ty = llvm_type(element, width);
                let place = self.slot(&ty);
                // With lanes of its own it begins from nothing, and what there was is added at the end.
                let start = match kernel.lane {
                    Some(_) => splat(&neutral(Reducer::Sum, element), scalar_type(element), width),
                    None => self.many(&number, element, cx),
                };
                self.line(format_args!("store {ty} {start}, ptr {place}"));
                return Ok(Plan::Number(place, element, number));
            }
        };
        let varies = cx.width > 1;
        let alone =
            Self::dies(frame, operand, value) && self.is_alone(&array) && array.varies == varies;
        let here = match alone {
            true => {
                self.retain(&Val::Array(array.clone()));
                array
            }
            false => {
                let parts = frame.parts_of(value, k + 1);
                let to = match parts[k] {
                    Some(part) => self.allocate_for(frame, part, (array.ty, array.len), cx, varies),
                    None => self.allocate(array.ty, array.len, varies, cx.width),
                };
                self.copy(&array, &to, &Lanes { mask: None, ..cx.clone() });
                to
            }
        };
        let Some((lane, width)) = kernel.lane else { return Ok(Plan::Here(here)) };
        let Some(structure) = frame.f.structure(value) else { return Err(internal("no kernel")) };
        let count = kernel.body.params().len();
        let given = vec![Class::One; count];
        let mut args = body_args(structure, &given, count);
        args[lane] = Class::Step(1);
        let bytes = here.len * width * element.bytes();
        let pays = kernel.points() / width >= 4 && bytes <= COPIES;
        if adds(kernel.body, &args, own + k) == Some(Adds::Together) && pays {
            let copies = self.allocate(here.ty, here.len, true, width);
            let lanes = Lanes { width, mask: None };
            self.fill(&copies, &Val::One(neutral(Reducer::Sum, element)), &lanes)?;
            return Ok(Plan::Copies(copies, here));
        }
        Ok(Plan::Here(here))
    }

    /// Adds to a number among the targets.
    pub(super) fn add_number(&mut self, target: &Target, val: &Val, cx: &Lanes) -> Result<()> {
        let Target::Number(place, element) = target else {
            return Err(internal("no number to add to"));
        };
        let element = *element;
        let val = self.counted(val, element, cx)?;
        let ty = llvm_type(element, cx.width);
        let before = self.op(format_args!("load {ty}, ptr {place}"));
        let before = if cx.width == 1 { Val::One(before) } else { Val::Many(before) };
        let after = self.sum(&before, &val, element, cx)?;
        let after = self.many(&after, element, cx);
        self.line(format_args!("store {ty} {after}, ptr {place}"));
        Ok(())
    }

    /// A number to add, nothing in the lanes that do not count.
    fn counted(&mut self, val: &Val, element: Element, cx: &Lanes) -> Result<Val> {
        match cx.mask.clone() {
            None => Ok(val.clone()),
            Some(mask) => {
                let none = Val::One(number(-0.0, element));
                let from = [Element::Bool, element, element];
                self.pointwise(
                    Op::Select,
                    &[Val::Many(mask), val.clone(), none],
                    &from,
                    element,
                    cx,
                )
            }
        }
    }

    /// Adds to an element of an array.
    pub(super) fn add_at(&mut self, array: &Array, at: &Val, x: &Val, cx: &Lanes) -> Result<()> {
        let (element, w) = (array.element(), cx.width);
        let apart = match at {
            Val::One(_) => array.varies,
            Val::Affine(_, _) => true,
            _ => array.varies,
        };
        if w == 1 || apart {
            let before = self.load(array, at, cx);
            let after = self.sum(&before, x, element, cx)?;
            self.store(array, at, &after, cx);
            return Ok(());
        }
        let x = self.counted(x, element, cx)?;
        let none = Lanes::none();
        if let Val::One(_) = at {
            // All lanes at one place.
            let x = self.many(&x, element, cx);
            let sum = Val::One(self.across(Reducer::Sum, x, element, w)?);
            return self.add_at(array, at, &sum, &none);
        }
        // One lane after the other: two of them may have the same place.
        let mut places = self.many(at, Element::I64, cx);
        if let Some(mask) = cx.mask.clone() {
            let (masks, ty) = (llvm_type(Element::Bool, w), llvm_type(Element::I64, w));
            places =
                self.op(format_args!("select {masks} {mask}, {ty} {places}, {ty} zeroinitializer"));
        }
        let (ty, x) = (llvm_type(element, w), self.many(&x, element, cx));
        for lane in 0..w {
            let at = self.op(format_args!("extractelement <{w} x i64> {places}, i64 {lane}"));
            let one = self.op(format_args!("extractelement {ty} {x}, i64 {lane}"));
            let before = self.load(array, &Val::One(at.clone()), &none);
            let op = Op::Elementary(Opcode::Add, 0);
            let after =
                self.pointwise(op, &[before, Val::One(one)], &[element, element], element, &none)?;
            self.store(array, &Val::One(at), &after, &none);
        }
        Ok(())
    }
}

/// How many additions a body makes.
fn additions(body: &Function) -> usize {
    body.values().filter(|v| body.op(*v) == Op::PutAdd).count()
}

/// Whether a body is a few operations that take little, so that doing it again costs less than waiting.
fn is_repeated(body: &Function) -> bool {
    is_light(body) && body.operations() <= 40 && additions(body) > 1
}

impl Plan {
    fn is_shared(&self) -> bool {
        matches!(self, Plan::Here(array) if !array.varies)
    }

    fn target(&self) -> Target {
        match self {
            Plan::Handed(target) => target.clone(),
            Plan::Number(place, element, _) => Target::Number(place.clone(), *element),
            Plan::Here(array) if array.varies => Target::Own(array.clone()),
            Plan::Here(array) => Target::Shared(array.clone()),
            Plan::Copies(copies, _) => Target::Own(copies.clone()),
        }
    }
}
