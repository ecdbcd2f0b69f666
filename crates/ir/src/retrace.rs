//! Functions with branches: traced anew where a branch goes another way.

use std::sync::{Arc, Mutex, PoisonError};

use cotangent_numbers::{Fault, Scalar};

use crate::function::Function;
use crate::interpret::RunError;
use crate::trace::{Traced, trace_at};

/// How many traces are kept; the one that was used longest ago makes room.
const KEPT: usize = 16;

/// Why a function with branches could not be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RetraceError {
    /// It could not be traced.
    #[error(transparent)]
    Trace(#[from] Fault),
    /// It could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A function that is traced at the points it meets: one trace for each way through its branches, and
/// what a transformation makes of it.
///
/// A trace whose guards fail is never used, so a branch is followed rightly wherever the point lies.
///
/// ```
/// use cotangent_ir::Retraced;
///
/// let f = Retraced::new("f", |x| vec![if x[0] > 0.0 { x[0] * 2.0 } else { x[0] * x[0] }]);
/// assert_eq!(f.run(&[3.0])?, [6.0]);
/// assert_eq!(f.run(&[-3.0])?, [9.0]);
/// assert_eq!(f.run(&[4.0])?, [8.0]);
/// assert_eq!(f.traces(), 2);
/// # Ok::<(), cotangent_ir::RetraceError>(())
/// ```
pub struct Retraced<F, T = fn(&Function) -> Result<Function, Fault>> {
    name: String,
    f: F,
    transform: T,
    /// The traces as they are and transformed, the last used first.
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    traces: Vec<Arc<(Function, Function)>>,
    made: usize,
}

impl<F: Fn(&[Traced]) -> Vec<Traced>> Retraced<F> {
    /// A function that is run as it is.
    pub fn new(name: impl Into<String>, f: F) -> Self {
        Retraced::with(name, f, |traced| Ok(traced.clone()))
    }
}

impl<F, T> Retraced<F, T>
where
    F: Fn(&[Traced]) -> Vec<Traced>,
    T: Fn(&Function) -> Result<Function, Fault>,
{
    /// A function of which a transformation is run, such as its gradient; its parameters come first.
    pub fn with(name: impl Into<String>, f: F, transform: T) -> Self {
        Retraced { name: name.into(), f, transform, known: Mutex::default() }
    }

    /// How many traces were made so far.
    pub fn traces(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).made
    }

    /// The results at a point.
    ///
    /// # Errors
    /// What the numbers raised while it was traced or run.
    pub fn run(&self, x: &[f64]) -> Result<Vec<f64>, RetraceError> {
        self.run_on(x, x)
    }

    /// The results on any kind of number; the branches go as they do at the point.
    ///
    /// # Errors
    /// As [`run`](Retraced::run).
    pub fn run_on<S: Scalar>(&self, point: &[f64], x: &[S]) -> Result<Vec<S>, RetraceError> {
        let function = self.at(point)?;
        Ok(function.1.run(x)?)
    }

    /// The trace that holds at a point, and what was made of it; traced now if none does.
    ///
    /// # Errors
    /// As [`run`](Retraced::run).
    pub fn at(&self, point: &[f64]) -> Result<Arc<(Function, Function)>, RetraceError> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let candidates = lock().traces.clone();
        for candidate in candidates {
            match candidate.0.run(point) {
                Ok(_) => {
                    let mut known = lock();
                    if let Some(place) =
                        known.traces.iter().position(|t| Arc::ptr_eq(t, &candidate))
                    {
                        known.traces[..=place].rotate_right(1);
                    }
                    return Ok(candidate);
                }
                Err(RunError::Guard { .. } | RunError::Arguments { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Without the lock: the function is the user's, and may take its time.
        let traced = trace_at(&self.name, point, &self.f)?;
        let transformed = (self.transform)(&traced)?;
        let fresh = Arc::new((traced, transformed));
        let mut known = lock();
        known.made += 1;
        known.traces.insert(0, fresh.clone());
        known.traces.truncate(KEPT);
        Ok(fresh)
    }
}
