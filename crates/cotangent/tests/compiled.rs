//! Compiled functions give what eager ones give, everywhere, and say what is wrong.

use cotangent::ir::{TracedArray, sum_over};
use cotangent::prelude::*;
use cotangent::{Compiled, compile, compile_arrays, compile_at, machine};

fn close(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs())), "{a} and {b}");
    }
}

#[test]
fn all_derivatives_of_one_output() {
    let f = function!(|x: &[S]| -> S {
        let mut s = x[0].exp() * x[1].tanh();
        for k in 1..x.len() {
            s += (x[k] * x[k - 1]).sin() + x[k].powi(3) * 0.5 + (x[k] * x[k] + 1.0).ln();
        }
        s
    });
    let n = 7;
    let x: Vec<f64> = (0..n).map(|k| 0.3 + 0.1 * k as f64).collect();
    let v: Vec<f64> = (0..n).map(|k| 1.0 - 0.2 * k as f64).collect();
    let compiled = compile(f, n).unwrap();
    assert_eq!(compiled.sizes(), (n, 1));
    assert_eq!(compiled.is_machine_code().unwrap(), machine().is_ok());
    let (value, g) = value_and_gradient(&f, &Auto, &x[..]).unwrap();
    close(&[compiled.value(&x).unwrap()], &[value]);
    close(&compiled.gradient(&x).unwrap(), &g);
    let h = hessian(&f, &Auto, &x[..]).unwrap();
    close(compiled.hessian(&x).unwrap().as_slice(), h.as_slice());
    let (gradient, hv) = compiled.hvp(&x, &v).unwrap();
    close(&gradient, &g);
    let expected: Vec<f64> = (0..n).map(|i| (0..n).map(|j| h[(i, j)] * v[j]).sum()).collect();
    close(&hv, &expected);
    let (_, along) = compiled.pushforward(&x, &v).unwrap();
    close(&along, &[g.iter().zip(&v).map(|(g, v)| g * v).sum()]);
    let (_, back) = compiled.pullback(&x, &[2.0]).unwrap();
    close(&back, &g.iter().map(|g| 2.0 * g).collect::<Vec<_>>());
}

#[test]
fn several_outputs() {
    let f = function!(|x: &[S]| -> [S; 4] { [x[0] * x[1], x[1].sin(), x[0] / x[2], x[2].sqrt()] });
    let x = [0.7, 1.3, 2.1];
    let compiled = compile(f, 3).unwrap();
    let j = jacobian(&f, &Auto, &x[..]).unwrap();
    close(compiled.jacobian(&x).unwrap().as_slice(), j.as_slice());
    close(&compiled.values(&x).unwrap(), &[0.7 * 1.3, 1.3f64.sin(), 0.7 / 2.1, 2.1f64.sqrt()]);
    assert!(compiled.gradient(&x).unwrap_err().to_string().contains("Jacobian"));
    assert!(compiled.values(&x[..2]).is_err());
    assert!(compiled.pullback(&x, &[1.0]).is_err());
}

fn two_arrays() -> Compiled {
    let energy = |x: &[TracedArray]| {
        sum_over(0..5, |i| {
            let y = sum_over(0..3, |j| x[1].at((i, j)) * x[0].at(j));
            y.tanh() * y
        })
    };
    compile_arrays(&[&[3], &[5, 3]], energy).unwrap()
}

#[test]
fn arrays() {
    let f = function!(|x: &[S]| -> S {
        let mut s = x[0] * 0.0;
        for i in 0..5 {
            let mut y = x[0] * 0.0;
            for j in 0..3 {
                y += x[3 + 3 * i + j] * x[j];
            }
            s += y.tanh() * y;
        }
        s
    });
    let compiled = two_arrays();
    let x: Vec<f64> = (0..18).map(|k| (f64::from(k) * 0.37).sin()).collect();
    close(&compiled.gradient(&x).unwrap(), &gradient(&f, &Auto, &x[..]).unwrap());
    close(compiled.hessian(&x).unwrap().as_slice(), hessian(&f, &Auto, &x[..]).unwrap().as_slice());
    let mut g = vec![0.0; 18];
    let value = compiled.gradient_into(&x, &mut g).unwrap();
    close(&[value], &[compiled.value(&x).unwrap()]);
    assert!(compiled.gradient_into(&x, &mut g[..5]).is_err());
}

#[test]
fn many_points() {
    for compiled in [two_arrays(), {
        let f = function!(|x: &[S]| -> S { x.iter().fold(x[0], |s, x| s * x.sin() + *x) });
        compile(f, 18).unwrap()
    }] {
        for count in [0usize, 1, 7, 256, 300] {
            let points: Vec<f64> = (0..18 * count).map(|k| (k as f64 * 0.37).sin()).collect();
            let values = compiled.values_many(&points).unwrap();
            let gradients = compiled.gradients_many(&points).unwrap();
            assert_eq!((values.len(), gradients.len()), (count, 19 * count));
            for (p, x) in points.chunks(18).enumerate().step_by(17) {
                let (value, g) = compiled.value_and_gradient(x).unwrap();
                close(&[values[p]], &[value]);
                close(&gradients[19 * p..19 * (p + 1)], &[&[value][..], &g].concat());
            }
        }
        assert!(compiled.values_many(&[1.0; 19]).is_err());
    }
}

#[test]
fn branches_are_recorded_where_they_go() {
    let f = function!(|x: &[S]| -> S {
        if x[0] > 1.0 {
            x[0] * x[1]
        } else if x[1] > 0.0 {
            x[0] + x[1] * x[1]
        } else {
            x[1].exp()
        }
    });
    assert!(compile(f, 2).is_err());
    let compiled = compile_at(f, &[2.0, 2.0]).unwrap();
    for x in [[2.0, 2.0], [0.0, 3.0], [0.0, -1.0], [3.0, 1.0], [-1.0, 2.0], [0.5, -2.0]] {
        close(&compiled.gradient(&x).unwrap(), &gradient(&f, &Auto, &x[..]).unwrap());
        close(&[compiled.value(&x).unwrap()], &[evaluate_one(&f, &x)]);
    }
    assert_eq!(compiled.recordings(), 3);
}

#[test]
fn where_a_branch_turns_something_comes_out() {
    // The last digits of the functions decide, and machine code has its own.
    let f = function!(|x: &[S]| -> S {
        let y = (x[0] * x[1]).exp().ln().sin();
        if y > x[2] { y * x[0] } else { y + x[0] }
    });
    let compiled = compile_at(f, &[1.0, 1.0, 0.0]).unwrap();
    for k in 0..300 {
        let (a, b) = (0.3 + 0.01 * f64::from(k), 1.1 - 0.003 * f64::from(k));
        let turn = (a * b).exp().ln().sin();
        for turn in [turn.next_down(), turn, turn.next_up()] {
            let found = compiled.gradient(&[a, b, turn]).unwrap();
            assert!(found.iter().all(|g| g.is_finite()));
        }
    }
    assert_eq!(compiled.recordings(), 2);
}

fn evaluate_one<F: Differentiable<Input = cotangent::Many, Output = cotangent::One>>(
    f: &F,
    x: &[f64],
) -> f64 {
    value_and_gradient(f, &Auto, x).unwrap().0
}

#[test]
fn threads_share_a_function() {
    let compiled = two_arrays();
    let x: Vec<f64> = (0..18).map(|k| (f64::from(k) * 0.37).sin()).collect();
    let expected = compiled.gradient(&x).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(compiled.gradient(&x).unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn what_is_wrong_is_said() {
    let f = function!(|x: &[S]| -> S { x[0] });
    assert!(compile(f, 0).is_err());
    let program =
        cotangent::ir::parse("fn @f<n>(%x: [n]f64) -> f64 { %y = ld %x[0] ret %y }").unwrap();
    assert!(Compiled::program(&program).unwrap_err().to_string().contains("dimension"));
    let program =
        cotangent::ir::parse("fn @f(%x: [3]f64, %k: i64) -> f64 { %y = ld %x[%k] ret %y }")
            .unwrap();
    let compiled = Compiled::program(&program).unwrap();
    assert_eq!(compiled.values(&[1.0, 2.0, 3.0, 1.0]).unwrap(), [2.0]);
    assert!(compiled.values(&[1.0, 2.0, 3.0, 7.0]).unwrap_err().to_string().contains("range"));
    assert!(compiled.values(&[1.0, 2.0, 3.0, 0.5]).is_err());
}
