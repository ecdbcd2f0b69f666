//! Contraction of boxes and enclosures of zeros.

use cotangent_ir::{Contracted, Function, Traced, contract, parse, roots, trace, unrolled};
use cotangent_numbers::{Elementary, Interval};

fn square(inputs: usize, f: impl FnOnce(&[Traced]) -> Vec<Traced>) -> Function {
    trace("f", inputs, f).unwrap()
}

/// Every zero that a fine grid and Newton steps from it find lies in an enclosure.
#[track_caller]
fn none_is_lost(f: &Function, sides: &[Interval], steps: usize) -> usize {
    let n = sides.len();
    let found = roots(f, sides, 1e-9).unwrap();
    let mut known: Vec<Vec<f64>> = Vec::new();
    for cell in 0..steps.pow(n as u32) {
        let mut x: Vec<f64> = (0..n)
            .map(|k| {
                let at = (cell / steps.pow(k as u32)) % steps;
                sides[k].low() + (at as f64 + 0.5) * sides[k].width() / steps as f64
            })
            .collect();
        for _ in 0..30 {
            let Some(step) = newton(f, &x) else { break };
            x.iter_mut().zip(&step).for_each(|(x, d)| *x -= d);
        }
        let y = f.run(&x).unwrap();
        let inside = x.iter().zip(sides).all(|(x, s)| s.contains(*x));
        if !inside || y.iter().any(|y| y.is_nan() || y.abs() >= 1e-12) {
            continue;
        }
        let holds = |e: &cotangent_ir::Enclosure| {
            e.sides.iter().zip(&x).all(|(s, x)| s.low() - 1e-9 <= *x && *x <= s.high() + 1e-9)
        };
        assert!(found.iter().any(holds), "{x:?} is in none of {found:?}");
        if !known.iter().any(|k| k.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-7)) {
            known.push(x);
        }
    }
    assert!(found.iter().all(|e| e.unique), "{found:?}");
    assert_eq!(found.len(), known.len(), "{found:?} for {known:?}");
    found.len()
}

fn newton(f: &Function, x: &[f64]) -> Option<Vec<f64>> {
    let n = x.len();
    let y = f.run(x).ok()?;
    let mut a = vec![vec![0.0; n + 1]; n];
    for j in 0..n {
        let mut near = x.to_vec();
        near[j] += 1e-7;
        let z = f.run(&near).ok()?;
        (0..n).for_each(|i| a[i][j] = (z[i] - y[i]) / 1e-7);
    }
    (0..n).for_each(|i| a[i][n] = y[i]);
    for k in 0..n {
        let p = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs()))?;
        a.swap(k, p);
        if a[k][k].abs() < 1e-12 {
            return None;
        }
        for i in (0..n).filter(|i| *i != k) {
            let factor = a[i][k] / a[k][k];
            for j in k..=n {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    Some((0..n).map(|i| a[i][n] / a[i][i]).collect())
}

#[test]
fn all_zeros_of_known_systems_are_found() {
    let wide = |n: usize| vec![Interval::new(-2.0, 2.0); n];
    let cubic = square(2, |x| vec![x[0].powi(2) + x[1].powi(2) - 1.0, x[1] - x[0].powi(3)]);
    assert_eq!(none_is_lost(&cubic, &wide(2), 12), 2);
    let polynomial = square(1, |x| {
        vec![(x[0] - 1.0) * (x[0] + 1.0) * (x[0] - 0.5) * (x[0] + 1.5) * (x[0] - 1.75)]
    });
    assert_eq!(none_is_lost(&polynomial, &wide(1), 400), 5);
    // Zeros of sin on the halves of boxes, and one at 0.
    let waves = square(1, |x| vec![x[0].sin()]);
    assert_eq!(none_is_lost(&waves, &[Interval::new(-10.0, 10.0)], 400), 7);
    // Two circles.
    let circles = square(2, |x| {
        vec![x[0].powi(2) + x[1].powi(2) - 1.0, (x[0] - 0.5).powi(2) + (x[1] - 0.5).powi(2) - 1.0]
    });
    assert_eq!(none_is_lost(&circles, &wide(2), 12), 2);
    // Two quadrics: four zeros by symmetry.
    let conics = square(2, |x| vec![x[0].powi(2) - x[1].powi(2) * 2.0 + 0.25, x[0] * x[1] - 0.25]);
    none_is_lost(&conics, &wide(2), 20);
    let transcendental = square(2, |x| vec![x[0].exp() - x[1] - 1.5, x[0].cos() - x[1].sin()]);
    none_is_lost(&transcendental, &[Interval::new(-3.0, 3.0), Interval::new(-3.0, 3.0)], 30);
}

#[test]
fn the_banded_function_of_broyden_has_one_zero_here() {
    let f = parse(
        "fn @broyden(%x: [3]f64) -> [3]f64 {
          %y = tab (%i < 3) {
            %a = ld %x[%i]
            %q = mul %a, %a
            %r = mul %q, 5.0
            %t = add %r, 2.0
            %o = mul %a, %t
            %p = add %o, 1.0
            %s = red sum (%j < 3) {
              %e = ne %i, %j
              %v = if %e { %b = ld %x[%j] %c = add %b, 1.0 %d = mul %b, %c yield %d } else { yield 0.0 }
              yield %v
            }
            %z = sub %p, %s
            yield %z
          }
          ret %y
        }",
    )
    .unwrap();
    let sides = [Interval::new(-1.0, 1.0); 3];
    let found = roots(&f, &sides, 1e-10).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].unique && found[0].sides.iter().all(|s| s.width() < 1e-10), "{}", found[0]);
    let at: Vec<f64> = found[0].sides.iter().map(|s| s.midpoint()).collect();
    assert!(f.run(&at).unwrap().iter().all(|y| y.abs() < 1e-9));
    assert_eq!(none_is_lost(&unrolled(&f).unwrap(), &sides, 6), 1);
}

#[test]
fn boxes_without_zeros_are_proven_to_have_none() {
    let f = square(2, |x| vec![x[0].powi(2) + x[1].powi(2) - 1.0, x[1] - x[0].powi(3)]);
    assert!(
        roots(&f, &[Interval::new(0.9, 2.0), Interval::new(-2.0, 2.0)], 1e-9).unwrap().is_empty()
    );
    let g = square(1, |x| vec![x[0].exp() + x[0].powi(2)]);
    assert!(roots(&g, &[Interval::new(-1e6, 1e6)], 1e-9).unwrap().is_empty());
    let h = square(1, |x| vec![x[0].sqrt() + 1.0]);
    assert!(roots(&h, &[Interval::new(-5.0, 5.0)], 1e-9).unwrap().is_empty());
}

#[test]
fn double_zeros_and_jumps_are_enclosed_without_proof() {
    let f = square(1, |x| vec![(x[0] - 0.3).powi(2)]);
    let found = roots(&f, &[Interval::new(-1.0, 1.0)], 1e-6).unwrap();
    assert!(found.iter().any(|e| e.sides[0].contains(0.3)), "{found:?}");
    assert!(found.iter().all(|e| !e.unique && e.sides[0].width() < 1e-4), "{found:?}");
    // A jump through zero is none that is one.
    let g = square(1, |x| vec![x[0].floor() + 0.5]);
    assert!(roots(&g, &[Interval::new(-1.0, 1.0)], 1e-6).unwrap().iter().all(|e| !e.unique));
    let h =
        square(1, |x| vec![Traced::select(x[0].less(0.1), Traced::from(-1.0), Traced::from(1.0))]);
    let found = roots(&h, &[Interval::new(-1.0, 1.0)], 1e-6).unwrap();
    assert!(found.iter().all(|e| !e.unique), "{found:?}");
}

#[test]
fn contraction_keeps_every_point_with_results_in_bounds() {
    // One operation each, around random points of its domain.
    type Case = (&'static str, fn(Traced, Traced) -> Traced, (f64, f64), (f64, f64));
    let whole = (-3.0, 3.0);
    let cases: [Case; 34] = [
        ("add", |x, y| x + y, whole, whole),
        ("sub", |x, y| x - y, whole, whole),
        ("mul", |x, y| x * y, whole, whole),
        ("div", |x, y| x / y, whole, whole),
        ("neg", |x, y| -x + y, whole, whole),
        ("abs", |x, y| x.abs() + y, whole, whole),
        ("recip", |x, y| x.recip() * y, whole, whole),
        ("sqrt", |x, y| x.sqrt() + y, (0.0, 4.0), whole),
        ("cbrt", |x, y| x.cbrt() + y, whole, whole),
        ("exp", |x, y| x.exp() - y, whole, whole),
        ("exp2", |x, y| x.exp2() - y, whole, whole),
        ("exp_m1", |x, y| x.exp_m1() - y, whole, whole),
        ("ln", |x, y| x.ln() - y, (0.01, 4.0), whole),
        ("log2", |x, y| x.log2() - y, (0.01, 4.0), whole),
        ("log10", |x, y| x.log10() - y, (0.01, 4.0), whole),
        ("ln_1p", |x, y| x.ln_1p() - y, (-0.9, 4.0), whole),
        ("sin", |x, y| x.sin() * y, (-20.0, 20.0), whole),
        ("cos", |x, y| x.cos() * y, (-20.0, 20.0), whole),
        ("tan", |x, y| x.tan() * y, (-20.0, 20.0), whole),
        ("asin", |x, y| x.asin() * y, (-1.0, 1.0), whole),
        ("acos", |x, y| x.acos() * y, (-1.0, 1.0), whole),
        ("atan", |x, y| x.atan() * y, whole, whole),
        ("sinh", |x, y| x.sinh() * y, whole, whole),
        ("cosh", |x, y| x.cosh() * y, whole, whole),
        ("tanh", |x, y| x.tanh() * y, whole, whole),
        ("asinh", |x, y| x.asinh() * y, whole, whole),
        ("sigmoid", |x, y| x.sigmoid() * y, whole, whole),
        ("softplus", |x, y| x.softplus() * y, whole, whole),
        ("powi", |x, y| x.powi(4) + y.powi(5), whole, whole),
        ("powi down", |x, y| x.powi(-3) + y.powi(-2), whole, whole),
        ("powf", |x, y| x.powf(y), (0.01, 4.0), whole),
        ("hypot", |x, y| x.hypot(y), whole, whole),
        ("max", |x, y| x.max(y * 2.0), whole, whole),
        ("floor", |x, y| x.floor() + y.ceil().min(x) + y.round().mul_add(x, y), whole, whole),
    ];
    let mut rng = fastrand::Rng::with_seed(7);
    let mut narrower = 0;
    for (name, f, of_x, of_y) in cases {
        let f = square(2, |x| vec![f(x[0], x[1])]);
        for _ in 0..200 {
            let mut draw = |(low, high): (f64, f64)| low + (high - low) * rng.f64();
            let at = [draw(of_x), draw(of_y)];
            let mut around = |x: f64, (low, high): (f64, f64)| {
                let (a, b) = (rng.f64() * 4.0, rng.f64() * 4.0);
                Interval::new((x - a).max(low - 2.0), (x + b).min(high + 2.0))
            };
            let before = [around(at[0], of_x), around(at[1], of_y)];
            let Ok(y) = f.run(&at.map(Interval::point)) else { continue };
            if y[0].is_empty() || !y[0].is_total() {
                continue;
            }
            let bounds = Interval::new(y[0].low() - rng.f64() * 0.1, y[0].high() + rng.f64() * 0.1);
            let mut sides = before;
            let found = contract(&f, &mut sides, &[bounds]).unwrap();
            assert_ne!(found, Contracted::Empty, "{name} at {at:?} in {before:?}");
            for (x, side) in at.iter().zip(&sides) {
                assert!(side.contains(*x), "{name}: {at:?} of {before:?} is cut off: {sides:?}");
            }
            narrower += usize::from(found == Contracted::Narrower);
        }
    }
    assert!(narrower > 4000, "{narrower}");
}

#[test]
fn what_is_defined_nowhere_else_is_cut_off() {
    let f = square(1, |x| vec![x[0].sqrt()]);
    let mut sides = [Interval::new(-4.0, 9.0)];
    contract(&f, &mut sides, &[Interval::new(-1.0, 2.0)]).unwrap();
    assert_eq!((sides[0].low(), sides[0].high()), (0.0, 4.0));
    // A NaN that loses against a number cuts nothing off.
    let g = square(1, |x| vec![x[0].sqrt().max(1.0)]);
    let mut sides = [Interval::new(-4.0, 9.0)];
    contract(&g, &mut sides, &[Interval::new(0.0, 2.0)]).unwrap();
    assert!(sides[0].low() == -4.0);
    let mut sides = [Interval::new(2.0, 3.0)];
    assert_eq!(contract(&f, &mut sides, &[Interval::new(5.0, 6.0)]).unwrap(), Contracted::Empty);
    assert!(contract(&f, &mut [], &[Interval::ALL]).is_err());
}

#[test]
fn unrolled_functions_do_the_same_and_say_why_not() {
    let f = parse(
        "fn @f(%x: [3]f64) -> [3]f64 {
          %y = tab (%i < 3) {
            %a = ld %x[%i]
            %c = lt %a, 0.0
            %b = if %c { %n = neg %a yield %n } else { %s = sin %a yield %s }
            yield %b
          }
          ret %y
        }",
    )
    .unwrap();
    let flat = unrolled(&f).unwrap();
    assert!(flat.is_flat());
    for x in [[-1.0, 2.0, 0.5], [1.0, -2.0, 0.0]] {
        assert_eq!(f.run(&x).unwrap(), flat.run(&x).unwrap());
    }
    let open = parse(
        "fn @f(%a: f64) -> f64 { %x, _ = while (%x = %a) { %c = lt %x, 1.0 yield %c } do \
         { %y = mul %x, 2.0 yield %y } ret %x }",
    )
    .unwrap();
    assert!(unrolled(&open).unwrap_err().to_string().contains("not decided"));
    let whole = parse("fn @f(%n: i64) -> f64 { %x = cast %n : f64 ret %x }").unwrap();
    assert!(unrolled(&whole).unwrap_err().to_string().contains("give it first"));
}

/// A number times itself is not negative, and its root has two sides.
#[test]
fn a_number_times_itself_is_a_square() {
    let product = parse("fn @f(%x: f64) -> f64 { %r = mul %x, %x ret %r }").unwrap();
    let power = parse("fn @f(%x: f64) -> f64 { %r = powi{2} %x ret %r }").unwrap();
    let found = [product, power].map(|f| {
        let mut sides = [Interval::new(0.5, 9.0)];
        contract(&f, &mut sides, &[Interval::new(1.0, 4.0)]).unwrap();
        sides[0]
    });
    assert_eq!((found[0].low(), found[0].high()), (found[1].low(), found[1].high()));
    assert!((found[0].low() - 1.0).abs() < 1e-12 && (found[0].high() - 2.0).abs() < 1e-12);
}
