//! Colourings: the figures of the papers, formulas, and random matrices against slow checkers.

mod common;

use common::{Direct, PROBLEMS, Substitution, examine, random};
use cotangent_sparse::{
    Coloring, ColoringError, Exact, Greedy, Order, Pattern, Plan, PlanError, Problem, Ties,
    Triangle, check_coloring,
};

/// A pattern drawn as rows of zeros and others.
fn drawn(rows: &[&str]) -> Pattern {
    let entries = rows.iter().enumerate().flat_map(|(i, row)| {
        row.chars().enumerate().filter(|(_, c)| *c != '0').map(move |(j, _)| (i, j))
    });
    Pattern::from_entries(rows.len(), rows.first().map_or(0, |r| r.len()), entries).unwrap()
}

fn symmetric(n: usize, edges: &[(usize, usize)], diagonal: bool) -> Pattern {
    let both = edges.iter().flat_map(|(i, j)| [(i - 1, j - 1), (j - 1, i - 1)]);
    Pattern::from_entries(n, n, both.chain((0..n).filter(|_| diagonal).map(|i| (i, i)))).unwrap()
}

fn natural(pattern: &Pattern, problem: Problem) -> Coloring {
    let coloring = Greedy::default().color(pattern, problem).unwrap();
    check_coloring(pattern, &coloring).unwrap();
    coloring
}

/// The 10×10 matrix of the Hessian paper (Gebremedhin, Tarafdar, Manne, Pothen 2007, figure 1).
fn hessian_figure() -> Pattern {
    let edges = [
        (1, 2),
        (1, 7),
        (2, 3),
        (2, 5),
        (3, 4),
        (3, 6),
        (4, 10),
        (5, 6),
        (5, 8),
        (6, 9),
        (7, 8),
        (8, 9),
        (9, 10),
    ];
    symmetric(10, &edges, true)
}

#[test]
fn the_figures_of_the_papers_have_their_colours() {
    let columns = |rows: &[&str], problem| natural(&drawn(rows), problem).column_colors().to_vec();
    assert_eq!(columns(&["102", "034", "500"], Problem::Column), [1, 1, 2]);
    assert_eq!(natural(&drawn(&["103", "020", "450"]), Problem::Row).row_colors(), [1, 1, 2]);
    let manual = ["001101", "100010", "010010", "011000"];
    assert_eq!(columns(&manual, Problem::Column), [1, 1, 2, 1, 2, 3]);
    let survey = ["110000", "111011", "011100", "001101", "010010", "010101"];
    assert_eq!(columns(&survey, Problem::Symmetric(Direct)), [1, 2, 1, 3, 1, 1]);
    let figure = hessian_figure();
    let colors = |problem| natural(&figure, problem).column_colors().to_vec();
    assert_eq!(colors(Problem::Symmetric(Direct)), [1, 2, 1, 3, 1, 4, 3, 5, 1, 2]);
    assert_eq!(colors(Problem::Symmetric(Substitution)), [1, 2, 1, 2, 1, 3, 2, 3, 2, 1]);
    assert_eq!(colors(Problem::Column), [1, 2, 3, 1, 4, 5, 3, 6, 2, 4]);
    let fig31 = drawn(&["10000111", "01001011", "00101101", "00011110"]);
    assert_eq!(natural(&fig31, Problem::Column).column_colors(), [1, 1, 1, 1, 2, 3, 4, 5]);
    assert_eq!(natural(&fig31, Problem::Row).row_colors(), [1, 2, 3, 4]);
}

#[test]
fn bands_need_as_many_colours_as_the_formulas_say() {
    for (n, b) in [(50, 5), (500, 10), (500, 20), (5000, 5)] {
        let band = Pattern::from_rows(n, n, |i| i.saturating_sub(b)..(i + b + 1).min(n)).unwrap();
        let count = |problem| Greedy::default().color(&band, problem).unwrap().count();
        assert_eq!(count(Problem::Symmetric(Direct)), 2 * b + 1);
        assert_eq!(count(Problem::Symmetric(Substitution)), b + 1);
        let upper = Pattern::from_rows(n, n, |i| i..(i + b + 1).min(n)).unwrap();
        assert_eq!(Greedy::default().color(&upper, Problem::Column).unwrap().count(), b + 1);
        assert_eq!(Greedy::default().color(&upper, Problem::Row).unwrap().count(), b + 1);
    }
}

#[test]
fn perfect_elimination_colours_permuted_bands_optimally() {
    let mut rng = fastrand::Rng::with_seed(7);
    for (n, b) in [(800, 80), (400, 40), (200, 20), (100, 10)] {
        let mut names: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut names);
        let band =
            (0..n).flat_map(|i| (i.saturating_sub(b)..(i + b + 1).min(n)).map(move |j| (i, j)));
        let permuted =
            Pattern::from_entries(n, n, band.map(|(i, j)| (names[i], names[j]))).unwrap();
        let greedy = Greedy::with(Order::PerfectElimination);
        let found = greedy.color(&permuted, Problem::Symmetric(Substitution)).unwrap();
        assert_eq!(found.count(), b + 1, "n = {n}");
    }
}

#[test]
fn largest_first_beats_the_natural_order_where_it_is_known_to() {
    let cases: [(&[&str], Problem, usize, usize); 6] = [
        (&["0011", "0101", "0011", "1100"], Problem::Column, 3, 2),
        (&["1000", "0010", "0111", "1001"], Problem::Row, 3, 2),
        (&["01011", "11010", "00101", "11010", "10100"], Problem::Symmetric(Direct), 4, 3),
        (
            &["1000010", "0001000", "0001000", "0111011", "0000001", "1001001", "0001111"],
            Problem::Symmetric(Substitution),
            4,
            3,
        ),
        (&["01000", "10100", "01001", "00000", "00101"], Problem::Bidirectional(Direct), 5, 4),
        (
            &[
                "010110101",
                "100000001",
                "000000000",
                "100110100",
                "100100000",
                "000000000",
                "100100000",
                "000000000",
                "110000000",
            ],
            Problem::Bidirectional(Substitution),
            6,
            4,
        ),
    ];
    for (rows, problem, by_natural, by_largest) in cases {
        let pattern = drawn(rows);
        let count = |order| {
            let greedy = Greedy { orders: vec![order], cover: false, ..Greedy::default() };
            greedy.color(&pattern, problem).unwrap().count()
        };
        assert_eq!(count(Order::Natural), by_natural, "{problem:?}");
        assert_eq!(count(Order::LargestFirst), by_largest, "{problem:?}");
    }
    let adjacency = symmetric(4, &[(1, 2), (2, 3), (2, 4), (3, 4)], false);
    let given = Greedy::with(Order::Given(vec![1, 2, 3, 0]));
    let problem = Problem::Symmetric(Direct);
    assert_eq!(
        given.color(&adjacency, problem).unwrap().column_colors(),
        Greedy::with(Order::LargestFirst).color(&adjacency, problem).unwrap().column_colors()
    );
}

fn arrowhead(n: usize) -> Pattern {
    Pattern::from_rows(n, n, |i| if i == 0 { (0..n).collect() } else { vec![0, i] }).unwrap()
}

fn bordered(m: usize, n: usize, border: usize) -> Pattern {
    let inner = |i: usize, size: usize| i >= border && i + border < size;
    Pattern::from_rows(m, n, |i| {
        (0..n).filter(|j| !inner(i, m) || !inner(*j, n)).collect::<Vec<_>>()
    })
    .unwrap()
}

#[test]
fn bidirectional_colourings_with_dense_lines_last_and_neutral_colours() {
    let counts = |pattern: &Pattern, orders: &[Order]| {
        [(Direct, false), (Direct, true), (Substitution, true)].map(
            |(decompression, postprocess)| {
                let greedy = Greedy {
                    orders: orders.to_vec(),
                    postprocess,
                    cover: false,
                    ..Greedy::default()
                };
                let coloring =
                    greedy.color(pattern, Problem::Bidirectional(decompression)).unwrap();
                check_coloring(pattern, &coloring).unwrap();
                coloring.count()
            },
        )
    };
    let rising = [Order::IncreasingDegree];
    assert_eq!(counts(&bordered(10, 20, 1), &rising), [6, 4, 4]);
    assert_eq!(counts(&bordered(100, 200, 2), &rising), [10, 8, 8]);
    assert_eq!(counts(&arrowhead(10), &rising), [4, 3, 3]);
    assert_eq!(counts(&arrowhead(100), &rising), [4, 3, 3]);
    let naturally = [Order::Natural];
    assert_eq!(counts(&bordered(10, 20, 1), &naturally)[1], 10);
    assert_eq!(counts(&arrowhead(10), &naturally)[1], 10);
    // The other diagonal: one product of either kind is enough.
    let anti = Pattern::from_rows(4, 4, |i| [3 - i]).unwrap();
    assert_eq!(counts(&anti, &naturally), [2, 1, 1]);
    assert_eq!(counts(&drawn(&["110", "011", "101"]), &naturally)[1..], [3, 3]);
}

#[test]
fn the_brusselator_has_its_known_counts() {
    for (n, colors) in [(8, 11), (16, 11), (32, 12), (64, 12), (100, 12)] {
        // Two species on a periodic grid, one after the other.
        let at = |i: usize, j: usize, s: usize| i % n + n * (j % n) + n * n * s;
        let pattern = Pattern::from_rows(2 * n * n, 2 * n * n, |row| {
            let (point, s) = (row % (n * n), row / (n * n));
            let (i, j) = (point % n, point / n);
            let own = [at(i, j, 0), at(i, j, 1)];
            let around =
                [at(i + 1, j, s), at(i + n - 1, j, s), at(i, j + 1, s), at(i, j + n - 1, s)];
            own.into_iter().chain(around).collect::<Vec<_>>()
        })
        .unwrap();
        assert_eq!(pattern.nnz(), 12 * n * n);
        let count = |order| Greedy::with(order).color(&pattern, Problem::Column).unwrap().count();
        assert_eq!(count(Order::Natural), colors, "{n}");
        assert_eq!(count(Order::LargestFirst), colors, "{n}");
    }
}

#[test]
fn random_matrices_are_recovered_by_every_colouring() {
    let mut rng = fastrand::Rng::with_seed(63);
    let mut greedies = Vec::new();
    for order in Order::ALL.into_iter().chain([Order::Random(5), Order::PerfectElimination]) {
        for ties in [Ties::Oldest, Ties::ColPack] {
            for postprocess in [false, true] {
                greedies.push(Greedy {
                    orders: vec![order.clone()],
                    ties,
                    postprocess,
                    cover: postprocess,
                    parallel: postprocess,
                });
            }
        }
    }
    let shapes = [(0, 0), (0, 5), (5, 0), (1, 1), (7, 7), (10, 20), (20, 10), (30, 30)];
    for (m, n) in shapes {
        for density in [0.0, 0.05, 0.1, 0.2, 0.5, 1.0] {
            for greedy in &greedies {
                for problem in PROBLEMS {
                    let symmetric = matches!(problem, Problem::Symmetric(_));
                    let pattern =
                        random(&mut rng, m, if symmetric { m } else { n }, density, symmetric);
                    examine(&pattern, &greedy.color(&pattern, problem).unwrap(), &mut rng);
                }
            }
        }
    }
    for (m, n, density) in [(100, 200, 0.02), (200, 100, 0.05), (150, 150, 0.03)] {
        for greedy in greedies.iter().step_by(3) {
            for problem in PROBLEMS {
                let symmetric = matches!(problem, Problem::Symmetric(_));
                let pattern =
                    random(&mut rng, m, if symmetric { m } else { n }, density, symmetric);
                examine(&pattern, &greedy.color(&pattern, problem).unwrap(), &mut rng);
            }
        }
    }
}

#[test]
fn several_orders_are_never_worse_than_one() {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..20 {
        let pattern = random(&mut rng, 40, 40, 0.08, true);
        for problem in PROBLEMS {
            let all = Greedy { orders: Order::ALL.to_vec(), ..Greedy::default() };
            let best = all.color(&pattern, problem).unwrap().count();
            for order in Order::ALL {
                assert!(best <= Greedy::with(order).color(&pattern, problem).unwrap().count());
            }
        }
    }
}

#[test]
fn what_cannot_be_coloured_is_named() {
    let lopsided = drawn(&["110", "010", "011"]);
    let greedy = Greedy::default();
    let error = greedy.color(&lopsided, Problem::Symmetric(Direct)).unwrap_err();
    assert!(error.to_string().contains("(0, 1) has no mirror image"), "{error}");
    let wide = Pattern::dense(2, 3);
    let error = greedy.color(&wide, Problem::Symmetric(Substitution)).unwrap_err();
    assert_eq!(error, ColoringError::NotSquare { nrows: 2, ncols: 3 });
    for given in [vec![0, 1], vec![0, 1, 1], vec![0, 1, 3]] {
        let error = Greedy::with(Order::Given(given)).color(&wide, Problem::Column).unwrap_err();
        assert_eq!(error, ColoringError::NotPermutation { vertices: 3 });
    }
    let none = Greedy { orders: Vec::new(), ..Greedy::default() };
    assert_eq!(none.color(&wide, Problem::Row).unwrap_err(), ColoringError::NoOrder);
    let coloring = greedy.color(&wide, Problem::Column).unwrap();
    assert!(matches!(Plan::new(&lopsided, &coloring), Err(PlanError::ForeignPattern { .. })));
    let error = Plan::triangle(&wide, &coloring, Triangle::Lower).unwrap_err();
    assert_eq!(error, PlanError::NoTriangle);
}
/// The counts that ColPack 1.0.10 has on the power-flow patterns: natural, largest first, smallest last,
/// incidence degree, dynamic largest first (0 where it has none).
#[test]
#[allow(clippy::print_stdout, reason = "a test that does nothing says so")]
fn power_flow_patterns_have_the_counts_of_colpack() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/matrices");
    if !std::path::Path::new(folder).is_dir() {
        println!("skipped: no matrices at {folder}");
        return;
    }
    let star = Problem::Symmetric(Direct);
    let acyclic = Problem::Symmetric(Substitution);
    let cases: [(&str, Problem, [usize; 5]); 16] = [
        ("acopfH_1951_rte", Problem::Column, [32, 32, 32, 32, 0]),
        ("acopfH_1951_rte", star, [19, 20, 20, 26, 25]),
        ("acopfH_1951_rte", acyclic, [10, 12, 11, 13, 13]),
        ("acopfH_240_pserc", star, [13, 18, 14, 16, 16]),
        ("acopfH_240_pserc", acyclic, [9, 9, 8, 9, 8]),
        ("acopfH_2746wp_k", star, [14, 16, 18, 16, 17]),
        ("acopfH_2746wp_k", acyclic, [8, 9, 8, 9, 9]),
        ("acopfH_3375wp_k", Problem::Column, [25, 24, 24, 24, 0]),
        ("acopfH_3375wp_k", star, [20, 16, 18, 18, 18]),
        ("acopfH_3375wp_k", acyclic, [13, 12, 12, 12, 12]),
        ("acopfH_60_c", star, [11, 12, 14, 10, 12]),
        ("acopfH_60_c", acyclic, [7, 6, 8, 6, 6]),
        ("acopfJ_240_pserc", Problem::Column, [17, 18, 18, 18, 0]),
        ("acopfJ_240_pserc", Problem::Row, [75, 75, 75, 75, 0]),
        ("acopfJ_3375wp_k", Problem::Column, [16, 15, 16, 16, 0]),
        ("acopfJ_60_c", Problem::Column, [10, 12, 10, 10, 0]),
    ];
    for (name, problem, expected) in cases {
        let path = format!("{folder}/{name}.mtx.gz");
        let pattern = cotangent_sparse::read_matrix_market(path.as_ref()).unwrap().pattern;
        let mut found = [0; 5];
        for (order, found) in Order::ALL.into_iter().zip(&mut found) {
            let greedy = Greedy { orders: vec![order], ties: Ties::ColPack, ..Greedy::default() };
            *found = greedy.color(&pattern, problem).unwrap().count();
        }
        for (k, (found, expected)) in found.into_iter().zip(expected).enumerate() {
            assert!(found == expected || expected == 0, "{name} {problem:?} {k}: {found}");
        }
    }
    let path = format!("{folder}/acopfJ_240_pserc.mtx.gz");
    let pattern = cotangent_sparse::read_matrix_market(path.as_ref()).unwrap().pattern;
    // One-sided it takes 17 products; by the best of ColPack's orders 13 colours, two of them neutral.
    for decompression in [Direct, Substitution] {
        let problem = Problem::Bidirectional(decompression);
        let found = Greedy::default().color(&pattern, problem).unwrap();
        check_coloring(&pattern, &found).unwrap();
        assert_eq!((found.row_count(), found.column_count()), (1, 10));
    }
}

#[test]
fn bidirectional_colourings_are_never_worse_than_one_sided_ones() {
    let mut rng = fastrand::Rng::with_seed(11);
    for round in 0..60 {
        let (m, n) = (rng.usize(1..60), rng.usize(1..60));
        let pattern = random(&mut rng, m, n, 0.02 * f64::from(round % 10), false);
        let count = |problem| Greedy::default().color(&pattern, problem).unwrap().count();
        let best = count(Problem::Column).min(count(Problem::Row));
        assert!(count(Problem::Bidirectional(Direct)) <= best, "{pattern}");
        assert!(count(Problem::Bidirectional(Substitution)) <= best, "{pattern}");
    }
}

#[test]
fn the_fewest_colours_are_found_and_greedy_ones_are_not_below() {
    let mut rng = fastrand::Rng::with_seed(21);
    for round in 0..120 {
        let n = rng.usize(1..10);
        for problem in PROBLEMS.into_iter().take(4) {
            let symmetric = matches!(problem, Problem::Symmetric(_));
            let m = if symmetric { n } else { rng.usize(1..10) };
            let pattern = random(&mut rng, m, n, 0.1 * f64::from(round % 6), symmetric);
            let exact = Exact::default().color(&pattern, problem).unwrap();
            check_coloring(&pattern, &exact).unwrap();
            let all = Greedy { orders: Order::ALL.to_vec(), ..Greedy::default() };
            let greedy = all.color(&pattern, problem).unwrap();
            assert!(exact.count() <= greedy.count());
            // Given colours decompress like found ones.
            let colors =
                if problem == Problem::Row { exact.row_colors() } else { exact.column_colors() };
            let given = Coloring::given(&pattern, problem, colors).unwrap();
            let plan = Plan::new(&pattern, &given).unwrap();
            let values: Vec<f64> =
                pattern.entries().map(|(i, j)| 1.0 + (i * j) as f64 + (i + j) as f64).collect();
            let mut found = vec![0.0; values.len()];
            plan.decompress(&plan.compress(&pattern, &values), &mut found, &mut plan.scratch());
            assert!(found.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }
    // The six matrices on which largest first is known to be better: it is optimal on each.
    let star = drawn(&["01011", "11010", "00101", "11010", "10100"]);
    assert_eq!(Exact::default().color(&star, Problem::Symmetric(Direct)).unwrap().count(), 3);
    let figure = hessian_figure();
    assert!(
        Exact::default().color(&figure, Problem::Symmetric(Substitution)).unwrap().count() <= 3
    );
    let hard = Exact { steps: 10 }.color(&figure, Problem::Symmetric(Direct)).unwrap_err();
    assert!(matches!(hard, ColoringError::TooHard { steps: 10 }));
    let survey = [1, 2, 1, 2, 1, 3, 2, 3, 2, 3];
    Coloring::given(&figure, Problem::Symmetric(Substitution), &survey).unwrap();
    let wrong = Coloring::given(&figure, Problem::Symmetric(Direct), &[1; 10]).unwrap_err();
    assert!(matches!(wrong, ColoringError::Given(_)), "{wrong}");
    let short = Coloring::given(&figure, Problem::Column, &[1, 2]).unwrap_err();
    assert!(short.to_string().contains("2 colours of columns, 10"), "{short}");
}

#[test]
fn patterns_from_patterns() {
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..30 {
        let (m, k, n) = (rng.usize(1..12), rng.usize(1..12), rng.usize(1..12));
        let (a, b) = (random(&mut rng, m, k, 0.2, false), random(&mut rng, k, n, 0.2, false));
        let product = a.product(&b).unwrap();
        for i in 0..m {
            for j in 0..n {
                let expected = (0..k).any(|l| a.contains(i, l) && b.contains(l, j));
                assert_eq!(product.contains(i, j), expected);
            }
        }
        let (mut rows, mut columns): (Vec<usize>, Vec<usize>) =
            ((0..m).collect(), (0..k).collect());
        rng.shuffle(&mut rows);
        rng.shuffle(&mut columns);
        let permuted = a.permute(&rows, &columns).unwrap();
        assert!(a.entries().all(|(i, j)| permuted.contains(rows[i], columns[j])));
        assert_eq!(permuted.nnz(), a.nnz());
        assert_eq!(a.fingerprint(), a.clone().fingerprint());
        if permuted != a {
            assert_ne!(permuted.fingerprint(), a.fingerprint());
        }
    }
    let upper = Pattern::from_rows(3, 3, |i| i..3).unwrap();
    assert_eq!(upper.symmetric_closure().unwrap(), Pattern::dense(3, 3));
    assert!(Pattern::dense(2, 3).symmetric_closure().is_none());
    assert!(upper.product(&Pattern::dense(2, 2)).is_none());
    assert!(upper.permute(&[0, 1], &[0, 1, 2]).is_err());
    assert!(upper.permute(&[0, 1, 2], &[0, 1, 1]).unwrap_err().to_string().contains("columns"));
}
