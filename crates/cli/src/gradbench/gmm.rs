//! The likelihood of a mixture of Gaussians.

use std::f64::consts::PI;

use cotangent_ir::input::{array, number};
use cotangent_ir::{Function, IndexTable, TracedArray, map_over, select, sum_over, trace_with};
use cotangent_numbers::Elementary;
use cotangent_transform::gradient_to;
use serde_json::{Value, json};

use super::input;
use super::lse::log_sum_exp;
use super::task::{Task, failed, list, rows, scalar, unknown, without_first};

/// Coordinates, components and points.
#[derive(Clone, Copy)]
struct Sizes {
    d: usize,
    k: usize,
    n: usize,
}

impl Sizes {
    /// The entries below a diagonal.
    fn below(self) -> usize {
        self.d * (self.d - 1) / 2
    }
}

/// More than any evaluation has, in each direction.
const MOST: usize = 1 << 32;

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let size = |name| input::count(given, name, 1, MOST);
    let sizes = Sizes { d: size("d")?, k: size("k")?, n: size("n")? };
    let Sizes { d, k, n } = sizes;
    let mut inputs = input::rows_of(given, "x", n, d)?;
    inputs.extend(input::list_of(given, "alpha", k)?);
    inputs.extend(input::rows_of(given, "mu", k, d)?);
    inputs.extend(input::rows_of(given, "q", k, d)?);
    inputs.extend(input::rows_of(given, "l", k, sizes.below())?);
    let (gamma, m) = (input::number(given, "gamma")?, input::number(given, "m")?);
    inputs.extend([gamma, m, constant(sizes, gamma, m)]);
    let shape = format!("{d} {k} {n}");
    match function {
        "objective" => Ok(Task::program(shape, inputs, move || objective(sizes), scalar)),
        "jacobian" => {
            let program = move || {
                let moves = ["x1", "x2", "x3", "x4"];
                let both = gradient_to(&objective(sizes)?, |p| moves.contains(&&*p.name));
                Ok(without_first(&both.map_err(failed)?, 1))
            };
            Ok(Task::program(shape, inputs, program, move |y| jacobian(sizes, y)))
        }
        other => Err(unknown(other, &["objective", "jacobian"])),
    }
}

/// The partials by name.
fn jacobian(sizes: Sizes, y: &[f64]) -> Value {
    let Sizes { d, k, .. } = sizes;
    let (alpha, rest) = y.split_at(k);
    let (mu, rest) = rest.split_at(k * d);
    let (q, l) = rest.split_at(k * d);
    let l = match sizes.below() {
        // With one coordinate there is nothing below the diagonal.
        0 => json!(vec![[0.0; 0]; k]),
        below => rows(l, below),
    };
    json!({ "alpha": list(alpha), "mu": rows(mu, d), "q": rows(q, d), "l": l })
}

/// What depends on no parameter of the components.
fn constant(Sizes { d, k, n }: Sizes, gamma: f64, m: f64) -> f64 {
    let dims = d as f64;
    let nu = dims + m + 1.0;
    // The logarithm of the multivariate gamma function.
    let gammas: f64 = (0..d).map(|j| Elementary::ln_gamma(nu / 2.0 - 0.5 * j as f64)).sum();
    let gammas = gammas + 0.25 * dims * (dims - 1.0) * PI.ln();
    let prior = nu * dims * (gamma.ln() - 0.5 * 2.0_f64.ln()) - gammas;
    k as f64 * prior - 0.5 * n as f64 * dims * (2.0 * PI).ln()
}

fn objective(sizes: Sizes) -> Result<Function, String> {
    let Sizes { d, k, n } = sizes;
    let below = sizes.below();
    let inputs = (
        array([n, d]),
        array([k]),
        array([k, d]),
        array([k, d]),
        array([k, below]),
        (number(), number(), number()),
    );
    // Where an entry stands among those below the diagonal, which are given column by column.
    let places: Vec<usize> = (0..d * d)
        .map(|e| (e / d, e % d))
        .map(|(row, column)| match column < row {
            true => column * (2 * d - column - 1) / 2 + row - column - 1,
            false => 0,
        })
        .collect();
    let places = IndexTable::shaped(&[d, d], &places).map_err(failed)?;
    trace_with("gmm", inputs, |(x, alpha, mu, q, l, (gamma, m, constant))| {
        let scales = q.exp();
        // The lower triangles; what is above the diagonal is not used.
        let factors = match below {
            0 => scales.reshape([k, 1, 1]),
            _ => map_over((0..k, 0..d, 0..d), |(k, row, column)| {
                let entry = l.at((k, places.at((row, column))));
                select(row.equal(column), scales.at((k, row)), entry)
            }),
        };
        let sums = map_over(0..k, |k| sum_over(0..d, |j| q.at((k, j))));
        // Coordinate by coordinate: neighbouring points lie side by side.
        let x = map_over((0..d, 0..n), |(j, i)| x.at((i, j)));
        let terms = map_over((0..k, 0..n), |(k, i)| {
            let from = map_over(0..d, |j| x.at((j, i)) - mu.at((k, j)));
            let entry = |row| sum_over(0..row + 1, |j| factors.at((k, row, j)) * from.at(j));
            let products = TracedArray::from_numbers(&(0..d).map(entry).collect::<Vec<_>>());
            alpha.at(k) + sums.at(k) - (products * products).sum() * 0.5
        });
        let points = sum_over(0..n, |i| log_sum_exp(map_over(0..k, |k| terms.at((k, i)))));
        let size = (scales * scales).sum() + (l * l).sum();
        let prior = gamma * gamma * size * 0.5 - m * q.sum();
        constant + points - log_sum_exp(alpha) * n as f64 - prior
    })
    .map_err(failed)
}
