//! Writing.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::{Compression, write::GzEncoder};

use super::read::Symmetry;
use super::{BUFFER, MarketError};
use crate::{Index, Pattern};

/// Writes a file, gzip if its name ends in `.gz`; `values` are in the pattern's order. Of a
/// symmetric matrix the lower triangle is written. See [`read_matrix_market`](super::read_matrix_market) for an example.
///
/// # Errors
/// As [`write_matrix_market_to`], in which case no file is touched, or if writing fails.
pub fn write_matrix_market<I: Index>(
    path: &Path,
    pattern: &Pattern<I>,
    values: Option<&[f64]>,
    symmetric: bool,
) -> Result<(), MarketError> {
    check(pattern, values, symmetric)?;
    let write = || {
        let mut file = File::create(path)?;
        if path.as_os_str().as_encoded_bytes().ends_with(b".gz") {
            let mut gzip = GzEncoder::new(file, Compression::default());
            write_checked(&mut gzip, pattern, values, symmetric)?;
            gzip.finish().map(drop)
        } else {
            write_checked(&mut file, pattern, values, symmetric)
        }
    };
    write().map_err(|source| MarketError::File { doing: "write", path: path.into(), source })
}

/// Writes to a writer, which needs no buffer, what [`write_matrix_market`] writes to a file.
///
/// ```
/// use cotangent_sparse::{Pattern, write_matrix_market_to};
///
/// let (mut text, p) = (Vec::new(), Pattern::dense(1, 2));
/// write_matrix_market_to(&mut text, &p, Some(&[0.5, 3.0]), false).unwrap();
/// let expected = "%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 5e-1\n1 2 3e0\n";
/// assert_eq!(String::from_utf8(text).unwrap(), expected);
/// ```
///
/// # Errors
/// If there are not as many finite values as entries, if a symmetric matrix is asked for and pattern
/// or values are not, or if writing fails.
pub fn write_matrix_market_to<I: Index>(
    mut writer: impl Write,
    pattern: &Pattern<I>,
    values: Option<&[f64]>,
    symmetric: bool,
) -> Result<(), MarketError> {
    check(pattern, values, symmetric)?;
    write_checked(&mut writer, pattern, values, symmetric).map_err(MarketError::Write)
}

/// Whether a matrix can be written and read again without loss.
fn check<I: Index>(
    pattern: &Pattern<I>,
    values: Option<&[f64]>,
    symmetric: bool,
) -> Result<(), MarketError> {
    let expected = pattern.nnz();
    if let Some(values) = values {
        if values.len() != expected {
            return Err(MarketError::ValueCount { expected, found: values.len() });
        }
        for ((row, column), &value) in pattern.entries().zip(values) {
            if !value.is_finite() {
                return Err(MarketError::NotFinite { row, column, value });
            }
        }
    }
    if symmetric && pattern.nrows() != pattern.ncols() {
        let why = format!("{} rows, {} columns", pattern.nrows(), pattern.ncols());
        return Err(MarketError::NotSymmetric { why });
    }
    // Whether the entry across the diagonal is there and has the same value.
    let repeats = |(place, (row, column)): &(usize, (usize, usize))| {
        let across = pattern.place(*column, *row);
        across.is_some_and(|i| values.is_none_or(|v| v[i] == v[*place]))
    };
    let mut entries = pattern.entries().enumerate();
    if symmetric && let Some((_, (row, column))) = entries.find(|entry| !repeats(entry)) {
        let why = format!("entry ({row}, {column}) differs from ({column}, {row})");
        return Err(MarketError::NotSymmetric { why });
    }
    Ok(())
}

fn write_checked<I: Index>(
    writer: &mut impl Write,
    pattern: &Pattern<I>,
    values: Option<&[f64]>,
    symmetric: bool,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, writer);
    let field = if values.is_some() { "real" } else { "pattern" };
    let symmetry = if symmetric { Symmetry::Symmetric } else { Symmetry::General };
    let is_written = |row, column| row >= symmetry.first(column);
    let entries = pattern.entries().filter(|&(row, column)| is_written(row, column)).count();
    writeln!(out, "%%MatrixMarket matrix coordinate {field} {}", symmetry.name())?;
    writeln!(out, "{} {} {entries}", pattern.nrows(), pattern.ncols())?;
    for (place, (row, column)) in pattern.entries().enumerate() {
        if is_written(row, column) {
            write!(out, "{} {}", row + 1, column + 1)?;
            if let Some(values) = values {
                write!(out, " {:e}", values[place])?;
            }
            out.write_all(b"\n")?;
        }
    }
    out.flush()
}
