//! Functions as machine code, with their derivatives.
//!
//! A function is recorded once, simplified, differentiated as a program, simplified again, and compiled; each derivative when it is
//! first asked for. Without an LLVM the programs are interpreted: same answers, more time.

mod bindings;
mod compiled;
mod dense;
mod library;
mod many;
pub(crate) mod recording;
mod sparse;
mod written_out;

use cotangent_ir as ir;
use cotangent_jit::Llvm;

pub use compiled::Compiled;
pub use library::Library;

use crate::{Arity, Context, Differentiable, Error};

/// Points that are computed at a time by [`Compiled::values_many`].
const BLOCK: usize = 256;

/// Records a function of so many numbers and makes it ready to be compiled.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::compile;
///
/// let f = function!(|x: &[S]| -> S { x[0].sin() * x[1].cos() });
/// let f = compile(&f, 2)?;
/// let g = f.gradient(&[0.5, 0.2])?;
/// assert!((g[0] - 0.5_f64.cos() * 0.2_f64.cos()).abs() < 1e-15);
/// let h = f.hessian(&[0.5, 0.2])?;
/// assert!((h[(0, 1)] + 0.5_f64.cos() * 0.2_f64.sin()).abs() < 1e-15);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// The function is recorded for all points, so a branch on its numbers is an error; [`compile_at`] takes a point. Loops of plain code that
/// leave a long trace of like parts become kernels again ([`reroll`](cotangent_optimize::reroll)): machine code adds their sums up in
/// lanes, in an order that is always the same; [`Compiled::in_recorded_order`] keeps that of the code.
///
/// # Errors
/// No inputs, a branch on a number (with its place), and what else the function raises.
pub fn compile<F: Differentiable>(f: F, inputs: usize) -> Result<Compiled, Error> {
    if inputs == 0 {
        return Err(Error::Empty { what: "the input" });
    }
    let nowhere = vec![f64::NAN; inputs];
    let program = ir::trace("f", inputs, |x| recorded(&f, &nowhere, x))?;
    Ok(Compiled::of(&program, inputs, None))
}

/// Records a function at a point: its branches go as they go there. Where they go otherwise it is recorded anew, so that
/// values and derivatives are right at every point.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::compile_at;
///
/// let f = function!(|x: &[S]| -> S { if x[0] > 0.0 { x[0] * x[0] } else { -x[0] } });
/// let f = compile_at(f, &[1.0])?;
/// assert_eq!(f.gradient(&[3.0])?, [6.0]);
/// assert_eq!(f.gradient(&[-3.0])?, [-1.0]);
/// assert_eq!(f.recordings(), 2);
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// No inputs, and what the function raises.
pub fn compile_at<F>(f: F, point: &[f64]) -> Result<Compiled, Error>
where
    F: Differentiable + Send + Sync + 'static,
{
    if point.is_empty() {
        return Err(Error::Empty { what: "the point" });
    }
    let again: Again =
        Box::new(move |x| Ok(ir::trace_at("f", x, |traced| recorded(&f, x, traced))?));
    let program = again(point)?;
    Ok(Compiled::of(&program, point.len(), Some(again)))
}

/// Records a function of arrays, in which loops stay loops: see [`ir::sum_over`] and its neighbours.
///
/// ```
/// use cotangent::compile_arrays;
/// use cotangent::ir::sum_over;
///
/// let n = 1000;
/// let f = compile_arrays(&[&[n]], |x| {
///     sum_over(0..n - 1, |i| {
///         let (a, b) = (x[0].at(i), x[0].at(i + 1));
///         (b - a * a).powi(2) * 100.0 + (a - 1.0).powi(2)
///     })
/// })?;
/// let mut g = vec![0.0; n];
/// let value = f.gradient_into(&vec![1.0; n], &mut g)?;
/// assert_eq!(value, 0.0);
/// assert!(g.iter().all(|g| *g == 0.0));
/// # Ok::<(), cotangent::Error>(())
/// ```
///
/// # Errors
/// A branch on a number (with its place), arrays that do not fit together, and what else the function raises.
pub fn compile_arrays<R: ir::Carried>(
    shapes: &[&[usize]],
    f: impl FnOnce(&[ir::TracedArray]) -> R,
) -> Result<Compiled, Error> {
    Compiled::program(&ir::trace_arrays("f", shapes, f)?)
}

fn recorded<F: Differentiable>(f: &F, point: &[f64], x: &[ir::Traced]) -> Vec<ir::Traced> {
    let outputs = if F::Output::ONE { 1 } else { f.outputs(point, &[]) };
    called(f, x, &[], outputs)
}

/// Calls a function on numbers that are recorded.
pub(crate) fn called<F: Differentiable>(
    f: &F,
    x: &[ir::Traced],
    constants: &[ir::Traced],
    outputs: usize,
) -> Vec<ir::Traced> {
    let zero = <ir::Traced as cotangent_ops::Elementary>::constant(0.0);
    let mut y = vec![zero; outputs];
    let mut cache = vec![zero; f.cache(x.len())];
    f.call(x, &mut y, Context { constants, cache: &mut cache });
    y
}

/// Records a function at another point.
type Again = Box<dyn Fn(&[f64]) -> Result<ir::Function, Error> + Send + Sync>;

/// What machine code is made by: which LLVM, for which processor.
///
/// # Errors
/// Why there is none.
pub fn machine() -> Result<&'static Llvm, &'static str> {
    Llvm::get()
}
