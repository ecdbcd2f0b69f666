//! Plain products in the place of strong ones: what comes out is what strong ones give, where zeros meet infinities too.

use cotangent_ir::parse;
use cotangent_jit::{Compiled, Llvm, Options};

/// Runs a program as machine code and by the interpreter.
#[track_caller]
#[allow(clippy::print_stdout, reason = "who runs the tests is told what was left out")]
fn check(text: &str, x: &[f64]) {
    let Ok(_) = Llvm::get() else {
        println!("skipped: no LLVM");
        return;
    };
    let f = parse(text).unwrap();
    let expected = f.run(x).expect("it runs");
    let compiled = Compiled::new(&f, &Options::default()).expect("it compiles");
    let mut workspace = compiled.workspace();
    for _ in 0..2 {
        let found = compiled.run(x, &mut workspace).expect("it runs");
        for (a, b) in found.iter().zip(&expected) {
            let close = (a - b).abs() <= 1e-12 * b.abs() || a == b || a.is_nan() && b.is_nan();
            assert!(close, "{found:?} by machine code, {expected:?} by the interpreter\n{text}");
        }
    }
}

#[test]
fn a_zero_wins_over_an_infinite_partial() {
    let root = "fn @f(%x: f64, %t: f64) -> f64 {
  %r = sqrt %x %q = recip %r %d = strong_mul %t, %q ret %d
}";
    check(root, &[0.0, 0.0]);
    check(root, &[0.0, 1.0]);
    check(root, &[4.0, 1.0]);
    check(root, &[f64::NAN, 0.0]);
    check(root, &[f64::NAN, 1.0]);
}

#[test]
fn one_point_of_many_is_enough() {
    let text = "fn @f(%x: [40]f64, %t: [40]f64) -> ([40]f64, f64) {
  %y = tab (%i < 40) { %a = ld %x[%i] %b = ld %t[%i] %l = ln %a %d = strong_mul %b, %l %e = strong_div %d, %a yield %e }
  %s = red sum (%i < 40) { %a = ld %y[%i] yield %a }
  ret %y, %s
}";
    let mut x = vec![2.0; 80];
    check(text, &x);
    (x[17], x[57]) = (0.0, 0.0);
    check(text, &x);
}

#[test]
fn a_comparison_does_not_swallow_what_is_undefined() {
    // The plain product is NaN, and the loop would not go round.
    let text = "fn @f(%x: f64, %t: f64) -> f64 {
  %n, _ = while (%k = 0.0) {
    %q = recip %x %d = strong_mul %t, %q %s = sub %k, 5.0 %e = add %s, %d %g = lt %e, 0.0 yield %g
  } do { %l = add %k, 1.0 yield %l }
  ret %n
}";
    check(text, &[0.0, 0.0]);
    check(text, &[1.0, 1.0]);
    let branch = "fn @f(%x: [20]f64, %t: [20]f64) -> [20]f64 {
  %y = tab (%i < 20) {
    %a = ld %x[%i] %b = ld %t[%i] %q = recip %a %d = strong_mul %b, %q
    %g = ge %d, 0.0 %r = if %g { yield 1.0 } else { yield -1.0 }
    yield %r
  }
  ret %y
}";
    let mut x = vec![3.0; 40];
    check(branch, &x);
    (x[9], x[29]) = (0.0, 0.0);
    check(branch, &x);
}

#[test]
fn what_swallows_nan_keeps_products_strong() {
    let largest = "fn @f(%x: f64, %t: f64) -> f64 {
  %q = recip %x %d = strong_mul %t, %q %m = max %d, -3.0 ret %m
}";
    check(largest, &[0.0, 0.0]);
    let place = "fn @f(%x: [9]f64, %t: [9]f64) -> i64 {
  %p = red argmax (%i < 9) { %a = ld %x[%i] %b = ld %t[%i] %q = recip %a %d = strong_mul %b, %q yield %d }
  ret %p
}";
    let mut x = vec![-1.0; 18];
    (x[4], x[13]) = (0.0, 0.0);
    check(place, &x);
}

#[test]
fn a_table_in_the_place_of_another_is_looked_at() {
    // The second table is written over the first, which stands in the memory of the result.
    let text = "fn @f(%x: [5000]f64) -> [5000]f64 {
  %a = tab (%i < 5000) {
    %e = ld %x[%i] %t = tan %e %q = sin %t %r = sinh %q %u = asinh %r %v = atan %u %w = tanh %v yield %w
  }
  %s = red sum (%i < 5000) { %e = ld %a[%i] %q = mul %e, %e yield %q }
  %r = recip %s
  %b = tab (%i < 5000) { %e = ld %a[%i] %q = strong_mul %e, %r yield %q }
  ret %b
}";
    check(text, &[0.0; 5000]);
    check(text, &[0.2; 5000]);
}
