//! The square of a number, and its derivative.

use cotangent_ir::trace;
use cotangent_transform::gradient;
use serde_json::Value;

use super::task::{Task, failed, scalar, unknown, without_first};

pub(super) fn task(function: &str, input: &Value) -> Result<Task, String> {
    let x = input.as_f64().ok_or("the input must be a number")?;
    let square = || trace("square", 1, |x| vec![x[0] * x[0]]).map_err(failed);
    match function {
        "square" => Ok(Task::program(String::new(), vec![x], square, scalar)),
        "double" => {
            let program = move || Ok(without_first(&gradient(&square()?).map_err(failed)?, 1));
            Ok(Task::program(String::new(), vec![x], program, scalar))
        }
        other => Err(unknown(other, &["square", "double"])),
    }
}
