//! Which way to a sparse Hessian costs least: edge pushing or colours.

use std::fmt;
use std::sync::Arc;

use cotangent_sparse::Pattern;

use super::edge::{EdgeWorkspace, PreparedEdgePushing, edge_pushing, prepare_edge_pushing};
use super::hessian::{PreparedSparseHessian, prepare_sparse_hessian};
use super::jacobian::SparseWorkspace;
use super::{Given, Sparse, SparseMatrix, Tracer};
use crate::backend::{Forward, Mixed, OUTER_LANES, Reverse, SecondOrderBackend, SecondOrderEngine};
use crate::error::Error;
use crate::function::{Differentiable, Many, One};
use crate::operator::Workspace;
use crate::point::Point;

/// The sparse Hessian by the way that costs least for a single one: edge pushing, or colours if the
/// function has array operations or rules, whose second derivatives a recording does not have. The
/// pattern holds at this point.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::auto_sparse_hessian;
///
/// let f = function!(|x: &[S]| -> S { x.windows(2).map(|w| (w[0] * w[1]).sin()).sum::<S>() });
/// let h = auto_sparse_hessian(&f, &[0.0; 100])?;
/// assert_eq!(h[(7, 6)], 1.0);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// Sizes, NaN in the point, and what the function raised.
pub fn auto_sparse_hessian<'a, F>(
    f: &F,
    at: impl Into<Point<'a, f64>>,
) -> Result<SparseMatrix, Error>
where
    F: Differentiable<Input = Many, Output = One>,
{
    let at = at.into();
    match edge_pushing(f, at) {
        Ok((_, _, hessian)) => Ok(hessian),
        Err(error) if error.is_without_second_order() => {
            let backend = Mixed::<Forward, Reverse>::default();
            super::sparse_hessian(f, &Sparse::new(backend, Tracer::Local), at)
        }
        Err(error) => Err(error),
    }
}

/// Prepares sparse Hessians for many evaluations at points of the size of `at`, by the way that costs
/// least: edge pushing if there are many colours or branches, else colours.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::prepare_auto_sparse_hessian;
///
/// // Two colours are cheap; where things far apart interact, there are many.
/// let arrow = function!(|x: &[S]| -> S { x[1..].iter().map(|v| (*v * x[0]).sin()).sum::<S>() });
/// let prepared = prepare_auto_sparse_hessian(arrow, &[0.1; 60])?;
/// assert!(prepared.explain().starts_with("colours"), "{}", prepared.explain());
/// let far = function!(|x: &[S]| -> S {
///     (0..40).map(|i| (x[i] * x[(7 * i + 3) % 40]).sin() + x[i] * x[(11 * i + 5) % 40]).sum::<S>()
/// });
/// let prepared = prepare_auto_sparse_hessian(far, &[0.1; 40])?;
/// assert!(prepared.explain().starts_with("edge pushing"), "{}", prepared.explain());
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// As [`auto_sparse_hessian`]; and a function with array operations must not branch on its values, since a
/// pattern is needed that holds at all points.
pub fn prepare_auto_sparse_hessian<'a, F>(
    f: F,
    at: impl Into<Point<'a, f64>>,
) -> Result<AutoSparseHessian<F>, Error>
where
    F: Differentiable<Input = Many, Output = One>,
{
    let at = at.into();
    let f = Arc::new(f);
    let backend = Mixed::<Forward, Reverse>::default();
    let edges = match prepare_edge_pushing(f.clone(), at) {
        Ok(edges) => edges,
        Err(error) if error.is_without_second_order() => {
            let colored = prepare_sparse_hessian(f, &Sparse::new(backend, Tracer::Global), at)?;
            return Ok(AutoSparseHessian { way: Way::Colored(colored), reason: Reason::Arrays });
        }
        Err(error) => return Err(error),
    };
    if edges.branches() > 0 {
        // A pattern found along one branch would be wrong on another; edge pushing notices.
        let reason = Reason::Branches { branches: edges.branches() };
        return Ok(AutoSparseHessian { way: Way::Edges(edges), reason });
    }
    let pattern = edges.pattern().clone();
    let colored = prepare_sparse_hessian(f, &Sparse::new(backend, Given(pattern)), at)?;
    let (pushes, operations) = edges.pushes();
    let colors = colored.coloring().count();
    let costs = Reason::Costs { pushes, operations, colors };
    let way =
        if costs.edges() < costs.colored() { Way::Edges(edges) } else { Way::Colored(colored) };
    Ok(AutoSparseHessian { way, reason: costs })
}

type Colored<F> =
    PreparedSparseHessian<<Mixed<Forward, Reverse> as SecondOrderBackend>::Engine<Arc<F>, f64>>;
type ColoredWorkspace<F> = SparseWorkspace<
    <<Mixed<Forward, Reverse> as SecondOrderBackend>::Engine<Arc<F>, f64> as SecondOrderEngine<
        f64,
    >>::Workspace,
    f64,
>;

/// A sparse Hessian that has been prepared by the way that costs least. It can be shared between threads.
pub struct AutoSparseHessian<F: Differentiable> {
    way: Way<F>,
    reason: Reason,
}

enum Way<F: Differentiable> {
    Edges(PreparedEdgePushing<Arc<F>>),
    Colored(Colored<F>),
}

/// Why.
#[derive(Clone, Copy, Debug)]
enum Reason {
    Arrays,
    Branches { branches: usize },
    Costs { pushes: usize, operations: usize, colors: usize },
}

impl Reason {
    /// Nanoseconds, measured on chains, grids and arrows of 1024 inputs (bench suite `coloring`): what
    /// counts is the ratio. An operation is evaluated and has its partials taken, then its entries are
    /// pushed.
    fn edges(self) -> f64 {
        match self {
            Reason::Costs { pushes, operations, .. } => {
                16.0 * operations as f64 + 6.0 * pushes as f64
            }
            _ => f64::INFINITY,
        }
    }

    /// An operation is recorded and swept once for a few colours at a time.
    fn colored(self) -> f64 {
        match self {
            Reason::Costs { operations, colors, .. } => {
                13.0 * (operations * colors.div_ceil(OUTER_LANES).max(1)) as f64
            }
            _ => f64::INFINITY,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Arrays => write!(f, "recorded array operations have no second derivatives"),
            Reason::Branches { branches } => {
                write!(f, "{branches} comparisons decide what is computed")
            }
            Reason::Costs { pushes, operations, colors } => write!(
                f,
                "{operations} operations with {pushes} products cost about {:.1} µs, {colors} colours {:.1} µs",
                self.edges() / 1e3,
                self.colored() / 1e3,
            ),
        }
    }
}

/// Room for evaluations on one thread.
pub struct AutoWorkspace<F: Differentiable>(Room<F>);

enum Room<F: Differentiable> {
    Edges(Box<Workspace<EdgeWorkspace>>),
    Colored(Box<Workspace<ColoredWorkspace<F>>>),
}

impl<F: Differentiable<Input = Many, Output = One>> AutoSparseHessian<F> {
    /// Where the entries are.
    pub fn pattern(&self) -> &Pattern {
        match &self.way {
            Way::Edges(edges) => edges.pattern(),
            Way::Colored(colored) => colored.pattern(),
        }
    }

    /// The way that was chosen, and why.
    pub fn explain(&self) -> String {
        let way = match &self.way {
            Way::Edges(_) => "edge pushing",
            Way::Colored(_) => "colours",
        };
        format!("{way}: {}", self.reason)
    }

    /// Room for evaluations on one thread, which then allocate nothing, unless a branch goes another way
    /// than where the derivative was prepared.
    pub fn workspace(&self) -> AutoWorkspace<F> {
        AutoWorkspace(match &self.way {
            Way::Edges(edges) => Room::Edges(Box::new(edges.workspace())),
            Way::Colored(colored) => Room::Colored(Box::new(colored.workspace())),
        })
    }

    /// The Hessian.
    ///
    /// # Errors
    /// A point of another size than prepared for, NaN in it, and what the function raised.
    pub fn hessian<'a>(&self, at: impl Into<Point<'a, f64>>) -> Result<SparseMatrix, Error> {
        match &self.way {
            Way::Edges(edges) => edges.hessian(at),
            Way::Colored(colored) => colored.hessian(at),
        }
    }

    /// The values of the Hessian's entries in place, as they stand in the pattern.
    ///
    /// # Errors
    /// As [`hessian`](AutoSparseHessian::hessian), and a workspace of another derivative.
    pub fn hessian_into<'a>(
        &self,
        at: impl Into<Point<'a, f64>>,
        entries: &mut [f64],
        workspace: &mut AutoWorkspace<F>,
    ) -> Result<(), Error> {
        match (&self.way, &mut workspace.0) {
            (Way::Edges(edges), Room::Edges(room)) => edges.hessian_into(at, entries, room),
            (Way::Colored(colored), Room::Colored(room)) => colored.hessian_into(at, entries, room),
            _ => Err(Error::ForeignWorkspace),
        }
    }

    /// The value, and the gradient and the values of the Hessian's entries in place, as they stand in the
    /// pattern.
    ///
    /// # Errors
    /// As [`hessian`](AutoSparseHessian::hessian), and a workspace of another derivative.
    pub fn value_gradient_and_hessian_into<'a>(
        &self,
        at: impl Into<Point<'a, f64>>,
        gradient: &mut [f64],
        entries: &mut [f64],
        workspace: &mut AutoWorkspace<F>,
    ) -> Result<f64, Error> {
        match (&self.way, &mut workspace.0) {
            (Way::Edges(edges), Room::Edges(room)) => {
                edges.value_gradient_and_hessian_into(at, gradient, entries, room)
            }
            (Way::Colored(colored), Room::Colored(room)) => {
                colored.value_gradient_and_hessian_into(at, gradient, entries, room)
            }
            _ => Err(Error::ForeignWorkspace),
        }
    }
}
