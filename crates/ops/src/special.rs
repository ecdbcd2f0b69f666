//! Special functions of `f64` that neither the standard library nor `libm` has.

use std::f64::consts::PI;

/// sin(x)/x, 1 at 0.
pub(crate) fn sinc(x: f64) -> f64 {
    // Below this the next term of the series, x²/6, is under half a unit in the last place.
    if x.abs() < 1e-8 { if x.is_nan() { x } else { 1.0 } } else { x.sin() / x }
}

/// The n-th derivative of sin(x)/x, which is ∫₀¹ tⁿ cos(xt + nπ/2) dt.
///
/// Far from 0 the recurrence x·s⁽ⁿ⁾ = sin⁽ⁿ⁾(x) − n·s⁽ⁿ⁻¹⁾ loses a factor n/|x| a step, hence is used
/// only for |x| > n + 1; nearer, Gauss–Legendre quadrature of the integral is exact to rounding.
pub(crate) fn sinc_derivative(n: u32, x: f64) -> f64 {
    if n == 0 {
        return sinc(x);
    }
    if x.is_nan() {
        return x;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let (sin, cos) = x.sin_cos();
    let turned = |n: u32, sin: f64, cos: f64| match n % 4 {
        0 => sin,
        1 => cos,
        2 => -sin,
        _ => -cos,
    };
    if x.abs() > f64::from(n) + 1.0 {
        let mut s = sin / x;
        for order in 1..=n {
            s = (turned(order, sin, cos) - f64::from(order) * s) / x;
        }
        return s;
    }
    // On n + 1 ≥ |x| the integrand turns at most (n + 1)/2π times; 20 panels of 8 nodes resolve
    // 40 turns, beyond which no derivative order is of use.
    let panels = 1 + (x.abs() / 8.0) as usize + (n as usize) / 24;
    let width = 1.0 / panels as f64;
    let mut sum = 0.0;
    for panel in 0..panels {
        for (node, weight) in GAUSS_NODES.iter().zip(GAUSS_WEIGHTS) {
            for side in [-1.0, 1.0] {
                let t = (panel as f64 + 0.5 + 0.5 * side * node) * width;
                let (s, c) = (x * t).sin_cos();
                // cos(xt + nπ/2) is the (n + 1)-st derivative of the sine.
                sum += weight * t.powi(n as i32) * turned(n % 4 + 1, s, c);
            }
        }
    }
    0.5 * width * sum
}

/// Nodes and weights of the 16-point Gauss–Legendre rule on [−1, 1] (Abramowitz and Stegun, 25.4.30).
const GAUSS_NODES: [f64; 8] = [
    0.095_012_509_837_637_44,
    0.281_603_550_779_258_9,
    0.458_016_777_657_227_4,
    0.617_876_244_402_643_7,
    0.755_404_408_355_003,
    0.865_631_202_387_831_7,
    0.944_575_023_073_232_6,
    0.989_400_934_991_649_9,
];
const GAUSS_WEIGHTS: [f64; 8] = [
    0.189_450_610_455_068_5,
    0.182_603_415_044_923_6,
    0.169_156_519_395_002_54,
    0.149_595_988_816_576_73,
    0.124_628_971_255_533_87,
    0.095_158_511_682_492_78,
    0.062_253_523_938_647_89,
    0.027_152_459_411_754_095,
];

/// 1/(1 + e⁻ˣ).
pub(crate) fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// 1/cosh² x.
pub(crate) fn sech2(x: f64) -> f64 {
    let e = (-2.0 * x.abs()).exp();
    4.0 * e / ((1.0 + e) * (1.0 + e))
}

/// ln(1 + eˣ).
pub(crate) fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

/// Γ(x), NaN at its poles (`libm` gives ±∞ at 0, but the derivative has no sign there).
pub(crate) fn gamma(x: f64) -> f64 {
    if is_pole(x) { f64::NAN } else { libm::tgamma(x) }
}

/// ln |Γ(x)|, NaN at its poles.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    if is_pole(x) { f64::NAN } else { libm::lgamma_r(x).0 }
}

fn is_pole(x: f64) -> bool {
    x <= 0.0 && x == x.floor()
}

/// Bernoulli numbers B₂, B₄, … B₂₄.
const BERNOULLI: [f64; 12] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174_611.0 / 330.0,
    854_513.0 / 138.0,
    -236_364_091.0 / 2730.0,
];

/// The n-th derivative of the digamma function (n = 0: digamma itself).
///
/// For x > 0 the recurrence shifts x to where the asymptotic series (Abramowitz and Stegun 6.3.18,
/// 6.4.11) holds to rounding; for x < 0 the reflection formula leads there. NaN at the poles.
pub(crate) fn polygamma(n: u32, x: f64) -> f64 {
    if x.is_nan() || is_pole(x) || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if x < 0.0 {
        // ψ⁽ⁿ⁾(x) = (−1)ⁿ ψ⁽ⁿ⁾(1 − x) − π dⁿ/dxⁿ cot(πx)
        let mirrored = polygamma(n, 1.0 - x);
        let sign = if n.is_multiple_of(2) { 1.0 } else { -1.0 };
        return sign * mirrored - PI * cot_derivative(n, x);
    }
    if x == f64::INFINITY {
        return if n == 0 { f64::INFINITY } else { 0.0 };
    }
    let sign = if n.is_multiple_of(2) { -1.0 } else { 1.0 };
    // Terms of the series fall like (n + 2k)/(2πx) each; 12 + n leaves the last below 1e-17.
    let threshold = 12.0 + f64::from(n);
    let mut shifted = x;
    let mut near = 0.0;
    while shifted < threshold {
        near += shifted.powi(-(n as i32) - 1);
        shifted += 1.0;
    }
    let square = 1.0 / (shifted * shifted);
    if n == 0 {
        let mut series = 0.0;
        for (i, b) in BERNOULLI.iter().enumerate().rev() {
            series = series * square + b / (2.0 * (i + 1) as f64);
        }
        return shifted.ln() - 0.5 / shifted - series * square - near;
    }
    // (n − 1)!·s⁻ⁿ·(1 + n/(2s) + Σ B₂ₖ (2k + n − 1)!/((2k)! (n − 1)!) s⁻²ᵏ) + n!·Σ (x + i)⁻ⁿ⁻¹
    let order = f64::from(n);
    let mut ratios = [0.0; BERNOULLI.len()];
    let mut ratio = 1.0;
    for (i, slot) in ratios.iter_mut().enumerate() {
        let m = 2.0 * i as f64;
        ratio *= (m + order) * (m + order + 1.0) / ((m + 1.0) * (m + 2.0));
        *slot = ratio;
    }
    let mut series = 0.0;
    for (b, ratio) in BERNOULLI.iter().zip(ratios).rev() {
        series = (series + b * ratio) * square;
    }
    let factorial = (1..n).fold(1.0, |f, i| f * f64::from(i));
    let far = shifted.powi(-(n as i32)) * (1.0 + 0.5 * order / shifted + series);
    sign * factorial * (far + order * near)
}

/// The n-th derivative of cot(πx), as a polynomial in the cotangent (c′ = −π(1 + c²)).
fn cot_derivative(n: u32, x: f64) -> f64 {
    // Reduce first: tan(πx) of a large x would only see the rounding error of πx.
    let c = 1.0 / (PI * (x - x.round())).tan();
    let mut polynomial = vec![0.0, 1.0];
    for _ in 0..n {
        let mut next = vec![0.0; polynomial.len() + 1];
        for (power, a) in polynomial.iter().enumerate().skip(1) {
            let scaled = -PI * a * power as f64;
            next[power - 1] += scaled;
            next[power + 1] += scaled;
        }
        polynomial = next;
    }
    polynomial.iter().rev().fold(0.0, |sum, a| sum * c + a)
}
