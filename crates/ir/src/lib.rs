//! A small pure intermediate representation of functions: traced from ordinary code, printed, parsed,
//! verified, and run on any kind of number.
//!
//! ```
//! use cotangent_ir::{parse, trace};
//!
//! let f = trace("f", 1, |x| vec![x[0].sin() * x[0]])?;
//! let text = f.to_string();
//! assert_eq!(text, "fn @f(%x0: f64) -> f64 {\n  %0 = sin %x0\n  %1 = mul %x0, %0\n  ret %1\n}\n");
//! assert_eq!(parse(&text).unwrap(), f);
//! assert_eq!(f.run(&[2.0]).unwrap(), [2.0 * 2.0_f64.sin()]);
//! # Ok::<(), cotangent_numbers::Fault>(())
//! ```
//!
//! Values are pure and stand in one list, 16 bytes each; equal operations are one as they are built.
//! What an operation means stands in the table of `cotangent-ops`, not here.

mod build;
mod function;
mod interpret;
mod parse;
mod print;
mod retrace;
mod trace;
mod verify;

pub use build::{Builder, is_commutative};
pub use function::{Function, Guard, Op, Param, Type, Value, takes_parameter};
pub use interpret::{Room, RunError};
pub use parse::{ParseError, parse};
pub use retrace::{RetraceError, Retraced};
pub use trace::{Numbers, Traced, TracedMask, trace, trace_at};
pub use verify::VerifyError;
