//! Rules of arrays and indices: what is loaded, put, known by its range.

use cotangent_ir::ranges::{decided, picked, range};
use cotangent_ir::{Builder, Function, Integral, Op, Reducer, Structure, Type, Value};
use cotangent_ops::Opcode;

use crate::options::Class;
use crate::pattern::{integer, number};
use crate::rewrite::Rewriter;
use crate::stats::{formula, pending};

/// Whether two places differ for certain.
fn differ(f: &Function, rewriter: &Rewriter<'_>, a: &[Value], b: &[Value]) -> bool {
    // i + m as (i, m)
    let split = |v: Value| match f.op(v) {
        Op::Integral(Integral::Add) => match integer(f, f.operand(v, 1)) {
            Some(c) => (Some(f.operand(v, 0)), c),
            None => (Some(v), 0),
        },
        Op::Integer(c) => (None, c),
        _ => (Some(v), 0),
    };
    a.iter().zip(b).any(|(a, b)| {
        let ((base, c), (other, d)) = (split(*a), split(*b));
        if base == other {
            return c != d;
        }
        match (range(f, *a, &rewriter.ranges), range(f, *b, &rewriter.ranges)) {
            (Some((a, b)), Some((c, d))) => b < c || d < a,
            _ => false,
        }
    })
}

impl Rewriter<'_> {
    /// Rules of loads and puts.
    pub(crate) fn access(
        &mut self,
        b: &mut Builder,
        op: Op,
        ty: Type,
        operands: &[Value],
    ) -> Option<Value> {
        let (name, new) = match op {
            Op::Load => self.load(b, ty, operands)?,
            Op::Put | Op::PutAdd => self.put(b, op, operands)?,
            Op::Cast => cast(b.function(), ty, operands[0])?,
            _ => return None,
        };
        self.tally.count(name, || (pending(b, op, operands), formula(b.function(), new, 3)));
        Some(new)
    }

    /// The bits of the number that a loop keeps in every round, if it is one that is known.
    pub(crate) fn element(&self, f: &Function, array: Value) -> Option<u64> {
        match f.op(array) {
            Op::Param(k) => self.elements.get(k as usize).copied().flatten(),
            Op::Part(k) => match f.structure(f.operand(array, 0))? {
                Structure::For { carries, body } if k as usize >= *carries => {
                    match body.op(*body.results().get(k as usize)?) {
                        Op::Constant(bits) => Some(bits),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn load(
        &mut self,
        b: &mut Builder,
        ty: Type,
        operands: &[Value],
    ) -> Option<(&'static str, Value)> {
        let (array, indices) = operands.split_first()?;
        let f = b.function();
        let source = f.op(*array);
        if let Some(bits) = self.element(f, *array)
            && ty.is_scalar()
        {
            return Some(("load_of_equal_rows", b.constant(f64::from_bits(bits), ty)));
        }
        if !matches!(source, Op::Put | Op::PutAdd) {
            return None;
        }
        let inner: Vec<Value> = f.operands(*array).collect();
        let (before, value, place) = (inner[0], inner[1], &inner[2..]);
        if differ(f, self, place, indices) {
            let all: Vec<Value> = std::iter::once(before).chain(indices.iter().copied()).collect();
            return Some(("load_beside_put", self.emit(b, Op::Load, ty, &all)));
        }
        if !indices.starts_with(place) {
            return None;
        }
        let rest: Vec<Value> =
            std::iter::once(value).chain(indices[place.len()..].iter().copied()).collect();
        let own = if rest.len() == 1 { value } else { self.emit(b, Op::Load, ty, &rest) };
        if source == Op::Put {
            return Some(("load_of_put", own));
        }
        let all: Vec<Value> = std::iter::once(before).chain(indices.iter().copied()).collect();
        let old = self.emit(b, Op::Load, ty, &all);
        let add = Op::Elementary(Opcode::Add, 0);
        Some(("load_of_put_add", self.emit(b, add, ty, &[old, own])))
    }

    fn put(
        &mut self,
        b: &mut Builder,
        op: Op,
        operands: &[Value],
    ) -> Option<(&'static str, Value)> {
        let f = b.function();
        let (array, value, place) = (operands[0], operands[1], &operands[2..]);
        if op == Op::PutAdd {
            let zero = number(f, value).map(f64::to_bits);
            let exact = zero == Some((-0.0f64).to_bits());
            if exact || zero == Some(0) && self.tally.options.allows(Class::Zero) {
                return Some(("put_add_zero", array));
            }
            // Two additions at one place are not one: they would be added in another order.
            return None;
        }
        if f.op(value) == Op::Load {
            let loaded: Vec<Value> = f.operands(value).collect();
            if loaded[0] == array && loaded[1..] == *place {
                return Some(("put_of_own_load", array));
            }
        }
        if f.op(array) == Op::Put || f.op(array) == Op::PutAdd {
            let inner: Vec<Value> = f.operands(array).collect();
            if inner[2..] == *place {
                let (ty, before) = (b.ty(array), inner[0]);
                let all: Vec<Value> =
                    [before, value].into_iter().chain(place.iter().copied()).collect();
                return Some(("put_of_put", self.emit(b, Op::Put, ty, &all)));
            }
        }
        None
    }

    /// What the range of an integer decides.
    pub(crate) fn by_range(
        &mut self,
        b: &mut Builder,
        op: Op,
        ty: Type,
        operands: &[Value],
    ) -> Option<Value> {
        let [x, y] = operands else { return None };
        if !ty.is_scalar() || !b.ty(*x).element().is_integer() {
            return None;
        }
        let f = b.function();
        let (a, c) = (range(f, *x, &self.ranges)?, range(f, *y, &self.ranges)?);
        let (name, new) = match op {
            Op::Compare(comparison) => {
                let truth = decided(comparison, a, c)?;
                ("compare_by_range", b.truth(truth))
            }
            Op::Integral(Integral::Rem) if a.0 >= 0 && a.1 < c.0 => ("irem_by_range", *x),
            Op::Integral(Integral::Div) if a.0 >= 0 && a.1 < c.0 => {
                ("idiv_by_range", b.integer_of(0, ty))
            }
            Op::Integral(integral) => {
                let first = picked(integral, a, c)?;
                let name =
                    if integral == Integral::Min { "imin_by_range" } else { "imax_by_range" };
                (name, if first { *x } else { *y })
            }
            _ => return None,
        };
        self.tally.count(name, || (pending(b, op, operands), formula(b.function(), new, 3)));
        Some(new)
    }

    /// Kernels that are something simpler.
    pub(crate) fn kernel(
        &mut self,
        b: &mut Builder,
        structure: &Structure,
        operands: &[Value],
    ) -> Option<Vec<Value>> {
        match structure {
            Structure::Tab { dims, body } => {
                // Every result the same everywhere, or an array as it is.
                let simple: Option<Vec<Value>> = body
                    .results()
                    .iter()
                    .map(|result| {
                        let ty = body.ty(*result).within(dims);
                        if let Some(scalar) = outside(b, body, *result, dims.len(), operands) {
                            return b.ty(scalar).is_scalar().then(|| b.fill(scalar, ty));
                        }
                        let loaded: Vec<Value> = body.operands(*result).collect();
                        let copy = body.op(*result) == Op::Load
                            && loaded.len() == dims.len() + 1
                            && (0..dims.len())
                                .all(|k| body.op(loaded[k + 1]) == Op::Param(k as u32));
                        let array = outside(b, body, *loaded.first()?, dims.len(), operands)?;
                        (copy && b.ty(array) == ty).then_some(array)
                    })
                    .collect();
                let parts = simple?;
                self.tally.structural("simple_tab", "tab", "fill or the array itself");
                Some(parts)
            }
            Structure::Red { dims, reducer, body } => {
                let result = *body.results().first()?;
                let value = outside(b, body, result, dims.len(), operands)?;
                let zero = b.function().is_zero(value);
                let points = dims.iter().try_fold(1usize, |n, dim| match dim {
                    cotangent_ir::Dim::Size(m) => n.checked_mul(*m),
                    _ => None,
                });
                let one = points == Some(1);
                let some = points.is_some_and(|n| n > 0);
                let same = match reducer {
                    Reducer::Sum => zero || one,
                    Reducer::Product => one,
                    Reducer::Max | Reducer::Min => some,
                    Reducer::ArgMax | Reducer::ArgMin => false,
                };
                if !same {
                    return None;
                }
                self.tally.structural("simple_red", "red of one value", "the value");
                Some(vec![value])
            }
            _ => None,
        }
    }
}

/// A value of a body as one outside: a capture or a constant.
fn outside(
    b: &mut Builder,
    body: &Function,
    value: Value,
    own: usize,
    operands: &[Value],
) -> Option<Value> {
    match body.op(value) {
        Op::Param(k) => operands.get((k as usize).checked_sub(own)?).copied(),
        op if op.is_constant() => Some(b.copy(op, body.ty(value), &[])),
        Op::Fill if body.op(body.operand(value, 0)).is_constant() => {
            let scalar = body.operand(value, 0);
            let scalar = b.copy(body.op(scalar), body.ty(scalar), &[]);
            Some(b.fill(scalar, body.ty(value)))
        }
        _ => None,
    }
}

/// A single as a double and back is what it was.
fn cast(f: &Function, ty: Type, x: Value) -> Option<(&'static str, Value)> {
    if f.op(x) != Op::Cast {
        return None;
    }
    let source = f.operand(x, 0);
    let (from, between) = (f.ty(source).element(), f.ty(x).element());
    let wider = from.is_float() == between.is_float()
        && from.is_integer() == between.is_integer()
        && from.bytes() < between.bytes();
    (f.ty(source) == ty && wider).then_some(("cast_back", source))
}
