//! Numbers that reinterpret plain code.
//!
//! A function written over [`Scalar`] runs on each of these as it stands:
//!
//! | number | gives |
//! |---|---|
//! | [`Dual`] | N directional derivatives (forward mode) |
//! | [`Dual2`] | gradient and Hessian of few variables |
//! | [`Collapsed`] | slopes and the sum of second derivatives: Laplacians |
//! | [`Jet`], [`Taylor`] | Taylor coefficients, order fixed in the type or chosen at run time |
//! | [`Var`] on a [`Tape`] | gradients and Jacobian rows (reverse mode), replayable as a [`Program`] |
//! | [`Interval`] | rigorous bounds |
//! | [`GradientTracer`], [`HessianTracer`], [`Local`] | sparsity patterns, for all inputs or at a point |
//! | [`Counted`], [`Logged`], [`NanCheck`] | what was computed, and where it broke |
//! | [`Plain`] | the plain function, in `f32` too |
//!
//! Most are built over any other number, so they nest. What an operation does is in the table of
//! [`ops`]; a number type only says how it uses a partial derivative.
//!
//! # Crate features
//!
//! - `nalgebra`: `RealField` for all numbers that have a value.

mod collapsed;
#[cfg(doctest)]
mod compile_fail;
mod dual;
mod dual2;
pub mod fault;
pub mod forward;
mod generic_traits;
pub mod interval;
mod jet;
mod kernel;
mod lanes;
mod levels;
pub mod linalg;
#[cfg(feature = "nalgebra")]
mod nalgebra;
mod number;
pub mod observe;
mod place;
mod plain;
pub mod tape;
mod trace;
pub mod tracer;

pub use collapsed::Collapsed;
pub use cotangent_ops::{self as ops, Elementary, Scalar};
pub use dual::{Brand, Branded, Dual, Unguarded};
pub use dual2::{Dual2, Dual2Of, Variables, Width};
pub use fault::Fault;
pub use interval::{Endpoint, Interval};
pub use jet::{Expansion, Jet, Line, Taylor, expand};
pub use kernel::{Kernel, Map, fuse, map, zip};
pub use levels::Level;
pub use observe::{Counted, Counts, Logged, NanCheck, count, log, nan_check};
pub use plain::Plain;
pub use tape::{Program, Replay, Tape, Var};
pub use tracer::{
    Detection, Detector, GradientTracer, HessianTracer, Known, Local, SetKind, hessian_pattern,
    jacobian_pattern,
};

/// A number that a recording can be built on: everything but numbers branded by a call.
pub trait Base: Elementary + 'static {}

impl<T: Elementary + 'static> Base for T {}
