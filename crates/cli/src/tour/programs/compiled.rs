//! Machine code: gradient and sparse Hessian of plain code, re-rolled into kernels, beside the same by hand; singles; matrices.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use cotangent::prelude::*;
use cotangent::{Library, compile, compile_arrays};
use cotangent_ir::trace;
use cotangent_optimize::{reroll, simplify};
use serde::Serialize;

use super::{agree, failed};
use crate::Failure;
use crate::tour::print::{code, remark, title};

const N: usize = 1000;

/// Rows of the matrix.
const ROWS: usize = 64;

// The tour shows the lines from here:
/// Rosenbrock's function: a plain loop.
fn rosenbrock<S: Scalar>(x: &[S]) -> S {
    let mut sum = S::zero();
    for i in 0..x.len() - 1 {
        sum = sum + (x[i + 1] - x[i] * x[i]).powi(2) * 100.0 + (x[i] - 1.0).powi(2);
    }
    sum
}
// to here.

/// The entries of the Hessian, column by column.
fn hessian_by_hand(x: &[f64]) -> Vec<f64> {
    let mut entries = Vec::with_capacity(3 * x.len());
    for j in 0..x.len() {
        let before = (j > 0).then(|| -400.0 * x[j - 1]);
        let own = x.get(j + 1).map(|next| 1200.0 * x[j] * x[j] - 400.0 * next + 2.0);
        let middle = own.unwrap_or(0.0) + before.map_or(0.0, |_| 200.0);
        let after = own.map(|_| -400.0 * x[j]);
        entries.extend(before.into_iter().chain([middle]).chain(after));
    }
    entries
}

fn by_hand(x: &[f64], g: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    g.fill(0.0);
    for i in 0..x.len() - 1 {
        let (d, e) = (x[i + 1] - x[i] * x[i], x[i] - 1.0);
        sum += 100.0 * d * d + e * e;
        g[i] += -400.0 * d * x[i] + 2.0 * e;
        g[i + 1] += 200.0 * d;
    }
    sum
}

/// The least time of a run, of many.
fn least(mut run: impl FnMut()) -> Duration {
    let one = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..100).for_each(|_| run());
        start.elapsed() / 100
    };
    (0..50).map(|_| one(&mut run)).min().unwrap_or_default()
}

#[derive(Serialize)]
pub(super) struct Section {
    source: String,
    /// How many operations were recorded, and how many are left as kernels.
    operations: [usize; 2],
    /// The entries of the Hessian, and their largest difference to those by hand, relative.
    hessian_entries: usize,
    hessian_difference: f64,
    /// Machine code, or interpreted where there is no LLVM.
    machine_code: bool,
    library: String,
    /// The largest difference to the gradient by hand, relative.
    difference: f64,
    /// The time of a gradient, in times that by hand.
    ratio: f64,
    first_milliseconds: f64,
    /// The same in singles: the largest difference to the gradient by hand, relative to its largest number, and the time.
    singles_difference: f64,
    singles_ratio: f64,
    /// What bᵀA⁻¹b says of A, computed by kernels for matrices: its largest difference to −xxᵀ, relative.
    solve_difference: f64,
    /// The gradient as a function of C, in a library that is linked without cotangent.
    prototype: Option<String>,
}

/// The gradient of bᵀA⁻¹b by A and b, for a matrix that the processor's kernels factor: its largest difference to −xxᵀ and 2x,
/// where Ax = b.
fn solve_difference() -> Result<f64, Failure> {
    let f = compile_arrays(&[&[ROWS, ROWS], &[ROWS]], |x| x[1].dot(x[0].solve(x[1])))?;
    let at = |i: usize, j: usize| if i == j { 4.0 } else { 1.0 / (1 + i.abs_diff(j)) as f64 };
    let solution: Vec<f64> = (0..ROWS).map(|i| (0.3 * i as f64).cos()).collect();
    let mut x: Vec<f64> = (0..ROWS * ROWS).map(|k| at(k / ROWS, k % ROWS)).collect();
    for i in 0..ROWS {
        x.push((0..ROWS).map(|j| at(i, j) * solution[j]).sum());
    }
    let mut expected: Vec<f64> =
        (0..ROWS * ROWS).map(|k| -solution[k / ROWS] * solution[k % ROWS]).collect();
    expected.extend(solution.iter().map(|x| 2.0 * x));
    agree("the gradient of a solve", &f.gradient(&x)?, &expected, 1e-10)
}

impl Section {
    pub(super) fn new() -> Result<Section, Failure> {
        let plain = function!(|x: &[S]| -> S { rosenbrock(x) });
        let f = compile(plain, N)?;
        let recorded = simplify(&trace("f", N, |x| vec![rosenbrock(x)]).map_err(failed)?);
        let kernels = reroll(&recorded, N, &[]).map_or(0, |f| simplify(&f).operations());
        let x: Vec<f64> = (0..N).map(|i| 0.5 + 0.3 * (i as f64).sin()).collect();
        let (mut g, mut expected) = (vec![0.0; N], vec![0.0; N]);
        let start = Instant::now();
        f.gradient_into(&x, &mut g)?;
        let first = start.elapsed();
        by_hand(&x, &mut expected);
        let difference = agree("a compiled gradient", &g, &expected, 1e-12)?;
        let ours = least(|| {
            let _ = black_box(f.gradient_into(black_box(&x), &mut g));
        });
        let theirs = least(|| {
            black_box(by_hand(black_box(&x), &mut expected));
        });
        let hessian = f.sparse_hessian(&x)?;
        let entries = hessian_by_hand(&x);
        let hessian_difference = agree("a compiled Hessian", hessian.values(), &entries, 1e-12)?;
        let singles = compile(plain, N)?.in_singles();
        let short: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let mut h = vec![0.0_f32; N];
        singles.gradient_into(&short, &mut h)?;
        let largest = expected.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        let found: Vec<f64> = h.iter().map(|g| f64::from(*g) / largest).collect();
        let rounded: Vec<f64> = expected.iter().map(|g| g / largest).collect();
        let singles_difference = agree("a gradient in singles", &found, &rounded, 1e-5)?;
        let of_singles = least(|| {
            let _ = black_box(singles.gradient_into(black_box(&short), &mut h));
        });
        let library = match cotangent::machine() {
            Ok(llvm) => {
                format!("LLVM {}, {} doubles a vector", llvm.version.0, llvm.cpu.vector_bytes / 8)
            }
            Err(why) => why.to_string(),
        };
        // What stands in the way, if anything does, was said above.
        let shipped = Library::new("model").gradient("rosenbrock_gradient", &f).ok();
        let prototype = shipped.and_then(|library| {
            let header = library.header();
            header.lines().find(|line| line.starts_with("uint64_t")).map(str::to_string)
        });
        Ok(Section {
            prototype,
            operations: [recorded.operations(), kernels],
            hessian_entries: entries.len(),
            hessian_difference,
            source: crate::tour::shown(include_str!("compiled.rs")),
            machine_code: f.is_machine_code()?,
            library,
            difference,
            singles_difference,
            singles_ratio: of_singles.as_secs_f64() / theirs.as_secs_f64().max(1e-12),
            solve_difference: solve_difference()?,
            ratio: ours.as_secs_f64() / theirs.as_secs_f64().max(1e-12),
            first_milliseconds: first.as_secs_f64() * 1e3,
        })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        title(out, "Machine code")?;
        code(out, &self.source)?;
        code(out, "let f = compile(function!(|x: &[S]| -> S { rosenbrock(x) }), 1000)?;")?;
        code(out, "f.gradient_into(&x, &mut g)?; f.sparse_hessian(&x)?")?;
        let [recorded, kernels] = self.operations;
        writeln!(out, "  recorded       {recorded} operations, {kernels} as a kernel")?;
        let engine = if self.machine_code { "machine code" } else { "interpreted" };
        writeln!(out, "  engine         {engine} ({})", self.library)?;
        writeln!(out, "  to the hand-written gradient {:.1e}", self.difference)?;
        writeln!(out, "  time           {:.2} × the hand-written gradient", self.ratio)?;
        writeln!(
            out,
            "  sparse Hessian {} entries, to the hand-written ones {:.1e}",
            self.hessian_entries, self.hessian_difference
        )?;
        writeln!(
            out,
            "  in singles     {:.2} × the hand-written gradient, to it {:.1e}",
            self.singles_ratio, self.singles_difference
        )?;
        writeln!(
            out,
            "  gradient of bᵀA⁻¹b, {ROWS} rows, through a factorisation: to −xxᵀ and 2x {:.1e}",
            self.solve_difference
        )?;
        if let Some(prototype) = &self.prototype {
            writeln!(out, "  in a library   {prototype}")?;
        }
        let made = format!(
            "Recorded, re-rolled, differentiated, optimised and compiled when first asked for: {:.0} ms. \
             Rounds of the loop are the lanes of vectors.",
            self.first_milliseconds
        );
        remark(out, &made)
    }
}
