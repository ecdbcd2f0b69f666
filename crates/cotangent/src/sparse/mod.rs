//! Sparse Jacobians and Hessians: pattern found, columns and rows coloured, few products computed.
//!
//! [`Sparse`] says how: by which backend, with which detector of the pattern, coloured how.
//! [`sparse_jacobian`] and [`sparse_hessian`] do it once; `prepare_…` does the pattern, the colours and
//! the plan once for many evaluations.

mod auto;
mod detector;
mod edge;
mod hessian;
mod jacobian;
mod matrix;
mod verify;

pub use auto::{
    AutoSparseHessian, AutoWorkspace, auto_sparse_hessian, prepare_auto_sparse_hessian,
};
pub use detector::{Detector, Given, Probe, Tracer, Union};
pub use edge::{EdgeWorkspace, PreparedEdgePushing, edge_pushing, prepare_edge_pushing};
pub use hessian::{PreparedSparseHessian, prepare_sparse_hessian, sparse_hessian};
pub use jacobian::{PreparedSparseJacobian, prepare_sparse_jacobian, sparse_jacobian};
pub use matrix::SparseMatrix;

use cotangent_sparse::{Decompression, Greedy};

use crate::backend::{Forward, Mixed, Reverse};

/// How a sparse derivative is computed.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::{Sparse, sparse_hessian, sparse_jacobian};
///
/// let f = function!(|x: &[S], y: &mut [S; x.len()]| {
///     for i in 0..x.len() {
///         y[i] = x[i] * x[i] - if i > 0 { x[i - 1] } else { S::one() };
///     }
/// });
/// let x: Vec<f64> = (0..1000).map(f64::from).collect();
/// let j = sparse_jacobian(&f, &Sparse::default(), &x)?;
/// assert_eq!(j.pattern().nnz(), 1999);
/// assert_eq!((j[(7, 7)], j[(7, 6)], j[(7, 5)]), (14.0, -1.0, 0.0));
///
/// let g = function!(|x: &[S]| -> S { x.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<S>() });
/// let h = sparse_hessian(&g, &Sparse::default(), &x)?;
/// assert_eq!((h[(5, 5)], h[(5, 6)]), (4.0, -2.0));
/// # Ok::<(), cotangent::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse<B = Mixed<Forward, Reverse>, D = Tracer> {
    /// The backend that computes products. With [`Mixed`], rows and columns can be coloured together.
    pub inner: B,
    /// What finds the pattern.
    pub detector: D,
    /// How it is coloured; by default in the natural order.
    pub coloring: Greedy,
    /// How the entries of Hessians, and of Jacobians coloured by rows and columns together, are found.
    pub decompression: Decompression,
}

impl Default for Sparse {
    fn default() -> Self {
        Sparse::new(Mixed::default(), Tracer::Global)
    }
}

impl<B, D> Sparse<B, D> {
    /// A backend and a detector, with the colouring that is right for most.
    pub fn new(inner: B, detector: D) -> Self {
        // One order: each more costs as much as detecting the pattern. For many evaluations, give
        // several.
        Sparse {
            inner,
            detector,
            coloring: Greedy { postprocess: true, ..Greedy::default() },
            decompression: Decompression::Direct,
        }
    }
}
