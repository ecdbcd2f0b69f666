//! Random programs: optimised they are what they were, by class, cost no more, and stay as they are when
//! optimised again.

use cotangent_ir::{Function, Traced, parse, trace, trace_at};
use cotangent_numbers::Scalar;
use cotangent_optimize::{Class, Options, optimize, simplify};
use cotangent_testkit::difftests::*;
use cotangent_transform::{gradient, hessian, linearize, reverse};

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
        // In text a zero that is captured as a tangent is not seen to be one.
        if let Ok(parsed) = parse(&new.to_string()) {
            let read: Vec<u64> = parsed.run(x).unwrap().iter().map(|y| y.to_bits()).collect();
            let own: Vec<u64> = after.iter().map(|y| y.to_bits()).collect();
            assert_eq!(read, own, "{what}\n{new}\n{parsed}");
        }
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

/// A random program with arrays, kernels, loops and branches over x: [5], y: [5], a: [5, 4], t.
struct Text {
    rng: fastrand::Rng,
    text: String,
    next: usize,
}

#[derive(Clone, Default)]
struct Scope {
    scalars: Vec<String>,
    /// Arrays with their sizes.
    arrays: Vec<(String, Vec<usize>)>,
    /// Indices with what they are below.
    indices: Vec<(String, usize)>,
    depth: usize,
}

impl Text {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    fn line(&mut self, scope: &Scope, text: &str) {
        self.text += &"  ".repeat(scope.depth + 1);
        self.text += text;
        self.text += "\n";
    }

    fn scalar(&mut self, scope: &Scope) -> String {
        match self.rng.u8(..12) {
            0 => "0.0".into(),
            1 => "1.0".into(),
            2 => "-0.5".into(),
            _ => scope.scalars[self.rng.usize(..scope.scalars.len())].clone(),
        }
    }

    /// An element of an array, at an index that is in range.
    fn load(&mut self, scope: &mut Scope) {
        let (array, sizes) = scope.arrays[self.rng.usize(..scope.arrays.len())].clone();
        let mut at = Vec::new();
        for size in sizes {
            let fitting: Vec<String> =
                scope.indices.iter().filter(|(_, n)| *n <= size).map(|(i, _)| i.clone()).collect();
            at.push(match fitting.is_empty() || self.rng.u8(..5) == 0 {
                true => self.rng.usize(..size).to_string(),
                false => fitting[self.rng.usize(..fitting.len())].clone(),
            });
        }
        let v = self.name();
        self.line(scope, &format!("{v} = ld {array}[{}]", at.join(", ")));
        scope.scalars.push(v);
    }

    fn step(&mut self, scope: &mut Scope) {
        let kind = self.rng.u8(..if scope.depth < 3 { 20 } else { 12 });
        let v = self.name();
        let (a, b) = (self.scalar(scope), self.scalar(scope));
        match kind {
            0 | 1 => return self.load(scope),
            2 => self.line(scope, &format!("{v} = add {a}, {b}")),
            3 => self.line(scope, &format!("{v} = sub {a}, {b}")),
            4 | 5 => self.line(scope, &format!("{v} = mul {a}, {b}")),
            6 => self.line(scope, &format!("{v} = sin {a}")),
            7 => self.line(scope, &format!("{v} = neg {a}")),
            8 => {
                let c = self.name();
                self.line(scope, &format!("{c} = lt {a}, {b}"));
                self.line(scope, &format!("{v} = select {c}, {a}, {b}"));
            }
            9 => self.line(scope, &format!("{v} = strong_mul {a}, {b}")),
            10 => {
                let (array, sizes) = scope.arrays[self.rng.usize(..scope.arrays.len())].clone();
                let op = ["add", "mul", "sub"][self.rng.usize(..3)];
                self.line(scope, &format!("{v} = {op} {array}, {a}"));
                scope.arrays.push((v, sizes));
                return;
            }
            11 => {
                let fitting: Vec<_> =
                    scope.indices.iter().filter(|(_, n)| *n <= 4).cloned().collect();
                if fitting.is_empty() {
                    return self.load(scope);
                }
                let (i, n) = fitting[self.rng.usize(..fitting.len())].clone();
                self.line(scope, &format!("{v} = iadd {i}, 1"));
                scope.indices.push((v, n + 1));
                return;
            }
            12 | 13 => {
                let (n, m) = (self.rng.usize(2..6), self.rng.usize(2..5));
                let both = self.rng.bool();
                let (i, j) = (self.name(), self.name());
                let domain =
                    if both { format!("{i} < {n}, {j} < {m}") } else { format!("{i} < {n}") };
                self.line(scope, &format!("{v} = tab ({domain}) {{"));
                let mut inner = self.inner(scope);
                inner.indices.push((i, n));
                if both {
                    inner.indices.push((j, m));
                }
                self.body(&mut inner, 1);
                self.line(scope, "}");
                scope.arrays.push((v, if both { vec![n, m] } else { vec![n] }));
                return;
            }
            14 | 15 => {
                let n = self.rng.usize(1..6);
                let i = self.name();
                let how = ["sum", "sum", "prod", "max"][self.rng.usize(..4)];
                self.line(scope, &format!("{v} = red {how} ({i} < {n}) {{"));
                let mut inner = self.inner(scope);
                inner.indices.push((i, n));
                self.body(&mut inner, 1);
                self.line(scope, "}");
            }
            16 | 17 => {
                let n = self.rng.usize(1..12);
                let (i, s, t, u) = (self.name(), self.name(), self.name(), self.name());
                let start = ["0.0", "1.0", &a][self.rng.usize(..3)].to_string();
                self.line(
                    scope,
                    &format!("{v}, {u} = for {i} < {n} ({s} = {start}, {t} = {b}) {{"),
                );
                let mut inner = self.inner(scope);
                inner.indices.push((i, n));
                let sum = self.rng.bool();
                if !sum {
                    inner.scalars.push(s.clone());
                    inner.scalars.push(t.clone());
                }
                let last = self.steps(&mut inner);
                let w = self.name();
                self.line(&inner, &format!("{w} = add {s}, {last}"));
                let second = self.scalar(&inner);
                self.line(&inner, &format!("yield {w}, {second}"));
                self.line(scope, "}");
                scope.scalars.push(u);
            }
            _ => {
                let c = self.name();
                self.line(scope, &format!("{c} = lt {a}, {b}"));
                self.line(scope, &format!("{v} = if {c} {{"));
                let mut inner = self.inner(scope);
                self.body(&mut inner, 1);
                self.line(scope, "} else {");
                let mut inner = self.inner(scope);
                self.body(&mut inner, 1);
                self.line(scope, "}");
            }
        }
        scope.scalars.push(v);
    }

    fn inner(&self, scope: &Scope) -> Scope {
        Scope { depth: scope.depth + 1, ..scope.clone() }
    }

    fn steps(&mut self, scope: &mut Scope) -> String {
        self.load(scope);
        for _ in 0..self.rng.usize(1..5) {
            self.step(scope);
        }
        scope.scalars.last().unwrap().clone()
    }

    fn body(&mut self, scope: &mut Scope, _results: usize) {
        let last = self.steps(scope);
        // Small, so that products of sums stay finite.
        let v = self.name();
        self.line(scope, &format!("{v} = sin {last}"));
        self.line(scope, &format!("yield {v}"));
    }
}

fn random(seed: u64) -> Function {
    let mut text = Text { rng: fastrand::Rng::with_seed(seed), text: String::new(), next: 0 };
    let mut scope = Scope {
        scalars: vec!["%t".into()],
        arrays: vec![("%x".into(), vec![5]), ("%y".into(), vec![5]), ("%a".into(), vec![5, 4])],
        ..Scope::default()
    };
    for _ in 0..4 + seed % 9 {
        text.step(&mut scope);
    }
    let n = scope.scalars.len();
    let picks: Vec<String> = scope.scalars[n.saturating_sub(4)..].to_vec();
    let mut sum = "0.0".to_string();
    for v in picks {
        let next = text.name();
        text.line(&scope, &format!("{next} = add {sum}, {v}"));
        sum = next;
    }
    let program = format!(
        "fn @f(%x: [5]f64, %y: [5]f64, %a: [5, 4]f64, %t: f64) -> f64 {{\n{}  ret {sum}\n}}\n",
        text.text
    );
    parse(&program).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{program}"))
}

#[test]
fn random_programs_with_kernels_loops_and_branches() {
    let first = std::env::var("COTANGENT_SEED").map_or(0, |seed| seed.parse().unwrap());
    for seed in first..first + 160 {
        let f = random(seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        let x: Vec<f64> = (0..31).map(|_| 2.0 * rng.f64() - 0.8).collect();
        check(&format!("seed {seed}"), &f, &x);
        check(&format!("gradient, seed {seed}"), &gradient(&f).unwrap(), &x);
        if seed % 4 == 0 {
            let back = reverse(&f).unwrap();
            if back.verify().is_err() {
                continue;
            }
            check(&format!("reverse, seed {seed}"), &back, &[&x[..], &[0.7]].concat());
            let forward = linearize(&f).unwrap();
            check(&format!("forward, seed {seed}"), &forward, &[&x[..], &x[..]].concat());
        }
    }
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
