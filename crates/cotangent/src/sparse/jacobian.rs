//! Sparse Jacobians.

use std::sync::Arc;

use cotangent_sparse::{self as coloring, Coloring, Decompression, Pattern, Plan};

use super::verify::{near, random_vector, wrong_row};
use super::{Detector, Sparse, SparseMatrix};
use crate::backend::{Backend, Engine};
use crate::error::{Error, check_size};
use crate::function::{Differentiable, Many};
use crate::operator::{Prepared, Workspace, sizes};
use crate::point::{Point, Real, Sizes};

/// The Jacobian, computed from few products.
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn sparse_jacobian<'a, F, B, D, T>(
    f: &F,
    backend: &Sparse<B, D>,
    at: impl Into<Point<'a, T>>,
) -> Result<SparseMatrix<T>, Error>
where
    F: Differentiable<Input = Many, Output = Many>,
    B: Backend,
    D: Detector,
    T: Real,
{
    let at = at.into();
    prepare_sparse_jacobian(f, backend, at)?.jacobian(at)
}

/// Prepares sparse Jacobians at points of the size of `at`: finds the pattern, colours it, plans.
///
/// # Errors
/// As [`sparse_jacobian`].
pub fn prepare_sparse_jacobian<'a, F, B, D, T>(
    f: F,
    backend: &Sparse<B, D>,
    at: impl Into<Point<'a, T>>,
) -> Result<PreparedSparseJacobian<B::Engine<F, T>, T>, Error>
where
    F: Differentiable<Input = Many, Output = Many>,
    B: Backend,
    D: Detector,
    T: Real,
{
    let at = at.into();
    let sizes = sizes(&f, at)?;
    let (x, constants) = at.to_f64();
    let pattern = backend.detector.jacobian(&f, Point { x: &x, constants: &constants })?;
    let choice = coloring::Auto {
        greedy: backend.coloring.clone(),
        costs: backend.inner.product_costs(),
        substitution: backend.decompression == Decompression::Substitution,
    }
    .color(&pattern)?;
    let plan = Plan::new(&pattern, &choice.coloring)?;
    let directions = choice.coloring.column_count().max(1);
    let engine = backend.inner.engine(f, Sizes { directions, ..sizes }, at)?;
    Ok(PreparedSparseJacobian {
        seeds: Seeds::new(&plan, &choice.coloring, sizes.inputs, sizes.outputs),
        prepared: Prepared::new(engine, at),
        pattern: Arc::new(pattern),
        plan,
        choice,
    })
}

/// The vectors that products are taken with.
#[derive(Debug)]
struct Seeds<T> {
    tangents: Vec<T>,
    cotangents: Vec<T>,
}

impl<T: Real> Seeds<T> {
    fn new(plan: &Plan, coloring: &Coloring, inputs: usize, outputs: usize) -> Self {
        let (mut columns, rows) = (coloring.column_count(), coloring.row_count());
        if columns + rows == 0 {
            // No entry at all: the values are wanted all the same.
            columns = 1;
        }
        let mut seeds = Seeds {
            tangents: vec![T::zero(); columns * inputs],
            cotangents: vec![T::zero(); rows * outputs],
        };
        plan.seed_all(T::one(), &mut seeds.tangents, &mut seeds.cotangents);
        seeds
    }
}

/// A sparse Jacobian that has been prepared. It can be shared between threads.
#[derive(Debug)]
pub struct PreparedSparseJacobian<E, T = f64> {
    prepared: Prepared<E, T>,
    pattern: Arc<Pattern>,
    plan: Plan,
    choice: coloring::Choice,
    seeds: Seeds<T>,
}

/// The products of an evaluation.
#[derive(Debug)]
pub struct SparseWorkspace<W, T> {
    pub(super) engine: W,
    pub(super) products: Vec<T>,
    pub(super) scratch: Vec<T>,
}

impl<T: Real, E: Engine<T>> PreparedSparseJacobian<E, T> {
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
        let mut values = vec![T::zero(); self.pattern.nnz()];
        let _ = self.jacobian_into(self.prepared.sample(), &mut values, &mut workspace);
        workspace
    }

    fn fresh(&self) -> Workspace<SparseWorkspace<E::Workspace, T>, T> {
        let sizes = self.prepared.engine.sizes();
        let images = self.seeds.tangents.len() / sizes.inputs * sizes.outputs;
        let inner = SparseWorkspace {
            engine: self.prepared.engine.workspace(),
            products: vec![T::zero(); self.plan.products().max(images)],
            scratch: self.plan.scratch(),
        };
        self.prepared.workspace(inner, [sizes.outputs, 0])
    }

    /// The Jacobian.
    ///
    /// # Errors
    /// A point of another size than prepared for, NaN in it, and what the function raised.
    pub fn jacobian<'a>(&self, at: impl Into<Point<'a, T>>) -> Result<SparseMatrix<T>, Error> {
        let mut matrix = SparseMatrix::new(self.pattern.clone());
        self.jacobian_into(at, matrix.values_mut(), &mut self.fresh())?;
        Ok(matrix)
    }

    /// The values of the Jacobian's entries in place, as they stand in the pattern.
    ///
    /// # Errors
    /// As [`jacobian`](PreparedSparseJacobian::jacobian), and a workspace of another derivative.
    pub fn jacobian_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        entries: &mut [T],
        workspace: &mut Workspace<SparseWorkspace<E::Workspace, T>, T>,
    ) -> Result<(), Error> {
        let (inner, [values, _]) = self.prepared.open(workspace)?;
        self.evaluate(at.into(), values, entries, inner)
    }

    /// The outputs and the values of the Jacobian's entries in place.
    ///
    /// # Errors
    /// As [`jacobian_into`](PreparedSparseJacobian::jacobian_into).
    pub fn value_and_jacobian_into<'a>(
        &self,
        at: impl Into<Point<'a, T>>,
        values: &mut [T],
        entries: &mut [T],
        workspace: &mut Workspace<SparseWorkspace<E::Workspace, T>, T>,
    ) -> Result<(), Error> {
        let (inner, _) = self.prepared.open(workspace)?;
        self.evaluate(at.into(), values, entries, inner)
    }

    fn evaluate(
        &self,
        at: Point<'_, T>,
        values: &mut [T],
        entries: &mut [T],
        workspace: &mut SparseWorkspace<E::Workspace, T>,
    ) -> Result<(), Error> {
        let engine = &self.prepared.engine;
        let sizes = engine.sizes();
        sizes.check(at)?;
        check_size("the values", sizes.outputs, values.len(), "there is one value an output")?;
        let remedy = "there is one for each entry of the pattern";
        check_size("the entries", self.pattern.nnz(), entries.len(), remedy)?;
        let Seeds { tangents, cotangents } = &self.seeds;
        let SparseWorkspace { engine: room, products, scratch } = workspace;
        let (images, gradients) =
            products.split_at_mut(tangents.len() / sizes.inputs * sizes.outputs);
        if !tangents.is_empty() {
            let number = self.prepared.id();
            engine.pushforward_again(at, tangents, number, values, images, room)?;
        }
        if !cotangents.is_empty() {
            engine.pullback(at, cotangents, values, gradients, room)?;
        }
        self.plan.decompress(&products[..self.plan.products()], entries, scratch);
        Ok(())
    }

    /// Checks the pattern at a point: the sparse Jacobian times a random vector against the product
    /// computed directly. A pattern that lacks an entry shows, with probability one.
    ///
    /// # Errors
    /// [`Error::MissingEntry`] with an entry that the pattern lacks.
    pub fn verify<'a>(&self, at: impl Into<Point<'a, T>>, seed: u64) -> Result<(), Error> {
        let at = at.into();
        let engine = &self.prepared.engine;
        let sizes = engine.sizes();
        let matrix = self.jacobian(at)?;
        let vector = random_vector(seed, sizes.inputs);
        let (mut values, mut direct) =
            (vec![T::zero(); sizes.outputs], vec![T::zero(); sizes.outputs]);
        let mut room = engine.workspace();
        engine.pushforward(at, &vector, &mut values, &mut direct, &mut room)?;
        let Some(row) = wrong_row(&matrix, &vector, &direct) else { return Ok(()) };
        // Which entry of the row it is takes the whole row.
        let mut unit = vec![T::zero(); sizes.inputs];
        for column in 0..sizes.inputs {
            unit[column] = T::one();
            engine.pushforward(at, &unit, &mut values, &mut direct, &mut room)?;
            unit[column] = T::zero();
            if !near(direct[row], matrix[(row, column)], T::zero()) {
                return Err(Error::MissingEntry { row, column });
            }
        }
        Ok(())
    }
}
