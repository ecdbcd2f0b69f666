//! Products of the Hessian with tangents, without the Hessian.

use super::{Prepared, Workspace, join, sizes};
use crate::backend::{SecondOrderBackend, SecondOrderEngine};
use crate::error::{Error, check_size};
use crate::function::{Differentiable, Many, One};
use crate::point::{Point, Real, check_numbers};

/// The products of the Hessian with tangents: how the gradient moves as the inputs do.
///
/// ```
/// use cotangent::prelude::*;
///
/// let f = function!(|x: &[S]| -> S { x[0].powi(2) * x[1] });
/// let backend = SecondOrder { outer: Forward::default(), inner: Reverse::default() };
/// assert_eq!(hvp(&f, &backend, &[3.0, 5.0], &[[1.0, 0.0], [1.0, 2.0]])?, [[10.0, 6.0], [22.0, 6.0]]);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// Sizes, NaN, and what the function raised.
pub fn hvp<'a, F, B, T, V>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    tangents: &[V],
) -> Result<Vec<Vec<T>>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
    V: AsRef<[T]>,
{
    gradient_and_hvp(f, backend, at, tangents).map(|(_, products)| products)
}

/// The gradient, and the products of the Hessian with tangents.
///
/// # Errors
/// As [`hvp`].
pub fn gradient_and_hvp<'a, F, B, T, V>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    tangents: &[V],
) -> Result<(Vec<T>, Vec<Vec<T>>), Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
    V: AsRef<[T]>,
{
    let at = at.into();
    prepare_hvp(f, backend, at)?.gradient_and_hvp(at, tangents)
}

/// The products of the Hessian with tangents, in place, one after the other.
///
/// # Errors
/// As [`hvp`].
pub fn hvp_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    tangents: &[T],
    products: &mut [T],
) -> Result<(), Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_hvp(f, backend, at)?;
    prepared.hvp_into(at, tangents, products, &mut prepared.fresh())
}

/// The value, and the gradient and the products of the Hessian with tangents in place.
///
/// # Errors
/// As [`hvp`].
pub fn gradient_and_hvp_into<'a, F, B, T>(
    f: &F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
    tangents: &[T],
    gradient: &mut [T],
    products: &mut [T],
) -> Result<T, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let prepared = prepare_hvp(f, backend, at)?;
    prepared.gradient_and_hvp_into(at, tangents, gradient, products, &mut prepared.fresh())
}

/// Prepares products of the Hessian with tangents at points of the size of `at`.
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn prepare_hvp<'a, F, B, T>(
    f: F,
    backend: &B,
    at: impl Into<Point<'a, T>>,
) -> Result<PreparedHvp<B::Engine<F, T>, T>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    T: Real,
{
    let at = at.into();
    let sizes = sizes(&f, at)?;
    Ok(PreparedHvp(Prepared::new(backend.second_order(f, sizes, at)?, at)))
}

/// Products of the Hessian with tangents that have been prepared.
#[derive(Debug)]
pub struct PreparedHvp<E, T = f64>(Prepared<E, T>);

impl<T: Real, E: SecondOrderEngine<T>> PreparedHvp<E, T> {
    /// Room for evaluations on one thread. It is tried out where the derivative was prepared, so that
    /// evaluations with it allocate nothing.
    pub fn workspace(&self) -> Workspace<E::Workspace, T> {
        let mut workspace = self.fresh();
        let n = self.0.engine.sizes().inputs;
        let (tangents, mut products) = (vec![T::one(); 2 * n], vec![T::zero(); 2 * n]);
        // One tangent and several may take different ways.
        for count in [1, 2] {
            let products = &mut products[..count * n];
            let _ =
                self.hvp_into(self.0.sample(), &tangents[..count * n], products, &mut workspace);
        }
        workspace
    }

    fn fresh(&self) -> Workspace<E::Workspace, T> {
        self.0.workspace(self.0.engine.workspace(), [self.0.engine.sizes().inputs, 0])
    }

    /// The products of the Hessian with tangents.
    ///
    /// # Errors
    /// Sizes, NaN, and what the function raised.
    pub fn hvp<'a, V: AsRef<[T]>>(
        &self,
        at: impl Into<Point<'a, T>>,
        tangents: &[V],
    ) -> Result<Vec<Vec<T>>, Error> {
        self.gradient_and_hvp(at, tangents).map(|(_, products)| products)
    }

    /// The gradient, and the products of the Hessian with tangents.
    ///
    /// # Errors
    /// As [`PreparedHvp::hvp`].
    pub fn gradient_and_hvp<'a, V: AsRef<[T]>>(
        &self,
        at: impl Into<Point<'a, T>>,
        tangents: &[V],
    ) -> Result<(Vec<T>, Vec<Vec<T>>), Error> {
        let n = self.0.engine.sizes().inputs;
        let joined = join("a tangent", tangents, n)?;
        let (mut gradient, mut products) = (vec![T::zero(); n], vec![T::zero(); joined.len()]);
        let mut workspace = self.fresh();
        self.gradient_and_hvp_into(at, &joined, &mut gradient, &mut products, &mut workspace)?;
        Ok((gradient, products.chunks(n).map(<[T]>::to_vec).collect()))
    }

    /// The products of the Hessian with tangents, in place.
    ///
    /// # Errors
    /// As [`PreparedHvp::hvp`], and a workspace of another derivative.
    pub fn hvp_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        tangents: &[T],
        products: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        let (inner, [gradient, _]) = self.0.open(workspace)?;
        self.evaluate(at.into(), tangents, gradient, products, inner).map(|_| ())
    }

    /// The value, and the gradient and the products of the Hessian with tangents in place.
    ///
    /// # Errors
    /// As [`PreparedHvp::hvp_into`].
    pub fn gradient_and_hvp_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        tangents: &[T],
        gradient: &mut [T],
        products: &mut [T],
        workspace: &mut Workspace<E::Workspace, T>,
    ) -> Result<T, Error> {
        let (inner, _) = self.0.open(workspace)?;
        self.evaluate(at.into(), tangents, gradient, products, inner)
    }

    fn evaluate(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        gradient: &mut [T],
        products: &mut [T],
        inner: &mut E::Workspace,
    ) -> Result<T, Error> {
        let sizes = self.0.engine.sizes();
        sizes.check(at)?;
        let n = sizes.inputs;
        let whole = "whole vectors must follow one another";
        check_size("the tangents", tangents.len() / n * n, tangents.len(), whole)?;
        if tangents.is_empty() {
            return Err(Error::Empty { what: "the list of tangents" });
        }
        check_numbers("the tangents", tangents)?;
        check_size("the gradient", n, gradient.len(), "a gradient has one entry an input")?;
        check_size("the products", tangents.len(), products.len(), whole)?;
        self.0.engine.hvp(at, tangents, gradient, products, inner)
    }
}
