//! Classical Runge–Kutta steps of a chain of equations.

use cotangent_ir::{Function, TracedArray, fori, map_over, select, trace_arrays};
use cotangent_transform::gradient;
use serde_json::Value;

use super::input;
use super::task::{Task, failed, list, unknown, without_first};

/// More steps than any evaluation has.
const MOST_STEPS: usize = 1 << 24;

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let x = input::list(given, "x")?;
    let s = input::count(given, "s", 1, MOST_STEPS)?;
    let n = x.len();
    if n == 0 {
        return Err("`x` is empty".to_string());
    }
    let shape = format!("{n} {s}");
    match function {
        "primal" => Ok(Task::program(shape, x, move || primal(n, s), list)),
        "gradient" => {
            let program = move || {
                let both = gradient(&last(n, s)?).map_err(failed)?;
                Ok(without_first(&both, 1))
            };
            Ok(Task::program(shape, x, program, list))
        }
        other => Err(unknown(other, &["primal", "gradient"])),
    }
}

fn primal(n: usize, s: usize) -> Result<Function, String> {
    trace_arrays("ode", &[&[n]], |x| solution(x[0], s)).map_err(failed)
}

/// The last component.
fn last(n: usize, s: usize) -> Result<Function, String> {
    trace_arrays("ode", &[&[n]], |x| solution(x[0], s).at(n - 1)).map_err(failed)
}

/// y(2) with y(0) = 0, y₀' = x₀ and yᵢ' = xᵢ yᵢ₋₁.
fn solution(x: TracedArray, s: usize) -> TracedArray {
    let n = x.len();
    let h = 2.0 / s as f64;
    let slope = |y: TracedArray| {
        map_over(0..n, |i| {
            let before = y.at((i - 1).max(0));
            x.at(i) * select(i.equal(0), 1.0.into(), before)
        })
    };
    fori(s, TracedArray::zeros([n]), |_, y| {
        let k1 = slope(y);
        let k2 = slope(y + k1 * (h / 2.0));
        let k3 = slope(y + k2 * (h / 2.0));
        let k4 = slope(y + k3 * h);
        y + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (h / 6.0)
    })
}
