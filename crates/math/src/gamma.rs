//! The logarithm of the gamma function, and its derivative. Singles are computed as doubles.

use crate::Lanes;
use crate::coefficients::{DIGAMMA, DIGAMMA_TAIL, LN_GAMMA, STIRLING};
use crate::logarithm::{ln, ln_of_split_pair};
use crate::parts::{
    fast_two_sum, infinity, poly, product, quotient_pair, split_exponent, tail, two_sum,
};
use crate::power::ln_pair;
use crate::trigonometric::kernels;

/// π in two parts.
#[inline(always)]
fn pi<L: Lanes>() -> (L, L) {
    (L::splat(std::f64::consts::PI), L::splat(1.224_646_799_147_353_2e-16))
}

/// |sin πx| and |cos πx| for x ≥ 0, each in two parts, and the mask of equal signs: where the
/// cotangent is positive.
#[inline(always)]
fn sin_cos_pi<L: Lanes>(x: L) -> ((L, L), (L, L), L::Mask) {
    let r = x - x.round_even();
    let far = r.abs().gt(L::splat(0.25));
    // Near the middle from there.
    let turned = L::select(far, L::splat(0.5) - r.abs(), r.abs());
    let (high, low) = product(pi::<L>(), (turned, L::splat(0.0)));
    let (high, low) = fast_two_sum(high, low);
    let (sine, cosine) = kernels(high, low);
    let sine = fast_two_sum(high, sine);
    let cosine = fast_two_sum(L::splat(1.0), cosine);
    let pair = |a: (L, L), b: (L, L)| (L::select(far, a.0, b.0), L::select(far, a.1, b.1));
    (pair(cosine, sine), pair(sine, cosine), r.gt(L::splat(0.0)))
}

/// ln(u + low) in two parts.
#[inline(always)]
fn ln_of_pair<L: Lanes>((u, low): (L, L)) -> (L, L) {
    let (high, more) = ln_pair(u);
    (high, more + low / u)
}

const LN_GAMMA_REST: [f64; 18] = tail(LN_GAMMA);

/// ln Γ(x) in two parts, for 10⁻³⁰ ≤ x ≤ 10³⁰⁵.
///
/// From 4 on by Stirling's series. Below by y P(y) = ln Γ(2 + y) with |y| ≤ 1/2, which keeps both
/// zeros, and the logarithm of the factors between x and 2 + y.
#[inline(always)]
fn ln_gamma_positive<L: Lanes>(x: L) -> (L, L) {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let large = x.ge(L::splat(4.0));
    // 0, 1, 2, 3 or 4 next to x, and the factors.
    let whole = L::splat(4.0).smaller(x.round_even());
    let y = x - L::select(x.lt(L::splat(0.5)), zero, whole);
    let (next, next_low) = two_sum(x, one);
    let below = x - one;
    let first = L::select(whole.gt(L::splat(2.0)), below, one);
    let first = L::select(whole.lt(L::splat(2.0)), x, first);
    let second = L::select(whole.eq(L::splat(4.0)), below - one, one);
    let second = L::select(whole.eq(zero), next, second);
    let second_low = L::select(whole.eq(zero), next_low, zero);
    let (u, u_low) = product((first, zero), (second, second_low));
    let u = (L::select(large, x, u), L::select(large, zero, u_low));
    let (ln, ln_low) = ln_of_pair(u);

    // ln Γ(2 + y) = y (1 − γ + y (c + y rest)).
    let rest = poly(y, y * y, &LN_GAMMA_REST) * y;
    let slope = fast_two_sum(L::splat(LN_GAMMA[0]), rest);
    let (slope, slope_low) = product((slope.0, slope.1 + L::splat(LN_GAMMA[1])), (y, zero));
    let (p, low) = fast_two_sum(L::splat(0.422_784_335_098_467_13), slope);
    let p = (p, low + (slope_low + L::splat(4.942_915_152_430_645e-18)));
    // Or (x − 1/2) (ln x − 1) + (ln 2π − 1)/2 + series.
    let inverse = one / x;
    let w = inverse * inverse;
    let series = poly(w, w * w, &STIRLING) * inverse;
    let (half, half_low) = fast_two_sum(x, L::splat(-0.5));
    let (less, less_low) = fast_two_sum(ln, -one);
    let (high, low) = product(
        (L::select(large, half, y), L::select(large, half_low, zero)),
        (L::select(large, less, p.0), L::select(large, less_low + ln_low, p.1)),
    );
    // Divided by the factors below 2, multiplied by those above.
    let minus = whole.lt(L::splat(2.0));
    let more = L::select(large, L::splat(0.418_938_533_204_672_7), L::select(minus, -ln, ln));
    let more_low = L::select(
        large,
        series + L::splat(1.672_820_965_058_541_3e-17),
        L::select(minus, -ln_low, ln_low),
    );
    let (sum, error) = two_sum(high, more);
    fast_two_sum(sum, error + (low + more_low))
}

/// [`ln_gamma`] of doubles.
#[inline(always)]
fn ln_gamma_double<L: Lanes>(x: L) -> L {
    let (high, low) = ln_gamma_positive(x);
    let usual = x.gt(L::splat(1e-30)) & x.lt(L::splat(1e305));
    let [value] = L::rarely(
        !usual,
        [high + low],
        #[inline(always)]
        || {
            // Γ(−a) Γ(a) = −π/(a sin πa).
            let a = x.abs();
            let (sine, _, _) = sin_cos_pi(a);
            let (ln_sine, ln_sine_low) = ln_of_pair(product(sine, (a, L::splat(0.0))));
            let (high, low) = ln_gamma_positive(a);
            let (sum, error) = two_sum(L::splat(1.144_729_885_849_400_2), -ln_sine);
            let (sum, more) = two_sum(sum, -high);
            let rest = error + more - (ln_sine_low + low) + L::splat(1.026_595_116_270_782_6e-17);
            let value = sum + rest;
            let value = L::select(a.round_even().eq(a), infinity(), value);
            // Near 0 it is −ln |x|, and far away x (ln x − 1), which becomes infinite.
            let ln = ln(a);
            let value = L::select(a.lt(L::splat(1e-30)), -ln, value);
            let far = x * (ln - L::splat(1.0));
            let value = L::select(x.gt(L::splat(1.0)), far, value);
            let value = L::select(a.eq(infinity()), infinity(), value);
            [L::select(x.ne(x), x, value)]
        },
    );
    value
}

/// ln |Γ(x)|; infinite at 0 and the negative whole numbers.
#[inline(always)]
pub fn ln_gamma<L: Lanes>(x: L) -> L {
    L::narrow(ln_gamma_double(x.widen()))
}

const DIGAMMA_REST: [f64; 22] = tail(DIGAMMA);

/// ψ(x) in two parts for x ≥ 10⁻²⁰, with a better logarithm if `precise`.
///
/// From 4 on by the series in 1/x. On 1 ≤ x ≤ 2 as the product of x − x₀ and a polynomial, where
/// ψ(x₀) = 0; elsewhere from there by ψ(x + 1) = ψ(x) + 1/x.
#[inline(always)]
fn digamma_positive<L: Lanes>(x: L, precise: bool) -> (L, L) {
    let (zero, one, two) = (L::splat(0.0), L::splat(1.0), L::splat(2.0));
    let large = x.ge(L::splat(4.0));
    let (below_one, from_two) = (x.lt(one), x.ge(two));
    let from_three = x.ge(L::splat(3.0));
    // x or one of its neighbours is 3/2 + y.
    let centre = L::select(from_two, L::splat(2.5), L::splat(1.5));
    let centre = L::select(from_three, L::splat(3.5), centre);
    let y = x - L::select(below_one, L::splat(0.5), centre);
    // 3/2 − x₀ = 0.038…
    let (factor, factor_low) = two_sum(y, L::splat(0.03836785503163766));
    let factor_low = factor_low + L::splat(1.6445603550442201e-18);
    let (p, low) = fast_two_sum(L::splat(DIGAMMA[0]), poly(y, y * y, &DIGAMMA_REST) * y);
    let (near, near_low) = product((factor, factor_low), (p, low + L::splat(DIGAMMA[1])));
    // The fractions between: −1/x, 0, 1/(x − 1), (2x − 3)/((x − 1) (x − 2)); for large x −1/(2x).
    let less = x - one;
    let above = L::select(from_three, x + x - L::splat(3.0), one);
    let above = L::select(from_two, above, zero);
    let above = L::select(below_one, -one, above);
    let above = L::select(large, L::splat(-0.5), above);
    let both = product((less, zero), (x - two, zero));
    let below = L::select(from_three, both.0, less);
    let below = L::select(from_two, below, one);
    let below = L::select(below_one | large, x, below);
    let below_low = L::select(from_three & !large, both.1, zero);
    let (fraction, fraction_low) = quotient_pair((above, zero), (below, below_low));
    // ln x − 1/(2x) − series.
    let w = fraction * fraction * L::splat(4.0);
    let (ln, ln_low) = if precise {
        ln_pair(x)
    } else {
        let (m, e, _) = split_exponent(x);
        ln_of_split_pair(m, e)
    };
    let series = (-poly(w, w * w, &DIGAMMA_TAIL)).fma(w, ln_low);
    let base = L::select(large, ln, near);
    let base_low = L::select(large, series, near_low);
    let (sum, error) = two_sum(base, fraction);
    (sum, error + (base_low + fraction_low))
}

/// [`digamma`] of doubles.
#[inline(always)]
fn digamma_double<L: Lanes>(x: L) -> L {
    let usual = x.gt(L::splat(1e-20)) & x.lt(infinity());
    let (high, low) = digamma_positive(x, false);
    let [value] = L::rarely(
        !usual,
        [high + low],
        #[inline(always)]
        || {
            let one = L::splat(1.0);
            // ψ(−a) = ψ(1 + a) + π cot πa.
            let a = x.abs();
            let (sine, cosine, positive) = sin_cos_pi(a);
            let (cotangent, cotangent_low) = quotient_pair(product(cosine, pi()), sine);
            let signed = |y: L| L::select(positive, y, -y);
            let (next, lost) = two_sum(a, one);
            let (high, low) = digamma_positive(next, true);
            // What the sum lost, times ψ′ = 1/z + 1/(2z²) + 1/(6z³) − …
            let inverse = one / next;
            let slope = inverse.fma(L::splat(1.0 / 6.0), L::splat(0.5)).fma(inverse, one) * inverse;
            let low = lost.fma(slope, low);
            let (sum, error) = two_sum(high, signed(cotangent));
            let value = sum + (error + (low + signed(cotangent_low)));
            let value = L::select(a.round_even().eq(a), L::splat(f64::NAN), value);
            let value = L::select(a.lt(L::splat(1e-20)), -one / x, value);
            [L::select(x.gt(one) | x.ne(x), x, value)]
        },
    );
    value
}

/// The derivative of [`ln_gamma`]; ∓∞ at ±0, NaN at the negative whole numbers.
#[inline(always)]
pub fn digamma<L: Lanes>(x: L) -> L {
    L::narrow(digamma_double(x.widen()))
}
