//! Linear algebra on numbers of every kind, differentiated by its own rules.
//!
//! Matrices are slices in column-major order with their sizes. On `f64` the work is done by `faer`;
//! dual numbers solve once and push tangents through the factorisation, a tape keeps one node with its
//! own adjoint, and number types without rules (jets, intervals) run a plain elimination.

mod factor;
mod product;
mod solve;

use cotangent_ops::Elementary;

pub use product::{Dot, MatMul, Sum};
pub use solve::{Det, Inverse, LogDet, Solve};

use crate::fault::{Fault, raise};

#[track_caller]
fn check(name: &str, what: &'static str, expected: usize, found: usize) {
    if expected != found {
        raise(Fault::Length { name: name.to_string(), what, expected, found });
    }
}

fn joined<T: Copy>(a: &[T], b: &[T]) -> Vec<T> {
    [a, b].concat()
}

fn apply<S: Elementary, P: cotangent_ops::Primitive>(
    primitive: &P,
    x: &[S],
    outputs: usize,
) -> Vec<S> {
    let mut y = vec![S::zero(); outputs];
    S::array(primitive, x, &mut y);
    y
}

/// Σ aᵢ.
///
/// ```
/// assert_eq!(cotangent_numbers::linalg::sum(&[1.0, 2.0, 3.0]), 6.0);
/// ```
pub fn sum<S: Elementary>(a: &[S]) -> S {
    if S::RECORDS { apply(&Sum, a, 1)[0] } else { product::plain_sum(a) }
}

/// Σ aᵢ·bᵢ; the lengths must agree.
///
/// ```
/// assert_eq!(cotangent_numbers::linalg::dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
#[track_caller]
pub fn dot<S: Elementary>(a: &[S], b: &[S]) -> S {
    check("dot", "the second vector", a.len(), b.len());
    if S::RECORDS { apply(&Dot, &joined(a, b), 1)[0] } else { product::plain_dot(a, b) }
}

/// The product of an m×k matrix and a k-vector.
///
/// ```
/// // [1 3; 2 4] · [1, 1]
/// assert_eq!(cotangent_numbers::linalg::mat_vec(&[1.0, 2.0, 3.0, 4.0], &[1.0, 1.0], 2), [4.0, 6.0]);
/// ```
#[track_caller]
pub fn mat_vec<S: Elementary>(a: &[S], x: &[S], m: usize) -> Vec<S> {
    mat_mul(a, x, m, x.len(), 1)
}

/// The product of an m×k and a k×n matrix.
#[track_caller]
pub fn mat_mul<S: Elementary>(a: &[S], b: &[S], m: usize, k: usize, n: usize) -> Vec<S> {
    check("mat_mul", "the first matrix", m * k, a.len());
    check("mat_mul", "the second matrix", k * n, b.len());
    let product = MatMul { m, k, n };
    if S::RECORDS {
        return apply(&product, &joined(a, b), m * n);
    }
    let mut c = vec![S::zero(); m * n];
    product.multiply(a, b, &mut c);
    c
}

/// The solution X of A·X = B for an n×n matrix A and as many right sides as B has columns.
///
/// A singular matrix is a fault.
///
/// ```
/// // [2 0; 0 4]·x = [2, 2]
/// assert_eq!(cotangent_numbers::linalg::solve(&[2.0, 0.0, 0.0, 4.0], &[2.0, 2.0], 2), [1.0, 0.5]);
/// ```
#[track_caller]
pub fn solve<S: Elementary>(a: &[S], b: &[S], n: usize) -> Vec<S> {
    check("solve", "the matrix", n * n, a.len());
    let sides = b.len().checked_div(n).unwrap_or(0);
    check("solve", "the right side", n * sides, b.len());
    apply(&Solve { n, sides }, &joined(a, b), b.len())
}

/// The determinant of an n×n matrix. Its gradient is the adjugate, at a singular matrix too.
///
/// ```
/// assert_eq!(cotangent_numbers::linalg::det(&[1.0, 2.0, 3.0, 4.0], 2), -2.0);
/// ```
#[track_caller]
pub fn det<S: Elementary>(a: &[S], n: usize) -> S {
    check("det", "the matrix", n * n, a.len());
    apply(&Det { n }, a, 1)[0]
}

/// The logarithm of the absolute value of the determinant of an n×n matrix.
#[track_caller]
pub fn log_det<S: Elementary>(a: &[S], n: usize) -> S {
    check("log_det", "the matrix", n * n, a.len());
    apply(&LogDet { n }, a, 1)[0]
}

/// The inverse of an n×n matrix; a singular matrix is a fault.
#[track_caller]
pub fn inverse<S: Elementary>(a: &[S], n: usize) -> Vec<S> {
    check("inverse", "the matrix", n * n, a.len());
    apply(&Inverse { n }, a, n * n)
}

/// The transpose of an m×n matrix.
///
/// ```
/// assert_eq!(cotangent_numbers::linalg::transpose(&[1, 2, 3, 4, 5, 6], 2, 3), [1, 3, 5, 2, 4, 6]);
/// ```
pub fn transpose<T: Copy>(a: &[T], m: usize, n: usize) -> Vec<T> {
    (0..m * n).map(|i| a[(i / n) + (i % n) * m]).collect()
}
