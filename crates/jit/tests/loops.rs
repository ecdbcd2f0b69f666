//! Loops in loops, as checkpoints make them: machine code is what the interpreter says.

use cotangent_ir::parse;
use cotangent_jit::{Compiled, Llvm, Options};
use cotangent_optimize::simplify;
use cotangent_transform::{checkpoint, gradient};

#[test]
fn gradients_with_checkpoints_are_those_of_the_interpreter() {
    if Llvm::get().is_err() {
        return;
    }
    let number = "fn @f(%x: f64) -> f64 {
      %y = for %i < ROUNDS (%a = %x) { %s = sin %a %b = add %a, %s yield %b }
      ret %y
    }";
    let array = "fn @f(%x: [SIZE]f64) -> f64 {
      %y, %z = for %i < ROUNDS (%a = %x, %t = 0.0) {
        %s = sin %a
        %b = add %a, %s
        %e = ld %b[1]
        %u = add %t, %e
        yield %b, %u
      }
      ret %z
    }";
    let mut compared = 0;
    // Short arrays stand on the stack, longer ones in memory that is used again.
    for (text, size) in [(number, 1), (array, 3), (array, 40)] {
        for (rounds, states) in [(10, 7), (27, 12), (50, 20), (100, 25), (1000, 32), (1000, 70)] {
            let text = text.replace("ROUNDS", &rounds.to_string());
            let f = parse(&text.replace("SIZE", &size.to_string())).unwrap();
            let Ok(f) = checkpoint(&f, states) else { continue };
            let g = simplify(&gradient(&f).unwrap());
            let x: Vec<f64> = (0..size).map(|i| 0.001 * f64::from(i + 1)).collect();
            let expected = g.run(&x).unwrap();
            let compiled = Compiled::new(&g, &Options::default().exact()).unwrap();
            let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
            assert_eq!(found, expected, "{rounds} rounds, {states} states, {size} numbers");
            compared += 1;
        }
    }
    assert!(compared >= 15, "{compared}");
}
