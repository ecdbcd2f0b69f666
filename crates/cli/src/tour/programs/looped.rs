//! A loop that stays a loop: recorded once, differentiated backwards, with few states kept.

use std::io::{self, Write};

use cotangent::{Forward, Scalar, function};
use cotangent_ir::{Function, Traced, count, fori, trace};
use cotangent_transform::{checkpoint, gradient};
use serde::Serialize;

use super::traced::indented;
use super::{agree, failed};
use crate::Failure;
use crate::tour::print::{code, numbers, remark, title};

const STEPS: usize = 10_000;
const STATES: usize = 30;

// The tour shows the lines from here:
/// A pendulum after ten thousand steps.
fn swing(x: &[Traced]) -> Vec<Traced> {
    let (angle, _) = fori(10_000, (x[0], x[1]), |_, (angle, speed)| {
        let speed = speed - angle.sin() * 1e-3;
        (angle + speed * 1e-3, speed)
    });
    vec![angle]
}
// to here.

/// The same, step by step on any number.
fn step_by_step<S: Scalar>(x: &[S]) -> S {
    let (mut angle, mut speed) = (x[0], x[1]);
    for _ in 0..STEPS {
        speed -= angle.sin() * 1e-3;
        angle += speed * 1e-3;
    }
    angle
}

#[derive(Serialize)]
pub(super) struct Section {
    source: String,
    text: String,
    point: Vec<f64>,
    gradient: Vec<f64>,
    by_dual_numbers: Vec<f64>,
    states: usize,
    /// The bytes at the peak with all states kept, and with few.
    peak_bytes: [Option<usize>; 2],
    /// The operations that were run, in times the function's.
    operations: [f64; 2],
}

impl Section {
    pub(super) fn new() -> Result<Section, Failure> {
        let f = trace("swing", 2, swing).map_err(failed)?;
        let g = gradient(&f)?;
        let few = gradient(&checkpoint(&f, STATES)?)?;
        let point = vec![0.5, 0.1];
        let found = g.run(&point).map_err(failed)?;
        if few.run(&point).map_err(failed)? != found {
            return Err(Failure::No("checkpoints changed a gradient".to_string()));
        }
        let eager = function!(|x: &[S]| -> S { step_by_step(x) });
        let dual = cotangent::gradient(&eager, &Forward::default(), &point)?;
        agree("the gradient of a loop", &found[1..], &dual, 1e-10)?;
        let run =
            |f: &Function| count(f, &point).map(|counts| counts.total() as f64).map_err(failed);
        let operations = [run(&g)? / run(&f)?, run(&few)? / run(&f)?];
        Ok(Section {
            source: crate::tour::shown(include_str!("looped.rs")),
            text: f.to_string(),
            point,
            gradient: found[1..].to_vec(),
            by_dual_numbers: dual,
            states: STATES,
            peak_bytes: [g.peak_bytes(), few.peak_bytes()],
            operations,
        })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        title(out, "A loop stays a loop")?;
        code(out, &self.source)?;
        write!(out, "{}", indented(&self.text))?;
        code(out, "gradient(&f)?; gradient(&checkpoint(&f, 30)?)?")?;
        writeln!(out, "  x              {}", numbers(&self.point))?;
        writeln!(out, "  backwards      {}", numbers(&self.gradient))?;
        writeln!(out, "  dual numbers   {}", numbers(&self.by_dual_numbers))?;
        let bytes = |k: usize| {
            self.peak_bytes[k].map_or("?".to_string(), |b| format!("{:.1} kB", b as f64 / 1e3))
        };
        let states = format!("{} states", self.states);
        for (k, what) in ["all states", &states].into_iter().enumerate() {
            let times = format!("{:>4.1} × the operations of the function", self.operations[k]);
            writeln!(out, "  {what:<14} {:>10} at the peak, {times}", bytes(k))?;
        }
        remark(out, "both give the same bits; the peak is known before anything runs")
    }
}
