//! Automatic differentiation of ordinary Rust.

mod backend;
mod error;
mod function;
mod matrix;
mod operator;
mod point;
pub mod prelude;

pub use backend::{
    Auto, Backend, Choice, Engine, FiniteDifferences, Forward, Inner, Outer, Reverse, SecondOrder,
    SecondOrderBackend, SecondOrderEngine,
};
pub use cotangent_numbers::{self as numbers, Elementary, Fault, Interval, Scalar};
pub use error::Error;
#[doc(hidden)]
pub use function::store;
pub use function::{Arity, Context, Differentiable, Many, One};
pub use matrix::Matrix;
pub use operator::*;
pub use point::{Point, Real, ScalarPoint, Sizes};
