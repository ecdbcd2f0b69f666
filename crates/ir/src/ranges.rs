//! Between which bounds an integer lies.

use crate::function::{Function, Value};
use crate::op::{Integral, Op};
use crate::structure::{Reducer, Structure};
use crate::types::{Dim, Element, Type};
use cotangent_ops::Comparison;

/// The smallest and the largest an integer can be.
pub type Range = Option<(i64, i64)>;

/// How deep a formula is looked into.
const DEPTH: usize = 12;

/// The range of a value, given those of the parameters.
pub fn range(f: &Function, value: Value, params: &[Range]) -> Range {
    within(f, value, params, DEPTH)
}

fn within(f: &Function, value: Value, params: &[Range], depth: usize) -> Range {
    if depth == 0 || !f.ty(value).element().is_integer() {
        return None;
    }
    let of = |k: usize| within(f, f.operand(value, k), params, depth - 1);
    let found = match f.op(value) {
        Op::Param(k) => params.get(k as usize).copied().flatten(),
        Op::Integer(c) => Some((c, c)),
        Op::Fill | Op::Stop | Op::Keep | Op::Recompute => of(0),
        Op::Extent(_) => Some((0, i64::from(u32::MAX))),
        Op::Select => {
            let ((a, b), (c, d)) = (of(1)?, of(2)?);
            Some((a.min(c), b.max(d)))
        }
        Op::Integral(integral) => arithmetic(integral, of(0), of(1)),
        // The place of the largest or smallest.
        Op::Part(0) => match f.structure(f.operand(value, 0)) {
            Some(Structure::Red { dims, reducer: Reducer::ArgMax | Reducer::ArgMin, .. }) => {
                let points = dims.iter().try_fold(1i64, |all, dim| match dim {
                    Dim::Size(n) => all.checked_mul(i64::try_from(*n).ok()?),
                    _ => None,
                });
                points.filter(|n| *n > 0).map(|n| (0, n - 1))
            }
            _ => None,
        },
        _ => None,
    };
    // Integers of 32 bits wrap around earlier.
    let fits = |c: i64| i32::try_from(c).is_ok();
    found.filter(|(a, b)| f.ty(value).element() != Element::I32 || fits(*a) && fits(*b))
}

pub(crate) fn arithmetic(integral: Integral, x: Range, y: Range) -> Range {
    match (integral, x, y) {
        (Integral::Add, Some((a, b)), Some((c, d))) => Some((a.checked_add(c)?, b.checked_add(d)?)),
        (Integral::Sub, Some((a, b)), Some((c, d))) => Some((a.checked_sub(d)?, b.checked_sub(c)?)),
        (Integral::Mul, Some((a, b)), Some((c, d))) => {
            let ends = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
            Some((*ends.iter().min()?, *ends.iter().max()?))
        }
        (Integral::Div, Some((a, b)), Some((c, d))) if c == d && c > 0 => {
            Some((a.div_euclid(c), b.div_euclid(c)))
        }
        // Less than the divisor, and no more than what is divided.
        (Integral::Rem, x, Some((c, d))) if c > 0 => match x {
            Some((a, b)) if a >= 0 && b < c => Some((a, b)),
            Some((a, b)) if a >= 0 => Some((0, b.min(d - 1))),
            _ => Some((0, d - 1)),
        },
        (Integral::Min, Some((a, b)), Some((c, d))) => Some((a.min(c), b.min(d))),
        (Integral::Max, Some((a, b)), Some((c, d))) => Some((a.max(c), b.max(d))),
        _ => None,
    }
}

/// The outcome of a comparison of two integers, if their ranges decide it.
pub fn decided(comparison: Comparison, a: (i64, i64), b: (i64, i64)) -> Option<bool> {
    let (less, at_most) = (a.1 < b.0, a.1 <= b.0);
    let (greater, at_least) = (a.0 > b.1, a.0 >= b.1);
    let one = a.0 == a.1 && a == b;
    match comparison {
        Comparison::Less if less => Some(true),
        Comparison::Less if at_least => Some(false),
        Comparison::AtMost if at_most => Some(true),
        Comparison::AtMost if greater => Some(false),
        Comparison::Greater if greater => Some(true),
        Comparison::Greater if at_most => Some(false),
        Comparison::AtLeast if at_least => Some(true),
        Comparison::AtLeast if less => Some(false),
        Comparison::Equal if less || greater => Some(false),
        Comparison::Differ if less || greater => Some(true),
        Comparison::Equal if one => Some(true),
        Comparison::Differ if one => Some(false),
        _ => None,
    }
}

/// Which of two integers their maximum or minimum is, if their ranges decide it: whether it is the first.
pub fn picked(integral: Integral, a: (i64, i64), b: (i64, i64)) -> Option<bool> {
    match integral {
        Integral::Min if a.1 <= b.0 => Some(true),
        Integral::Min if b.1 <= a.0 => Some(false),
        Integral::Max if a.0 >= b.1 => Some(true),
        Integral::Max if b.0 >= a.1 => Some(false),
        _ => None,
    }
}

/// The ranges of the parameters of a body: indices by the domain or the bound, captures by their operands.
pub fn of_body(
    f: &Function,
    structure: &Structure,
    operands: &[Value],
    params: &[Range],
    count: usize,
) -> Vec<Range> {
    let mut ranges = vec![None; count];
    for (k, dim) in structure.domain().iter().enumerate() {
        if let Dim::Size(n) = dim {
            ranges[k] = Some((0, (*n as i64 - 1).max(0)));
        }
    }
    if let (Structure::For { .. }, Some(bound)) = (structure, operands.first()) {
        ranges[0] = range(f, *bound, params).map(|(_, most)| (0, (most - 1).max(0)));
    }
    let (own, _) = structure.own_params();
    for (k, found) in ranges.iter_mut().enumerate().skip(own) {
        *found = structure
            .operand_of(k)
            .and_then(|operand| operands.get(operand))
            .and_then(|operand| range(f, *operand, params));
    }
    ranges
}

/// Whether indices lie in an array for certain. `domain` has the dimensions that the first parameters run
/// over.
pub fn in_range(
    f: &Function,
    ty: Type,
    indices: &[Value],
    params: &[Range],
    domain: &[Dim],
) -> bool {
    indices.iter().zip(ty.dims()).all(|(index, dim)| {
        // The index of a kernel over the same dimension, whatever its size.
        if let Op::Param(k) = f.op(*index)
            && domain.get(k as usize) == Some(dim)
        {
            return true;
        }
        match (dim, range(f, *index, params)) {
            (Dim::Size(n), Some((least, most))) => least >= 0 && most < *n as i64,
            _ => false,
        }
    })
}
