//! Sparse Hessians by edge pushing: straight from a recording, no detection and no colours.

use std::sync::Arc;

use cotangent_numbers::tape::{EdgePlan, EdgePushing};
use cotangent_numbers::{Fault, Program, Var, fault};
use cotangent_sparse::Pattern;

use super::SparseMatrix;
use crate::backend::record_program;
use crate::error::{Error, check_size};
use crate::function::{Context, Differentiable, Many, One};
use crate::operator::{Prepared, Workspace, sizes};
use crate::point::{Point, Sizes};

/// The value, the gradient and the sparse Hessian, from one recording of the function and one sweep over
/// it that carries second derivatives (Gower and Mello 2012).
///
/// Nothing is detected or coloured, so a single Hessian costs little; the cost of a sweep does not
/// depend on how many colours there would be, but on how many pairs of intermediate values interact.
/// Functions with array operations or rules have no second derivatives here. The pattern has the entries
/// that are not zero at this point.
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
    let sizes = sizes(f, at)?;
    let n = sizes.inputs;
    let (room, entries) = push_once(f, sizes, at)?;
    let both = entries.iter().flat_map(|(i, j, _)| [(*i, *j), (*j, *i)]);
    let pattern = Arc::new(symmetric(n, both)?);
    let mut matrix = SparseMatrix::new(pattern);
    for (i, j, v) in entries {
        for (row, column) in [(i, j), (j, i)] {
            if let Some(place) = matrix.pattern().place(row, column) {
                matrix.values_mut()[place] = v;
            }
        }
    }
    Ok((room.outputs()[0], room.gradient()[..n].to_vec(), matrix))
}

/// Entries on and below the diagonal.
type Entries = Vec<(usize, usize, f64)>;

/// Records and sweeps at one point.
fn push_once<F: Differentiable>(
    f: &F,
    sizes: Sizes,
    at: Point<'_, f64>,
) -> Result<(EdgePushing, Entries), Error> {
    // The constants are fixed: nothing is pushed to them.
    let program = Program::record(at.x, |x| {
        let constants: Vec<Var> = at.constants.iter().map(|c| Var::fixed(*c)).collect();
        let mut cache = vec![Var::from(0.0); f.cache(sizes.inputs)];
        let mut y = vec![Var::from(0.0)];
        f.call(x, &mut y, Context { constants: &constants, cache: &mut cache });
        y
    })?;
    let mut room = EdgePushing::default();
    fault::catch(|| program.push_edges(at.x, &[1.0], &mut room))??;
    let entries = room.hessian();
    Ok((room, entries))
}

fn symmetric(n: usize, entries: impl Iterator<Item = (usize, usize)>) -> Result<Pattern, Error> {
    let shape = |_| Error::PatternShape { expected: (n, n), found: (n, n) };
    Pattern::from_entries(n, n, entries).map_err(shape)
}

/// Prepares edge pushing at points of the size of `at`: records the function and finds once which
/// second derivatives meet which, so that an evaluation only adds products up.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::prepare_edge_pushing;
///
/// let f = function!(|x: &[S]| -> S { x.windows(2).map(|w| (w[0] * w[1]).sin()).sum::<S>() });
/// let prepared = prepare_edge_pushing(f, &[0.1; 100])?;
/// let mut workspace = prepared.workspace();
/// let mut entries = vec![0.0; prepared.pattern().nnz()];
/// prepared.hessian_into(&[0.0; 100], &mut entries, &mut workspace)?;
/// assert_eq!(prepared.pattern().nnz(), 298);
/// assert_eq!(entries[prepared.pattern().place(7, 6).unwrap()], 1.0);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// As [`edge_pushing`].
pub fn prepare_edge_pushing<'a, F>(
    f: F,
    at: impl Into<Point<'a, f64>>,
) -> Result<PreparedEdgePushing<F>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
{
    let at = at.into();
    let sizes = sizes(&f, at)?;
    let program = record_program(&f, sizes, at.x, at.constants)?;
    let plan = program.plan_edges(sizes.inputs)?;
    let both = plan.entries().flat_map(|(i, j)| [(i, j), (j, i)]);
    let pattern = symmetric(sizes.inputs, both)?;
    let place = |i: usize, j: usize| match pattern.place(i, j) {
        Some(place) => place,
        None => unreachable!("the pattern was made of these entries"),
    };
    let places = plan.entries().map(|(i, j)| (place(i, j), place(j, i))).collect();
    let engine = Edges { f, sizes, program, plan, places };
    Ok(PreparedEdgePushing { prepared: Prepared::new(engine, at), pattern: Arc::new(pattern) })
}

/// What is fixed between evaluations.
#[derive(Debug)]
struct Edges<F> {
    f: F,
    sizes: Sizes,
    program: Program,
    plan: EdgePlan,
    /// Of each entry of the plan: where it stands among the values, and its mirror image.
    places: Vec<(usize, usize)>,
}

/// Edge pushing that has been prepared. It can be shared between threads.
///
/// Where a branch of the function goes another way than where it was prepared, the function is recorded
/// anew for that evaluation; an entry that the pattern then lacks is an error.
#[derive(Debug)]
pub struct PreparedEdgePushing<F> {
    prepared: Prepared<Edges<F>, f64>,
    pattern: Arc<Pattern>,
}

/// Room for edge pushing on one thread.
#[derive(Debug, Default)]
pub struct EdgeWorkspace {
    room: EdgePushing,
    inputs: Vec<f64>,
    values: Vec<f64>,
}

impl<F: Differentiable<Input = Many, Output = One>> PreparedEdgePushing<F> {
    /// Where the entries are: all that can be nonzero where the branches go the same way.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// How many products an evaluation adds up, and how many operations the function has.
    pub fn pushes(&self) -> (usize, usize) {
        let Edges { plan, program, .. } = &self.prepared.engine;
        (plan.pushes(), program.operations())
    }

    /// How many comparisons decided what the function computed.
    pub fn branches(&self) -> usize {
        self.prepared.engine.program.guards()
    }

    /// Room for evaluations on one thread. It is tried out where the derivative was prepared, so that
    /// evaluations with it allocate nothing, unless a branch goes another way.
    pub fn workspace(&self) -> Workspace<EdgeWorkspace> {
        let mut workspace = self.fresh();
        let mut entries = vec![0.0; self.pattern.nnz()];
        let _ = self.hessian_into(self.prepared.sample(), &mut entries, &mut workspace);
        workspace
    }

    fn fresh(&self) -> Workspace<EdgeWorkspace> {
        let inner = EdgeWorkspace {
            values: vec![0.0; self.prepared.engine.places.len()],
            ..EdgeWorkspace::default()
        };
        self.prepared.workspace(inner, [self.prepared.engine.sizes.inputs, 0])
    }

    /// The Hessian.
    ///
    /// # Errors
    /// A point of another size than prepared for, NaN in it, and what the function raised.
    pub fn hessian<'a>(&self, at: impl Into<Point<'a, f64>>) -> Result<SparseMatrix, Error> {
        let mut matrix = SparseMatrix::new(self.pattern.clone());
        self.hessian_into(at, matrix.values_mut(), &mut self.fresh())?;
        Ok(matrix)
    }

    /// The values of the Hessian's entries in place, as they stand in the pattern.
    ///
    /// # Errors
    /// As [`hessian`](PreparedEdgePushing::hessian), and a workspace of another derivative.
    pub fn hessian_into<'a>(
        &self,
        at: impl Into<Point<'a, f64>>,
        entries: &mut [f64],
        workspace: &mut Workspace<EdgeWorkspace>,
    ) -> Result<(), Error> {
        let (inner, [gradient, _]) = self.prepared.open(workspace)?;
        self.evaluate(at.into(), gradient, entries, inner).map(|_| ())
    }

    /// The value, and the gradient and the values of the Hessian's entries in place.
    ///
    /// # Errors
    /// As [`hessian_into`](PreparedEdgePushing::hessian_into).
    pub fn value_gradient_and_hessian_into<'a>(
        &self,
        at: impl Into<Point<'a, f64>>,
        gradient: &mut [f64],
        entries: &mut [f64],
        workspace: &mut Workspace<EdgeWorkspace>,
    ) -> Result<f64, Error> {
        let (inner, _) = self.prepared.open(workspace)?;
        self.evaluate(at.into(), gradient, entries, inner)
    }

    fn evaluate(
        &self,
        at: Point<'_, f64>,
        gradient: &mut [f64],
        entries: &mut [f64],
        workspace: &mut EdgeWorkspace,
    ) -> Result<f64, Error> {
        let Edges { f, sizes, program, plan, places } = &self.prepared.engine;
        sizes.check(at)?;
        let remedy = "a gradient has one entry an input";
        check_size("the gradient", sizes.inputs, gradient.len(), remedy)?;
        let remedy = "there is one for each entry of the pattern";
        check_size("the entries", self.pattern.nnz(), entries.len(), remedy)?;
        let EdgeWorkspace { room, inputs, values } = workspace;
        inputs.clear();
        inputs.extend(at.x.iter().chain(at.constants));
        match program.push_planned(plan, inputs, &[1.0], room, values) {
            Ok(()) => {
                for (value, (place, mirror)) in values.iter().zip(places) {
                    entries[*place] = *value;
                    entries[*mirror] = *value;
                }
            }
            Err(Fault::GuardFailed { .. }) => {
                let (anew, found) = push_once(f, *sizes, at)?;
                *room = anew;
                entries.fill(0.0);
                for (row, column, value) in found {
                    let at = |i, j| self.pattern.place(i, j);
                    let both = at(row, column).zip(at(column, row));
                    let (place, mirror) = both.ok_or(Error::MissingEntry { row, column })?;
                    entries[place] = value;
                    entries[mirror] = value;
                }
            }
            Err(fault) => return Err(fault.into()),
        }
        gradient.copy_from_slice(&room.gradient()[..sizes.inputs]);
        Ok(room.outputs()[0])
    }
}
