//! References and errors in units of the last place.

#![allow(dead_code, reason = "each test file uses some of it")]

mod double_double;

use cotangent_math::{Binary, Pack, Unary};

/// A correctly rounded function, or one in twice the precision.
pub(crate) fn reference(function: Unary) -> fn(f64) -> f64 {
    match function {
        Unary::Exp => core_math::exp,
        Unary::Exp2 => core_math::exp2,
        Unary::ExpM1 => core_math::expm1,
        Unary::Ln => core_math::log,
        Unary::Log2 => core_math::log2,
        Unary::Log10 => core_math::log10,
        Unary::Ln1p => core_math::log1p,
        Unary::Sin => core_math::sin,
        Unary::Cos => core_math::cos,
        Unary::Tan => core_math::tan,
        Unary::Tanh => core_math::tanh,
        Unary::Sech2 => double_double::sech2,
        Unary::Sigmoid => double_double::sigmoid,
        Unary::Softplus => double_double::softplus,
        Unary::Sinh => core_math::sinh,
        Unary::Cosh => core_math::cosh,
        Unary::Cbrt => core_math::cbrt,
        Unary::Asin => core_math::asin,
        Unary::Acos => core_math::acos,
        Unary::Atan => core_math::atan,
        Unary::Asinh => core_math::asinh,
        Unary::Acosh => core_math::acosh,
        Unary::Atanh => core_math::atanh,
        Unary::Erf => core_math::erf,
        Unary::Erfc => core_math::erfc,
        Unary::LnGamma => core_math::lgamma,
        Unary::Digamma => double_double::digamma,
        other => panic!("{other:?} has no reference"),
    }
}

/// A correctly rounded function.
pub(crate) fn reference2(function: Binary) -> fn(f64, f64) -> f64 {
    match function {
        Binary::Pow => core_math::pow,
        Binary::Hypot => core_math::hypot,
        Binary::Atan2 => core_math::atan2,
        other => panic!("{other:?} has no reference"),
    }
}

/// Numbers in their order as integers, ±0 apart.
fn ordered(x: f64) -> i64 {
    let bits = x.to_bits().cast_signed();
    if bits < 0 { i64::MIN.wrapping_sub(bits).wrapping_sub(1) } else { bits }
}

/// How many numbers lie between a result and the correctly rounded one; infinite where one is NaN,
/// and where a zero has the wrong sign.
pub(crate) fn ulps(got: f64, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == 0.0 && want == 0.0 {
        return if got.to_bits() == want.to_bits() { 0.0 } else { f64::INFINITY };
    }
    let (got, want) = (ordered(got), ordered(want));
    (i128::from(got) - i128::from(want)).unsigned_abs() as f64
}

/// The size that errors are measured against: that of the result, but at least 1 near the zeros that
/// the functions of Γ have at negative arguments.
pub(crate) fn size(function: Unary, x: f64, want: f64) -> f64 {
    let zeros = matches!(function, Unary::LnGamma | Unary::Digamma) && x < 0.0;
    if zeros { want.abs().max(1.0).copysign(want) } else { want }
}

/// [`ulps`] in units of the last place of `size` where that is larger.
pub(crate) fn ulps_of(got: f64, want: f64, size: f64) -> f64 {
    if size == want || want.is_nan() || got.is_nan() {
        return ulps(got, want);
    }
    (got - want).abs() / f64::EPSILON
}

/// [`ulps_f32`] in units of the last place of `size` where that is larger.
pub(crate) fn ulps_of_f32(got: f32, want: f64, size: f64) -> f64 {
    if size == want || want.is_nan() || got.is_nan() {
        return ulps_f32(got, want);
    }
    (f64::from(got) - want).abs() / f64::from(f32::EPSILON)
}

/// The error of a single in units of its last place, against a result in double precision.
pub(crate) fn ulps_f32(got: f32, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = want as f32;
    if got == rounded {
        let wrong_zero = got == 0.0 && got.to_bits() != rounded.to_bits();
        if wrong_zero || got.is_infinite() {
            return if wrong_zero { f64::INFINITY } else { 0.0 };
        }
    }
    let magnitude = f64::from(rounded.abs().min(f32::MAX)).max(f64::from(f32::MIN_POSITIVE));
    // 2 to the exponent of the result, times 2⁻²³.
    let ulp = f64::from_bits(magnitude.to_bits() & (0x7ff << 52)) * 2.0_f64.powi(-23);
    let bounded = |x: f64| if x.is_infinite() { 2.0_f64.powi(128).copysign(x) } else { x };
    (bounded(f64::from(got)) - bounded(want)).abs() / ulp
}

/// The numbers around each of `places`.
pub(crate) fn around(places: &[f64]) -> Vec<f64> {
    let mut all = Vec::new();
    for &place in places {
        for sign in [1.0, -1.0] {
            let (mut up, mut down) = (place * sign, place * sign);
            for _ in 0..40 {
                all.extend([up, down]);
                up = up.next_up();
                down = down.next_down();
            }
        }
    }
    all
}

/// Numbers that every function is tried at.
pub(crate) fn everywhere(random: &mut fastrand::Rng, count: usize) -> Vec<f64> {
    let mut all = around(&[
        0.0,
        f64::MIN_POSITIVE,
        1e-300,
        1e-154,
        1e-30,
        2.0_f64.powi(-54),
        2.0_f64.powi(-53),
        2.0_f64.powi(-52),
        2.0_f64.powi(-27),
        1e-8,
        1e-4,
        0.1,
        0.25,
        0.35,
        0.5,
        std::f64::consts::FRAC_1_SQRT_2,
        1.0,
        std::f64::consts::SQRT_2,
        2.0,
        3.0,
        4.0,
        10.0,
        16.0,
        20.0,
        40.0,
        100.0,
        1e3,
        1e4,
        1e5,
        1e6,
        1e9,
        2.0_f64.powi(52),
        2.0_f64.powi(53),
        2.0_f64.powi(64),
        1e100,
        1e300,
        f64::MAX,
        // Where exponentials overflow, become subnormal and vanish.
        709.782_712_893_384,
        708.396_418_532_264_1,
        744.440_071_921_381_3,
        745.133_219_101_941_2,
        710.475_860_073_943_9,
        1024.0,
        1022.0,
        1074.0,
        1075.0,
        36.7,
        37.4,
        // The double nearest to a multiple of π/2, relative to its size.
        6_381_956_970_095_103.0 * 2.0_f64.powi(797),
        700.0,
        1000.0,
    ]);
    all.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    for n in 1..2000 {
        let x = f64::from(n) * std::f64::consts::FRAC_PI_2;
        all.extend([x, x.next_up(), x.next_down(), -x]);
        let x = f64::from(n) * 0.5 * std::f64::consts::LN_2;
        all.extend([x, x.next_up(), x.next_down(), -x, -x.next_up(), -x.next_down()]);
    }
    for _ in 0..count / 8 {
        let x = f64::from(random.u32(..)) * std::f64::consts::FRAC_PI_2;
        all.extend([x, x / 16_384.0, (x / 25_000.0).round() * std::f64::consts::FRAC_PI_2]);
    }
    for _ in 0..count {
        all.push(f64::from_bits(random.u64(..)));
        let sign = if random.bool() { 1.0 } else { -1.0 };
        all.push(sign * 10.0_f64.powf(random.f64() * 15.0 - 12.0));
        all.push(sign * random.f64());
        all.push(sign * random.f64() * 10.0);
        all.push(sign * random.f64() * 1000.0);
        all.push(1.0 + sign * 10.0_f64.powf(-16.0 * random.f64()));
    }
    all
}

/// Maps a slice in packs; what is left over is padded.
pub(crate) fn packs<T: Copy + From<bool>, const N: usize>(
    x: &[T],
    f: impl Fn(Pack<T, N>) -> Pack<T, N>,
) -> Vec<T> {
    let mut out = Vec::new();
    for chunk in x.chunks(N) {
        let mut pack = [T::from(true); N];
        pack[..chunk.len()].copy_from_slice(chunk);
        out.extend_from_slice(&f(Pack(pack)).0[..chunk.len()]);
    }
    out
}
