//! Gradients and Hessians as machine code, beside hand-written Rust.

use std::hint::black_box;

use cotangent::jit::{Compiled, Options, Workspace};
use cotangent::prelude::*;
use cotangent_ir::{Function, max_over, sum_over, trace, trace_arrays};
use cotangent_optimize::{reroll, simplify};
use cotangent_transform::gradient;

use crate::harness::{Bench, contender};
use crate::{dense, vectors};

const SUITE: &str = "compiled";

/// Runs all cases of the suite.
pub fn run(bench: &mut Bench) {
    if let Err(why) = cotangent::machine() {
        bench.note(&format!("skipped: {why}"));
        return;
    }
    // On one thread, as the hand-written ones.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    for n in [10, 100, 1000] {
        gradients(
            bench,
            "rosenbrock",
            n,
            &rosenbrock_loop(n),
            rosenbrock_flat(n),
            [rosenbrock_by_hand, vectors::rosenbrock],
        );
    }
    gradients(
        bench,
        "ackley",
        100,
        &ackley_loop(100),
        ackley_flat(100),
        [ackley_by_hand, vectors::ackley],
    );
    gradients(
        bench,
        "log-sum-exp",
        100,
        &lse_loop(100),
        lse_flat(100),
        [lse_by_hand, vectors::log_sum_exp],
    );
    for n in [10, 100, 1000] {
        singles(bench, "rosenbrock", &rosenbrock_loop(n), rosenbrock_by_hand);
        singles(bench, "log-sum-exp", &lse_loop(n), lse_by_hand);
    }
    for n in [10, 50, 1000] {
        hessians(bench, n);
    }
    long_traces(bench);
    dense::run(bench);
}

/// A program as machine code, with its memory.
struct Ready {
    compiled: Compiled,
    workspace: Workspace,
    out: Vec<f64>,
}

impl Ready {
    fn new(f: &Function) -> Ready {
        let compiled = Compiled::new(f, &Options::default()).expect("it compiles");
        let workspace = compiled.workspace();
        let out = vec![0.0; compiled.lens().1];
        Ready { compiled, workspace, out }
    }

    fn run(&mut self, x: &[f64]) -> f64 {
        self.compiled.run_into(x, &mut self.out, &mut self.workspace).expect("it runs");
        self.out[0]
    }
}

/// A program as `compile` prepares it for derivatives.
fn prepared(f: &Function) -> Function {
    let f = simplify(f);
    reroll(&f, f.params().len(), &[]).map_or(f, |rolled| simplify(&rolled))
}

fn point(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.5 + 0.3 * (i as f64).sin()).collect()
}

type ByHand = fn(&[f64], &mut [f64]) -> f64;

fn gradients(
    bench: &mut Bench,
    case: &str,
    n: usize,
    loops: &Function,
    flat: Function,
    [by_hand, in_vectors]: [ByHand; 2],
) {
    let x = point(n);
    let mut g = vec![0.0; n];
    let value = by_hand(&x, &mut g);
    let mut again = vec![0.0; n];
    let other = in_vectors(&x, &mut again);
    assert!((other - value).abs() <= 1e-10 * value.abs().max(1.0), "{case}: {other} and {value}");
    let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-10 * b.abs().max(1.0);
    assert!(again.iter().zip(&g).all(same), "{case}: another gradient in vectors");
    // As it is without further ado: on all threads.
    let pool = rayon::ThreadPoolBuilder::new().build().expect("there are threads");
    for (form, f, target) in [("loop", loops.clone(), 0.5), ("flat", flat, 1.5)] {
        let case = format!("{case} gradient, {form}");
        if !bench.wants(&case) {
            continue;
        }
        bench.working_on(&case);
        let derived = simplify(&gradient(&prepared(&f)).expect("it has a gradient"));
        let mut ready = Ready::new(&derived);
        assert!((ready.run(&x) - value).abs() <= 1e-10 * value.abs().max(1.0));
        for (a, b) in ready.out[1..].iter().zip(&g) {
            assert!((a - b).abs() <= 1e-10 * b.abs().max(1.0), "{case}: {a} and {b}");
        }
        let mut place = vec![0.0; n];
        let ours = contender("ours", || ready.run(black_box(&x)));
        let hand = contender("by hand", || by_hand(black_box(&x), &mut place));
        let vectors = contender("by hand, vectors", || in_vectors(black_box(&x), &mut again));
        bench.compare(SUITE, &case, n, ours, vec![(hand, Some(target)), (vectors, None)]);
        // Machine code that somebody has is not made again.
        drop(ready);
        let made = bench.time(|| pool.install(|| Ready::new(&derived)));
        bench.record(SUITE, &case, n, "ms to compile", made / 1e6, 50.0, "limit", Some(1.0));
    }
}

/// Gradients in singles, beside the same in doubles.
fn singles(bench: &mut Bench, case: &str, f: &Function, by_hand: ByHand) {
    let case = format!("{case} gradient in singles");
    if !bench.wants(&case) {
        return;
    }
    bench.working_on(&case);
    let doubles = cotangent::Compiled::program(f).expect("it compiles");
    let ours = cotangent::Compiled::program(f).expect("it compiles").in_singles();
    let n = ours.sizes().0;
    let x = point(n);
    let short: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    let (mut g, mut h, mut place) = (vec![0.0_f32; n], vec![0.0; n], vec![0.0; n]);
    let value = by_hand(&x, &mut place);
    let found = ours.gradient_into(&short, &mut g).expect("it runs");
    doubles.gradient_into(&x, &mut h).expect("it runs");
    let scale = place.iter().fold(1.0, |m: f64, g| m.max(g.abs()));
    assert!((f64::from(found) - value).abs() <= 1e-4 * value.abs().max(1.0), "{case}: {found}");
    for (a, b) in g.iter().zip(&place) {
        assert!((f64::from(*a) - b).abs() <= 1e-4 * scale, "{case}: {a} and {b}");
    }
    let run = contender("ours", || ours.gradient_into(black_box(&short), &mut g));
    let hand = contender("by hand, doubles", || by_hand(black_box(&x), &mut place));
    let long = contender("ours, doubles", || doubles.gradient_into(black_box(&x), &mut h));
    bench.compare(SUITE, &case, n, run, vec![(hand, None), (long, None)]);
}

fn rosenbrock<S: Scalar>(x: &[S]) -> S {
    let mut s = S::zero();
    for i in 0..x.len() - 1 {
        let (d, e) = (x[i + 1] - x[i] * x[i], -x[i] + 1.0);
        s = s + d * d * 100.0 + e * e;
    }
    s
}

fn rosenbrock_flat(n: usize) -> Function {
    trace("rosenbrock", n, |x| vec![rosenbrock(x)]).expect("no branches")
}

fn rosenbrock_loop(n: usize) -> Function {
    trace_arrays("rosenbrock", &[&[n]], |x| {
        sum_over(0..n - 1, |i| {
            let (a, b) = (x[0].at(i), x[0].at(i + 1));
            let (d, e) = (b - a * a, -a + 1.0);
            d * d * 100.0 + e * e
        })
    })
    .expect("no branches")
}

fn rosenbrock_by_hand(x: &[f64], g: &mut [f64]) -> f64 {
    let mut s = 0.0;
    g.fill(0.0);
    for i in 0..x.len() - 1 {
        let (d, e) = (x[i + 1] - x[i] * x[i], 1.0 - x[i]);
        s += 100.0 * d * d + e * e;
        g[i] += -400.0 * d * x[i] - 2.0 * e;
        g[i + 1] += 200.0 * d;
    }
    s
}

fn ackley<S: Scalar>(x: &[S]) -> S {
    let n = x.len() as f64;
    let (mut a, mut b) = (S::zero(), S::zero());
    for x in x {
        a += *x * *x;
        b += (*x * std::f64::consts::TAU).cos();
    }
    ((a / n).sqrt() * -0.2).exp() * -20.0 - (b / n).exp() + (20.0 + std::f64::consts::E)
}

fn ackley_flat(n: usize) -> Function {
    trace("ackley", n, |x| vec![ackley(x)]).expect("no branches")
}

fn ackley_loop(n: usize) -> Function {
    trace_arrays("ackley", &[&[n]], |x| {
        let count = n as f64;
        let a = sum_over(0..n, |i| x[0].at(i) * x[0].at(i)) / count;
        let b = sum_over(0..n, |i| (x[0].at(i) * std::f64::consts::TAU).cos()) / count;
        (a.sqrt() * -0.2).exp() * -20.0 - b.exp() + (20.0 + std::f64::consts::E)
    })
    .expect("no branches")
}

fn ackley_by_hand(x: &[f64], g: &mut [f64]) -> f64 {
    let n = x.len() as f64;
    let tau = std::f64::consts::TAU;
    let (mut a, mut b) = (0.0, 0.0);
    for x in x {
        a += x * x;
        b += (tau * x).cos();
    }
    let root = (a / n).sqrt();
    let (first, second) = (-20.0 * (-0.2 * root).exp(), (b / n).exp());
    for (g, x) in g.iter_mut().zip(x) {
        *g = first * -0.2 * x / (n * root) + second * tau * (tau * x).sin() / n;
    }
    first - second + 20.0 + std::f64::consts::E
}

fn lse<S: Scalar>(x: &[S]) -> S {
    let m = x.iter().fold(x[0], |m, x| m.max(*x));
    let mut s = S::zero();
    for x in x {
        s += (*x - m).exp();
    }
    s.ln() + m
}

fn lse_flat(n: usize) -> Function {
    trace("lse", n, |x| vec![lse(x)]).expect("no branches")
}

fn lse_loop(n: usize) -> Function {
    trace_arrays("lse", &[&[n]], |x| {
        let m = max_over(0..n, |i| x[0].at(i)).stop();
        sum_over(0..n, |i| (x[0].at(i) - m).exp()).ln() + m
    })
    .expect("no branches")
}

fn lse_by_hand(x: &[f64], g: &mut [f64]) -> f64 {
    let m = x.iter().fold(x[0], |m, x| m.max(*x));
    let mut s = 0.0;
    for (g, x) in g.iter_mut().zip(x) {
        *g = (x - m).exp();
        s += *g;
    }
    g.iter_mut().for_each(|g| *g /= s);
    s.ln() + m
}

/// Hessians of Rosenbrock with value and gradient, dense and sparse, as users call for them.
fn hessians(bench: &mut Bench, n: usize) {
    let x = point(n);
    for (form, f) in [("loop", rosenbrock_loop(n)), ("flat", rosenbrock_flat(n))] {
        let case = format!("rosenbrock Hessian, {form}");
        if !bench.wants(&case) {
            continue;
        }
        bench.working_on(&case);
        let ours = cotangent::Compiled::program(&f).expect("it compiles");
        let (mut first, mut g) = (vec![0.0; 1 + n], vec![0.0; n]);
        let mut dense = ours.hessian(&x).expect("it has a Hessian");
        let mut h = vec![0.0; n * n];
        hessian_by_hand(&x, &mut g, &mut h);
        let same = |a: f64, b: f64| {
            assert!((a - b).abs() <= 1e-10 * b.abs().max(1.0), "{case}: {a} and {b}")
        };
        dense.as_slice().iter().zip(&h).for_each(|(a, b)| same(*a, *b));
        let mut sparse = ours.sparse_hessian(&x).expect("it has a Hessian");
        let mut entries = vec![0.0; 3 * n - 2];
        sparse_by_hand(&x, &mut g, &mut entries);
        assert_eq!(sparse.values().len(), entries.len());
        sparse.values().iter().zip(&entries).for_each(|(a, b)| same(*a, *b));

        let run = contender("ours", || {
            ours.hessian_into(black_box(&x), &mut first, &mut dense).expect("it runs");
            first[0]
        });
        let hand = contender("by hand", || hessian_by_hand(black_box(&x), &mut g, &mut h));
        bench.compare(SUITE, &format!("{case}, dense"), n, run, vec![(hand, Some(3.0))]);
        let run = contender("ours", || {
            ours.sparse_hessian_into(black_box(&x), &mut first, &mut sparse).expect("it runs");
            first[0]
        });
        let hand = contender("by hand", || sparse_by_hand(black_box(&x), &mut g, &mut entries));
        bench.compare(SUITE, &format!("{case}, sparse"), n, run, vec![(hand, Some(3.0))]);
    }
}

fn hessian_by_hand(x: &[f64], g: &mut [f64], h: &mut [f64]) -> f64 {
    let n = x.len();
    h.fill(0.0);
    for i in 0..n - 1 {
        h[i * n + i] += 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 2.0;
        h[(i + 1) * n + i + 1] += 200.0;
        h[i * n + i + 1] -= 400.0 * x[i];
        h[(i + 1) * n + i] -= 400.0 * x[i];
    }
    rosenbrock_by_hand(x, g)
}

/// The entries of the three diagonals, column by column.
fn sparse_by_hand(x: &[f64], g: &mut [f64], h: &mut [f64]) -> f64 {
    let n = x.len();
    let mut at = 0;
    for j in 0..n {
        if j > 0 {
            h[at] = -400.0 * x[j - 1];
            at += 1;
        }
        let before = if j > 0 { 200.0 } else { 0.0 };
        let own = if j + 1 < n { 1200.0 * x[j] * x[j] - 400.0 * x[j + 1] + 2.0 } else { 0.0 };
        h[at] = before + own;
        at += 1;
        if j + 1 < n {
            h[at] = -400.0 * x[j];
            at += 1;
        }
    }
    rosenbrock_by_hand(x, g)
}

/// How the time to compile a flat trace grows.
fn long_traces(bench: &mut Bench) {
    const CASE: &str = "compiling a trace";
    if !bench.wants(CASE) {
        return;
    }
    // As it is without further ado: on all threads.
    let pool = rayon::ThreadPoolBuilder::new().build().expect("there are threads");
    let mut first = None;
    for n in [1_000, 10_000] {
        bench.working_on(&format!("{CASE} {n}"));
        let f = rosenbrock_flat(n);
        let operations = f.operations();
        let alone = bench.time(|| Compiled::new(&f, &Options::default()).expect("it compiles"));
        let made = bench
            .time(|| pool.install(|| Compiled::new(&f, &Options::default()).expect("it compiles")));
        bench.record(SUITE, CASE, operations, "s", made / 1e9, alone / 1e9, "one thread", None);
        let target = (operations > 50_000).then_some(1.0);
        bench.record(SUITE, CASE, operations, "s", made / 1e9, 1.0, "limit", target);
        let each = made / operations as f64;
        if let Some(before) = first {
            bench.record(
                SUITE,
                CASE,
                operations,
                "ns an operation",
                each,
                before,
                "ten times shorter",
                Some(1.5),
            );
        }
        first = Some(each);
    }
}
