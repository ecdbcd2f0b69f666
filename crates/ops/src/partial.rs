//! A partial derivative as the table states it.

use crate::Elementary;

/// A partial derivative: exactly 0, exactly ±1, or a value.
///
/// The exact cases are known when the operation is compiled, so a sum costs no multiplication by
/// one, at no level of nesting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Partial<T> {
    /// Exactly 0, for all arguments.
    Zero,
    /// Exactly 1, for all arguments.
    One,
    /// Exactly −1, for all arguments.
    MinusOne,
    /// This value.
    Is(T),
}

impl<T: Elementary> Partial<T> {
    /// The partial as a number.
    #[inline]
    pub fn value(self) -> T {
        match self {
            Partial::Zero => T::zero(),
            Partial::One => T::one(),
            Partial::MinusOne => T::constant(-1.0),
            Partial::Is(d) => d,
        }
    }

    /// The tangent times this partial; a zero on either side wins over ∞ and NaN.
    #[inline]
    pub fn times(self, tangent: T) -> T {
        match self {
            Partial::Zero => T::zero(),
            Partial::One => tangent,
            Partial::MinusOne => -tangent,
            Partial::Is(d) if d.vanishes() => T::zero(),
            Partial::Is(d) => tangent.strong_mul(d),
        }
    }
}
