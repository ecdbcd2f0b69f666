//! What can go wrong, where, and what to do.

use cotangent_numbers::Fault;

/// Why a derivative could not be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A slice has the wrong length.
    #[error("{what} has {found} entries, {expected} are needed; {remedy}")]
    Size {
        /// Which slice.
        what: &'static str,
        /// How many entries are needed.
        expected: usize,
        /// How many there are.
        found: usize,
        /// What to do.
        remedy: &'static str,
    },
    /// There is nothing to differentiate.
    #[error("{what} is empty, so there is nothing to differentiate; give at least one entry")]
    Empty {
        /// Which slice.
        what: &'static str,
    },
    /// An input is NaN.
    #[error(
        "entry {index} of {what} is NaN; find where it came from with `find_nan` on the function that made it"
    )]
    NotANumber {
        /// Which slice.
        what: &'static str,
        /// Which entry.
        index: usize,
    },
    /// Constants were forgotten.
    #[error(
        "the function takes constants, but none were given; give them beside the point: (&x, &constants)"
    )]
    NoConstants,
    /// A box with an empty side.
    #[error("side {index} of the box is empty; an interval has its lower end first")]
    EmptySide {
        /// Which side.
        index: usize,
    },
    /// A dense matrix that does not fit in memory.
    #[error(
        "a dense matrix of {rows} × {columns} does not fit in memory; ask for products (`hvp`, `pushforward`, \
         `pullback`) or for the sparsity pattern instead"
    )]
    TooLarge {
        /// How many rows.
        rows: usize,
        /// How many columns.
        columns: usize,
    },
    /// A number of directions computed at once that cannot be.
    #[error("a chunk of {chunk} directions was asked for; choose from 1 to {most}")]
    Chunk {
        /// What was asked for.
        chunk: usize,
        /// The most there can be.
        most: usize,
    },
    /// A step of finite differences that cannot be.
    #[error(
        "a step of {step} was asked for; choose a finite one that changes the point (1e-15 at least), or none for the best by the order"
    )]
    Step {
        /// What was asked for.
        step: f64,
    },
    /// An order of finite differences that there is not.
    #[error("finite differences of order {order} were asked for; choose 1, 2, 4, 6 or 8")]
    Order {
        /// What was asked for.
        order: usize,
    },
    /// A Taylor expansion that would not end.
    #[error("a Taylor expansion to order {order} was asked for; choose at most {most}")]
    TaylorOrder {
        /// What was asked for.
        order: usize,
        /// The most there can be.
        most: usize,
    },
    /// A workspace was used with another prepared derivative than it was made by.
    #[error(
        "this workspace was made by another prepared derivative; make one with its `workspace`"
    )]
    ForeignWorkspace,
    /// A given pattern of another shape than the derivative.
    #[error("the pattern is of {found:?} (rows, columns), the derivative of {expected:?}")]
    PatternShape {
        /// Rows and columns of the derivative.
        expected: (usize, usize),
        /// Rows and columns of the pattern.
        found: (usize, usize),
    },
    /// A pattern that lacks an entry.
    #[error(
        "the pattern lacks entry ({row}, {column}), or has it where another falls on it; detect it with a \
         global tracer, or take the union over more sample points"
    )]
    MissingEntry {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// A pattern that cannot be coloured so.
    #[error(transparent)]
    Coloring(#[from] cotangent_sparse::ColoringError),
    /// A colouring that does not fit its pattern.
    #[error(transparent)]
    Plan(#[from] cotangent_sparse::PlanError),
    /// A function that could not be compiled, or a compiled one that could not be run.
    #[error("{0}")]
    Compiled(String),
    /// The function could not go on.
    #[error(transparent)]
    Function(#[from] Fault),
}

impl Error {
    /// Whether second derivatives were asked of a recorded array operation or a rule, which have none.
    pub(crate) fn is_without_second_order(&self) -> bool {
        matches!(self, Error::Function(Fault::RuleOrder { .. }))
    }
}

/// Checks the length of a slice.
pub(crate) fn check_size(
    what: &'static str,
    expected: usize,
    found: usize,
    remedy: &'static str,
) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Size { what, expected, found, remedy }) }
}
