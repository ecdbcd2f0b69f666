//! What must not compile, each beside the same program made right.
//!
//! An inner derivative at a plain point has variables at the level of the outer ones; their product
//! would confuse the perturbations. At a point of the outer level it is what was meant:
//!
//! ```compile_fail
//! use cotangent_numbers::forward::derivative;
//! derivative(|x| x * derivative(|y| x * y, 3.0), 5.0);
//! ```
//!
//! ```
//! use cotangent_numbers::forward::derivative;
//! derivative(|x| x * derivative(|y| x * y, x.like(3.0)), 5.0);
//! ```
//!
//! A variable cannot leave its derivative; its value can:
//!
//! ```compile_fail
//! use cotangent_numbers::forward::derivative;
//! let mut kept = None;
//! derivative(|x| { kept = Some(x); x }, 1.0);
//! ```
//!
//! ```
//! use cotangent_numbers::forward::derivative;
//! let mut kept = None;
//! derivative(|x| { kept = Some(x.value); x }, 1.0);
//! ```
//!
//! An inner derivative returns a number of its own level:
//!
//! ```compile_fail
//! use cotangent_numbers::forward::derivative;
//! derivative(|x| derivative(|_y| x, x), 1.0);
//! ```
//!
//! ```
//! use cotangent_numbers::{Dual, forward::derivative};
//! derivative(|x| derivative(|_y| Dual::fixed(x), x), 1.0);
//! ```
//!
//! Levels two apart do not mix without saying so:
//!
//! ```compile_fail
//! use cotangent_numbers::Dual;
//! let x: Dual<f64, 1> = Dual::variable(1.0, 0);
//! let z: Dual<Dual<Dual<f64, 1>, 1>, 1> = Dual::from(1.0);
//! let _ = z * x;
//! ```
//!
//! ```
//! use cotangent_numbers::Dual;
//! let x: Dual<f64, 1> = Dual::variable(1.0, 0);
//! let z: Dual<Dual<Dual<f64, 1>, 1>, 1> = Dual::from(1.0);
//! let _ = z * Dual::fixed(x);
//! ```
//!
//! Dual numbers of different widths are of different derivatives:
//!
//! ```compile_fail
//! use cotangent_numbers::Dual;
//! let (x, y): (Dual<f64, 2>, Dual<f64, 3>) = (Dual::variable(1.0, 0), Dual::variable(1.0, 0));
//! let _ = x + y;
//! ```
//!
//! ```
//! use cotangent_numbers::Dual;
//! let (x, y): (Dual<f64, 2>, Dual<f64, 2>) = (Dual::variable(1.0, 0), Dual::variable(1.0, 0));
//! let _ = x + y;
//! ```
//!
//! So are tapes over different bases:
//!
//! ```compile_fail
//! use cotangent_numbers::Var;
//! let _ = Var::fixed(1.0_f64) + Var::fixed(1.0_f32);
//! ```
//!
//! ```
//! use cotangent_numbers::Var;
//! let _ = Var::fixed(1.0_f64) + Var::fixed(1.0_f64);
//! ```
