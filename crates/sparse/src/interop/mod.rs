//! Other crates' sparse matrices, one file each. Values stand in the same order everywhere: column by
//! column, rows rising.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra-sparse")]
mod nalgebra;
#[cfg(feature = "sprs")]
mod sprs;
