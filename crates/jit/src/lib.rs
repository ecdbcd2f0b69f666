//! Machine code for cotangent's programs.
//!
//! A program of `cotangent-ir` becomes LLVM's text, with vectors written out, and that becomes machine code by a libLLVM that is
//! opened at run time: that of the Rust toolchain or the system's. Nothing is linked, and nothing has to be installed to
//! build this crate.

mod apart;
mod blocks;
mod cache;
mod compiled;
mod cpu;
mod dense;
mod dump;
mod emit;
mod error;
mod fuse;
mod joined;
mod kernels;
mod later;
mod llvm;
mod load;
mod object;
mod options;
mod quick;
mod recomputed;
mod relaxed;
mod rows;
mod run;
mod runtime;
mod scales;
mod share;
mod steady;

pub use cache::CACHE_VARIABLE;
pub use compiled::Compiled;
pub use cpu::Cpu;
pub use dump::DUMP_VARIABLE;
pub use error::JitError;
pub use llvm::{CPU_VARIABLE, Llvm, Output, VARIABLE};
pub use object::Object;
pub use options::Options;
pub use run::{Number, Workspace};
