//! Forward mode: tangents beside the values.

use cotangent_ir::{Builder, Element, Function, Numbers, Param, Traced, Type, Value};
use cotangent_numbers::Elementary;
use cotangent_ops::{Binary, Opcode, Partial, Ternary, Unary, Visitor};
use smallvec::smallvec;

use crate::collected::collected;
use crate::decisions::needed;
use crate::error::TransformError;
use crate::expand::{Along, Expansion, Moved, float_element, write};
use crate::lower::lower;
use crate::rewrite::{by_its_rule, check_rule, ordinary, zeros_like};

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
    let f = &by_its_rule(lower(f)?);
    f.verify()?;
    let element = float_element(f)?;
    // What was linear is an ordinary value now: only the newest tangents are linear.
    let f = &ordinary(f);
    let mut b = Builder::new(format!("{}.fwd", f.name()));
    let params: Vec<Value> = f.params().iter().map(|p| b.param(p.name.clone(), p.ty)).collect();
    let tangent = Tangent { element };
    let tangents: Vec<Option<Along>> = f
        .params()
        .iter()
        .zip(moves)
        .map(|(p, moves)| moves.then(|| tangent.params(&mut b, &p.name, p.ty)))
        .collect();
    let Moved { mut values, along } = write(f, &mut b, &params, &tangents, &tangent)?;
    for (k, along) in along.into_iter().enumerate() {
        if f.ty(f.results()[k]).is_float() {
            let along = along.unwrap_or_else(|| tangent.zeros(&mut b, values[k]));
            values.extend(along);
        }
    }
    Ok(collected(&needed(&b.finish(values))))
}

/// A tangent beside each value.
pub(crate) struct Tangent {
    pub(crate) element: Element,
}

impl Expansion for Tangent {
    fn width(&self) -> usize {
        1
    }

    fn element(&self) -> Element {
        self.element
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn param(&self, b: &mut Builder, name: &str, _: usize, ty: Type) -> Value {
        b.linear_param(format!("d{name}"), ty)
    }

    fn elementary(
        &self,
        b: &mut Builder,
        (code, parameter): (Opcode, i32),
        args: &[Value],
        result: Value,
        moving: &[Option<Along>],
    ) -> Result<Option<Along>, TransformError> {
        let tangent = b.coefficients(Type::scalar(self.element), |numbers| {
            let tangent = elementary(code, parameter, args, result, moving, numbers);
            tangent.map(|t| numbers.place(t))
        })?;
        Ok(tangent.map(|t| smallvec![t]))
    }

    fn by_rule(
        &self,
        b: &mut Builder,
        function: &Function,
        rule: &Function,
        args: &[Value],
        moving: &[Option<Along>],
    ) -> Result<Vec<Option<Along>>, TransformError> {
        let numbers = fitting(function, rule)?;
        // It is linear in the tangents, so it is its own derivative by them: what does not move is left out.
        let mut all: Vec<Value> = args.to_vec();
        all.extend(numbers.iter().map(|k| zeros_like(b, args[*k])));
        let mut along: Vec<Option<Along>> = vec![None; args.len()];
        along.extend(numbers.iter().map(|k| moving[*k].clone()));
        let found = write(&ordinary(rule), b, &all, &along, self)?.along;
        Ok(by_result(function, found))
    }
}

/// The parameters of a function that are numbers, if a rule fits it.
pub(crate) fn fitting(function: &Function, rule: &Function) -> Result<Vec<usize>, TransformError> {
    let params = function.params();
    let numbers: Vec<usize> = (0..params.len()).filter(|k| params[*k].ty.is_float()).collect();
    let gives = function.results().iter().filter(|v| function.ty(**v).is_float()).count();
    let wants = params.len() + numbers.len();
    if rule.params().len() != wants || rule.results().len() != gives {
        let (function, rule) = (function.name().to_string(), rule.name().to_string());
        return Err(TransformError::Rule { function, rule, wants, gives });
    }
    check_rule(rule, params.len())?;
    Ok(numbers)
}

/// By result of a function: what a rule gives for those that are numbers.
pub(crate) fn by_result(function: &Function, found: Vec<Option<Along>>) -> Vec<Option<Along>> {
    let mut found = found.into_iter();
    let number = |v: &Value| function.ty(*v).is_float();
    let results = function.results().iter();
    results.map(|v| if number(v) { found.next().flatten() } else { None }).collect()
}

fn elementary(
    code: Opcode,
    parameter: i32,
    args: &[Value],
    result: Value,
    moving: &[Option<Along>],
    numbers: &Numbers,
) -> Option<Traced> {
    let mut x = [numbers.number(result); 3];
    let mut t = [None; 3];
    for (k, (arg, tangent)) in args.iter().zip(moving).enumerate() {
        x[k] = numbers.number(*arg);
        t[k] = tangent.as_ref().map(|v| numbers.number(v[0]));
    }
    code.visit(parameter, Slope { x, y: numbers.number(result), t })
}

/// The rule of an operation, written down by the numbers it is run on.
struct Slope {
    x: [Traced; 3],
    y: Traced,
    t: [Option<Traced>; 3],
}

impl Slope {
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

impl Visitor for Slope {
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
