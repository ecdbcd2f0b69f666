//! Short programs run without a workspace, however their arguments and results are cut into lists.

use cotangent_ir::{Function, RunError, parse};
use cotangent_jit::{Compiled, Llvm, Options};
use cotangent_optimize::simplify;
use cotangent_testkit::programs;

/// Machine code, unless there is no LLVM.
fn compiled(f: &Function) -> Option<Compiled> {
    Llvm::get().is_ok().then(|| Compiled::new(f, &Options::default().exact()).unwrap())
}

/// All ways to cut a list in up to three.
fn cuts(len: usize) -> Vec<[usize; 2]> {
    (0..=len).flat_map(|a| (a..=len).map(move |b| [a, b])).collect()
}

/// Runs it on lists that are cut, and compares with the interpreter.
fn check(f: &Function, compiled: &Compiled, x: &[f64]) {
    let expected = f.run(x).unwrap();
    let lens = |types: &[cotangent_ir::Type]| -> Vec<usize> {
        types.iter().map(|ty| ty.len().unwrap()).collect()
    };
    // Whether a piece goes over a cut.
    let whole = |lens: &[usize], cuts: &[usize]| {
        let mut start = 0;
        lens.iter().all(|len| {
            start += len;
            cuts.iter().all(|cut| *cut <= start - len || *cut >= start)
        })
    };
    let (takes, gives) = (lens(compiled.params()), lens(compiled.results()));
    // Many numbers come in one list, and may be cut anywhere.
    let packed = takes.len() + gives.len() > 12;
    let mut workspace = compiled.workspace();
    for [a, b] in cuts(x.len()) {
        for [c, d] in cuts(expected.len()) {
            let mut y = vec![-9.0; expected.len()];
            let (first, rest) = y.split_at_mut(c);
            let (second, third) = rest.split_at_mut(d - c);
            let lists: &[&[f64]] = &[&x[..a], &x[a..b], &x[b..]];
            let outcome = compiled.run_slices(lists, &mut [first, second, third], &mut workspace);
            if packed || (whole(&takes, &[a, b]) && whole(&gives, &[c, d])) {
                outcome.unwrap();
                assert_eq!(y, expected, "cut at {a}, {b} and {c}, {d}");
            } else {
                let why = outcome.unwrap_err().to_string();
                assert!(why.contains("cut in two"), "{why}");
            }
        }
    }
    let mut y = vec![0.0; expected.len()];
    compiled.run_into(x, &mut y, &mut workspace).unwrap();
    assert_eq!(y, expected);
    for len in [expected.len() - 1, expected.len() + 1] {
        let error = compiled.run_into(x, &mut vec![0.0; len], &mut workspace).unwrap_err();
        assert!(matches!(error, RunError::Arguments { .. }), "{error}");
    }
    let error = compiled.run_into(&x[1..], &mut y, &mut workspace).unwrap_err();
    assert!(matches!(error, RunError::Arguments { .. }), "{error}");
}

#[test]
fn lists_are_cut_anywhere_between_arguments_and_results() {
    let f = parse(
        "fn @f(%x: [3]f64, %s: f64, %y: [2]f64) -> ([3]f64, f64, [2]f64) {
          %a = mul %x, %s
          %b = red sum (%i < 3) { %u = ld %x[%i] yield %u }
          %c = mul %y, %b
          ret %a, %b, %c
        }",
    )
    .unwrap();
    let Some(compiled) = compiled(&f) else { return };
    assert!(compiled.run_alone::<f64>(&[&[0.0; 6]], &mut [&mut [0.0; 6]]));
    check(&f, &compiled, &[1.0, 2.0, 3.0, 0.5, -1.0, 4.0]);
    // Singles are converted, in memory of a workspace.
    assert!(!compiled.run_alone::<f32>(&[&[0.0; 6]], &mut [&mut [0.0; 6]]));
    let mut y = [0.0_f32; 6];
    let x = [1.0, 2.0, 3.0, 0.5, -1.0, 4.0_f32];
    compiled.run_into(&x, &mut y, &mut compiled.workspace()).unwrap();
    assert_eq!(y, [0.5, 1.0, 1.5, 6.0, -6.0, 24.0]);
}

#[test]
fn many_numbers_are_cut_anywhere() {
    let names: Vec<String> = (0..8).map(|k| format!("%x{k}")).collect();
    let params: Vec<String> = names.iter().map(|name| format!("{name}: f64")).collect();
    let body: String = (0..6)
        .map(|k| {
            format!(
                "%a{k} = mul {}, {} %y{k} = add %a{k}, {}\n",
                names[k],
                names[k + 1],
                names[7 - k]
            )
        })
        .collect();
    let text = format!(
        "fn @f({}) -> (f64, f64, f64, f64, f64, f64) {{ {body} ret %y0, %y1, %y2, %y3, %y4, %y5 }}",
        params.join(", ")
    );
    let f = parse(&text).unwrap();
    let Some(compiled) = compiled(&f) else { return };
    assert!(compiled.run_alone::<f64>(&[&[0.0; 8]], &mut [&mut [0.0; 6]]));
    check(&f, &compiled, &[1.0, 2.0, 3.0, 0.5, -1.0, 4.0, 0.25, 7.0]);
}

#[test]
fn guards_and_failures_are_told() {
    let f = parse(
        "fn @f(%x: [4]f64) -> f64 {
          %a = ld %x[0]
          %g = gt %a, 0.0
          guard %g, true
          %b = ld %x[1]
          %i = cast %b : i64
          %c = ld %x[%i]
          ret %c
        }",
    )
    .unwrap();
    let Some(compiled) = compiled(&f) else { return };
    let mut y = [0.0];
    let mut workspace = compiled.workspace();
    let mut run = |x: [f64; 4]| {
        let alone = compiled.run_alone(&[&x[..]], &mut [&mut y[..]]);
        let outcome = compiled.run_guarded(&[&x[..]], &mut [&mut y[..]], &mut workspace);
        assert_eq!(alone, matches!(outcome, Ok(true)));
        outcome
    };
    assert!(run([1.0, 2.0, 5.0, 6.0]).unwrap());
    assert!(!run([-1.0, 2.0, 5.0, 6.0]).unwrap(), "the guard does not hold");
    let error = run([1.0, 9.0, 5.0, 6.0]).unwrap_err();
    assert!(error.to_string().contains("out of range"), "{error}");
    let error = compiled.run_into(&[-1.0, 2.0, 5.0, 6.0], &mut y, &mut workspace).unwrap_err();
    assert!(matches!(error, RunError::Guard { .. }), "{error}");
}

#[test]
fn random_programs_give_the_same_at_once_and_with_a_workspace() {
    let mut at_once = 0;
    for seed in 0..60 {
        let f = simplify(&programs::random(seed, &programs::Options::default()));
        let x = programs::arguments(&f, seed);
        let (Ok(expected), Some(compiled)) = (f.run(&x), compiled(&f)) else { continue };
        let mut y = vec![0.0; expected.len()];
        if compiled.run_alone(&[&x[..]], &mut [&mut y[..]]) {
            let same = y.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{f}\n{y:?} and {expected:?}");
            at_once += 1;
        }
    }
    assert!(Llvm::get().is_err() || at_once > 10, "{at_once}");
}

#[test]
fn one_list_is_not_cut() {
    let text = "fn @f(%x: [6]f64) -> [6]f64 { %y = mul %x, 2.0 ret %y }";
    let f = parse(text).unwrap();
    let Some(compiled) = compiled(&f) else { return };
    check(&f, &compiled, &[1.0, 2.0, 3.0, 0.5, -1.0, 4.0]);
}
