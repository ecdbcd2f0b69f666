//! The elementary operations of cotangent, in one table.
//!
//! An operation is declared once, as a row of [`for_each_operation!`]: value, first and second
//! partials, sparsity class, interval rule, series rule, accuracy, behaviour at singular points.
//! From the row come
//!
//! - the method of [`Elementary`], on `f64`, `f32` and every number type,
//! - the operation as a type in [`ops`] and as an [`Opcode`],
//! - what dual numbers, jets, tapes, intervals and sparsity tracers do with it, through [`Lift`],
//! - its line in the page [`reference`](mod@reference), and its tests.
//!
//! This crate knows no number type but `f64` and `f32`.
//!
//! ```
//! use cotangent_ops::{Opcode, Partial, Unary, ops};
//!
//! let y = ops::Tanh.value(0.5_f64);
//! let Partial::Is(d) = ops::Tanh.d(0.5, y) else { unreachable!() };
//! assert!((d - (1.0 - y * y)).abs() < 1e-15);
//! assert_eq!(Opcode::Tanh.info().singular, "smooth everywhere");
//! ```

mod define;
mod elementary;
mod kinds;
mod lift;
mod mask;
mod partial;
mod primitive;
mod scalar;
mod special;
mod table;

pub use define::{Apply, Binary, Info, Opcode, Operation, Ternary, Unary, Visitor, ops, reference};
pub use elementary::Elementary;
pub use kinds::{ALL, Flags, Interaction, Kink, Order, Precision, Series, Shape};
pub use lift::{Arithmetic, Lift};
pub use mask::{Comparison, Mask};
pub use partial::Partial;
pub use primitive::Primitive;
pub use scalar::Scalar;
