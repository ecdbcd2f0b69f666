//! Laws of derivatives on random programs with arrays, kernels, loops, branches and calls.

use cotangent_ir::{Dim, Function, Type, parse};
use cotangent_numbers::{Dual, Interval, Jet};
use cotangent_testkit::programs::{Options, arguments, random};
use cotangent_transform::{
    TransformError, batch, collapsed, gradient, hessian, jacobian, jet, laplacian, linearize,
    reverse, transpose,
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

    /// The arguments of an expanded function: behind each parameter that moves what goes beside it.
    fn expanded(&self, beside: &[Vec<f64>]) -> Vec<f64> {
        let (mut all, mut at, mut moving) = (Vec::new(), 0, 0);
        for p in self.f.params() {
            let len = p.ty.len().unwrap();
            all.extend(&self.x[at..at + len]);
            at += len;
            if p.ty.is_float() {
                beside.iter().for_each(|c| all.extend(&c[moving..moving + len]));
                moving += len;
            }
        }
        all
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

/// Functions of one number: the gradient, the Hessian by all ways, the third derivative.
#[test]
fn higher_orders_of_structured_programs_agree_with_nested_dual_numbers() {
    let mut compared = 0;
    for seed in 0..300 {
        let options = Options {
            operations: 5 + seed as usize % 36,
            depth: 1 + seed as usize % 3,
            one: true,
            ..Options::default()
        };
        let case = Case::new(seed, &options);
        let (f, n) = (&case.f, case.v.len());
        let along =
            |numbers: &[f64]| -> f64 { numbers.iter().zip(&case.v).map(|(g, v)| g * v).sum() };
        let y = f.run(&case.x).unwrap();
        let nested = f.run(&case.moving(|x, t| {
            let d1 = |value: f64, d: f64| D1::new(value, [d]);
            let inner = D2::new(d1(x, t), [d1(t, 0.0)]);
            D3::new(inner, [D2::new(d1(t, 0.0), [d1(0.0, 0.0)])])
        }));
        let nested = nested.unwrap()[0];
        let first = nested.value.value.partials[0];
        let second = nested.value.partials[0].partials[0];
        let third = nested.partials[0].partials[0].partials[0];
        if wild(&[y[0], first, second, third]) {
            continue;
        }
        let g = gradient(f).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &g);
        let found = g.run(&case.x).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}\n{g}"));
        same(seed, f, "gradient", &[along(&found[1..])], &[first], 1e-8);

        // Forward over reverse.
        let over = linearize(&g).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}\n{g}"));
        reads_back(seed, &over);
        let found = over.run(&[&case.x[..], &case.v].concat()).unwrap();
        let hv = &found[found.len() - n..];
        same(seed, f, "forward over reverse", &[along(hv)], &[second], 1e-7);
        // Reverse over forward.
        let forward = linearize(f).unwrap();
        let under = reverse(&forward).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &under);
        let found = under.run(&[&case.x[..], &case.v, &[0.0, 1.0]].concat()).unwrap();
        same(seed, f, "reverse over forward", &found[2..2 + n], hv, 1e-7);
        // Reverse over reverse.
        let full = hessian(f).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &full);
        let found = full.run(&case.x).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}\n{full}"));
        let h = matrix(f, &found[1 + n..]);
        for i in 0..n {
            for j in 0..n {
                same(seed, f, "mirror images", &[h[i][j]], &[h[j][i]], 1e-7);
            }
            same(seed, f, "Hessian times vector", &[along(&h[i])], &[hv[i]], 1e-7);
        }
        // Without a Hessian.
        let trace: f64 = (0..n).map(|k| h[k][k]).sum();
        let lap = laplacian(f).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &lap);
        let found = lap.run(&case.x).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}\n{lap}"));
        same(seed, f, "Laplacian", &found[1..], &[trace], 1e-7);
        let two = collapsed(f, 2).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &two);
        // Along v, along 2v, and s = v.
        let beside = [1.0, 2.0, 1.0].map(|c| case.v.iter().map(|v| c * v).collect::<Vec<f64>>());
        let found = two.run(&case.expanded(&beside)).unwrap();
        let expected = [y[0], first, 2.0 * first, 5.0 * second + first];
        same(seed, f, "collapsed", &found, &expected, 1e-7);
        compared += 1;
        if seed % 3 == 0 {
            let third_order = linearize(&over).unwrap();
            reads_back(seed, &third_order);
            // x, v, and of both: v, 0.
            let zeros = vec![0.0; n];
            let at = [&case.x[..], &case.v, &case.v, &zeros].concat();
            let found = third_order.run(&at).unwrap();
            same(seed, f, "third order", &[along(&found[found.len() - n..])], &[third], 1e-6);
        }
    }
    assert!(compared > 250, "{compared}");
}

/// Taylor series of programs with bodies: the program of coefficients gives what numbers with coefficients do.
#[test]
fn series_of_structured_programs_agree_with_jets() {
    const ORDER: usize = 4;
    let mut compared = 0;
    for seed in 0..500 {
        let options = Options { operations: 5 + seed as usize % 90, ..options(seed) };
        let case = Case::new(seed + 30_000, &options);
        let f = &case.f;
        let y = f.run(&case.x).unwrap();
        // Coefficients v, v/2, v/3, …
        let beside: Vec<Vec<f64>> =
            (1..=ORDER).map(|k| case.v.iter().map(|v| v / k as f64).collect()).collect();
        let numbers = case.moving(|x, t| {
            let mut coefficients = [x; ORDER + 1];
            (1..=ORDER).for_each(|k| coefficients[k] = t / k as f64);
            Jet { coefficients }
        });
        let expected: Vec<Jet<f64, { ORDER + 1 }>> = f.run(&numbers).unwrap();
        if wild(&y) || expected.iter().any(|jet| wild(&jet.coefficients)) {
            continue;
        }
        let series = jet(f, ORDER).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &series);
        let found = series.run(&case.expanded(&beside));
        let found = found.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}\n{series}"));
        let (mut at, mut number) = (0, 0);
        for ty in f.results().iter().map(|v| f.ty(*v)) {
            let len = ty.len().unwrap();
            let orders = if ty.is_float() { ORDER + 1 } else { 1 };
            for order in 0..orders {
                let own: Vec<f64> =
                    (0..len).map(|k| expected[number + k].coefficients[order]).collect();
                let what = format!("coefficient {order}");
                same(seed, f, &what, &found[at..at + len], &own, 1e-8);
                at += len;
            }
            number += len;
        }
        assert_eq!(at, found.len(), "seed {seed}");
        compared += 1;
    }
    assert!(compared > 350, "{compared}");
}

/// The rows of a Hessian, whose blocks stand parameter by parameter.
fn matrix(f: &Function, blocks: &[f64]) -> Vec<Vec<f64>> {
    let sizes: Vec<usize> =
        f.params().iter().filter(|p| p.ty.is_float()).map(|p| p.ty.len().unwrap()).collect();
    by_blocks(&sizes, &sizes, blocks)
}

/// The rows of a matrix whose blocks stand one after the other, those of a row of blocks first.
fn by_blocks(rows: &[usize], columns: &[usize], blocks: &[f64]) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    let mut rest = blocks;
    for r in rows {
        let mut block_rows = vec![Vec::new(); *r];
        for c in columns {
            let (block, after) = rest.split_at(r * c);
            rest = after;
            for (row, entries) in block_rows.iter_mut().zip(block.chunks((*c).max(1))) {
                row.extend_from_slice(entries);
            }
        }
        all.extend(block_rows);
    }
    assert!(rest.is_empty());
    all
}

#[test]
fn jacobians_of_structured_programs_have_the_columns_of_dual_numbers() {
    let mut compared = 0;
    for seed in 0..400 {
        let options = Options { operations: 5 + seed as usize % 60, ..options(seed) };
        let case = Case::new(seed + 5000, &options);
        let f = &case.f;
        let y = f.run(&case.x).unwrap();
        if wild(&y) || case.inputs.len() > 30 || case.outputs.len() > 30 {
            continue;
        }
        let j = jacobian(f).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &j);
        let found = j.run(&case.x).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}\n{j}"));
        same(seed, f, "values", &found[..y.len()], &y, 1e-12);
        let floats = |types: Vec<Type>| -> Vec<usize> {
            types.iter().filter(|ty| ty.is_float()).map(|ty| ty.len().unwrap()).collect()
        };
        let rows = floats(f.results().iter().map(|v| f.ty(*v)).collect());
        let columns = floats(f.params().iter().map(|p| p.ty).collect());
        // A flat function has its partials one by one, which is the same for single numbers.
        let entries = by_blocks(&rows, &columns, &found[y.len()..]);
        for (column, input) in case.inputs.iter().enumerate() {
            let x: Vec<D1> = (0..case.x.len())
                .map(|k| D1::new(case.x[k], [if k == *input { 1.0 } else { 0.0 }]))
                .collect();
            let dual = f.run(&x).unwrap();
            let expected: Vec<f64> = case.of(&dual).iter().map(|d| d.partials[0]).collect();
            let own: Vec<f64> = entries.iter().map(|row| row[column]).collect();
            if wild(&expected) {
                continue;
            }
            same(seed, f, &format!("column {column}"), &own, &expected, 1e-9);
        }
        compared += 1;
    }
    assert!(compared > 250, "{compared}");
}

#[test]
fn intervals_enclose_what_structured_programs_give() {
    let (mut enclosed, mut open) = (0, 0);
    for seed in 0..600 {
        let options = Options { operations: 5 + seed as usize % 60, ..options(seed) };
        let case = Case::new(seed + 9000, &options);
        let radius = if seed % 2 == 0 { 0.0 } else { 1e-3 };
        let bounds: Vec<Interval<f64>> = (0..case.x.len())
            .map(|k| {
                let r = if case.inputs.contains(&k) { radius } else { 0.0 };
                Interval::new(case.x[k] - r, case.x[k] + r)
            })
            .collect();
        // What is not decided within the bounds is an error, never a guess.
        let Ok(bounds) = case.f.run(&bounds) else {
            open += 1;
            continue;
        };
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..3 {
            let x: Vec<f64> = (0..case.x.len())
                .map(|k| {
                    let r = if case.inputs.contains(&k) { radius } else { 0.0 };
                    case.x[k] + r * (2.0 * rng.f64() - 1.0)
                })
                .collect();
            for (y, bound) in case.f.run(&x).unwrap().iter().zip(&bounds) {
                assert!(
                    bound.contains(*y) || y.is_nan(),
                    "seed {seed}: {y} in {bound:?}\n{}",
                    case.f
                );
            }
        }
        enclosed += 1;
    }
    assert!(enclosed > 350 && open < 250, "{enclosed} {open}");
}

/// A batch gives at each point what the function does there; so does its derivative.
#[test]
fn batches_of_structured_programs_are_the_program_at_each_point() {
    let mut compared = 0;
    for seed in 0..150 {
        let options = Options { operations: 5 + seed as usize % 60, ..options(seed) };
        let case = Case::new(seed + 40_000, &options);
        let f = linearize(&case.f).unwrap();
        if case.inputs.is_empty() {
            continue;
        }
        let at = [&case.x[..], &case.v].concat();
        compared += 1;
        let points = 3;
        // All numbers differ from point to point; the others are shared.
        let many = batch(&f, Dim::Size(points), |p| p.ty.is_float());
        let many = many.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        reads_back(seed, &many);
        let moved = |k: usize, x: f64| x + 0.01 * k as f64;
        let (mut wide, mut own) = (Vec::new(), vec![Vec::new(); points]);
        let mut rest = &at[..];
        for p in f.params() {
            let (entries, after) = rest.split_at(p.ty.len().unwrap());
            rest = after;
            for (k, own) in own.iter_mut().enumerate() {
                let entries =
                    entries.iter().map(|x| if p.ty.is_float() { moved(k, *x) } else { *x });
                own.extend(entries.clone());
                if p.ty.is_float() || k == 0 {
                    wide.extend(entries);
                }
            }
        }
        let found = many.run(&wide).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{many}"));
        let each: Vec<Vec<f64>> = own.iter().map(|x| f.run(x).unwrap()).collect();
        let (mut start, mut rest) = (0, &found[..]);
        for ty in f.results().iter().map(|v| f.ty(*v)) {
            let len = ty.len().unwrap();
            for row in &each {
                let (entries, after) = rest.split_at(len);
                rest = after;
                same(seed, &f, "batch", entries, &row[start..start + len], 0.0);
            }
            start += len;
        }
    }
    assert!(compared > 120, "{compared}");
    let f = parse("fn @f(%x: f64) -> f64 { %s = sin %x ret %s }").unwrap();
    let nothing = batch(&f, Dim::Size(2), |_| false);
    assert!(matches!(nothing, Err(TransformError::Batch { .. })));
    let guarded = parse("fn @f(%x: f64) -> f64 { %g = lt %x, 0.0 guard %g, true ret %x }").unwrap();
    let error = batch(&guarded, Dim::Size(2), |_| true).unwrap_err();
    assert!(error.to_string().contains("guards"), "{error}");
}

/// Where derivatives stop, forward and reverse stop at the same places.
#[test]
fn forward_and_reverse_stop_together() {
    for seed in 0..300 {
        let options = Options { stops: true, operations: 5 + seed as usize % 80, ..options(seed) };
        let case = Case::new(seed + 20_000, &options);
        let f = &case.f;
        let y = f.run(&case.x).unwrap();
        let (forward, backward) = (linearize(f).unwrap(), reverse(f).unwrap());
        reads_back(seed, f);
        let found = forward.run(&[&case.x[..], &case.v].concat()).unwrap();
        let back = backward.run(&[&case.x[..], &case.w].concat()).unwrap();
        if wild(&found) || wild(&back) {
            continue;
        }
        let left: f64 = case.w.iter().zip(&found[y.len()..]).map(|(w, t)| w * t).sum();
        let right: f64 = case.v.iter().zip(&back[y.len()..]).map(|(v, g)| v * g).sum();
        let size: f64 = back[y.len()..].iter().map(|g| g.abs()).sum();
        assert!(
            (left - right).abs() <= 1e-9 * (1.0 + size),
            "seed {seed}: {left} and {right}\n{f}"
        );
    }
    // Twice turned around is what it was.
    let f = parse(
        "fn @f(%x: [3]f64, %dx: lin [3]f64) -> [3]f64 {
  %r = tab (%i < 3) {
    %k = iadd %i, 1
    %m = irem %k, 3
    %a = ld %x[%m]
    %b = ld %dx[%i]
    %s = for %l < %i (%t: lin = %b) { %c = ld %dx[%l] %u = mul %c, %a %v = add %t, %u yield %v }
    yield %s
  }
  ret %r
}",
    )
    .unwrap();
    let twice = transpose(&transpose(&f, 0).unwrap(), 0).unwrap();
    let at = [1.0, 2.0, 3.0, 0.5, -0.5, 1.5];
    assert_eq!(twice.run(&at).unwrap(), f.run(&at).unwrap());
}

/// Derivatives of products and largest elements over dimensions with names, given sizes afterwards.
#[test]
fn reductions_over_named_dimensions_are_differentiated() {
    let sizes = [("n", Dim::Size(2)), ("k", Dim::Size(3))];
    let x = [2.0, -3.0, 4.0, 1.5, -0.5, 3.0];
    for reducer in ["prod", "max", "min", "sum"] {
        let f = parse(&format!(
            "fn @f<n, k>(%x: [n, k]f64) -> f64 {{
               %p = red {reducer} (%i < n, %j < k) {{ %e = ld %x[%i, %j] %q = mul %e, %e yield %q }}
               ret %p }}"
        ))
        .unwrap();
        let early = gradient(&f.specialised(&sizes)).unwrap().run(&x).unwrap();
        let late = gradient(&f).unwrap();
        reads_back(0, &late);
        assert_eq!(late.specialised(&sizes).run(&x).unwrap(), early, "{reducer}\n{late}");
        let h = 1e-6;
        for k in 0..x.len() {
            let at = |d: f64| {
                let mut y = x;
                y[k] += d;
                f.specialised(&sizes).run(&y).unwrap()[0]
            };
            let difference = (at(h) - at(-h)) / (2.0 * h);
            let near = (early[1 + k] - difference).abs() <= 1e-5 * (1.0 + difference.abs());
            assert!(near, "{reducer} {k}: {early:?} {difference}");
        }
    }
}
