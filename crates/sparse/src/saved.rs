//! Patterns and plans that are saved and read back: what is read is checked like what a user gives.

use serde::{Deserialize, Serialize};

use crate::plan::{Plan, PlanError, Steps};
use crate::{Index, Pattern, PatternError};

#[derive(Deserialize)]
pub(crate) struct SavedPattern<I> {
    nrows: usize,
    ncols: usize,
    col_ptr: Vec<I>,
    row_idx: Vec<I>,
}

impl<I: Index> TryFrom<SavedPattern<I>> for Pattern<I> {
    type Error = PatternError;

    fn try_from(saved: SavedPattern<I>) -> Result<Self, PatternError> {
        Pattern::from_parts(saved.nrows, saved.ncols, saved.col_ptr, saved.row_idx)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SavedPlan {
    nrows: usize,
    ncols: usize,
    entries: usize,
    columns: Vec<u32>,
    rows: Vec<u32>,
    column_count: usize,
    row_count: usize,
    start: Vec<usize>,
    reads: Vec<(u32, u32)>,
    tree_start: Vec<u32>,
    steps: Steps,
}

impl From<Plan> for SavedPlan {
    fn from(plan: Plan) -> Self {
        let Plan { nrows, ncols, columns, rows, column_count, row_count, .. } = plan;
        let Plan { start, reads, tree_start, steps, entries, .. } = plan;
        SavedPlan {
            nrows,
            ncols,
            entries,
            columns,
            rows,
            column_count,
            row_count,
            start,
            reads,
            tree_start,
            steps,
        }
    }
}

impl TryFrom<SavedPlan> for Plan {
    type Error = PlanError;

    fn try_from(saved: SavedPlan) -> Result<Self, PlanError> {
        let SavedPlan { nrows, ncols, entries, columns, rows, column_count, row_count, .. } = saved;
        let SavedPlan { start, reads, tree_start, steps, .. } = saved;
        let bad = |what| PlanError::Damaged { what };
        let directions =
            column_count.checked_add(row_count).ok_or(bad("the numbers of colours"))?;
        let sized = columns.len() == ncols && rows.len() == nrows;
        // As many products as there are must be countable.
        let products = (column_count.checked_mul(nrows))
            .zip(row_count.checked_mul(ncols))
            .and_then(|(a, b)| a.checked_add(b));
        let colored = |colors: &[u32], count: usize| colors.iter().all(|c| *c as usize <= count);
        if !sized || products.is_none() {
            return Err(bad("the sizes"));
        }
        if !colored(&columns, column_count) || !colored(&rows, row_count) {
            return Err(bad("the colours"));
        }
        if !rises(&start, directions, reads.len()) {
            return Err(bad("the starts of the directions"));
        }
        for d in 0..directions {
            let length = if d < column_count { nrows } else { ncols };
            let fits =
                |(k, place): &(u32, u32)| (*k as usize) < entries && (*place as usize) < length;
            if !reads[start[d]..start[d + 1]].iter().all(fits) {
                return Err(bad("what is read from a product"));
            }
        }
        let ends: Vec<usize> = tree_start.iter().map(|s| *s as usize).collect();
        if !rises(&ends, ends.len().wrapping_sub(1), steps.len()) {
            return Err(bad("the starts of the trees"));
        }
        let vertices = nrows.saturating_add(ncols);
        let fits = |(leaf, parent, k, mirror): &(u32, u32, u32, u32)| {
            [leaf, parent].iter().all(|v| (**v as usize) < vertices)
                && [k, mirror].iter().all(|k| (**k as usize) < entries)
        };
        if !steps.iter().all(fits) {
            return Err(bad("a step of the substitution"));
        }
        // Each entry is read once, or is the mirror image that a step finds with another.
        if entries > reads.len().saturating_add(steps.len()) {
            return Err(bad("the number of entries"));
        }
        let mut found = vec![false; entries];
        let mut fresh = |k: u32| !std::mem::replace(&mut found[k as usize], true);
        let read_once = reads.iter().all(|(k, _)| fresh(*k));
        let found_once = steps.iter().all(|(.., k, mirror)| k == mirror || fresh(*mirror));
        if !read_once || !found_once || found.contains(&false) {
            return Err(bad("the entries that are read"));
        }
        Ok(Plan {
            nrows,
            ncols,
            columns,
            rows,
            column_count,
            row_count,
            start,
            reads,
            tree_start,
            steps,
            entries,
        })
    }
}

/// Whether these are the starts of so many parts of a list, and its end.
fn rises(starts: &[usize], parts: usize, length: usize) -> bool {
    starts.len().checked_sub(1) == Some(parts)
        && starts.first() == Some(&0)
        && starts.last() == Some(&length)
        && starts.windows(2).all(|w| w[0] <= w[1])
}
