//! Hand-written gradients in vectors: what somebody writes who knows that the compiler makes vectors of loops without
//! dependencies, keeps eight sums at a time, and takes a library for the functions.

use cotangent_math::{Unary, apply_f64};

/// A sum with eight accumulators.
fn sum(n: usize, f: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let whole = n / 8 * 8;
    for i in (0..whole).step_by(8) {
        for k in 0..8 {
            sums[k] += f(i + k);
        }
    }
    (whole..n).fold(sums.iter().sum(), |s: f64, i| s + f(i))
}

/// Each element of the gradient by itself: nothing is added twice.
pub fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
    let n = x.len();
    let g = &mut g[..n];
    let inner = |a: f64, b: f64| -400.0 * (b - a * a) * a - 2.0 * (1.0 - a);
    g[0] = inner(x[0], x[1]);
    for i in 1..n - 1 {
        g[i] = inner(x[i], x[i + 1]) + 200.0 * (x[i] - x[i - 1] * x[i - 1]);
    }
    g[n - 1] = 200.0 * (x[n - 1] - x[n - 2] * x[n - 2]);
    let (x, y) = (&x[..n - 1], &x[1..n]);
    sum(n - 1, |i| {
        let (d, e) = (y[i] - x[i] * x[i], 1.0 - x[i]);
        100.0 * d * d + e * e
    })
}

/// Sines and cosines of a stretch at a time.
pub fn ackley(x: &[f64], g: &mut [f64]) -> f64 {
    const STRETCH: usize = 128;
    let n = x.len() as f64;
    let tau = std::f64::consts::TAU;
    let (mut angles, mut cosines) = ([0.0; STRETCH], [0.0; STRETCH]);
    let a = sum(x.len(), |i| x[i] * x[i]);
    let mut b = 0.0;
    for (x, g) in x.chunks(STRETCH).zip(g.chunks_mut(STRETCH)) {
        let (angles, cosines) = (&mut angles[..x.len()], &mut cosines[..x.len()]);
        angles.iter_mut().zip(x).for_each(|(angle, x)| *angle = tau * x);
        apply_f64(Unary::Cos, angles, cosines);
        apply_f64(Unary::Sin, angles, g);
        b += sum(x.len(), |i| cosines[i]);
    }
    let root = (a / n).sqrt();
    let (first, second) = (-20.0 * (-0.2 * root).exp(), (b / n).exp());
    let (p, q) = (first * -0.2 / (n * root), second * tau / n);
    g.iter_mut().zip(x).for_each(|(g, x)| *g = p * x + q * *g);
    first - second + 20.0 + std::f64::consts::E
}

/// The exponentials stand where the gradient goes.
pub fn log_sum_exp(x: &[f64], g: &mut [f64]) -> f64 {
    const STRETCH: usize = 128;
    let mut largest = [f64::NEG_INFINITY; 8];
    for x in x.chunks(8) {
        largest.iter_mut().zip(x).for_each(|(m, x)| *m = if *x > *m { *x } else { *m });
    }
    let m = largest.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    let mut below = [0.0; STRETCH];
    for (x, g) in x.chunks(STRETCH).zip(g.chunks_mut(STRETCH)) {
        let below = &mut below[..x.len()];
        below.iter_mut().zip(x).for_each(|(below, x)| *below = x - m);
        apply_f64(Unary::Exp, below, g);
    }
    let s = sum(x.len(), |i| g[i]);
    let scale = 1.0 / s;
    g.iter_mut().for_each(|g| *g *= scale);
    s.ln() + m
}
