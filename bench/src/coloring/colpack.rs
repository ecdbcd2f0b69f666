//! Beside ColPack: the counts order by order, the fewest colours, and the times.
//!
//! Our times are those of the public interface and have the building of the graph in them; ColPack's
//! are those of ordering and colouring only, one thread, by the driver that `bench/peers/setup` builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cotangent::coloring::{
    Decompression, Greedy, Order, Pattern, Problem, Ties, read_matrix_market,
};
use cotangent::jacobian_sparsity;
use cotangent::prelude::*;

use super::{SUITE, plane, space};
use crate::eager::brusselator;
use crate::harness::Bench;

const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/.local/bin/colpack");
const POWER_FLOW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/matrices");

/// A kind of colouring, by our name and by ColPack's.
struct Kind {
    name: &'static str,
    theirs: &'static str,
    problem: Problem,
}

const COLUMNS: Kind =
    Kind { name: "columns", theirs: "COLUMN_PARTIAL_DISTANCE_TWO", problem: Problem::Column };
const ROWS: Kind = Kind { name: "rows", theirs: "ROW_PARTIAL_DISTANCE_TWO", problem: Problem::Row };
const STAR: Kind =
    Kind { name: "star", theirs: "STAR", problem: Problem::Symmetric(Decompression::Direct) };
const ACYCLIC: Kind = Kind {
    name: "acyclic",
    theirs: "ACYCLIC_FOR_INDIRECT_RECOVERY",
    problem: Problem::Symmetric(Decompression::Substitution),
};
const BOTH: Kind = Kind {
    name: "rows and columns",
    theirs: "IMPLICIT_COVERING__STAR_BICOLORING",
    problem: Problem::Bidirectional(Decompression::Direct),
};

impl Kind {
    /// The orders that ColPack has for it.
    fn orders(&self) -> Vec<(Order, &'static str)> {
        let mut orders = vec![
            (Order::Natural, "NATURAL"),
            (Order::LargestFirst, "LARGEST_FIRST"),
            (Order::SmallestLast, "SMALLEST_LAST"),
            (Order::IncidenceDegree, "INCIDENCE_DEGREE"),
        ];
        if !matches!(self.problem, Problem::Column | Problem::Row) {
            orders.push((Order::DynamicLargestFirst, "DYNAMIC_LARGEST_FIRST"));
        }
        orders
    }
}

/// A pattern that is made when it is needed, and how it is coloured.
struct Matrix {
    name: String,
    kinds: &'static [Kind],
    pattern: Box<dyn Fn() -> Option<Pattern>>,
}

fn matrices() -> Vec<Matrix> {
    let mut matrices = Vec::new();
    let mut add = |name: String, kinds, pattern: Box<dyn Fn() -> Option<Pattern>>| {
        matrices.push(Matrix { name, kinds, pattern });
    };
    let flows = ["3_lmbd", "60_c", "240_pserc", "1951_rte", "2746wp_k", "3375wp_k"];
    let kinds: [(&str, &[Kind]); 2] =
        [("acopfH", &[COLUMNS, STAR, ACYCLIC]), ("acopfJ", &[COLUMNS, ROWS, BOTH])];
    for (letter, kinds) in kinds {
        for flow in flows {
            let name = format!("{letter}_{flow}");
            let path = Path::new(POWER_FLOW).join(format!("{name}.mtx.gz"));
            let read = move || {
                let read = || read_matrix_market(&path).expect("a valid file").pattern;
                path.exists().then(read)
            };
            add(name, kinds, Box::new(read));
        }
    }
    for n in [8, 16, 32, 64, 100, 128, 256] {
        let detect = move || {
            let f = function!([n: usize] |x: &[S], y: &mut [S; x.len()]| brusselator(n, x, y));
            jacobian_sparsity(&f, &vec![1.0; 2 * n * n]).ok()
        };
        add(format!("brus_{n}"), &[COLUMNS, ROWS], Box::new(detect));
    }
    let grid: &[Kind] = &[COLUMNS, STAR, ACYCLIC];
    add("grid2d5_300".to_string(), grid, Box::new(|| Some(plane(300))));
    for n in [32, 48] {
        add(format!("grid3d7_{n}"), grid, Box::new(move || Some(space(n, 1))));
        add(format!("grid3d27_{n}"), grid, Box::new(move || Some(space(n, 3))));
    }
    matrices
}

fn case(matrix: &Matrix, kind: &Kind) -> String {
    format!("colpack {}, {}", matrix.name, kind.name)
}

/// Runs all comparisons with ColPack that are asked for.
pub(super) fn run(bench: &mut Bench) {
    let mut matrices = matrices();
    matrices.retain(|m| m.kinds.iter().any(|kind| bench.wants(&case(m, kind))));
    if matrices.is_empty() {
        return;
    }
    if !Path::new(DRIVER).exists() {
        bench.note("ColPack is not set up and was skipped; `bench/peers/setup colpack` does it");
        return;
    }
    let mut absent = 0;
    for matrix in &matrices {
        let Some(pattern) = (matrix.pattern)() else {
            absent += 1;
            continue;
        };
        for kind in matrix.kinds {
            let case = case(matrix, kind);
            if bench.wants(&case) {
                bench.working_on(&case);
                compare(bench, &case, &pattern, kind);
            }
        }
    }
    if absent > 0 {
        bench.note(&format!(
            "{absent} power-flow patterns were skipped: there is no ../shared/data/matrices"
        ));
    }
}

/// How often both are measured, in turns: a slow phase of the machine then hits both.
const ROUNDS: usize = 2;

/// What was found in one order.
struct Found {
    order: Order,
    count: usize,
    ns: f64,
}

/// Keeps the shorter times.
fn keep(best: &mut Vec<Found>, again: Vec<Found>) {
    if best.is_empty() {
        *best = again;
    } else {
        best.iter_mut().zip(again).for_each(|(best, again)| best.ns = best.ns.min(again.ns));
    }
}

fn compare(bench: &mut Bench, case: &str, pattern: &Pattern, kind: &Kind) {
    // Covers are tried beside the order, so there is nothing to compare order by order.
    let bidirectional = matches!(kind.problem, Problem::Bidirectional(_));
    let tried: Vec<Greedy> = if bidirectional {
        vec![Greedy::default()]
    } else {
        let in_order = |(order, _)| Greedy { ties: Ties::ColPack, ..Greedy::with(order) };
        kind.orders().into_iter().map(in_order).collect()
    };
    let color = |greedy: &Greedy| greedy.color(pattern, kind.problem).expect("symmetric").count();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        match colpack(pattern, kind) {
            Ok(found) => keep(&mut theirs, found),
            Err(error) => return bench.note(&format!("{case}: {error}")),
        }
        let found = |greedy: &Greedy| Found {
            order: greedy.orders[0].clone(),
            count: color(greedy),
            ns: bench.time(|| color(greedy)),
        };
        keep(&mut ours, tried.iter().map(found).collect());
    }
    let mut record = |metric, ours: f64, reference: f64, name: String, target| {
        bench.record(SUITE, case, pattern.nnz(), metric, ours, reference, name, target);
    };
    let best = theirs.iter().min_by_key(|found| found.count).expect("there are orders");
    let name = format!("ColPack, {}", best.order);
    if bidirectional {
        let (count, known) = (ours[0].count as f64, best.count as f64);
        record("colours by default", count, known, name.clone(), Some(1.0));
        record("ns", ours[0].ns, best.ns, name.clone(), None);
    } else {
        let list = |found: &[Found]| {
            found.iter().map(|found| found.count.to_string()).collect::<Vec<_>>().join("/")
        };
        let differ = ours.iter().zip(&theirs).filter(|(a, b)| a.count != b.count).count();
        let counts = match differ {
            0 => format!("orders, all {}", list(&theirs)),
            _ => format!("orders, {} not {}", list(&ours), list(&theirs)),
        };
        let total = theirs.len() as f64;
        record("counts that differ", differ as f64, total, counts, Some(0.0));
        // The natural order, and of the others the one that compares worst.
        let ratio = |k: &usize| ours[*k].ns / theirs[*k].ns;
        let worst = (1..ours.len()).max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        for (k, target) in [(0, Some(0.5)), (worst.expect("there are orders"), None)] {
            let name = format!("ColPack, {}", theirs[k].order);
            record("ns", ours[k].ns, theirs[k].ns, name, target);
        }
    }
    let least = [Ties::Oldest, Ties::ColPack]
        .map(|ties| color(&Greedy { orders: Order::ALL.to_vec(), ties, ..Greedy::default() }));
    let fewest = least[0].min(least[1]) as f64;
    record("fewest colours", fewest, best.count as f64, name, Some(1.0));
}

/// Asks the driver for all orders of a kind.
fn colpack(pattern: &Pattern, kind: &Kind) -> Result<Vec<Found>, String> {
    let file = Request::write(pattern).map_err(|e| format!("no request written: {e}"))?;
    let orders = kind.orders();
    let output = Command::new(DRIVER)
        .arg(&file.0)
        .args(orders.iter().flat_map(|(_, theirs)| [kind.theirs, theirs]))
        .env("OMP_NUM_THREADS", "1")
        .output()
        .map_err(|e| format!("ColPack's driver does not start: {e}"))?;
    if !output.status.success() {
        return Err(format!("ColPack failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    orders
        .into_iter()
        .map(|(order, theirs)| {
            // ColPack prints lines of its own, so ours are looked for.
            let start = format!("{} {theirs} ", kind.theirs);
            let mut words = text.lines().find_map(|l| l.strip_prefix(&start))?.split(' ');
            let count = words.next()?.parse().ok()?;
            let seconds: f64 = words.next()?.parse().ok()?;
            Some(Found { order, count, ns: 1e9 * seconds })
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| format!("ColPack's driver left orders out:\n{text}"))
}

/// A pattern as the driver reads it, removed when it is dropped.
struct Request(PathBuf);

impl Request {
    fn write(pattern: &Pattern) -> std::io::Result<Request> {
        let path = std::env::temp_dir().join(format!("colpack-{}.pattern", std::process::id()));
        // The columns of the transposed pattern are the rows of this one.
        let rows = pattern.transpose();
        let sizes = [pattern.nrows(), pattern.ncols(), pattern.nnz()];
        let numbers = sizes.iter().chain(rows.col_ptr()).chain(rows.row_idx());
        let bytes: Vec<u8> = numbers.flat_map(|i| (*i as i32).to_ne_bytes()).collect();
        fs::write(&path, bytes)?;
        Ok(Request(path))
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // A file that stays behind in the temporary folder does no harm.
        let _ = fs::remove_file(&self.0);
    }
}
