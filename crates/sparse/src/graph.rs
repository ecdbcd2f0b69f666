//! Patterns as graphs: what colourings and orders walk along. Vertices and edges are `u32`.

use std::sync::OnceLock;

use crate::{ColoringError, Index, Pattern};

/// Lists of neighbours, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    pub(crate) start: Vec<u32>,
    pub(crate) items: Vec<u32>,
}

impl Lists {
    #[inline(always)]
    pub(crate) fn of(&self, v: u32) -> &[u32] {
        &self.items[self.start[v as usize] as usize..self.start[v as usize + 1] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.start.len() - 1
    }

    fn columns<I: Index>(pattern: &Pattern<I>) -> Lists {
        Lists {
            start: pattern.col_ptr().iter().map(|p| p.at() as u32).collect(),
            items: pattern.row_idx().iter().map(|i| i.at() as u32).collect(),
        }
    }

    /// The lists of the opposite vertices, of which there are `n`.
    fn opposite(&self, n: usize) -> Lists {
        let mut start = vec![0u32; n + 2];
        for &w in &self.items {
            start[w as usize + 2] += 1;
        }
        for w in 2..n + 2 {
            start[w] += start[w - 1];
        }
        let mut items = vec![0; self.items.len()];
        for v in 0..self.len() as u32 {
            for &w in self.of(v) {
                let place = &mut start[w as usize + 1];
                items[*place as usize] = v;
                *place += 1;
            }
        }
        start.truncate(n + 1);
        Lists { start, items }
    }
}

/// The bipartite graph of a matrix: columns on one side, rows on the other, an edge for each entry.
#[derive(Clone, Debug)]
pub(crate) struct Bipartite {
    /// The rows of each column.
    pub(crate) columns: Lists,
    /// The columns of each row, once they are asked for: natural orders of few colours do without.
    rows: OnceLock<Lists>,
    nrows: usize,
}

impl Bipartite {
    pub(crate) fn new<I: Index>(pattern: &Pattern<I>) -> Self {
        let (columns, nrows) = (Lists::columns(pattern), pattern.nrows());
        Bipartite { columns, rows: OnceLock::new(), nrows }
    }

    /// The columns of each row.
    pub(crate) fn rows(&self) -> &Lists {
        self.rows.get_or_init(|| self.columns.opposite(self.nrows))
    }

    pub(crate) fn nrows(&self) -> usize {
        self.nrows
    }

    /// The graph of the transposed matrix.
    pub(crate) fn transposed(self) -> Self {
        let Bipartite { columns, rows, nrows } = self;
        let turned = rows.into_inner().unwrap_or_else(|| columns.opposite(nrows));
        Bipartite { nrows: columns.len(), columns: turned, rows: OnceLock::from(columns) }
    }
}

/// The ends of the edges of [`Adjacency::symmetric`] or [`Adjacency::augmented`], as they are numbered.
pub(crate) fn edge_ends<I: Index>(
    pattern: &Pattern<I>,
    symmetric: bool,
) -> impl Iterator<Item = (u32, u32)> {
    let shift = if symmetric { 0 } else { pattern.ncols() };
    let edges = pattern.entries().filter(move |(i, j)| !symmetric || i > j);
    edges.map(move |(i, j)| (j as u32, (shift + i) as u32))
}

/// An undirected graph without loops, whose edges are numbered.
#[derive(Clone, Debug)]
pub(crate) struct Adjacency {
    start: Vec<u32>,
    /// Neighbour and edge.
    items: Vec<(u32, u32)>,
    pub(crate) edges: usize,
}

impl Adjacency {
    #[inline(always)]
    pub(crate) fn of(&self, v: u32) -> &[(u32, u32)] {
        &self.items[self.start[v as usize] as usize..self.start[v as usize + 1] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.start.len() - 1
    }

    pub(crate) fn degree(&self, v: u32) -> u32 {
        self.start[v as usize + 1] - self.start[v as usize]
    }

    /// The graph of a symmetric matrix. Edges are numbered as the entries below the diagonal stand,
    /// column by column. That the pattern is symmetric is seen on the way.
    pub(crate) fn symmetric<I: Index>(pattern: &Pattern<I>) -> Result<Self, ColoringError> {
        let (nrows, n) = (pattern.nrows(), pattern.ncols());
        if nrows != n {
            return Err(ColoringError::NotSquare { nrows, ncols: n });
        }
        let lonely = |row, column| Err(ColoringError::NotSymmetric { row, column });
        let mut start = Vec::with_capacity(n + 1);
        start.push(0u32);
        let mut items: Vec<(u32, u32)> = Vec::with_capacity(pattern.nnz());
        let mut edges = 0;
        // In each list, the first neighbour below the diagonal whose mirror image has not been met.
        let mut below = vec![0u32; n];
        for j in 0..n {
            let rows = pattern.column(j);
            let diagonal = rows.partition_point(|i| i.at() < j);
            for i in rows[..diagonal].iter().map(|i| i.at()) {
                let mirror = below[i] as usize;
                if mirror >= start[i + 1] as usize || items[mirror].0 as usize != j {
                    return lonely(i, j);
                }
                items.push((i as u32, items[mirror].1));
                below[i] += 1;
            }
            below[j] = items.len() as u32;
            for i in rows[diagonal..].iter().map(|i| i.at()).filter(|i| *i > j) {
                items.push((i as u32, edges));
                edges += 1;
            }
            start.push(items.len() as u32);
        }
        match (0..n).find(|j| below[*j] != start[j + 1]) {
            Some(j) => lonely(items[below[j] as usize].0 as usize, j),
            None => Ok(Adjacency { start, items, edges: edges as usize }),
        }
    }

    /// The graph of [0 Aᵀ; A 0]: the vertices are the columns, then the rows; edge k is entry k.
    pub(crate) fn augmented<I: Index>(pattern: &Pattern<I>) -> Self {
        let (m, n) = (pattern.nrows(), pattern.ncols());
        let nnz = pattern.nnz();
        let mut start: Vec<u32> = pattern.col_ptr().iter().map(|p| p.at() as u32).collect();
        let mut items: Vec<(u32, u32)> =
            pattern.row_idx().iter().zip(0..).map(|(i, k)| ((n + i.at()) as u32, k)).collect();
        let mut next = vec![0u32; m + 1];
        for i in pattern.row_idx() {
            next[i.at() + 1] += 1;
        }
        next[0] = nnz as u32;
        for i in 0..m {
            next[i + 1] += next[i];
        }
        start.extend_from_slice(&next[1..]);
        items.resize(2 * nnz, (0, 0));
        for (k, (i, j)) in pattern.entries().enumerate() {
            items[next[i] as usize] = (j as u32, k as u32);
            next[i] += 1;
        }
        Adjacency { start, items, edges: nnz }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_has_one_number_at_both_ends() {
        let pattern =
            Pattern::from_entries(5, 5, [(0, 0), (1, 0), (3, 1), (4, 1), (4, 3), (2, 2), (4, 0)])
                .and_then(|p| {
                    Pattern::from_entries(5, 5, p.entries().chain(p.transpose().entries()))
                })
                .unwrap();
        let graph = Adjacency::symmetric(&pattern).unwrap();
        assert_eq!(graph.edges, 5);
        for v in 0..5 {
            for (w, e) in graph.of(v) {
                assert!(graph.of(*w).contains(&(v, *e)), "{v} {w}");
            }
        }
        let graph = Adjacency::augmented(&pattern);
        assert_eq!(graph.edges, pattern.nnz());
        for (k, (i, j)) in pattern.entries().enumerate() {
            assert!(graph.of(j as u32).contains(&(5 + i as u32, k as u32)));
            assert!(graph.of(5 + i as u32).contains(&(j as u32, k as u32)));
        }
    }
}
