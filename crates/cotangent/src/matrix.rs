//! A dense matrix, for results.

use std::fmt;
use std::ops::{Index, IndexMut};

use crate::error::Error;

/// A dense matrix in column-major order, the order of faer, nalgebra and LAPACK.
///
/// ```
/// use cotangent::Matrix;
///
/// let m = Matrix::from_columns(2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!((m.nrows(), m.ncols(), m[(1, 2)]), (2, 3, 6.0));
/// assert_eq!(m.row(0), [1.0, 3.0, 5.0]);
/// assert_eq!(m.column(1), [3.0, 4.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<T = f64> {
    nrows: usize,
    ncols: usize,
    data: Vec<T>,
}

impl<T: Copy> Matrix<T> {
    /// A matrix of so many rows from its columns, one after the other.
    ///
    /// # Panics
    /// If the entries do not fill whole columns.
    pub fn from_columns(nrows: usize, data: Vec<T>) -> Self {
        let ncols = data.len().checked_div(nrows).unwrap_or(0);
        assert_eq!(nrows * ncols, data.len(), "the entries fill whole columns");
        Matrix { nrows, ncols, data }
    }

    /// A matrix with all entries equal.
    pub fn filled(nrows: usize, ncols: usize, value: T) -> Self {
        Matrix { nrows, ncols, data: vec![value; nrows * ncols] }
    }

    /// A matrix with all entries equal, if there is memory for it.
    pub(crate) fn try_filled(nrows: usize, ncols: usize, value: T) -> Result<Self, Error> {
        let too_large = Error::TooLarge { rows: nrows, columns: ncols };
        let size = nrows.checked_mul(ncols).ok_or(too_large.clone())?;
        let mut data = Vec::new();
        data.try_reserve_exact(size).map_err(|_| too_large)?;
        data.resize(size, value);
        Ok(Matrix { nrows, ncols, data })
    }

    /// The columns.
    pub(crate) fn columns_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.data.chunks_mut(self.nrows.max(1))
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// A copy of row i.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> Vec<T> {
        (0..self.ncols).map(|j| self[(i, j)]).collect()
    }

    /// Column j.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column(&self, j: usize) -> &[T] {
        &self.data[j * self.nrows..(j + 1) * self.nrows]
    }

    /// The entries, column by column.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// The entries, column by column.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The entries, column by column.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// The transposed matrix.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let data = (0..self.nrows).flat_map(|i| self.row(i)).collect();
        Matrix { nrows: self.ncols, ncols: self.nrows, data }
    }
}

impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;

    fn index(&self, (i, j): (usize, usize)) -> &T {
        assert!(
            i < self.nrows && j < self.ncols,
            "({i}, {j}) lies outside {}×{}",
            self.nrows,
            self.ncols
        );
        &self.data[i + j * self.nrows]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        assert!(
            i < self.nrows && j < self.ncols,
            "({i}, {j}) lies outside {}×{}",
            self.nrows,
            self.ncols
        );
        &mut self.data[i + j * self.nrows]
    }
}

impl<T: fmt::Display> fmt::Display for Matrix<T> {
    /// One line a row; a width and a precision apply to every entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for i in 0..self.nrows {
            for j in 0..self.ncols {
                if j > 0 {
                    f.write_str(" ")?;
                }
                self.data[i + j * self.nrows].fmt(f)?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}
