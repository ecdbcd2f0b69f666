//! What cotangent's crates are tested with.
//!
//! - [`big`]: the table's operations in 256 bits, written a second time, as the reference;
//! - [`sample`]: points at which an operation is tested.

pub mod big;
pub mod sample;
