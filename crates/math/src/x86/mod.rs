//! [`Lanes`](crate::Lanes) in the vector registers of x86-64.
//!
//! Loops over arrays are left to chance: whether the compiler finds the vector instructions in
//! them changed from function to function. Here each method names its instruction.

#[macro_use]
mod vectors;

pub(crate) mod avx2;
pub(crate) mod avx512;
mod pair;
