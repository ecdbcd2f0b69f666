//! Colourings on threads, repaired, chosen by cost, at a distance, with the fewest colours, and with
//! smaller indices.

mod common;

use common::{Direct, PROBLEMS, Substitution, examine, random};
use cotangent_sparse::{
    Auto, Coloring, ColoringError, Cost, Costs, Distance, Exact, Greedy, Invalid, Order, Pattern,
    PatternError, Problem, check_coloring, check_graph,
};

/// A grid of n × n points, each with those around it, in a shuffled numbering.
fn grid(n: usize, seed: u64) -> Pattern {
    let mut names: Vec<usize> = (0..n * n).collect();
    if seed > 0 {
        fastrand::Rng::with_seed(seed).shuffle(&mut names);
    }
    let around = |k: usize| {
        let (i, j) = (k % n, k / n);
        let near = |c: usize| c.saturating_sub(1)..(c + 2).min(n);
        near(j).flat_map(move |j| near(i).map(move |i| i + n * j))
    };
    let entries = (0..n * n).flat_map(|k| around(k).map(move |l| (k, l)));
    Pattern::from_entries(n * n, n * n, entries.map(|(k, l)| (names[k], names[l]))).unwrap()
}

fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn any_number_of_threads_gives_the_same_colours() {
    // Large enough for several blocks; the shuffled one has clashes between all of them.
    for pattern in [grid(180, 0), grid(180, 7)] {
        for problem in [Problem::Column, Problem::Row, Problem::Symmetric(Direct)] {
            let greedy = Greedy {
                orders: vec![Order::Natural, Order::Random(1), Order::LargestFirst],
                parallel: true,
                ..Greedy::default()
            };
            let by = |threads| on_threads(threads, || greedy.color(&pattern, problem).unwrap());
            let one = by(1);
            check_coloring(&pattern, &one).unwrap();
            for threads in [2, 3, 8] {
                let other = by(threads);
                assert_eq!(one.column_colors(), other.column_colors(), "{threads} threads");
                assert_eq!(one.row_colors(), other.row_colors(), "{threads} threads");
                assert_eq!(one.order(), other.order());
            }
            let alone =
                Greedy { parallel: false, ..greedy.clone() }.color(&pattern, problem).unwrap();
            // Blocks that are numbered in step meet out of step.
            assert!(3 * one.count() <= 4 * alone.count(), "{} for {}", one.count(), alone.count());
        }
    }
    // More colours than the bits of a row hold, in blocks that clash: every column shares a row with the
    // 400 around it.
    let wide = Pattern::from_rows(24_000, 24_000, |i| i.saturating_sub(200)..(i + 200).min(24_000));
    let wide = wide.unwrap();
    let greedy = Greedy { parallel: true, ..Greedy::default() };
    let (one, two) = (1, 2);
    let by = |threads| on_threads(threads, || greedy.color(&wide, Problem::Column).unwrap());
    assert_eq!(by(one).column_colors(), by(two).column_colors());
    check_coloring(&wide, &by(one)).unwrap();
    // Colours of finished blocks that end just where the room for them does.
    let edge = Pattern::from_entries(
        40,
        24_576,
        (0..24_576).map(|c| (if c < 8192 { c / 257 } else { (c - 8192) % 40 }, c)),
    );
    let edge = edge.unwrap();
    check_coloring(&edge, &greedy.color(&edge, Problem::Column).unwrap()).unwrap();
    // A dense row makes all blocks clash.
    let n = 20_000;
    let arrow = Pattern::from_rows(n, n, |i| if i == 0 { 0..n } else { i..i + 1 }).unwrap();
    let greedy = Greedy { parallel: true, ..Greedy::default() };
    assert_eq!(greedy.color(&arrow, Problem::Column).unwrap().count(), n);
    assert_eq!(greedy.color(&arrow, Problem::Row).unwrap().count(), 2);
}

#[test]
fn added_entries_are_repaired() {
    let mut rng = fastrand::Rng::with_seed(9);
    for round in 0..200 {
        let problem = PROBLEMS[round % PROBLEMS.len()];
        let symmetric = matches!(problem, Problem::Symmetric(_));
        let n = rng.usize(1..25);
        let m = if symmetric { n } else { rng.usize(1..25) };
        let pattern = random(&mut rng, m, n, 0.02 * (round % 9) as f64, symmetric);
        let (postprocess, cover) = (rng.bool(), rng.bool());
        let greedy = Greedy { postprocess, cover, ..Greedy::default() };
        let coloring = greedy.color(&pattern, problem).unwrap();
        let added: Vec<(usize, usize)> =
            (0..rng.usize(..8)).map(|_| (rng.usize(..m), rng.usize(..n))).collect();
        let repaired = greedy.repair(&pattern, &coloring, &added).unwrap();
        for &(i, j) in &added {
            assert!(repaired.pattern.contains(i, j));
            assert!(!symmetric || repaired.pattern.contains(j, i));
        }
        assert!(pattern.entries().all(|(i, j)| repaired.pattern.contains(i, j)));
        examine(&repaired.pattern, &repaired.coloring, &mut rng);
        if matches!(problem, Problem::Column | Problem::Row) {
            assert!(repaired.changed <= added.len());
        }
    }
    // Far from the new entries, nothing changes.
    let pattern = grid(30, 0);
    for problem in [Problem::Symmetric(Direct), Problem::Symmetric(Substitution)] {
        let coloring = Greedy::default().color(&pattern, problem).unwrap();
        let repaired = Greedy::default().repair(&pattern, &coloring, &[(0, 400), (5, 5)]).unwrap();
        assert!(repaired.changed <= 1, "{}", repaired.changed);
        assert_eq!(repaired.pattern.nnz(), pattern.nnz() + 2);
        examine(&repaired.pattern, &repaired.coloring, &mut rng);
    }
    let greedy = Greedy::default();
    let mut names: Vec<usize> = (0..900).collect();
    rng.shuffle(&mut names);
    let coloring = greedy.color(&pattern, Problem::Column).unwrap();
    let outside = greedy.repair(&pattern, &coloring, &[(0, 900)]).unwrap_err();
    assert!(outside.to_string().contains("(0, 900) lies outside"), "{outside}");
    let star = greedy.color(&pattern, Problem::Symmetric(Direct)).unwrap();
    let other = pattern.permute(&names, &names).unwrap();
    assert!(matches!(greedy.repair(&other, &star, &[]), Err(ColoringError::Foreign(_))));
    let foreign = greedy.repair(&Pattern::dense(2, 2), &coloring, &[]).unwrap_err();
    assert!(matches!(foreign, ColoringError::Foreign(_)), "{foreign}");
}

#[test]
fn the_cheapest_products_are_chosen() {
    let each = |cost| Some(Cost::each(cost));
    let wide = Pattern::dense(2, 9);
    let auto = |jvp, vjp| Auto { costs: Costs { jvp, vjp, hvp: None }, ..Auto::default() };
    let problem = |auto: &Auto, pattern: &Pattern| auto.color(pattern).unwrap().coloring.problem();
    assert_eq!(problem(&auto(each(1.0), each(1.0)), &wide), Problem::Row);
    assert_eq!(problem(&auto(each(1.0), each(10.0)), &wide), Problem::Column);
    assert_eq!(problem(&auto(each(1.0), None), &wide), Problem::Column);
    assert_eq!(problem(&auto(None, each(1.0)), &wide), Problem::Row);
    let choice = auto(each(1.0), each(1.0)).color(&wide).unwrap();
    assert_eq!(
        choice.to_string(),
        "colours rows: 2 × vjp cost 2; rows and columns at least 1 × jvp + 1 × vjp cost 2; columns 9 × jvp cost 9"
    );
    assert!(matches!(auto(None, None).color(&wide), Err(ColoringError::NoCost)));
    for cost in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(matches!(auto(each(cost), each(1.0)).color(&wide), Err(ColoringError::Cost)));
    }
    let absurd = Pattern::from_entries(1 << 50, 1, []).unwrap();
    assert!(matches!(auto(each(1.0), None).color(&absurd), Err(ColoringError::TooLarge { .. })));
    assert!(Pattern::from_entries(1 << 62, 1, []).is_err());

    // A 27-point grid in space: columns take fewer products than stars, trees fewer still.
    let n = 6;
    let space = Pattern::from_rows(n * n * n, n * n * n, |k| {
        let near = |c: usize| c.saturating_sub(1)..(c + 2).min(n);
        let (i, j, l) = (k % n, k / n % n, k / n / n);
        near(l)
            .flat_map(move |l| near(j).flat_map(move |j| near(i).map(move |i| i + n * (j + n * l))))
    })
    .unwrap();
    let costs = Costs { hvp: each(4.0), ..Costs::default() };
    let mut auto = Auto { costs, ..Auto::default() };
    assert_eq!(problem(&auto, &space), Problem::Column);
    auto.substitution = true;
    assert_eq!(problem(&auto, &space), Problem::Symmetric(Substitution));
    assert!(matches!(auto.color(&wide), Err(ColoringError::NotSquare { .. })));

    // Never dearer than any of the ways by itself.
    let mut rng = fastrand::Rng::with_seed(31);
    for round in 0..100 {
        let (m, n) = (rng.usize(1..30), rng.usize(1..30));
        let pattern = random(&mut rng, m, n, 0.03 * f64::from(round % 10), false);
        let costs =
            Costs { jvp: each(1.0 + rng.f64()), vjp: each(1.0 + 3.0 * rng.f64()), hvp: None };
        let auto = Auto { costs, ..Auto::default() };
        let choice = auto.color(&pattern).unwrap();
        examine(&pattern, &choice.coloring, &mut rng);
        let cost = |c: &Coloring| costs.total(c.column_count(), c.row_count());
        for problem in [Problem::Column, Problem::Row] {
            let other = auto.greedy.color(&pattern, problem).unwrap();
            assert!(cost(&choice.coloring) <= cost(&other), "{choice}");
        }
    }
}

#[test]
fn plain_colourings_keep_their_distance() {
    let mut rng = fastrand::Rng::with_seed(17);
    for round in 0..60 {
        let n = rng.usize(1..40);
        let pattern = random(&mut rng, n, n, 0.03 * f64::from(round % 10), true);
        for distance in [Distance::One, Distance::Two] {
            let all = Greedy { orders: Order::ALL.to_vec(), ..Greedy::default() };
            let count = |greedy: &Greedy| {
                let colors = greedy.color_graph(&pattern, distance).unwrap();
                check_graph(&pattern, distance, &colors).unwrap();
                colors.into_iter().max().unwrap_or(0)
            };
            assert!(count(&all) <= count(&Greedy::default()));
        }
    }
    let path = Pattern::from_rows(3, 3, |i| i.saturating_sub(1)..(i + 2).min(3)).unwrap();
    check_graph(&path, Distance::One, &[1, 2, 1]).unwrap();
    let near = check_graph(&path, Distance::Two, &[1, 2, 1]).unwrap_err();
    assert_eq!(near, Invalid::Near { first: 0, second: 2, color: 1 });
    assert!(check_graph(&path, Distance::One, &[1, 1, 2]).is_err());
    assert!(check_graph(&path, Distance::One, &[1, 2]).is_err());
    assert!(check_graph(&path, Distance::One, &[1, 0, 1]).is_err());
    assert!(check_graph(&Pattern::dense(3, 2), Distance::One, &[1, 2]).is_err());
}

#[test]
fn the_fewest_colours_of_rows_and_columns_together() {
    let problem = Problem::Bidirectional(Direct);
    let mut rng = fastrand::Rng::with_seed(5);
    for round in 0..60 {
        let (m, n) = (rng.usize(1..6), rng.usize(1..6));
        let pattern = random(&mut rng, m, n, 0.15 * f64::from(round % 6), false);
        let exact = Exact::default().color(&pattern, problem).unwrap();
        examine(&pattern, &exact, &mut rng);
        let greedy = Greedy { orders: Order::ALL.to_vec(), ..Greedy::default() };
        for other in [problem, Problem::Column, Problem::Row] {
            assert!(exact.count() <= greedy.color(&pattern, other).unwrap().count(), "{pattern}");
        }
    }
    let arrow = Pattern::from_rows(5, 5, |i| if i == 0 { 0..5 } else { 0..1 }).unwrap();
    let arrow = arrow.union(&Pattern::from_rows(5, 5, |i| [i]).unwrap()).unwrap();
    assert_eq!(Exact::default().color(&arrow, problem).unwrap().count(), 3);
    let large = Pattern::from_rows(10_000, 10_000, |i| [i]).unwrap();
    assert!(matches!(Exact::default().color(&large, problem), Err(ColoringError::TooHard { .. })));
    let refused = Exact::default().color(&arrow, Problem::Bidirectional(Substitution)).unwrap_err();
    assert!(matches!(refused, ColoringError::GreedyOnly));
    let one_sided = Coloring::given(&arrow, problem, &[1, 2, 3, 4, 5]).unwrap_err();
    assert!(matches!(one_sided, ColoringError::OneSided));
}

#[test]
fn indices_of_either_kind_give_the_same_colours() {
    let mut rng = fastrand::Rng::with_seed(8);
    for problem in PROBLEMS {
        let pattern = random(&mut rng, 20, 20, 0.1, matches!(problem, Problem::Symmetric(_)));
        let small = pattern.cast::<u32>().unwrap();
        let greedy = Greedy::default();
        let (a, b) = (greedy.color(&pattern, problem), greedy.color(&small, problem));
        assert_eq!(a.unwrap().column_colors(), b.unwrap().column_colors());
        assert_eq!(pattern.fingerprint(), small.fingerprint());
        assert_eq!(small.transpose().cast::<usize>().unwrap(), pattern.transpose());
        assert_eq!(small.product(&small).unwrap().nnz(), pattern.product(&pattern).unwrap().nnz());
    }
    let large = Pattern::from_entries(1 << 33, 1, []).unwrap();
    assert!(matches!(large.cast::<u32>(), Err(PatternError::TooLarge { .. })));
    assert!(Pattern::<u32>::from_parts(1, 1 << 40, vec![0], vec![]).is_err());
}

#[test]
#[cfg(feature = "serde")]
fn patterns_and_plans_are_saved_and_damage_is_found() {
    use cotangent_sparse::Plan;
    let mut rng = fastrand::Rng::with_seed(4);
    for problem in PROBLEMS {
        let pattern = random(&mut rng, 12, 12, 0.2, matches!(problem, Problem::Symmetric(_)));
        let text = serde_json::to_string(&pattern).unwrap();
        assert_eq!(serde_json::from_str::<Pattern>(&text).unwrap(), pattern);
        let coloring = Greedy::default().color(&pattern, problem).unwrap();
        let plan = Plan::new(&pattern, &coloring).unwrap();
        let saved = serde_json::to_value(&plan).unwrap();
        assert_eq!(serde_json::from_value::<Plan>(saved.clone()).unwrap(), plan);
        // Whatever number is changed, what is read still stands in its bounds, or is refused.
        for (field, part) in saved.as_object().unwrap() {
            let mut damaged = saved.clone();
            damaged[field] = match part {
                serde_json::Value::Array(list) if !list.is_empty() => {
                    let mut list = list.clone();
                    let last = list.len() - 1;
                    list[last] = match &list[last] {
                        serde_json::Value::Array(tuple) => {
                            vec![4_000_000_000u32; tuple.len()].into()
                        }
                        _ => 4_000_000_000u32.into(),
                    };
                    list.into()
                }
                serde_json::Value::Array(_) => serde_json::json!([3_000_000_000u32]),
                _ => serde_json::json!(usize::MAX),
            };
            let read = serde_json::from_value::<Plan>(damaged);
            assert!(read.is_err(), "{problem:?} {field}");
        }
    }
    assert!(
        serde_json::from_str::<Pattern>(r#"{"nrows":1,"ncols":1,"col_ptr":[0,9],"row_idx":[0]}"#)
            .is_err()
    );
}
