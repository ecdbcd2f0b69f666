//! A number of 256 bits with the operations of the table, written without the table.
//!
//! It is the reference for values and, through differences with a step of 2⁻⁶⁰, for derivatives.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

use astro_float::{BigFloat, Consts, RoundingMode};
use cotangent_ops::Opcode;

const PRECISION: usize = 256;
const ROUND: RoundingMode = RoundingMode::ToEven;

thread_local! {
    static CONSTANTS: RefCell<Consts> = RefCell::new(Consts::new().expect("memory for constants"));
}

fn with_constants<R>(f: impl FnOnce(&mut Consts) -> R) -> R {
    CONSTANTS.with(|c| f(&mut c.borrow_mut()))
}

/// A number of 256 bits.
#[derive(Clone, Debug)]
pub struct Big(BigFloat);

macro_rules! operator {
    ($Trait:ident $method:ident) => {
        impl $Trait for Big {
            type Output = Big;
            fn $method(self, y: Big) -> Big {
                Big(self.0.$method(&y.0, PRECISION, ROUND))
            }
        }
        impl $Trait<f64> for Big {
            type Output = Big;
            fn $method(self, y: f64) -> Big {
                self.$method(Big::new(y))
            }
        }
    };
}
operator!(Add add);
operator!(Sub sub);
operator!(Mul mul);
operator!(Div div);

impl Neg for Big {
    type Output = Big;
    fn neg(self) -> Big {
        Big(self.0.neg())
    }
}

impl PartialEq for Big {
    fn eq(&self, other: &Big) -> bool {
        self.0.cmp(&other.0) == Some(0)
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Big) -> Option<Ordering> {
        self.0.cmp(&other.0).map(|c| c.cmp(&0))
    }
}

macro_rules! unary_functions {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("The function `", stringify!($name), "`.")]
            pub fn $name(&self) -> Big {
                Big(with_constants(|c| self.0.$name(PRECISION, ROUND, c)))
            }
        )*
    };
}

impl Big {
    /// The exact value of an `f64`.
    pub fn new(x: f64) -> Big {
        if x.is_subnormal() {
            // `from_f64` misreads subnormal numbers; the product is exact.
            let scaled = Big(BigFloat::from_f64(x * 2f64.powi(200), PRECISION));
            return scaled * Big::power_of_two(-200);
        }
        Big(BigFloat::from_f64(x, PRECISION))
    }

    /// 2ᵉ.
    pub fn power_of_two(e: i32) -> Big {
        let mut x = BigFloat::from_f64(1.0, PRECISION);
        x.set_exponent(e + 1);
        Big(x)
    }

    /// π.
    pub fn pi() -> Big {
        Big(with_constants(|c| c.pi(PRECISION, ROUND)))
    }

    /// The nearest `f64`, to a unit in the last place.
    pub fn to_f64(&self) -> f64 {
        if self.0.is_zero() {
            return 0.0;
        }
        if self.0.is_nan() {
            return f64::NAN;
        }
        let sign = if self.0.is_negative() { -1.0 } else { 1.0 };
        let (Some(exponent), Some(words)) = (self.0.exponent(), self.0.mantissa_digits()) else {
            return sign * f64::INFINITY;
        };
        let top = words.last().copied().unwrap_or(0);
        let next = if words.len() > 1 { words[words.len() - 2] } else { 0 };
        let mantissa = top as f64 + next as f64 * 2f64.powi(-64);
        // Two steps, so that a subnormal result is rounded once and the scale does not underflow.
        let half = (exponent - 64) / 2;
        sign * (mantissa * 2f64.powi(half)) * 2f64.powi(exponent - 64 - half)
    }

    unary_functions! { exp ln log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh }

    /// Square root.
    pub fn sqrt(&self) -> Big {
        Big(self.0.sqrt(PRECISION, ROUND))
    }

    /// Absolute value.
    pub fn abs(&self) -> Big {
        Big(self.0.abs())
    }

    fn floor(&self) -> Big {
        Big(self.0.floor())
    }

    fn trunc(&self) -> Big {
        if self.0.is_negative() { -(-self.clone()).floor() } else { self.floor() }
    }

    /// Integer power.
    pub fn powi(&self, n: i32) -> Big {
        let power = Big(self.0.powi(n.unsigned_abs() as usize, PRECISION, ROUND));
        if n < 0 { Big::new(1.0) / power } else { power }
    }

    /// Power of a positive base.
    pub fn pow(&self, y: &Big) -> Big {
        (y.clone() * self.ln()).exp()
    }
}

/// Bernoulli numbers B₀, B₁, … B₂ₙ, by their recurrence.
fn bernoulli(count: usize) -> Vec<Big> {
    let mut numbers: Vec<Big> = vec![Big::new(1.0)];
    for m in 1..count {
        let mut sum = Big::new(0.0);
        let mut binomial = Big::new(1.0);
        for (i, b) in numbers.iter().enumerate() {
            sum = sum + binomial.clone() * b.clone();
            binomial = binomial * (m + 1 - i) as f64 / (i + 1) as f64;
        }
        numbers.push(-sum / (m + 1) as f64);
    }
    numbers
}

thread_local! {
    static BERNOULLI: Vec<Big> = bernoulli(72);
}

const SHIFT: f64 = 90.0;

/// ln Γ(x) for x > 0, by Stirling's series beyond 90.
fn ln_gamma(x: &Big) -> Big {
    let mut product = Big::new(1.0);
    let mut s = x.clone();
    while s < Big::new(SHIFT) {
        product = product * s.clone();
        s = s + 1.0;
    }
    let half = Big::new(0.5);
    let mut sum = (s.clone() - half.clone()) * s.ln() - s.clone() + half * (Big::pi() * 2.0).ln()
        - product.ln();
    BERNOULLI.with(|b| {
        for k in 1..b.len() / 2 {
            let n = 2.0 * k as f64;
            sum = sum.clone() + b[2 * k].clone() / (n * (n - 1.0)) / s.powi(2 * k as i32 - 1);
        }
    });
    sum
}

/// ψ⁽ⁿ⁾(x) for x > 0, by the asymptotic series beyond 90.
fn polygamma(n: i32, x: &Big) -> Big {
    let mut s = x.clone();
    let mut near = Big::new(0.0);
    while s < Big::new(SHIFT) {
        near = near + Big::new(1.0) / s.powi(n + 1);
        s = s + 1.0;
    }
    BERNOULLI.with(|b| {
        if n == 0 {
            let mut sum = s.ln() - Big::new(0.5) / s.clone() - near;
            for k in 1..b.len() / 2 {
                sum = sum - b[2 * k].clone() / (2.0 * k as f64) / s.powi(2 * k as i32);
            }
            return sum;
        }
        let factorial = |m: i32| (1..=m).fold(Big::new(1.0), |f, i| f * f64::from(i));
        let mut sum = factorial(n) * near
            + factorial(n - 1) / s.powi(n)
            + factorial(n) / (s.powi(n + 1) * 2.0);
        for k in 1..b.len() / 2 {
            let m = 2 * k as i32;
            let mut ratio = Big::new(1.0); // (m + n − 1)!/m!
            for i in m + 1..m + n {
                ratio = ratio * f64::from(i);
            }
            sum = sum + b[2 * k].clone() * ratio / s.powi(m + n);
        }
        if n % 2 == 0 { -sum } else { sum }
    })
}

/// erf(x), by the series with positive terms.
fn erf(x: &Big) -> Big {
    let square = x.clone() * x.clone();
    let mut term = x.clone();
    let mut sum = x.clone();
    for n in 1..4000 {
        term = term * square.clone() * 2.0 / f64::from(2 * n + 1);
        sum = sum + term.clone();
        if term.abs() < sum.abs() * Big::power_of_two(-260) {
            break;
        }
    }
    sum * (-square).exp() * 2.0 / Big::pi().sqrt()
}

/// erfc(x), by the continued fraction in the tail.
fn erfc(x: &Big) -> Big {
    if *x < Big::new(2.0) {
        return Big::new(1.0) - erf(x);
    }
    let square = x.clone() * x.clone();
    let mut fraction = Big::new(0.0);
    for n in (1..=900).rev() {
        fraction = Big::new(0.5 * f64::from(n)) / (square.clone() * (fraction + 1.0));
    }
    (-square).exp() / (x.clone() * Big::pi().sqrt() * (fraction + 1.0))
}

/// The n-th derivative of sin(x)/x, by its series.
fn sinc_derivative(n: i32, x: &Big) -> Big {
    let mut sum = Big::new(0.0);
    for k in (n + 1) / 2..200 {
        // (−1)ᵏ (2k)!/(2k − n)! x²ᵏ⁻ⁿ/(2k + 1)!
        let mut term = x.powi(2 * k - n) / f64::from(2 * k + 1);
        for i in 1..=2 * k - n {
            term = term / f64::from(i);
        }
        sum = if k % 2 == 0 { sum + term } else { sum - term };
    }
    sum
}

fn sigmoid(x: &Big) -> Big {
    Big::new(1.0) / (Big::new(1.0) + (-x.clone()).exp())
}

/// The value of an operation of the table.
pub fn evaluate(op: Opcode, parameter: i32, x: &[Big]) -> Big {
    let zero = Big::new(0.0);
    let one = Big::new(1.0);
    let a = &x[0];
    let b = x.get(1).unwrap_or(&zero);
    let c = x.get(2).unwrap_or(&zero);
    match op {
        Opcode::Neg => -a.clone(),
        Opcode::Abs => a.abs(),
        Opcode::Signum | Opcode::Sgn => {
            if *a > zero {
                one
            } else if *a < zero {
                -one
            } else {
                zero
            }
        }
        Opcode::Floor => a.floor(),
        Opcode::Ceil => -(-a.clone()).floor(),
        Opcode::Round => {
            let r = (a.abs() + 0.5).floor();
            if *a < zero { -r } else { r }
        }
        Opcode::Trunc => a.trunc(),
        Opcode::Fract => a.clone() - a.trunc(),
        Opcode::Recip => one / a.clone(),
        Opcode::Sqrt => a.sqrt(),
        Opcode::Cbrt => {
            let r = (a.abs().ln() / 3.0).exp();
            if *a < zero { -r } else { r }
        }
        Opcode::Exp => a.exp(),
        Opcode::Exp2 => (a.clone() * Big::new(2.0).ln()).exp(),
        Opcode::ExpM1 => a.exp() - one,
        Opcode::Ln => a.ln(),
        Opcode::Log2 => a.log2(),
        Opcode::Log10 => a.log10(),
        Opcode::Ln1p => (a.clone() + 1.0).ln(),
        Opcode::Sin => a.sin(),
        Opcode::Cos => a.cos(),
        Opcode::Tan => a.tan(),
        Opcode::Asin => a.asin(),
        Opcode::Acos => a.acos(),
        Opcode::Atan => a.atan(),
        Opcode::Sinh => a.sinh(),
        Opcode::Cosh => a.cosh(),
        Opcode::Tanh => a.tanh(),
        Opcode::Sech2 => {
            let c = a.cosh();
            one / (c.clone() * c)
        }
        Opcode::Asinh => a.asinh(),
        Opcode::Acosh => a.acosh(),
        Opcode::Atanh => a.atanh(),
        Opcode::Sinc => sinc_derivative(0, a),
        Opcode::SincDerivative => sinc_derivative(parameter, a),
        Opcode::Erf => erf(a),
        Opcode::Erfc => erfc(a),
        Opcode::Gamma => ln_gamma(a).exp(),
        Opcode::LnGamma => ln_gamma(a),
        Opcode::Digamma => polygamma(0, a),
        Opcode::Polygamma => polygamma(parameter, a),
        Opcode::Sigmoid => sigmoid(a),
        Opcode::Softplus => (a.exp() + one).ln(),
        Opcode::ToDegrees => a.clone() * 180.0 / Big::pi(),
        Opcode::ToRadians => a.clone() * Big::pi() / 180.0,
        Opcode::Powi => a.powi(parameter),
        Opcode::Add => a.clone() + b.clone(),
        Opcode::Sub => a.clone() - b.clone(),
        Opcode::Mul | Opcode::StrongMul => a.clone() * b.clone(),
        Opcode::Div | Opcode::StrongDiv => a.clone() / b.clone(),
        Opcode::Rem => a.clone() - b.clone() * (a.clone() / b.clone()).trunc(),
        Opcode::Powf => a.pow(b),
        Opcode::Atan2 => {
            // atan2(y, x) by the half-angle formula, which has no case but the negative axis.
            let h = (a.clone() * a.clone() + b.clone() * b.clone()).sqrt();
            let t =
                if *b > zero { a.clone() / (h + b.clone()) } else { (h - b.clone()) / a.clone() };
            t.atan() * 2.0
        }
        Opcode::Hypot => (a.clone() * a.clone() + b.clone() * b.clone()).sqrt(),
        Opcode::Max => {
            if b > a {
                b.clone()
            } else {
                a.clone()
            }
        }
        Opcode::Min => {
            if b < a {
                b.clone()
            } else {
                a.clone()
            }
        }
        Opcode::Copysign => {
            if *b < zero {
                -a.abs()
            } else {
                a.abs()
            }
        }
        Opcode::Log => a.ln() / b.ln(),
        Opcode::MulAdd => a.clone() * b.clone() + c.clone(),
        Opcode::Clamp => {
            if a < b {
                b.clone()
            } else if a > c {
                c.clone()
            } else {
                a.clone()
            }
        }
    }
}

/// The value, gradient and Hessian (11, 12, 13, 22, 23, 33 as far as there are arguments) of an
/// operation, by central differences in 256 bits.
pub fn derivatives(op: Opcode, parameter: i32, x: &[f64]) -> (Big, Vec<Big>, Vec<Big>) {
    let h = Big::power_of_two(-60);
    let at = |shifts: &[(usize, f64)]| {
        let mut point: Vec<Big> = x.iter().map(|v| Big::new(*v)).collect();
        for (i, s) in shifts {
            point[*i] = point[*i].clone() + h.clone() * *s;
        }
        evaluate(op, parameter, &point)
    };
    let value = at(&[]);
    let first =
        (0..x.len()).map(|i| (at(&[(i, 1.0)]) - at(&[(i, -1.0)])) / (h.clone() * 2.0)).collect();
    let mut second = Vec::new();
    for i in 0..x.len() {
        for j in i..x.len() {
            let square = h.clone() * h.clone();
            second.push(if i == j {
                (at(&[(i, 1.0)]) + at(&[(i, -1.0)]) - value.clone() * 2.0) / square
            } else {
                (at(&[(i, 1.0), (j, 1.0)]) + at(&[(i, -1.0), (j, -1.0)])
                    - at(&[(i, 1.0), (j, -1.0)])
                    - at(&[(i, -1.0), (j, 1.0)]))
                    / (square * 4.0)
            });
        }
    }
    (value, first, second)
}
