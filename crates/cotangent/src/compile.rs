//! Functions as machine code, with their derivatives.
//!
//! A function is recorded once, simplified, differentiated as a program, simplified again, and compiled; each derivative when it is
//! first asked for. Without an LLVM the programs are interpreted: same answers, more time.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use cotangent_ir as ir;
use cotangent_jit::{Compiled as Machine, JitError, Llvm, Options, Workspace};
use cotangent_optimize::simplify;
use cotangent_transform as transform;

use crate::error::check_size;
use crate::{Arity, Context, Differentiable, Error, Matrix};

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
/// The function is recorded for all points, so a branch on its numbers is an error; [`compile_at`] takes a point.
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
    let zero = <ir::Traced as cotangent_ops::Elementary>::constant(0.0);
    let outputs = if F::Output::ONE { 1 } else { f.outputs(point, &[]) };
    let mut y = vec![zero; outputs];
    let mut cache = vec![zero; f.cache(x.len())];
    f.call(x, &mut y, Context { constants: &[], cache: &mut cache });
    y
}

type Again = Box<dyn Fn(&[f64]) -> Result<ir::Function, Error> + Send + Sync>;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Value,
    Gradient,
    Jacobian,
    Hessian,
    Pushforward,
    Pullback,
    Hvp,
    Values,
    Gradients,
}

const KINDS: usize = 9;

/// A function as machine code, with its derivatives. Many threads may use it.
pub struct Compiled {
    inputs: usize,
    outputs: usize,
    /// One for each way through the branches.
    recordings: RwLock<Vec<Arc<Recording>>>,
    again: Option<Again>,
}

struct Recording {
    program: ir::Function,
    engines: [OnceLock<Result<Engine, Error>>; KINDS],
}

/// A program that can be run.
struct Engine {
    runs: Runs,
    /// How many numbers it gives.
    gives: usize,
    spare: Mutex<Vec<Workspace>>,
}

enum Runs {
    Machine(Machine),
    Interpreter(ir::Function),
}

impl Engine {
    fn new(program: ir::Function) -> Engine {
        let gives = program.results().iter().map(|v| program.ty(*v).len().unwrap_or(0)).sum();
        let runs = match Machine::new(&program, &Options::default()) {
            Ok(machine) => Runs::Machine(machine),
            Err(why) => {
                said(&why);
                Runs::Interpreter(program)
            }
        };
        Engine { runs, gives, spare: Mutex::new(Vec::new()) }
    }

    /// Whether a branch would go another way is not an error here.
    fn run(&self, x: &[f64], out: &mut [f64]) -> Result<bool, Error> {
        match &self.runs {
            Runs::Machine(machine) => {
                let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut workspace = spare.unwrap_or_else(|| machine.workspace());
                let outcome = machine.run_into(x, out, &mut workspace);
                self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
                match outcome {
                    Ok(()) => Ok(true),
                    Err(cotangent_jit::RunError::Guard { .. }) => Ok(false),
                    Err(error) => Err(Error::Compiled(error.to_string())),
                }
            }
            Runs::Interpreter(program) => match program.run(x) {
                Ok(found) => {
                    out.copy_from_slice(&found);
                    Ok(true)
                }
                Err(ir::RunError::Guard { .. }) => Ok(false),
                Err(error) => Err(Error::Compiled(error.to_string())),
            },
        }
    }
}

/// Says once that there is no machine code, and why.
fn said(why: &JitError) {
    static ONCE: OnceLock<()> = OnceLock::new();
    if matches!(why, JitError::NoLlvm(_)) {
        ONCE.get_or_init(|| tracing::warn!("programs are interpreted: {why}"));
    } else {
        tracing::info!("a program is interpreted: {why}");
    }
}

impl Recording {
    fn new(program: ir::Function) -> Recording {
        Recording { program, engines: Default::default() }
    }

    /// The program that computes something.
    fn derived(&self, kind: Kind) -> Result<ir::Function, Error> {
        let f = &self.program;
        let derived = match kind {
            Kind::Value => Ok(f.clone()),
            Kind::Gradient => transform::gradient(f),
            Kind::Jacobian => transform::jacobian(f),
            Kind::Hessian => transform::hessian(f),
            Kind::Pushforward => transform::linearize(f),
            Kind::Pullback => transform::reverse(f),
            Kind::Hvp => transform::gradient(f).and_then(|g| transform::linearize(&simplify(&g))),
            Kind::Values => transform::batch(f, ir::Dim::Size(BLOCK), |_| true),
            Kind::Gradients => transform::gradient(f)
                .and_then(|g| transform::batch(&simplify(&g), ir::Dim::Size(BLOCK), |_| true)),
        };
        let program = derived.map_err(|e| Error::Compiled(e.to_string()))?;
        Ok(simplify(&program))
    }

    fn engine(&self, kind: Kind) -> Result<&Engine, Error> {
        let made = self.engines[kind as usize].get_or_init(|| Ok(Engine::new(self.derived(kind)?)));
        made.as_ref().map_err(Clone::clone)
    }
}

impl Compiled {
    fn of(program: &ir::Function, inputs: usize, again: Option<Again>) -> Compiled {
        let outputs = program.results().iter().map(|v| program.ty(*v).len().unwrap_or(0)).sum();
        let recordings = RwLock::new(vec![Arc::new(Recording::new(simplify(program)))]);
        Compiled { inputs, outputs, recordings, again }
    }

    /// A program of `cotangent-ir` whose dimensions are all known. Its arguments come one behind the other.
    ///
    /// # Errors
    /// A dimension that is not known, a program that is not well formed, derivatives in it that cannot be taken.
    pub fn program(program: &ir::Function) -> Result<Compiled, Error> {
        let wrong = |what: String| Error::Compiled(what);
        let program = transform::lower(program).map_err(|e| wrong(e.to_string()))?;
        let unknown = program.results().iter().any(|v| program.ty(*v).len().is_none());
        match program.inputs() {
            Some(inputs) if !unknown => Ok(Compiled::of(&program, inputs, None)),
            _ => Err(wrong(format!(
                "@{} has a dimension without a size; give it one first",
                program.name()
            ))),
        }
    }

    /// How many numbers go in and come out.
    pub fn sizes(&self) -> (usize, usize) {
        (self.inputs, self.outputs)
    }

    /// How many ways through the branches of the function have been recorded.
    pub fn recordings(&self) -> usize {
        self.recordings.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether the value is computed by machine code, not by the interpreter.
    ///
    /// # Errors
    /// As [`values`](Compiled::values).
    pub fn is_machine_code(&self) -> Result<bool, Error> {
        let recordings = self.recordings.read().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = recordings.first() else { return Ok(false) };
        Ok(matches!(first.engine(Kind::Value)?.runs, Runs::Machine(_)))
    }

    fn run(&self, kind: Kind, x: &[f64], out: &mut Vec<f64>) -> Result<(), Error> {
        let mut tried = 0;
        loop {
            let known: Vec<Arc<Recording>> = {
                let recordings = self.recordings.read().unwrap_or_else(PoisonError::into_inner);
                recordings.iter().skip(tried).cloned().collect()
            };
            for recording in &known {
                let engine = recording.engine(kind)?;
                out.resize(engine.gives, 0.0);
                if engine.run(x, out)? {
                    return Ok(());
                }
                tried += 1;
            }
            let Some(again) = &self.again else {
                let what = "a branch goes another way here than where the function was recorded; use `compile_at`";
                return Err(Error::Compiled(what.to_string()));
            };
            let program = simplify(&again(&x[..self.inputs])?);
            let same = {
                let recordings = self.recordings.read().unwrap_or_else(PoisonError::into_inner);
                recordings.iter().find(|known| known.program == program).cloned()
            };
            if let Some(recording) = same {
                // Just where a branch turns, and machine code rounds to the other side: what recorded it decides.
                let found = recording.derived(kind)?.run(x);
                *out = found.map_err(|error| Error::Compiled(error.to_string()))?;
                return Ok(());
            }
            let mut recordings = self.recordings.write().unwrap_or_else(PoisonError::into_inner);
            // Somebody else may have come first.
            if recordings.len() == tried {
                recordings.push(Arc::new(Recording::new(program)));
            }
        }
    }

    fn check(&self, x: &[f64]) -> Result<(), Error> {
        check_size(
            "x",
            self.inputs,
            x.len(),
            "give as many numbers as the function was compiled for",
        )
    }

    fn one_output(&self) -> Result<(), Error> {
        match self.outputs {
            1 => Ok(()),
            n => Err(Error::Compiled(format!(
                "a gradient is of one number, but the function gives {n}; ask for the Jacobian"
            ))),
        }
    }

    /// All outputs.
    ///
    /// # Errors
    /// Another number of inputs, and what the program raises.
    pub fn values(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        self.check(x)?;
        let mut out = Vec::new();
        self.run(Kind::Value, x, &mut out)?;
        Ok(out)
    }

    /// The output of a function that has one.
    ///
    /// # Errors
    /// As [`values`](Compiled::values); several outputs.
    pub fn value(&self, x: &[f64]) -> Result<f64, Error> {
        self.one_output()?;
        Ok(self.values(x)?[0])
    }

    /// The gradient of a function with one output.
    ///
    /// # Errors
    /// Another number of inputs, several outputs, and what the program raises.
    pub fn gradient(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(self.value_and_gradient(x)?.1)
    }

    /// The value and the gradient.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient).
    pub fn value_and_gradient(&self, x: &[f64]) -> Result<(f64, Vec<f64>), Error> {
        self.check(x)?;
        self.one_output()?;
        let mut out = Vec::new();
        self.run(Kind::Gradient, x, &mut out)?;
        let value = out.remove(0);
        Ok((value, out))
    }

    /// The value, and the gradient in place.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient).
    pub fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Error> {
        check_size(
            "the gradient",
            self.inputs,
            gradient.len(),
            "give as many places as there are inputs",
        )?;
        self.check(x)?;
        self.one_output()?;
        let mut out = Vec::new();
        self.run(Kind::Gradient, x, &mut out)?;
        gradient.copy_from_slice(&out[1..]);
        Ok(out[0])
    }

    /// The Jacobian.
    ///
    /// # Errors
    /// As [`values`](Compiled::values).
    pub fn jacobian(&self, x: &[f64]) -> Result<Matrix, Error> {
        self.check(x)?;
        let mut out = Vec::new();
        self.run(Kind::Jacobian, x, &mut out)?;
        let rows = self.result_sizes();
        Ok(self.blocks(&out[self.outputs..], &rows))
    }

    /// The Hessian of a function with one output.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient).
    pub fn hessian(&self, x: &[f64]) -> Result<Matrix, Error> {
        self.check(x)?;
        self.one_output()?;
        let mut out = Vec::new();
        self.run(Kind::Hessian, x, &mut out)?;
        let rows = self.param_sizes();
        Ok(self.blocks(&out[1 + self.inputs..], &rows))
    }

    /// The outputs, and the Jacobian times a vector.
    ///
    /// # Errors
    /// As [`values`](Compiled::values); a vector of another length.
    pub fn pushforward(&self, x: &[f64], v: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        self.along(Kind::Pushforward, x, v, self.inputs, self.outputs)
    }

    /// The outputs, and the transposed Jacobian times a vector.
    ///
    /// # Errors
    /// As [`values`](Compiled::values); a vector of another length.
    pub fn pullback(&self, x: &[f64], w: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        self.along(Kind::Pullback, x, w, self.outputs, self.outputs)
    }

    /// The gradient, and the Hessian times a vector.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient); a vector of another length.
    pub fn hvp(&self, x: &[f64], v: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        self.one_output()?;
        let n = self.inputs;
        let (first, rest) = self.along(Kind::Hvp, x, v, n, 1 + n)?;
        Ok((first[1..].to_vec(), rest[1..].to_vec()))
    }

    fn along(
        &self,
        kind: Kind,
        x: &[f64],
        v: &[f64],
        len: usize,
        first: usize,
    ) -> Result<(Vec<f64>, Vec<f64>), Error> {
        self.check(x)?;
        check_size("the vector", len, v.len(), "give one number for each")?;
        let mut out = Vec::new();
        self.run(kind, &[x, v].concat(), &mut out)?;
        let rest = out.split_off(first);
        Ok((out, rest))
    }

    /// All outputs at many points, given one behind the other: points are the lanes of vectors.
    ///
    /// # Errors
    /// Numbers that are no whole number of points, and what the program raises; a function with branches.
    pub fn values_many(&self, points: &[f64]) -> Result<Vec<f64>, Error> {
        self.many(Kind::Values, points, self.outputs)
    }

    /// The values at many points, each with its gradient behind it.
    ///
    /// # Errors
    /// As [`values_many`](Compiled::values_many); several outputs.
    pub fn gradients_many(&self, points: &[f64]) -> Result<Vec<f64>, Error> {
        self.one_output()?;
        self.many(Kind::Gradients, points, 1 + self.inputs)
    }

    fn many(&self, kind: Kind, points: &[f64], gives: usize) -> Result<Vec<f64>, Error> {
        let n = self.inputs;
        if !points.len().is_multiple_of(n) {
            let what = format!("{} numbers are no whole number of points of {n}", points.len());
            return Err(Error::Compiled(what));
        }
        let count = points.len() / n;
        let params = self.param_sizes();
        let results: Vec<usize> = match kind {
            Kind::Gradients => std::iter::once(1).chain(params.iter().copied()).collect(),
            _ => self.result_sizes(),
        };
        let mut all = vec![0.0; count * gives];
        let (mut x, mut out) = (vec![0.0; BLOCK * n], Vec::new());
        for (block, to) in points.chunks(BLOCK * n).zip(all.chunks_mut(BLOCK * gives)) {
            // Parameter by parameter, point by point; a last block that is not full repeats its last point.
            let here = block.len() / n;
            let mut from = 0;
            for size in &params {
                for p in 0..BLOCK {
                    let point = &block[p.min(here - 1) * n..][..n];
                    x[from * BLOCK + p * size..][..*size]
                        .copy_from_slice(&point[from..from + size]);
                }
                from += size;
            }
            self.run(kind, &x, &mut out)?;
            let mut from = 0;
            for size in &results {
                for p in 0..here {
                    to[p * gives + from..][..*size]
                        .copy_from_slice(&out[from * BLOCK + p * size..][..*size]);
                }
                from += size;
            }
        }
        Ok(all)
    }

    fn param_sizes(&self) -> Vec<usize> {
        self.with_program(|f| f.params().iter().map(|p| p.ty.len().unwrap_or(0)).collect())
    }

    fn result_sizes(&self) -> Vec<usize> {
        self.with_program(|f| f.results().iter().map(|v| f.ty(*v).len().unwrap_or(0)).collect())
    }

    fn with_program<T: Default>(&self, f: impl FnOnce(&ir::Function) -> T) -> T {
        let recordings = self.recordings.read().unwrap_or_else(PoisonError::into_inner);
        recordings.first().map_or_else(T::default, |recording| f(&recording.program))
    }

    /// A matrix from blocks: for each of some groups of rows, for each parameter.
    fn blocks(&self, numbers: &[f64], rows: &[usize]) -> Matrix {
        let columns = self.param_sizes();
        let mut matrix = Matrix::filled(rows.iter().sum(), self.inputs, 0.0);
        let (mut at, mut top) = (0, 0);
        for height in rows {
            let mut left = 0;
            for width in &columns {
                for i in 0..*height {
                    for j in 0..*width {
                        matrix[(top + i, left + j)] = numbers[at];
                        at += 1;
                    }
                }
                left += width;
            }
            top += height;
        }
        matrix
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("inputs", &self.inputs)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}

/// What machine code is made by: which LLVM, for which processor.
///
/// # Errors
/// Why there is none.
pub fn machine() -> Result<&'static Llvm, &'static str> {
    Llvm::get()
}
