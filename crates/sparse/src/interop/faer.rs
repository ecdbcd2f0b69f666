//! Views for `faer`.

use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};

use crate::{Index, Pattern, PatternError};

impl<I: Index + faer::Index> Pattern<I> {
    /// The pattern as `faer` sees it, without a copy.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    ///
    /// let p = Pattern::from_rows(2, 2, |i| 0..i + 1)?;
    /// assert_eq!(p.faer()?.row_idx_of_col_raw(0), [0, 1]);
    /// # Ok::<(), cotangent_sparse::PatternError>(())
    /// ```
    ///
    /// # Errors
    /// Sizes beyond the signed range of the index, which `faer` does not take.
    pub fn faer(&self) -> Result<SymbolicSparseColMatRef<'_, I>, PatternError> {
        let (nrows, ncols, nnz) = (self.nrows(), self.ncols(), self.nnz());
        let largest = I::LARGEST / 2;
        if nrows.max(ncols).max(nnz) > largest {
            return Err(PatternError::TooLarge { nrows, ncols, nnz, largest });
        }
        // What it checks is what makes a pattern, so it does not panic.
        Ok(SymbolicSparseColMatRef::new_checked(nrows, ncols, self.col_ptr(), None, self.row_idx()))
    }

    /// A matrix of this pattern as `faer` sees it, without a copy: factorisations and products take it.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    /// use faer::linalg::solvers::Solve;
    ///
    /// let lower = Pattern::from_rows(2, 2, |i| 0..i + 1)?;
    /// let a = lower.faer_with(&[2.0, 1.0, 4.0])?;
    /// let x = a.sp_lu().unwrap().solve(faer::col![2.0, 9.0]);
    /// assert_eq!((x[0], x[1]), (1.0, 2.0));
    /// # Ok::<(), cotangent_sparse::PatternError>(())
    /// ```
    ///
    /// # Errors
    /// Another number of values than entries, and as [`faer`](Pattern::faer).
    pub fn faer_with<'a, T>(
        &'a self,
        values: &'a [T],
    ) -> Result<SparseColMatRef<'a, I, T>, PatternError> {
        self.check_values(values.len())?;
        Ok(SparseColMatRef::new(self.faer()?, values))
    }
}

impl<I: Index + faer::Index> TryFrom<SymbolicSparseColMatRef<'_, I>> for Pattern<I> {
    type Error = PatternError;

    /// Columns with unused room are closed up; rows must be rising.
    fn try_from(matrix: SymbolicSparseColMatRef<'_, I>) -> Result<Self, PatternError> {
        let mut col_ptr = vec![<I as Default>::default()];
        let mut row_idx = Vec::with_capacity(matrix.compute_nnz());
        for j in 0..matrix.ncols() {
            row_idx.extend_from_slice(matrix.row_idx_of_col_raw(j));
            col_ptr.push(<I as Index>::of(row_idx.len()));
        }
        Pattern::from_parts(matrix.nrows(), matrix.ncols(), col_ptr, row_idx)
    }
}
