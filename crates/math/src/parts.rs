//! What several functions are made of: polynomials, exact sums and products, exponents.

use crate::{LaneBits, Lanes};

/// A constant that doubles and singles have different values of.
#[inline(always)]
pub(crate) fn pick<L: Lanes>(double: f64, single: f64) -> L {
    L::splat(if L::DOUBLE { double } else { single })
}

/// A constant of bits that doubles and singles have different values of.
#[inline(always)]
pub(crate) fn pick_bits<L: Lanes>(double: i64, single: i64) -> L::Bits {
    L::Bits::splat(if L::DOUBLE { double } else { single })
}

/// Σ c\[k\]·xᵏ by Horner's rule.
#[inline(always)]
pub(crate) fn horner<L: Lanes, const N: usize>(x: L, c: &[f64; N]) -> L {
    let mut p = L::splat(c[N - 1]);
    for k in (0..N - 1).rev() {
        p = p.fma(x, L::splat(c[k]));
    }
    p
}

/// Σ c\[k\]·xᵏ in two chains, or four if it is long, that a processor runs side by side; x2 = x².
#[inline(always)]
pub(crate) fn poly<L: Lanes, const N: usize>(x: L, x2: L, c: &[f64; N]) -> L {
    if N < 10 {
        let odd = chain(x2, c, 1, 2);
        return odd.fma(x, chain(x2, c, 0, 2));
    }
    let x4 = x2 * x2;
    let high = chain(x4, c, 3, 4).fma(x, chain(x4, c, 2, 4));
    let low = chain(x4, c, 1, 4).fma(x, chain(x4, c, 0, 4));
    high.fma(x2, low)
}

/// c\[first\] + c\[first + step\]·x + … by Horner's rule.
#[inline(always)]
fn chain<L: Lanes, const N: usize>(x: L, c: &[f64; N], first: usize, step: usize) -> L {
    let mut k = first + (N - 1 - first) / step * step;
    let mut p = L::splat(c[k]);
    while k > first {
        k -= step;
        p = p.fma(x, L::splat(c[k]));
    }
    p
}

/// [`poly`] with the coefficients for doubles or singles.
#[inline(always)]
pub(crate) fn poly_of<L: Lanes, const N: usize, const M: usize>(
    x: L,
    x2: L,
    double: &[f64; N],
    single: &[f64; M],
) -> L {
    if L::DOUBLE { poly(x, x2, double) } else { poly(x, x2, single) }
}

/// a + b rounded, and the exact error of it. Exact if |a| ≥ |b| or a = 0 (Dekker).
#[inline(always)]
pub(crate) fn fast_two_sum<L: Lanes>(a: L, b: L) -> (L, L) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// a + b rounded, and the exact error of it (Knuth).
#[inline(always)]
pub(crate) fn two_sum<L: Lanes>(a: L, b: L) -> (L, L) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// a·b rounded, and the exact error of it.
#[inline(always)]
pub(crate) fn two_product<L: Lanes>(a: L, b: L) -> (L, L) {
    let product = a * b;
    (product, a.fma(b, -product))
}

/// 1.5·2⁵² for doubles and 1.5·2²³ for singles: adding it rounds to an integer, which the low bits
/// of the sum then hold.
#[inline(always)]
pub(crate) fn magic<L: Lanes>() -> L {
    pick(6_755_399_441_055_744.0, 12_582_912.0)
}

/// How many bits the fraction has.
#[inline(always)]
pub(crate) fn fraction_bits<L: Lanes>() -> u32 {
    if L::DOUBLE { 52 } else { 23 }
}

/// 2ⁿ for the n in the low bits of `n`, where the result is normal.
#[inline(always)]
pub(crate) fn power_of_two<L: Lanes>(n: L::Bits) -> L {
    L::from_bits(n.add(pick_bits::<L>(1023, 127)).shl(fraction_bits::<L>()))
}

/// Writes x > 0 (normal) as m·2ᵉ with √½ ≤ m < √2; gives m, e and the bits of e + bias.
#[inline(always)]
pub(crate) fn split_exponent<L: Lanes>(x: L) -> (L, L, L::Bits) {
    let half = pick_bits::<L>(0x3fe6_a09e_667f_3bcd, 0x3f35_04f3);
    let to_one =
        pick_bits::<L>(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_667f_3bcd, 0x3f80_0000 - 0x3f35_04f3);
    let bits = x.to_bits().add(to_one);
    let biased = bits.shr(fraction_bits::<L>());
    let fraction = bits.and(pick_bits::<L>(0x000f_ffff_ffff_ffff, 0x007f_ffff));
    // The biased exponent in the low bits of 2⁵² (2²³) is 2⁵² + e + 1023.
    let e = L::from_bits(biased.or(pick_bits::<L>(0x4330_0000_0000_0000, 0x4b00_0000)))
        - pick(4_503_599_627_370_496.0 + 1023.0, 8_388_608.0 + 127.0);
    (L::from_bits(fraction.add(half)), e, biased)
}

/// The smallest normal number.
#[inline(always)]
pub(crate) fn smallest_normal<L: Lanes>() -> L {
    pick(f64::MIN_POSITIVE, f64::from(f32::MIN_POSITIVE))
}

/// ∞.
#[inline(always)]
pub(crate) fn infinity<L: Lanes>() -> L {
    L::splat(f64::INFINITY)
}

/// `(a + a_low)/(b + b_low)` in two parts, by a step of Newton's.
#[inline(always)]
pub(crate) fn quotient_pair<L: Lanes>((a, a_low): (L, L), (b, b_low): (L, L)) -> (L, L) {
    let inverse = L::splat(1.0) / b;
    let y = a * inverse;
    let rest = (-y).fma(b, a) + (-y).fma(b_low, a_low);
    (y, rest * inverse)
}

/// `(a + a_low)/(b + b_low)` rounded nearly once.
#[inline(always)]
pub(crate) fn quotient<L: Lanes>((a, a_low): (L, L), (b, b_low): (L, L)) -> L {
    let inverse = L::splat(1.0) / b;
    let y = a * inverse;
    let rest = (-y).fma(b, a) + (-y).fma(b_low, a_low);
    rest.fma(inverse, y)
}

/// `(a + a_low)·(b + b_low)` in two parts.
#[inline(always)]
pub(crate) fn product<L: Lanes>((a, a_low): (L, L), (b, b_low): (L, L)) -> (L, L) {
    let (high, low) = two_product(a, b);
    (high, a_low.fma(b, a.fma(b_low, low)))
}

/// The coefficients without the first one, which is in two parts.
pub(crate) const fn tail<const N: usize, const M: usize>(c: [f64; N]) -> [f64; M] {
    let mut rest = [0.0; M];
    let mut k = 0;
    while k < M {
        rest[k] = c[k + 2];
        k += 1;
    }
    rest
}
