//! All zeros of small systems, enclosed with proof: `cargo run --example roots`.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use cotangent_ir::{Contracted, contract, parse, roots, trace};
use cotangent_numbers::Interval;

fn main() -> Result<(), Box<dyn Error>> {
    // Where a circle meets a cubic.
    let f = trace("meet", 2, |x| {
        vec![x[0].powi(2) + x[1].powi(2) - 4.0, x[1] - x[0].powi(3) + x[0] * 3.0]
    })?;
    println!("x² + y² = 4 and y = x³ − 3x, for |x| ≤ 3 and |y| ≤ 3:");
    for zero in roots(&f, &[Interval::new(-3.0, 3.0); 2], 1e-12)? {
        println!("  {zero}");
    }

    // A program with kernels: the banded function of Broyden.
    let broyden = parse(
        "fn @broyden(%x: [3]f64) -> [3]f64 {
           %y = tab (%i < 3) {
             %a = ld %x[%i]
             %q = powi{3} %a
             %r = mul %q, 5.0
             %d = mul %a, 2.0
             %p = add %r, %d
             %o = add %p, 1.0
             %s = red sum (%j < 3) {
               %e = ne %i, %j
               %v = if %e {
                 %b = ld %x[%j]
                 %c = powi{2} %b
                 %w = add %b, %c
                 yield %w
               } else {
                 yield 0.0
               }
               yield %v
             }
             %z = sub %o, %s
             yield %z
           }
           ret %y
         }",
    )
    .map_err(|e| e.to_string())?;
    println!("Broyden's banded function of three variables, for |x| ≤ 1:");
    for zero in roots(&broyden, &[Interval::new(-1.0, 1.0); 3], 1e-12)? {
        println!("  {zero}");
    }

    // What is left of a box, and a proof that nothing is.
    let mut sides = [Interval::new(0.0, 3.0), Interval::new(-3.0, 3.0)];
    contract(&f, &mut sides, &[Interval::point(0.0), Interval::new(1.0, 2.0)])?;
    println!("with 1 ≤ y − x³ + 3x ≤ 2 on the circle, x is in {} and y in {}", sides[0], sides[1]);
    let mut far = [Interval::new(2.5, 3.0), Interval::new(-3.0, 3.0)];
    let nothing = contract(&f, &mut far, &[Interval::point(0.0), Interval::ALL])?;
    println!("for x ≥ 2.5 there is no point of the circle: {}", nothing == Contracted::Empty);
    Ok(())
}
