//! Derivatives as transformations of functions.
//!
//! [`linearize`] writes the derivative of a function into the function: every operation gets a tangent, a
//! linear combination of its operands' tangents whose coefficients are ordinary values. That is forward
//! mode. [`transpose`] turns the linear part around; both together are reverse mode ([`reverse`]). The
//! output is again an ordinary function, so derivatives of any order come by doing it again; [`jet`] gives
//! Taylor series at once.
//!
//! A derivative formula stands in the table of `cotangent-ops` and is run here on numbers that write it
//! down.
//!
//! ```
//! use cotangent_ir::parse;
//! use cotangent_transform::gradient;
//!
//! let f = parse("fn @f(%x: f64, %y: f64) -> f64 { %p = mul %x, %y %r = sin %p ret %r }").unwrap();
//! let g = gradient(&f).unwrap();
//! assert_eq!(g.to_string(), "\
//! fn @f.grad(%x: f64, %y: f64) -> (f64, f64, f64) {
//!   %0 = mul %x, %y
//!   %1 = sin %0
//!   %2 = cos %0
//!   %3 = strong_mul %2, %x
//!   %4 = strong_mul %2, %y
//!   ret %1, %4, %3
//! }
//! ");
//! ```

mod activity;
mod batch;
mod checkpoint;
mod collected;
mod columns;
mod decisions;
mod error;
mod expand;
mod expand_structure;
mod jacobian;
mod jet;
mod laplacian;
mod linearize;
mod lower;
mod residuals;
mod rewrite;
mod strip;
mod transpose;
mod turn_loop;
mod turn_structure;

pub use activity::{Analysis, canonicalise};
pub use batch::batch;
pub use checkpoint::checkpoint;
pub use columns::SparsePartials;
pub use error::TransformError;
pub use jacobian::{
    hessian, hessian_to, jacobian, jacobian_to, sparse_hessian_to, sparse_jacobian_to,
};
pub use jet::jet;
pub use laplacian::{collapsed, laplacian};
pub use linearize::{linearize, linearize_to};
pub use lower::{has_derivatives, lower};
pub use rewrite::fix;
pub use transpose::{gradient, gradient_to, reverse, reverse_to, transpose};
