//! Sparsity patterns of programs with arrays, kernels, loops and branches.

mod random;

use cotangent_ir::{
    RunError, hessian_pattern, jacobian_pattern, local_hessian_pattern, local_jacobian_pattern,
    parse,
};
use cotangent_numbers::{Dual, Interval};
use random::{INPUTS, point, program};

fn pattern(text: &str) -> String {
    jacobian_pattern(&parse(text).unwrap()).unwrap().to_string()
}

#[test]
fn patterns_hold_the_nonzeros_of_jacobians_at_random_points() {
    let mut met = 0;
    let mut sparse = 0;
    for seed in 0..600 {
        let f = program(seed);
        let global = jacobian_pattern(&f).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        sparse += usize::from(global.nnz() < global.nrows() * global.ncols());
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..6 {
            let x = point(&mut rng);
            let Ok(local) = local_jacobian_pattern(&f, &x) else { continue };
            assert!(local.entries().all(|(i, j)| global.contains(i, j)), "seed {seed}\n{f}");
            for j in 0..INPUTS {
                let seeded: Vec<Dual<f64>> = (0..INPUTS)
                    .map(|k| Dual::new(x[k], [if k == j { 1.0 } else { 0.0 }]))
                    .collect();
                for (i, y) in f.run(&seeded).unwrap().iter().enumerate() {
                    if y.partials[0] != 0.0 && !y.partials[0].is_nan() {
                        met += 1;
                        assert!(global.contains(i, j), "seed {seed}: ({i}, {j}) is missed\n{f}");
                        assert!(
                            local.contains(i, j),
                            "seed {seed}: ({i}, {j}) is missed at {x:?}\n{f}"
                        );
                    }
                }
            }
        }
    }
    assert!(met > 5000 && sparse > 200, "{met} {sparse}");
}

#[test]
fn patterns_hold_the_nonzeros_of_hessians_at_random_points() {
    let mut met = 0;
    for seed in 0..300 {
        let f = program(seed);
        let global = hessian_pattern(&f).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{f}"));
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..3 {
            let x = point(&mut rng);
            let Ok(local) = local_hessian_pattern(&f, &x) else { continue };
            assert!(local.entries().all(|(i, j)| global.contains(i, j)), "seed {seed}\n{f}");
            for (i, j) in (0..INPUTS).flat_map(|i| (0..INPUTS).map(move |j| (i, j))) {
                let seeded: Vec<Dual<Dual<f64>>> = (0..INPUTS)
                    .map(|k| {
                        let of = |l: usize| if k == l { 1.0 } else { 0.0 };
                        Dual::new(Dual::new(x[k], [of(i)]), [Dual::fixed(of(j))])
                    })
                    .collect();
                let entries = f.run(&seeded).unwrap();
                if entries
                    .iter()
                    .map(|y| y.partials[0].partials[0])
                    .any(|h| h != 0.0 && !h.is_nan())
                {
                    met += 1;
                    assert!(global.contains(i, j), "seed {seed}: ({i}, {j}) is missed\n{f}");
                }
            }
        }
    }
    assert!(met > 1000, "{met}");
}

#[test]
fn a_loop_of_unknown_rounds_carries_dependences_all_the_way() {
    // Each round moves the array on by one place: after any number, the first may be any.
    let text = "fn @f(%x: [5]f64) -> f64 {
      %y, _ = while (%y = %x) {
        %a = ld %y[0]
        %c = lt %a, 1.0
        yield %c
      } do {
        %z = tab (%i < 5) { %j = iadd %i, 1 %k = irem %j, 5 %v = ld %y[%k] yield %v }
        yield %z
      }
      %r = ld %y[0]
      ret %r
    }";
    assert_eq!(pattern(text), "11111\n");
    // Interactions are passed on likewise.
    let text = "fn @f(%x: [5]f64) -> f64 {
      %y, %p, _ = while (%y = %x, %p = 1.0) {
        %c = lt %p, 1.0
        yield %c
      } do {
        %z = tab (%i < 5) { %j = iadd %i, 1 %k = irem %j, 5 %v = ld %y[%k] yield %v }
        %a = ld %y[0]
        %b = ld %y[1]
        %m = mul %a, %b
        %q = add %p, %m
        yield %z, %q
      }
      ret %p
    }";
    // The condition is known to fail at first.
    assert_eq!(pattern(text), "·····\n");
    let open = text.replace("%c = lt %p, 1.0", "%l = ld %y[4] %c = lt %l, 1.0");
    let h = hessian_pattern(&parse(&open).unwrap()).unwrap();
    // In each round neighbours interact, wherever the array has been moved to.
    assert!((0..5).all(|i| h.contains(i, (i + 1) % 5) && h.contains((i + 1) % 5, i)), "{h}");
}

#[test]
fn what_no_input_decides_is_followed_as_it_goes() {
    let text = "fn @f(%x: [4]f64) -> [4]f64 {
      %y = tab (%i < 4) {
        %c = gt %i, 0
        %v = if %c { %j = isub %i, 1 %a = ld %x[%j] yield %a } else { yield 0.0 }
        %b = ld %x[%i]
        %s = add %v, %b
        yield %s
      }
      ret %y
    }";
    assert_eq!(pattern(text), "1···\n11··\n·11·\n··11\n");
    let text = "fn @f(%x: [4]f64) -> f64 {
      %s, _, _ = while (%s = 0.0, %k = 0) { %c = lt %k, 2 yield %c } do {
        %a = ld %x[%k]
        %t = add %s, %a
        %n = iadd %k, 1
        yield %t, %n
      }
      ret %s
    }";
    assert_eq!(pattern(text), "11··\n");
}

#[test]
fn an_index_that_inputs_decide_picks_any_element() {
    let text = "fn @f(%x: [3]f64, %a: f64) -> (f64, [3]f64) {
      %k = cast %a : i64
      %i = irem %k, 3
      %y = ld %x[%i]
      %z = fill 0.0 : [3]f64
      %w = put %z[%i], %a
      ret %y, %w
    }";
    assert_eq!(pattern(text), "111·\n···1\n···1\n···1\n");
    // A matrix of which one index is known.
    let text = "fn @f(%x: [2, 3]f64, %a: f64) -> f64 {
      %k = cast %a : i64
      %i = irem %k, 2
      %y = ld %x[%i, 1]
      ret %y
    }";
    assert_eq!(pattern(text), "·1··1··\n");
    let text = "fn @f(%x: [3]f64) -> [3]f64 {
      %o = argsort %x
      %y = tab (%i < 3) { %k = ld %o[%i] %v = ld %x[%k] yield %v }
      ret %y
    }";
    assert_eq!(pattern(text), "111\n111\n111\n");
    let text = "fn @f(%x: [3]f64, %n: i64) -> f64 {
      %p = for %i < %n (%p = 1.0) { %a = ld %x[%i] %q = mul %p, %a yield %q }
      ret %p
    }";
    assert_eq!(pattern(text), "111·\n");
}

#[test]
fn stacked_values_of_unknown_number_stand_for_each_other() {
    // The gradient of a loop whose rounds the input decides.
    let text = "fn @f(%a: f64, %b: f64, %u: f64) -> f64 {
      %x, %s, %n = while (%x = %a) { %c = lt %x, %b yield %c } do { %y = mul %x, %b yield %y, %x }
      %r = for %j < %n (%r = 0.0) {
        %m = isub %n, 1
        %k = isub %m, %j
        %v = ld %s[%k]
        %w = add %r, %v
        yield %w
      }
      ret %r
    }";
    assert_eq!(pattern(text), "11·\n");
}

#[test]
fn undecided_branches_and_loops_in_kernels_go_lane_by_lane() {
    let text = "fn @f(%x: [300]f64) -> f64 {
      %y = tab (%i < 300) {
        %a = ld %x[%i]
        %c = lt %a, 0.5
        %b = if %c { %d = mul %a, %a yield %d } else { yield %a }
        yield %b
      }
      %s = red sum (%i < 300) { %a = ld %y[%i] yield %a }
      ret %s
    }";
    let f = parse(text).unwrap();
    assert_eq!(jacobian_pattern(&f).unwrap().nnz(), 300);
    let h = hessian_pattern(&f).unwrap();
    assert_eq!(h.nnz(), 300);
    assert!((0..300).all(|i| h.contains(i, i)));
    // Intervals: some of the lanes are decided.
    let x: Vec<Interval> =
        (0..300).map(|i| Interval::new(f64::from(i) / 300.0, f64::from(i + 2) / 300.0)).collect();
    let y = f.run(&x).unwrap();
    let at = |t: f64| -> f64 {
        let x: Vec<f64> = (0..300).map(|i| (f64::from(i) + 2.0 * t) / 300.0).collect();
        f.run(&x).unwrap()[0]
    };
    assert!([0.0, 0.3, 0.7, 1.0].into_iter().all(|t| y[0].contains(at(t))), "{y:?}");
}

#[test]
fn a_loop_that_intervals_do_not_decide_is_enclosed() {
    let text = "fn @f(%a: f64) -> f64 {
      %x, _ = while (%x = %a) { %c = gt %x, 1.0 yield %c } do {
        %h = mul %x, 0.5
        %s = sin %h
        %t = mul %s, 0.9
        yield %t
      }
      ret %x
    }";
    let f = parse(text).unwrap();
    let y = f.run(&[Interval::new(0.5, 3.0)]).unwrap()[0];
    for k in 0..=100 {
        let x = 0.5 + 2.5 * f64::from(k) / 100.0;
        assert!(y.contains(f.run(&[x]).unwrap()[0]), "{y} at {x}");
    }
}

#[test]
fn lengths_that_inputs_decide_are_an_error() {
    let f = parse(
        "fn @f(%a: f64) -> f64 { %x, %s, %n = while (%x = %a) { %c = lt %x, 1.0 yield %c } do \
         { %y = mul %x, 2.0 yield %y, %x } %z = add %x, 1.0 ret %z }",
    )
    .unwrap();
    assert_eq!(jacobian_pattern(&f).unwrap().to_string(), "1\n");
    let g = parse("fn @g<n>(%x: [n]f64) -> [n]f64 { %y = sin %x ret %y }").unwrap();
    assert!(matches!(jacobian_pattern(&g), Err(RunError::Symbol { .. })));
}
