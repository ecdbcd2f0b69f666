//! A compiled function: its values and derivatives at a point.

use std::fmt;

use cotangent_ir as ir;
use cotangent_transform as transform;

use super::Again;
use super::recording::{By, Engine, Kind, Recording, Recordings};
use super::sparse::Which;
use crate::error::check_size;
use crate::{Error, Matrix, Real};

/// A function as machine code, with its derivatives. Many threads may use it.
///
/// It takes and gives doubles, and computes in them; [`in_singles`](Compiled::in_singles) makes it one of singles.
pub struct Compiled<T: Real = f64> {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// One for each way through the branches.
    pub(super) recordings: Recordings<T>,
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

    /// The function in singles: it takes and gives `f32`, and vectors have twice as many lanes. Derivatives are taken and simplified in
    /// doubles; then all numbers of the programs, constants included, are rounded once. What has been compiled is compiled anew.
    ///
    /// ```
    /// use cotangent::prelude::*;
    /// use cotangent::{Compiled, compile};
    ///
    /// let f = function!(|x: &[S]| -> S { x.iter().map(|x| x.exp()).sum::<S>().ln() });
    /// let f: Compiled<f32> = compile(f, 4)?.in_singles();
    /// let x = [0.1_f32, 0.2, 0.3, 0.4];
    /// let mut g = [0.0_f32; 4];
    /// let value: f32 = f.gradient_into(&x, &mut g)?;
    /// assert!((value - 1.642_535).abs() < 1e-5);
    /// assert!((g.iter().sum::<f32>() - 1.0).abs() < 1e-6);
    /// # Ok::<(), cotangent::Error>(())
    /// ```
    ///
    /// Where a branch turns within the rounding of singles ([`compile_at`](crate::compile_at)), doubles decide.
    #[must_use]
    pub fn in_singles(self) -> Compiled<f32> {
        let Compiled { inputs, outputs, recordings, again } = self;
        Compiled { inputs, outputs, recordings: recordings.of(), again }
    }
}

impl<T: Real> Compiled<T> {
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
    pub fn in_recorded_order(self) -> Self {
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
    pub(super) fn run(&self, kind: Kind, x: &[&[T]], out: &mut [&mut [T]]) -> Result<(), Error> {
        match &self.again {
            Some(again) => {
                let anew = || again(&doubles(&x[0][..self.inputs]));
                self.recordings.run(kind, x, out, Some(&anew))
            }
            None => self.recordings.run(kind, x, out, None),
        }
    }

    /// Tries something on the recording that goes the way of a point.
    pub(super) fn on<R>(
        &self,
        x: &[T],
        attempt: impl FnMut(&Recording<T>, By) -> Result<Option<R>, Error>,
    ) -> Result<R, Error> {
        match &self.again {
            Some(again) => self.recordings.on(Some(&|| again(&doubles(x))), attempt),
            None => self.recordings.on(None, attempt),
        }
    }

    /// The program that computes something, as it was first recorded, with parameters and results in arrays as they are.
    pub(super) fn in_arrays(&self, kind: Kind) -> Result<ir::Function, Error> {
        self.recordings.first.in_arrays(kind)
    }

    pub(super) fn check(&self, x: &[T]) -> Result<(), Error> {
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
    pub fn values(&self, x: &[T]) -> Result<Vec<T>, Error> {
        let mut out = vec![T::zero(); self.outputs];
        self.values_into(x, &mut out)?;
        Ok(out)
    }

    /// All outputs, in place.
    ///
    /// # Errors
    /// As [`values`](Compiled::values); another number of places than outputs.
    pub fn values_into(&self, x: &[T], values: &mut [T]) -> Result<(), Error> {
        self.check(x)?;
        places("the values", self.outputs, values)?;
        self.run(Kind::Value, &[x], &mut [values])
    }

    /// The output of a function that has one.
    ///
    /// # Errors
    /// As [`values`](Compiled::values); several outputs.
    pub fn value(&self, x: &[T]) -> Result<T, Error> {
        self.one_output()?;
        let mut value = [T::zero()];
        self.values_into(x, &mut value)?;
        Ok(value[0])
    }

    /// The gradient of a function with one output.
    ///
    /// # Errors
    /// Another number of inputs, several outputs, and what the program raises.
    pub fn gradient(&self, x: &[T]) -> Result<Vec<T>, Error> {
        Ok(self.value_and_gradient(x)?.1)
    }

    /// The value and the gradient.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient).
    pub fn value_and_gradient(&self, x: &[T]) -> Result<(T, Vec<T>), Error> {
        let mut gradient = vec![T::zero(); self.inputs];
        let value = self.gradient_into(x, &mut gradient)?;
        Ok((value, gradient))
    }

    /// The value, and the gradient in place.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient); another number of places than inputs.
    pub fn gradient_into(&self, x: &[T], gradient: &mut [T]) -> Result<T, Error> {
        self.one_output()?;
        self.check(x)?;
        places("the gradient", self.inputs, gradient)?;
        let mut value = [T::zero()];
        self.run(Kind::Gradient, &[x], &mut [&mut value, gradient])?;
        Ok(value[0])
    }

    /// The Jacobian.
    ///
    /// # Errors
    /// As [`values`](Compiled::values).
    pub fn jacobian(&self, x: &[T]) -> Result<Matrix<T>, Error> {
        let mut matrix = Matrix::try_filled(self.outputs, self.inputs, T::zero())?;
        self.jacobian_into(x, &mut vec![T::zero(); self.outputs], &mut matrix)?;
        Ok(matrix)
    }

    /// The outputs and the [Jacobian](Compiled::jacobian) in place.
    ///
    /// # Errors
    /// As [`values_into`](Compiled::values_into); a matrix of another size.
    pub fn jacobian_into(
        &self,
        x: &[T],
        values: &mut [T],
        matrix: &mut Matrix<T>,
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
    pub fn hessian(&self, x: &[T]) -> Result<Matrix<T>, Error> {
        let mut matrix = Matrix::try_filled(self.inputs, self.inputs, T::zero())?;
        self.hessian_into(x, &mut vec![T::zero(); 1 + self.inputs], &mut matrix)?;
        Ok(matrix)
    }

    /// The value with the gradient behind it, and the [Hessian](Compiled::hessian), in place.
    ///
    /// # Errors
    /// As [`gradient`](Compiled::gradient); another number of places than 1 + inputs; a matrix of another size.
    pub fn hessian_into(
        &self,
        x: &[T],
        value_and_gradient: &mut [T],
        matrix: &mut Matrix<T>,
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
    pub fn pushforward(&self, x: &[T], v: &[T]) -> Result<(Vec<T>, Vec<T>), Error> {
        let (mut values, mut image) =
            (vec![T::zero(); self.outputs], vec![T::zero(); self.outputs]);
        self.pushforward_into(x, v, &mut values, &mut image)?;
        Ok((values, image))
    }

    /// [`pushforward`](Compiled::pushforward) in place.
    ///
    /// # Errors
    /// As [`pushforward`](Compiled::pushforward); another number of places than outputs.
    pub fn pushforward_into(
        &self,
        x: &[T],
        v: &[T],
        values: &mut [T],
        image: &mut [T],
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
    pub fn pullback(&self, x: &[T], w: &[T]) -> Result<(Vec<T>, Vec<T>), Error> {
        let (mut values, mut image) = (vec![T::zero(); self.outputs], vec![T::zero(); self.inputs]);
        self.pullback_into(x, w, &mut values, &mut image)?;
        Ok((values, image))
    }

    /// [`pullback`](Compiled::pullback) in place.
    ///
    /// # Errors
    /// As [`pullback`](Compiled::pullback); another number of places than outputs and inputs.
    pub fn pullback_into(
        &self,
        x: &[T],
        w: &[T],
        values: &mut [T],
        image: &mut [T],
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
    pub fn hvp(&self, x: &[T], v: &[T]) -> Result<(Vec<T>, Vec<T>), Error> {
        let (mut gradient, mut product) =
            (vec![T::zero(); self.inputs], vec![T::zero(); self.inputs]);
        self.hvp_into(x, v, &mut gradient, &mut product)?;
        Ok((gradient, product))
    }

    /// [`hvp`](Compiled::hvp) in place; gives the value and its derivative along the vector.
    ///
    /// # Errors
    /// As [`hvp`](Compiled::hvp); another number of places than inputs.
    pub fn hvp_into(
        &self,
        x: &[T],
        v: &[T],
        gradient: &mut [T],
        product: &mut [T],
    ) -> Result<(T, T), Error> {
        self.one_output()?;
        self.check(x)?;
        vector(self.inputs, v)?;
        places("the gradient", self.inputs, gradient)?;
        places("the product", self.inputs, product)?;
        let (mut value, mut slope) = ([T::zero()], [T::zero()]);
        let out: &mut [&mut [T]] = &mut [&mut value, gradient, &mut slope, product];
        self.run(Kind::Hvp, &[x, v], out)?;
        Ok((value[0], slope[0]))
    }
}

/// The point at which a function is recorded anew.
fn doubles<T: Real>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| (*x).into()).collect()
}

fn places<T>(what: &'static str, expected: usize, given: &[T]) -> Result<(), Error> {
    check_size(what, expected, given.len(), "give a place for each number")
}

fn size_of<T: Real>(matrix: &Matrix<T>, rows: usize, columns: usize) -> Result<(), Error> {
    let remedy = "give a matrix with a row for each output and a column for each input";
    check_size("the rows of the matrix", rows, matrix.nrows(), remedy)?;
    check_size("the columns of the matrix", columns, matrix.ncols(), remedy)
}

fn vector<T>(expected: usize, given: &[T]) -> Result<(), Error> {
    check_size("the vector", expected, given.len(), "give one number for each")
}

impl<T: Real> fmt::Debug for Compiled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("inputs", &self.inputs)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}
