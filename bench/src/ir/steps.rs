//! The gradient of a long loop with few states kept.

use std::hint::black_box;
use std::time::Instant;

use cotangent_ir::{Function, parse};
use cotangent_transform::{checkpoint, gradient};

use super::SUITE;
use crate::harness::Bench;
use crate::memory::peak;

const ROUNDS: usize = 1_000_000;
const STATES: usize = 100;
const NUMBERS: usize = 100;

/// x ← x + h (0.3 − x²) x, so often; then the sum of squares.
fn march(rounds: usize) -> Function {
    parse(&format!(
        "fn @march(%x: [{NUMBERS}]f64) -> f64 {{
           %y = for %i < {rounds} (%a = %x) {{
             %q = mul %a, %a
             %d = sub 0.3, %q
             %p = mul %d, %a
             %h = mul %p, 1e-5
             %b = add %a, %h
             yield %b
           }}
           %r = red sum (%k < {NUMBERS}) {{ %e = ld %y[%k] %s = mul %e, %e yield %s }}
           ret %r
         }}"
    ))
    .expect("a program")
}

fn plain(x: &[f64], rounds: usize) -> f64 {
    let mut x = x.to_vec();
    for _ in 0..rounds {
        for x in &mut x {
            *x += (0.3 - *x * *x) * *x * 1e-5;
        }
    }
    x.iter().map(|x| x * x).sum()
}

/// A run that takes seconds, once: its result and its time in milliseconds.
fn once<R>(run: impl FnOnce() -> R) -> (R, f64) {
    let start = Instant::now();
    let result = black_box(run());
    (result, start.elapsed().as_secs_f64() * 1e3)
}

pub fn run(bench: &mut Bench) {
    const CASE: &str = "gradient of a long loop, 100 states kept";
    if !bench.wants(CASE) {
        return;
    }
    bench.working_on(CASE);
    let x: Vec<f64> = (0..NUMBERS).map(|k| 0.1 + 0.01 * k as f64).collect();
    // The same gradient as with all states, to the bit, where those fit.
    let short = march(2000);
    let all = gradient(&short).expect("one result").run(&x).expect("enough numbers");
    let split = checkpoint(&short, STATES).expect("enough states");
    assert_eq!(gradient(&split).expect("one result").run(&x).expect("enough numbers"), all);

    let f = march(ROUNDS);
    let few = gradient(&checkpoint(&f, STATES).expect("enough states")).expect("one result");
    let (y, function) = once(|| f.run(&x).expect("enough numbers"));
    let (expected, by_rust) = once(|| plain(black_box(&x), ROUNDS));
    assert!((y[0] - expected).abs() < 1e-9 * expected, "{y:?} {expected}");
    let ((found, time), bytes) = peak(|| once(|| few.run(&x).expect("enough numbers")));
    assert_eq!(found[0], y[0]);
    bench.record(SUITE, CASE, ROUNDS, "ms", time, function, "the function", None);
    let name = "the function in plain Rust";
    bench.record(SUITE, "a long loop", ROUNDS, "ms", function, by_rust, name, None);
    let state = NUMBERS * size_of::<f64>();
    let metric = "kB at the peak";
    let kept = (STATES * state) as f64 / 1e3;
    bench.record(SUITE, CASE, ROUNDS, metric, bytes as f64 / 1e3, kept, "100 states", None);
    let every = (ROUNDS * state) as f64 / 1e3;
    bench.record(SUITE, CASE, ROUNDS, metric, bytes as f64 / 1e3, every, "all states", None);
    if let Some(said) = few.peak_bytes() {
        let said = said as f64 / 1e3;
        bench.record(SUITE, CASE, ROUNDS, metric, bytes as f64 / 1e3, said, "peak_bytes()", None);
    }
}
