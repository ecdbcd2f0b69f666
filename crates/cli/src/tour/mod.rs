//! `cotangent tour`: one function and what cotangent makes of it, then functions as programs.
//!
//! What is shown is computed first, as data ([`Tour`]), then printed as text or as JSON.

mod chain;
mod print;
mod programs;
mod times;

use std::io::Write;

use cotangent::prelude::*;
use cotangent::{
    Interval, Sparse, bounds, check_derivatives, find_nan, jacobian_bounds, operations,
    prepare_sparse_hessian,
};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::Failure;

/// How to show the tour.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cotangent tour\n  cotangent tour --json | jq .gradient")]
pub(crate) struct Arguments {
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Leave out the table of times.
    #[arg(long)]
    no_times: bool,
}

/// What the tour shows.
#[derive(Serialize)]
struct Tour {
    source: String,
    point: Vec<f64>,
    value: f64,
    gradient: Gradient,
    /// Row by row.
    hessian: Vec<Vec<f64>>,
    taylor: Taylor,
    bounds: Bounds,
    sparsity: Sparsity,
    operations: Operations,
    not_a_number: Fault,
    programs: programs::Programs,
    times: Vec<times::Time>,
}

#[derive(Serialize)]
struct Gradient {
    forward: Vec<f64>,
    reverse: Vec<f64>,
    hand: Vec<f64>,
    /// What `Auto` chose and why, for this many beads and for many.
    auto: [String; 2],
    /// How many ways to the derivatives were compared, and the largest error for its tolerance.
    ways: usize,
    worst: String,
}

#[derive(Serialize)]
struct Taylor {
    direction: Vec<f64>,
    coefficients: Vec<f64>,
    step: f64,
    series: f64,
    value: f64,
}

#[derive(Serialize)]
struct Bounds {
    /// Each coordinate may be off by this much.
    radius: f64,
    value: [f64; 2],
    gradient: Vec<[f64; 2]>,
}

#[derive(Serialize)]
struct Sparsity {
    variables: usize,
    nonzeros: usize,
    /// How many products with vectors give all entries.
    products: usize,
    /// What was coloured, and why.
    explained: String,
    /// The largest difference between the sparse Hessian and the dense one.
    error: f64,
    #[serde(skip)]
    picture: String,
    /// Row and column of each entry that is not zero.
    entries: Vec<(usize, usize)>,
}

#[derive(Serialize)]
struct Operations {
    total: u64,
    by_name: Vec<(&'static str, u64)>,
}

#[derive(Serialize)]
struct Fault {
    point: Vec<f64>,
    operation: &'static str,
    operands: Vec<String>,
    result: String,
    file: &'static str,
    line: u32,
}

impl Tour {
    fn new(with_times: bool, progress: impl Fn(&str)) -> Result<Tour, Failure> {
        let f = function!(|x: &[S]| -> S { chain::energy(x) });
        let x = chain::swinging(3);
        let n = x.len();
        let (value, forward) = value_and_gradient(&f, &Forward::default(), &x)?;
        let reverse = gradient(&f, &Reverse::default(), &x)?;
        let mut hand = vec![0.0; n];
        chain::energy_gradient(&x, &mut hand);
        let many = chain::swinging(100);
        let auto = [Auto.explain(&f, &x)?.to_string(), Auto.explain(&f, &many)?.to_string()];
        let report = check_derivatives(&f, &x)?;
        if !report.passes() {
            return Err(Failure::No(format!("the derivatives disagree; {report}")));
        }
        let worst =
            report.worst().map_or(String::new(), |c| format!("{:.0e}: {}", c.error, c.what));
        let matrix = hessian(&f, &Auto, &x)?;
        Ok(Tour {
            source: chain::source(),
            value,
            gradient: Gradient {
                forward,
                reverse,
                hand,
                auto,
                ways: report.comparisons.len() + 1,
                worst,
            },
            hessian: (0..n).map(|i| matrix.row(i)).collect(),
            taylor: Taylor::new(&x)?,
            bounds: Bounds::new(&x)?,
            sparsity: Sparsity::new()?,
            operations: Operations::new(&x)?,
            not_a_number: Fault::new(&x)?,
            programs: programs::Programs::new()?,
            times: if with_times { times::measure(progress)? } else { Vec::new() },
            point: x,
        })
    }
}

impl Taylor {
    fn new(x: &[f64]) -> Result<Taylor, Failure> {
        let f = function!(|x: &[S]| -> S { chain::energy(x) });
        // The last bead is pushed to the right.
        let mut direction = vec![0.0; x.len()];
        direction[x.len() - 2] = 1.0;
        let coefficients = taylor_along(&f, x, &direction, 8)?.swap_remove(0);
        let step = 0.25;
        let series = coefficients.iter().rev().fold(0.0, |sum, c| sum * step + c);
        let moved: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
        let value = chain::energy(&moved);
        Ok(Taylor { direction, coefficients, step, series, value })
    }
}

impl Bounds {
    fn new(x: &[f64]) -> Result<Bounds, Failure> {
        let f = function!(|x: &[S]| -> S { chain::energy(x) });
        let radius = 0.001;
        let around: Vec<Interval> =
            x.iter().map(|x| Interval::new(x - radius, x + radius)).collect();
        let ends = |i: Interval| [i.low(), i.high()];
        let rows = jacobian_bounds(&f, &around)?;
        Ok(Bounds {
            radius,
            value: ends(bounds(&f, &around)?[0]),
            gradient: rows.row(0).into_iter().map(ends).collect(),
        })
    }
}

impl Sparsity {
    fn new() -> Result<Sparsity, Failure> {
        let f = function!(|x: &[S]| -> S { chain::energy(x) });
        let x = chain::swinging(20);
        let prepared = prepare_sparse_hessian(f, &Sparse::default(), &x)?;
        let pattern = prepared.pattern();
        let (sparse, dense) = (prepared.hessian(&x)?.to_dense()?, hessian(&f, &Auto, &x)?);
        let differences =
            sparse.as_slice().iter().zip(dense.as_slice()).map(|(a, b)| (a - b).abs());
        Ok(Sparsity {
            variables: x.len(),
            nonzeros: pattern.nnz(),
            products: prepared.coloring().count(),
            explained: prepared.explain(),
            error: differences.fold(0.0, f64::max),
            picture: cotangent::spy(pattern, 40),
            entries: pattern.entries().collect(),
        })
    }
}

impl Operations {
    fn new(x: &[f64]) -> Result<Operations, Failure> {
        let f = function!(|x: &[S]| -> S { chain::energy(x) });
        let counts = operations(&f, x)?;
        let by_name = counts.iter().map(|(op, count)| (op.info().name, count)).collect();
        Ok(Operations { total: counts.total(), by_name })
    }
}

impl Fault {
    /// A bead that has flown off to where squares overflow.
    fn new(x: &[f64]) -> Result<Fault, Failure> {
        let f = function!(|x: &[S]| -> S { chain::energy(x) });
        let mut point = x.to_vec();
        point[2] = 1e200;
        let report = find_nan(&f, &point)?
            .ok_or_else(|| Failure::No("a NaN that must be found was not".to_string()))?;
        Ok(Fault {
            point,
            operation: report.operation,
            operands: report.operands,
            result: report.result,
            file: report.at.file(),
            line: report.at.line(),
        })
    }
}

/// The lines of a file that are between two remarks: what is shown is what was run.
fn shown(file: &str) -> String {
    let after = file.split_once("from here:\n").map_or("", |(_, after)| after);
    let lines = after.split_once("// to here").map_or("", |(shown, _)| shown);
    lines.replace("pub(super) ", "").trim_end().to_string()
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    // Drawn on the terminal's standard error only, and gone when done.
    let spinner = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} measuring {msg}") {
        spinner.set_style(style);
    }
    let tour = Tour::new(!arguments.no_times, |what| {
        spinner.set_message(what.to_string());
        spinner.tick();
    });
    spinner.finish_and_clear();
    let tour = tour?;
    let mut out = anstream::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &tour).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print::print(&tour, &mut out)?;
    }
    out.flush()?;
    Ok(())
}
