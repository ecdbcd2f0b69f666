//! Counting, hunting NaNs, explaining.

mod random;

use cotangent_ir::{Hunted, count, explain, hunt, parse};
use cotangent_ops::Opcode;
use random::{point, program};

#[test]
fn counts_know_the_rounds_of_loops_and_the_points_of_kernels() {
    let root = parse(
        "fn @root(%a: f64) -> f64 {
          %x, _ = while (%x = %a) {
            %s = mul %x, %x
            %d = sub %s, %a
            %e = abs %d
            %c = gt %e, 1e-12
            yield %c
          } do {
            %q = div %a, %x
            %t = add %x, %q
            %h = mul %t, 0.5
            yield %h
          }
          ret %x
        }",
    )
    .unwrap();
    let counts = count(&root, &[2.0]).unwrap();
    // Newton's method for √2 from 2: 5 rounds to 1e-12, the condition once more.
    assert_eq!((counts.rounds, counts.of(Opcode::Div), counts.of(Opcode::Abs)), (5, 5, 6));
    assert_eq!(counts.of(Opcode::Mul), 5 + 6);
    assert_eq!((counts.comparisons, counts.bytes()), (6, 0));
    let kernel = parse(
        "fn @k(%x: [600]f64, %m: [2, 3]f32) -> ([600]f64, [2, 3]f32, [600]f64) {
          %y = tab (%i < 600) {
            %a = ld %x[%i]
            %c = lt %i, 200
            %b = if %c { %p = mul %a, %a yield %p } else { %s = sin %a yield %s }
            yield %b
          }
          %n = neg %m
          %z = acc (%i < 600) (%t = %x) {
            %a = ld %x[%i]
            %j = irem %i, 7
            %u = put_add %t[%j], %a
            yield %u
          }
          ret %y, %n, %z
        }",
    )
    .unwrap();
    let counts = count(&kernel, &vec![0.5; 606]).unwrap();
    assert_eq!(
        (counts.of(Opcode::Mul), counts.of(Opcode::Sin), counts.of(Opcode::Neg)),
        (200, 400, 6)
    );
    assert_eq!((counts.points, counts.branches, counts.integers), (1200, 600, 600));
    assert_eq!((counts.of(Opcode::Add), counts.comparisons), (600, 600));
    // Read: 600 of the tab, 6 singles, 600 and 600 of the acc; written: 600, 6, 600.
    assert_eq!((counts.loads, counts.bytes_read), (1806, 1800 * 8 + 6 * 4));
    assert_eq!((counts.stores, counts.bytes_written), (1206, 1200 * 8 + 6 * 4));
    assert_eq!(count(&kernel, &vec![0.5; 606]).unwrap(), counts);
    let text = counts.to_string();
    assert!(text.contains("200 mul") && text.contains("1806 loads of 14424 bytes"), "{text}");
}

#[test]
fn a_nan_is_found_with_its_round_and_point() {
    let f = parse(
        "fn @g(%a: f64) -> f64 { %b = sqrt %a ret %b }
         fn @f(%x: [3]f64) -> f64 {
           %s = for %k < 4 (%s = 0.0) {
             %r = red sum (%i < 3) {
               %a = ld %x[%i]
               %q = cast %k : f64
               %d = sub %a, %q
               %e = call @g(%d)
               yield %e
             }
             %t = add %s, %r
             yield %t
           }
           ret %s
         }",
    );
    // The last function is the one that is parsed.
    let f = f.unwrap();
    let found = hunt(&f, &[5.0, 2.0, 4.0], Hunted::Nan).unwrap().unwrap();
    assert_eq!(found.operands, [-1.0]);
    assert!(found.result.is_nan() && found.operation == "%0 = sqrt %a", "{found}");
    let within: Vec<(&str, Vec<usize>)> =
        found.within.iter().map(|w| (w.kind, w.indices.clone())).collect();
    assert_eq!(within, [("for", vec![3]), ("red", vec![1]), ("call", vec![])]);
    let text = f.to_string();
    assert_eq!(text.lines().nth(found.line - 1).unwrap().trim(), found.operation);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[found.within[1].line - 1].contains("red sum"), "{found}");
    assert_eq!(hunt(&f, &[5.0, 4.0, 4.0], Hunted::NotFinite).unwrap(), None);
    let shown = found.to_string();
    assert!(shown.contains("gives NaN of -1.0") && shown.contains("round 3"), "{shown}");
}

#[test]
fn infinities_are_found_where_they_are_asked_for() {
    let f = parse(
        "fn @f(%x: [4]f64) -> f64 { %e = exp %x %p = red prod (%i < 4) { %a = ld %e[%i] yield %a } \
         %z = sub %p, %p ret %z }",
    )
    .unwrap();
    let found = hunt(&f, &[1.0, 800.0, 0.0, 0.0], Hunted::NotFinite).unwrap().unwrap();
    assert_eq!((found.element, found.operands.as_slice(), found.line), (Some(1), &[800.0][..], 2));
    let found = hunt(&f, &[300.0, 300.0, 300.0, 0.0], Hunted::NotFinite).unwrap().unwrap();
    assert!(found.operation.contains("red prod"), "{found}");
    assert_eq!(found.within[0].indices, [2]);
    let found = hunt(&f, &[300.0, 300.0, 300.0, 0.0], Hunted::Nan).unwrap().unwrap();
    assert_eq!(found.operation, "%3 = sub %1, %1");
}

#[test]
fn nan_that_keeps_a_loop_from_ending_is_found() {
    let f = parse(
        "fn @f(%a: f64) -> f64 { %x, _ = while (%x = %a) { %e = eq %x, %x %c = ne %x, 0.0 yield %c } \
         do { %l = ln %x yield %l } ret %x }",
    )
    .unwrap();
    let found = hunt(&f, &[0.5], Hunted::Nan).unwrap().unwrap();
    assert_eq!((found.within[0].kind, found.within[0].indices.as_slice()), ("while", &[1][..]));
}

#[test]
fn explained_programs_are_the_same_programs() {
    for seed in 0..60 {
        let f = program(seed);
        let x = point(&mut fastrand::Rng::with_seed(seed));
        let Ok(text) = explain(&f, &x) else { continue };
        assert_eq!(parse(&text).unwrap().to_string(), f.to_string(), "seed {seed}\n{text}");
        let results = f.run(&x).unwrap();
        assert!(text.contains(&format!("{:?}", results[0])), "seed {seed}\n{text}");
    }
    let f = parse(
        "fn @f(%x: [3]f64) -> f64 {
          %s = red sum (%i < 3) { %a = ld %x[%i] %b = mul %a, 10.0 yield %b }
          ret %s
        }",
    )
    .unwrap();
    let expected = "\
fn @f(%x: [3]f64) -> f64 {              // %x = [1.0, 2.0, 3.0]
  %0 = red sum (%i < 3) {               // 60.0
    %1 = ld %x[%i]                      // 1.0, 2.0, 3.0 (3 times)
    %2 = mul %1, 10.0                   // 10.0, 20.0, 30.0 (3 times)
    yield %2
  }
  ret %0                                // 60.0
}
";
    assert_eq!(explain(&f, &[1.0, 2.0, 3.0]).unwrap(), expected);
}
