//! The functions of DiffTests, by their published definitions, over any scalar.
//!
//! Indices in comments count from 1, as published; matrices are in column-major order.

use cotangent_numbers::Scalar;
use cotangent_numbers::linalg::{det, dot, inverse, mat_mul, solve, transpose};

// ------------------------------------------------------------------ number → number

/// sin²/cos².
pub fn num2num_1<S: Scalar>(x: S) -> S {
    x.sin().powi(2) / x.cos().powi(2)
}

/// 2x + √(x³).
pub fn num2num_2<S: Scalar>(x: S) -> S {
    x * 2.0 + (x * x * x).sqrt()
}

/// 10.31^(2x) − x.
pub fn num2num_3<S: Scalar>(x: S) -> S {
    S::from(10.31).powf(x + x) - x
}

/// 1, whatever x.
pub fn num2num_4<S: Scalar>(_: S) -> S {
    S::one()
}

/// The logistic function.
pub fn num2num_5<S: Scalar>(x: S) -> S {
    ((-x).exp() + 1.0).recip()
}

/// A 2×2×2 array of the three functions.
pub fn num2arr_1<S: Scalar>(x: S) -> Vec<S> {
    let (a, b, c) = (num2num_1(x), num2num_2(x), num2num_3(x));
    vec![a, b, c, a - b, b, c, b, c]
}

/// y₁ = 0, yᵢ = (sin x + yᵢ₋₁)².
pub fn num2arr_1_in_place<S: Scalar>(x: S, y: &mut [S]) {
    y.fill(S::zero());
    for i in 1..y.len() {
        y[i] = (x.sin() + y[i - 1]).powi(2);
    }
}

// ------------------------------------------------------------------ vector → number

/// (e^x₁ + ln(x₃)·x₄)/x₅.
pub fn vec2num_1<S: Scalar>(x: &[S]) -> S {
    (x[0].exp() + x[2].ln() * x[3]) / x[4]
}

/// x₁x₂ + sin x₁.
pub fn vec2num_2<S: Scalar>(x: &[S]) -> S {
    x[0] * x[1] + x[0].sin()
}

/// The Frobenius norm of x·xᵀ.
pub fn vec2num_3<S: Scalar>(x: &[S]) -> S {
    let mut sum = S::zero();
    for a in x {
        for b in x {
            let entry = *a * *b;
            sum += entry * entry;
        }
    }
    sum.sqrt()
}

/// 1, after computing a sum and a product.
pub fn vec2num_4<S: Scalar>(x: &[S]) -> S {
    let _ = (x.iter().copied().sum::<S>(), x.iter().copied().product::<S>());
    S::one()
}

/// Σ(−x)³.
pub fn vec2num_5<S: Scalar>(x: &[S]) -> S {
    x.iter().map(|x| (-*x).powi(3)).sum()
}

/// The sum of the positive parts, by a branch.
pub fn vec2num_6<S: Scalar>(x: &[S]) -> S {
    x.iter().map(|x| if *x > 0.0 { *x } else { S::zero() }).sum()
}

/// x₁·Σx.
pub fn vec2num_7<S: Scalar>(x: &[S]) -> S {
    x[0] * x.iter().copied().sum::<S>()
}

/// Σ (1 − xᵢ)² + 100 (xᵢ₊₁ − xᵢ²)², by a loop.
pub fn rosenbrock_1<S: Scalar>(x: &[S]) -> S {
    let mut sum = S::zero();
    for i in 0..x.len() - 1 {
        sum += (S::one() - x[i]).powi(2) + (x[i + 1] - x[i].powi(2)).powi(2) * 100.0;
    }
    sum
}

/// The same with x₁ for 1 and 100·x₁ for 100, over shifted slices.
pub fn rosenbrock_2<S: Scalar>(x: &[S]) -> S {
    let (a, b) = (x[0], x[0] * 100.0);
    x.iter().zip(&x[1..]).map(|(x, next)| (a - *x).powi(2) + b * (*next - *x * *x).powi(2)).sum()
}

/// [`rosenbrock_1`] over shifted slices.
pub fn rosenbrock_3<S: Scalar>(x: &[S]) -> S {
    x.iter()
        .zip(&x[1..])
        .map(|(x, y)| (S::one() - *x).powi(2) + (*y - x.powi(2)).powi(2) * 100.0)
        .sum()
}

/// Σ (1 + xᵢ)² + 100 |xᵢ₊₁ + xᵢ²|²: the signs differ on purpose.
pub fn rosenbrock_4<S: Scalar>(x: &[S]) -> S {
    x.iter()
        .zip(&x[1..])
        .map(|(x, y)| (*x + 1.0).powi(2) + (*y + x.powi(2)).abs().powi(2) * 100.0)
        .sum()
}

/// Ackley's function with a = 20, b = −0.2, c = 2π.
pub fn ackley<S: Scalar>(x: &[S]) -> S {
    let n = x.len() as f64;
    let squares = x.iter().map(|x| *x * *x).sum::<S>() / n;
    let waves = x.iter().map(|x| (*x * std::f64::consts::TAU).cos()).sum::<S>() / n;
    (squares.sqrt() * -0.2).exp() * -20.0 - waves.exp() + 20.0 + std::f64::consts::E
}

/// 1/(1 + e^(−x·x)).
pub fn self_weighted_logit<S: Scalar>(x: &[S]) -> S {
    ((-dot(x, x)).exp() + 1.0).recip()
}

/// x₁(x₂ + x₃), through an array of arrays.
pub fn nested_array_mul<S: Scalar>(x: &[S]) -> S {
    let nested = [vec![x[0]], vec![x[1], x[2]]];
    nested[0][0] * nested[1].iter().copied().sum::<S>()
}

/// x₁.
pub fn first<S: Scalar>(x: &[S]) -> S {
    x[0]
}

// ------------------------------------------------------------------ square matrix → number

fn order<S>(x: &[S]) -> usize {
    x.len().isqrt()
}

/// The determinant.
pub fn determinant<S: Scalar>(x: &[S]) -> S {
    det(x, order(x))
}

/// det(x₁₁ (X·X)⁻¹ + X).
pub fn mat2num_1<S: Scalar>(x: &[S]) -> S {
    let n = order(x);
    let inverse = inverse(&mat_mul(x, x, n, n, n), n);
    let sum: Vec<S> = inverse.iter().zip(x).map(|(i, v)| x[0] * *i + *v).collect();
    det(&sum, n)
}

/// The trace of ln(1 + v·vᵀ + v − vᵀ), elementwise, v the entries of X.
pub fn mat2num_2<S: Scalar>(x: &[S]) -> S {
    x.iter().map(|v| (*v * *v + 1.0 + *v - *v).ln()).sum()
}

/// Σ √(|x| + x²)/2.
pub fn mat2num_3<S: Scalar>(x: &[S]) -> S {
    x.iter().map(|v| (v.abs() + *v * *v).sqrt() / 2.0).sum()
}

/// The mean of the row sums of sin.(X)·X.
pub fn mat2num_4<S: Scalar>(x: &[S]) -> S {
    let n = order(x);
    let sines: Vec<S> = x.iter().map(|v| v.sin()).collect();
    mat_mul(&sines, x, n, n, n).into_iter().sum::<S>() / n as f64
}

/// The sum of row-normalised exponentials: the number of rows.
pub fn softmax<S: Scalar>(x: &[S]) -> S {
    let n = order(x);
    let mut total = S::zero();
    for i in 0..n {
        let row: Vec<S> = (0..n).map(|j| x[i + j * n].exp()).collect();
        let sum = row.iter().copied().sum::<S>();
        total += row.into_iter().map(|v| v / sum).sum::<S>();
    }
    total
}

/// σ(w·softplus(W·x)), for W of n×n, packed as (x, W, w).
pub fn neural_step<S: Scalar>(x: &[S], n: usize) -> S {
    let (input, rest) = x.split_at(n);
    let (weights, last) = rest.split_at(n * n);
    let hidden: Vec<S> =
        mat_mul(weights, input, n, n, 1).into_iter().map(|v| (v.exp() + 1.0).ln()).collect();
    num2num_5(dot(&last[..n], &hidden))
}

// ------------------------------------------------------------------ two matrices → matrix

/// The operations of two matrices, packed one after the other.
pub const MATRIX_PAIRS: &[&str] = &[
    "A + B",
    "A − B",
    "A·B",
    "A/B",
    "A\\B",
    "A .* B",
    "A ./ B",
    "A .\\ B",
    "A .^ B",
    "A·Bᵀ",
    "Aᵀ·B",
    "Aᵀ·Bᵀ",
];

/// The operation of two n×n matrices with this name.
pub fn matrix_pair<S: Scalar>(which: usize, x: &[S], n: usize) -> Vec<S> {
    let (a, b) = x.split_at(n * n);
    let each = |f: &dyn Fn(S, S) -> S| a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect::<Vec<S>>();
    let (at, bt) = (transpose(a, n, n), transpose(b, n, n));
    match which {
        0 => each(&|a, b| a + b),
        1 => each(&|a, b| a - b),
        2 => mat_mul(a, b, n, n, n),
        3 => transpose(&solve(&bt, &at, n), n, n),
        4 => solve(a, b, n),
        5 => each(&|a, b| a * b),
        6 => each(&|a, b| a / b),
        7 => each(&|a, b| b / a),
        8 => each(&|a, b| a.powf(b)),
        9 => mat_mul(a, &bt, n, n, n),
        10 => mat_mul(&at, b, n, n, n),
        _ => mat_mul(&at, &bt, n, n, n),
    }
}

// ------------------------------------------------------------------ in place

/// Shifted Chebyshev polynomials, averaged.
pub fn chebyquad<S: Scalar>(x: &[S], y: &mut [S]) {
    let n = x.len() as f64;
    y.fill(S::zero());
    for x in x {
        let (mut t1, mut t2) = (S::one(), *x * 2.0 - 1.0);
        let factor = t2 * 2.0;
        for y in y.iter_mut() {
            *y += t2;
            (t1, t2) = (t2, factor * t2 - t1);
        }
    }
    for (k, y) in y.iter_mut().enumerate() {
        *y /= n;
        let order = (k + 1) as f64;
        if (k + 1) % 2 == 0 {
            *y += 1.0 / (order * order - 1.0);
        }
    }
}

/// Brown's almost linear function.
pub fn brown_almost_linear<S: Scalar>(x: &[S], y: &mut [S]) {
    let (n, m) = (x.len(), y.len());
    let c = x.iter().copied().sum::<S>() - (n as f64 + 1.0);
    y.fill(S::zero());
    for x in &x[..n - 1] {
        for y in &mut y[..m - 1] {
            *y += *x + c;
        }
    }
    y[m - 1] = x.iter().copied().product::<S>() - 1.0;
}

/// The trigonometric function; the last input wins.
pub fn trigonometric<S: Scalar>(x: &[S], y: &mut [S]) {
    y.fill(S::one());
    for x in x {
        y.fill(x.cos());
    }
    let c = y.iter().copied().sum::<S>();
    let n = x.len() as f64;
    for x in x {
        for y in y.iter_mut() {
            *y = x.sin() * *y + n - c;
        }
    }
}

/// y₁ = x₁, y₁ *= x₂, y₂ *= x₃, y₃ = Σy.
pub fn mutation_test_1<S: Scalar>(x: &[S], y: &mut [S]) {
    y.fill(S::zero());
    y[0] = x[0];
    y[0] *= x[1];
    y[1] *= x[2];
    y[2] = y.iter().copied().sum();
}

/// y₁ *= x₁, y₂ *= x₁, y₁ *= x₂, y₂ *= x₂.
pub fn mutation_test_2<S: Scalar>(x: &[S], y: &mut [S]) {
    y.fill(S::one());
    for k in [0, 1] {
        y[0] *= x[k];
        y[1] *= x[k];
    }
}

/// Zeros, after an unused reduction.
pub fn arr2arr_1<S: Scalar>(x: &[S]) -> Vec<S> {
    let _ = x.iter().map(|x| (*x * *x).sin()).sum::<S>();
    vec![S::zero(); x.len()]
}

/// Twice the first row plus the first entry, of a square matrix.
pub fn arr2arr_2<S: Scalar>(x: &[S]) -> Vec<S> {
    let n = order(x);
    (0..n).map(|j| x[j * n] * 2.0 + x[0]).collect()
}

// ------------------------------------------------------------------ constant matrices

/// The constant matrices: a diagonal, and Lehmer's matrix with its triangles.
pub fn constant_matrix(which: usize, n: usize) -> Vec<f64> {
    let lehmer = |i: usize, j: usize| (i.min(j) + 1) as f64 / (i.max(j) + 1) as f64;
    let diagonal = |i: usize| 0.01 + (100.0 - 0.01) * i as f64 / (n - 1) as f64;
    let mut a = vec![0.0; n * n];
    for j in 0..n {
        for i in 0..n {
            a[i + j * n] = match which {
                0 => {
                    if i == j {
                        diagonal(i)
                    } else {
                        0.0
                    }
                }
                1 => lehmer(i, j),
                2 => {
                    if i <= j {
                        lehmer(i, j)
                    } else {
                        0.0
                    }
                }
                _ => {
                    if i >= j {
                        lehmer(i, j)
                    } else {
                        0.0
                    }
                }
            };
        }
    }
    a
}

/// A constant matrix times x, or its left division; `sparse` leaves out zero entries.
pub fn constant_product<S: Scalar>(which: usize, divide: bool, sparse: bool, x: &[S]) -> Vec<S> {
    let n = x.len();
    let a = constant_matrix(which, n);
    if divide {
        let a: Vec<S> = a.into_iter().map(S::from).collect();
        return solve(&a, x, n);
    }
    (0..n)
        .map(|i| {
            let mut sum = S::zero();
            for j in 0..n {
                let entry = a[i + j * n];
                if !sparse || entry != 0.0 {
                    sum += x[j] * entry;
                }
            }
            sum
        })
        .collect()
}
