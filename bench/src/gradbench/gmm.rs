//! The likelihood of a mixture of Gaussians.

use std::f64::consts::PI;

use cotangent_ops::Elementary;
use serde_json::json;

use super::{Case, Hand, Random, Size, rows};

struct Gmm {
    d: usize,
    k: usize,
    gamma: f64,
    m: f64,
    x: Vec<f64>,
    alpha: Vec<f64>,
    mu: Vec<f64>,
    q: Vec<f64>,
    l: Vec<f64>,
    value: [f64; 1],
    /// exp q, and the sums of q.
    scales: Vec<f64>,
    sums: Vec<f64>,
    /// Of a point: x − μ and Q (x − μ) for each component, and the terms.
    from: Vec<f64>,
    products: Vec<f64>,
    terms: Vec<f64>,
    /// Qᵀ Q (x − μ) of one component.
    back: Vec<f64>,
    /// alpha, mu, q, l.
    g: Vec<f64>,
}

pub fn case(size: Size) -> Case {
    let (d, k, n) = size.pick([(3, 2, 6), (2, 5, 1_000), (20, 50, 1_000), (64, 100, 1_000)]);
    let mut random = Random::new();
    let below = d * (d - 1) / 2;
    let (x, alpha, mu) = (random.normal(n * d), random.normal(k), random.uniform(k * d));
    let (q, l) = (random.normal(k * d), random.normal(k * below));
    let (gamma, m) = (1.0, 0.0);
    Case {
        module: "gmm",
        label: format!("d={d} k={k} n={n}"),
        functions: [Some("objective"), Some("jacobian")],
        input: json!({
            "d": d, "k": k, "n": n, "m": m, "gamma": gamma, "x": rows(&x, d), "alpha": alpha,
            "mu": rows(&mu, d), "q": rows(&q, d), "l": rows(&l, below),
        }),
        hand: Box::new(Gmm {
            value: [0.0],
            scales: vec![0.0; k * d],
            sums: vec![0.0; k],
            from: vec![0.0; k * d],
            products: vec![0.0; k * d],
            terms: vec![0.0; k],
            back: vec![0.0; d],
            g: vec![0.0; k * (1 + 2 * d + below)],
            d,
            k,
            gamma,
            m,
            x,
            alpha,
            mu,
            q,
            l,
        }),
    }
}

fn log_sum_exp(x: &[f64]) -> f64 {
    let most = x.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    most + x.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
}

impl Gmm {
    fn begin(&mut self) {
        for (scale, q) in self.scales.iter_mut().zip(&self.q) {
            *scale = q.exp();
        }
        for (sum, q) in self.sums.iter_mut().zip(self.q.chunks_exact(self.d)) {
            *sum = q.iter().sum();
        }
    }

    /// The terms of a point.
    fn point(&mut self, i: usize) {
        let (d, below) = (self.d, self.d * (self.d - 1) / 2);
        let x = &self.x[i * d..][..d];
        for k in 0..self.k {
            let from = &mut self.from[k * d..][..d];
            let products = &mut self.products[k * d..][..d];
            let (mu, scales) = (&self.mu[k * d..][..d], &self.scales[k * d..][..d]);
            for j in 0..d {
                from[j] = x[j] - mu[j];
                products[j] = scales[j] * from[j];
            }
            let mut l = &self.l[k * below..][..below];
            for column in 0..d {
                let (entries, rest) = l.split_at(d - column - 1);
                let by = from[column];
                for (product, entry) in products[column + 1..].iter_mut().zip(entries) {
                    *product += entry * by;
                }
                l = rest;
            }
            let squares: f64 = products.iter().map(|p| p * p).sum();
            self.terms[k] = self.alpha[k] + self.sums[k] - 0.5 * squares;
        }
    }
}

impl Hand for Gmm {
    fn primal(&mut self) -> &[f64] {
        self.begin();
        let (d, n) = (self.d as f64, self.x.len() / self.d);
        let mut sum = 0.0;
        for i in 0..n {
            self.point(i);
            sum += log_sum_exp(&self.terms);
        }
        let n = n as f64;
        let size: f64 = self.scales.iter().chain(&self.l).map(|x| x * x).sum();
        let prior = 0.5 * self.gamma * self.gamma * size - self.m * self.sums.iter().sum::<f64>();
        let nu = d + self.m + 1.0;
        let gammas: f64 =
            (0..self.d).map(|j| Elementary::ln_gamma(nu / 2.0 - 0.5 * j as f64)).sum();
        let gammas = gammas + 0.25 * d * (d - 1.0) * PI.ln();
        let constant = nu * d * (self.gamma.ln() - 0.5 * 2.0_f64.ln()) - gammas;
        let value = -0.5 * n * d * (2.0 * PI).ln() + sum - n * log_sum_exp(&self.alpha);
        self.value = [value + self.k as f64 * constant - prior];
        &self.value
    }

    fn derivative(&mut self) -> &[f64] {
        self.begin();
        let (d, count, below) = (self.d, self.k, self.d * (self.d - 1) / 2);
        let n = self.x.len() / d;
        self.g.fill(0.0);
        for i in 0..n {
            self.point(i);
            let whole = log_sum_exp(&self.terms);
            let (g_alpha, g) = self.g.split_at_mut(count);
            let (g_mu, g) = g.split_at_mut(count * d);
            let (g_q, g_l) = g.split_at_mut(count * d);
            for k in 0..count {
                let share = (self.terms[k] - whole).exp();
                g_alpha[k] += share;
                let (from, products) = (&self.from[k * d..][..d], &self.products[k * d..][..d]);
                let scales = &self.scales[k * d..][..d];
                for j in 0..d {
                    self.back[j] = scales[j] * products[j];
                    g_q[k * d + j] += share * (1.0 - products[j] * scales[j] * from[j]);
                }
                let mut l = &self.l[k * below..][..below];
                let mut g_l = &mut g_l[k * below..][..below];
                for column in 0..d {
                    let (entries, rest) = l.split_at(d - column - 1);
                    let (g_entries, g_rest) = g_l.split_at_mut(d - column - 1);
                    let by = share * from[column];
                    let mut sum = 0.0;
                    for ((entry, g), product) in
                        entries.iter().zip(g_entries).zip(&products[column + 1..])
                    {
                        sum += entry * product;
                        *g -= by * product;
                    }
                    self.back[column] += sum;
                    (l, g_l) = (rest, g_rest);
                }
                for j in 0..d {
                    g_mu[k * d + j] += share * self.back[j];
                }
            }
        }
        let whole = log_sum_exp(&self.alpha);
        for (g, alpha) in self.g.iter_mut().zip(&self.alpha) {
            *g -= n as f64 * (alpha - whole).exp();
        }
        let square = self.gamma * self.gamma;
        let g_q = &mut self.g[count * (1 + d)..];
        for (g, scale) in g_q.iter_mut().zip(&self.scales) {
            *g += self.m - square * scale * scale;
        }
        for (g, l) in g_q[count * d..].iter_mut().zip(&self.l) {
            *g -= square * l;
        }
        &self.g
    }
}
