//! The eager numbers against hand-written derivatives and the other crates of the field.

mod hand;
mod peers;

use std::time::Instant;

use cotangent::prelude::*;
use cotangent::{Program, Replay, Tape, kernel, linalg, map};
use cotangent_numbers::{Detector, Dual, Dual2, GradientTracer, Kernel, SetKind, jacobian_pattern};
use nalgebra::{DVector, SVector};
use peers::{with_ad_trait, with_echidna, with_hyperdual, with_hyperjet, with_num_dual};

use crate::harness::{Bench, Contender, contender};

const SUITE: &str = "eager";

/// Runs all cases of the suite.
pub fn run(bench: &mut Bench) {
    forward_gradient(bench);
    tape_gradient(bench);
    hessian(bench);
    other_functions(bench);
    mixed_mode(bench);
    pattern_detection(bench);
    long_recording(bench);
}

fn point(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.3 + 0.4 * (i as f64 * 0.7).sin()).collect()
}

fn rosenbrock<S: Scalar>(x: &[S]) -> S {
    let mut sum = S::zero();
    for i in 0..x.len() - 1 {
        sum += (x[i + 1] - x[i] * x[i]).powi(2) * 100.0 + (x[i] - 1.0).powi(2);
    }
    sum
}

fn log_sum_exp<S: Scalar>(x: &[S]) -> S {
    x.iter().map(|x| x.exp()).sum::<S>().ln()
}

fn ackley<S: Scalar>(x: &[S]) -> S {
    let n = x.len() as f64;
    let (mut squares, mut waves) = (S::zero(), S::zero());
    for x in x {
        squares += *x * *x;
        waves += (*x * std::f64::consts::TAU).cos();
    }
    ((squares / n).sqrt() * -0.2).exp() * -20.0 - (waves / n).exp() + 20.0 + std::f64::consts::E
}

/// Every contender must be right before it is timed.
#[track_caller]
fn check(name: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{name}: {a} for {b}");
    }
}

fn hand_contenders<'a>(
    x: &'a [f64],
    plain: Option<f64>,
    vectorised: Option<f64>,
) -> Vec<(Contender<'a>, Option<f64>)> {
    let (mut a, mut b) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    hand::rosenbrock(x, &mut a);
    hand::rosenbrock_vectorised(x, &mut b);
    check("hand-written, vectorised", &b, &a);
    vec![
        (
            contender("hand-written", move || hand::rosenbrock(std::hint::black_box(x), &mut a)),
            plain,
        ),
        (
            contender("hand-written, vectorised", move || {
                hand::rosenbrock_vectorised(std::hint::black_box(x), &mut b)
            }),
            vectorised,
        ),
    ]
}

fn forward_gradient(bench: &mut Bench) {
    let f = function!(|x: &[S]| -> S { rosenbrock(x) });
    for n in [10, 100, 1000] {
        let x = point(n);
        let xs = &x[..];
        let mut expected = vec![0.0; n];
        hand::rosenbrock(&x, &mut expected);
        let prepared = prepare_gradient(f, &Forward::default(), &x).expect("a valid point");
        let mut workspace = prepared.workspace();
        let mut g = vec![0.0; n];
        prepared.gradient_into(&x, &mut g, &mut workspace).expect("a valid point");
        check("ours", &g, &expected);
        let ours = contender("cotangent", || {
            prepared
                .value_and_gradient_into(std::hint::black_box(&x), &mut g, &mut workspace)
                .expect("a valid point")
        });
        let mut references = hand_contenders(&x, (n == 10).then_some(3.0), None);
        // Beating a peer is the target at the larger sizes.
        let beat = (n > 10).then_some(1.0);
        if n == 10 {
            let direct = move || {
                let v: [Dual<f64, 10>; 10] =
                    std::array::from_fn(|i| Dual::variable(std::hint::black_box(xs)[i], i));
                rosenbrock(&v).partials
            };
            check("directly", &direct(), &expected);
            references.push((contender("cotangent, dual numbers directly", direct), None));
        }
        let xv = DVector::from_column_slice(&x);
        check("num-dual", with_num_dual::gradient_dynamic(&xv).as_slice(), &expected);
        references.push((
            contender("num-dual, dynamic", move || with_num_dual::gradient_dynamic(&xv)),
            beat,
        ));
        macro_rules! fixed {
            ($N:literal, $M:literal) => {
                if n == $N {
                    let v = SVector::<f64, $N>::from_column_slice(&x);
                    check(
                        "num-dual, static",
                        with_num_dual::gradient_static(&v).as_slice(),
                        &expected,
                    );
                    references.push((
                        contender("num-dual, static", move || with_num_dual::gradient_static(&v)),
                        beat,
                    ));
                    check("hyperdual", &with_hyperdual::gradient::<$N, $M>(&x), &expected);
                    references.push((
                        contender("hyperdual", || with_hyperdual::gradient::<$N, $M>(&x)),
                        beat,
                    ));
                    check("hyperjet", &with_hyperjet::gradient::<$N>(&x), &expected);
                    references
                        .push((contender("hyperjet", || with_hyperjet::gradient::<$N>(&x)), beat));
                }
            };
        }
        fixed!(10, 11);
        fixed!(100, 101);
        let forward = with_ad_trait::forward(n);
        check("ad_trait", &forward(&x), &expected);
        references.push((contender("ad_trait, one lane", move || forward(xs)), beat));
        let forward = with_ad_trait::forward_8(n);
        check("ad_trait, 8 lanes", &forward(&x), &expected);
        references.push((contender("ad_trait, 8 lanes", move || forward(xs)), beat));
        let (mut buffer, mut h) = (Vec::new(), vec![0.0; n]);
        with_echidna::forward::<10>(&x, &mut buffer, &mut h);
        check("echidna", &h, &expected);
        references.push((
            contender("echidna, 10 lanes", move || {
                with_echidna::forward::<10>(xs, &mut buffer, &mut h)
            }),
            beat,
        ));
        bench.compare(SUITE, "forward gradient, rosenbrock", n, ours, references);
    }
}

fn tape_gradient(bench: &mut Bench) {
    for n in [10, 100, 1000] {
        let x = point(n);
        let mut expected = vec![0.0; n];
        hand::rosenbrock(&x, &mut expected);
        let f = function!(|x: &[S]| -> S { rosenbrock(x) });
        let prepared = prepare_gradient(f, &Reverse::default(), &x).expect("a valid point");
        let mut workspace = prepared.workspace();
        let mut g = vec![0.0; n];
        prepared.gradient_into(&x, &mut g, &mut workspace).expect("a valid point");
        check("ours", &g, &expected);
        let ours = contender("cotangent", || {
            prepared
                .value_and_gradient_into(std::hint::black_box(&x), &mut g, &mut workspace)
                .expect("a valid point")
        });
        let mut references = hand_contenders(&x, (n > 10).then_some(20.0), None);
        let (mut tape, _) = echidna::record(with_echidna::rosenbrock, &x);
        tape.optimize();
        let mut buffer = Vec::new();
        check("echidna", &tape.gradient(&x), &expected);
        let xs = &x;
        references.push((
            contender("echidna, replay", move || tape.gradient_with_buf(xs, &mut buffer)),
            Some(1.0),
        ));
        check("echidna", &echidna::grad(with_echidna::rosenbrock, &x), &expected);
        references.push((
            contender("echidna, eager", || echidna::grad(with_echidna::rosenbrock, &x)),
            Some(1.0),
        ));
        let reverse = with_ad_trait::reverse(n);
        check("ad_trait", &reverse(&x), &expected);
        references.push((contender("ad_trait, reverse", move || reverse(xs)), Some(1.0)));
        bench.compare(SUITE, "tape gradient, rosenbrock", n, ours, references);

        let program = Program::record(&x, |x| vec![rosenbrock(x)]).expect("a valid point");
        let mut replay = Replay::new();
        let ours = contender("cotangent, replay", || {
            program.replay(std::hint::black_box(&x), &mut replay).expect("the same branches");
            program.pullback(&[1.0], &mut replay).expect("replayed")[0]
        });
        let (mut tape, _) = echidna::record(with_echidna::rosenbrock, &x);
        tape.optimize();
        let mut buffer = Vec::new();
        let reference = contender("echidna, replay", || tape.gradient_with_buf(&x, &mut buffer));
        bench.compare(SUITE, "replayed gradient, rosenbrock", n, ours, vec![(reference, None)]);
    }
}

/// The lower triangle of a matrix given by columns, row by row.
fn lower(h: &[f64], n: usize) -> Vec<f64> {
    (0..n).flat_map(|i| (0..=i).map(move |j| h[i + j * n])).collect()
}

fn hessian(bench: &mut Bench) {
    const N: usize = 10;
    const H: usize = N * (N + 1) / 2;
    let x = point(N);
    let xs = SVector::<f64, N>::from_column_slice(&x);
    let xv = DVector::from_column_slice(&x);
    macro_rules! case {
        ($case:literal, $f:ident, $hand:path, $static:path, $dynamic:path, $jet:path, $echidna:path) => {{
            let mut expected = vec![0.0; N * N];
            $hand(&x, &mut expected);
            let evaluate = |x: &[f64]| {
                let variables: [Dual2<f64, N>; N] =
                    std::array::from_fn(|i| Dual2::variable(x[i], i));
                $f(&variables)
            };
            let y = evaluate(&x);
            let found: Vec<f64> = (0..N * N).map(|k| y.second(k % N, k / N)).collect();
            check("ours", &found, &expected);
            let f = function!(|x: &[S]| -> S { $f(x) });
            let prepared = prepare_hessian(f, &Forward::default(), &x).expect("a valid point");
            let mut workspace = prepared.workspace();
            let mut h = vec![0.0; N * N];
            prepared.hessian_into(&x, &mut h, &mut workspace).expect("a valid point");
            check("ours, prepared", &h, &expected);
            let ours = contender("cotangent, second-order numbers", || {
                prepared
                    .hessian_into(std::hint::black_box(&x), &mut h, &mut workspace)
                    .expect("a valid point");
            });
            let direct = contender("cotangent, second-order numbers directly", || {
                evaluate(std::hint::black_box(&x))
            });
            let mut buffer = vec![0.0; N * N];
            let (tape, _) = echidna::record($echidna, &x);
            let pattern = tape.detect_sparsity();
            let (colors, count) = echidna::sparse::greedy_coloring(&pattern);
            let mut references = vec![(
                contender("hand-written", || $hand(std::hint::black_box(&x), &mut buffer)),
                None,
            )];
            references.push((direct, None));
            check("num-dual", $static(&xs).as_slice(), &expected);
            references.push((contender("num-dual, static", || $static(&xs)), Some(1.0)));
            check("num-dual", $dynamic(&xv).as_slice(), &expected);
            references.push((contender("num-dual, dynamic", || $dynamic(&xv)), Some(1.0)));
            check("hyperjet", &$jet(&x), &lower(&expected, N));
            references.push((contender("hyperjet", || $jet(std::hint::black_box(&x))), Some(1.0)));
            let flat: Vec<f64> = tape.hessian(&x).2.concat();
            check("echidna", &flat, &expected);
            references.push((contender("echidna", || tape.hessian(&x)), Some(1.0)));
            references
                .push((contender("echidna, 8 lanes", || tape.hessian_vec::<8>(&x)), Some(1.0)));
            references.push((
                contender("echidna, sparse, coloured before", || {
                    tape.sparse_hessian_with_pattern(&x, &pattern, &colors, count)
                }),
                Some(1.0),
            ));
            bench.compare(SUITE, $case, N, ours, references);
        }};
    }
    case!(
        "hessian, rosenbrock",
        rosenbrock,
        hand::rosenbrock_hessian,
        with_num_dual::hessian_static,
        with_num_dual::hessian_dynamic,
        with_hyperjet::hessian::<N, H>,
        with_echidna::rosenbrock
    );
    case!(
        "hessian, log-sum-exp",
        log_sum_exp,
        hand::log_sum_exp_hessian,
        with_num_dual::log_sum_exp_hessian_static,
        with_num_dual::log_sum_exp_hessian_dynamic,
        with_hyperjet::log_sum_exp_hessian::<N, H>,
        with_echidna::log_sum_exp
    );
    let f = function!(|x: &[S]| -> S { rosenbrock(x) });
    for n in [10, 50] {
        let x = point(n);
        let prepared = prepare_hessian(f, &Auto, &x).expect("a valid point");
        let mut workspace = prepared.workspace();
        let mut h = vec![0.0; n * n];
        let ours = contender("cotangent, auto", || {
            prepared
                .hessian_into(std::hint::black_box(&x), &mut h, &mut workspace)
                .expect("a valid point");
        });
        let mut buffer = vec![0.0; n * n];
        let by_hand = contender("hand-written", || {
            hand::rosenbrock_hessian(std::hint::black_box(&x), &mut buffer)
        });
        let (tape, _) = echidna::record(with_echidna::rosenbrock, &x);
        let peer = contender("echidna, 8 lanes", || tape.hessian_vec::<8>(&x));
        bench.compare(
            SUITE,
            "hessian through the interface, rosenbrock",
            n,
            ours,
            vec![(by_hand, None), (peer, None)],
        );
    }
}

fn other_functions(bench: &mut Bench) {
    let n = 100;
    let x = point(n);
    macro_rules! case {
        ($case:literal, $f:ident, $hand:path) => {{
            let mut expected = vec![0.0; n];
            $hand(&x, &mut expected);
            let f = function!(|x: &[S]| -> S { $f(x) });
            let mut buffer = vec![0.0; n];
            macro_rules! backend {
                ($backend:expr, $name:literal) => {{
                    let prepared = prepare_gradient(f, &$backend, &x).expect("a valid point");
                    let mut workspace = prepared.workspace();
                    let mut g = vec![0.0; n];
                    prepared.gradient_into(&x, &mut g, &mut workspace).expect("a valid point");
                    check($name, &g, &expected);
                    let ours = contender($name, || {
                        prepared
                            .gradient_into(std::hint::black_box(&x), &mut g, &mut workspace)
                            .expect("a valid point");
                    });
                    let by_hand =
                        contender("hand-written", || $hand(std::hint::black_box(&x), &mut buffer));
                    bench.compare(
                        SUITE,
                        concat!($case, ", ", $name),
                        n,
                        ours,
                        vec![(by_hand, None)],
                    );
                }};
            }
            backend!(Forward::default(), "forward");
            backend!(Reverse::default(), "tape");
        }};
    }
    case!("gradient, ackley", ackley, hand::ackley);
    case!("gradient, log-sum-exp", log_sum_exp, hand::log_sum_exp);
}

fn mixed_mode(bench: &mut Bench) {
    let n = 10_000;
    let functions = kernel!(|x| {
        let a = x * x + 1.0;
        let b = a.sqrt() * x.sin();
        let c = (b - x).exp() + a;
        (c * 0.5 + b).ln() / a
    });
    let arithmetic = kernel!(|x| {
        let a = x * x + 1.0;
        let b = a * x - a * a;
        let c = (b - x) * b + a;
        (c * 0.5 + b) * a - c
    });
    let x: Vec<f64> = (0..n).map(|i| 0.1 + i as f64 * 1e-4).collect();
    macro_rules! case {
        ($case:literal, $kernel:ident, $target:expr, $hand:path) => {
            let mut fused = Tape::new();
            let mut scalar = Tape::new();
            let y = fused.record(&x, |x| linalg::sum(&map(&$kernel, x))).expect("a valid point");
            assert_eq!(fused.nodes(), 2);
            let a = fused.gradient(y).expect("its own variable").to_vec();
            let y = scalar
                .record(&x, |x| x.iter().map(|x| $kernel.call([*x])).sum::<Var>())
                .expect("a valid point");
            check($case, &a, scalar.gradient(y).expect("its own variable"));
            let expected: Vec<f64> = x.iter().map(|x| $hand(*x)).collect();
            check($case, &a, &expected);
            let ours = contender("one node", || {
                let y =
                    fused.record(&x, |x| linalg::sum(&map(&$kernel, x))).expect("a valid point");
                fused.gradient(y).expect("its own variable")[0]
            });
            let reference = contender("scalar tape", || {
                let y = scalar
                    .record(&x, |x| x.iter().map(|x| $kernel.call([*x])).sum::<Var>())
                    .expect("a valid point");
                scalar.gradient(y).expect("its own variable")[0]
            });
            let mut by_hand = vec![0.0; n];
            let hand = contender("hand-written derivative, no tape at all", || {
                for (g, x) in by_hand.iter_mut().zip(std::hint::black_box(&x)) {
                    *g = $hand(*x);
                }
            });
            bench.compare(SUITE, $case, n, ours, vec![(reference, $target), (hand, None)]);
        };
    }
    case!("mixed mode, map of 12 operations", arithmetic, Some(1.0 / 3.0), hand::arithmetic_kernel);
    // The functions alone take a quarter of the scalar tape's time, by hand; no target.
    case!(
        "mixed mode, map of 12 operations, 4 of them functions",
        functions,
        None,
        hand::functions_kernel
    );

    for n in [10, 40] {
        let x: Vec<f64> = (0..n * n + n)
            .map(|i| {
                (i as f64 * 0.37).sin() + if i % (n + 1) == 0 && i < n * n { 4.0 } else { 0.0 }
            })
            .collect();
        let (mut node, mut scalar) = (Tape::new(), Tape::new());
        let ours = contender("one node", || {
            let y = node
                .record(&x, |x| linalg::sum(&linalg::solve(&x[..n * n], &x[n * n..], n)))
                .expect("regular");
            node.gradient(y).expect("its own variable")[0]
        });
        let reference = contender("elimination on the tape", || {
            let y = scalar
                .record(&x, |x| eliminate(&x[..n * n], &x[n * n..], n).into_iter().sum::<Var>())
                .expect("regular");
            scalar.gradient(y).expect("its own variable")[0]
        });
        bench.compare(SUITE, "mixed mode, gradient of a solve", n, ours, vec![(reference, None)]);
    }
}

fn eliminate<S: Scalar>(a: &[S], b: &[S], n: usize) -> Vec<S> {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    for p in 0..n {
        for r in p + 1..n {
            let factor = a[r + p * n] / a[p + p * n];
            for c in p + 1..n {
                let upper = a[p + c * n];
                a[r + c * n] -= factor * upper;
            }
            let known = b[p];
            b[r] -= factor * known;
        }
    }
    for r in (0..n).rev() {
        for c in r + 1..n {
            let known = b[c];
            b[r] -= a[r + c * n] * known;
        }
        b[r] /= a[r + r * n];
    }
    b
}

/// The Brusselator on a periodic N×N grid, species stacked.
pub(crate) fn brusselator<S: Scalar>(n: usize, x: &[S], y: &mut [S]) {
    let (u, v) = x.split_at(n * n);
    let (du, dv) = y.split_at_mut(n * n);
    let alpha = 10.0 * ((n - 1) as f64).powi(2);
    let around = |w: &[S], i: usize, j: usize| {
        let (up, down) = (if i == 0 { n - 1 } else { i - 1 }, if i + 1 == n { 0 } else { i + 1 });
        let (left, right) =
            (if j == 0 { n - 1 } else { j - 1 }, if j + 1 == n { 0 } else { j + 1 });
        (w[up * n + j] + w[down * n + j] + w[i * n + left] + w[i * n + right] - w[i * n + j] * 4.0)
            * alpha
    };
    for i in 0..n {
        for j in 0..n {
            let k = i * n + j;
            let reaction = u[k] * u[k] * v[k];
            du[k] = reaction - u[k] * 4.4 + around(u, i, j) + 1.0;
            dv[k] = u[k] * 3.4 - reaction + around(v, i, j);
        }
    }
}

fn pattern_detection(bench: &mut Bench) {
    const CASE: &str = "pattern detection, brusselator";
    if !bench.wants(CASE) {
        return;
    }
    let mut small = None;
    for n in [8, 16, 32, 64, 128, 256] {
        let x = vec![1.0; 2 * n * n];
        // Memory is kept from one detection to the next, as for a small grid the allocator does by
        // itself; else the larger ones measure page faults.
        let mut detector = Detector::<GradientTracer>::new(SetKind::Sorted);
        let mut detect = || {
            detector
                .jacobian(&x, x.len(), |x, y| brusselator(n, x, y))
                .expect("no branches on values")
                .nnz()
        };
        let nnz = detect();
        assert_eq!(nnz, 12 * n * n);
        let each = bench.time(&mut detect) / nnz as f64;
        bench.record(
            SUITE,
            CASE,
            n,
            "ns a nonzero",
            each,
            30.0,
            "limit of 30 ns",
            (n >= 32).then_some(1.0),
        );
        let one_shot = || {
            jacobian_pattern::<GradientTracer>(SetKind::Sorted, &x, x.len(), |x, y| {
                brusselator(n, x, y);
            })
            .expect("no branches on values")
        };
        let fresh = bench.time(one_shot) / nnz as f64;
        bench.record(SUITE, CASE, n, "ns a nonzero", each, fresh, "with fresh memory", None);
        let mut y = vec![0.0; x.len()];
        let plain = bench.time(|| brusselator(n, std::hint::black_box(&x), &mut y)) / nnz as f64;
        bench.record(SUITE, CASE, n, "ns a nonzero", each, plain, "one evaluation", None);
        if n == 32 {
            small = Some(each);
        }
        if let (256, Some(small)) = (n, small) {
            bench.record(
                SUITE,
                "pattern detection, growth from N = 32",
                n,
                "ns a nonzero",
                each,
                small,
                "N = 32",
                Some(1.5),
            );
        }
    }
}

/// Recording and sweeping 10⁷ operations costs as much an operation as 10⁵.
fn long_recording(bench: &mut Bench) {
    const CASE: &str = "long recording";
    if !bench.wants(CASE) {
        return;
    }
    let cost = |operations: usize, rounds: usize| {
        let x = point(1000);
        let mut tape = Tape::new();
        let mut best = f64::INFINITY;
        for _ in 0..rounds {
            let start = Instant::now();
            let y = tape
                .record(&x, |x| {
                    let mut sum = Var::from(0.0);
                    for _ in 0..operations / 8000 {
                        sum += rosenbrock(x);
                    }
                    sum
                })
                .expect("within the limit");
            tape.gradient(y).expect("its own variable");
            best = best.min(start.elapsed().as_secs_f64() * 1e9 / tape.nodes() as f64);
        }
        best
    };
    let (short, long) = (cost(100_000, 50), cost(10_000_000, 5));
    bench.record(
        SUITE,
        CASE,
        10_000_000,
        "ns an operation",
        long,
        short,
        "10⁵ operations",
        Some(4.0),
    );
}
