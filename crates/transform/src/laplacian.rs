//! Second derivatives along many directions, summed on the way: the forward Laplacian and its kin.

use cotangent_ir::{Builder, Element, Function, Traced, Type, Value};
use cotangent_numbers::Collapsed;
use cotangent_ops::{Apply, Lift, Opcode};

use crate::decisions::needed;
use crate::error::TransformError;
use crate::expand::{Along, Expansion, Moved, float_element, nonzero, write};
use crate::jet::{Series, expanded};
use crate::linearize::{by_result, fitting};
use crate::lower::lower;
use crate::rewrite::{by_its_rule, ordinary, zeros_like};

/// The most directions that go through a function together.
const MOST: usize = 32;

/// The function with derivatives along so many directions and their second derivatives summed.
///
/// For each number or array of numbers among its parameters it takes, behind it, its slope along each direction
/// (`%x.1`, `%x.2`, …) and a second derivative (`%x.s`, mostly zero); it gives the same for its results:
/// Df·vₖ for each direction vₖ, and Σₖ D²f[vₖ, vₖ] + Df·s. With the columns of σ as directions that is the
/// second-order operator tr(σσᵀ∇²f), in one pass and without a Hessian (the collapsed Taylor mode of order two).
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::collapsed;
///
/// let f = parse("fn @f(%x: f64) -> f64 { %r = powi{3} %x ret %r }").unwrap();
/// // At 2 along 1 and along 10: f″ = 12, so 12 + 1200.
/// assert_eq!(collapsed(&f, 2).unwrap().run(&[2.0, 1.0, 10.0, 0.0]).unwrap(), [8.0, 12.0, 120.0, 1212.0]);
/// ```
///
/// # Errors
/// No direction or more than 32, a function that is not well formed or mixes singles and doubles.
pub fn collapsed(f: &Function, directions: usize) -> Result<Function, TransformError> {
    let f = &ordinary(&by_its_rule(lower(f)?));
    f.verify()?;
    if !(1..=MOST).contains(&directions) {
        let function = f.name().to_string();
        return Err(TransformError::Directions { function, directions, most: MOST });
    }
    expanded(f, &Second { directions, element: float_element(f)? }, "second")
}

/// The function with the Laplacian of each number among its results behind them: the sum of the second
/// derivatives by all numbers among the parameters, array by array.
///
/// Slopes and the sum of second derivatives go through the function together with its values, 32 directions
/// at a time. Loops and kernels stay what they are.
///
/// ```
/// use cotangent_ir::parse;
/// use cotangent_transform::laplacian;
///
/// let f = parse("fn @f(%x: f64, %y: f64) -> f64 { %a = powi{3} %x %r = mul %a, %y ret %r }").unwrap();
/// assert_eq!(laplacian(&f).unwrap().run(&[2.0, 5.0]).unwrap(), [40.0, 60.0]);
/// ```
///
/// # Errors
/// Dimensions without sizes, a function that is not well formed or mixes singles and doubles.
pub fn laplacian(f: &Function) -> Result<Function, TransformError> {
    let f = &ordinary(&by_its_rule(lower(f)?));
    f.verify()?;
    let element = float_element(f)?;
    let mut b = Builder::new(format!("{}.lap", f.name()));
    let args = b.params_of(f.params());
    // A direction for each number: its parameter and its place there.
    let mut all = Vec::new();
    for (k, p) in f.params().iter().enumerate().filter(|(_, p)| p.ty.is_float()) {
        let Some(len) = p.ty.len() else {
            let symbol = f.symbols().first().map_or("?", |s| s).to_string();
            let function = f.name().to_string();
            return Err(TransformError::Run(cotangent_ir::RunError::Symbol { function, symbol }));
        };
        all.extend((0..len).map(|place| (k, place)));
    }
    let mut values: Vec<Value> = Vec::new();
    let mut seconds: Vec<Option<Value>> = vec![None; f.results().len()];
    // At least once, for the values.
    let count = all.len().div_ceil(MOST).max(1);
    for chunk in (0..count).map(|k| &all[k * MOST..all.len().min((k + 1) * MOST)]) {
        let second = Second { directions: chunk.len(), element };
        let along: Vec<Option<Along>> = f
            .params()
            .iter()
            .enumerate()
            .map(|(k, p)| {
                let moves = chunk.iter().any(|(param, _)| *param == k);
                moves.then(|| {
                    let mut unit = |(param, place): &(usize, usize)| match *param == k {
                        true => unit(&mut b, p.ty, *place),
                        false => b.constant(0.0, p.ty),
                    };
                    let mut slopes: Along = chunk.iter().map(&mut unit).collect();
                    slopes.push(b.constant(0.0, p.ty));
                    slopes
                })
            })
            .collect();
        let moved = write(f, &mut b, &args, &along, &second)?;
        values = moved.values;
        for (sum, along) in seconds.iter_mut().zip(moved.along) {
            let Some(more) = along.and_then(|along| along.last().copied()) else { continue };
            *sum = Some(match *sum {
                None => more,
                Some(sum) => b.elementary(Opcode::Add, 0, &[sum, more]),
            });
        }
    }
    let mut results = values.clone();
    for (value, second) in values.iter().zip(seconds) {
        if b.ty(*value).is_float() {
            results.push(second.unwrap_or_else(|| zeros_like(&mut b, *value)));
        }
    }
    Ok(needed(&b.finish(results)))
}

/// One at a place of an array, zero elsewhere.
fn unit(b: &mut Builder, ty: Type, place: usize) -> Value {
    let mut rest = place;
    let mut indices = Vec::new();
    for k in 0..ty.dims().len() {
        let inner = ty.after(k + 1).len().unwrap_or(1).max(1);
        indices.push(b.integer((rest / inner) as i64));
        rest %= inner;
    }
    let one = b.constant(1.0, Type::scalar(ty.element()));
    let zeros = b.constant(0.0, ty);
    b.put(zeros, one, &indices)
}

/// Slopes along directions, and the sum of the second derivatives.
struct Second {
    directions: usize,
    element: Element,
}

impl Expansion for Second {
    fn width(&self) -> usize {
        self.directions + 1
    }

    fn element(&self) -> Element {
        self.element
    }

    fn param(&self, b: &mut Builder, name: &str, k: usize, ty: Type) -> Value {
        let last = k == self.directions;
        b.param(if last { format!("{name}.s") } else { format!("{name}.{}", k + 1) }, ty)
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
        Ok(b.coefficients(Type::scalar(self.element), |numbers| {
            let number = |k: usize| {
                let value = numbers.number(args[k.min(args.len() - 1)]);
                // Directions that nothing moves along cost nothing: their slopes are zero at all points.
                let mut x = Collapsed::<Traced, MOST>::fixed(value);
                if let Some((second, slopes)) = moving.get(k).and_then(|along| along.split_last()) {
                    let or_zero =
                        |v: &Option<Value>| v.map_or(Traced::lift(0.0), |v| numbers.number(v));
                    x.slopes.iter_mut().zip(slopes).for_each(|(slope, v)| *slope = or_zero(v));
                    x.second = or_zero(second);
                }
                x
            };
            let y = code.visit(parameter, Apply([0, 1, 2].map(number)));
            let beside: Vec<Traced> =
                y.slopes[..self.directions].iter().copied().chain([y.second]).collect();
            let moves = !beside.iter().all(|c| c.vanishes());
            moves.then(|| beside.iter().map(|c| numbers.place(*c)).collect())
        })?)
    }

    /// D²f[v, v] is how fast the rule changes along v, for the tangent v.
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
        let first = Series::new(1, self.element)?;
        let tangents = |b: &mut Builder, direction: usize| -> Vec<Value> {
            let of = |k: &usize| match &moving[*k] {
                Some(along) => along[direction],
                None => zeros_like(b, args[*k]),
            };
            numbers.iter().map(of).collect()
        };
        let last = tangents(b, self.directions);
        let all: Vec<Value> = args.iter().chain(&last).copied().collect();
        let mut seconds = b.inline(rule, &all);
        let mut found: Vec<Along> = vec![Along::new(); seconds.len()];
        for direction in 0..self.directions {
            let along = tangents(b, direction);
            let all: Vec<Value> = args.iter().chain(&along).copied().collect();
            let beside: Vec<Option<Along>> = moving
                .iter()
                .map(|along| along.as_ref().map(|along| [along[direction]].into()))
                .chain(numbers.iter().map(|_| None))
                .collect();
            let Moved { values, along } = write(rule, b, &all, &beside, &first)?;
            for (k, (slope, bend)) in values.into_iter().zip(along).enumerate() {
                found[k].push(slope);
                if let Some(bend) = bend {
                    seconds[k] = b.elementary(Opcode::Add, 0, &[seconds[k], bend[0]]);
                }
            }
        }
        found.iter_mut().zip(seconds).for_each(|(along, second)| along.push(second));
        Ok(by_result(function, found.into_iter().map(Some).collect()))
    }
}
