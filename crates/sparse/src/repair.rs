//! Colourings of patterns that grow.

use crate::coloring::{Coloring, ColoringError, Recovery, check_size};
use crate::graph::{Adjacency, Bipartite};
use crate::wanted::Wanted;
use crate::{Greedy, Index, Pattern, PatternError, Problem, partial};

/// A pattern that has grown, and its colouring.
#[derive(Clone, Debug)]
pub struct Repaired<I = usize> {
    /// The pattern with the entries that were added.
    pub pattern: Pattern<I>,
    /// Its colouring.
    pub coloring: Coloring,
    /// How many columns and rows have another colour than before.
    pub changed: usize,
}

impl Greedy {
    /// Adds entries to a pattern that has been coloured, and repairs the colouring: colours that need
    /// not change stay. Of a symmetric pattern, the mirror images are added, too.
    ///
    /// Vertices that had no colour, being neutral, are coloured again. A bidirectional colouring by a
    /// cover is made anew; in others the colours of the rows may be numbered anew.
    ///
    /// ```
    /// use cotangent_sparse::{Greedy, Pattern, Problem};
    ///
    /// let band = Pattern::from_rows(1000, 1000, |i| i.saturating_sub(1)..(i + 2).min(1000)).unwrap();
    /// let greedy = Greedy::default();
    /// let three = greedy.color(&band, Problem::Column)?;
    /// // Columns 1 and 7 have one colour; now they share row 0.
    /// let repaired = greedy.repair(&band, &three, &[(0, 7)])?;
    /// assert_eq!((repaired.coloring.count(), repaired.changed), (4, 1));
    /// # Ok::<(), cotangent_sparse::ColoringError>(())
    /// ```
    ///
    /// # Errors
    /// Entries outside the matrix, and a colouring of another pattern.
    pub fn repair<I: Index>(
        &self,
        pattern: &Pattern<I>,
        coloring: &Coloring,
        added: &[(usize, usize)],
    ) -> Result<Repaired<I>, ColoringError> {
        coloring.check_pattern(pattern)?;
        let problem = coloring.problem;
        let mut greedy = self.clone();
        greedy.postprocess |= match problem {
            Problem::Symmetric(_) => coloring.columns.contains(&0),
            _ => coloring.columns.contains(&0) || coloring.rows.contains(&0),
        };
        let symmetric = matches!(problem, Problem::Symmetric(_));
        let mirrored = added.iter().filter(|_| symmetric).map(|(i, j)| (*j, *i));
        let fresh: Vec<(usize, usize)> = added
            .iter()
            .copied()
            .chain(mirrored)
            .filter(|(i, j)| !pattern.contains(*i, *j))
            .collect();
        let (m, n) = (pattern.nrows(), pattern.ncols());
        let more = Pattern::from_entries(m, n, fresh.iter().copied())?.cast()?;
        let (nrows, ncols, nnz) = (m, n, pattern.nnz() + more.nnz());
        let largest = I::LARGEST;
        let too_large = PatternError::TooLarge { nrows, ncols, nnz, largest };
        let pattern = pattern.union(&more).ok_or(too_large)?;
        check_size(&pattern)?;
        let colored = match (&coloring.recovery, problem) {
            (Recovery::Columns | Recovery::Rows, _) => {
                let by_rows = problem == Problem::Row;
                let graph = Bipartite::new(&pattern);
                let graph = if by_rows { graph.transposed() } else { graph };
                let mut touched: Vec<u32> =
                    fresh.iter().map(|(i, j)| *if by_rows { i } else { j } as u32).collect();
                touched.sort_unstable();
                touched.dedup();
                let mut colored = coloring.clone();
                let side = if by_rows { &mut colored.rows } else { &mut colored.columns };
                partial::repair(&graph, side, &touched);
                let Coloring { columns, rows, recovery, .. } = colored;
                Coloring::new(problem, columns, rows, recovery, &pattern)
            }
            (Recovery::Sides(_), _) => greedy.color(&pattern, problem)?,
            (_, Problem::Symmetric(_)) => {
                let graph = Adjacency::symmetric(&pattern)?;
                let edges =
                    fresh.iter().filter(|(i, j)| i > j).map(|(i, j)| (*i as u32, *j as u32));
                greedy.recolor(&pattern, problem, &graph, &coloring.columns, edges)
            }
            _ => {
                let graph = Adjacency::augmented(&pattern);
                // The vertices are the columns, then the rows, and so are the colours.
                let above = |c: &u32| if *c == 0 { 0 } else { coloring.column_count + c };
                let colors: Vec<u32> = coloring
                    .columns
                    .iter()
                    .copied()
                    .chain(coloring.rows.iter().map(above))
                    .collect();
                let edges = fresh.iter().map(|(i, j)| (*j as u32, (n + i) as u32));
                greedy.recolor(&pattern, problem, &graph, &colors, edges)
            }
        };
        let pairs = coloring.columns.iter().zip(&colored.columns);
        let pairs = pairs.chain(coloring.rows.iter().zip(&colored.rows));
        let changed = pairs.filter(|(old, new)| old != new).count();
        let order = coloring.order.clone();
        Ok(Repaired { pattern, coloring: Coloring { order, ..colored }, changed })
    }

    /// Keeps the colours of all vertices but those that the new edges have an end at.
    fn recolor<I: Index>(
        &self,
        pattern: &Pattern<I>,
        problem: Problem,
        graph: &Adjacency,
        colors: &[u32],
        edges: impl Iterator<Item = (u32, u32)>,
    ) -> Coloring {
        // One end of each new edge, the one with fewer neighbours; vertices without a colour may need one
        // now. Without these vertices the graph is part of the old one, and coloured rightly.
        let mut free: Vec<bool> = colors.iter().map(|color| *color == 0).collect();
        for (v, w) in edges {
            if !free[v as usize] && !free[w as usize] {
                free[if graph.degree(w) < graph.degree(v) { w } else { v } as usize] = true;
            }
        }
        let (open, mut order): (Vec<u32>, Vec<u32>) =
            (0..graph.len() as u32).partition(|v| free[*v as usize]);
        let wanted = Wanted { colors, fixed: order.len() };
        order.extend(open);
        self.two_colored(pattern, problem, graph, &order, Some(wanted))
    }
}
