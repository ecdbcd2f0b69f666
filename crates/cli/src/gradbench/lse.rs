//! The logarithm of a sum of exponentials.

use cotangent_ir::{Function, Traced, TracedArray, sum_over, trace_arrays};
use cotangent_transform::gradient;
use serde_json::Value;

use super::input;
use super::task::{Task, failed, list, scalar, unknown, without_first};

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let x = input::list(given, "x")?;
    let n = x.len();
    if n == 0 {
        return Err("`x` is empty".to_string());
    }
    let shape = n.to_string();
    match function {
        "primal" => Ok(Task::program(shape, x, move || primal(n), scalar)),
        "gradient" => {
            let program = move || {
                let both = gradient(&primal(n)?).map_err(failed)?;
                Ok(without_first(&both, 1))
            };
            Ok(Task::program(shape, x, program, list))
        }
        other => Err(unknown(other, &["primal", "gradient"])),
    }
}

fn primal(n: usize) -> Result<Function, String> {
    trace_arrays("lse", &[&[n]], |x| log_sum_exp(x[0])).map_err(failed)
}

/// The logarithm of the sum of the exponentials of a list.
pub(super) fn log_sum_exp(x: TracedArray) -> Traced {
    // The result does not depend on what it is shifted by.
    let shift = x.largest().stop();
    sum_over(0..x.len(), |i| (x.at(i) - shift).exp()).ln() + shift
}
