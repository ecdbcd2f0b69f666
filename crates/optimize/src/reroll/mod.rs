//! Re-rolling: a flat recording of repeated structure becomes kernels.
//!
//! Plain code with loops leaves a trace of thousands of single operations. Its parts are found by their shape: a *root* is a
//! result, a number that several others need, or a term of a long sum, and its *tree* is what only it needs. Roots whose trees
//! are alike become one kernel over a domain; what differs, the places that are read and the constants, becomes an index, an
//! index that grows by a step, or a table. Long sums (and chains of `max` and `min`) become reductions. What is left over stays as
//! it is.
//!
//! Parameters and results become arrays on the way: one of the numbers that were parameters, one of those that were results.

mod chains;
mod kernel;
mod roots;
mod shape;
mod write;

use cotangent_ir::{Function, Op, Type};

/// The least number of like parts that become a kernel. Below, straight code is as fast: it needs no indices and no memory
/// between its parts (Rosenbrock's gradient, n = 10: 0.83 of the kernel's time).
const LEAST: usize = 64;

/// The function with its repeated parts as kernels, if there are enough of them; its parameters are one array then, and its
/// results if there are several. `params` says after how many parameters a second array begins, `results` at which results others
/// begin.
///
/// Sums of like terms become sums in kernels, which machine code adds up in lanes: in another order than before, though always in the
/// same, and terms that come together (`s + a + b`) are added to each other first. Signs of zeros may change, and where a chain of
/// `max` or `min` begins with NaN, its derivative.
///
/// ```
/// use cotangent_ir::trace;
/// use cotangent_optimize::{reroll, simplify};
///
/// // Plain code: 299 additions, 300 sines.
/// let f = trace("f", 300, |x| vec![x[1..].iter().fold(x[0].sin(), |s, x| s + x.sin())])?;
/// let f = simplify(&reroll(&f, 300, &[]).unwrap());
/// assert_eq!(f.to_string(), "\
/// fn @f(%x: [300]f64) -> f64 {
///   %0 = red sum (%i < 300) {
///     %1 = ld %x[%i]
///     %2 = sin %1
///     yield %2
///   }
///   ret %0
/// }
/// ");
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[must_use]
pub fn reroll(f: &Function, params: usize, results: &[usize]) -> Option<Function> {
    if f.params().len() < 2 || !is_flat(f) {
        return None;
    }
    let plan = roots::Plan::new(f);
    let new = write::written(f, &plan, params, results)?;
    // A few kernels in much straight code only cost memory.
    (2 * new.operations() < f.operations()).then_some(new)
}

/// Whether there are only scalars, of one type of number.
fn is_flat(f: &Function) -> bool {
    let ty = f.params()[0].ty;
    let scalar = |t: Type| t == ty || t == Type::BOOL;
    ty.is_scalar()
        && ty.is_float()
        && f.rule().is_none()
        && f.params().iter().all(|p| p.ty == ty && !p.linear)
        && f.results().iter().all(|v| f.ty(*v) == ty)
        && f.values().all(|v| scalar(f.ty(v)) && !matches!(f.op(v), Op::Load | Op::Structure(_)))
}
