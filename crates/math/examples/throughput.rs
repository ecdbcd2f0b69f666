//! Nanoseconds an element of every function, for 100 000 elements.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::hint::black_box;
use std::time::Instant;

use cotangent_math::{Binary, Level, Unary, apply_at, apply2_at};

const N: usize = 100_000;

/// The best of several runs.
fn time(mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..40 {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / N as f64
}

fn main() {
    // Inside the domain of every function; the larger arguments for those of the whole axis.
    let unit: Vec<f64> = (0..N).map(|i| (i as f64 + 0.5) / N as f64).collect();
    println!(
        "{:10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "f64 512", "f64 avx2", "f64 one", "f32 512", "f32 avx2", "f32 one"
    );
    for &function in Unary::ALL {
        let x: Vec<f64> = unit.iter().map(|u| 1.0 + 19.0 * u).collect();
        let x = if function.apply(2.0_f64).is_nan() { unit.clone() } else { x };
        let x32: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let (mut out, mut out32) = (vec![0.0; N], vec![0.0; N]);
        let mut row = Vec::new();
        for level in [Level::Avx512, Level::Avx2] {
            row.push(time(|| {
                apply_at(level, function, black_box(&x), &mut out);
                black_box(&out);
            }));
        }
        row.push(time(|| {
            black_box(&x).iter().zip(&mut out).for_each(|(&x, out)| *out = function.apply(x));
            black_box(&out);
        }));
        for level in [Level::Avx512, Level::Avx2] {
            row.push(time(|| {
                apply_at(level, function, black_box(&x32), &mut out32);
                black_box(&out32);
            }));
        }
        row.push(time(|| {
            black_box(&x32).iter().zip(&mut out32).for_each(|(&x, out)| *out = function.apply(x));
            black_box(&out32);
        }));
        print(&format!("{function:?}"), &row);
    }
    for &function in Binary::ALL {
        let x: Vec<f64> = unit.iter().map(|u| 0.1 + 19.0 * u).collect();
        let y: Vec<f64> = unit.iter().map(|u| 7.3 - 13.0 * u).collect();
        let x32: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let y32: Vec<f32> = y.iter().map(|&x| x as f32).collect();
        let (mut out, mut out32) = (vec![0.0; N], vec![0.0; N]);
        let mut row = Vec::new();
        for level in [Level::Avx512, Level::Avx2] {
            row.push(time(|| {
                apply2_at(level, function, black_box(&x), &y, &mut out);
                black_box(&out);
            }));
        }
        row.push(time(|| {
            let arguments = black_box(&x).iter().zip(&y);
            arguments.zip(&mut out).for_each(|((&x, &y), out)| *out = function.apply(x, y));
            black_box(&out);
        }));
        for level in [Level::Avx512, Level::Avx2] {
            row.push(time(|| {
                apply2_at(level, function, black_box(&x32), &y32, &mut out32);
                black_box(&out32);
            }));
        }
        row.push(time(|| {
            let arguments = black_box(&x32).iter().zip(&y32);
            arguments.zip(&mut out32).for_each(|((&x, &y), out)| *out = function.apply(x, y));
            black_box(&out32);
        }));
        print(&format!("{function:?}"), &row);
    }
}

fn print(name: &str, row: &[f64]) {
    let cells: Vec<String> = row.iter().map(|t| format!("{t:9.3}")).collect();
    println!("{name:10} {}", cells.join(" "));
}
