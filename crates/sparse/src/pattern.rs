//! The pattern: which entries of a matrix may be nonzero.

use crate::Index;

/// Why the parts do not make a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The column pointers do not describe `ncols` columns.
    #[error("{found} column pointers given, {expected} are needed (one more than columns)")]
    ColumnPointers {
        /// How many are needed.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The column pointers decrease, or do not end at the number of entries.
    #[error(
        "the column pointers must rise from 0 to the number of entries, but not at column {column}"
    )]
    NotRising {
        /// The column.
        column: usize,
    },
    /// An entry lies outside the matrix.
    #[error("entry ({row}, {column}) lies outside a matrix of {nrows} rows and {ncols} columns")]
    OutOfRange {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// The number of rows.
        nrows: usize,
        /// The number of columns.
        ncols: usize,
    },
    /// Names of rows or columns that are no permutation.
    #[error("the new places of the {what} are not a permutation of 0 to {size} (exclusive)")]
    NotPermutation {
        /// Rows or columns.
        what: &'static str,
        /// How many there are.
        size: usize,
    },
    /// A full matrix of another size.
    #[error("a full matrix of {nrows} × {ncols} does not have {found} entries")]
    Dense {
        /// The number of rows.
        nrows: usize,
        /// The number of columns.
        ncols: usize,
        /// How many entries there are.
        found: usize,
    },
    /// Values of a matrix that are not one for each entry.
    #[error("{found} values given for {expected} entries of the pattern")]
    Values {
        /// How many entries there are.
        expected: usize,
        /// How many values there are.
        found: usize,
    },
    /// Sizes beyond the range of the indices.
    #[error(
        "a pattern of {nrows} × {ncols} with {nnz} entries is beyond what the indices count, {largest}; usize counts the most"
    )]
    TooLarge {
        /// The number of rows.
        nrows: usize,
        /// The number of columns.
        ncols: usize,
        /// The number of entries.
        nnz: usize,
        /// The largest index.
        largest: usize,
    },
    /// The rows of a column are not in rising order.
    #[error("the rows of column {column} are not strictly rising")]
    Unsorted {
        /// The column.
        column: usize,
    },
}

/// The positions of a sparse matrix that may be nonzero, column by column.
///
/// ```
/// use cotangent_sparse::Pattern;
///
/// let p = Pattern::from_entries(2, 3, [(0, 0), (1, 2), (0, 2), (0, 0)]).unwrap();
/// assert_eq!(p.nnz(), 3);
/// assert_eq!(p.column(2), [0, 1]);
/// assert!(p.contains(1, 2) && !p.contains(1, 0));
/// assert_eq!(p.to_string(), "1·1\n··1\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        try_from = "crate::saved::SavedPattern<I>",
        bound(deserialize = "I: crate::Index + serde::Deserialize<'de>")
    )
)]
pub struct Pattern<I = usize> {
    nrows: usize,
    ncols: usize,
    col_ptr: Vec<I>,
    row_idx: Vec<I>,
}

impl<I: Index> Pattern<I> {
    /// A pattern from its parts, with indices of any kind; see [`new`](Pattern::new).
    ///
    /// ```
    /// use cotangent_sparse::{Greedy, Pattern, Problem};
    ///
    /// let p = Pattern::<u32>::from_parts(2, 2, vec![0, 1, 3], vec![0, 0, 1])?;
    /// assert_eq!(p.to_string(), "11\n·1\n");
    /// assert_eq!(Greedy::default().color(&p, Problem::Column)?.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the parts contradict each other.
    pub fn from_parts(
        nrows: usize,
        ncols: usize,
        col_ptr: Vec<I>,
        row_idx: Vec<I>,
    ) -> Result<Pattern<I>, PatternError> {
        check_range::<I>(nrows, ncols, row_idx.len())?;
        // Not ncols + 1, which an absurd size overflows.
        if col_ptr.len().checked_sub(1) != Some(ncols) {
            let expected = ncols.saturating_add(1);
            return Err(PatternError::ColumnPointers { expected, found: col_ptr.len() });
        }
        if col_ptr[0].at() != 0 || col_ptr[ncols].at() != row_idx.len() {
            return Err(PatternError::NotRising {
                column: if col_ptr[0].at() == 0 { ncols } else { 0 },
            });
        }
        for column in 0..ncols {
            let (start, end) = (col_ptr[column].at(), col_ptr[column + 1].at());
            if start > end || end > row_idx.len() {
                return Err(PatternError::NotRising { column });
            }
            let rows = &row_idx[start..end];
            if let Some(row) = rows.iter().map(|row| row.at()).find(|row| *row >= nrows) {
                return Err(PatternError::OutOfRange { row, column, nrows, ncols });
            }
            if rows.windows(2).any(|w| w[0] >= w[1]) {
                return Err(PatternError::Unsorted { column });
            }
        }
        Ok(Pattern { nrows, ncols, col_ptr, row_idx })
    }

    pub(crate) fn check_values(&self, found: usize) -> Result<(), PatternError> {
        let expected = self.nnz();
        if found == expected { Ok(()) } else { Err(PatternError::Values { expected, found }) }
    }

    /// The same pattern with other indices.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    ///
    /// let small = Pattern::dense(3, 3).cast::<u32>()?;
    /// assert_eq!(small.col_ptr(), [0u32, 3, 6, 9]);
    /// assert_eq!(small.cast::<usize>()?, Pattern::dense(3, 3));
    /// # Ok::<(), cotangent_sparse::PatternError>(())
    /// ```
    ///
    /// # Errors
    /// If the rows, columns or entries are beyond the range of the indices.
    pub fn cast<J: Index>(&self) -> Result<Pattern<J>, PatternError> {
        check_range::<J>(self.nrows, self.ncols, self.nnz())?;
        Ok(Pattern {
            nrows: self.nrows,
            ncols: self.ncols,
            col_ptr: self.col_ptr.iter().map(|p| J::of(p.at())).collect(),
            row_idx: self.row_idx.iter().map(|i| J::of(i.at())).collect(),
        })
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// The number of entries.
    pub fn nnz(&self) -> usize {
        self.row_idx.len()
    }

    /// Where each column begins, and the number of entries at the end.
    pub fn col_ptr(&self) -> &[I] {
        &self.col_ptr
    }

    /// The rows of all entries, column by column.
    pub fn row_idx(&self) -> &[I] {
        &self.row_idx
    }

    /// The rows of one column.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column(&self, j: usize) -> &[I] {
        &self.row_idx[self.range(j)]
    }

    /// Where the entries of one column stand among all.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn range(&self, j: usize) -> std::ops::Range<usize> {
        self.col_ptr[j].at()..self.col_ptr[j + 1].at()
    }

    /// Where an entry stands among all; `None` if the pattern does not have it.
    pub fn place(&self, row: usize, column: usize) -> Option<usize> {
        if row >= self.nrows || column >= self.ncols {
            return None;
        }
        let found = self.column(column).binary_search(&I::of(row)).ok()?;
        Some(self.col_ptr[column].at() + found)
    }

    /// Whether an entry may be nonzero.
    pub fn contains(&self, row: usize, column: usize) -> bool {
        self.place(row, column).is_some()
    }

    /// All entries as (row, column), column by column.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.ncols).flat_map(|j| self.column(j).iter().map(move |i| (i.at(), j)))
    }

    /// The pattern of the transposed matrix.
    #[must_use]
    pub fn transpose(&self) -> Pattern<I> {
        // Counts go two places up, so that filling turns starts into ends of columns in place.
        let mut col_ptr = vec![I::default(); self.nrows + 2];
        let up = |p: &mut I, by: usize| *p = I::of(p.at() + by);
        for row in &self.row_idx {
            up(&mut col_ptr[row.at() + 2], 1);
        }
        for row in 0..self.nrows {
            let before = col_ptr[row + 1].at();
            up(&mut col_ptr[row + 2], before);
        }
        let mut row_idx = vec![I::default(); self.nnz()];
        for column in 0..self.ncols {
            for row in self.column(column) {
                let next = &mut col_ptr[row.at() + 1];
                row_idx[next.at()] = I::of(column);
                up(next, 1);
            }
        }
        col_ptr.truncate(self.nrows + 1);
        Pattern { nrows: self.ncols, ncols: self.nrows, col_ptr, row_idx }
    }

    /// The entries of both patterns; `None` if they are of different sizes, or too many for the indices.
    pub fn union(&self, other: &Pattern<I>) -> Option<Pattern<I>> {
        if (self.nrows, self.ncols) != (other.nrows, other.ncols) {
            return None;
        }
        let mut col_ptr = Vec::with_capacity(self.ncols + 1);
        col_ptr.push(I::default());
        let mut row_idx = Vec::with_capacity(self.nnz().max(other.nnz()));
        for j in 0..self.ncols {
            let (mut a, mut b) =
                (self.column(j).iter().peekable(), other.column(j).iter().peekable());
            while let Some(row) = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) => Some(**x.min(y)),
                (x, y) => x.or(y).map(|row| **row),
            } {
                a.next_if(|x| **x == row);
                b.next_if(|y| **y == row);
                row_idx.push(row);
            }
            if row_idx.len() > I::LARGEST {
                return None;
            }
            col_ptr.push(I::of(row_idx.len()));
        }
        Some(Pattern { nrows: self.nrows, ncols: self.ncols, col_ptr, row_idx })
    }

    /// Whether the pattern equals its transpose.
    pub fn is_symmetric(&self) -> bool {
        // In a symmetric pattern the entries of each row are met, column by column, as they stand in the
        // column of the same number.
        let mut next: Vec<usize> = self.col_ptr.iter().map(|p| p.at()).collect();
        self.nrows == self.ncols
            && self.entries().all(|(i, j)| {
                let place = next[i];
                next[i] += 1;
                place < self.col_ptr[i + 1].at() && self.row_idx[place].at() == j
            })
    }
}

impl Pattern {
    /// A pattern from its parts: the rows of column j are `row_idx[col_ptr[j]..col_ptr[j + 1]]`,
    /// rising.
    ///
    /// # Errors
    /// If the parts contradict each other.
    pub fn new(
        nrows: usize,
        ncols: usize,
        col_ptr: Vec<usize>,
        row_idx: Vec<usize>,
    ) -> Result<Pattern, PatternError> {
        Pattern::from_parts(nrows, ncols, col_ptr, row_idx)
    }

    /// A pattern from (row, column) pairs in any order; repeated pairs count once.
    ///
    /// # Errors
    /// If a pair lies outside the matrix.
    pub fn from_entries(
        nrows: usize,
        ncols: usize,
        entries: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Pattern, PatternError> {
        check_range::<usize>(nrows, ncols, 0)?;
        let mut entries: Vec<(usize, usize)> =
            entries.into_iter().map(|(row, column)| (column, row)).collect();
        entries.sort_unstable();
        entries.dedup();
        let mut col_ptr = vec![0; ncols + 1];
        for &(column, row) in &entries {
            if row >= nrows || column >= ncols {
                return Err(PatternError::OutOfRange { row, column, nrows, ncols });
            }
            col_ptr[column + 1] += 1;
        }
        for column in 0..ncols {
            col_ptr[column + 1] += col_ptr[column];
        }
        let row_idx = entries.into_iter().map(|(_, row)| row).collect();
        Ok(Pattern { nrows, ncols, col_ptr, row_idx })
    }

    /// A pattern from its rows: `columns(i)` are the columns of row i, in any order, the same at each
    /// call; repeated columns count once.
    ///
    /// ```
    /// use cotangent_sparse::Pattern;
    ///
    /// let bidiagonal = Pattern::from_rows(3, 4, |i| i..i + 2).unwrap();
    /// assert_eq!(bidiagonal.to_string(), "11··\n·11·\n··11\n");
    /// ```
    ///
    /// # Errors
    /// If a column lies outside the matrix.
    pub fn from_rows<I: IntoIterator<Item = usize>>(
        nrows: usize,
        ncols: usize,
        columns: impl Fn(usize) -> I,
    ) -> Result<Pattern, PatternError> {
        check_range::<usize>(nrows, ncols, 0)?;
        // Counts go two places up, so that filling turns starts into ends of columns in place.
        let mut col_ptr = vec![0; ncols + 2];
        for row in 0..nrows {
            for column in columns(row) {
                if column >= ncols {
                    return Err(PatternError::OutOfRange { row, column, nrows, ncols });
                }
                col_ptr[column + 2] += 1;
            }
        }
        for column in 0..ncols {
            col_ptr[column + 2] += col_ptr[column + 1];
        }
        // Not yet filled: no row.
        let mut row_idx = vec![usize::MAX; col_ptr[ncols + 1]];
        let mut repeated = false;
        for row in 0..nrows {
            for column in columns(row) {
                let place = col_ptr[column + 1];
                row_idx[place] = row;
                col_ptr[column + 1] = place + 1;
                repeated |= place > col_ptr[column] && row_idx[place - 1] == row;
            }
        }
        col_ptr.truncate(ncols + 1);
        let mut pattern = Pattern { nrows, ncols, col_ptr, row_idx };
        if repeated {
            pattern.remove_repetitions();
        }
        Ok(pattern)
    }

    /// Removes repeated rows, which follow one another in their column.
    fn remove_repetitions(&mut self) {
        let (mut filled, mut start) = (0, 0);
        for column in 0..self.ncols {
            let end = self.col_ptr[column + 1];
            let first = filled;
            for place in start..end {
                let row = self.row_idx[place];
                if filled == first || self.row_idx[filled - 1] != row {
                    self.row_idx[filled] = row;
                    filled += 1;
                }
            }
            start = end;
            self.col_ptr[column + 1] = filled;
        }
        self.row_idx.truncate(filled);
    }

    /// The full pattern.
    pub fn dense(nrows: usize, ncols: usize) -> Pattern {
        Pattern {
            nrows,
            ncols,
            col_ptr: (0..=ncols).map(|j| j * nrows).collect(),
            row_idx: (0..ncols).flat_map(|_| 0..nrows).collect(),
        }
    }
}

fn check_range<I: Index>(nrows: usize, ncols: usize, nnz: usize) -> Result<(), PatternError> {
    // Lists of a few words a row or column must be possible at all.
    let largest = I::LARGEST.min(isize::MAX as usize / 32);
    if nrows.max(ncols).max(nnz) > largest {
        return Err(PatternError::TooLarge { nrows, ncols, nnz, largest });
    }
    Ok(())
}

impl<I: Index> std::fmt::Display for Pattern<I> {
    /// One line a row, `1` for an entry and `·` for none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for row in 0..self.nrows {
            for column in 0..self.ncols {
                f.write_str(if self.contains(row, column) { "1" } else { "·" })?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_contradict_each_other_are_named() {
        let bad = |p: Result<Pattern, PatternError>| p.unwrap_err().to_string();
        assert!(
            bad(Pattern::new(2, 2, vec![0, 1], vec![0])).contains("2 column pointers given, 3")
        );
        assert!(bad(Pattern::new(2, 2, vec![0, 2, 1], vec![0])).contains("not at column 0"));
        assert!(bad(Pattern::new(2, 2, vec![0, 1, 3], vec![0])).contains("not at column 2"));
        assert!(bad(Pattern::new(2, 1, vec![0, 1], vec![2])).contains("(2, 0) lies outside"));
        assert!(bad(Pattern::new(2, 1, vec![0, 2], vec![1, 0])).contains("not strictly rising"));
        assert!(bad(Pattern::from_entries(1, 1, [(0, 4)])).contains("(0, 4) lies outside"));
    }

    #[test]
    fn transposing_twice_is_the_identity() {
        let p = Pattern::from_entries(3, 4, [(0, 1), (2, 1), (2, 3), (1, 0)]).unwrap();
        assert_eq!(p.transpose().transpose(), p);
        assert_eq!(p.transpose().column(2), [1, 3]);
        assert!(!p.is_symmetric());
        for lower in [vec![(1, 0)], vec![(2, 0), (2, 1)], vec![(0, 0), (3, 1)], vec![]] {
            let both = lower.iter().flat_map(|(i, j)| [(*i, *j), (*j, *i)]);
            let q = Pattern::from_entries(4, 4, both).unwrap();
            assert!(q.is_symmetric() && q == q.transpose());
            let one = Pattern::from_entries(4, 4, lower.iter().copied()).unwrap();
            assert_eq!(one.is_symmetric(), one == one.transpose());
            let more = Pattern::from_entries(4, 4, q.entries().chain([(0, 3)])).unwrap();
            assert!(!more.is_symmetric());
        }
        assert!(Pattern::dense(3, 3).is_symmetric());
    }

    #[test]
    fn rows_in_any_order_and_with_repetitions_make_the_same_pattern() {
        let rows = [vec![2, 0, 2], vec![], vec![1, 1, 0]];
        let p = Pattern::from_rows(3, 3, |i| rows[i].iter().copied()).unwrap();
        let q = Pattern::from_entries(3, 3, [(0, 0), (0, 2), (2, 0), (2, 1)]).unwrap();
        assert_eq!(p, q);
        let bad = Pattern::from_rows(1, 2, |_| [2]).unwrap_err();
        assert!(bad.to_string().contains("(0, 2) lies outside"));
    }

    #[test]
    fn empty_matrices_have_patterns() {
        let p = Pattern::from_entries(0, 3, []).unwrap();
        assert_eq!((p.nnz(), p.transpose().ncols()), (0, 0));
        assert_eq!(Pattern::dense(2, 0).nnz(), 0);
    }
}
