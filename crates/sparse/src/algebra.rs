//! Patterns from patterns: permutations, products, the symmetric closure, a fingerprint.

use crate::{Index, Pattern, PatternError};

impl<I: Index> Pattern<I> {
    /// The pattern with row i of this one as row `rows[i]`, and column j as column `columns[j]`.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    ///
    /// let p = Pattern::from_rows(2, 3, |i| i..i + 2).unwrap();
    /// assert_eq!(p.permute(&[1, 0], &[2, 1, 0]).unwrap().to_string(), "11·\n·11\n");
    /// ```
    ///
    /// # Errors
    /// If one of the two is no permutation.
    pub fn permute(&self, rows: &[usize], columns: &[usize]) -> Result<Pattern<I>, PatternError> {
        check_permutation("rows", self.nrows(), rows)?;
        check_permutation("columns", self.ncols(), columns)?;
        let moved = self.entries().map(|(i, j)| (rows[i], columns[j]));
        Pattern::from_entries(self.nrows(), self.ncols(), moved)?.cast()
    }

    /// The pattern of the product of two matrices; `None` if their sizes do not fit, or it is beyond the
    /// range of the indices.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    ///
    /// let difference = Pattern::from_rows(3, 4, |i| i..i + 2).unwrap();
    /// let laplace = difference.transpose().product(&difference).unwrap();
    /// assert_eq!(laplace.to_string(), "11··\n111·\n·111\n··11\n");
    /// ```
    pub fn product(&self, other: &Pattern<I>) -> Option<Pattern<I>> {
        if self.ncols() != other.nrows() {
            return None;
        }
        let mut seen = vec![usize::MAX; self.nrows()];
        let (mut col_ptr, mut row_idx) = (vec![I::default()], Vec::new());
        for j in 0..other.ncols() {
            let first = row_idx.len();
            for k in other.column(j) {
                for &i in self.column(k.at()) {
                    if std::mem::replace(&mut seen[i.at()], j) != j {
                        row_idx.push(i);
                    }
                }
            }
            row_idx[first..].sort_unstable();
            col_ptr.push(I::of(row_idx.len()));
        }
        Pattern::from_parts(self.nrows(), other.ncols(), col_ptr, row_idx).ok()
    }

    /// The entries of a square pattern and their mirror images; `None` if it is not square.
    pub fn symmetric_closure(&self) -> Option<Pattern<I>> {
        self.union(&self.transpose())
    }

    /// Writes a matrix of this pattern with its zeros, column by column. Allocates nothing.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    ///
    /// let mut full = [f64::NAN; 4];
    /// Pattern::from_rows(2, 2, |i| 0..i + 1)?.fill_dense(&[2.0, 1.0, 4.0], &mut full)?;
    /// assert_eq!(full, [2.0, 1.0, 0.0, 4.0]);
    /// # Ok::<(), cotangent_sparse::PatternError>(())
    /// ```
    ///
    /// # Errors
    /// Another number of values than entries, or a slice that is not as long as rows times columns.
    pub fn fill_dense<T: Copy + Default>(
        &self,
        values: &[T],
        dense: &mut [T],
    ) -> Result<(), PatternError> {
        self.check_values(values.len())?;
        let (nrows, ncols) = (self.nrows(), self.ncols());
        if Some(dense.len()) != nrows.checked_mul(ncols) {
            return Err(PatternError::Dense { nrows, ncols, found: dense.len() });
        }
        dense.fill(T::default());
        for ((i, j), v) in self.entries().zip(values) {
            dense[j * nrows + i] = *v;
        }
        Ok(())
    }

    /// A number that identifies the pattern: equal patterns have equal ones, whatever their
    /// indices, on every machine and in every run, and different patterns nearly always different ones.
    pub fn fingerprint(&self) -> u64 {
        let mix = |hash: u64, number: u64| {
            (hash.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        // Four at a time: one chain of products would wait for itself.
        let mut lanes = [self.nrows() as u64, self.ncols() as u64, self.nnz() as u64, 0];
        for list in [self.col_ptr(), self.row_idx()] {
            for four in list.chunks(4) {
                for (lane, index) in lanes.iter_mut().zip(four) {
                    *lane = mix(*lane, index.at() as u64);
                }
            }
        }
        lanes.into_iter().fold(0, |hash, lane| mix(hash, lane) ^ (lane >> 32))
    }
}

impl Pattern {
    /// The pattern of a mask: whether each entry may be nonzero, column by column.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    ///
    /// let p = Pattern::from_mask(2, 2, &[true, true, false, true])?;
    /// assert_eq!(p.to_string(), "1·\n11\n");
    /// # Ok::<(), cotangent_sparse::PatternError>(())
    /// ```
    ///
    /// # Errors
    /// If the mask is not as long as rows times columns.
    pub fn from_mask(nrows: usize, ncols: usize, mask: &[bool]) -> Result<Pattern, PatternError> {
        if Some(mask.len()) != nrows.checked_mul(ncols) {
            return Err(PatternError::Dense { nrows, ncols, found: mask.len() });
        }
        let (mut col_ptr, mut row_idx) = (vec![0], Vec::new());
        for j in 0..ncols {
            row_idx.extend((0..nrows).filter(|i| mask[j * nrows + i]));
            col_ptr.push(row_idx.len());
        }
        Pattern::new(nrows, ncols, col_ptr, row_idx)
    }
}

fn check_permutation(what: &'static str, n: usize, names: &[usize]) -> Result<(), PatternError> {
    // The length first: the list that was given is there, one of n may not be possible.
    let mut seen = vec![false; names.len()];
    let fresh = |v: &usize| seen.get_mut(*v).is_some_and(|s| !std::mem::replace(s, true));
    if names.len() == n && names.iter().all(fresh) {
        Ok(())
    } else {
        Err(PatternError::NotPermutation { what, size: n })
    }
}
