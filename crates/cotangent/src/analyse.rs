//! What else a function tells when other numbers run through it: bounds, sparsity, counts, faults.

use cotangent_numbers::observe::{Entry, NanReport};
use cotangent_numbers::{
    Counted, Counts, Detection, Dual, Fault, GradientTracer, HessianTracer, Interval, Local,
    Scalar, SetKind, count, fault, hessian_pattern, jacobian_pattern, log, nan_check,
};
use cotangent_sparse::Pattern;

use crate::error::{Error, check_size};
use crate::function::{Context, Differentiable};
use crate::matrix::Matrix;
use crate::operator::sizes;
use crate::point::{Point, Sizes};

/// Calls a function on numbers of any type.
fn call<F: Differentiable, S: Scalar>(f: &F, x: &[S], y: &mut [S], constants: &[f64]) {
    let constants: Vec<S> = constants.iter().map(|c| S::from(*c)).collect();
    call_on(f, x, y, &constants);
}

fn call_on<F: Differentiable, S: Scalar>(f: &F, x: &[S], y: &mut [S], constants: &[S]) {
    let mut cache = vec![S::zero(); f.cache(x.len())];
    y.fill(S::zero());
    f.call(x, y, Context { constants, cache: &mut cache });
}

/// Rigorous bounds of the outputs over a box.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::{Interval, bounds};
///
/// let f = function!(|x: &[S]| -> S { x[0].sin() * x[1] + x[0].powi(2) });
/// let y = bounds(&f, &[Interval::new(0.0, 1.0), Interval::new(2.0, 3.0)])?;
/// assert!(y[0].low() <= 0.0 && y[0].high() >= 1.0_f64.sin() * 3.0 + 1.0);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// A comparison that comes out differently within the box, and an empty box.
pub fn bounds<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, Interval>>,
) -> Result<Vec<Interval>, Error> {
    let at = at.into();
    let sizes = box_sizes(f, at)?;
    let mut y = vec![Interval::from(0.0); sizes.outputs];
    fault::catch(|| call_on(f, at.x, &mut y, at.constants))?;
    Ok(y)
}

/// Rigorous bounds of the Jacobian over a box.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::{Interval, jacobian_bounds};
///
/// // x + sin(x)/2 rises everywhere on [0, 3]: its derivative is positive.
/// let f = function!(|x: &[S]| -> S { x[0] + x[0].sin() * 0.5 });
/// assert!(jacobian_bounds(&f, &[Interval::new(0.0, 3.0)])?[(0, 0)].low() > 0.0);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// As [`bounds`].
pub fn jacobian_bounds<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, Interval>>,
) -> Result<Matrix<Interval>, Error> {
    let at = at.into();
    let sizes = box_sizes(f, at)?;
    let mut jacobian = Matrix::try_filled(sizes.outputs, sizes.inputs, Interval::from(0.0))?;
    let fixed = |x: &[Interval]| x.iter().map(|x| Dual::fixed(*x)).collect::<Vec<_>>();
    let (mut point, constants): (Vec<Dual<Interval, 1>>, _) = (fixed(at.x), fixed(at.constants));
    let mut y = vec![Dual::from(0.0); sizes.outputs];
    fault::catch(|| {
        for j in 0..sizes.inputs {
            point[j].partials[0] = Interval::from(1.0);
            call_on(f, &point, &mut y, &constants);
            point[j].partials[0] = Interval::from(0.0);
            for (i, y) in y.iter().enumerate() {
                jacobian[(i, j)] = y.partials[0];
            }
        }
    })?;
    Ok(jacobian)
}

fn box_sizes<F: Differentiable>(f: &F, at: Point<'_, Interval>) -> Result<Sizes, Error> {
    if let Some(index) = at.x.iter().position(|x| x.is_empty()) {
        return Err(Error::EmptySide { index });
    }
    let middle = |x: &[Interval]| x.iter().map(|x| x.midpoint()).collect::<Vec<f64>>();
    let (x, constants) = (middle(at.x), middle(at.constants));
    sizes(f, Point { x: &x, constants: &constants })
}

/// Runs a function on tracers.
fn trace<F: Differentiable, S: Detection>(
    f: &F,
    at: Point<'_, f64>,
    detect: impl FnOnce(&[f64], usize, &dyn Fn(&[S], &mut [S])) -> Result<Pattern, Fault>,
) -> Result<Pattern, Error> {
    let sizes = sizes(f, at)?;
    // A function that records itself needs a sample point, and tracers have no values to offer.
    fault::catch(|| f.outputs(at.x, at.constants))?;
    Ok(detect(at.x, sizes.outputs, &|x, y| call(f, x, y, at.constants))?)
}

/// The sparsity pattern of the Jacobian, for all inputs: no entry outside it is ever nonzero. Of the
/// point only the length matters (and that it holds no NaN).
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::jacobian_sparsity;
///
/// let f = function!(|x: &[S], y: &mut [S; x.len() - 1]| {
///     for i in 0..y.len() {
///         y[i] = (x[i + 1] - x[i]).powi(2);
///     }
/// });
/// assert_eq!(jacobian_sparsity(&f, &[0.0; 4])?.to_string(), "11··\n·11·\n··11\n");
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// A branch on a value; [`jacobian_sparsity_at`] allows it.
pub fn jacobian_sparsity<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<Pattern, Error> {
    trace(f, at.into(), |x, m, f| jacobian_pattern::<GradientTracer>(SetKind::Sorted, x, m, f))
}

/// The sparsity pattern of the Jacobian at a point: branches go as they do there, and a factor that is
/// zero there cuts a dependence. No entry outside it is nonzero at this very point; nearby, there may
/// be some.
///
/// # Errors
/// What the function raised.
pub fn jacobian_sparsity_at<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<Pattern, Error> {
    trace(f, at.into(), |x, m, f| {
        jacobian_pattern::<Local<GradientTracer>>(SetKind::Sorted, x, m, f)
    })
}

/// The sparsity pattern of the Hessian (of several outputs: of the sum of their Hessians), for all
/// inputs.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::hessian_sparsity;
///
/// let f = function!(|x: &[S]| -> S { x.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<S>() });
/// assert_eq!(hessian_sparsity(&f, &[0.0; 4])?.to_string(), "11··\n111·\n·111\n··11\n");
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// As [`jacobian_sparsity`].
pub fn hessian_sparsity<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<Pattern, Error> {
    trace(f, at.into(), |x, m, f| hessian_pattern::<HessianTracer>(SetKind::Sorted, x, m, f))
}

/// The sparsity pattern of the Hessian at a point, as [`jacobian_sparsity_at`].
///
/// # Errors
/// What the function raised.
pub fn hessian_sparsity_at<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<Pattern, Error> {
    trace(f, at.into(), |x, m, f| hessian_pattern::<Local<HessianTracer>>(SetKind::Sorted, x, m, f))
}

/// How often each operation is performed at a point.
///
/// # Errors
/// What the function raised.
pub fn operations<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<Counts, Error> {
    let at = at.into();
    let sizes = sizes(f, at)?;
    let mut y = vec![Counted::from(0.0); sizes.outputs];
    let ((), counts) = count(at.x, |x| call(f, x, &mut y, at.constants))?;
    Ok(counts)
}

/// The list of operations performed at a point, with operands, results and places in the code.
///
/// # Errors
/// What the function raised.
pub fn operation_log<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<Vec<Entry>, Error> {
    let at = at.into();
    let sizes = sizes(f, at)?;
    let ((), entries) = log(at.x, |x| {
        let mut y = vec![cotangent_numbers::Logged::from(0.0); sizes.outputs];
        call(f, x, &mut y, at.constants);
    })?;
    Ok(entries)
}

/// The first operation at a point that turns finite numbers into NaN or infinity, in the value or in
/// a derivative along all inputs; `None` if there is none.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::find_nan;
///
/// let f = function!(|x: &[S]| -> S { (x[0] - x[1]).sqrt() });
/// // The value is fine at a tie, the derivative is not.
/// let report = find_nan(&f, &[1.0, 1.0])?.unwrap();
/// assert_eq!(report.operation, "sqrt");
/// assert!(find_nan(&f, &[2.0, 1.0])?.is_none());
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// What the function raised.
pub fn find_nan<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<Option<NanReport>, Error> {
    let at = at.into();
    let sizes = sizes(f, at)?;
    for j in 0..sizes.inputs {
        let seed = |i: usize| f64::from(u8::from(i == j));
        let x: Vec<Dual<f64, 1>> =
            at.x.iter().enumerate().map(|(i, v)| Dual::new(*v, [seed(i)])).collect();
        let checked = nan_check(&x, |x| {
            let mut y = vec![cotangent_numbers::NanCheck::from(0.0); sizes.outputs];
            call(f, x, &mut y, at.constants);
        });
        match checked {
            Ok(()) => {}
            Err(Fault::NotFinite(report)) => return Ok(Some(report)),
            Err(fault) => return Err(fault.into()),
        }
    }
    Ok(None)
}

/// The plain outputs at a point.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::evaluate;
///
/// let f = function!(|x: &[S]| -> [S; 2] { [x[0] + x[1], x[0] * x[1]] });
/// assert_eq!(evaluate(&f, &[2.0, 5.0])?, [7.0, 10.0]);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn evaluate<'a, F: Differentiable>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<Vec<f64>, Error> {
    let at = at.into();
    let sizes = sizes(f, at)?;
    check_size("the constants", sizes.constants, at.constants.len(), "")?;
    let mut y = vec![0.0; sizes.outputs];
    fault::catch(|| call(f, at.x, &mut y, at.constants))?;
    Ok(y)
}
