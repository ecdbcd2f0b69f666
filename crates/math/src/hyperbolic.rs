//! Hyperbolic functions, and the sigmoid and the softplus of neural networks.

use crate::coefficients::{COSH, COSH_F32, SINH, SINH_F32, TANH, TANH_F32};
use crate::exponential::{
    clamp, exp, exp_near, exp_parts, ln2, near_power, near_scale, reduce, remainder,
};
use crate::logarithm::ln_of_sum;
use crate::parts::{
    fast_two_sum, horner, magic, pick, poly_of, power_of_two, two_product, two_sum,
};
use crate::{LaneBits, Lanes, tables};

/// Of |x| = r − ln u/2, up to [`limit`]: how many steps of a table u is from 1, u itself, which is a power of two times a number of
/// few bits, tanh r, and 1 + u + (1 − u) tanh r, by which tanh |x| is 1 − u + (1 + u) tanh r.
///
/// (With u a power of two and r up to 3/8 ln 2 it took 1.2 times as long.)
#[inline(always)]
fn tanh_parts<L: Lanes>(x: L) -> (L, L, L, L) {
    let y = limit::<L>().smaller(x.abs());
    let entries = pick(16.0, 32.0);
    let shifted: L = y.fma(L::splat(-2.0 * std::f64::consts::LOG2_E) * entries, magic());
    let n = shifted - magic();
    // The first sum is exact, as in `reduce`. What the step is short of ln 2 is in the table, as if x were less than 0.35; later
    // the slope is less.
    let step = pick(std::f64::consts::LN_2 / 32.0, 0.693_147_182_464_599_6 / 64.0);
    let r = n.fma(step, y) + L::look_up(&tables::NEAR_POWER_LOG, shifted.to_bits());
    let z = r * r;
    let p = if L::DOUBLE { horner(z, &TANH) } else { horner(z, &TANH_F32) };
    let h = (z * r).fma(p, r);
    let u: L = near_power(shifted, &tables::NEAR_POWER);
    (n, u, h, (L::splat(1.0) - u).fma(h, L::splat(1.0) + u))
}

/// Up to here e^(−2x) is a normal number, and so is the slope of tanh.
#[inline(always)]
fn limit<L: Lanes>() -> L {
    pick(350.0, 43.0)
}

/// The hyperbolic tangent, by one division.
#[inline(always)]
pub fn tanh<L: Lanes>(x: L) -> L {
    let (_, u, h, below) = tanh_parts(x);
    let one = L::splat(1.0);
    // Near 1 it is 1 less 2u (1 − tanh r)/below: three roundings at the size of the result are too many.
    let near = u.lt(L::splat(0.25));
    let twice = u + u;
    let first = L::select(near, -twice, one - u);
    let slope = L::select(near, twice, one + u);
    let y = slope.fma(h, first) / below;
    L::select(near, one + y, y).copysign(x)
}

/// 1/cosh² x, the slope of tanh, from what [`tanh`] computes as well: 4u/(below²/(1 − tanh² r)), where the denominator is rounded
/// once.
#[inline(always)]
pub fn sech2<L: Lanes>(x: L) -> L {
    let (n, u, h, below) = tanh_parts(x);
    let one = L::splat(1.0);
    let (more, less) = (one + u, one - u);
    let lost = less.fma(h, more - below) + (u - (more - one));
    // Of what the steps are short of, the table has half an octave on average; it matters where the result falls by its square.
    let step = ln2::<L>().1 * pick(1.0 / 16.0, 1.0 / 32.0);
    let t = h.fma(h, n.fma(step, step * pick(8.0, 16.0)));
    // t/(1 − t)
    let mut over = t.fma(t, t);
    if L::DOUBLE {
        over = over.fma(t, t).fma(t, t);
    }
    // Twice is a sum: units that multiply have enough to do.
    let rest = below * below.fma(over, lost + lost);
    let twice = u + u;
    let y = (twice + twice) / below.fma(below, rest);
    let [y] = L::rarely(
        x.abs().ge(limit()),
        [y],
        #[inline(always)]
        || {
            let x = clamp(x.abs() * L::splat(-2.0), pick(-748.0, -106.0), L::splat(0.0));
            let (shifted, q) = exp_near(x, None);
            let (near, first, second) = near_scale(shifted, x.lt(pick(-700.0, -80.0)));
            [near.fma(q, near) * (first * L::splat(4.0)) * second]
        },
    );
    y
}

/// 1/(1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid<L: Lanes>(x: L) -> L {
    // z/(1 + z) for negative x, where z = e⁻|ˣ|.
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let z = exp(-x.abs());
    let (sum, lost) = fast_two_sum(one, z);
    let above = L::select(x.lt(zero), z, one);
    let inverse = one / sum;
    let y = above * inverse;
    let rest = (-y).fma(sum, above) - y * lost;
    rest.fma(inverse, y)
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
