//! Views for `sprs`.

use sprs::{CsMatI, CsMatViewI, SpIndex};

use crate::{Index, Pattern, PatternError};

impl<I: Index + SpIndex> Pattern<I> {
    /// A matrix of this pattern as `sprs` sees it, without a copy.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    ///
    /// let p = Pattern::from_rows(2, 2, |i| 0..i + 1)?;
    /// let values = [2.0, 1.0, 4.0];
    /// let a = p.sprs_with(&values)?;
    /// assert_eq!(a.get(1, 0), Some(&1.0));
    /// assert_eq!(Pattern::try_from(a)?, p);
    /// # Ok::<(), cotangent_sparse::PatternError>(())
    /// ```
    ///
    /// # Errors
    /// Another number of values than entries.
    pub fn sprs_with<'a, T>(
        &'a self,
        values: &'a [T],
    ) -> Result<CsMatViewI<'a, T, I>, PatternError> {
        self.check_values(values.len())?;
        let shape = (self.nrows(), self.ncols());
        match CsMatViewI::try_new_csc(shape, self.col_ptr(), self.row_idx(), values) {
            Ok(matrix) => Ok(matrix),
            Err(_) => unreachable!("a pattern has what is asked of it: rising pointers and rows"),
        }
    }
}

impl<T, I: Index + SpIndex> TryFrom<CsMatViewI<'_, T, I>> for Pattern<I> {
    type Error = PatternError;

    /// The pattern of a matrix, by columns or by rows.
    fn try_from(matrix: CsMatViewI<'_, T, I>) -> Result<Self, PatternError> {
        let (mut nrows, mut ncols) = matrix.shape();
        if matrix.is_csr() {
            (nrows, ncols) = (ncols, nrows);
        }
        let col_ptr = matrix.proper_indptr().to_vec();
        let pattern = Pattern::from_parts(nrows, ncols, col_ptr, matrix.indices().to_vec())?;
        Ok(if matrix.is_csr() { pattern.transpose() } else { pattern })
    }
}

impl<T, I: Index + SpIndex> TryFrom<&CsMatI<T, I>> for Pattern<I> {
    type Error = PatternError;

    fn try_from(matrix: &CsMatI<T, I>) -> Result<Self, PatternError> {
        Pattern::try_from(matrix.view())
    }
}
