//! Sparse matrices from few products: patterns, colourings, decompression.
//!
//! A sparse Jacobian or Hessian is found from its products with a few vectors: columns that share no row
//! are multiplied together, and what each contributed is told apart by the [`Pattern`]. Which columns
//! (or rows, or both) go together is a [`Coloring`]; how the entries are read from the products is a
//! [`Plan`].
//!
//! ```
//! use cotangent_sparse::{Greedy, Pattern, Plan, Problem};
//!
//! // A tridiagonal matrix of any size needs three products.
//! let p = Pattern::from_rows(100, 100, |i| i.saturating_sub(1)..(i + 2).min(100))?;
//! let coloring = Greedy::default().color(&p, Problem::Column)?;
//! assert_eq!(coloring.count(), 3);
//! let plan = Plan::new(&p, &coloring)?;
//! assert_eq!(plan.products(), 3 * 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate knows nothing of derivatives or of the rest of cotangent.
//!
//! Features, none by default: `faer` and `sprs` (views of a pattern and its values without a copy),
//! `nalgebra-sparse` (matrices whose values are filled in place), `serde` (patterns and plans are saved and
//! read back, with all checks).

mod acyclic;
mod algebra;
mod auto;
mod check;
mod coloring;
mod cover;
mod distance;
mod exact;
mod graph;
mod greedy;
mod index;
mod interop;
mod matrix_market;
mod neutral;
mod order;
mod parallel;
mod partial;
mod pattern;
mod plan;
mod repair;
#[cfg(feature = "serde")]
mod saved;
mod spy;
mod star;
mod wanted;

pub use auto::{Auto, Choice, Considered, Cost, Costs};
pub use check::{Invalid, Products, check_coloring, check_columns, recover};
pub use coloring::{Coloring, ColoringError, Decompression, Problem};
pub use distance::{Distance, check_graph};
pub use exact::Exact;
pub use greedy::Greedy;
pub use index::Index;
pub use matrix_market::{
    MarketError, MatrixMarket, parse_matrix_market, read_matrix_market, write_matrix_market,
    write_matrix_market_to,
};
pub use order::{Order, Ties};
pub use pattern::{Pattern, PatternError};
pub use plan::{Direction, Entry, Plan, PlanError, Triangle};
pub use repair::Repaired;
pub use spy::spy;
