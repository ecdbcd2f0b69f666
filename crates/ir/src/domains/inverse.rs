//! Backward rules of operations over intervals: what is left of the operands when the result is known.
//!
//! Each rule encloses all operands with which the operation, in exact arithmetic, gives a result in the
//! interval. Operations without a rule leave their operands as they are.

use std::f64::consts::{FRAC_PI_2, LN_2, LN_10, PI};

use cotangent_numbers::{Elementary, Interval};
use cotangent_ops::Opcode;

/// Branches of a periodic function that are looked at one by one.
const BRANCHES: f64 = 64.0;

/// The set without what is known of how it came about.
pub(super) fn set(x: Interval) -> Interval {
    if x.is_empty() { Interval::EMPTY } else { Interval::new(x.low(), x.high()) }
}

fn meet(x: Interval, y: Interval) -> Interval {
    set(set(x).intersection(set(y)))
}

fn at_least(low: f64) -> Interval {
    Interval::new(low, f64::INFINITY)
}

/// The hull of the parts of `x` that lie in these sets.
fn parts(x: Interval, sets: impl IntoIterator<Item = Interval>) -> Interval {
    sets.into_iter().fold(Interval::EMPTY, |all, part| {
        let part = meet(x, part);
        if part.is_empty() {
            all
        } else if all.is_empty() {
            part
        } else {
            set(all.hull(part))
        }
    })
}

/// What is left of `x` if x·y = z.
fn factor(x: Interval, y: Interval, z: Interval) -> Interval {
    if y.contains(0.0) && z.contains(0.0) {
        return x;
    }
    let negative = meet(y, Interval::new(f64::NEG_INFINITY, 0.0));
    let positive = meet(y, at_least(0.0));
    parts(x, [negative, positive].into_iter().filter(|y| !y.is_empty()).map(|y| set(z / y)))
}

/// What is left of `x` if it is one of `w` and `−w`.
fn either_sign(x: Interval, w: Interval) -> Interval {
    parts(x, [w, set(-w)])
}

/// What is left of `x` if it is one of `w + k·period`, for an integer k.
fn periodic(x: Interval, ws: &[Interval], period: Interval) -> Interval {
    let finite = x.low().is_finite() && x.high().is_finite();
    if !finite || (x.high() - x.low()) / period.low() > BRANCHES {
        return x;
    }
    let mut all = Vec::new();
    for w in ws.iter().filter(|w| !w.is_empty()) {
        // A branch more on either side covers the rounding of these quotients.
        let first = ((x.low() - w.high()) / period.low()).floor() - 1.0;
        let last = ((x.high() - w.low()) / period.low()).ceil() + 1.0;
        if !(first.abs() < 1e9 && last.abs() < 1e9) {
            return x;
        }
        let mut k = first;
        while k <= last {
            all.push(set(*w + period * Interval::point(k)));
            k += 1.0;
        }
    }
    parts(x, all)
}

/// The n-th root of what is not negative.
fn root(z: Interval, n: u32) -> Interval {
    let z = meet(z, at_least(0.0));
    if z.is_empty() {
        return z;
    }
    set(match n {
        1 => z,
        2 => z.sqrt(),
        3 => z.cbrt(),
        _ => {
            let power = (z.ln() / Interval::point(f64::from(n))).exp();
            // Of zero: its logarithm is −∞, and the exponential of that is zero.
            if z.low() <= 0.0 { power.hull(Interval::point(0.0)) } else { power }
        }
    })
}

/// What is left of `x` if xⁿ = z.
fn power(x: Interval, z: Interval, n: i32) -> Interval {
    if n == 0 {
        return x;
    }
    if n < 0 {
        // x⁻ⁿ = 1/z, on both sides of zero.
        let negative = meet(z, Interval::new(f64::NEG_INFINITY, 0.0));
        let positive = meet(z, at_least(0.0));
        let one = Interval::point(1.0);
        let sides = [negative, positive].into_iter().filter(|z| !z.is_empty());
        let Some(n) = n.checked_neg() else { return x };
        return parts(x, sides.map(|z| power(x, set(one / z), n)).collect::<Vec<_>>());
    }
    let degree = n.unsigned_abs();
    let up = root(z, degree);
    if degree.is_multiple_of(2) {
        return either_sign(x, up);
    }
    let down = set(-root(set(-z), degree));
    parts(x, [down, up].into_iter().filter(|w| !w.is_empty()))
}

/// What is left of the operand of an operation that gives `z`.
pub(super) fn unary(code: Opcode, parameter: i32, x: Interval, z: Interval) -> Interval {
    let pi = Interval::rounded(PI);
    let half = Interval::rounded(FRAC_PI_2);
    let within = |low: f64, high: f64| meet(z, Interval::new(low, high));
    let one = Interval::point(1.0);
    match code {
        Opcode::Neg => meet(x, -z),
        Opcode::Abs => either_sign(x, within(0.0, f64::INFINITY)),
        Opcode::Recip => factor(x, z, one),
        Opcode::Sqrt => meet(x, set(within(0.0, f64::INFINITY).powi(2))),
        Opcode::Cbrt => meet(x, z.powi(3)),
        Opcode::Exp => meet(x, within(0.0, f64::INFINITY).ln()),
        Opcode::Exp2 => meet(x, within(0.0, f64::INFINITY).log2()),
        Opcode::ExpM1 => meet(x, within(-1.0, f64::INFINITY).ln_1p()),
        Opcode::Ln => meet(x, z.exp()),
        Opcode::Log2 => meet(x, (z * Interval::rounded(LN_2)).exp()),
        Opcode::Log10 => meet(x, (z * Interval::rounded(LN_10)).exp()),
        Opcode::Ln1p => meet(x, z.exp_m1()),
        Opcode::Sin => {
            let w = set(within(-1.0, 1.0).asin());
            periodic(x, &[w, set(pi - w)], set(pi + pi))
        }
        Opcode::Cos => {
            let w = set(within(-1.0, 1.0).acos());
            periodic(x, &[w, set(-w)], set(pi + pi))
        }
        Opcode::Tan => periodic(x, &[set(z.atan())], pi),
        Opcode::Asin => meet(x, meet(z, set(-half).hull(half)).sin()),
        Opcode::Acos => meet(x, meet(z, Interval::point(0.0).hull(pi)).cos()),
        Opcode::Atan => {
            let w = meet(z, set(-half).hull(half));
            // Inside both poles the tangent rises; beyond what is known of them it may be anything.
            let safe = Interval::new(-half.low(), half.low());
            match safe.low() < w.low() && w.high() < safe.high() {
                true => meet(x, w.tan()),
                false if w.is_empty() => w,
                false => x,
            }
        }
        Opcode::Sinh => meet(x, z.asinh()),
        Opcode::Cosh => either_sign(x, set(within(1.0, f64::INFINITY).acosh())),
        Opcode::Tanh => meet(x, within(-1.0, 1.0).atanh()),
        Opcode::Sech2 => either_sign(x, set(within(0.0, 1.0).sqrt().recip().acosh())),
        Opcode::Asinh => meet(x, z.sinh()),
        Opcode::Acosh => meet(x, within(0.0, f64::INFINITY).cosh()),
        Opcode::Atanh => meet(x, z.tanh()),
        Opcode::Sigmoid => {
            let z = within(0.0, 1.0);
            meet(x, z.ln() - (one - z).ln())
        }
        Opcode::Softplus => meet(x, within(0.0, f64::INFINITY).exp_m1().ln()),
        Opcode::ToDegrees => meet(x, z.to_radians()),
        Opcode::ToRadians => meet(x, z.to_degrees()),
        Opcode::Floor => meet(x, z.hull(z + one)),
        Opcode::Ceil => meet(x, z.hull(z - one)),
        Opcode::Round | Opcode::Trunc => meet(x, (z - one).hull(z + one)),
        Opcode::Powi => power(x, z, parameter),
        _ => x,
    }
}

/// What is left of the two operands of an operation that gives `z`.
pub(super) fn binary(code: Opcode, x: Interval, y: Interval, z: Interval) -> (Interval, Interval) {
    match code {
        Opcode::Add => (meet(x, z - y), meet(y, z - x)),
        Opcode::Sub => (meet(x, z + y), meet(y, x - z)),
        Opcode::Mul => {
            let x = factor(x, y, z);
            (x, if x.is_empty() { y } else { factor(y, x, z) })
        }
        Opcode::Div => {
            let x = meet(x, z * y);
            (x, if x.is_empty() { y } else { factor(y, z, x) })
        }
        Opcode::Hypot => {
            let squares = |a: Interval| set(set(meet(z, at_least(0.0)).powi(2)) - set(a.powi(2)));
            let x = either_sign(x, root(squares(y), 2));
            (x, if x.is_empty() { y } else { either_sign(y, root(squares(x), 2)) })
        }
        Opcode::Max => larger(x, y, z),
        Opcode::Min => {
            let (x, y) = larger(set(-x), set(-y), set(-z));
            (set(-x), set(-y))
        }
        // The power of a negative number is another matter.
        Opcode::Powf if x.low() >= 0.0 && !y.contains(0.0) => {
            let logarithm = meet(z, at_least(0.0)).ln();
            let x = if logarithm.is_empty() { x } else { meet(x, (logarithm / y).exp()) };
            (x, y)
        }
        Opcode::Log if y.low() > 0.0 => (meet(x, (z * y.ln()).exp()), y),
        _ => (x, y),
    }
}

fn larger(x: Interval, y: Interval, z: Interval) -> (Interval, Interval) {
    let below = Interval::new(f64::NEG_INFINITY, z.high());
    let (mut a, mut b) = (meet(x, below), meet(y, below));
    // One of them is the larger.
    if x.high() < z.low() {
        b = meet(b, z);
    }
    if y.high() < z.low() {
        a = meet(a, z);
    }
    (a, b)
}

/// Whether a NaN among the operands always gives a NaN.
pub(super) fn is_strict(code: Opcode, parameter: i32) -> bool {
    match code {
        Opcode::Powi => parameter != 0,
        Opcode::Max
        | Opcode::Min
        | Opcode::Powf
        | Opcode::Hypot
        | Opcode::Copysign
        | Opcode::Signum
        | Opcode::StrongMul
        | Opcode::StrongDiv
        | Opcode::Clamp => false,
        _ => true,
    }
}
