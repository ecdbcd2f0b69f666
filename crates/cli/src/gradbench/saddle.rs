//! A saddle point: a minimum over x of the maximum over y.
//!
//! The maximum is found by an ascent inside the program, which goes by derivatives; the descent over x goes by
//! derivatives of that program.

use cotangent::Compiled;
use cotangent_ir::{Function, Traced, TracedIndex, cond, trace, while_};
use cotangent_numbers::Elementary;
use serde_json::Value;

use super::descent::{FIRST_RATE, GOOD_STEPS, Mode, SMALL, called, derivative, descend, modes};
use super::input;
use super::task::{Task, compiled, failed, list, run};

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let (outer, inner) = modes(function)?;
    let start = input::list_of(given, "start", 2)?;
    Ok(Task {
        shape: String::new(),
        prepare: Box::new(move || {
            let highest = highest(inner)?;
            let slope = derivative(&with_results(&highest, 1)?, &[0, 1], outer)?;
            Ok(vec![compiled(&slope)?, compiled(&highest)?])
        }),
        run: Box::new(move |programs, outputs| {
            let [slope, highest] = programs else {
                return Err("programs are missing".to_string());
            };
            let run = |program: &Compiled, x: &[f64]| {
                let mut found = Vec::new();
                run(program, &[x, &start].concat(), &mut found).map(|()| found)
            };
            let x = descend(&start, |x| run(slope, x))?;
            let top = run(highest, &x)?;
            *outputs = x.into_iter().chain(top.into_iter().skip(1)).collect();
            Ok(())
        }),
        answer: Box::new(list),
    })
}

/// The first results of a function of numbers.
fn with_results(f: &Function, count: usize) -> Result<Function, String> {
    trace(f.name(), f.params().len(), |x| {
        let (first, rest) = called(f, x);
        std::iter::once(first).chain(rest).take(count).collect()
    })
    .map_err(failed)
}

/// The depth below the surface, of x and y: what the ascent makes small.
fn depth() -> Result<Function, String> {
    trace("depth", 4, |x| vec![(x[2] * x[2] + x[3] * x[3]) - (x[0] * x[0] + x[1] * x[1])])
        .map_err(failed)
}

/// An ascent as it goes on: where it is, the depth and the slope there, the rate, and the good steps.
type Climb = ([Traced; 2], Traced, [Traced; 2], Traced, TracedIndex);

/// The height of the highest y over x, and that y, from a start.
fn highest(inner: Mode) -> Result<Function, String> {
    let depth = derivative(&depth()?, &[2, 3], inner)?;
    let length = |x: [Traced; 2]| (x[0] * x[0] + x[1] * x[1]).sqrt();
    trace("highest", 4, |given| {
        let x = [given[0], given[1]];
        let at = |y: [Traced; 2]| {
            let (depth, slope) = called(&depth, &[x[0], x[1], y[0], y[1]]);
            (depth, [slope[0], slope[1]])
        };
        let next = |y: [Traced; 2], slope: [Traced; 2], rate: Traced| {
            [y[0] - rate * slope[0], y[1] - rate * slope[1]]
        };
        let start = [given[2], given[3]];
        let (lowest, slope) = at(start);
        let climb: Climb = (start, lowest, slope, FIRST_RATE.into(), 0usize.into());
        let goes_on = |(y, _, slope, rate, good): Climb| {
            let to = next(y, slope, rate);
            let moves = length([y[0] - to[0], y[1] - to[1]]).greater(SMALL);
            length(slope).greater(SMALL) & (good.equal(GOOD_STEPS) | moves)
        };
        let (y, depth, ..) = while_(climb, goes_on, |(y, depth, slope, rate, good)| {
            let longer = || (y, depth, slope, rate * 2.0, TracedIndex::from(0usize));
            let step = || {
                let to = next(y, slope, rate);
                let (there, slope_there) = at(to);
                let better = || (to, there, slope_there, rate, good + 1);
                let shorter = || (y, depth, slope, rate / 2.0, TracedIndex::from(0usize));
                cond(there.less(depth), better, shorter)
            };
            cond(good.equal(GOOD_STEPS), longer, step)
        });
        vec![-depth, y[0], y[1]]
    })
    .map_err(failed)
}
