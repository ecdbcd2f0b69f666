//! Sparsity patterns of derivative matrices and their pictures.
//!
//! This crate knows nothing of derivatives or of the rest of cotangent.

mod pattern;
mod spy;

pub use pattern::{Pattern, PatternError};
pub use spy::spy;
