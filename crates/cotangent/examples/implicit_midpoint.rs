//! Steps of the implicit midpoint rule for a stiff system, the Brusselator on a grid: the linear systems
//! of Newton's method come from a sparse Jacobian.
//!
//! `cargo run --release -p cotangent --features faer --example implicit_midpoint`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::error::Error;

use cotangent::prelude::*;
use cotangent::{Sparse, prepare_sparse_jacobian};
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Lu, SymbolicLu};

/// Two species on a periodic n × n grid, which react and diffuse.
fn brusselator<S: Scalar>(n: usize, y: &[S], rate: &mut [S]) {
    let (u, v) = y.split_at(n * n);
    let diffusion = 0.02 * (n * n) as f64;
    for j in 0..n {
        for i in 0..n {
            let at = |i: usize, j: usize| i % n + n * (j % n);
            let k = at(i, j);
            let around = |w: &[S]| {
                w[at(i + 1, j)] + w[at(i + n - 1, j)] + w[at(i, j + 1)] + w[at(i, j + n - 1)]
                    - w[k] * 4.0
            };
            let reaction = u[k] * u[k] * v[k];
            rate[k] = reaction - u[k] * 4.4 + 1.0 + around(u) * diffusion;
            rate[n * n + k] = u[k] * 3.4 - reaction + around(v) * diffusion;
        }
    }
}

/// Integrates to `end` in equal steps; the solution and how many linear systems were solved.
fn integrate(n: usize, end: f64, steps: usize) -> Result<(Vec<f64>, usize), Box<dyn Error>> {
    let h = end / steps as f64;
    let size = 2 * n * n;
    // z = y₁ is where the residual z − y₀ − h·f((y₀ + z)/2) vanishes; y₀ is a constant of it.
    let residual = function!([n: usize, h: f64] |z: &[S], constant y0, r: &mut [S; z.len()]| {
        let middle: Vec<S> = z.iter().zip(y0).map(|(z, y)| (*z + *y) * 0.5).collect();
        brusselator(n, &middle, r);
        for i in 0..z.len() {
            r[i] = z[i] - y0[i] - r[i] * h;
        }
    });
    let mut y: Vec<f64> = (0..size)
        .map(|k| if k < n * n { 1.0 + 0.5 * (k as f64 * 0.7).sin() } else { 3.4 })
        .collect();
    let jacobian = prepare_sparse_jacobian(residual, &Sparse::default(), (&y, &y))?;
    let symbolic = SymbolicLu::try_new(jacobian.pattern().faer()?)?;
    let mut workspace = jacobian.workspace();
    let (mut r, mut entries) = (vec![0.0; size], vec![0.0; jacobian.pattern().nnz()]);
    let mut solved = 0;
    for _ in 0..steps {
        let mut z = y.clone();
        for iteration in 0.. {
            jacobian.value_and_jacobian_into((&z, &y), &mut r, &mut entries, &mut workspace)?;
            let norm = r.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
            if norm < 1e-11 {
                break;
            }
            if iteration == 20 {
                return Err("the steps are too large for Newton's method".into());
            }
            let matrix = jacobian.pattern().faer_with(&entries)?;
            let lu = Lu::try_new_with_symbolic(symbolic.clone(), matrix)?;
            let step = lu.solve(faer::ColRef::from_slice(&r));
            z.iter_mut().zip(step.iter()).for_each(|(z, step)| *z -= step);
            solved += 1;
        }
        y = z;
    }
    Ok((y, solved))
}

fn main() -> Result<(), Box<dyn Error>> {
    let n = 32;
    let (y, solved) = integrate(n, 1.0, 50)?;
    println!("Brusselator, {n} × {n} points, 50 steps to t = 1: {solved} linear systems");
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    println!("mean u {:.6}, mean v {:.6}", mean(&y[..n * n]), mean(&y[n * n..]));
    Ok(())
}

#[test]
fn the_midpoint_rule_is_of_second_order() {
    let at = |steps| integrate(4, 0.25, steps).unwrap().0;
    let (fine, coarse, middle) = (at(160), at(10), at(20));
    let error = |y: &[f64]| y.iter().zip(&fine).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let ratio = error(&coarse) / error(&middle);
    assert!((3.5..4.8).contains(&ratio), "{ratio}");
}
