//! Greedy colouring.

use rayon::prelude::*;

use crate::acyclic;
use crate::coloring::{Coloring, ColoringError, Recovery, check_size};
use crate::graph::{Adjacency, Bipartite, edge_ends};
use crate::neutral::close_gaps;
use crate::order::{Neighbours, Order, Ties, permutation};
use crate::wanted::Wanted;
use crate::{Decompression, Index, Pattern, Problem, cover, neutral, parallel, partial, star};

/// Greedy colouring: vertex by vertex, each with the smallest colour that is left.
///
/// ```
/// use cotangent_sparse::{Decompression, Greedy, Order, Pattern, Problem};
///
/// // A band of half-width 2: five columns overlap; symmetric, three colours do by substitution.
/// let band = Pattern::from_rows(9, 9, |i| i.saturating_sub(2)..(i + 3).min(9)).unwrap();
/// let greedy = Greedy::default();
/// assert_eq!(greedy.color(&band, Problem::Column)?.count(), 5);
/// assert_eq!(greedy.color(&band, Problem::Symmetric(Decompression::Substitution))?.count(), 3);
///
/// let best = Greedy { orders: Order::ALL.to_vec(), ..Greedy::default() };
/// assert_eq!(best.color(&band, Problem::Symmetric(Decompression::Direct))?.count(), 5);
/// # Ok::<(), cotangent_sparse::ColoringError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Greedy {
    /// The orders that are tried; the fewest colours win, the first of equal ones.
    pub orders: Vec<Order>,
    /// How ties are broken in orders that are built step by step.
    pub ties: Ties,
    /// Whether colours that no entry is read from are made neutral (symmetric and bidirectional).
    pub postprocess: bool,
    /// Whether bidirectional colourings are also tried by covers: the densest rows or columns by
    /// themselves, the rest without them. The result is then never worse than a one-sided colouring
    /// in the natural order.
    pub cover: bool,
    /// Whether to work on all threads of the current `rayon` pool: orders are tried side by side, and the
    /// columns (rows) of large patterns are coloured block by block side by side, which may take some
    /// more colours than one after the other (12 for 9 on a nine-point grid numbered by rows). The
    /// result depends on the pattern, not on the number of threads.
    pub parallel: bool,
}

impl Default for Greedy {
    fn default() -> Self {
        Greedy {
            orders: vec![Order::Natural],
            ties: Ties::default(),
            postprocess: false,
            cover: true,
            parallel: false,
        }
    }
}

impl Greedy {
    /// Greedy colouring in one order.
    pub fn with(order: Order) -> Self {
        Greedy { orders: vec![order], ..Greedy::default() }
    }

    /// The permutation that an order gives for a problem: of the columns, the rows, or for bidirectional
    /// colourings the columns and then the rows. [`Order::Given`] takes it.
    ///
    /// # Errors
    /// As [`color`](Greedy::color).
    pub fn permutation<I: Index>(
        &self,
        pattern: &Pattern<I>,
        problem: Problem,
        order: &Order,
    ) -> Result<Vec<u32>, ColoringError> {
        check_size(pattern)?;
        let found = match problem {
            Problem::Column => permutation(&Bipartite::new(pattern), order, self.ties),
            Problem::Row => permutation(&Bipartite::new(pattern).transposed(), order, self.ties),
            Problem::Symmetric(_) => permutation(&Adjacency::symmetric(pattern)?, order, self.ties),
            Problem::Bidirectional(_) => {
                permutation(&Adjacency::augmented(pattern), order, self.ties)
            }
        };
        let vertices = match problem {
            Problem::Row => pattern.nrows(),
            Problem::Column | Problem::Symmetric(_) => pattern.ncols(),
            Problem::Bidirectional(_) => pattern.nrows() + pattern.ncols(),
        };
        found.ok_or(ColoringError::NotPermutation { vertices })
    }

    /// Colours a pattern.
    ///
    /// # Errors
    /// An unsymmetric pattern for a symmetric problem, a given order that does not fit, no order at
    /// all, or more than 2³¹ entries.
    pub fn color<I: Index>(
        &self,
        pattern: &Pattern<I>,
        problem: Problem,
    ) -> Result<Coloring, ColoringError> {
        self.color_by(pattern, problem, &|columns, rows| (columns + rows) as f64)
    }

    /// The colouring that weighs least, by its numbers of column and row colours.
    pub(crate) fn color_by<I: Index>(
        &self,
        pattern: &Pattern<I>,
        problem: Problem,
        weigh: Weigh<'_>,
    ) -> Result<Coloring, ColoringError> {
        check_size(pattern)?;
        match problem {
            Problem::Column => self.best(&Bipartite::new(pattern), weigh, |graph, order| {
                one_sided(pattern, self.partial(graph, order), false)
            }),
            Problem::Row => {
                self.best(&Bipartite::new(pattern).transposed(), weigh, |graph, order| {
                    one_sided(pattern, self.partial(graph, order), true)
                })
            }
            Problem::Symmetric(_) => {
                self.best(&Adjacency::symmetric(pattern)?, weigh, |graph, order| {
                    self.two_colored(pattern, problem, graph, order, None)
                })
            }
            Problem::Bidirectional(_) => {
                let colored =
                    self.best(&Adjacency::augmented(pattern), weigh, |graph, order| {
                        self.two_colored(pattern, problem, graph, order, None)
                    })?;
                Ok(if self.cover { covered(pattern, colored, weigh) } else { colored })
            }
        }
    }

    fn partial(&self, graph: &Bipartite, order: &[u32]) -> Vec<u32> {
        if self.parallel { parallel::color(graph, order) } else { partial::color(graph, order) }
    }

    /// The best colouring over all orders.
    fn best<G: Neighbours + Sync>(
        &self,
        graph: &G,
        weigh: Weigh<'_>,
        color: impl Fn(&G, &[u32]) -> Coloring + Sync,
    ) -> Result<Coloring, ColoringError> {
        let vertices = graph.vertices();
        let by = |order: &Order| {
            let sequence = permutation(graph, order, self.ties)
                .ok_or(ColoringError::NotPermutation { vertices })?;
            Ok(Coloring { order: order.clone(), ..color(graph, &sequence) })
        };
        let weight = |c: &Coloring| weigh(c.column_count(), c.row_count());
        let better = |best: Coloring, found: Coloring| {
            if weight(&found) < weight(&best) { found } else { best }
        };
        // One colouring is kept at a time; side by side, one a thread. The first of equal ones wins.
        let best = if self.parallel && self.orders.len() > 1 {
            self.orders.par_iter().map(by).try_reduce_with(|a, b| Ok(better(a, b)))
        } else {
            self.orders.iter().map(by).reduce(|a, b| Ok(better(a?, b?)))
        };
        best.unwrap_or(Err(ColoringError::NoOrder))
    }

    /// A colouring by stars or trees, of a symmetric pattern or of rows and columns together.
    pub(crate) fn two_colored<I: Index>(
        &self,
        pattern: &Pattern<I>,
        problem: Problem,
        graph: &Adjacency,
        order: &[u32],
        wanted: Option<Wanted<'_>>,
    ) -> Coloring {
        let symmetric = matches!(problem, Problem::Symmetric(_));
        let diagonal = |v: u32| symmetric && pattern.contains(v as usize, v as usize);
        let (Problem::Symmetric(decompression) | Problem::Bidirectional(decompression)) = problem
        else {
            unreachable!("columns and rows alone have neither stars nor trees")
        };
        let (mut colors, recovery) = match decompression {
            Decompression::Direct => {
                let (mut colors, mut stars) = star::color(graph, order, wanted);
                if self.postprocess {
                    neutral::neutralise_stars(graph, &mut colors, &mut stars, diagonal);
                }
                (colors, Recovery::Stars(stars))
            }
            Decompression::Substitution => {
                let (mut colors, forest) = acyclic::color(graph, order, wanted);
                if self.postprocess {
                    let mut trees = forest.trees(graph.len(), edge_ends(pattern, symmetric));
                    neutral::neutralise_trees(&mut colors, &mut trees, diagonal);
                    (colors, Recovery::Trees(trees))
                } else {
                    (colors, Recovery::Forest(forest))
                }
            }
        };
        let (columns, rows) = if symmetric {
            let rows = vec![0; colors.len()];
            (colors, rows)
        } else {
            let mut rows = colors.split_off(pattern.ncols());
            close_gaps(&mut rows);
            close_gaps(&mut colors);
            (colors, rows)
        };
        Coloring::new(problem, columns, rows, recovery, pattern)
    }
}

fn one_sided<I: Index>(pattern: &Pattern<I>, colors: Vec<u32>, rows: bool) -> Coloring {
    let other = vec![0; if rows { pattern.ncols() } else { pattern.nrows() }];
    if rows {
        Coloring::new(Problem::Row, other, colors, Recovery::Rows, pattern)
    } else {
        Coloring::new(Problem::Column, colors, other, Recovery::Columns, pattern)
    }
}

/// What a number of column and of row colours weighs.
pub(crate) type Weigh<'w> = &'w (dyn Fn(usize, usize) -> f64 + Sync);

/// The best cover, if it weighs less than this colouring.
fn covered<I: Index>(pattern: &Pattern<I>, coloring: Coloring, weigh: Weigh<'_>) -> Coloring {
    let graph = Bipartite::new(pattern);
    let problem = coloring.problem;
    let weight = |c: &Coloring| weigh(c.column_count(), c.row_count());
    let mut best = coloring;
    // An entry of a dense line is read in that line's product, every other one in the other kind.
    if let Some(cover) = cover::densest_rows(&graph, weight(&best), weigh) {
        let sides = pattern.entries().map(|(i, _)| cover.rows[i] > 0).collect();
        best = Coloring::new(problem, cover.columns, cover.rows, Recovery::Sides(sides), pattern);
    }
    let turned = |columns: usize, rows: usize| weigh(rows, columns);
    if let Some(cover) = cover::densest_rows(&graph.transposed(), weight(&best), &turned) {
        let sides = pattern.entries().map(|(_, j)| cover.rows[j] == 0).collect();
        best = Coloring::new(problem, cover.rows, cover.columns, Recovery::Sides(sides), pattern);
    }
    best
}
