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
//! Loops stay loops: [`sum_over`], [`map_over`], [`fori`], [`while_`] and [`cond`] trace their closures once.
//!
//! ```
//! use cotangent_ir::{IndexTable, sum_over, trace_arrays};
//!
//! let edges = IndexTable::shaped(&[3, 2], &[0, 1, 1, 2, 2, 0])?;
//! let energy = trace_arrays("energy", &[&[3]], |x| {
//!     sum_over(0..3, |e| {
//!         let stretch = x[0].at(edges.at((e, 1))) - x[0].at(edges.at((e, 0)));
//!         stretch * stretch
//!     })
//! })?;
//! assert_eq!(energy.run(&[0.0, 1.0, 3.0]).unwrap(), [1.0 + 4.0 + 9.0]);
//! # Ok::<(), cotangent_numbers::Fault>(())
//! ```
//!
//! What arrays and matrices are used for (products, slices, gathers, factorisations, solves) is called by name: see
//! [`library`].
//!
//! Values are pure and stand in one list, 16 bytes each; equal operations are one as they are built.
//! What an operation means stands in the table of `cotangent-ops`, not here.

mod build;
mod build_arrays;
mod carried;
mod combinators;
mod cost;
mod derive;
mod domains;
mod facts;
mod function;
pub mod functions;
pub mod input;
mod interpret;
mod lex;
pub mod library;
mod machine;
mod memory;
mod op;
mod parse;
mod parse_body;
mod parse_structure;
mod print;
pub mod ranges;
mod rebuild;
mod retrace;
mod retype;
mod settle;
mod singles;
mod slot;
mod specialise;
mod split;
mod structure;
mod table;
mod trace;
mod trace_array;
mod trace_call;
mod trace_index;
mod trace_library;
mod trace_region;
mod trace_with;
mod types;
mod verify;
mod verify_structure;

pub use build::{Builder, is_commutative};
pub use build_arrays::Copied;
pub use carried::{Carried, Tabulated, TracedValue, Values};
pub use combinators::{
    Domain, Summand, argmax_over, argmin_over, cond, fori, map_over, max_over, min_over, prod_over,
    scan, select, sum_over, while_,
};
pub use cost::{Cost, UNKNOWN_ROUNDS, UNKNOWN_SIZE};
pub use derive::{Activity, Derive, MOST_ORDER, Mode};
pub use domains::{
    Batch, ContractError, Contracted, Counts, Enclosure, Found, Hunted, UnrollError, Within,
    contract, count, explain, hessian_pattern, hunt, jacobian_pattern, local_hessian_pattern,
    local_jacobian_pattern, roots, unrolled,
};
pub use facts::Fact;
pub use function::{Function, Guard, Param, Value};
pub use interpret::{Room, RunError};
pub use op::{Integral, Op, takes_parameter};
pub use parse::{ParseError, parse, parse_all};
pub use retrace::{RetraceError, Retraced};
pub use settle::LinearValues;
pub use split::loop_lengths;
pub use structure::{Reducer, Structure};
pub use table::{Entries, Table};
pub use trace::{Numbers, Traced, TracedMask, trace, trace_at};
pub use trace_array::{Elements, TracedArray};
pub use trace_call::call;
pub use trace_index::{IndexTable, Indices, TracedIndex, TracedIndices};
pub use trace_with::{trace_arrays, trace_with};
pub use types::{Dim, Element, Type};
pub use verify::VerifyError;
