//! Chains of factors are multiplied once, where that is no more work, and zeros win as before.

use cotangent_ir::{Function, parse};
use cotangent_transform::{gradient, linearize, transpose};

fn lines(f: &Function) -> Vec<String> {
    f.to_string().lines().map(|line| line.trim().to_string()).collect()
}

fn products(f: &Function) -> usize {
    lines(f).iter().filter(|line| line.contains("mul ")).count()
}

#[test]
fn a_chain_is_one_product_with_the_tangent() {
    let f = parse(
        "fn @f(%x: f64) -> f64 { %a = exp %x %b = sin %a %c = tanh %b %d = neg %c %e = add %d, %d ret %e }",
    )
    .unwrap();
    let d = linearize(&f).unwrap();
    let with_tangent = lines(&d).iter().filter(|line| line.contains("%dx,")).count();
    assert_eq!(with_tangent, 1, "{d}");
    let (x, h) = (0.4, 1e-6);
    let at = |x: f64| f.run(&[x]).unwrap()[0];
    let found = d.run(&[x, 1.0]).unwrap()[1];
    assert!((found - (at(x + h) - at(x - h)) / (2.0 * h)).abs() < 1e-8, "{found}");
    assert_eq!(transpose(&d, 1).unwrap().run(&[x, 1.0]).unwrap()[1], found);
}

#[test]
fn factors_of_one_tangent_are_added() {
    // The slope of the root appears in three factors of a product.
    let f = parse(
        "fn @f(%x: f64) -> f64 { %r = sqrt %x %q = mul %r, %r %c = mul %q, %r %s = mul %c, 2.0 ret %s }",
    )
    .unwrap();
    let d = linearize(&f).unwrap();
    let with_tangent = lines(&d).iter().filter(|line| line.contains("%dx,")).count();
    assert_eq!(with_tangent, 1, "{d}");
    assert!((d.run(&[4.0, 1.0]).unwrap()[1] - 6.0).abs() < 1e-14);
}

/// What is wanted at each point of a kernel is not multiplied at each point of a larger one, neither here nor on the way back.
#[test]
fn factors_with_more_indices_stay_outside() {
    let f = parse(
        "fn @f(%a: [4]f64, %b: [4, 9]f64, %t: lin [4]f64) -> [4, 9]f64 {
           %y = tab (%i < 4, %j < 9) {
             %p = ld %a[%i] %s = ld %t[%i] %u = mul %p, %s
             %q = ld %b[%i, %j] %v = mul %q, %u yield %v
           }
           ret %y
         }",
    )
    .unwrap();
    let t = transpose(&f, 0).unwrap();
    // One product for each of both factors: that of `a` is not multiplied into `b`.
    assert_eq!(products(&t), 2, "{t}");
    let inside = parse(
        "fn @f(%a: [4, 9]f64, %b: [4, 9]f64, %t: lin [9]f64) -> [4, 9]f64 {
           %y = tab (%i < 4, %j < 9) {
             %p = ld %a[%i, %j] %s = ld %t[%j] %u = mul %p, %s
             %q = ld %b[%i, %j] %v = mul %q, %u yield %v
           }
           ret %y
         }",
    )
    .unwrap();
    let t = transpose(&inside, 0).unwrap();
    // Both factors first, the cotangent last.
    let order = ["ld %a", "ld %b", "mul", "ld %c0", "mul"];
    let all = lines(&t);
    let body = all.iter().skip_while(|line| !line.contains("ld %a"));
    assert!(body.zip(order).all(|(line, word)| line.contains(word)), "{t}");
}

#[test]
fn what_is_wanted_twice_is_multiplied_for_both() {
    let f = parse(
        "fn @f(%x: f64, %y: f64) -> (f64, f64) { %a = exp %x %b = mul %a, %y %c = sin %a ret %b, %c }",
    )
    .unwrap();
    let d = linearize(&f).unwrap();
    // exp' once, then times y and times cos, and the tangent of y.
    assert_eq!(products(&d), 4 + 1, "{d}");
}

/// An infinite slope does not get past a zero one, from outside in: cotangents are zero before they come to it.
#[test]
fn an_outer_zero_wins_over_an_inner_infinity() {
    let sigmoid = "fn @f(%x: f64) -> f64 { %n = neg %x %e = exp %n %s = add %e, 1.0 %r = div 1.0, %s ret %r }";
    let power = "fn @f(%x: f64) -> f64 { %s = sqrt %x %r = mul %x, %s ret %r }";
    let square = "fn @f(%x: f64) -> f64 { %s = sqrt %x %r = mul %s, %s ret %r }";
    for (text, x) in [(sigmoid, -800.0), (power, 0.0), (square, 0.0)] {
        let f = parse(text).unwrap();
        assert_eq!(gradient(&f).unwrap().run(&[x]).unwrap()[1], 0.0, "{text}");
        assert_eq!(linearize(&f).unwrap().run(&[x, 1.0]).unwrap()[1], 0.0, "{text}");
    }
}

/// Two finite factors may have a product that is infinite: what is zero stays zero before it.
#[test]
fn a_zero_wins_over_factors_that_overflow_together() {
    let f = parse(
        "fn @f(%p: f64, %q: f64, %t: lin f64) -> f64 { %u = mul %p, %t %v = mul %q, %u ret %v }",
    )
    .unwrap();
    let back = transpose(&f, 0).unwrap();
    assert_eq!(back.run(&[1e200, 1e200, 0.0]).unwrap(), [0.0], "{back}");
    let f = parse(
        "fn @f(%p: f64, %q: f64, %t: lin f64) -> f64 {
           %u = mul %p, %t %v = mul %q, %t %w = add %u, %v ret %w
         }",
    )
    .unwrap();
    let back = transpose(&f, 0).unwrap();
    assert_eq!(back.run(&[1e308, 1e308, 0.0]).unwrap(), [0.0], "{back}");
}

/// A zero slope stays zero through an infinite one, from inside out, in both modes.
#[test]
fn an_inner_zero_wins_over_an_outer_infinity() {
    let f = parse("fn @f(%x: f64) -> f64 { %a = mul %x, %x %b = sqrt %a ret %b }").unwrap();
    assert_eq!(linearize(&f).unwrap().run(&[0.0, 1.0]).unwrap()[1], 0.0);
    assert_eq!(gradient(&f).unwrap().run(&[0.0]).unwrap()[1], 0.0);
    let f = parse("fn @f(%x: f64) -> f64 { %b = sqrt %x ret %b }").unwrap();
    assert_eq!(linearize(&f).unwrap().run(&[0.0, 0.0]).unwrap()[1], 0.0);
}
