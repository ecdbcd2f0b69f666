//! Arithmetic with directed rounding, from the error of the rounded result.
//!
//! The error of a sum is known exactly (Knuth's two-sum), that of a product, quotient and square root
//! by a fused multiply-add, so a result is moved by one unit in the last place only if it must be:
//! exact results stay exact. Near underflow, where the error itself may be lost, the result is
//! always moved.

use cotangent_ops::Elementary;

/// A floating-point type that can be the end of an interval.
pub trait Endpoint: Elementary + std::fmt::Display + Send + Sync + 'static {
    /// −∞.
    const NEG_INFINITY: Self;
    /// +∞.
    const INFINITY: Self;
    /// The largest finite number.
    const MAX: Self;
    /// Results below this may have an error that is not representable.
    const TINY: Self;

    /// The next larger number.
    fn next_up(self) -> Self;
    /// The next smaller number.
    fn next_down(self) -> Self;
    /// x·y + z with one rounding.
    fn fused(self, y: Self, z: Self) -> Self;
    /// The largest number of this type not above an `f64`.
    fn below(x: f64) -> Self;
    /// The smallest number of this type not below an `f64`.
    fn above(x: f64) -> Self;
}

macro_rules! endpoint {
    ($F:ident, $tiny:expr) => {
        impl Endpoint for $F {
            const NEG_INFINITY: $F = $F::NEG_INFINITY;
            const INFINITY: $F = $F::INFINITY;
            const MAX: $F = $F::MAX;
            const TINY: $F = $tiny;

            #[inline]
            fn next_up(self) -> $F {
                $F::next_up(self)
            }

            #[inline]
            fn next_down(self) -> $F {
                $F::next_down(self)
            }

            #[inline]
            fn fused(self, y: $F, z: $F) -> $F {
                $F::mul_add(self, y, z)
            }

            #[inline]
            fn below(x: f64) -> $F {
                let y = x as $F;
                if f64::from(y) > x { y.next_down() } else { y }
            }

            #[inline]
            fn above(x: f64) -> $F {
                let y = x as $F;
                if f64::from(y) < x { y.next_up() } else { y }
            }
        }
    };
}

// 2⁻⁹⁰⁰ and 2⁻⁹⁰: squares of the unit in the last place still lie above the smallest number.
endpoint!(f64, f64::from_bits((1023 - 900) << 52));
endpoint!(f32, f32::from_bits((127 - 90) << 23));

/// A result and the sign of its error (exact − rounded): positive, negative, zero or unknown (NaN).
#[inline]
fn up<T: Endpoint>(result: T, error: T) -> T {
    if error > T::zero() || error.is_nan() { result.next_up() } else { result }
}

#[inline]
fn down<T: Endpoint>(result: T, error: T) -> T {
    if error < T::zero() || error.is_nan() { result.next_down() } else { result }
}

/// The sum and its error.
#[inline]
fn sum<T: Endpoint>(a: T, b: T) -> (T, T) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// A sum that overflowed from finite numbers, or is exact because it is infinite.
#[inline]
fn infinite_sum<T: Endpoint>(a: T, b: T, s: T, overflow: T) -> T {
    if a.all_finite() && b.all_finite() { overflow } else { s }
}

/// A lower bound of a + b.
#[inline]
pub(super) fn add_down<T: Endpoint>(a: T, b: T) -> T {
    let (s, error) = sum(a, b);
    if s.all_finite() {
        down(s, error)
    } else if s.is_nan() {
        T::NEG_INFINITY
    } else if s > T::zero() {
        infinite_sum(a, b, s, T::MAX)
    } else {
        s
    }
}

/// An upper bound of a + b.
#[inline]
pub(super) fn add_up<T: Endpoint>(a: T, b: T) -> T {
    -add_down(-a, -b)
}

/// The product and its error; the product of 0 and ∞ is 0, as interval arithmetic has it.
#[inline]
fn product<T: Endpoint>(a: T, b: T) -> (T, T) {
    if a == T::zero() || b == T::zero() {
        return (T::zero(), T::zero());
    }
    let p = a * b;
    if p.abs() < T::TINY {
        return (p, T::constant(f64::NAN));
    }
    (p, a.fused(b, -p))
}

/// A lower bound of a·b.
#[inline]
pub(super) fn mul_down<T: Endpoint>(a: T, b: T) -> T {
    let (p, error) = product(a, b);
    if p.all_finite() {
        down(p, error)
    } else if p > T::zero() && a.all_finite() && b.all_finite() {
        T::MAX
    } else {
        p
    }
}

/// An upper bound of a·b.
#[inline]
pub(super) fn mul_up<T: Endpoint>(a: T, b: T) -> T {
    -mul_down(-a, b)
}

/// A lower bound of a/b, b not zero.
#[inline]
pub(super) fn div_down<T: Endpoint>(a: T, b: T) -> T {
    if a == T::zero() {
        return T::zero();
    }
    let q = a / b;
    if q.all_finite() {
        if b.abs() == T::INFINITY {
            return q; // exactly zero
        }
        // a = q·b + r, so the exact quotient is q + r/b.
        let unsafe_range = q.abs() < T::TINY || a.abs() < T::TINY;
        let r = if unsafe_range { T::constant(f64::NAN) } else { (-q).fused(b, a) };
        down(q, if b < T::zero() { -r } else { r })
    } else if q > T::zero() && a.all_finite() {
        T::MAX
    } else {
        q
    }
}

/// An upper bound of a/b, b not zero.
#[inline]
pub(super) fn div_up<T: Endpoint>(a: T, b: T) -> T {
    -div_down(-a, b)
}

/// A lower bound of √a, a ≥ 0.
#[inline]
pub(super) fn sqrt_down<T: Endpoint>(a: T) -> T {
    let s = a.sqrt();
    if s == T::zero() || s == T::INFINITY {
        return s;
    }
    let r = if a < T::TINY { T::constant(f64::NAN) } else { (-s).fused(s, a) };
    down(s, r)
}

/// An upper bound of √a, a ≥ 0.
#[inline]
pub(super) fn sqrt_up<T: Endpoint>(a: T) -> T {
    let s = a.sqrt();
    if s == T::zero() || s == T::INFINITY {
        return s;
    }
    let r = if a < T::TINY { T::constant(f64::NAN) } else { (-s).fused(s, a) };
    up(s, r)
}

/// A lower bound of aⁿ, a ≥ 0.
pub(super) fn pow_down<T: Endpoint>(a: T, n: u32) -> T {
    power(a, n, mul_down)
}

/// An upper bound of aⁿ, a ≥ 0.
pub(super) fn pow_up<T: Endpoint>(a: T, n: u32) -> T {
    power(a, n, mul_up)
}

fn power<T: Endpoint>(a: T, n: u32, mul: fn(T, T) -> T) -> T {
    let (mut result, mut square, mut rest) = (T::one(), a, n);
    while rest > 0 {
        if rest & 1 == 1 {
            result = mul(result, square);
        }
        rest >>= 1;
        if rest > 0 {
            square = mul(square, square);
        }
    }
    result
}

/// A computed value moved down by its error bound in units in the last place.
#[inline]
pub(super) fn lower<T: Endpoint>(value: T, ulps: u32) -> T {
    (0..ulps).fold(value, |v, _| v.next_down())
}

/// A computed value moved up by its error bound in units in the last place.
#[inline]
pub(super) fn upper<T: Endpoint>(value: T, ulps: u32) -> T {
    (0..ulps).fold(value, |v, _| v.next_up())
}
