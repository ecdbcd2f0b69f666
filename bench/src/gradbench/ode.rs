//! Classical Runge–Kutta steps of a chain of equations, and the same backwards.
//!
//! `GradBench`'s own derivative is a closed form, which says nothing of differentiation. This one keeps the states
//! and goes back through the stages.

use serde_json::json;

use super::{Case, Hand, Random, Size};

struct Ode {
    x: Vec<f64>,
    s: usize,
    /// All states, one after the other.
    states: Vec<f64>,
    /// The slopes of the stages.
    k: [Vec<f64>; 4],
    /// Where the stages begin.
    u: [Vec<f64>; 3],
    /// Cotangents of the state, of the slopes, and of where a stage begins.
    y_bar: Vec<f64>,
    k_bar: [Vec<f64>; 4],
    u_bar: Vec<f64>,
    x_bar: Vec<f64>,
}

/// The sizes of the suite. There the gradient is zero: no more than 4·s components move.
pub fn case(size: Size) -> Case {
    let (n, s) = size.pick([(5, 3), (1_000, 1), (10_000, 10), (100_000, 100)]);
    of(n, s)
}

/// A chain of which all components move.
pub fn chain(size: Size) -> Case {
    let (n, s) = size.pick([(4, 1), (40, 10), (200, 50), (400, 100)]);
    of(n, s)
}

fn of(n: usize, s: usize) -> Case {
    let x = Random::new().uniform(n);
    let zeros = || vec![0.0; n];
    Case {
        module: "ode",
        label: format!("n={n} s={s}"),
        functions: [Some("primal"), Some("gradient")],
        input: json!({ "x": x, "s": s }),
        hand: Box::new(Ode {
            states: vec![0.0; n * (s + 1)],
            k: std::array::from_fn(|_| zeros()),
            u: std::array::from_fn(|_| zeros()),
            y_bar: zeros(),
            k_bar: std::array::from_fn(|_| zeros()),
            u_bar: zeros(),
            x_bar: zeros(),
            x,
            s,
        }),
    }
}

/// k₀ = x₀, kᵢ = xᵢ uᵢ₋₁.
fn slope(x: &[f64], u: &[f64], k: &mut [f64]) {
    k[0] = x[0];
    for ((k, x), u) in k[1..].iter_mut().zip(&x[1..]).zip(u) {
        *k = x * u;
    }
}

/// The cotangents of u and x from those of k.
fn slope_back(x: &[f64], u: &[f64], k_bar: &[f64], u_bar: &mut [f64], x_bar: &mut [f64]) {
    let n = x.len();
    x_bar[0] += k_bar[0];
    for i in 1..n {
        u_bar[i - 1] = x[i] * k_bar[i];
        x_bar[i] += u[i - 1] * k_bar[i];
    }
    u_bar[n - 1] = 0.0;
}

fn moved(y: &[f64], k: &[f64], h: f64, u: &mut [f64]) {
    for ((u, y), k) in u.iter_mut().zip(y).zip(k) {
        *u = y + h * k;
    }
}

fn add(to: &mut [f64], h: f64, x: &[f64]) {
    to.iter_mut().zip(x).for_each(|(to, x)| *to += h * x);
}

impl Ode {
    fn stages(&mut self, step: usize) {
        let (n, h) = (self.x.len(), 2.0 / self.s as f64);
        let y = &self.states[step * n..][..n];
        slope(&self.x, y, &mut self.k[0]);
        for (stage, h) in [h / 2.0, h / 2.0, h].into_iter().enumerate() {
            moved(y, &self.k[stage], h, &mut self.u[stage]);
            slope(&self.x, &self.u[stage], &mut self.k[stage + 1]);
        }
    }
}

impl Hand for Ode {
    fn primal(&mut self) -> &[f64] {
        let (n, h) = (self.x.len(), 2.0 / self.s as f64);
        self.states[..n].fill(0.0);
        for step in 0..self.s {
            self.stages(step);
            let (before, after) = self.states.split_at_mut((step + 1) * n);
            let (y, next) = (&before[step * n..], &mut after[..n]);
            let [k1, k2, k3, k4] = &self.k;
            for i in 0..n {
                next[i] = y[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
            }
        }
        &self.states[self.s * n..]
    }

    fn derivative(&mut self) -> &[f64] {
        self.primal();
        let (n, h) = (self.x.len(), 2.0 / self.s as f64);
        self.x_bar.fill(0.0);
        self.y_bar.fill(0.0);
        self.y_bar[n - 1] = 1.0;
        for step in (0..self.s).rev() {
            self.stages(step);
            for (k_bar, share) in self.k_bar.iter_mut().zip([1.0, 2.0, 2.0, 1.0]) {
                for (k_bar, y_bar) in k_bar.iter_mut().zip(&self.y_bar) {
                    *k_bar = h / 6.0 * share * y_bar;
                }
            }
            for (stage, h) in [(2, h), (1, h / 2.0), (0, h / 2.0)] {
                let k_bar = &self.k_bar[stage + 1];
                slope_back(&self.x, &self.u[stage], k_bar, &mut self.u_bar, &mut self.x_bar);
                add(&mut self.y_bar, 1.0, &self.u_bar);
                add(&mut self.k_bar[stage], h, &self.u_bar);
            }
            let y = &self.states[step * n..][..n];
            slope_back(&self.x, y, &self.k_bar[0], &mut self.u_bar, &mut self.x_bar);
            add(&mut self.y_bar, 1.0, &self.u_bar);
        }
        &self.x_bar
    }
}
