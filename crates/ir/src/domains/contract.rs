//! Contraction of boxes: what is left of a box of inputs when bounds of the results are known.
//!
//! Forward–backward contraction over the operations of the function (HC4-revise: Benhamou, Goualard,
//! Granvilliers and Puget, *Revising hull and box consistency*, 1999): forward the bounds of all values,
//! backward what the results leave of the operands, again as long as it pays.

use cotangent_numbers::Interval;
use cotangent_ops::{Apply, Opcode};

use crate::domains::inverse::{binary, is_strict, set, unary};
use crate::domains::unroll::{UnrollError, unrolled};
use crate::function::{Function, Value};
use crate::op::{Op, squared};

/// A sweep must make some side narrower by this part of it to be followed by another.
const IMPROVEMENT: f64 = 0.01;
/// The most sweeps.
const SWEEPS: usize = 100;

/// What contraction found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contracted {
    /// No point of the box has results within the bounds: this is proven.
    Empty,
    /// The box is narrower than it was. All points with results within the bounds are still in it.
    Narrower,
    /// The box is as it was.
    Unchanged,
}

/// Why a box could not be contracted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The function could not be unrolled.
    #[error(transparent)]
    Unroll(#[from] UnrollError),
    /// Another number of intervals than inputs or results.
    #[error("@{function} has {expected} {what}, {found} intervals were given")]
    Length {
        /// The name of the function.
        function: String,
        /// Inputs or results.
        what: &'static str,
        /// How many there are.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A truth value as a result.
    #[error("@{function} gives truth values, which have no bounds")]
    Truth {
        /// The name of the function.
        function: String,
    },
}

/// Narrows a box to what is left of it when the results lie in given intervals. Points that are cut off are
/// proven to have other results, or none; rounding is accounted for.
///
/// ```
/// use cotangent_ir::{Contracted, contract, trace};
/// use cotangent_numbers::Interval;
///
/// // x² + y² = 1 and x = y, for positive x and y.
/// let f = trace("f", 2, |x| vec![x[0].powi(2) + x[1].powi(2), x[0] - x[1]]).unwrap();
/// let mut sides = [Interval::new(0.0, 10.0); 2];
/// let found = contract(&f, &mut sides, &[Interval::point(1.0), Interval::point(0.0)])?;
/// assert_eq!(found, Contracted::Narrower);
/// assert!(sides[0].high() <= 1.0 && sides[0].contains(0.5_f64.sqrt()));
/// # Ok::<(), cotangent_ir::ContractError>(())
/// ```
///
/// # Errors
/// Another number of intervals than inputs or results, and a function that cannot be
/// [unrolled](crate::unrolled).
pub fn contract(
    f: &Function,
    sides: &mut [Interval],
    results: &[Interval],
) -> Result<Contracted, ContractError> {
    Contractor::new(f)?.contract(sides, results)
}

/// A function made ready for contraction.
pub(super) struct Contractor {
    pub(super) flat: Function,
    /// The bounds of all values.
    bounds: Vec<Interval>,
    masks: Vec<<Interval as cotangent_ops::Elementary>::Mask>,
    /// Whether all results are undefined where a value is, or bounds of it say something on the inputs.
    bound: Vec<bool>,
}

impl Contractor {
    pub(super) fn new(f: &Function) -> Result<Self, ContractError> {
        let flat = unrolled(f)?;
        if flat.results().iter().any(|v| !flat.ty(*v).is_float()) {
            return Err(ContractError::Truth { function: f.name().to_string() });
        }
        let len = flat.len();
        let masks = vec![false.into(); len];
        Ok(Contractor { flat, bounds: vec![Interval::ALL; len], masks, bound: vec![false; len] })
    }

    pub(super) fn contract(
        &mut self,
        sides: &mut [Interval],
        results: &[Interval],
    ) -> Result<Contracted, ContractError> {
        let length = |what: &'static str, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => {
                let function = self.flat.name().to_string();
                Err(ContractError::Length { function, what, expected, found })
            }
        };
        length("inputs", self.flat.params().len(), sides.len())?;
        length("results", self.flat.results().len(), results.len())?;
        let mut found = Contracted::Unchanged;
        self.bounds.fill(Interval::ALL);
        for _ in 0..SWEEPS {
            let before = sides.to_vec();
            if !self.sweep(sides, results) {
                sides.fill(Interval::EMPTY);
                return Ok(Contracted::Empty);
            }
            let pays = before.iter().zip(sides.iter()).any(|(old, new)| gain(*old, *new));
            if before
                .iter()
                .zip(sides.iter())
                .any(|(a, b)| a.low() != b.low() || a.high() != b.high())
            {
                found = Contracted::Narrower;
            }
            if !pays {
                break;
            }
        }
        Ok(found)
    }

    /// A sweep forward and one backward; false if nothing is left.
    fn sweep(&mut self, sides: &mut [Interval], results: &[Interval]) -> bool {
        let Contractor { flat: f, bounds, masks, bound } = self;
        if sides.iter().any(|side| side.is_empty()) {
            return false;
        }
        for value in f.values() {
            let [a, b, c] = args(f, value);
            let x = match f.op(value) {
                Op::Param(k) => sides[k as usize],
                Op::Constant(bits) => cotangent_ops::Elementary::constant(f64::from_bits(bits)),
                Op::Rounded(bits) => cotangent_ops::Elementary::rounded(f64::from_bits(bits)),
                Op::Elementary(code, parameter) => {
                    let (code, parameter) = squared(code, parameter, a == b);
                    code.visit(parameter, Apply([bounds[a], bounds[b], bounds[c]]))
                }
                Op::Select => cotangent_ops::Elementary::select(masks[a], bounds[b], bounds[c]),
                op => {
                    masks[value.index()] = match op {
                        Op::Truth(truth) => truth.into(),
                        Op::Compare(comparison) => {
                            cotangent_ops::Elementary::compare(bounds[a], bounds[b], comparison)
                        }
                        Op::And => masks[a] & masks[b],
                        Op::Or => masks[a] | masks[b],
                        _ => !masks[a],
                    };
                    continue;
                }
            };
            bounds[value.index()] = x;
        }
        bound.fill(false);
        for (value, result) in f.results().iter().zip(results) {
            let all = result.low() == f64::NEG_INFINITY && result.high() == f64::INFINITY;
            // Bounds that hold anything say nothing; not even that there is a result.
            if all {
                continue;
            }
            if !narrow(bounds, *value, set(*result)) {
                return false;
            }
            bound[value.index()] = true;
        }
        for k in (0..f.len()).rev() {
            let value = Value(k as u32);
            if !bound[k] {
                continue;
            }
            let z = set(bounds[k]);
            let [a, b, c] = args(f, value);
            let left: [Option<(usize, Interval)>; 3] = match f.op(value) {
                Op::Param(at) => {
                    let side = set(sides[at as usize].intersection(z));
                    if side.is_empty() {
                        return false;
                    }
                    sides[at as usize] = side;
                    continue;
                }
                Op::Elementary(code, parameter) => {
                    let (code, parameter) = squared(code, parameter, a == b);
                    let strict = is_strict(code, parameter);
                    let arity = code.info().arity;
                    // Where an operand may be undefined and the result is not, nothing follows.
                    if !strict && [a, b, c][..arity].iter().any(|x| !bounds[*x].is_total()) {
                        continue;
                    }
                    let (x, y) = (set(bounds[a]), set(bounds[b]));
                    match arity {
                        1 => [Some((a, unary(code, parameter, x, z))), None, None],
                        2 => {
                            let (x, y) = binary(code, x, y, z);
                            [Some((a, x)), Some((b, y)), None]
                        }
                        _ if code == Opcode::MulAdd => {
                            let w = set(bounds[c]);
                            let (product, w) = binary(Opcode::Add, set(x * y), w, z);
                            let (x, y) = binary(Opcode::Mul, x, y, product);
                            [Some((a, x)), Some((b, y)), Some((c, w))]
                        }
                        _ => continue,
                    }
                }
                Op::Select => match masks[a] {
                    cotangent_numbers::interval::Trilean::True => [Some((b, z)), None, None],
                    cotangent_numbers::interval::Trilean::False => [Some((c, z)), None, None],
                    cotangent_numbers::interval::Trilean::Unknown => continue,
                },
                _ => continue,
            };
            for (operand, x) in left.into_iter().flatten() {
                if !narrow(bounds, Value(operand as u32), x) {
                    return false;
                }
                bound[operand] = true;
            }
        }
        true
    }
}

fn args(f: &Function, value: Value) -> [usize; 3] {
    let mut args = [0; 3];
    for (to, from) in args.iter_mut().zip(f.operands(value)) {
        *to = from.index();
    }
    args
}

/// Cuts the bounds of a value; false if nothing is left.
fn narrow(bounds: &mut [Interval], value: Value, to: Interval) -> bool {
    let own = &mut bounds[value.index()];
    let total = own.is_total();
    let left = set(own.intersection(to));
    *own = if total || left.is_empty() { left } else { left.hull(Interval::EMPTY) };
    !left.is_empty()
}

/// Whether a side has become narrower by more than a small part of it.
fn gain(old: Interval, new: Interval) -> bool {
    let (a, b) = (old.width(), new.width());
    match (a.is_finite(), b.is_finite()) {
        (false, true) => true,
        (false, false) => {
            old.low().is_infinite() != new.low().is_infinite()
                || old.high().is_infinite() != new.high().is_infinite()
        }
        _ => b < a * (1.0 - IMPROVEMENT),
    }
}
