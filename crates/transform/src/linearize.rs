//! Forward mode: tangents beside the values.

use cotangent_ir::{Builder, Function, Numbers, Op, Param, Traced, Type, Value};
use cotangent_numbers::Elementary;
use cotangent_ops::{Binary, Opcode, Partial, Ternary, Unary, Visitor};

use crate::error::TransformError;

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
    f.verify()?;
    let ty = float_type(f)?;
    let mut b = Builder::new(format!("{}.fwd", f.name()));
    // What was linear is an ordinary value now: only the newest tangents are linear.
    let params: Vec<Value> = f.params().iter().map(|p| b.param(p.name.clone(), p.ty)).collect();
    let tangent_params: Vec<Option<Value>> = f
        .params()
        .iter()
        .map(|p| {
            let moving = p.ty.is_float() && moves(p);
            moving.then(|| b.linear_param(format!("d{}", p.name), p.ty))
        })
        .collect();
    let (values, tangents) = b.numbers(ty, |numbers| {
        let mut values: Vec<Value> = Vec::with_capacity(f.len());
        let mut tangents: Vec<Option<Value>> = Vec::with_capacity(f.len());
        for value in f.values() {
            let args: Vec<Value> = f.operands(value).collect();
            let mapped: Vec<Value> = args.iter().map(|v| values[v.index()]).collect();
            let moving: Vec<Option<Value>> = args.iter().map(|v| tangents[v.index()]).collect();
            let (copy, tangent) = match f.op(value) {
                Op::Param(k) => (params[k as usize], tangent_params[k as usize]),
                op => {
                    let copy = numbers.build(|b| b.copy(op, f.ty(value), &mapped));
                    (copy, tangent_of(op, &mapped, copy, &moving, numbers, ty))
                }
            };
            values.push(copy);
            tangents.push(tangent);
        }
        (values, tangents)
    })?;
    for guard in f.guards() {
        b.guard(values[guard.condition.index()], guard.expected);
    }
    let mut results: Vec<Value> = f.results().iter().map(|v| values[v.index()]).collect();
    for result in f.results().iter().filter(|v| f.ty(**v).is_float()) {
        results.push(tangents[result.index()].unwrap_or_else(|| b.constant(0.0, ty)));
    }
    Ok(b.finish(results))
}

/// The type of the numbers among the parameters.
pub(crate) fn float_type(f: &Function) -> Result<Type, TransformError> {
    let mut types = f.values().map(|v| f.ty(v)).filter(|ty| ty.is_float());
    let first = types.next().unwrap_or(Type::F64);
    if types.all(|ty| ty == first) {
        Ok(first)
    } else {
        Err(TransformError::Mixed { function: f.name().to_string() })
    }
}

/// The tangent of an operation; none if it is zero for all points.
fn tangent_of(
    op: Op,
    args: &[Value],
    result: Value,
    moving: &[Option<Value>],
    numbers: &Numbers,
    ty: Type,
) -> Option<Value> {
    if moving.iter().all(Option::is_none) {
        return None;
    }
    match op {
        Op::Elementary(code, parameter) => {
            let tangent = elementary(code, parameter, args, result, moving, numbers);
            tangent.map(|t| numbers.place(t))
        }
        Op::Select => numbers.build(|b| {
            let zero = b.constant(0.0, ty);
            Some(b.select(args[0], moving[1].unwrap_or(zero), moving[2].unwrap_or(zero)))
        }),
        _ => None,
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
