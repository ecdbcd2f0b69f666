//! The logarithm of a sum of exponentials.

use serde_json::json;

use super::{Case, Hand, Random, Size};

struct Lse {
    x: Vec<f64>,
    value: [f64; 1],
    g: Vec<f64>,
}

pub fn case(size: Size) -> Case {
    let n = size.pick([7, 2_500, 40_000, 1_280_000]);
    let x = Random::new().uniform(n);
    Case {
        module: "lse",
        label: format!("n={n}"),
        functions: [Some("primal"), Some("gradient")],
        input: json!({ "x": x }),
        hand: Box::new(Lse { g: vec![0.0; n], value: [0.0], x }),
    }
}

impl Hand for Lse {
    fn primal(&mut self) -> &[f64] {
        let most = self.x.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
        let sum: f64 = self.x.iter().map(|x| (x - most).exp()).sum();
        self.value = [sum.ln() + most];
        &self.value
    }

    fn derivative(&mut self) -> &[f64] {
        let most = self.x.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
        let mut sum = 0.0;
        for (g, x) in self.g.iter_mut().zip(&self.x) {
            *g = (x - most).exp();
            sum += *g;
        }
        let scale = 1.0 / sum;
        self.g.iter_mut().for_each(|g| *g *= scale);
        &self.g
    }
}
