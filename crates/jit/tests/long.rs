//! Long programs are compiled in modules, on several threads.

use cotangent_ir::trace;
use cotangent_jit::{Compiled, Llvm, Options};
use cotangent_transform::gradient;

#[test]
fn a_long_program_is_what_the_interpreter_says() {
    if Llvm::get().is_err() {
        return;
    }
    let n = 800;
    let f = trace("f", n, |x| {
        let mut s = x[0].sin();
        for k in 1..x.len() {
            let (d, e) = (x[k] - x[k - 1] * x[k - 1], x[k].exp());
            s = s + d * d * 100.0 + e * s * 1e-4;
        }
        vec![s]
    });
    let g = gradient(&f.unwrap()).unwrap();
    let options = Options::default().exact();
    // Parts call functions of the table, and `run` calls the parts: all in modules of their own.
    let text = Compiled::text(&g, &options, None).unwrap();
    assert!(text.contains("declare hidden i64 @part9("));
    let x: Vec<f64> = (0..n).map(|k| 0.4 + 0.3 * (k as f64).sin()).collect();
    let expected = g.run(&x).unwrap();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let compiled = pool.install(|| Compiled::new(&g, &options)).unwrap();
        let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} and {b}");
        }
    }
}

/// Sums stand in the middle of it, so that a part may end just behind one.
#[test]
fn sums_in_a_long_program() {
    if Llvm::get().is_err() {
        return;
    }
    let mut text = String::from("fn @f(%x: [5]f64) -> f64 {\n  %a0 = ld %x[0]\n");
    for k in 0..600 {
        let next = k + 1;
        text += &format!(
            "  %s{k} = red sum (%i < 5) {{ %e{k} = ld %x[%i] %f{k} = mul %e{k}, %a{k} yield %f{k} }}\n  \
             %t{k} = sin %s{k}\n  %u{k} = mul %t{k}, %a{k}\n  %a{next} = add %u{k}, 0.5\n"
        );
    }
    text += "  ret %a600\n}\n";
    let f = cotangent_ir::parse(&text).unwrap();
    let x = [0.1, 0.4, -0.3, 0.2, 0.25];
    let expected = f.run(&x).unwrap();
    let compiled = Compiled::new(&f, &Options::default().exact()).unwrap();
    let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
    assert!((found[0] - expected[0]).abs() < 1e-12, "{found:?} and {expected:?}");
}

/// A short array of a function that is called stands on the stack of one part, and is read in another.
#[test]
fn a_short_array_outlives_the_part_it_was_made_in() {
    if Llvm::get().is_err() {
        return;
    }
    let mut text = String::from(
        "fn @g(%x: [6]f64) -> [6]f64 { %a = mul %x, %x %b = add %a, %x ret %b }
fn @f(%x: [6]f64, %s0: f64) -> ([6]f64, f64, f64) {
  %c = call @g(%x)
  %t = tab () { %h = mul %x, 3.0 %k = sub %h, %x yield %k }
",
    );
    for k in 0..900 {
        text += &format!("  %q{k} = sin %s{k} %s{} = add %q{k}, 0.5\n", k + 1);
    }
    text += "  %d = mul %c, %t %e = ld %c[4] %f = add %e, %s900 ret %d, %e, %f\n}\n";
    let f = cotangent_ir::parse_all(&text).unwrap().pop().unwrap();
    let x = [0.1, 0.4, -0.3, 0.2, 0.25, 0.6, 0.7];
    let expected = f.run(&x).unwrap();
    for options in [Options::default(), Options::default().exact()] {
        let compiled = Compiled::new(&f, &options).unwrap();
        let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-12, "{found:?} and {expected:?}");
        }
    }
}
