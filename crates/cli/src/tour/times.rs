//! The times of the tour: derivatives by cotangent beside one written by hand.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cotangent::prelude::*;
use cotangent::{Sparse, hessian_sparsity, prepare_edge_pushing, prepare_sparse_hessian};
use serde::Serialize;

use super::chain;
use crate::Failure;

/// How long each way is measured.
const EACH: Duration = Duration::from_millis(60);

/// A way to a derivative and its time.
#[derive(Serialize)]
pub(super) struct Time {
    pub(super) what: &'static str,
    pub(super) how: &'static str,
    pub(super) variables: usize,
    pub(super) nanoseconds: f64,
    /// Of the gradient written by hand, in the same run.
    pub(super) ratio: f64,
}

/// The shortest of many runs, in nanoseconds.
fn shortest(mut run: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let start = Instant::now();
    run()?;
    let once = start.elapsed().max(Duration::from_nanos(20));
    // Batches long enough for the clock.
    let batch = (20_000 / once.as_nanos()).max(1) as u32;
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed() < EACH {
        let start = Instant::now();
        for _ in 0..batch {
            run()?;
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(batch));
    }
    Ok(best)
}

/// Measures all ways at several sizes.
pub(super) fn measure(progress: impl Fn(&str)) -> Result<Vec<Time>, Failure> {
    let f = function!(|x: &[S]| -> S { chain::energy(x) });
    let mut times = Vec::new();
    for beads in [4, 50, 500] {
        let x = chain::swinging(beads);
        let n = x.len();
        let mut g = vec![0.0; n];
        progress(&format!("{n} variables"));
        let hand = shortest(|| {
            black_box(chain::energy_gradient(black_box(&x), &mut g));
            Ok(())
        })?;
        let mut add = |what, how, nanoseconds: f64| {
            times.push(Time { what, how, variables: n, nanoseconds, ratio: nanoseconds / hand });
        };
        add("gradient", "written by hand", hand);

        let forward = prepare_gradient(f, &Forward::default(), &x)?;
        let mut workspace = forward.workspace();
        let time =
            shortest(|| Ok(forward.gradient_into(black_box(&x), &mut g, &mut workspace)?))?;
        add("gradient", "forward mode", time);

        let reverse = prepare_gradient(f, &Reverse::default(), &x)?;
        let mut workspace = reverse.workspace();
        let time =
            shortest(|| Ok(reverse.gradient_into(black_box(&x), &mut g, &mut workspace)?))?;
        add("gradient", "reverse mode, recorded each time", time);

        let replayed = prepare_gradient(f, &Reverse { replay: true }, &x)?;
        let mut workspace = replayed.workspace();
        let time =
            shortest(|| Ok(replayed.gradient_into(black_box(&x), &mut g, &mut workspace)?))?;
        add("gradient", "reverse mode, recorded once", time);

        let finite = prepare_gradient(f, &FiniteDifferences::default(), &x)?;
        let mut workspace = finite.workspace();
        let time = shortest(|| Ok(finite.gradient_into(black_box(&x), &mut g, &mut workspace)?))?;
        add("gradient", "finite differences", time);

        let v = vec![1.0; n];
        let product = prepare_hvp(f, &Auto, &x)?;
        let mut workspace = product.workspace();
        let time = shortest(|| Ok(product.hvp_into(black_box(&x), &v, &mut g, &mut workspace)?))?;
        add("Hessian times a vector", "as Auto chooses", time);

        let sparse = prepare_sparse_hessian(f, &Sparse::default(), &x)?;
        let mut workspace = sparse.workspace();
        let mut entries = vec![0.0; sparse.pattern().nnz()];
        let time =
            shortest(|| Ok(sparse.hessian_into(black_box(&x), &mut entries, &mut workspace)?))?;
        add("Hessian", "sparse, prepared", time);
        let pushed = prepare_edge_pushing(f, &x)?;
        let mut workspace = pushed.workspace();
        let mut entries = vec![0.0; pushed.pattern().nnz()];
        let time =
            shortest(|| Ok(pushed.hessian_into(black_box(&x), &mut entries, &mut workspace)?))?;
        add("Hessian", "edge pushing, prepared", time);

        let time = shortest(|| {
            black_box(hessian_sparsity(&f, black_box(&x))?);
            Ok(())
        })?;
        add("pattern of the Hessian", "tracer", time);
    }
    Ok(times)
}
