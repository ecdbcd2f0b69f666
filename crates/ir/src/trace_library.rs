//! The library for arrays that are traced.

use std::panic::Location;
use std::sync::Arc;

use cotangent_numbers::fault::{Fault, raise};

use crate::carried::{TracedValue, Values};
use crate::combinators::add;
use crate::library;
use crate::structure::Structure;
use crate::trace::Traced;
use crate::trace_array::TracedArray;
use crate::trace_index::{TracedIndex, TracedIndices};
use crate::trace_region::with_innermost;
use crate::types::Type;

/// Calls a function of the library.
#[track_caller]
fn call<const N: usize>(name: &str, args: [TracedValue; N]) -> Values {
    let at = Location::caller();
    let number = with_innermost(|trace| trace.ty).unwrap_or(Type::F64);
    let types = args.map(|x| x.ty(number));
    match library::function(name, &types) {
        Ok(function) => {
            let structure = Structure::Call { function: Arc::new(function) };
            Values::new(add(structure, &args, &[], at), at)
        }
        Err(error) => raise(Fault::Misfit { what: error.to_string(), at }),
    }
}

/// The [library](crate::library), by methods.
impl TracedArray {
    /// So many of the first dimension, from a place on that may be computed. An error of the run if there
    /// are not so many.
    ///
    /// ```
    /// use cotangent_ir::trace_arrays;
    ///
    /// let f = trace_arrays("f", &[&[4]], |x| x[0].slice(1, 2))?;
    /// assert_eq!(f.run(&[1.0, 2.0, 3.0, 4.0]).unwrap(), [2.0, 3.0]);
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn slice(self, start: impl Into<TracedIndex>, count: usize) -> TracedArray {
        call(&format!("lib.slice.{count}"), [self.into(), start.into().into()]).take()
    }

    /// The array with another one in it, from a place of the first dimension on that may be computed. An error
    /// of the run if there is no room.
    #[must_use]
    #[track_caller]
    pub fn put_slice(self, start: impl Into<TracedIndex>, values: TracedArray) -> TracedArray {
        call("lib.put_slice", [self.into(), start.into().into(), values.into()]).take()
    }

    /// Another array behind this one, along the first dimension.
    #[must_use]
    #[track_caller]
    pub fn concat(self, other: TracedArray) -> TracedArray {
        call("lib.concat", [self.into(), other.into()]).take()
    }

    /// The same elements, row by row, in another shape.
    ///
    /// ```
    /// use cotangent_ir::trace_arrays;
    ///
    /// let f = trace_arrays("f", &[&[6]], |x| x[0].reshape([3, 2]).transposed())?;
    /// assert_eq!(f.run(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn reshape(self, shape: impl AsRef<[usize]>) -> TracedArray {
        let name =
            shape.as_ref().iter().fold("lib.reshape".to_string(), |name, n| format!("{name}.{n}"));
        call(&name, [self.into()]).take()
    }

    /// The array so often, along a new first dimension.
    #[must_use]
    #[track_caller]
    pub fn broadcast(self, count: usize) -> TracedArray {
        call(&format!("lib.broadcast.{count}"), [self.into()]).take()
    }

    /// The elements, or the rows, at indices.
    ///
    /// ```
    /// use cotangent_ir::trace_arrays;
    ///
    /// let f = trace_arrays("f", &[&[3], &[3]], |x| x[1].take(x[0].argsort()))?;
    /// assert_eq!(f.run(&[3.0, 1.0, 2.0, 10.0, 20.0, 30.0]).unwrap(), [20.0, 30.0, 10.0]);
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn take(self, indices: TracedIndices) -> TracedArray {
        call("lib.take", [self.into(), indices.into()]).take()
    }

    /// The array with other elements, or rows, at indices; of equal indices the last counts.
    #[must_use]
    #[track_caller]
    pub fn put(self, indices: TracedIndices, values: TracedArray) -> TracedArray {
        call("lib.put", [self.into(), indices.into(), values.into()]).take()
    }

    /// The array with elements, or rows, added at indices.
    #[must_use]
    #[track_caller]
    pub fn put_add(self, indices: TracedIndices, values: TracedArray) -> TracedArray {
        call("lib.put_add", [self.into(), indices.into(), values.into()]).take()
    }

    /// The sums along the first dimension so far.
    #[must_use]
    #[track_caller]
    pub fn cumsum(self) -> TracedArray {
        call("lib.cumsum", [self.into()]).take()
    }

    /// The elements of a list, the smallest first.
    #[must_use]
    #[track_caller]
    pub fn sorted(self) -> TracedArray {
        call("lib.sort", [self.into()]).take()
    }

    /// The lower triangular L with L Lᵀ = A for a symmetric positive definite A, of which the lower triangle
    /// is looked at: derivatives by what stands above the diagonal are zero. Of another matrix, some
    /// elements of L are NaN.
    ///
    /// ```
    /// use cotangent_ir::trace_arrays;
    ///
    /// // The logarithm of the determinant.
    /// let f = trace_arrays("f", &[&[2, 2]], |x| {
    ///     let l = x[0].cholesky();
    ///     (l.at((0, 0)) * l.at((1, 1))).ln() * 2.0
    /// })?;
    /// assert_eq!(f.run(&[4.0, 2.0, 2.0, 5.0]).unwrap(), [4.0_f64.ln() * 2.0]);
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn cholesky(self) -> TracedArray {
        call("lib.cholesky", [self.into()]).take()
    }

    /// x with L x = b, where L is the lower triangle of this matrix; b is a list, or a matrix of columns.
    #[must_use]
    #[track_caller]
    pub fn solve_lower(self, b: TracedArray) -> TracedArray {
        call("lib.solve_lower", [self.into(), b.into()]).take()
    }

    /// x with Lᵀ x = b, where L is the lower triangle of this matrix.
    #[must_use]
    #[track_caller]
    pub fn solve_lower_transposed(self, b: TracedArray) -> TracedArray {
        call("lib.solve_lower_transposed", [self.into(), b.into()]).take()
    }

    /// x with U x = b, where U is the upper triangle of this matrix; b is a list, or a matrix of columns.
    #[must_use]
    #[track_caller]
    pub fn solve_upper(self, b: TracedArray) -> TracedArray {
        call("lib.solve_upper", [self.into(), b.into()]).take()
    }

    /// x with Uᵀ x = b, where U is the upper triangle of this matrix.
    #[must_use]
    #[track_caller]
    pub fn solve_upper_transposed(self, b: TracedArray) -> TracedArray {
        call("lib.solve_upper_transposed", [self.into(), b.into()]).take()
    }

    /// L (below the diagonal, which is one) and U in one matrix with L U = P A, and the order of the rows:
    /// row i of P A is row pᵢ of A.
    #[track_caller]
    pub fn lu(self) -> (TracedArray, TracedIndices) {
        let mut values = call("lib.lu", [self.into()]);
        (values.take(), values.take())
    }

    /// x with A x = b, through LU; b is a list, or a matrix of columns.
    ///
    /// ```
    /// use cotangent_ir::trace_arrays;
    ///
    /// let f = trace_arrays("f", &[&[2, 2], &[2]], |x| x[0].solve(x[1]))?;
    /// assert_eq!(f.run(&[0.0, 2.0, 1.0, 1.0, 4.0, 5.0]).unwrap(), [3.0, 2.0]);
    /// # Ok::<(), cotangent_numbers::Fault>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn solve(self, b: TracedArray) -> TracedArray {
        call("lib.solve", [self.into(), b.into()]).take()
    }

    /// The determinant, through LU.
    #[track_caller]
    pub fn determinant(self) -> Traced {
        call("lib.determinant", [self.into()]).take()
    }

    /// The logarithm of the absolute value of the determinant, through LU.
    #[track_caller]
    pub fn log_determinant(self) -> Traced {
        call("lib.log_determinant", [self.into()]).take()
    }
}
