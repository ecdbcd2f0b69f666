//! Derivatives of derivatives: nothing is confused, and outer values just work.

use cotangent_numbers::forward::{derivative, directional, gradient, jacobian};
use cotangent_numbers::{Dual, Elementary, Jet, Scalar, Tape, Var};

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} is not {b}");
}

#[test]
fn the_derivatives_of_the_2018_talk() {
    let (sin1, cos1) = 1.0_f64.sin_cos();
    close(derivative(|x| x.sin(), 1.0), cos1);
    close(derivative(|x| x.sin() + x.cos(), 1.0), cos1 - sin1);
    close(derivative(|x| derivative(|y| y.sin(), x), 1.0), -sin1);
    close(derivative(|x| x.sin() * x.cos(), 1.0), cos1 * cos1 - sin1 * sin1);
    close(derivative(|x| x * derivative(|y| x * y, x.like(3.0)), 5.0), 10.0);
    close(derivative(|x| x * derivative(|y| x * y, x.like(1.0)), 2.0), 4.0);
    close(derivative(|x| x * derivative(|y| x * y, x.like(2.0)), 1.0), 2.0);
    close(derivative(|x| x * derivative(|y| x * y * 5.0, x.like(3.0)), 2.0), 20.0);
    let x = 0.9667041764115833;
    close(derivative(|x| (x + 2.0) * (3.0 + x), x), 2.0 * x + 5.0);
}

/// The talk's identity through structs, fields and vectors.
fn weird_identity<S: Scalar>(x: S) -> S {
    #[derive(Clone, Copy)]
    struct Bar<S> {
        x: S,
        _y: S,
        _z: S,
    }
    struct Foo<S> {
        a: Bar<S>,
        b: Option<Bar<S>>,
    }
    let bar = Bar { x, _y: x + 1.0, _z: x + 2.0 };
    let mut outer = Foo { a: bar, b: None };
    outer.b = Some(bar);
    outer.a = Bar { x: S::from(4.0), _y: S::from(5.0), _z: S::from(6.0) };
    let mut second = Foo { a: outer.a, b: outer.b };
    if let Some(b) = second.b {
        second.a = b;
    }
    let mut array = vec![S::zero()];
    array.push(second.a.x);
    [array[1]][0]
}

/// A convoluted Σx·Σy, as in the talk, with its globals as parameters.
fn crazy_sum_mul<S: Scalar>(x: &[S], y: &[S]) -> S {
    struct FooContainer<'a, S> {
        vector: &'a [S],
    }
    let mut container = FooContainer { vector: x };
    let mut other = y;
    let mut collected = Vec::new();
    let mut plus = S::zero();
    for i in 0..y.len() {
        let v = container.vector[i];
        if i % 2 == 1 {
            collected.push(other[i]);
            plus += v;
            container.vector = x;
            other = y;
        } else {
            collected.push(v);
            plus += other[i];
            container.vector = y;
            other = x;
        }
    }
    collected.into_iter().sum::<S>() * plus
}

#[test]
fn derivatives_pass_through_structs_and_vectors() {
    close(derivative(|x| x * weird_identity(x), 1.0), 2.0);
    let x = 0.9667041764115833;
    close(derivative(|x| crazy_sum_mul(&[x], &[x]), x), 2.0 * x);
    close(derivative(|x| crazy_sum_mul(&[x, x.like(2.0)], &[x.like(3.0), x]), x), 2.0 * x + 5.0);
}

#[test]
fn the_confusion_cases_of_forwarddiff() {
    // D(x → x·D(y → x + y, 1), 1) = 1 and D(x → D(y → x, x), 1) = 0
    close(derivative(|x| x * derivative(|y| x + y, x.like(1.0)), 1.0), 1.0);
    close(derivative(|x| derivative(|_| Dual::fixed(x), x), 1.0), 0.0);

    // The gradient of Σv·D(y → y·|v|, 1) is that of Σv·|v|.
    let v = [1.0, -2.0, 0.5];
    let nested = gradient(
        |v| {
            let sum = v.iter().sum::<Dual<f64, 8, _>>();
            let norm = v.iter().map(|v| v * v).sum::<Dual<f64, 8, _>>().sqrt();
            sum * derivative(|y| y * norm, sum.like(1.0))
        },
        &v,
    );
    let plain = gradient(
        |v| {
            let sum = v.iter().sum::<Dual<f64, 8, _>>();
            sum * v.iter().map(|v| v * v).sum::<Dual<f64, 8, _>>().sqrt()
        },
        &v,
    );
    for (a, b) in nested.iter().zip(plain) {
        close(*a, b);
    }

    // The Jacobian over x of the gradient over y of y·(A x) is A.
    let a = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.5]];
    let found = jacobian(
        |x| {
            let ax: Vec<_> = a
                .iter()
                .map(|row| row.iter().zip(x).map(|(a, x)| *a * *x).sum::<Dual<f64, 8, _>>())
                .collect();
            let y: Vec<_> = (0..3).map(|_| ax[0].like(1.0)).collect();
            gradient(
                |y| y.iter().zip(&ax).map(|(y, ax)| *y * *ax).reduce(|a, b| a + b).unwrap(),
                &y,
            )
        },
        &[0.3, 0.2, 0.1],
    );
    for (found, row) in found.iter().zip(a) {
        for (f, e) in found.iter().zip(row) {
            close(*f, e);
        }
    }
}

/// A separable Lagrangian: ½v² − 9.8·h of a falling body, with a potential that knows no velocity.
fn lagrangian<S: Scalar>(h: S, v: S) -> S {
    v * v * 0.5 - h * 9.8
}

#[test]
fn a_separable_lagrangian_and_its_legendre_transform() {
    let mixed = derivative(|h| derivative(|v| lagrangian(Dual::fixed(h), v), h.like(3.0)), 2.0);
    close(mixed, 0.0);
    // H(p, h) = p·v − L(h, v) at v = p: ∂H/∂h = 9.8, and of −H/dh the force; ∂/∂(x, h) = (0, 9.8)
    let energy = gradient(
        |x| {
            let (_, h) = (x[0], x[1]);
            let p = h.like(1.5);
            // The velocity that belongs to p, from ∂L/∂v = p by one Newton step, exact here.
            let slope = derivative(|v| lagrangian(Dual::fixed(h), v), h.like(0.0));
            let curvature = derivative(
                |v| derivative(|w| lagrangian(Dual::fixed(Dual::fixed(h)), w), v),
                h.like(0.0),
            );
            let v = (p - slope) / curvature;
            p * v - lagrangian(h, v)
        },
        &[1.0, 2.0],
    );
    close(energy[0], 0.0);
    close(energy[1], 9.8);
}

#[test]
fn third_derivatives_of_rosenbrock() {
    fn rosenbrock<S: Scalar>(x: &[S]) -> S {
        x.windows(2).map(|w| (w[0] - 1.0).powi(2) + (w[1] - w[0] * w[0]).powi(2) * 100.0).sum()
    }
    let point = [0.1, 0.2, 0.3];
    let axis = |i: usize| {
        let mut e = [0.0; 3];
        e[i] = 1.0;
        e
    };
    let third = |i: usize, j: usize, k: usize| {
        directional(
            |x| {
                let e = axis(j).map(|v| x[0].like(v));
                directional(
                    |y| {
                        let e = axis(k).map(|v| y[0].like(v));
                        directional(|z| rosenbrock(z), y, &e)
                    },
                    x,
                    &e,
                )
            },
            &point,
            &axis(i),
        )
    };
    for i in 0..3 {
        for j in 0..3 {
            for k in 0..3 {
                let mut sorted = [i, j, k];
                sorted.sort_unstable();
                let expected = match sorted {
                    [0, 0, 0] => 240.0,
                    [0, 0, 1] | [1, 1, 2] => -400.0,
                    [1, 1, 1] => 480.0,
                    _ => 0.0,
                };
                close(third(i, j, k), expected);
            }
        }
    }
}

#[test]
fn jets_and_tapes_nest_with_outer_values() {
    // Coefficients of exp(x·t) and their derivative to x.
    let slope = derivative(
        |x| {
            let t: Jet<Dual<f64, 1, _>, 4> = Jet::variable(x.like(0.0));
            (x * t).exp().coefficients[3]
        },
        2.0,
    );
    close(slope, 3.0 * 4.0 / 6.0);
    // A derivative inside a recording.
    let mut tape = Tape::new();
    let y = tape.record(&[2.0], |x| derivative(|y| y * y * x[0], x[0].like(3.0))).unwrap();
    assert_eq!(tape.gradient(y).unwrap(), [6.0]);
    // A recording inside a derivative is for bases that live on; a jet is one.
    let mut inner: Tape<Jet<f64, 3>> = Tape::new();
    let t = Jet::variable(1.0);
    let z = inner.record(&[t], |y| y[0] * y[0] * t + Var::fixed(t)).unwrap();
    assert_eq!(inner.gradient(z).unwrap()[0].coefficients, [2.0, 4.0, 2.0]);
}

#[test]
fn second_derivatives_at_a_kink_and_of_cumulative_products() {
    // |t|² at 0 has the second derivative 2 as a square; through `abs`, whose derivative at 0 is 0
    // by policy, it has none there.
    close(derivative(|t| derivative(|s| s * s, t), 0.0), 2.0);
    close(derivative(|t| derivative(|s| s.powf(2.0), t), 0.0), 2.0);
    close(derivative(|t| derivative(|s| s.abs().powi(2), t), 0.0), 0.0);
    // x₁x₂x₃: the Jacobian of the Jacobian of cumprod at (1, 2, 3)
    let second = jacobian(
        |x| {
            let rows = jacobian(
                |y| {
                    let mut product = y[0].like(1.0);
                    y.iter()
                        .map(|y| {
                            product *= *y;
                            product
                        })
                        .collect()
                },
                x,
            );
            rows.into_iter().flatten().collect()
        },
        &[1.0, 2.0, 3.0],
    );
    // rows: d/dx of ∂(x₁), ∂(x₁x₂), ∂(x₁x₂x₃)
    let expected = [
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [0.0, 3.0, 2.0],
        [3.0, 0.0, 1.0],
        [2.0, 1.0, 0.0],
    ];
    for (row, e) in second.iter().zip(expected) {
        assert_eq!(row[..], e);
    }
    assert_eq!(Elementary::value(Dual::<f64, 1>::variable(2.0, 0)), 2.0);
}
