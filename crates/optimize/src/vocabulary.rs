//! The words that rules are written in: variables, operations, and what is computed of constants.
#![allow(non_upper_case_globals, reason = "in rules variables are written small, as in formulas")]

use cotangent_ir::{Element, Integral, Op};
use cotangent_ops::{Comparison, Opcode};

use crate::pattern::{Kind, Known, Pattern, Var};

macro_rules! variables {
    ($($kind:ident: $($name:ident $index:literal),*;)*) => {
        $($(pub(crate) const $name: Var = Var { index: $index, kind: Kind::$kind };)*)*
    };
}

variables! {
    Number: x 0, y 1, z 2;
    Constant: c 3, d 4;
    Integer: i 5, j 6;
    KnownInteger: m 7, n 8;
    Truth: p 9, q 10;
    Any: t 11, u 12, v 13, w 14;
}

macro_rules! operations {
    ($($name:ident($($arg:ident),*) = $op:expr;)*) => {
        $(pub(crate) fn $name($($arg: impl Into<Pattern>),*) -> Pattern {
            Pattern::Op($op, vec![$($arg.into()),*])
        })*
    };
}

const fn table(code: Opcode) -> Op {
    Op::Elementary(code, 0)
}

operations! {
    neg(a) = table(Opcode::Neg);
    abs(a) = table(Opcode::Abs);
    sgn(a) = table(Opcode::Sgn);
    recip(a) = table(Opcode::Recip);
    sqrt(a) = table(Opcode::Sqrt);
    exp(a) = table(Opcode::Exp);
    exp_m1(a) = table(Opcode::ExpM1);
    ln(a) = table(Opcode::Ln);
    ln_1p(a) = table(Opcode::Ln1p);
    sin(a) = table(Opcode::Sin);
    cos(a) = table(Opcode::Cos);
    tanh(a) = table(Opcode::Tanh);
    cosh(a) = table(Opcode::Cosh);
    add(a, b) = table(Opcode::Add);
    sub(a, b) = table(Opcode::Sub);
    mul(a, b) = table(Opcode::Mul);
    div(a, b) = table(Opcode::Div);
    max(a, b) = table(Opcode::Max);
    min(a, b) = table(Opcode::Min);
    powf(a, b) = table(Opcode::Powf);
    strong_mul(a, b) = table(Opcode::StrongMul);
    strong_div(a, b) = table(Opcode::StrongDiv);
    mul_add(a, b, e) = table(Opcode::MulAdd);
    lt(a, b) = Op::Compare(Comparison::Less);
    le(a, b) = Op::Compare(Comparison::AtMost);
    gt(a, b) = Op::Compare(Comparison::Greater);
    ge(a, b) = Op::Compare(Comparison::AtLeast);
    eq(a, b) = Op::Compare(Comparison::Equal);
    ne(a, b) = Op::Compare(Comparison::Differ);
    and(a, b) = Op::And;
    or(a, b) = Op::Or;
    not(a) = Op::Not;
    select(a, b, e) = Op::Select;
    iadd(a, b) = Op::Integral(Integral::Add);
    isub(a, b) = Op::Integral(Integral::Sub);
    imul(a, b) = Op::Integral(Integral::Mul);
    idiv(a, b) = Op::Integral(Integral::Div);
    irem(a, b) = Op::Integral(Integral::Rem);
    imin(a, b) = Op::Integral(Integral::Min);
    imax(a, b) = Op::Integral(Integral::Max);
}

pub(crate) fn powi(exponent: i32, a: impl Into<Pattern>) -> Pattern {
    Pattern::Op(Op::Elementary(Opcode::Powi, exponent), vec![a.into()])
}

pub(crate) fn minus(a: Var) -> Pattern {
    match a.kind {
        Kind::KnownInteger => Pattern::FoldIntegers(vec![a], |known| known[0].wrapping_neg()),
        _ => Pattern::Fold(vec![a], |known| -known[0]),
    }
}

pub(crate) fn inverse(a: Var) -> Pattern {
    Pattern::Fold(vec![a], |known| 1.0 / known[0])
}

pub(crate) fn plus(a: Var, b: Var) -> Pattern {
    match a.kind {
        Kind::KnownInteger => {
            Pattern::FoldIntegers(vec![a, b], |known| known[0].wrapping_add(known[1]))
        }
        _ => Pattern::Fold(vec![a, b], |known| known[0] + known[1]),
    }
}

pub(crate) fn less(a: Var, b: Var) -> Pattern {
    match a.kind {
        Kind::KnownInteger => {
            Pattern::FoldIntegers(vec![a, b], |known| known[0].wrapping_sub(known[1]))
        }
        _ => Pattern::Fold(vec![a, b], |known| known[0] - known[1]),
    }
}

pub(crate) fn times(a: Var, b: Var) -> Pattern {
    match a.kind {
        Kind::KnownInteger => {
            Pattern::FoldIntegers(vec![a, b], |known| known[0].wrapping_mul(known[1]))
        }
        _ => Pattern::Fold(vec![a, b], |known| known[0] * known[1]),
    }
}

pub(crate) fn plus_one(a: Var) -> Pattern {
    Pattern::Fold(vec![a], |known| known[0] + 1.0)
}

/// The largest number whose root, rounded, is at most a positive one: roots do not fall, so this decides the comparison for all.
pub(crate) fn most_with_root(a: Var) -> Pattern {
    Pattern::FoldIn(vec![a], |known, element| match element {
        Element::F32 => f64::from(roots32(known[0] as f32).0),
        _ => roots64(known[0]).0,
    })
}

/// The smallest number whose root, rounded, is at least a positive one.
pub(crate) fn least_with_root(a: Var) -> Pattern {
    Pattern::FoldIn(vec![a], |known, element| match element {
        Element::F32 => f64::from(roots32(known[0] as f32).1),
        _ => roots64(known[0]).1,
    })
}

macro_rules! roots {
    ($name:ident, $float:ty) => {
        /// The last number with a root of at most `root > 0`, and the first with one of at least that: they are near the square.
        fn $name(root: $float) -> ($float, $float) {
            let near = (root * root).min(<$float>::MAX);
            let mut last = near;
            while last.sqrt() > root {
                last = last.next_down();
            }
            while last < <$float>::MAX && last.next_up().sqrt() <= root {
                last = last.next_up();
            }
            let mut first = near;
            while first.sqrt() < root {
                first = first.next_up();
            }
            while first > 0.0 && first.next_down().sqrt() >= root {
                first = first.next_down();
            }
            (last, first)
        }
    };
}
roots!(roots32, f32);
roots!(roots64, f64);

/// A positive number whose square is an ordinary one, also in singles: programs are made simpler in doubles and go to singles last,
/// where the square of 1e-24 would be nothing.
pub(crate) fn has_square(known: &[Known]) -> bool {
    let [Known::Number(number)] = known else { return false };
    let single = *number as f32;
    single > 0.0 && (f32::MIN_POSITIVE..=f32::MAX).contains(&(single * single))
}

/// A power of two of a single: its inverse is one, too, in both precisions.
pub(crate) fn power_of_two(known: &[Known]) -> bool {
    match known {
        [Known::Number(number)] => {
            let size = number.abs();
            number.to_bits() & ((1 << 52) - 1) == 0 && (1e-30..1e30).contains(&size)
        }
        _ => false,
    }
}

/// Two factors of which one is a power of two that moves no rounding: neither makes a number smaller, and what is rounded in
/// between is so in the same place. (A whole number times a subnormal one is exact.)
pub(crate) fn only_scales(known: &[Known]) -> bool {
    let [Known::Number(first), Known::Number(second)] = known else { return false };
    let scale = |factor: f64| power_of_two(&[Known::Number(factor)]) && factor.abs() >= 1.0;
    let other = |factor: f64| (1.0..1e8).contains(&factor.abs());
    let inner = other(*first) && first.fract() == 0.0;
    scale(*first) && other(*second) || scale(*second) && inner
}

/// A product with it is what a strong product is: neither zero nor infinite.
pub(crate) fn not_zero(known: &[Known]) -> bool {
    matches!(known, [Known::Number(number)] if *number != 0.0 && number.is_finite())
}

/// Both are positive, and so is their product.
pub(crate) fn positive(known: &[Known]) -> bool {
    match known {
        [Known::Integer(a), Known::Integer(b)] => {
            *a > 0 && *b > 0 && a.checked_mul(*b).is_some_and(|both| both < i64::from(i32::MAX))
        }
        _ => false,
    }
}
