//! Array operations with their own rules against the same computed element by element.

use cotangent_numbers::linalg::{
    det, dot, inverse, log_det, mat_mul, mat_vec, solve, sum, transpose,
};
use cotangent_numbers::{Dual, Dual2, Elementary, Fault, Interval, Jet, Scalar, Tape, Var, fault};

fn matrix(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..n * n).map(|i| rng.f64() - 0.5 + if i % (n + 1) == 0 { 2.0 } else { 0.0 }).collect()
}

/// Gaussian elimination without pivoting, differentiated operation by operation.
fn eliminate<S: Scalar>(a: &[S], b: &[S], n: usize) -> (Vec<S>, S) {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    let mut determinant = S::one();
    for p in 0..n {
        determinant *= a[p + p * n];
        for r in p + 1..n {
            let factor = a[r + p * n] / a[p + p * n];
            for c in p..n {
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
    (b, determinant)
}

/// A scalar that exercises all of it; `own` by the rules, else element by element.
fn everything<S: Scalar>(x: &[S], n: usize, own: bool) -> S {
    let (a, b) = x.split_at(n * n);
    let weights: Vec<S> = (0..n).map(|i| S::from(1.0 / (1.0 + i as f64))).collect();
    if own {
        let y = solve(a, b, n);
        let inverse = inverse(a, n);
        let product = mat_vec(&inverse, &weights, n);
        dot(&y, &weights) + det(a, n) * 0.1 + log_det(a, n) + sum(&product)
    } else {
        let (y, determinant) = eliminate(a, b, n);
        let (product, _) = eliminate(a, &weights, n);
        let mut total = determinant * 0.1 + determinant.abs().ln();
        for i in 0..n {
            total += y[i] * weights[i] + product[i];
        }
        total
    }
}

fn inputs(n: usize) -> Vec<f64> {
    let mut x = matrix(n, n as u64);
    x.extend((0..n).map(|i| 0.3 + 0.2 * i as f64));
    x
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-10 * (1.0 + b.abs())
}

#[test]
fn the_gradient_of_solves_and_determinants_is_that_of_the_elimination() {
    for n in [1, 2, 3, 7, 20] {
        let x = inputs(n);
        let gradient = |own| {
            let mut tape = Tape::new();
            let y = tape.record(&x, |x| everything(x, n, own)).unwrap();
            (y.peek(), tape.gradient(y).unwrap().to_vec(), tape.nodes())
        };
        let (value, by_rules, nodes) = gradient(true);
        let (expected, by_elimination, scalar_nodes) = gradient(false);
        assert!(close(value, expected));
        for (a, b) in by_rules.iter().zip(&by_elimination) {
            assert!(close(*a, *b), "n = {n}: {a} {b}");
        }
        if n > 3 {
            assert!(nodes < 30 && scalar_nodes > 10 * nodes, "{nodes} against {scalar_nodes}");
        }
    }
}

#[test]
fn duals_jets_and_nested_tapes_agree_with_the_elimination() {
    let n = 4;
    let x = inputs(n);
    let direction: Vec<f64> = (0..x.len()).map(|i| ((i * 7) as f64).cos()).collect();
    let along = |own| {
        let x: Vec<Dual<f64, 1>> =
            x.iter().zip(&direction).map(|(x, d)| Dual::new(*x, [*d])).collect();
        everything(&x, n, own).partials[0]
    };
    assert!(close(along(true), along(false)));
    let curve = |own| {
        let x: Vec<Jet<f64, 4>> =
            x.iter().zip(&direction).map(|(x, d)| Jet::along(*x, *d)).collect();
        everything(&x, n, own).coefficients
    };
    for (a, b) in curve(true).into_iter().zip(curve(false)) {
        assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "{a} {b}");
    }
    // Hessian-vector products, forward over reverse and reverse over forward.
    let forward_over_reverse = |own| {
        let x: Vec<Dual<f64, 1>> =
            x.iter().zip(&direction).map(|(x, d)| Dual::new(*x, [*d])).collect();
        let mut tape = Tape::new();
        let y = tape.record(&x, |x| everything(x, n, own)).unwrap();
        tape.gradient(y).unwrap().iter().map(|g| g.partials[0]).collect::<Vec<_>>()
    };
    let reverse_over_forward = |own| {
        let mut tape = Tape::new();
        let y = tape
            .record(&x, |x| {
                let x: Vec<Dual<Var, 1>> =
                    x.iter().zip(&direction).map(|(x, d)| Dual::new(*x, [Var::from(*d)])).collect();
                everything(&x, n, own).partials[0]
            })
            .unwrap();
        tape.gradient(y).unwrap().to_vec()
    };
    let reference = forward_over_reverse(false);
    for products in
        [forward_over_reverse(true), reverse_over_forward(true), reverse_over_forward(false)]
    {
        for (a, b) in products.iter().zip(&reference) {
            assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "{a} {b}");
        }
    }
}

#[test]
fn a_determinant_has_its_gradient_at_structural_zeros_and_singular_matrices() {
    let pi = std::f64::consts::PI;
    let gradient = |a: &[f64], n: usize| {
        let mut tape = Tape::new();
        let y = tape.record(a, |a| det(a, n)).unwrap();
        tape.gradient(y).unwrap().to_vec()
    };
    // [1 0 0; 0 2 0; 0 π 3], gradient [6 0 0; 0 3 −π; 0 0 2], both by columns
    let a = [1.0, 0.0, 0.0, 0.0, 2.0, pi, 0.0, 0.0, 3.0];
    let expected = [6.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, -pi, 2.0];
    for (g, e) in gradient(&a, 3).iter().zip(expected) {
        assert!(close(*g, e), "{g} {e}");
    }
    // Rank two: the adjugate is not zero.
    let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 5.0, 7.0, 9.0];
    let found = gradient(&a, 3);
    let reference = gradient(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 5.0, 7.0, 9.0 + 1e-9], 3);
    for (g, e) in found.iter().zip(&reference) {
        assert!((g - e).abs() < 1e-5, "{found:?} {reference:?}");
    }
    assert!((found[0] - 3.0).abs() < 1e-12, "the first cofactor is 5·9 − 6·7");
    assert_eq!(gradient(&[0.0; 4], 2), [0.0; 4]);
    assert_eq!(gradient(&[0.0], 1), [1.0]);
}

#[test]
fn log_det_of_the_cholesky_example() {
    // ln det L for L = chol([1 .8; .8 1]) is ln det A / 2; with the triangle's gradient doubled off
    // the diagonal, the published [1 −4/3; 0 5/3] is that of the upper factor.
    let a = [1.0, 0.8, 0.8, 1.0];
    let mut tape = Tape::new();
    let y = tape.record(&a, |a| log_det(a, 2)).unwrap();
    let g = tape.gradient(y).unwrap();
    let inverse = [1.0 / 0.36, -0.8 / 0.36, -0.8 / 0.36, 1.0 / 0.36];
    for (g, e) in g.iter().zip(inverse) {
        assert!(close(*g, e));
    }
}

#[test]
fn the_jacobian_of_the_inverse_is_minus_the_kronecker_product() {
    let n = 3;
    let a = matrix(n, 5);
    let y = inverse(&a, n);
    for input in 0..n * n {
        let x: Vec<Dual<f64, 1>> = a
            .iter()
            .enumerate()
            .map(|(i, v)| Dual::new(*v, [f64::from(u8::from(i == input))]))
            .collect();
        let column = inverse(&x, n);
        for (output, d) in column.iter().enumerate() {
            let (i, j) = (output % n, output / n);
            let (k, l) = (input % n, input / n);
            assert!(close(d.partials[0], -y[i + k * n] * y[l + j * n]));
        }
    }
}

#[test]
fn products_agree_with_loops_for_all_shapes() {
    for (m, k, n) in [(1, 1, 1), (2, 3, 4), (5, 1, 2), (3, 4, 1)] {
        let a: Vec<f64> = (0..m * k).map(|i| (i as f64).sin()).collect();
        let b: Vec<f64> = (0..k * n).map(|i| (i as f64 + 0.5).cos()).collect();
        let c = mat_mul(&a, &b, m, k, n);
        for i in 0..m {
            for j in 0..n {
                let expected: f64 = (0..k).map(|l| a[i + l * m] * b[l + j * k]).sum();
                assert!(close(c[i + j * m], expected));
            }
        }
        let x = [&a[..], &b[..]].concat();
        let loops = |x: &[Var]| {
            let mut total = Var::from(0.0);
            for i in 0..m {
                for j in 0..n {
                    let mut entry = Var::from(0.0);
                    for l in 0..k {
                        entry += x[i + l * m] * x[m * k + l + j * k];
                    }
                    total += entry.sin();
                }
            }
            total
        };
        let rules = |x: &[Var]| {
            mat_mul(&x[..m * k], &x[m * k..], m, k, n).into_iter().map(Elementary::sin).sum::<Var>()
        };
        let mut tape = Tape::new();
        let y = tape.record(&x, rules).unwrap();
        let by_rules = tape.gradient(y).unwrap().to_vec();
        let y = tape.record(&x, loops).unwrap();
        for (a, b) in by_rules.iter().zip(tape.gradient(y).unwrap()) {
            assert!(close(*a, *b));
        }
    }
    assert_eq!(transpose(&[1, 2, 3, 4, 5, 6], 3, 2), [1, 4, 2, 5, 3, 6]);
}

#[test]
fn bad_shapes_and_singular_matrices_are_named() {
    let error = |f: &dyn Fn() -> f64| fault::catch(f).unwrap_err();
    assert!(
        error(&|| dot(&[1.0], &[1.0, 2.0]))
            .to_string()
            .contains("the second vector has 2 entries, 1 are needed")
    );
    assert!(
        error(&|| det(&[1.0, 2.0, 3.0], 2)).to_string().contains("the matrix has 3 entries, 4")
    );
    assert!(
        error(&|| solve(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0], 2)[0])
            .to_string()
            .contains("right side")
    );
    assert!(
        error(&|| mat_mul(&[1.0; 4], &[1.0; 3], 2, 2, 2)[0]).to_string().contains("second matrix")
    );
    let singular = [1.0, 2.0, 2.0, 4.0];
    assert!(matches!(error(&|| solve(&singular, &[1.0, 1.0], 2)[0]), Fault::Singular { .. }));
    assert!(matches!(error(&|| inverse(&singular, 2)[0]), Fault::Singular { .. }));
    let mut tape = Tape::new();
    let refused = tape.record(&singular, |a| solve(a, &[Var::from(1.0), Var::from(1.0)], 2)[0]);
    assert!(matches!(refused, Err(Fault::Singular { .. })));
    assert_eq!(det(&singular, 2), 0.0);
    assert_eq!(det::<f64>(&[], 0), 1.0);
}

#[test]
fn the_determinant_of_a_singular_matrix_has_its_derivatives_in_every_number() {
    // a·d − b·c by columns (a, b; c, d): at (0, 0; 1, 2) the gradient is (d, −c, −b, a).
    let point = [0.0, 0.0, 1.0, 2.0];
    let second: Vec<Dual2<f64, 4>> = (0..4).map(|i| Dual2::variable(point[i], i)).collect();
    let d = det(&second, 2);
    assert_eq!(d.value, 0.0);
    assert_eq!(d.gradient(), [2.0, -1.0, 0.0, 0.0]);
    assert_eq!([d.second(0, 3), d.second(1, 2), d.second(0, 1)], [1.0, -1.0, 0.0]);
    // Along a line: (t)(2 + t) − (2t)(1 + t) = −t².
    let line: Vec<Jet<f64, 3>> =
        [[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 0.0], [2.0, 1.0, 0.0]]
            .map(|coefficients| Jet { coefficients })
            .to_vec();
    assert_eq!(det(&line, 2).coefficients, [0.0, 0.0, -1.0]);
    // Over a box whose matrices may all be singular.
    let (wide, one) = (Interval::new(-1.0, 1.0), Interval::point(1.0));
    let d = det(&[wide, wide, one, one], 2);
    assert!(d.contains(2.0) && d.contains(-2.0) && d.high() < 4.1, "{d}");
    assert!(matches!(
        fault::catch(|| solve(&[wide, wide, one, one], &[one, one], 2)),
        Err(Fault::Singular { .. })
    ));
}

#[test]
fn determinants_without_division_agree_with_elimination() {
    for n in 1..6 {
        let a = matrix(n, 7 + n as u64);
        // A zero on top of each column makes no pivot safe until rows are swapped; a duplicated row
        // leaves none.
        let mut singular = a.clone();
        for column in 0..n {
            singular[n - 1 + column * n] = singular[column * n];
        }
        let (mut tape, tangent) = (Tape::new(), matrix(n, 99));
        let y = tape.record(&singular, |x| det(x, n)).unwrap();
        let gradient = tape.gradient(y).unwrap().to_vec();
        let along: f64 = gradient.iter().zip(&tangent).map(|(g, t)| g * t).sum();
        let jets: Vec<Jet<f64, 2>> =
            singular.iter().zip(&tangent).map(|(a, t)| Jet { coefficients: [*a, *t] }).collect();
        let expected = if n == 1 { tangent[0] } else { along };
        let found = det(&jets, n).coefficients[1];
        assert!(
            (found - expected).abs() < 1e-12 * (1.0 + expected.abs()),
            "{n}: {found} {expected}"
        );
    }
}
