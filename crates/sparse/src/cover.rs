//! Bidirectional colouring by a cover: the densest rows are found by products of their own, and the
//! columns are coloured without them (after Hossain and Steihaug 1998; Coleman and Verma 1998).
//!
//! With no such row it is the column colouring, with all of them the row colouring, so it is never worse
//! than either; the same with rows and columns exchanged.

use crate::graph::{Bipartite, Lists};
use crate::partial;

/// Colours of the columns and of the dense rows; all other rows are neutral.
pub(crate) struct Cover {
    pub(crate) columns: Vec<u32>,
    pub(crate) rows: Vec<u32>,
}

impl Cover {
    pub(crate) fn count(&self) -> u32 {
        let most = |colors: &[u32]| colors.iter().copied().max().unwrap_or(0);
        most(&self.columns) + most(&self.rows)
    }
}

/// The best cover that takes the rows above some degree, if it has fewer colours than `least`.
pub(crate) fn densest_rows(graph: &Bipartite, mut least: u32) -> Option<Cover> {
    let degree = |lists: &Lists, v: u32| lists.of(v).len() as u32;
    let mut by_degree: Vec<u32> = (0..graph.rows.len() as u32).collect();
    by_degree.sort_by_key(|row| (std::cmp::Reverse(degree(&graph.rows, *row)), *row));
    // By the number of dense rows: the least number of colours that it may take, which is the largest
    // degree of the rows that are left and the largest degree of a column within the dense rows.
    let mut bounds = Vec::new();
    let (mut within, mut most) = (vec![0u32; graph.columns.len()], 0);
    for (dense, row) in by_degree.iter().enumerate() {
        let left = degree(&graph.rows, *row);
        if dense == 0 || left < degree(&graph.rows, by_degree[dense - 1]) {
            bounds.push((left + most, dense));
        }
        for column in graph.rows.of(*row) {
            within[*column as usize] += 1;
            most = most.max(within[*column as usize]);
        }
    }
    bounds.push((most, by_degree.len()));
    bounds.sort_unstable();
    let mut best = None;
    // Bounds are met or nearly so; beyond a few that are not, nothing better comes.
    for (bound, dense) in bounds.into_iter().take(64) {
        if bound >= least {
            break;
        }
        let cover = with_dense(graph, &by_degree[..dense]);
        if cover.count() < least {
            least = cover.count();
            best = Some(cover);
        }
    }
    best
}

fn with_dense(graph: &Bipartite, dense: &[u32]) -> Cover {
    let mut is_dense = vec![false; graph.rows.len()];
    for row in dense {
        is_dense[*row as usize] = true;
    }
    let columns = partial::color_without(graph, &is_dense);
    let rows = partial::color_some(&graph.rows, &graph.columns, dense);
    Cover { columns, rows }
}
