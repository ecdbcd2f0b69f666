//! Finding the operation that gives the first NaN or infinity.

use std::fmt;
use std::panic::Location;

use cotangent_ops::Elementary;

use super::{Event, NanCheck, Observed, Observer};
use crate::fault::{Fault, catch, raise};

/// The observer that stops at the first result that is not finite though the operands are.
#[derive(Clone, Copy, Debug)]
pub struct Nan;

/// The operation that gave the first NaN or infinity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NanReport {
    /// The operation.
    pub operation: &'static str,
    /// Its operands, all finite.
    pub operands: Vec<String>,
    /// Its result.
    pub result: String,
    /// Where in the user's code.
    pub at: &'static Location<'static>,
}

impl fmt::Display for NanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NanReport { operation, operands, result, at } = self;
        write!(
            f,
            "{at}: {operation}({}) = {result} is the first result that is not finite",
            operands.join(", ")
        )
    }
}

impl Observer for Nan {
    fn saw<T: Elementary>(
        event: Event,
        operands: &[T],
        result: Option<T>,
        at: &'static Location<'static>,
    ) {
        if let (Event::Operation(op), Some(result)) = (event, result)
            && !result.all_finite()
            && operands.iter().all(|x| x.all_finite())
        {
            raise(Fault::NotFinite(NanReport {
                operation: op.name(),
                operands: operands.iter().map(|x| format!("{x:?}")).collect(),
                result: format!("{result:?}"),
                at,
            }))
        }
    }
}

/// Runs a function at `x` and stops at the first operation that turns finite numbers into NaN or
/// infinity.
///
/// ```
/// use cotangent_numbers::nan_check;
///
/// let stopped = nan_check(&[1.0, 1.0], |x| (x[0] - x[1]).ln() * x[0]).unwrap_err();
/// assert!(stopped.to_string().contains("ln(0.0) = -inf"));
/// ```
///
/// # Errors
/// [`Fault::NotFinite`] with the operation, its operands and the place in the user's code.
pub fn nan_check<T: Elementary, R>(
    x: &[T],
    f: impl FnOnce(&[NanCheck<T>]) -> R,
) -> Result<R, Fault> {
    let x: Vec<NanCheck<T>> = x.iter().map(|v| Observed::new(*v)).collect();
    catch(|| f(&x))
}
