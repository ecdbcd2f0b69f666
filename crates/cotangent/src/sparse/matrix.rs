//! A sparse matrix: a pattern and its values.

use std::ops::Index;
use std::sync::Arc;

use cotangent_sparse::Pattern;

use crate::error::Error;
use crate::matrix::Matrix;
use crate::point::Real;

/// The entries of a matrix that may be nonzero, column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix<T = f64> {
    pattern: Arc<Pattern>,
    values: Vec<T>,
    zero: T,
}

impl<T: Real> SparseMatrix<T> {
    pub(super) fn new(pattern: Arc<Pattern>) -> Self {
        let values = vec![T::zero(); pattern.nnz()];
        SparseMatrix { pattern, values, zero: T::zero() }
    }

    /// Where the entries are.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The values, as the entries stand in the pattern.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    pub(super) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The entries as (row, column, value), column by column.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        self.pattern.entries().zip(&self.values).map(|((i, j), v)| (i, j, *v))
    }

    /// The matrix with its zeros.
    ///
    /// # Errors
    /// If it does not fit in memory.
    pub fn to_dense(&self) -> Result<Matrix<T>, Error> {
        let mut dense = Matrix::try_filled(self.pattern.nrows(), self.pattern.ncols(), T::zero())?;
        for (i, j, v) in self.entries() {
            dense[(i, j)] = v;
        }
        Ok(dense)
    }
}

impl<T> Index<(usize, usize)> for SparseMatrix<T> {
    type Output = T;

    /// The entry at (row, column); zero outside the pattern.
    ///
    /// # Panics
    /// If the matrix has no such column.
    fn index(&self, (row, column): (usize, usize)) -> &T {
        match self.pattern.column(column).binary_search(&row) {
            Ok(place) => &self.values[self.pattern.col_ptr()[column] + place],
            Err(_) => &self.zero,
        }
    }
}
