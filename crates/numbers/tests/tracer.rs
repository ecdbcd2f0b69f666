//! The sparsity tracers: known patterns, and no false negatives on random programs.

use cotangent_numbers::linalg::{det, dot, inverse, log_det, mat_mul, solve};
use cotangent_numbers::{
    Detection, Dual2, Fault, GradientTracer, HessianTracer, Local, Scalar, SetKind,
    hessian_pattern, jacobian_pattern,
};

const KINDS: [SetKind; 2] = [SetKind::Sorted, SetKind::Blocked];

/// A function over any scalar, so that one definition serves all tracers.
trait Function {
    fn call<S: Scalar>(&self, x: &[S]) -> Vec<S>;
}

macro_rules! function {
    (|$x:ident| $body:expr) => {{
        struct F;
        impl Function for F {
            fn call<S: Scalar>(&self, $x: &[S]) -> Vec<S> {
                $body.to_vec()
            }
        }
        F
    }};
}

fn run<S: Detection>(f: &impl Function, y: &mut [S], x: &[S]) {
    let values = f.call(x);
    assert_eq!(values.len(), y.len());
    y.copy_from_slice(&values);
}

/// Rows of a pattern as in "100/110".
fn rows(pattern: &cotangent_sparse::Pattern) -> String {
    pattern.to_string().trim_end().replace('\n', "/").replace('·', "0")
}

/// The upper entries of a symmetric pattern, counted from 1, as in "12 22".
fn upper(pattern: &cotangent_sparse::Pattern) -> String {
    assert!(pattern.is_symmetric());
    let mut pairs: Vec<String> = pattern
        .entries()
        .filter(|(i, j)| i <= j)
        .map(|(i, j)| format!("{}{}", i + 1, j + 1))
        .collect();
    pairs.sort();
    pairs.join(" ")
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better at the call")]
fn jacobian(n: usize, f: impl Function, expected: &str) {
    let outputs = expected.split('/').count();
    for kind in KINDS {
        let p =
            jacobian_pattern::<GradientTracer>(kind, &vec![0.0; n], outputs, |x, y| run(&f, y, x));
        assert_eq!(rows(&p.unwrap()), expected, "{kind:?}");
    }
}

#[track_caller]
fn local_jacobian(x: &[f64], f: &impl Function, expected: &str) {
    for kind in KINDS {
        let p = jacobian_pattern::<Local<GradientTracer>>(kind, x, 1, |x, y| run(f, y, x));
        assert_eq!(rows(&p.unwrap()), expected, "{kind:?} at {x:?}");
    }
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "reads better at the call")]
fn hessian(n: usize, f: impl Function, expected: &str) {
    for kind in KINDS {
        let p = hessian_pattern::<HessianTracer>(kind, &vec![0.0; n], 1, |x, y| run(&f, y, x));
        assert_eq!(upper(&p.unwrap()), expected, "{kind:?}");
    }
}

#[track_caller]
fn local_hessian(x: &[f64], f: &impl Function, expected: &str) {
    for kind in KINDS {
        let p = hessian_pattern::<Local<HessianTracer>>(kind, x, 1, |x, y| run(f, y, x));
        assert_eq!(upper(&p.unwrap()), expected, "{kind:?} at {x:?}");
    }
}

#[test]
fn global_jacobian_facts() {
    jacobian(3, function!(|x| [x[0].powi(2), x[0] * 2.0 * x[1] * x[1], x[2].sin()]), "100/110/001");
    jacobian(
        2,
        function!(|x| [x[0] * x[1], (x[0] * x[1]).ceil(), x[0] * x[1].round()]),
        "11/00/10",
    );
    jacobian(4, function!(|x| [S::select(x[1].less(x[2]), x[0] + x[1], x[2] * x[3])]), "1111");
    jacobian(4, function!(|x| [S::select(x[1].less(x[2]), x[0] + x[1], 1.0)]), "1100");
    jacobian(4, function!(|x| [S::select(x[1].less(x[2]), 1.0, x[2] * x[3])]), "0011");
    jacobian(1, function!(|x| [x[0] * 0.0]), "1");
    jacobian(3, function!(|x| [x[0].clamp(x[1], x[2])]), "111");
    jacobian(2, function!(|x| [x[0].clamp(x[1], 1.0)]), "11");
    jacobian(3, function!(|x| [x[0].mul_add(x[1], x[2])]), "111");
    jacobian(5, function!(|x| [dot(&x[..2], &x[3..])]), "11011");
    jacobian(
        6,
        function!(|x| (0..5)
            .map(|i| x[i + 1].powi(2) - x[i].powi(2) + x[4 - i].powi(2) - x[5 - i].powi(2))
            .collect::<Vec<S>>()),
        "110011/011110/001100/011110/110011",
    );
    jacobian(
        1,
        function!(|x| [S::select(x[0].at_most(0.0), f64::INFINITY, 0.0)
            + x[0].sin()
            + (x[0] * 10.0 / 3.0).sin()
            + x[0].abs().ln()
            - x[0] * 0.84
            + 3.0]),
        "1",
    );
}

#[test]
fn the_sign_example_of_the_talk() {
    // Jacobian of (x₁x₂ + sign(x₃), sign(x₃)·x₄/2): three nonzeros.
    jacobian(
        4,
        function!(|x| [x[0] * x[1] + x[2].signum(), x[2].signum() * (x[3] / 2.0)]),
        "1100/0001",
    );
    // The demonstration: x₁x₂·sign(x₃) depends on the first two.
    jacobian(
        4,
        function!(|x| [x[0] * x[1] * x[2].signum(), x[2].signum() * x[3] / 2.0]),
        "1100/0001",
    );
}

#[test]
fn local_jacobian_facts() {
    let product = function!(|x| [x[0] * x[1]]);
    for (point, expected) in
        [([1.0, 1.0], "11"), ([1.0, 0.0], "01"), ([0.0, 1.0], "10"), ([0.0, 0.0], "00")]
    {
        local_jacobian(&point, &product, expected);
    }
    local_jacobian(&[0.0, 0.0], &function!(|x| [x[0] / x[1]]), "10");
    let (max, min) = (function!(|x| [x[0].max(x[1])]), function!(|x| [x[0].min(x[1])]));
    for (point, most, least) in
        [([1.0, 2.0], "01", "10"), ([2.0, 1.0], "10", "01"), ([1.0, 1.0], "11", "11")]
    {
        local_jacobian(&point, &max, most);
        local_jacobian(&point, &min, least);
    }
    let unit = function!(|x| [x[0].clamp(0.0, 1.0)]);
    local_jacobian(&[0.5], &unit, "1");
    local_jacobian(&[-0.5], &unit, "0");
    let clamp = function!(|x| [x[0].clamp(x[1], x[2])]);
    local_jacobian(&[0.5, 0.0, 1.0], &clamp, "100");
    local_jacobian(&[0.5, 0.6, 1.0], &clamp, "010");
    local_jacobian(&[0.5, 0.0, 0.4], &clamp, "001");
    let fma = function!(|x| [x[0].mul_add(x[1], x[2])]);
    for corner in 0..8 {
        let x = [0, 1, 2].map(|bit| f64::from(corner >> bit & 1));
        let bit = |v: f64| if v != 0.0 { "1" } else { "0" };
        local_jacobian(&x, &fma, &format!("{}{}1", bit(x[1]), bit(x[0])));
    }
    let branch = function!(|x| [if x[0] > x[1] { x[2] } else { x[3] }]);
    local_jacobian(&[2.0, 1.0, 3.0, 4.0], &branch, "0010");
    local_jacobian(&[1.0, 2.0, 3.0, 4.0], &branch, "0001");
    local_jacobian(&[1.0, 1.0], &function!(|x| [if x[0] >= x[1] { x[0] } else { x[1] }]), "10");
    local_jacobian(
        &[0.0, 1.0, 0.0, 1.0, 0.0],
        &function!(|x| [x[0] * x[3] + x[1] * x[4]]),
        "10001",
    );
    local_jacobian(&[1.0, -1.0, 2.0, 2.0], &function!(|x| [log_det(x, 2)]), "1111");
}

#[test]
fn global_hessian_facts() {
    hessian(4, function!(|x| [x[0] / x[1] + x[2] / 1.0 + 1.0 / 1.0 + x[3].recip()]), "12 22 44");
    hessian(4, function!(|x| [x[0] * x[1] + x[2] + x[3]]), "12");
    hessian(4, function!(|x| [(x[0] * x[1]) * (x[2] * x[3])]), "12 13 14 23 24 34");
    hessian(4, function!(|x| [(x[0] + x[1]) * (x[2] + x[3])]), "13 14 23 24");
    hessian(3, function!(|x| [x.iter().copied().sum::<S>().powi(2)]), "11 12 13 22 23 33");
    hessian(3, function!(|x| [x.iter().copied().sum::<S>().recip()]), "11 12 13 22 23 33");
    hessian(3, function!(|x| [x[0] - x[1] + x[2] * 3.0 - 2.0]), "");
    hessian(5, function!(|x| [x[0] + x[1] * x[2] + x[3].recip() + x[4]]), "23 44");
    hessian(
        5,
        function!(|x| [x[0] + x[1] * x[2] + x[3].recip() + x[4] + x[1].powf(x[4])]),
        "22 23 25 44 55",
    );
    hessian(
        5,
        function!(|x| [x.windows(2).map(|w| (w[1] - w[0]).powi(3)).sum::<S>()]),
        "11 12 22 23 33 34 44 45 55",
    );
    hessian(4, function!(|x| [(x[0] * x[1]).copysign(x[2] * x[3])]), "12");
    hessian(4, function!(|x| [(x[0] * x[1] / (x[2] * x[3])).trunc()]), "");
    // A dead end leaves no trace.
    hessian(
        4,
        function!(|x| {
            let _dead = x[0] * x[1];
            [x[2] * x[3]]
        }),
        "34",
    );
    hessian(3, function!(|x| [x[0] * x[0].clamp(x[1], x[2])]), "11 12 13");
    hessian(3, function!(|x| [x[1] * x[0].clamp(x[1], x[2])]), "12 22 23");
    hessian(3, function!(|x| [x[2] * x[0].clamp(x[1], x[2])]), "13 23 33");
    hessian(3, function!(|x| [x[0].mul_add(x[1], x[2])]), "12");
    hessian(
        4,
        function!(|x| [S::select(x[0].greater(0.0), x[0].powf(x[1]), x[2] * x[3])]),
        "11 12 22 34",
    );
    hessian(1, function!(|x| [x[0].powi(2) * 0.0]), "11");
    // Powers of order zero and one have no second derivative.
    hessian(1, function!(|x| [x[0].powi(1) + x[0].powi(0)]), "");
    jacobian(2, function!(|x| [x[0].powi(0), x[0].powi(1)]), "00/10");
}

#[test]
fn local_hessian_facts() {
    let f = function!(|x| [x[0] + x[1] * x[2] + x[3].recip() + x[1] * x[0].max(x[4])]);
    local_hessian(&[1.0, 3.0, 5.0, 1.0, 2.0], &f, "23 25 44");
    local_hessian(&[4.0, 3.0, 5.0, 1.0, 2.0], &f, "12 23 44");
    let g = function!(|x| [(x[0] + x[1]) * x[0].clamp(x[1], 1.0)]);
    local_hessian(&[0.5, 0.0], &g, "11 12");
    local_hessian(&[0.5, 0.6], &g, "12 22");
}

#[test]
fn matrix_facts() {
    let all = (1..=9).map(|i| (i, (i..=9).map(move |j| format!("{i}{j}")))).flat_map(|(_, j)| j);
    let all = all.collect::<Vec<_>>().join(" ");
    jacobian(9, function!(|x| [det(x, 3)]), "111111111");
    hessian(9, function!(|x| [det(x, 3)]), &all);
    hessian(9, function!(|x| [log_det(x, 3)]), &all);
    jacobian(9, function!(|x| inverse(x, 3)[..1]), "111111111");
    hessian(3, function!(|x| [x[0] * x[1] * x[2]]), "12 13 23");
    hessian(3, function!(|x| [x[0].recip() + x[1].recip() + x[2].exp()]), "11 22 33");
    // Norms: 1 and ∞ are of first order, 2 is not.
    hessian(9, function!(|x| [x.iter().map(|v| v.abs()).sum::<S>()]), "");
    hessian(
        9,
        function!(|x| [x.iter().copied().reduce(cotangent_numbers::Elementary::max).unwrap()]),
        "",
    );
    hessian(9, function!(|x| [x.iter().map(|v| *v * *v).sum::<S>().sqrt()]), &all);
    // The cube of a matrix: full; a product with a right side reaches its own column only.
    jacobian(
        9,
        function!(|x| mat_mul(&mat_mul(x, x, 3, 3, 3), x, 3, 3, 3)),
        &["111111111"; 9].join("/"),
    );
    jacobian(8, function!(|x| solve(&x[..4], &x[4..], 2)), "11111100/11111100/11110011/11110011");
}

fn brusselator<S: Scalar>(n: usize, x: &[S]) -> Vec<S> {
    let (u, v) = x.split_at(n * n);
    let at = |i: usize, j: usize| (i % n) * n + j % n;
    let mut y = vec![S::zero(); 2 * n * n];
    for i in 0..n {
        for j in 0..n {
            let (c, near) =
                (at(i, j), [at(i + n - 1, j), at(i + 1, j), at(i, j + n - 1), at(i, j + 1)]);
            let around = |w: &[S]| near.iter().map(|k| w[*k]).sum::<S>() - w[c] * 4.0;
            let reaction = u[c] * u[c] * v[c];
            y[c] = reaction - u[c] * 4.4 + around(u) * 10.0 + 1.0;
            y[n * n + c] = u[c] * 3.4 - reaction + around(v) * 10.0;
        }
    }
    y
}

/// A 2×2 convolution of a 3×3 image of two channels to one.
fn convolution<S: Scalar>(x: &[S], relu: bool) -> Vec<S> {
    let mut y = Vec::new();
    for (i, j) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let mut sum = S::zero();
        for channel in 0..2 {
            for (a, b) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                sum += x[(i + a) + 3 * (j + b) + 9 * channel]
                    * (0.3 + a as f64 - 0.7 * b as f64 + 0.2 * channel as f64);
            }
        }
        y.push(if relu { sum.max(0.0) } else { sum });
    }
    y
}

#[test]
fn applications_have_the_published_sizes() {
    for kind in KINDS {
        let p = jacobian_pattern::<GradientTracer>(kind, &[0.0; 72], 72, |x, y| {
            y.copy_from_slice(&brusselator(6, x));
        });
        assert_eq!(p.unwrap().nnz(), 432);
        let p = jacobian_pattern::<GradientTracer>(kind, &[0.0; 18], 4, |x, y| {
            y.copy_from_slice(&convolution(x, false));
        });
        assert_eq!(p.unwrap().nnz(), 32);
        // An image whose corner is bright: only the first output passes the rectifier.
        let mut x = [-1.0; 18];
        (x[0], x[9]) = (40.0, 40.0);
        let value: Vec<f64> = convolution(&x, false);
        assert_eq!(value.iter().map(|v| *v > 0.0).collect::<Vec<_>>(), [true, false, false, false]);
        let p = jacobian_pattern::<Local<GradientTracer>>(kind, &x, 4, |x, y| {
            y.copy_from_slice(&convolution(x, true));
        });
        assert_eq!(p.unwrap().nnz(), 8);
    }
}

#[test]
fn a_branch_on_a_global_tracer_says_what_to_do() {
    let error = jacobian_pattern::<GradientTracer>(SetKind::Sorted, &[0.0; 2], 1, |x, y| {
        y[0] = if x[0] < x[1] { x[0] } else { x[1] };
    })
    .unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Fault::BranchWithoutValue { .. }));
    assert!(
        text.contains("tracer.rs") && text.contains("S::select") && text.contains("local tracer"),
        "{text}"
    );
    let error = hessian_pattern::<HessianTracer>(SetKind::Sorted, &[0.0; 2], 1, |x, y| {
        y[0] = x[0] * cotangent_numbers::Elementary::value(x[1]);
    });
    assert!(matches!(error, Err(Fault::NoValue { .. })));
    let mut leaked = None;
    jacobian_pattern::<GradientTracer>(SetKind::Sorted, &[0.0], 1, |x, y| {
        leaked = Some(x[0]);
        y[0] = x[0];
    })
    .unwrap();
    let mixed = jacobian_pattern::<GradientTracer>(SetKind::Sorted, &[0.0], 1, |x, y| {
        y[0] = x[0] + leaked.unwrap();
    });
    assert!(matches!(mixed, Err(Fault::MixedTraces { .. })));
    let stray = jacobian_pattern::<GradientTracer>(SetKind::Sorted, &[0.0], 1, |_, y| {
        y[0] = leaked.unwrap();
    });
    assert!(matches!(stray, Err(Fault::MixedTraces { .. })));
}

/// A random program: a list of operations on values made before.
struct RandomProgram {
    inputs: usize,
    steps: Vec<(u32, usize, usize, usize, f64)>,
}

impl RandomProgram {
    fn new(inputs: usize, length: usize, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let steps = (0..length)
            .map(|k| {
                let have = inputs + k;
                let recent = have.saturating_sub(8);
                let mut pick =
                    || if rng.bool() { rng.usize(0..have) } else { rng.usize(recent..have) };
                let (a, b, c) = (pick(), pick(), pick());
                (rng.u32(0..24), a, b, c, rng.f64() * 2.0 - 1.0)
            })
            .collect();
        RandomProgram { inputs, steps }
    }
}

impl Function for RandomProgram {
    fn call<S: Scalar>(&self, x: &[S]) -> Vec<S> {
        let mut v = x.to_vec();
        for &(op, a, b, c, k) in &self.steps {
            let (a, b, c) = (v[a], v[b], v[c]);
            v.push(match op {
                0..=2 => a + b,
                3 => a - b,
                4 | 5 => a * b,
                6 => a / (b * b + 1.0),
                7 => a.sin(),
                8 => (a * 0.1).tanh(),
                9 => a.max(b),
                10 => a.min(b),
                11 => a.abs(),
                12 => a * k,
                13 => a.floor() * b,
                14 => a.hypot(b),
                15 => a.mul_add(b, c),
                16 => a.clamp(b, c),
                17 => S::select(a.less(b), a, c),
                18 => a.copysign(b),
                19 => a % (b.abs() + 0.5),
                20 => (a.abs() + 0.5).powf(k),
                21 => a.powi(2),
                22 => a.atan2(b),
                _ => (a * 0.3).sigmoid(),
            });
        }
        v[v.len() - 6..].to_vec()
    }
}

#[test]
fn random_programs_have_no_false_negatives() {
    const N: usize = 12;
    for seed in 0..150 {
        let program = RandomProgram::new(N, 20 + (seed as usize % 5) * 25, seed);
        let mut rng = fastrand::Rng::with_seed(seed + 1000);
        let kind = KINDS[seed as usize % 2];
        let global =
            jacobian_pattern::<GradientTracer>(kind, &[0.0; N], 6, |x, y| run(&program, y, x))
                .unwrap();
        let second =
            hessian_pattern::<HessianTracer>(kind, &[0.0; N], 6, |x, y| run(&program, y, x))
                .unwrap();
        for _ in 0..4 {
            let point: Vec<f64> = (0..program.inputs).map(|_| rng.f64() * 4.0 - 2.0).collect();
            let near = jacobian_pattern::<Local<GradientTracer>>(kind, &point, 6, |x, y| {
                run(&program, y, x);
            })
            .unwrap();
            let near_second = hessian_pattern::<Local<HessianTracer>>(kind, &point, 6, |x, y| {
                run(&program, y, x);
            })
            .unwrap();
            let x: Vec<Dual2<f64, N>> =
                point.iter().enumerate().map(|(i, v)| Dual2::variable(*v, i)).collect();
            for (row, y) in program.call(&x).iter().enumerate() {
                for i in 0..N {
                    let nonzero = y.gradient()[i] != 0.0;
                    assert!(
                        !nonzero || global.contains(row, i),
                        "seed {seed}: ({row}, {i}) = {}",
                        y.gradient()[i]
                    );
                    assert!(
                        !nonzero || near.contains(row, i),
                        "seed {seed}, local: ({row}, {i}) at {point:?}"
                    );
                    for j in 0..N {
                        let nonzero = y.second(i, j) != 0.0;
                        assert!(
                            !nonzero || second.contains(i, j),
                            "seed {seed}: ({i}, {j}) = {}",
                            y.second(i, j)
                        );
                        assert!(
                            !nonzero || near_second.contains(i, j),
                            "seed {seed}, local: ({i}, {j})"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn wide_functions_leave_the_small_sets() {
    for kind in KINDS {
        let n = 500;
        let p = jacobian_pattern::<GradientTracer>(kind, &vec![0.0; n], 3, |x, y| {
            y[0] = x.iter().copied().sum();
            y[1] = x.iter().rev().step_by(7).map(|v| v.sin()).sum::<GradientTracer>() * x[3];
            y[2] = y[0] + y[1];
        })
        .unwrap();
        let counts = |row: usize| (0..n).filter(|j| p.contains(row, *j)).count();
        assert_eq!([counts(0), counts(1), counts(2)], [500, 73, 500]);
        let p = hessian_pattern::<HessianTracer>(kind, &vec![0.0; 60], 1, |x, y| {
            let mut product = x[0];
            for v in &x[1..] {
                product *= *v;
            }
            y[0] = product;
        })
        .unwrap();
        assert_eq!(p.nnz(), 60 * 59);
    }
}
