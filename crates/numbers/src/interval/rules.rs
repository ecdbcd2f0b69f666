//! Interval rules of the operations that are not simply monotone.

use cotangent_ops::{Binary, Opcode, Unary};

use super::Interval;
use super::round::{
    Endpoint, add_down, add_up, div_down, div_up, lower, mul_down, mul_up, pow_down, pow_up, upper,
};

/// Where Γ has its least value on the positive axis, and bounds of that place.
const GAMMA_TURN: (f64, f64) = (1.461_632_144_968_362, 1.461_632_144_968_363);
/// A lower bound of the least value of Γ there (0.885603194410888700…).
const GAMMA_LEAST: f64 = 0.885_603_194_410_888_6;
/// A lower bound of the least value of ln Γ there (−0.121486290535849608…).
const LN_GAMMA_LEAST: f64 = -0.121_486_290_535_849_62;
/// Up to here sin(x)/x falls (its first minimum is at 4.493409457909064…).
const SINC_FALLS: f64 = 4.493;
/// A lower bound of the least value of sin(x)/x (−0.217233628211221657…).
const SINC_LEAST: f64 = -0.217_233_628_211_221_7;

/// The range of a function, its ends moved outward where they are not exact numbers.
#[inline]
pub(super) fn outward<T: Endpoint>((low, high): (f64, f64)) -> Interval<T> {
    let exact = |x: f64| x.is_infinite() || x.fract() == 0.0;
    Interval::new(
        if exact(low) { T::below(low) } else { T::below(low).next_down() },
        if exact(high) { T::above(high) } else { T::above(high).next_up() },
    )
}

fn around<T: Endpoint>(value: T, ulps: u32) -> Interval<T> {
    Interval::new(lower(value, ulps + 1), upper(value, ulps + 1))
}

/// The hull of the values at the two ends, with their error.
fn ends<T: Endpoint, O: Unary>(op: O, x: Interval<T>) -> Interval<T> {
    let ulps = O::INFO.ulps;
    around(op.value(x.low), ulps).hull(around(op.value(x.high), ulps))
}

fn at_least<T: Endpoint>(x: Interval<T>, bound: f64) -> Interval<T> {
    x.intersection(Interval::new(T::below(bound), T::INFINITY))
}

/// Whether a point `offset·π/2 + k·π·period/2` may lie in x.
fn meets<T: Endpoint>(x: Interval<T>, offset: f64, period: f64) -> bool {
    let quarter = std::f64::consts::FRAC_PI_2;
    let (a, b) = (x.low.value(), x.high.value());
    if !(a.abs() < 1e15 && b.abs() < 1e15) {
        return true;
    }
    // Positions in periods; the quotients are wrong by less than a few units in the last place,
    // hence the margin.
    let position = |v: f64| (v / quarter - offset) / period;
    let margin = 1e-15 * (1.0 + position(a).abs().max(position(b).abs())) * 4.0;
    (position(b) + margin).floor() >= (position(a) - margin).ceil()
}

fn wave<T: Endpoint, O: Unary>(op: O, x: Interval<T>, top: f64) -> Interval<T> {
    let all = Interval::new(T::constant(-1.0), T::one());
    if !x.all_ends_finite() {
        return all;
    }
    let mut y = ends(op, x);
    if meets(x, top, 4.0) {
        y = y.hull(Interval::point(T::one()));
    }
    if meets(x, top + 2.0, 4.0) {
        y = y.hull(Interval::point(T::constant(-1.0)));
    }
    Interval { total: true, ..y.intersection(all) }
}

/// Whether a non-positive integer, where the gamma functions have poles, lies in x.
fn has_pole<T: Endpoint>(x: Interval<T>) -> bool {
    x.low <= T::zero() && x.high.floor() >= x.low && x.low.ceil() <= T::zero()
}

/// A function with a valley on the positive axis and poles on the negative one.
fn gamma_like<T: Endpoint, O: Unary>(op: O, x: Interval<T>, least: f64) -> Interval<T> {
    if x.low > T::zero() {
        let turns = x.low.value() < GAMMA_TURN.1 && x.high.value() > GAMMA_TURN.0;
        let y = at_least(ends(op, x), least);
        return if turns { y.hull(Interval::point(T::below(least))) } else { y };
    }
    if has_pole(x) {
        Interval::ALL.partial()
    } else if x.is_point() {
        ends(op, x)
    } else {
        Interval::ALL
    }
}

/// The custom rules of unary operations.
pub(super) fn unary<T: Endpoint, O: Unary>(op: O, x: Interval<T>) -> Interval<T> {
    let zero = T::zero();
    match O::INFO.opcode {
        Opcode::Signum => {
            if x.low > zero {
                Interval::point(T::one())
            } else if x.high < zero {
                Interval::point(T::constant(-1.0))
            } else {
                Interval::new(T::constant(-1.0), T::one())
            }
        }
        Opcode::Fract => {
            if x.low.trunc() == x.high.trunc() {
                Interval::new(x.low.fract(), x.high.fract())
            } else {
                let low = if x.low < zero { T::constant(-1.0) } else { zero };
                let high = if x.high > zero { T::one() } else { zero };
                Interval::new(low, high)
            }
        }
        Opcode::Recip => divide(Interval::point(T::one()), x),
        Opcode::Sin => wave(op, x, 1.0),
        Opcode::Cos => wave(op, x, 0.0),
        Opcode::Tan => {
            if !x.all_ends_finite() || meets(x, 1.0, 2.0) {
                Interval::ALL.partial()
            } else {
                ends(op, x)
            }
        }
        Opcode::Sinc => {
            let even = magnitude(x);
            let near = even.intersection(Interval::new(zero, T::constant(SINC_FALLS)));
            let far = even.intersection(Interval::new(T::constant(SINC_FALLS), T::INFINITY));
            let all = Interval::new(T::below(SINC_LEAST), T::one());
            let falling = if near.is_empty() { near } else { ends(op, near) };
            let wavy = if far.is_empty() { far } else { divide(far.sin(), far) };
            Interval { total: true, ..falling.hull(wavy).intersection(all) }
        }
        Opcode::SincDerivative => {
            // |s⁽ⁿ⁾| ≤ 1/(n + 1), and the mean value theorem with the next derivative.
            let n = f64::from(op.parameter() as u32);
            let bound = T::above(1.0 / (n + 1.0)).next_up();
            let all = Interval::new(-bound, bound);
            let middle = x.midpoint();
            let ulps = f64::from(O::INFO.ulps) * f64::EPSILON * bound.value();
            let error = T::above(ulps.max(op.value(middle).value().abs() * T::precision().epsilon));
            let slope = T::above(1.0 / (n + 2.0)).next_up();
            let radius = add_up(mul_up(x.width(), slope), error);
            let value = op.value(middle);
            Interval::new(add_down(value, -radius), add_up(value, radius)).intersection(all)
        }
        Opcode::Gamma => gamma_like(op, x, GAMMA_LEAST),
        Opcode::LnGamma => gamma_like(op, x, LN_GAMMA_LEAST),
        Opcode::Digamma | Opcode::Polygamma => {
            let monotone = x.low > zero || op.parameter() == 0;
            if has_pole(x) {
                Interval::ALL.partial()
            } else if monotone || x.is_point() {
                absolute(op, x)
            } else {
                Interval::ALL
            }
        }
        Opcode::Powi => integer_power(x, op.parameter()),
        _ => Interval::ALL,
    }
}

/// The ends of a function whose error is relative to 1 near its zeros.
fn absolute<T: Endpoint, O: Unary>(op: O, x: Interval<T>) -> Interval<T> {
    let unit = T::above(f64::from(O::INFO.ulps) * T::precision().epsilon);
    let widen = |v: T| Interval::new(add_down(v, -unit), add_up(v, unit));
    let (a, b) = (op.value(x.low), op.value(x.high));
    widen(a).hull(widen(b)).hull(ends(op, x))
}

/// |x|.
fn magnitude<T: Endpoint>(x: Interval<T>) -> Interval<T> {
    let (a, b) = (x.low.abs(), x.high.abs());
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    Interval::new(if x.contains(T::zero()) { T::zero() } else { small }, large)
}

fn integer_power<T: Endpoint>(x: Interval<T>, n: i32) -> Interval<T> {
    if n == 0 {
        return Interval::point(T::one());
    }
    let degree = n.unsigned_abs();
    let power = if degree.is_multiple_of(2) {
        let m = magnitude(x);
        Interval::new(pow_down(m.low, degree), pow_up(m.high, degree))
    } else {
        let down = |a: T| if a < T::zero() { -pow_up(-a, degree) } else { pow_down(a, degree) };
        let up = |a: T| if a < T::zero() { -pow_down(-a, degree) } else { pow_up(a, degree) };
        Interval::new(down(x.low), up(x.high))
    };
    if n < 0 { divide(Interval::point(T::one()), power) } else { power }
}

fn multiply<T: Endpoint>(x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let pairs = [(x.low, y.low), (x.low, y.high), (x.high, y.low), (x.high, y.high)];
    let mut result = Interval { low: T::INFINITY, high: T::NEG_INFINITY, total: true };
    for (a, b) in pairs {
        let (low, high) = (mul_down(a, b), mul_up(a, b));
        result.low = if low < result.low { low } else { result.low };
        result.high = if high > result.high { high } else { result.high };
    }
    result
}

fn divide<T: Endpoint>(x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let zero = T::zero();
    if y.low == zero && y.high == zero {
        return Interval::EMPTY;
    }
    if y.low < zero && y.high > zero {
        let all = if x.is_point() && x.low == zero { x } else { Interval::ALL };
        return all.partial();
    }
    let touches_zero = y.low == zero || y.high == zero;
    let mut result = Interval { low: T::INFINITY, high: T::NEG_INFINITY, total: !touches_zero };
    for a in [x.low, x.high] {
        for b in [y.low, y.high] {
            // Towards a zero end the quotient grows without bound, with the sign of both.
            let (low, high) = if b == zero {
                let positive = y.high > zero;
                if a == zero {
                    (zero, zero)
                } else if (a > zero) == positive {
                    (T::INFINITY, T::INFINITY)
                } else {
                    (T::NEG_INFINITY, T::NEG_INFINITY)
                }
            } else if a.abs() == T::INFINITY && b.abs() == T::INFINITY {
                (zero, zero)
            } else {
                (div_down(a, b), div_up(a, b))
            };
            result.low = if low < result.low { low } else { result.low };
            result.high = if high > result.high { high } else { result.high };
        }
    }
    result
}

/// The hull of the values at the four corners, with their error: right for a function that is
/// monotone in each argument alone.
fn corners<T: Endpoint, O: Binary>(op: O, x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let mut result = Interval { low: T::INFINITY, high: T::NEG_INFINITY, total: true };
    for a in [x.low, x.high] {
        for b in [y.low, y.high] {
            let v = op.value(a, b);
            if v.is_nan() {
                return Interval::ALL;
            }
            let bounds = around(v, O::INFO.ulps);
            result.low = if bounds.low < result.low { bounds.low } else { result.low };
            result.high = if bounds.high > result.high { bounds.high } else { result.high };
        }
    }
    result
}

/// The rules of binary operations.
pub(super) fn binary<T: Endpoint, O: Binary>(op: O, x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let zero = T::zero();
    match O::INFO.opcode {
        Opcode::Add => Interval::new(add_down(x.low, y.low), add_up(x.high, y.high)),
        Opcode::Sub => Interval::new(add_down(x.low, -y.high), add_up(x.high, -y.low)),
        Opcode::Mul | Opcode::StrongMul => multiply(x, y),
        Opcode::Div => divide(x, y),
        Opcode::StrongDiv => {
            if x.is_point() && x.low == zero {
                Interval::point(zero)
            } else if x.contains(zero) {
                divide(x, y).hull(Interval::point(zero))
            } else {
                divide(x, y)
            }
        }
        Opcode::Rem => remainder(x, y),
        Opcode::Powf => {
            if y.is_point() && y.low.fract() == zero && y.low.abs() < T::constant(1e6) {
                return integer_power(x, y.low.value() as i32);
            }
            let positive = Interval::new(zero, T::INFINITY);
            let of = |base: Interval<T>| corners(op, base, y).intersection(positive);
            let base = x.intersection(positive);
            let mut power = if base.is_empty() { Interval::EMPTY } else { of(base) };
            // Negative numbers have powers too, where the exponent is an integer.
            if x.low < zero && y.low.ceil() <= y.high {
                let size = of(magnitude(x.intersection(Interval::new(T::NEG_INFINITY, zero))));
                power = power.hull(size).hull(Interval::new(-size.high, -size.low));
            }
            // Powers that are 1 whatever the other argument is, NaN included.
            if (!x.total && y.contains(zero)) || (!y.total && x.contains(T::one())) {
                power = power.hull(Interval::point(T::one()));
            }
            let defined = x.low > zero || (x.low == zero && y.low >= zero);
            Interval { total: defined, ..power }
        }
        Opcode::Atan2 => {
            // Here x is the ordinate and y the abscissa.
            let circle = outward((-std::f64::consts::PI, std::f64::consts::PI));
            let has_origin = x.contains(zero) && y.contains(zero);
            let crosses_cut = x.low <= zero && x.high >= zero && y.low < zero;
            if has_origin || crosses_cut { circle } else { corners(op, x, y).intersection(circle) }
        }
        Opcode::Hypot => {
            let (a, b) = (magnitude(x), magnitude(y));
            corners(op, a, b).intersection(Interval::new(zero, T::INFINITY))
        }
        Opcode::Max | Opcode::Min => {
            // Where one side is not defined, the result is the other.
            let mut result = Interval::new(op.value(x.low, y.low), op.value(x.high, y.high));
            if !x.total {
                result = result.hull(y);
            }
            if !y.total {
                result = result.hull(x);
            }
            result
        }
        Opcode::Copysign => {
            let m = magnitude(x);
            let negative = Interval::new(-m.high, -m.low);
            if y.low > zero {
                m
            } else if y.high < zero {
                negative
            } else {
                negative.hull(m)
            }
        }
        Opcode::Log => {
            let (a, b) = (x.ln(), y.ln());
            if a.is_empty() || b.is_empty() {
                return Interval::EMPTY;
            }
            divide(a, b).with_total(a.total && b.total)
        }
        _ => Interval::ALL,
    }
}

/// x − y·trunc(x/y): linear where the quotient does not cross an integer, bounded elsewhere.
fn remainder<T: Endpoint>(x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let zero = T::zero();
    let defined = !y.contains(zero);
    if y.low == zero && y.high == zero {
        return Interval::EMPTY;
    }
    let quotient = divide(x, y);
    let (a, b) = (quotient.low.trunc(), quotient.high.trunc());
    if defined && a == b {
        let product = multiply(Interval::point(a), y);
        return Interval::new(add_down(x.low, -product.high), add_up(x.high, -product.low))
            .intersection(bounded_remainder(x, y));
    }
    Interval { total: defined, ..bounded_remainder(x, y) }
}

/// |remainder| ≤ |x| and ≤ |y|, with the sign of x.
fn bounded_remainder<T: Endpoint>(x: Interval<T>, y: Interval<T>) -> Interval<T> {
    let zero = T::zero();
    let (a, b) = (magnitude(x).high, magnitude(y).high);
    let size = if a < b { a } else { b };
    Interval::new(if x.low < zero { -size } else { zero }, if x.high > zero { size } else { zero })
}

impl<T: Endpoint> Interval<T> {
    fn all_ends_finite(self) -> bool {
        self.low.all_finite() && self.high.all_finite()
    }
}
