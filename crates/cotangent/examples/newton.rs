//! A Newton solve whose linear systems come from a sparse Jacobian: −Δu = λ eᵘ on a square (Bratu).
//!
//! `cargo run --release -p cotangent --features faer --example newton`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use cotangent::prelude::*;
use cotangent::{Sparse, prepare_sparse_jacobian};
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Lu, SymbolicLu};

/// The residual at the inner points of an n × n grid, multiplied by h²; u is zero at the boundary.
fn bratu<S: Scalar>(n: usize, lambda: f64, u: &[S], r: &mut [S]) {
    let h = 1.0 / (n + 1) as f64;
    let at = |i: usize, j: usize| u[i + n * j];
    for j in 0..n {
        for i in 0..n {
            let mut sum = at(i, j) * 4.0;
            if i > 0 {
                sum -= at(i - 1, j);
            }
            if i + 1 < n {
                sum -= at(i + 1, j);
            }
            if j > 0 {
                sum -= at(i, j - 1);
            }
            if j + 1 < n {
                sum -= at(i, j + 1);
            }
            r[i + n * j] = sum - at(i, j).exp() * (lambda * h * h);
        }
    }
}

/// Solves by Newton's method; the solution and the norm of the residual before each step.
fn solve(n: usize, lambda: f64) -> Result<(Vec<f64>, Vec<f64>), Box<dyn Error>> {
    let f =
        function!([n: usize, lambda: f64] |u: &[S], r: &mut [S; u.len()]| bratu(n, lambda, u, r));
    let mut u = vec![0.0; n * n];
    // Pattern, colours, plan and the symbolic factorisation: once.
    let jacobian = prepare_sparse_jacobian(f, &Sparse::default(), &u)?;
    let mut workspace = jacobian.workspace();
    let mut entries = vec![0.0; jacobian.pattern().nnz()];
    let mut r = vec![0.0; n * n];
    let symbolic = SymbolicLu::try_new(jacobian.pattern().faer()?)?;
    let mut norms = Vec::new();
    for _ in 0..20 {
        jacobian.value_and_jacobian_into(&u, &mut r, &mut entries, &mut workspace)?;
        norms.push(r.iter().map(|r| r * r).sum::<f64>().sqrt());
        if norms.last().is_some_and(|norm| *norm < 1e-13) {
            break;
        }
        // The entries are not copied: faer sees the pattern and the values as they are.
        let matrix = jacobian.pattern().faer_with(&entries)?;
        let lu = Lu::try_new_with_symbolic(symbolic.clone(), matrix)?;
        let step = lu.solve(faer::ColRef::from_slice(&r));
        for (u, step) in u.iter_mut().zip(step.iter()) {
            *u -= step;
        }
    }
    Ok((u, norms))
}

fn main() -> Result<(), Box<dyn Error>> {
    let n = 100;
    let (u, norms) = solve(n, 6.0)?;
    println!("−Δu = 6 eᵘ on {n} × {n} points");
    for (step, norm) in norms.iter().enumerate() {
        println!("  step {step}: residual {norm:.1e}");
    }
    println!("largest value {:.6}", u.iter().fold(0.0, |most: f64, u| most.max(*u)));
    Ok(())
}

#[test]
fn newton_converges_quadratically() {
    let (u, norms) = solve(20, 6.0).unwrap();
    assert!(norms.last().unwrap() < &1e-13, "{norms:?}");
    assert!(norms.len() <= 8, "{norms:?}");
    // The number of right digits doubles.
    let last = norms.windows(2).rev().find(|w| w[1] > 1e-13).unwrap();
    assert!(last[1] < 20.0 * last[0] * last[0], "{norms:?}");
    // Symmetric under a quarter turn.
    assert!((u[3 + 20 * 7] - u[7 + 20 * 16]).abs() < 1e-12);
}
