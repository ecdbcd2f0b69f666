//! Compiles a function and its derivatives, and has cargo link them.

use cotangent::ir::{map_over, sum_over};
use cotangent::{Error, Library, compile_arrays};

/// Masses in a chain of springs, each with two coordinates.
const MASSES: usize = 12;

fn main() -> Result<(), Error> {
    // The energy of the chain: springs of length 1 between neighbours, and weight.
    let energy = compile_arrays(&[&[MASSES, 2]], |x| {
        let x = x[0];
        let springs = sum_over(0..MASSES - 1, |i| {
            let step = map_over(0..2usize, |k| x.at((i + 1, k)) - x.at((i, k)));
            let length = sum_over(0..2usize, |k| step.at(k) * step.at(k)).sqrt();
            (length - 1.0).powi(2) * 50.0
        });
        springs + sum_over(0..MASSES, |i| x.at((i, 1)) * 0.5)
    })?;
    println!("cargo::rerun-if-changed=build.rs");
    // For every processor of the last ten years; leave the line out for the one at hand.
    Library::new("chain")
        .for_processor("x86-64-v3")?
        .gradient("energy", &energy)?
        .hessian("stiffness", &energy)?
        .cargo()
}
