//! Lists of doubles and of singles are handed to machine code as they are, or converted where they do not fit.

use cotangent_ir::{Function, RunError, trace, trace_arrays};
use cotangent_jit::{Compiled, Llvm, Number, Options};

const N: usize = 101;

/// Two results of two arrays, of doubles.
fn doubles() -> Function {
    trace_arrays("f", &[&[N], &[N]], |x| (x[0].exp() * x[1], x[0] - x[1])).unwrap()
}

/// The same of singles.
fn singles() -> Function {
    doubles().in_singles()
}

/// Machine code, unless there is no LLVM; says so then.
#[allow(clippy::print_stdout, reason = "who runs the tests is told what was left out")]
fn compiled(f: &Function) -> Option<Compiled> {
    if let Err(why) = Llvm::get() {
        println!("skipped: {why}");
        return None;
    }
    Some(Compiled::new(f, &Options::default()).unwrap())
}

/// Calls it with lists that begin at no round address, and compares with plain Rust.
fn check<T: Number>(f: &Function, tolerance: f64) {
    let Some(compiled) = compiled(f) else { return };
    let list =
        |scale: f64| -> Vec<T> { (0..=N).map(|i| T::nearest((scale * i as f64).sin())).collect() };
    let (x, y) = (list(0.1), list(0.37));
    let (mut a, mut b) = (vec![T::nearest(-9.0); N + 2], vec![T::nearest(-9.0); N + 2]);
    let mut workspace = compiled.workspace();
    // Twice: what a run leaves behind changes nothing.
    for _ in 0..2 {
        let outputs = &mut [&mut a[1..=N], &mut b[1..=N]];
        compiled.run_slices(&[&x[1..], &y[1..]], outputs, &mut workspace).unwrap();
        for i in 1..=N {
            let (x, y): (f64, f64) = (x[i].into(), y[i].into());
            let (a, b): (f64, f64) = (a[i].into(), b[i].into());
            assert!((a - x.exp() * y).abs() <= tolerance, "{i}: {a}");
            assert!((b - (x - y)).abs() <= tolerance, "{i}: {b}");
        }
    }
    // Nothing is written beside them.
    for list in [&a, &b] {
        assert_eq!((list[0].into(), list[N + 1].into()), (-9.0, -9.0));
    }
}

#[test]
fn doubles_are_called_with_doubles() {
    check::<f64>(&doubles(), 1e-14);
}

#[test]
fn singles_are_called_with_singles() {
    check::<f32>(&singles(), 1e-6);
}

#[test]
fn singles_are_called_with_doubles() {
    check::<f64>(&singles(), 1e-6);
}

#[test]
fn doubles_are_called_with_singles() {
    check::<f32>(&doubles(), 1e-6);
}

#[test]
fn lists_of_another_length_are_refused() {
    let Some(compiled) = compiled(&singles()) else { return };
    let (x, mut a, mut b) = ([0.0_f32; N], [0.0_f32; N], [0.0_f32; N - 1]);
    let mut workspace = compiled.workspace();
    let found = compiled.run_slices(&[&x, &x], &mut [&mut a, &mut b], &mut workspace);
    assert!(matches!(found, Err(RunError::Arguments { found: 201, .. })), "{found:?}");
    // As long as both, but one argument is in two lists.
    let mut c = [0.0_f32; N + 1];
    let (half, whole) = ([0.0_f32; 60], [0.0_f32; 2 * N - 60]);
    let found = compiled.run_slices(&[&half, &whole], &mut [&mut a, &mut c[1..]], &mut workspace);
    assert!(matches!(found, Err(RunError::Value { .. })), "{found:?}");
    let found = compiled.run_slices(&[&x], &mut [&mut a], &mut workspace);
    assert!(matches!(found, Err(RunError::Arguments { found: N, .. })), "{found:?}");
}

#[test]
fn numbers_that_are_taken_in_one_list_may_come_in_several() {
    let f = trace("f", 40, |x| {
        let products = x.windows(2).map(|w| w[0] * w[1]);
        std::iter::once(x[0] - x[39]).chain(products).collect()
    })
    .unwrap();
    // All numbers are few, so that singles hold them.
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) * 0.5 - 3.0).collect();
    let expected = f.run(&x).unwrap();
    in_several_lists::<f64>(&f, &x, &expected);
    in_several_lists::<f32>(&f, &x, &expected);
    in_several_lists::<f64>(&f.in_singles(), &x, &expected);
    in_several_lists::<f32>(&f.in_singles(), &x, &expected);
}

fn in_several_lists<T: Number + PartialEq + std::fmt::Debug>(
    f: &Function,
    x: &[f64],
    expected: &[f64],
) {
    let Some(compiled) = compiled(f) else { return };
    let [x, expected] = [x, expected].map(|x| x.iter().map(|x| T::nearest(*x)).collect::<Vec<T>>());
    let mut workspace = compiled.workspace();
    for cut in [0, 1, 17, 40] {
        let (a, b) = x.split_at(cut);
        let mut y = vec![T::nearest(-9.0); 40];
        let (first, rest) = y.split_at_mut(1);
        compiled.run_slices(&[a, b], &mut [first, rest], &mut workspace).unwrap();
        assert_eq!(y, expected, "{cut}");
        y.fill(T::nearest(-9.0));
        compiled.run_slices(&[a, b], &mut [&mut y], &mut workspace).unwrap();
        assert_eq!(y, expected, "{cut}");
    }
    assert!(compiled.run_slices(&[&x[1..]], &mut [&mut x.clone()], &mut workspace).is_err());
}
