//! Least squares of a polynomial against the sign.

use serde_json::json;

use super::{Case, Hand, Random, Size};

struct Llsq {
    x: Vec<f64>,
    n: usize,
    value: [f64; 1],
    g: Vec<f64>,
}

pub fn case(size: Size) -> Case {
    let (n, m) = size.pick([(5, 4), (16, 128), (1024, 128), (16_392, 128)]);
    let x = Random::new().uniform(m);
    Case {
        module: "llsq",
        label: format!("n={n} m={m}"),
        functions: [Some("primal"), Some("gradient")],
        input: json!({ "x": x, "n": n }),
        hand: Box::new(Llsq { g: vec![0.0; m], value: [0.0], x, n }),
    }
}

impl Llsq {
    fn place(&self, i: usize) -> f64 {
        -1.0 + i as f64 * 2.0 / (self.n as f64 - 1.0)
    }

    fn residual(&self, t: f64) -> f64 {
        let mut rest = if t == 0.0 { 0.0 } else { t.signum() };
        let mut power = 1.0;
        for x in &self.x {
            rest -= x * power;
            power *= t;
        }
        rest
    }
}

impl Hand for Llsq {
    fn primal(&mut self) -> &[f64] {
        let squares = (0..self.n).map(|i| self.residual(self.place(i)).powi(2));
        self.value = [0.5 * squares.sum::<f64>()];
        &self.value
    }

    fn derivative(&mut self) -> &[f64] {
        self.g.fill(0.0);
        for i in 0..self.n {
            let t = self.place(i);
            let mut term = -self.residual(t);
            for g in &mut self.g {
                *g += term;
                term *= t;
            }
        }
        &self.g
    }
}
