//! What does not depend on all indices of a kernel is written where the others begin, not at every point.
//!
//! LLVM would move most of it out of the inner loops by itself, but not what comes behind the check of an index.

use cotangent_ir::{Function, Op, Value};

use super::kernels::Kernel;
use super::value::Val;
use super::{Emitter, Frame, Lanes, Result};

impl Emitter<'_> {
    /// Writes what is known once some of the indices are, the others being none yet; gives what was known before.
    pub(super) fn early(
        &mut self,
        kernel: &Kernel<'_>,
        indices: &[Val],
        fixed: &[bool],
        cx: &Lanes,
    ) -> Result<Vec<Vec<Option<Val>>>> {
        let before = kernel.early.borrow().clone();
        let mut found = Vec::with_capacity(kernel.captures.len());
        for (row, captures) in kernel.captures.iter().enumerate() {
            let known = before.get(row).map_or(&[][..], |known| known);
            found.push(self.early_of(kernel, captures, known, (indices, fixed), cx)?);
        }
        // Points of a tile have the same captures, and indices of their own from one dimension on.
        if let Some(tile) = kernel.tile
            && fixed[tile.dimension]
        {
            for row in 1..kernel.rows.get() {
                let own = self.row_of(tile, indices, row, cx);
                let known = before.get(row).or(before.first()).map_or(&[][..], |known| known);
                let captures = &kernel.captures[0];
                found.push(self.early_of(kernel, captures, known, (&own, fixed), cx)?);
            }
        }
        *kernel.early.borrow_mut() = found;
        Ok(before)
    }

    /// The same for one of the points that are written together.
    fn early_of(
        &mut self,
        kernel: &Kernel<'_>,
        captures: &[Val],
        before: &[Option<Val>],
        (indices, fixed): (&[Val], &[bool]),
        cx: &Lanes,
    ) -> Result<Vec<Option<Val>>> {
        let f = kernel.body();
        let mut frame = Frame::of(f, kernel.ranges_at(indices, fixed), &[]);
        for value in f.values() {
            let at = value.index();
            frame.values[at] = match f.op(value) {
                Op::Param(k) => {
                    let k = k as usize;
                    match k.checked_sub(indices.len()) {
                        Some(capture) => captures.get(capture).cloned(),
                        None => fixed[k].then(|| indices[k].clone()),
                    }
                }
                _ => before.get(at).cloned().flatten(),
            };
            if frame.values[at].is_none() && is_scalar(f, value) {
                let known = f.operands(value).all(|v| frame.values[v.index()].is_some());
                if known {
                    frame.values[at] = Some(self.operation(&mut frame, value, cx)?);
                }
            }
        }
        let found = f.values().map(|v| match f.op(v) {
            op if op.is_leaf() => None,
            _ if is_scalar(f, v) => frame.values[v.index()].take(),
            _ => None,
        });
        Ok(found.collect())
    }
}

/// Whether a value is a scalar from scalars, or from an array by its indices.
fn is_scalar(f: &Function, value: Value) -> bool {
    let ty = f.ty(value);
    let op = f.op(value);
    ty.is_scalar()
        && ty != cotangent_ir::Type::PARTS
        && !matches!(op, Op::Structure(_) | Op::Part(_) | Op::Param(_) | Op::Extent(_))
        && (op == Op::Load || f.operands(value).all(|v| f.ty(v).is_scalar()))
}
