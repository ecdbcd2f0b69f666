//! The tape: recording, replaying, guards, array nodes, size.

use cotangent_numbers::{
    Dual, Elementary, Fault, Program, Replay, Scalar, Tape, Var, fault, fuse, kernel, linalg, map,
    zip,
};

fn rosenbrock<S: Scalar>(x: &[S]) -> S {
    let mut sum = S::zero();
    for w in x.windows(2) {
        sum += (w[1] - w[0] * w[0]).powi(2) * 100.0 + (w[0] - 1.0).powi(2);
    }
    sum
}

#[test]
fn the_worked_example_of_the_2017_talk_step_by_step() {
    // x₃ = sin(x₁), x₄ = cos(x₂), x₅ = x₃·x₄ at (1, 1); the table of values and sensitivities.
    let mut tape = Tape::new();
    let mut values = Vec::new();
    let y = tape
        .record(&[1.0, 1.0], |x| {
            let x3 = x[0].sin();
            let x4 = x[1].cos();
            let x5 = x3 * x4;
            values = [x[0], x[1], x3, x4, x5].map(Var::peek).to_vec();
            x5
        })
        .unwrap();
    let rounded = |v: &[f64]| v.iter().map(|v| (v * 10.0).trunc() / 10.0).collect::<Vec<_>>();
    assert_eq!(rounded(&values), [1.0, 1.0, 0.8, 0.5, 0.4]);
    assert_eq!(rounded(tape.gradient(y).unwrap()), [0.2, -0.7]);
    assert_eq!(rounded(tape.cotangents()), [0.2, -0.7, 0.5, 0.8, 1.0]);
}

#[test]
fn recursion_loops_and_branches_are_recorded_as_they_run() {
    fn power<S: Scalar>(x: S, n: u32) -> S {
        if n == 0 {
            S::one()
        } else if n.is_multiple_of(2) {
            power(x * x, n / 2)
        } else {
            x * power(x, n - 1)
        }
    }
    let mut tape = Tape::new();
    let y = tape
        .record(&[1.1], |x| {
            let mut y = x[0];
            while y < 5.0 {
                y = power(y, 3) + 0.5;
            }
            y
        })
        .unwrap();
    // y₀ = x, y₁ = x³ + ½, y₂ = y₁³ + ½
    let (x, y1) = (1.1_f64, 1.1_f64.powi(3) + 0.5);
    let expected = 3.0 * y1 * y1 * 3.0 * x * x;
    assert!((tape.gradient(y).unwrap()[0] / expected - 1.0).abs() < 1e-14);
}

#[test]
fn the_memory_of_a_tape_is_reused_and_old_variables_are_refused() {
    let mut tape = Tape::new();
    let old = tape.record(&[1.0, 2.0], |x| x[0] * x[1]).unwrap();
    let new = tape.record(&[3.0, 4.0], |x| x[0] * x[1]).unwrap();
    assert!(matches!(tape.gradient(old), Err(Fault::MixedTraces { .. })));
    assert_eq!(tape.gradient(new).unwrap(), [4.0, 3.0]);
    let leaked = tape.record(&[1.0], |x| x[0]).unwrap();
    let error = tape.record(&[1.0], |x| x[0] * leaked).unwrap_err();
    assert!(error.to_string().contains("another recording"), "{error}");
    assert!(error.to_string().contains("tape.rs"), "{error}");
}

#[test]
fn numbers_of_two_tapes_do_not_mix_but_nested_tapes_do() {
    let mut outer = Tape::new();
    let mut inner = Tape::new();
    let result = outer.record(&[2.0], |x| {
        let mut y = x[0];
        // A second recording at the same level cannot use the first one's variable.
        let mixed = inner.record(&[3.0], |z| z[0] * x[0]);
        assert!(matches!(mixed, Err(Fault::MixedTraces { .. })));
        y *= 2.0;
        y
    });
    assert_eq!(outer.gradient(result.unwrap()).unwrap(), [2.0]);

    // Reverse over reverse: the second derivative of x³.
    let mut outer = Tape::new();
    let mut inner: Tape<Var> = Tape::new();
    let slope = outer
        .record(&[2.0], |x| {
            let y = inner.record(x, |z| z[0] * z[0] * z[0]).unwrap();
            inner.gradient(y).unwrap()[0]
        })
        .unwrap();
    assert_eq!(slope.peek(), 12.0);
    assert_eq!(outer.gradient(slope).unwrap(), [12.0]);
}

#[test]
fn outer_values_can_be_used_in_an_inner_recording() {
    // d/dx [ d/dy (x·y²) at y = 3 ] = 6
    let mut outer = Tape::new();
    let slope = outer
        .record(&[5.0], |x| {
            let x = x[0];
            let mut inner: Tape<Var> = Tape::new();
            let z = inner.record(&[x.like(3.0)], |y| x * y[0] * y[0]).unwrap();
            inner.gradient(z).unwrap()[0]
        })
        .unwrap();
    assert_eq!(outer.gradient(slope).unwrap(), [6.0]);
}

#[test]
fn a_variable_on_another_thread_is_a_fault() {
    let mut tape = Tape::new();
    tape.record(&[1.0], |x| {
        let x = x[0];
        let elsewhere = std::thread::spawn(move || fault::catch(|| x * 2.0).is_err());
        assert!(elsewhere.join().unwrap());
        x
    })
    .unwrap();
}

#[test]
fn a_replay_meets_its_guards() {
    fn relu3<S: Scalar>(x: S) -> S {
        if x > 0.0 { x.powi(3) } else { S::zero() }
    }
    let program = Program::record(&[2.0], |x| vec![relu3(x[0])]).unwrap();
    assert_eq!((program.guards(), program.operations()), (1, 1));
    let mut replay = Replay::new();
    program.replay(&[3.0], &mut replay).unwrap();
    assert_eq!(program.pullback(&[1.0], &mut replay).unwrap(), [27.0]);
    let refused = program.replay(&[-1.0], &mut replay).unwrap_err();
    assert!(matches!(refused, Fault::GuardFailed { .. }), "{refused}");
    // Recorded anew, the other side is right.
    let program = Program::record(&[-1.0], |x| vec![relu3(x[0])]).unwrap();
    program.replay(&[-3.0], &mut replay).unwrap();
    assert_eq!(program.pullback(&[1.0], &mut replay).unwrap(), [0.0]);
}

#[test]
fn select_is_replayed_without_a_guard() {
    fn huber<S: Scalar>(x: S) -> S {
        let small = x.abs().less(1.0);
        let negative = x.less(-10.0) | x.less(-20.0) & !x.greater(5.0);
        S::select(negative, 0.0, S::select(small, x * x * 0.5, x.abs() - 0.5))
    }
    let program = Program::record(&[0.3], |x| vec![huber(x[0])]).unwrap();
    assert_eq!(program.guards(), 0);
    let mut replay = Replay::new();
    for x in [0.3, -0.7, 4.0, -6.0, -11.0, -30.0] {
        program.replay(&[x], &mut replay).unwrap();
        let mut y = [0.0];
        program.values(&replay, &mut y).unwrap();
        assert_eq!(y[0], huber(x));
        let expected = huber(Dual::<f64, 1>::variable(x, 0)).partials[0];
        assert_eq!(program.pullback(&[1.0], &mut replay).unwrap(), [expected], "at {x}");
    }
}

#[test]
fn a_value_that_left_the_program_binds_it_to_that_value() {
    let program = Program::record(&[2.0, 5.0], |x| {
        let plain = x[0].value();
        vec![x[1] * plain]
    })
    .unwrap();
    let mut y = [0.0];
    program.evaluate(&[2.0, 7.0], &mut y).unwrap();
    assert_eq!(y, [14.0]);
    assert!(matches!(program.evaluate(&[3.0, 7.0], &mut y), Err(Fault::GuardFailed { .. })));
}

#[test]
fn a_program_runs_on_every_number() {
    let program =
        Program::record(&[0.3, 0.4, 0.5], |x| vec![rosenbrock(x), x[0].mul_add(x[1], x[2])])
            .unwrap();
    let x = [0.1, 0.2, 0.3];
    let mut y = [0.0; 2];
    program.evaluate(&x, &mut y).unwrap();
    assert_eq!(y, [rosenbrock(&x), 0.1_f64.mul_add(0.2, 0.3)]);
    let boxes = x.map(|v| cotangent_numbers::Interval::new(v - 0.01, v + 0.01));
    let mut bounds = [cotangent_numbers::Interval::ALL; 2];
    program.evaluate(&boxes, &mut bounds).unwrap();
    assert!(bounds[0].contains(y[0]) && bounds[1].contains(y[1]));
    let mut too_few = [0.0];
    assert!(matches!(program.evaluate(&x, &mut too_few), Err(Fault::Length { .. })));
    assert!(matches!(program.evaluate(&x[..2], &mut y), Err(Fault::Length { .. })));
}

#[test]
fn an_elementwise_map_is_one_node() {
    // Twelve operations an element.
    let twelve = kernel!(|x| {
        let a = x * x + 1.0;
        let b = a.sqrt() * x.sin();
        let c = (b - x).exp() + a;
        (c * 0.5 + b).ln() / a
    });
    let n = 10_000;
    let x: Vec<f64> = (0..n).map(|i| 0.1 + f64::from(i) * 1e-4).collect();
    let mut tape = Tape::new();
    let y = tape.record(&x, |x| linalg::sum(&map(&twelve, x))).unwrap();
    assert_eq!(tape.nodes(), 2);
    let fused = tape.gradient(y).unwrap().to_vec();
    let y = tape
        .record(&x, |x| {
            x.iter().map(|x| cotangent_numbers::Kernel::call(&twelve, [*x])).sum::<Var>()
        })
        .unwrap();
    assert_eq!(tape.nodes(), 12 * n as usize + n as usize - 1);
    for (a, b) in fused.iter().zip(tape.gradient(y).unwrap()) {
        assert!((a - b).abs() < 1e-13, "{a} {b}");
    }
}

#[test]
fn zips_and_fused_scalars_are_one_node_too() {
    let f = kernel!(|x, y| (x * y).sin() + y);
    let mut tape = Tape::new();
    let y = tape
        .record(&[1.0, 2.0, 3.0, 4.0], |x| {
            let z = zip(&f, &x[..2], &x[2..]);
            fuse(&f, [z[0], z[1]]) + fuse(&f, [x[0], Var::from(2.0)])
        })
        .unwrap();
    assert_eq!(tape.nodes(), 4);
    let gradient = tape.gradient(y).unwrap().to_vec();
    let plain = cotangent_numbers::forward::gradient(
        |x| {
            let g = |x: cotangent_numbers::Dual<f64, 8, _>,
                     y: cotangent_numbers::Dual<f64, 8, _>| (x * y).sin() + y;
            g(g(x[0], x[2]), g(x[1], x[3])) + g(x[0], Dual::fixed(2.0))
        },
        &[1.0, 2.0, 3.0, 4.0],
    );
    for (a, b) in gradient.iter().zip(plain) {
        assert!((a - b).abs() < 1e-14);
    }
    let short = fault::catch(|| zip(&f, &[1.0, 2.0], &[1.0])).unwrap_err();
    assert!(short.to_string().contains("the second array has 1 entries, 2 are needed"));
}

#[test]
fn array_nodes_are_replayed_and_nest() {
    let f = |x: &[Var]| {
        let product = linalg::mat_mul(&x[..4], &x[4..8], 2, 2, 2);
        vec![linalg::dot(&product, &x[..4]) + linalg::det(&product, 2), linalg::sum(&product)]
    };
    let x = [1.0, 0.5, -0.3, 2.0, 0.7, 1.1, -0.2, 0.9];
    let program = Program::record(&x, f).unwrap();
    let other: Vec<f64> = x.iter().map(|v| v * 1.3 + 0.1).collect();
    let mut replay = Replay::new();
    program.replay(&other, &mut replay).unwrap();
    let gradient = program.pullback(&[1.0, 2.0], &mut replay).unwrap().to_vec();
    let mut tape = Tape::new();
    let y = tape.record(&other, f).unwrap();
    assert_eq!(gradient, tape.pullback(&[(y[0], 1.0), (y[1], 2.0)]).unwrap());
    // A second derivative through a recorded array is refused, not guessed.
    let duals: Vec<Dual<f64, 1>> = other.iter().map(|v| Dual::new(*v, [1.0])).collect();
    let mut replay = Replay::new();
    assert!(matches!(program.replay(&duals, &mut replay), Err(Fault::RuleOrder { .. })));
    // Recorded on the duals themselves it is there.
    fn generic<S: Scalar>(x: &[S]) -> S {
        let product = linalg::mat_mul(&x[..4], &x[4..8], 2, 2, 2);
        linalg::dot(&product, &x[..4]) + linalg::det(&product, 2)
    }
    let mut tape = Tape::new();
    let y = tape.record(&duals, generic).unwrap();
    let product: Vec<f64> = tape.gradient(y).unwrap().iter().map(|g| g.partials[0]).collect();
    let step = 1e-6;
    let shifted = |sign: f64| {
        let x: Vec<f64> = other.iter().map(|v| v + sign * step).collect();
        let mut tape = Tape::new();
        let y = tape.record(&x, generic).unwrap();
        tape.gradient(y).unwrap().to_vec()
    };
    for ((h, a), b) in product.iter().zip(shifted(1.0)).zip(shifted(-1.0)) {
        assert!((h - (a - b) / (2.0 * step)).abs() < 1e-7, "{h} {}", (a - b) / (2.0 * step));
    }
}

#[test]
fn ten_million_operations_are_recorded_and_swept() {
    let mut tape = Tape::new();
    let n = 10_000_000;
    for _ in 0..2 {
        let y = tape
            .record(&[1.0 + 1e-9], |x| {
                let mut y = x[0];
                for _ in 0..n / 2 {
                    y *= x[0];
                    y += 0.0;
                }
                y
            })
            .unwrap();
        assert_eq!(tape.nodes(), n);
        // d/dx x^(k + 1) with k = n/2
        let k = (n / 2) as f64;
        let expected = (k + 1.0) * (1.0 + 1e-9_f64).powf(k);
        assert!((tape.gradient(y).unwrap()[0] / expected - 1.0).abs() < 1e-6);
    }
}

#[test]
fn constants_and_steps_leave_nothing_on_the_tape() {
    let mut tape = Tape::new();
    let y = tape.record(&[1.5], |x| (Var::<f64>::from(2.0) * 3.0).sin() + x[0].floor()).unwrap();
    assert_eq!(tape.nodes(), 0);
    assert_eq!(tape.gradient(y).unwrap(), [0.0]);
    // A program keeps the step: its value changes with the input.
    let program = Program::record(&[1.5], |x| vec![x[0].floor() * x[0]]).unwrap();
    let mut y = [0.0];
    program.evaluate(&[7.5], &mut y).unwrap();
    assert_eq!(y, [52.5]);
}

#[test]
fn a_sweep_needs_a_run_of_the_same_program() {
    let long = Program::record(&[0.5; 1000], |x| vec![x[999].sin()]).unwrap();
    let short = Program::record(&[0.5], |x| vec![x[0].sin()]).unwrap();
    let mut replay = Replay::new();
    assert_eq!(short.pullback(&[1.0], &mut replay), Err(Fault::NoReplay));
    assert_eq!(short.values(&replay, &mut [0.0]), Err(Fault::NoReplay));
    long.replay(&[0.5; 1000], &mut replay).unwrap();
    assert_eq!(short.pullback(&[1.0], &mut replay), Err(Fault::NoReplay));
    assert!(matches!(long.pullback(&[], &mut replay), Err(Fault::Length { .. })));
    assert!(long.clone().pullback(&[1.0], &mut replay).is_ok());
    // Nor does a run that did not come to its end count.
    assert!(long.replay(&[0.5], &mut replay).is_err());
    let branch = Program::record(&[1.0], |x| vec![if x[0] > 0.0 { x[0] } else { -x[0] }]).unwrap();
    branch.replay(&[2.0], &mut replay).unwrap();
    assert!(branch.replay(&[-2.0], &mut replay).is_err());
    assert_eq!(branch.pullback(&[1.0], &mut replay), Err(Fault::NoReplay));
}

#[test]
fn a_value_that_was_looked_at_binds_the_program_to_the_bit() {
    let f = |x: &[Var]| vec![if x[0].value().is_sign_negative() { -x[1] } else { x[1] }];
    let program = Program::record(&[0.0, 3.0], f).unwrap();
    let mut y = [0.0];
    program.evaluate(&[0.0, 5.0], &mut y).unwrap();
    assert_eq!(y, [5.0]);
    assert!(matches!(program.evaluate(&[-0.0, 5.0], &mut y), Err(Fault::GuardFailed { .. })));
}

#[test]
fn a_guard_comes_before_the_array_operation_that_it_guards() {
    let f = |x: &[Var]| {
        vec![if x[0] == 0.0 {
            x[1]
        } else {
            cotangent_numbers::linalg::solve(&x[..1], &x[1..], 1)[0]
        }]
    };
    let program = Program::record(&[2.0, 6.0], f).unwrap();
    let mut y = [0.0];
    program.evaluate(&[3.0, 6.0], &mut y).unwrap();
    assert_eq!(y, [2.0]);
    assert!(matches!(program.evaluate(&[0.0, 6.0], &mut y), Err(Fault::GuardFailed { .. })));
}

#[test]
fn a_recording_that_panicked_leaves_no_variable_valid() {
    let mut tape = Tape::new();
    let old = tape.record(&[1.0], |x| x[0].sin()).unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        tape.record(&[1.0, 2.0], |x| {
            let _ = x[0] * x[1];
            panic!("in the user's code");
        })
    }));
    assert!(panicked.is_err());
    assert!(matches!(tape.gradient(old), Err(Fault::MixedTraces { .. })));
}
