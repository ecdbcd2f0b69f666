//! Laws of derivatives on random programs with arrays, kernels, loops, branches and calls.

use cotangent_ir::{Function, Type, parse};
use cotangent_numbers::{Dual, Interval};
use cotangent_testkit::programs::{Options, arguments, random};
use cotangent_transform::{
    TransformError, gradient, hessian, jacobian, linearize, reverse, transpose,
};

type D1 = Dual<f64, 1>;
type D2 = Dual<D1, 1>;
type D3 = Dual<D2, 1>;

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b
        || (a.is_nan() && b.is_nan())
        || (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

#[track_caller]
fn same(seed: u64, f: &Function, what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len(), "seed {seed}, {what}\n{f}");
    for (k, (x, y)) in a.iter().zip(b).enumerate() {
        assert!(close(*x, *y, tolerance), "seed {seed}, {what}, entry {k}: {x} for {y}\n{f}");
    }
}

/// How many numbers the results have, and how many of them are results before this one; numbers only.
fn numbers(types: impl Iterator<Item = Type>) -> Vec<std::ops::Range<usize>> {
    let mut at = 0;
    let mut found = Vec::new();
    for ty in types {
        let len = ty.len().unwrap();
        if ty.is_float() {
            found.push(at..at + len);
        }
        at += len;
    }
    found
}

/// A program with a point, a direction and weights; those that moving numbers take.
struct Case {
    f: Function,
    x: Vec<f64>,
    /// A tangent of each number among the parameters.
    v: Vec<f64>,
    /// A cotangent of each number among the results.
    w: Vec<f64>,
    /// The places of the numbers among all entries of parameters and results.
    inputs: Vec<usize>,
    outputs: Vec<usize>,
}

impl Case {
    fn new(seed: u64, options: &Options) -> Case {
        let f = random(seed, options);
        let x = arguments(&f, seed);
        let mut rng = fastrand::Rng::with_seed(seed + 17);
        let inputs: Vec<usize> =
            numbers(f.params().iter().map(|p| p.ty)).into_iter().flatten().collect();
        let outputs: Vec<usize> =
            numbers(f.results().iter().map(|v| f.ty(*v))).into_iter().flatten().collect();
        let v = inputs.iter().map(|_| rng.f64() - 0.5).collect();
        let w = outputs.iter().map(|_| rng.f64() - 0.5).collect();
        Case { f, x, v, w, inputs, outputs }
    }

    /// The point with tangents, as any kind of number.
    fn moving<S>(&self, number: impl Fn(f64, f64) -> S) -> Vec<S> {
        let mut tangents = vec![0.0; self.x.len()];
        self.inputs.iter().zip(&self.v).for_each(|(k, v)| tangents[*k] = *v);
        self.x.iter().zip(tangents).map(|(x, t)| number(*x, t)).collect()
    }

    fn of<S: Copy>(&self, results: &[S]) -> Vec<S> {
        self.outputs.iter().map(|k| results[*k]).collect()
    }
}

fn options(seed: u64) -> Options {
    Options {
        operations: 5 + (seed as usize * 7) % 196,
        depth: 1 + seed as usize % 3,
        ..Options::default()
    }
}

/// Whether numbers are so large that rounding hides what is compared.
fn wild(numbers: &[f64]) -> bool {
    numbers.iter().any(|y| !y.is_finite() || y.abs() > 1e7)
}

#[track_caller]
fn reads_back(seed: u64, f: &Function) {
    f.verify().unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
    let text = f.to_string();
    let again = parse(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    assert_eq!(again.to_string(), text, "seed {seed}");
    assert!(again == *f, "seed {seed}\n{text}");
    assert_eq!(again.structural_hash(), f.structural_hash(), "seed {seed}\n{text}");
}

#[test]
fn forward_and_reverse_agree_with_dual_numbers_on_structured_programs() {
    let (mut compared, mut turned) = (0, 0);
    for seed in 0..2000 {
        let case = Case::new(seed, &options(seed));
        let f = &case.f;
        reads_back(seed, f);
        let y = f.run(&case.x).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        let again = parse(&f.to_string()).unwrap().run(&case.x).unwrap();
        same(seed, f, "parsed", &again, &y, 0.0);
        if wild(&y) {
            continue;
        }
        let dual = f.run(&case.moving(|x, t| D1::new(x, [t]))).unwrap();
        let values: Vec<f64> = dual.iter().map(|d| d.value).collect();
        same(seed, f, "value of dual numbers", &values, &y, 1e-12);
        let tangents: Vec<f64> = case.of(&dual).iter().map(|d| d.partials[0]).collect();

        let forward = linearize(f).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &forward);
        let found = forward.run(&[&case.x[..], &case.v].concat());
        let found = found.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}\n{forward}"));
        same(seed, f, "value forward", &found[..y.len()], &y, 1e-12);
        if wild(&found) {
            continue;
        }
        same(seed, f, "tangent", &found[y.len()..], &tangents, 1e-9);
        compared += 1;

        let backward = reverse(f).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &backward);
        let back = backward.run(&[&case.x[..], &case.w].concat());
        let back = back.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}\n{backward}"));
        same(seed, f, "value backward", &back[..y.len()], &y, 1e-12);
        // ⟨w, J v⟩ = ⟨Jᵀ w, v⟩
        let left: f64 = case.w.iter().zip(&tangents).map(|(w, t)| w * t).sum();
        let right: f64 = case.v.iter().zip(&back[y.len()..]).map(|(v, g)| v * g).sum();
        let size: f64 = back[y.len()..].iter().map(|g| g.abs()).sum();
        assert!(
            (left - right).abs() <= 1e-9 * (1.0 + size),
            "seed {seed}: {left} and {right}\n{f}"
        );
        turned += 1;
    }
    assert!(compared > 1700 && turned > 1700, "{compared} {turned}");
}
