//! Inverse trigonometric and hyperbolic functions.

use crate::coefficients::{ASIN, ASIN_F32, ATAN, ATAN_F32};
use crate::logarithm::{ln_of_split, ln_of_sum};
use crate::parts::{
    fast_two_sum, infinity, pick, poly_of, quotient_pair, split_exponent, two_product, two_sum,
};
use crate::{LaneBits, Lanes};

/// π/2 in two parts.
#[inline(always)]
fn half_pi<L: Lanes>() -> (L, L) {
    (
        pick(std::f64::consts::FRAC_PI_2, 1.570_796_370_506_286_6),
        pick(6.123_233_995_736_766e-17, -4.371_138_828_673_793e-8),
    )
}

/// The angle of the point (x, y) in the first quadrant, or left of it if `left`; x and y are neither
/// both 0 nor so large or small that their sum or inverse is not normal.
#[inline(always)]
fn angle<L: Lanes>(y: L, x: L, left: Option<L::Mask>) -> L {
    let (zero, one, two) = (L::splat(0.0), L::splat(1.0), L::splat(2.0));
    let steep = y.gt(x);
    let (short, long) = (L::select(steep, x, y), L::select(steep, y, x));
    // The angle is t, or π/4 + t, of the point turned by π/4.
    let turned = short.gt(long * L::splat(std::f64::consts::SQRT_2 - 1.0));
    let (above, above_low) = fast_two_sum(long, -short);
    let (below, below_low) = fast_two_sum(long, short);
    let above = L::select(turned, -above, short);
    let above_low = L::select(turned, -above_low, zero);
    let below = L::select(turned, below, long);
    let below_low = L::select(turned, below_low, zero);
    let (t, t_low) = quotient_pair((above, above_low), (below, below_low));
    let z = t * t;
    let t = t + poly_of(z, z * z, &ATAN, &ATAN_F32).fma(z * t, t_low);
    // Times π/4: how far the angle is turned; mirrored at the diagonal and at the vertical.
    let quarters = L::select(turned, one, zero);
    let quarters = L::select(steep, two - quarters, quarters);
    let (quarters, mirrored) = match left {
        Some(left) => (L::select(left, L::splat(4.0) - quarters, quarters), steep ^ left),
        None => (quarters, steep),
    };
    let t = L::select(mirrored, -t, t);
    let (high, low) = half_pi::<L>();
    let half = quarters * L::splat(0.5);
    half.fma(high, half.fma(low, t))
}

/// The inverse tangent.
#[inline(always)]
pub fn atan<L: Lanes>(x: L) -> L {
    // Beyond, the result is π/2.
    let bounded = L::splat(1e20).smaller(x.abs());
    let y = angle(bounded, L::splat(1.0), None);
    y.copysign(x)
}

/// The angle of the point (x, y), between −π and π, with the special cases of C99.
#[inline(always)]
pub fn atan2<L: Lanes>(y: L, x: L) -> L {
    let (tall, wide) = (y.abs(), x.abs());
    let zero = L::splat(0.0);
    let left = x.to_bits().lt(L::Bits::splat(0));
    let long = tall.larger(wide);
    let usual = long.gt(pick(1e-150, 1e-15)) & long.lt(pick(1e150, 1e15)) & (x + y).eq(x + y);
    let [value] = L::rarely(
        !usual,
        [angle(tall, wide, Some(left))],
        #[inline(always)]
        || {
            // Both are scaled alike, so that their sum and their inverses are normal.
            let two = |n| 2.0_f64.powi(n);
            let down: L = pick(two(-600), two(-80));
            let up: L = pick(two(600), two(80));
            let scale = L::select(long.gt(L::splat(1.0)), down, up);
            // Infinite ones count as 1 against 0, and both zero as (1, 0).
            let infinite = long.eq(infinity());
            let one = L::splat(1.0);
            let finite =
                |v: L| L::select(infinite, L::select(v.eq(infinity()), one, zero), v * scale);
            let flat = L::select(long.eq(zero), one, finite(wide));
            let value = angle(finite(tall), flat, Some(left));
            // A small quotient is the angle; scaling may have rounded it.
            let quotient = tall / wide;
            let small = quotient.lt(pick(1e-30, 1e-15)) & !left & wide.gt(zero);
            let value = L::select(small, quotient, value);
            [L::select((x.ne(x)) | (y.ne(y)), L::splat(f64::NAN), value)]
        },
    );
    value.copysign(y)
}

/// For |x| ≤ 1/2: |x| and arcsin |x| − |x|. Else (where the mask holds) the same of
/// s = √((1 − |x|)/2), with arcsin |x| = π/2 − 2 arcsin s.
#[inline(always)]
fn arcsine<L: Lanes>(x: L) -> (L, L, L::Mask) {
    let half = L::splat(0.5);
    let x = x.abs();
    let large = x.gt(half);
    let z = L::select(large, (-half).fma(x, half), x * x);
    let t = L::select(large, z.sqrt(), x);
    (t, poly_of(z, z * z, &ASIN, &ASIN_F32) * z * t, large)
}

/// The inverse sine.
#[inline(always)]
pub fn asin<L: Lanes>(x: L) -> L {
    let (t, more, large) = arcsine(x);
    let (high, low) = half_pi::<L>();
    let two = L::splat(2.0);
    let (sum, error) = fast_two_sum(high, t * L::splat(-2.0));
    let far = sum - (two.fma(more, -low) - error);
    L::select(large, far, t + more).copysign(x)
}

/// The inverse cosine.
#[inline(always)]
pub fn acos<L: Lanes>(x: L) -> L {
    let (t, more, large) = arcsine(x);
    let (high, low) = half_pi::<L>();
    let two = L::splat(2.0);
    let right = t + more;
    let left = high - (right - low);
    // 2 arcsin s, or π less that.
    let far = L::select(x.gt(L::splat(0.0)), right, left) * two;
    // π/2 − arcsin x.
    let (t, more) = (t.copysign(x), more.copysign(x));
    L::select(large, far, high - (t - (low - more)))
}

/// `√(q + q_low)` in two parts, for q ≥ 0.
#[inline(always)]
fn sqrt_pair<L: Lanes>(q: L, q_low: L) -> (L, L) {
    let r = q.sqrt();
    let low = (-r).fma(r, q) + q_low;
    let low = low / (r + r);
    (r, L::select(r.gt(L::splat(0.0)), low, L::splat(0.0)))
}

/// ln(2x) for large x.
#[inline(always)]
fn ln_twice<L: Lanes>(x: L) -> L {
    let (m, e, _) = split_exponent(x);
    ln_of_split(m, e + L::splat(1.0))
}

/// The inverse hyperbolic sine.
#[inline(always)]
pub fn asinh<L: Lanes>(x: L) -> L {
    let y = x.abs();
    let (square, error) = two_product(y, y);
    let (sum, sum_error) = two_sum(square, L::splat(1.0));
    let (root, root_low) = sqrt_pair(sum, sum_error + error);
    let (u, lost) = two_sum(root, y);
    let [value] = L::rarely(
        !y.lt(pick(1e150, 1e18)),
        [ln_of_sum(u, lost + root_low)],
        #[inline(always)]
        || [L::select(y.lt(infinity()), ln_twice(y), y)],
    );
    value.copysign(x)
}

/// The inverse hyperbolic cosine.
#[inline(always)]
pub fn acosh<L: Lanes>(x: L) -> L {
    let one = L::splat(1.0);
    let (square, error) = two_product(x, x);
    let (sum, sum_error) = two_sum(square, -one);
    let (root, root_low) = sqrt_pair(sum, sum_error + error);
    let (u, lost) = fast_two_sum(x, root);
    let usual = x.ge(one) & x.lt(pick(1e150, 1e18));
    let [value] = L::rarely(
        !usual,
        [ln_of_sum(u, lost + root_low)],
        #[inline(always)]
        || {
            let value = L::select(x.lt(infinity()), ln_twice(x), x);
            [L::select(x.ge(one), value, L::splat(f64::NAN))]
        },
    );
    value
}

/// The inverse hyperbolic tangent.
#[inline(always)]
pub fn atanh<L: Lanes>(x: L) -> L {
    let one = L::splat(1.0);
    let y = x.abs();
    // (1 + y)/(1 − y) in two parts.
    let (u, lost) = quotient_pair(fast_two_sum(one, y), fast_two_sum(one, -y));
    let (u, lost) = fast_two_sum(u, lost);
    let value = ln_of_sum(u, lost) * L::splat(0.5);
    // x + x³/3 for small ones.
    let cube = (y * y * y).fma(L::splat(1.0 / 3.0), y);
    let value = L::select(y.lt(pick(1e-5, 1e-3)), cube, value);
    let [value] = L::rarely(
        !y.lt(one),
        [value],
        #[inline(always)]
        || [L::select(y.eq(one), infinity(), L::splat(f64::NAN))],
    );
    value.copysign(x)
}
