//! Functions made simpler: rules of algebra, loops, kernels.
//!
//! [`simplify`] is what to call; [`optimize`] says what it did and takes [`Options`]. Every rule has a
//! [`Class`] that says what it may change in the numbers; sums are never reordered unless asked for. The
//! rules stand in `RULES.md`.
//!
//! This crate knows nothing of derivatives. Their programs are what the rules were chosen for: sums from
//! zero, tangents nobody needs, additions at the places that were loaded from.

mod access;
mod accumulate;
mod body;
mod branch;
mod dead;
mod distribute;
mod fuse;
mod gather;
mod hoist;
mod manager;
mod merge;
mod options;
mod pattern;
mod reduce;
mod reroll;
mod rewrite;
mod rules;
mod same_rounds;
mod spread;
mod stats;
mod unroll;
mod unswitch;
mod visit;
mod vocabulary;

pub use manager::{Optimized, optimize, simplify};
pub use options::{Class, Options};
pub use pattern::{Bound, Kind, Known, Pattern, Rule, Var};
pub use reroll::reroll;
pub use rules::algebra;
pub use stats::{Runs, Stats, Step};
