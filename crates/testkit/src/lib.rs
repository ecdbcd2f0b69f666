//! What cotangent's crates are tested with.
//!
//! - [`big`]: the table's operations in 256 bits, written a second time, as the reference;
//! - [`sample`]: points at which an operation is tested;
//! - [`difftests`]: the functions that DiffTests lists;
//! - [`files`]: the programs in files;
//! - [`programs`]: random programs with arrays, kernels, loops, branches and calls.

pub mod big;
pub mod difftests;
pub mod files;
pub mod programs;
pub mod sample;
