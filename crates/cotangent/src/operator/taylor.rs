//! Taylor coefficients along a line, to any order.

use cotangent_numbers::{Expansion, Jet, Line, fault};

use super::{Prepared, Workspace, sizes};
use crate::backend::Buffers;
use crate::error::{Error, check_size};
use crate::function::{Arity, Context, Differentiable, One};
use crate::point::{Point, Real, ScalarPoint, Sizes, check_numbers};

/// The highest order: a product then costs 2³¹ operations.
const MOST: usize = 65_535;

/// The Taylor coefficients of a function of one variable: of f(x + t), from the value to `order`.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x| x.exp());
/// let c = taylor(&f, 0.0, 4)?;
/// assert_eq!(c, [1.0, 1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0]);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// NaN in the point, and what the function raised.
pub fn taylor<'a, F, T>(
    f: &F,
    at: impl Into<ScalarPoint<'a, T>>,
    order: usize,
) -> Result<Vec<<F::Output as Arity>::Of<T>>, Error>
where
    F: Differentiable<Input = One>,
    T: Real,
{
    let at = at.into();
    let rows = taylor_along(f, at.point(), &[T::one()], order)?;
    Ok((0..=order).map(|k| F::Output::of(rows.iter().map(|row| row[k]).collect())).collect())
}

/// The Taylor coefficients of f(x + t·direction), from the value to `order`, one row an output.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> S { x[0] * x[1] });
/// // (2 + t)(3 + 10t)
/// assert_eq!(taylor_along(&f, &[2.0, 3.0], &[1.0, 10.0], 3)?, [[6.0, 23.0, 10.0, 0.0]]);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// Sizes, NaN, and what the function raised.
pub fn taylor_along<'a, F, T>(
    f: &F,
    at: impl Into<Point<'a, T>>,
    direction: &[T],
    order: usize,
) -> Result<Vec<Vec<T>>, Error>
where
    F: Differentiable,
    T: Real,
{
    let at = at.into();
    prepare_taylor(f, at, order)?.taylor(at, direction)
}

/// The Taylor coefficients of f(x + t·direction), in place, row by row.
///
/// # Errors
/// As [`taylor_along`].
pub fn taylor_into<'a, F, T>(
    f: &F,
    at: impl Into<Point<'a, T>>,
    direction: &[T],
    order: usize,
    coefficients: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_taylor(f, at, order)?;
    prepared.taylor_into(at, direction, coefficients, &mut prepared.fresh())
}

/// Prepares Taylor coefficients of a function up to an order, at points of the size of `at`.
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn prepare_taylor<'a, F, T>(
    f: F,
    at: impl Into<Point<'a, T>>,
    order: usize,
) -> Result<PreparedTaylor<F, T>, Error>
where
    F: Differentiable,
    T: Real,
{
    let at = at.into();
    if order > MOST {
        return Err(Error::TaylorOrder { order, most: MOST });
    }
    let sizes = sizes(&f, at)?;
    Ok(PreparedTaylor { prepared: Prepared::new(f, at), sizes, order })
}

/// Taylor coefficients that have been prepared.
#[derive(Debug)]
pub struct PreparedTaylor<F, T = f64> {
    prepared: Prepared<F, T>,
    sizes: Sizes,
    order: usize,
}

/// The numbers of an expansion.
pub struct TaylorWorkspace<F, T: Real>(Box<dyn Series<F, T> + Send>);

/// Jets of some order.
trait Series<F, T> {
    fn expand(
        &mut self,
        f: &F,
        at: Point<'_, T>,
        direction: &[T],
        coefficients: &mut [T],
        length: usize,
    );
}

impl<F: Differentiable, T: Real, const L: usize> Series<F, T> for Buffers<Jet<T, L>> {
    fn expand(
        &mut self,
        f: &F,
        at: Point<'_, T>,
        direction: &[T],
        coefficients: &mut [T],
        length: usize,
    ) {
        self.load(at.x, at.constants, Jet::fixed);
        for (x, d) in self.x.iter_mut().zip(direction) {
            *x = Jet::along(x.coefficients[0], *d);
        }
        self.call(f);
        for (row, y) in coefficients.chunks_mut(length).zip(&self.y) {
            row.copy_from_slice(&y.coefficients[..length]);
        }
    }
}

/// Series of an order that no jet has.
struct Long<T: Real> {
    expansion: Expansion<T>,
    cache: usize,
}

impl<F: Differentiable, T: Real> Series<F, T> for Long<T> {
    fn expand(
        &mut self,
        f: &F,
        at: Point<'_, T>,
        direction: &[T],
        coefficients: &mut [T],
        length: usize,
    ) {
        let line = Line { x: at.x, direction, constants: at.constants };
        self.expansion.along(
            length - 1,
            line,
            self.cache,
            coefficients,
            |x, y, constants, cache| {
                f.call(x, y, Context { constants, cache });
            },
        );
    }
}

impl<F: Differentiable, T: Real> PreparedTaylor<F, T> {
    /// Room for evaluations on one thread. It is tried out where the expansion was prepared, so that
    /// evaluations with it allocate nothing.
    pub fn workspace(&self) -> Workspace<TaylorWorkspace<F, T>, T> {
        let mut workspace = self.fresh();
        let direction = vec![T::one(); self.sizes.inputs];
        let mut coefficients = vec![T::zero(); self.sizes.outputs * (self.order + 1)];
        let _ =
            self.taylor_into(self.prepared.sample(), &direction, &mut coefficients, &mut workspace);
        workspace
    }

    fn fresh(&self) -> Workspace<TaylorWorkspace<F, T>, T> {
        let f = &self.prepared.engine;
        macro_rules! shortest {
            ($($length:literal)*) => {
                match self.order + 1 {
                    $(n if n <= $length => Box::new(Buffers::<Jet<T, $length>>::new(f, self.sizes)),)*
                    _ => Box::new(Long {
                        expansion: Expansion::new(),
                        cache: f.cache(self.sizes.inputs),
                    }),
                }
            };
        }
        let series: Box<dyn Series<F, T> + Send> = shortest!(2 3 4 6 8 12);
        self.prepared.workspace(TaylorWorkspace(series), [0, 0])
    }

    /// The Taylor coefficients, one row an output.
    ///
    /// # Errors
    /// Sizes, NaN, and what the function raised.
    pub fn taylor<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        direction: &[T],
    ) -> Result<Vec<Vec<T>>, Error> {
        let length = self.order + 1;
        let mut coefficients = vec![T::zero(); self.sizes.outputs * length];
        self.taylor_into(at, direction, &mut coefficients, &mut self.fresh())?;
        Ok(coefficients.chunks(length).map(<[T]>::to_vec).collect())
    }

    /// The Taylor coefficients, in place, row by row.
    ///
    /// # Errors
    /// As [`PreparedTaylor::taylor`], and a workspace of another derivative.
    pub fn taylor_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        direction: &[T],
        coefficients: &mut [T],
        workspace: &mut Workspace<TaylorWorkspace<F, T>, T>,
    ) -> Result<(), Error> {
        let at = at.into();
        self.sizes.check(at)?;
        let length = self.order + 1;
        check_size(
            "the direction",
            self.sizes.inputs,
            direction.len(),
            "it has one entry an input",
        )?;
        check_numbers("the direction", direction)?;
        let needed = self.sizes.outputs * length;
        let remedy = "there is one row an output, each one longer than the order";
        check_size("the coefficients", needed, coefficients.len(), remedy)?;
        let (inner, _) = self.prepared.open(workspace)?;
        let f = &self.prepared.engine;
        Ok(fault::catch(|| inner.0.expand(f, at, direction, coefficients, length))?)
    }
}
