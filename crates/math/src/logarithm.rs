//! Logarithms: x = m·2ᵉ with m near 1, and a polynomial in s = (m − 1)/(m + 1).

use crate::coefficients::{LN, LN_F32};
use crate::exponential::ln2;
use crate::parts::{
    fast_two_sum, fraction_bits, infinity, pick, pick_bits, poly_of, smallest_normal,
    split_exponent, two_product, two_sum,
};
use crate::{LaneBits, Lanes};

/// ln(1 + f) = f − half + s·(half + …): half = f²/2 and that product.
#[inline(always)]
fn series<L: Lanes>(f: L) -> (L, L, L) {
    let s = f / (f + L::splat(2.0));
    let z = s * s;
    let half = f * L::splat(0.5) * f;
    (s, half, poly_of(z, z * z, &LN, &LN_F32).fma(z, half))
}

/// A logarithm of normal numbers. No closure, for it must always be inlined.
trait Logarithm {
    /// The logarithm of x·2^−less.
    fn normal<L: Lanes>(x: L, less: L) -> L;
}

/// A logarithm of any number: subnormal ones are scaled up.
#[inline(always)]
fn of_positive<L: Lanes, F: Logarithm>(x: L) -> L {
    let usual = x.ge(smallest_normal()) & x.lt(infinity());
    let [y] = L::rarely(
        !usual,
        [F::normal(x, L::splat(0.0))],
        #[inline(always)]
        || {
            let up: L = pick(18_014_398_509_481_984.0, 33_554_432.0);
            let y = F::normal(x * up, pick(54.0, 25.0));
            let special = L::select(x.eq(infinity()), x, L::splat(f64::NAN));
            let special = L::select(x.eq(L::splat(0.0)), L::splat(f64::NEG_INFINITY), special);
            [L::select(x.gt(L::splat(0.0)) & x.lt(infinity()), y, special)]
        },
    );
    y
}

struct Natural;

impl Logarithm for Natural {
    #[inline(always)]
    fn normal<L: Lanes>(x: L, less: L) -> L {
        let (m, e, _) = split_exponent(x);
        ln_of_split(m, e - less)
    }
}

/// The natural logarithm.
#[inline(always)]
pub fn ln<L: Lanes>(x: L) -> L {
    of_positive::<L, Natural>(x)
}

/// ln(m·2ᵉ) for √½ ≤ m < √2.
#[inline(always)]
pub(crate) fn ln_of_split<L: Lanes>(m: L, e: L) -> L {
    let f = m - L::splat(1.0);
    let (s, half, rest) = series(f);
    let (high, low) = ln2::<L>();
    e.fma(high, f - (half - s.fma(rest, e * low)))
}

/// [`ln_of_split`] with what its last addition lost.
#[inline(always)]
pub(crate) fn ln_of_split_pair<L: Lanes>(m: L, e: L) -> (L, L) {
    let f = m - L::splat(1.0);
    let (s, half, rest) = series(f);
    let (high, low) = ln2::<L>();
    let (whole, error) = two_product(e, high);
    let (sum, lost) = fast_two_sum(whole, f - (half - s.fma(rest, e * low)));
    (sum, lost + error)
}

/// ln(1 + f) as a sum of two numbers.
#[inline(always)]
fn series_pair<L: Lanes>(f: L) -> (L, L) {
    let (s, half, rest) = series(f);
    let half_error = (f * L::splat(0.5)).fma(f, -half);
    let (high, low) = fast_two_sum(f, -half);
    (high, s.fma(rest, low - half_error))
}

struct Binary;

impl Logarithm for Binary {
    #[inline(always)]
    fn normal<L: Lanes>(x: L, less: L) -> L {
        let (m, e, _) = split_exponent(x);
        let (high, low) = series_pair(m - L::splat(1.0));
        let scale = pick(std::f64::consts::LOG2_E, 1.442_695_021_629_333_5);
        let scale_low: L = pick(2.035_527_374_093_103_3e-17, 1.925_963_033_500_011e-8);
        let (product, error) = two_product(high, scale);
        let (sum, sum_error) = fast_two_sum(e - less, product);
        sum + (low.fma(scale, high.fma(scale_low, error)) + sum_error)
    }
}

/// The logarithm to base 2.
#[inline(always)]
pub fn log2<L: Lanes>(x: L) -> L {
    of_positive::<L, Binary>(x)
}

struct Decimal;

impl Logarithm for Decimal {
    #[inline(always)]
    fn normal<L: Lanes>(x: L, less: L) -> L {
        let (m, e, _) = split_exponent(x);
        let e = e - less;
        let (high, low) = series_pair(m - L::splat(1.0));
        let scale = pick(std::f64::consts::LOG10_E, 0.434_294_492_006_301_9);
        let scale_low: L = pick(1.098_319_650_216_765e-17, -1.010_304_995_219_257_8e-8);
        let log_two = pick(std::f64::consts::LOG10_2, 0.301_030_009_984_970_1);
        let log_two_low: L = pick(-2.803_728_127_785_170_4e-18, -1.432_098_883_924_482e-8);
        let (product, error) = two_product(high, scale);
        let (whole, whole_error) = two_product(e, log_two);
        let (sum, sum_error) = fast_two_sum(whole, product);
        let rest = low.fma(scale, high.fma(scale_low, error)) + e.fma(log_two_low, whole_error);
        sum + (rest + sum_error)
    }
}

/// The logarithm to base 10.
#[inline(always)]
pub fn log10<L: Lanes>(x: L) -> L {
    of_positive::<L, Decimal>(x)
}

/// ln(u + lost) for normal u > 0 below 2¹⁰²³ and |lost| at most half a unit of its last place.
#[inline(always)]
pub(crate) fn ln_of_sum<L: Lanes>(u: L, lost: L) -> L {
    let (m, e, biased) = split_exponent(u);
    // What was lost, in units of m.
    let down = L::from_bits(pick_bits::<L>(2046, 254).sub(biased).shl(fraction_bits::<L>()));
    // For u near 1 this sum is u + lost − 1 exactly, if that is a number.
    let (f, lost) = fast_two_sum(m - L::splat(1.0), lost * down);
    let (s, half, rest) = series(f);
    let (high, low) = ln2::<L>();
    e.fma(high, f - (half - s.fma(rest, e.fma(low, lost))))
}

/// ln(1 + x), also for small x.
#[inline(always)]
pub fn ln_1p<L: Lanes>(x: L) -> L {
    let one = L::splat(1.0);
    let (u, lost) = two_sum(one, x);
    let y = ln_of_sum(u, lost);
    // Near the greatest number the exponent of 1 + x has no inverse; there 1 + x is x.
    let usual = x.gt(-one) & x.lt(pick(1e300, 1e38));
    let [y] = L::rarely(
        !usual,
        [y],
        #[inline(always)]
        || {
            let special = L::select(x.ge(pick(1e300, 1e38)), ln(x), L::splat(f64::NAN));
            [L::select(x.eq(-one), L::splat(f64::NEG_INFINITY), special)]
        },
    );
    y.copysign(x)
}
