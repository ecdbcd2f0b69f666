//! Taylor mode: numbers that carry the coefficients of a power series.
//!
//! [`Jet`] has its order in the type and lives on the stack; [`Taylor`] has an order chosen at run
//! time. Both use the recurrences of `series`.

mod fixed;
mod runtime;
mod series;

pub use fixed::Jet;
pub use runtime::{Expansion, Line, Taylor, expand};
