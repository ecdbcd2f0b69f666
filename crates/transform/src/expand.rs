//! Functions written with something beside each value that moves: a tangent, the higher coefficients of a
//! series, slopes with a second derivative. What goes beside is an [`Expansion`].

use cotangent_ir::{Builder, Copied, Element, Function, Op, Type, Value};
use cotangent_ops::Opcode;
use smallvec::SmallVec;

use crate::error::TransformError;
use crate::rewrite::zeros_like;

/// What goes beside a value that moves: as many values of its type as the expansion is wide.
pub(crate) type Along = SmallVec<[Value; 1]>;

/// What goes beside values, and how operations hand it on.
///
/// All but the operations of the table and functions with a rule of their own do the same with whatever it
/// is: they are linear in it.
pub(crate) trait Expansion {
    /// How many values go beside one.
    fn width(&self) -> usize;

    /// Whether they are linear in the text: tangents, to be turned around.
    fn is_linear(&self) -> bool {
        false
    }

    /// A parameter for the k-th of them.
    fn param(&self, b: &mut Builder, name: &str, k: usize, ty: Type) -> Value;

    /// What goes beside the result of an operation of the table; none if it is zero at all points.
    ///
    /// # Errors
    /// What the numbers raised that wrote the rule down.
    fn elementary(
        &self,
        b: &mut Builder,
        op: (Opcode, i32),
        args: &[Value],
        result: Value,
        moving: &[Option<Along>],
    ) -> Result<Option<Along>, TransformError>;

    /// What goes beside the results of a function with a rule of its own.
    ///
    /// # Errors
    /// A rule that does not fit.
    fn by_rule(
        &self,
        b: &mut Builder,
        function: &Function,
        rule: &Function,
        args: &[Value],
        moving: &[Option<Along>],
    ) -> Result<Vec<Option<Along>>, TransformError>;

    /// What the numbers are made of.
    fn element(&self) -> Element;

    /// Parameters for all that goes beside a value.
    fn params(&self, b: &mut Builder, name: &str, ty: Type) -> Along {
        (0..self.width()).map(|k| self.param(b, name, k, ty)).collect()
    }

    /// Zeros beside a value.
    fn zeros(&self, b: &mut Builder, value: Value) -> Along {
        let zero = zeros_like(b, value);
        (0..self.width()).map(|_| zero).collect()
    }
}

/// By operand: what goes beside it without what is zero at all points; nothing if it does not move.
pub(crate) fn nonzero(b: &Builder, moving: &[Option<Along>]) -> Vec<Vec<Option<Value>>> {
    let of = |along: &Along| -> Vec<Option<Value>> {
        along.iter().map(|v| Some(*v).filter(|v| !b.function().is_zero(*v))).collect()
    };
    moving.iter().map(|along| along.as_ref().map(of).unwrap_or_default()).collect()
}

/// What the numbers of a function are made of, bodies included.
pub(crate) fn float_element(f: &Function) -> Result<Element, TransformError> {
    fn collect(f: &Function, found: &mut Vec<Element>) {
        for value in f.values() {
            let ty = f.ty(value);
            if ty.is_float() && !found.contains(&ty.element()) {
                found.push(ty.element());
            }
            if let Some(structure) = f.structure(value) {
                structure.bodies().for_each(|body| collect(body, found));
            }
        }
    }
    let mut found = Vec::new();
    collect(f, &mut found);
    match found[..] {
        [] => Ok(Element::F64),
        [one] => Ok(one),
        _ => Err(TransformError::Mixed { function: f.name().to_string() }),
    }
}

/// The results of a function and what goes beside them; none beside those for which it is zero at all points.
pub(crate) struct Moved {
    pub(crate) values: Vec<Value>,
    pub(crate) along: Vec<Option<Along>>,
}

/// Writes a function with what goes beside it into another one, given its arguments and what goes beside them.
pub(crate) fn write(
    f: &Function,
    b: &mut Builder,
    args: &[Value],
    along: &[Option<Along>],
    expansion: &dyn Expansion,
) -> Result<Moved, TransformError> {
    let mut writer = Writer {
        f,
        expansion,
        copies: Copied::new(f.len()),
        along: vec![None; f.len()],
        parts: vec![Vec::new(); f.len()],
    };
    for value in f.values() {
        match f.op(value) {
            Op::Param(k) => {
                writer.copies.set(value, args[k as usize]);
                writer.along[value.index()].clone_from(&along[k as usize]);
            }
            Op::Structure(_) => writer.structure(b, value)?,
            Op::Part(k) => {
                writer.copies.value(b, f, value, args);
                let whole = &writer.parts[f.operand(value, 0).index()];
                writer.along[value.index()] = whole.get(k as usize).cloned().flatten();
            }
            op => {
                writer.copies.value(b, f, value, args);
                writer.along[value.index()] = writer.beside(b, op, value)?;
            }
        }
    }
    for guard in f.guards() {
        b.guard(writer.copies.of(guard.condition), guard.expected);
    }
    Ok(Moved {
        values: f.results().iter().map(|v| writer.copies.of(*v)).collect(),
        along: f.results().iter().map(|v| writer.along[v.index()].clone()).collect(),
    })
}

/// A function that is being written with what goes beside it.
pub(crate) struct Writer<'f> {
    pub(crate) f: &'f Function,
    pub(crate) expansion: &'f dyn Expansion,
    pub(crate) copies: Copied,
    pub(crate) along: Vec<Option<Along>>,
    /// Of operations with bodies: what goes beside the parts.
    pub(crate) parts: Vec<Vec<Option<Along>>>,
}

impl Writer<'_> {
    /// The copies of the operands of a value, and what goes beside them; none where it is zero.
    pub(crate) fn operands(&self, b: &Builder, value: Value) -> (Vec<Value>, Vec<Option<Along>>) {
        let moves = |along: &Along| along.iter().any(|t| !b.function().is_zero(*t));
        let along = |v: Value| self.along[v.index()].clone().filter(moves);
        self.f.operands(value).map(|v| (self.copies.of(v), along(v))).unzip()
    }

    /// What goes beside an operation without a body; none if it is zero at all points.
    fn beside(
        &self,
        b: &mut Builder,
        op: Op,
        value: Value,
    ) -> Result<Option<Along>, TransformError> {
        let ty = self.f.ty(value);
        let (args, moving) = self.operands(b, value);
        if !ty.is_float() || moving.iter().all(Option::is_none) {
            return Ok(None);
        }
        let along = if let Op::Elementary(code, parameter) = op {
            let result = self.copies.of(value);
            self.expansion.elementary(b, (code, parameter), &args, result, &moving)?
        } else {
            let mut along = Along::new();
            for k in 0..self.expansion.width() {
                let of: Vec<Option<Value>> =
                    moving.iter().map(|along| along.as_ref().map(|along| along[k])).collect();
                along.extend(linear(b, op, ty, &args, &of));
            }
            Some(along).filter(|along| !along.is_empty())
        };
        // A scalar that moves an array moves all of it.
        Ok(along.map(|along| along.iter().map(|t| b.fill(*t, ty)).collect()))
    }
}

/// The tangent of an operation that is linear; none of one that has no derivative: integers, truth values,
/// `stop`.
fn linear(
    b: &mut Builder,
    op: Op,
    ty: Type,
    args: &[Value],
    moving: &[Option<Value>],
) -> Option<Value> {
    let or_zero = |b: &mut Builder, k: usize| moving[k].unwrap_or_else(|| zeros_like(b, args[k]));
    match op {
        Op::Select => {
            let zero = b.constant(0.0, Type::scalar(ty.element()));
            Some(b.select(args[0], moving[1].unwrap_or(zero), moving[2].unwrap_or(zero)))
        }
        Op::Cast => moving[0].map(|t| b.cast(t, ty.element())),
        // Marks are of the values.
        Op::Keep | Op::Recompute => moving[0],
        Op::Fill => moving[0].map(|t| b.fill(t, ty)),
        Op::Load => moving[0].map(|t| b.load(t, &args[1..])),
        Op::Put => {
            let (array, value) = (or_zero(b, 0), or_zero(b, 1));
            Some(b.put(array, value, &args[2..]))
        }
        Op::PutAdd => match moving[1] {
            None => moving[0],
            Some(t) => {
                let array = or_zero(b, 0);
                Some(b.put_add(array, t, &args[2..]))
            }
        },
        _ => None,
    }
}
