//! A jet whose order is part of its type.

use std::fmt;

use cotangent_ops::{Binary, Comparison, Elementary, Lift, Precision, Ternary, Unary};

use super::series::{self, Carrier};
use crate::number::{inherent, number};

/// A truncated power series with L Taylor coefficients: the value and the terms up to order L − 1.
///
/// ```
/// use cotangent_numbers::Jet;
///
/// // sin(t) around t = 0
/// let t: Jet<f64, 6> = Jet::variable(0.0);
/// assert_eq!(t.sin().coefficients, [0.0, 1.0, 0.0, -1.0 / 6.0, 0.0, 1.0 / 120.0]);
/// assert_eq!(t.sin().derivative(3), -1.0);
/// ```
#[derive(Clone, Copy)]
pub struct Jet<T, const L: usize> {
    /// The Taylor coefficients, the value first.
    pub coefficients: [T; L],
}

impl<T: Elementary, const L: usize> Jet<T, L> {
    /// The series with these coefficients.
    #[inline]
    pub fn new(coefficients: [T; L]) -> Self {
        const { assert!(L > 0, "a jet has at least its value") };
        Jet { coefficients }
    }

    /// A series that is constant.
    #[inline]
    pub fn fixed(value: T) -> Self {
        let mut coefficients = [T::zero(); L];
        coefficients[0] = value;
        Jet::new(coefficients)
    }

    /// The series `value + t`.
    #[inline]
    pub fn variable(value: T) -> Self {
        Jet::along(value, T::one())
    }

    /// The series `value + direction·t`.
    #[inline]
    pub fn along(value: T, direction: T) -> Self {
        let mut x = Jet::fixed(value);
        if L > 1 {
            x.coefficients[1] = direction;
        }
        x
    }

    /// The k-th derivative at t = 0, zero beyond the order of the jet.
    pub fn derivative(&self, k: usize) -> T {
        let Some(&coefficient) = self.coefficients.get(k) else { return T::zero() };
        (1..=k).fold(coefficient, |c, i| c * T::constant(i as f64))
    }

    #[inline(always)]
    fn build(fill: impl FnOnce(&mut [T])) -> Self {
        let mut coefficients = [T::zero(); L];
        fill(&mut coefficients);
        Jet { coefficients }
    }
}

/// Series of the fixed length L.
struct Fixed<const L: usize>;

impl<T: Elementary, const L: usize> Carrier<T> for Fixed<L> {
    type Number = Jet<T, L>;
    type Scratch = [T; L];

    #[inline(always)]
    fn scratch(&self, fill: T) -> [T; L] {
        [fill; L]
    }

    #[inline(always)]
    fn number(&self, coefficients: &[T]) -> Jet<T, L> {
        Jet::build(|out| out.copy_from_slice(coefficients))
    }

    #[inline(always)]
    fn coefficients(&self, number: Jet<T, L>, out: &mut [T]) {
        out.copy_from_slice(&number.coefficients);
    }
}

impl<T: Elementary, const L: usize> Lift for Jet<T, L> {
    type Mask = T::Mask;

    const RECORDS: bool = T::RECORDS;

    #[inline]
    fn lift(c: f64) -> Self {
        Jet::fixed(T::constant(c))
    }

    #[inline]
    fn lift_rounded(c: f64) -> Self {
        Jet::fixed(T::rounded(c))
    }

    #[inline]
    fn precision() -> Precision {
        T::precision()
    }

    #[inline]
    #[track_caller]
    fn primal(self) -> f64 {
        self.coefficients[0].value()
    }

    #[inline]
    fn sample(self) -> Option<f64> {
        self.coefficients[0].sample()
    }

    #[inline]
    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        Jet::build(|out| series::unary(&Fixed::<L>, op, &self.coefficients, out))
    }

    #[inline]
    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        Jet::build(|out| series::binary(&Fixed::<L>, op, &self.coefficients, &y.coefficients, out))
    }

    #[inline]
    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        let [x, y, z] = [&self.coefficients, &y.coefficients, &z.coefficients];
        Jet::build(|out| series::ternary(op, x, y, z, out))
    }

    #[inline]
    #[track_caller]
    fn compare(self, y: Self, comparison: Comparison) -> T::Mask {
        self.coefficients[0].compare(y.coefficients[0], comparison)
    }

    #[inline]
    #[track_caller]
    fn choose(mask: T::Mask, x: Self, y: Self) -> Self {
        Jet {
            coefficients: std::array::from_fn(|i| {
                T::select(mask, x.coefficients[i], y.coefficients[i])
            }),
        }
    }

    #[inline]
    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.coefficients[0], &y.coefficients[0])
    }

    #[inline]
    fn vanishes(self) -> bool {
        self.coefficients.iter().all(|c| c.vanishes())
    }

    #[inline]
    fn all_finite(self) -> bool {
        self.coefficients.iter().all(|c| c.all_finite())
    }
}

number!([T: Elementary, const L: usize] Jet<T, L>);

impl<T: fmt::Debug, const L: usize> fmt::Debug for Jet<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Jet").field(&self.coefficients).finish()
    }
}

impl<T: fmt::Display, const L: usize> fmt::Display for Jet<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, c) in self.coefficients.iter().enumerate() {
            match k {
                0 => c.fmt(f)?,
                1 => {
                    f.write_str(" + ")?;
                    c.fmt(f)?;
                    f.write_str("·t")?;
                }
                _ => {
                    f.write_str(" + ")?;
                    c.fmt(f)?;
                    write!(f, "·t^{k}")?;
                }
            }
        }
        Ok(())
    }
}
