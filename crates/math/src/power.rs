//! Powers: x^y = exp(y ln x) with the logarithm in two parts, whole powers, and roots.

use crate::coefficients::{EXP_M1, EXP_M1_F32, INVERSE_CBRT, LN_TAIL};
use crate::exponential::{clamp, ln2, reduce, scale};
use crate::parts::{
    fast_two_sum, horner, infinity, magic, pick, poly, poly_of, power_of_two, product,
    smallest_normal, split_exponent, two_product,
};
use crate::{LaneBits, Lanes};

/// 2⁵⁴: doubles below the normal ones are scaled by it.
const UP: f64 = 18_014_398_509_481_984.0;

/// ln x − less·ln 2 in two parts, to about 2⁻⁶⁸, for normal doubles.
#[inline(always)]
pub(crate) fn ln_pair<L: Lanes>(x: L, less: L) -> (L, L) {
    let (m, e, _) = split_exponent(x);
    let e = e - less;
    let f = m - L::splat(1.0);
    // s = f/(2 + f).
    let (below, below_low) = fast_two_sum(L::splat(2.0), f);
    let inverse = L::splat(1.0) / below;
    let s = f * inverse;
    let s_low = (-s).fma(below_low, (-s).fma(below, f)) * inverse;
    // z = s².
    let z = s * s;
    let z_low = (s + s).fma(s_low, s.fma(s, -z));
    // ln m = 2 s + s z (2/3 + z (2/5 + z·tail)).
    let tail = poly(z, z * z, &LN_TAIL) * z;
    let (c, c_low) = fast_two_sum(L::splat(0.4), tail);
    let c_low = c_low + L::splat(-2.220_446_049_250_313_2e-17);
    let (p, p_low) = product((c, c_low), (z, z_low));
    let (c, c_low) = fast_two_sum(L::splat(0.666_666_666_666_666_6), p);
    let c_low = c_low + (p_low + L::splat(3.700_743_415_417_188e-17));
    let (p, p_low) = product((c, c_low), product((z, z_low), (s, s_low)));
    let (high, low) = fast_two_sum(s + s, p);
    let low = low + (p_low + (s_low + s_low));
    // The high part of ln 2 has 42 bits: its product with e is exact.
    let (sum, error) = fast_two_sum(e * L::splat(0.693_147_180_559_890_3), high);
    let low = e.fma(L::splat(5.497_923_018_708_371e-14), low + error);
    fast_two_sum(sum, low)
}

/// e^(high + low), rounded nearly once, for doubles; infinite `high` too.
#[inline(always)]
fn exp_pair<L: Lanes>(high: L, low: L) -> L {
    // An infinite product has a low part of no meaning.
    let low = L::select(high.abs().lt(L::splat(800.0)), low, L::splat(0.0));
    let x = clamp(high, pick(-746.0, -104.0), pick(710.0, 89.0));
    let (shifted, n, first) = reduce(x);
    let (r, low) = fast_two_sum(first, (-n).fma(ln2::<L>().1, low));
    let r2 = r * r;
    let q = poly_of(r, r2, &EXP_M1, &EXP_M1_F32).fma(r2, low);
    let (sum, error) = fast_two_sum(L::splat(1.0), r);
    let (first, second) = scale(shifted, x.lt(pick(-700.0, -80.0)));
    (sum + (error + q)) * first * second
}

/// x^y for normal x > 0 (scaled up by 2^less) and finite y, in doubles; less precisely if the result
/// is for singles.
#[inline(always)]
fn power_of_normal<L: Lanes>(x: L, less: L, y: L, singles: bool) -> L {
    if singles {
        let (m, e, _) = split_exponent(x);
        crate::exp(y * crate::logarithm::ln_of_split(m, e - less))
    } else {
        let (high, low) = ln_pair(x, less);
        let (high, low) = product((high, low), (y, L::splat(0.0)));
        exp_pair(high, low)
    }
}

/// |x|^y for any x and y except for 1^y and (−1)^±∞, in doubles.
#[inline(always)]
fn power_of_magnitude<L: Lanes>(x: L, y: L, singles: bool) -> L {
    let x = x.abs();
    let small = x.lt(smallest_normal());
    let normal = L::select(small, x * L::splat(UP), x);
    let value =
        power_of_normal(normal, L::select(small, L::splat(54.0), L::splat(0.0)), y, singles);
    // 0 and ∞, to a power: ∞ if the logarithm and the exponent agree in sign. NaN stays NaN.
    let zero = L::splat(0.0);
    let up = (x.gt(L::splat(1.0)) & y.gt(zero)) | (x.lt(L::splat(1.0)) & y.lt(zero));
    let limit = L::select(up, infinity(), zero);
    let extreme = x.eq(zero) | x.eq(infinity()) | y.abs().eq(infinity());
    let value = L::select(extreme & !x.ne(x) & !y.ne(y), limit, value);
    let value = L::select(x.ne(x), x, value);
    L::select(y.ne(y), y, value)
}

/// x^y in doubles, with the special cases of C99.
#[inline(always)]
fn pow_double<L: Lanes>(x: L, y: L, singles: bool) -> L {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let usual = x.ge(smallest_normal()) & x.lt(infinity()) & y.abs().lt(infinity());
    let [value] = L::rarely(
        !usual,
        [power_of_normal(x, zero, y, singles)],
        #[inline(always)]
        || {
            let value = power_of_magnitude(x, y, singles);
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

/// x^y, with the special cases of C99: x⁰ = 1 and 1^y = 1 even for NaN, negative x to whole powers.
#[inline(always)]
pub fn pow<L: Lanes>(x: L, y: L) -> L {
    if L::DOUBLE {
        pow_double(x, y, false)
    } else {
        L::narrow(pow_double(x.widen(), y.widen(), true))
    }
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
                whole_power_by_exp(wide, n, true)
            })
        }
        _ if n.unsigned_abs() <= 64 => whole_power(x, n),
        _ => whole_power_by_exp(x, n, false),
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

/// xⁿ by the logarithm, in doubles.
#[inline(always)]
fn whole_power_by_exp<L: Lanes>(x: L, n: i32, singles: bool) -> L {
    let y = L::splat(f64::from(n));
    let magnitude = x.abs();
    let usual = magnitude.ge(smallest_normal()) & magnitude.lt(infinity());
    let zero = L::splat(0.0);
    let [value] = L::rarely(
        !usual,
        [power_of_normal(magnitude, zero, y, singles)],
        #[inline(always)]
        || [power_of_magnitude(x, y, singles)],
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
            let up = pick(UP, 16_777_216.0);
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
