//! Operations on truncated power series, by their recurrences.
//!
//! A series is the slice of its Taylor coefficients; its length is the order plus one. Each operation
//! costs O(K²) operations on coefficients, except the functions known by their derivatives of all
//! orders (`sinc`, `digamma` and their families) and powers at a zero base, which cost O(K³).
//! The recurrences are those of Griewank and Walther, Evaluating Derivatives, chapter 13.

#![allow(
    clippy::needless_range_loop,
    reason = "recurrences read as in the book with their indices"
)]

use cotangent_ops::{Binary, Elementary, Opcode, Series, Ternary, Unary};

use crate::lanes::product;

/// Something that makes numbers out of series and back: a fixed or a run-time order.
pub(super) trait Carrier<T: Elementary> {
    /// The number that holds a series.
    type Number: Elementary;

    /// Room for a series.
    type Scratch: AsMut<[T]>;

    /// A series with all coefficients equal to `fill`.
    fn scratch(&self, fill: T) -> Self::Scratch;

    /// The number with these coefficients.
    fn number(&self, coefficients: &[T]) -> Self::Number;

    /// Copies the coefficients of a number.
    fn coefficients(&self, number: Self::Number, out: &mut [T]);
}

#[inline(always)]
fn real<T: Elementary>(k: usize) -> T {
    T::constant(k as f64)
}

/// Σ xⱼ·yₖ₋ⱼ over j in the range.
#[inline(always)]
fn convolve<T: Elementary>(
    x: &[T],
    y: &[T],
    k: usize,
    range: std::ops::RangeInclusive<usize>,
) -> T {
    let mut sum = T::zero();
    for j in range.clone() {
        sum += x[j] * y[k - j];
    }
    if sum.all_finite() {
        return sum;
    }
    // A zero wins over ∞, as it does in every other number.
    range.fold(T::zero(), |sum, j| sum + product(x[j], y[k - j]))
}

/// (1/k)·Σ j·xⱼ·wₖ₋ⱼ over j from 1: the k-th coefficient of ∫ w·x′.
#[inline(always)]
fn integral<T: Elementary>(x: &[T], w: &[T], k: usize) -> T {
    let mut sum = T::zero();
    for j in 1..=k {
        sum += real::<T>(j) * x[j].strong_mul(w[k - j]);
    }
    sum / real(k)
}

fn multiply<T: Elementary>(x: &[T], y: &[T], out: &mut [T]) {
    for k in 0..out.len() {
        out[k] = convolve(x, y, k, 0..=k);
    }
}

fn divide<T: Elementary>(x: &[T], y: &[T], out: &mut [T]) {
    for k in 0..out.len() {
        out[k] = (x[k] - convolve(y, out, k, 1..=k)) / y[0];
    }
}

fn reciprocal<T: Elementary>(x: &[T], out: &mut [T]) {
    out[0] = x[0].recip();
    for k in 1..out.len() {
        out[k] = -(out[0] * convolve(x, out, k, 1..=k));
    }
}

fn is_constant<T: Elementary>(x: &[T]) -> bool {
    x[1..].iter().all(|c| c.vanishes())
}

/// y = xʳ where the leading coefficient of x is not zero.
fn power<T: Elementary>(x: &[T], exponent: T, out: &mut [T]) {
    for k in 1..out.len() {
        let mut sum = T::zero();
        for j in 1..=k {
            sum += (exponent * real(j) - real::<T>(k - j)) * x[j] * out[k - j];
        }
        out[k] = sum / (real::<T>(k) * x[0]);
    }
}

/// Σ aₖ·(x − x₀)ᵏ by Horner's rule; a zero coefficient of x wins over an infinite aₖ.
fn compose<T: Elementary, C: Carrier<T>>(carrier: &C, a: &[T], x: &[T], out: &mut [T]) {
    let n = out.len();
    let mut product = carrier.scratch(T::zero());
    let product = product.as_mut();
    out.fill(T::zero());
    for k in (0..n).rev() {
        for (i, p) in product.iter_mut().enumerate() {
            *p = T::zero();
            for j in 1..=i {
                *p += x[j].strong_mul(out[i - j]);
            }
        }
        out.copy_from_slice(product);
        out[0] += a[k];
    }
}

/// y = xʳ at x₀ = 0, from the derivatives r(r − 1)…(r − k + 1)·x₀ʳ⁻ᵏ.
fn power_at_zero<T: Elementary, C: Carrier<T>>(carrier: &C, x: &[T], exponent: T, out: &mut [T]) {
    let mut a = carrier.scratch(T::zero());
    let a = a.as_mut();
    let mut falling = T::one();
    for (k, a) in a.iter_mut().enumerate() {
        *a = falling.strong_mul(x[0].powf(exponent - real::<T>(k)));
        falling *= (exponent - real::<T>(k)) / real(k + 1);
    }
    compose(carrier, a, x, out);
}

/// y = xⁿ by repeated squaring, which holds at a zero base too.
fn integer_power<T: Elementary, C: Carrier<T>>(carrier: &C, x: &[T], n: i32, out: &mut [T]) {
    let (mut square, mut product) = (carrier.scratch(T::zero()), carrier.scratch(T::zero()));
    let (square, product) = (square.as_mut(), product.as_mut());
    square.copy_from_slice(x);
    out.fill(T::zero());
    out[0] = T::one();
    let mut rest = n.unsigned_abs();
    while rest > 0 {
        if rest & 1 == 1 {
            multiply(out, square, product);
            out.copy_from_slice(product);
        }
        rest >>= 1;
        if rest > 0 {
            multiply(square, square, product);
            square.copy_from_slice(product);
        }
    }
    if n < 0 {
        product.copy_from_slice(out);
        reciprocal(product, out);
    }
}

/// The pair (f, g) with f′ = g·x′ and g′ = sign·f·x′.
fn rotate<T: Elementary>(x: &[T], sign: f64, f: &mut [T], g: &mut [T]) {
    for k in 1..f.len() {
        f[k] = integral(x, g, k);
        g[k] = integral(x, f, k) * T::constant(sign);
    }
}

/// The k-th derivative of a function whose derivatives are members of one family.
fn derivative<T: Elementary>(op: Opcode, parameter: i32, k: usize, x: T) -> T {
    let order = (parameter as u32).saturating_add(k as u32);
    match op {
        Opcode::Sinc | Opcode::SincDerivative => x.sinc_derivative(order),
        _ => x.polygamma(order),
    }
}

/// Applies an operation of one argument.
pub(super) fn unary<T: Elementary, O: Unary, C: Carrier<T>>(
    carrier: &C,
    op: O,
    x: &[T],
    out: &mut [T],
) {
    let n = out.len();
    out[0] = op.value(x[0]);
    if is_constant(x) {
        out[1..].fill(T::zero());
        return;
    }
    match O::SERIES {
        Series::Step => out[1..].fill(T::zero()),
        Series::Linear | Series::Signed => {
            let d = op.d(x[0], out[0]);
            for k in 1..n {
                out[k] = d.times(x[k]);
            }
        }
        Series::Recip => reciprocal(x, out),
        Series::Root(exponent) => {
            if x[0].sample().is_some() && x[0] == T::zero() {
                power_at_zero(carrier, x, T::rounded(exponent), out);
            } else {
                power(x, T::rounded(exponent), out);
            }
        }
        Series::Power => integer_power(carrier, x, op.parameter(), out),
        Series::Exp(rate) => {
            for k in 1..n {
                out[k] = integral(x, out, k) * T::rounded(rate);
            }
        }
        Series::Sin => {
            rotate(x, -1.0, out, carrier.scratch(x[0].cos()).as_mut());
        }
        Series::Cos => {
            // cos is the companion of sin: (sin, cos) turn together.
            let mut other = carrier.scratch(x[0].sin());
            let other = other.as_mut();
            for k in 1..n {
                other[k] = integral(x, out, k);
                out[k] = -integral(x, other, k);
            }
        }
        Series::Sinh => {
            rotate(x, 1.0, out, carrier.scratch(x[0].cosh()).as_mut());
        }
        Series::Cosh => {
            rotate(x, 1.0, out, carrier.scratch(x[0].sinh()).as_mut());
        }
        Series::Tan => {
            let mut slope = carrier.scratch(op.d(x[0], out[0]).value());
            let slope = slope.as_mut();
            for k in 1..n {
                out[k] = integral(x, slope, k);
                slope[k] = convolve(out, out, k, 0..=k);
            }
        }
        Series::Tanh => {
            let mut slope = carrier.scratch(x[0].sech2());
            let slope = slope.as_mut();
            for k in 1..n {
                out[k] = integral(x, slope, k);
                slope[k] = -convolve(out, out, k, 0..=k);
            }
        }
        Series::Sech2 => {
            let mut tanh = carrier.scratch(x[0].tanh());
            let tanh = tanh.as_mut();
            for k in 1..n {
                tanh[k] = integral(x, out, k);
                out[k] = -convolve(tanh, tanh, k, 0..=k);
            }
        }
        Series::Sigmoid => {
            let mut complement = carrier.scratch((-x[0]).sigmoid());
            let complement = complement.as_mut();
            let mut slope = carrier.scratch(out[0] * complement[0]);
            let slope = slope.as_mut();
            for k in 1..n {
                out[k] = integral(x, slope, k);
                complement[k] = -out[k];
                slope[k] = convolve(out, complement, k, 0..=k);
            }
        }
        Series::Gamma => {
            let (mut slope, mut log) = (carrier.scratch(T::zero()), carrier.scratch(T::zero()));
            let (slope, log) = (slope.as_mut(), log.as_mut());
            carrier.coefficients(carrier.number(x).digamma(), slope);
            for k in 1..n {
                log[k] = integral(x, slope, k);
            }
            for k in 1..n {
                out[k] = integral(log, out, k);
            }
        }
        Series::Integrate => {
            // The partial does not use y, so any number may stand for it.
            let number = carrier.number(x);
            let mut slope = carrier.scratch(T::zero());
            let slope = slope.as_mut();
            carrier.coefficients(op.d(number, number).value(), slope);
            for k in 1..n {
                out[k] = integral(x, slope, k);
            }
        }
        Series::Derivatives => {
            let mut a = carrier.scratch(out[0]);
            let a = a.as_mut();
            let mut factorial = T::one();
            for k in 1..n {
                factorial *= real(k);
                a[k] = derivative(O::INFO.opcode, op.parameter(), k, x[0]) / factorial;
            }
            compose(carrier, a, x, out);
        }
    }
    out[0] = op.value(x[0]);
}

/// Applies an operation of two arguments.
pub(super) fn binary<T: Elementary, O: Binary, C: Carrier<T>>(
    carrier: &C,
    op: O,
    x: &[T],
    y: &[T],
    out: &mut [T],
) {
    let n = out.len();
    let value = op.value(x[0], y[0]);
    if is_constant(x) && is_constant(y) {
        out.fill(T::zero());
        out[0] = value;
        return;
    }
    match O::INFO.opcode {
        Opcode::Mul => multiply(x, y, out),
        Opcode::Div => divide(x, y, out),
        Opcode::StrongMul => {
            for k in 0..n {
                out[k] = (0..=k).fold(T::zero(), |s, j| s + x[j].strong_mul(y[k - j]));
            }
        }
        Opcode::StrongDiv => {
            if x.iter().all(|c| c.vanishes()) {
                out.fill(T::zero());
            } else {
                divide(x, y, out);
            }
        }
        Opcode::Hypot => {
            out[0] = value;
            for k in 1..n {
                let squares = convolve(x, x, k, 0..=k) + convolve(y, y, k, 0..=k);
                let known = convolve(out, out, k, 1..=k - 1);
                // Without a branch: the rule may be written down for all points.
                let there = (squares - known) / (value + value);
                out[k] = T::select(value.equals(T::zero()), T::zero(), there);
            }
        }
        // An exponent without a value (a function that is traced for all points) goes by the logarithm.
        Opcode::Powf if is_constant(y) && y[0].sample().is_some() => {
            out[0] = value;
            let exponent = y[0].value();
            // What the exponent itself carries, an inner derivative, is not lost.
            let plain = (y[0] - T::constant(exponent)).vanishes();
            if plain && exponent.fract() == 0.0 && (0.0..=1024.0).contains(&exponent) {
                integer_power(carrier, x, exponent as i32, out);
            } else if x[0].sample().is_some() && x[0] == T::zero() {
                power_at_zero(carrier, x, y[0], out);
            } else {
                power(x, y[0], out);
            }
        }
        Opcode::Powf => {
            let mut log = carrier.scratch(T::zero());
            let log = log.as_mut();
            carrier.coefficients(carrier.number(y) * carrier.number(x).ln(), log);
            out[0] = value;
            for k in 1..n {
                out[k] = integral(log, out, k);
            }
        }
        Opcode::Log => {
            let quotient = carrier.number(x).ln() / carrier.number(y).ln();
            carrier.coefficients(quotient, out);
        }
        Opcode::Atan2 => {
            // The partials do not use the value, so any number may stand for it.
            let (a, b) = (carrier.number(x), carrier.number(y));
            let (mut d, mut e) = (carrier.scratch(T::zero()), carrier.scratch(T::zero()));
            let (d, e) = (d.as_mut(), e.as_mut());
            carrier.coefficients(op.d1(a, b, a).value(), d);
            carrier.coefficients(op.d2(a, b, a).value(), e);
            for k in 1..n {
                out[k] = integral(x, d, k) + integral(y, e, k);
            }
        }
        // What remains is linear in both arguments near the point.
        _ => {
            let (d, e) = (op.d1(x[0], y[0], value), op.d2(x[0], y[0], value));
            for k in 1..n {
                out[k] = d.times(x[k]) + e.times(y[k]);
            }
        }
    }
    out[0] = value;
}

/// Applies an operation of three arguments.
pub(super) fn ternary<T: Elementary, O: Ternary>(op: O, x: &[T], y: &[T], z: &[T], out: &mut [T]) {
    let value = op.value(x[0], y[0], z[0]);
    if matches!(O::INFO.opcode, Opcode::MulAdd) {
        multiply(x, y, out);
        for (o, z) in out.iter_mut().zip(z) {
            *o += *z;
        }
    } else {
        let [d, e, f] = op.d(x[0], y[0], z[0], value);
        for k in 1..out.len() {
            out[k] = d.times(x[k]) + e.times(y[k]) + f.times(z[k]);
        }
    }
    out[0] = value;
}
