//! What derivatives cost by the cost model and by counting: these numbers are the same on every machine.

use cotangent_ir::{Function, Traced, count, parse, trace, trace_at};
use cotangent_optimize::simplify;
use cotangent_testkit::difftests::*;
use cotangent_transform::{gradient, laplacian, linearize, reverse};

use super::SUITE;
use crate::harness::Bench;

pub fn run(bench: &mut Bench) {
    corpus(bench);
    normalised(bench);
    forward_laplacian(bench);
}

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.15 + 0.8 * (i as f64 * 0.37).sin().abs()).collect()
}

/// Gradients of the functions of DiffTests, in times the function.
fn corpus(bench: &mut Bench) {
    const CASE: &str = "gradient of the corpus";
    if !bench.wants(CASE) {
        return;
    }
    let (vector, mut matrix) = (numbers(13), numbers(9));
    for i in 0..3 {
        matrix[4 * i] += 1.5;
    }
    let mut ratios: Vec<[f64; 2]> = Vec::new();
    macro_rules! all {
        ($x:expr; $($f:ident)*) => {$({
            let f = trace_at(stringify!($f), &$x, |x: &[Traced]| vec![$f(x)]).expect("it runs");
            let g = gradient(&f).expect("one result");
            // Of shorter ones the gradient is mostly the seed.
            if f.operations() > 5 {
                let operations = g.operations() as f64 / f.operations() as f64;
                let cost = simplify(&g).cost().total() / simplify(&f).cost().total();
                ratios.push([operations, cost]);
            }
        })*};
    }
    all!(vector; vec2num_1 vec2num_2 vec2num_3 vec2num_4 vec2num_5 vec2num_6 vec2num_7 rosenbrock_1
        rosenbrock_2 rosenbrock_3 rosenbrock_4 ackley self_weighted_logit nested_array_mul first);
    all!(matrix; determinant mat2num_1 mat2num_2 mat2num_3 mat2num_4 softmax);
    for (k, metric) in ["operations", "cost, both optimised"].into_iter().enumerate() {
        let mut sorted: Vec<f64> = ratios.iter().map(|r| r[k]).collect();
        sorted.sort_by(f64::total_cmp);
        let (median, most) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
        let mut record = |case: &str, ratio, target| {
            let reference = "the function";
            bench.record(SUITE, case, ratios.len(), metric, ratio, 1.0, reference, Some(target));
        };
        record("gradient of the corpus, most", most, 4.0);
        record("gradient of the corpus, median", median, 2.5);
    }
}

/// out[i] = in[i] / mag(in), the magnitude written inside the loop.
fn normalize(n: usize) -> Function {
    parse(&format!(
        "fn @normalize(%x: [{n}]f64) -> [{n}]f64 {{
           %r = tab (%i < {n}) {{
             %s = red sum (%j < {n}) {{ %a = ld %x[%j] %b = mul %a, %a yield %b }}
             %m = sqrt %s
             %a = ld %x[%i]
             %q = div %a, %m
             yield %q
           }}
           ret %r
         }}"
    ))
    .expect("a program")
}

/// Reverse mode of it costs as much for each element at every size.
fn normalised(bench: &mut Bench) {
    const CASE: &str = "cotangents of a normalised vector";
    if !bench.wants(CASE) {
        return;
    }
    let each = |n: usize| {
        let fast = simplify(&reverse(&simplify(&normalize(n))).expect("numbers"));
        fast.cost().total() / n as f64
    };
    let small = each(100);
    for n in [100, 10_000, 1_000_000] {
        let (metric, ours) = ("cost an element", each(n));
        let written = normalize(n).cost().total() / n as f64;
        bench.record(SUITE, CASE, n, metric, ours, written, "the function as written", None);
        if n > 100 {
            // Linear in n, but for what is done once.
            bench.record(SUITE, CASE, n, metric, ours, small, "n = 100", Some(1.05));
        }
    }
}

/// A network of two hidden layers; weights are sines of their places.
fn network(inputs: usize, width: usize) -> Function {
    let layer = |name: &str, from: &str, n: usize, seed: f64| {
        format!(
            "%{name} = tab (%i < {width}) {{
               %s = red sum (%j < {n}) {{
                 %f = cast %i : f64
                 %g = cast %j : f64
                 %h = mul %f, {seed}.7
                 %k = mul %g, 1.3
                 %l = add %h, %k
                 %w = sin %l
                 %x1 = ld %{from}[%j]
                 %p = mul %w, %x1
                 yield %p
               }}
               %t = tanh %s
               yield %t
             }}\n"
        )
    };
    parse(&format!(
        "fn @net(%x: [{inputs}]f64) -> f64 {{
           {}{}
           %r = red sum (%i < {width}) {{ %e = ld %b[%i] %q = mul %e, %e yield %q }}
           ret %r
         }}",
        layer("a", "x", inputs, 1.0),
        layer("b", "a", width, 2.0)
    ))
    .expect("a program")
}

/// The Laplacian of a network forward, beside a product with the Hessian for each input.
fn forward_laplacian(bench: &mut Bench) {
    const CASE: &str = "forward laplacian of a network";
    if !bench.wants(CASE) {
        return;
    }
    let (n, width) = (8, 12);
    let f = network(n, width);
    let lap = laplacian(&f).expect("few inputs");
    let product = linearize(&gradient(&f).expect("one result")).expect("numbers");
    // All bodies written out.
    let flat =
        trace("flat", 2 * n, |x| product.run(x).expect("enough numbers")).expect("no guards");
    let x: Vec<f64> = (0..n).map(|k| 0.3 + 0.1 * k as f64).collect();
    let points: Vec<Vec<f64>> = (0..n)
        .map(|k| {
            let direction = (0..n).map(|j| if j == k { 1.0 } else { 0.0 });
            x.iter().copied().chain(direction).collect()
        })
        .collect();
    let looped = || -> f64 {
        // Value, gradient, their tangents.
        let each = points.iter().enumerate();
        each.map(|(k, x)| flat.run(x).expect("enough numbers")[1 + n + 1 + k]).sum()
    };
    let (found, expected) = (lap.run(&x).expect("enough numbers")[1], looped());
    assert!((found - expected).abs() < 1e-10 * expected.abs(), "{found} {expected}");
    // Operations that are run, those of bodies each time.
    let ours = count(&lap, &x).expect("enough numbers").total() as f64;
    let theirs = (n * flat.operations()) as f64;
    let reference = "products with the Hessian";
    bench.record(SUITE, CASE, n, "operations", ours, theirs, reference, Some(0.6));
    let (ours, theirs) = (bench.time(|| lap.run(&x)), bench.time(looped));
    bench.record(SUITE, CASE, n, "ns", ours, theirs, reference, None);
}
