//! Machine code for cotangent's programs.
//!
//! A program of `cotangent-ir` becomes LLVM's text, with vectors written out, and that becomes machine code by a libLLVM that is
//! opened at run time: that of the Rust toolchain or the system's. Nothing is linked, and nothing has to be installed to
//! build this crate.

mod cache;
mod compiled;
mod emit;
mod error;
mod llvm;
mod load;
mod options;
mod runtime;

pub use cache::CACHE_VARIABLE;
pub use compiled::{Compiled, Number, Workspace};
pub use error::{JitError, RunError};
pub use llvm::{Llvm, Output, VARIABLE};
pub use options::Options;
