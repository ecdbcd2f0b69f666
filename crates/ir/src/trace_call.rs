//! Functions that are there already, called in the one that is traced.

use std::panic::Location;
use std::sync::Arc;

use crate::carried::{TracedValue, Values};
use crate::combinators::add;
use crate::function::Function;
use crate::structure::Structure;

/// Calls a function: what it gives, to be [taken](Values::take) one after the other.
///
/// The function may be a derivative of another, so this is how derivatives are used inside a traced function.
/// Its tangents are ordinary arguments here. Arguments that do not fit are a fault.
///
/// ```
/// use cotangent_ir::{Traced, call, parse, trace};
///
/// let square = parse("fn @square(%x: f64) -> f64 { %y = mul %x, %x ret %y }").unwrap();
/// let f = trace("f", 1, |x| {
///     let inner: Traced = call(&square, &[x[0].into()]).take();
///     vec![inner + 1.0]
/// })?;
/// assert_eq!(f.run(&[3.0]).unwrap(), [10.0]);
/// # Ok::<(), cotangent_numbers::Fault>(())
/// ```
#[track_caller]
pub fn call(function: &Function, args: &[TracedValue]) -> Values {
    let at = Location::caller();
    let function = Arc::new(function.clone().map_params(&|param| param.linear = false));
    Values::new(add(Structure::Call { function }, args, &[], at), at)
}
