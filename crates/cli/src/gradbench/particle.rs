//! A charged particle that falls on a plane near other charges: where they must be for it to fall at the
//! origin.
//!
//! The forces on it are derivatives of a potential, and the descent goes by derivatives of its path.

use cotangent_ir::{Function, Traced, TracedIndex, select, trace, while_};
use cotangent_numbers::Elementary;
use serde_json::Value;

use super::descent::{Mode, called, derivative, descend, modes};
use super::input;
use super::task::{Task, compiled, failed, run, scalar};

/// The length of a step in time.
const STEP: f64 = 0.1;
/// A particle that has not fallen by then is pushed away for good.
const MOST_STEPS: usize = 20_000;

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let (outer, inner) = modes(function)?;
    let w = input::number(given, "w")?;
    Ok(Task {
        shape: String::new(),
        prepare: Box::new(move || Ok(vec![compiled(&derivative(&path(inner)?, &[0], outer)?)?])),
        run: Box::new(move |programs, outputs| {
            let [slope] = programs else { return Err("a program is missing".to_string()) };
            *outputs = descend(&[w], |w| {
                let mut found = Vec::new();
                run(slope, w, &mut found).map(|()| found)
            })?;
            Ok(())
        }),
        answer: Box::new(scalar),
    })
}

/// The potential of the charges: of x and of w.
fn potential() -> Result<Function, String> {
    trace("potential", 3, |x| {
        let charges = [(Traced::from(10.0), 10.0 - x[2]), (10.0.into(), 0.0.into())];
        let term = |(a, b): (Traced, Traced)| {
            let (dx, dy) = (x[0] - a, x[1] - b);
            (dx * dx + dy * dy).sqrt().recip()
        };
        vec![term(charges[0]) + term(charges[1])]
    })
    .map_err(failed)
}

/// The square of where the particle meets the plane; not a number if it does not.
fn path(inner: Mode) -> Result<Function, String> {
    let force = derivative(&potential()?, &[0, 1], inner)?;
    trace("path", 1, |w| {
        let w = w[0];
        let start: [Traced; 4] = [0.0, 8.0, 0.75, 0.0].map(Traced::from);
        let moved = |s: [Traced; 4]| [s[0] + s[2] * STEP, s[1] + s[3] * STEP];
        let above = |s: [Traced; 4]| moved(s)[1].greater(0.0);
        let goes_on = |(s, step): ([Traced; 4], TracedIndex)| above(s) & step.less(MOST_STEPS);
        let start = (start, TracedIndex::from(0usize));
        let (s, _) = while_(start, goes_on, |(s, step)| {
            let (_, slope) = called(&force, &[s[0], s[1], w]);
            let [x0, x1] = moved(s);
            ([x0, x1, s[2] - slope[0] * STEP, s[3] - slope[1] * STEP], step + 1)
        });
        let [x0, x1] = moved(s);
        let meets = x0 - x1 / s[3] * s[2];
        vec![select(above(s), Traced::from(f64::NAN), meets * meets)]
    })
    .map_err(failed)
}
