//! A charged particle that falls on a plane: derivatives of its path by hand.

use serde_json::json;

use super::{Case, Hand, descend};

const STEP: f64 = 0.1;

struct Particle {
    w: f64,
    value: [f64; 1],
}

/// One for each way to nest modes; by hand they are the same.
pub fn cases() -> Vec<Case> {
    ["ff", "fr", "rf", "rr"].map(case).into()
}

fn case(modes: &'static str) -> Case {
    let w = 0.0;
    Case {
        module: "particle",
        label: modes.to_string(),
        functions: [None, Some(modes)],
        input: json!({ "w": w }),
        hand: Box::new(Particle { w, value: [0.0] }),
    }
}

/// The acceleration at x, and its derivative along a motion of x and w.
fn force(x: [f64; 2], dx: [f64; 2], w: f64) -> ([f64; 2], [f64; 2]) {
    let (mut a, mut da) = ([0.0; 2], [0.0; 2]);
    for (charge, moves) in [([10.0, 10.0 - w], 1.0), ([10.0, 0.0], 0.0)] {
        let r = [x[0] - charge[0], x[1] - charge[1]];
        let dr = [dx[0], dx[1] + moves];
        let squared = r[0] * r[0] + r[1] * r[1];
        let cubed = 1.0 / (squared * squared.sqrt());
        let along = 3.0 * (r[0] * dr[0] + r[1] * dr[1]) / squared;
        for k in 0..2 {
            a[k] += r[k] * cubed;
            da[k] += (dr[k] - along * r[k]) * cubed;
        }
    }
    (a, da)
}

/// The square of where the particle meets the plane, and its derivative by w.
fn path(w: f64) -> (f64, f64) {
    let (mut x, mut v) = ([0.0, 8.0], [0.75, 0.0]);
    let (mut dx, mut dv) = ([0.0; 2], [0.0; 2]);
    loop {
        let (a, da) = force(x, dx, w);
        for k in 0..2 {
            x[k] += STEP * v[k];
            dx[k] += STEP * dv[k];
        }
        if x[1] <= 0.0 {
            break;
        }
        for k in 0..2 {
            v[k] += STEP * a[k];
            dv[k] += STEP * da[k];
        }
    }
    let delta = -x[1] / v[1];
    let d_delta = (-dx[1] - delta * dv[1]) / v[1];
    let meets = x[0] + delta * v[0];
    let d_meets = dx[0] + d_delta * v[0] + delta * dv[0];
    (meets * meets, 2.0 * meets * d_meets)
}

impl Hand for Particle {
    fn primal(&mut self) -> &[f64] {
        self.value = [path(self.w).0];
        &self.value
    }

    fn derivative(&mut self) -> &[f64] {
        let slope = |w: &[f64; 1]| {
            let (height, slope) = path(w[0]);
            (height, [slope])
        };
        self.value = descend([self.w], slope);
        &self.value
    }
}
