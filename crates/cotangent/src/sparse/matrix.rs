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
    pub(crate) fn new(pattern: Arc<Pattern>) -> Self {
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

    /// Whether this very pattern is its own.
    pub(crate) fn has_pattern(&self, pattern: &Arc<Pattern>) -> bool {
        Arc::ptr_eq(&self.pattern, pattern)
    }

    /// The places of its values, once it has a pattern.
    pub(crate) fn entries_of(&mut self, pattern: &Arc<Pattern>) -> &mut [T] {
        if !self.has_pattern(pattern) {
            *self = SparseMatrix::new(pattern.clone());
        }
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

/// As other crates see it.
#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
impl<T: Real + Default> SparseMatrix<T> {
    /// The matrix as `faer` sees it, without a copy.
    ///
    /// # Errors
    /// Sizes that `faer` does not take.
    #[cfg(feature = "faer")]
    pub fn faer(
        &self,
    ) -> Result<faer::sparse::SparseColMatRef<'_, usize, T>, cotangent_sparse::PatternError> {
        self.pattern.faer_with(&self.values)
    }

    /// The matrix as `nalgebra-sparse` has it.
    #[cfg(feature = "nalgebra-sparse")]
    pub fn to_nalgebra(&self) -> nalgebra_sparse::CscMatrix<T> {
        let mut matrix = self.pattern.to_nalgebra();
        matrix.values_mut().copy_from_slice(&self.values);
        matrix
    }

    /// The matrix as `sprs` sees it, without a copy.
    #[cfg(feature = "sprs")]
    pub fn sprs(&self) -> sprs::CsMatViewI<'_, T, usize> {
        match self.pattern.sprs_with(&self.values) {
            Ok(matrix) => matrix,
            Err(_) => unreachable!("there is a value for each entry"),
        }
    }
}

impl<T> Index<(usize, usize)> for SparseMatrix<T> {
    type Output = T;

    /// The entry at (row, column); zero outside the pattern.
    ///
    /// # Panics
    /// If the matrix has no such column.
    fn index(&self, (row, column): (usize, usize)) -> &T {
        assert!(column < self.pattern.ncols(), "column {column} of {}", self.pattern.ncols());
        self.pattern.place(row, column).map_or(&self.zero, |place| &self.values[place])
    }
}
