//! Text: what is printed parses back to the same function, and every error has its place.

use cotangent_ir::{Builder, Function, Op, Type, Value, parse, trace, trace_at};
use cotangent_numbers::{Elementary, Interval};
use cotangent_ops::{Comparison, Opcode};

/// A random function with every kind of operation.
fn random(seed: u64) -> Function {
    let mut rng = fastrand::Rng::with_seed(seed);
    let ty = if rng.u8(..4) == 0 { Type::F32 } else { Type::F64 };
    let mut b = Builder::new(format!("random{seed}"));
    let mut numbers: Vec<Value> =
        (0..rng.usize(1..4)).map(|k| b.param(["x", "y", "0", "7"][k], ty)).collect();
    let mut masks: Vec<Value> = if rng.bool() { vec![b.param("m", Type::BOOL)] } else { vec![] };
    for _ in 0..rng.usize(1..60) {
        let mut number = || numbers[rng.usize(..numbers.len())];
        let [x, y, z] = [number(), number(), number()];
        let pick = |rng: &mut fastrand::Rng, masks: &[Value]| {
            masks.get(rng.usize(..masks.len().max(1))).copied()
        };
        match rng.u8(..10) {
            0..5 => {
                let code = Opcode::ALL[rng.usize(..Opcode::ALL.len())];
                let parameter =
                    if cotangent_ir::takes_parameter(code) { rng.i32(-3..4) } else { 0 };
                // Exponents may be negative, orders of derivatives not.
                let parameter = if code == Opcode::Powi { parameter } else { parameter.abs() };
                numbers.push(b.elementary(code, parameter, &[x, y, z][..code.info().arity]));
            }
            5 => {
                let c = [
                    0.0,
                    -0.0,
                    1.5,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                    f64::NAN,
                    1e-310,
                    -2e300,
                    0.1,
                ];
                let c = c[rng.usize(..c.len())];
                numbers.push(if rng.bool() { b.constant(c, ty) } else { b.rounded(c, ty) });
            }
            6 => masks.push(b.compare(Comparison::AtMost, x, y)),
            7 => {
                if let (Some(p), Some(q)) = (pick(&mut rng, &masks), pick(&mut rng, &masks)) {
                    let mask = if rng.bool() { b.and(p, q) } else { b.or(p, q) };
                    masks.push(b.not(mask));
                }
            }
            8 => {
                if let Some(mask) = pick(&mut rng, &masks) {
                    numbers.push(b.select(mask, x, y));
                }
            }
            _ => {
                if let Some(mask) = pick(&mut rng, &masks) {
                    b.guard(mask, rng.bool());
                }
            }
        }
    }
    let results = (0..rng.usize(..4)).map(|_| numbers[rng.usize(..numbers.len())]).collect();
    b.finish(results)
}

#[test]
fn what_is_printed_parses_back() {
    for seed in 0..2000 {
        let f = random(seed);
        f.verify().unwrap_or_else(|e| panic!("{seed}: {e}\n{f}"));
        let text = f.to_string();
        let again = parse(&text).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
        assert_eq!(again.to_string(), text, "{seed}");
        assert_eq!(again.structural_hash(), f.structural_hash(), "{seed}\n{text}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        ("", "1:1: a function begins with `fn @name`, not the end of the text"),
        ("fn f()", "1:4: expected the function's name, as `@f`, found `f`"),
        ("fn @f(%x f64)", "1:10: expected `:`, found `f64`"),
        (
            "fn @f(%x: i16) -> f64 {}",
            "1:11: expected a type (f64, f32, i64, i32, bool, or an array such as [3, n]f64), found `i16`",
        ),
        (
            "fn @f(%x: f64, %x: f64) -> f64 { ret %x }",
            "1:16: `%x` is defined twice; choose another name",
        ),
        ("fn @f(%x: f64) {}", "1:16: expected `->` and the types of the results, found `{`"),
        (
            "fn @f(%x: f64) -> f64 {\n  %y = tanj %x\n  ret %y\n}",
            "2:8: there is no operation `tanj`; did you mean `tan`?",
        ),
        (
            "fn @f(%x: f64) -> f64 {\n  %y = sin %x, %x\n  ret %y\n}",
            "2:8: `sin` takes 1 operands, 2 are given",
        ),
        (
            "fn @f(%x: f64) -> f64 {\n  ret %z\n}",
            "2:7: `%z` is not defined; operands come before what uses them",
        ),
        (
            "fn @f(%x: f64) -> f64 {\n  %m = lt %x, 1.0\n  %y = sin %m\n  ret %y\n}",
            "3:12: `sin` wants f64 here, this is bool",
        ),
        (
            "fn @f(%x: f64, %y: f32) -> f64 {\n  %z = add %x, %y\n  ret %z\n}",
            "2:16: `add` wants f64 here, this is f32",
        ),
        ("fn @f(%x: f64) -> f64 {\n  %y = powi %x\n  ret %y\n}", "2:13: expected `{`, found `%x`"),
        (
            "fn @f(%x: f64) -> f64 {\n  %y = powi{99999999999} %x\n  ret %y\n}",
            "2:13: `99999999999` is no integer of 32 bits",
        ),
        (
            "fn @f(%x: f64) -> (f64, f64) {\n  ret %x\n}",
            "2:3: the function gives 2 results, 1 are returned",
        ),
        ("fn @f(%x: f64) -> bool {\n  ret %x\n}", "2:7: the function gives bool here, this is f64"),
        (
            "fn @f(%x: f64) -> f64 {\n  %y = add %x, 1.2.3\n  ret %y\n}",
            "2:16: `1.2.3` is no number",
        ),
        (
            "fn @f(%x: f64) -> f64 {\n  ret %x\n} fn",
            "3:5: expected the function's name, as `@f`, found the end of the text",
        ),
        (
            "fn @f(%x: f64) -> f64 {\n  guard %x, true\n  ret %x\n}",
            "2:9: a guard takes a truth value",
        ),
        ("fn @f(%x: f64) -> f64 {\n  ret é\n}", "2:7: the character 'é' has no meaning here"),
        ("fn @f(% : f64)", "1:7: `%` has no name after it"),
    ];
    for (text, expected) in cases {
        let error = parse(text).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
        assert!(error.span.end <= text.len());
    }
}

#[test]
fn no_text_panics() {
    let mut rng = fastrand::Rng::with_seed(1);
    let words = [
        "fn", "@f", "(", ")", "{", "}", "%x", ":", "f64", "->", "=", "add", "powi", ",", "1.5",
        "ret", "guard", "-", "~", "nan[", "é", "//", "\n", "lin", "select", "true",
    ];
    for _ in 0..20_000 {
        let text: String = (0..rng.usize(..30))
            .map(|_| {
                format!("{}{}", words[rng.usize(..words.len())], if rng.bool() { " " } else { "" })
            })
            .collect();
        let _ = parse(&text);
    }
    // Good text with one byte changed, where that leaves text.
    for seed in 0..300 {
        let mut bytes = random(seed).to_string().into_bytes();
        let at = rng.usize(..bytes.len());
        bytes[at] = rng.u8(32..127);
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(f) = parse(&text)
        {
            f.verify().unwrap();
        }
    }
    let deep = format!("fn @f(%x: f64) -> f64 {{ ret {} }}", "(".repeat(100_000));
    assert!(parse(&deep).is_err());
}

#[test]
fn a_trace_of_ordinary_code_runs_on_every_number() {
    let f = trace("f", 2, |x| {
        let r = (x[0] * x[0] + x[1] * x[1]).sqrt();
        vec![Elementary::select(r.less(1.0), r * std::f64::consts::PI, x[1].atan2(x[0])), r]
    })
    .unwrap();
    f.verify().unwrap();
    assert_eq!(f.run(&[0.3, 0.4]).unwrap(), [0.5 * std::f64::consts::PI, 0.5]);
    let found = f.run(&[3.0, 4.0]).unwrap();
    assert!((found[0] - 4.0_f64.atan2(3.0)).abs() < 1e-15 && found[1] == 5.0, "{found:?}");
    let bounds = f.run(&[Interval::new(0.29, 0.31), Interval::new(0.39, 0.41)]).unwrap();
    assert!(bounds[0].contains(0.5 * std::f64::consts::PI) && bounds[1].contains(0.5));
    assert!(f.run(&[1.0]).unwrap_err().to_string().contains("takes 2 numbers, 1 were given"));
}

#[test]
fn constants_keep_their_bounds() {
    use cotangent_ir::Traced;
    let f = trace("f", 1, |x| {
        let third = Traced::from(1.0) / 3.0;
        let e = Traced::from(1.0).exp();
        vec![x[0] * third, x[0] * e, x[0] * (Traced::from(2.0) + 0.5)]
    })
    .unwrap();
    assert!(f.to_string().contains("~0.3333333333333333"), "{f}");
    assert!(f.to_string().contains("exp 1.0"), "{f}");
    assert!(f.to_string().contains("2.5"), "{f}");
    let bounds = f.run(&[Interval::new(1.0, 1.0)]).unwrap();
    assert!(bounds[0].low() < bounds[0].high() && bounds[1].contains(std::f64::consts::E));
    assert_eq!((bounds[2].low(), bounds[2].high()), (2.5, 2.5));
    let found = f.run(&[1.0]).unwrap();
    assert_eq!((found[0], found[2]), (1.0 / 3.0, 2.5));
    assert!((found[1] - 1.0_f64.exp()).abs() < 1e-15, "{found:?}");
    // Outside of every trace they are plain numbers.
    assert_eq!(((Traced::from(1.0) / 3.0) * 3.0).value(), 1.0);
}

#[test]
fn branches_are_guards_at_a_point_and_errors_without() {
    let body =
        |x: &[cotangent_ir::Traced]| vec![if x[0] > x[1] { x[0] * x[1] } else { x[1] - x[0] }];
    let f = trace_at("f", &[2.0, 1.0], body).unwrap();
    assert_eq!(f.guards().len(), 1);
    assert_eq!(f.run(&[5.0, 2.0]).unwrap(), [10.0]);
    assert!(f.run(&[2.0, 5.0]).is_err());
    let error = trace("f", 2, body).unwrap_err().to_string();
    assert!(error.contains("text.rs") && error.contains("decides a branch"), "{error}");
    // A value that is looked at holds the function to it.
    let looked = trace_at("g", &[2.0], |x| vec![x[0] * x[0].value()]).unwrap();
    assert_eq!(looked.run(&[2.0]).unwrap(), [4.0]);
    assert!(looked.run(&[3.0]).is_err());
}

#[test]
fn numbers_of_two_traces_do_not_mix() {
    let mixed = trace("outer", 1, |x| {
        let inner = trace("inner", 1, |y| vec![y[0] * x[0]]);
        assert!(inner.unwrap_err().to_string().contains("recording"), "named");
        vec![x[0] + 1.0]
    });
    assert_eq!(mixed.unwrap().run(&[2.0]).unwrap(), [3.0]);
    let mut kept = None;
    trace("f", 1, |x| {
        kept = Some(x[0]);
        vec![x[0]]
    })
    .unwrap();
    assert!(trace("g", 1, |x| vec![x[0] + kept.unwrap()]).is_err());
}

#[test]
fn equal_operations_are_one_and_the_unused_are_gone() {
    let f = trace("f", 2, |x| {
        let _unused = x[0].exp();
        let (a, b) = (x[0] * x[1], x[1] * x[0]);
        vec![(a + b) * 1.0, -(-a), a.powi(1)]
    })
    .unwrap();
    assert_eq!(f.operations(), 2);
    // Exact foldings only: a sum that rounds is left to what runs the function.
    let g = trace("g", 1, |x| vec![x[0] * (cotangent_ir::Traced::from(2.0) + 3.0), x[0]]).unwrap();
    assert!(g.to_string().contains("~5.0") || g.to_string().contains("5.0"), "{g}");
    assert!(matches!(g.op(g.results()[1]), Op::Param(0)));
}

#[test]
fn a_million_operations_are_traced() {
    let f = trace("long", 2, |x| {
        let mut y = x[0];
        for k in 0..500_000 {
            y = y * x[1] + f64::from(k % 7);
        }
        vec![y]
    })
    .unwrap();
    assert!(f.operations() >= 999_000, "{}", f.operations());
    let mut direct = 0.5;
    for k in 0..500_000 {
        direct = direct * 0.25 + f64::from(k % 7);
    }
    assert_eq!(f.run(&[0.5, 0.25]).unwrap(), [direct]);
}

/// Parts of a loop that takes a target along are of the target only if they are what becomes of it.
#[test]
fn a_target_goes_through_a_loop_beside_other_carries() {
    let f = parse(
        "fn @f(%x: [4]f64) -> (f64, f64) {
  %a, %b = acc (%i < 4) (%c = 0.0, %d = 0.0) {
    %e = ld %x[%i]
    %g, %h = for %j < 3 (%k = %c, %l = %e) {
      %m = add %k, %l
      %n = mul %l, 2.0
      yield %m, %n
    }
    %o = add %d, %h
    yield %g, %o
  }
  ret %a, %b
}",
    )
    .unwrap();
    f.verify().unwrap();
    assert_eq!(f.run(&[1.0, 2.0, 3.0, 4.0]).unwrap(), [70.0, 80.0]);
}

/// A point that takes a branch alone runs the kernels in it over lanes of their own.
#[test]
fn a_kernel_in_a_branch_that_one_point_takes() {
    let f = parse(
        "fn @f(%x: [3]f64) -> [3]f64 {
  %r = tab (%i < 3) {
    %a = ld %x[%i]
    %c = gt %a, 2.0
    %b = if %c {
      %s = red sum (%j < 4) { %t = cast %j : f64 %p = mul %t, %a yield %p }
      yield %s
    } else {
      yield %a
    }
    yield %b
  }
  ret %r
}",
    )
    .unwrap();
    assert_eq!(f.run(&[1.0, 3.0, 2.0]).unwrap(), [1.0, 18.0, 2.0]);
}
