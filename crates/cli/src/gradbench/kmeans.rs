//! The cost of clusters by their centroids, and a step of Newton's method for each coordinate.

use cotangent_ir::input::array;
use cotangent_ir::{Function, Traced, TracedArray, call, min_over, sum_over, trace_with};
use cotangent_optimize::simplify;
use cotangent_transform::{gradient_to, linearize_to};
use serde_json::Value;

use super::input;
use super::task::{Task, failed, rows, scalar, unknown};

/// How many points and centroids there are, and coordinates.
#[derive(Clone, Copy)]
struct Sizes {
    n: usize,
    k: usize,
    d: usize,
}

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let points = input::rows(given, "points")?;
    let centroids = input::rows(given, "centroids")?;
    let sizes = Sizes { n: points.rows, k: centroids.rows, d: centroids.columns };
    if sizes.k == 0 || sizes.d == 0 {
        return Err("there are no centroids, or they have no coordinates".to_string());
    }
    if points.rows > 0 && points.columns != sizes.d {
        return Err(format!("points have {} coordinates, centroids {}", points.columns, sizes.d));
    }
    let inputs = [points.numbers, centroids.numbers].concat();
    let shape = format!("{} {} {}", sizes.n, sizes.k, sizes.d);
    match function {
        "cost" => Ok(Task::program(shape, inputs, move || cost(sizes), scalar)),
        "dir" => {
            let program = move || direction(sizes);
            Ok(Task::program(shape, inputs, program, move |y| rows(y, sizes.d)))
        }
        other => Err(unknown(other, &["cost", "dir"])),
    }
}

fn cost(Sizes { n, k, d }: Sizes) -> Result<Function, String> {
    trace_with("kmeans", (array([n, d]), array([k, d])), |(points, centroids)| {
        sum_over(0..n, |i| {
            min_over(0..k, |j| {
                sum_over(0..d, |c| {
                    let difference = points.at((i, c)) - centroids.at((j, c));
                    difference * difference
                })
            })
        })
    })
    .map_err(failed)
}

/// The gradient by the centroids over the diagonal of the Hessian.
///
/// Each coordinate of a centroid meets only itself in the cost, so the Hessian is diagonal, and its product
/// with ones is the diagonal.
fn direction(sizes: Sizes) -> Result<Function, String> {
    let Sizes { n, k, d } = sizes;
    let cost = cost(sizes)?;
    let centroids = cost.params()[1].name.clone();
    let gradient = simplify(&gradient_to(&cost, |p| p.name == centroids).map_err(failed)?);
    let along = linearize_to(&gradient, |p| p.name == centroids).map_err(failed)?;
    trace_with("kmeans.dir", (array([n, d]), array([k, d])), |(points, centroids)| {
        let ones = TracedArray::filled([k, d], 1.0);
        let mut found = call(&along, &[points.into(), centroids.into(), ones.into()]);
        let _cost: Traced = found.take();
        let gradient: TracedArray = found.take();
        let _slope: Traced = found.take();
        let diagonal: TracedArray = found.take();
        gradient / diagonal
    })
    .map_err(failed)
}
