//! Derivatives of closures at any level.
//!
//! These functions take a closure over dual numbers of a fixed shape, at a point of any number type.
//! They nest: the point of an inner derivative may be an outer dual number, outer values can be used
//! in the closure, and the brand of the dual numbers, a lifetime that is fresh at each call, makes the
//! compiler refuse to mix the numbers of two derivatives.
//!
//! ```
//! use cotangent_numbers::forward::derivative;
//!
//! // d/dx [x · d/dy (x·y) at y = 3] at x = 5 is 2x
//! assert_eq!(derivative(|x| x * derivative(|y| x * y, x.like(3.0)), 5.0), 10.0);
//! ```

use cotangent_ops::Elementary;

use crate::dual::{Branded, Dual};

/// The lanes of a gradient or Jacobian of a closure.
const LANES: usize = 8;

/// The derivative of a function of one variable.
///
/// ```
/// use cotangent_numbers::forward::derivative;
/// assert_eq!(derivative(|x| x * x * x, 2.0), 12.0);
/// ```
///
/// Numbers of an outer derivative do not pass for those of an inner one:
///
/// ```compile_fail
/// use cotangent_numbers::forward::derivative;
/// derivative(|x| x * derivative(|y| x * y, 3.0), 5.0);
/// ```
pub fn derivative<T, F>(f: F, x: T) -> T
where
    T: Elementary,
    F: for<'call> FnOnce(Dual<T, 1, Branded<'call>>) -> Dual<T, 1, Branded<'call>>,
{
    value_and_derivative(f, x).1
}

/// The value and the derivative of a function of one variable.
pub fn value_and_derivative<T, F>(f: F, x: T) -> (T, T)
where
    T: Elementary,
    F: for<'call> FnOnce(Dual<T, 1, Branded<'call>>) -> Dual<T, 1, Branded<'call>>,
{
    let y = f(Dual::variable(x, 0));
    (y.value, y.partials[0])
}

/// The derivative of a function of several variables along a direction.
///
/// ```
/// use cotangent_numbers::forward::directional;
/// assert_eq!(directional(|x| x[0] * x[1], &[2.0, 3.0], &[1.0, 10.0]), 23.0);
/// ```
///
/// # Panics
/// If the point and the direction have different lengths.
pub fn directional<T, F>(f: F, x: &[T], direction: &[T]) -> T
where
    T: Elementary,
    F: for<'call> FnOnce(&[Dual<T, 1, Branded<'call>>]) -> Dual<T, 1, Branded<'call>>,
{
    assert_eq!(x.len(), direction.len(), "the direction has as many entries as the point");
    let x: Vec<_> = x.iter().zip(direction).map(|(x, d)| Dual::new(*x, [*d])).collect();
    f(&x).partials[0]
}

/// The gradient of a function of several variables.
///
/// ```
/// use cotangent_numbers::forward::gradient;
/// assert_eq!(gradient(|x| x[0] * x[1] + x[2], &[2.0, 3.0, 5.0]), [3.0, 2.0, 1.0]);
/// ```
pub fn gradient<T, F>(f: F, x: &[T]) -> Vec<T>
where
    T: Elementary,
    F: for<'call> Fn(&[Dual<T, LANES, Branded<'call>>]) -> Dual<T, LANES, Branded<'call>>,
{
    jacobian(|x| vec![f(x)], x).into_iter().next().unwrap_or_default()
}

/// The Jacobian of a function of several variables, row by row.
///
/// ```
/// use cotangent_numbers::forward::jacobian;
/// let rows = jacobian(|x| vec![x[0] * x[1], x[0].sin()], &[0.0, 3.0]);
/// assert_eq!(rows, [[3.0, 0.0], [1.0, 0.0]]);
/// ```
pub fn jacobian<T, F>(f: F, x: &[T]) -> Vec<Vec<T>>
where
    T: Elementary,
    F: for<'call> Fn(&[Dual<T, LANES, Branded<'call>>]) -> Vec<Dual<T, LANES, Branded<'call>>>,
{
    let mut rows: Vec<Vec<T>> = Vec::new();
    let mut point: Vec<_> = x.iter().map(|x| Dual::fixed(*x)).collect();
    // A function of nothing still has as many rows as outputs.
    let starts = (0..x.len().max(1)).step_by(LANES);
    for start in starts {
        let lanes = start..(start + LANES).min(x.len());
        for i in lanes.clone() {
            point[i].partials[i - start] = T::one();
        }
        let y = f(&point);
        rows.resize_with(y.len(), || vec![T::zero(); x.len()]);
        for (row, y) in rows.iter_mut().zip(&y) {
            row[lanes.clone()].copy_from_slice(&y.partials[..lanes.len()]);
        }
        for i in lanes {
            point[i].partials[i - start] = T::zero();
        }
    }
    rows
}
