//! The forward Laplacian: value, gradient and the sum of second derivatives in one pass, without a Hessian.

use cotangent_ir::{Builder, Function, Numbers, Traced, Type, Value};
use cotangent_numbers::Collapsed;

use crate::error::TransformError;
use crate::linearize::float_element;
use crate::lower::lower;

/// The most numbers among the parameters.
const MOST: usize = 32;

/// The function with the Laplacian of each number among its results behind them: the sum of the second
/// derivatives by all numbers among the parameters.
///
/// Slopes and the sum of second derivatives go through the function together with its values (the collapsed
/// Taylor mode of order two). Loops and kernels are written out.
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
/// More than 32 numbers among the parameters, dimensions without sizes, a branch on a value where there is no
/// value, a function that is not well formed or mixes singles and doubles.
pub fn laplacian(f: &Function) -> Result<Function, TransformError> {
    let f = &lower(f)?;
    f.verify()?;
    let inputs = f.params().iter().map(|p| if p.ty.is_float() { p.ty.len() } else { Some(0) });
    let Some(inputs) = inputs.sum::<Option<usize>>() else {
        let symbol = f.symbols().first().map_or("?", |s| s).to_string();
        let function = f.name().to_string();
        return Err(TransformError::Run(cotangent_ir::RunError::Symbol { function, symbol }));
    };
    macro_rules! of_width {
        ($($width:literal)*) => {
            match inputs {
                $(n if n <= $width => of_directions::<$width>(f),)*
                directions => {
                    let function = f.name().to_string();
                    Err(TransformError::Directions { function, directions, most: MOST })
                }
            }
        };
    }
    // Directions that nothing moves along cost nothing: their slopes are zero at all points.
    of_width!(4 8 16 32)
}

fn of_directions<const N: usize>(f: &Function) -> Result<Function, TransformError> {
    let ty = Type::scalar(float_element(f)?);
    let mut b = Builder::new(format!("{}.lap", f.name()));
    let params = b.params_of(
        &f.params()
            .iter()
            .map(|p| {
                let mut p = p.clone();
                p.linear = false;
                p
            })
            .collect::<Vec<_>>(),
    );
    // Arrays by their elements: what the numbers stand for.
    let mut inputs = Vec::new();
    for (param, value) in f.params().iter().zip(&params) {
        let len = param.ty.len().unwrap_or(0);
        for k in 0..len {
            let entry = element(&mut b, *value, param.ty, k);
            inputs.push((entry, param.ty.is_float()));
        }
    }
    let results = b.numbers(ty, |numbers| write::<N>(f, &inputs, numbers))??;
    let mut all = Vec::new();
    let mut seconds = Vec::new();
    let mut rest = results.into_iter();
    for result in f.results() {
        let ty = f.ty(*result);
        let entries: Vec<(Value, Value)> = rest.by_ref().take(ty.len().unwrap_or(0)).collect();
        all.push(gathered(&mut b, ty, entries.iter().map(|(value, _)| *value)));
        if ty.is_float() {
            seconds.push(gathered(&mut b, ty, entries.iter().map(|(_, second)| *second)));
        }
    }
    all.extend(seconds);
    Ok(b.finish(all))
}

/// An element of an array by its number; a scalar is its only one.
fn element(b: &mut Builder, array: Value, ty: Type, number: usize) -> Value {
    let mut rest = number;
    let mut indices = Vec::new();
    for k in 0..ty.dims().len() {
        let inner = ty.after(k + 1).len().unwrap_or(1).max(1);
        indices.push(b.integer((rest / inner) as i64));
        rest %= inner;
    }
    b.load(array, &indices)
}

/// An array of given elements.
fn gathered(b: &mut Builder, ty: Type, entries: impl Iterator<Item = Value>) -> Value {
    let mut entries = entries.peekable();
    if ty.is_scalar() {
        return entries.next().unwrap_or_else(|| b.constant(0.0, ty));
    }
    let mut array = b.constant(0.0, ty);
    for (number, entry) in entries.enumerate() {
        let mut rest = number;
        let mut indices = Vec::new();
        for k in 0..ty.dims().len() {
            let inner = ty.after(k + 1).len().unwrap_or(1).max(1);
            indices.push(b.integer((rest / inner) as i64));
            rest %= inner;
        }
        array = b.put(array, entry, &indices);
    }
    array
}

type Written = Vec<(Value, Value)>;

fn write<const N: usize>(
    f: &Function,
    inputs: &[(Value, bool)],
    numbers: &Numbers,
) -> Result<Written, TransformError> {
    let mut direction = 0;
    let x: Vec<Collapsed<Traced, N>> = inputs
        .iter()
        .map(|(value, moves)| {
            let value = numbers.number(*value);
            if *moves {
                direction += 1;
                Collapsed::variable(value, direction - 1)
            } else {
                Collapsed::fixed(value)
            }
        })
        .collect();
    let found = f.run(&x)?;
    Ok(found.iter().map(|y| (numbers.place(y.value), numbers.place(y.second))).collect())
}
