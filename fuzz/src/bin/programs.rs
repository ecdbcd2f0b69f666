//! Random structured programs: text, dual numbers, series, forward and reverse mode agree, and optimised they
//! are what they were.
//!
//! `cargo run --release --bin programs -- --seconds 60 --seed 0`

use std::panic::catch_unwind;

use cotangent_fuzz::Plan;
use cotangent_ir::{Function, Op, Reducer, Structure, Type, parse};
use cotangent_numbers::Dual;
use cotangent_optimize::{Class, Options as Allowed, optimize};
use cotangent_testkit::programs::{Options, arguments, random};
use cotangent_transform::{jet, linearize, reverse};
use fastrand::Rng;

fn read_back(f: &Function) {
    f.verify().unwrap_or_else(|e| panic!("{e}\n{f}"));
    let text = f.to_string();
    let again = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again.to_string(), text);
    assert!(again == *f, "not equal\n{text}");
}

/// The places of numbers among all entries.
fn numbers(types: impl Iterator<Item = Type>) -> Vec<usize> {
    let mut at = 0;
    let mut found = Vec::new();
    for ty in types {
        let len = ty.len().expect("sizes are known");
        if ty.is_float() {
            found.extend(at..at + len);
        }
        at += len;
    }
    found
}

fn wild(y: &[f64]) -> bool {
    y.iter().any(|y| !y.is_finite() || y.abs() > 1e6)
}

/// Whether a program jumps nowhere: rounding cannot make it go another way.
fn is_smooth(f: &Function) -> bool {
    f.values().all(|v| match f.op(v) {
        Op::Compare(_) | Op::Argsort => false,
        Op::Cast => f.ty(v).is_float(),
        Op::Elementary(code, _) => !matches!(
            code.info().name,
            "floor" | "ceil" | "round" | "trunc" | "sgn" | "signum" | "rem"
        ),
        Op::Structure(_) => f.structure(v).is_none_or(|s| {
            let jumps = matches!(
                s,
                Structure::Red {
                    reducer: Reducer::Max | Reducer::Min | Reducer::ArgMax | Reducer::ArgMin,
                    ..
                }
            );
            !jumps && s.bodies().all(|body| is_smooth(body))
        }),
        _ => true,
    })
}

/// Optimised, a program gives the same: to the bit, but for the sign of zeros, or up to rounding.
fn optimised(f: &Function, x: &[f64], y: &[f64]) {
    let bits = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    let equal = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    let near = |a: f64, b: f64| equal(a, b) || (a - b).abs() <= 1e-7 * (1.0 + a.abs().max(b.abs()));
    let sums = Allowed::default().with(Class::Reassoc).with(Class::Contract);
    // A tangent that comes to nothing is zero, of whichever sign.
    let linear = f.params().iter().any(|p| p.linear);
    let exact: &dyn Fn(f64, f64) -> bool = if linear { &equal } else { &bits };
    let all: [(Allowed, &dyn Fn(f64, f64) -> bool); 3] =
        [(Allowed::exact(), exact), (Allowed::default(), &equal), (sums, &near)];
    for (options, same) in all {
        let new = optimize(f, &options).function;
        read_back(&new);
        assert!(new.cost().total() <= f.cost().total() * (1.0 + 1e-12), "{f}\n{new}");
        let found = new.run(x).unwrap_or_else(|e| panic!("{e}\n{f}\n{new}"));
        for (a, b) in y.iter().zip(&found) {
            // What is wild already may be rounded to anything, and what jumps may jump.
            let hidden = options.allows(Class::Reassoc) && (wild(y) || !is_smooth(f));
            assert!(hidden || same(*a, *b), "{options:?}: {a:?} became {b:?}\n{f}\n{new}");
        }
    }
}

fn check(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let options = Options {
        operations: rng.usize(5..300),
        depth: rng.usize(..5),
        one: rng.bool(),
        ..Options::default()
    };
    let f = random(seed, &options);
    read_back(&f);
    let x = arguments(&f, seed);
    let y = f.run(&x).unwrap_or_else(|e| panic!("{e}\n{f}"));
    let inputs = numbers(f.params().iter().map(|p| p.ty));
    let outputs = numbers(f.results().iter().map(|v| f.ty(*v)));
    let v: Vec<f64> = inputs.iter().map(|_| rng.f64() - 0.5).collect();
    let w: Vec<f64> = outputs.iter().map(|_| rng.f64() - 0.5).collect();
    let mut duals: Vec<Dual<f64, 1>> = x.iter().map(|x| Dual::new(*x, [0.0])).collect();
    inputs.iter().zip(&v).for_each(|(k, v)| duals[*k].partials = [*v]);
    let duals = f.run(&duals).unwrap_or_else(|e| panic!("{e}\n{f}"));
    let tangents: Vec<f64> = outputs.iter().map(|k| duals[*k].partials[0]).collect();
    let (forward, backward) = (linearize(&f), reverse(&f));
    let forward = forward.unwrap_or_else(|e| panic!("{e}\n{f}"));
    let backward = backward.unwrap_or_else(|e| panic!("{e}\n{f}"));
    read_back(&forward);
    read_back(&backward);
    let found = forward.run(&[&x[..], &v].concat()).unwrap_or_else(|e| panic!("{e}\n{f}"));
    let back = backward.run(&[&x[..], &w].concat()).unwrap_or_else(|e| panic!("{e}\n{f}"));
    if seed % 3 == 0 {
        optimised(&f, &x, &y);
        optimised(&forward, &[&x[..], &v].concat(), &found);
        optimised(&backward, &[&x[..], &w].concat(), &back);
        read_back(&jet(&f, 2).unwrap_or_else(|e| panic!("{e}\n{f}")));
    }
    if wild(&y) || wild(&tangents) || wild(&back) {
        return;
    }
    for (t, expected) in found[y.len()..].iter().zip(&tangents) {
        let near = (t - expected).abs() <= 1e-7 * (1.0 + expected.abs());
        assert!(near, "{t} for {expected}\n{f}");
    }
    let left: f64 = w.iter().zip(&tangents).map(|(w, t)| w * t).sum();
    let right: f64 = v.iter().zip(&back[y.len()..]).map(|(v, g)| v * g).sum();
    let size: f64 = back[y.len()..].iter().map(|g| g.abs()).sum();
    assert!((left - right).abs() <= 1e-7 * (1.0 + size), "{left} and {right}\n{f}");
}

fn main() {
    for seed in Plan::from_arguments() {
        if catch_unwind(|| check(seed)).is_err() {
            println!("seed {seed}");
            std::process::exit(1);
        }
    }
}
