//! The evaluations of `GradBench`, by hand: functions and derivatives as one writes them in an afternoon.
//!
//! A [`Case`] has an input in the form of the protocol and a [`Hand`] that computes the same by hand, with buffers
//! that are used again. Cotangent's own programs are those of the command (`crates/cli/src/gradbench`). Where they are
//! set up, JAX and PyTorch are measured beside (`peers.rs`).

mod ba;
mod det;
mod gmm;
mod ht;
mod kmeans;
mod llsq;
mod lse;
mod lstm;
mod ode;
#[allow(dead_code, reason = "the protocol is the command's")]
#[path = "../../../crates/cli/src/gradbench/mod.rs"]
mod ours;
mod particle;
mod peers;
mod saddle;

use std::cell::RefCell;

use serde_json::Value;

use crate::harness::{Bench, contender};

const SUITE: &str = "gradbench";

/// What a derivative may take beside the hand-written one, at the large size. That of `det` is no like comparison: a trace
/// shares equal minors, and the algorithm by hand, which is that of `GradBench`, does not.
fn target(module: &str) -> Option<f64> {
    Some(match module {
        "gmm" | "llsq" => 0.5,
        "ba" => 0.6,
        "kmeans" => 0.7,
        "lstm" | "det" => 0.15,
        "ht" => 1.0,
        "lse" => 0.25,
        "particle" | "saddle" => 1.5,
        _ => return None,
    })
}

/// Runs all cases of the suite.
pub fn run(bench: &mut Bench) {
    // Everything runs on one thread, except where two are measured beside it.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let (Ok(()), Ok(two)) = (alone, two) else {
        bench.note("skipped: there are no threads");
        return;
    };
    let mut peers = peers::Peers::start(bench);
    for size in [Size::Small, Size::Middle, Size::Large] {
        for case in cases(size) {
            // Two of them have one size.
            if size == Size::Large || !matches!(case.module, "particle" | "saddle") {
                one(bench, &mut peers, size, case, &two);
            }
        }
    }
}

/// What two threads may take beside one: where the work is in tables and sums.
fn threads(module: &str) -> Option<f64> {
    matches!(module, "gmm" | "ba" | "kmeans" | "lse" | "llsq" | "ht").then_some(1.0 / 1.7)
}

fn one(
    bench: &mut Bench,
    peers: &mut peers::Peers,
    size: Size,
    case: Case,
    two: &rayon::ThreadPool,
) {
    let Case { module, label, functions, input, hand } = case;
    let hand = RefCell::new(hand);
    for (k, function) in functions.into_iter().enumerate() {
        let Some(function) = function else { continue };
        let name = format!("{module} {label} {function}");
        if !bench.wants(&name) {
            continue;
        }
        bench.working_on(&name);
        let ready = ours::task(module, function, &input)
            .and_then(|task| Ok(((task.prepare)()?, task.run)))
            .and_then(|(programs, run)| {
                let mut found = Vec::new();
                run(&programs, &mut found)?;
                Ok((programs, run, found))
            });
        let (programs, run, mut found) = match ready {
            Ok(ready) => ready,
            Err(why) => {
                bench.note(&format!("{name}: {why}"));
                continue;
            }
        };
        let mut by_hand = hand.borrow_mut();
        let expected = if k == 0 { by_hand.primal() } else { by_hand.derivative() };
        let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let off = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-8 * (b.abs() + 1e-6 * largest);
        if found.len() != expected.len() || found.iter().zip(expected).any(off) {
            bench.note(&format!("{name}: WRONG"));
        }
        let ours = contender("ours", || run(&programs, &mut found));
        let theirs = contender("by hand", || {
            if k == 0 { by_hand.primal().len() } else { by_hand.derivative().len() }
        });
        let target = if k == 1 && size == Size::Large { target(module) } else { None };
        bench.compare(SUITE, &name, 1, ours, vec![(theirs, target)]);
        if k == 1 && size == Size::Large {
            let mut again = Vec::new();
            two.install(|| run(&programs, &mut again)).expect("it ran before");
            assert_eq!(again, found, "{name}: the digits depend on the threads");
            let both = contender("two threads", || two.install(|| run(&programs, &mut again)));
            let alone = contender("one thread", || run(&programs, &mut found));
            let case = format!("{name}, two threads");
            bench.compare(SUITE, &case, 1, both, vec![(alone, threads(module))]);
        }
        // The chain of equations has no derivative by hand to be measured by, only itself.
        if module == "ode"
            && k == 1
            && size == Size::Large
            && let Some(primal) = functions[0]
            && let Ok(task) = ours::task(module, primal, &input)
            && let Ok(primals) = (task.prepare)()
        {
            let mut values = Vec::new();
            let gradient = contender("gradient", || run(&programs, &mut found));
            let primal = contender("our primal", || (task.run)(&primals, &mut values));
            let case = format!("{name}, beside the function");
            bench.compare(SUITE, &case, 1, gradient, vec![(primal, Some(2.5))]);
        }
        let expected = found.clone();
        let case = (module, &*label, &input);
        peers.compare(bench, case, function, &expected, || {
            let done = run(&programs, &mut found);
            done.expect("it has run before");
        });
    }
}

/// How large an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the smallest are for tests")]
pub enum Size {
    /// So small that an interpreter is done at once.
    Tiny,
    /// The small ones of the suite.
    Small,
    /// The middle.
    Middle,
    /// The large ones.
    Large,
}

impl Size {
    /// One of four.
    pub fn pick<T>(self, of: [T; 4]) -> T {
        let [tiny, small, middle, large] = of;
        match self {
            Size::Tiny => tiny,
            Size::Small => small,
            Size::Middle => middle,
            Size::Large => large,
        }
    }
}

/// A function and its derivative, by hand. What is given back stands in a buffer of its own.
pub trait Hand {
    /// The function.
    fn primal(&mut self) -> &[f64];

    /// The derivative.
    fn derivative(&mut self) -> &[f64];
}

/// One evaluation of one size.
pub struct Case {
    /// The module in the protocol.
    pub module: &'static str,
    /// The size, for people.
    pub label: String,
    /// The functions in the protocol: that itself, and the derivative. None where there is no such.
    pub functions: [Option<&'static str>; 2],
    /// The input in the protocol.
    pub input: Value,
    /// The same by hand.
    pub hand: Box<dyn Hand>,
}

/// All evaluations, of one size.
pub fn cases(size: Size) -> Vec<Case> {
    let mut all = vec![
        lse::case(size),
        llsq::case(size),
        det::case(size),
        ode::case(size),
        ode::chain(size),
        kmeans::case(size),
        gmm::case(size),
        ba::case(size),
        lstm::case(size),
        ht::case(size),
    ];
    all.extend(particle::cases());
    all.extend(saddle::cases());
    all
}

/// Numbers that are the same in every run.
pub struct Random(fastrand::Rng);

impl Random {
    pub fn new() -> Random {
        Random(fastrand::Rng::with_seed(31337))
    }

    /// Between zero and one.
    pub fn uniform(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.0.f64()).collect()
    }

    /// Normal, by Box and Muller.
    pub fn normal(&mut self, n: usize) -> Vec<f64> {
        let radius = |u: f64| (-2.0 * (1.0 - u).ln()).sqrt();
        (0..n)
            .map(|_| radius(self.0.f64()) * (std::f64::consts::TAU * self.0.f64()).cos())
            .collect()
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n)
    }
}

/// Numbers as rows.
pub fn rows(numbers: &[f64], columns: usize) -> Vec<&[f64]> {
    numbers.chunks(columns).collect()
}

/// The descent of `particle` and `saddle`: `slope` gives the height and the gradient, once for each step, as it does for ours.
pub fn descend<const N: usize>(
    start: [f64; N],
    slope: impl Fn(&[f64; N]) -> (f64, [f64; N]),
) -> [f64; N] {
    const SMALL: f64 = 1e-5;
    let length = |x: [f64; N]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (mut x, mut rate, mut good) = (start, 1e-5, 0);
    let (mut height, mut g) = slope(&x);
    loop {
        if length(g) <= SMALL {
            return x;
        }
        if good == 10 {
            (rate, good) = (rate * 2.0, 0);
            continue;
        }
        let next: [f64; N] = std::array::from_fn(|k| x[k] - rate * g[k]);
        if length(std::array::from_fn(|k| x[k] - next[k])) <= SMALL {
            return x;
        }
        let there = slope(&next);
        if there.0 < height {
            (x, good) = (next, good + 1);
            (height, g) = there;
        } else {
            (rate, good) = (rate / 2.0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64], what: &str) {
        assert_eq!(found.len(), expected.len(), "{what}");
        let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        for (k, (a, b)) in found.iter().zip(expected).enumerate() {
            let bound = 1e-8 * (b.abs() + 1e-6 * largest);
            assert!((a - b).abs() <= bound, "{what}: number {k} is {a}, {b} was expected");
        }
    }

    #[test]
    fn programs_agree_with_what_is_written_by_hand() {
        for size in [Size::Tiny, Size::Small] {
            for mut case in cases(size) {
                for (k, function) in case.functions.into_iter().enumerate() {
                    let Some(function) = function else { continue };
                    let what = format!("{} {} {function}", case.module, case.label);
                    let task = ours::task(case.module, function, &case.input).expect(&what);
                    let programs = (task.prepare)().expect(&what);
                    let mut found = Vec::new();
                    (task.run)(&programs, &mut found).expect(&what);
                    let expected = if k == 0 { case.hand.primal() } else { case.hand.derivative() };
                    close(&found, expected, &what);
                }
            }
        }
    }
}
