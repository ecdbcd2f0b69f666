//! Colourings of the rows and columns of a pattern.

use crate::acyclic::{self, Trees};
use crate::graph::{Adjacency, Bipartite};
use crate::order::{Neighbours, Order, Ties, permutation};
use crate::star::{self, Stars};
use crate::{Pattern, cover, neutral, partial};

/// How entries are found from products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decompression {
    /// Each entry is an entry of a product.
    Direct,
    /// Entries are found one after the other, from those that are known: fewer colours.
    Substitution,
}

/// What is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// The columns: products of the matrix with vectors.
    Column,
    /// The rows: products of the transposed matrix with vectors.
    Row,
    /// The columns of a symmetric matrix, an entry and its mirror image counting as one.
    Symmetric(Decompression),
    /// Rows and columns at once: for matrices with dense rows and dense columns.
    Bidirectional(Decompression),
}

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
    /// themselves, the rest without them. The result is then never worse than a one-sided colouring.
    pub cover: bool,
}

impl Default for Greedy {
    fn default() -> Self {
        Greedy {
            orders: vec![Order::Natural],
            ties: Ties::default(),
            postprocess: false,
            cover: true,
        }
    }
}

/// Why a pattern could not be coloured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ColoringError {
    /// A symmetric colouring of a pattern that is not symmetric.
    #[error(
        "a symmetric colouring needs a symmetric pattern, but ({row}, {column}) has no mirror image; \
         take the symmetric closure, or colour columns or rows"
    )]
    NotSymmetric {
        /// The row of the entry.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// A symmetric colouring of a pattern that is not square.
    #[error("a symmetric colouring needs a square pattern, not one of {nrows} × {ncols}")]
    NotSquare {
        /// The number of rows.
        nrows: usize,
        /// The number of columns.
        ncols: usize,
    },
    /// A given order that is not one of the vertices.
    #[error(
        "the given order is not a permutation of the {vertices} vertices (for bidirectional colourings, \
         the columns first, then the rows)"
    )]
    NotPermutation {
        /// How many vertices there are.
        vertices: usize,
    },
    /// Colours that were given and do not do.
    #[error("the given colours are not valid: {0}")]
    Given(crate::Invalid),
    /// A search for the fewest colours that takes too long.
    #[error("the fewest colours were not found in {steps} steps; allow more, or colour greedily")]
    TooHard {
        /// How many were allowed.
        steps: u64,
    },
    /// A problem whose fewest colours are not searched for.
    #[error(
        "bidirectional colourings with the fewest colours are not searched for; colour greedily"
    )]
    NoExact,
    /// No order to try.
    #[error("no order was given; the natural one always is a choice")]
    NoOrder,
    /// A pattern beyond the range of indices.
    #[error("a pattern of {nnz} entries and {vertices} rows and columns is too large to colour")]
    TooLarge {
        /// The entries.
        nnz: usize,
        /// Rows and columns.
        vertices: usize,
    },
}

/// How the entries are read from the products.
#[derive(Clone, Debug)]
pub(crate) enum Recovery {
    Columns,
    Rows,
    /// By the row where it has a colour, else by the column.
    RowsFirst,
    /// By the column where it has a colour, else by the row.
    ColumnsFirst,
    Stars(Stars),
    Trees(Trees),
}

/// Colours of the rows and columns of a pattern. Colours count from 1; 0 is neutral: not needed.
#[derive(Clone, Debug)]
pub struct Coloring {
    pub(crate) problem: Problem,
    pub(crate) columns: Vec<u32>,
    pub(crate) rows: Vec<u32>,
    pub(crate) column_count: u32,
    pub(crate) row_count: u32,
    pub(crate) order: Order,
    pub(crate) recovery: Recovery,
    pub(crate) nnz: usize,
}

impl Coloring {
    /// A colouring from colours of your own: of the columns (of the rows for [`Problem::Row`]), from 1.
    ///
    /// ```
    /// use cotangent_sparse::{Coloring, Pattern, Problem};
    ///
    /// let p = Pattern::from_rows(3, 3, |i| [i]).unwrap();
    /// assert_eq!(Coloring::given(&p, Problem::Column, &[1, 1, 1])?.count(), 1);
    /// let wrong = Coloring::given(&Pattern::dense(1, 2), Problem::Column, &[1, 1]).unwrap_err();
    /// assert!(wrong.to_string().contains("columns 0 and 1 have colour 1"), "{wrong}");
    /// # Ok::<(), cotangent_sparse::ColoringError>(())
    /// ```
    ///
    /// # Errors
    /// If they do not determine the entries, and for bidirectional problems.
    pub fn given(
        pattern: &Pattern,
        problem: Problem,
        colors: &[u32],
    ) -> Result<Coloring, ColoringError> {
        check_size(pattern)?;
        let (m, n) = (pattern.nrows(), pattern.ncols());
        let (what, expected) = if problem == Problem::Row { ("rows", m) } else { ("columns", n) };
        if colors.len() != expected {
            let found = colors.len();
            return Err(ColoringError::Given(crate::Invalid::Size { what, expected, found }));
        }
        // A colour beyond the number of vertices is a slip, and would cost memory.
        if let Some((index, &color)) =
            colors.iter().enumerate().find(|(_, c)| **c as usize > expected)
        {
            let most = expected;
            return Err(ColoringError::Given(crate::Invalid::Color { what, index, color, most }));
        }
        let (columns, rows) = match problem {
            Problem::Row => (vec![0; n], colors.to_vec()),
            Problem::Column => (colors.to_vec(), vec![0; m]),
            Problem::Symmetric(_) => {
                check_symmetric(pattern)?;
                (colors.to_vec(), vec![0; m])
            }
            Problem::Bidirectional(_) => return Err(ColoringError::NoExact),
        };
        let mut coloring = Coloring {
            problem,
            column_count: most(&columns),
            row_count: most(&rows),
            columns,
            rows,
            order: Order::Natural,
            recovery: if problem == Problem::Row { Recovery::Rows } else { Recovery::Columns },
            nnz: pattern.nnz(),
        };
        crate::check_coloring(pattern, &coloring).map_err(ColoringError::Given)?;
        if let Problem::Symmetric(decompression) = problem {
            coloring.recovery = symmetric_recovery(pattern, colors, decompression)?;
        }
        Ok(coloring)
    }

    /// What was coloured.
    pub fn problem(&self) -> Problem {
        self.problem
    }

    /// The colours of the columns; all neutral if only rows are coloured.
    pub fn column_colors(&self) -> &[u32] {
        &self.columns
    }

    /// The colours of the rows; all neutral if only columns are coloured.
    pub fn row_colors(&self) -> &[u32] {
        &self.rows
    }

    /// How many column colours there are: products with the matrix.
    pub fn column_count(&self) -> usize {
        self.column_count as usize
    }

    /// How many row colours there are: products with the transposed matrix.
    pub fn row_count(&self) -> usize {
        self.row_count as usize
    }

    /// How many colours there are in all.
    pub fn count(&self) -> usize {
        self.column_count() + self.row_count()
    }

    /// The order that gave it.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The columns of each colour, rising.
    pub fn column_groups(&self) -> Vec<Vec<usize>> {
        groups(&self.columns, self.column_count)
    }

    /// The rows of each colour, rising.
    pub fn row_groups(&self) -> Vec<Vec<usize>> {
        groups(&self.rows, self.row_count)
    }
}

/// The stars or trees of colours that determine the entries.
fn symmetric_recovery(
    pattern: &Pattern,
    colors: &[u32],
    decompression: Decompression,
) -> Result<Recovery, ColoringError> {
    let graph = Adjacency::symmetric(pattern);
    // Colours can determine the entries without being a star or an acyclic colouring, if the diagonal has
    // gaps; there are then no stars or trees to read them from.
    for v in 0..graph.len() as u32 {
        let own = colors[v as usize];
        let bad = graph.of(v).iter().find(|(w, _)| own == 0 || colors[*w as usize] == own);
        if let Some((w, _)) = bad {
            let (row, column) = (v as usize, *w as usize);
            return Err(ColoringError::Given(crate::Invalid::Hidden { row, column }));
        }
    }
    let order: Vec<u32> = (0..graph.len() as u32).collect();
    Ok(match decompression {
        Decompression::Direct => Recovery::Stars(star::color(&graph, &order, Some(colors)).1),
        Decompression::Substitution => {
            let trees = acyclic::color(&graph, &order, Some(colors)).1;
            if trees.steps.len() != graph.edges {
                let (row, column) = pattern.entries().next().unwrap_or((0, 0));
                return Err(ColoringError::Given(crate::Invalid::Unreachable { row, column }));
            }
            Recovery::Trees(trees)
        }
    })
}

fn groups(colors: &[u32], count: u32) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); count as usize];
    for (v, color) in colors.iter().enumerate().filter(|(_, color)| **color > 0) {
        groups[*color as usize - 1].push(v);
    }
    groups
}

fn most(colors: &[u32]) -> u32 {
    colors.iter().copied().max().unwrap_or(0)
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
    pub fn permutation(
        &self,
        pattern: &Pattern,
        problem: Problem,
        order: &Order,
    ) -> Result<Vec<u32>, ColoringError> {
        check_size(pattern)?;
        let found = match problem {
            Problem::Column => permutation(&Bipartite::new(pattern), order, self.ties),
            Problem::Row => permutation(&Bipartite::new(pattern).transposed(), order, self.ties),
            Problem::Symmetric(_) => {
                check_symmetric(pattern)?;
                permutation(&Adjacency::symmetric(pattern), order, self.ties)
            }
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
    pub fn color(&self, pattern: &Pattern, problem: Problem) -> Result<Coloring, ColoringError> {
        check_size(pattern)?;
        match problem {
            Problem::Column => self.best(&Bipartite::new(pattern), |graph, order| {
                one_sided(pattern, graph, order, false)
            }),
            Problem::Row => self.best(&Bipartite::new(pattern).transposed(), |graph, order| {
                one_sided(pattern, graph, order, true)
            }),
            Problem::Symmetric(decompression) => {
                check_symmetric(pattern)?;
                let diagonal: Vec<bool> = (0..pattern.ncols())
                    .map(|j| pattern.column(j).binary_search(&j).is_ok())
                    .collect();
                self.best(&Adjacency::symmetric(pattern), |graph, order| {
                    let diagonal = |v: u32| diagonal[v as usize];
                    let (colors, recovery) =
                        self.two_colored(graph, order, decompression, diagonal);
                    Coloring {
                        problem,
                        column_count: most(&colors),
                        rows: vec![0; colors.len()],
                        columns: colors,
                        row_count: 0,
                        order: Order::Natural,
                        recovery,
                        nnz: pattern.nnz(),
                    }
                })
            }
            Problem::Bidirectional(decompression) => {
                let colored = self.best(&Adjacency::augmented(pattern), |graph, order| {
                    let (colors, recovery) =
                        self.two_colored(graph, order, decompression, |_| false);
                    let (columns, rows) = colors.split_at(pattern.ncols());
                    let (columns, rows) = (by_appearance(columns), by_appearance(rows));
                    Coloring {
                        problem,
                        column_count: most(&columns),
                        row_count: most(&rows),
                        columns,
                        rows,
                        order: Order::Natural,
                        recovery,
                        nnz: pattern.nnz(),
                    }
                })?;
                Ok(if self.cover { covered(pattern, colored) } else { colored })
            }
        }
    }

    /// The best colouring over all orders.
    fn best<G: Neighbours>(
        &self,
        graph: &G,
        color: impl Fn(&G, &[u32]) -> Coloring,
    ) -> Result<Coloring, ColoringError> {
        let mut best: Option<Coloring> = None;
        for order in &self.orders {
            let vertices = graph.vertices();
            let sequence = permutation(graph, order, self.ties)
                .ok_or(ColoringError::NotPermutation { vertices })?;
            let found = Coloring { order: order.clone(), ..color(graph, &sequence) };
            if best.as_ref().is_none_or(|best| found.count() < best.count()) {
                best = Some(found);
            }
        }
        best.ok_or(ColoringError::NoOrder)
    }

    fn two_colored(
        &self,
        graph: &Adjacency,
        order: &[u32],
        decompression: Decompression,
        diagonal: impl Fn(u32) -> bool,
    ) -> (Vec<u32>, Recovery) {
        match decompression {
            Decompression::Direct => {
                let (mut colors, mut stars) = star::color(graph, order, None);
                if self.postprocess {
                    neutral::neutralise_stars(graph, &mut colors, &mut stars, diagonal);
                }
                (colors, Recovery::Stars(stars))
            }
            Decompression::Substitution => {
                let (mut colors, mut trees) = acyclic::color(graph, order, None);
                if self.postprocess {
                    neutral::neutralise_trees(&mut colors, &mut trees, diagonal);
                }
                (colors, Recovery::Trees(trees))
            }
        }
    }
}

fn one_sided(pattern: &Pattern, graph: &Bipartite, order: &[u32], rows: bool) -> Coloring {
    let colors = partial::color(graph, order);
    let count = most(&colors);
    let other = vec![0; if rows { pattern.ncols() } else { pattern.nrows() }];
    let (columns, rows, column_count, row_count, problem, recovery) = if rows {
        (other, colors, 0, count, Problem::Row, Recovery::Rows)
    } else {
        (colors, other, count, 0, Problem::Column, Recovery::Columns)
    };
    let (order, nnz) = (Order::Natural, pattern.nnz());
    Coloring { problem, columns, rows, column_count, row_count, order, recovery, nnz }
}

/// The best cover, if it has fewer colours than this colouring.
fn covered(pattern: &Pattern, coloring: Coloring) -> Coloring {
    let graph = Bipartite::new(pattern);
    let mut least = coloring.count() as u32;
    let mut best = coloring;
    let mut take = |columns: Vec<u32>, rows: Vec<u32>, recovery: Recovery| {
        let (columns, rows) = (by_appearance(&columns), by_appearance(&rows));
        best = Coloring {
            problem: best.problem,
            column_count: most(&columns),
            row_count: most(&rows),
            columns,
            rows,
            order: Order::Natural,
            recovery,
            nnz: pattern.nnz(),
        };
        best.count() as u32
    };
    if let Some(cover) = cover::densest_rows(&graph, least) {
        least = take(cover.columns, cover.rows, Recovery::RowsFirst);
    }
    if let Some(cover) = cover::densest_rows(&graph.transposed(), least) {
        take(cover.rows, cover.columns, Recovery::ColumnsFirst);
    }
    best
}

/// The colours renumbered as they appear; neutral ones stay.
fn by_appearance(colors: &[u32]) -> Vec<u32> {
    let mut names = vec![0; most(colors) as usize + 1];
    let mut next = 0;
    colors
        .iter()
        .map(|color| {
            let name = &mut names[*color as usize];
            if *color > 0 && *name == 0 {
                next += 1;
                *name = next;
            }
            *name
        })
        .collect()
}

fn check_size(pattern: &Pattern) -> Result<(), ColoringError> {
    let vertices = pattern.nrows().saturating_add(pattern.ncols());
    let limit = (u32::MAX / 2) as usize;
    if pattern.nnz() > limit || vertices > limit {
        return Err(ColoringError::TooLarge { nnz: pattern.nnz(), vertices });
    }
    Ok(())
}

pub(crate) fn check_symmetric(pattern: &Pattern) -> Result<(), ColoringError> {
    let (nrows, ncols) = (pattern.nrows(), pattern.ncols());
    if nrows != ncols {
        return Err(ColoringError::NotSquare { nrows, ncols });
    }
    let transposed = pattern.transpose();
    if transposed == *pattern {
        return Ok(());
    }
    let lonely = pattern.entries().find(|(i, j)| !transposed.contains(*i, *j));
    let (row, column) = lonely.unwrap_or((0, 0));
    Err(ColoringError::NotSymmetric { row, column })
}
