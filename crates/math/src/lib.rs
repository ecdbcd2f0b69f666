//! Elementary functions of cotangent, written once over a small set of vector instructions.
//!
//! A function such as [`exp`] takes any [`Lanes`]: one `f64` or `f32`, a [`Pack`] of them, or the
//! handle of an emitter that writes the instructions down. Every instruction is defined to the
//! last bit, hence so is every function: scalar code, vector code and emitted code agree exactly.
//!
//! ```
//! use cotangent_math::{Pack, Unary, exp};
//! let x = Pack([0.5, 1.0, -2.0, 800.0]);
//! assert_eq!(exp(x).0.map(f64::to_bits), x.0.map(|x| exp(x).to_bits()));
//! assert_eq!(Unary::Exp.apply(0.0_f64), 1.0);
//! ```

mod lanes;
mod pack;
mod scalar;

pub use lanes::{LaneBits, LaneMask, Lanes};
pub use pack::Pack;
