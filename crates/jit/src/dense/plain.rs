//! Factorisations and solves as the library writes them, loop by loop.
//!
//! The kernels give up where a pivot is not positive, and have their own ideas about zeros, infinities and NaN. Where that
//! may show in the numbers, these are run instead: what comes out then is what the interpreter gives.

use std::ops::{Add, Div, Mul, Sub};

use faer::traits::RealField;

/// A double or a single.
pub(super) trait Real:
    RealField
    + Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;

    fn root(self) -> Self;

    fn size(self) -> Self;

    fn is_number(self) -> bool;

    /// The product in which a zero on either side wins over infinities and NaN.
    fn strong_mul(self, other: Self) -> Self {
        let zero = self == Self::ZERO || other == Self::ZERO;
        if zero { Self::ZERO } else { self * other }
    }
}

macro_rules! real {
    ($($T:ty),*) => {
        $(impl Real for $T {
            const ZERO: $T = 0.0;
            const ONE: $T = 1.0;

            fn root(self) -> $T {
                self.sqrt()
            }

            fn size(self) -> $T {
                self.abs()
            }

            fn is_number(self) -> bool {
                self.is_finite()
            }
        })*
    };
}

real!(f64, f32);

/// A triangular system: which triangle of the matrix, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Triangle {
    pub(crate) lower: bool,
    pub(crate) transposed: bool,
    /// Whether the diagonal is one and not looked at.
    pub(crate) unit: bool,
    /// Whether a zero stays a zero, whatever it is multiplied with.
    pub(crate) strong: bool,
}

impl Triangle {
    /// As machine code hands it on.
    pub(crate) fn code(self) -> usize {
        [self.lower, self.transposed, self.unit, self.strong]
            .iter()
            .enumerate()
            .map(|(k, flag)| usize::from(*flag) << k)
            .sum()
    }

    pub(super) fn of_code(code: usize) -> Triangle {
        let flag = |k: usize| code >> k & 1 == 1;
        Triangle { lower: flag(0), transposed: flag(1), unit: flag(2), strong: flag(3) }
    }
}

/// The solution of a triangular system in the place of its right-hand side, m numbers a row.
pub(super) fn triangular<T: Real>(triangle: Triangle, n: usize, m: usize, a: &[T], x: &mut [T]) {
    let entry = |i: usize, j: usize| match triangle.transposed {
        true => a[j * n + i],
        false => a[i * n + j],
    };
    let forward = triangle.lower != triangle.transposed;
    for t in 0..n {
        let i = if forward { t } else { n - 1 - t };
        for column in 0..m {
            let found = if forward { 0..i } else { i + 1..n };
            let mut sum: Option<T> = None;
            for j in found {
                let (c, x_j) = (entry(i, j), x[j * m + column]);
                let p = if triangle.strong { x_j.strong_mul(c) } else { c * x_j };
                sum = Some(sum.map_or(p, |sum| sum + p));
            }
            let left = x[i * m + column] - sum.unwrap_or(T::ZERO);
            x[i * m + column] = match (triangle.unit, triangle.strong) {
                (true, _) => left,
                (false, true) => left.strong_mul(T::ONE / a[i * n + i]),
                (false, false) => left / a[i * n + i],
            };
        }
    }
}

/// The lower Cholesky factor, zeros above; NaN from where the matrix is not positive definite.
pub(super) fn cholesky<T: Real>(n: usize, a: &[T], l: &mut [T]) {
    l.fill(T::ZERO);
    for j in 0..n {
        let sum = |l: &[T], i: usize| {
            (0..j).map(|k| l[j * n + k] * l[i * n + k]).fold(T::ZERO, |sum, p| sum + p)
        };
        let d = (a[j * n + j] - sum(l, j)).root();
        for i in j + 1..n {
            l[i * n + j] = (a[i * n + j] - sum(l, i)) / d;
        }
        l[j * n + j] = d;
    }
}

/// L and U in the place of a matrix, and the order of its rows. A pivot of zero leaves its column as it is.
pub(super) fn lu<T: Real>(n: usize, s: &mut [T], order: &mut [i64]) {
    for (place, k) in order.iter_mut().zip(0..) {
        *place = k;
    }
    for k in 0..n {
        // The first of the largest, as `red argmax` finds it: NaN is not larger than anything.
        let size = |s: &[T], i: usize| if i >= k { s[i * n + k].size() } else { T::ZERO - T::ONE };
        let (mut r, mut best) = (0, size(s, 0));
        for i in 1..n {
            if size(s, i) > best {
                (r, best) = (i, size(s, i));
            }
        }
        if r != k {
            (0..n).for_each(|j| s.swap(r * n + j, k * n + j));
            order.swap(r, k);
        }
        let pivot = s[k * n + k];
        let d = if pivot == T::ZERO { T::ONE } else { pivot };
        for i in k + 1..n {
            let m = s[i * n + k] / d;
            s[i * n + k] = m;
            for j in k + 1..n {
                s[i * n + j] -= m * s[k * n + j];
            }
        }
    }
}
