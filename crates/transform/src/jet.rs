//! Taylor mode: series in the place of numbers.

use cotangent_ir::{Builder, Element, Function, MOST_ORDER, Numbers, Traced, Type, Value};
use cotangent_numbers::{Fault, expand};
use cotangent_ops::{Apply, Lift, Opcode};

use crate::decisions::needed;
use crate::error::TransformError;
use crate::expand::{Along, Expansion, Moved, float_element, nonzero, write};
use crate::linearize::{by_result, fitting};
use crate::lower::lower;
use crate::rewrite::{by_its_rule, ordinary, zeros_like};

/// The function on Taylor series: for each number or array of numbers among its parameters the coefficients up
/// to an order (`%x`, `%x.1`, `%x.2`, …), and for each among its results the same.
///
/// The series rules of the table write themselves down, as the partials do in forward mode. Loops, kernels and
/// branches stay what they are.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::jet;
///
/// let f = parse("fn @f(%x: f64) -> f64 { %r = exp %x ret %r }").unwrap();
/// let series = jet(&f, 3).unwrap();
/// // exp(t) = 1 + t + t²/2 + t³/6
/// assert_eq!(series.run(&[0.0, 1.0, 0.0, 0.0]).unwrap(), [1.0, 1.0, 0.5, 1.0 / 6.0]);
/// ```
///
/// # Errors
/// An order that is not written down, a function that is not well formed or mixes singles and doubles.
pub fn jet(f: &Function, order: usize) -> Result<Function, TransformError> {
    let f = &ordinary(&by_its_rule(lower(f)?));
    f.verify()?;
    let series = Series::new(order, float_element(f)?)?;
    expanded(f, &series, "jet")
}

/// The function with what goes beside each of its numbers behind it.
pub(crate) fn expanded(
    f: &Function,
    expansion: &dyn Expansion,
    suffix: &str,
) -> Result<Function, TransformError> {
    let mut b = Builder::new(format!("{}.{suffix}", f.name()));
    let (mut args, mut along) = (Vec::new(), Vec::new());
    for p in f.params() {
        args.push(b.param(p.name.clone(), p.ty));
        along.push(p.ty.is_float().then(|| expansion.params(&mut b, &p.name, p.ty)));
    }
    let Moved { values, along } = write(f, &mut b, &args, &along, expansion)?;
    let mut results = Vec::new();
    for (value, along) in values.into_iter().zip(along) {
        results.push(value);
        if b.ty(value).is_float() {
            results.extend(along.unwrap_or_else(|| expansion.zeros(&mut b, value)));
        }
    }
    Ok(needed(&b.finish(results)))
}

/// The coefficients of a series behind its first one.
pub(crate) struct Series {
    order: usize,
    element: Element,
}

impl Series {
    /// Series up to an order.
    ///
    /// # Errors
    /// An order that is not written down.
    pub(crate) fn new(order: usize, element: Element) -> Result<Self, TransformError> {
        match order {
            1..=MOST_ORDER => Ok(Series { order, element }),
            _ => Err(TransformError::Order { order, most: MOST_ORDER }),
        }
    }
}

impl Expansion for Series {
    fn width(&self) -> usize {
        self.order
    }

    fn element(&self) -> Element {
        self.element
    }

    fn param(&self, b: &mut Builder, name: &str, k: usize, ty: Type) -> Value {
        b.param(format!("{name}.{}", k + 1), ty)
    }

    fn elementary(
        &self,
        b: &mut Builder,
        (code, parameter): (Opcode, i32),
        args: &[Value],
        _: Value,
        moving: &[Option<Along>],
    ) -> Result<Option<Along>, TransformError> {
        let moving = &nonzero(b, moving);
        let series = |numbers: &Numbers, k: usize| -> Vec<Traced> {
            let Some(value) = args.get(k) else { return Vec::new() };
            let beside = moving[k].iter();
            let beside = beside.map(|c| c.map_or(Traced::lift(0.0), |c| numbers.number(c)));
            std::iter::once(numbers.number(*value)).chain(beside).collect()
        };
        let rows = b.coefficients(Type::scalar(self.element), |numbers| {
            let [x, y, z] = [0, 1, 2].map(|k| series(numbers, k));
            let rows = expand(self.order, &[&x, &y, &z], |x| {
                vec![code.visit(parameter, Apply([x[0], x[1], x[2]]))]
            })?;
            let beside = &rows[0][1..];
            let moves = !beside.iter().all(|c| c.vanishes());
            Ok::<_, Fault>(moves.then(|| beside.iter().map(|c| numbers.place(*c)).collect()))
        })?;
        Ok(rows?)
    }

    /// The rule gives the speed of the results for that of the arguments, so its series of one order less,
    /// integrated, is theirs.
    fn by_rule(
        &self,
        b: &mut Builder,
        function: &Function,
        rule: &Function,
        args: &[Value],
        moving: &[Option<Along>],
    ) -> Result<Vec<Option<Along>>, TransformError> {
        let numbers = fitting(function, rule)?;
        let rule = &ordinary(rule);
        let mut all: Vec<Value> = args.to_vec();
        let mut along: Vec<Option<Along>> = moving
            .iter()
            .map(|along| along.as_ref().map(|along| along[..self.order - 1].into()))
            .collect();
        for k in numbers {
            // Σ xⱼ tʲ has the speed Σ j xⱼ tʲ⁻¹.
            let speed: Option<Along> = moving[k].as_ref().map(|along| {
                along.iter().enumerate().map(|(j, c)| scaled(b, *c, (j + 1) as f64)).collect()
            });
            all.push(speed.as_ref().map_or_else(|| zeros_like(b, args[k]), |speed| speed[0]));
            along.push(speed.map(|speed| speed[1..].into()));
        }
        let found: Vec<Along> = if self.order == 1 {
            b.inline(rule, &all).into_iter().map(|v| [v].into()).collect()
        } else {
            let lower = Series { order: self.order - 1, element: self.element };
            let Moved { values, along } = write(rule, b, &all, &along, &lower)?;
            values
                .into_iter()
                .zip(along)
                .map(|(value, along)| {
                    let rest = along.unwrap_or_else(|| lower.zeros(b, value));
                    [value].into_iter().chain(rest).collect()
                })
                .collect()
        };
        let integrated = |speed: Along| -> Along {
            speed.iter().enumerate().map(|(j, c)| divided(b, *c, (j + 1) as f64)).collect()
        };
        let found: Vec<Option<Along>> = found.into_iter().map(integrated).map(Some).collect();
        Ok(by_result(function, found))
    }
}

fn scaled(b: &mut Builder, x: Value, by: f64) -> Value {
    let c = b.constant(by, Type::scalar(b.ty(x).element()));
    b.elementary(Opcode::Mul, 0, &[x, c])
}

fn divided(b: &mut Builder, x: Value, by: f64) -> Value {
    let c = b.constant(by, Type::scalar(b.ty(x).element()));
    b.elementary(Opcode::Div, 0, &[x, c])
}
