//! Numbers of tables that are computed again where they are read.

use cotangent_ir::parse;
use cotangent_jit::{Compiled, Llvm, Options};
use cotangent_optimize::simplify;
use cotangent_transform::{gradient, reverse};

/// Runs a program in both ways; the bytes that stand in memory between its tables.
fn check(text: &str) -> usize {
    let f = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let lens = f.params().iter().map(|p| p.ty.len().unwrap());
    let x: Vec<f64> = (0..lens.sum()).map(|i| (0.7 * f64::from(i as u16)).sin() + 1.5).collect();
    let compiled = Compiled::new(&f, &Options::default().exact()).unwrap();
    let expected = f.run(&x).map_err(drop);
    let found = compiled.run(&x, &mut compiled.workspace()).map_err(drop);
    assert_eq!(found, expected, "{text}");
    compiled.sizes().1
}

#[test]
fn products_that_neighbours_read_are_never_written() {
    if Llvm::get().is_err() {
        return;
    }
    let bytes = check(
        "fn @f(%x: [1000]f64, %s: [1000]f64) -> [1000]f64 {
          %k = tab (%i < 1000) { %a = ld %x[%i] %b = ld %s[%i] %c = mul %a, %b yield %c }
          %r = tab (%i < 1000) {
            %h = iadd %i, -1
            %j = imax %h, 0
            %a = ld %k[%j]
            %b = ld %k[%i]
            %c = sub %b, %a
            yield %c
          }
          ret %r
        }",
    );
    assert!(bytes < 1000, "{bytes}");
    // One that is dear is kept.
    let bytes = check(
        "fn @f(%x: [1000]f64) -> [1000]f64 {
          %k = tab (%i < 1000) { %a = ld %x[%i] %c = sin %a yield %c }
          %r = tab (%i < 1000) {
            %h = iadd %i, -1
            %j = imax %h, 0
            %a = ld %k[%j]
            %b = ld %k[%i]
            %c = sub %b, %a
            yield %c
          }
          ret %r
        }",
    );
    assert!(bytes >= 8000, "{bytes}");
}

#[test]
fn places_outside_and_places_that_are_looked_up_stay_as_they_are() {
    if Llvm::get().is_err() {
        return;
    }
    // The last point reads outside: an error in both.
    check(
        "fn @f(%x: [100]f64) -> [100]f64 {
          %k = tab (%i < 100) { %a = ld %x[%i] %c = mul %a, 2.0 yield %c }
          %r = tab (%i < 100) { %j = iadd %i, 1 %a = ld %k[%j] %c = add %a, 1.0 yield %c }
          ret %r
        }",
    );
    // A shorter table of a longer array: what lies inside the array may lie outside the table.
    check(
        "fn @f(%x: [100]f64) -> [99]f64 {
          %k = tab (%i < 98) { %a = ld %x[%i] %c = mul %a, 2.0 yield %c }
          %r = tab (%i < 99) { %a = ld %k[%i] %c = add %a, 1.0 yield %c }
          ret %r
        }",
    );
    check(
        "fn @f(%x: [100]f64, %y: [100]f64) -> ([100]f64, [100]f64) {
          %at = tab (%i < 100) { %a = imul %i, 37 %b = irem %a, 100 yield %b }
          %k, %l = tab (%i < 100) {
            %a = ld %x[%i] %b = ld %y[%i] %c = mul %a, %b %d = add %a, %b yield %c, %d
          }
          %r = tab (%i < 100) {
            %j = ld %at[%i] %a = ld %k[%j] %b = ld %l[%i] %c = add %a, %b yield %c
          }
          %s = tab (%i < 100) { %a = ld %l[%i] %c = mul %a, 0.5 yield %c }
          ret %r, %s
        }",
    );
}

#[test]
fn stages_of_a_solver_are_those_of_the_interpreter() {
    if Llvm::get().is_err() {
        return;
    }
    let stage = |from: &str, to: &str, k: &str| {
        format!(
            "{k}, {to} = tab (%i < SIZE) {{
              %h = iadd %i, -1 %j = imax %h, 0 %e = eq %i, 0
              %a = ld {from}[%j] %b = select %e, 1.0, %a
              %c = ld %x[%i] %d = mul %b, %c
              %g = ld %s[%i] %m = mul %d, 0.01 %n = add %g, %m
              yield %d, %n
            }}"
        )
    };
    let text = format!(
        "fn @f(%x: [SIZE]f64) -> f64 {{
          %z = fill 0.5 : [SIZE]f64
          %r = for %t < 4 (%s = %z) {{
            {} {} {}
            %o = tab (%i < SIZE) {{
              %a = ld %k1[%i] %b = ld %k2[%i] %c = ld %k3[%i] %d = ld %s[%i]
              %e = add %a, %b %f = add %e, %c %g = mul %f, 0.3 %h = add %d, %g
              yield %h
            }}
            yield %o
          }}
          %y = red sum (%i < SIZE) {{ %a = ld %r[%i] %b = mul %a, %a yield %b }}
          ret %y
        }}",
        stage("%s", "%u1", "%k1"),
        stage("%u1", "%u2", "%k2"),
        stage("%u2", "%u3", "%k3"),
    );
    for size in [3, 40, 101, 2000] {
        let f = simplify(&parse(&text.replace("SIZE", &size.to_string())).unwrap());
        let g = simplify(&gradient(&f).unwrap());
        let r = simplify(&reverse(&g).unwrap());
        for program in [&f, &g, &r] {
            let lens = program.params().iter().map(|p| p.ty.len().unwrap());
            let x: Vec<f64> = (0..lens.sum()).map(|i| (0.3 * i as f64).cos()).collect();
            let expected = program.run(&x).unwrap();
            for parallel in [None, Some(1)] {
                let options = Options { parallel, ..Options::default().exact() };
                let compiled = Compiled::new(program, &options).unwrap();
                let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
                let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-12 * b.abs().max(1.0);
                assert!(!found.iter().zip(&expected).any(far), "{size}\n{program}");
            }
        }
    }
}
