//! The functions of DiffTests by every backend, and their published values.

use cotangent::prelude::*;
use cotangent::{
    Error, Matrix, Sparse, Tracer, check_derivatives, edge_pushing, prepare_edge_pushing, recorded,
    sparse_hessian,
};

use cotangent_testkit::difftests::*;

#[track_caller]
fn check(name: &str, f: &impl Differentiable, x: &[f64]) {
    let report = check_derivatives(f, x).unwrap();
    assert!(report.passes(), "{name} at {x:?}\n{report}");
}

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.15 + 0.8 * (i as f64 * 0.37).sin().abs()).collect()
}

#[test]
fn numbers_to_numbers_and_arrays() {
    for x in [0.2, 0.7, 1.3] {
        check("num2num_1", &function!(|x| num2num_1(x)), &[x]);
        check("num2num_2", &function!(|x| num2num_2(x)), &[x]);
        check("num2num_3", &function!(|x| num2num_3(x)), &[x]);
        check("num2num_4", &function!(|x: S| -> S { num2num_4(x) }), &[x]);
        check("num2num_5", &function!(|x| num2num_5(x)), &[x]);
        check("identity", &function!(|x| x), &[x]);
        check("num2arr_1", &function!(|x: S| -> Vec<S> { num2arr_1(x) }), &[x]);
        check("num2arr_1!", &function!(|x: S, y: &mut [S; 5]| num2arr_1_in_place(x, y)), &[x]);
    }
}

#[test]
fn vectors_to_numbers() {
    for n in [5, 13] {
        let x = numbers(n);
        macro_rules! all {
            ($($f:ident)*) => {$( check(stringify!($f), &function!(|x: &[S]| -> S { $f(x) }), &x); )*};
        }
        all!(vec2num_1 vec2num_2 vec2num_3 vec2num_4 vec2num_5 vec2num_6 vec2num_7 rosenbrock_1 rosenbrock_2
            rosenbrock_3 rosenbrock_4 ackley self_weighted_logit nested_array_mul first);
    }
    let mixed = [0.5, -0.7, 1.2, -0.1, 0.9];
    check("vec2num_6", &function!(|x: &[S]| -> S { vec2num_6(x) }), &mixed);
}

#[test]
fn matrices_to_numbers() {
    let mut x = numbers(9);
    for i in 0..3 {
        x[4 * i] += 1.5;
    }
    macro_rules! all {
        ($($f:ident)*) => {$( check(stringify!($f), &function!(|x: &[S]| -> S { $f(x) }), &x); )*};
    }
    all!(determinant mat2num_1 mat2num_2 mat2num_3 mat2num_4 softmax);
    check("neural_step", &function!(|x: &[S]| -> S { neural_step(x, 3) }), &numbers(15));
    let zero = gradient(&function!(|x: &[S]| -> S { softmax(x) }), &Auto, &x).unwrap();
    assert!(zero.iter().all(|g| g.abs() < 1e-15));
}

/// Hessians by edge pushing, once and planned, coloured and dense are the same.
#[test]
fn sparse_hessians_of_the_corpus() {
    // As pointers, so that the derivatives are compiled once for all.
    fn same(name: &str, f: fn(&[Var]) -> Var, x: &[f64], compared: &mut usize) {
        let f = recorded(f);
        let second = SecondOrder { outer: Forward::default(), inner: Forward::default() };
        // Recorded array operations have first derivatives only, and every way says so.
        let refused = |error: &Error| error.to_string().contains("first derivatives");
        let dense = match hessian(&f, &second, x) {
            Ok(dense) => dense,
            Err(error) => {
                assert!(refused(&error), "{name}: {error}");
                assert!(refused(&edge_pushing(&f, x).unwrap_err()), "{name}");
                assert!(refused(&prepare_edge_pushing(&f, x).unwrap_err()), "{name}");
                return;
            }
        };
        let backend = Sparse::new(second, Tracer::Local);
        *compared += 1;
        for (way, h) in [
            ("coloured", sparse_hessian(&f, &backend, x).unwrap()),
            ("pushed", edge_pushing(&f, x).unwrap().2),
            ("planned", prepare_edge_pushing(&f, x).unwrap().hessian(x).unwrap()),
        ] {
            let h = h.to_dense().unwrap();
            for (a, b) in h.as_slice().iter().zip(dense.as_slice()) {
                assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{name}, {way}: {a} for {b}");
            }
        }
    }
    let mut compared = 0;
    let (vector, mut matrix) = (numbers(13), numbers(9));
    for i in 0..3 {
        matrix[4 * i] += 1.5;
    }
    macro_rules! all {
        ($x:expr; $($f:ident)*) => {$( same(stringify!($f), $f, &$x, &mut compared); )*};
    }
    all!(vector; vec2num_1 vec2num_2 vec2num_3 vec2num_4 vec2num_5 vec2num_6 vec2num_7 rosenbrock_1
        rosenbrock_2 rosenbrock_3 rosenbrock_4 ackley self_weighted_logit nested_array_mul first);
    all!(matrix; determinant mat2num_1 mat2num_2 mat2num_3 mat2num_4 softmax);
    assert!(compared >= 12, "{compared}");
}

#[test]
fn pairs_of_matrices_to_matrices() {
    let n = 2;
    let mut x = numbers(8);
    for i in [0, 3, 4, 7] {
        x[i] += 1.0;
    }
    for (which, name) in MATRIX_PAIRS.iter().enumerate() {
        check(
            name,
            &function!([which: usize, n: usize] |x: &[S]| -> Vec<S> { matrix_pair(which, x, n) }),
            &x,
        );
    }
}

#[test]
fn functions_in_place_and_arrays_to_arrays() {
    let x = numbers(5);
    macro_rules! all {
        ($($f:ident)*) => {$(
            check(stringify!($f), &function!(|x: &[S], y: &mut [S; x.len()]| $f(x, y)), &x);
            check(stringify!($f), &function!(|x: &[S], y: &mut [S; 7]| $f(x, y)), &x);
            check(stringify!($f), &function!(|x: &[S]| -> Vec<S> { let mut y = vec![S::zero(); 5]; $f(x, &mut y); y }), &x);
        )*};
    }
    all!(chebyquad brown_almost_linear trigonometric mutation_test_1 mutation_test_2);
    check("negation", &function!(|x: &[S]| -> Vec<S> { x.iter().map(|x| -*x).collect() }), &x);
    check("arr2arr_1", &function!(|x: &[S]| -> Vec<S> { arr2arr_1(x) }), &x);
    check("arr2arr_2", &function!(|x: &[S]| -> Vec<S> { arr2arr_2(x) }), &numbers(9));
    check("identity", &function!(|x: &[S]| -> Vec<S> { x.to_vec() }), &x);
    check(
        "inverse",
        &function!(|x: &[S]| -> Vec<S> { cotangent::linalg::inverse(x, 2) }),
        &[2.0, 0.3, 0.4, 1.5],
    );
}

#[test]
fn constant_matrices() {
    let x = numbers(5);
    for which in 0..4 {
        for (divide, sparse) in [(false, false), (false, true), (true, false)] {
            let f = function!([which: usize, divide: bool, sparse: bool] |x: &[S]| -> Vec<S> {
                constant_product(which, divide, sparse, x)
            });
            let j = jacobian(&f, &Forward::default(), &x).unwrap();
            let r = jacobian(&f, &Reverse::default(), &x).unwrap();
            let a = Matrix::from_columns(5, constant_matrix(which, 5));
            for i in 0..5 {
                for k in 0..5 {
                    assert!((j[(i, k)] - r[(i, k)]).abs() < 1e-9 * (1.0 + r[(i, k)].abs()));
                    if !divide {
                        assert!((j[(i, k)] - a[(i, k)]).abs() < 1e-12);
                    }
                }
            }
            if divide {
                // A·J = I
                for i in 0..5 {
                    for k in 0..5 {
                        let entry: f64 = (0..5).map(|l| a[(i, l)] * j[(l, k)]).sum();
                        assert!(
                            (entry - f64::from(u8::from(i == k))).abs() < 1e-8,
                            "{which} ({i}, {k}): {entry}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn published_values() {
    let f = function!(|x: &[S]| -> S { rosenbrock_1(x) });
    let x = [0.1, 0.2, 0.3];
    let close = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11 * (1.0 + b.abs()))
    };
    for g in [
        gradient(&f, &Forward::default(), &x).unwrap(),
        gradient(&f, &Reverse::default(), &x).unwrap(),
        gradient(&f, &Auto, &x).unwrap(),
    ] {
        assert!(close(&g, &[-9.4, 15.6, 52.0]), "{g:?}");
    }
    let h = hessian(&f, &Auto, &x).unwrap();
    assert!(
        close(h.as_slice(), &[-66.0, -40.0, 0.0, -40.0, 130.0, -80.0, 0.0, -80.0, 200.0]),
        "{h}"
    );

    let f = function!(|x: &[S], y: &mut [S; 4]| {
        y[0] = x[0] * x[1] * (x[2] * x[2]).sin();
        y[1] = y[0] + x[2];
        y[2] = y[0] / y[1];
        y[3] = x[2];
    });
    let rows = [
        [0.8242369704835132, 0.4121184852417566, -10.933563142616123],
        [0.8242369704835132, 0.4121184852417566, -9.933563142616123],
        [0.169076696546684, 0.084538348273342, -2.299173530851733],
        [0.0, 0.0, 1.0],
    ];
    for j in [
        jacobian(&f, &Forward::default(), &[1.0, 2.0, 3.0]).unwrap(),
        jacobian(&f, &Reverse::default(), &[1.0, 2.0, 3.0]).unwrap(),
        jacobian(&f, &Reverse { replay: true }, &[1.0, 2.0, 3.0]).unwrap(),
    ] {
        for (i, row) in rows.iter().enumerate() {
            assert!(close(&j.row(i), row), "{:?}", j.row(i));
        }
    }

    // sin(x₁) + x₂x₃x₄ at (π/4, 2, 3, 4)
    let f = function!(|x: &[S]| -> S { x[0].sin() + x[1] * x[2] * x[3] });
    let g = gradient(&f, &Auto, &[std::f64::consts::FRAC_PI_4, 2.0, 3.0, 4.0]).unwrap();
    assert!(close(&g, &[std::f64::consts::FRAC_1_SQRT_2, 12.0, 8.0, 6.0]));

    // The sum of the range 0 : p₁ : p₂ at (0.3, 25): k from 0 to ⌊p₂/p₁⌋
    let f = function!(|p: &[S]| -> S {
        let steps = (p[1].value() / p[0].value()).floor() as usize;
        (0..=steps).map(|k| p[0] * k as f64).sum::<S>()
    });
    assert_eq!(gradient(&f, &Forward::default(), &[0.3, 25.0]).unwrap(), [3486.0, 0.0]);

    // d/dx Σ(x·A·B) at x = 0 is Σ(A·B)
    let f = function!(|x| {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let scaled: Vec<_> = a.iter().map(|a| x * *a).collect();
        let fixed: Vec<_> = b.iter().map(|b| S::from(*b)).collect();
        cotangent::linalg::sum(&cotangent::linalg::mat_mul(&scaled, &fixed, 2, 2, 2))
    });
    assert_eq!(derivative(&f, &Forward::default(), 0.0).unwrap(), 134.0);
    assert_eq!(derivative(&f, &Reverse::default(), 0.0).unwrap(), 134.0);

    // The zero-safe facts: ln(0·x₁ + x₂) at (1, 0) and x₁·e^(−x₂) at (1, −1000)
    let f = function!(|x: &[S]| -> S { (x[0] * 0.0 + x[1]).ln() });
    let g = function!(|x: &[S]| -> S { x[0] * (-x[1]).exp() });
    macro_rules! both {
        ($($backend:expr),*) => {$(
            assert_eq!(gradient(&f, &$backend, &[1.0, 0.0]).unwrap(), [0.0, f64::INFINITY]);
            assert_eq!(gradient(&g, &$backend, &[1.0, -1000.0]).unwrap(), [f64::INFINITY, f64::NEG_INFINITY]);
        )*};
    }
    both!(
        Forward::default(),
        Forward { chunk: Some(1) },
        Reverse::default(),
        Reverse { replay: true }
    );
}
