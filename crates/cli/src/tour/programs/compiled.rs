//! Machine code: the gradient of a sum over many points, with vectors, beside the same by hand.

use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use cotangent::{Compiled, Library, compile_arrays};
use cotangent_ir::sum_over;
use serde::Serialize;

use super::agree;
use crate::Failure;
use crate::tour::print::{code, remark, title};

const N: usize = 1000;

// The tour shows the lines from here:
/// Rosenbrock's function of a thousand variables, recorded as a sum.
fn rosenbrock() -> Result<Compiled, cotangent::Error> {
    compile_arrays(&[&[1000]], |x| {
        sum_over(0..999, |i| {
            let (a, b) = (x[0].at(i), x[0].at(i + 1));
            (b - a * a).powi(2) * 100.0 + (a - 1.0).powi(2)
        })
    })
}
// to here.

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
    /// Machine code, or interpreted where there is no LLVM.
    machine_code: bool,
    library: String,
    /// The largest difference to the gradient by hand, relative.
    difference: f64,
    /// The time of a gradient, in times that by hand.
    ratio: f64,
    first_milliseconds: f64,
    /// The gradient as a function of C, in a library that is linked without cotangent.
    prototype: Option<String>,
}

impl Section {
    pub(super) fn new() -> Result<Section, Failure> {
        let f = rosenbrock()?;
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
            source: crate::tour::shown(include_str!("compiled.rs")),
            machine_code: f.is_machine_code()?,
            library,
            difference,
            ratio: ours.as_secs_f64() / theirs.as_secs_f64().max(1e-12),
            first_milliseconds: first.as_secs_f64() * 1e3,
        })
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        title(out, "Machine code")?;
        code(out, &self.source)?;
        code(out, "f.gradient_into(&x, &mut g)?")?;
        let engine = if self.machine_code { "machine code" } else { "interpreted" };
        writeln!(out, "  engine         {engine} ({})", self.library)?;
        writeln!(out, "  to the hand-written gradient {:.1e}", self.difference)?;
        writeln!(out, "  time           {:.2} × the hand-written gradient", self.ratio)?;
        if let Some(prototype) = &self.prototype {
            writeln!(out, "  in a library   {prototype}")?;
        }
        let made = format!(
            "Recorded as a sum, differentiated, optimised and compiled when first asked for: {:.0} ms. \
             Points are the lanes of vectors.",
            self.first_milliseconds
        );
        remark(out, &made)
    }
}
