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

/// What rounds make anew stands in two places in turn, or in the rows of a stack.
#[test]
fn arrays_that_take_turns_are_those_of_the_interpreter() {
    if Llvm::get().is_err() {
        return;
    }
    // A step that reads its neighbours: it cannot be done in place.
    let step = "%n = tab (%i < SIZE) {
        %h = iadd %i, 1
        %k = imin %h, LAST
        %u = ld %a[%k]
        %v = ld %b[%i]
        %w = sin %v
        %y = mul %u, 0.75
        %z = add %y, %w
        yield %z
      }";
    // Carries that move on, change places, or lag behind; carries and results that are kept, some of them twice.
    let endings = [
        "%r, %q = for %j < ROUNDS (%a = %x, %b = %x) { STEP yield %n, %b } ret %r, %q",
        "%r, %q = for %j < ROUNDS (%a = %x, %b = %x) { STEP yield %n, %a } ret %r, %q",
        "%r, %q = for %j < ROUNDS (%a = %x, %b = %x) { STEP yield %b, %n } ret %q, %r",
        "%r, %q = for %j < ROUNDS (%a = %x, %b = %x) { STEP yield %n, %n } ret %r, %q",
        "%r, %q, %s, %t = for %j < ROUNDS (%a = %x, %b = %x) { STEP yield %n, %b, %a, %n } \
         ret %r, %q, %s, %t",
        "%r, %q, %s, %t = for %j < ROUNDS (%a = %x, %b = %x) { STEP yield %n, %a, %a, %b } \
         ret %q, %r, %t, %s",
        "%r, %q, %s, %t = for %j < ROUNDS (%a = %x, %b = %x) { STEP yield %b, %n, %b, %b } \
         %m = mul %r, 2.0 ret %r, %q, %s, %m",
        "%r, %q, _, %t = for %j < ROUNDS (%a = %x, %b = %x) { STEP %m = mul %n, 0.5 \
         yield %m, %b, %n, %m } %u = add %r, %q ret %u, %t",
        "%r, %q = for %j < 3 (%c = %x, %d = %x) { %e, %g = for %l < ROUNDS (%a = %c, %b = %d) \
         { STEP yield %n, %a } yield %g, %e } ret %r, %q",
        "%r, %q, %o, %c = while (%a = %x, %b = %x, %l = 0) { %g = lt %l, ROUNDS yield %g } \
         do { STEP %m = iadd %l, 1 yield %n, %a, %m } ret %r, %q",
    ];
    let mut compared = 0;
    for ending in endings {
        for (size, rounds) in [(40, 0), (40, 1), (64, 8), (101, 7), (5000, 5)] {
            let results: Vec<&str> =
                ending.rsplit("ret ").next().unwrap_or_default().split(", ").collect();
            let types: Vec<String> = results
                .iter()
                .map(|name| match *name {
                    "%s" | "%t" => format!("[{rounds},{size}]f64"),
                    _ => format!("[{size}]f64"),
                })
                .collect();
            let text = format!("fn @f(%x: [SIZE]f64) -> ({}) {{\n {ending}\n}}", types.join(", "))
                .replace("STEP", step)
                .replace("SIZE", &size.to_string())
                .replace("LAST", &(size - 1).to_string())
                .replace("ROUNDS", &rounds.to_string());
            let f = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let x: Vec<f64> = (0..size).map(|i| (0.37 * f64::from(i)).sin()).collect();
            let mut programs = vec![f.clone(), simplify(&f)];
            programs.extend(cotangent_transform::reverse(&f).ok().map(|g| simplify(&g)));
            for g in programs {
                let lens = g.params().iter().map(|p| p.ty.len().unwrap());
                let x: Vec<f64> = x.iter().cycle().take(lens.sum()).copied().collect();
                let expected = g.run(&x).unwrap();
                for parallel in [None, Some(1)].into_iter().take(if size > 1000 { 2 } else { 1 }) {
                    let options = Options { parallel, ..Options::default().exact() };
                    let compiled = Compiled::new(&g, &options).unwrap();
                    let mut workspace = compiled.workspace();
                    // Twice: what a run leaves behind changes nothing.
                    for _ in 0..2 {
                        let found = compiled.run(&x, &mut workspace).unwrap();
                        assert_eq!(found, expected, "{size} numbers, {rounds} rounds\n{g}");
                    }
                }
                compared += 1;
            }
        }
    }
    assert!(compared >= 140, "{compared}");
}

/// A part of an array is a result beside what is made of the array: neither is written over the other.
#[test]
fn parts_of_what_is_written_elsewhere_are_kept() {
    if Llvm::get().is_err() {
        return;
    }
    let texts = [
        "fn @f(%x: [2,64]f64) -> ([3,2,64]f64, [3,64]f64) {
          %s, %t = for %j < 3 () {
            %w = tab (%i < 2, %k < 64) { %u = ld %x[%i, %k] %p = mul %u, 2.0 yield %p }
            %v = ld %w[0]
            %b = put %w[0, 0], 7.0
            yield %b, %v
          }
          ret %s, %t
        }",
        "fn @f(%x: [2,64]f64) -> ([3,64]f64, [3,2,64]f64) {
          %t, %s = for %j < 3 () {
            %w = tab (%i < 2, %k < 64) { %u = ld %x[%i, %k] %p = mul %u, 2.0 yield %p }
            %v = stop %w
            %r = ld %v[0]
            %b = put %w[0, 0], 7.0
            yield %r, %b
          }
          ret %t, %s
        }",
        "fn @f(%x: [2,64]f64, %y: [64]f64) -> ([64]f64, [3,2,64]f64) {
          %q, %s = for %j < 3 (%a = %y) {
            %w = tab (%i < 2, %k < 64) {
              %u = ld %x[%i, %k] %o = ld %a[%k] %p = mul %u, %o yield %p
            }
            %v = ld %w[1]
            %b = for %l < 2 (%c = %w) {
              %n = tab (%i < 2, %k < 64) {
                %h = isub 63, %k %u = ld %c[%i, %h] %p = mul %u, 1.5 yield %p
              }
              yield %n
            }
            yield %v, %b
          }
          ret %q, %s
        }",
        "fn @f(%x: [2,64]f64, %y: [64]f64) -> ([2,64]f64, [64]f64) {
          _, %q, %s = for %j < 3 (%a = %x, %b = %y) {
            %w = put %a[0, 0], 7.0
            %v = ld %w[0]
            %n = tab (%i < 2, %k < 64) {
              %u = ld %w[%i, %k] %o = ld %a[0, %k] %z = add %u, %o yield %z
            }
            yield %n, %v, %a
          }
          %m = ld %s[1]
          ret %m, %q
        }",
    ];
    for text in texts {
        let f = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let lens = f.params().iter().map(|p| p.ty.len().unwrap());
        let x: Vec<f64> = (0..lens.sum()).map(|i| 1.0 + f64::from(i as u16) / 128.0).collect();
        let expected = f.run(&x).unwrap();
        let compiled = Compiled::new(&f, &Options::default().exact()).unwrap();
        let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
        assert_eq!(found, expected, "{text}");
    }
}
