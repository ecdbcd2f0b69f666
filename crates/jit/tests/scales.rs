//! Signs and powers of two that are pulled out of products change no digit but those that contraction changes.

use cotangent_ir::{Builder, Function, Type, Value, parse};
use cotangent_jit::{Compiled, Llvm, Options};
use cotangent_ops::Opcode;
use cotangent_optimize::simplify;
use fastrand::Rng;

/// A program of products, sums, quotients and roots, full of small powers of two.
fn random(seed: u64) -> Function {
    let mut rng = Rng::with_seed(seed);
    let mut b = Builder::new("f");
    let mut values: Vec<Value> =
        ["x", "y", "z"].into_iter().map(|name| b.param(name, Type::F64)).collect();
    for _ in 0..rng.usize(5..40) {
        let one = values[rng.usize(..values.len())];
        let other = values[values.len() - 1 - rng.usize(..values.len().min(4))];
        let c = [2.0, -2.0, 0.5, -0.5, 4.0, -1.0, 64.0, 1.0 / 64.0, -0.1, 3.0];
        let c = b.constant(c[rng.usize(..c.len())], Type::F64);
        let new = match rng.u8(..12) {
            0..3 => b.elementary(Opcode::Mul, 0, &[one, c]),
            3..5 => b.elementary(Opcode::Mul, 0, &[one, other]),
            5 => b.elementary(Opcode::Neg, 0, &[one]),
            6..8 => b.elementary(Opcode::Add, 0, &[one, other]),
            8 => b.elementary(Opcode::Sub, 0, &[one, other]),
            9 => b.elementary(Opcode::Div, 0, &[one, other]),
            10 => b.elementary(Opcode::Recip, 0, &[one]),
            _ => {
                let size = b.elementary(Opcode::Abs, 0, &[one]);
                b.elementary(Opcode::Sqrt, 0, &[size])
            }
        };
        values.push(new);
    }
    // What the last ones are made of is compared, too.
    let results = values.split_off(values.len() - 4);
    b.finish(results)
}

#[test]
fn programs_full_of_powers_of_two_are_what_the_interpreter_says() {
    if Llvm::get().is_err() {
        return;
    }
    let mut compared = 0;
    for seed in 0..1500 {
        let f = random(seed);
        let mut rng = Rng::with_seed(seed);
        let x: Vec<f64> = (0..3).map(|_| 0.5 + rng.f64()).collect();
        let expected = f.run(&x).unwrap();
        let compiled = Compiled::new(&f, &Options::default()).unwrap();
        let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
        // Sums that cancel, and products with one rounding less, lose digits; a wrong sign or power loses all.
        let moved: Vec<f64> = x.iter().map(|x| x * (1.0 + 1e-13)).collect();
        let near = f.run(&moved).unwrap();
        for ((found, expected), near) in found.iter().zip(&expected).zip(&near) {
            let spread = (near - expected).abs() * 10.0 + 1e-12 * expected.abs();
            if !expected.is_finite() || spread > 1e-3 * expected.abs() {
                continue;
            }
            assert!((found - expected).abs() <= spread, "seed {seed}: {found}, {expected}\n{f}");
            compared += 1;
        }
    }
    assert!(compared > 4000, "{compared}");
}

#[test]
fn derivatives_of_roots_have_no_factors_of_two() {
    if Llvm::get().is_err() {
        return;
    }
    // x/(x² + y²)^(3/2) as forward mode writes it: (2x · ½r) · (−r²).
    let text = "fn @f(%x: f64, %y: f64) -> (f64, f64) {
      %a = mul %x, %x %b = mul %y, %y %q = add %a, %b %s = sqrt %q %r = recip %s
      %h = mul %r, 0.5 %m = mul %r, %r %n = neg %m
      %x2 = mul %x, 2.0 %y2 = mul %y, 2.0
      %u = mul %x2, %h %v = mul %u, %n
      %w = mul %y2, %h %z = mul %w, %n
      ret %v, %z
    }";
    let f = parse(text).unwrap();
    let written = Compiled::text(&f, &Options::default(), None).unwrap();
    let products = written.matches("fmul").count();
    // x², y², r², and two for each result.
    assert!(products <= 7, "{products}\n{written}");
    let compiled = Compiled::new(&f, &Options::default()).unwrap();
    let found = compiled.run(&[3.0, 4.0], &mut compiled.workspace()).unwrap();
    for (found, expected) in found.iter().zip([-3.0 / 125.0, -4.0 / 125.0]) {
        assert!((found - expected).abs() < 1e-16, "{found} and {expected}");
    }
}

/// What is added to a target is added, whatever its sign.
#[test]
fn gradients_that_add_up_numbers_compile() {
    if Llvm::get().is_err() {
        return;
    }
    let plain = "fn @f(%s: f64, %x: [6]f64) -> f64 {
      %t = acc (%i < 6) (%a = %s) { %e = ld %x[%i] %q = exp %e %n = neg %q %b = add %a, %n yield %b }
      ret %t
    }";
    let carried = "fn @f(%s: f64, %x: [6]f64) -> f64 {
      %t = acc (%i < 6) (%a = %s) {
        %r = for %k < 3 (%c = %a) { %e = ld %x[%i] %q = exp %e %n = neg %q %b = add %c, %n yield %b }
        yield %r
      }
      ret %t
    }";
    let sum = "fn @f(%a: f64, %b: f64, %x: [64]f64) -> f64 {
      %s = red sum (%i < 64) {
        %e = ld %x[%i] %d = sub %e, %a %p = sub %d, %b %q = mul %p, %p %r = sqrt %q yield %r
      }
      ret %s
    }";
    let gradient = cotangent_transform::gradient(&parse(sum).unwrap()).unwrap();
    for f in [parse(plain).unwrap(), parse(carried).unwrap(), simplify(&gradient), gradient] {
        let n: usize = f.params().iter().map(|p| p.ty.len().unwrap()).sum();
        let x: Vec<f64> = (0..n).map(|i| 0.3 + (i as f64).sin()).collect();
        let expected = f.run(&x).unwrap();
        let compiled = Compiled::new(&f, &Options::default()).unwrap();
        let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} and {b}\n{f}");
        }
    }
}
