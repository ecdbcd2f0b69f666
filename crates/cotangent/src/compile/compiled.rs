//! A compiled function: its values and derivatives at a point.

use std::fmt;

use cotangent_ir as ir;
use cotangent_transform as transform;

use super::Again;
use super::recording::{By, Engine, Kind, Recording, Recordings};
use super::sparse::Which;
use crate::error::check_size;
use crate::{Error, Matrix};

/// A function as machine code, with its derivatives. Many threads may use it.
pub struct Compiled {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// One for each way through the branches.
    pub(super) recordings: Recordings,
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

    /// The function with its operations in the order in which they were recorded. Without this, plain code that repeats itself becomes
    /// kernels, whose sums machine code adds up in lanes: faster, always in the same order, but not in that of the code.
    ///
    /// ```
    /// use cotangent::prelude::*;
    /// use cotangent::compile;
    ///
    /// let f = function!(|x: &[S]| -> S { x.iter().copied().sum::<S>() });
    /// let x: Vec<f64> = (0..1000).map(|i| f64::from(i).sin()).collect();
    /// let sum = compile(f, 1000)?.in_recorded_order().value(&x)?;
    /// assert_eq!(sum, x.iter().sum::<f64>());
    /// # Ok::<(), cotangent::Error>(())
    /// ```
    #[must_use]
    pub fn in_recorded_order(self) -> Compiled {
        Compiled { recordings: self.recordings.in_recorded_order(), ..self }
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
        Ok(matches!(self.recordings.first.engine(Kind::Value)?, Engine::Machine(..)))
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

    /// Tries something on the recording that goes the way of a point.
    pub(super) fn on<T>(
        &self,
        x: &[f64],
        attempt: impl FnMut(&Recording, By) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        match &self.again {
            Some(again) => self.recordings.on(Some(&|| again(x)), attempt),
            None => self.recordings.on(None, attempt),
        }
    }

    /// The program that computes something, as it was first recorded, with parameters and results in arrays as they are.
    pub(super) fn in_arrays(&self, kind: Kind) -> Result<ir::Function, Error> {
        self.recordings.first.in_arrays(kind)
    }

    pub(super) fn check(&self, x: &[f64]) -> Result<(), Error> {
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
        let mut matrix = Matrix::try_filled(self.outputs, self.inputs, 0.0)?;
        self.jacobian_into(x, &mut vec![0.0; self.outputs], &mut matrix)?;
        Ok(matrix)
    }

    /// The outputs and the [Jacobian](Compiled::jacobian) in place.
    ///
    /// # Errors
    /// As [`values_into`](Compiled::values_into); a matrix of another size.
    pub fn jacobian_into(
        &self,
        x: &[f64],
        values: &mut [f64],
        matrix: &mut Matrix,
    ) -> Result<(), Error> {
        self.check(x)?;
        places("the values", self.outputs, values)?;
        size_of(matrix, self.outputs, self.inputs)?;
        self.dense_into(Which::Jacobian, x, values, matrix)
    }

    /// The Hessian of a function with one output.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient).
    pub fn hessian(&self, x: &[f64]) -> Result<Matrix, Error> {
        let mut matrix = Matrix::try_filled(self.inputs, self.inputs, 0.0)?;
        self.hessian_into(x, &mut vec![0.0; 1 + self.inputs], &mut matrix)?;
        Ok(matrix)
    }

    /// The value with the gradient behind it, and the [Hessian](Compiled::hessian), in place.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient); another number of places than 1 + inputs; a matrix of another size.
    pub fn hessian_into(
        &self,
        x: &[f64],
        value_and_gradient: &mut [f64],
        matrix: &mut Matrix,
    ) -> Result<(), Error> {
        self.one_output()?;
        self.check(x)?;
        places("value and gradient", 1 + self.inputs, value_and_gradient)?;
        size_of(matrix, self.inputs, self.inputs)?;
        self.dense_into(Which::Hessian, x, value_and_gradient, matrix)
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
}

fn places(what: &'static str, expected: usize, given: &[f64]) -> Result<(), Error> {
    check_size(what, expected, given.len(), "give a place for each number")
}

fn size_of(matrix: &Matrix, rows: usize, columns: usize) -> Result<(), Error> {
    let remedy = "give a matrix with a row for each output and a column for each input";
    check_size("the rows of the matrix", rows, matrix.nrows(), remedy)?;
    check_size("the columns of the matrix", columns, matrix.ncols(), remedy)
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
