//! What can be wrong with a Matrix Market file.

use std::io;
use std::path::PathBuf;

use crate::PatternError;

/// Why a Matrix Market file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarketError {
    /// The file cannot be opened, created or written.
    #[error("cannot {doing} {path}: {source}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// What the file holds cannot be read.
    #[error("{path}: {error}")]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        error: Box<MarketError>,
    },
    /// Reading failed; of a compressed file, the data may be damaged.
    #[error("line {line}: reading failed: {source}")]
    Read {
        /// The line.
        line: usize,
        /// Why it failed.
        source: io::Error,
    },
    /// Compressed data end too soon.
    #[error("line {line}: the compressed data end in the middle: copy or download the file again")]
    Truncated {
        /// The line.
        line: usize,
    },
    /// A part of the file is not what it should be.
    #[error("line {line}: the {part} is {found:?}, expected {expected}")]
    Malformed {
        /// The line, or the last one if the file ends before the part.
        line: usize,
        /// Which part: a word of the header, the size line, an index, a value, a number of entries.
        part: &'static str,
        /// What is there, or its beginning.
        found: String,
        /// What may be there.
        expected: String,
    },
    /// The entries do not make a pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// There are not as many values to write as entries.
    #[error("{found} values given for a pattern of {expected} entries: give one for each")]
    ValueCount {
        /// The number of entries.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// A value to write is infinite or not a number.
    #[error("the value of entry ({row}, {column}) is {value}: the format has only finite numbers")]
    NotFinite {
        /// Its row, counted from 0.
        row: usize,
        /// Its column, counted from 0.
        column: usize,
        /// The value.
        value: f64,
    },
    /// A matrix to write as symmetric is not.
    #[error("the matrix is not symmetric ({why}): write it as general")]
    NotSymmetric {
        /// What shows it.
        why: String,
    },
    /// Writing failed.
    #[error("writing failed: {0}")]
    Write(#[source] io::Error),
}
