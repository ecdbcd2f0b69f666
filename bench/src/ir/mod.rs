//! Functions as programs: tracing, running, differentiating and optimising them, beside plain Rust.

mod counts;
mod steps;

use std::hint::black_box;

use cotangent::Tape;
use cotangent::prelude::*;
use cotangent_ir::{Batch, Function, Room, parse, trace};
use cotangent_optimize::simplify;
use cotangent_transform::gradient;

use crate::harness::Bench;

const SUITE: &str = "ir";

/// Runs all cases of the suite.
pub fn run(bench: &mut Bench) {
    tracing(bench);
    lanes(bench);
    functions(bench);
    matrix_vector(bench);
    optimising(bench);
    counts::run(bench);
    steps::run(bench);
}

/// Five operations a round, none of them like another.
fn recurrence<S: Scalar>(x: &[S], rounds: usize) -> S {
    let (mut a, mut b) = (x[0], x[1]);
    for _ in 0..rounds {
        a = a * b + x[2];
        b = b * 0.5 - a * x[2];
    }
    a + b
}

fn traced(rounds: usize) -> Function {
    trace("recurrence", 3, |x| vec![recurrence(x, rounds)]).expect("no branches on values")
}

/// Ten thousand and a million operations, written down.
fn tracing(bench: &mut Bench) {
    const CASE: &str = "tracing";
    if !bench.wants(CASE) {
        return;
    }
    let x = [0.7, 0.3, 0.2];
    let metric = "ns an operation";
    let mut small = None;
    for rounds in [2000, 200_000] {
        bench.working_on(&format!("{CASE} {rounds}"));
        let f = traced(rounds);
        let operations = f.operations();
        assert_eq!(f.run(&x).expect("three numbers"), [recurrence(&x, rounds)]);
        let each = |time: f64| time / operations as f64;
        let ours = bench.time(|| traced(rounds));
        let plain = bench.time(|| recurrence(black_box(&x), rounds));
        let mut tape = Tape::new();
        let mut taped = || tape.record(&x, |x| recurrence(x, rounds)).expect("within the limit");
        let taped = bench.time(|| taped().peek());
        let (ours_each, first) = (each(ours), *small.get_or_insert(each(ours)));
        let mut record = |time, reference| {
            bench.record(SUITE, CASE, operations, metric, ours_each, time, reference, None);
        };
        record(each(plain), "the function on f64");
        record(each(taped), "recording it on the tape");
        if rounds > 2000 {
            record(first, "the smaller one");
            let (ours, limit) = (ours / 1e6, 1e3);
            bench.record(SUITE, CASE, operations, "ms", ours, limit, "a second", Some(1.0));
        }
    }
}

/// The interpreter on many points, an operation for a block of them at a time.
fn lanes(bench: &mut Bench) {
    const CASE: &str = "batch of points";
    if !bench.wants(CASE) {
        return;
    }
    bench.working_on(CASE);
    let rounds = 20;
    let f = traced(rounds);
    let count = 10_000;
    let points: Vec<f64> = (0..3 * count).map(|i| 0.5 + 0.4 * (i as f64 * 0.7).sin()).collect();
    let mut results = vec![0.0; count];
    let mut plain = || {
        for (x, y) in points.chunks_exact(3).zip(&mut results) {
            *y = recurrence(black_box(x), rounds);
        }
    };
    let by_rust = bench.time(&mut plain) / count as f64;
    let mut batch = Batch::new(&f);
    assert_eq!(batch.run(&points, count).expect("enough numbers"), results);
    let ours = bench.time(|| batch.run(&points, count)) / count as f64;
    let few = 500;
    let single = || -> f64 {
        points.chunks_exact(3).take(few).map(|x| f.run(x).expect("three numbers")[0]).sum()
    };
    let by_point = bench.time(single) / few as f64;
    let operations = f.operations() as f64;
    let metric = "ns an operation and point";
    let references =
        [(by_rust, "plain Rust, point by point"), (by_point, "the interpreter, point by point")];
    for (time, reference) in references {
        let (ours, time) = (ours / operations, time / operations);
        bench.record(SUITE, CASE, count, metric, ours, time, reference, None);
    }
}

/// One function after the other.
fn chain<S: Scalar>(x: &[S]) -> S {
    (x[0].sin() * x[1]).exp().ln_1p().tanh() + x[1].powf(x[0]) + x[0].atan()
}

/// The interpreter on functions, in blocks and one by one.
fn functions(bench: &mut Bench) {
    const CASE: &str = "functions at a batch of points";
    if !bench.wants(CASE) {
        return;
    }
    bench.working_on(CASE);
    let f = trace("chain", 2, |x| vec![chain(x)]).expect("no branches on values");
    let count = 10_000;
    let points: Vec<f64> = (0..2 * count).map(|i| 0.5 + 0.4 * (i as f64 * 0.7).sin()).collect();
    let mut results = vec![0.0; count];
    let mut plain = || {
        for (x, y) in points.chunks_exact(2).zip(&mut results) {
            *y = chain(black_box(x));
        }
    };
    let by_rust = bench.time(&mut plain) / count as f64;
    let mut batch = Batch::new(&f);
    let found = batch.run(&points, count).expect("enough numbers");
    assert!(found.iter().zip(&results).all(|(a, b)| (a - b).abs() < 1e-14));
    let ours = bench.time(|| batch.run(&points, count)) / count as f64;
    let mut room = Room::default();
    let single = || -> f64 {
        let mut y = [0.0];
        let mut each = |x: &[f64]| {
            f.run_into(x, &mut y, &mut room).expect("two numbers");
            y[0]
        };
        points.chunks_exact(2).take(500).map(&mut each).sum()
    };
    let by_point = bench.time(single) / 500.0;
    let metric = "ns a point";
    bench.record(SUITE, CASE, count, metric, ours, by_rust, "plain Rust, point by point", None);
    let reference = "the interpreter, point by point";
    bench.record(SUITE, CASE, count, metric, ours, by_point, reference, None);
}

/// A kernel over a matrix.
fn matrix_vector(bench: &mut Bench) {
    const CASE: &str = "matrix times vector";
    const N: usize = 200;
    if !bench.wants(CASE) {
        return;
    }
    let f = parse(&format!(
        "fn @f(%m: [{N}, {N}]f64, %x: [{N}]f64) -> [{N}]f64 {{
           %y = tab (%i < {N}) {{
             %s = red sum (%j < {N}) {{ %a = ld %m[%i, %j] %b = ld %x[%j] %p = mul %a, %b yield %p }}
             yield %s
           }}
           ret %y
         }}"
    ))
    .expect("a program");
    let x: Vec<f64> = (0..N * (N + 1)).map(|i| (i as f64 * 0.3).sin()).collect();
    let mut y = vec![0.0; N];
    let mut plain = || {
        let (m, v) = x.split_at(N * N);
        for (y, row) in y.iter_mut().zip(black_box(m).chunks_exact(N)) {
            *y = row.iter().zip(v).map(|(a, b)| a * b).sum();
        }
    };
    plain();
    let each = (N * N) as f64;
    let by_rust = bench.time(&mut plain) / each;
    let found = f.run(&x).expect("enough numbers");
    assert!(found.iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    let ours = bench.time(|| f.run(&x)) / each;
    bench.record(SUITE, CASE, N, "ns an entry", ours, by_rust, "plain Rust", None);
}

/// What the optimiser takes for each operation of a gradient, small and large.
fn optimising(bench: &mut Bench) {
    const CASE: &str = "optimising a gradient";
    if !bench.wants(CASE) {
        return;
    }
    let mut small = None;
    for rounds in [100, 1000, 4000] {
        bench.working_on(&format!("{CASE} {rounds}"));
        let f = traced(rounds);
        let g = gradient(&f).expect("one result");
        let operations = g.operations();
        let each = |time: f64| time / operations as f64;
        let ours = each(bench.time(|| simplify(&g)));
        let making = each(bench.time(|| gradient(&f)));
        let metric = "ns an operation";
        bench.record(SUITE, CASE, operations, metric, ours, making, "differentiating", None);
        let first = *small.get_or_insert(ours);
        if rounds > 100 {
            let name = "the smallest of these";
            bench.record(SUITE, CASE, operations, metric, ours, first, name, None);
        }
    }
}
