//! Derivatives of functions number by number: what is zero is seen to be, and no memory lies between the parts.

use std::borrow::Cow;

use cotangent_ir as ir;
use cotangent_optimize::simplify;
use cotangent_transform as transform;
use rustc_hash::FxHashSet;

use super::recording::{Kind, Recording};

/// The most entries of a matrix that is written out.
const MOST_ENTRIES: usize = 4096;
/// The most operations of a function whose dense derivative is written out.
const MOST_OPERATIONS: usize = 1000;
/// The most operations of that derivative: straight code of this length takes some 30 ms to compile.
const MOST_DERIVED: usize = 3000;

impl Recording {
    /// The function without arrays and bodies, if it has at most so many operations then.
    pub(super) fn flat(&self, most: usize) -> Option<Cow<'_, ir::Function>> {
        let known = self.flat.as_ref().or_else(|| self.program.is_flat().then_some(&self.program));
        if let Some(flat) = known {
            return (flat.operations() <= most).then_some(Cow::Borrowed(flat));
        }
        let cost = self.program.cost();
        if cost.flops + cost.divisions + cost.transcendental > most as f64 {
            return None;
        }
        let flat = simplify(&ir::unrolled(&self.program).ok()?);
        (flat.operations() <= most).then_some(Cow::Owned(flat))
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
        (derived.operations() <= MOST_DERIVED)
            .then(|| blocked(&derived, entries, rows, &self.columns))
    }
}

/// The function whose last results are the entries of a matrix, row by row, with the entries in blocks.
fn blocked(f: &ir::Function, entries: usize, rows: &[usize], columns: &[usize]) -> ir::Function {
    let width: usize = columns.iter().sum();
    let first = f.results().len() - entries;
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
    b.finish(results)
}
