//! Sparse Hessians by edge pushing: straight from a recording, no detection and no colours.

use std::sync::Arc;

use cotangent_numbers::tape::EdgePushing;
use cotangent_numbers::{Program, Var, fault};
use cotangent_sparse::Pattern;

use super::SparseMatrix;
use crate::error::Error;
use crate::function::{Context, Differentiable, Many, One};
use crate::operator::sizes;
use crate::point::Point;

/// The value, the gradient and the sparse Hessian, from one recording of the function and one sweep over
/// it that carries second derivatives (Gower and Mello 2012).
///
/// Nothing is detected or coloured, so a single Hessian costs little; the cost of a sweep does not
/// depend on how many colours there would be, but on how many pairs of intermediate values interact.
/// Functions with array operations or rules have no second derivatives here.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::edge_pushing;
///
/// let f = function!(|x: &[S]| -> S { x.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum::<S>() });
/// let (value, gradient, h) = edge_pushing(&f, &[0.0, 1.0, 3.0])?;
/// assert_eq!((value, gradient), (5.0, vec![-2.0, -2.0, 4.0]));
/// assert_eq!(h.to_dense()?.row(1), [-2.0, 4.0, -2.0]);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn edge_pushing<'a, F>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<(f64, Vec<f64>, SparseMatrix), Error>
where
    F: Differentiable<Input = Many, Output = One>,
{
    let at = at.into();
    let n = sizes(f, at)?.inputs;
    let program = Program::record(at.x, |x| {
        let constants: Vec<Var> = at.constants.iter().map(|c| Var::fixed(*c)).collect();
        let mut cache = vec![Var::from(0.0); f.cache(n)];
        let mut y = vec![Var::from(0.0)];
        f.call(x, &mut y, Context { constants: &constants, cache: &mut cache });
        y
    })?;
    let mut room = EdgePushing::default();
    fault::catch(|| program.push_edges(at.x, &[1.0], &mut room))??;
    let entries = room.hessian();
    let both = entries.iter().flat_map(|(i, j, _)| [(*i, *j), (*j, *i)]);
    let shape = |_| Error::PatternShape { expected: (n, n), found: (n, n) };
    let pattern = Arc::new(Pattern::from_entries(n, n, both).map_err(shape)?);
    let mut matrix = SparseMatrix::new(pattern.clone());
    for (i, j, v) in entries {
        for (row, column) in [(i, j), (j, i)] {
            if let Ok(place) = pattern.column(column).binary_search(&row) {
                matrix.values_mut()[pattern.col_ptr()[column] + place] = v;
            }
        }
    }
    Ok((room.outputs()[0], room.gradient().to_vec(), matrix))
}
