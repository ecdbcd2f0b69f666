//! Sparse Jacobians and Hessians of compiled functions.
//!
//! Where a function can be written out number by number, its derivative is too, without the entries that are zero; what is alike
//! among the others becomes kernels again. So a Hessian of a sum of like terms is as much work as by hand. Other functions give
//! the entries by few products, with vectors from a colouring of the pattern.

use std::sync::{Arc, OnceLock};

use cotangent_ir as ir;
use cotangent_optimize::{reroll, simplify};
use cotangent_sparse::{Auto, Cost, Costs, Direction, Pattern, Plan};
use cotangent_transform as transform;

use super::Compiled;
use super::recording::{By, Engine, Kind, Recording, in_doubles};
use crate::error::check_size;
use crate::{Error, Real, SparseMatrix};

/// The most operations of a function that is written out to find entries one by one.
const MOST_FLAT: usize = 20_000;
/// The most operations that are compiled for the entries; beyond, products take less time to prepare.
const MOST_DERIVED: usize = 5_000;
/// The most entries that are written out.
const MOST_ENTRIES: usize = 100_000;
/// What a function may cost whose pattern is looked for only to fill a dense matrix.
const MOST_COST: f64 = 1e7;

/// Which matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Jacobian,
    Hessian,
}

/// What computes the entries of a sparse matrix.
pub(crate) struct SparseEngine<T> {
    pub(super) pattern: Arc<Pattern>,
    way: Way<T>,
}

enum Way<T> {
    /// One by one, behind the results (or value and gradient): as kernels, and as it was recorded.
    Entries {
        engine: Box<OnceLock<Engine<T>>>,
        kernels: Box<ir::Function>,
        flat: Box<ir::Function>,
    },
    /// By products with vectors.
    Products(Plan),
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::Compiled(why.to_string())
}

impl<T: Real> SparseEngine<T> {
    fn new(recording: &Recording<T>, which: Which) -> Result<Self, Error> {
        if let Some((kernels, flat, pattern)) = entries(recording, which)? {
            let (kernels, flat) = (Box::new(kernels), Box::new(flat));
            let way = Way::Entries { engine: Box::default(), kernels, flat };
            return Ok(SparseEngine { pattern: Arc::new(pattern), way });
        }
        let f = &recording.program;
        let one = |each| Some(Cost::each(each));
        let (pattern, costs) = match which {
            Which::Jacobian => {
                (ir::jacobian_pattern(f), Costs { jvp: one(1.5), vjp: one(2.5), hvp: None })
            }
            Which::Hessian => (ir::hessian_pattern(f), Costs { hvp: one(1.0), ..Costs::default() }),
        };
        let pattern = recording.of_moving(&pattern.map_err(failed)?, which)?;
        let choice = Auto { costs, ..Auto::default() }.color(&pattern)?;
        let plan = Plan::new(&pattern, &choice.coloring)?;
        let way = Way::Products(plan);
        Ok(SparseEngine { pattern: Arc::new(pattern), way })
    }

    /// Whether a dense matrix is less work by way of its entries than by all its columns (or rows).
    fn is_worth_it(&self) -> bool {
        let (rows, columns) = (self.pattern.nrows(), self.pattern.ncols());
        match &self.way {
            Way::Entries { .. } => 2 * self.pattern.nnz() <= rows * columns,
            Way::Products(plan) => 4 * plan.all_directions().count() <= rows.min(columns),
        }
    }

    /// The results (or value and gradient) and the entries at a point; whether the branches go this way.
    pub(super) fn run(
        &self,
        recording: &Recording<T>,
        which: Which,
        by: By,
        x: &[T],
        first: &mut [T],
        entries: &mut [T],
    ) -> Result<bool, Error> {
        let plan = match &self.way {
            Way::Entries { engine, kernels, flat } => {
                let out: &mut [&mut [T]] = &mut [first, entries];
                let engine = || engine.get_or_init(|| Engine::new((**kernels).clone()));
                return match by {
                    By::Engine => engine().run(&[x], out),
                    By::Interpreter => in_doubles(flat, &[x], out),
                };
            }
            Way::Products(plan) => plan,
        };
        let (rows, columns) = (self.pattern.nrows(), self.pattern.ncols());
        let mut decided: Option<(Kind, ir::Function)> = None;
        let [mut seed, mut product, mut scratch] =
            [rows.max(columns), 1 + rows.max(columns), plan.scratch_len()]
                .map(|len| recording.spare.zeros(len));
        let mut run = |direction: Option<Direction>, entries: &mut [T]| -> Result<bool, Error> {
            let (kind, from, to) = match (which, direction) {
                (Which::Hessian, _) => (Kind::Hvp, columns, 1 + columns),
                (_, Some(Direction::Row(_))) => (Kind::Pullback, rows, columns),
                _ => (Kind::Pushforward, columns, rows),
            };
            let (seed, product) = (&mut seed[..from], &mut product[..to]);
            match direction {
                Some(direction) => plan.seed(direction, T::one(), seed),
                None => seed.fill(T::zero()),
            }
            let out: &mut [&mut [T]] = &mut [first, product];
            let ran = match by {
                By::Engine => recording.engine(kind)?.run(&[x, seed], out)?,
                By::Interpreter => {
                    let program = match decided.take().filter(|(known, _)| *known == kind) {
                        Some((_, program)) => program,
                        None => recording.decided(kind)?,
                    };
                    let ran = in_doubles(&program, &[x, seed], out)?;
                    decided = Some((kind, program));
                    ran
                }
            };
            if let Some(direction) = direction {
                // The value comes along a vector, too.
                let own = &product[usize::from(which == Which::Hessian)..];
                plan.take(direction, own, entries);
            }
            Ok(ran)
        };
        if plan.products() == 0 {
            return run(None, entries);
        }
        for direction in plan.all_directions() {
            if !run(Some(direction), entries)? {
                return Ok(false);
            }
        }
        plan.finish(entries, &mut scratch);
        [seed, product, scratch].into_iter().for_each(|used| recording.spare.give(used));
        Ok(true)
    }
}

/// Programs of the entries that are not zero, behind the results, if the function can be written out: as kernels, and as it was
/// recorded.
fn entries<T: Real>(
    recording: &Recording<T>,
    which: Which,
) -> Result<Option<(ir::Function, ir::Function, Pattern)>, Error> {
    let Some(flat) = recording.flat(MOST_FLAT) else { return Ok(None) };
    let names = recording.flat_names(&flat);
    let moves = |p: &ir::Param| names.contains(p.name.as_str());
    let found = match which {
        Which::Jacobian => transform::sparse_jacobian_to(&flat, moves, MOST_ENTRIES),
        Which::Hessian => transform::sparse_hessian_to(&flat, moves, MOST_ENTRIES),
    };
    let Some(found) = found.map_err(failed)? else { return Ok(None) };
    let program = simplify(&found.function);
    // The entries are an array of their own behind the results; these are one, or value and gradient.
    let results = match which {
        Which::Jacobian => vec![found.rows],
        Which::Hessian => vec![1, 1 + found.rows],
    };
    let rolled = recording.rolls.then(|| reroll(&program, names.len(), &results)).flatten();
    let kernels = rolled.map_or_else(|| program.clone(), |rolled| simplify(&rolled));
    if kernels.operations() + kernels.params().len() + kernels.results().len() > MOST_DERIVED {
        return Ok(None);
    }
    let pattern = Pattern::from_entries(found.rows, found.columns, found.entries);
    Ok(Some((kernels, program, pattern.map_err(failed)?)))
}

impl<T: Real> Recording<T> {
    /// What computes a sparse matrix, prepared when it is first asked for.
    pub(super) fn sparse(&self, which: Which) -> Result<&SparseEngine<T>, Error> {
        let made = self.sparse[which as usize].get_or_init(|| SparseEngine::new(self, which));
        made.as_ref().map_err(Clone::clone)
    }

    /// What computes the entries of a dense matrix, if that is less work; decided once.
    pub(super) fn by_entries(&self, which: Which) -> Option<&SparseEngine<T>> {
        let decided = self.by_entries[which as usize].get_or_init(|| {
            self.may_be_sparse(which) && self.sparse(which).is_ok_and(SparseEngine::is_worth_it)
        });
        decided.then(|| self.sparse(which).ok()).flatten()
    }

    /// Whether it may be, as far as that is seen without looking for them.
    fn may_be_sparse(&self, which: Which) -> bool {
        let columns: usize = self.columns.iter().sum();
        let rows = match which {
            Which::Jacobian => self.results.iter().sum(),
            Which::Hessian => columns,
        };
        rows.min(columns) >= 4 && self.program.cost().total() <= MOST_COST
    }

    /// A pattern to the parameters that move.
    fn of_moving(&self, pattern: &Pattern, which: Which) -> Result<Pattern, Error> {
        let moving: usize = self.columns.iter().sum();
        if moving == pattern.ncols() {
            return Ok(pattern.clone());
        }
        let rows = if which == Which::Hessian { moving } else { pattern.nrows() };
        let kept = pattern.entries().filter(|(i, j)| *i < rows && *j < moving);
        Pattern::from_entries(rows, moving, kept).map_err(failed)
    }
}

impl<T: Real> Compiled<T> {
    /// The Jacobian, without the entries that are zero everywhere.
    ///
    /// ```
    /// use cotangent::prelude::*;
    /// use cotangent::compile;
    ///
    /// let f = function!(|x: &[S], y: &mut [S; x.len() - 1]| {
    ///     for i in 0..x.len() - 1 {
    ///         y[i] = x[i + 1] - x[i] * x[i];
    ///     }
    /// });
    /// let f = compile(f, 1000)?;
    /// let j = f.sparse_jacobian(&[3.0; 1000])?;
    /// assert_eq!(j.pattern().nnz(), 2 * 999);
    /// assert_eq!((j[(7, 7)], j[(7, 8)], j[(7, 9)]), (-6.0, 1.0, 0.0));
    /// # Ok::<(), cotangent::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`values`](Compiled::values).
    pub fn sparse_jacobian(&self, x: &[T]) -> Result<SparseMatrix<T>, Error> {
        let mut matrix = SparseMatrix::new(self.first_pattern(Which::Jacobian)?);
        self.sparse_jacobian_into(x, &mut vec![T::zero(); self.outputs], &mut matrix)?;
        Ok(matrix)
    }

    /// The outputs, and the [sparse Jacobian](Compiled::sparse_jacobian) in the place of another one of the same function. It gets
    /// another pattern where branches go another way.
    ///
    /// # Errors
    /// As [`values_into`](Compiled::values_into).
    pub fn sparse_jacobian_into(
        &self,
        x: &[T],
        values: &mut [T],
        matrix: &mut SparseMatrix<T>,
    ) -> Result<(), Error> {
        check_size("the values", self.outputs, values.len(), "give a place for each number")?;
        self.sparse_into(Which::Jacobian, x, values, matrix)
    }

    /// The Hessian of a function with one output, without the entries that are zero everywhere.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient).
    pub fn sparse_hessian(&self, x: &[T]) -> Result<SparseMatrix<T>, Error> {
        self.one_output()?;
        let mut matrix = SparseMatrix::new(self.first_pattern(Which::Hessian)?);
        let mut first = vec![T::zero(); 1 + self.inputs];
        self.sparse_into(Which::Hessian, x, &mut first, &mut matrix)?;
        Ok(matrix)
    }

    /// The value with the gradient behind it, and the [sparse Hessian](Compiled::sparse_hessian) in the place of another one of
    /// the same function. It gets another pattern where branches go another way.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient); another number of places than 1 + inputs.
    pub fn sparse_hessian_into(
        &self,
        x: &[T],
        value_and_gradient: &mut [T],
        matrix: &mut SparseMatrix<T>,
    ) -> Result<(), Error> {
        self.one_output()?;
        let (places, remedy) = (value_and_gradient.len(), "one for the value, one for each input");
        check_size("value and gradient", 1 + self.inputs, places, remedy)?;
        self.sparse_into(Which::Hessian, x, value_and_gradient, matrix)
    }

    fn first_pattern(&self, which: Which) -> Result<Arc<Pattern>, Error> {
        Ok(self.recordings.first.sparse(which)?.pattern.clone())
    }

    fn sparse_into(
        &self,
        which: Which,
        x: &[T],
        first: &mut [T],
        matrix: &mut SparseMatrix<T>,
    ) -> Result<(), Error> {
        self.check(x)?;
        self.on(x, |recording, by| {
            let engine = recording.sparse(which)?;
            if matrix.has_pattern(&engine.pattern) {
                let entries = matrix.entries_of(&engine.pattern);
                return Ok(engine.run(recording, which, by, x, first, entries)?.then_some(()));
            }
            // It gets another pattern once the branches are known to go this way.
            let mut entries = recording.spare.zeros(engine.pattern.nnz());
            let ran = engine.run(recording, which, by, x, first, &mut entries)?;
            if ran {
                matrix.entries_of(&engine.pattern).copy_from_slice(&entries);
            }
            recording.spare.give(entries);
            Ok(ran.then_some(()))
        })
    }
}
