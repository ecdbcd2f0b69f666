//! Derivatives by hand: what all else is measured by.

/// Rosenbrock's value and gradient, the obvious loop.
pub fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    g.fill(0.0);
    for i in 0..x.len() - 1 {
        let t = x[i + 1] - x[i] * x[i];
        let u = 1.0 - x[i];
        sum += 100.0 * t * t + u * u;
        g[i] += -400.0 * t * x[i] - 2.0 * u;
        g[i + 1] += 200.0 * t;
    }
    sum
}

/// The same rearranged so that it vectorises: each entry of the gradient from its own neighbours.
pub fn rosenbrock_vectorised(x: &[f64], g: &mut [f64]) -> f64 {
    let n = x.len();
    let mut sums = [0.0; 8];
    let mut rest = 0.0;
    let (mut i, last) = (0, n - 1);
    while i + 8 <= last {
        for k in 0..8 {
            let t = x[i + k + 1] - x[i + k] * x[i + k];
            let u = 1.0 - x[i + k];
            sums[k] += 100.0 * t * t + u * u;
        }
        i += 8;
    }
    for i in i..last {
        let t = x[i + 1] - x[i] * x[i];
        let u = 1.0 - x[i];
        rest += 100.0 * t * t + u * u;
    }
    let term = |i: usize| x[i + 1] - x[i] * x[i];
    g[0] = -400.0 * term(0) * x[0] - 2.0 * (1.0 - x[0]);
    let (before, here, after) = (&x[..n - 2], &x[1..n - 1], &x[2..]);
    for (((g, a), b), c) in g[1..n - 1].iter_mut().zip(before).zip(here).zip(after) {
        *g = 200.0 * (b - a * a) - 400.0 * (c - b * b) * b - 2.0 * (1.0 - b);
    }
    g[n - 1] = 200.0 * term(n - 2);
    rest + sums.iter().sum::<f64>()
}

/// Rosenbrock's Hessian, column by column.
pub fn rosenbrock_hessian(x: &[f64], h: &mut [f64]) {
    let n = x.len();
    h.fill(0.0);
    for i in 0..n - 1 {
        h[i * n + i] += 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 2.0;
        h[(i + 1) * n + i + 1] += 200.0;
        let off = -400.0 * x[i];
        h[i * n + i + 1] = off;
        h[(i + 1) * n + i] = off;
    }
}

/// The value and gradient of ln Σ exp.
pub fn log_sum_exp(x: &[f64], g: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    for (g, x) in g.iter_mut().zip(x) {
        *g = x.exp();
        sum += *g;
    }
    for g in g.iter_mut() {
        *g /= sum;
    }
    sum.ln()
}

/// The Hessian of ln Σ exp, column by column.
pub fn log_sum_exp_hessian(x: &[f64], h: &mut [f64]) {
    let n = x.len();
    let mut g = vec![0.0; n];
    log_sum_exp(x, &mut g);
    for j in 0..n {
        for i in 0..n {
            h[i + j * n] = -g[i] * g[j];
        }
        h[j + j * n] += g[j];
    }
}

/// The value and gradient of Ackley's function.
pub fn ackley(x: &[f64], g: &mut [f64]) -> f64 {
    let n = x.len() as f64;
    let (mut squares, mut waves) = (0.0, 0.0);
    for (g, x) in g.iter_mut().zip(x) {
        let (s, c) = (std::f64::consts::TAU * x).sin_cos();
        squares += x * x;
        waves += c;
        *g = s;
    }
    let root = (squares / n).sqrt();
    let (a, b) = ((-0.2 * root).exp(), (waves / n).exp());
    let (p, q) = (4.0 * a / (root * n), std::f64::consts::TAU * b / n);
    for (g, x) in g.iter_mut().zip(x) {
        *g = p * x + q * *g;
    }
    -20.0 * a - b + 20.0 + std::f64::consts::E
}

/// The derivative of ((c/2 + b)·a − c) with a = x² + 1, b = a·x − a², c = (b − x)·b + a.
pub fn arithmetic_kernel(x: f64) -> f64 {
    let a = x * x + 1.0;
    let b = a * x - a * a;
    let c = (b - x) * b + a;
    let da = 2.0 * x;
    let db = da * x + a - 2.0 * a * da;
    let dc = (db - 1.0) * b + (b - x) * db + da;
    (dc * 0.5 + db) * a + (c * 0.5 + b) * da - dc
}

/// The derivative of ln(c/2 + b)/a with a = x² + 1, b = √a·sin x, c = exp(b − x) + a.
pub fn functions_kernel(x: f64) -> f64 {
    let a = x * x + 1.0;
    let (root, (sin, cos)) = (a.sqrt(), x.sin_cos());
    let b = root * sin;
    let e = (b - x).exp();
    let inner = (e + a) * 0.5 + b;
    let (da, db) = (2.0 * x, x / root * sin + root * cos);
    let dc = e * (db - 1.0) + da;
    ((dc * 0.5 + db) / inner - inner.ln() / a * da) / a
}
