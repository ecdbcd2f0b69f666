//! Whether a pattern holds all entries: a product with a random vector tells.

use super::SparseMatrix;
use crate::point::Real;

/// Numbers between 1 and 2, which cancel nothing.
pub(super) fn random_vector<T: Real>(seed: u64, n: usize) -> Vec<T> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| T::constant(1.0 + rng.f64())).collect()
}

/// Whether two numbers are equal up to the rounding of sums of this size. NaN is not.
pub(super) fn near<T: Real>(a: T, b: T, size: T) -> bool {
    (a - b).abs() <= T::constant(1e3 * T::precision().epsilon) * (size + a.abs() + b.abs())
}

/// The first row of a matrix whose product with a vector is not the one that was computed directly.
pub(super) fn wrong_row<T: Real>(
    matrix: &SparseMatrix<T>,
    vector: &[T],
    direct: &[T],
) -> Option<usize> {
    let (mut product, mut size) = (vec![T::zero(); direct.len()], vec![T::zero(); direct.len()]);
    for (i, j, v) in matrix.entries() {
        product[i] += v * vector[j];
        size[i] += (v * vector[j]).abs();
    }
    (0..direct.len()).find(|i| !near(product[*i], direct[*i], size[*i]))
}
