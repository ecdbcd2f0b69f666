//! Closures over recorded variables: no generics to write.

use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cotangent_numbers::fault::raise;
use cotangent_numbers::{Fault, Program, Scalar, Var};

use crate::function::{Arity, Context, Differentiable, Many, One};

/// What a closure over recorded variables may return.
pub trait Outputs {
    /// One output or a slice.
    type Arity: Arity;

    /// The outputs.
    fn collect(self) -> Vec<Var>;
}

impl Outputs for Var {
    type Arity = One;

    fn collect(self) -> Vec<Var> {
        vec![self]
    }
}

impl Outputs for Vec<Var> {
    type Arity = Many;

    fn collect(self) -> Vec<Var> {
        self
    }
}

impl<const N: usize> Outputs for [Var; N] {
    type Arity = Many;

    fn collect(self) -> Vec<Var> {
        self.to_vec()
    }
}

/// A function of a closure over recorded variables.
///
/// Wherever the derivative calls the function (once for each chunk of directions in forward mode, once
/// in reverse mode), the closure is recorded at the point, and the recording is run on the numbers that
/// the derivative needs. It can capture anything, and be any closure; a generic function
/// ([`function!`](crate::function)) is faster, because it runs on those numbers itself.
///
/// ```
/// use cotangent::prelude::*;
/// use cotangent::recorded;
///
/// let weights = vec![1.0, 2.0, 3.0];
/// let f = recorded(|x| {
///     x.iter().zip(&weights).map(|(x, w)| if *x > 0.0 { *x * *w } else { *x * *x }).sum::<Var>()
/// });
/// assert_eq!(gradient(&f, &Auto, &[1.0, -1.0, 2.0])?, [1.0, -2.0, 3.0]);
/// assert_eq!(hessian(&f, &Auto, &[1.0, -1.0, 2.0])?[(1, 1)], 2.0);
/// # Ok::<(), cotangent::Error>(())
/// ```
pub fn recorded<F, R>(f: F) -> Recorded<F, R>
where
    F: Fn(&[Var]) -> R,
    R: Outputs,
{
    Recorded { f, sample: Mutex::new(Vec::new()), outputs: PhantomData }
}

/// A closure over recorded variables as a function, made by [`recorded`].
#[derive(Debug)]
pub struct Recorded<F, R> {
    f: F,
    /// The last plain point it was asked at: where it is recorded for numbers that have no value. What
    /// it is matters only to branches, and those are errors on such numbers.
    sample: Mutex<Vec<f64>>,
    outputs: PhantomData<fn() -> R>,
}

impl<F: Clone, R> Clone for Recorded<F, R> {
    fn clone(&self) -> Self {
        let sample = self.sample.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Recorded { f: self.f.clone(), sample: Mutex::new(sample), outputs: PhantomData }
    }
}

impl<F, R> Recorded<F, R>
where
    F: Fn(&[Var]) -> R,
    R: Outputs,
{
    fn sample(&self) -> MutexGuard<'_, Vec<f64>> {
        self.sample.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The closure as a program, recorded at a point.
    fn program(&self, x: &[f64]) -> Program {
        match Program::record(x, |x| (self.f)(x).collect()) {
            Ok(program) => program,
            Err(fault) => raise(fault),
        }
    }
}

impl<F, R> Differentiable for Recorded<F, R>
where
    F: Fn(&[Var]) -> R,
    R: Outputs,
{
    type Input = Many;
    type Output = R::Arity;

    fn outputs(&self, x: &[f64], _: &[f64]) -> usize {
        *self.sample() = x.to_vec();
        self.program(x).outputs()
    }

    fn call<S: Scalar>(&self, x: &[S], y: &mut [S], _: Context<'_, S>) {
        let point: Option<Vec<f64>> = x.iter().map(|x| x.sample()).collect();
        let point = point.unwrap_or_else(|| {
            let mut point = self.sample().clone();
            point.resize(x.len(), 0.0);
            point
        });
        let program = self.program(&point);
        if program.outputs() != y.len() {
            let (expected, found) = (y.len(), program.outputs());
            let name = "the function".to_string();
            raise(Fault::Length { name, what: "what it returned", expected, found });
        }
        if let Err(fault) = program.evaluate(x, y) {
            raise(fault);
        }
    }
}
