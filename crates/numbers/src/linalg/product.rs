//! Sums and products of arrays.

use cotangent_ops::{Elementary, Primitive};
use faer::{Accum, MatMut, MatRef, Par};

use super::{mat_mul, transpose};

pub(super) fn plain_sum<T: Elementary>(a: &[T]) -> T {
    a.iter().copied().sum()
}

pub(super) fn plain_dot<T: Elementary>(a: &[T], b: &[T]) -> T {
    let mut total = T::zero();
    for (a, b) in a.iter().zip(b) {
        total += *a * *b;
    }
    total
}

/// y = Σ xᵢ.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

impl Primitive for Sum {
    type Saved<T: Elementary> = ();

    fn name(&self) -> &str {
        "sum"
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        y[0] = plain_sum(x);
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        self.value(x, y);
    }

    fn pushforward<T: Elementary>(&self, _: &[T], _: &[T], dx: &[T], dy: &mut [T]) {
        dy[0] = plain_sum(dx);
    }

    fn pullback<T: Elementary>(
        &self,
        _: &[T],
        _: &[T],
        (): &(),
        cotangent: &[T],
        gradient: &mut [T],
    ) {
        for g in gradient {
            *g += cotangent[0];
        }
    }

    fn is_linear(&self) -> bool {
        true
    }
}

/// y = Σ aᵢ·bᵢ, for x = (a, b).
#[derive(Clone, Copy, Debug)]
pub struct Dot;

impl Primitive for Dot {
    type Saved<T: Elementary> = ();

    fn name(&self) -> &str {
        "dot"
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        let (a, b) = x.split_at(x.len() / 2);
        y[0] = plain_dot(a, b);
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        self.value(x, y);
    }

    fn pushforward<T: Elementary>(&self, x: &[T], _: &[T], dx: &[T], dy: &mut [T]) {
        let (a, b) = x.split_at(x.len() / 2);
        let (da, db) = dx.split_at(x.len() / 2);
        dy[0] = plain_dot(da, b) + plain_dot(a, db);
    }

    fn pullback<T: Elementary>(
        &self,
        x: &[T],
        _: &[T],
        (): &(),
        cotangent: &[T],
        gradient: &mut [T],
    ) {
        let half = x.len() / 2;
        // Each half of the gradient is the other half of x.
        for (i, g) in gradient.iter_mut().enumerate() {
            *g += cotangent[0] * x[(i + half) % x.len()];
        }
    }
}

/// C = A·B of an m×k and a k×n matrix, for x = (A, B).
#[derive(Clone, Copy, Debug)]
pub struct MatMul {
    /// Rows of A.
    pub m: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Columns of B.
    pub n: usize,
}

impl MatMul {
    /// The product, by `faer` on plain numbers.
    pub(super) fn multiply<T: Elementary>(&self, a: &[T], b: &[T], c: &mut [T]) {
        let MatMul { m, k, n } = *self;
        if let (Some(a), Some(b), Some(c)) = (T::as_f64s(a), T::as_f64s(b), T::as_f64s_mut(c)) {
            faer::linalg::matmul::matmul(
                MatMut::from_column_major_slice_mut(c, m, n),
                Accum::Replace,
                MatRef::from_column_major_slice(a, m, k),
                MatRef::from_column_major_slice(b, k, n),
                1.0,
                Par::Seq,
            );
            return;
        }
        c.fill(T::zero());
        for (j, c) in c.chunks_mut(m.max(1)).enumerate() {
            for l in 0..k {
                let factor = b[l + j * k];
                for (c, a) in c.iter_mut().zip(&a[l * m..]) {
                    *c += *a * factor;
                }
            }
        }
    }
}

impl Primitive for MatMul {
    type Saved<T: Elementary> = ();

    fn name(&self) -> &str {
        "mat_mul"
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        let (a, b) = x.split_at(self.m * self.k);
        self.multiply(a, b, y);
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        self.value(x, y);
    }

    fn pushforward<T: Elementary>(&self, x: &[T], _: &[T], dx: &[T], dy: &mut [T]) {
        let MatMul { m, k, n } = *self;
        let (a, b) = x.split_at(m * k);
        let (da, db) = dx.split_at(m * k);
        // dC = dA·B + A·dB
        let first = mat_mul(da, b, m, k, n);
        let second = mat_mul(a, db, m, k, n);
        for ((dy, p), q) in dy.iter_mut().zip(first).zip(second) {
            *dy = p + q;
        }
    }

    fn pullback<T: Elementary>(
        &self,
        x: &[T],
        _: &[T],
        (): &(),
        cotangent: &[T],
        gradient: &mut [T],
    ) {
        let MatMul { m, k, n } = *self;
        let (a, b) = x.split_at(m * k);
        // Ā += C̄·Bᵀ, B̄ += Aᵀ·C̄
        let to_a = mat_mul(cotangent, &transpose(b, k, n), m, n, k);
        let to_b = mat_mul(&transpose(a, m, k), cotangent, k, m, n);
        for (g, v) in gradient.iter_mut().zip(to_a.into_iter().chain(to_b)) {
            *g += v;
        }
    }

    fn depends(&self, output: usize, input: usize) -> bool {
        let MatMul { m, k, .. } = *self;
        let (row, column) = (output % m, output / m);
        if input < m * k { input % m == row } else { (input - m * k) / k == column }
    }
}
