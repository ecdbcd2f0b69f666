//! Benchmarks of cotangent: ratios against hand-written code and peers, measured in one run.
//!
//! `cargo run --release --manifest-path bench/Cargo.toml -- SUITE [--case substring] [--json]`

mod coloring;
mod compiled;
mod dense;
mod eager;
mod elementwise;
mod gradbench;
mod harness;
mod ir;
mod memory;
mod python;
mod vectors;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// Benchmarks of cotangent against hand-written code and its peers.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// What to measure.
    suite: Suite,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    case: String,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// How long to measure each contender, in milliseconds.
    #[arg(long, default_value_t = 120)]
    milliseconds: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Suite {
    /// Sparse Jacobians and colourings.
    Coloring,
    /// Programs as machine code.
    Compiled,
    /// The eager numbers: dual numbers, tape, second-order numbers, tracers.
    Eager,
    /// Elementary functions over long arrays, beside numpy, PyTorch and JAX.
    Elementwise,
    /// The evaluations of `GradBench`.
    Gradbench,
    /// Functions as programs: tracing, running, differentiating, optimising.
    Ir,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut bench = harness::Bench::new(&arguments.case, arguments.json, arguments.milliseconds);
    match arguments.suite {
        Suite::Coloring => coloring::run(&mut bench),
        Suite::Compiled => compiled::run(&mut bench),
        Suite::Eager => eager::run(&mut bench),
        Suite::Elementwise => elementwise::run(&mut bench),
        Suite::Gradbench => gradbench::run(&mut bench),
        Suite::Ir => ir::run(&mut bench),
    }
    bench.finish()
}
