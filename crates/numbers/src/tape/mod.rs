//! Reverse mode: a tape that records what is computed and is swept back for the derivatives.
//!
//! One tape, two uses:
//!
//! - **dynamic**: [`Tape::record`] runs the function on [`Var`]s and keeps, for every operation, its
//!   partials and the places of its operands. Loops, recursion and branches are whatever the code
//!   does at this point. The memory is reused by the next recording.
//! - **static**: [`Program::record`] also keeps the operations, so that new inputs are run through
//!   the same instructions without calling the function. Comparisons that decided a branch are
//!   guards: a replay on which one comes out otherwise is an error, never a wrong number.
//!
//! Arrays are recorded as one node each ([`Elementary::array`]): matrix products, solves,
//! elementwise maps whose partials come from forward mode.
//!
//! [`Elementary::array`]: cotangent_ops::Elementary::array

mod block;
mod edge;
mod edge_plan;
mod interpret;
mod listing;
mod program;
mod record;
mod sweep;
mod var;

pub use edge::EdgePushing;
pub use edge_plan::EdgePlan;
pub use program::{Program, Replay};
pub use record::Tape;
pub use var::{Var, VarMask};
