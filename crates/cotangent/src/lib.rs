//! Automatic differentiation of ordinary Rust.

mod analyse;
mod backend;
mod check;
mod error;
mod function;
mod matrix;
mod operator;
mod point;
pub mod prelude;
mod recorded;
mod rule;

pub use analyse::{
    bounds, evaluate, find_nan, hessian_sparsity, hessian_sparsity_near, jacobian_bounds,
    jacobian_sparsity, jacobian_sparsity_near, operation_log, operations,
};
pub use backend::{
    Auto, Backend, Choice, Engine, FiniteDifferences, Forward, Inner, Outer, Reverse, SecondOrder,
    SecondOrderBackend, SecondOrderEngine,
};
pub use check::{Comparison, Report, check_derivatives, check_rule};
pub use cotangent_numbers::{self as numbers, Elementary, Fault, Interval, Scalar};
pub use cotangent_numbers::{Program, Replay, Tape, Var, fuse, kernel, linalg, map, zip};
pub use cotangent_ops::Primitive;
pub use cotangent_sparse::{Pattern, spy};
pub use error::Error;
#[doc(hidden)]
pub use function::store;
pub use function::{Arity, Context, Differentiable, Many, One};
pub use matrix::Matrix;
pub use operator::*;
pub use point::{Point, Real, ScalarPoint, Sizes};
pub use recorded::{Outputs, Recorded, recorded};
pub use rule::{Outcome, Rule};
