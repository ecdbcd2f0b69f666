//! Long results, which are written past the caches, wherever they begin.

use cotangent_ir::{Function, parse};
use cotangent_jit::{Compiled, Llvm, Options};

/// Elements of a result that is just long enough, and not a whole number of vectors.
const LEN: usize = (32 << 20) / 8 + 5;

#[test]
fn all_elements_of_long_results_are_written_and_nothing_else() {
    if Llvm::get().is_err() {
        return;
    }
    let text = format!("fn @f(%x: [{LEN}]f64) -> [{LEN}]f64 {{ %y = mul %x, 3.0 ret %y }}");
    let f = parse(&text).unwrap();
    let text = Compiled::text(&f, &Options::default(), None).unwrap();
    assert!(text.contains("!nontemporal"));
    let x: Vec<f64> = (0..LEN).map(|i| i as f64).collect();
    for parallel in [None, Some(1 << 10)] {
        let compiled = Compiled::new(&f, &Options { parallel, ..Options::default() }).unwrap();
        let mut workspace = compiled.workspace();
        for first in 0..9 {
            let mut room = vec![-1.0; LEN + 16];
            let out = &mut room[first..first + LEN];
            compiled.run_into(&x, out, &mut workspace).unwrap();
            let wrong = out.iter().enumerate().position(|(i, y)| *y != 3.0 * i as f64);
            assert_eq!(wrong, None, "first {first}, threads {parallel:?}");
            assert!(room[..first].iter().chain(&room[first + LEN..]).all(|y| *y == -1.0));
        }
    }
}

/// A table of rows: the first argument times the number of the row, and k/64 at place k.
fn rows(points: usize, row: usize) -> Function {
    let mut puts = format!("%r0 = fill 0.0 : [{row}]f64");
    for k in 0..row {
        let share = k as f64 / 64.0;
        puts += &format!(" %q{k} = add %f, {share:?} %r{} = put %r{k}[{k}], %q{k}", k + 1);
    }
    let text = format!(
        "fn @f(%a: [1]f64) -> [{points}, {row}]f64 {{
           %t = tab (%i < {points}) {{
             %x = ld %a[0] %c = cast %i : f64 %f = mul %c, %x {puts} yield %r{row}
           }}
           ret %t
         }}"
    );
    parse(&text).unwrap_or_else(|e| panic!("{e}"))
}

/// What the place before the first element and those behind the last hold.
const UNTOUCHED: f64 = -1.0;

fn check_rows(points: usize, row: usize, streamed: bool) {
    let f = rows(points, row);
    let text = Compiled::text(&f, &Options::default(), None).unwrap();
    assert_eq!(text.contains("!nontemporal"), streamed, "{points} rows of {row}");
    for parallel in [None, Some(1 << 10)] {
        let compiled = Compiled::new(&f, &Options { parallel, ..Options::default() }).unwrap();
        let mut workspace = compiled.workspace();
        for first in [0, 1, 2, 5, 8] {
            let len = points * row;
            let mut room = vec![UNTOUCHED; len + 16];
            let out = &mut room[first..first + len];
            compiled.run_into(&[1.0], out, &mut workspace).unwrap();
            let right = |(n, y): (usize, &f64)| *y == (n / row) as f64 + (n % row) as f64 / 64.0;
            let wrong = out.iter().enumerate().position(|y| !right(y));
            assert_eq!(wrong, None, "{points} rows of {row}, first {first}, threads {parallel:?}");
            assert!(room[..first].iter().chain(&room[first + len..]).all(|y| *y == UNTOUCHED));
        }
    }
}

#[test]
fn rows_of_any_length_are_written_as_wholes() {
    if Llvm::get().is_err() {
        return;
    }
    for row in 1..=20 {
        for points in [7, 8, 43] {
            check_rows(points, row, false);
        }
    }
}

#[test]
fn rows_of_long_results_are_written_wherever_they_begin_and_nothing_else() {
    if Llvm::get().is_err() {
        return;
    }
    for row in [2, 7, 8, 30] {
        check_rows(LEN.div_ceil(row) + 3, row, true);
    }
}

#[test]
fn rows_of_long_results_of_singles_are_written_wherever_they_begin() {
    if Llvm::get().is_err() {
        return;
    }
    let (row, points) = (5, 2 * LEN / 5 + 3);
    let compiled = Compiled::new(&rows(points, row).in_singles(), &Options::default()).unwrap();
    let mut workspace = compiled.workspace();
    for first in [0, 3, 16] {
        let mut room = vec![0.5_f32; points * row + 32];
        let out = &mut room[first..first + points * row];
        compiled.run_slices(&[&[0.0_f32]], &mut [out], &mut workspace).unwrap();
        let right = |(n, y): (usize, &f32)| *y == (n % row) as f32 / 64.0;
        assert!(out.iter().enumerate().all(right), "first {first}");
        assert!(room[..first].iter().chain(&room[first + points * row..]).all(|y| *y == 0.5));
    }
}

/// A product with a zero on its left is zero in each element, also in the first and the last, which are written in part.
#[test]
fn a_nan_anywhere_in_a_result_that_is_watched_is_seen() {
    if Llvm::get().is_err() {
        return;
    }
    for len in [LEN, 1 << 20, 1003, 70] {
        let text = format!(
            "fn @f(%x: [{len}]f64, %y: [{len}]f64) -> [{len}]f64 {{
               %t = tab (%i < {len}) {{
                 %a = ld %x[%i] %b = ld %y[%i] %r = recip %b %c = strong_mul %a, %r
                 %d = mul %a, %a %e = add %c, %d %s = sin %e %u = mul %s, %s
                 %h = sinh %u %g = asinh %h %k = tan %g %l = atan %k yield %l
               }}
               ret %t
             }}"
        );
        let f = parse(&text).unwrap();
        let text = Compiled::text(&f, &Options::default(), None).unwrap();
        assert!(text.contains("fcmp uno"), "{len} elements are not watched");
        let compiled = Compiled::new(&f, &Options::default()).unwrap();
        let mut workspace = compiled.workspace();
        let mut out = vec![0.0; len];
        for at in [0, 1, 7, 8, len / 2, len - 9, len - 2, len - 1] {
            let mut x = vec![1.0; 2 * len];
            // A zero times an infinity.
            (x[at], x[len + at]) = (0.0, 0.0);
            compiled.run_into(&x, &mut out, &mut workspace).unwrap();
            assert!(out[at] == 0.0, "{len} elements, number {at}: {}", out[at]);
            assert!((out[(at + 1) % len] - 2.0_f64.sin().powi(2)).abs() < 1e-12);
        }
    }
}
