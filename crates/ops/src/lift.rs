//! What a number type gives so that everything else is generated for it.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::iter::{Product, Sum};
use std::ops::{
    Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign,
};

use crate::{Binary, Comparison, Mask, Precision, Primitive, Ternary, Unary};

/// Arithmetic of a number type with itself.
pub trait Arithmetic:
    Copy
    + Debug
    + Send
    + Sync
    + PartialEq
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + RemAssign
    + Sum
    + Product
{
}

impl<T> Arithmetic for T where
    T: Copy
        + Debug
        + Send
        + Sync
        + PartialEq
        + PartialOrd
        + Neg<Output = T>
        + Add<Output = T>
        + Sub<Output = T>
        + Mul<Output = T>
        + Div<Output = T>
        + Rem<Output = T>
        + AddAssign
        + SubAssign
        + MulAssign
        + DivAssign
        + RemAssign
        + Sum
        + Product
{
}

/// An interpretation of the elementary operations.
///
/// A number type says here, once for each arity, what it does with an operation; the table supplies
/// the operation. In return it is [`Elementary`](crate::Elementary), with all methods.
pub trait Lift: Arithmetic {
    /// The outcome of a comparison.
    type Mask: Mask;

    /// Whether operations are recorded, so that one record for a whole array is worth its overhead.
    const RECORDS: bool = false;

    /// Whether the number carries nothing but its value.
    const PLAIN: bool = false;

    /// The number that stands for a constant.
    fn lift(c: f64) -> Self;

    /// The number that stands for a constant of which `c` is the rounded value, such as π.
    #[inline(always)]
    fn lift_rounded(c: f64) -> Self {
        Self::lift(c)
    }

    /// The limits of the floating-point format underneath.
    #[inline]
    fn precision() -> Precision {
        Precision::DOUBLE
    }

    /// The plain value, where the number has one.
    fn primal(self) -> f64;

    /// Applies an operation of one argument.
    fn unary<O: Unary>(self, op: O) -> Self;

    /// Applies an operation of two arguments.
    fn binary<O: Binary>(self, y: Self, op: O) -> Self;

    /// Applies an operation of two arguments, the second a constant.
    #[inline]
    #[track_caller]
    fn binary_constant<O: Binary>(self, y: f64, op: O) -> Self {
        self.binary(Self::lift(y), op)
    }

    /// Applies an operation of two arguments, the first a constant.
    #[inline]
    #[track_caller]
    fn constant_binary<O: Binary>(x: f64, y: Self, op: O) -> Self {
        Self::lift(x).binary(y, op)
    }

    /// Applies an operation of two arguments in place.
    #[inline(always)]
    #[track_caller]
    fn binary_assign<O: Binary>(&mut self, y: Self, op: O) {
        *self = self.binary(y, op);
    }

    /// Applies an operation of three arguments.
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self;

    /// Compares without branching.
    fn compare(self, y: Self, comparison: Comparison) -> Self::Mask;

    /// The one or the other number, by the outcome of a comparison.
    fn choose(mask: Self::Mask, x: Self, y: Self) -> Self;

    /// Compares for a branch in the user's code (`<`, `==`, `is_nan`, …).
    fn decide(self, y: Self, comparison: Comparison) -> bool;

    /// The order of two numbers, for a branch in the user's code.
    #[inline]
    #[track_caller]
    fn order(self, y: Self) -> Option<Ordering> {
        if self.decide(y, Comparison::Less) {
            Some(Ordering::Less)
        } else if self.decide(y, Comparison::Greater) {
            Some(Ordering::Greater)
        } else if self.decide(y, Comparison::Equal) {
            Some(Ordering::Equal)
        } else {
            None
        }
    }

    /// Whether the value is NaN, for a branch in the user's code.
    #[inline]
    #[track_caller]
    fn value_is_nan(self) -> bool {
        self.primal().is_nan()
    }

    /// Whether the value is finite, for a branch in the user's code.
    #[inline]
    #[track_caller]
    fn value_is_finite(self) -> bool {
        self.primal().is_finite()
    }

    /// A plain number that stands for this one where a sample will do; none if it has no value.
    #[inline]
    fn sample(self) -> Option<f64> {
        Some(self.primal())
    }

    /// A number of which nothing is known and that depends on nothing, of types whose numbers may lack a
    /// value or stand for many.
    #[inline]
    fn unknown() -> Option<Self> {
        None
    }

    /// Whether both are known to carry the same; if not, they may all the same.
    #[inline]
    fn same(self, _: Self) -> bool {
        false
    }

    /// The size by which pivots are chosen: zero if a division by the number is not safe.
    #[inline]
    #[track_caller]
    fn pivot_size(self) -> f64 {
        self.primal().abs()
    }

    /// Whether the number and everything it carries is zero.
    fn vanishes(self) -> bool;

    /// Whether the number and everything it carries is finite.
    fn all_finite(self) -> bool;

    /// Applies an operation on arrays that brings its own derivative rules.
    #[inline]
    fn array<P: Primitive>(primitive: &P, x: &[Self], y: &mut [Self]) {
        primitive.value(x, y);
    }

    /// The slice itself if the numbers are nothing but `f64`.
    #[inline]
    fn doubles(_: &[Self]) -> Option<&[f64]> {
        None
    }

    /// The slice itself if the numbers are nothing but `f64`.
    #[inline]
    fn doubles_mut(_: &mut [Self]) -> Option<&mut [f64]> {
        None
    }

    /// The slice itself if the numbers are nothing but `f32`.
    #[inline]
    fn singles(_: &[Self]) -> Option<&[f32]> {
        None
    }

    /// The slice itself if the numbers are nothing but `f32`.
    #[inline]
    fn singles_mut(_: &mut [Self]) -> Option<&mut [f32]> {
        None
    }
}
