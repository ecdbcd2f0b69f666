//! Solves, inverses and determinants.

use cotangent_ops::{Elementary, Primitive};

use super::factor::Factor;
use super::{det, inverse, mat_mul, solve, transpose};
use crate::fault::{Fault, raise};

/// What is kept for the pullback: the factorisation, on plain numbers. On others the pullback solves
/// anew, through the rules of their base.
pub struct Factorisation(Option<Factor<f64>>);

/// Computes on any number: on plain ones through the factorisation, which is kept; on others through
/// the rules of their base.
fn value_and_factor<T: Elementary, P: Primitive>(
    primitive: &P,
    x: &[T],
    y: &mut [T],
    n: usize,
    plain: impl FnOnce(&Factor<f64>, &[f64], &mut [f64]),
) -> Factorisation {
    if let (Some(x), Some(y)) = (T::as_f64s(x), T::as_f64s_mut(y)) {
        let factor = Factor::new(&x[..n * n], n);
        plain(&factor, x, y);
        return Factorisation(Some(factor));
    }
    T::array(primitive, x, y);
    Factorisation(None)
}

/// A⁻ᵀ·B, by a kept factorisation if there is one.
fn solve_transposed<T: Elementary>(a: &[T], b: &[T], n: usize, saved: &Factorisation) -> Vec<T> {
    let mut x = b.to_vec();
    if let (Some(factor), Some(x)) = (&saved.0, T::as_f64s_mut(&mut x)) {
        factor.solve_transposed(x, n);
    } else {
        x = solve(&transpose(a, n, n), b, n);
    }
    x
}

fn identity<T: Elementary>(n: usize) -> Vec<T> {
    (0..n * n).map(|i| if i % (n + 1) == 0 { T::one() } else { T::zero() }).collect()
}

/// X with A·X = B, for x = (A, B).
#[derive(Clone, Copy, Debug)]
pub struct Solve {
    /// The order of A.
    pub n: usize,
    /// The number of right sides.
    pub sides: usize,
}

impl Solve {
    fn with<T: Elementary>(&self, factor: &Factor<T>, x: &[T], y: &mut [T]) {
        factor.check("solve", self.n);
        y.copy_from_slice(&x[self.n * self.n..]);
        factor.solve(y, self.n);
    }
}

impl Primitive for Solve {
    type Saved<T: Elementary> = Factorisation;

    fn name(&self) -> &str {
        "solve"
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        self.with(&Factor::new(&x[..self.n * self.n], self.n), x, y);
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) -> Factorisation {
        value_and_factor(self, x, y, self.n, |factor, x, y| self.with(factor, x, y))
    }

    fn pushforward<T: Elementary>(&self, x: &[T], y: &[T], dx: &[T], dy: &mut [T]) {
        let Solve { n, sides } = *self;
        let (a, _) = x.split_at(n * n);
        let (da, db) = dx.split_at(n * n);
        // A·dX = dB − dA·X
        let moved = mat_mul(da, y, n, n, sides);
        let right: Vec<T> = db.iter().zip(moved).map(|(b, m)| *b - m).collect();
        dy.copy_from_slice(&solve(a, &right, n));
    }

    fn pullback<T: Elementary>(
        &self,
        x: &[T],
        y: &[T],
        saved: &Factorisation,
        cotangent: &[T],
        gradient: &mut [T],
    ) {
        let Solve { n, sides } = *self;
        let (to_a, to_b) = gradient.split_at_mut(n * n);
        // B̄ += A⁻ᵀ·X̄ =: G, Ā −= G·Xᵀ
        let g = solve_transposed(&x[..n * n], cotangent, n, saved);
        let outer = mat_mul(&g, &transpose(y, n, sides), n, sides, n);
        for (to, v) in to_b.iter_mut().zip(g) {
            *to += v;
        }
        for (to, v) in to_a.iter_mut().zip(outer) {
            *to -= v;
        }
    }

    fn depends(&self, output: usize, input: usize) -> bool {
        // A right side reaches its own solution only.
        let Solve { n, .. } = *self;
        input < n * n || (input - n * n) / n == output / n
    }
}

/// A⁻¹, for x = A.
#[derive(Clone, Copy, Debug)]
pub struct Inverse {
    /// The order of A.
    pub n: usize,
}

impl Primitive for Inverse {
    type Saved<T: Elementary> = ();

    fn name(&self) -> &str {
        "inverse"
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        let factor = Factor::new(x, self.n);
        factor.check("inverse", self.n);
        y.copy_from_slice(&identity(self.n));
        factor.solve(y, self.n);
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        T::array(self, x, y);
    }

    fn pushforward<T: Elementary>(&self, _: &[T], y: &[T], dx: &[T], dy: &mut [T]) {
        let n = self.n;
        // dY = −Y·dA·Y
        let product = mat_mul(&mat_mul(y, dx, n, n, n), y, n, n, n);
        for (dy, v) in dy.iter_mut().zip(product) {
            *dy = -v;
        }
    }

    fn pullback<T: Elementary>(
        &self,
        _: &[T],
        y: &[T],
        (): &(),
        cotangent: &[T],
        gradient: &mut [T],
    ) {
        let n = self.n;
        // Ā −= Yᵀ·Ȳ·Yᵀ
        let t = transpose(y, n, n);
        let product = mat_mul(&mat_mul(&t, cotangent, n, n, n), &t, n, n, n);
        for (g, v) in gradient.iter_mut().zip(product) {
            *g -= v;
        }
    }
}

/// det A, for x = A.
#[derive(Clone, Copy, Debug)]
pub struct Det {
    /// The order of A.
    pub n: usize,
}

impl Det {
    /// The cofactors of a matrix: the gradient of its determinant.
    fn cofactors<T: Elementary>(&self, a: &[T], d: T, saved: Option<&Factorisation>) -> Vec<T> {
        let n = self.n;
        if d.pivot_size() != 0.0 {
            let none = Factorisation(None);
            let inverse = solve_transposed(a, &identity(n), n, saved.unwrap_or(&none));
            return inverse.into_iter().map(|v| v * d).collect();
        }
        // A singular matrix has no inverse, but its minors are as good as any.
        let mut cofactors = vec![T::zero(); n * n];
        for column in 0..n {
            for row in 0..n {
                let minor: Vec<T> =
                    (0..n * n).filter(|i| i % n != row && i / n != column).map(|i| a[i]).collect();
                let value = det(&minor, n - 1);
                let sign = (row + column) % 2 == 0;
                cofactors[row + column * n] = if sign { value } else { -value };
            }
        }
        cofactors
    }
}

impl Primitive for Det {
    type Saved<T: Elementary> = Factorisation;

    fn name(&self) -> &str {
        "det"
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        y[0] = Factor::new(x, self.n).determinant(self.n);
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) -> Factorisation {
        let n = self.n;
        value_and_factor(self, x, y, n, |factor, _, y| y[0] = factor.determinant(n))
    }

    fn pushforward<T: Elementary>(&self, x: &[T], y: &[T], dx: &[T], dy: &mut [T]) {
        dy[0] = super::product::plain_dot(&self.cofactors(x, y[0], None), dx);
    }

    fn pullback<T: Elementary>(
        &self,
        x: &[T],
        y: &[T],
        saved: &Factorisation,
        cotangent: &[T],
        gradient: &mut [T],
    ) {
        let cofactors = self.cofactors(x, y[0], Some(saved));
        for (g, c) in gradient.iter_mut().zip(cofactors) {
            *g += cotangent[0] * c;
        }
    }
}

/// ln |det A|, for x = A.
#[derive(Clone, Copy, Debug)]
pub struct LogDet {
    /// The order of A.
    pub n: usize,
}

impl LogDet {
    fn of<T: Elementary>(factor: &Factor<T>, n: usize) -> T {
        match factor.pivots(n) {
            Ok((pivots, _)) => pivots.into_iter().map(|p| p.abs().ln()).sum(),
            Err(pivot) => raise(Fault::singular("log_det", pivot)),
        }
    }
}

impl Primitive for LogDet {
    type Saved<T: Elementary> = Factorisation;

    fn name(&self) -> &str {
        "log_det"
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        y[0] = LogDet::of(&Factor::new(x, self.n), self.n);
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) -> Factorisation {
        let n = self.n;
        value_and_factor(self, x, y, n, |factor, _, y| y[0] = LogDet::of(factor, n))
    }

    fn pushforward<T: Elementary>(&self, x: &[T], _: &[T], dx: &[T], dy: &mut [T]) {
        // tr(A⁻¹·dA)
        let inverse = transpose(&inverse(x, self.n), self.n, self.n);
        dy[0] = super::product::plain_dot(&inverse, dx);
    }

    fn pullback<T: Elementary>(
        &self,
        x: &[T],
        _: &[T],
        saved: &Factorisation,
        cotangent: &[T],
        gradient: &mut [T],
    ) {
        if let Some(factor) = &saved.0 {
            factor.check("log_det", self.n);
        }
        let inverse = solve_transposed(x, &identity(self.n), self.n, saved);
        for (g, v) in gradient.iter_mut().zip(inverse) {
            *g += cotangent[0] * v;
        }
    }
}
