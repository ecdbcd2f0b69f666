//! Taylor series and Laplacians as programs.

use std::io::{self, Write};

use cotangent::{function, taylor_along};
use cotangent_optimize::simplify;
use cotangent_transform::{hessian, jet, laplacian};
use serde::Serialize;

use super::traced::{program, valley};
use super::{agree, failed};
use crate::Failure;
use crate::tour::print::{code, remark, superscript, title};

const ORDER: usize = 6;

#[derive(Serialize)]
pub(super) struct Section {
    point: Vec<f64>,
    /// Of the function with t added to the first number.
    coefficients: Vec<f64>,
    step: f64,
    series: f64,
    value: f64,
    laplacian: f64,
    laplacian_by_hand: f64,
    /// Of the Laplacian's program, and of the Hessian's.
    operations: [usize; 2],
}

impl Section {
    pub(super) fn new() -> Result<Section, Failure> {
        let f = program()?;
        let x = [0.6, 0.9];
        // Every number is a series: x₀ + t and x₁.
        let mut series = vec![0.0; 2 * (ORDER + 1)];
        (series[0], series[1], series[ORDER + 1]) = (x[0], 1.0, x[1]);
        let coefficients = simplify(&jet(&f, ORDER)?).run(&series).map_err(failed)?;
        let eager = function!(|x: &[S]| -> S { valley(x) });
        let expected = taylor_along(&eager, &x, &[1.0, 0.0], ORDER)?.swap_remove(0);
        agree("a Taylor series", &coefficients, &expected, 1e-12)?;
        let step = 0.1;
        let lap = simplify(&laplacian(&f)?);
        let found = lap.run(&x).map_err(failed)?[1];
        // Of a function of the radius r alone: f″ + f′/r.
        let r = (x[0] * x[0] + x[1] * x[1]).sqrt();
        let by_hand = (1.0 - (-r).exp()) + ((r - 1.0) + (-r).exp()) / r;
        agree("a Laplacian", &[found], &[by_hand], 1e-12)?;
        Ok(Section {
            point: x.to_vec(),
            step,
            series: coefficients.iter().rev().fold(0.0, |sum, c| sum * step + c),
            value: valley(&[x[0] + step, x[1]]),
            coefficients,
            laplacian: found,
            laplacian_by_hand: by_hand,
            operations: [lap.operations(), simplify(&hessian(&f)?).operations()],
        })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        title(out, "Series and Laplacians of the valley")?;
        code(out, "jet(&f, 6)?   // every number a series: here x₀ + t and x₁")?;
        write!(out, " ")?;
        for (k, c) in self.coefficients.iter().enumerate() {
            let sign = if *c < 0.0 { "−" } else { "+" };
            write!(out, " {sign} {:.4}{}", c.abs(), superscript(k))?;
        }
        writeln!(out)?;
        let Section { step, series, value, .. } = self;
        remark(out, &format!("at t = {step}: series {series:.7}, function {value:.7}"))?;
        code(out, "laplacian(&f)?   // forward, without a Hessian")?;
        writeln!(out, "  {:.12}, by hand {:.12}", self.laplacian, self.laplacian_by_hand)?;
        let [lap, hess] = self.operations;
        remark(out, &format!("{lap} operations; the program of the Hessian has {hess}"))
    }
}
