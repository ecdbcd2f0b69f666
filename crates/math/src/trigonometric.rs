//! Sine, cosine and tangent: x = n·π/2 + r with |r| ≤ π/4, r in two parts, and a polynomial each.

use crate::coefficients::{COS, COS_F32, SIN, SIN_F32};
use crate::parts::{fast_two_sum, magic, pick, pick_bits, poly_of, quotient};
use crate::trigonometric_large::reduce_large;
use crate::{LaneBits, Lanes};

/// |x| = n·π/2 + r + low: r, low and n in the low bits of an integer. NaN for x = ±∞.
///
/// π/2 is taken in three parts (Cody and Waite). The difference with the first is exact, as fused
/// operations round once; so is the product of n and the second, which has few bits; the third is
/// rounded. That suffices up to 2·10⁵ for doubles and 1500 for singles: n then has so few bits. A
/// double there is no nearer to a multiple of π/2 than 2⁻⁵⁸. Beyond, see [`reduce_large`].
#[inline(always)]
fn reduce<L: Lanes>(x: L) -> (L, L, L::Bits) {
    let x = x.abs();
    let shifted = x.fma(L::splat(std::f64::consts::FRAC_2_PI), magic());
    let n = -(shifted - magic());
    let first = n.fma(pick(std::f64::consts::FRAC_PI_2, 1.570_796_370_506_286_6), x);
    let part: L = pick(6.123_233_995_707_727e-17, -4.371_031_536_720_693e-8);
    let r = n.fma(part, first);
    let low = n.fma(part, first - r);
    let low = n.fma(pick(2.903_855_973_979_360_5e-28, -1.074_634_630_414_406e-12), low);
    let large = !x.le(pick(2e5, 1500.0));
    let [r, low, n] = L::rarely(
        large,
        [r, low, shifted],
        #[inline(always)]
        || {
            // Doubles do for singles: their slow way is for doubles only.
            let [r, low, n] = reduce_large(x.widen());
            let high = L::narrow(r);
            let low = if L::DOUBLE { L::narrow(low) } else { L::narrow(r - high.widen()) };
            [high, low, L::narrow(n) + magic()]
        },
    );
    (r, low, n.to_bits())
}

/// sin(r + low) = r + sine and cos(r + low) = 1 + cosine.
#[inline(always)]
pub(crate) fn kernels<L: Lanes>(r: L, low: L) -> (L, L) {
    let z = r * r;
    let z2 = z * z;
    let half = z * L::splat(0.5);
    let sine = poly_of(z, z2, &SIN, &SIN_F32).fma(z * r, (-half).fma(low, low));
    let cosine = poly_of(z, z2, &COS, &COS_F32).fma(z2, -(r * low)) - half;
    (sine, cosine)
}

/// Whether n is odd.
#[inline(always)]
fn odd<L: Lanes>(n: L::Bits) -> L::Mask {
    n.shl(if L::DOUBLE { 63 } else { 31 }).lt(L::Bits::splat(0))
}

/// Flips the sign of y where the second lowest bit of n is set.
#[inline(always)]
fn flip<L: Lanes>(y: L, n: L::Bits, sign: L) -> L {
    let sign = n.shl(if L::DOUBLE { 62 } else { 30 }).xor(sign.to_bits());
    L::from_bits(y.to_bits().xor(sign.and(pick_bits::<L>(i64::MIN, 1 << 31))))
}

/// The sine and the cosine, with the bits of [`sin`] and [`cos`].
#[inline(always)]
pub fn sin_cos<L: Lanes>(x: L) -> (L, L) {
    let (r, low, n) = reduce(x);
    let (sine, cosine) = kernels(r, low);
    let (sine, cosine) = (r + sine, L::splat(1.0) + cosine);
    let odd = odd::<L>(n);
    let zero = L::splat(0.0);
    (
        flip(L::select(odd, cosine, sine), n, x),
        flip(L::select(odd, sine, cosine), n.add(L::Bits::splat(1)), zero),
    )
}

/// The sine.
#[inline(always)]
pub fn sin<L: Lanes>(x: L) -> L {
    sin_cos(x).0
}

/// The cosine.
#[inline(always)]
pub fn cos<L: Lanes>(x: L) -> L {
    sin_cos(x).1
}

/// The tangent.
#[inline(always)]
pub fn tan<L: Lanes>(x: L) -> L {
    let (r, low, n) = reduce(x);
    let (sine, cosine) = kernels(r, low);
    let (sine, sine_low) = fast_two_sum(r, sine);
    let (cosine, cosine_low) = fast_two_sum(L::splat(1.0), cosine);
    let odd = odd::<L>(n);
    let pair = |yes: (L, L), no: (L, L)| (L::select(odd, yes.0, no.0), L::select(odd, yes.1, no.1));
    let (sine, cosine) = ((sine, sine_low), (cosine, cosine_low));
    let y = quotient(pair(cosine, sine), pair(sine, cosine));
    // Odd quarters give −cos/sin; the sign of x goes on top.
    flip(y, n.shl(1), x)
}
