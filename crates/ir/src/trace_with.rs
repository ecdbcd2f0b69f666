//! Tracing functions of arrays, indices and numbers.

use std::panic::Location;

use cotangent_numbers::fault::{Fault, catch};

use crate::build::Builder;
use crate::carried::{Carried, TracedValue, Values};
use crate::function::{Function, Param, Value};
use crate::input::{Array, Inputs, array};
use crate::trace::own;
use crate::trace_array::TracedArray;
use crate::trace_region::{Innermost, Place};
use crate::types::Type;

/// Traces a function of arrays of numbers, one of each shape, for all points.
///
/// What the closure gives is what the function gives: a number, an array, or several of them.
///
/// ```
/// use cotangent_ir::{sum_over, trace_arrays};
///
/// let f = trace_arrays("dot", &[&[1000], &[1000]], |x| {
///     sum_over(0..1000, |i| x[0].at(i) * x[1].at(i))
/// })?;
/// assert_eq!(f.to_string(), "\
/// fn @dot(%x0: [1000]f64, %x1: [1000]f64) -> f64 {
///   %0 = red sum (%i < 1000) {
///     %1 = ld %x0[%i]
///     %2 = ld %x1[%i]
///     %3 = mul %1, %2
///     yield %3
///   }
///   ret %0
/// }
/// ");
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
///
/// # Errors
/// A branch, with its place, arrays that do not fit together, and what else the numbers raised.
#[track_caller]
pub fn trace_arrays<R: Carried>(
    name: &str,
    shapes: &[&[usize]],
    f: impl FnOnce(&[TracedArray]) -> R,
) -> Result<Function, Fault> {
    let inputs: Vec<Array> = shapes.iter().map(array).collect();
    trace_with(name, inputs, |arrays| f(&arrays))
}

/// Traces a function of numbers, arrays and indices, for all points.
///
/// ```
/// use cotangent_ir::input::{array, number};
/// use cotangent_ir::trace_with;
///
/// let f = trace_with("affine", (array([2, 2]), array([2]), number()), |(a, x, b)| a.matmul(x) + b)?;
/// assert_eq!(f.run(&[1.0, 2.0, 3.0, 4.0, 1.0, 1.0, 10.0]).unwrap(), [13.0, 17.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
///
/// # Errors
/// As [`trace_arrays`].
#[allow(clippy::needless_pass_by_value, reason = "written where it is called")]
#[track_caller]
pub fn trace_with<I: Inputs, R: Carried>(
    name: &str,
    inputs: I,
    f: impl FnOnce(I::Traced) -> R,
) -> Result<Function, Fault> {
    let at = Location::caller();
    let mut types = Vec::new();
    inputs.types(&mut types);
    let mut builder = Builder::new(name);
    let params: Vec<Value> = types
        .into_iter()
        .enumerate()
        .map(|(k, ty)| builder.push_param(Param { name: format!("x{k}"), ty, linear: false }))
        .collect();
    let innermost = Innermost::begin(builder, None, Type::F64);
    let stamp = innermost.stamp;
    let results = catch(|| {
        let params = own(stamp, Place::NONE, at, |trace, _| {
            params.iter().map(|param| TracedValue::of(trace, *param, at)).collect()
        });
        let result = f(inputs.traced(&mut Values::new(params, at)));
        let mut given = Vec::new();
        result.values(&mut given);
        // A result of another trace is found out here.
        given.iter().map(|x| own(stamp, x.place(), at, |t, p| x.value_in(t, p))).collect()
    })?;
    match innermost.end() {
        Some((builder, _)) => Ok(builder.finish(results)),
        None => Err(Fault::MixedTraces { at }),
    }
}
