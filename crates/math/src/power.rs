//! Powers: x^y = exp(y ln x) with the logarithm in two parts, whole powers, and roots.

use crate::coefficients::{INVERSE_CBRT, LN_NEAR, LN_NEAR_F32};
use crate::exponential::{clamp, exp_near, index_bits, near_power, near_scale};
use crate::parts::{
    fast_two_sum, fraction_bits, horner, infinity, magic, pick, pick_bits, poly_of, power_of_two,
    product, smallest_normal, split_exponent, two_product,
};
use crate::{LaneBits, Lanes, tables};

/// ln x less `less` [steps](tables::STEP) for normal x, in two parts with an error of about 2⁻⁶⁵ (2⁻³⁵ for
/// singles); the second part is below 2⁻¹⁰ of the first.
///
/// x = m·2ᵉ, and a table has a short number near 1/m, so that f = m·inverse − 1 is small and exact;
/// its logarithm is in the table too. There is neither a division nor a cancellation: around 1 the
/// inverse is 1. (By (m − 1)/(m + 1) in two parts a power took more than twice as long; singles by way
/// of doubles took three times as long.)
#[inline(always)]
fn ln_parts<L: Lanes>(x: L, less: L) -> (L, L) {
    let bits = x.to_bits();
    let above = bits.sub(pick_bits::<L>(tables::START.0, tables::START.1));
    let exponent = above.and(pick_bits::<L>(-1 << 52, -1 << 23));
    let m = L::from_bits(bits.sub(exponent));
    // e and the place in the octave, as one number that is 0 for 1.
    let place = above.sar(fraction_bits::<L>() - index_bits::<L>());
    let one: L = pick(tables::ONE.0, tables::ONE.1);
    let j = L::from_bits(place.add(magic::<L>().to_bits())) - (magic::<L>() + one) - less;
    let f = m.fma(L::look_up(&tables::INVERSE, place), L::splat(-1.0));
    let whole = j.fma(pick(tables::STEP.0, tables::STEP.1), L::look_up(&tables::LN, place));
    let step_low = pick(tables::STEP_LOW.0, tables::STEP_LOW.1);
    let rest = j.fma(step_low, L::look_up(&tables::LN_LOW, place));
    let (sum, error) = fast_two_sum(whole, f);
    let f2 = f * f;
    // sum − f²/2 without an error.
    let half = L::splat(-0.5);
    let next = f2.fma(half, sum);
    let error = error + f2.fma(half, sum - next);
    let rest = f.fma(f, -f2).fma(half, rest);
    (next, poly_of(f, f2, &LN_NEAR, &LN_NEAR_F32).fma(f2 * f, rest) + error)
}

/// ln x in two parts, to about 2⁻⁶⁵, for normal doubles.
#[inline(always)]
pub(crate) fn ln_pair<L: Lanes>(x: L) -> (L, L) {
    let (high, low) = ln_parts(x, L::splat(0.0));
    fast_two_sum(high, low)
}

/// y ln x in two parts, where x was scaled up by `less` [steps](tables::STEP).
#[inline(always)]
fn exponent<L: Lanes>(x: L, less: L, y: L) -> (L, L) {
    let (high, low) = ln_parts(x, less);
    let (product, error) = two_product(high, y);
    (product, low.fma(y, error))
}

/// x^y for normal x > 0 and finite y where it is normal, which the mask tells.
#[inline(always)]
fn power_of_normal<L: Lanes>(x: L, y: L) -> (L, L::Mask) {
    let (high, low) = exponent(x, L::splat(0.0), y);
    let (high, low) = fast_two_sum(high, low);
    let (shifted, q) = exp_near(high, Some(low));
    let near: L = near_power(shifted, &tables::POWER);
    (near.fma(q, near), high.abs().lt(pick(708.0, 87.0)))
}

/// x^y for normal x > 0 (scaled up by `less` [steps](tables::STEP)) and finite y.
#[inline(always)]
fn power_with_limits<L: Lanes>(x: L, less: L, y: L) -> L {
    let (high, low) = exponent(x, less, y);
    // An infinite product has a low part of no meaning.
    let most = L::splat(800.0);
    let low = L::select(high.abs().lt(most), low, L::splat(0.0));
    let (high, low) = fast_two_sum(clamp(high, -most, most), low);
    let high = clamp(high, pick(-746.0, -104.0), pick(710.0, 89.0));
    let (shifted, q) = exp_near(high, Some(low));
    let (near, first, second) = near_scale::<L>(shifted, high.lt(pick(-700.0, -80.0)));
    near.fma(q, near) * first * second
}

/// |x|^y for any x and y except for 1^y and (−1)^±∞.
#[inline(always)]
fn power_of_magnitude<L: Lanes>(x: L, y: L) -> L {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let x = x.abs();
    let small = x.lt(smallest_normal());
    // Up by 2⁵⁴, or by 2²⁵ for singles.
    let up = pick(18_014_398_509_481_984.0, 33_554_432.0);
    let normal = L::select(small, x * up, x);
    let less = L::select(small, pick(54.0 * 16.0, 25.0 * 32.0), zero);
    let value = power_with_limits(normal, less, y);
    // 0 and ∞, to a power: ∞ if the logarithm and the exponent agree in sign. NaN stays NaN.
    let up = (x.gt(one) & y.gt(zero)) | (x.lt(one) & y.lt(zero));
    let limit = L::select(up, infinity(), zero);
    let extreme = x.eq(zero) | x.eq(infinity()) | y.abs().eq(infinity());
    let value = L::select(extreme & !x.ne(x) & !y.ne(y), limit, value);
    let value = L::select(x.ne(x), x, value);
    L::select(y.ne(y), y, value)
}

/// x^y, with the special cases of C99: x⁰ = 1 and 1^y = 1 even for NaN, negative x to whole powers.
#[inline(always)]
pub fn pow<L: Lanes>(x: L, y: L) -> L {
    let (value, normal) = power_of_normal(x, y);
    let usual = x.ge(smallest_normal()) & x.lt(infinity()) & normal;
    let [value] = L::rarely(
        !usual,
        [value],
        #[inline(always)]
        || {
            let (zero, one) = (L::splat(0.0), L::splat(1.0));
            let value = power_of_magnitude(x, y);
            let whole = y.eq(y.round_even());
            let half = y * L::splat(0.5);
            let odd = whole & half.ne(half.round_even());
            // The sign bit, also of −0.
            let minus = x.to_bits().lt(L::Bits::splat(0));
            let value = L::select(minus & odd, -value, value);
            let undefined = x.lt(zero) & x.gt(-infinity::<L>()) & !whole;
            let value = L::select(undefined, L::splat(f64::NAN), value);
            let unit = y.eq(zero) | x.eq(one) | (x.eq(-one) & y.abs().eq(infinity()));
            [L::select(unit, one, value)]
        },
    );
    value
}

/// xⁿ for a whole n that is the same in all lanes.
///
/// Up to the 64th power by repeated squaring in two parts, beyond by [`pow`].
#[inline(always)]
pub fn powi<L: Lanes>(x: L, n: i32) -> L {
    match n {
        0 => L::splat(1.0),
        1 => x,
        2 => x * x,
        3 => x * x * x,
        -1 => L::splat(1.0) / x,
        _ if !L::DOUBLE => {
            let wide = x.widen();
            L::narrow(if n.unsigned_abs() <= 64 {
                whole_power_plain(wide, n)
            } else {
                whole_power_by_exp(wide, n)
            })
        }
        _ if n.unsigned_abs() <= 64 => whole_power(x, n),
        _ => whole_power_by_exp(x, n),
    }
}

/// xⁿ in doubles, well enough for singles.
#[inline(always)]
fn whole_power_plain<L: Lanes>(x: L, n: i32) -> L {
    let mut left = n.unsigned_abs();
    let (mut power, mut square) = (L::splat(1.0), x);
    while left > 0 {
        if left & 1 == 1 {
            power = power * square;
        }
        square = square * square;
        left >>= 1;
    }
    if n < 0 { L::splat(1.0) / power } else { power }
}

/// xⁿ by repeated squaring in two parts; negative powers from the inverse, which neither overflows
/// nor vanishes before its power does.
#[inline(always)]
fn whole_power<L: Lanes>(x: L, n: i32) -> L {
    let (one, zero) = (L::splat(1.0), L::splat(0.0));
    let base = if n < 0 {
        let inverse = one / x;
        (inverse, (-inverse).fma(x, one) * inverse)
    } else {
        (x, zero)
    };
    let mut left = n.unsigned_abs();
    let (mut power, mut square) = (None, base);
    loop {
        if left & 1 == 1 {
            power = Some(power.map_or(square, |power| product(power, square)));
        }
        left >>= 1;
        if left == 0 {
            break;
        }
        square = product(square, square);
    }
    let (high, low) = power.unwrap_or((one, zero));
    // The low part is NaN next to ∞, and next to −0 it has the wrong sign.
    L::select(low.abs().gt(zero) & low.abs().lt(infinity()), high + low, high)
}

/// xⁿ by the logarithm, in doubles: not every n is a single.
#[inline(always)]
fn whole_power_by_exp<L: Lanes>(x: L, n: i32) -> L {
    let y = L::splat(f64::from(n));
    let magnitude = x.abs();
    let (value, normal) = power_of_normal(magnitude, y);
    let usual = magnitude.ge(smallest_normal()) & magnitude.lt(infinity()) & normal;
    let [value] = L::rarely(
        !usual,
        [value],
        #[inline(always)]
        || [power_of_magnitude(x, y)],
    );
    if n & 1 == 1 { value.copysign(x) } else { value }
}

/// The cube root.
#[inline(always)]
pub fn cbrt<L: Lanes>(x: L) -> L {
    let magnitude = x.abs();
    let usual = magnitude.ge(smallest_normal()) & magnitude.lt(infinity());
    let zero = L::splat(0.0);
    let [value] = L::rarely(
        !usual,
        [cbrt_of_normal(magnitude, zero)],
        #[inline(always)]
        || {
            let up = pick(18_014_398_509_481_984.0, 16_777_216.0);
            let value = cbrt_of_normal(magnitude * up, pick(18.0, 8.0));
            let special = x.eq(zero) | !magnitude.lt(infinity());
            [L::select(special, magnitude, value)]
        },
    );
    value.copysign(x)
}

/// The cube root of a normal x > 0, times 2^−less.
#[inline(always)]
fn cbrt_of_normal<L: Lanes>(x: L, less: L) -> L {
    let (m, e, _) = split_exponent(x);
    // e = 3 k + j with j = −1, 0 or 1.
    let k = e.fma(L::splat(1.0 / 3.0), magic()) - magic();
    let j = k.fma(L::splat(-3.0), e) + magic();
    let t = m * power_of_two::<L>(j.to_bits());
    // y nears t^(−1/3): with h = 1 − t y³ it is y (1 + h/3 + 2h²/9 + …).
    let mut y = horner(t, &INVERSE_CBRT);
    for _ in 0..if L::DOUBLE { 2 } else { 1 } {
        let h = (-(t * y)).fma(y * y, L::splat(1.0));
        y = (h * y).fma(h.fma(L::splat(2.0 / 9.0), L::splat(1.0 / 3.0)), y);
    }
    // One step of Newton's for c³ = t, with the cube in two parts.
    let y2 = y * y;
    let c = t * y2;
    let (c2, c2_low) = two_product(c, c);
    let rest = (-c2).fma(c, t) - c2_low * c;
    let c = rest.fma(y2 * L::splat(1.0 / 3.0), c);
    c * power_of_two::<L>((k - less + magic()).to_bits())
}

/// √(x² + y²), without overflow on the way.
#[inline(always)]
pub fn hypot<L: Lanes>(x: L, y: L) -> L {
    let (x, y) = (x.abs(), y.abs());
    let (large, small) = (x.larger(y), x.smaller(y));
    // NaN if one is.
    let sum = x + y;
    let usual = sum.gt(pick(1e-135, 1e-12)) & sum.lt(pick(1e150, 1e18));
    let [value] = L::rarely(
        !usual,
        [large.fma(large, small * small).sqrt()],
        #[inline(always)]
        || {
            // Down by 2⁶⁰⁰ or up by it; singles down by 2⁷⁰ or up by 2¹⁰⁰.
            let above = sum.gt(L::splat(1.0));
            let scaled = |down: f64, up: f64, down32: f64, up32: f64| {
                L::select(above, pick(down, down32), pick(up, up32))
            };
            let two = |n| 2.0_f64.powi(n);
            let there = scaled(two(-600), two(600), two(-70), two(100));
            let back = scaled(two(600), two(-600), two(70), two(-100));
            let (a, b) = (large * there, small * there);
            let value = a.fma(a, b * b).sqrt() * back;
            let value = L::select(sum.ne(sum), sum, value);
            let infinite = x.eq(infinity()) | y.eq(infinity());
            [L::select(infinite, infinity(), value)]
        },
    );
    value
}
