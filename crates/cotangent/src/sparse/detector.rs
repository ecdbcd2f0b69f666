//! What finds the pattern of a derivative.

use cotangent_sparse::Pattern;

use crate::backend::SecondOrderEngine;
use crate::backend::{Backend, Engine, Forward, Reverse, SecondOrder, SecondOrderBackend};
use crate::error::Error;
use crate::function::Differentiable;
use crate::operator::sizes;
use crate::point::Point;

/// A way to find the pattern of a Jacobian or Hessian.
pub trait Detector: Clone + std::fmt::Debug + Send + Sync {
    /// The pattern of the Jacobian.
    ///
    /// # Errors
    /// What the function raised, and a pattern that does not fit.
    fn jacobian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error>;

    /// The pattern of the Hessian.
    ///
    /// # Errors
    /// As [`jacobian`](Detector::jacobian).
    fn hessian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error>;
}

/// Sparsity tracers: one evaluation of the function, no derivative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracer {
    /// Right for all points; a branch on a value is an error.
    #[default]
    Global,
    /// Right at the point, and wherever the function takes the same branches.
    Local,
}

impl Detector for Tracer {
    fn jacobian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error> {
        match self {
            Tracer::Global => crate::jacobian_sparsity(f, at),
            Tracer::Local => crate::jacobian_sparsity_at(f, at),
        }
    }

    fn hessian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error> {
        match self {
            Tracer::Global => crate::hessian_sparsity(f, at),
            Tracer::Local => crate::hessian_sparsity_at(f, at),
        }
    }
}

/// A pattern that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given(pub Pattern);

impl Given {
    fn checked(&self, nrows: usize, ncols: usize) -> Result<Pattern, Error> {
        let found = (self.0.nrows(), self.0.ncols());
        if found == (nrows, ncols) {
            Ok(self.0.clone())
        } else {
            Err(Error::PatternShape { expected: (nrows, ncols), found })
        }
    }
}

impl Detector for Given {
    fn jacobian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error> {
        let sizes = sizes(f, at)?;
        self.checked(sizes.outputs, sizes.inputs)
    }

    fn hessian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error> {
        let sizes = sizes(f, at)?;
        self.checked(sizes.inputs, sizes.inputs)
    }
}

/// The entries that are not zero in dense derivatives at a few points around the given one. It may miss
/// entries that are zero at all of them; for functions that tracers cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// How many points.
    pub points: usize,
    /// Which ones.
    pub seed: u64,
}

impl Default for Probe {
    fn default() -> Self {
        Probe { points: 3, seed: 1 }
    }
}

impl Probe {
    /// Points around x, each coordinate moved by up to a tenth of its size.
    fn around(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let mut rng = fastrand::Rng::with_seed(self.seed);
        (0..self.points.max(1))
            .map(|_| x.iter().map(|v| v + (rng.f64() - 0.5) * 0.2 * v.abs().max(1.0)).collect())
            .collect()
    }

    fn collect(
        &self,
        at: Point<'_, f64>,
        (nrows, ncols): (usize, usize),
        mut dense: impl FnMut(Point<'_, f64>, &mut [f64]) -> Result<(), Error>,
    ) -> Result<Pattern, Error> {
        let mut matrix = crate::Matrix::try_filled(nrows, ncols, 0.0)?;
        let mut entries = Vec::new();
        for x in self.around(at.x) {
            dense(Point { x: &x, constants: at.constants }, matrix.as_mut_slice())?;
            let nonzero = matrix.as_slice().iter().enumerate().filter(|(_, v)| **v != 0.0);
            entries.extend(nonzero.map(|(k, _)| (k % nrows, k / nrows)));
        }
        // The indices are those of the matrix.
        Pattern::from_entries(nrows, ncols, entries)
            .map_err(|_| Error::TooLarge { rows: nrows, columns: ncols })
    }
}

impl Detector for Probe {
    fn jacobian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error> {
        let sizes = sizes(f, at)?;
        let mut values = vec![0.0; sizes.outputs];
        let shape = (sizes.outputs, sizes.inputs);
        let engine = Forward::default().engine(f, sizes, at)?;
        let mut workspace = Engine::<f64>::workspace(&engine);
        self.collect(at, shape, |at, j| engine.jacobian(at, &mut values, j, &mut workspace))
    }

    fn hessian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error> {
        let sizes = sizes(f, at)?;
        let mut gradient = vec![0.0; sizes.inputs];
        let backend = SecondOrder::<Forward, Reverse>::default();
        let engine = backend.second_order(f, sizes, at)?;
        let mut workspace = SecondOrderEngine::<f64>::workspace(&engine);
        let shape = (sizes.inputs, sizes.inputs);
        let pattern = self.collect(at, shape, |at, h| {
            engine.hessian(at, &mut gradient, h, &mut workspace).map(|_| ())
        })?;
        // Rounding may have left an entry without its mirror image.
        Ok(pattern.union(&pattern.transpose()).unwrap_or(pattern))
    }
}

/// The union of the patterns that a detector finds at several points, the given one among them: for local
/// tracers, whose branches go otherwise elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Union<D> {
    /// What finds the patterns.
    pub detector: D,
    /// The other points.
    pub points: Vec<Vec<f64>>,
}

impl<D: Detector> Union<D> {
    fn collect(
        &self,
        at: Point<'_, f64>,
        find: impl Fn(Point<'_, f64>) -> Result<Pattern, Error>,
    ) -> Result<Pattern, Error> {
        let mut all = find(at)?;
        for x in &self.points {
            let remedy = "sample points are as long as the point";
            crate::error::check_size("a sample point", at.x.len(), x.len(), remedy)?;
            let next = find(Point { x, constants: at.constants })?;
            let (expected, found) = ((all.nrows(), all.ncols()), (next.nrows(), next.ncols()));
            all = all.union(&next).ok_or(Error::PatternShape { expected, found })?;
        }
        Ok(all)
    }
}

impl<D: Detector> Detector for Union<D> {
    fn jacobian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error> {
        self.collect(at, |at| self.detector.jacobian(f, at))
    }

    fn hessian<F: Differentiable>(&self, f: &F, at: Point<'_, f64>) -> Result<Pattern, Error> {
        self.collect(at, |at| self.detector.hessian(f, at))
    }
}
