//! The logarithm of a sum of exponentials.

use cotangent_ir::{Function, max_over, sum_over, trace_arrays};
use cotangent_transform::gradient;
use serde_json::Value;

use super::input;
use super::task::{Task, failed, list, scalar, unknown};

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
            let program = move || gradient(&primal(n)?).map_err(failed);
            Ok(Task::program(shape, x, program, |y| list(&y[1..])))
        }
        other => Err(unknown(other, &["primal", "gradient"])),
    }
}

fn primal(n: usize) -> Result<Function, String> {
    trace_arrays("lse", &[&[n]], |x| {
        let x = x[0];
        // The result does not depend on what it is shifted by.
        let shift = max_over(0..n, |i| x.at(i)).stop();
        sum_over(0..n, |i| (x.at(i) - shift).exp()).ln() + shift
    })
    .map_err(failed)
}
