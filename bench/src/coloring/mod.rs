//! Sparse derivatives: detection, colouring, evaluation, beside dense forward mode.

mod colpack;
mod large;

use cotangent::coloring::{Decompression, Greedy, Order, Pattern, Problem};
use cotangent::prelude::*;
use cotangent::{
    Sparse, Tracer, edge_pushing, evaluate, jacobian_sparsity, prepare_edge_pushing,
    prepare_sparse_hessian, prepare_sparse_jacobian, sparse_hessian, sparse_jacobian,
};

use crate::eager::brusselator;
use crate::harness::{Bench, contender};

const SUITE: &str = "coloring";

/// Runs all cases of the suite.
pub fn run(bench: &mut Bench) {
    brusselator_jacobians(bench);
    hessians(bench);
    grids(bench);
    large::run(bench);
    colpack::run(bench);
}

/// Edge pushing beside coloured Hessians, from scratch and prepared.
fn hessians(bench: &mut Bench) {
    const N: usize = 1024;
    let x: Vec<f64> = (0..N).map(|i| 0.5 + 0.3 * (i as f64 * 0.7).sin()).collect();
    macro_rules! case {
        ($name:literal, $f:expr) => {
            let f = $f;
            let backend = Sparse::default();
            let ours = contender("cotangent, edge pushing", || {
                edge_pushing(&f, &x).expect("a valid point").0
            });
            let colored = contender("coloured", || {
                sparse_hessian(&f, &backend, &x).expect("no branches on values").values()[0]
            });
            bench.compare(SUITE, concat!($name, ", once"), N, ours, vec![(colored, None)]);

            let prepared = prepare_sparse_hessian(f, &backend, &x).expect("no branches on values");
            let (mut workspace, mut h) =
                (prepared.workspace(), vec![0.0; prepared.pattern().nnz()]);
            let pushed = prepare_edge_pushing(f, &x).expect("no array operations");
            let (mut room, mut g) = (pushed.workspace(), vec![0.0; pushed.pattern().nnz()]);
            let ours = contender("cotangent, edge pushing by a plan", || {
                pushed.hessian_into(&x, &mut g, &mut room).expect("a valid point");
            });
            let colored = contender("coloured", || {
                prepared.hessian_into(&x, &mut h, &mut workspace).expect("a valid point");
            });
            let plain = contender("one evaluation", || {
                evaluate(&f, std::hint::black_box(&x)).expect("a valid point")
            });
            let references = vec![(colored, None), (plain, None)];
            bench.compare(SUITE, concat!($name, ", prepared"), N, ours, references);
        };
    }
    case!(
        "hessian of a chain",
        function!(|x: &[S]| -> S {
            x.windows(2)
                .map(|w| (w[1] - w[0] * w[0]).powi(2) * 100.0 + (w[0] - 1.0).powi(2))
                .sum::<S>()
        })
    );
    case!(
        "hessian of a grid",
        function!(|x: &[S]| -> S {
            (0..x.len())
                .map(|i| {
                    let (right, up) = (x[(i + 1) % x.len()], x[(i + 32) % x.len()]);
                    (x[i] * right).sin() + (x[i] * up).cos()
                })
                .sum::<S>()
        })
    );
    case!(
        "hessian of an arrowhead",
        function!(|x: &[S]| -> S { x[1..].iter().map(|v| (*v * x[0]).sin()).sum::<S>() })
    );
}

/// One-shot (detection, colouring and values), prepared (values only), and dense forward mode.
fn brusselator_jacobians(bench: &mut Bench) {
    for n in [8, 16, 32, 64, 128, 256] {
        let f = function!([n: usize] |x: &[S], y: &mut [S; x.len()]| brusselator(n, x, y));
        let x: Vec<f64> = (0..2 * n * n).map(|i| 1.0 + 0.3 * (i as f64 * 0.7).sin()).collect();
        let backend = Sparse::new(Forward::default(), Tracer::Global);
        let prepared = prepare_sparse_jacobian(f, &backend, &x).expect("no branches on values");
        let mut workspace = prepared.workspace();
        let mut entries = vec![0.0; prepared.pattern().nnz()];
        let mut y = vec![0.0; x.len()];
        let ours = contender("cotangent, prepared", || {
            prepared.jacobian_into(&x, &mut entries, &mut workspace).expect("a valid point");
        });
        let mut references = vec![
            (
                contender("one evaluation", || brusselator(n, std::hint::black_box(&x), &mut y)),
                None,
            ),
            (
                contender("one-shot: detection, colours, values", || {
                    sparse_jacobian(&f, &backend, &x).expect("no branches on values").values()[0]
                }),
                None,
            ),
            (
                contender("detection", || jacobian_sparsity(&f, &x).expect("no branches").nnz()),
                None,
            ),
            (
                contender("colouring", || {
                    backend
                        .coloring
                        .color(prepared.pattern(), Problem::Column)
                        .expect("valid")
                        .count()
                }),
                None,
            ),
        ];
        if n <= 32 {
            references.push((
                contender("dense forward mode", || {
                    jacobian(&f, &Forward::default(), &x).expect("a valid point")[(0, 0)]
                }),
                Some(1.0),
            ));
        }
        bench.compare(SUITE, "jacobian of the brusselator", n, ours, references);
    }
}

/// The graph of a 5-point grid in the plane.
fn plane(n: usize) -> Pattern {
    Pattern::from_rows(n * n, n * n, |row| {
        let (i, j) = (row % n, row / n);
        let mut columns = vec![row];
        columns.extend((i > 0).then(|| row - 1));
        columns.extend((i + 1 < n).then(|| row + 1));
        columns.extend((j > 0).then(|| row - n));
        columns.extend((j + 1 < n).then(|| row + n));
        columns
    })
    .expect("in range")
}

/// The graph of a grid in space. Neighbours differ in `near` coordinates at most: 1 makes it 7-point, 3
/// makes it 27-point.
fn space(n: usize, near: usize) -> Pattern {
    Pattern::from_rows(n * n * n, n * n * n, |row| {
        let at = [row % n, row / n % n, row / (n * n)];
        let mut columns = Vec::new();
        for d in 0..27 {
            let step = [d % 3, d / 3 % 3, d / 9];
            let moved = step.iter().filter(|s| **s != 1).count();
            let to: Option<Vec<usize>> =
                (0..3).map(|k| (at[k] + step[k]).checked_sub(1).filter(|c| *c < n)).collect();
            if let (true, Some(to)) = (moved <= near, to) {
                columns.push(to[0] + n * (to[1] + n * to[2]));
            }
        }
        columns
    })
    .expect("in range")
}

/// Greedy colourings of grids, beside a pass over the pattern.
fn grids(bench: &mut Bench) {
    let problems = [
        ("columns", Problem::Column),
        ("star", Problem::Symmetric(Decompression::Direct)),
        ("acyclic", Problem::Symmetric(Decompression::Substitution)),
    ];
    for (name, pattern, counts) in [
        ("grid2d5_300", plane(300), [7, 5, 4]),
        ("grid3d7_32", space(32, 1), [12, 11, 7]),
        ("grid3d27_32", space(32, 3), [27, 37, 20]),
    ] {
        for ((kind, problem), count) in problems.into_iter().zip(counts) {
            let case = format!("colouring {name}, {kind}");
            if !bench.wants(&case) {
                continue;
            }
            let greedy = Greedy::with(Order::Natural);
            let found = greedy.color(&pattern, problem).expect("symmetric").count();
            assert_eq!(found, count, "{case}: the count of the natural order is known");
            let time = bench.time(|| greedy.color(&pattern, problem).expect("symmetric").count());
            let each = time / pattern.nnz() as f64;
            // What a pass over the pattern costs: its transpose.
            let pass = bench.time(|| pattern.transpose().nnz()) / pattern.nnz() as f64;
            bench.record(
                SUITE,
                &case,
                pattern.ncols(),
                "ns a nonzero",
                each,
                pass,
                "a transpose",
                None,
            );
        }
    }
}
