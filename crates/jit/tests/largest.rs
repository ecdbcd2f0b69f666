//! The largest and the smallest of many numbers: NaN are left out, unless there is nothing else.

use cotangent_ir::parse;
use cotangent_jit::{Compiled, Llvm, Options};

#[test]
fn extremes_are_those_of_the_interpreter_whatever_the_numbers() {
    if Llvm::get().is_err() {
        return;
    }
    let special =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 2.0_f64.powi(-100), -3.0, 7.0];
    let mut rng = fastrand::Rng::with_seed(3);
    for (n, ty) in [(64, "f64"), (67, "f64"), (300, "f64"), (64, "f32"), (211, "f32")] {
        for reducer in ["max", "min"] {
            // One list, and one for each point of lanes.
            let one = parse(&format!(
                "fn @f(%x: [{n}]{ty}) -> {ty} {{ %m = red {reducer} (%i < {n}) {{ %e = ld %x[%i] yield %e }} ret %m }}"
            ));
            let rows = parse(&format!(
                "fn @f(%x: [{n}, 19]{ty}) -> [19]{ty} {{
                   %m = tab (%k < 19) {{
                     %r = red {reducer} (%i < {n}) {{ %e = ld %x[%i, %k] yield %e }}
                     yield %r
                   }}
                   ret %m
                 }}"
            ));
            for f in [one.unwrap(), rows.unwrap()] {
                let len: usize = f.params()[0].ty.len().unwrap();
                for parallel in [None, Some(1)] {
                    let options = Options { contract: false, parallel, ..Options::default() };
                    let compiled = Compiled::new(&f, &options).unwrap();
                    let mut workspace = compiled.workspace();
                    for kinds in [1, 2, 3, 8] {
                        for _ in 0..12 {
                            // Few kinds of numbers, so that all of a lane are NaN, or the end of all numbers, once in a while.
                            let chosen: Vec<f64> =
                                (0..kinds).map(|_| special[rng.usize(..special.len())]).collect();
                            let x: Vec<f64> =
                                (0..len).map(|_| chosen[rng.usize(..kinds)]).collect();
                            let found = compiled.run(&x, &mut workspace).unwrap();
                            let expected = f.run(&x).unwrap();
                            for (a, b) in found.iter().zip(&expected) {
                                assert!(
                                    a == b || a.is_nan() && b.is_nan(),
                                    "{a} {b} of {chosen:?}\n{f}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
