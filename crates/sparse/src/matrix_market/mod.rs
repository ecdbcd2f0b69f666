//! Matrix Market files: the exchange format of sparse matrix collections, plain or gzip.
//!
//! Nothing here trusts a file: what it announces reserves no memory beyond a bound, and what it
//! holds is checked line by line.

mod error;
mod read;
mod write;

pub use error::MarketError;
pub use read::{MatrixMarket, parse_matrix_market, read_matrix_market};
pub use write::{write_matrix_market, write_matrix_market_to};

/// Bytes fetched from a file or a decompressor at a time.
const BUFFER: usize = 1 << 17;
