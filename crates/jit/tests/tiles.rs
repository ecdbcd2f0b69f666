//! Sums at several points of a table together: the same digits, whatever is left over of rows and columns.

use cotangent_ir::{Function, parse};
use cotangent_jit::{Compiled, Llvm, Options};

/// A table of weighted sums: `c[i, r, k] = shift[k] + Σ w[i, b] p[i, q] t[b, r, q, k]`, and a second sum beside it.
fn weighted(rows: usize, columns: usize) -> Function {
    let text = format!(
        "fn @f(%w: [{rows}, 5]f64, %p: [{rows}, 4]f64, %t: [5, 3, 4, {columns}]f64, %s: [{columns}]f64)
            -> [{rows}, 3, {columns}]f64 {{
           %c = tab (%i < {rows}, %r < 3, %k < {columns}) {{
             %sum = red sum (%b < 5, %q < 4) {{
               %x = ld %w[%i, %b] %y = ld %p[%i, %q] %xy = mul %x, %y
               %z = ld %t[%b, %r, %q, %k] %xyz = mul %xy, %z yield %xyz
             }}
             %u = ld %s[%k] %first = ld %p[%i, 0] %uf = mul %u, %first %all = add %sum, %uf
             yield %all
           }}
           ret %c
         }}"
    );
    parse(&text).unwrap()
}

fn point(f: &Function) -> Vec<f64> {
    let n: usize = f.params().iter().filter_map(|p| p.ty.len()).sum();
    (0..n).map(|i| (1.7 * i as f64).sin()).collect()
}

/// By definition, in the order of the points.
fn by_definition(rows: usize, columns: usize, x: &[f64]) -> Vec<f64> {
    let (w, rest) = x.split_at(rows * 5);
    let (p, rest) = rest.split_at(rows * 4);
    let (t, s) = rest.split_at(60 * columns);
    let mut all = Vec::new();
    for i in 0..rows {
        for r in 0..3 {
            for k in 0..columns {
                let terms = (0..20).map(|bq| {
                    let (b, q) = (bq / 4, bq % 4);
                    w[i * 5 + b] * p[i * 4 + q] * t[((b * 3 + r) * 4 + q) * columns + k]
                });
                let sum = terms.fold(0.0, |sum, x| sum + x);
                all.push(sum + s[k] * p[i * 4]);
            }
        }
    }
    all
}

#[test]
fn rows_together_give_what_each_gives_alone() {
    if Llvm::get().is_err() {
        return;
    }
    for rows in [1, 2, 3, 4, 5, 7, 8, 43] {
        for columns in [1, 3, 8, 13, 28, 32, 33, 70] {
            let f = weighted(rows, columns);
            let x = point(&f);
            let expected = by_definition(rows, columns, &x);
            for parallel in [None, Some(1)] {
                let exact = Options { contract: false, parallel, ..Options::default() };
                let compiled = Compiled::new(&f, &exact).unwrap();
                let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
                // Of few columns the lanes are summands, whose order is their own.
                if columns >= 28 {
                    assert_eq!(found, expected, "{rows} rows, {columns} columns, {parallel:?}");
                }
                let usual = Options { parallel, ..Options::default() };
                let compiled = Compiled::new(&f, &usual).unwrap();
                let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
                let far = found.iter().zip(&expected).find(|(a, b)| (*a - *b).abs() > 1e-13);
                assert_eq!(far, None, "{rows} rows, {columns} columns, {parallel:?}");
            }
        }
    }
}

/// Four rows read a vector of the factor that they share once.
#[test]
fn what_rows_share_is_loaded_once() {
    let Ok(llvm) = Llvm::get() else { return };
    if llvm.cpu.vector_bytes < 64 {
        // Rows and lanes go by the same steps there, or there are too few registers.
        return;
    }
    let f = weighted(40, 64);
    let text = Compiled::text(&f, &Options { parallel: None, ..Options::default() }, None).unwrap();
    // The loop over rows goes by several at a time.
    let steps = ["add nsw i64", ", 4"];
    assert!(text.lines().any(|line| steps.iter().all(|part| line.contains(part))), "{text}");
}

/// An index that leads outside is found in each row.
#[test]
fn places_outside_are_errors_in_every_row() {
    if Llvm::get().is_err() {
        return;
    }
    let text = "fn @f(%a: [9, 6]f64, %at: [9]i64, %b: [6, 24]f64) -> [9, 24]f64 {
      %c = tab (%i < 9, %k < 24) {
        %j = ld %at[%i]
        %s = red sum (%q < 6) {
          %x = ld %a[%j, %q] %y = ld %b[%q, %k] %z = mul %x, %y yield %z
        }
        yield %s
      }
      ret %c
    }";
    let f = parse(text).unwrap();
    let compiled = Compiled::new(&f, &Options::default()).unwrap();
    let mut x = vec![1.0; 54 + 9 + 144];
    x[54..63].copy_from_slice(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let mut workspace = compiled.workspace();
    assert_eq!(compiled.run(&x, &mut workspace).unwrap(), vec![6.0; 216]);
    for row in 0..9 {
        let mut x = x.clone();
        x[54 + row] = 9.0;
        assert!(compiled.run(&x, &mut workspace).is_err(), "row {row}");
    }
}
