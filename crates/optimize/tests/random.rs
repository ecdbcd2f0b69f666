//! Random programs: optimised they are what they were, by class, cost no more, and stay as they are when
//! optimised again.

use cotangent_ir::{Dim, Function, Traced, parse, trace, trace_at};
use cotangent_numbers::Scalar;
use cotangent_optimize::{Class, Options, optimize, simplify};
use cotangent_testkit::difftests::*;
use cotangent_testkit::programs::{self, random};
use cotangent_transform::{batch, gradient, hessian, linearize, reverse};

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b
        || (a.is_nan() && b.is_nan())
        || (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

/// Optimised with default and other options, a program is what it was.
#[track_caller]
fn check(what: &str, f: &Function, x: &[f64]) -> Function {
    f.verify().unwrap_or_else(|e| panic!("{what}: {e}\n{f}"));
    let before = f.run(x).unwrap_or_else(|e| panic!("{what}: {e}\n{f}"));
    let all = Options::default().with(Class::Contract).with(Class::Reassoc).with(Class::Approx);
    let sums = Options::default().with(Class::Reassoc);
    for (options, tolerance) in
        [(Options::exact(), -1.0), (Options::default(), 0.0), (sums, 1e-8), (all, 1e-8)]
    {
        // A guard that asks for a number to the bit holds only of that.
        if tolerance > 0.0 && !f.guards().is_empty() {
            continue;
        }
        let new = optimize(f, &options).function;
        new.verify().unwrap_or_else(|e| panic!("{what}: {e}\n{f}\n{new}"));
        let after = new.run(x).unwrap_or_else(|e| panic!("{what}: {e}\n{f}\n{new}"));
        assert_eq!(before.len(), after.len(), "{what}");
        for (a, b) in before.iter().zip(&after) {
            let same = match tolerance < 0.0 {
                true => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
                false => close(*a, *b, tolerance),
            };
            assert!(same, "{what} {options:?}: {a:?} became {b:?}\n{f}\n{new}");
        }
        let (old, now) = (f.cost().total(), new.cost().total());
        assert!(now <= old * (1.0 + 1e-12), "{what}: {old} became {now}\n{f}\n{new}");
        let again = optimize(&new, &options).function;
        assert!(again == new, "{what} {options:?}: once\n{new}\ntwice\n{again}");
        let parsed = parse(&new.to_string()).unwrap_or_else(|e| panic!("{what}: {e}\n{new}"));
        let read: Vec<u64> = parsed.run(x).unwrap().iter().map(|y| y.to_bits()).collect();
        let own: Vec<u64> = after.iter().map(|y| y.to_bits()).collect();
        assert_eq!(read, own, "{what}\n{new}\n{parsed}");
    }
    simplify(f)
}

/// A random straight program.
fn straight<S: Scalar>(seed: u64, operations: usize, x: &[S]) -> Vec<S> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut values = x.to_vec();
    for _ in 0..operations {
        let n = values.len();
        let mut pick =
            || values[if rng.bool() { n - 1 - rng.usize(..n.min(4)) } else { rng.usize(..n) }];
        let (a, b, c) = (pick(), pick(), pick());
        values.push(match rng.u8(..22) {
            0 => a + b,
            1 => a - b,
            2 => a * b * 0.3,
            3 => a / (b * b + 1.5),
            4 => -a,
            5 => (a * 0.3).exp(),
            6 => a.sin(),
            7 => (-a).cos(),
            8 => a.max(b),
            9 => a.min(c),
            10 => a.abs(),
            11 => S::select(a.less(b), a, b),
            12 => S::select(a.less(b), -a, -c),
            13 => a * 0.0 + b,
            14 => a + 0.0,
            15 => a * -1.0,
            16 => a.powi(2) * 0.1,
            17 => (a * a + 0.5).sqrt(),
            18 => a - (-b),
            19 => a / 4.0,
            20 => (a * a + 0.5).ln(),
            _ => a.mul_add(b * 0.1, c),
        });
    }
    let n = values.len();
    vec![values[n - 1] + values[n / 2]]
}

#[test]
fn random_straight_programs_and_their_derivatives() {
    for seed in 0..150 {
        let (operations, n) = (3 + seed as usize % 60, 1 + seed as usize % 3);
        let f = trace("f", n, |x: &[Traced]| straight(seed, operations, x)).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        let x: Vec<f64> = (0..2 * n).map(|_| 0.2 + 1.3 * (rng.f64() - 0.3)).collect();
        check(&format!("seed {seed}"), &f, &x[..n]);
        check(&format!("gradient, seed {seed}"), &gradient(&f).unwrap(), &x[..n]);
        check(&format!("forward, seed {seed}"), &linearize(&f).unwrap(), &x);
        if operations < 25 {
            check(&format!("Hessian, seed {seed}"), &hessian(&f).unwrap(), &x[..n]);
        }
    }
}

#[test]
fn random_programs_with_kernels_loops_and_branches() {
    let first = std::env::var("COTANGENT_SEED").map_or(0, |seed| seed.parse().unwrap());
    for seed in first..first + 160 {
        let (operations, depth) = (5 + seed as usize % 60, 1 + seed as usize % 3);
        let one = seed % 2 == 0;
        let f = random(seed, &programs::Options { operations, depth, one, ..Default::default() });
        let x = programs::arguments(&f, seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut along = |f: &Function| -> Vec<f64> {
            let all: usize = f.params().iter().map(|p| p.ty.len().unwrap()).sum();
            x.iter().copied().chain((x.len()..all).map(|_| rng.f64() - 0.5)).collect()
        };
        check(&format!("seed {seed}"), &f, &x);
        if one {
            check(&format!("gradient, seed {seed}"), &gradient(&f).unwrap(), &x);
        }
        if seed % 4 < 2 {
            let back = reverse(&f).unwrap();
            check(&format!("reverse, seed {seed}"), &back, &along(&back));
            let forward = linearize(&f).unwrap();
            check(&format!("forward, seed {seed}"), &forward, &along(&forward));
        }
    }
}

/// Tangents along several directions at one point: what the directions share stands in loops with what they do not.
#[test]
fn random_programs_along_many_directions() {
    let first = std::env::var("COTANGENT_SEED").map_or(0, |seed| seed.parse().unwrap());
    let mut compared = 0;
    for seed in first..first + 120 {
        let (operations, depth) = (10 + seed as usize % 50, 2 + seed as usize % 2);
        let options = programs::Options { operations, depth, ..Default::default() };
        let f = random(seed + 9_000, &options);
        let forward = linearize(&f).unwrap();
        let moves: Vec<String> =
            forward.params().iter().filter(|p| p.linear).map(|p| p.name.clone()).collect();
        if moves.is_empty() || forward.has_guards() {
            continue;
        }
        let forward = forward.map_params(&|p| p.linear = false);
        let many = batch(&forward, Dim::Size(6), |p| moves.contains(&p.name)).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut x = programs::arguments(&f, seed + 9_000);
        let all: usize = many.params().iter().map(|p| p.ty.len().unwrap()).sum();
        x.extend((x.len()..all).map(|_| rng.f64() - 0.5));
        check(&format!("directions, seed {seed}"), &many, &x);
        compared += 1;
    }
    assert!(compared > 80, "{compared}");
}

#[test]
fn gradients_of_the_corpus_cost_a_few_times_the_function() {
    let numbers = |n: usize| -> Vec<f64> {
        (0..n).map(|i| 0.15 + 0.8 * (i as f64 * 0.37).sin().abs()).collect()
    };
    let (vector, mut matrix) = (numbers(13), numbers(9));
    for i in 0..3 {
        matrix[4 * i] += 1.5;
    }
    let mut ratios = Vec::new();
    macro_rules! all {
        ($x:expr; $($f:ident)*) => {$({
            let (x, name) = (&$x[..], stringify!($f));
            let f = trace_at(name, x, |x: &[Traced]| vec![$f(x)]).unwrap();
            let g = gradient(&f).unwrap();
            let fast = check(name, &g, x);
            let primal = simplify(&f).cost().total();
            if f.operations() > 5 {
                ratios.push((fast.cost().total() / primal, name));
            }
        })*};
    }
    all!(vector; vec2num_1 vec2num_2 vec2num_3 vec2num_4 vec2num_5 vec2num_6 vec2num_7 rosenbrock_1
        rosenbrock_2 rosenbrock_3 rosenbrock_4 ackley self_weighted_logit nested_array_mul first);
    all!(matrix; determinant mat2num_1 mat2num_2 mat2num_3 mat2num_4 softmax);
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(ratios[ratios.len() - 1].0 <= 4.0 && ratios[ratios.len() / 2].0 <= 2.5, "{ratios:.2?}");
}
