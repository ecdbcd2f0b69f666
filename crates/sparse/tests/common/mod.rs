//! What the tests of colourings share.

#![allow(dead_code, unreachable_pub, reason = "not every test uses everything")]

use cotangent_sparse::{
    Coloring, Decompression, Direction, Pattern, Plan, Problem, Products, Triangle, check_coloring,
    recover,
};

pub use Decompression::{Direct, Substitution};

pub const PROBLEMS: [Problem; 6] = [
    Problem::Column,
    Problem::Row,
    Problem::Symmetric(Direct),
    Problem::Symmetric(Substitution),
    Problem::Bidirectional(Direct),
    Problem::Bidirectional(Substitution),
];

pub fn random(
    rng: &mut fastrand::Rng,
    m: usize,
    n: usize,
    density: f64,
    symmetric: bool,
) -> Pattern {
    let mut entries = Vec::new();
    for i in 0..m {
        for j in 0..n {
            if rng.f64() < density && (!symmetric || i >= j) {
                entries.push((i, j));
                if symmetric {
                    entries.push((j, i));
                }
            }
        }
    }
    // Dense and repeated lines now and then.
    if rng.u8(..4) == 0 && m > 0 && n > 0 && !symmetric {
        let i = rng.usize(..m);
        entries.extend((0..n).map(|j| (i, j)));
    }
    Pattern::from_entries(m, n, entries).unwrap()
}

/// Everything that must hold of a colouring.
pub fn examine(pattern: &Pattern, coloring: &Coloring, rng: &mut fastrand::Rng) {
    let problem = coloring.problem();
    let order = coloring.order();
    check_coloring(pattern, coloring)
        .unwrap_or_else(|e| panic!("{problem:?} {order:?}: {e}\n{pattern}"));
    let symmetric = matches!(problem, Problem::Symmetric(_));
    let exact =
        !matches!(problem, Problem::Symmetric(Substitution) | Problem::Bidirectional(Substitution));
    let plan = Plan::new(pattern, coloring).unwrap();
    let (m, n) = (pattern.nrows(), pattern.ncols());
    let mut columns = vec![0.0; coloring.column_count() * n];
    let mut rows = vec![0.0; coloring.row_count() * m];
    plan.seed_all(1.0, &mut columns, &mut rows);
    for direction in plan.all_directions() {
        let (all, length, color) = match direction {
            Direction::Column(color) => (&columns, n, color),
            Direction::Row(color) => (&rows, m, color),
        };
        let mut one = vec![f64::NAN; length];
        plan.seed(direction, 1.0, &mut one);
        assert_eq!(one, all[(color - 1) * length..color * length]);
    }
    let mut scratch = plan.scratch();
    // Twice, with other values: nothing is left behind.
    for _ in 0..2 {
        let mut values: Vec<f64> = (0..pattern.nnz()).map(|_| rng.f64() - 0.5).collect();
        if symmetric {
            let index: std::collections::HashMap<_, _> =
                pattern.entries().enumerate().map(|(k, e)| (e, k)).collect();
            for (k, (i, j)) in pattern.entries().enumerate() {
                values[k] = values[index[&(i.max(j), i.min(j))]];
            }
        }
        let products = plan.compress(pattern, &values);
        assert_eq!(products.len(), plan.products());
        let mut found = vec![f64::NAN; pattern.nnz()];
        plan.decompress(&products, &mut found, &mut scratch);
        let close = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).all(|(a, b)| if exact { a == b } else { (a - b).abs() < 1e-10 })
        };
        assert!(close(&found, &values), "{problem:?} {order:?}\n{pattern}");
        // One product at a time, in another order.
        let mut streamed = vec![f64::NAN; pattern.nnz()];
        let mut directions: Vec<Direction> = plan.all_directions().collect();
        rng.shuffle(&mut directions);
        for direction in directions {
            let (m, n) = (pattern.nrows(), pattern.ncols());
            let by_rows = coloring.column_count() * m;
            let product = match direction {
                Direction::Column(c) => &products[(c - 1) * m..c * m],
                Direction::Row(r) => &products[by_rows + (r - 1) * n..by_rows + r * n],
            };
            plan.take(direction, product, &mut streamed);
        }
        plan.finish(&mut streamed, &mut scratch);
        assert_eq!(streamed, found);
        // An unrelated way.
        let oracle = recover(pattern, coloring, &Products::new(&products)).unwrap();
        assert!(oracle.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-10));
        if symmetric {
            for triangle in [Triangle::Lower, Triangle::Upper] {
                let part = Plan::triangle(pattern, coloring, triangle).unwrap();
                let mut found = vec![f64::NAN; part.entries()];
                part.decompress(&products, &mut found, &mut part.scratch());
                let keep = |(i, j): (usize, usize)| {
                    if triangle == Triangle::Lower { i >= j } else { i <= j }
                };
                let expected: Vec<f64> = pattern
                    .entries()
                    .zip(&values)
                    .filter(|(e, _)| keep(*e))
                    .map(|(_, v)| *v)
                    .collect();
                assert!(close(&found, &expected), "{triangle:?}");
            }
        }
    }
}
