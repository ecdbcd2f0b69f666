//! Derivatives of functions number by number: what is zero is seen to be, and no memory lies between the parts.

use std::borrow::Cow;

use cotangent_ir as ir;
use cotangent_optimize::simplify;
use cotangent_transform as transform;
use rustc_hash::FxHashSet;

use super::recording::{Kind, Recording};
use crate::Real;

/// The most entries of a matrix that is written out.
const MOST_ENTRIES: usize = 4096;
/// The most operations of a function whose dense derivative is written out.
const MOST_OPERATIONS: usize = 1000;
/// The most operations of that derivative: straight code of this length takes some 30 ms to compile.
const MOST_DERIVED: usize = 3000;

impl<T: Real> Recording<T> {
    /// The function without arrays and bodies, if it has at most so many operations then.
    pub(super) fn flat(&self, most: usize) -> Option<Cow<'_, ir::Function>> {
        let f = self.flat.as_ref().unwrap_or(&self.program);
        let mut types = f.results().iter().map(|v| f.ty(*v)).chain(f.params().iter().map(|p| p.ty));
        if !types.all(ir::Type::is_float) {
            return None;
        }
        if f.is_flat() {
            return (f.operations() <= most).then_some(Cow::Borrowed(f));
        }
        // What is only moved counts, too: each number becomes a value of its own.
        let cost = f.cost();
        let numbers: usize = self.columns.iter().chain(&self.results).sum();
        let moved = cost.loads + cost.stores + cost.integer + numbers as f64;
        if cost.flops + cost.divisions + cost.transcendental > most as f64
            || moved > 4.0 * most as f64
            || !is_plain(f)
        {
            return None;
        }
        let flat = simplify(&ir::unrolled(f).ok()?);
        (flat.is_flat() && flat.operations() <= most).then_some(Cow::Owned(flat))
    }

    /// The names of the parameters of the flat function that move.
    pub(super) fn flat_names<'f>(&self, flat: &'f ir::Function) -> FxHashSet<&'f str> {
        let count = self.columns.iter().sum();
        flat.params().iter().take(count).map(|p| p.name.as_str()).collect()
    }

    /// The Jacobian or Hessian of a small function, written out; in blocks, as kernels give it.
    pub(super) fn written_out(&self, kind: Kind) -> Option<ir::Function> {
        let rows = match kind {
            Kind::Jacobian => &self.results,
            Kind::Hessian => &self.columns,
            _ => return None,
        };
        let entries = rows.iter().sum::<usize>().checked_mul(self.columns.iter().sum())?;
        if entries > MOST_ENTRIES {
            return None;
        }
        let flat = self.flat(MOST_OPERATIONS)?;
        let names = self.flat_names(&flat);
        let moves = |p: &ir::Param| names.contains(p.name.as_str());
        let derived = match kind {
            Kind::Jacobian => transform::jacobian_to(&flat, moves),
            _ => transform::hessian_to(&flat, moves),
        };
        let derived = simplify(&derived.ok()?);
        if derived.operations() > MOST_DERIVED {
            return None;
        }
        blocked(&derived, entries, rows, &self.columns)
    }
}

/// Whether a run of a program, number by number, has all that its derivatives go by: nothing stops them, no function has a
/// derivative of its own, no number changes its type.
fn is_plain(f: &ir::Function) -> bool {
    f.values().all(|v| match f.op(v) {
        ir::Op::Stop | ir::Op::Cast => false,
        ir::Op::Structure(_) => f.structure(v).is_some_and(|structure| {
            !structure.is_named() && structure.bodies().all(|body| is_plain(body))
        }),
        _ => true,
    })
}

/// The function whose last results are the entries of a matrix, row by row, with the entries in blocks.
fn blocked(
    f: &ir::Function,
    entries: usize,
    rows: &[usize],
    columns: &[usize],
) -> Option<ir::Function> {
    let width: usize = columns.iter().sum();
    let first = f.results().len().checked_sub(entries)?;
    let mut b = ir::Builder::new(f.name());
    let params = b.params_of(f.params());
    let all = b.inline(f, &params);
    let mut results = all[..first].to_vec();
    let mut top = 0;
    for height in rows {
        let mut left = 0;
        for wide in columns {
            for i in top..top + height {
                results.extend(&all[first + i * width + left..][..*wide]);
            }
            left += wide;
        }
        top += height;
    }
    Some(b.finish(results))
}
