//! Which functions of `cotangent-math` the operations of the table are.
//!
//! Plain numbers are computed by them wherever programs are traced and run: one by one, in blocks, and in machine code, which is
//! written by running them on lanes that write themselves down ([`on_lanes`]). All give the same bits. Numbers that carry more than
//! a value compute as the table says, with the functions of the standard library.

use cotangent_math::{self as math, Lanes, Level, Number};
use cotangent_numbers::Scalar;
use cotangent_ops::{Binary, Opcode, Ternary, Unary, Visitor};

/// Integer powers beyond this one are those of `pow`; up to it they are products.
const PRODUCTS: u32 = 16;

/// How an operation is computed.
#[derive(Clone, Copy)]
pub(crate) enum By {
    /// By a function of one number.
    One(math::Unary),
    /// By a function of two.
    Two(math::Binary),
    /// By a function of one number that the table takes to have no value where it is infinite.
    Poles(math::Unary),
    /// The power with an exponent that is known.
    Power,
    /// The logarithm to a base.
    Log,
    /// sin(x)/x.
    Sinc,
}

/// How an operation is computed, if it is a function of `cotangent-math`.
pub(crate) const fn function(code: Opcode) -> Option<By> {
    use math::Unary as One;
    Some(By::One(match code {
        Opcode::Exp => One::Exp,
        Opcode::Exp2 => One::Exp2,
        Opcode::ExpM1 => One::ExpM1,
        Opcode::Ln => One::Ln,
        Opcode::Log2 => One::Log2,
        Opcode::Log10 => One::Log10,
        Opcode::Ln1p => One::Ln1p,
        Opcode::Sin => One::Sin,
        Opcode::Cos => One::Cos,
        Opcode::Tan => One::Tan,
        Opcode::Sinh => One::Sinh,
        Opcode::Cosh => One::Cosh,
        Opcode::Tanh => One::Tanh,
        Opcode::Sech2 => One::Sech2,
        Opcode::Asin => One::Asin,
        Opcode::Acos => One::Acos,
        Opcode::Atan => One::Atan,
        Opcode::Asinh => One::Asinh,
        Opcode::Acosh => One::Acosh,
        Opcode::Atanh => One::Atanh,
        Opcode::Sigmoid => One::Sigmoid,
        Opcode::Softplus => One::Softplus,
        Opcode::Cbrt => One::Cbrt,
        Opcode::Erf => One::Erf,
        Opcode::Erfc => One::Erfc,
        Opcode::LnGamma => return Some(By::Poles(One::LnGamma)),
        Opcode::Digamma => return Some(By::Poles(One::Digamma)),
        Opcode::Powf => return Some(By::Two(math::Binary::Pow)),
        Opcode::Atan2 => return Some(By::Two(math::Binary::Atan2)),
        Opcode::Hypot => return Some(By::Two(math::Binary::Hypot)),
        Opcode::Powi => return Some(By::Power),
        Opcode::Log => return Some(By::Log),
        Opcode::Sinc => return Some(By::Sinc),
        _ => return None,
    }))
}

/// Whether an operation is a function of `cotangent-math`.
///
/// ```
/// use cotangent_ir::functions::{is_function, on_lanes};
/// use cotangent_math::Pack;
/// use cotangent_ops::Opcode;
///
/// assert!(is_function(Opcode::Sin, 0) && !is_function(Opcode::Add, 0));
/// let x = Pack([0.5, 1.0, -2.0, 800.0]);
/// let y = on_lanes(Opcode::Sin, 0, x, x).unwrap();
/// assert_eq!(y.0[1], on_lanes(Opcode::Sin, 0, 1.0, 1.0).unwrap());
/// ```
pub fn is_function(code: Opcode, parameter: i32) -> bool {
    match function(code) {
        Some(By::Power) => parameter.unsigned_abs() > PRODUCTS,
        found => found.is_some(),
    }
}

/// An operation on lanes, if it is a function of `cotangent-math`. What takes one operand looks at the first.
#[inline(always)]
pub fn on_lanes<L: Lanes>(code: Opcode, parameter: i32, x: L, y: L) -> Option<L> {
    if !is_function(code, parameter) {
        return None;
    }
    Some(match function(code)? {
        By::One(f) => f.call(x),
        By::Two(f) => f.call(x, y),
        By::Poles(f) => without_poles(x, f.call(x)),
        By::Power => math::pow(x, L::splat(f64::from(parameter))),
        By::Log => math::ln(x) / math::ln(y),
        By::Sinc => sinc(x, math::sin(x)),
    })
}

/// The value of a function of Γ, but where the table says that it has none: at 0 and the negative whole numbers.
#[inline(always)]
fn without_poles<L: Lanes>(x: L, value: L) -> L {
    let pole = x.le(L::splat(0.0)) & x.round_even().eq(x);
    L::select(pole, L::splat(f64::NAN), value)
}

/// sin(x)/x as the table has it: 1 where the next term of the series is nothing.
#[inline(always)]
fn sinc<L: Lanes>(x: L, sine: L) -> L {
    L::select(x.abs().lt(L::splat(1e-8)), L::splat(1.0), sine / x)
}

/// A plain number.
trait Plain: Number + Lanes {}
impl<T: Number + Lanes> Plain for T {}

/// An operation on one number.
#[inline]
fn one<T: Plain>(by: By, parameter: i32, x: T, y: T) -> Option<T> {
    Some(match by {
        By::One(f) => f.apply(x),
        By::Two(f) => f.apply(x, y),
        By::Poles(f) => without_poles(x, f.apply(x)),
        By::Power if parameter.unsigned_abs() <= PRODUCTS => return None,
        By::Power => math::Binary::Pow.apply(x, T::splat(f64::from(parameter))),
        By::Log => math::Unary::Ln.apply(x) / math::Unary::Ln.apply(y),
        By::Sinc => sinc(x, math::Unary::Sin.apply(x)),
    })
}

/// An operation on many numbers, in vectors; whether it is a function.
fn many<T: Plain>(by: By, parameter: i32, x: &[T], y: &[T], out: &mut [T]) -> bool {
    let best = Level::Avx512;
    let beside = |out: &mut [T], f: fn(T, T) -> T| {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = f(*x, *out));
    };
    match by {
        By::One(f) => math::apply_at(best, f, x, out),
        By::Two(f) => math::apply2_at(best, f, x, y, out),
        By::Poles(f) => {
            math::apply_at(best, f, x, out);
            beside(out, without_poles);
        }
        By::Power if parameter.unsigned_abs() <= PRODUCTS => return false,
        By::Power => {
            let exponent = [T::splat(f64::from(parameter)); CHUNK];
            for (x, out) in x.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                math::apply2_at(best, math::Binary::Pow, x, &exponent[..x.len()], out);
            }
        }
        By::Log => {
            let mut below = [T::splat(0.0); CHUNK];
            let both = x.chunks(CHUNK).zip(y.chunks(CHUNK));
            for ((x, y), out) in both.zip(out.chunks_mut(CHUNK)) {
                let below = &mut below[..y.len()];
                math::apply_at(best, math::Unary::Ln, y, below);
                math::apply_at(best, math::Unary::Ln, x, out);
                out.iter_mut().zip(below).for_each(|(out, below)| *out = *out / *below);
            }
        }
        By::Sinc => {
            math::apply_at(best, math::Unary::Sin, x, out);
            beside(out, sinc);
        }
    }
    true
}

/// Numbers that are gathered at a time where they do not stand side by side: a whole number of vectors.
pub(crate) const CHUNK: usize = 64;

/// An operation on many numbers, all as long; whether they are plain ones and it is a function of them.
pub(crate) fn on_slices<S: Scalar>(
    by: By,
    parameter: i32,
    x: &[S],
    y: &[S],
    out: &mut [S],
) -> bool {
    if let (Some(x), Some(y)) = (S::as_f64s(x), S::as_f64s(y)) {
        return S::as_f64s_mut(out).is_some_and(|out| many(by, parameter, x, y, out));
    }
    if let (Some(x), Some(y)) = (S::as_f32s(x), S::as_f32s(y)) {
        return S::as_f32s_mut(out).is_some_and(|out| many(by, parameter, x, y, out));
    }
    false
}

/// An operation on a number, if it is a plain one and the operation is a function of it.
#[inline]
fn on_number<S: Scalar>(by: By, parameter: i32, x: S, y: S) -> Option<S> {
    let (x, y) = (std::slice::from_ref(&x), std::slice::from_ref(&y));
    let mut out = S::zero();
    let place = std::slice::from_mut(&mut out);
    if let (Some([x]), Some([y])) = (S::as_f64s(x), S::as_f64s(y)) {
        *S::as_f64s_mut(place)?.first_mut()? = one(by, parameter, *x, *y)?;
    } else if let (Some([x]), Some([y])) = (S::as_f32s(x), S::as_f32s(y)) {
        *S::as_f32s_mut(place)?.first_mut()? = one(by, parameter, *x, *y)?;
    } else {
        return None;
    }
    Some(out)
}

/// The value of an operation of one operand.
#[inline]
pub(crate) fn unary<S: Scalar, O: Unary>(op: O, x: S) -> S {
    if S::PLAIN
        && let Some(by) = const { function(O::INFO.opcode) }
        && let Some(y) = on_number(by, op.parameter(), x, x)
    {
        return y;
    }
    op.value(x)
}

/// The value of an operation of two operands.
#[inline]
pub(crate) fn binary<S: Scalar, O: Binary>(op: O, x: S, y: S) -> S {
    if S::PLAIN
        && let Some(by) = const { function(O::INFO.opcode) }
        && let Some(z) = on_number(by, 0, x, y)
    {
        return z;
    }
    op.value(x, y)
}

/// An operation that is known by its code, on numbers.
pub(crate) struct Compute<S>(pub(crate) [S; 3]);

impl<S: Scalar> Visitor for Compute<S> {
    type Output = S;

    #[inline]
    fn unary<O: Unary>(self, op: O) -> S {
        unary(op, self.0[0])
    }

    #[inline]
    fn binary<O: Binary>(self, op: O) -> S {
        binary(op, self.0[0], self.0[1])
    }

    #[inline]
    fn ternary<O: Ternary>(self, op: O) -> S {
        let [x, y, z] = self.0;
        op.value(x, y, z)
    }
}
