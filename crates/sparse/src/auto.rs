//! Which colouring is best depends on what products cost.

use std::fmt;

use crate::coloring::check_size;
use crate::{Coloring, ColoringError, Decompression, Greedy, Index, Pattern, Problem};

/// What products of one kind cost: a part that all of them share, and each, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// What they share, such as an evaluation of the function.
    pub once: f64,
    /// One product.
    pub each: f64,
}

impl Cost {
    /// Products that share nothing.
    pub fn each(each: f64) -> Self {
        Cost { once: 0.0, each }
    }

    fn of(cost: Option<Cost>, count: usize) -> f64 {
        match (cost, count) {
            (_, 0) => 0.0,
            (Some(Cost { once, each }), count) => once + each * count as f64,
            (None, _) => f64::INFINITY,
        }
    }
}

/// What products cost; `None` for a kind that cannot be had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// The matrix times a vector (a tangent).
    pub jvp: Option<Cost>,
    /// The transposed matrix times a vector (a cotangent).
    pub vjp: Option<Cost>,
    /// A matrix that is symmetric in its values, times a vector.
    pub hvp: Option<Cost>,
}

impl Costs {
    /// What so many products with the matrix and with its transpose cost together.
    pub fn total(&self, columns: usize, rows: usize) -> f64 {
        Cost::of(self.jvp, columns) + Cost::of(self.vjp, rows)
    }
}

/// Colours in every way that the costs allow, and keeps the one whose products cost least.
///
/// Products with the matrix and with its transpose leave column, row and bidirectional colourings;
/// products with a symmetric matrix leave star, acyclic and column colourings.
///
/// ```
/// use cotangent_sparse::{Auto, Cost, Costs, Pattern};
///
/// let arrow = Pattern::from_rows(50, 50, |i| if i == 0 { (0..50).collect() } else { vec![0, i] }).unwrap();
/// let costs = Costs { jvp: Some(Cost::each(1.5)), vjp: Some(Cost::each(3.0)), hvp: None };
/// let choice = Auto { costs, ..Auto::default() }.color(&arrow)?;
/// assert_eq!((choice.coloring.column_count(), choice.coloring.row_count()), (2, 1));
/// assert!(choice.to_string().starts_with("colours rows and columns: 2 × jvp + 1 × vjp cost 6; "));
/// # Ok::<(), cotangent_sparse::ColoringError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Auto {
    /// How each is coloured.
    pub greedy: Greedy,
    /// What products cost.
    pub costs: Costs,
    /// Whether entries may be found by substitution, which takes fewer products and loses a few digits.
    pub substitution: bool,
}

impl Default for Auto {
    /// Products with the matrix and with its transpose at equal costs, decompressed directly.
    fn default() -> Self {
        let one = Some(Cost::each(1.0));
        Auto {
            greedy: Greedy { postprocess: true, ..Greedy::default() },
            costs: Costs { jvp: one, vjp: one, hvp: None },
            substitution: false,
        }
    }
}

/// A way to colour that was considered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Considered {
    /// What would be coloured.
    pub problem: Problem,
    /// Products with the matrix: found, or at least so many if it was not coloured.
    pub columns: usize,
    /// Products with the transposed matrix: the same.
    pub rows: usize,
    /// What they cost.
    pub cost: f64,
    /// Whether it was coloured; if not, even one product a line of the fullest (of rows and columns
    /// together: one of each kind) costs no less than another's.
    pub colored: bool,
}

/// The colouring whose products cost least, and what else was considered.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The colouring.
    pub coloring: Coloring,
    /// What was considered, the cheapest first.
    pub considered: Vec<Considered>,
    symmetric: bool,
}

impl Auto {
    /// Colours a pattern.
    ///
    /// # Errors
    /// No cost at all, an unsymmetric pattern where the costs are of a symmetric matrix, and as
    /// [`Greedy::color`].
    pub fn color<I: Index>(&self, pattern: &Pattern<I>) -> Result<Choice, ColoringError> {
        check_size(pattern)?;
        let Costs { jvp, vjp, hvp } = self.costs;
        let bad = |cost: &Cost| [cost.once, cost.each].iter().any(|c| !c.is_finite() || *c < 0.0);
        if [jvp, vjp, hvp].iter().flatten().any(bad) {
            return Err(ColoringError::Cost);
        }
        let symmetric = hvp.is_some();
        // A column colouring of a symmetric matrix takes products with it, whatever they are called.
        let costs = if symmetric { Costs { jvp: hvp, vjp: None, hvp } } else { self.costs };
        let mut open = Vec::new();
        let widest_row = || {
            let mut entries = vec![0; pattern.nrows()];
            pattern.row_idx().iter().for_each(|i| entries[i.at()] += 1);
            entries.into_iter().max().unwrap_or(0)
        };
        let how = |direct: fn(Decompression) -> Problem| {
            let last = if self.substitution { 2 } else { 1 };
            [Decompression::Direct, Decompression::Substitution].map(direct).into_iter().take(last)
        };
        if symmetric {
            open.extend(how(Problem::Symmetric).map(|problem| (problem, 1, 0)));
            open.push((Problem::Column, widest_row(), 0));
        } else {
            if jvp.is_some() {
                open.push((Problem::Column, widest_row(), 0));
            }
            if vjp.is_some() {
                open.push((Problem::Row, 0, widest(pattern)));
            }
            if jvp.is_some() && vjp.is_some() {
                open.extend(how(Problem::Bidirectional).map(|problem| (problem, 1, 1)));
            }
        }
        let mut best: Option<(Coloring, f64)> = None;
        let mut considered: Vec<Considered> = Vec::new();
        for (problem, columns, rows) in open {
            let mut one = Considered {
                problem,
                columns,
                rows,
                cost: costs.total(columns, rows),
                colored: false,
            };
            if best.as_ref().is_none_or(|(_, least)| one.cost < *least) {
                let weigh = |columns: usize, rows: usize| costs.total(columns, rows);
                let coloring = self.greedy.color_by(pattern, problem, &weigh)?;
                (one.columns, one.rows) = (coloring.column_count(), coloring.row_count());
                (one.cost, one.colored) = (costs.total(one.columns, one.rows), true);
                if best.as_ref().is_none_or(|(_, least)| one.cost < *least) {
                    best = Some((coloring, one.cost));
                }
            }
            considered.push(one);
        }
        considered.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(b.colored.cmp(&a.colored)));
        let (coloring, _) = best.ok_or(ColoringError::NoCost)?;
        Ok(Choice { coloring, considered, symmetric })
    }
}

/// The most entries of a column.
fn widest<I: Index>(pattern: &Pattern<I>) -> usize {
    (0..pattern.ncols()).map(|j| pattern.column(j).len()).max().unwrap_or(0)
}

impl fmt::Display for Choice {
    /// What was coloured and why, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |problem: Problem| match problem {
            Problem::Column => "columns",
            Problem::Row => "rows",
            Problem::Symmetric(Decompression::Direct) => "stars",
            Problem::Symmetric(Decompression::Substitution) => "trees",
            Problem::Bidirectional(Decompression::Direct) => "rows and columns",
            Problem::Bidirectional(Decompression::Substitution) => {
                "rows and columns by substitution"
            }
        };
        let forward = if self.symmetric { "hvp" } else { "jvp" };
        write!(f, "colours {}:", name(self.coloring.problem()))?;
        for (place, one) in self.considered.iter().enumerate() {
            match place {
                0 => write!(f, " ")?,
                _ => write!(f, "; {} ", name(one.problem))?,
            }
            let at_least = if one.colored { "" } else { "at least " };
            match (one.columns, one.rows) {
                (0, 0) => write!(f, "nothing to compute")?,
                (columns, 0) => write!(f, "{at_least}{columns} × {forward}")?,
                (0, rows) => write!(f, "{at_least}{rows} × vjp")?,
                (columns, rows) => write!(f, "{at_least}{columns} × {forward} + {rows} × vjp")?,
            }
            // Two digits are enough to compare by.
            write!(f, " cost {}", (one.cost * 100.0).round() / 100.0)?;
        }
        Ok(())
    }
}
