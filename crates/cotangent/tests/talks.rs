//! The worked examples of the talks that cotangent unites.

use cotangent::numbers::forward;
use cotangent::prelude::*;
use cotangent::{Differentiable, Matrix, hessian_sparsity, jacobian_sparsity};

#[test]
fn sine_times_cosine_of_the_mixed_mode_talk() {
    let f = function!(|x: &[S]| -> S { x[0].sin() * x[1].cos() });
    let rounded = |g: Vec<f64>| g.iter().map(|v| (v * 10.0).trunc() / 10.0).collect::<Vec<_>>();
    assert_eq!(rounded(gradient(&f, &Reverse::default(), &[1.0, 1.0]).unwrap()), [0.2, -0.7]);
    assert_eq!(rounded(gradient(&f, &Forward::default(), &[1.0, 1.0]).unwrap()), [0.2, -0.7]);
}

#[test]
fn relu3_of_the_enzyme_talk() {
    let relu3 = function!(|x: S| -> S { if x > 0.0 { x.powi(3) } else { S::zero() } });
    let expected = |x: f64| if x > 0.0 { 3.0 * x * x } else { 0.0 };
    for x in [2.0, 0.5, 0.0, -1.0] {
        assert_eq!(derivative(&relu3, &Forward::default(), x).unwrap(), expected(x));
        assert_eq!(derivative(&relu3, &Reverse::default(), x).unwrap(), expected(x));
        assert_eq!(derivative(&relu3, &Auto, x).unwrap(), expected(x));
    }
    // Recorded on one side of the branch, replayed on the other: recorded anew, never wrong.
    let prepared = prepare_derivative(relu3, &Reverse { replay: true }, 2.0).unwrap();
    for x in [3.0, -1.0, 0.5, -2.0] {
        assert_eq!(prepared.derivative(x).unwrap(), [expected(x)]);
    }
}

#[test]
fn the_jacobian_of_the_sparsity_talk() {
    let f = function!(|x: &[S]| -> Vec<S> {
        let squares: Vec<S> = x.iter().map(|x| *x * *x).collect();
        let diff = |v: &[S]| v.windows(2).map(|w| w[1] - w[0]).collect::<Vec<S>>();
        let reversed: Vec<S> = squares.iter().rev().copied().collect();
        diff(&squares).into_iter().zip(diff(&reversed)).map(|(a, b)| a + b).collect()
    });
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    let rows = [
        [-2.0, 4.0, 0.0, 8.0, -10.0],
        [0.0, -4.0, 12.0, -8.0, 0.0],
        [0.0, 4.0, -12.0, 8.0, 0.0],
        [2.0, -4.0, 0.0, -8.0, 10.0],
    ];
    let check = |j: Matrix| rows.iter().enumerate().for_each(|(i, row)| assert_eq!(j.row(i), row));
    check(jacobian(&f, &Forward::default(), &x).unwrap());
    check(jacobian(&f, &Reverse::default(), &x).unwrap());
    check(jacobian(&f, &Auto, &x).unwrap());
    let pattern = jacobian_sparsity(&f, &x).unwrap();
    assert_eq!(pattern.to_string(), "11·11\n·111·\n·111·\n11·11\n");
}

#[test]
fn the_hessian_of_the_sparsity_talk() {
    let f = function!(|x: &[S]| -> S { x.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<S>() });
    let x = [1.0, 2.0, 3.0, 4.0];
    let backend = SecondOrder { outer: Forward::default(), inner: Reverse::default() };
    let h = hessian(&f, &backend, &x).unwrap();
    let expected =
        [2.0, -2.0, 0.0, 0.0, -2.0, 4.0, -2.0, 0.0, 0.0, -2.0, 4.0, -2.0, 0.0, 0.0, -2.0, 2.0];
    assert_eq!(h.as_slice(), expected);
    assert_eq!(hessian_sparsity(&f, &x).unwrap().nnz(), 10);
}

#[test]
fn the_sign_example_of_the_tracers() {
    let f = function!(|x: &[S]| -> [S; 2] {
        [x[0] * x[1] + x[2].signum(), x[2].signum() * (x[3] / 2.0)]
    });
    let pattern = jacobian_sparsity(&f, &[0.0; 4]).unwrap();
    assert_eq!(pattern.to_string(), "11··\n···1\n");
    let j = jacobian(&f, &Auto, &[2.0, 3.0, -5.0, 7.0]).unwrap();
    assert_eq!((j.row(0), j.row(1)), (vec![3.0, 2.0, 0.0, 0.0], vec![0.0, 0.0, 0.0, -0.5]));
}

#[test]
fn the_nested_derivatives_of_the_cassette_talk() {
    assert_eq!(forward::derivative(|x| x * forward::derivative(|y| x * y, x.like(3.0)), 5.0), 10.0);
    // In a generic function an outer value enters an inner derivative by `Dual::fixed`.
    fn product<S: Scalar>(x: S) -> S {
        x * forward::derivative(|y| y * cotangent::numbers::Dual::fixed(x), S::from(3.0))
    }
    let f = function!(|x| product(x));
    fn check(f: &impl Differentiable<Input = cotangent::One, Output = cotangent::One>) {
        assert_eq!(derivative(f, &Forward::default(), 5.0).unwrap(), 10.0);
        assert_eq!(second_derivative(f, &Forward::default(), 5.0).unwrap(), 2.0);
    }
    check(&f);
}
