//! A function traced to a program, and its gradient as a program.

use std::io::{self, Write};

use cotangent::{Forward, Scalar, function};
use cotangent_ir::{Function, trace};
use cotangent_optimize::simplify;
use cotangent_transform::gradient;
use serde::Serialize;

use super::{agree, failed};
use crate::Failure;
use crate::tour::print::{code, numbers, remark, title};

// The tour shows the lines from here:
/// A particle in a round valley.
pub(super) fn valley<S: Scalar>(x: &[S]) -> S {
    let r = (x[0] * x[0] + x[1] * x[1]).sqrt();
    (r - 1.0).powi(2) * 0.5 - (-r).exp()
}
// to here.

/// The program of it.
pub(super) fn program() -> Result<Function, Failure> {
    trace("valley", 2, |x| vec![valley(x)]).map_err(failed)
}

#[derive(Serialize)]
pub(super) struct Section {
    source: String,
    text: String,
    /// The gradient program, after optimisation.
    gradient_text: String,
    /// Of the function, of its gradient, and of that after optimisation.
    operations: [usize; 3],
    point: Vec<f64>,
    gradient: Vec<f64>,
    by_dual_numbers: Vec<f64>,
}

impl Section {
    pub(super) fn new() -> Result<Section, Failure> {
        let f = program()?;
        let g = gradient(&f)?;
        let fast = simplify(&g);
        let point = vec![0.6, 0.9];
        let found = fast.run(&point).map_err(failed)?.split_off(1);
        let eager = function!(|x: &[S]| -> S { valley(x) });
        let dual = cotangent::gradient(&eager, &Forward::default(), &point)?;
        agree("the gradient program", &found, &dual, 1e-14)?;
        Ok(Section {
            source: crate::tour::shown(include_str!("traced.rs")),
            operations: [f.operations(), g.operations(), fast.operations()],
            text: f.to_string(),
            gradient_text: fast.to_string(),
            point,
            gradient: found,
            by_dual_numbers: dual,
        })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        title(out, "A function as a program")?;
        code(out, &self.source)?;
        code(out, "let f = trace(\"valley\", 2, |x| vec![valley(x)])?;")?;
        write!(out, "{}", indented(&self.text))?;
        code(out, "simplify(&gradient(&f)?)   // a program again: the value, then the partials")?;
        write!(out, "{}", indented(&self.gradient_text))?;
        writeln!(out, "  x              {}", numbers(&self.point))?;
        writeln!(out, "  the program    {}", numbers(&self.gradient))?;
        writeln!(out, "  dual numbers   {}", numbers(&self.by_dual_numbers))?;
        let [f, g, fast] = self.operations;
        let counts = format!("{f} operations; its gradient {g}, after optimisation {fast}");
        remark(out, &format!("the function has {counts}"))
    }
}

/// A program as it is shown.
pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
