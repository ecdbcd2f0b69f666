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
//!
//! # Accuracy
//!
//! No result is further than two units of the last place from the exact one; most functions stay
//! near one half and all but a few within one. Subnormal numbers, signed zeros, infinities and NaN
//! are treated as C99 does; which NaN it is is not defined. Only the functions of Γ, near the zeros
//! that they have at negative arguments, are held to two units of the last place of 1.
//!
//! # Speed
//!
//! [`apply_f64`] and its like choose the widest vectors the processor has. A function of one number,
//! called through [`Unary::apply`], uses fused operations if the processor has them; called
//! directly, such as `exp(1.0)`, it uses those that the program is compiled for, and without them
//! each fused operation is a slow call.

mod coefficients;
mod error_function;
mod exponential;
mod gamma;
mod hyperbolic;
mod inverse;
mod lanes;
mod logarithm;
mod pack;
mod parts;
mod power;
mod scalar;
mod slices;
mod tables;
mod trigonometric;
mod trigonometric_large;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use error_function::{erf, erfc};
pub use exponential::{exp, exp_m1, exp2};
pub use gamma::{digamma, ln_gamma};
pub use hyperbolic::{cosh, sech2, sigmoid, sinh, softplus, tanh};
pub use inverse::{acos, acosh, asin, asinh, atan, atan2, atanh};
pub use lanes::{LaneBits, LaneMask, Lanes, Table};
pub use logarithm::{ln, ln_1p, log2, log10};
pub use pack::Pack;
pub use power::{cbrt, hypot, pow, powi};
pub use slices::{
    Binary, Level, Number, Unary, apply_at, apply_f32, apply_f64, apply_powi, apply2_at,
    apply2_f32, apply2_f64,
};
pub use trigonometric::{cos, sin, sin_cos, tan};
