//! A determinant by expansion along the first row, again and again.
//!
//! The recursion is ordinary code on traced numbers. It has of the order of ell! steps, and all are taken when
//! it is traced. The trace makes equal operations one as it does always; so minors of the same rows and columns
//! come out as one value, and the program has of the order of ell·2^ell operations. That is found by the
//! tracer; nothing here keeps minors.

use cotangent_ir::{Function, Traced, trace};
use cotangent_transform::gradient;
use serde_json::Value;

use super::input;
use super::task::{Task, failed, list, scalar, unknown, without_first};

/// The expansion of a larger matrix takes hours to trace.
const MOST_ROWS: usize = 12;

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let ell = input::count(given, "ell", 1, MOST_ROWS)?;
    let a = input::list_of(given, "A", ell * ell)?;
    let shape = ell.to_string();
    match function {
        "primal" => Ok(Task::program(shape, a, move || primal(ell), scalar)),
        "gradient" => {
            let program = move || {
                let both = gradient(&primal(ell)?).map_err(failed)?;
                Ok(without_first(&both, 1))
            };
            Ok(Task::program(shape, a, program, list))
        }
        other => Err(unknown(other, &["primal", "gradient"])),
    }
}

fn primal(ell: usize) -> Result<Function, String> {
    let program = trace("det", ell * ell, |a| {
        // After each column the next one that is left; the list begins behind the last column.
        let mut next: Vec<usize> = (1..=ell).chain([0]).collect();
        vec![expand(a, ell, 0, &mut next)]
    });
    program.map_err(failed)
}

/// The determinant of the rows from one on and the columns that are left.
fn expand(a: &[Traced], ell: usize, row: usize, next: &mut [usize]) -> Traced {
    let first = next[ell];
    if row + 1 == ell {
        return a[row * ell + first];
    }
    let (mut sum, mut before, mut column) = (None, ell, first);
    for k in 0..ell - row {
        let after = next[column];
        next[before] = after;
        let term = a[row * ell + column] * expand(a, ell, row + 1, next);
        next[before] = column;
        (before, column) = (column, after);
        sum = Some(match sum {
            None => term,
            Some(sum) if k % 2 == 0 => sum + term,
            Some(sum) => sum - term,
        });
    }
    sum.unwrap_or(Traced::from(1.0))
}
