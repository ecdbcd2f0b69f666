//! Exponentials: x = n·ln 2 + r with |r| ≤ ln 2/2, a polynomial for e^r, and 2ⁿ in two factors.

use crate::coefficients::{EXP_M1, EXP_M1_F32, EXP_NEAR, EXP_NEAR_F32, EXP2, EXP2_F32};
use crate::parts::{fast_two_sum, fraction_bits, magic, pick, pick_bits, poly_of};
use crate::{LaneBits, Lanes, Table, tables};

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

/// How many bits an index into a [`Table`](crate::Table) has.
#[inline(always)]
pub(crate) fn index_bits<L: Lanes>() -> u32 {
    if L::DOUBLE { 4 } else { 5 }
}

/// With x + low = n·ln 2/entries + r: n + [`magic`], and eʳ − 1 and what is missing from 2^(i/entries), for i = n modulo
/// entries. `low` is little beside x.
#[inline(always)]
pub(crate) fn exp_near<L: Lanes>(x: L, low: Option<L>) -> (L, L) {
    let (shifted, r) = near(x, low);
    let index = shifted.to_bits();
    let missing = L::look_up(&tables::POWER_LOW, index);
    (shifted, poly_of(r, r * r, &EXP_NEAR, &EXP_NEAR_F32).fma(r * r, r + missing))
}

/// With x + low = n·ln 2/entries + r: n + [`magic`], and r.
#[inline(always)]
fn near<L: Lanes>(x: L, low: Option<L>) -> (L, L) {
    let per_unit = pick(16.0 * std::f64::consts::LOG2_E, 32.0 * std::f64::consts::LOG2_E);
    let shifted: L = x.fma(per_unit, magic());
    let n = shifted - magic();
    // Here all bits of ln 2: the first difference is exact, as in `reduce`.
    let (step, step_low) = ln2::<L>();
    let by: L = pick(1.0 / 16.0, 1.0 / 32.0);
    let r = (-n).fma(step * by, x);
    let r = match low {
        None => (-n).fma(step_low * by, r),
        Some(low) => r + (-n).fma(step_low * by, low),
    };
    (shifted, r)
}

/// 2^(n/entries), where it is normal, for n + [`magic`]; by [`POWER`](tables::POWER) or a table like it.
#[inline(always)]
pub(crate) fn near_power<L: Lanes>(shifted: L, table: &'static Table) -> L {
    let n = shifted.to_bits();
    // What the lowest bits of n come to in the fraction has been taken from the entries.
    let entry = L::look_up(table, n).to_bits();
    L::from_bits(entry.add(n.shl(fraction_bits::<L>() - index_bits::<L>())))
}

/// 2^(n/entries) in three factors, the last two as [`scale`] gives them.
#[inline(always)]
pub(crate) fn near_scale<L: Lanes>(shifted: L, small: L::Mask) -> (L, L, L) {
    let n = shifted.to_bits();
    let index = n.and(pick_bits::<L>(15, 31)).shl(fraction_bits::<L>() - index_bits::<L>());
    let entry = L::look_up(&tables::POWER, n).to_bits();
    let (first, second) = scale::<L>(n.sar(index_bits::<L>()), small);
    (L::from_bits(entry.add(index)), first, second)
}

/// eˣ, by a table: 2^(i/entries), and a short polynomial for what is left (of degree 12 without one, which took 1.5 times as long).
#[inline(always)]
pub fn exp<L: Lanes>(x: L) -> L {
    let (shifted, q) = exp_near(x, None);
    let near: L = near_power(shifted, &tables::POWER);
    // Elsewhere the result may not be a normal number.
    let usual = x.abs().lt(pick(708.0, 87.0));
    let [y] = L::rarely(
        !usual,
        [near.fma(q, near)],
        #[inline(always)]
        || {
            let x = clamp(x, pick(-746.0, -104.0), pick(710.0, 89.0));
            let (shifted, q) = exp_near(x, None);
            let (near, first, second) = near_scale(shifted, x.lt(pick(-700.0, -80.0)));
            [near.fma(q, near) * first * second]
        },
    );
    y
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
