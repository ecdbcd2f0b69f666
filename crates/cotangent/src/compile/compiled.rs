//! A compiled function: its values and derivatives at a point.

use std::fmt;

use cotangent_ir as ir;
use cotangent_transform as transform;

use super::Again;
use super::recording::{Engine, Kind, Recordings};
use crate::error::check_size;
use crate::{Error, Matrix};

/// A function as machine code, with its derivatives. Many threads may use it.
pub struct Compiled {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// One for each way through the branches.
    recordings: Recordings,
    again: Option<Again>,
}

impl Compiled {
    pub(super) fn of(program: &ir::Function, inputs: usize, again: Option<Again>) -> Compiled {
        let outputs = program.results().iter().map(|v| program.ty(*v).len().unwrap_or(0)).sum();
        let recordings = Recordings::new(program, usize::MAX);
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
        self.recordings.len()
    }

    /// Compiles the function itself now, not when it is first asked for.
    ///
    /// # Errors
    /// What stands in the way of both machine code and an interpreter.
    pub fn prepare(&self) -> Result<(), Error> {
        self.is_machine_code().map(drop)
    }

    /// Whether the value is computed by machine code, not by the interpreter.
    ///
    /// # Errors
    /// As [`values`](Compiled::values).
    pub fn is_machine_code(&self) -> Result<bool, Error> {
        let Some(first) = self.recordings.get(0) else { return Ok(false) };
        Ok(matches!(first.engine(Kind::Value)?, Engine::Machine(..)))
    }

    /// Runs what computes something; the point comes first in `x`.
    pub(super) fn run(
        &self,
        kind: Kind,
        x: &[&[f64]],
        out: &mut [&mut [f64]],
    ) -> Result<(), Error> {
        match &self.again {
            Some(again) => self.recordings.run(kind, x, out, Some(&|| again(&x[0][..self.inputs]))),
            None => self.recordings.run(kind, x, out, None),
        }
    }

    /// The program that computes something, as it was first recorded.
    pub(super) fn derived(&self, kind: Kind) -> Result<ir::Function, Error> {
        match self.recordings.get(0) {
            Some(recording) => recording.derived(kind),
            None => Err(Error::Compiled("there is no recording".to_string())),
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

    pub(super) fn one_output(&self) -> Result<(), Error> {
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
        let mut out = vec![0.0; self.outputs];
        self.values_into(x, &mut out)?;
        Ok(out)
    }

    /// All outputs, in place.
    ///
    /// # Errors
    /// As [`values`](Compiled::values); another number of places than outputs.
    pub fn values_into(&self, x: &[f64], values: &mut [f64]) -> Result<(), Error> {
        self.check(x)?;
        places("the values", self.outputs, values)?;
        self.run(Kind::Value, &[x], &mut [values])
    }

    /// The output of a function that has one.
    ///
    /// # Errors
    /// As [`values`](Compiled::values); several outputs.
    pub fn value(&self, x: &[f64]) -> Result<f64, Error> {
        self.one_output()?;
        let mut value = [0.0];
        self.values_into(x, &mut value)?;
        Ok(value[0])
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
        let mut gradient = vec![0.0; self.inputs];
        let value = self.gradient_into(x, &mut gradient)?;
        Ok((value, gradient))
    }

    /// The value, and the gradient in place.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient); another number of places than inputs.
    pub fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Error> {
        self.one_output()?;
        self.check(x)?;
        places("the gradient", self.inputs, gradient)?;
        let mut value = [0.0];
        self.run(Kind::Gradient, &[x], &mut [&mut value, gradient])?;
        Ok(value[0])
    }

    /// The Jacobian.
    ///
    /// # Errors
    /// As [`values`](Compiled::values).
    pub fn jacobian(&self, x: &[f64]) -> Result<Matrix, Error> {
        self.check(x)?;
        let mut values = vec![0.0; self.outputs];
        let mut entries = vec![0.0; self.outputs * self.inputs];
        self.run(Kind::Jacobian, &[x], &mut [&mut values, &mut entries])?;
        let rows = self.result_sizes();
        Ok(self.blocks(&entries, &rows))
    }

    /// The Hessian of a function with one output.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient).
    pub fn hessian(&self, x: &[f64]) -> Result<Matrix, Error> {
        self.one_output()?;
        self.check(x)?;
        let (mut value, mut gradient) = ([0.0], vec![0.0; self.inputs]);
        let mut entries = vec![0.0; self.inputs * self.inputs];
        self.run(Kind::Hessian, &[x], &mut [&mut value, &mut gradient, &mut entries])?;
        let rows = self.param_sizes();
        Ok(self.blocks(&entries, &rows))
    }

    /// The outputs, and the Jacobian times a vector.
    ///
    /// # Errors
    /// As [`values`](Compiled::values); a vector of another length.
    pub fn pushforward(&self, x: &[f64], v: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let (mut values, mut image) = (vec![0.0; self.outputs], vec![0.0; self.outputs]);
        self.pushforward_into(x, v, &mut values, &mut image)?;
        Ok((values, image))
    }

    /// [`pushforward`](Compiled::pushforward) in place.
    ///
    /// # Errors
    /// As [`pushforward`](Compiled::pushforward); another number of places than outputs.
    pub fn pushforward_into(
        &self,
        x: &[f64],
        v: &[f64],
        values: &mut [f64],
        image: &mut [f64],
    ) -> Result<(), Error> {
        self.check(x)?;
        vector(self.inputs, v)?;
        places("the values", self.outputs, values)?;
        places("the image", self.outputs, image)?;
        self.run(Kind::Pushforward, &[x, v], &mut [values, image])
    }

    /// The outputs, and the transposed Jacobian times a vector.
    ///
    /// # Errors
    /// As [`values`](Compiled::values); a vector of another length.
    pub fn pullback(&self, x: &[f64], w: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let (mut values, mut image) = (vec![0.0; self.outputs], vec![0.0; self.inputs]);
        self.pullback_into(x, w, &mut values, &mut image)?;
        Ok((values, image))
    }

    /// [`pullback`](Compiled::pullback) in place.
    ///
    /// # Errors
    /// As [`pullback`](Compiled::pullback); another number of places than outputs and inputs.
    pub fn pullback_into(
        &self,
        x: &[f64],
        w: &[f64],
        values: &mut [f64],
        image: &mut [f64],
    ) -> Result<(), Error> {
        self.check(x)?;
        vector(self.outputs, w)?;
        places("the values", self.outputs, values)?;
        places("the image", self.inputs, image)?;
        self.run(Kind::Pullback, &[x, w], &mut [values, image])
    }

    /// The gradient, and the Hessian times a vector.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient); a vector of another length.
    pub fn hvp(&self, x: &[f64], v: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let (mut gradient, mut product) = (vec![0.0; self.inputs], vec![0.0; self.inputs]);
        self.hvp_into(x, v, &mut gradient, &mut product)?;
        Ok((gradient, product))
    }

    /// [`hvp`](Compiled::hvp) in place; gives the value and its derivative along the vector.
    ///
    /// # Errors
    /// As [`hvp`](Compiled::hvp); another number of places than inputs.
    pub fn hvp_into(
        &self,
        x: &[f64],
        v: &[f64],
        gradient: &mut [f64],
        product: &mut [f64],
    ) -> Result<(f64, f64), Error> {
        self.one_output()?;
        self.check(x)?;
        vector(self.inputs, v)?;
        places("the gradient", self.inputs, gradient)?;
        places("the product", self.inputs, product)?;
        let (mut value, mut slope) = ([0.0], [0.0]);
        let out: &mut [&mut [f64]] = &mut [&mut value, gradient, &mut slope, product];
        self.run(Kind::Hvp, &[x, v], out)?;
        Ok((value[0], slope[0]))
    }

    pub(super) fn param_sizes(&self) -> Vec<usize> {
        self.with_program(|f| f.params().iter().map(|p| p.ty.len().unwrap_or(0)).collect())
    }

    pub(super) fn result_sizes(&self) -> Vec<usize> {
        self.with_program(|f| f.results().iter().map(|v| f.ty(*v).len().unwrap_or(0)).collect())
    }

    fn with_program<T: Default>(&self, f: impl FnOnce(&ir::Function) -> T) -> T {
        self.recordings.get(0).map_or_else(T::default, |recording| f(&recording.program))
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

fn places(what: &'static str, expected: usize, given: &[f64]) -> Result<(), Error> {
    check_size(what, expected, given.len(), "give a place for each number")
}

fn vector(expected: usize, given: &[f64]) -> Result<(), Error> {
    check_size("the vector", expected, given.len(), "give one number for each")
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("inputs", &self.inputs)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}
