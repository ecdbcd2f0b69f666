//! Interpretations of functions: what they depend on, what they cost, where they break down, where their
//! zeros are.
//!
//! Each runs the function as it stands, with its arrays, kernels, loops, branches and calls, on the machine
//! that runs it on plain numbers, with another kind of number or with somebody who looks on.

mod batch;
mod contract;
mod count;
mod explain;
mod hunt;
mod inverse;
mod pattern;
mod roots;
mod unroll;
mod walk;

pub use batch::Batch;
pub use contract::{ContractError, Contracted, contract};
pub use count::{Counts, count};
pub use explain::explain;
pub use hunt::{Found, Hunted, hunt};
pub use pattern::{
    hessian_pattern, jacobian_pattern, local_hessian_pattern, local_jacobian_pattern,
};
pub use roots::{Enclosure, roots};
pub use unroll::{UnrollError, unrolled};
pub use walk::Within;
