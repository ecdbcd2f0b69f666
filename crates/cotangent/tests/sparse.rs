//! Sparse derivatives equal dense ones, whatever the detector, the colouring and the backend.

use cotangent::coloring::{Decompression, Greedy, Order, Pattern, Problem};
use cotangent::prelude::*;
use cotangent::{
    Error, FiniteDifferences, Given, Matrix, Mixed, Probe, Sparse, SparseMatrix, Tracer, Union,
    auto_sparse_hessian, prepare_auto_sparse_hessian, prepare_edge_pushing, prepare_sparse_hessian,
    prepare_sparse_jacobian, sparse_hessian, sparse_jacobian,
};

fn point(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.4 + 0.3 * (1.3 * i as f64).sin()).collect()
}

/// diff(x²) + diff(reverse(x²)), the example of the sparsity talk.
fn talk<S: Scalar>(x: &[S], y: &mut [S]) {
    let n = x.len();
    for i in 0..n - 1 {
        y[i] = x[i + 1] * x[i + 1] - x[i] * x[i] + x[n - 2 - i] * x[n - 2 - i]
            - x[n - 1 - i] * x[n - 1 - i];
    }
}

/// Two species that react and diffuse on a periodic grid.
fn brusselator<S: Scalar>(n: usize, x: &[S], y: &mut [S]) {
    let at = |i: usize, j: usize| i % n + n * (j % n);
    let (u, v) = x.split_at(n * n);
    for j in 0..n {
        for i in 0..n {
            let k = at(i, j);
            let around = |w: &[S]| {
                w[at(i + 1, j)] + w[at(i + n - 1, j)] + w[at(i, j + 1)] + w[at(i, j + n - 1)]
                    - w[k] * 4.0
            };
            let reaction = u[k] * u[k] * v[k];
            y[k] = reaction - u[k] * 4.4 + around(u) * 10.0 + 1.0;
            y[n * n + k] = u[k] * 3.4 - reaction + around(v) * 10.0;
        }
    }
}

#[track_caller]
fn same(sparse: &SparseMatrix, dense: &Matrix<f64>, tolerance: f64) {
    let found = sparse.to_dense().unwrap();
    assert_eq!((found.nrows(), found.ncols()), (dense.nrows(), dense.ncols()));
    for (a, b) in found.as_slice().iter().zip(dense.as_slice()) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} for {b}");
    }
}

#[test]
fn jacobians_by_every_backend_and_detector() {
    let f = function!(|x: &[S], y: &mut [S; x.len()]| brusselator(4, x, y));
    let x = point(32);
    let dense = jacobian(&f, &Forward::default(), &x).unwrap();
    same(&sparse_jacobian(&f, &Sparse::default(), &x).unwrap(), &dense, 1e-14);
    let (forward, reverse) = (Forward::default(), Reverse::default());
    let by = |j: SparseMatrix, tolerance| same(&j, &dense, tolerance);
    by(sparse_jacobian(&f, &Sparse::new(forward, Tracer::Global), &x).unwrap(), 1e-14);
    by(sparse_jacobian(&f, &Sparse::new(reverse, Tracer::Global), &x).unwrap(), 1e-14);
    by(sparse_jacobian(&f, &Sparse::new(Auto, Tracer::Local), &x).unwrap(), 1e-14);
    by(sparse_jacobian(&f, &Sparse::new(forward, Probe::default()), &x).unwrap(), 1e-14);
    let differences = FiniteDifferences::default();
    by(sparse_jacobian(&f, &Sparse::new(differences, Tracer::Global), &x).unwrap(), 1e-6);
    let pattern = cotangent::jacobian_sparsity(&f, &x).unwrap();
    by(sparse_jacobian(&f, &Sparse::new(forward, Given(pattern)), &x).unwrap(), 1e-14);
    let union = Union { detector: Tracer::Local, points: vec![point(32), vec![1.0; 32]] };
    by(sparse_jacobian(&f, &Sparse::new(forward, union), &x).unwrap(), 1e-14);
    for chunk in [1, 3, 12] {
        let forward = Forward { chunk: Some(chunk) };
        by(sparse_jacobian(&f, &Sparse::new(forward, Tracer::Global), &x).unwrap(), 1e-14);
    }
}

#[test]
fn hessians_by_every_backend_and_decompression() {
    let f = function!(|x: &[S]| -> S {
        let n = x.len();
        let mut sum = x[0] * x[n - 1];
        for i in 0..n - 1 {
            sum += (x[i + 1] - x[i] * x[i]).powi(2) * 100.0 + (x[i] - 1.0).powi(2);
        }
        sum
    });
    let x = point(25);
    let dense = hessian(&f, &Auto, &x).unwrap();
    let (forward, reverse) = (Forward::default(), Reverse::default());
    for decompression in [Decompression::Direct, Decompression::Substitution] {
        for postprocess in [false, true] {
            let coloring = Greedy { orders: Order::ALL.to_vec(), postprocess, ..Greedy::default() };
            macro_rules! check {
                ($inner:expr, $tolerance:expr) => {
                    let backend = Sparse {
                        inner: $inner,
                        detector: Tracer::Global,
                        coloring: coloring.clone(),
                        decompression,
                    };
                    same(&sparse_hessian(&f, &backend, &x).unwrap(), &dense, $tolerance);
                };
            }
            check!(Mixed::<Forward, Reverse>::default(), 1e-12);
            check!(SecondOrder { outer: forward, inner: forward }, 1e-12);
            check!(SecondOrder { outer: reverse, inner: reverse }, 1e-12);
            check!(Auto, 1e-12);
            check!(forward, 1e-12);
            check!(SecondOrder { outer: FiniteDifferences::richardson(), inner: reverse }, 1e-6);
        }
    }
    let prepared = prepare_sparse_hessian(f, &Sparse::default(), &x).unwrap();
    assert!(prepared.coloring().count() <= 4, "{}", prepared.coloring().count());
    let (mut workspace, mut h) = (prepared.workspace(), vec![0.0; prepared.pattern().nnz()]);
    let mut g = vec![0.0; 25];
    let value =
        prepared.value_gradient_and_hessian_into(&x, &mut g, &mut h, &mut workspace).unwrap();
    let (expected, gradient) = value_and_gradient(&f, &Reverse::default(), &x).unwrap();
    assert!((value - expected).abs() < 1e-12 * expected.abs());
    assert!(g.iter().zip(&gradient).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs())));
    prepared.verify(&x, 3).unwrap();
}

#[test]
fn the_example_of_the_sparsity_talk() {
    let f = function!(|x: &[S], y: &mut [S; x.len() - 1]| talk(x, y));
    let x = point(5);
    let j = sparse_jacobian(&f, &Sparse::default(), &x).unwrap();
    assert_eq!(j.pattern().to_string(), "11·11\n·111·\n·111·\n11·11\n");
    same(&j, &jacobian(&f, &Forward::default(), &x).unwrap(), 1e-15);
}

#[test]
fn an_arrowhead_takes_a_few_products_of_both_kinds() {
    let n = 200;
    // A dense row, a dense column, a diagonal; and a border around blocks of 3.
    let arrow = function!(|x: &[S], y: &mut [S; x.len()]| {
        for i in 1..x.len() {
            y[i] = x[i] * x[0];
            y[0] += x[i].sin();
        }
    });
    let x = point(n);
    // In units of one product, either kind costing the same.
    let one_sided = Sparse::new(Forward::default(), Tracer::Global);
    let columns = prepare_sparse_jacobian(arrow, &one_sided, &x).unwrap();
    assert_eq!(columns.coloring().count(), n);
    let both = prepare_sparse_jacobian(arrow, &Sparse::default(), &x).unwrap();
    assert!(matches!(both.coloring().problem(), Problem::Bidirectional(_)), "{}", both.explain());
    assert!(both.coloring().count() <= 4, "{}", both.explain());
    assert!(both.explain().starts_with("colours rows and columns"), "{}", both.explain());
    same(&both.jacobian(&x).unwrap(), &jacobian(&arrow, &Forward::default(), &x).unwrap(), 1e-14);
    both.verify(&x, 9).unwrap();

    let bordered = function!(|x: &[S], y: &mut [S; x.len()]| {
        for i in 1..x.len() {
            let block = 1 + (i - 1) / 3 * 3;
            y[i] = x[0] * x[i];
            for j in block..(block + 3).min(x.len()) {
                y[i] += x[j] * x[i];
            }
            y[0] += x[i] * x[i];
        }
    });
    let pairs = function!(|x: &[S], y: &mut [S; x.len()]| {
        for i in 1..x.len() {
            let block = 1 + (i - 1) / 2 * 2;
            y[i] = x[0] * x[i] + x[block..(block + 2).min(x.len())].iter().copied().sum::<S>();
            y[0] += x[i] * x[i];
        }
    });
    // A border around blocks of 2: four products, one-sided one for each column or row.
    let both = prepare_sparse_jacobian(pairs, &Sparse::default(), &x).unwrap();
    assert!(both.coloring().count() <= 4, "{}", both.explain());
    for problem in [Problem::Column, Problem::Row] {
        let one_sided = Greedy::default().color(both.pattern(), problem).unwrap();
        assert_eq!(one_sided.count(), n);
    }
    same(&both.jacobian(&x).unwrap(), &jacobian(&pairs, &Forward::default(), &x).unwrap(), 1e-14);
    let substitution = Sparse { decompression: Decompression::Substitution, ..Sparse::default() };
    let both = prepare_sparse_jacobian(bordered, &substitution, &x).unwrap();
    assert!(both.coloring().count() <= 6, "{}", both.explain());
    same(
        &both.jacobian(&x).unwrap(),
        &jacobian(&bordered, &Forward::default(), &x).unwrap(),
        1e-12,
    );
}

#[test]
fn functions_without_entries_have_values_all_the_same() {
    let f = function!(|x: &[S], y: &mut [S; 2]| y[0] = S::from(3.0) + x[0].floor());
    let prepared = prepare_sparse_jacobian(f, &Sparse::default(), &[1.5, 2.0]).unwrap();
    assert_eq!(prepared.pattern().nnz(), 0);
    let (mut values, mut workspace) = ([0.0; 2], prepared.workspace());
    prepared.value_and_jacobian_into(&[1.5, 2.0], &mut values, &mut [], &mut workspace).unwrap();
    assert_eq!(values, [4.0, 0.0]);
    let f = function!(|x: &[S]| -> S { x[0] + x[1] * 2.0 });
    let prepared = prepare_sparse_hessian(f, &Sparse::default(), &[1.0, 2.0]).unwrap();
    let (mut g, mut workspace) = ([0.0; 2], prepared.workspace());
    let value =
        prepared.value_gradient_and_hessian_into(&[1.0, 2.0], &mut g, &mut [], &mut workspace);
    assert_eq!((value.unwrap(), g), (5.0, [1.0, 2.0]));
}

#[test]
fn a_pattern_that_lacks_an_entry_is_found_out() {
    let f = function!(|x: &[S], y: &mut [S; x.len()]| {
        for i in 0..x.len() {
            y[i] = x[i] * x[i] + if i == 3 { x[1] * x[0] } else { S::zero() };
        }
    });
    let x = point(6);
    let diagonal = Pattern::from_rows(6, 6, |i| [i]).unwrap();
    let backend = Sparse::new(Forward::default(), Given(diagonal.clone()));
    let prepared = prepare_sparse_jacobian(f, &backend, &x).unwrap();
    let Err(Error::MissingEntry { row: 3, column }) = prepared.verify(&x, 1) else {
        panic!("it must be found")
    };
    assert!(column < 2 || column == 3);
    let g = function!(|x: &[S]| -> S { x.iter().map(|x| x.sin()).sum::<S>() + x[2] * x[4] });
    let backend = Sparse::new(Mixed::<Forward, Reverse>::default(), Given(diagonal.clone()));
    let prepared = prepare_sparse_hessian(g, &backend, &x).unwrap();
    let error = prepared.verify(&x, 1).unwrap_err();
    assert!(matches!(error, Error::MissingEntry { row: 2, .. }), "{error}");
    // A pattern of another shape, an unsymmetric one, and a branch.
    let wide = Sparse::new(Forward::default(), Given(Pattern::dense(6, 7)));
    assert!(matches!(sparse_jacobian(&f, &wide, &x), Err(Error::PatternShape { .. })));
    let upper = Pattern::from_rows(6, 6, |i| i..6).unwrap();
    let lopsided = Sparse::new(Mixed::<Forward, Reverse>::default(), Given(upper));
    assert!(matches!(sparse_hessian(&g, &lopsided, &x), Err(Error::Coloring(_))));
    let branch = function!(|x: &[S]| -> Vec<S> { vec![if x[0] > 0.0 { x[0] } else { x[1] }] });
    assert!(sparse_jacobian(&branch, &Sparse::default(), &x[..2]).is_err());
    let local = Sparse::new(Forward::default(), Tracer::Local);
    assert_eq!(sparse_jacobian(&branch, &local, &x[..2]).unwrap()[(0, 0)], 1.0);
}

#[test]
fn sparse_derivatives_are_shared_between_threads() {
    let f = function!(|x: &[S], y: &mut [S; x.len()]| brusselator(5, x, y));
    let x = point(50);
    let prepared = prepare_sparse_jacobian(f, &Sparse::default(), &x).unwrap();
    let expected = prepared.jacobian(&x).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut workspace = prepared.workspace();
                let mut entries = vec![0.0; prepared.pattern().nnz()];
                for _ in 0..10 {
                    prepared.jacobian_into(&x, &mut entries, &mut workspace).unwrap();
                    assert_eq!(entries, expected.values());
                }
            });
        }
    });
    let mut workspace = prepared.workspace();
    let wrong = prepared.jacobian_into(&x, &mut [0.0; 3], &mut workspace).unwrap_err();
    assert!(wrong.to_string().contains("the entries has 3"), "{wrong}");
}

/// A random program: operations on values picked among the inputs and all results before.
fn random_program<S: Scalar>(seed: u64, x: &[S]) -> S {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut values = x.to_vec();
    for _ in 0..40 {
        let (a, b) = (values[rng.usize(..values.len())], values[rng.usize(..values.len())]);
        let c = values[rng.usize(..values.len())];
        values.push(
            match rng.u8(..14) {
                0 => a + b,
                1 => a - b,
                2 => a * b,
                3 => a * a,
                4 => a.sin() * 0.7,
                5 => (a * a + b * b + 1.0).sqrt(),
                6 => a / (b * b + 1.0),
                7 => (a * 0.1).tanh(),
                8 => a.mul_add(b, c) * 0.1,
                9 => S::select(a.less(b), a * 0.5, b * c * 0.2),
                10 => (a * a + 1.0).ln(),
                11 => (a * a + 0.5).powf(b.tanh()),
                12 => a.hypot(b * b + 1.0),
                _ => a * -2.5,
            } * 0.5,
        );
    }
    values.iter().rev().take(8).copied().sum::<S>()
}

#[test]
fn edge_pushing_equals_the_dense_and_the_coloured_hessian_on_random_programs() {
    for seed in 0..200 {
        let f = function!([seed: u64] |x: &[S]| -> S { random_program(seed, x) });
        let x = point(2 + seed as usize % 7);
        let (value, g, h) = cotangent::edge_pushing(&f, &x).unwrap();
        let (expected, gradient, dense) = value_gradient_and_hessian(
            &f,
            &SecondOrder { outer: Forward::default(), inner: Forward::default() },
            &x,
        )
        .unwrap();
        assert!((value - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{seed}");
        for (a, b) in g.iter().zip(&gradient) {
            assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()), "{seed}: {a} for {b}");
        }
        same(&h, &dense, 1e-9);
        let global = cotangent::hessian_sparsity(&f, &x).unwrap();
        for (i, j) in h.pattern().entries() {
            assert!(global.contains(i, j), "{seed}: ({i}, {j})");
        }
        same(&sparse_hessian(&f, &Sparse::default(), &x).unwrap(), &dense, 1e-9);
        // Planned at another point; the pattern holds whatever the point, and misses nothing.
        let prepared = prepare_edge_pushing(f, &vec![-0.7; x.len()]).unwrap();
        let mut workspace = prepared.workspace();
        let (mut found, mut g) = (vec![f64::NAN; prepared.pattern().nnz()], vec![0.0; x.len()]);
        for _ in 0..2 {
            let value = prepared
                .value_gradient_and_hessian_into(&x, &mut g, &mut found, &mut workspace)
                .unwrap();
            assert!((value - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{seed}");
            assert!(g.iter().zip(&gradient).all(|(a, b)| (a - b).abs() <= 1e-10 * (1.0 + b.abs())));
        }
        let planned = prepared.hessian(&x).unwrap();
        assert_eq!(planned.values(), found);
        same(&planned, &dense, 1e-9);
        for (i, j) in prepared.pattern().entries() {
            assert!(global.contains(i, j), "{seed}: ({i}, {j})");
        }
    }
}

#[test]
fn the_way_to_a_hessian_is_chosen_and_right() {
    let x = point(40);
    macro_rules! check {
        ($f:expr, $way:literal) => {
            let f = $f;
            let dense = hessian(&f, &Auto, &x).unwrap();
            same(&auto_sparse_hessian(&f, &x).unwrap(), &dense, 1e-11);
            let prepared = prepare_auto_sparse_hessian(f, &x).unwrap();
            assert!(prepared.explain().starts_with($way), "{}", prepared.explain());
            same(&prepared.hessian(&x).unwrap(), &dense, 1e-11);
            let (mut g, mut h) = (vec![0.0; 40], vec![0.0; prepared.pattern().nnz()]);
            let mut workspace = prepared.workspace();
            prepared.value_gradient_and_hessian_into(&x, &mut g, &mut h, &mut workspace).unwrap();
            assert_eq!(h, prepared.hessian(&x).unwrap().values());
            assert_eq!(g.len(), gradient(&f, &Auto, &x).unwrap().len());
        };
    }
    check!(
        function!(|x: &[S]| -> S { x[1..].iter().map(|v| (*v * x[0]).sin()).sum::<S>() }),
        "colours: "
    );
    check!(
        function!(|x: &[S]| -> S {
            let n = x.len();
            (0..n)
                .map(|i| (x[i] * x[(7 * i + 3) % n]).sin() + x[i] * x[(11 * i + 5) % n])
                .sum::<S>()
        }),
        "edge pushing: "
    );
    check!(
        function!(|x: &[S]| -> S {
            x.windows(2).map(|w| if w[0] > w[1] { w[0] * w[1] } else { w[0] * 2.0 }).sum::<S>()
        }),
        "edge pushing: 39 comparisons"
    );
    check!(
        function!(|x: &[S]| -> S { cotangent::linalg::dot(x, x) }),
        "colours: recorded array operations"
    );
}

#[test]
fn planned_edge_pushing_with_constants_branches_and_bad_input() {
    let f = function!(|x: &[S], constant p| -> S {
        let scale = p[0].exp() * p[1];
        if x[0] > p[0] { x[0] * x[0] * scale + x[1] } else { x[0] * x[1] * x[2] * scale }
    });
    let prepared = prepare_edge_pushing(f, (&[3.0, 1.0, 2.0], &[0.0, 5.0])).unwrap();
    assert_eq!(prepared.pattern().nnz(), 1);
    let mut workspace = prepared.workspace();
    let mut h = [0.0];
    prepared.hessian_into((&[4.0, 1.0, 2.0], &[0.0, 7.0]), &mut h, &mut workspace).unwrap();
    assert_eq!(h, [14.0]);
    // The other branch has entries that the pattern lacks: an error, not a wrong number.
    let other = prepared.hessian_into((&[-1.0, 1.0, 2.0], &[0.0, 7.0]), &mut h, &mut workspace);
    assert!(matches!(other, Err(Error::MissingEntry { .. })), "{other:?}");
    prepared.hessian_into((&[4.0, 1.0, 2.0], &[0.0, 3.0]), &mut h, &mut workspace).unwrap();
    assert_eq!(h, [6.0]);
    let wide = prepare_edge_pushing(f, (&[-3.0, 1.0, 2.0], &[0.0, 5.0])).unwrap();
    // On the other side of it the function is recorded anew.
    let narrow =
        function!(|x: &[S]| -> S { if x[0] > 0.0 { x[0] * x[1] } else { x[0] * x[1] * 2.0 } });
    let both = prepare_edge_pushing(narrow, &[1.0, 1.0]).unwrap();
    assert_eq!(both.hessian(&[-1.0, 1.0]).unwrap()[(0, 1)], 2.0);
    assert_eq!(both.hessian(&[1.0, 1.0]).unwrap()[(0, 1)], 1.0);
    assert_eq!(wide.pattern().nnz(), 6);
    assert!(wide.hessian((&[-3.0, f64::NAN, 2.0], &[0.0, 5.0])).is_err());
    assert!(wide.hessian((&[-3.0, 2.0], &[0.0, 5.0])).is_err());
    assert!(wide.hessian_into((&[-3.0, 1.0, 2.0], &[0.0, 5.0]), &mut h, &mut workspace).is_err());
    let array = function!(|x: &[S]| -> S { cotangent::linalg::sum(x) });
    assert!(prepare_edge_pushing(array, &[1.0, 2.0]).is_err());
    // What has no derivative leads nowhere, and of a selection one part only curves.
    let steps = function!(|x: &[S]| -> S { (x[0] * x[1]).floor() + x[0] });
    assert_eq!(prepare_edge_pushing(steps, &[1.0, 2.0]).unwrap().pattern().nnz(), 0);
    let either = function!(|x: &[S]| -> S { S::select(x[0].less(x[1]), x[0], x[1]).powi(2) });
    let either = prepare_edge_pushing(either, &[1.0, 2.0]).unwrap();
    assert_eq!(either.pattern().nnz(), 2);
    assert_eq!(either.hessian(&[3.0, 2.0]).unwrap()[(1, 1)], 2.0);
}

#[test]
fn edge_pushing_of_long_chains_grids_and_arrows() {
    let n = 60;
    let x = point(n);
    macro_rules! check {
        ($f:expr) => {
            let f = $f;
            let (_, _, h) = cotangent::edge_pushing(&f, &x).unwrap();
            same(&h, &hessian(&f, &Auto, &x).unwrap(), 1e-11);
            assert!(h.pattern().nnz() < n * n / 2);
            let prepared = prepare_edge_pushing(f, &vec![0.1; n]).unwrap();
            same(&prepared.hessian(&x).unwrap(), &hessian(&f, &Auto, &x).unwrap(), 1e-11);
            assert_eq!(prepared.pattern(), &cotangent::hessian_sparsity(&f, &x).unwrap());
        };
    }
    check!(function!(|x: &[S]| -> S {
        x.windows(2).map(|w| (w[1] - w[0] * w[0]).powi(2) * 100.0 + (w[0] - 1.0).powi(2)).sum::<S>()
    }));
    check!(function!(|x: &[S]| -> S {
        (0..x.len()).map(|i| (x[i] * x[(i + 1) % x.len()] * x[(i + 10) % x.len()]).sin()).sum::<S>()
    }));
    check!(function!(|x: &[S]| -> S { x[1..].iter().map(|v| (*v * x[0]).exp()).sum::<S>() }));
    // A function with constants, and one without second derivatives.
    let f = function!(|x: &[S], constant p| -> S { x[0] * x[0] * p[0] + x[1] });
    let (value, _, h) = cotangent::edge_pushing(&f, (&[3.0, 1.0], &[5.0])).unwrap();
    assert_eq!((value, h[(0, 0)], h.pattern().nnz()), (46.0, 10.0, 1));
    let array = function!(|x: &[S]| -> S { cotangent::linalg::sum(x) });
    assert!(cotangent::edge_pushing(&array, &x).is_err());
}
