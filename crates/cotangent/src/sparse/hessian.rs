//! Sparse Hessians.

use std::sync::Arc;

use cotangent_sparse::{self as coloring, Coloring, Cost, Costs, Decompression, Pattern, Plan};

use super::jacobian::SparseWorkspace;
use super::verify::{near, random_vector, wrong_row};
use super::{Detector, Sparse, SparseMatrix};
use crate::backend::{SecondOrderBackend, SecondOrderEngine};
use crate::error::{Error, check_size};
use crate::function::{Differentiable, Many, One};
use crate::operator::{Prepared, Workspace, sizes};
use crate::point::{Point, Real, Sizes};

/// The Hessian, computed from few products.
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn sparse_hessian<'a, F, B, D, T>(
    f: &F,
    backend: &Sparse<B, D>,
    at: impl Into<Point<'a, T>>,
) -> Result<SparseMatrix<T>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    D: Detector,
    T: Real,
{
    let at = at.into();
    prepare_sparse_hessian(f, backend, at)?.hessian(at)
}

/// Prepares sparse Hessians at points of the size of `at`: finds the pattern, colours it, plans.
///
/// # Errors
/// As [`sparse_hessian`].
pub fn prepare_sparse_hessian<'a, F, B, D, T>(
    f: F,
    backend: &Sparse<B, D>,
    at: impl Into<Point<'a, T>>,
) -> Result<PreparedSparseHessian<B::Engine<F, T>, T>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
    B: SecondOrderBackend,
    D: Detector,
    T: Real,
{
    let at = at.into();
    let sizes = sizes(&f, at)?;
    let (x, constants) = at.to_f64();
    let pattern = backend.detector.hessian(&f, Point { x: &x, constants: &constants })?;
    let choice = coloring::Auto {
        greedy: backend.coloring.clone(),
        costs: Costs { hvp: Some(Cost::each(1.0)), ..Costs::default() },
        substitution: backend.decompression == Decompression::Substitution,
    }
    .color(&pattern)?;
    let plan = Plan::new(&pattern, &choice.coloring)?;
    let directions = choice.coloring.column_count().max(1);
    let engine = backend.inner.second_order(f, Sizes { directions, ..sizes }, at)?;
    let n = sizes.inputs;
    // One product at least: the gradient is wanted even if there is no entry.
    let mut tangents = vec![T::zero(); directions * n];
    plan.seed_all(T::one(), &mut tangents, &mut []);
    let prepared = Prepared::new(engine, at);
    Ok(PreparedSparseHessian { prepared, pattern: Arc::new(pattern), plan, choice, tangents })
}

/// A sparse Hessian that has been prepared. It can be shared between threads.
#[derive(Debug)]
pub struct PreparedSparseHessian<E, T = f64> {
    prepared: Prepared<E, T>,
    pattern: Arc<Pattern>,
    plan: Plan,
    choice: coloring::Choice,
    tangents: Vec<T>,
}

impl<T: Real, E: SecondOrderEngine<T>> PreparedSparseHessian<E, T> {
    /// Where the entries are.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The colouring.
    pub fn coloring(&self) -> &Coloring {
        &self.choice.coloring
    }

    /// What was coloured, and why.
    pub fn explain(&self) -> String {
        self.choice.to_string()
    }

    /// Room for evaluations on one thread. It is tried out where the derivative was prepared, so that
    /// evaluations with it allocate nothing.
    pub fn workspace(&self) -> Workspace<SparseWorkspace<E::Workspace, T>, T> {
        let mut workspace = self.fresh();
        let mut entries = vec![T::zero(); self.pattern.nnz()];
        let _ = self.hessian_into(self.prepared.sample(), &mut entries, &mut workspace);
        workspace
    }

    fn fresh(&self) -> Workspace<SparseWorkspace<E::Workspace, T>, T> {
        let inner = SparseWorkspace {
            engine: self.prepared.engine.workspace(),
            products: vec![T::zero(); self.tangents.len()],
            scratch: self.plan.scratch(),
        };
        self.prepared.workspace(inner, [self.prepared.engine.sizes().inputs, 0])
    }

    /// The Hessian.
    ///
    /// # Errors
    /// A point of another size than prepared for, NaN in it, and what the function raised.
    pub fn hessian<'a>(&self, at: impl Into<Point<'a, T>>) -> Result<SparseMatrix<T>, Error> {
        let mut matrix = SparseMatrix::new(self.pattern.clone());
        self.hessian_into(at, matrix.values_mut(), &mut self.fresh())?;
        Ok(matrix)
    }

    /// The values of the Hessian's entries in place, as they stand in the pattern.
    ///
    /// # Errors
    /// As [`hessian`](PreparedSparseHessian::hessian), and a workspace of another derivative.
    pub fn hessian_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        entries: &mut [T],
        workspace: &mut Workspace<SparseWorkspace<E::Workspace, T>, T>,
    ) -> Result<(), Error> {
        let (inner, [gradient, _]) = self.prepared.open(workspace)?;
        self.evaluate(at.into(), gradient, entries, inner).map(|_| ())
    }

    /// The value, and the gradient and the values of the Hessian's entries in place.
    ///
    /// # Errors
    /// As [`hessian_into`](PreparedSparseHessian::hessian_into).
    pub fn value_gradient_and_hessian_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        gradient: &mut [T],
        entries: &mut [T],
        workspace: &mut Workspace<SparseWorkspace<E::Workspace, T>, T>,
    ) -> Result<T, Error> {
        let (inner, _) = self.prepared.open(workspace)?;
        self.evaluate(at.into(), gradient, entries, inner)
    }

    fn evaluate(
        &self,
        at: Point<'_, T>,
        gradient: &mut [T],
        entries: &mut [T],
        workspace: &mut SparseWorkspace<E::Workspace, T>,
    ) -> Result<T, Error> {
        let sizes = self.prepared.engine.sizes();
        sizes.check(at)?;
        let remedy = "a gradient has one entry an input";
        check_size("the gradient", sizes.inputs, gradient.len(), remedy)?;
        let remedy = "there is one for each entry of the pattern";
        check_size("the entries", self.pattern.nnz(), entries.len(), remedy)?;
        let SparseWorkspace { engine: room, products, scratch } = workspace;
        let value = self.prepared.engine.hvp(at, &self.tangents, gradient, products, room)?;
        self.plan.decompress(&products[..self.plan.products()], entries, scratch);
        Ok(value)
    }

    /// Checks the pattern at a point: the sparse Hessian times a random vector against the product
    /// computed directly. A pattern that lacks an entry shows, with probability one.
    ///
    /// # Errors
    /// [`Error::MissingEntry`] with an entry that the pattern lacks.
    pub fn verify<'a>(&self, at: impl Into<Point<'a, T>>, seed: u64) -> Result<(), Error> {
        let at = at.into();
        let engine = &self.prepared.engine;
        let n = engine.sizes().inputs;
        let matrix = self.hessian(at)?;
        let vector = random_vector(seed, n);
        let (mut gradient, mut direct) = (vec![T::zero(); n], vec![T::zero(); n]);
        let mut room = engine.workspace();
        engine.hvp(at, &vector, &mut gradient, &mut direct, &mut room)?;
        let Some(row) = wrong_row(&matrix, &vector, &direct) else { return Ok(()) };
        // The row is a column, too.
        let mut unit = vec![T::zero(); n];
        unit[row] = T::one();
        engine.hvp(at, &unit, &mut gradient, &mut direct, &mut room)?;
        let wrong = |j: &usize| !near(direct[*j], matrix[(row, *j)], T::zero());
        // Another row may be the one that is wrong, if this one only suffered from it.
        let column = (0..n).find(wrong).unwrap_or(row);
        Err(Error::MissingEntry { row, column })
    }
}
