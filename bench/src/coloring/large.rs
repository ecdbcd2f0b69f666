//! A pattern of ten million entries: how long its columns take to colour, and how much memory.

use cotangent::coloring::{Greedy, Order, Problem};

use super::{SUITE, space};
use crate::harness::Bench;
use crate::memory;

const CASE: &str = "colouring of ten million entries";

/// Colours the columns of a 27-point grid in the natural order.
pub(super) fn run(bench: &mut Bench) {
    if !bench.wants(CASE) {
        return;
    }
    bench.working_on(CASE);
    let pattern = space(73, 3);
    let size = pattern.nnz();
    let greedy = Greedy::with(Order::Natural);
    let color = || greedy.color(&pattern, Problem::Column).expect("no order is given").count();
    let (count, peak) = memory::peak(color);
    assert_eq!(count, 27, "the count of the natural order is known");
    let own = size_of_val(pattern.col_ptr()) + size_of_val(pattern.row_idx());
    bench.record(
        SUITE,
        CASE,
        size,
        "bytes at the peak",
        peak as f64,
        own as f64,
        "the pattern",
        Some(4.0),
    );
    let (ours, pass) = (bench.time(color), bench.time(|| pattern.transpose().nnz()));
    bench.record(SUITE, CASE, size, "ns", ours, pass, "a transpose", None);
}
