//! The scenarios of `DifferentiationInterfaceTest`: every operator and backend, in and out of place,
//! prepared or not, with constants and caches.

use cotangent::prelude::*;
use cotangent::*;

/// What a scenario expects: values and Jacobian, at a point and constants.
struct Expected {
    x: Vec<f64>,
    constants: Vec<f64>,
    /// Another point and other constants, to prepare at.
    prepared_x: Vec<f64>,
    prepared_constants: Vec<f64>,
    values: Vec<f64>,
    jacobian: Matrix,
}

impl Expected {
    fn at(&self) -> Point<'_> {
        Point { x: &self.x, constants: &self.constants }
    }

    fn prepared_at(&self) -> Point<'_> {
        Point { x: &self.prepared_x, constants: &self.prepared_constants }
    }
}

#[track_caller]
fn close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1e-3, |m: f64, v| m.max(v.abs()));
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * scale, "{what}, entry {i}: {a:e} for {b:e}");
    }
}

fn tangents(n: usize) -> [Vec<f64>; 2] {
    let t: Vec<f64> = (0..n).map(|i| -1.0 - i as f64).collect();
    let opposite = t.iter().map(|v| -v).collect();
    [t, opposite]
}

fn cotangents(m: usize) -> [Vec<f64>; 2] {
    let w: Vec<f64> = (0..m).map(|i| 1.0 - m as f64 + 2.0 * i as f64 - 0.25).collect();
    let opposite = w.iter().map(|v| -v).collect();
    [w, opposite]
}

/// Pushforwards and pullbacks, in every form.
fn products<F: Differentiable + Copy, B: Backend>(f: F, b: &B, e: &Expected, tolerance: f64) {
    let (m, n) = (e.jacobian.nrows(), e.jacobian.ncols());
    let (t, w) = (tangents(n), cotangents(m));
    let times = |v: &[f64]| {
        (0..m).map(|i| (0..n).map(|j| e.jacobian[(i, j)] * v[j]).sum()).collect::<Vec<f64>>()
    };
    let transposed = |v: &[f64]| {
        (0..n).map(|j| (0..m).map(|i| e.jacobian[(i, j)] * v[i]).sum()).collect::<Vec<f64>>()
    };
    let (images, gradients) = (t.each_ref().map(|t| times(t)), w.each_ref().map(|w| transposed(w)));

    let check = |values: Option<&[f64]>, found: &[f64], expected: &[Vec<f64>; 2]| {
        if let Some(values) = values {
            close("values", values, &e.values, 1e-12);
        }
        close("products", found, &expected.concat(), tolerance);
    };
    let (y, p) = value_and_pushforward(&f, b, e.at(), &t).unwrap();
    check(Some(&y), &p.concat(), &images);
    check(None, &pushforward(&f, b, e.at(), &t).unwrap().concat(), &images);
    let (y, p) = value_and_pullback(&f, b, e.at(), &w).unwrap();
    check(Some(&y), &p.concat(), &gradients);
    check(None, &pullback(&f, b, e.at(), &w).unwrap().concat(), &gradients);

    let (mut y, mut p, mut g) = (vec![0.0; m], vec![0.0; 2 * m], vec![0.0; 2 * n]);
    pushforward_into(&f, b, e.at(), &t.concat(), &mut p).unwrap();
    check(None, &p, &images);
    value_and_pushforward_into(&f, b, e.at(), &t.concat(), &mut y, &mut p).unwrap();
    check(Some(&y), &p, &images);
    pullback_into(&f, b, e.at(), &w.concat(), &mut g).unwrap();
    check(None, &g, &gradients);
    value_and_pullback_into(&f, b, e.at(), &w.concat(), &mut y, &mut g).unwrap();
    check(Some(&y), &g, &gradients);

    let prepared = prepare_pushforward(f, b, e.prepared_at()).unwrap();
    let mut workspace = prepared.workspace();
    for _ in 0..2 {
        prepared
            .value_and_pushforward_into(e.at(), &t.concat(), &mut y, &mut p, &mut workspace)
            .unwrap();
        check(Some(&y), &p, &images);
    }
    check(None, &prepared.pushforward(e.at(), &t).unwrap().concat(), &images);
    let prepared = prepare_pullback(f, b, e.prepared_at()).unwrap();
    let mut workspace = prepared.workspace();
    for _ in 0..2 {
        prepared
            .value_and_pullback_into(e.at(), &w.concat(), &mut y, &mut g, &mut workspace)
            .unwrap();
        check(Some(&y), &g, &gradients);
    }
    check(None, &prepared.pullback(e.at(), &w).unwrap().concat(), &gradients);
}

fn jacobians<F: Differentiable<Input = Many, Output = Many> + Copy, B: Backend>(
    f: F,
    b: &B,
    e: &Expected,
    tolerance: f64,
) {
    let (m, n) = (e.jacobian.nrows(), e.jacobian.ncols());
    let expected = e.jacobian.as_slice();
    let (y, j) = value_and_jacobian(&f, b, e.at()).unwrap();
    close("values", &y, &e.values, 1e-12);
    close("jacobian", j.as_slice(), expected, tolerance);
    close("jacobian", jacobian(&f, b, e.at()).unwrap().as_slice(), expected, tolerance);
    let (mut y, mut j) = (vec![0.0; m], vec![0.0; m * n]);
    jacobian_into(&f, b, e.at(), &mut j).unwrap();
    close("jacobian_into", &j, expected, tolerance);
    j.fill(0.0);
    value_and_jacobian_into(&f, b, e.at(), &mut y, &mut j).unwrap();
    close("values", &y, &e.values, 1e-12);
    close("value_and_jacobian_into", &j, expected, tolerance);
    let prepared = prepare_jacobian(f, b, e.prepared_at()).unwrap();
    assert_eq!(prepared.shape(), (m, n));
    close("prepared", prepared.jacobian(e.at()).unwrap().as_slice(), expected, tolerance);
    let mut workspace = prepared.workspace();
    for _ in 0..2 {
        j.fill(0.0);
        prepared.jacobian_into(e.at(), &mut j, &mut workspace).unwrap();
        close("prepared, in place", &j, expected, tolerance);
    }
}

fn gradients<F: Differentiable<Input = Many, Output = One> + Copy, B: Backend>(
    f: F,
    b: &B,
    e: &Expected,
    tolerance: f64,
) {
    let expected = e.jacobian.as_slice();
    let (y, g) = value_and_gradient(&f, b, e.at()).unwrap();
    close("value", &[y], &e.values, 1e-12);
    close("gradient", &g, expected, tolerance);
    close("gradient", &gradient(&f, b, e.at()).unwrap(), expected, tolerance);
    let mut g = vec![0.0; expected.len()];
    gradient_into(&f, b, e.at(), &mut g).unwrap();
    close("gradient_into", &g, expected, tolerance);
    let prepared = prepare_gradient(f, b, e.prepared_at()).unwrap();
    close("prepared", &prepared.gradient(e.at()).unwrap(), expected, tolerance);
    let mut workspace = prepared.workspace();
    for _ in 0..2 {
        g.fill(0.0);
        let y = prepared.value_and_gradient_into(e.at(), &mut g, &mut workspace).unwrap();
        close("value", &[y], &e.values, 1e-12);
        close("prepared, in place", &g, expected, tolerance);
    }
}

fn scalar_point<'a>(e: &'a Expected) -> ScalarPoint<'a> {
    ScalarPoint::from((e.x[0], &e.constants))
}

fn derivatives<F: Differentiable<Input = One> + Copy, B: Backend>(
    f: F,
    b: &B,
    e: &Expected,
    tolerance: f64,
) {
    let expected = e.jacobian.as_slice();
    let (mut y, mut d) = (vec![0.0; e.values.len()], vec![0.0; e.values.len()]);
    derivative_into(&f, b, scalar_point(e), &mut d).unwrap();
    close("derivative_into", &d, expected, tolerance);
    value_and_derivative_into(&f, b, scalar_point(e), &mut y, &mut d).unwrap();
    close("values", &y, &e.values, 1e-12);
    close("value_and_derivative_into", &d, expected, tolerance);
    let prepared = prepare_derivative(f, b, (e.prepared_x[0], &e.prepared_constants)).unwrap();
    let mut workspace = prepared.workspace();
    for _ in 0..2 {
        prepared
            .value_and_derivative_into(scalar_point(e), &mut y, &mut d, &mut workspace)
            .unwrap();
        close("values", &y, &e.values, 1e-12);
        close("prepared", &d, expected, tolerance);
    }
    close("prepared", &prepared.derivative(scalar_point(e)).unwrap(), expected, tolerance);
}

/// All first-order backends, with the error each may have.
macro_rules! first_order {
    ($check:ident $(, $more:ident)*; $f:expr, $e:expr) => {{
        let (f, e) = ($f, $e);
        first_order!(@one $check, f, e);
        $(first_order!(@one $more, f, e);)*
    }};
    (@one $check:ident, $f:ident, $e:ident) => {
        $check($f, &Forward::default(), &$e, 1e-12);
        for chunk in [1, 2, 5, 12] {
            $check($f, &Forward { chunk: Some(chunk) }, &$e, 1e-12);
        }
        $check($f, &Reverse::default(), &$e, 1e-12);
        $check($f, &Reverse { replay: true }, &$e, 1e-12);
        $check($f, &Auto, &$e, 1e-12);
        $check($f, &MachineCode, &$e, 1e-12);
        for order in [1, 2, 4, 6, 8] {
            let tolerance = if order == 1 { 1e-5 } else { 1e-8 };
            $check($f, &FiniteDifferences { order, ..Default::default() }, &$e, tolerance);
        }
        $check($f, &FiniteDifferences::richardson(), &$e, 1e-9);
    };
}

/// All second-order backends, with the error each may have.
macro_rules! second_order {
    ($check:ident; $f:expr, $e:expr, $h:expr) => {{
        let (f, e, h) = ($f, $e, $h);
        let (forward, reverse) = (Forward::default(), Reverse::default());
        let (central, richardson) =
            (FiniteDifferences { order: 4, ..Default::default() }, FiniteDifferences::richardson());
        $check(f, &forward, &e, &h, 1e-12);
        $check(f, &reverse, &e, &h, 1e-12);
        $check(f, &Auto, &e, &h, 1e-12);
        $check(f, &MachineCode, &e, &h, 1e-12);
        $check(f, &SecondOrder { outer: forward, inner: forward }, &e, &h, 1e-12);
        $check(
            f,
            &SecondOrder { outer: Forward { chunk: Some(1) }, inner: reverse },
            &e,
            &h,
            1e-12,
        );
        $check(f, &SecondOrder { outer: forward, inner: reverse }, &e, &h, 1e-12);
        $check(f, &SecondOrder { outer: reverse, inner: forward }, &e, &h, 1e-12);
        $check(f, &SecondOrder { outer: reverse, inner: reverse }, &e, &h, 1e-12);
        $check(f, &SecondOrder { outer: central, inner: forward }, &e, &h, 1e-7);
        $check(f, &SecondOrder { outer: richardson, inner: reverse }, &e, &h, 1e-8);
        $check(f, &SecondOrder { outer: forward, inner: central }, &e, &h, 1e-7);
        $check(f, &SecondOrder { outer: reverse, inner: central }, &e, &h, 1e-7);
        $check(f, &FiniteDifferences::default(), &e, &h, 2e-4);
        $check(f, &central, &e, &h, 1e-5);
    }};
}

fn hessians<F: Differentiable<Input = Many, Output = One> + Copy, B: SecondOrderBackend>(
    f: F,
    b: &B,
    e: &Expected,
    h: &Matrix,
    tolerance: f64,
) {
    let n = e.x.len();
    let first = e.jacobian.as_slice();
    let loose = tolerance.max(1e-12);
    let (y, g, found) = value_gradient_and_hessian(&f, b, e.at()).unwrap();
    close("value", &[y], &e.values, 1e-12);
    close("gradient", &g, first, loose);
    close("hessian", found.as_slice(), h.as_slice(), tolerance);
    close("hessian", hessian(&f, b, e.at()).unwrap().as_slice(), h.as_slice(), tolerance);
    let (mut g, mut m) = (vec![0.0; n], vec![0.0; n * n]);
    hessian_into(&f, b, e.at(), &mut m).unwrap();
    close("hessian_into", &m, h.as_slice(), tolerance);
    let y = value_gradient_and_hessian_into(&f, b, e.at(), &mut g, &mut m).unwrap();
    close("value", &[y], &e.values, 1e-12);
    let prepared = prepare_hessian(f, b, e.prepared_at()).unwrap();
    let mut workspace = prepared.workspace();
    for _ in 0..2 {
        m.fill(0.0);
        prepared.value_gradient_and_hessian_into(e.at(), &mut g, &mut m, &mut workspace).unwrap();
        close("gradient", &g, first, loose);
        close("prepared", &m, h.as_slice(), tolerance);
    }

    let t = tangents(n);
    let expected: Vec<f64> = t
        .iter()
        .flat_map(|t| (0..n).map(move |i| (0..n).map(|j| h[(i, j)] * t[j]).sum()))
        .collect();
    let (g, p) = gradient_and_hvp(&f, b, e.at(), &t).unwrap();
    close("gradient", &g, first, loose);
    close("hvp", &p.concat(), &expected, tolerance);
    close("hvp, one", &hvp(&f, b, e.at(), &t[..1]).unwrap().concat(), &expected[..n], tolerance);
    let (mut g, mut p) = (vec![0.0; n], vec![0.0; 2 * n]);
    hvp_into(&f, b, e.at(), &t.concat(), &mut p).unwrap();
    close("hvp_into", &p, &expected, tolerance);
    let prepared = prepare_hvp(f, b, e.prepared_at()).unwrap();
    let mut workspace = prepared.workspace();
    for _ in 0..2 {
        let y = prepared
            .gradient_and_hvp_into(e.at(), &t.concat(), &mut g, &mut p, &mut workspace)
            .unwrap();
        close("value", &[y], &e.values, 1e-12);
        close("gradient", &g, first, loose);
        close("prepared hvp", &p, &expected, tolerance);
    }
}

fn second_derivatives<F: Differentiable<Input = One> + Copy, B: SecondOrderBackend>(
    f: F,
    b: &B,
    e: &Expected,
    h: &Matrix,
    tolerance: f64,
) {
    let m = e.values.len();
    let (mut y, mut d, mut s) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
    second_derivative_into(&f, b, scalar_point(e), &mut s).unwrap();
    close("second_derivative_into", &s, h.as_slice(), tolerance);
    value_derivative_and_second_derivative_into(&f, b, scalar_point(e), &mut y, &mut d, &mut s)
        .unwrap();
    close("values", &y, &e.values, 1e-12);
    close("first", &d, e.jacobian.as_slice(), tolerance.max(1e-12));
    let prepared =
        prepare_second_derivative(f, b, (e.prepared_x[0], &e.prepared_constants)).unwrap();
    let mut workspace = prepared.workspace();
    for _ in 0..2 {
        prepared.second_derivative_into(scalar_point(e), &mut s, &mut workspace).unwrap();
        close("prepared", &s, h.as_slice(), tolerance);
    }
}

// ------------------------------------------------------------------ the scenarios

const X: f64 = 0.42;

fn six() -> Vec<f64> {
    (1..=6).map(f64::from).collect()
}

/// A scenario at x, prepared elsewhere and with another constant.
fn scenario(x: Vec<f64>, constant: Option<f64>, values: Vec<f64>, jacobian: Matrix) -> Expected {
    Expected {
        prepared_x: x.iter().map(|v| v * 0.7 + 0.1).collect(),
        prepared_constants: constant.iter().map(|_| -3.0).collect(),
        constants: constant.into_iter().collect(),
        x,
        values,
        jacobian,
    }
}

fn scaled(e: Expected, constant: f64) -> Expected {
    let jacobian = e.jacobian.as_slice().iter().map(|v| v * constant).collect();
    let values = e.values.iter().map(|v| v * constant).collect();
    let rows = e.jacobian.nrows();
    scenario(e.x, Some(constant), values, Matrix::from_columns(rows, jacobian))
}

fn sine() -> Expected {
    scenario(vec![X], None, vec![X.sin()], Matrix::from_columns(1, vec![X.cos()]))
}

#[test]
fn number_to_number() {
    let f = function!(|x| x.sin());
    first_order!(products, derivatives; f, sine());
    assert_eq!(derivative(&f, &Forward::default(), X).unwrap(), X.cos());
    assert_eq!(value_and_derivative(&f, &Reverse::default(), X).unwrap(), (X.sin(), X.cos()));
    let second = Matrix::from_columns(1, vec![-X.sin()]);
    second_order!(second_derivatives; f, sine(), second);
    assert_eq!(second_derivative(&f, &Forward::default(), X).unwrap(), -X.sin());
    let with_constant = function!(|x: S, constant c| -> S { x.sin() * c[0] });
    first_order!(products, derivatives; with_constant, scaled(sine(), 3.0));
    let with_cache = function!(|x: S, cache c: &mut [S; 1]| -> S { c[0] = x.sin(); c[0] });
    first_order!(products, derivatives; with_cache, sine());
}

#[test]
fn vectors_of_length_one() {
    let f = function!(|x: &[S]| -> Vec<S> { x.iter().map(|x| x.sin()).collect() });
    first_order!(products, jacobians; f, sine());
    let in_place = function!(|x: &[S], y: &mut [S; x.len()]| y[0] = x[0].sin());
    first_order!(products, jacobians; in_place, sine());
}

#[test]
fn number_to_vector_and_matrix() {
    let waves = [1.0, 2.0];
    let e = || {
        scenario(
            vec![X],
            None,
            waves.iter().map(|k| (k * X).sin()).collect(),
            Matrix::from_columns(2, waves.iter().map(|k| k * (k * X).cos()).collect()),
        )
    };
    let second = || Matrix::from_columns(2, waves.iter().map(|k| -k * k * (k * X).sin()).collect());
    let f = function!(|x: S| -> [S; 2] { [x.sin(), (x * 2.0).sin()] });
    first_order!(products, derivatives; f, e());
    second_order!(second_derivatives; f, e(), second());
    assert_eq!(derivative(&f, &Forward::default(), X).unwrap(), e().jacobian.as_slice());
    // In place, the first half sin x, the second sin 2x.
    let halves = function!(|x: S, y: &mut [S; 6]| {
        for (i, y) in y.iter_mut().enumerate() {
            *y = if i < 3 { x.sin() } else { (x * 2.0).sin() };
        }
    });
    let k = |i: usize| if i < 3 { 1.0 } else { 2.0 };
    let e6 = scenario(
        vec![X],
        None,
        (0..6).map(|i| (k(i) * X).sin()).collect(),
        Matrix::from_columns(6, (0..6).map(|i| k(i) * (k(i) * X).cos()).collect()),
    );
    first_order!(products, derivatives; halves, e6);
    // A matrix with the columns v(x) and v(3x).
    let matrix = function!(|x: S| -> [S; 4] {
        [x.sin(), (x * 2.0).sin(), (x * 3.0).sin(), (x * 6.0).sin()]
    });
    let factors = [1.0, 2.0, 3.0, 6.0];
    let e4 = || {
        scenario(
            vec![X],
            None,
            factors.iter().map(|k| (k * X).sin()).collect(),
            Matrix::from_columns(4, factors.iter().map(|k| k * (k * X).cos()).collect()),
        )
    };
    let second = Matrix::from_columns(4, factors.iter().map(|k| -k * k * (k * X).sin()).collect());
    first_order!(products, derivatives; matrix, e4());
    second_order!(second_derivatives; matrix, e4(), second);
}

/// Σᵢⱼ xᵢ⁴·xⱼ⁶.
fn powers(x: &[f64]) -> (Expected, Matrix) {
    let (a, b): (f64, f64) = (x.iter().map(|x| x.powi(4)).sum(), x.iter().map(|x| x.powi(6)).sum());
    let gradient: Vec<f64> = x.iter().map(|x| 4.0 * x.powi(3) * b + 6.0 * x.powi(5) * a).collect();
    let n = x.len();
    let mut h = Matrix::filled(n, n, 0.0);
    for i in 0..n {
        for j in 0..n {
            h[(i, j)] = 24.0 * (x[i].powi(3) * x[j].powi(5) + x[j].powi(3) * x[i].powi(5));
        }
        h[(i, i)] += 12.0 * x[i].powi(2) * b + 30.0 * x[i].powi(4) * a;
    }
    (scenario(x.to_vec(), None, vec![a * b], Matrix::from_columns(1, gradient)), h)
}

#[test]
fn vector_and_matrix_to_number() {
    let loops = function!(|x: &[S]| -> S {
        let mut sum = S::zero();
        for a in x {
            for b in x {
                sum += a.powi(4) * b.powi(6);
            }
        }
        sum
    });
    let broadcast = function!(|x: &[S]| -> S {
        x.iter().map(|x| x.powi(4)).sum::<S>() * x.iter().map(|x| x.powi(6)).sum::<S>()
    });
    let (e, h) = powers(&six());
    assert_eq!(e.values, [152_814_025.0]);
    first_order!(products, gradients; loops, e);
    let e = powers(&six()).0;
    first_order!(gradients; broadcast, e);
    second_order!(hessians; broadcast, powers(&six()).0, h);
    let with_constant = function!(|x: &[S], constant c| -> S {
        x.iter().map(|x| x.powi(4)).sum::<S>() * x.iter().map(|x| x.powi(6)).sum::<S>() * c[0]
    });
    let (e, h) = powers(&six());
    let h3 = Matrix::from_columns(6, h.as_slice().iter().map(|v| v * 3.0).collect());
    first_order!(gradients; with_constant, scaled(e, 3.0));
    second_order!(hessians; with_constant, scaled(powers(&six()).0, 3.0), h3);
    let with_cache = function!(|x: &[S], cache c: &mut [S; 2 * x.len()]| -> S {
        let n = x.len();
        for i in 0..n {
            c[i] = x[i].powi(4);
            c[n + i] = x[i].powi(6);
        }
        c[..n].iter().copied().sum::<S>() * c[n..].iter().copied().sum::<S>()
    });
    let (e, h) = powers(&six());
    first_order!(gradients; with_cache, e);
    second_order!(hessians; with_cache, powers(&six()).0, h);
}

fn sines_and_cosines() -> Expected {
    let x = six();
    let values = x.iter().map(|x| x.sin()).chain(x.iter().map(|x| x.cos())).collect();
    let mut j = Matrix::filled(12, 6, 0.0);
    for i in 0..6 {
        j[(i, i)] = x[i].cos();
        j[(6 + i, i)] = -x[i].sin();
    }
    scenario(x, None, values, j)
}

#[test]
fn vector_and_matrix_to_vector_and_matrix() {
    // A 6×2 matrix of sines and cosines is the same slice, and so is a 2×3 input.
    let f = function!(|x: &[S]| -> Vec<S> {
        x.iter().map(|x| x.sin()).chain(x.iter().map(|x| x.cos())).collect()
    });
    first_order!(products, jacobians; f, sines_and_cosines());
    let in_place = function!(|x: &[S], y: &mut [S; 2 * x.len()]| {
        for (i, x) in x.iter().enumerate() {
            y[i] = x.sin();
            y[6 + i] = x.cos();
        }
    });
    first_order!(products, jacobians; in_place, sines_and_cosines());
    let with_constant = function!(|x: &[S], y: &mut [S; 2 * x.len()], constant p| {
        for (i, x) in x.iter().enumerate() {
            y[i] = x.sin() * p[0];
            y[6 + i] = x.cos() * p[0];
        }
    });
    first_order!(products, jacobians; with_constant, scaled(sines_and_cosines(), 3.0));
    let with_both = function!(|x: &[S], y: &mut [S; 2 * x.len()], constant p, cache c: &mut [S; x.len()]| {
        for i in 0..6 {
            c[i] = x[i].sin() * p[0];
            y[i] = c[i];
            c[i] = x[i].cos() * p[0];
            y[6 + i] = c[i];
        }
    });
    first_order!(products, jacobians; with_both, scaled(sines_and_cosines(), 3.0));
}

#[test]
fn differences_and_their_powers() {
    // diff², 5×6 bidiagonal, and Σ diff³ with a tridiagonal Hessian
    let x = vec![1.0, 3.0, 2.0, 5.0, 4.0, 6.5];
    let f =
        function!(|x: &[S]| -> Vec<S> { x.windows(2).map(|w| (w[1] - w[0]).powi(2)).collect() });
    let mut j = Matrix::filled(5, 6, 0.0);
    for i in 0..5 {
        let d = x[i + 1] - x[i];
        (j[(i, i)], j[(i, i + 1)]) = (-2.0 * d, 2.0 * d);
    }
    let values = x.windows(2).map(|w| (w[1] - w[0]).powi(2)).collect();
    first_order!(products, jacobians; f, scenario(x, None, values, j));
    let g = function!(|x: &[S]| -> S { x.windows(2).map(|w| (w[1] - w[0]).powi(3)).sum::<S>() });
    let h = hessian(&g, &Auto, &six()).unwrap();
    for i in 0..6 {
        for j in 0..6 {
            let expected = match usize::abs_diff(i, j) {
                0 => {
                    if i == 0 || i == 5 {
                        6.0
                    } else {
                        12.0
                    }
                }
                1 => -6.0,
                _ => 0.0,
            };
            assert_eq!(h[(i, j)], expected);
        }
    }
}

#[test]
fn closures_with_state_of_their_own() {
    use std::cell::Cell;
    let calls = Cell::new(0);
    let f = recorded(|x| {
        calls.set(calls.get() + 1);
        x.iter().map(|x| x.powi(4)).sum::<Var>() * x.iter().map(|x| x.powi(6)).sum::<Var>()
    });
    let (e, h) = powers(&six());
    close("gradient", &gradient(&f, &Auto, &e.x).unwrap(), e.jacobian.as_slice(), 1e-12);
    let backend = SecondOrder { outer: Forward::default(), inner: Reverse::default() };
    close("hessian", hessian(&f, &backend, &e.x).unwrap().as_slice(), h.as_slice(), 1e-12);
    close("hessian", hessian(&f, &Auto, &e.x).unwrap().as_slice(), h.as_slice(), 1e-12);
    assert!(calls.get() > 0);
    let g = recorded(|x| [x[0] * x[1], x[1].sin()]);
    assert_eq!(
        jacobian(&g, &Forward::default(), &[2.0, 0.0]).unwrap().as_slice(),
        [0.0, 0.0, 2.0, 1.0]
    );
}

#[test]
fn single_precision() {
    let f = function!(|x: &[S]| -> S { x[0].sin() * x[1].exp() });
    let x = [0.5_f32, 0.25];
    let exact = [0.5_f32.cos() * 0.25_f32.exp(), 0.5_f32.sin() * 0.25_f32.exp()];
    for g in [
        gradient(&f, &Forward::default(), &x).unwrap(),
        gradient(&f, &Reverse::default(), &x).unwrap(),
        gradient(&f, &Reverse { replay: true }, &x).unwrap(),
        gradient(&f, &Auto, &x).unwrap(),
    ] {
        assert!(g.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-6), "{g:?}");
    }
    let g = gradient(&f, &FiniteDifferences { order: 4, ..Default::default() }, &x).unwrap();
    assert!(g.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-3), "{g:?}");
    let h = hessian(&f, &Auto, &x).unwrap();
    assert!((h[(0, 1)] - exact[0]).abs() < 1e-5);
    assert_eq!(taylor(&function!(|x| x.exp()), 0.0_f32, 3).unwrap()[2], 0.5);
}
