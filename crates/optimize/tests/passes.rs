//! Each structural pass on a small program: before and after.

use cotangent_ir::parse;
use cotangent_optimize::{Class, Options, optimize};

#[track_caller]
fn check(rule: &str, before: &str, after: &str) {
    check_with(&Options::default(), rule, before, after);
}

#[track_caller]
fn check_with(options: &Options, rule: &str, before: &str, after: &str) {
    let f = parse(before).unwrap();
    f.verify().unwrap();
    let done = optimize(&f, options);
    assert!(done.stats.rules.contains_key(rule), "{rule} is not among\n{}", done.stats);
    assert_eq!(done.function.to_string().trim(), after.trim());
    let mut x = Vec::new();
    for param in f.params() {
        let count = param.ty.len().unwrap();
        x.extend((0..count).map(|k| match param.ty.is_float() {
            true => 0.3 + (k as f64 * 0.7).sin(),
            false => 5.0,
        }));
    }
    let (old, new) = (f.run(&x).unwrap(), done.function.run(&x).unwrap());
    for (a, b) in old.iter().zip(&new) {
        assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()), "{a} became {b}");
    }
}

#[test]
fn what_does_not_depend_on_the_round_goes_out() {
    check(
        "hoist",
        "fn @f(%x: f64, %n: i64) -> f64 {
  %p = for %i < %n (%p = 1.0) { %e = exp %x %q = mul %p, %e %r = sin %q yield %r }
  ret %p
}",
        "fn @f(%x: f64, %n: i64) -> f64 {
  %0 = exp %x
  %1 = for %i < %n (%p = 1.0) {
    %2 = mul %p, %0
    %3 = sin %2
    yield %3
  }
  ret %1
}",
    );
}

/// A loop that may not go round at all must not load before it.
#[test]
fn a_load_that_may_fail_stays() {
    let text = "fn @f(%x: [3]f64, %k: i64, %n: i64) -> f64 {
  %p = for %i < %n (%p = 1.0) { %e = ld %x[%k] %q = mul %p, %e %r = sin %q yield %r }
  ret %p
}";
    let f = parse(text).unwrap();
    let g = optimize(&f, &Options::default()).function;
    assert_eq!(g.run(&[1.0, 2.0, 3.0, 99.0, 0.0]).unwrap(), [1.0]);
    assert!(g.run(&[1.0, 2.0, 3.0, 99.0, 1.0]).is_err());
    // One that is in range for certain goes out.
    let safe = parse(&text.replace("%x[%k]", "%x[2]")).unwrap();
    let g = optimize(&safe, &Options::default());
    assert!(g.stats.rules.contains_key("hoist"), "{}", g.function);
}

#[test]
fn carries_that_nobody_needs_or_that_do_not_change_go() {
    let before = "fn @f(%x: f64, %n: i64) -> f64 {
  %a, %b, %c = for %i < %n (%a = 1.0, %b = %x, %c = %x) {
    %d = mul %a, %c
    %e = sin %b
    yield %d, %e, %c
  }
  ret %a
}";
    let after = "fn @f(%x: f64, %n: i64) -> f64 {
  %0 = for %i < %n (%a = 1.0) {
    %1 = mul %a, %x
    yield %1
  }
  ret %0
}";
    check("dead_result", before, after);
    check("unchanged_carry", before, after);
}

#[test]
fn of_a_while_only_what_its_condition_needs_stays() {
    check(
        "dead_result",
        "fn @f(%x: f64) -> f64 {
  %a, %b, _ = while (%a = %x, %b = %x) { %c = lt %a, 9.0 yield %c } do {
    %d = add %a, 1.0
    %e = sin %b
    yield %d, %e
  }
  ret %a
}",
        "fn @f(%x: f64) -> f64 {
  %0, _ = while (%a = %x) {
    %1 = lt %a, 9.0
    yield %1
  } do {
    %2 = add %a, 1.0
    yield %2
  }
  ret %0
}",
    );
}

#[test]
fn what_both_branches_do_is_done_before() {
    check(
        "done_by_both",
        "fn @f(%x: f64, %y: f64) -> (f64, f64) {
  %c = lt %x, %y
  %r, %s = if %c {
    %a = exp %x %b = mul %a, %y yield %b, %x
  } else {
    %a = exp %x %b = sub %a, %y yield %b, %x
  }
  ret %r, %s
}",
        "fn @f(%x: f64, %y: f64) -> (f64, f64) {
  %0 = lt %x, %y
  %1 = exp %x
  %2 = if %0 {
    %3 = mul %y, %1
    yield %3
  } else {
    %4 = sub %1, %y
    yield %4
  }
  ret %2, %x
}",
    );
}

#[test]
fn short_loops_are_written_out() {
    check(
        "unroll",
        "fn @f(%x: f64) -> f64 {
  %p = for %i < 3 (%p = %x) { %q = sin %p yield %q }
  ret %p
}",
        "fn @f(%x: f64) -> f64 {
  %0 = sin %x
  %1 = sin %0
  %2 = sin %1
  ret %2
}",
    );
}

#[test]
fn calls_are_written_out() {
    check(
        "inline",
        "fn @square(%x: f64) -> f64 { %y = mul %x, %x ret %y }
fn @f(%x: f64) -> f64 { %a = call @square(%x) %b = call @square(%a) ret %b }",
        "fn @f(%x: f64) -> f64 {
  %0 = mul %x, %x
  %1 = mul %0, %0
  ret %1
}",
    );
}

#[test]
fn loops_become_sums_products_and_tables() {
    check_with(
        &Options::exact(),
        "loop_to_kernel",
        "fn @f(%x: [20]f64) -> (f64, [20]f64) {
  %z = fill 0.0 : [20]f64
  %p = for %i < 20 (%p = 1.0) { %a = ld %x[%i] %q = mul %p, %a yield %q }
  %t = for %i < 20 (%t = %z) {
    %a = ld %x[%i]
    %b = sin %a
    %u = put %t[%i], %b
    yield %u
  }
  ret %p, %t
}",
        "fn @f(%x: [20]f64) -> (f64, [20]f64) {
  %0 = red prod (%i < 20) {
    %1 = ld %x[%i]
    yield %1
  }
  %2 = tab (%i < 20) {
    %3 = ld %x[%i]
    %4 = sin %3
    yield %4
  }
  ret %0, %2
}",
    );
}

#[test]
fn nested_loops_that_sum_are_one_sum() {
    check(
        "acc_to_tab",
        "fn @f(%a: [20, 30]f64) -> f64 {
  %s = for %i < 20 (%s = 0.0) {
    %t = for %j < 30 (%t = %s) {
      %v = ld %a[%i, %j]
      %e = sin %v
      %u = add %t, %e
      yield %u
    }
    yield %t
  }
  ret %s
}",
        "fn @f(%a: [20, 30]f64) -> f64 {
  %0 = red sum (%i < 20, %j < 30) {
    %1 = ld %a[%i, %j]
    %2 = sin %1
    yield %2
  }
  ret %0
}",
    );
}

#[test]
fn an_accumulation_over_its_places_is_a_table() {
    check(
        "acc_to_tab",
        "fn @f(%x: [5, 9]f64) -> [9]f64 {
  %z = fill 0.0 : [9]f64
  %c = acc (%i < 5, %j < 9) (%c = %z) {
    %a = ld %x[%i, %j]
    %b = sin %a
    %d = put_add %c[%j], %b
    yield %d
  }
  ret %c
}",
        "fn @f(%x: [5, 9]f64) -> [9]f64 {
  %0 = tab (%j < 9) {
    %1 = red sum (%i < 5) {
      %2 = ld %x[%i, %j]
      %3 = sin %2
      yield %3
    }
    yield %1
  }
  ret %0
}",
    );
}

#[test]
fn a_table_goes_into_what_uses_it() {
    check(
        "fuse",
        "fn @f(%x: [100]f64) -> f64 {
  %t = tab (%i < 100) { %a = ld %x[%i] %b = sin %a yield %b }
  %u = mul %t, 2.0
  %s = red sum (%i < 99) { %j = iadd %i, 1 %a = ld %u[%j] %b = mul %a, %a yield %b }
  ret %s
}",
        "fn @f(%x: [100]f64) -> f64 {
  %0 = red sum (%i < 99) {
    %1 = iadd %i, 1
    %2 = ld %x[%1]
    %3 = sin %2
    %4 = mul %3, 2.0
    %5 = mul %4, %4
    yield %5
  }
  ret %0
}",
    );
}

#[test]
fn kernels_over_one_domain_become_one() {
    check(
        "merge",
        "fn @f(%x: [9]f64) -> ([9]f64, [9]f64) {
  %t = tab (%i < 9) { %a = ld %x[%i] %b = exp %a yield %b }
  %u = tab (%i < 9) { %a = ld %x[%i] %b = exp %a %c = sin %b yield %c }
  ret %t, %u
}",
        "fn @f(%x: [9]f64) -> ([9]f64, [9]f64) {
  %0, %1 = tab (%i < 9) {
    %2 = ld %x[%i]
    %3 = exp %2
    %4 = sin %3
    yield %3, %4
  }
  ret %0, %1
}",
    );
}

#[test]
fn puts_and_loads_meet() {
    check(
        "load_of_put",
        "fn @f(%x: [9]f64, %y: f64) -> (f64, f64) {
  %a = put %x[3], %y
  %b = put_add %a[4], %y
  %c = ld %b[3]
  %d = ld %b[4]
  ret %c, %d
}",
        "fn @f(%x: [9]f64, %y: f64) -> (f64, f64) {
  %0 = ld %x[4]
  %1 = add %y, %0
  ret %y, %1
}",
    );
}

#[test]
fn ranges_decide_remainders_and_comparisons() {
    check(
        "irem_by_range",
        "fn @f(%x: [9]f64) -> [9]f64 {
  %t = tab (%i < 9) {
    %j = irem %i, 9
    %c = lt %i, 10
    %a = ld %x[%j]
    %b = sin %a
    %d = select %c, %b, 0.0
    yield %d
  }
  ret %t
}",
        "fn @f(%x: [9]f64) -> [9]f64 {
  %0 = tab (%i < 9) {
    %1 = ld %x[%i]
    %2 = sin %1
    yield %2
  }
  ret %0
}",
    );
}

#[test]
fn sums_are_reordered_only_if_asked_for() {
    let text = "fn @f(%x: f64, %y: f64, %z: f64) -> f64 {
  %a = mul %x, %y
  %b = mul %x, %z
  %c = add %a, %b
  ret %c
}";
    let f = parse(text).unwrap();
    assert_eq!(optimize(&f, &Options::default()).function, f);
    let g = optimize(&f, &Options::default().with(Class::Reassoc)).function;
    assert_eq!(g.cost().flops, 2.0, "{g}");
    let g = optimize(&f, &Options::default().with(Class::Contract)).function;
    assert!(g.to_string().contains("mul_add"), "{g}");
}

#[test]
fn an_addition_out_of_range_stays_an_error() {
    let text = "fn @f(%x: [5]f64) -> [5]f64 {
  %s = fill 0.0 : [5]f64
  %r = acc (%i < 5) (%t = %s) { %p = iadd %i, 1 %v = ld %x[%i] %u = put_add %t[%p], %v yield %u }
  ret %r
}";
    let f = parse(text).unwrap();
    assert!(f.run(&[1.0; 5]).is_err());
    assert!(optimize(&f, &Options::default()).function.run(&[1.0; 5]).is_err());
}
