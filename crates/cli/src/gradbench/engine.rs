//! How the programs of the evaluations are run. Nothing else here knows by what.

use cotangent_ir::Function;
use cotangent_optimize::simplify;

/// A program that is ready to run.
pub(crate) struct Prepared {
    function: Function,
}

impl Prepared {
    /// Optimises a program.
    ///
    /// # Errors
    /// A program that is not well formed.
    #[allow(clippy::needless_pass_by_value, reason = "what compiles it may keep it")]
    pub(crate) fn new(function: Function) -> Result<Prepared, String> {
        function.verify().map_err(|e| e.to_string())?;
        Ok(Prepared { function: simplify(&function) })
    }

    /// Runs it: arguments one after the other, arrays row by row, and results in the same way.
    ///
    /// # Errors
    /// Another number of inputs than it takes, and what goes wrong in a run.
    pub(crate) fn run(&self, inputs: &[f64], outputs: &mut Vec<f64>) -> Result<(), String> {
        *outputs = self.function.run(inputs).map_err(|e| e.to_string())?;
        Ok(())
    }
}
