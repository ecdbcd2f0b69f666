//! Like parts as one kernel: what they read, by steps or by tables.

use std::sync::Arc;

use cotangent_ir::{Builder, Dim, Integral, Op, Reducer, Structure, Table, Type, Value};
use cotangent_ops::Opcode;

use super::shape::{Leaf, Part, write};
use crate::body::Body;

/// What bodies over one dimension read.
impl Body {
    /// An element of an array from outside.
    pub(crate) fn element(&mut self, outer: &Builder, array: Value, index: Value) -> Value {
        let array = self.captured(outer, array);
        self.b.load(array, &[index])
    }

    /// An index that goes through places: by steps, or by a table.
    pub(crate) fn through(&mut self, outer: &mut Builder, places: &[i64]) -> Option<Value> {
        let first = self.b.integer(*places.first()?);
        let step = places.get(1).map_or(0, |second| second - places[0]);
        if step == 0 && is_even(places) {
            return Some(first);
        }
        if is_even(places) {
            let step = self.b.integer(step);
            let product = self.b.integral(Integral::Mul, self.indices[0], step);
            return Some(self.b.integral(Integral::Add, product, first));
        }
        let ty = Type::I64.within(&[Dim::Size(places.len())]);
        let table = outer.table(Table::integers(ty, places.to_vec())?);
        Some(self.element(outer, table, self.indices[0]))
    }

    /// What the parts read at one of their leaves.
    fn leaf(
        &mut self,
        outer: &mut Builder,
        arrays: &[Value],
        all: &[Leaf],
        number: Type,
    ) -> Option<Value> {
        let first = *all.first()?;
        let same = all.iter().all(|leaf| *leaf == first);
        let dims = [Dim::Size(all.len())];
        Some(match first {
            Leaf::Constant(op) if same => self.b.copy(op, number, &[]),
            // What a rounded number stands for is lost in a table.
            Leaf::Constant(_) if all.iter().any(Leaf::is_rounded) => return None,
            Leaf::Constant(_) => {
                let numbers: Vec<f64> = all.iter().filter_map(Leaf::number).collect();
                let table = outer.table(Table::numbers(number.within(&dims), &numbers)?);
                self.element(outer, table, self.indices[0])
            }
            Leaf::Scalar(value) if same => self.captured(outer, value),
            Leaf::Scalar(_) => {
                let values: Vec<Value> = all.iter().filter_map(Leaf::scalar).collect();
                let array = listed(outer, &values);
                self.element(outer, array, self.indices[0])
            }
            Leaf::Element { array, .. } => {
                let places: Vec<i64> = all.iter().filter_map(Leaf::place).collect();
                let index = self.through(outer, &places)?;
                self.element(outer, arrays[array as usize], index)
            }
        })
    }
}

impl Leaf {
    fn number(&self) -> Option<f64> {
        match self {
            Leaf::Constant(Op::Constant(bits) | Op::Rounded(bits)) => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }

    fn is_rounded(&self) -> bool {
        matches!(self, Leaf::Constant(Op::Rounded(_)))
    }

    fn scalar(&self) -> Option<Value> {
        match self {
            Leaf::Scalar(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn place(&self) -> Option<i64> {
        match self {
            Leaf::Element { at, .. } => Some(i64::from(*at)),
            _ => None,
        }
    }
}

/// Whether places follow each other by the same step.
pub(super) fn is_even(places: &[i64]) -> bool {
    places.windows(3).all(|three| three[2] - three[1] == three[1] - three[0])
}

/// Values that stand alone, as an array.
fn listed(b: &mut Builder, values: &[Value]) -> Value {
    let ty = b.ty(values[0]).within(&[Dim::Size(values.len())]);
    let start = if ty.is_float() {
        b.constant(0.0, ty)
    } else {
        let no = b.truth(false);
        b.fill(no, ty)
    };
    values.iter().zip(0..).fold(start, |array, (value, k)| {
        let k = b.integer(k);
        b.put(array, *value, &[k])
    })
}

/// Like parts as one kernel: an array of them, or all of them put together by an operation.
pub(super) fn kernel(
    outer: &mut Builder,
    arrays: &[Value],
    parts: &[&Part],
    by: Option<Opcode>,
    number: Type,
) -> Option<Value> {
    let mut body = Body::new(1);
    let mut leaves = Vec::new();
    for k in 0..parts[0].leaves.len() {
        let all: Vec<Leaf> = parts.iter().map(|part| part.leaves[k]).collect();
        leaves.push(body.leaf(outer, arrays, &all, number)?);
    }
    let terms = write(&mut body.b, &parts[0].words, &leaves);
    let value = together(&mut body.b, by.unwrap_or(Opcode::Add), terms)?;
    let Body { b, captures, .. } = body;
    let (dims, body) = (vec![Dim::Size(parts.len())], Arc::new(b.finish(vec![value])));
    let reduced = |reducer| Structure::Red { dims: dims.clone(), reducer, body: body.clone() };
    let structure = match by {
        None => Structure::Tab { dims, body },
        Some(Opcode::Max) => reduced(Reducer::Max),
        Some(Opcode::Min) => reduced(Reducer::Min),
        Some(_) => reduced(Reducer::Sum),
    };
    outer.structure(structure, &captures).first().copied()
}

/// Terms put together by an operation, first to last.
pub(super) fn together(
    b: &mut Builder,
    code: Opcode,
    terms: impl IntoIterator<Item = (bool, Value)>,
) -> Option<Value> {
    let mut terms = terms.into_iter();
    let first = match terms.next()? {
        (true, value) => b.elementary(Opcode::Neg, 0, &[value]),
        (false, value) => value,
    };
    Some(terms.fold(first, |sum, (negative, value)| {
        let code = if negative { Opcode::Sub } else { code };
        b.elementary(code, 0, &[sum, value])
    }))
}
