//! Code that knows only nalgebra or num-traits, differentiated as it stands.

use cotangent_numbers::{
    Counted, Dual, Dual2, GradientTracer, Interval, Jet, Local, SetKind, Tape, jacobian_pattern,
};

/// Runge–Kutta of fourth order, written against num-traits alone.
mod integrator {
    use num_traits::Float;

    pub(crate) fn rk4<F: Float>(
        f: impl Fn(F, &[F]) -> Vec<F>,
        y0: &[F],
        t1: F,
        steps: usize,
    ) -> Vec<F> {
        let two = F::one() + F::one();
        let h = t1 / F::from(steps).unwrap();
        let mut t = F::zero();
        let mut y = y0.to_vec();
        for _ in 0..steps {
            let shift =
                |k: &[F], c: F| -> Vec<F> { y.iter().zip(k).map(|(y, k)| *y + *k * c).collect() };
            let k1 = f(t, &y);
            let k2 = f(t + h / two, &shift(&k1, h / two));
            let k3 = f(t + h / two, &shift(&k2, h / two));
            let k4 = f(t + h, &shift(&k3, h));
            for i in 0..y.len() {
                y[i] = y[i] + (k1[i] + two * (k2[i] + k3[i]) + k4[i]) * h / (two + two + two);
            }
            t = t + h;
        }
        y
    }

    /// A pendulum with damping.
    pub(crate) fn pendulum<F: Float>(p: &[F]) -> Vec<F> {
        let (length, damping) = (p[2], p[3]);
        let g = F::from(9.81).unwrap();
        rk4(
            |_, y| vec![y[1], -(g / length) * y[0].sin() - damping * y[1]],
            &p[..2],
            F::from(1.5).unwrap(),
            60,
        )
    }
}

/// A Cholesky solve, written against nalgebra alone.
#[cfg(feature = "nalgebra")]
mod cholesky {
    use nalgebra::{DMatrix, DVector, RealField};

    pub(crate) fn solve<T: RealField + Copy>(x: &[T], n: usize) -> Vec<T> {
        // A = M·Mᵀ + n·I from the first n² inputs, the right side from the rest.
        let m = DMatrix::from_column_slice(n, n, &x[..n * n]);
        let shift = T::from_usize(n).unwrap();
        let a = &m * m.transpose() + DMatrix::identity(n, n) * shift;
        let b = DVector::from_column_slice(&x[n * n..]);
        a.cholesky().expect("positive definite").solve(&b).as_slice().to_vec()
    }
}

fn central(f: impl Fn(&[f64]) -> Vec<f64>, x: &[f64], j: usize) -> Vec<f64> {
    let h = 1e-6;
    let at = |s: f64| {
        let mut x = x.to_vec();
        x[j] += s;
        f(&x)
    };
    at(h).iter().zip(at(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect()
}

fn check_columns(f: impl Fn(&[f64]) -> Vec<f64>, x: &[f64], jacobian: &[Vec<f64>]) {
    for j in 0..x.len() {
        for (i, d) in central(&f, x, j).iter().enumerate() {
            assert!(
                (jacobian[i][j] - d).abs() < 1e-6 * (1.0 + d.abs()),
                "({i}, {j}): {} {d}",
                jacobian[i][j]
            );
        }
    }
}

const PENDULUM: [f64; 4] = [0.8, 0.1, 1.2, 0.3];

#[test]
fn a_num_traits_integrator_on_duals_tape_and_tracer() {
    let duals: Vec<Dual<f64, 4>> =
        PENDULUM.iter().enumerate().map(|(i, v)| Dual::variable(*v, i)).collect();
    let forward: Vec<Vec<f64>> =
        integrator::pendulum(&duals).iter().map(|y| y.partials.to_vec()).collect();
    check_columns(integrator::pendulum, &PENDULUM, &forward);

    let mut tape = Tape::new();
    let y = tape.record(&PENDULUM, integrator::pendulum).unwrap();
    for (i, y) in y.into_iter().enumerate() {
        for (a, b) in tape.gradient(y).unwrap().iter().zip(&forward[i]) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    // The integrator branches on nothing, so the global tracer runs it, too.
    let pattern = jacobian_pattern::<GradientTracer>(SetKind::Sorted, &PENDULUM, 2, |x, y| {
        y.copy_from_slice(&integrator::pendulum(x));
    });
    assert_eq!(pattern.unwrap().nnz(), 8);

    // And everything else that has a value.
    let plain = integrator::pendulum(&PENDULUM);
    let jets: Vec<Jet<f64, 3>> = PENDULUM.iter().map(|v| Jet::along(*v, 1.0)).collect();
    assert_eq!(integrator::pendulum(&jets)[0].coefficients[0], plain[0]);
    let second: Vec<Dual2<f64, 4>> =
        PENDULUM.iter().enumerate().map(|(i, v)| Dual2::variable(*v, i)).collect();
    assert!((integrator::pendulum(&second)[1].gradient()[2] - forward[1][2]).abs() < 1e-12);
    let boxes: Vec<Interval> = PENDULUM.iter().map(|v| Interval::point(*v)).collect();
    assert!(integrator::pendulum(&boxes)[0].contains(plain[0]));
    let counted: Vec<Counted> = PENDULUM.iter().map(|v| Counted::new(*v)).collect();
    assert_eq!(integrator::pendulum(&counted)[0].inner, plain[0]);
}

#[cfg(feature = "nalgebra")]
#[test]
fn a_nalgebra_cholesky_on_duals_tape_and_tracer() {
    use cotangent_numbers::HessianTracer;
    let n = 3;
    let x: Vec<f64> = (0..n * n + n).map(|i| (i as f64 * 0.7).sin()).collect();
    let f = |x: &[f64]| cholesky::solve(x, n);
    let duals: Vec<Dual<f64, 12>> =
        x.iter().enumerate().map(|(i, v)| Dual::variable(*v, i)).collect();
    let forward: Vec<Vec<f64>> =
        cholesky::solve(&duals, n).iter().map(|y| y.partials.to_vec()).collect();
    check_columns(f, &x, &forward);

    let mut tape = Tape::new();
    let y = tape.record(&x, |x| cholesky::solve(x, n)).unwrap();
    for (i, y) in y.into_iter().enumerate() {
        for (a, b) in tape.gradient(y).unwrap().iter().zip(&forward[i]) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    // nalgebra asks whether pivots are positive, so the tracer needs values.
    let pattern = jacobian_pattern::<Local<GradientTracer>>(SetKind::Sorted, &x, n, |x, y| {
        y.copy_from_slice(&cholesky::solve(x, n));
    });
    assert_eq!(pattern.unwrap().nnz(), n * (n * n + n));
    let pattern = cotangent_numbers::hessian_pattern::<Local<HessianTracer>>(
        SetKind::Sorted,
        &x,
        n,
        |x, y| {
            y.copy_from_slice(&cholesky::solve(x, n));
        },
    );
    assert!(pattern.unwrap().is_symmetric());
    // Second derivatives: nested duals and the tape over duals.
    let nested: Vec<Dual<Dual<f64, 1>, 1>> =
        x.iter().map(|v| Dual::new(Dual::new(*v, [1.0]), [Dual::from(1.0)])).collect();
    let along = cholesky::solve(&nested, n)[0].partials[0].partials[0];
    let jets: Vec<Jet<f64, 3>> = x.iter().map(|v| Jet::along(*v, 1.0)).collect();
    assert!((cholesky::solve(&jets, n)[0].coefficients[2] * 2.0 - along).abs() < 1e-10);
}

/// The eigenvalues of x·xᵀ by nalgebra's iteration: 0 and |x|², with gradients 0 and 2x.
#[cfg(feature = "nalgebra")]
#[test]
fn nalgebra_eigenvalues_of_an_outer_product() {
    let x = nalgebra::Vector2::new(Dual::<f64, 2>::variable(1.0, 0), Dual::variable(2.0, 1));
    let mut values: Vec<Dual<f64, 2>> =
        (x * x.transpose()).symmetric_eigenvalues().iter().copied().collect();
    values.sort_by(|a, b| a.value.total_cmp(&b.value));
    let rows: Vec<f64> = values.iter().flat_map(|v| v.partials).collect();
    for (a, b) in rows.iter().zip([0.0, 0.0, 2.0, 4.0]) {
        assert!((a - b).abs() < 1e-10, "{values:?}");
    }
}

/// Values are those of `f64` whatever the code asks of them. Only where it asks whether a number is zero,
/// to avoid a division, do numbers differ whose derivative is not: to say yes could lose the derivative
/// without a trace, to say no divides by zero, which shows as NaN.
#[cfg(feature = "nalgebra")]
#[test]
fn decompositions_take_the_same_branches_as_plain_numbers() {
    use nalgebra::{Matrix3, RealField};
    fn largest<T: RealField + Copy>(x: &[T]) -> T {
        let m = Matrix3::new(x[0], x[1], x[3], x[1], x[2], x[4], x[3], x[4], x[5]);
        m.symmetric_eigenvalues().max() + m.svd(true, true).singular_values[2] + m.qr().r()[(1, 1)]
    }
    for x in [
        [2.0, 0.0, 3.0, 0.0, 0.0, 1.0],
        [2.0, 0.5, 3.0, 0.0, 0.0, 1.0],
        [2.0, 0.0, 3.0, 0.0, 0.7, -1.0],
        [2.0, 0.3, 3.0, -0.4, 0.7, -1.0],
    ] {
        let plain: f64 = largest(&x);
        assert!(plain.is_finite());
        let checked = cotangent_numbers::nan_check(&x, largest);
        assert!(checked.is_ok(), "{x:?}: {checked:?}");
        let mut tape = Tape::new();
        let y = tape.record(&x, largest).unwrap();
        let has_zeros = x.contains(&0.0);
        let right = |value: f64| value == plain || (has_zeros && value.is_nan());
        assert!(right(y.peek()), "{x:?}");
        let duals: Vec<Dual<f64, 6>> = (0..6).map(|i| Dual::variable(x[i], i)).collect();
        assert!(right(largest(&duals).value), "{x:?}");
    }
}
