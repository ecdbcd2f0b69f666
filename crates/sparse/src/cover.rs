//! Bidirectional colouring by a cover: the densest rows are found by products of their own, and the
//! columns are coloured without them (after Hossain and Steihaug 1998; Coleman and Verma 1998).
//!
//! With no such row it is the column colouring, with all of them the row colouring, so it is never worse
//! than either; the same with rows and columns exchanged.

use crate::coloring::most;
use crate::graph::{Bipartite, Lists};
use crate::greedy::Weigh;
use crate::partial;

/// Colours of the columns and of the dense rows; all other rows are neutral.
pub(crate) struct Cover {
    pub(crate) columns: Vec<u32>,
    pub(crate) rows: Vec<u32>,
}

impl Cover {
    fn weight(&self, weigh: Weigh<'_>) -> f64 {
        weigh(most(&self.columns) as usize, most(&self.rows) as usize)
    }
}

/// The best cover that takes the rows above some degree, if it weighs less than `least`.
pub(crate) fn densest_rows(graph: &Bipartite, mut least: f64, weigh: Weigh<'_>) -> Option<Cover> {
    let degree = |lists: &Lists, v: u32| lists.of(v).len();
    let mut by_degree: Vec<u32> = (0..graph.nrows() as u32).collect();
    by_degree.sort_by_key(|row| (std::cmp::Reverse(degree(graph.rows(), *row)), *row));
    // By the number of dense rows: the least that it may weigh, by the largest degree of the rows that
    // are left and the largest degree of a column within the dense rows.
    let mut bounds = Vec::new();
    let (mut within, mut most) = (vec![0usize; graph.columns.len()], 0);
    for (dense, row) in by_degree.iter().enumerate() {
        let left = degree(graph.rows(), *row);
        if dense == 0 || left < degree(graph.rows(), by_degree[dense - 1]) {
            bounds.push((weigh(left, most), dense));
        }
        for column in graph.rows().of(*row) {
            within[*column as usize] += 1;
            most = most.max(within[*column as usize]);
        }
    }
    bounds.push((weigh(0, most), by_degree.len()));
    bounds.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut best = None;
    // Bounds are met or nearly so; beyond a few that are not, nothing better comes.
    for (bound, dense) in bounds.into_iter().take(64) {
        if bound >= least {
            break;
        }
        let cover = with_dense(graph, &by_degree[..dense]);
        let weight = cover.weight(weigh);
        if weight < least {
            least = weight;
            best = Some(cover);
        }
    }
    best
}

fn with_dense(graph: &Bipartite, dense: &[u32]) -> Cover {
    let mut is_dense = vec![false; graph.nrows()];
    for row in dense {
        is_dense[*row as usize] = true;
    }
    let columns = partial::color_without(graph, &is_dense);
    let rows = partial::color_some(graph.rows(), (graph.columns.len(), || &graph.columns), dense);
    Cover { columns, rows }
}
