//! Slow and obvious: whether a colouring does what it must, and a second way to decompress.

use crate::{Coloring, Decompression, Index, Pattern, Problem};

/// Why a colouring does not determine the entries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Sizes that differ.
    #[error("there are {found} colours of {what}, {expected} are needed")]
    Size {
        /// Of rows or columns.
        what: &'static str,
        /// How many are needed.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// Products of another length.
    #[error("the products have {found} numbers, {expected} are needed")]
    Products {
        /// How many are needed.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A colour that cannot be needed.
    #[error("{what} have the colour {color} at {index}; colours are from 1 to {most} here")]
    Color {
        /// Rows or columns.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Its colour.
        color: u32,
        /// The most colours there can be use of.
        most: usize,
    },
    /// Two columns (rows) of one colour share a row (column).
    #[error(
        "{what}s {first} and {second} have colour {color}, but both have an entry in the other kind of line, {at}"
    )]
    Overlap {
        /// Rows or columns.
        what: &'static str,
        /// One of them.
        first: usize,
        /// The other.
        second: usize,
        /// Their colour.
        color: u32,
        /// The row (column) they share.
        at: usize,
    },
    /// Two vertices of a graph that are too near each other for one colour.
    #[error("vertices {first} and {second} are near each other, but both have colour {color}")]
    Near {
        /// One of them.
        first: usize,
        /// The other.
        second: usize,
        /// Their colour.
        color: u32,
    },
    /// An entry that no product has alone.
    #[error("entry ({row}, {column}) stands alone in no product")]
    Hidden {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// An entry that cannot be found even from all others.
    #[error("entry ({row}, {column}) cannot be found by substitution")]
    Unreachable {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
}

/// Checks that the products of a colouring determine all entries of the pattern, in the way that its
/// problem says.
///
/// ```
/// use cotangent_sparse::{Greedy, Pattern, Problem, check_coloring};
///
/// let p = Pattern::dense(3, 3);
/// let coloring = Greedy::default().color(&p, Problem::Row).unwrap();
/// assert!(check_coloring(&p, &coloring).is_ok());
/// ```
///
/// # Errors
/// The first entry, or pair of columns or rows, for which it is not so.
pub fn check_coloring<I: Index>(pattern: &Pattern<I>, coloring: &Coloring) -> Result<(), Invalid> {
    let (columns, rows) = (coloring.column_colors(), coloring.row_colors());
    match coloring.problem() {
        Problem::Column => check_columns(pattern, columns),
        Problem::Row => check_columns(&pattern.transpose(), rows).map_err(|error| match error {
            Invalid::Overlap { first, second, color, at, .. } => {
                Invalid::Overlap { what: "row", first, second, color, at }
            }
            Invalid::Hidden { row, column } => Invalid::Hidden { row: column, column: row },
            Invalid::Size { expected, found, .. } => {
                Invalid::Size { what: "rows", expected, found }
            }
            other => other,
        }),
        Problem::Symmetric(Decompression::Direct) => check_direct(pattern, columns, columns, true),
        Problem::Bidirectional(Decompression::Direct) => {
            check_direct(pattern, columns, rows, false)
        }
        Problem::Symmetric(Decompression::Substitution)
        | Problem::Bidirectional(Decompression::Substitution) => {
            recover(pattern, coloring, &Products::none()).map(|_| ())
        }
    }
}

/// Checks that columns of one colour share no row, for colours from anywhere.
///
/// # Errors
/// Two columns that do, or a number of colours that does not fit.
pub fn check_columns<I: Index>(pattern: &Pattern<I>, colors: &[u32]) -> Result<(), Invalid> {
    check_size("columns", pattern.ncols(), colors.len())?;
    let rows = pattern.transpose();
    // By colour: the row that last met it, and the column there.
    let mut last = rustc_hash::FxHashMap::default();
    for i in 0..pattern.nrows() {
        for second in rows.column(i).iter().map(|j| j.at()) {
            let color = colors[second];
            if color == 0 {
                return Err(Invalid::Hidden { row: i, column: second });
            }
            if let Some((row, first)) = last.insert(color, (i, second))
                && row == i
            {
                return Err(Invalid::Overlap { what: "column", first, second, color, at: i });
            }
        }
    }
    Ok(())
}

fn check_size(what: &'static str, expected: usize, found: usize) -> Result<(), Invalid> {
    if expected == found { Ok(()) } else { Err(Invalid::Size { what, expected, found }) }
}

/// Every entry must stand alone in the product of its column's colour, at its row, or in that of its
/// row's colour, at its column.
fn check_direct<I: Index>(
    pattern: &Pattern<I>,
    columns: &[u32],
    rows: &[u32],
    symmetric: bool,
) -> Result<(), Invalid> {
    check_size("columns", pattern.ncols(), columns.len())?;
    check_size("rows", pattern.nrows(), rows.len())?;
    let (by_column, by_row) = alone(pattern, columns, rows);
    // Of a symmetric pattern, what is alone by the row is so as the mirror image is by the column.
    let by_row = if symmetric { alone(pattern, columns, columns).1 } else { by_row };
    let hidden = (0..pattern.nnz()).find(|k| !by_column[*k] && !by_row[*k]);
    match hidden.and_then(|k| pattern.entries().nth(k)) {
        Some((row, column)) => Err(Invalid::Hidden { row, column }),
        None => Ok(()),
    }
}

/// Whether each entry is read by its row, if the colours determine all entries directly; by the column
/// where both will do.
pub(crate) fn sides<I: Index>(
    pattern: &Pattern<I>,
    columns: &[u32],
    rows: &[u32],
) -> Result<Vec<bool>, Invalid> {
    check_direct(pattern, columns, rows, false)?;
    Ok(alone(pattern, columns, rows).0.into_iter().map(|by_column| !by_column).collect())
}

/// Whether each entry stands alone in the product of its column's colour, and of its row's.
fn alone<I: Index>(pattern: &Pattern<I>, columns: &[u32], rows: &[u32]) -> (Vec<bool>, Vec<bool>) {
    // How many entries each place of each product has.
    let mut of_column = rustc_hash::FxHashMap::default();
    let mut of_row = rustc_hash::FxHashMap::default();
    for (i, j) in pattern.entries() {
        *of_column.entry((columns[j], i)).or_insert(0usize) += 1;
        *of_row.entry((rows[i], j)).or_insert(0usize) += 1;
    }
    pattern
        .entries()
        .map(|(i, j)| {
            (
                columns[j] > 0 && of_column[&(columns[j], i)] == 1,
                rows[i] > 0 && of_row[&(rows[i], j)] == 1,
            )
        })
        .unzip()
}

/// The products that [`recover`] solves for; none to ask only whether it could.
#[derive(Clone, Copy, Debug)]
pub struct Products<'p> {
    products: Option<&'p [f64]>,
}

impl<'p> Products<'p> {
    /// As in [`Plan`](crate::Plan): by column colours, then by row colours.
    pub fn new(products: &'p [f64]) -> Self {
        Products { products: Some(products) }
    }

    fn none() -> Self {
        Products { products: None }
    }
}

/// The entries of a matrix from its products, by no plan at all: every entry of every product is an
/// equation, and one with a single unknown is solved, until there is none. Works for every colouring that
/// determines the entries by substitution, and knows nothing of stars and trees.
///
/// # Errors
/// An entry that is not determined.
pub fn recover<I: Index>(
    pattern: &Pattern<I>,
    coloring: &Coloring,
    products: &Products<'_>,
) -> Result<Vec<f64>, Invalid> {
    let (m, n) = (pattern.nrows(), pattern.ncols());
    let (columns, rows) = (coloring.column_colors(), coloring.row_colors());
    check_size("columns", n, columns.len())?;
    check_size("rows", m, rows.len())?;
    let symmetric = matches!(coloring.problem(), Problem::Symmetric(_));
    let expected = coloring.column_count() * m + coloring.row_count() * n;
    if let Some(found) = products.products.map(<[f64]>::len).filter(|found| *found != expected) {
        return Err(Invalid::Products { expected, found });
    }
    // Equation (colour, place) → its entries. Of a symmetric matrix an entry and its image are one
    // unknown, numbered as the one below the diagonal.
    let by_rows = coloring.column_count() * m;
    let mut unknown_of = std::collections::HashMap::new();
    let mut equations = vec![Vec::new(); by_rows + coloring.row_count() * n];
    let mut unknowns = Vec::new();
    for (k, (i, j)) in pattern.entries().enumerate() {
        let key = if symmetric { (i.max(j), i.min(j)) } else { (i, j) };
        let unknown = *unknown_of.entry(key).or_insert(k);
        unknowns.push(unknown);
        if columns[j] > 0 {
            equations[(columns[j] as usize - 1) * m + i].push(unknown);
        }
        if rows[i] > 0 {
            equations[by_rows + (rows[i] as usize - 1) * n + j].push(unknown);
        }
    }
    let mut value: Vec<Option<f64>> = vec![None; pattern.nnz()];
    let mut progress = true;
    while progress {
        progress = false;
        for (e, equation) in equations.iter().enumerate() {
            let mut open = equation.iter().filter(|u| value[**u].is_none());
            if let (Some(&unknown), None) = (open.next(), open.next()) {
                let known: f64 = equation.iter().filter_map(|u| value[*u]).sum();
                value[unknown] = Some(products.products.map_or(0.0, |p| p[e] - known));
                progress = true;
            }
        }
    }
    let entries = pattern.entries();
    unknowns
        .into_iter()
        .zip(entries)
        .map(|(u, (row, column))| value[u].ok_or(Invalid::Unreachable { row, column }))
        .collect()
}
