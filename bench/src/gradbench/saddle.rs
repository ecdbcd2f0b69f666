//! A saddle point: derivatives through the inner ascent by hand.

use serde_json::json;

use super::{Case, Hand, descend};

struct Saddle {
    start: [f64; 2],
    found: [f64; 4],
}

/// One for each way to nest modes; by hand they are the same.
pub fn cases() -> Vec<Case> {
    ["ff", "fr", "rf", "rr"].map(case).into()
}

fn case(modes: &'static str) -> Case {
    let start = [1.0, 1.0];
    Case {
        module: "saddle",
        label: modes.to_string(),
        functions: [None, Some(modes)],
        input: json!({ "start": start }),
        hand: Box::new(Saddle { start, found: [0.0; 4] }),
    }
}

fn square(x: &[f64; 2]) -> f64 {
    x[0] * x[0] + x[1] * x[1]
}

impl Saddle {
    /// The highest y over x.
    fn highest(&self, x: &[f64; 2]) -> [f64; 2] {
        let depth = |y: &[f64; 2]| square(y) - square(x);
        descend(self.start, |y| (depth(y), y.map(|y| 2.0 * y)))
    }

    fn height(&self, x: &[f64; 2]) -> f64 {
        square(x) - square(&self.highest(x))
    }
}

impl Hand for Saddle {
    fn primal(&mut self) -> &[f64] {
        self.found[0] = self.height(&self.start);
        &self.found[..1]
    }

    fn derivative(&mut self) -> &[f64] {
        // The steps of the ascent do not depend on x, so y does not move with it.
        let slope = |x: &[f64; 2]| (self.height(x), x.map(|x| 2.0 * x));
        let x = descend(self.start, slope);
        let y = self.highest(&x);
        self.found = [x[0], x[1], y[0], y[1]];
        &self.found
    }
}
