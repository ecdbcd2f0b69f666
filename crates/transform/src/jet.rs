//! Taylor mode: series in the place of numbers.

use cotangent_ir::{Builder, Function, Numbers, Room, Traced, Type, Value};
use cotangent_numbers::Jet;

use crate::error::TransformError;
use crate::linearize::float_element;

/// The highest order that is written down.
const MOST: usize = 12;

/// The function on Taylor series: for each number among its parameters the coefficients up to an order
/// (`%x`, `%x.1`, `%x.2`, …), and for each number among its results the same.
///
/// The series rules of the table write themselves down, as the partials do in forward mode.
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
/// An order that is not written down, a truth value among the parameters, a function that is not well
/// formed or mixes singles and doubles.
pub fn jet(f: &Function, order: usize) -> Result<Function, TransformError> {
    macro_rules! of_order {
        ($($order:literal)*) => {
            match order {
                $($order => of_length::<{ $order + 1 }>(f),)*
                _ => Err(TransformError::Order { order, most: MOST }),
            }
        };
    }
    of_order!(1 2 3 4 5 6 7 8 9 10 11 12)
}

/// Series of L coefficients.
fn of_length<const L: usize>(f: &Function) -> Result<Function, TransformError> {
    f.verify()?;
    let ty = Type::scalar(float_element(f)?);
    let mut b = Builder::new(format!("{}.jet", f.name()));
    let params: Vec<[Value; L]> = f
        .params()
        .iter()
        .map(|p| {
            std::array::from_fn(|k| match k {
                0 => b.param(p.name.clone(), p.ty),
                k => b.param(format!("{}.{k}", p.name), p.ty),
            })
        })
        .collect();
    let written = b.numbers(ty, |numbers| write(f, &params, numbers))?;
    let (results, guards) = written?;
    for (condition, expected) in guards {
        b.guard(condition, expected);
    }
    Ok(b.finish(results))
}

type Written = (Vec<Value>, Vec<(Value, bool)>);

fn write<const L: usize>(
    f: &Function,
    params: &[[Value; L]],
    numbers: &Numbers,
) -> Result<Written, TransformError> {
    let x: Vec<Jet<Traced, L>> =
        params.iter().map(|p| Jet { coefficients: p.map(|v| numbers.number(v)) }).collect();
    let mut room = Room::default();
    f.run_unguarded(&x, &mut room)?;
    let mut results = Vec::new();
    for result in f.results() {
        if f.ty(*result).is_float() {
            results.extend(room.number(*result).coefficients.map(|c| numbers.place(c)));
        } else {
            results.push(numbers.place_mask(room.mask(*result)));
        }
    }
    let guards = f.guards().iter();
    let guards = guards.map(|g| (numbers.place_mask(room.mask(g.condition)), g.expected)).collect();
    Ok((results, guards))
}
