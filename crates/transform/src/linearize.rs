//! Forward mode: tangents beside the values.

use cotangent_ir::{Builder, Copied, Element, Function, Numbers, Op, Param, Traced, Type, Value};
use cotangent_numbers::Elementary;
use cotangent_ops::{Binary, Opcode, Partial, Ternary, Unary, Visitor};

use crate::error::TransformError;
use crate::lower::lower;
use crate::rewrite::{ordinary, zeros_like};

/// The function with a tangent for every number among its parameters (linear parameters, behind the
/// others), and the tangents of its numbers behind its results.
///
/// A tangent that is zero for all points is not computed.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::linearize;
///
/// let f = parse("fn @f(%x: f64) -> f64 { %r = exp %x ret %r }").unwrap();
/// let d = linearize(&f).unwrap();
/// assert_eq!(d.to_string(), "\
/// fn @f.fwd(%x: f64, %dx: lin f64) -> (f64, f64) {
///   %0 = exp %x
///   %1 = strong_mul %dx, %0
///   ret %0, %1
/// }
/// ");
/// ```
///
/// # Errors
/// A function that is not well formed, or mixes singles and doubles.
pub fn linearize(f: &Function) -> Result<Function, TransformError> {
    linearize_to(f, |_| true)
}

/// [`linearize`] with tangents of some parameters only; the others do not move.
///
/// # Errors
/// As [`linearize`].
pub fn linearize_to(
    f: &Function,
    moves: impl Fn(&Param) -> bool,
) -> Result<Function, TransformError> {
    let moves: Vec<bool> = f.params().iter().map(|p| p.ty.is_float() && moves(p)).collect();
    linearize_some(f, &moves)
}

/// [`linearize`] with tangents of the parameters that are marked.
pub(crate) fn linearize_some(f: &Function, moves: &[bool]) -> Result<Function, TransformError> {
    let f = &lower(f)?;
    f.verify()?;
    let element = float_element(f)?;
    // What was linear is an ordinary value now: only the newest tangents are linear.
    let f = &ordinary(f);
    let mut b = Builder::new(format!("{}.fwd", f.name()));
    let params: Vec<Value> = f.params().iter().map(|p| b.param(p.name.clone(), p.ty)).collect();
    let tangents: Vec<Option<Value>> = f
        .params()
        .iter()
        .zip(moves)
        .map(|(p, moves)| moves.then(|| b.linear_param(format!("d{}", p.name), p.ty)))
        .collect();
    let Moved { mut values, tangents } = write(f, &mut b, &params, &tangents, element)?;
    for (k, tangent) in tangents.into_iter().enumerate() {
        if f.ty(f.results()[k]).is_float() {
            values.push(tangent.unwrap_or_else(|| zeros_like(&mut b, values[k])));
        }
    }
    Ok(b.finish(values))
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

/// The results of a function and their tangents; none for those that are zero at all points.
pub(crate) struct Moved {
    pub(crate) values: Vec<Value>,
    pub(crate) tangents: Vec<Option<Value>>,
}

/// Writes a function with tangents into another one, given its arguments and their tangents.
pub(crate) fn write(
    f: &Function,
    b: &mut Builder,
    args: &[Value],
    tangents: &[Option<Value>],
    element: Element,
) -> Result<Moved, TransformError> {
    let mut writer = Writer {
        f,
        element,
        copies: Copied::new(f.len()),
        tangents: vec![None; f.len()],
        parts: vec![Vec::new(); f.len()],
    };
    for value in f.values() {
        match f.op(value) {
            Op::Param(k) => {
                writer.copies.set(value, args[k as usize]);
                writer.tangents[value.index()] = tangents[k as usize];
            }
            Op::Structure(_) => writer.structure(b, value)?,
            Op::Part(k) => {
                writer.copies.value(b, f, value, args);
                let whole = &writer.parts[f.operand(value, 0).index()];
                writer.tangents[value.index()] = whole.get(k as usize).copied().flatten();
            }
            op => {
                writer.copies.value(b, f, value, args);
                writer.tangents[value.index()] = writer.tangent(b, op, value)?;
            }
        }
    }
    for guard in f.guards() {
        b.guard(writer.copies.of(guard.condition), guard.expected);
    }
    Ok(Moved {
        values: f.results().iter().map(|v| writer.copies.of(*v)).collect(),
        tangents: f.results().iter().map(|v| writer.tangents[v.index()]).collect(),
    })
}

/// A function that is being written with its tangents.
pub(crate) struct Writer<'f> {
    pub(crate) f: &'f Function,
    pub(crate) element: Element,
    pub(crate) copies: Copied,
    pub(crate) tangents: Vec<Option<Value>>,
    /// Of operations with bodies: the tangents of the parts.
    pub(crate) parts: Vec<Vec<Option<Value>>>,
}

impl Writer<'_> {
    /// The copies of the operands of a value, and their tangents; none for those that are zero.
    pub(crate) fn operands(&self, b: &Builder, value: Value) -> (Vec<Value>, Vec<Option<Value>>) {
        let tangent = |v: Value| self.tangents[v.index()].filter(|t| !b.function().is_zero(*t));
        self.f.operands(value).map(|v| (self.copies.of(v), tangent(v))).unzip()
    }

    /// The tangent of an operation without a body; none if it is zero at all points.
    fn tangent(
        &self,
        b: &mut Builder,
        op: Op,
        value: Value,
    ) -> Result<Option<Value>, TransformError> {
        let ty = self.f.ty(value);
        let (args, moving) = self.operands(b, value);
        if !ty.is_float() || moving.iter().all(Option::is_none) {
            return Ok(None);
        }
        let or_zero =
            |b: &mut Builder, k: usize| moving[k].unwrap_or_else(|| zeros_like(b, args[k]));
        let tangent = match op {
            Op::Elementary(code, parameter) => {
                let result = self.copies.of(value);
                let ty = Type::scalar(self.element);
                b.numbers(ty, |numbers| {
                    let tangent = elementary(code, parameter, &args, result, &moving, numbers);
                    tangent.map(|t| numbers.place(t))
                })?
            }
            Op::Select => {
                let zero = b.constant(0.0, Type::scalar(self.element));
                Some(b.select(args[0], moving[1].unwrap_or(zero), moving[2].unwrap_or(zero)))
            }
            Op::Cast => moving[0].map(|t| b.cast(t, ty.element())),
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
            // What is not listed has no derivative: integers, truth values, `stop`.
            _ => None,
        };
        // A scalar that moves an array moves all of it.
        Ok(tangent.map(|t| b.fill(t, ty)))
    }
}

fn elementary(
    code: Opcode,
    parameter: i32,
    args: &[Value],
    result: Value,
    moving: &[Option<Value>],
    numbers: &Numbers,
) -> Option<Traced> {
    let mut x = [numbers.number(result); 3];
    let mut t = [None; 3];
    for (k, (arg, tangent)) in args.iter().zip(moving).enumerate() {
        x[k] = numbers.number(*arg);
        t[k] = tangent.map(|v| numbers.number(v));
    }
    code.visit(parameter, Tangent { x, y: numbers.number(result), t })
}

/// The rule of an operation, written down by the numbers it is run on.
struct Tangent {
    x: [Traced; 3],
    y: Traced,
    t: [Option<Traced>; 3],
}

impl Tangent {
    /// The tangent times a partial; the partial is only asked for if there is a tangent.
    fn term(&self, k: usize, partial: impl FnOnce() -> Partial<Traced>) -> Option<Traced> {
        let tangent = self.t[k]?;
        let term = partial().times(tangent);
        (!term.vanishes()).then_some(term)
    }
}

fn sum(terms: impl IntoIterator<Item = Option<Traced>>) -> Option<Traced> {
    terms.into_iter().flatten().reduce(|a, b| a + b)
}

impl Visitor for Tangent {
    type Output = Option<Traced>;

    fn unary<O: Unary>(self, op: O) -> Option<Traced> {
        self.term(0, || op.d(self.x[0], self.y))
    }

    fn binary<O: Binary>(self, op: O) -> Option<Traced> {
        let [x, y, _] = self.x;
        let z = self.y;
        sum([self.term(0, || op.d1(x, y, z)), self.term(1, || op.d2(x, y, z))])
    }

    fn ternary<O: Ternary>(self, op: O) -> Option<Traced> {
        let [x, y, z] = self.x;
        let [d, e, f] = op.d(x, y, z, self.y);
        sum([self.term(0, || d), self.term(1, || e), self.term(2, || f)])
    }
}
