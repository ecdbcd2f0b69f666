//! Gradient descent as `particle` and `saddle` do it, and the derivatives it goes by.

use cotangent_ir::{Function, Traced, TracedValue, call, trace};
use cotangent_transform::{gradient_to, linearize_to};

use super::task::{failed, unknown};

/// A step or a gradient that is shorter ends the descent.
pub(super) const SMALL: f64 = 1e-5;
/// The first length of a step, in gradients.
pub(super) const FIRST_RATE: f64 = 1e-5;
/// After so many good steps they become longer.
pub(super) const GOOD_STEPS: usize = 10;

/// How a derivative is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Along each direction.
    Forward,
    /// All at once, backwards.
    Reverse,
}

/// The modes that a function's name stands for: of the outer derivative, and of the inner.
pub(super) fn modes(function: &str) -> Result<(Mode, Mode), String> {
    use Mode::{Forward, Reverse};
    match function {
        "ff" => Ok((Forward, Forward)),
        "fr" => Ok((Forward, Reverse)),
        "rf" => Ok((Reverse, Forward)),
        "rr" => Ok((Reverse, Reverse)),
        other => Err(unknown(other, &["ff", "fr", "rf", "rr"])),
    }
}

/// The value of a function of numbers, and its partials by some of them.
pub(super) fn derivative(f: &Function, by: &[usize], mode: Mode) -> Result<Function, String> {
    let names: Vec<&str> = by.iter().map(|k| &*f.params()[*k].name).collect();
    let moves = |p: &cotangent_ir::Param| names.contains(&&*p.name);
    match mode {
        Mode::Reverse => gradient_to(f, moves).map_err(failed),
        Mode::Forward => {
            let along = linearize_to(f, moves).map_err(failed)?;
            let name = format!("{}.along", f.name());
            trace(&name, f.params().len(), |x| {
                let mut results = Vec::new();
                for direction in 0..by.len() {
                    let unit = |k| Traced::from(f64::from(u8::from(k == direction)));
                    let tangents = (0..by.len()).map(unit);
                    let args: Vec<TracedValue> =
                        x.iter().copied().chain(tangents).map(TracedValue::from).collect();
                    let mut found = call(&along, &args);
                    let value: Traced = found.take();
                    if direction == 0 {
                        results.push(value);
                    }
                    results.push(found.take());
                }
                results
            })
            .map_err(failed)
        }
    }
}

/// What [`derivative`] gives, in a function that is traced.
pub(super) fn called(f: &Function, args: &[Traced]) -> (Traced, Vec<Traced>) {
    let args: Vec<TracedValue> = args.iter().map(|x| (*x).into()).collect();
    let mut found = call(f, &args);
    let value = found.take();
    (value, (1..f.results().len()).map(|_| found.take()).collect())
}

fn length(x: impl Iterator<Item = f64>) -> f64 {
    x.map(|x| x * x).sum::<f64>().sqrt()
}

/// Where a function is smallest, from a start, by its value with the gradient behind it. Nearly all steps are taken, so the gradient
/// of a step comes with the value that decides on it.
pub(super) fn descend(
    start: &[f64],
    gradient: impl Fn(&[f64]) -> Result<Vec<f64>, String>,
) -> Result<Vec<f64>, String> {
    let mut x = start.to_vec();
    let (mut rate, mut good) = (FIRST_RATE, 0);
    let mut here = gradient(&x)?;
    loop {
        let (height, slope) = here.split_first().ok_or("a gradient is empty")?;
        if here.iter().any(|x| !x.is_finite()) {
            return Err(format!(
                "the descent came to {x:?}, where {height} has the slope {slope:?}"
            ));
        }
        if length(slope.iter().copied()) <= SMALL {
            return Ok(x);
        }
        if good == GOOD_STEPS {
            (rate, good) = (rate * 2.0, 0);
            continue;
        }
        let next: Vec<f64> = x.iter().zip(slope).map(|(x, slope)| x - rate * slope).collect();
        if length(x.iter().zip(&next).map(|(x, y)| x - y)) <= SMALL {
            return Ok(x);
        }
        let there = gradient(&next)?;
        if there.first().is_some_and(|lower| lower < height) {
            (x, good, here) = (next, good + 1, there);
        } else {
            (rate, good) = (rate / 2.0, 0);
        }
    }
}
