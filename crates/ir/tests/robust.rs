//! Texts and runs that go wrong: an error each, with its place and in time, and never a panic.

use std::fmt::Write;

use cotangent_ir::{parse, parse_all};

#[track_caller]
fn refused(text: &str, wanted: &str) {
    match parse(text) {
        Ok(f) => panic!("parsed: {f}"),
        Err(error) => {
            let found = error.to_string();
            assert!(found.contains(wanted), "{found}, not {wanted}");
            assert!(error.span.end <= text.len() && text.is_char_boundary(error.span.start));
        }
    }
}

#[track_caller]
fn fails(text: &str, x: &[f64], wanted: &str) {
    let f = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    f.verify().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found = f.run(x).unwrap_err().to_string();
    assert!(found.contains(wanted), "{found}, not {wanted}");
}

#[track_caller]
fn gives(text: &str, x: &[f64], y: &[f64]) {
    let f = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    f.verify().unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(f.run(x).unwrap(), y, "{text}");
}

#[test]
fn bodies_nest_as_deep_as_is_said_and_not_deeper() {
    let nested = |depth: usize| {
        let mut text = "fn @f(%x: f64, %b: bool) -> f64 {\n".to_string();
        for k in 0..depth {
            let outer = if k == 0 { "x".to_string() } else { format!("a{}", k - 1) };
            writeln!(text, "%r{k} = if %b {{ %a{k} = sin %{outer}").unwrap();
        }
        for k in (0..depth).rev() {
            let inner = if k + 1 == depth { format!("a{k}") } else { format!("r{}", k + 1) };
            writeln!(text, "yield %{inner} }} else {{ yield 0.0 }}").unwrap();
        }
        text + "ret %r0 }"
    };
    let f = parse(&nested(63)).unwrap();
    f.verify().unwrap();
    assert_eq!(parse(&f.to_string()).unwrap(), f);
    let mut expected = 1.0;
    (0..63).for_each(|_| expected = f64::sin(expected));
    assert_eq!(f.run(&[1.0, 1.0]).unwrap(), [expected]);
    assert_eq!(f.run(&[1.0, 0.0]).unwrap(), [0.0]);
    refused(&nested(64), "nested deeper than 64");
    refused(&nested(100_000), "nested deeper than 64");
    refused(&format!("fn @f() -> f64 {}", "{".repeat(100_000)), "1:17: expected `%name = …`");
    refused(&format!("fn @f{}", "<".repeat(100_000)), "1:7: expected the name of a dimension");
    refused(&format!("fn @f(%x: {}f64)", "[".repeat(100_000)), "1:12: expected a size");
}

#[test]
fn calls_nest_as_deep_as_is_said_and_cannot_go_round() {
    let chain = |count: usize, calls: usize| {
        let mut text = "fn @f0(%x: f64) -> f64 { %y = sin %x ret %y }\n".to_string();
        for k in 1..count {
            write!(text, "fn @f{k}(%x: f64) -> f64 {{ ").unwrap();
            for c in 0..calls {
                let from = if c == 0 { "x".to_string() } else { format!("y{}", c - 1) };
                write!(text, "%y{c} = call @f{}(%{from}) ", k - 1).unwrap();
            }
            writeln!(text, "ret %y{} }}", calls - 1).unwrap();
        }
        text
    };
    let f = parse(&chain(60, 1)).unwrap();
    f.verify().unwrap();
    assert_eq!(f.run(&[1.0]).unwrap(), [1.0_f64.sin()]);
    assert_eq!(parse(&f.to_string()).unwrap(), f);
    refused(&chain(100, 1), "nested deeper than 64");
    refused(&chain(20_000, 1), "nested deeper than 64");
    // Ten times the one before, each: written out that is too much, however short the text.
    let f = parse(&chain(5, 10)).unwrap();
    f.verify().unwrap();
    assert!(f.to_string().len() < 2000);
    refused(&chain(40, 10), "more than 2097152 operations");
    refused(
        "fn @f(%x: f64) -> f64 { %y = call @f(%x) ret %y }",
        "1:35: there is no function `@f` before this one; put it above",
    );
    refused(
        "fn @f(%x: f64) -> f64 { %y = call @g(%x) ret %y } fn @g(%x: f64) -> f64 { %y = call @f(%x) ret %y }",
        "1:35: there is no function `@g` before this one",
    );
    refused(
        "fn @f(%x: f64) -> f64 jvp @f { ret %x }",
        "1:27: there is no function `@f` before this one",
    );
}

#[test]
fn there_may_be_very_many_parameters_captures_results_and_functions() {
    let n = 50_000;
    let params: Vec<String> = (0..n).map(|k| format!("%x{k}: f64")).collect();
    let mut text = format!("fn @f({}) -> f64 {{\n%r = if true_or {{\n", params.join(", "));
    text = text.replace("%r = if true_or {\n", "%c = lt %x0, 1.0\n%r = if %c {\n");
    let mut last = "x0".to_string();
    for k in 1..n {
        writeln!(text, "%s{k} = add %{last}, %x{k}").unwrap();
        last = format!("s{k}");
    }
    write!(text, "yield %{last} }} else {{ yield %x1 }}\nret %r }}").unwrap();
    let f = parse(&text).unwrap();
    f.verify().unwrap();
    assert_eq!(f.run(&vec![0.5; n]).unwrap(), [0.5 * n as f64]);
    assert_eq!(parse(&f.to_string()).unwrap(), f);

    let types = vec!["f64"; n].join(", ");
    let results = vec!["%x"; n].join(", ");
    let f = parse(&format!(
        "fn @f(%x: [1]f64) -> ({types}) {{ %y = ld %x[0] ret {} }}",
        results.replace("%x", "%y")
    ))
    .unwrap();
    assert_eq!(f.run(&[2.0]).unwrap().len(), n);
    let many: String = (0..2_000).map(|k| format!("fn @f{k}() -> f64 {{ ret {k}.0 }}\n")).collect();
    assert_eq!(parse_all(&many).unwrap().len(), 2_000);
}

#[test]
fn long_lines_and_characters_of_several_bytes_have_their_columns() {
    let long = "fn @f(%x: f64) -> f64 { %y = sin %x  ret %x }";
    assert!(parse(long).is_ok());
    let spaces = " ".repeat(1_000_000);
    refused(&format!("fn @f(%x: f64) -> f64 {{{spaces}é"), "1:1000024: the character 'é'");
    refused(&format!("// {}\n é", "é".repeat(1000)), "2:2: the character 'é'");
    refused("fn @f(%x: f64) -> f64 { %y = sin %xé ret %y }", "1:36: the character 'é'");
    refused("fn @é", "1:4: `@` has no name after it");
    refused("fn @f(%x: f64) -> f64 { %y = mul %x, - ret %y }", "1:38: `-` is no number");
    refused("fn @f(%x: f64) -> f64 { %y = mul %x, 1𝛼 ret %y }", "1:39: the character '𝛼'");
    refused(
        &format!("fn @f(%x: f64) -> f64 {{ %y = {} %x", "a".repeat(100_000)),
        "there is no operation",
    );
    refused(
        &format!("fn @f(%x: f64) -> f64 {{ %y = mul %x, {}", "9".repeat(100_000)),
        "found the end of the text",
    );
}

#[test]
fn sizes_that_do_not_fit_are_errors_when_they_are_run() {
    let huge = 1_000_000_000_000u64;
    gives(
        &format!(
            "fn @f(%x: f64, %n: i64) -> i64 {{ %y = fill %x : [{huge}]f64 %r = extent{{0}} %y ret %r }}"
        ),
        &[1.0, 2.0],
        &[1e12],
    );
    let large = "is too large";
    fails(
        &format!(
            "fn @f(%x: f64) -> f64 {{ %y = fill %x : [{huge}]f64 %z = sin %y %r = ld %z[0] ret %r }}"
        ),
        &[1.0],
        large,
    );
    fails(
        &format!(
            "fn @f(%x: f64) -> f64 {{ %y = tab (%i < {huge}) {{ yield %x }} %r = ld %y[0] ret %r }}"
        ),
        &[1.0],
        large,
    );
    fails(
        &format!(
            "fn @f(%x: f64) -> f64 {{ %y = tab (%i < 2) {{ %z = fill %x : [{huge}]f64 %w = exp %z yield %w }} %r = ld %y[0, 0] ret %r }}"
        ),
        &[1.0],
        large,
    );
    fails(
        &format!(
            "fn @f(%x: f64) -> f64 {{ %y = for %i < {huge} () {{ yield %x }} %r = ld %y[0] ret %r }}"
        ),
        &[1.0],
        large,
    );
    fails(
        "fn @f(%x: f64, %n: i64) -> f64 { %y = for %i < %n () { yield %x } %r = ld %y[0] ret %r }",
        &[1.0, 1e15],
        large,
    );
    fails(
        &format!(
            "fn @f(%x: f64) -> f64 {{ %y = red sum (%i < 3) {{ %z = fill %x : [{huge}]f64 %w = sin %z yield %w }} %r = ld %y[0] ret %r }}"
        ),
        &[1.0],
        large,
    );
    fails(
        "fn @f(%x: f64) -> f64 { %y = fill %x : [1000000, 1000000, 1000000, 1000000]f64 %z = sin %y %r = ld %z[0, 0, 0, 0] ret %r }",
        &[1.0],
        "not known",
    );
    fails(
        &format!("fn @f(%x: [{huge}]f64) -> f64 {{ %r = ld %x[0] ret %r }}"),
        &[1.0],
        "takes 1000000000000 numbers, 1 were given",
    );
    fails("fn @f<n>(%x: [n]f64) -> f64 { %r = ld %x[0] ret %r }", &[1.0], "give it a size first");
    fails(
        "fn @f<n>(%x: f64) -> f64 { %y = tab (%i < n) { yield %x } %r = ld %y[0] ret %r }",
        &[1.0],
        "has no size",
    );
    fails(
        &format!(
            "fn @f(%x: f64) -> f64 {{ %r = red sum (%i < {huge}, %j < {huge}) {{ yield %x }} ret %r }}"
        ),
        &[1.0],
        "too large",
    );
    refused("fn @f(%x: [99999999999999999999]f64)", "1:12: `99999999999999999999` is no size");
    refused("fn @f(%x: [-1]f64)", "1:12: `-1` is no size");
    refused(
        "fn @f(%x: [n]f64)",
        "1:12: there is no dimension `n`; declare it behind the function's name, as `@f<n>`",
    );
    refused("fn @f(%x: [3, ?]f64)", "1:15: expected a size or the name of a dimension");
}

#[test]
fn nothing_may_be_of_size_zero() {
    gives("fn @f(%x: [0]f64) -> [0]f64 { %y = sin %x ret %y }", &[], &[]);
    gives("fn @f(%x: [0, 3]f64) -> [0, 3]f64 { %y = add %x, 1.0 ret %y }", &[], &[]);
    gives("fn @f(%x: f64) -> [0]f64 { %y = tab (%i < 0) { yield %x } ret %y }", &[2.0], &[]);
    gives(
        "fn @f(%x: f64) -> [0, 2]f64 { %y = tab (%i < 0, %j < 2) { yield %x } ret %y }",
        &[2.0],
        &[],
    );
    gives("fn @f(%x: f64) -> f64 { %y = red sum (%i < 0) { yield %x } ret %y }", &[2.0], &[0.0]);
    gives("fn @f(%x: f64) -> f64 { %y = red prod (%i < 0) { yield %x } ret %y }", &[2.0], &[1.0]);
    gives(
        "fn @f(%x: f64) -> f64 { %y = red max (%i < 0) { yield %x } ret %y }",
        &[2.0],
        &[f64::NEG_INFINITY],
    );
    gives(
        "fn @f(%x: f64) -> f64 { %y = red min (%i < 0) { yield %x } ret %y }",
        &[2.0],
        &[f64::INFINITY],
    );
    fails(
        "fn @f(%x: f64) -> i64 { %y = red argmax (%i < 0) { yield %x } ret %y }",
        &[2.0],
        "of no point",
    );
    gives(
        "fn @f(%x: i32) -> (i32, i32) { %y = red max (%i < 0) { yield %x } %z = red min (%i < 0) { yield %x } ret %y, %z }",
        &[2.0],
        &[f64::from(i32::MIN), f64::from(i32::MAX)],
    );
    gives(
        "fn @f(%x: f64) -> f64 { %y = acc (%i < 0) (%t = %x) { %u = add %t, 1.0 yield %u } ret %y }",
        &[2.0],
        &[2.0],
    );
    gives(
        "fn @f(%x: f64) -> (f64, [0]f64) { %y, %z = for %i < 0 (%t = %x) { %u = add %t, 1.0 yield %u, %t } ret %y, %z }",
        &[2.0],
        &[2.0],
    );
    gives(
        "fn @f(%x: f64, %n: i64) -> f64 { %y = for %i < %n (%t = %x) { %u = add %t, 1.0 yield %u } ret %y }",
        &[2.0, -7.0],
        &[2.0],
    );
    gives(
        "fn @f(%x: f64) -> f64 { %y = for %i < -3 (%t = %x) { %u = add %t, 1.0 yield %u } ret %y }",
        &[2.0],
        &[2.0],
    );
    gives(
        "fn @f(%x: f64) -> (f64, i64) { %y, %n = while (%t = %x) { yield false } do { %u = add %t, 1.0 yield %u } ret %y, %n }",
        &[2.0],
        &[2.0, 0.0],
    );
    gives("fn @f(%x: [0]f64) -> [0]i64 { %y = argsort %x ret %y }", &[], &[]);
    gives("fn @f(%x: [0]f64) -> i64 { %y = extent{0} %x ret %y }", &[], &[0.0]);
    gives("fn @f(%x: f64) -> f64 { %y = tab () { yield %x } ret %y }", &[2.0], &[2.0]);
    gives("fn @f(%x: f64) -> f64 { %y = red sum () { yield %x } ret %y }", &[2.0], &[2.0]);
    gives("fn @f(%x: [2, 0]f64) -> [0]f64 { %y = ld %x[1] ret %y }", &[], &[]);
    gives("fn @f() -> () { ret }", &[], &[]);
    fails(
        "fn @f(%x: [0]f64, %i: i64) -> f64 { %y = ld %x[%i] ret %y }",
        &[0.0],
        "dimension 0 of [0]f64 has 0 elements",
    );
}

#[test]
fn indices_out_of_range_are_errors() {
    let load = "fn @f(%x: [2, 3]f64, %i: i64, %j: i64) -> f64 { %y = ld %x[%i, %j] ret %y }";
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    gives(load, &[&x[..], &[1.0, 2.0]].concat(), &[6.0]);
    fails(
        load,
        &[&x[..], &[2.0, 0.0]].concat(),
        "index 2 is out of range: dimension 0 of [2, 3]f64 has 2 elements",
    );
    fails(
        load,
        &[&x[..], &[0.0, 3.0]].concat(),
        "index 3 is out of range: dimension 1 of [2, 3]f64 has 3 elements",
    );
    fails(load, &[&x[..], &[0.0, -1.0]].concat(), "index -1 is out of range");
    let put = "fn @f(%x: [2, 3]f64, %i: i64) -> [2, 3]f64 { %y = put %x[%i], 0.0 ret %y }";
    fails(put, &[&x[..], &[5.0]].concat(), "index 5 is out of range");
    let inside =
        "fn @f(%x: [2]f64) -> [3]f64 { %y = tab (%i < 3) { %a = ld %x[%i] yield %a } ret %y }";
    fails(inside, &[1.0, 2.0], "a body: index 2 is out of range");
    let stack =
        "fn @f(%n: i64, %m: i64) -> i64 { %s = for %i < %n () { yield %i } %r = ld %s[%m] ret %r }";
    gives(stack, &[3.0, 2.0], &[2.0]);
    fails(stack, &[3.0, 3.0], "index 3 is out of range: dimension 0 of [?]i64 has 3 elements");
}

#[test]
fn stacks_of_different_loops_do_not_add() {
    let text = "fn @f(%n: i64, %m: i64) -> f64 {
  %a = for %i < %n () { yield 1.0 }
  %b = for %i < %m () { yield 2.0 }
  %c = add %a, %b
  %r = ld %c[0]
  ret %r
}";
    gives(text, &[3.0, 3.0], &[3.0]);
    fails(text, &[3.0, 2.0], "`add` of 3 and of 2 elements");
}

#[test]
fn integers_wrap_around_and_division_by_zero_is_zero() {
    let big = i64::MAX;
    gives(
        &format!("fn @f(%n: i64) -> i64 {{ %a = iadd %n, {big} %b = isub %a, {big} ret %b }}"),
        &[5.0],
        &[5.0],
    );
    gives(
        "fn @f(%n: i64) -> (i64, i64) { %a = idiv %n, 0 %b = irem %n, 0 ret %a, %b }",
        &[5.0],
        &[0.0, 0.0],
    );
    gives(
        "fn @f(%n: i64) -> (i64, i64) { %a = idiv %n, 3 %b = irem %n, 3 ret %a, %b }",
        &[-5.0],
        &[-2.0, 1.0],
    );
    gives(
        "fn @f(%n: i64) -> (i64, i64) { %a = idiv %n, -3 %b = irem %n, -3 ret %a, %b }",
        &[5.0],
        &[-2.0, -1.0],
    );
    let least = i64::MIN;
    gives(
        &format!(
            "fn @f(%n: i64) -> i64 {{ %m = iadd %n, {least} %a = idiv %m, -1 %b = isub %a, {least} ret %b }}"
        ),
        &[0.0],
        &[0.0],
    );
    // Singles wrap at 32 bits, in sums and products of kernels as well.
    gives(
        "fn @f(%n: i32) -> i32 { %a = iadd %n, 2147483647 ret %a }",
        &[1.0],
        &[f64::from(i32::MIN)],
    );
    gives("fn @f(%n: i32) -> i32 { %a = imul %n, %n ret %a }", &[65536.0], &[0.0]);
    gives(
        "fn @f(%n: i32) -> i32 { %a = red sum (%i < 2) { yield %n } ret %a }",
        &[2147483647.0],
        &[-2.0],
    );
    gives(
        "fn @f(%n: i32) -> i32 { %a = red prod (%i < 3) { yield %n } ret %a }",
        &[2048.0],
        &[0.0],
    );
    gives("fn @f(%n: i64) -> i32 { %a = cast %n : i32 ret %a }", &[4294967297.0], &[1.0]);
    gives("fn @f(%x: f64) -> i64 { %a = cast %x : i64 ret %a }", &[-2.9], &[-2.0]);
    gives("fn @f(%x: f64) -> i64 { %a = cast %x : i64 ret %a }", &[f64::NAN], &[0.0]);
    refused(
        "fn @f(%n: i32) -> i32 { %a = iadd %n, 2147483648 ret %a }",
        "1:39: `2147483648` is no integer of 32 bits",
    );
    refused(
        "fn @f(%n: i32) -> i32 { %a = iadd %n, 3000000000i32 ret %a }",
        "is no integer of 32 bits",
    );
    refused(
        "fn @f(%x: [3]f64) -> i64 { %a = extent{-1} %x ret %a }",
        "1:40: there is no dimension -1",
    );
    fails(
        "fn @f(%n: i64) -> [1]i64 { %r = tab (%i < 1) { yield %n } ret %r }",
        &[0.5],
        "%n is i64, which was not given",
    );
    for outside in [2_147_483_648.0, -2_147_483_649.0] {
        let text = "fn @f(%n: i32) -> i32 { %a = iadd %n, 1i32 ret %a }";
        fails(text, &[outside], "%n is i32, which was not given");
    }
}

#[test]
fn names_of_values_and_of_indices_do_not_mix() {
    // `%a` prints as `%0`, and so would the index.
    let text = "fn @f(%x: f64) -> f64 {
  %a = sin %x
  %r = for %0 < 3 (%1 = %a) {
    %c = cast %0 : f64
    %d = mul %c, %a
    %e = add %1, %d
    yield %e
  }
  ret %r
}";
    let f = parse(text).unwrap();
    let again = parse(&f.to_string()).unwrap();
    assert_eq!(again, f);
    assert_eq!(f.run(&[1.0]).unwrap(), [4.0 * 1.0_f64.sin()]);
    // A function that calls one of its own name.
    let g = parse("fn @f(%x: f64) -> f64 { %y = sin %x ret %y } fn @g(%x: f64) -> f64 { %y = call @f(%x) ret %y }").unwrap();
    let same = g.renamed("f");
    assert_eq!(parse(&same.to_string()).unwrap().to_string(), same.to_string());
}

#[test]
fn numbers_that_stand_for_many_decide_no_integer() {
    use cotangent_numbers::Interval;
    let wide = [Interval::new(0.5, 2.5)];
    let cast = parse("fn @f(%x: f64) -> i64 { %a = cast %x : i64 ret %a }").unwrap();
    assert!(cast.run(&wide).is_err());
    assert!(cast.run(&[Interval::new(1.25, 1.75)]).unwrap()[0].contains(1.0));
    let two = [Interval::new(0.0, 2.0), Interval::new(1.0, 3.0)];
    for what in
        ["%r = argsort %x %a = ld %r[0]", "%a = red argmax (%i < 2) { %e = ld %x[%i] yield %e }"]
    {
        let f = parse(&format!("fn @f(%x: [2]f64) -> i64 {{ {what} ret %a }}")).unwrap();
        assert!(f.run(&two).is_err());
        assert!(f.run(&[Interval::new(0.0, 1.0), Interval::new(2.0, 3.0)]).is_ok());
    }
}

#[test]
fn points_ask_for_the_length_of_their_own_stacks() {
    // Point i stacks i ones: cos 0 of what another point has more would be seen.
    let text = "fn @f() -> [4]f64 {
  %r = tab (%i < 4) {
    %s = for %k < %i () { yield 1.0 }
    %n = extent{0} %s
    %t = for %k < %n (%u = 0.0) { %e = ld %s[%k] %c = cos %e %v = add %u, %c yield %v }
    yield %t
  }
  ret %r
}";
    let c = 1.0_f64.cos();
    gives(text, &[], &[0.0, c, c + c, c + c + c]);
}

#[test]
fn targets_of_an_accumulation_are_not_looked_at_through_bodies() {
    let refused_by = |body: &str, wanted: &str| {
        let text = format!(
            "fn @f(%x: [3]f64, %b: bool) -> [3]f64 {{ %r = acc (%i < 3) (%t = %x) {{ {body} }} ret %r }}"
        );
        refused(&text, wanted);
    };
    refused_by("%y = mul %t, 2.0 yield %y", "a target is looked at by `mul`");
    refused_by("%e = ld %t[%i] %y = put_add %t[%i], %e yield %y", "a target is looked at by `ld`");
    refused_by(
        "%y = if %b { %u = mul %t, 2.0 yield %u } else { yield %t } yield %y",
        "a target is looked at by `mul`",
    );
    refused_by(
        "%y = if %b { yield %t } else { yield %x } yield %y",
        "a target is looked at by `if`",
    );
    refused_by(
        "%y = for %k < 2 (%u = %t) { %v = sin %u yield %v } yield %y",
        "a target is looked at by `sin`",
    );
    refused_by(
        "%y, %z = for %k < 2 (%u = %t) { yield %u, %u } yield %y",
        "a target is looked at by `for`",
    );
    refused_by("yield %x", "a target is lost");
    refused_by(
        "%s = red sum (%k < 3) { %e = ld %t[%k] yield %e } %y = put_add %t[0], %s yield %y",
        "a target is looked at by `ld`",
    );
    refused(
        "fn @f(%x: f64, %y: f64) -> (f64, f64) { %a, %b = acc (%i < 3) (%s = %x, %t = %y) { yield %t, %s } ret %a, %b }",
        "a target is lost",
    );
    gives(
        "fn @f(%x: f64, %b: bool) -> f64 { %r = acc (%i < 3) (%t = %x) {
  %y = if %b { %u = add %t, 1.0 yield %u } else { yield %t }
  %z = for %k < 2 (%u = %y) { %v = add 0.5, %u yield %v }
  %w = acc (%k < 2) (%u = %z) { %v = add %u, 10.0 yield %v }
  yield %w } ret %r }",
        &[0.0, 1.0],
        &[66.0],
    );
}

/// Functions of scalars only are run by themselves: with all that may stand in them.
#[test]
fn stops_casts_and_truths_of_scalars_are_run() {
    gives("fn @f(%x: f64) -> f64 { %s = stop %x %r = mul %s, %x ret %r }", &[3.0], &[9.0]);
    gives("fn @f(%x: f64) -> bool { %c = gt %x, 0.0 ret %c }", &[1.0], &[1.0]);
    gives("fn @f(%x: f64) -> (f64, bool) { %c = gt %x, 0.0 ret %x, %c }", &[-1.0], &[-1.0, 0.0]);
    gives("fn @f(%x: f64) -> f64 { %c = gt %x, 0.0 %r = cast %c : f64 ret %r }", &[1.0], &[1.0]);
    let chosen = "fn @f(%x: f64) -> f64 {
  %c = gt %x, 0.0
  %d = lt %x, 2.0
  %e = select %c, %d, %c
  %r = select %e, 5.0, 7.0
  ret %r
}";
    gives(chosen, &[1.0], &[5.0]);
    gives(chosen, &[3.0], &[7.0]);
}
