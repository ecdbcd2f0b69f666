//! Operations without bodies, on scalars and on arrays element by element.

use cotangent_ir::{Dim, Element, Op, Type, Value};

use super::value::{Array, Target, Val, number};
use super::{Emitter, Failure, Frame, Lanes, Result, internal};
use crate::JitError;

impl Emitter<'_> {
    /// A value that is no parameter, no structure and no part of one.
    pub(super) fn operation(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        cx: &Lanes,
    ) -> Result<Val> {
        let f = frame.f;
        let (op, ty) = (f.op(value), f.ty(value));
        Ok(match op {
            Op::Constant(bits) | Op::Rounded(bits) => {
                Val::One(number(f64::from_bits(bits), ty.element()))
            }
            Op::Truth(truth) => Val::One(truth.to_string()),
            Op::Integer(c) => Val::int(c),
            Op::Table(_) => self.table(frame, value)?,
            Op::Extent(k) => match f.ty(f.operand(value, 0)).dims()[k as usize] {
                Dim::Size(n) => Val::int(n as i64),
                _ => match frame.get(f.operand(value, 0))? {
                    Val::Array(Array { rows: Some(rows), .. }) => Val::One(rows.clone()),
                    _ => return Err(JitError::Unsupported("an array of unknown length".into())),
                },
            },
            Op::Fill => {
                let len = self.known(ty)?;
                let x = frame.get(f.operand(value, 0))?.clone();
                let varies = !matches!(x, Val::One(_));
                let to = self.allocate_for(frame, value, (ty, len), cx, varies);
                self.fill(&to, &x, cx)?;
                Val::Array(to)
            }
            Op::Load => {
                let operands: Vec<Value> = f.operands(value).collect();
                let Val::Array(array) = frame.get(operands[0])?.clone() else {
                    return Err(internal("a load from no array"));
                };
                let of = (f.ty(operands[0]), array.rows.as_ref());
                let place = self.place(frame, of, &operands[1..], cx)?;
                match ty.is_scalar() {
                    true => self.load(&array, &place, cx),
                    false => {
                        let len = self.known(ty)?;
                        self.part_of(&array, &place, (ty, len), cx)?
                    }
                }
            }
            Op::Put => self.put(frame, value, false, cx)?,
            Op::PutAdd => self.put(frame, value, true, cx)?,
            Op::Argsort => self.argsort(frame, value, cx)?,
            Op::Stop | Op::Keep | Op::Recompute => {
                let val = frame.get(f.operand(value, 0))?.clone();
                self.retain(&val);
                val
            }
            _ if ty.is_scalar() => {
                let operands: Vec<Value> = f.operands(value).collect();
                let mut vals = Vec::with_capacity(operands.len());
                for operand in &operands {
                    vals.push(frame.get(*operand)?.clone());
                }
                // A number among the targets of an accumulation is added to.
                if let Some(k) = vals.iter().position(|v| matches!(v, Val::Target(_))) {
                    let Val::Target(target) = vals[k].clone() else {
                        return Err(internal("no target"));
                    };
                    let other =
                        vals.get(1 - k).cloned().ok_or_else(|| internal("a target alone"))?;
                    if op != Op::Elementary(cotangent_ops::Opcode::Add, 0) {
                        return Err(internal("a target that is not added to"));
                    }
                    self.add_number(&target, &other, cx)?;
                    return Ok(Val::Target(target));
                }
                let from: Vec<Element> = operands.iter().map(|v| f.ty(*v).element()).collect();
                if self.marked
                    && matches!(op, Op::Compare(_))
                    && operands.iter().any(|v| f.op(*v) == Op::Keep)
                {
                    self.require_order(&vals, from[0], f.name(), cx);
                }
                let chained = cx.width == 1 && self.is_chained(frame, value);
                let contracts = self.contracts;
                self.contracts &= !chained;
                let x = self.pointwise(op, &vals, &from, ty.element(), cx);
                self.contracts = contracts;
                x?
            }
            _ => self.elementwise(frame, value, op, ty, cx)?,
        })
    }

    /// Stops the run where one of some numbers is NaN.
    fn require_order(&mut self, vals: &[Val], element: Element, function: &str, cx: &Lanes) {
        let [x, y] = vals else { return };
        let one = matches!((x, y), (Val::One(_), Val::One(_)));
        let lanes = if one { Lanes::none() } else { cx.clone() };
        let (a, b) = (self.many(x, element, &lanes), self.many(y, element, &lanes));
        let ty = super::llvm_type(element, lanes.width);
        let ordered = self.op(format_args!("fcmp ord {ty} {a}, {b}"));
        let ordered = if one { Val::One(ordered) } else { Val::Many(ordered) };
        let failure = Failure::Undefined { function: function.to_string() };
        self.require(&ordered, true, failure, cx);
    }

    fn elementwise(
        &mut self,
        frame: &mut Frame<'_>,
        value: Value,
        op: Op,
        ty: Type,
        cx: &Lanes,
    ) -> Result<Val> {
        let f = frame.f;
        let len = self.known(ty)?;
        let operands: Vec<Value> = f.operands(value).collect();
        let mut vals = Vec::with_capacity(operands.len());
        for operand in &operands {
            vals.push(frame.get(*operand)?.clone());
        }
        let from: Vec<Element> = operands.iter().map(|v| f.ty(*v).element()).collect();
        if let Some(k) = vals.iter().position(|v| matches!(v, Val::Target(_))) {
            let Val::Target(target) = vals[k].clone() else { return Err(internal("no target")) };
            let other = vals.get(1 - k).cloned().ok_or_else(|| internal("a target alone"))?;
            if op != Op::Elementary(cotangent_ops::Opcode::Add, 0) {
                return Err(internal("a target that is not added to"));
            }
            let (Target::Shared(array) | Target::Own(array)) = target.clone() else {
                return Err(internal("a number that is an array"));
            };
            self.each(len, |e, k| {
                let x = e.element_of(&other, k, cx);
                e.add_at(&array, k, &x, cx)
            })?;
            let target = Val::Target(target);
            self.retain(&target);
            return Ok(target);
        }
        let varies = vals.iter().any(|v| match v {
            Val::Array(array) => array.varies,
            Val::One(_) => false,
            _ => true,
        });
        let widest = from.iter().chain([&ty.element()]).map(|e| self.width(*e)).min().unwrap_or(1);
        if !varies && self.is_short(frame, ty, len) {
            let place = self.short_place(frame, value, (&operands, &vals), ty);
            if place.is_some() || self.place_of(frame, value).is_none() {
                return self.short(&vals, &from, (op, ty, len), widest, place);
            }
        }
        // In place of an operand that nobody needs any more.
        let own = operands.iter().zip(&vals).find_map(|(operand, val)| match val {
            Val::Array(array)
                if Self::dies(frame, *operand, value)
                    && self.is_alone(array)
                    && array.varies == varies
                    && array.element().bytes() == ty.element().bytes()
                    && array.len == len
                    && !frame.dests.contains_key(&value) =>
            {
                Some(array.clone())
            }
            _ => None,
        });
        let to = match own {
            Some(array) => {
                self.retain(&Val::Array(array.clone()));
                Array { ty, ..array }
            }
            None => self.allocate_for(frame, value, (ty, len), cx, varies),
        };
        let inner = if varies { cx.clone() } else { Lanes { width: 1, mask: None } };
        self.side_by_side(len, widest, &inner, |e, k, cx| {
            let mut args = Vec::with_capacity(vals.len());
            for val in &vals {
                args.push(e.element_of(val, k, cx));
            }
            let x = e.pointwise(op, &args, &from, ty.element(), cx)?;
            e.store(&to, k, &x, cx);
            Ok(())
        })?;
        Ok(Val::Array(to))
    }

    fn argsort(&mut self, frame: &mut Frame<'_>, value: Value, cx: &Lanes) -> Result<Val> {
        let (f, ty) = (frame.f, frame.f.ty(value));
        let Val::Array(array) = frame.get(f.operand(value, 0))?.clone() else {
            return Err(internal("an order of no array"));
        };
        if array.varies {
            return Err(JitError::Unsupported(
                "`argsort` of its own at each point of a kernel".into(),
            ));
        }
        let len = self.known(ty)?;
        let to = self.allocate_for(frame, value, (ty, len), cx, false);
        let (x, out) = (self.pointer(&array), self.pointer(&to));
        let name = match array.element() {
            Element::F32 => "cotangent_argsort_f32",
            _ => "cotangent_argsort_f64",
        };
        self.call("void", name, &[("i64", &len.to_string()), ("ptr", &x), ("ptr", &out)]);
        Ok(Val::Array(to))
    }
}
