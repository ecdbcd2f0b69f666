//! How long gradients of a few functions take as machine code.
#![allow(clippy::print_stdout, reason = "it is what the example is for")]

use std::hint::black_box;
use std::time::Instant;

use cotangent_ir::{Function, max_over, parse, sum_over, trace, trace_arrays};
use cotangent_jit::{Compiled, Options, Output};
use cotangent_numbers::Scalar;
use cotangent_optimize::simplify;
use cotangent_transform::gradient;

fn time(mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let mut n = 1;
    loop {
        let t = Instant::now();
        for _ in 0..n {
            f();
        }
        let s = t.elapsed().as_secs_f64();
        if s > 2e-4 {
            break;
        }
        n *= 2;
    }
    for _ in 0..200 {
        let t = Instant::now();
        for _ in 0..n {
            f();
        }
        best = best.min(t.elapsed().as_secs_f64() / n as f64);
    }
    best * 1e9
}

fn rosenbrock<S: Scalar>(x: &[S]) -> S {
    let mut s = S::zero();
    for i in 0..x.len() - 1 {
        let d = x[i + 1] - x[i] * x[i];
        let e = -x[i] + 1.0;
        s = s + d * d * 100.0 + e * e;
    }
    s
}

fn rosenbrock_by_hand(x: &[f64], g: &mut [f64]) -> f64 {
    let mut s = 0.0;
    g.fill(0.0);
    for i in 0..x.len() - 1 {
        let d = x[i + 1] - x[i] * x[i];
        let e = 1.0 - x[i];
        s += 100.0 * d * d + e * e;
        g[i] += -400.0 * d * x[i] - 2.0 * e;
        g[i + 1] += 200.0 * d;
    }
    s
}

fn report(what: &str, f: &Function, x: &[f64], show: bool) {
    let t = Instant::now();
    let g = simplify(&gradient(&simplify(f)).unwrap());
    let derived = t.elapsed().as_secs_f64() * 1e3;
    if show {
        println!("{g}");
        println!("{}", Compiled::text(&g, &Options::default(), Some(Output::Assembly)).unwrap());
    }
    let t = Instant::now();
    let compiled = Compiled::new(&g, &Options::default()).unwrap();
    let made = t.elapsed().as_secs_f64() * 1e3;
    let mut workspace = compiled.workspace();
    let mut out = vec![0.0; compiled.lens().1];
    let ns = time(|| {
        compiled.run_into(black_box(x), &mut out, &mut workspace).unwrap();
        black_box(&out);
    });
    println!(
        "{what}: {ns:.1} ns, derived in {derived:.1} ms, compiled in {made:.1} ms, {:?} bytes",
        compiled.sizes()
    );
}

fn main() {
    let show = std::env::args().nth(1);
    for n in [10usize, 100, 1000] {
        let x: Vec<f64> = (0..n).map(|i| 0.5 + (i as f64).sin() * 0.3).collect();
        let mut g = vec![0.0; n];
        let hand = time(|| {
            black_box(rosenbrock_by_hand(black_box(&x), &mut g));
        });
        println!("rosenbrock {n} by hand: {hand:.1} ns");
        let f = trace_arrays("rosenbrock", &[&[n]], |x| {
            sum_over(0..n - 1, |i| {
                let (a, b) = (x[0].at(i), x[0].at(i + 1));
                let d = b - a * a;
                let e = -a + 1.0;
                d * d * 100.0 + e * e
            })
        })
        .unwrap();
        report(&format!("rosenbrock {n}"), &f, &x, show.as_deref() == Some("rosen") && n == 1000);
        let flat = trace("flat", n, |x| vec![rosenbrock(x)]).unwrap();
        report(
            &format!("rosenbrock {n} flat"),
            &flat,
            &x,
            show.as_deref() == Some("flat") && n == 10,
        );
    }
    let n = 100;
    let x: Vec<f64> = (0..n).map(|i| 0.5 + (i as f64).sin() * 0.3).collect();
    let f = trace_arrays("lse", &[&[n]], |x| {
        let m = max_over(0..n, |i| x[0].at(i));
        sum_over(0..n, |i| (x[0].at(i) - m).exp()).ln() + m
    })
    .unwrap();
    report("lse 100", &f, &x, show.as_deref() == Some("lse"));
    let f = trace_arrays("ackley", &[&[n]], |x| {
        let a = sum_over(0..n, |i| x[0].at(i) * x[0].at(i)) * (1.0 / n as f64);
        let b = sum_over(0..n, |i| (x[0].at(i) * std::f64::consts::TAU).cos()) * (1.0 / n as f64);
        (a.sqrt() * -0.2).exp() * -20.0 - b.exp() + (20.0 + std::f64::consts::E)
    })
    .unwrap();
    report("ackley 100", &f, &x, show.as_deref() == Some("ackley"));
    let _ = parse;
}
