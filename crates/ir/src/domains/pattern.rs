//! The sparsity of derivatives: which entries of a Jacobian or Hessian are not zero everywhere.

use cotangent_numbers::tracer::Dependence;
use cotangent_numbers::{
    Detection, Detector, Fault, GradientTracer, HessianTracer, Known, Local, SetKind,
};
use cotangent_sparse::Pattern;

use crate::function::Function;
use crate::interpret::RunError;
use crate::machine::Machine;

/// The pattern of the Jacobian of a function, for all inputs: entries that are not in it are zero
/// everywhere. Arrays are taken as the numbers they are made of, row by row.
///
/// Where the inputs decide, everything is followed: both sides of a branch, any number of rounds of a loop,
/// every element that an index may pick. Where they do not, the run goes as it goes. Inputs that are
/// integers or truth values may be anything, too.
///
/// ```
/// use cotangent_ir::{jacobian_pattern, parse};
///
/// let f = parse(
///     "fn @f(%x: [4]f64) -> [3]f64 {
///        %y = tab (%i < 3) {
///          %j = iadd %i, 1
///          %a = ld %x[%i]
///          %b = ld %x[%j]
///          %c = lt %a, 0.0
///          %d = if %c { yield %a } else { %p = mul %a, %b yield %p }
///          yield %d
///        }
///        ret %y
///      }",
/// )
/// .unwrap();
/// assert_eq!(jacobian_pattern(&f)?.to_string(), "11··\n·11·\n··11\n");
/// # Ok::<(), cotangent_ir::RunError>(())
/// ```
///
/// # Errors
/// A dimension without a size, an index out of range, and arrays whose length the inputs decide.
pub fn jacobian_pattern(f: &Function) -> Result<Pattern, RunError> {
    detect::<Known<GradientTracer>>(f, &zeros(f)?, |detector, x, outputs, run| {
        detector.jacobian(x, outputs, run)
    })
}

/// The pattern of the Hessian of a function, or of the sum of those of its results, for all inputs; see
/// [`jacobian_pattern`].
///
/// ```
/// use cotangent_ir::{hessian_pattern, parse};
///
/// let f = parse("fn @f(%x: [3]f64) -> f64 { %s = red prod (%i < 2) { %a = ld %x[%i] yield %a } ret %s }").unwrap();
/// assert_eq!(hessian_pattern(&f)?.to_string(), "·1·\n1··\n···\n");
/// # Ok::<(), cotangent_ir::RunError>(())
/// ```
///
/// # Errors
/// As [`jacobian_pattern`].
pub fn hessian_pattern(f: &Function) -> Result<Pattern, RunError> {
    detect::<Known<HessianTracer>>(f, &zeros(f)?, |detector, x, outputs, run| {
        detector.hessian(x, outputs, run)
    })
}

/// The pattern of the Jacobian near a point: branches go as they do there.
///
/// # Errors
/// As [`run`](Function::run).
pub fn local_jacobian_pattern(f: &Function, x: &[f64]) -> Result<Pattern, RunError> {
    f.check_inputs(x.len(), 1)?;
    detect::<Local<GradientTracer>>(f, x, |detector, x, outputs, run| {
        detector.jacobian(x, outputs, run)
    })
}

/// The pattern of the Hessian near a point: branches go as they do there.
///
/// # Errors
/// As [`run`](Function::run).
pub fn local_hessian_pattern(f: &Function, x: &[f64]) -> Result<Pattern, RunError> {
    f.check_inputs(x.len(), 1)?;
    detect::<Local<HessianTracer>>(f, x, |detector, x, outputs, run| {
        detector.hessian(x, outputs, run)
    })
}

fn zeros(f: &Function) -> Result<Vec<f64>, RunError> {
    match f.inputs() {
        Some(n) => Ok(vec![0.0; n]),
        None => f.check_inputs(0, 1).map(|_| Vec::new()),
    }
}

/// A run of the function on tracers, as the detector asks for it.
type Run<'r, S> = Box<dyn FnOnce(&[S], &mut [S]) + 'r>;

fn detect<S: Detection<Dependence: Dependence>>(
    f: &Function,
    x: &[f64],
    pattern: impl FnOnce(&mut Detector<S>, &[f64], usize, Run<'_, S>) -> Result<Pattern, Fault>,
) -> Result<Pattern, RunError> {
    let mut outputs = 0usize;
    for value in f.results() {
        match f.ty(*value).len() {
            Some(len) => outputs += len,
            None => {
                let function = format!("@{}", f.name());
                let ty = f.ty(*value);
                let what = format!("a result is {ty}, of which the inputs decide the length");
                return Err(RunError::Value { function, what });
            }
        }
    }
    let mut ran = Ok(());
    let run = |x: &[S], y: &mut [S]| {
        let mut machine = Machine::new();
        // What was recorded holds where the guards do; the pattern is that of what was recorded.
        machine.guarded = false;
        ran = f.run_on(&mut machine, x).map(|results| y.copy_from_slice(&results));
    };
    // Blocks of bits pay where rows are long.
    let kind = if x.len() > 256 { SetKind::Blocked } else { SetKind::Sorted };
    let found = pattern(&mut Detector::new(kind), x, outputs, Box::new(run));
    ran?;
    Ok(found?)
}
