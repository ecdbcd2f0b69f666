//! Laws of derivatives, on random programs: forward, reverse, dual numbers and jets agree, to third order.

use cotangent_ir::{Function, Type, parse, trace, trace_at};
use cotangent_numbers::{Dual, Elementary, Scalar};
use cotangent_transform::{
    TransformError, gradient, hessian, jacobian, linearize, reverse, transpose,
};

/// A random program over any number, of so many operations; no branches.
fn program<S: Scalar>(seed: u64, operations: usize, x: &[S]) -> Vec<S> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut values = x.to_vec();
    for _ in 0..operations {
        // Recent values more often, so that programs are deep.
        let n = values.len();
        let mut pick =
            || values[if rng.bool() { n - 1 - rng.usize(..n.min(4)) } else { rng.usize(..n) }];
        let (a, b, c) = (pick(), pick(), pick());
        let small = |v: S| v * 0.3;
        values.push(match rng.u8(..26) {
            0 => a + b,
            1 => a - b,
            2 => small(a * b),
            3 => a / (b * b + 1.5),
            4 => a.sin(),
            5 => a.cos() * 1.1,
            6 => a.tanh(),
            7 => small(a).exp(),
            8 => (a * a + 0.7).ln(),
            9 => (a * a + b * b + 0.2).sqrt(),
            10 => (a * a + 0.5).powf(b.tanh()),
            11 => small(a).powi(3),
            12 => a.mul_add(b.sin(), c),
            13 => S::select(a.less(b), a * 0.5, b * 1.5),
            14 => S::select(a.less(b) | !b.less(c), a.sin(), c),
            15 => a.atan2(b * b + 1.0),
            16 => a.hypot(b * b + 1.0),
            17 => -a,
            18 => a.atan(),
            19 => a.asinh(),
            20 => small(a).sinh(),
            21 => small(a).cosh(),
            22 => a.abs() * 0.9,
            23 => a.max(b),
            24 => (a * a + 1.0).cbrt(),
            _ => small(a).erf(),
        });
    }
    let n = values.len();
    vec![values[n - 1], values[n - 1 - rng.usize(..n.min(3))] * 0.5 + values[n / 2]]
}

fn point(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed);
    (0..n).map(|_| 0.2 + 1.3 * (rng.f64() - 0.3)).collect()
}

fn traced(seed: u64, operations: usize, inputs: usize) -> Function {
    trace("f", inputs, |x| program(seed, operations, x)).unwrap()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b
        || (a.is_nan() && b.is_nan())
        || (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

#[track_caller]
fn same(seed: u64, what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len(), "{seed} {what}");
    for (a, b) in a.iter().zip(b) {
        assert!(close(*a, *b, tolerance), "seed {seed}, {what}: {a} for {b}");
    }
}

#[test]
fn forward_and_reverse_agree_with_dual_numbers_on_random_programs() {
    for seed in 0..2000 {
        let (operations, n) = (5 + (seed as usize * 7) % 196, 1 + seed as usize % 4);
        let (x, v) = (point(seed, n), point(seed + 1, n));
        let f = traced(seed, operations, n);
        let duals: Vec<Dual<f64, 1>> = x.iter().zip(&v).map(|(x, v)| Dual::new(*x, [*v])).collect();
        let dual = program(seed, operations, &duals);
        let run = f.run(&duals).unwrap();
        let values = |y: &[Dual<f64, 1>]| -> Vec<f64> { y.iter().map(|y| y.value).collect() };
        let (found, expected) = (values(&run), values(&dual));
        assert_eq!(found.map_bits(), expected.map_bits(), "{seed}: the trace is the program");
        // On plain numbers a program has functions of its own: the last digits differ.
        let direct = f.run(&x).unwrap();
        same(seed, "plain numbers", &direct, &program(seed, operations, &x), 1e-11);

        let forward = linearize(&f).unwrap();
        forward.verify().unwrap();
        let at = [&x[..], &v].concat();
        let found = forward.run(&at).unwrap();
        same(seed, "value", &found[..2], &direct, 0.0);
        same(seed, "tangent", &found[2..], &[dual[0].partials[0], dual[1].partials[0]], 1e-11);

        let backward = reverse(&f).unwrap();
        backward.verify().unwrap();
        let w = point(seed + 2, 2);
        let found_back = backward.run(&[&x[..], &w].concat()).unwrap();
        same(seed, "value", &found_back[..2], &direct, 0.0);
        // ⟨w, J v⟩ = ⟨Jᵀ w, v⟩
        let left: f64 = w.iter().zip(&found[2..]).map(|(w, t)| w * t).sum();
        let right: f64 = v.iter().zip(&found_back[2..]).map(|(v, g)| v * g).sum();
        assert!(close(left, right, 1e-10), "seed {seed}: {left} and {right}");

        // The Jacobian, by whichever mode, times v.
        let full = jacobian(&f).unwrap();
        full.verify().unwrap();
        let entries = full.run(&x).unwrap();
        let product: Vec<f64> = entries[2..]
            .chunks(n)
            .map(|row| row.iter().zip(&v).map(|(j, v)| j * v).sum())
            .collect();
        same(seed, "Jacobian", &product, &found[2..], 1e-10);

        // Text in between changes nothing.
        let again = parse(&backward.to_string()).unwrap();
        assert_eq!(again.to_string(), backward.to_string());
        same(seed, "parsed", &again.run(&[&x[..], &w].concat()).unwrap(), &found_back, 0.0);
    }
}

trait Bits {
    fn map_bits(&self) -> Vec<u64>;
}

impl Bits for Vec<f64> {
    fn map_bits(&self) -> Vec<u64> {
        self.iter().map(|v| v.to_bits()).collect()
    }
}

/// Third derivatives along one direction: three times forward, and the gradient twice forward.
#[test]
fn third_order_by_nesting_agrees_with_nested_dual_numbers() {
    type D1 = Dual<f64, 1>;
    type D2 = Dual<D1, 1>;
    type D3 = Dual<D2, 1>;
    for seed in 0..300 {
        let (operations, n) = (5 + seed as usize % 40, 1 + seed as usize % 3);
        let (x, v) = (point(seed, n), point(seed + 9, n));
        let f = traced(seed, operations, n);
        // Along v at every level: f, f′, f″, f‴ of t ↦ f(x + t v).
        let third = linearize(&linearize(&linearize(&f).unwrap()).unwrap()).unwrap();
        third.verify().unwrap();
        let zeros = vec![0.0; n];
        let at: Vec<f64> = [&x, &v, &v, &zeros, &v, &zeros, &zeros, &zeros]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let found = third.run(&at).unwrap();
        let nested: Vec<D3> = x
            .iter()
            .zip(&v)
            .map(|(x, v)| {
                let d1 = |value: f64, d: f64| D1::new(value, [d]);
                let d2 = |value: D1, d: D1| D2::new(value, [d]);
                let inner = d2(d1(*x, *v), d1(*v, 0.0));
                let outer = d2(d1(*v, 0.0), d1(0.0, 0.0));
                D3::new(inner, [outer])
            })
            .collect();
        let expected = program(seed, operations, &nested);
        let last: Vec<f64> =
            expected.iter().map(|y| y.partials[0].partials[0].partials[0]).collect();
        same(seed, "third derivative", &found[found.len() - 2..], &last, 1e-8);

        let third = trace("one", n, |x| vec![program(seed, operations, x)[0]]).unwrap();
        let full = hessian(&third).unwrap();
        full.verify().unwrap();
        let full = full.run(&x).unwrap();
        let by_rows = &full[1 + n..];
        for i in 0..n {
            for j in 0..n {
                let (a, b) = (by_rows[i * n + j], by_rows[j * n + i]);
                assert!(close(a, b, 1e-8), "seed {seed}: {a} and {b} are mirror images");
            }
        }
        // The Hessian times v: forward over reverse, reverse over forward, and the whole.
        let one = trace("one", n, |x| vec![program(seed, operations, x)[0]]).unwrap();
        let over = linearize(&gradient(&one).unwrap()).unwrap();
        let products = over.run(&[&x[..], &v].concat()).unwrap();
        let hv = &products[products.len() - n..];
        let along = linearize(&one).unwrap();
        let under = reverse(&along).unwrap();
        let seeds = [0.0, 1.0];
        let back = under.run(&[&x[..], &v, &seeds].concat()).unwrap();
        same(seed, "Hessian times vector", hv, &back[2..2 + n], 1e-8);
        let product: Vec<f64> =
            by_rows.chunks(n).map(|row| row.iter().zip(&v).map(|(h, v)| h * v).sum()).collect();
        same(seed, "Hessian", hv, &product, 1e-8);
    }
}

#[test]
fn every_operation_has_its_derivative_both_ways() {
    use cotangent_ops::Opcode;
    let mut rng = fastrand::Rng::with_seed(77);
    for code in Opcode::ALL {
        let info = code.info();
        let parameter = if cotangent_ir::takes_parameter(*code) { 2 } else { 0 };
        let mut b = cotangent_ir::Builder::new(info.name);
        let params: Vec<_> = (0..info.arity).map(|k| b.param(format!("x{k}"), Type::F64)).collect();
        let y = b.elementary(*code, parameter, &params);
        let f = b.finish(vec![y]);
        let (forward, backward) = (linearize(&f).unwrap(), gradient(&f).unwrap());
        for _ in 0..20 {
            let x: Vec<f64> = (0..info.arity)
                .map(|k| info.sample[k].0 + rng.f64() * (info.sample[k].1 - info.sample[k].0))
                .collect();
            let found = backward.run(&x).unwrap();
            for k in 0..info.arity {
                let mut at = x.clone();
                at.extend((0..info.arity).map(|j| if j == k { 1.0 } else { 0.0 }));
                let tangent = forward.run(&at).unwrap()[1];
                assert!(
                    close(tangent, found[1 + k], 1e-14),
                    "{}: {tangent}, {}",
                    info.name,
                    found[1 + k]
                );
                let duals: Vec<Dual<f64, 1>> = x
                    .iter()
                    .enumerate()
                    .map(|(j, x)| {
                        let partials = [if j == k { 1.0 } else { 0.0 }];
                        Dual::new(*x, partials)
                    })
                    .collect();
                let expected = f.run(&duals).unwrap()[0].partials[0];
                assert!(close(tangent, expected, 1e-12), "{}: {tangent} for {expected}", info.name);
            }
        }
    }
}

#[test]
fn singles_guards_and_zero_derivatives() {
    let single = parse("fn @s(%x: f32) -> f32 { %y = mul %x, %x %z = exp %y ret %z }").unwrap();
    let g = gradient(&single).unwrap();
    g.verify().unwrap();
    assert!(g.params().iter().all(|p| p.ty == Type::F32));
    // A branch keeps its guard, and the derivative is right on both sides.
    let branch =
        |at: f64| trace_at("b", &[at], |x| vec![if x[0] > 1.0 { x[0] * x[0] } else { x[0].sin() }]);
    let (above, below) = (branch(2.0).unwrap(), branch(0.0).unwrap());
    assert_eq!(gradient(&above).unwrap().run(&[3.0]).unwrap(), [9.0, 6.0]);
    assert!(gradient(&above).unwrap().run(&[0.5]).is_err());
    assert_eq!(gradient(&below).unwrap().run(&[0.5]).unwrap()[1], 0.5_f64.cos());
    // A zero cotangent stays zero through an infinite partial; what does not depend costs nothing.
    let root = trace("r", 2, |x| vec![(x[0] * 0.0).sqrt() + x[1].floor()]).unwrap();
    assert_eq!(gradient(&root).unwrap().run(&[3.0, 1.5]).unwrap(), [1.0, 0.0, 0.0]);
    let none = trace("n", 1, |_| vec![2.0.into()]).unwrap();
    assert_eq!(gradient(&none).unwrap().run(&[1.0]).unwrap(), [2.0, 0.0]);
}

#[test]
fn what_cannot_be_transformed_is_named() {
    let two = parse("fn @two(%x: f64) -> (f64, f64) { %y = sin %x ret %x, %y }").unwrap();
    assert!(matches!(gradient(&two), Err(TransformError::NotOne { results: 2, .. })));
    let mixed = parse("fn @m(%x: f64, %y: f32) -> (f64, f32) { ret %x, %y }").unwrap();
    assert!(matches!(linearize(&mixed), Err(TransformError::Mixed { .. })));
    assert!(matches!(transpose(&two, 0), Err(TransformError::NotLinear { result: 0, .. })));
    assert!(matches!(transpose(&two, 5), Err(TransformError::Primals { .. })));
    let bent = parse("fn @b(%x: lin f64) -> f64 { %y = sin %x ret %y }").unwrap();
    assert!(bent.verify().unwrap_err().to_string().contains("not linear"));
    assert!(matches!(transpose(&bent, 0), Err(TransformError::Verify(_))));
    let affine = parse("fn @a(%x: lin f64) -> f64 { %y = add %x, 1.0 ret %y }").unwrap();
    assert!(affine.verify().is_err());
    let _ = Elementary::value(0.0);
}

/// Reverse mode costs a few times the function, whatever the number of inputs.
#[test]
fn a_gradient_takes_few_operations() {
    let mut ratios: Vec<f64> = (0..200)
        .map(|seed| {
            let f = trace("f", 3, |x| vec![program(seed, 60, x)[0]]).unwrap();
            gradient(&f).unwrap().operations() as f64 / f.operations().max(1) as f64
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[100] < 5.0 && ratios[199] < 8.0, "{} {}", ratios[100], ratios[199]);
}

#[test]
fn a_function_with_branches_is_traced_anew_where_they_go_another_way() {
    let body = |x: &[cotangent_ir::Traced]| {
        let mut y = x[0];
        let mut steps = 0;
        while y < 10.0 && steps < 30 {
            y = if y > 2.0 { y * y } else { y * 2.0 + 0.1 };
            steps += 1;
        }
        vec![y]
    };
    let f = cotangent_ir::Retraced::with("f", body, |f| {
        gradient(f).map_err(|error| match error {
            TransformError::Number(fault) => fault,
            other => panic!("{other}"),
        })
    });
    let plain = |x: f64| {
        let mut y = x;
        let mut steps = 0;
        while y < 10.0 && steps < 30 {
            y = if y > 2.0 { y * y } else { y * 2.0 + 0.1 };
            steps += 1;
        }
        y
    };
    for k in 0..200 {
        let x = 0.05 + 0.05 * f64::from(k);
        let found = f.run(&[x]).unwrap();
        assert_eq!(found[0], plain(x));
        let h = 1e-7;
        let difference = (plain(x + h) - plain(x - h)) / (2.0 * h);
        // Where a branch changes within the difference it says nothing.
        if (plain(x + h) - plain(x - h)).abs() < 1e-3 {
            assert!(close(found[1], difference, 1e-4), "{x}: {} for {difference}", found[1]);
        }
    }
    assert!((2..=12).contains(&f.traces()), "{}", f.traces());
}

#[test]
fn series_agree_with_those_of_the_numbers() {
    use cotangent_numbers::Jet;
    const L: usize = 9;
    for seed in 0..200 {
        let (operations, n) = (5 + seed as usize % 60, 1 + seed as usize % 3);
        let f = traced(seed, operations, n);
        let series = cotangent_transform::jet(&f, L - 1).unwrap();
        series.verify().unwrap();
        let coefficients = point(seed + 3, n * L);
        let x: Vec<Jet<f64, L>> = coefficients
            .chunks(L)
            .map(|c| Jet { coefficients: std::array::from_fn(|k| c[k] / (1.0 + k as f64)) })
            .collect();
        let flat: Vec<f64> = x.iter().flat_map(|x| x.coefficients).collect();
        let expected: Vec<f64> =
            program(seed, operations, &x).iter().flat_map(|y| y.coefficients).collect();
        let found = series.run(&flat).unwrap();
        // Coefficients of high order may be large: relative to the largest.
        let size = expected.iter().fold(1.0, |most: f64, y| most.max(y.abs()));
        for (a, b) in found.iter().zip(&expected) {
            assert!(
                (a - b).abs() <= 1e-9 * size || (a.is_nan() && b.is_nan()),
                "seed {seed}: {a} for {b}"
            );
        }
    }
    let f = traced(1, 5, 1);
    assert!(matches!(cotangent_transform::jet(&f, 0), Err(TransformError::Order { .. })));
    assert!(matches!(
        cotangent_transform::jet(&f, 99),
        Err(TransformError::Order { most: 64, .. })
    ));
}

/// A step of a pendulum by its Taylor series of order 8, coefficient by coefficient from the program of its
/// motion, against many small steps.
#[test]
fn a_pendulum_steps_by_its_series() {
    // angle′ = speed, speed′ = −sin angle
    let motion = parse(
        "fn @motion(%angle: f64, %speed: f64) -> (f64, f64) { %s = sin %angle %a = neg %s ret %speed, %a }",
    )
    .unwrap();
    const ORDER: usize = 8;
    let series = cotangent_transform::jet(&motion, ORDER).unwrap();
    let (mut angle, mut speed) = ([0.0; ORDER + 1], [0.0; ORDER + 1]);
    (angle[0], speed[0]) = (1.0, 0.5);
    for k in 0..ORDER {
        let rates = series.run(&[&angle[..], &speed[..]].concat()).unwrap();
        angle[k + 1] = rates[k] / (k + 1) as f64;
        speed[k + 1] = rates[ORDER + 1 + k] / (k + 1) as f64;
    }
    let h = 0.2;
    let at = |c: &[f64]| c.iter().rev().fold(0.0, |sum, c| sum * h + c);
    let (mut a, mut s) = (1.0_f64, 0.5_f64);
    let steps = 20_000;
    let dt = h / f64::from(steps);
    for _ in 0..steps {
        let (ma, ms) = (a + 0.5 * dt * s, s - 0.5 * dt * a.sin());
        (a, s) = (a + dt * ms, s - dt * ma.sin());
    }
    assert!((at(&angle) - a).abs() < 1e-9 && (at(&speed) - s).abs() < 1e-9);
}
