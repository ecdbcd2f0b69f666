//! Least squares of a polynomial against the sign.

use cotangent_ir::{Function, Traced, fori, select, sum_over, trace_arrays};
use cotangent_numbers::Elementary;
use cotangent_transform::gradient;
use serde_json::Value;

use super::input;
use super::task::{Task, failed, list, scalar, unknown, without_first};

/// More points than any evaluation has.
const MOST_POINTS: usize = 1 << 32;

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let x = input::list(given, "x")?;
    let n = input::count(given, "n", 2, MOST_POINTS)?;
    let m = x.len();
    let shape = format!("{n} {m}");
    match function {
        "primal" => Ok(Task::program(shape, x, move || primal(n, m), scalar)),
        "gradient" => {
            let program = move || {
                let both = gradient(&primal(n, m)?).map_err(failed)?;
                Ok(without_first(&both, 1))
            };
            Ok(Task::program(shape, x, program, list))
        }
        other => Err(unknown(other, &["primal", "gradient"])),
    }
}

fn primal(n: usize, m: usize) -> Result<Function, String> {
    let number = Traced::from;
    trace_arrays("llsq", &[&[m]], |x| {
        let x = x[0];
        let squares = sum_over(0..n, |i| {
            let t = i.to_number() * 2.0 / (n as f64 - 1.0) - 1.0;
            let sign = select(t.greater(0.0), number(1.0), number(-1.0));
            let sign = select(t.equals(0.0), number(0.0), sign);
            let start = (sign, number(1.0));
            let (rest, _) = fori(m, start, |j, (rest, power)| (rest - x.at(j) * power, power * t));
            rest * rest
        });
        squares * 0.5
    })
    .map_err(failed)
}
