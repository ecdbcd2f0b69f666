//! References in twice the precision, for functions without a correctly rounded one.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The sum of two doubles, the second below half a unit of the last place of the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dd(pub(crate) f64, pub(crate) f64);

fn two_sum(a: f64, b: f64) -> Dd {
    let sum = a + b;
    let of_b = sum - a;
    Dd(sum, (a - (sum - of_b)) + (b - of_b))
}

impl From<f64> for Dd {
    fn from(x: f64) -> Self {
        Self(x, 0.0)
    }
}

impl Add for Dd {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        let high = two_sum(self.0, o.0);
        let low = two_sum(self.1, o.1);
        let high = two_sum(high.0, high.1 + low.0);
        two_sum(high.0, high.1 + low.1)
    }
}

impl Neg for Dd {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl Sub for Dd {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        self + -o
    }
}

impl Mul for Dd {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        let high = self.0 * o.0;
        let error = self.0.mul_add(o.0, -high);
        two_sum(high, error + self.0.mul_add(o.1, self.1 * o.0))
    }
}

impl Div for Dd {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let first = Self::from(self.0 / o.0);
        let rest = self - first * o;
        let second = Self::from(rest.0 / o.0);
        let rest = rest - second * o;
        first + second + Self::from(rest.0 / o.0)
    }
}

const LN2: Dd = Dd(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

/// eˣ for |x| < 700.
pub(crate) fn exp(x: Dd) -> Dd {
    let n = (x.0 / LN2.0).round();
    let r = (x - LN2 * Dd::from(n)) * Dd::from(1.0 / 256.0);
    // eʳ − 1 for |r| < 0.0014, then eight times (1 + y)² − 1 = 2y + y².
    let mut term = r;
    let mut y = r;
    for k in 2..13 {
        term = term * r / Dd::from(f64::from(k));
        y = y + term;
    }
    for _ in 0..8 {
        y = y * y + y + y;
    }
    let y = y + Dd::from(1.0);
    let half = 2.0_f64.powi((n / 2.0).floor() as i32);
    let other = 2.0_f64.powi((n - (n / 2.0).floor()) as i32);
    Dd(y.0 * half * other, y.1 * half * other)
}

/// ln x, by a step of Newton's from the correctly rounded one.
pub(crate) fn ln(x: Dd) -> Dd {
    let y = Dd::from(core_math::log(x.0));
    let z = x * exp(-y) - Dd::from(1.0);
    // ln(1 + z) with z near 2⁻⁵³.
    y + z - z * z * Dd::from(0.5)
}

/// ln(1 + x) for x ≥ 0.
fn ln_1p(x: Dd) -> Dd {
    if x.0 > 1e-5 {
        return ln(x + Dd::from(1.0));
    }
    let mut sum = Dd::from(0.0);
    for k in (1..9).rev() {
        let sign = if k % 2 == 0 { -1.0 } else { 1.0 };
        sum = sum * x + Dd::from(sign) / Dd::from(f64::from(k));
    }
    sum * x
}

pub(crate) fn sigmoid(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x < -600.0 {
        core_math::exp(x)
    } else if x > 600.0 {
        1.0
    } else {
        let one = Dd::from(1.0);
        (one / (one + exp(Dd::from(-x)))).0
    }
}

/// 1/cosh² x = 4 w²/(1 + w²)² for w = e^(−|x|).
pub(crate) fn sech2(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 600.0 {
        return if x.is_nan() { x } else { 0.0 };
    }
    let w = exp(Dd::from(-x.abs()));
    let one = Dd::from(1.0);
    let below = one / (one + w * w);
    // The square may be a subnormal number: it is rounded once, last.
    let up = Dd::from(2.0_f64.powi(500));
    let root = w * up * below;
    let square = root * root * Dd::from(4.0);
    square.0 * 2.0_f64.powi(-500) * 2.0_f64.powi(-500)
}

pub(crate) fn softplus(x: f64) -> f64 {
    if x.is_nan() || x > 600.0 {
        x
    } else if x < -600.0 {
        core_math::exp(x)
    } else {
        let tail = ln_1p(exp(Dd::from(-x.abs())));
        if x > 0.0 { (Dd::from(x) + tail).0 } else { tail.0 }
    }
}

const PI: Dd = Dd(std::f64::consts::PI, 1.224_646_799_147_353_2e-16);

/// sin x and cos x by their series, for |x| ≤ π/2.
fn sin_cos(x: Dd) -> (Dd, Dd) {
    let mut term = Dd::from(1.0);
    let (mut sine, mut cosine) = (Dd::from(0.0), Dd::from(1.0));
    for k in 1..34 {
        term = term * x / Dd::from(f64::from(k));
        let signed = if k % 4 >= 2 { -term } else { term };
        if k % 2 == 0 {
            cosine = cosine + signed;
        } else {
            sine = sine + signed;
        }
    }
    (sine, cosine)
}

/// ψ(x) for x > 0, from ψ(x + n) with x + n ≥ 25.
fn digamma_positive(mut x: Dd) -> Dd {
    let one = Dd::from(1.0);
    let mut sum = Dd::from(0.0);
    while x.0 < 25.0 {
        sum = sum - one / x;
        x = x + one;
    }
    let w = one / (x * x);
    // B₂ₖ/(2k) with the numbers of Bernoulli, to k = 14.
    let numbers = [
        (1.0, 12.0),
        (-1.0, 120.0),
        (1.0, 252.0),
        (-1.0, 240.0),
        (1.0, 132.0),
        (-691.0, 32_760.0),
        (1.0, 12.0),
        (-3617.0, 8160.0),
        (43_867.0, 14_364.0),
        (-174_611.0, 6600.0),
        (77_683.0, 276.0),
        (-236_364_091.0, 65_520.0),
        (657_931.0, 12.0),
        (-3_392_780_147.0, 3480.0),
    ];
    let mut tail = Dd::from(0.0);
    for (above, below) in numbers.into_iter().rev() {
        tail = (tail + Dd::from(above) / Dd::from(below)) * w;
    }
    sum + ln(x) - Dd::from(0.5) / x - tail
}

pub(crate) fn digamma(x: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY {
        x
    } else if x.abs() < 1e-100 {
        -1.0 / x
    } else if x > 1e15 {
        core_math::log(x)
    } else if x > 0.0 {
        digamma_positive(Dd::from(x)).0
    } else if x == x.round() {
        f64::NAN
    } else {
        // ψ(x) = ψ(1 − x) − π cot πx.
        let (sine, cosine) = sin_cos(PI * Dd::from(x - x.round()));
        (digamma_positive(Dd::from(1.0) - Dd::from(x)) - PI * cosine / sine).0
    }
}
