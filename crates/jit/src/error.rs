//! What can go wrong.

/// Why a program could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JitError {
    /// There is no LLVM.
    #[error("no LLVM: {0}")]
    NoLlvm(String),
    /// The program has something that machine code is not made for; interpret it.
    #[error("machine code is not made for {0}; interpret the program instead")]
    Unsupported(String),
    /// LLVM does not take it.
    #[error("LLVM refuses {what}: {why}")]
    Llvm {
        /// What.
        what: String,
        /// Its words.
        why: String,
    },
    /// An object file that cannot be loaded.
    #[error("the object file cannot be loaded: {why}")]
    Object {
        /// Why.
        why: String,
    },
    /// A mistake in cotangent.
    #[error("this is a mistake in cotangent, please report it: {0}")]
    Internal(String),
}
