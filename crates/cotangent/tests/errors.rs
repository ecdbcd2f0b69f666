//! Bad input is an error value that says what, where and what to do.

use cotangent::numbers::Fault;
use cotangent::prelude::*;
use cotangent::*;

fn text<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn sizes_are_checked_and_named() {
    let f = function!(|x: &[S]| -> S { x[0] * x[1] });
    let b = Forward::default();
    let mut g = [0.0; 3];
    assert_eq!(
        text(gradient_into(&f, &b, &[1.0, 2.0], &mut g)),
        "the gradient has 3 entries, 2 are needed; a gradient has one entry an input"
    );
    let prepared = prepare_gradient(f, &b, &[1.0, 2.0]).unwrap();
    assert_eq!(
        text(prepared.gradient(&[1.0, 2.0, 3.0])),
        "the point has 3 entries, 2 are needed; prepare anew for points of another size"
    );
    assert!(
        text(prepared.gradient((&[1.0, 2.0], &[1.0])))
            .contains("the constants has 1 entries, 0 are needed")
    );
    let h = function!(|x: &[S]| -> [S; 2] { [x[0], x[1]] });
    let mut j = [0.0; 5];
    assert!(
        text(jacobian_into(&h, &b, &[1.0, 2.0], &mut j))
            .contains("the Jacobian has 5 entries, 4 are needed")
    );
    assert!(
        text(pushforward(&h, &b, &[1.0, 2.0], &[[1.0]]))
            .contains("a tangent has 1 entries, 2 are needed")
    );
    assert!(
        text(pullback(&h, &b, &[1.0, 2.0], &[[1.0; 3]])).contains("a cotangent has 3 entries, 2")
    );
    let mut p = [0.0; 2];
    assert!(
        text(pushforward_into(&h, &b, &[1.0, 2.0], &[1.0; 3], &mut p)).contains("whole vectors")
    );
    assert!(text(hvp(&f, &Auto, &[1.0, 2.0], &[[1.0; 3]])).contains("a tangent has 3"));
    assert!(
        text(hvp::<_, _, f64, [f64; 2]>(&f, &Auto, &[1.0, 2.0], &[]))
            .contains("the list of tangents is empty")
    );
    let mut m = [0.0; 3];
    assert!(
        text(hessian_into(&f, &Auto, &[1.0, 2.0], &mut m)).contains("the Hessian has 3 entries, 4")
    );
    let mut d = [0.0; 2];
    let one = function!(|x| x.sin());
    assert!(
        text(derivative_into(&one, &b, 0.3, &mut d)).contains("the derivative has 2 entries, 1")
    );
    assert!(
        text(pushforward(&one, &b, &[1.0, 2.0], &[[1.0]]))
            .contains("takes one number, not a slice")
    );
    assert!(
        text(taylor_along(&f, &[1.0, 2.0], &[1.0], 3)).contains("the direction has 1 entries, 2")
    );
    assert!(
        text(taylor_into(&f, &[1.0, 2.0], &[1.0, 1.0], 3, &mut d))
            .contains("the coefficients has 2 entries, 4")
    );
}

#[test]
fn nan_and_nothing_are_refused() {
    let f = function!(|x: &[S]| -> S { x.iter().copied().sum::<S>() });
    assert!(text(gradient(&f, &Auto, &[1.0, f64::NAN])).contains("entry 1 of the point is NaN"));
    assert!(text(gradient(&f, &Auto, &[0.0; 0])).contains("the point is empty"));
    assert!(text(hessian(&f, &Auto, &[f64::NAN])).contains("NaN"));
    assert!(text(pushforward(&f, &Auto, &[1.0], &[[f64::NAN]])).contains("a tangent is NaN"));
    let constant = function!(|x: &[S], constant p| -> S { x[0] * p[0] });
    assert!(
        text(gradient(&constant, &Auto, (&[1.0], &[f64::NAN]))).contains("the constants is NaN")
    );
    let nothing = function!(|x: &[S]| -> Vec<S> { x[1..].to_vec() });
    assert!(text(jacobian(&nothing, &Auto, &[1.0])).contains("the output is empty"));
    assert!(text(evaluate(&f, &[f64::NAN])).contains("NaN"));
    // Infinity is a number.
    assert_eq!(gradient(&f, &Auto, &[f64::INFINITY, 1.0]).unwrap(), [1.0, 1.0]);
}

#[test]
fn impossible_settings_are_refused() {
    let f = function!(|x: &[S]| -> S { x[0] });
    assert!(
        text(gradient(&f, &Forward { chunk: Some(0) }, &[1.0])).contains("choose from 1 to 12")
    );
    assert!(text(gradient(&f, &Forward { chunk: Some(13) }, &[1.0])).contains("a chunk of 13"));
    let order = |order| FiniteDifferences { order, ..Default::default() };
    assert!(text(gradient(&f, &order(3), &[1.0])).contains("choose 1, 2, 4, 6 or 8"));
    for step in [0.0, -1.0, 1e-30, f64::NAN, f64::INFINITY] {
        let b = FiniteDifferences { step: Some(step), ..Default::default() };
        assert!(
            text(gradient(&f, &b, &[1.0])).contains("choose a finite one that changes the point")
        );
        assert!(hessian(&f, &b, &[1.0]).is_err());
        assert!(hessian(&f, &SecondOrder { outer: Forward::default(), inner: b }, &[1.0]).is_err());
    }
}

#[test]
fn a_workspace_goes_with_its_own_derivative() {
    let f = function!(|x: &[S]| -> S { x[0] * x[1] });
    let a = prepare_gradient(f, &Forward { chunk: Some(1) }, &[1.0, 2.0]).unwrap();
    let b = prepare_gradient(f, &Forward { chunk: Some(2) }, &[1.0, 2.0]).unwrap();
    let mut g = [0.0; 2];
    let foreign = b.gradient_into(&[1.0, 2.0], &mut g, &mut a.workspace());
    assert_eq!(foreign.unwrap_err(), Error::ForeignWorkspace);
}

#[test]
fn what_a_function_raises_comes_back_as_an_error() {
    let singular =
        function!(|x: &[S]| -> S { cotangent::linalg::solve(x, &[S::one(), S::one()], 2)[0] });
    for result in [
        gradient(&singular, &Forward::default(), &[1.0, 2.0, 2.0, 4.0]),
        gradient(&singular, &Reverse::default(), &[1.0, 2.0, 2.0, 4.0]),
        gradient(
            &singular,
            &FiniteDifferences { order: 1, ..Default::default() },
            &[1.0, 2.0, 2.0, 4.0],
        ),
    ] {
        assert!(matches!(result, Err(Error::Function(Fault::Singular { .. }))), "{result:?}");
    }
    // A number of outputs that depends on the point is noticed.
    let fickle = function!(|x: &[S]| -> Vec<S> { vec![x[0]; if x[0] > 0.0 { 2 } else { 3 }] });
    let prepared = prepare_jacobian(fickle, &Forward::default(), &[1.0]).unwrap();
    assert!(
        text(prepared.jacobian(&[-1.0])).contains("what it returned has 3 entries, 2 are needed")
    );
    // A branch where there is no value, and an undecidable one.
    let branch = function!(|x: &[S]| -> S { if x[0] > 0.0 { x[0] } else { -x[0] } });
    let error = text(jacobian_sparsity(&branch, &[1.0]));
    assert!(error.contains("errors.rs") && error.contains("S::select"), "{error}");
    assert!(jacobian_sparsity_at(&branch, &[1.0]).is_ok());
    assert!(text(bounds(&branch, &[Interval::new(-1.0, 1.0)])).contains("split the box"));
    // A rule that fails, one without a derivative, and one used beyond its order.
    let failing = Rule::new("half", 1, |x: &[f64], y: &mut [f64]| {
        y[0] = x[0] / 2.0;
        if x[0] < 0.0 { Err("negative") } else { Ok(()) }
    });
    let f = function!([failing: &'a Rule = &failing] |x: &[S]| -> S { failing.call(x)[0] });
    assert!(text(evaluate(&f, &[-1.0])).contains("the rule of `half` failed: negative"));
    assert!(
        text(gradient(&f, &Forward::default(), &[1.0])).contains("give it one with `jvp` or `vjp`")
    );
    let given = failing.clone().vjp(|_, _, w, g| g[0] = w[0] / 2.0);
    let f = function!([given: &'a Rule = &given] |x: &[S]| -> S { given.call(x)[0] });
    assert_eq!(gradient(&f, &Forward::default(), &[1.0]).unwrap(), [0.5]);
    assert!(text(hessian(&f, &Auto, &[1.0])).contains("gives first derivatives only"));
}

#[test]
fn user_panics_stay_panics() {
    let f = function!(|x: &[S]| -> S { x[7] });
    let caught = std::panic::catch_unwind(|| gradient(&f, &Forward::default(), &[1.0]));
    assert!(caught.is_err(), "an index out of range in the user's code is not an error of ours");
}

#[test]
fn prepared_derivatives_are_shared_between_threads() {
    fn assert_sync<T: Sync + Send>(_: &T) {}
    let f = function!(|x: &[S]| -> S { x.iter().map(|x| x.sin()).product::<S>() });
    let x: Vec<f64> = (0..40).map(|i| 0.5 + 0.01 * f64::from(i)).collect();
    let expected = gradient(&f, &Reverse::default(), &x).unwrap();
    macro_rules! share {
        ($($backend:expr),*) => {$(
            let prepared = prepare_gradient(f, &$backend, &x).unwrap();
            assert_sync(&prepared);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let (mut workspace, mut g) = (prepared.workspace(), vec![0.0; x.len()]);
                        for _ in 0..50 {
                            prepared.gradient_into(&x, &mut g, &mut workspace).unwrap();
                            assert!(g.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6 * b.abs()));
                        }
                    });
                }
            });
        )*};
    }
    share!(
        Forward::default(),
        Reverse::default(),
        Reverse { replay: true },
        FiniteDifferences::default(),
        Auto
    );
    assert_sync(&prepare_hessian(f, &Auto, &x).unwrap());
    assert_sync(&prepare_taylor(f, &x, 20).unwrap());
}

#[test]
fn rules_are_checked() {
    let right = Rule::new("polar", 2, |x: &[f64], y: &mut [f64]| {
        (y[0], y[1]) = (x[0] * x[1].cos(), x[0] * x[1].sin());
    })
    .jvp(|x, _, dx, dy| {
        let (s, c) = x[1].sin_cos();
        (dy[0], dy[1]) = (c * dx[0] - x[0] * s * dx[1], s * dx[0] + x[0] * c * dx[1]);
    });
    let report = check_rule(&right, 2, &[2.0, 0.7]).unwrap();
    assert!(report.passes(), "{report}");
    let wrong = right.clone().vjp(|x, _, w, g| {
        let (s, c) = x[1].sin_cos();
        (g[0], g[1]) = (c * w[0] + s * w[1], x[0] * (s * w[0] + c * w[1])); // a sign is missing
    });
    let report = check_rule(&wrong, 2, &[2.0, 0.7]).unwrap();
    assert!(!report.passes());
    let worst = report.worst().unwrap();
    assert_eq!(worst.worst, (0, 1), "{report}");
    assert!(report.to_string().contains("WRONG  pullback"), "{report}");
    // The rules that ship are right, too.
    let a = [2.0, 0.3, -0.4, 0.1, 1.5, 0.2, 0.7, -0.2, 3.0, 1.0, 2.0, 3.0];
    assert!(check_rule(&linalg_rules::solve(), 3, &a).unwrap().passes());
    assert!(check_rule(&cotangent::linalg::Inverse { n: 3 }, 9, &a[..9]).unwrap().passes());
    assert!(check_rule(&cotangent::linalg::Det { n: 3 }, 1, &a[..9]).unwrap().passes());
    assert!(check_rule(&cotangent::linalg::LogDet { n: 3 }, 1, &a[..9]).unwrap().passes());
    assert!(check_rule(&cotangent::linalg::MatMul { m: 2, k: 3, n: 2 }, 4, &a).unwrap().passes());
    assert!(check_rule(&cotangent::linalg::Dot, 1, &a).unwrap().passes());
}

mod linalg_rules {
    pub(super) fn solve() -> cotangent::linalg::Solve {
        cotangent::linalg::Solve { n: 3, sides: 1 }
    }
}

#[test]
fn check_derivatives_names_the_worst_component() {
    // A rule with a wrong derivative inside an otherwise right function.
    let wrong = Rule::new("square", 1, |x: &[f64], y: &mut [f64]| y[0] = x[0] * x[0])
        .jvp(|x, _, dx, dy| dy[0] = 3.0 * x[0] * dx[0]);
    let f = function!([wrong: &'a Rule = &wrong] |x: &[S]| -> Vec<S> { vec![x[0] * x[1], wrong.call(&x[1..])[0]] });
    let report = check_derivatives(&f, &[2.0, 5.0]).unwrap();
    assert!(!report.passes());
    let worst = report.worst().unwrap();
    assert_eq!((worst.worst, worst.what.as_str()), ((1, 1), "Jacobian, finite differences"));
    assert!((worst.found - 10.0).abs() < 1e-6 && worst.expected == 15.0);
}

#[test]
fn a_panic_in_the_function_does_not_spoil_the_workspace() {
    // The constant says whether to panic.
    let f = function!(|x: &[S], constant c| -> S {
        assert!(c[0] == 0.0, "in the user's code");
        x[0] * x[1]
    });
    let prepared = prepare_pushforward(f, &Forward::default(), (&[2.0, 3.0], &[0.0])).unwrap();
    let mut workspace = prepared.workspace();
    let mut image = [0.0];
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let at = (&[2.0, 3.0], &[1.0]);
        prepared.pushforward_into(at, &[5.0, 7.0], &mut image, &mut workspace)
    }));
    assert!(panicked.is_err());
    prepared
        .pushforward_into((&[2.0, 3.0], &[0.0]), &[1.0, 0.0], &mut image, &mut workspace)
        .unwrap();
    assert_eq!(image, [3.0]);
}

#[test]
fn an_absurd_order_is_an_error() {
    let f = function!(|x| x.sin());
    let error = taylor(&f, 0.5, usize::MAX).unwrap_err();
    assert!(error.to_string().contains("choose at most"), "{error}");
}

#[test]
fn a_zero_wins_over_infinity_in_hessians_by_every_backend() {
    let f = function!(|x: &[S]| -> S { x[0] + x[1].sqrt() });
    let x = [1.0, 0.0];
    let (forward, reverse) = (Forward::default(), Reverse::default());
    let check = |h: cotangent::Matrix<f64>| {
        assert_eq!(
            [h[(0, 0)], h[(0, 1)], h[(1, 0)], h[(1, 1)]],
            [0.0, 0.0, 0.0, f64::NEG_INFINITY]
        );
    };
    check(hessian(&f, &Auto, &x).unwrap());
    check(hessian(&f, &SecondOrder { outer: forward, inner: forward }, &x).unwrap());
    check(hessian(&f, &SecondOrder { outer: forward, inner: reverse }, &x).unwrap());
    check(hessian(&f, &SecondOrder { outer: reverse, inner: reverse }, &x).unwrap());
}

#[test]
fn outputs_are_zero_before_each_call() {
    // A function that adds to its outputs, and one that writes an output on one branch only.
    let sums = function!(|x: &[S], y: &mut [S; 1]| {
        for x in x {
            y[0] += *x;
        }
    });
    let x = [1.0; 13];
    assert_eq!(jacobian(&sums, &Auto, &x).unwrap().row(0), [1.0; 13]);
    assert_eq!(jacobian(&sums, &Forward { chunk: Some(5) }, &x).unwrap().row(0), [1.0; 13]);
    for d in jacobian(&sums, &FiniteDifferences::default(), &x).unwrap().row(0) {
        assert!((d - 1.0).abs() < 1e-6);
    }
    let one = cotangent::Interval::point(1.0);
    for d in cotangent::jacobian_bounds(&sums, &[one; 3]).unwrap().row(0) {
        assert_eq!((d.low(), d.high()), (1.0, 1.0));
    }
    let branch = function!(|x: &[S], y: &mut [S; 2]| {
        if x[0] > 0.0 {
            y[1] = x[0];
        }
        y[0] = x[1];
    });
    let prepared = prepare_jacobian(branch, &Forward::default(), &[3.0, 1.0]).unwrap();
    let mut workspace = prepared.workspace();
    let mut j = [0.0; 4];
    prepared.jacobian_into(&[3.0, 1.0], &mut j, &mut workspace).unwrap();
    assert_eq!(j, [0.0, 1.0, 1.0, 0.0]);
    prepared.jacobian_into(&[-3.0, 1.0], &mut j, &mut workspace).unwrap();
    assert_eq!(j, [0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn constants_reach_every_analysis_and_are_missed() {
    let f = function!(|x: &[S], constant p| -> S { x[0] * p[0] });
    assert_eq!(gradient(&f, &Auto, &[1.0]), Err(cotangent::Error::NoConstants));
    let two = cotangent::Interval::point(2.0);
    assert_eq!(cotangent::bounds(&f, &[two]), Err(cotangent::Error::NoConstants));
    let y = cotangent::bounds(&f, (&[two], &[two])).unwrap();
    assert_eq!((y[0].low(), y[0].high()), (4.0, 4.0));
    assert_eq!(cotangent::jacobian_bounds(&f, (&[two], &[two])).unwrap()[(0, 0)].high(), 2.0);
    let empty = cotangent::Interval::new(2.0, 1.0);
    let error = cotangent::bounds(&f, (&[empty], &[two])).unwrap_err();
    assert_eq!(error, cotangent::Error::EmptySide { index: 0 });
}

#[test]
fn closures_take_part_in_every_analysis() {
    let f = recorded(|x| x[0] * x[0] + x[1].sin());
    let wide = cotangent::Interval::new(-1.0, 2.0);
    let y = cotangent::bounds(&f, &[wide, cotangent::Interval::point(0.0)]).unwrap();
    assert!(y[0].contains(4.0) && y[0].contains(0.0) && y[0].high() < 4.001);
    assert_eq!(cotangent::jacobian_sparsity(&f, &[1.0, 2.0]).unwrap().to_string(), "11\n");
    assert_eq!(cotangent::hessian_sparsity(&f, &[1.0, 2.0]).unwrap().nnz(), 2);
    let branch = recorded(|x| if x[0] > 0.0 { x[0] } else { x[1] });
    let error = cotangent::jacobian_sparsity(&branch, &[1.0, 2.0]).unwrap_err();
    assert!(error.to_string().contains("decides a branch"), "{error}");
    assert!(error.to_string().contains(file!()), "{error}");
    assert_eq!(cotangent::jacobian_sparsity_at(&branch, &[1.0, 2.0]).unwrap().to_string(), "1·\n");
    // A box that both branches meet.
    assert!(cotangent::bounds(&branch, &[wide, wide]).is_err());
    // The place of an operation is where the closure has it.
    let root = recorded(|x| (x[0] - x[1]).sqrt());
    let report = cotangent::find_nan(&root, &[1.0, 2.0]).unwrap().unwrap();
    assert_eq!((report.operation, report.at.file()), ("sqrt", file!()));
    // A number of outputs that depends on the point.
    let vague = recorded(|x| if x[0] > 0.0 { vec![x[0]] } else { vec![x[0], x[0]] });
    let prepared = prepare_jacobian(&vague, &Forward::default(), &[1.0]).unwrap();
    let error = prepared.jacobian(&[-1.0]).unwrap_err();
    assert!(error.to_string().contains("the function"), "{error}");
}

#[test]
fn absurd_sizes_and_steps_are_errors() {
    let f = function!(|x: &[S]| -> S { x[0] });
    let error = hessian(&f, &Reverse::default(), &vec![1.0; 3_000_000]).unwrap_err();
    assert!(error.to_string().contains("does not fit in memory"), "{error}");
    let tiny = FiniteDifferences { step: Some(1e-300), ..FiniteDifferences::default() };
    assert!(matches!(gradient(&f, &tiny, &[1.0]), Err(cotangent::Error::Step { .. })));
    let rule = Rule::new("double", 1, |x: &[f64], y: &mut [f64]| y[0] = 2.0 * x[0])
        .jvp(|_, _, dx, dy| dy[0] = 2.0 * dx[0]);
    assert!(check_rule(&rule, 7, &[2.0]).is_err());
    // A function with a rule is checked to first order.
    let f = function!([rule: &'a Rule = &rule] |x: &[S]| -> S { rule.call(x)[0] });
    assert!(check_derivatives(&f, &[2.0]).unwrap().passes());
    let half = cotangent::Interval::new(3.0, f64::INFINITY).split();
    assert!(half.0.high() == 6.0 && half.1.low() == 6.0);
}

#[test]
fn a_function_may_return_early() {
    let f = function!(|x: &[S]| -> S {
        if x[0] > 1.0 {
            return x[0] * x[0];
        }
        x[0]
    });
    assert_eq!(gradient(&f, &Auto, &[3.0]).unwrap(), [6.0]);
    assert_eq!(gradient(&f, &Auto, &[0.5]).unwrap(), [1.0]);
}
