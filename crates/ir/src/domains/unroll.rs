//! A function without arrays and bodies that does the same.

use crate::function::Function;
use crate::interpret::RunError;
use crate::machine::Machine;
use crate::structure::Structure;
use crate::trace::{Traced, trace};
use cotangent_numbers::Fault;

/// Why a function could not be unrolled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UnrollError {
    /// A parameter that is no number.
    #[error(
        "@{function} takes %{param}, which is {ty}; only numbers can be left open, give it first"
    )]
    Parameter {
        /// The name of the function.
        function: String,
        /// The name of the parameter.
        param: String,
        /// Its type.
        ty: String,
    },
    /// Guards together with arrays or bodies.
    #[error(
        "@{function} or a function that it calls has guards, which are lost when it is unrolled"
    )]
    Guard {
        /// The name of the function.
        function: String,
    },
    /// A loop or an index that the inputs decide.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What tracing raised.
    #[error(transparent)]
    Trace(#[from] Fault),
}

/// The function as one list of operations on scalars: loops are unrolled, kernels too, branches on the inputs
/// become `select`. Its parameters are the elements of those of the function, its results likewise. A function
/// that is flat already is given back as it is.
///
/// ```
/// use cotangent_ir::{parse, unrolled};
///
/// let f = parse("fn @f(%x: [2]f64) -> f64 { %s = red sum (%i < 2) { %a = ld %x[%i] %b = sin %a yield %b } ret %s }").unwrap();
/// let flat = unrolled(&f)?;
/// assert_eq!(flat.to_string(), "fn @f(%x0: f64, %x1: f64) -> f64 {\n  %0 = sin %x0\n  %1 = sin %x1\n  %2 = add %0, %1\n  ret %2\n}\n");
/// # Ok::<(), cotangent_ir::UnrollError>(())
/// ```
///
/// # Errors
/// Parameters that are integers or truth values, a loop whose rounds the inputs decide, an index that they
/// decide, guards together with arrays or bodies.
pub fn unrolled(f: &Function) -> Result<Function, UnrollError> {
    let function = || f.name().to_string();
    if let Some(param) = f.params().iter().find(|p| !p.ty.is_float()) {
        let (param, ty) = (param.name.clone(), param.ty.to_string());
        return Err(UnrollError::Parameter { function: function(), param, ty });
    }
    if f.is_flat() {
        return Ok(f.clone());
    }
    if has_guards(f) {
        return Err(UnrollError::Guard { function: function() });
    }
    let inputs = f.check_inputs(f.inputs().unwrap_or(0), 1)?;
    let mut ran = Ok(());
    let traced = trace(f.name(), inputs, |x| {
        let mut machine = Machine::new();
        machine.guarded = false;
        match f.run_on(&mut machine, x) {
            Ok(results) => results,
            Err(error) => {
                ran = Err(error);
                Vec::<Traced>::new()
            }
        }
    })?;
    ran?;
    Ok(traced.without_dead())
}

fn has_guards(f: &Function) -> bool {
    !f.guards().is_empty() || f.structures.iter().flat_map(Structure::bodies).any(|b| has_guards(b))
}
