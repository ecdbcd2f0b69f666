//! Automatic differentiation of ordinary Rust.
//!
//! Write a function once, generic over [`Scalar`]; ask for what you need:
//!
//! ```
//! use cotangent::prelude::*;
//!
//! let f = function!(|x: &[S]| -> S { x[0].sin() * x[1].cos() });
//! let (value, g) = value_and_gradient(&f, &Auto, &[0.5, 0.2])?;
//! assert_eq!(value, 0.5_f64.sin() * 0.2_f64.cos());
//! assert_eq!(g, [0.5_f64.cos() * 0.2_f64.cos(), 0.5_f64.sin() * -0.2_f64.sin()]);
//! # Ok::<(), cotangent::Error>(())
//! ```
//!
//! - **Functions**: [`function!`], [`recorded`], or the trait [`Differentiable`].
//! - **Operators**: [`derivative`], [`second_derivative`], [`gradient`], [`jacobian`], [`hessian`],
//!   [`pushforward`], [`pullback`], [`hvp`], [`taylor`]; each with the value, in place, and prepared for
//!   many evaluations ([`prepare_gradient`] …).
//! - **Backends**: [`Auto`], [`Forward`], [`Reverse`], [`FiniteDifferences`], [`SecondOrder`], [`MachineCode`].
//! - **Sparse**: [`sparse_jacobian`], [`sparse_hessian`] by [`Sparse`] backends, [`edge_pushing`].
//! - **Machine code**: [`compile`], [`compile_at`], [`compile_arrays`] give a [`Compiled`] function, of
//!   doubles or [of singles](Compiled::in_singles); a [`Library`] of them is linked into programs without cotangent.
//! - **Analyses**: [`bounds`], [`jacobian_sparsity`], [`hessian_sparsity`], [`operations`], [`find_nan`].
//! - **Own derivatives**: [`Rule`], [`check_rule`]; **checks**: [`check_derivatives`].
//!
//! The [`guide`] goes through all of it; [`numbers`] has the number types for direct use.
//!
//! # Errors
//!
//! Everything that can go wrong, inside the function too, is an [`Error`]: what, where, what to do.
//! Operators such as `+` cannot return one, so it travels from there to the call by unwinding; with
//! `panic = "abort"` such errors end the program.
//!
//! # Crate features
//!
//! - `nalgebra`: the number types are `nalgebra::RealField`, so code over nalgebra's types is
//!   differentiated as it stands.

mod analyse;
mod backend;
mod check;
mod compile;
mod error;
mod function;
mod matrix;
mod operator;
mod point;
pub mod prelude;
mod recorded;
mod rule;
mod sparse;

pub use analyse::{
    bounds, evaluate, find_nan, hessian_sparsity, hessian_sparsity_at, jacobian_bounds,
    jacobian_sparsity, jacobian_sparsity_at, operation_log, operations,
};
pub use backend::{
    Auto, Backend, Choice, Engine, FiniteDifferences, Forward, Inner, MachineCode, Mixed,
    MixedEngine, Outer, Reverse, SecondOrder, SecondOrderBackend, SecondOrderEngine,
};
pub use check::{Comparison, Report, check_derivatives, check_rule};
pub use compile::{Compiled, Library, compile, compile_arrays, compile_at, machine};
pub use cotangent_ir as ir;
pub use cotangent_jit as jit;
pub use cotangent_numbers::{self as numbers, Elementary, Fault, Interval, Scalar};
pub use cotangent_numbers::{Program, Replay, Tape, Var, fuse, kernel, linalg, map, zip};
pub use cotangent_ops::Primitive;
pub use cotangent_sparse::{self as coloring, Cost, Costs, Pattern, spy};
pub use error::Error;
#[doc(hidden)]
pub use function::store;
pub use function::{Arity, Context, Differentiable, Many, One};
pub use matrix::Matrix;
pub use operator::*;
pub use point::{Point, Real, ScalarPoint, Sizes};
pub use recorded::{Outputs, Recorded, recorded};
pub use rule::{Outcome, Rule};
pub use sparse::*;

#[doc = include_str!("../GUIDE.md")]
pub mod guide {}

/// The examples of the front page are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
