//! How the programs of the evaluations are run. Nothing else here knows by what.

use std::sync::{Mutex, PoisonError};

use cotangent_ir::Function;
use cotangent_jit::{Compiled, Options, Workspace};
use cotangent_optimize::simplify;

/// A program that is ready to run: as machine code, or interpreted where there is none.
pub(crate) enum Prepared {
    /// Machine code, and memory for it.
    Machine(Compiled, Mutex<Workspace>),
    /// The program itself.
    Interpreter(Function),
}

impl Prepared {
    /// Optimises and compiles a program.
    ///
    /// # Errors
    /// A program that is not well formed.
    #[allow(clippy::needless_pass_by_value, reason = "what interprets it keeps it")]
    pub(crate) fn new(function: Function) -> Result<Prepared, String> {
        function.verify().map_err(|e| e.to_string())?;
        let function = simplify(&function);
        Ok(match Compiled::new(&function, &Options::default()) {
            Ok(compiled) => {
                let workspace = Mutex::new(compiled.workspace());
                Prepared::Machine(compiled, workspace)
            }
            Err(_) => Prepared::Interpreter(function),
        })
    }

    /// Runs it: arguments one after the other, arrays row by row, and results in the same way.
    ///
    /// # Errors
    /// Another number of inputs than it takes, and what goes wrong in a run.
    pub(crate) fn run(&self, inputs: &[f64], outputs: &mut Vec<f64>) -> Result<(), String> {
        match self {
            Prepared::Machine(compiled, workspace) => {
                outputs.resize(compiled.lens().1, 0.0);
                let mut workspace = workspace.lock().unwrap_or_else(PoisonError::into_inner);
                compiled.run_into(inputs, outputs, &mut workspace).map_err(|e| e.to_string())
            }
            Prepared::Interpreter(function) => {
                *outputs = function.run(inputs).map_err(|e| e.to_string())?;
                Ok(())
            }
        }
    }
}
