//! Patterns for `nalgebra-sparse`, whose matrices own theirs.

use nalgebra_sparse::pattern::SparsityPattern;
use nalgebra_sparse::{CscMatrix, CsrMatrix};

use crate::{Pattern, PatternError};

impl Pattern {
    /// A matrix of zeros with this pattern. Its `values_mut` take entries in place, so that many matrices
    /// of one pattern cost one copy of the pattern.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    ///
    /// let p = Pattern::from_rows(2, 2, |i| 0..i + 1).unwrap();
    /// let mut a = p.to_nalgebra::<f64>();
    /// a.values_mut().copy_from_slice(&[2.0, 1.0, 4.0]);
    /// assert_eq!(a.get_entry(1, 0).unwrap().into_value(), 1.0);
    /// assert_eq!(Pattern::from(&a), p);
    /// ```
    pub fn to_nalgebra<T: Clone + Default>(&self) -> CscMatrix<T> {
        // It describes lanes: columns here.
        let pattern = SparsityPattern::try_from_offsets_and_indices(
            self.ncols(),
            self.nrows(),
            self.col_ptr().to_vec(),
            self.row_idx().to_vec(),
        );
        let values = vec![T::default(); self.nnz()];
        match pattern.map(|p| CscMatrix::try_from_pattern_and_values(p, values)) {
            Ok(Ok(matrix)) => matrix,
            _ => unreachable!("a pattern has what is asked of it: rising offsets and indices"),
        }
    }

    /// A matrix of this pattern.
    ///
    /// # Errors
    /// Another number of values than entries.
    pub fn to_nalgebra_with<T: Clone + Default>(
        &self,
        values: &[T],
    ) -> Result<CscMatrix<T>, PatternError> {
        self.check_values(values.len())?;
        let mut matrix = self.to_nalgebra();
        matrix.values_mut().clone_from_slice(values);
        Ok(matrix)
    }
}

impl<T> From<&CscMatrix<T>> for Pattern {
    fn from(matrix: &CscMatrix<T>) -> Self {
        by_lanes(matrix.pattern())
    }
}

impl<T> From<&CsrMatrix<T>> for Pattern {
    fn from(matrix: &CsrMatrix<T>) -> Self {
        by_lanes(matrix.pattern()).transpose()
    }
}

/// Lanes as columns.
fn by_lanes(pattern: &SparsityPattern) -> Pattern {
    let (offsets, indices) = (pattern.major_offsets().to_vec(), pattern.minor_indices().to_vec());
    match Pattern::new(pattern.minor_dim(), pattern.major_dim(), offsets, indices) {
        Ok(pattern) => pattern,
        Err(_) => unreachable!("it has what is asked of a pattern"),
    }
}
