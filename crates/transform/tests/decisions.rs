//! What a branch decides inside is decided once: the branch beside it is handed the truth, not what led to it.

use cotangent_ir::parse;
use cotangent_transform::{gradient, linearize};

const STEPS: &str = "fn @f(%x: f64) -> f64 {
  %y = for %i < 12 (%a = %x) {
    %c = gt %a, 0.5
    %y = if %c {
      %e = exp %a
      %d = gt %e, 2.0
      %r = if %d {
        %s = sin %e
        %low = lt %s, 0.9
        %p = mul %a, 0.8
        %q = mul %a, 0.7
        %t = select %low, %p, %q
        yield %t
      } else { %q = mul %a, 1.1 yield %q }
      yield %r
    } else { %q = mul %a, 1.7 yield %q }
    yield %y
  }
  ret %y
}";

#[test]
fn a_loop_that_is_turned_around_keeps_what_was_decided() {
    let f = parse(STEPS).unwrap();
    let g = gradient(&f).unwrap();
    for x in [-0.3, 0.2, 0.61, 0.7, 1.3] {
        let h = 1e-7;
        let at = |x: f64| f.run(&[x]).unwrap()[0];
        let difference = (at(x + h) - at(x - h)) / (2.0 * h);
        let found = g.run(&[x]).unwrap();
        assert_eq!(found[0], at(x));
        assert!((found[1] - difference).abs() < 1e-6, "{x}: {} {difference}", found[1]);
    }
    // Each step multiplies by a number: to know which, no function is computed again on the way back.
    let text = g.to_string();
    assert_eq!((text.matches("exp").count(), text.matches("sin").count()), (1, 1), "{text}");
}

#[test]
fn decisions_of_one_way_are_those_of_that_way_beside_it() {
    // Both ways decide something, and one of them twice.
    let f = parse(
        "fn @f(%x: f64, %y: f64) -> (f64, f64) {
           %c = gt %x, %y
           %u, %v = if %c {
             %e = exp %x %d = gt %e, 3.0
             %p = mul %x, %y %q = sin %x %r = select %d, %p, %q
             %m = cosh %y %n = lt %m, 2.0 %k = select %n, %r, %y
             yield %r, %k
           } else {
             %e = tanh %y %d = gt %e, 0.2
             %p = if %d { %s = mul %y, %y yield %s } else { %s = mul %x, 3.0 yield %s }
             yield %p, %x
           }
           ret %u, %v
         }",
    )
    .unwrap();
    let d = linearize(&f).unwrap();
    d.verify().unwrap();
    let h = 1e-7;
    for (x, y) in [(1.3, 0.4), (0.3, 0.1), (2.0, 1.9), (0.1, 0.15), (0.0, 0.7), (-1.0, -0.5)] {
        for (dx, dy) in [(1.0, 0.0), (0.0, 1.0), (0.6, -0.8)] {
            let at = |s: f64| f.run(&[x + s * dx, y + s * dy]).unwrap();
            let (up, down) = (at(h), at(-h));
            let found = d.run(&[x, y, dx, dy]).unwrap();
            for k in 0..2 {
                let difference = (up[k] - down[k]) / (2.0 * h);
                assert!(
                    (found[2 + k] - difference).abs() < 1e-6,
                    "{x} {y} {k}: {found:?} {difference}"
                );
            }
        }
    }
}

#[test]
fn a_branch_that_stays_for_its_decisions_does_nothing_else() {
    // The values are not asked for: what the branch adds to its target is not computed beside what the derivative adds.
    let f = parse(
        "fn @f(%x: [8]f64) -> [8]f64 {
           %z = fill 0.0 : [8]f64
           %y = acc (%i < 8) (%t = %z) {
             %v = ld %x[%i]
             %c = gt %v, 0.0
             %u = if %c {
               %e = exp %v
               %d = gt %e, 2.0
               %s = select %d, %e, %v
               %w = put_add %t[%i], %s
               yield %w
             } else { yield %t }
             yield %u
           }
           ret %y
         }",
    )
    .unwrap();
    let g = linearize(&f).unwrap();
    let text = g.to_string();
    assert!(!text.contains("_,"), "{text}");
    assert_eq!(text.matches("put_add").count(), 2, "{text}");
    let x = [0.3, -0.5, 0.9, 1.4, -2.0, 0.1, 0.6, 0.8];
    let mut point = x.to_vec();
    point.extend([1.0; 8]);
    let found = g.run(&point).unwrap();
    for (x, slope) in x.iter().zip(&found[8..]) {
        let expected = if *x <= 0.0 {
            0.0
        } else if x.exp() > 2.0 {
            x.exp()
        } else {
            1.0
        };
        assert!((slope - expected).abs() < 1e-12, "{x}: {slope}");
    }
}
