//! Colourings of the rows and columns of a pattern.

use crate::acyclic::{self, Forest, Trees};
use crate::graph::{Adjacency, edge_ends};
use crate::order::Order;
use crate::star::{self, Stars};
use crate::wanted::Wanted;
use crate::{Index, Pattern, PlanError};

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
    /// A bidirectional colouring by substitution, where only greedy ones are found.
    #[error(
        "bidirectional colourings by substitution are neither taken as given nor searched for the fewest \
         colours; colour greedily, or decompress directly"
    )]
    GreedyOnly,
    /// Colours of the columns alone for rows and columns together.
    #[error(
        "a bidirectional colouring has colours of columns and of rows; use Coloring::given_both"
    )]
    OneSided,
    /// Costs that leave nothing to choose from.
    #[error("no product has a cost, so there is nothing to choose from; give the cost of one kind")]
    NoCost,
    /// A colouring that is of another pattern.
    #[error(transparent)]
    Foreign(#[from] PlanError),
    /// A cost that is none.
    #[error("costs are finite and not negative; a kind of product that cannot be had has none")]
    Cost,
    /// Entries that are added to a pattern and do not fit.
    #[error(transparent)]
    Pattern(#[from] crate::PatternError),
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
    /// By the row or by the column: whether by the row, entry by entry.
    Sides(Vec<bool>),
    Stars(Stars),
    Trees(Trees),
    /// Trees whose steps are not laid out yet.
    Forest(Forest),
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
    /// Of what was coloured, where reading it as another pattern would go astray.
    pub(crate) fingerprint: Option<u64>,
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
    /// If they do not determine the entries, and for a symmetric matrix if a vertex that has neighbours has
    /// no colour; bidirectional ones are taken by [`given_both`](Coloring::given_both).
    pub fn given<I: Index>(
        pattern: &Pattern<I>,
        problem: Problem,
        colors: &[u32],
    ) -> Result<Coloring, ColoringError> {
        check_size(pattern)?;
        let (m, n) = (pattern.nrows(), pattern.ncols());
        match problem {
            Problem::Row => check_given("rows", m, colors)?,
            _ => check_given("columns", n, colors)?,
        }
        let (columns, rows) = match problem {
            Problem::Row => (vec![0; n], colors.to_vec()),
            Problem::Column => (colors.to_vec(), vec![0; m]),
            Problem::Symmetric(_) => {
                // What is wrong with the pattern comes before what is wrong with the colours.
                Adjacency::symmetric(pattern)?;
                (colors.to_vec(), vec![0; m])
            }
            Problem::Bidirectional(_) => return Err(ColoringError::OneSided),
        };
        let recovery = if problem == Problem::Row { Recovery::Rows } else { Recovery::Columns };
        let mut coloring = Coloring::new(problem, columns, rows, recovery, pattern);
        crate::check_coloring(pattern, &coloring).map_err(ColoringError::Given)?;
        if let Problem::Symmetric(decompression) = problem {
            coloring.recovery = symmetric_recovery(pattern, colors, decompression)?;
            coloring.fingerprint = Some(pattern.fingerprint());
        }
        Ok(coloring)
    }

    /// A bidirectional colouring, for direct decompression, from colours of your own: of the columns and
    /// of the rows, each from 1, 0 for those that need none.
    ///
    /// ```
    /// use cotangent_sparse::{Coloring, Pattern};
    ///
    /// let arrow = Pattern::from_rows(5, 5, |i| if i == 0 { vec![0, 1, 2, 3, 4] } else { vec![0, i] }).unwrap();
    /// let three = Coloring::given_both(&arrow, &[1, 2, 2, 2, 2], &[1, 0, 0, 0, 0])?;
    /// assert_eq!((three.column_count(), three.row_count()), (2, 1));
    /// assert!(Coloring::given_both(&arrow, &[1, 1, 1, 1, 1], &[1, 0, 0, 0, 0]).is_err());
    /// # Ok::<(), cotangent_sparse::ColoringError>(())
    /// ```
    ///
    /// # Errors
    /// If they do not determine the entries.
    pub fn given_both<I: Index>(
        pattern: &Pattern<I>,
        columns: &[u32],
        rows: &[u32],
    ) -> Result<Coloring, ColoringError> {
        check_size(pattern)?;
        check_given("columns", pattern.ncols(), columns)?;
        check_given("rows", pattern.nrows(), rows)?;
        let sides = crate::check::sides(pattern, columns, rows).map_err(ColoringError::Given)?;
        let recovery = Recovery::Sides(sides);
        let problem = Problem::Bidirectional(Decompression::Direct);
        let (columns, rows) = (columns.to_vec(), rows.to_vec());
        Ok(Coloring::new(problem, columns, rows, recovery, pattern))
    }

    pub(crate) fn new<I: Index>(
        problem: Problem,
        columns: Vec<u32>,
        rows: Vec<u32>,
        recovery: Recovery,
        pattern: &Pattern<I>,
    ) -> Self {
        let one_sided = matches!(recovery, Recovery::Columns | Recovery::Rows);
        Coloring {
            problem,
            column_count: most(&columns),
            row_count: most(&rows),
            columns,
            rows,
            order: Order::Natural,
            recovery,
            nnz: pattern.nnz(),
            fingerprint: (!one_sided).then(|| pattern.fingerprint()),
        }
    }

    /// Whether a pattern can be the one that was coloured.
    pub(crate) fn check_pattern<I: Index>(&self, pattern: &Pattern<I>) -> Result<(), PlanError> {
        let found = (pattern.nrows(), pattern.ncols(), pattern.nnz());
        let expected = (self.rows.len(), self.columns.len(), self.nnz);
        if found != expected {
            return Err(PlanError::ForeignPattern { expected, found });
        }
        match self.fingerprint {
            Some(fingerprint) if fingerprint != pattern.fingerprint() => {
                Err(PlanError::OtherPattern)
            }
            _ => Ok(()),
        }
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

    /// The order that gave it; the natural one if none did.
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
fn symmetric_recovery<I: Index>(
    pattern: &Pattern<I>,
    colors: &[u32],
    decompression: Decompression,
) -> Result<Recovery, ColoringError> {
    let graph = Adjacency::symmetric(pattern)?;
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
        Decompression::Direct => {
            Recovery::Stars(star::color(&graph, &order, Some(Wanted::all(colors))).1)
        }
        Decompression::Substitution => {
            let (_, forest) = acyclic::color(&graph, &order, Some(Wanted::all(colors)));
            let trees = forest.trees(graph.len(), edge_ends(pattern, true));
            if trees.steps.len() != graph.edges {
                let (row, column) = pattern.entries().next().unwrap_or((0, 0));
                return Err(ColoringError::Given(crate::Invalid::Unreachable { row, column }));
            }
            Recovery::Trees(trees)
        }
    })
}

fn check_given(what: &'static str, expected: usize, colors: &[u32]) -> Result<(), ColoringError> {
    let found = colors.len();
    if found != expected {
        return Err(ColoringError::Given(crate::Invalid::Size { what, expected, found }));
    }
    // A colour beyond the number of vertices is a slip, and would cost memory.
    match colors.iter().enumerate().find(|(_, color)| **color as usize > expected) {
        Some((index, &color)) => {
            let most = expected;
            Err(ColoringError::Given(crate::Invalid::Color { what, index, color, most }))
        }
        None => Ok(()),
    }
}

fn groups(colors: &[u32], count: u32) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); count as usize];
    for (v, color) in colors.iter().enumerate().filter(|(_, color)| **color > 0) {
        groups[*color as usize - 1].push(v);
    }
    groups
}

pub(crate) fn most(colors: &[u32]) -> u32 {
    colors.iter().copied().max().unwrap_or(0)
}

pub(crate) fn check_size<I: Index>(pattern: &Pattern<I>) -> Result<(), ColoringError> {
    let vertices = pattern.nrows().saturating_add(pattern.ncols());
    let limit = (u32::MAX / 2) as usize;
    if pattern.nnz() > limit || vertices > limit {
        return Err(ColoringError::TooLarge { nnz: pattern.nnz(), vertices });
    }
    Ok(())
}
