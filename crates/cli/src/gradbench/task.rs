//! What an evaluation is made of: programs, inputs, and the shape of the answer.

use std::fmt::Display;

use cotangent::Compiled;
use cotangent_ir::{Builder, Function};
use serde_json::Value;

/// Makes the programs of an evaluation, of one shape.
type Prepare = Box<dyn Fn() -> Result<Vec<Compiled>, String>>;
/// Runs them once.
type Run = Box<dyn Fn(&[Compiled], &mut Vec<f64>) -> Result<(), String> + Send + Sync>;
/// The numbers that come out as JSON.
type Answer = Box<dyn Fn(&[f64]) -> Value>;

/// One evaluation of one function of a module.
pub(crate) struct Task {
    /// All that the programs depend on: the shape of the input.
    pub(crate) shape: String,
    /// Makes the programs.
    pub(crate) prepare: Prepare,
    /// Runs them.
    pub(crate) run: Run,
    /// Writes what came out.
    pub(crate) answer: Answer,
}

impl Task {
    /// An evaluation that is one run of one program.
    pub(super) fn program(
        shape: String,
        inputs: Vec<f64>,
        program: impl Fn() -> Result<Function, String> + 'static,
        answer: impl Fn(&[f64]) -> Value + 'static,
    ) -> Task {
        Task {
            shape,
            prepare: Box::new(move || Ok(vec![compiled(&program()?)?])),
            run: Box::new(move |programs, outputs| match programs {
                [program, ..] => run(program, &inputs, outputs),
                [] => Err("there is no program to run".to_string()),
            }),
            answer: Box::new(answer),
        }
    }
}

/// A program as machine code, or interpreted where there is none.
pub(super) fn compiled(program: &Function) -> Result<Compiled, String> {
    let compiled = Compiled::program(program).map_err(failed)?;
    compiled.prepare().map_err(failed)?;
    Ok(compiled)
}

/// Runs a program: arguments one after the other, arrays row by row, and results in the same way.
pub(super) fn run(program: &Compiled, x: &[f64], outputs: &mut Vec<f64>) -> Result<(), String> {
    outputs.resize(program.sizes().1, 0.0);
    program.values_into(x, outputs).map_err(failed)
}

/// An error of a crate below, as text.
pub(super) fn failed(error: impl Display) -> String {
    error.to_string()
}

/// A function that the module does not have.
pub(super) fn unknown(function: &str, known: &[&str]) -> String {
    format!("there is no function `{function}`; there are {}", known.join(", "))
}

/// A function without its first results: what nobody asks for is not computed.
pub(super) fn without_first(f: &Function, count: usize) -> Function {
    let mut b = Builder::new(f.name());
    let args = b.params_of(f.params());
    let results = b.inline(f, &args);
    b.finish(results.into_iter().skip(count).collect())
}

/// The only number.
pub(super) fn scalar(numbers: &[f64]) -> Value {
    numbers.first().map_or(Value::Null, |x| Value::from(*x))
}

/// A list of numbers.
pub(super) fn list(numbers: &[f64]) -> Value {
    numbers.iter().map(|x| Value::from(*x)).collect()
}

/// Lists of so many numbers.
pub(super) fn rows(numbers: &[f64], columns: usize) -> Value {
    numbers.chunks(columns.max(1)).map(list).collect()
}
