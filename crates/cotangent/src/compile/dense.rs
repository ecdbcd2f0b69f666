//! Dense Jacobians and Hessians of compiled functions: whole, or from the entries that are not zero.

use super::Compiled;
use super::recording::{By, Kind, Recording, in_doubles};
use super::sparse::Which;
use crate::{Error, Matrix, Real};

impl<T: Real> Compiled<T> {
    /// The results (or value and gradient) and a matrix, whose sizes are right.
    pub(super) fn dense_into(
        &self,
        which: Which,
        x: &[T],
        first: &mut [T],
        matrix: &mut Matrix<T>,
    ) -> Result<(), Error> {
        self.on(x, |recording, by| Ok(dense(recording, by, which, x, first, matrix)?.then_some(())))
    }
}

/// The matrix by one way through the branches; whether they go this way.
fn dense<T: Real>(
    recording: &Recording<T>,
    by: By,
    which: Which,
    x: &[T],
    first: &mut [T],
    matrix: &mut Matrix<T>,
) -> Result<bool, Error> {
    if let Some(engine) = recording.by_entries(which)
        && (engine.pattern.nrows(), engine.pattern.ncols()) == (matrix.nrows(), matrix.ncols())
    {
        let mut entries = recording.spare.take(Vec::new);
        entries.resize(engine.pattern.nnz(), T::zero());
        let ran = engine.run(recording, which, by, x, first, &mut entries);
        matrix.as_mut_slice().fill(T::zero());
        for (j, column) in matrix.columns_mut().enumerate() {
            let range = engine.pattern.range(j);
            for (i, entry) in engine.pattern.column(j).iter().zip(&entries[range]) {
                column[*i] = *entry;
            }
        }
        recording.spare.give(entries);
        return ran;
    }
    let columns = &recording.columns;
    let (kind, rows) = match which {
        Which::Jacobian => (Kind::Jacobian, &recording.results),
        Which::Hessian => (Kind::Hessian, columns),
    };
    let mut run = |entries: &mut [T]| {
        let out: &mut [&mut [T]] = &mut [first, entries];
        match by {
            By::Engine => recording.engine(kind)?.run(&[x], out),
            By::Interpreter => in_doubles(&recording.decided(kind)?, &[x], out),
        }
    };
    // Of one array, or of numbers, a Hessian comes row by row, which are its columns.
    let whole = columns.len() == 1 || columns.iter().all(|size| *size == 1);
    if which == Which::Hessian && whole {
        return run(matrix.as_mut_slice());
    }
    let mut entries = recording.spare.take(Vec::new);
    entries.resize(matrix.nrows() * matrix.ncols(), T::zero());
    let ran = run(&mut entries);
    // For each result (or parameter), for each parameter.
    let (mut from, mut top) = (entries.iter(), 0);
    for height in rows {
        let mut left = 0;
        for width in columns {
            for i in top..top + height {
                for (j, entry) in (left..left + width).zip(from.by_ref()) {
                    matrix[(i, j)] = *entry;
                }
            }
            left += width;
        }
        top += height;
    }
    recording.spare.give(entries);
    ran
}
