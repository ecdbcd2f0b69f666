//! The differentiation of a first derivative.

use cotangent_numbers::{Base, Brand, Dual, Fault, Plain, Scalar, Tape, Unguarded, Var, fault};

use super::{Inner, SecondOrderEngine};
use crate::backend::finite::{Differences, differentiate, scale_of};
use crate::backend::{FiniteDifferences, Forward, Reverse};
use crate::error::Error;
use crate::function::Differentiable;
use crate::point::{Point, Real, Sizes};

/// Lanes of an outer forward mode.
pub(crate) const LANES: usize = 4;

/// A backend that differentiates a first derivative.
pub trait Outer: Clone + std::fmt::Debug + Send + Sync {
    /// What computes second derivatives of a function whose first are those of `I`.
    type Engine<F: Differentiable, I: Inner, T: Real>: SecondOrderEngine<T>;

    /// Prepares for a function of these sizes.
    ///
    /// # Errors
    /// If the settings of either backend are impossible.
    fn second_order<F: Differentiable, I: Inner, T: Real>(
        &self,
        f: F,
        inner: I,
        sizes: Sizes,
        at: Point<'_, T>,
    ) -> Result<Self::Engine<F, I, T>, Error>;
}

/// A first derivative over numbers S, and room for it.
struct Nested<I: Inner, S: Base> {
    x: Vec<S>,
    constants: Vec<S>,
    tangent: Vec<S>,
    values: Vec<S>,
    /// The gradient, or the images of the tangent.
    first: Vec<S>,
    scratch: I::Scratch<S>,
}

impl<I: Inner, S: Base + Scalar> Nested<I, S> {
    fn new<F: Differentiable>(inner: &I, f: &F, sizes: Sizes) -> Self {
        let Sizes { inputs, outputs, constants, .. } = sizes;
        Nested {
            x: vec![S::zero(); inputs],
            constants: vec![S::zero(); constants],
            tangent: vec![S::zero(); inputs],
            values: vec![S::zero(); outputs],
            first: vec![S::zero(); inputs.max(outputs)],
            scratch: inner.scratch(f, sizes),
        }
    }

    fn load<T: Copy>(&mut self, at: Point<'_, T>, lift: impl Fn(T) -> S) {
        let constants = self.constants.iter_mut().zip(at.constants);
        for (to, from) in self.x.iter_mut().zip(at.x).chain(constants) {
            *to = lift(*from);
        }
    }

    /// The value; the gradient goes to `first`.
    fn gradient<F: Differentiable>(&mut self, inner: &I, f: &F) -> Result<S, Fault> {
        let Nested { x, constants, first, scratch, .. } = self;
        let n = x.len();
        fault::catch(|| inner.gradient(f, x, constants, &mut first[..n], scratch))?
    }

    /// The values go to `values`, their derivatives along `tangent` to `first`.
    fn directional<F: Differentiable>(&mut self, inner: &I, f: &F) -> Result<(), Fault> {
        let Nested { x, constants, tangent, values, first, scratch } = self;
        let m = values.len();
        fault::catch(|| {
            inner.directional(f, x, constants, tangent, values, &mut first[..m], scratch)
        })?
    }
}

/// A second-order engine: the function, the two backends, the sizes.
pub struct Layered<F, O, I> {
    f: F,
    outer: O,
    inner: I,
    sizes: Sizes,
}

impl<F, O, I> Layered<F, O, I> {
    pub(super) fn function(&self) -> &F {
        &self.f
    }

    pub(super) fn sizes_of(&self) -> Sizes {
        self.sizes
    }
}

fn layered<F, O: Clone, I: Inner>(
    f: F,
    outer: &O,
    inner: I,
    sizes: Sizes,
) -> Result<Layered<F, O, I>, Error> {
    inner.check()?;
    Ok(Layered { f, outer: outer.clone(), inner, sizes })
}

// ---------------------------------------------------------------------------------- forward

impl Outer for Forward {
    type Engine<F: Differentiable, I: Inner, T: Real> = Layered<F, Forward, I>;

    fn second_order<F: Differentiable, I: Inner, T: Real>(
        &self,
        f: F,
        inner: I,
        sizes: Sizes,
        _: Point<'_, T>,
    ) -> Result<Self::Engine<F, I, T>, Error> {
        self.chunk_for(sizes.inputs)?;
        layered(f, self, inner, sizes)
    }
}

/// Room for an outer forward mode: several directions at a time, and one, guarded.
pub struct ForwardOuter<I: Inner, T: Real> {
    wide: Nested<I, Dual<T, LANES, Unguarded>>,
    narrow: Nested<I, Dual<T, 1>>,
}

impl<F: Differentiable, I: Inner> Layered<F, Forward, I> {
    /// The gradient's derivatives along up to N tangents.
    fn columns<T: Real, const N: usize, B: Brand + 'static>(
        &self,
        nested: &mut Nested<I, Dual<T, N, B>>,
        tangent: impl Fn(usize, usize) -> T,
        gradient: &mut [T],
        columns: &mut [T],
    ) -> Result<T, Error> {
        let n = self.sizes.inputs;
        let count = columns.len() / n.max(1);
        for (i, x) in nested.x.iter_mut().enumerate() {
            x.partials = std::array::from_fn(|k| if k < count { tangent(k, i) } else { T::zero() });
        }
        let value = nested.gradient(&self.inner, &self.f)?;
        for (i, g) in nested.first[..n].iter().enumerate() {
            gradient[i] = g.value;
            for k in 0..count {
                columns[k * n + i] = g.partials[k];
            }
        }
        Ok(value.value)
    }

    /// The gradient's derivatives along all tangents.
    fn products<T: Real>(
        &self,
        at: Point<'_, T>,
        tangent: impl Fn(usize, usize) -> T,
        gradient: &mut [T],
        columns: &mut [T],
        workspace: &mut ForwardOuter<I, T>,
    ) -> Result<T, Error> {
        let n = self.sizes.inputs.max(1);
        let lanes = self.outer.chunk.unwrap_or(LANES).min(LANES);
        let ForwardOuter { wide, narrow } = workspace;
        let mut value = T::zero();
        if columns.len() > n && lanes > 1 {
            wide.load(at, Dual::fixed);
        }
        for (chunk_index, chunk) in columns.chunks_mut(lanes * n).enumerate() {
            let first = chunk_index * lanes;
            // One direction, which may be all that is left for the last chunk, takes narrow numbers.
            let single = chunk.len() == n;
            if !single {
                value = self.columns(wide, |k, i| tangent(first + k, i), gradient, chunk)?;
            }
            // As in first-order forward mode: an unguarded 0·∞ shows as NaN.
            if single || chunk.iter().any(|v| v.is_nan()) {
                narrow.load(at, Dual::fixed);
                for (k, column) in chunk.chunks_mut(n).enumerate() {
                    value = self.columns(narrow, |_, i| tangent(first + k, i), gradient, column)?;
                }
            }
        }
        Ok(value)
    }
}

impl<F: Differentiable, I: Inner, T: Real> SecondOrderEngine<T> for Layered<F, Forward, I> {
    type Workspace = ForwardOuter<I, T>;

    fn workspace(&self) -> Self::Workspace {
        ForwardOuter {
            wide: Nested::new(&self.inner, &self.f, self.sizes),
            narrow: Nested::new(&self.inner, &self.f, self.sizes),
        }
    }

    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn hessian(
        &self,
        at: Point<'_, T>,
        gradient: &mut [T],
        hessian: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error> {
        let unit = |k: usize, i: usize| if i == k { T::one() } else { T::zero() };
        self.products(at, unit, gradient, hessian, workspace)
    }

    fn hvp(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        gradient: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error> {
        let n = self.sizes.inputs;
        self.products(at, |k, i| tangents[k * n + i], gradient, images, workspace)
    }

    fn second_derivative(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        first: &mut [T],
        second: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        let narrow = &mut workspace.narrow;
        narrow.load(at, Dual::fixed);
        narrow.x[0].partials[0] = T::one();
        narrow.tangent[0] = Dual::from(1.0);
        narrow.directional(&self.inner, &self.f)?;
        for i in 0..values.len() {
            values[i] = narrow.values[i].value;
            first[i] = narrow.first[i].value;
            second[i] = narrow.first[i].partials[0];
        }
        Ok(())
    }
}

// ---------------------------------------------------------------------------------- reverse

impl Outer for Reverse {
    type Engine<F: Differentiable, I: Inner, T: Real> = Layered<F, Reverse, I>;

    fn second_order<F: Differentiable, I: Inner, T: Real>(
        &self,
        f: F,
        inner: I,
        sizes: Sizes,
        _: Point<'_, T>,
    ) -> Result<Self::Engine<F, I, T>, Error> {
        layered(f, self, inner, sizes)
    }
}

/// Room for an outer reverse mode.
pub struct ReverseOuter<I: Inner, T: Real> {
    tape: Tape<T>,
    nested: Nested<I, Var<T>>,
    weights: Vec<(Var<T>, T)>,
}

impl<F: Differentiable, I: Inner> Layered<F, Reverse, I> {
    /// Records the first derivative: a gradient, or a derivative along a tangent.
    fn record<T: Real>(
        &self,
        at: Point<'_, T>,
        tangent: Option<&[T]>,
        workspace: &mut ReverseOuter<I, T>,
    ) -> Result<Var<T>, Error> {
        let ReverseOuter { tape, nested, .. } = workspace;
        let recorded = tape.record(at.x, |x| {
            nested.load(at, Var::fixed);
            nested.x.copy_from_slice(x);
            match tangent {
                None => nested.gradient(&self.inner, &self.f),
                Some(tangent) => {
                    for (to, from) in nested.tangent.iter_mut().zip(tangent) {
                        *to = Var::fixed(*from);
                    }
                    nested.directional(&self.inner, &self.f)?;
                    Ok(nested.values[0])
                }
            }
        })?;
        Ok(recorded?)
    }
}

impl<F: Differentiable, I: Inner, T: Real> SecondOrderEngine<T> for Layered<F, Reverse, I> {
    type Workspace = ReverseOuter<I, T>;

    fn workspace(&self) -> Self::Workspace {
        ReverseOuter {
            tape: Tape::new(),
            nested: Nested::new(&self.inner, &self.f, self.sizes),
            weights: Vec::with_capacity(self.sizes.inputs),
        }
    }

    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn hessian(
        &self,
        at: Point<'_, T>,
        gradient: &mut [T],
        hessian: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error> {
        let value = self.record(at, None, workspace)?;
        let ReverseOuter { tape, nested, .. } = workspace;
        // A row of a symmetric matrix is its column.
        for (i, column) in hessian.chunks_mut(gradient.len().max(1)).enumerate() {
            gradient[i] = nested.first[i].peek();
            column.copy_from_slice(tape.gradient(nested.first[i])?);
        }
        Ok(value.peek())
    }

    fn hvp(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        gradient: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error> {
        let n = self.sizes.inputs.max(1);
        let pairs = tangents.chunks(n).zip(images.chunks_mut(n));
        if I::DIRECTIONAL {
            // The gradient of the derivative along the tangent; that of the value beside it.
            let mut value = T::zero();
            for (tangent, image) in pairs {
                let y = self.record(at, Some(tangent), workspace)?;
                value = y.peek();
                let slope = workspace.nested.first[0];
                image.copy_from_slice(workspace.tape.gradient(slope)?);
                gradient.copy_from_slice(workspace.tape.gradient(y)?);
            }
            return Ok(value);
        }
        let value = self.record(at, None, workspace)?;
        let ReverseOuter { tape, nested, weights } = workspace;
        for (to, from) in gradient.iter_mut().zip(&nested.first) {
            *to = from.peek();
        }
        for (tangent, image) in pairs {
            weights.clear();
            weights.extend(nested.first.iter().copied().zip(tangent.iter().copied()));
            image.copy_from_slice(tape.pullback(weights)?);
        }
        Ok(value.peek())
    }

    fn second_derivative(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        first: &mut [T],
        second: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        self.record(at, Some(&[T::one()]), workspace)?;
        let ReverseOuter { tape, nested, .. } = workspace;
        for i in 0..values.len() {
            values[i] = nested.values[i].peek();
            first[i] = nested.first[i].peek();
            second[i] = tape.gradient(nested.first[i])?[0];
        }
        Ok(())
    }
}

// ---------------------------------------------------------------------------------- differences

impl Outer for FiniteDifferences {
    type Engine<F: Differentiable, I: Inner, T: Real> = Layered<F, FiniteDifferences, I>;

    fn second_order<F: Differentiable, I: Inner, T: Real>(
        &self,
        f: F,
        inner: I,
        sizes: Sizes,
        _: Point<'_, T>,
    ) -> Result<Self::Engine<F, I, T>, Error> {
        self.check()?;
        layered(f, self, inner, sizes)
    }
}

/// Room for outer finite differences.
pub struct FiniteOuter<I: Inner, T: Real> {
    nested: Nested<I, Plain<T>>,
    room: Differences<Plain<T>>,
    column: Vec<Plain<T>>,
}

impl<F: Differentiable, I: Inner> Layered<F, FiniteDifferences, I> {
    /// Differences of what `evaluate` leaves in `first`, into the workspace's column.
    fn along<T: Real>(
        &self,
        at: Point<'_, T>,
        tangent: impl Fn(usize) -> T,
        evaluate: impl Fn(&mut Nested<I, Plain<T>>) -> Result<(), Fault>,
        workspace: &mut FiniteOuter<I, T>,
    ) -> Result<(), Error> {
        let FiniteOuter { nested, room, column } = workspace;
        let mut failed = None;
        let scale = scale_of(at.x, |i| tangent(i).into());
        let shifted = |t: f64, y: &mut [Plain<T>]| {
            for (i, x) in nested.x.iter_mut().enumerate() {
                *x = Plain(at.x[i] + tangent(i) * T::constant(t));
            }
            if let Err(fault) = evaluate(nested) {
                failed = Some(fault);
            }
            y.copy_from_slice(&nested.first[..y.len()]);
        };
        differentiate(&self.outer, scale, room, shifted, column);
        failed.map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// The value and the gradient at the point.
    fn gradient_at<T: Real>(
        &self,
        at: Point<'_, T>,
        gradient: &mut [T],
        workspace: &mut FiniteOuter<I, T>,
    ) -> Result<T, Error> {
        let nested = &mut workspace.nested;
        nested.load(at, Plain);
        let value = nested.gradient(&self.inner, &self.f)?;
        for (to, from) in gradient.iter_mut().zip(&nested.first) {
            *to = from.0;
        }
        Ok(value.0)
    }

    fn products<T: Real>(
        &self,
        at: Point<'_, T>,
        tangent: impl Fn(usize, usize) -> T,
        gradient: &mut [T],
        columns: &mut [T],
        workspace: &mut FiniteOuter<I, T>,
    ) -> Result<T, Error> {
        let value = self.gradient_at(at, gradient, workspace)?;
        for (k, column) in columns.chunks_mut(gradient.len().max(1)).enumerate() {
            let gradient = |nested: &mut Nested<I, Plain<T>>| {
                nested.gradient(&self.inner, &self.f).map(|_| ())
            };
            self.along(at, |i| tangent(k, i), gradient, workspace)?;
            for (to, from) in column.iter_mut().zip(&workspace.column) {
                *to = from.0;
            }
        }
        Ok(value)
    }
}

impl<F: Differentiable, I: Inner, T: Real> SecondOrderEngine<T>
    for Layered<F, FiniteDifferences, I>
{
    type Workspace = FiniteOuter<I, T>;

    fn workspace(&self) -> Self::Workspace {
        let Sizes { inputs, outputs, .. } = self.sizes;
        // Gradients for Hessians, images for second derivatives.
        let length = if outputs == 1 { inputs } else { outputs };
        FiniteOuter {
            nested: Nested::new(&self.inner, &self.f, self.sizes),
            room: Differences::new(length),
            column: vec![Plain(T::zero()); length],
        }
    }

    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn hessian(
        &self,
        at: Point<'_, T>,
        gradient: &mut [T],
        hessian: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error> {
        let unit = |k: usize, i: usize| if i == k { T::one() } else { T::zero() };
        self.products(at, unit, gradient, hessian, workspace)
    }

    fn hvp(
        &self,
        at: Point<'_, T>,
        tangents: &[T],
        gradient: &mut [T],
        images: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<T, Error> {
        let n = self.sizes.inputs;
        self.products(at, |k, i| tangents[k * n + i], gradient, images, workspace)
    }

    fn second_derivative(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        first: &mut [T],
        second: &mut [T],
        workspace: &mut Self::Workspace,
    ) -> Result<(), Error> {
        workspace.nested.load(at, Plain);
        workspace.nested.tangent[0] = Plain(T::one());
        workspace.nested.directional(&self.inner, &self.f)?;
        for i in 0..values.len() {
            values[i] = workspace.nested.values[i].0;
            first[i] = workspace.nested.first[i].0;
        }
        let slope = |nested: &mut Nested<I, Plain<T>>| nested.directional(&self.inner, &self.f);
        self.along(at, |_| T::one(), slope, workspace)?;
        for (to, from) in second.iter_mut().zip(&workspace.column) {
            *to = from.0;
        }
        Ok(())
    }
}
