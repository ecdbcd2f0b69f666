//! Hyperbolic functions, and the sigmoid and the softplus of neural networks.

use crate::coefficients::{COSH, COSH_F32, SINH, SINH_F32, TANH, TANH_F32};
use crate::exponential::{exp_parts, ln2, reduce, remainder};
use crate::logarithm::ln_of_sum;
use crate::parts::{
    biased_magic, fast_two_sum, fraction_bits, magic, pick, poly_of, power_of_two, quotient,
    two_product, two_sum,
};
use crate::{LaneBits, Lanes};

/// The hyperbolic tangent, by one division.
///
/// With |x| = r − n·ln 2/2 and h = tanh r it is (1 − u + (1 + u) h)/(1 + u + (1 − u) h) for u = 2ⁿ.
/// That is c + u ((2 + c) h − c)/(1 + u + c h) for c = 1 − u, where the quotient is the small part.
#[inline(always)]
pub fn tanh<L: Lanes>(x: L) -> L {
    let one = L::splat(1.0);
    // Beyond, the result is ±1.
    let y = pick::<L>(20.0, 10.0).smaller(x.abs());
    // Not the nearest n, but r from −1/8 ln 2 to 3/8 ln 2: where c becomes 1/2 the result then is no
    // longer much smaller.
    let place = y.fma(L::splat(-2.0 * std::f64::consts::LOG2_E), L::splat(0.25));
    let shifted = place + biased_magic();
    let n = shifted - biased_magic();
    let (high, low) = ln2::<L>();
    let half = L::splat(0.5);
    let r = n.fma(low * half, n.fma(high * half, y));
    let z = r * r;
    let p = poly_of(z, z * z, &TANH, &TANH_F32);
    let h = p.fma(z * r, r);
    let u = L::from_bits(shifted.to_bits().shl(fraction_bits::<L>()));
    let c = one - u;
    let small = (L::splat(3.0) - u).fma(h, -c) * u;
    (c + small / c.fma(h, one + u)).copysign(x)
}

/// 1/(1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid<L: Lanes>(x: L) -> L {
    let ((p, low), (first, second)) = exp_parts(-x.abs(), L::splat(0.0));
    let (one, zero) = (L::splat(1.0), L::splat(0.0));
    let (sum, error) = fast_two_sum(one, p * first * second);
    let error = error + low * first * second;
    // z/(1 + z) for negative x, where z = e⁻|ˣ| is scaled last, for it may be subnormal.
    let negative = x.lt(zero);
    let above = (L::select(negative, p, one), L::select(negative, low, zero));
    let y = quotient(above, (sum, error));
    L::select(negative, y * first * second, y)
}

/// ln(1 + eˣ).
#[inline(always)]
pub fn softplus<L: Lanes>(x: L) -> L {
    let ((p, low), (first, second)) = exp_parts(-x.abs(), L::splat(0.0));
    let (sum, lost) = two_sum(L::splat(1.0), p * first * second);
    let y = ln_of_sum(sum, lost + low * first * second);
    // The larger of 0 and x, or NaN.
    L::splat(0.0).larger(x) + y
}

/// With x = n·ln 2 + r ≥ 0: 2ⁿ/4 and 2⁻ⁿ/4, r, and what sinh r and cosh r are more than r and 1.
#[inline(always)]
fn halves<L: Lanes>(x: L) -> ((L, L), L, L, L) {
    // Beyond, the result is infinite; at most, 2ⁿ⁻² is finite.
    let x = pick::<L>(710.6, 89.6).smaller(x);
    let (shifted, n, high) = reduce(x);
    let (r, low) = remainder(n, high);
    let z = r * r;
    let z2 = z * z;
    let s = poly_of(z, z2, &SINH, &SINH_F32).fma(z * r, low);
    let c = poly_of(z, z2, &COSH, &COSH_F32).fma(z2, z.fma(L::splat(0.5), r * low));
    let up: L = power_of_two(shifted.to_bits().sub(L::Bits::splat(2)));
    // From 2⁻⁶⁴ on the other power no longer matters.
    let few = (L::splat(64.0).smaller(n) + magic()).to_bits();
    let down: L = power_of_two(L::Bits::splat(-2).sub(few));
    ((up, down), r, s, c)
}

/// The hyperbolic sine.
#[inline(always)]
pub fn sinh<L: Lanes>(x: L) -> L {
    let ((up, down), r, s, c) = halves(x.abs());
    // sinh x = 2 (a cosh r + b sinh r) with a = (2ⁿ − 2⁻ⁿ)/4 and b = (2ⁿ + 2⁻ⁿ)/4.
    let (a, lost) = fast_two_sum(up, -down);
    let b = up + down;
    let (product, error) = two_product(b, r);
    let (sum, sum_error) = fast_two_sum(a, product);
    let y = sum + (sum_error + b.fma(s, a.fma(c, error + lost)));
    let y = (y * L::splat(2.0)).copysign(x);
    // Half a subnormal number is not exact.
    L::select(x.abs().lt(pick(1e-20, 1e-10)), x, y)
}

/// The hyperbolic cosine.
#[inline(always)]
pub fn cosh<L: Lanes>(x: L) -> L {
    let ((up, down), r, s, c) = halves(x.abs());
    // cosh x = 2 (b cosh r + a sinh r), as above.
    let a = up - down;
    let (b, lost) = fast_two_sum(up, down);
    let (product, error) = two_product(a, r);
    let (sum, sum_error) = fast_two_sum(b, product);
    let y = sum + (sum_error + a.fma(s, b.fma(c, error + lost)));
    y * L::splat(2.0)
}
