//! Global tracers that know the values of what depends on no input.
//!
//! A comparison of two numbers that are known is decided for all inputs; others are not. So a loop that
//! counts by constants is followed, and only what the inputs decide is taken both ways.

use std::fmt;
use std::panic::Location;

use cotangent_ops::{Binary, Comparison, Lift, Primitive, Ternary, Unary};

use super::global::unary_flags;
use super::{Dependence, EITHER};
use crate::fault::{Fault, raise};
use crate::interval::Trilean;
use crate::number::{inherent, number};
use crate::place::here;

/// A global tracer that has a value where no input decides it.
///
/// ```
/// use cotangent_numbers::{GradientTracer, Known, SetKind, jacobian_pattern};
///
/// let pattern = jacobian_pattern::<Known<GradientTracer>>(SetKind::Sorted, &[0.0; 2], 1, |x, y| {
///     let (mut k, mut sum) = (Known::<GradientTracer>::from(0.0), x[0]);
///     while k < 3.0 {
///         sum = sum * x[0];
///         k = k + 1.0;
///     }
///     y[0] = sum;
/// });
/// assert_eq!(pattern.unwrap().to_string(), "1·\n");
/// ```
#[derive(Clone, Copy)]
pub struct Known<D> {
    value: Option<f64>,
    /// What it depends on.
    pub dependence: D,
}

impl<D: Dependence> Known<D> {
    /// A number that has no value.
    pub fn input(dependence: D) -> Self {
        Known { value: None, dependence }
    }

    /// The value, if no input decides it.
    pub fn known(self) -> Option<f64> {
        self.value
    }
}

impl<D: Dependence> Lift for Known<D> {
    type Mask = Trilean;

    #[inline]
    fn lift(c: f64) -> Self {
        Known { value: Some(c), dependence: D::NONE }
    }

    #[track_caller]
    fn primal(self) -> f64 {
        match self.value {
            Some(value) => value,
            None => raise(Fault::NoValue { at: here(Location::caller()) }),
        }
    }

    #[inline]
    fn sample(self) -> Option<f64> {
        self.value
    }

    fn unknown() -> Option<Self> {
        Some(Known::input(D::NONE))
    }

    fn same(self, other: Self) -> bool {
        self.value.map(f64::to_bits) == other.value.map(f64::to_bits)
            && self.dependence.same(other.dependence)
    }

    #[inline]
    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        let (first, second) = unary_flags(op);
        Known {
            value: self.value.map(|x| op.value(x)),
            dependence: self.dependence.unary(first, second),
        }
    }

    #[inline]
    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        Known {
            value: self.value.zip(y.value).map(|(x, y)| op.value(x, y)),
            dependence: self.dependence.binary(y.dependence, const { O::INFO.flags }),
        }
    }

    #[inline]
    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        let values = self.value.zip(y.value).zip(z.value);
        Known {
            value: values.map(|((x, y), z)| op.value(x, y, z)),
            dependence: self.dependence.ternary(
                y.dependence,
                z.dependence,
                const { O::INFO.flags },
            ),
        }
    }

    #[inline]
    fn compare(self, y: Self, comparison: Comparison) -> Trilean {
        match self.value.zip(y.value) {
            Some((x, y)) => Trilean::from(comparison.holds(&x, &y)),
            None => Trilean::Unknown,
        }
    }

    #[inline]
    #[track_caller]
    fn choose(mask: Trilean, x: Self, y: Self) -> Self {
        match mask {
            Trilean::True => x,
            Trilean::False => y,
            Trilean::Unknown => Known {
                value: x.value.filter(|v| y.value.is_some_and(|w| v.to_bits() == w.to_bits())),
                dependence: x.dependence.binary(y.dependence, EITHER),
            },
        }
    }

    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        match Lift::compare(self, y, comparison) {
            Trilean::True => true,
            Trilean::False => false,
            Trilean::Unknown => {
                raise(Fault::BranchWithoutValue { comparison, at: here(Location::caller()) })
            }
        }
    }

    /// Never: library code that skips work on zeros would lose dependences.
    fn vanishes(self) -> bool {
        false
    }

    fn all_finite(self) -> bool {
        self.value.is_none_or(f64::is_finite)
    }

    #[track_caller]
    fn array<P: Primitive>(primitive: &P, x: &[Self], y: &mut [Self]) {
        let inputs: Vec<D> = x.iter().map(|x| x.dependence).collect();
        let mut outputs = vec![D::NONE; y.len()];
        super::detect::array(primitive, &inputs, &mut outputs);
        for (y, dependence) in y.iter_mut().zip(outputs) {
            *y = Known::input(dependence);
        }
    }
}

number!([D: Dependence] Known<D>);

impl<D> fmt::Debug for Known<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => write!(f, "{value:?}"),
            None => f.write_str("?"),
        }
    }
}

impl<D> fmt::Display for Known<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
