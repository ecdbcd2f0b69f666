//! Running functions with arrays and bodies, on any kind of number.
//!
//! Kernels run their body for a block of points at a time, one operation for all of them; loops inside go
//! round for all lanes together, and lanes that part at a branch or leave a loop go on by themselves. Sums
//! go from the first point to the last whatever the block.

use std::rc::Rc;

use cotangent_numbers::Scalar;
use cotangent_ops::{Binary, Ternary, Unary, Visitor};
use rustc_hash::FxHashSet;

use crate::function::{Function, Value};
use crate::interpret::RunError;
use crate::op::Op;
use crate::slot::{Integers, Kind, List, Numbers, Slot, Truths, View, by_kind};
use crate::structure::Structure;
use crate::types::{Dim, Element, Type};

/// Points of a domain that are computed at a time.
const LANES: usize = 256;

/// The most rounds that a `while` goes; fewer where that is tested.
const ROUNDS: usize = if cfg!(test) { 10_000 } else { 100_000_000 };

/// The most entries of a value, those of all lanes together: 2 GB of doubles.
const ENTRIES: usize = 1 << 28;

const UNDECIDED: &str = "an integer depends on a comparison that is not decided";

/// A function made ready: which values are used no more, and where.
pub(crate) struct Code<'f> {
    function: &'f Function,
    /// By value: the value that uses it last; none for results.
    last_use: Vec<Option<u32>>,
    /// By result: whether it is one of a later number, too.
    kept: Vec<bool>,
    /// Whether it asks how long something is that a loop stacked, which may differ from lane to lane.
    asks: bool,
    bodies: Vec<Vec<Code<'f>>>,
}

impl<'f> Code<'f> {
    pub(crate) fn new(function: &'f Function) -> Self {
        let mut last_use = vec![None; function.len()];
        for value in function.values() {
            for operand in function.operands(value) {
                last_use[operand.index()] = Some(value.index() as u32);
            }
        }
        for kept in function.results().iter().chain(function.guards().iter().map(|g| &g.condition))
        {
            last_use[kept.index()] = None;
        }
        let bodies: Vec<Vec<Code<'f>>> = function
            .structures
            .iter()
            .map(|s| s.bodies().map(|body| Code::new(body)).collect())
            .collect();
        let own = function.values().any(|value| {
            let of = |k: u32| function.ty(function.operand(value, 0)).dims().get(k as usize);
            matches!(function.op(value), Op::Extent(k) if of(k) == Some(&Dim::Any))
        });
        let asks = own || bodies.iter().flatten().any(|code| code.asks);
        Code { function, last_use, kept: repeated(function.results()), asks, bodies }
    }
}

/// Which values come again later.
fn repeated(values: &[Value]) -> Vec<bool> {
    let mut seen = FxHashSet::default();
    let mut again: Vec<bool> = values.iter().rev().map(|v| !seen.insert(*v)).collect();
    again.reverse();
    again
}

type Slots<S> = Vec<Slot<S>>;

/// Values of a function while it runs.
pub(crate) struct Frame<S: Scalar> {
    slots: Vec<Option<Slot<S>>>,
    parts: Vec<Vec<Option<Slot<S>>>>,
}

impl<S: Scalar> Frame<S> {
    pub(crate) fn new(f: &Function) -> Self {
        Frame { slots: vec![None; f.len()], parts: vec![Vec::new(); f.structures.len()] }
    }

    pub(crate) fn slot(&self, value: Value) -> Option<&Slot<S>> {
        self.slots[value.index()].as_ref()
    }
}

/// What went wrong, with the function it went wrong in.
fn fault<T>(f: &Function, what: String) -> Result<T, RunError> {
    let function =
        if f.name().is_empty() { "a body".to_string() } else { format!("@{}", f.name()) };
    Err(RunError::Value { function, what })
}

/// The number of entries of a value in all lanes, if there is room for it.
fn room(f: &Function, len: usize, width: usize) -> Result<usize, RunError> {
    match len.checked_mul(width).filter(|all| *all <= ENTRIES) {
        Some(all) => Ok(all),
        None => {
            let points = if width > 1 { format!(" at {width} points") } else { String::new() };
            let what =
                format!("an array of {len} elements{points} is too large: at most {ENTRIES} fit");
            fault(f, what)
        }
    }
}

/// How a truth value comes out; none if it cannot be told.
pub(crate) fn outcome<S: Scalar>(mask: S::Mask) -> Option<bool> {
    match S::select(mask, S::one(), S::zero()).sample() {
        Some(1.0) => Some(true),
        Some(0.0) => Some(false),
        _ => None,
    }
}

impl Code<'_> {
    /// The results for some lanes. The frame is that of this function.
    pub(crate) fn run<S: Scalar>(
        &self,
        frame: &mut Frame<S>,
        mut args: Vec<Option<Slot<S>>>,
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let f = self.function;
        for value in f.values() {
            let slot = match f.op(value) {
                Op::Param(k) => match args[k as usize].take() {
                    Some(slot) => slot,
                    None => return fault(f, format!("parameter {k} is missing")),
                },
                Op::Structure(k) => {
                    let operands = self.operands(frame, value);
                    let parts = self.structure(k as usize, operands, lanes)?;
                    frame.parts[k as usize] = parts.into_iter().map(Some).collect();
                    continue;
                }
                Op::Part(part) => {
                    let whole = f.operand(value, 0);
                    let Op::Structure(k) = f.op(whole) else {
                        return fault(f, "a part of nothing".to_string());
                    };
                    match frame.parts[k as usize].get_mut(part as usize).and_then(Option::take) {
                        Some(slot) => slot,
                        None => return fault(f, format!("part {part} is missing")),
                    }
                }
                _ => self.operation(frame, value, lanes)?,
            };
            frame.slots[value.index()] = Some(slot);
        }
        let mut results = Vec::with_capacity(f.results().len());
        for (k, result) in f.results().iter().enumerate() {
            let kept = self.kept[k] || f.guards().iter().any(|g| g.condition == *result);
            let place = &mut frame.slots[result.index()];
            match if kept { place.clone() } else { place.take() } {
                Some(slot) => results.push(slot),
                None => return fault(f, format!("result {k} is missing")),
            }
        }
        Ok(results)
    }

    /// The operands of an operation; those that are not used again are moved.
    fn operands<S: Scalar>(&self, frame: &mut Frame<S>, value: Value) -> Vec<Option<Slot<S>>> {
        let f = self.function;
        let all: Vec<Value> = f.operands(value).collect();
        let mut slots = Vec::with_capacity(all.len());
        let repeated = if all.len() > 16 { repeated(&all) } else { Vec::new() };
        let again = |k: usize, operand: &Value| match repeated.get(k) {
            Some(again) => *again,
            None => all[k + 1..].contains(operand),
        };
        for (k, operand) in all.iter().enumerate() {
            let last =
                self.last_use[operand.index()] == Some(value.index() as u32) && !again(k, operand);
            let place = &mut frame.slots[operand.index()];
            slots.push(if last { place.take() } else { place.clone() });
        }
        slots
    }

    fn operation<S: Scalar>(
        &self,
        frame: &mut Frame<S>,
        value: Value,
        lanes: usize,
    ) -> Result<Slot<S>, RunError> {
        let f = self.function;
        let (op, ty) = (f.op(value), f.ty(value));
        match op {
            Op::Constant(bits) => return Ok(Slot::Number(S::constant(f64::from_bits(bits)))),
            Op::Rounded(bits) => return Ok(Slot::Number(S::rounded(f64::from_bits(bits)))),
            Op::Truth(truth) => return Ok(Slot::Truth(S::Mask::from(truth))),
            Op::Integer(c) => return Ok(Slot::Integer(c)),
            Op::Table(_) => return Ok(self.table(value)),
            _ => {}
        }
        let types: Vec<Type> = f.operands(value).map(|v| f.ty(v)).collect();
        let mut slots = Vec::with_capacity(types.len());
        for (k, slot) in self.operands(frame, value).into_iter().enumerate() {
            match slot {
                Some(slot) => slots.push(slot),
                None => return fault(f, format!("operand {k} of `{}` is missing", op.name())),
            }
        }
        if matches!(op, Op::Put | Op::PutAdd) {
            return self.put(op, ty, slots, &types, lanes);
        }
        let varies = slots.iter().any(Slot::varies);
        let width = if varies { lanes } else { 1 };
        let len = match op {
            Op::Fill => match ty.len() {
                Some(len) => len,
                None => return fault(f, format!("the size of {ty} is not known")),
            },
            _ => slots
                .iter()
                .zip(&types)
                .filter(|(_, ty)| !ty.is_scalar())
                .map(|(s, _)| s.len())
                .next()
                .unwrap_or(1),
        };
        room(f, len, width)?;
        // Sizes that are not known before are compared here.
        let other = slots.iter().zip(&types).find(|(s, ty)| !ty.is_scalar() && s.len() != len);
        if let Some((other, ty)) = other.filter(|_| !matches!(op, Op::Load)) {
            let name = op.name();
            let what = format!("`{name}` of {len} and of {} elements of {ty}", other.len());
            return fault(f, what);
        }
        let scalar = ty.is_scalar();
        let numbers = |k: usize| slots[k].view::<Numbers<S>>(types[k].is_scalar(), lanes);
        let integers = |k: usize| slots[k].view::<Integers<S>>(types[k].is_scalar(), lanes);
        let truths = |k: usize| slots[k].view::<Truths<S>>(types[k].is_scalar(), lanes);
        let each = || (0..len).flat_map(move |e| (0..width).map(move |lane| (e, lane)));
        Ok(match op {
            Op::Elementary(code, parameter) => {
                let last = types.len() - 1;
                let x = [numbers(0), numbers(1.min(last)), numbers(2.min(last))];
                let data = code.visit(parameter, Map { x, len, width });
                Slot::new::<Numbers<S>>(data, scalar, varies, len)
            }
            Op::Compare(comparison) => {
                let data = if types[0].is_float() {
                    let (x, y) = (numbers(0), numbers(1));
                    each().map(|(e, l)| x.at(e, l).compare(y.at(e, l), comparison)).collect()
                } else {
                    let (x, y) = (integers(0), integers(1));
                    each()
                        .map(|(e, l)| S::Mask::from(comparison.holds(&x.at(e, l), &y.at(e, l))))
                        .collect()
                };
                Slot::new::<Truths<S>>(data, scalar, varies, len)
            }
            Op::And | Op::Or => {
                let (x, y) = (truths(0), truths(1));
                let and = op == Op::And;
                let data = each()
                    .map(|(e, l)| {
                        let (x, y) = (x.at(e, l), y.at(e, l));
                        if and { x & y } else { x | y }
                    })
                    .collect();
                Slot::new::<Truths<S>>(data, scalar, varies, len)
            }
            Op::Not => {
                let x = truths(0);
                let data = each().map(|(e, l)| !x.at(e, l)).collect();
                Slot::new::<Truths<S>>(data, scalar, varies, len)
            }
            Op::Select => {
                let mask = truths(0);
                match ty.element() {
                    element if element.is_float() => {
                        let (x, y) = (numbers(1), numbers(2));
                        let data = each()
                            .map(|(e, l)| S::select(mask.at(e, l), x.at(e, l), y.at(e, l)))
                            .collect();
                        Slot::new::<Numbers<S>>(data, scalar, varies, len)
                    }
                    Element::Bool => {
                        let (x, y) = (truths(1), truths(2));
                        let data = each()
                            .map(|(e, l)| {
                                let mask = mask.at(e, l);
                                (mask & x.at(e, l)) | (!mask & y.at(e, l))
                            })
                            .collect();
                        Slot::new::<Truths<S>>(data, scalar, varies, len)
                    }
                    _ => {
                        let (x, y) = (integers(1), integers(2));
                        let mut data = Vec::with_capacity(len * width);
                        for (e, l) in each() {
                            data.push(
                                match (outcome::<S>(mask.at(e, l)), x.at(e, l), y.at(e, l)) {
                                    (_, a, b) if a == b => a,
                                    (Some(true), a, _) => a,
                                    (Some(false), _, b) => b,
                                    (None, ..) => {
                                        return fault(f, UNDECIDED.to_string());
                                    }
                                },
                            );
                        }
                        Slot::new::<Integers<S>>(data, scalar, varies, len)
                    }
                }
            }
            Op::Integral(integral) => {
                let (x, y) = (integers(0), integers(1));
                let element = ty.element();
                let data =
                    each().map(|(e, l)| integral.apply(x.at(e, l), y.at(e, l), element)).collect();
                Slot::new::<Integers<S>>(data, scalar, varies, len)
            }
            Op::Cast => self.cast(&slots[0], types[0], ty, (len, width, lanes))?,
            Op::Fill => by_kind!(&slots[0], K => {
                let x = slots[0].view::<K<S>>(true, lanes);
                let data = each().map(|(_, l)| x.at(0, l)).collect();
                Slot::new::<K<S>>(data, false, varies, len)
            }),
            Op::Extent(k) => {
                let size = match types[0].dims()[k as usize] {
                    Dim::Size(n) => n,
                    _ => match types[0].after(1).len() {
                        Some(inner) if inner > 0 => slots[0].len() / inner,
                        _ => {
                            let rows = types[0].after(1);
                            let what = format!("how many rows of {rows} there are is not kept");
                            return fault(f, what);
                        }
                    },
                };
                Slot::Integer(size as i64)
            }
            Op::Load => return self.load(&slots, &types, ty, lanes),
            Op::Argsort => {
                let x = numbers(0);
                let mut data = vec![0i64; len * width];
                for lane in 0..width {
                    let keys: Option<Vec<f64>> = (0..len).map(|e| x.at(e, lane).sample()).collect();
                    let Some(keys) = keys else { return fault(f, UNDECIDED.to_string()) };
                    let mut order: Vec<usize> = (0..len).collect();
                    order.sort_by(|a, b| keys[*a].total_cmp(&keys[*b]));
                    // Numbers that stand for many are in this order only if all of them are.
                    let decided = |pair: &[usize]| {
                        let (a, b) = (x.at(pair[0], lane), x.at(pair[1], lane));
                        outcome::<S>(a.compare(b, cotangent_ops::Comparison::AtMost)).is_some()
                    };
                    if !order.windows(2).all(decided) {
                        return fault(f, UNDECIDED.to_string());
                    }
                    for (e, place) in order.into_iter().enumerate() {
                        data[e * width + lane] = place as i64;
                    }
                }
                Slot::new::<Integers<S>>(data, false, varies, len)
            }
            // A copy of what derivatives do not see.
            Op::Stop => slots.swap_remove(0),
            other => return fault(f, format!("`{}` cannot be run here", other.name())),
        })
    }

    fn cast<S: Scalar>(
        &self,
        x: &Slot<S>,
        from: Type,
        to: Type,
        (len, width, lanes): (usize, usize, usize),
    ) -> Result<Slot<S>, RunError> {
        let varies = x.varies();
        let each = || (0..len).flat_map(move |e| (0..width).map(move |lane| (e, lane)));
        let scalar = to.is_scalar();
        let wrap = |c: i64| if to.element() == Element::I32 { i64::from(c as i32) } else { c };
        let (float, boolean) = (to.is_float(), to.element() == Element::Bool);
        Ok(match x {
            Slot::Number(_) | Slot::Numbers(_) => {
                let x = x.view::<Numbers<S>>(from.is_scalar(), lanes);
                if float {
                    // To a single: rounded, where the number is a plain one.
                    let data = each().map(|(e, l)| x.at(e, l)).collect();
                    Slot::new::<Numbers<S>>(data, scalar, varies, len)
                } else if boolean {
                    let compare =
                        |(e, l)| x.at(e, l).compare(S::zero(), cotangent_ops::Comparison::Differ);
                    Slot::new::<Truths<S>>(each().map(compare).collect(), scalar, varies, len)
                } else {
                    let mut data = Vec::with_capacity(len * width);
                    for (e, l) in each() {
                        let whole = x.at(e, l).trunc();
                        let value = whole.value();
                        // A number that stands for many is an integer only if all of them are that one.
                        let same =
                            whole.compare(S::constant(value), cotangent_ops::Comparison::Equal);
                        if outcome::<S>(same).is_none() {
                            return fault(self.function, UNDECIDED.to_string());
                        }
                        data.push(wrap(value as i64));
                    }
                    Slot::new::<Integers<S>>(data, scalar, varies, len)
                }
            }
            Slot::Integer(_) | Slot::Integers(_) => {
                let x = x.view::<Integers<S>>(from.is_scalar(), lanes);
                if float {
                    let data = each().map(|(e, l)| S::constant(x.at(e, l) as f64)).collect();
                    Slot::new::<Numbers<S>>(data, scalar, varies, len)
                } else if boolean {
                    let data = each().map(|(e, l)| S::Mask::from(x.at(e, l) != 0)).collect();
                    Slot::new::<Truths<S>>(data, scalar, varies, len)
                } else {
                    let data = each().map(|(e, l)| wrap(x.at(e, l))).collect();
                    Slot::new::<Integers<S>>(data, scalar, varies, len)
                }
            }
            Slot::Truth(_) | Slot::Truths(_) => {
                let x = x.view::<Truths<S>>(from.is_scalar(), lanes);
                if float {
                    let data =
                        each().map(|(e, l)| S::select(x.at(e, l), S::one(), S::zero())).collect();
                    Slot::new::<Numbers<S>>(data, scalar, varies, len)
                } else {
                    let mut data = Vec::with_capacity(len * width);
                    for (e, l) in each() {
                        match outcome::<S>(x.at(e, l)) {
                            Some(truth) => data.push(i64::from(truth)),
                            None => {
                                return fault(self.function, UNDECIDED.to_string());
                            }
                        }
                    }
                    Slot::new::<Integers<S>>(data, scalar, varies, len)
                }
            }
        })
    }

    /// The place in an array that indices lead to, in elements of the array.
    fn place(
        &self,
        indices: &[View<'_, i64>],
        lane: usize,
        ty: Type,
        len: usize,
    ) -> Result<usize, RunError> {
        let mut place = 0;
        let mut inner = ty.after(1).len().unwrap_or(0);
        for (k, index) in indices.iter().enumerate() {
            let size = match ty.dims()[k] {
                Dim::Size(n) => n,
                // Of rows that have no elements there may be any number: nothing is read or written.
                _ if inner == 0 => usize::MAX,
                _ => len / inner,
            };
            let i = index.at(0, lane);
            match usize::try_from(i) {
                Ok(i) if i < size => place += i * inner,
                _ => {
                    let what = format!(
                        "index {i} is out of range: dimension {k} of {ty} has {size} elements"
                    );
                    return fault(self.function, what);
                }
            }
            inner = ty.after(k + 2).len().unwrap_or(0);
        }
        Ok(place)
    }

    fn load<S: Scalar>(
        &self,
        slots: &[Slot<S>],
        types: &[Type],
        ty: Type,
        lanes: usize,
    ) -> Result<Slot<S>, RunError> {
        let indices: Vec<View<'_, i64>> =
            slots[1..].iter().map(|slot| slot.view::<Integers<S>>(true, lanes)).collect();
        let varies = slots.iter().any(Slot::varies);
        let width = if varies { lanes } else { 1 };
        let len = match ty.len() {
            Some(len) => len,
            None => return fault(self.function, format!("the size of {ty} is not known")),
        };
        room(self.function, len, width)?;
        let mut places = Vec::with_capacity(width);
        for lane in 0..width {
            places.push(self.place(&indices, lane, types[0], slots[0].len())?);
        }
        Ok(by_kind!(&slots[0], K => {
            let x = slots[0].view::<K<S>>(false, lanes);
            let mut data = Vec::with_capacity(len * width);
            for e in 0..len {
                data.extend(places.iter().enumerate().map(|(lane, place)| x.at(place + e, lane)));
            }
            Slot::new::<K<S>>(data, ty.is_scalar(), varies, len)
        }))
    }

    /// An array with other or additional elements; in place if nobody else has it.
    fn put<S: Scalar>(
        &self,
        op: Op,
        ty: Type,
        slots: Vec<Slot<S>>,
        types: &[Type],
        lanes: usize,
    ) -> Result<Slot<S>, RunError> {
        let varies = slots.iter().any(Slot::varies);
        let width = if varies { lanes } else { 1 };
        let mut slots = slots.into_iter();
        let (Some(array), Some(value)) = (slots.next(), slots.next()) else {
            return fault(self.function, "nothing to put".to_string());
        };
        let indices: Vec<Slot<S>> = slots.collect();
        let views: Vec<View<'_, i64>> =
            indices.iter().map(|slot| slot.view::<Integers<S>>(true, lanes)).collect();
        let len = array.len();
        room(self.function, len, width)?;
        let mut array = if varies { array.spread(false, lanes) } else { array };
        let inner = value.len();
        let scalar = types[1].is_scalar();
        let mut places = Vec::with_capacity(width);
        for lane in 0..width {
            places.push(self.place(&views, lane, ty, len)?);
        }
        if op == Op::PutAdd {
            if let Some(list) = Numbers::<S>::list_mut(&mut array) {
                let from = value.view::<Numbers<S>>(scalar, lanes);
                let data = Rc::make_mut(&mut list.data);
                for (lane, place) in places.iter().enumerate() {
                    for e in 0..inner {
                        let at = (place + e) * width + lane;
                        data[at] += from.at(e, lane);
                    }
                }
            }
        } else {
            by_kind!(&value, K => {
                let from = value.view::<K<S>>(scalar, lanes);
                if let Some(list) = K::<S>::list_mut(&mut array) {
                    let data = Rc::make_mut(&mut list.data);
                    for (lane, place) in places.iter().enumerate() {
                        for e in 0..inner {
                            data[(place + e) * width + lane] = from.at(e, lane);
                        }
                    }
                }
            });
        }
        Ok(array)
    }

    fn structure<S: Scalar>(
        &self,
        k: usize,
        mut operands: Vec<Option<Slot<S>>>,
        lanes: usize,
    ) -> Result<Slots<S>, RunError> {
        let f = self.function;
        let bodies = &self.bodies[k];
        match &f.structures[k] {
            Structure::Tab { dims, body } => self.tab(&bodies[0], dims, body, &operands, lanes),
            Structure::Red { dims, reducer, body } => {
                self.red(&bodies[0], dims, *reducer, body, &operands, lanes)
            }
            Structure::Acc { dims, targets, .. } => {
                let captures = operands.split_off(*targets);
                self.acc(&bodies[0], dims, operands, &captures, lanes)
            }
            Structure::For { carries, .. } => {
                let captures = operands.split_off(1 + carries);
                let bound = operands.remove(0);
                self.repeat(&bodies[0], bound, operands, &captures, lanes)
            }
            Structure::While { carries, .. } => {
                let captures = operands.split_off(*carries);
                self.while_holds(bodies, operands, &captures, lanes)
            }
            Structure::If { .. } => {
                let condition = operands.remove(0);
                self.branch(bodies, condition, &operands, lanes)
            }
            Structure::Derive(derive) => {
                let what = format!("`{}` has not been lowered; lower it first", derive.mode.name());
                fault(f, what)
            }
            Structure::Call { .. } => {
                let code = &bodies[0];
                let mut frame = Frame::new(code.function);
                let results = code.run(&mut frame, operands, lanes)?;
                code.check_guards(&frame)?;
                Ok(results)
            }
        }
    }

    /// Whether the guards came out as they were recorded.
    pub(crate) fn check_guards<S: Scalar>(&self, frame: &Frame<S>) -> Result<(), RunError> {
        for (k, guard) in self.function.guards().iter().enumerate() {
            let slot = frame.slot(guard.condition);
            if let Some(Slot::Truth(mask)) = slot
                && outcome::<S>(*mask) != Some(guard.expected)
            {
                let function = self.function.name().to_string();
                return Err(RunError::Guard { function, guard: k });
            }
        }
        Ok(())
    }
}

fn list<T: Copy>(x: T, len: usize, lanes: usize) -> List<T> {
    List { data: Rc::new(vec![x; len * lanes]), varies: lanes > 1, len }
}

/// An operation of the table on all entries.
struct Map<'v, S> {
    x: [View<'v, S>; 3],
    len: usize,
    width: usize,
}

impl<S: Scalar> Map<'_, S> {
    #[inline(always)]
    fn all(&self, f: impl Fn(usize, usize) -> S) -> Vec<S> {
        let mut data = Vec::with_capacity(self.len * self.width);
        for e in 0..self.len {
            data.extend((0..self.width).map(|lane| f(e, lane)));
        }
        data
    }
}

impl<S: Scalar> Visitor for Map<'_, S> {
    type Output = Vec<S>;

    fn unary<O: Unary>(self, op: O) -> Vec<S> {
        self.all(|e, l| op.value(self.x[0].at(e, l)))
    }

    fn binary<O: Binary>(self, op: O) -> Vec<S> {
        self.all(|e, l| op.value(self.x[0].at(e, l), self.x[1].at(e, l)))
    }

    fn ternary<O: Ternary>(self, op: O) -> Vec<S> {
        self.all(|e, l| op.value(self.x[0].at(e, l), self.x[1].at(e, l), self.x[2].at(e, l)))
    }
}

mod control;
mod kernels;
