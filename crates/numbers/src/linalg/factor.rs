//! The factorisation behind solves and determinants.

use cotangent_ops::Elementary;
use faer::linalg::solvers::{PartialPivLu, Solve as _};
use faer::{MatMut, MatRef};

use crate::fault::{Fault, raise};

/// P·A = L·U with partial pivoting.
pub(super) enum Factor<T> {
    /// On plain numbers, by `faer`.
    Plain(PartialPivLu<f64>),
    /// On other numbers: L and U in one matrix, and the row that each row came from.
    General { lu: Vec<T>, rows: Vec<usize>, even: bool },
    /// On other numbers, where a column has no pivot that is safe to divide by: the matrix itself, and
    /// which column. Its determinant may still have derivatives.
    Singular { a: Vec<T>, pivot: usize },
}

impl<T: Elementary> Factor<T> {
    pub(super) fn new(a: &[T], n: usize) -> Factor<T> {
        if let Some(a) = T::as_f64s(a) {
            let lu = PartialPivLu::new(MatRef::from_column_major_slice(a, n, n));
            // A column of zeros is divided by its pivot there, which makes NaN of a zero.
            let broken = (0..n).any(|i| lu.U()[(i, i)].is_nan());
            if !(broken && a.iter().all(|v| v.is_finite())) {
                return Factor::Plain(lu);
            }
        }
        Factor::eliminate(a, n)
    }

    /// Gaussian elimination; pivots are chosen by value.
    fn eliminate(a: &[T], n: usize) -> Factor<T> {
        let mut lu = a.to_vec();
        let mut rows: Vec<usize> = (0..n).collect();
        let mut even = true;
        for p in 0..n {
            let size = |r: usize, lu: &[T]| lu[r + p * n].pivot_size();
            let mut best = p;
            for r in p + 1..n {
                if size(r, &lu) > size(best, &lu) {
                    best = r;
                }
            }
            if best != p {
                for column in 0..n {
                    lu.swap(p + column * n, best + column * n);
                }
                rows.swap(p, best);
                even = !even;
            }
            let pivot = lu[p + p * n];
            if pivot.pivot_size() == 0.0 {
                if T::PLAIN {
                    continue;
                }
                return Factor::Singular { a: a.to_vec(), pivot: p };
            }
            for r in p + 1..n {
                lu[r + p * n] /= pivot;
                let factor = lu[r + p * n];
                for column in p + 1..n {
                    let upper = lu[p + column * n];
                    lu[r + column * n] -= factor * upper;
                }
            }
        }
        Factor::General { lu, rows, even }
    }

    /// The pivots, and whether the permutation is even.
    ///
    /// # Errors
    /// The column that has none.
    pub(super) fn pivots(&self, n: usize) -> Result<(Vec<T>, bool), usize> {
        Ok(match self {
            Factor::Plain(lu) => {
                let upper = lu.U();
                let pivots = (0..n).map(|i| T::constant(upper[(i, i)])).collect();
                (pivots, is_even(lu.P().arrays().0))
            }
            Factor::General { lu, even, .. } => ((0..n).map(|i| lu[i + i * n]).collect(), *even),
            Factor::Singular { pivot, .. } => return Err(*pivot),
        })
    }

    /// The determinant.
    pub(super) fn determinant(&self, n: usize) -> T {
        if let Factor::Singular { a, .. } = self {
            return determinant_without_division(a, n);
        }
        let Ok((pivots, even)) = self.pivots(n) else { return T::zero() };
        let product: T = pivots.into_iter().product();
        if even { product } else { -product }
    }

    /// Raises a fault if the matrix is singular.
    #[track_caller]
    pub(super) fn check(&self, name: &str, n: usize) {
        let singular = match self.pivots(n) {
            Ok((pivots, _)) => pivots.iter().position(|p| p.pivot_size() == 0.0),
            Err(pivot) => Some(pivot),
        };
        if let Some(pivot) = singular {
            raise(Fault::singular(name, pivot));
        }
    }

    /// A⁻¹·B in place of B.
    pub(super) fn solve(&self, b: &mut [T], n: usize) {
        match self {
            Factor::Plain(lu) => {
                let sides = b.len() / n.max(1);
                if let Some(b) = T::as_f64s_mut(b) {
                    lu.solve_in_place(MatMut::from_column_major_slice_mut(b, n, sides));
                }
            }
            Factor::General { lu, rows, .. } => {
                for b in b.chunks_mut(n.max(1)) {
                    let mut x: Vec<T> = rows.iter().map(|r| b[*r]).collect();
                    for column in 0..n {
                        for r in column + 1..n {
                            let known = x[column];
                            x[r] -= lu[r + column * n] * known;
                        }
                    }
                    for column in (0..n).rev() {
                        x[column] /= lu[column + column * n];
                        for r in 0..column {
                            let known = x[column];
                            x[r] -= lu[r + column * n] * known;
                        }
                    }
                    b.copy_from_slice(&x);
                }
            }
            Factor::Singular { pivot, .. } => raise(Fault::singular("solve", *pivot)),
        }
    }

    /// A⁻ᵀ·B in place of B.
    pub(super) fn solve_transposed(&self, b: &mut [T], n: usize) {
        match self {
            Factor::Plain(lu) => {
                let sides = b.len() / n.max(1);
                if let Some(b) = T::as_f64s_mut(b) {
                    lu.solve_transpose_in_place(MatMut::from_column_major_slice_mut(b, n, sides));
                }
            }
            Factor::General { lu, rows, .. } => {
                for b in b.chunks_mut(n.max(1)) {
                    // Uᵀ·y = b, Lᵀ·z = y, x = Pᵀ·z
                    for column in 0..n {
                        for r in 0..column {
                            let known = b[r];
                            b[column] -= lu[r + column * n] * known;
                        }
                        b[column] /= lu[column + column * n];
                    }
                    for column in (0..n).rev() {
                        for r in column + 1..n {
                            let known = b[r];
                            b[column] -= lu[r + column * n] * known;
                        }
                    }
                    let z = b.to_vec();
                    for (z, r) in z.into_iter().zip(rows) {
                        b[*r] = z;
                    }
                }
            }
            Factor::Singular { pivot, .. } => raise(Fault::singular("solve", *pivot)),
        }
    }
}

/// Whether a permutation is the product of an even number of swaps.
fn is_even(permutation: &[usize]) -> bool {
    let mut seen = vec![false; permutation.len()];
    let mut even = true;
    for start in 0..permutation.len() {
        let mut at = start;
        let mut length = 0;
        while !std::mem::replace(&mut seen[at], true) {
            at = permutation[at];
            length += 1;
        }
        even ^= length > 0 && length % 2 == 0;
    }
    even
}

/// The determinant by Berkowitz's algorithm (1984), in O(n⁴) products and no division: right where
/// the values of a matrix are singular but what they carry is not.
fn determinant_without_division<T: Elementary>(a: &[T], n: usize) -> T {
    // The coefficients of the characteristic polynomial of the leading r×r part, from the highest.
    let mut polynomial = vec![T::one()];
    for r in 0..n {
        let at = |i: usize, j: usize| a[i + j * n];
        // The first column of the Toeplitz matrix: 1, −aᵣᵣ, −R·C, −R·A·C, −R·A²·C, …
        let mut toeplitz = vec![T::one(), -at(r, r)];
        let mut column: Vec<T> = (0..r).map(|i| at(i, r)).collect();
        for _ in 0..r {
            let product = (0..r).fold(T::zero(), |sum, j| sum + at(r, j) * column[j]);
            toeplitz.push(-product);
            column = (0..r)
                .map(|i| (0..r).fold(T::zero(), |sum, j| sum + at(i, j) * column[j]))
                .collect();
        }
        polynomial = (0..r + 2)
            .map(|i| {
                let terms = (0..=r).filter(|j| *j <= i && i - j < toeplitz.len());
                terms.fold(T::zero(), |sum, j| sum + toeplitz[i - j] * polynomial[j])
            })
            .collect();
    }
    let last = polynomial[n];
    if n.is_multiple_of(2) { last } else { -last }
}
