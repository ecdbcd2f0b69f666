//! Exponentials: x = n·ln 2 + r with |r| ≤ ln 2/2, a polynomial for e^r, and 2ⁿ in two factors.

use crate::coefficients::{EXP, EXP_F32, EXP_M1, EXP_M1_F32, EXP2, EXP2_F32};
use crate::parts::{biased_magic, fast_two_sum, fraction_bits, magic, pick, pick_bits, poly_of};
use crate::{LaneBits, Lanes};

/// ln 2 in two parts.
#[inline(always)]
pub(crate) fn ln2<L: Lanes>() -> (L, L) {
    (
        pick(std::f64::consts::LN_2, 0.693_147_182_464_599_6),
        pick(2.319_046_813_846_299_6e-17, -1.904_654_212_125_933_6e-9),
    )
}

/// x between two bounds; NaN stays.
#[inline(always)]
pub(crate) fn clamp<L: Lanes>(x: L, least: L, greatest: L) -> L {
    least.larger(greatest.smaller(x))
}

/// 2ⁿ in two factors: p·first is exact for p near 1, and p·first·second is rounded once.
///
/// n is in the low 12 bits (9 for singles), and any others do not matter; `small` holds where 2ⁿ may be subnormal.
#[inline(always)]
pub(crate) fn scale<L: Lanes>(n: L::Bits, small: L::Mask) -> (L, L) {
    // 2ⁿ⁻¹ and 2, or 2ⁿ⁺⁶⁴ and 2⁻⁶⁴: so neither 2¹⁰²⁴ nor subnormal factors are needed.
    let up = if L::DOUBLE { 64 } else { 32 };
    let bias =
        L::Bits::select(small, pick_bits::<L>(1023 + up, 127 + up), pick_bits::<L>(1022, 126));
    let first = L::from_bits(n.add(bias).shl(fraction_bits::<L>()));
    let second = L::select(
        small,
        pick(5.421_010_862_427_522e-20, 2.328_306_436_538_696_3e-10),
        L::splat(2.0),
    );
    (first, second)
}

/// n + [`magic`], n, and x minus n times the high part of ln 2, for the nearest n.
#[inline(always)]
pub(crate) fn reduce<L: Lanes>(x: L) -> (L, L, L) {
    let shifted = x.fma(L::splat(std::f64::consts::LOG2_E), magic());
    let n = shifted - magic();
    // Exact: the difference has no more bits than the product of n and the high part of ln 2.
    (shifted, n, (-n).fma(ln2::<L>().0, x))
}

/// eˣ.
#[inline(always)]
pub fn exp<L: Lanes>(x: L) -> L {
    let shifted = x.fma(L::splat(std::f64::consts::LOG2_E), biased_magic());
    let p = exp_of_remainder(x, shifted - biased_magic());
    let y = p * L::from_bits(shifted.to_bits().shl(fraction_bits::<L>()));
    // Elsewhere 2ⁿ or the result may not be a normal number.
    let usual = x.abs().lt(pick(708.0, 87.0));
    let [y] = L::rarely(
        !usual,
        [y],
        #[inline(always)]
        || {
            let x = clamp(x, pick(-746.0, -104.0), pick(710.0, 89.0));
            let (shifted, n, _) = reduce(x);
            let (first, second) = scale(shifted.to_bits(), x.lt(pick(-700.0, -80.0)));
            [exp_of_remainder(x, n) * first * second]
        },
    );
    y
}

/// e^(x − n·ln 2).
#[inline(always)]
fn exp_of_remainder<L: Lanes>(x: L, n: L) -> L {
    let (high, low) = ln2::<L>();
    // Exact, as in `reduce`.
    let r = (-n).fma(low, (-n).fma(high, x));
    let r2 = r * r;
    L::splat(1.0) + poly_of(r, r2, &EXP, &EXP_F32).fma(r2, r)
}

/// 2ˣ.
#[inline(always)]
pub fn exp2<L: Lanes>(x: L) -> L {
    let x = clamp(x, pick(-1076.0, -151.0), pick(1025.0, 129.0));
    let shifted = x + magic();
    let r = x - (shifted - magic());
    let p = poly_of(r, r * r, &EXP2, &EXP2_F32).fma(r, L::splat(1.0));
    let (first, second) = scale(shifted.to_bits(), x.lt(pick(-1000.0, -110.0)));
    p * first * second
}

/// eˣ − 1, also for small x.
#[inline(always)]
pub fn exp_m1<L: Lanes>(x: L) -> L {
    let y = clamp(x, pick(-40.0, -20.0), pick(710.0, 89.0));
    let (shifted, n, high) = reduce(y);
    let (r, low) = remainder(n, high);
    let r2 = r * r;
    let q = poly_of(r, r2, &EXP_M1, &EXP_M1_F32).fma(r2, low);
    // With t = 2ⁿ⁻¹: eˣ − 1 = 2 (t − 1/2 + t r + t q), where t − 1/2 and t·r are exact.
    let t =
        L::from_bits(shifted.to_bits().add(pick_bits::<L>(1022, 126)).shl(fraction_bits::<L>()));
    let (sum, error) = fast_two_sum(t - L::splat(0.5), t * r);
    let y = (sum + t.fma(q, error)) * L::splat(2.0);
    // Half a subnormal number is not exact, and the sum has lost the sign of −0.
    L::select(x.abs().lt(pick(1e-20, 1e-10)), x, y)
}

/// x − n·ln 2 in two parts.
#[inline(always)]
pub(crate) fn remainder<L: Lanes>(n: L, high: L) -> (L, L) {
    fast_two_sum(high, -n * ln2::<L>().1)
}

/// e^(x + low) = (p + low)·first·second, in this order; x is at most 0, or NaN.
#[inline(always)]
pub(crate) fn exp_parts<L: Lanes>(x: L, low: L) -> ((L, L), (L, L)) {
    let x = pick::<L>(-746.0, -104.0).larger(x);
    let (shifted, n, high) = reduce(x);
    let (r, low) = fast_two_sum(high, (-n).fma(ln2::<L>().1, low));
    let r2 = r * r;
    let q = poly_of(r, r2, &EXP_M1, &EXP_M1_F32).fma(r2, low);
    let (sum, error) = fast_two_sum(L::splat(1.0), r);
    (fast_two_sum(sum, q + error), scale(shifted.to_bits(), x.lt(pick(-700.0, -80.0))))
}
