//! What a loop carries from round to round.
//!
//! An array that each round makes anew stands in two places in turn, or in the rows of the stack that keeps it: what a round gives is
//! written where the next one reads it, and no round ends with a copy. (Steps of a solver for 400 numbers: 0.84 of the time, with the
//! way back 0.82.)

use std::cell::RefCell;

use cotangent_ir::{Element, Function, Op, Structure, Type, Value};

use super::classify::Class;
use super::kernels::is_read_at_points;
use super::short::VECTORS;
use super::value::{Array, Base, Val};
use super::{Emitter, Frame, Lanes, Result, internal, last_uses, llvm_type};
use crate::JitError;

/// Rows of so many bytes are not in the nearest cache by the time they are read.
const FAR: usize = 1 << 15;

/// What a loop carries.
pub(super) enum Carry {
    /// A number, integer or truth value on the stack.
    Slot { place: String, element: Element, many: bool },
    /// An array where it stands.
    Memory(Array),
    /// An array that stands elsewhere in each round.
    Turns(Turns),
    /// A row of an array that the loop reads: a pointer on the stack, what it was before the first round, and how it is read.
    View { place: String, before: Val, array: Array },
    /// A target of an accumulation around the loop.
    Target(Val),
}

/// An array that stands elsewhere in each round.
pub(super) struct Turns {
    /// Its type and its memory.
    array: Array,
    /// On the stack: pointers to where it stands, and to where the next one is to stand.
    places: [String; 2],
    /// The memory of the next one, as somebody asks for it.
    next: Array,
    /// From one row to the next, in bytes; nothing if there are two places.
    row: Option<usize>,
    /// The pointers in the round that is written.
    round: RefCell<[String; 2]>,
}

/// How a loop carries an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Still,
    /// In two places in turn.
    Turns,
    /// In the rows of a stack (one of those that the loop has), which has one more than it is to have.
    Rows(usize),
    /// As a row of an array that the loop only reads; whether whole vectors may be read from its beginning to behind its end.
    View {
        roomy: bool,
    },
}

impl Turns {
    fn at(&self, k: usize) -> Base {
        Base::Pointer(self.round.borrow()[k].clone())
    }

    /// Where it stands in the round that is written.
    fn here(&self) -> Array {
        Array { base: self.at(0), ..self.array.clone() }
    }

    /// Where the next one is to stand.
    fn there(&self) -> Array {
        Array { base: self.at(1), ..self.next.clone() }
    }
}

impl Emitter<'_> {
    /// Makes the carries of a loop ready.
    pub(super) fn carries(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        operands: &[Value],
        classes: &[Class],
        (ways, stacks): (&[Way], &[Option<Array>]),
        cx: &Lanes,
    ) -> Result<Vec<Carry>> {
        let mut carries = Vec::with_capacity(operands.len());
        for ((operand, class), way) in operands.iter().zip(classes).zip(ways) {
            let (val, ty) = (frame.get(*operand)?.clone(), frame.f.ty(*operand));
            let many = cx.width > 1 && *class != Class::One;
            carries.push(match val {
                Val::Target(_) => Carry::Target(val),
                Val::Array(array) if array.rows.is_some() => {
                    return Err(JitError::Unsupported(
                        "a loop that carries an array of unknown length".into(),
                    ));
                }
                Val::Array(array) if matches!(way, Way::View { .. }) => {
                    let roomy = *way == Way::View { roomy: true };
                    let before = Val::Array(array.clone());
                    self.retain(&before);
                    let (place, pointer) = (self.slot("ptr"), self.pointer(&array));
                    self.line(format_args!("store ptr {pointer}, ptr {place}"));
                    let array = Array { roomy, ..Array::new(array.base, array.ty, array.len) };
                    Carry::View { place, before, array }
                }
                Val::Array(array) if *way != Way::Still => {
                    let stack = match way {
                        Way::Rows(k) => stacks[*k].as_ref(),
                        _ => None,
                    };
                    Carry::Turns(self.turns(&array, stack))
                }
                Val::Array(array) => {
                    let alone = Self::dies(frame, *operand, value)
                        && self.is_alone(&array)
                        && array.varies == many;
                    let here = match alone {
                        true => {
                            // The loop has it from now on.
                            frame.values[operand.index()] = None;
                            array
                        }
                        false => {
                            let to = self.allocate(array.ty, array.len, many, cx.width);
                            self.copy(&array, &to, &Lanes { mask: None, ..cx.clone() });
                            to
                        }
                    };
                    self.pin(&here);
                    Carry::Memory(here)
                }
                scalar => {
                    let (place, element) = (String::new(), ty.element());
                    let carry = Carry::Slot { place, element, many };
                    self.started(carry, &scalar, cx)
                }
            });
        }
        Ok(carries)
    }

    /// How a loop carries its arrays, the first of which is such a parameter of its body.
    pub(super) fn ways(
        &self,
        body: &Function,
        (count, first): (usize, usize),
        cx: &Lanes,
    ) -> Vec<Way> {
        let way = |k: usize| {
            let ty = body.ty(body.results()[k]);
            if cx.width > 1 || !self.is_long(ty) || !makes_anew(body, k, first + k) {
                return Way::Still;
            }
            let kept = |v: &Value| body.op(*v) == Op::Param((first + k) as u32);
            // Vectors that cross lines take longer than a copy does, unless all waits for memory.
            let bytes = ty.len().unwrap_or(0) * ty.element().bytes();
            let lines = bytes.is_multiple_of(self.vector_bytes) || bytes >= FAR;
            match body.results()[count..].iter().position(kept).filter(|_| lines) {
                Some(stack) => Way::Rows(stack),
                None => Way::Turns,
            }
        };
        (0..count).map(way).collect()
    }

    /// Which carries of a `for` are rows of arrays that it only reads, and of no use behind it: nothing is copied then. (The gradient of a
    /// network of six layers: 0.98 of the time.)
    pub(super) fn views(
        &self,
        frame: &Frame<'_>,
        (body, operands): (&Function, &[Value]),
        (parts, count): (&[Option<Value>], usize),
        ways: &mut [Way],
    ) -> Result<()> {
        for k in 0..count {
            let result = body.results()[k];
            if parts[k].is_some() || body.op(result) != Op::Load || body.ty(result).is_scalar() {
                continue;
            }
            // The index and the carries come before what the body captures, in both.
            let Op::Param(from) = body.op(body.operand(result, 0)) else { continue };
            let read = match operands.get(from as usize) {
                Some(operand) if from as usize > count => frame.get(*operand)?,
                _ => continue,
            };
            let (Val::Array(read), Val::Array(first)) = (read, frame.get(operands[1 + k])?) else {
                continue;
            };
            if !read.varies && !first.varies && first.rows.is_none() {
                // A row may be the last one: there is only room behind it in the arena.
                let roomy = self.is_in_arena(read) && self.is_roomy(first);
                ways[k] = Way::View { roomy };
            }
        }
        Ok(())
    }

    /// Whether an array is longer than those that stand in registers.
    pub(super) fn is_long(&self, ty: Type) -> bool {
        let bytes = ty.len().map_or(0, |len| len * ty.element().bytes());
        !ty.is_scalar() && bytes > VECTORS * self.vector_bytes
    }

    pub(super) fn started(&mut self, carry: Carry, val: &Val, cx: &Lanes) -> Carry {
        let Carry::Slot { element, many, .. } = carry else { return carry };
        let lanes = Lanes { width: if many { cx.width } else { 1 }, mask: None };
        let ty = llvm_type(element, lanes.width);
        let place = self.slot(&ty);
        let x = self.many(val, element, &lanes);
        self.line(format_args!("store {ty} {x}, ptr {place}"));
        Carry::Slot { place, element, many }
    }

    /// The carries as they are now: arguments of a body.
    pub(super) fn current(&mut self, carries: &[Carry], cx: &Lanes, moves: bool) -> Vec<Val> {
        let mut vals = Vec::with_capacity(carries.len());
        for carry in carries {
            vals.push(match carry {
                Carry::Slot { place, element, many } => {
                    let ty = llvm_type(*element, if *many { cx.width } else { 1 });
                    let x = self.op(format_args!("load {ty}, ptr {place}"));
                    if *many { Val::Many(x) } else { Val::One(x) }
                }
                Carry::Memory(array) => {
                    let val = Val::Array(array.clone());
                    match moves {
                        // The body has it to itself.
                        true => self.hand_over(array),
                        false => self.retain(&val),
                    }
                    val
                }
                Carry::View { place, array, .. } => {
                    let pointer = self.op(format_args!("load ptr, ptr {place}"));
                    Val::Array(Array { base: Base::Pointer(pointer), ..array.clone() })
                }
                Carry::Turns(turns) => {
                    let load = |e: &mut Self, k: usize| {
                        e.op(format_args!("load ptr, ptr {}", turns.places[k]))
                    };
                    let round = [load(self, 0), load(self, 1)];
                    *turns.round.borrow_mut() = round;
                    let val = Val::Array(turns.here());
                    // A row of a stack stays what it is.
                    match moves && turns.row.is_none() {
                        true => self.hand_over(&turns.array),
                        false => self.retain(&val),
                    }
                    val
                }
                Carry::Target(val) => {
                    self.retain(val);
                    val.clone()
                }
            });
        }
        vals
    }

    /// Where the carries of the next round had best be written, in the round that is written. They are the parameters of the body from one
    /// on.
    pub(super) fn wanted(
        &self,
        carries: &[Carry],
        body: &Function,
        first: usize,
    ) -> Vec<Option<Array>> {
        let there = |(k, carry): (usize, &Carry)| match carry {
            Carry::Turns(turns) => Some(turns.there()),
            // As soon as nobody needs what stands there.
            Carry::Memory(array)
                if !array.varies
                    && array.roomy
                    && self.is_in_arena(array)
                    && !self.is_long(array.ty) =>
            {
                let own = |v: &Value| body.op(*v) == Op::Param((first + k) as u32);
                (!body.results().iter().any(own)).then(|| array.clone())
            }
            _ => None,
        };
        carries.iter().enumerate().map(there).collect()
    }

    /// The results of a round, none of which stands where another one is about to be copied: a part of an array that was made there
    /// may be a result of its own.
    pub(super) fn apart(
        &mut self,
        results: Vec<Val>,
        wanted: &[Option<Array>],
        cx: &Lanes,
    ) -> Vec<Val> {
        let block = |val: &Val| if let Val::Array(array) = val { array.block } else { None };
        let taken: Vec<Option<usize>> = results
            .iter()
            .zip(wanted)
            .map(|(result, place)| match (result, place) {
                (Val::Array(array), Some(place)) if array.base != place.base => place.block,
                _ => None,
            })
            .collect();
        let mut saved = Vec::with_capacity(results.len());
        for (k, result) in results.into_iter().enumerate() {
            let here = block(&result);
            let other = |(j, block): (usize, &Option<usize>)| j != k && *block == here;
            saved.push(match &result {
                Val::Array(array) if here.is_some() && taken.iter().enumerate().any(other) => {
                    let to = self.allocate(array.ty, array.len, array.varies, cx.width);
                    self.copy(array, &to, &Lanes { mask: None, ..cx.clone() });
                    self.release(result);
                    Val::Array(to)
                }
                _ => result,
            });
        }
        saved
    }

    /// An array that stands elsewhere in each round, as it is before the first.
    fn turns(&mut self, from: &Array, stack: Option<&Array>) -> Turns {
        let bytes = from.len * from.element().bytes();
        let (array, row) = match stack {
            Some(stack) => {
                let (ty, len) = (from.ty, from.len);
                (Array { ty, len, roomy: false, rows: None, ..stack.clone() }, Some(bytes))
            }
            None => {
                // Whole vectors are written to the end of either.
                let each = bytes.next_multiple_of(2 * self.vector_bytes);
                let both = self.allocate(from.ty, 2 * each / from.element().bytes(), false, 1);
                let array = Array { len: from.len, ..both };
                self.pin(&array);
                (array, None)
            }
        };
        let all = Lanes::none();
        self.copy(from, &array, &all);
        let first = self.pointer(&array);
        let away = row.unwrap_or(bytes.next_multiple_of(2 * self.vector_bytes));
        let second = self.op(format_args!("getelementptr i8, ptr {first}, i64 {away}"));
        let places = [self.slot("ptr"), self.slot("ptr")];
        for (place, pointer) in places.iter().zip([&first, &second]) {
            self.line(format_args!("store ptr {pointer}, ptr {place}"));
        }
        let next = self.outside(array.base.clone(), array.ty, array.len);
        let next = Array { roomy: array.roomy, ..next };
        Turns { array, places, next, row, round: RefCell::default() }
    }

    /// The array that a round has given, for the next one.
    fn next_turn(&mut self, turns: &Turns, new: &Array, cx: &Lanes) {
        let [here, there] = turns.round.borrow().clone();
        if new.base != turns.at(1) {
            let to = if turns.row.is_some() { turns.there() } else { turns.here() };
            if new.base != to.base {
                self.copy(new, &to, cx);
            }
            if turns.row.is_none() {
                return;
            }
        }
        let after = match turns.row {
            Some(bytes) => self.op(format_args!("getelementptr i8, ptr {there}, i64 {bytes}")),
            None => here,
        };
        for (place, pointer) in turns.places.iter().zip([&there, &after]) {
            self.line(format_args!("store ptr {pointer}, ptr {place}"));
        }
    }

    /// The carries of the next round, in the lanes that count.
    pub(super) fn next(&mut self, carries: &[Carry], results: Vec<Val>, cx: &Lanes) -> Result<()> {
        // A result that stands where another carry does is saved first.
        let mut saved: Vec<Val> = Vec::with_capacity(results.len());
        let bases: Vec<Option<&Array>> = carries
            .iter()
            .zip(&results)
            .map(|(carry, result)| match (carry, result) {
                (Carry::Memory(array), _) => Some(array),
                // What is written elsewhere leaves what was there.
                (Carry::Turns(turns), Val::Array(new)) if new.base != turns.at(1) => {
                    Some(&turns.array)
                }
                _ => None,
            })
            .collect();
        for (k, result) in results.into_iter().enumerate() {
            let crosses = match &result {
                Val::Array(array) => bases.iter().enumerate().any(|(j, base)| {
                    j != k
                        && base
                            .is_some_and(|base| base.block.is_some() && base.block == array.block)
                }),
                _ => false,
            };
            saved.push(match (&result, crosses) {
                (Val::Array(array), true) => {
                    let to = self.allocate(array.ty, array.len, array.varies, cx.width);
                    self.copy(array, &to, &Lanes { mask: None, ..cx.clone() });
                    self.release(result);
                    Val::Array(to)
                }
                _ => result,
            });
        }
        for (carry, result) in carries.iter().zip(saved) {
            match (carry, &result) {
                (Carry::Target(val), result) => {
                    if val != result {
                        return Err(internal("a target that became another"));
                    }
                }
                (Carry::Memory(array), Val::Array(new)) => {
                    if new.base != array.base {
                        self.copy(new, array, cx);
                    }
                }
                (Carry::Turns(turns), Val::Array(new)) => self.next_turn(turns, new, cx),
                (Carry::View { place, .. }, Val::Array(new)) => {
                    let pointer = self.pointer(new);
                    self.line(format_args!("store ptr {pointer}, ptr {place}"));
                }
                (Carry::Slot { place, element, many }, result) => {
                    let lanes = Lanes { width: if *many { cx.width } else { 1 }, mask: None };
                    let ty = llvm_type(*element, lanes.width);
                    if !many && !matches!(result, Val::One(_)) {
                        return Err(internal("a carry that differs from lane to lane"));
                    }
                    let mut x = self.many(result, *element, &lanes);
                    if *many && let Some(mask) = cx.mask.clone() {
                        let before = self.op(format_args!("load {ty}, ptr {place}"));
                        let masks = llvm_type(Element::Bool, cx.width);
                        x = self.op(format_args!("select {masks} {mask}, {ty} {x}, {ty} {before}"));
                    }
                    self.line(format_args!("store {ty} {x}, ptr {place}"));
                }
                _ => return Err(internal("a carry of another kind")),
            }
            self.release(result);
        }
        Ok(())
    }

    /// The carries after the last round.
    pub(super) fn last(&mut self, carries: Vec<Carry>, cx: &Lanes) -> Vec<Val> {
        carries
            .into_iter()
            .map(|carry| match carry {
                Carry::Memory(array) => {
                    self.unpin(&array);
                    Val::Array(array)
                }
                Carry::View { before, .. } => {
                    self.release(before);
                    Val::One("poison".into())
                }
                Carry::Turns(turns) => {
                    let pointer = self.op(format_args!("load ptr, ptr {}", turns.places[0]));
                    let val =
                        Val::Array(Array { base: Base::Pointer(pointer), ..turns.array.clone() });
                    match turns.row {
                        Some(_) => self.retain(&val),
                        None => self.unpin(&turns.array),
                    }
                    val
                }
                other => self.current(&[other], cx, false).remove(0),
            })
            .collect()
    }
}

/// Whether a round makes what it carries as an array of its own: neither what it was given, nor in place of that.
fn makes_anew(body: &Function, k: usize, param: usize) -> bool {
    let result = body.results()[k];
    let last = last_uses(body);
    let carry = |v: Value| body.op(v) == Op::Param(param as u32);
    match body.op(result) {
        Op::Part(_) => {
            let whole = body.operand(result, 0);
            let Some(Structure::Tab { dims, body: inner }) = body.structure(whole) else {
                return false;
            };
            let in_place = |(j, v): (usize, Value)| {
                carry(v)
                    && last[v.index()] == Some(whole)
                    && is_read_at_points(inner, dims.len() + j, dims.len())
            };
            !body.operands(whole).enumerate().any(in_place)
        }
        Op::Elementary(..) | Op::Select => {
            !body.operands(result).any(|v| carry(v) && last[v.index()] == Some(result))
        }
        _ => false,
    }
}
