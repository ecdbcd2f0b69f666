//! Second-order forward mode: a value, its gradient and its Hessian on the stack.

use std::fmt;

use cotangent_ops::{
    Binary, Comparison, Elementary, Lift, Opcode, Partial, Precision, Ternary, Unary, ops,
};

use crate::lanes::product;
use crate::number::{inherent, number};

/// Up to this many variables all entries are computed, in loops that the compiler unrolls; beyond,
/// only those between the first and the last variable that a number depends on.
const DENSE: usize = 3;

/// A number with its gradient and symmetric Hessian to K variables, for functions of few variables.
///
/// ```
/// use cotangent_numbers::Dual2;
///
/// // x²y at (3, 5)
/// let x: Dual2<f64, 2> = Dual2::variable(3.0, 0);
/// let y = Dual2::variable(5.0, 1);
/// let f = x.powi(2) * y;
/// assert_eq!(f.gradient, [30.0, 9.0]);
/// assert_eq!([f.second(0, 0), f.second(0, 1), f.second(1, 0), f.second(1, 1)], [10.0, 6.0, 6.0, 0.0]);
/// ```
#[derive(Clone, Copy)]
pub struct Dual2<T, const K: usize> {
    /// The value.
    pub value: T,
    /// The first derivatives.
    pub gradient: [T; K],
    /// The second derivatives to variables (i, j) with i ≥ j.
    lower: [[T; K]; K],
    /// Entries outside `low..high` are zero.
    low: usize,
    high: usize,
}

impl<T: Elementary, const K: usize> Dual2<T, K> {
    /// A number that depends on nothing.
    #[inline]
    pub fn fixed(value: T) -> Self {
        Dual2 { value, gradient: [T::zero(); K], lower: [[T::zero(); K]; K], low: K, high: 0 }
    }

    /// The `index`-th variable.
    #[inline]
    pub fn variable(value: T, index: usize) -> Self {
        let mut x = Dual2::fixed(value);
        x.gradient[index] = T::one();
        (x.low, x.high) = (index, index + 1);
        x
    }

    /// The second derivative to variables i and j.
    #[inline]
    pub fn second(&self, i: usize, j: usize) -> T {
        if i >= j { self.lower[i][j] } else { self.lower[j][i] }
    }

    /// The variables that may matter.
    #[inline(always)]
    fn range(&self) -> std::ops::Range<usize> {
        if K <= DENSE { 0..K } else { self.low..self.high.min(K) }
    }

    /// f′·∇x and f′·∇²x + f″·∇x∇xᵀ.
    #[inline(always)]
    fn chain(&self, value: T, d: Partial<T>, dd: Partial<T>) -> Self {
        let mut out = Dual2::fixed(value);
        (out.low, out.high) = (self.low, self.high);
        let times = Times::for_all(&[d, dd]);
        let range = self.range();
        for i in range.clone() {
            let scaled = times.by(dd, self.gradient[i]);
            for j in range.start..=i {
                let mut h = times.by(d, self.lower[i][j]);
                if !matches!(dd, Partial::Zero) {
                    h += scaled * self.gradient[j];
                }
                out.lower[i][j] = h;
            }
            out.gradient[i] = times.by(d, self.gradient[i]);
        }
        out
    }

    /// The chain rule for z = f(self, y) with the first partials d and the second ones dd.
    #[inline(always)]
    fn chain2(&self, y: &Self, value: T, d: [Partial<T>; 2], dd: [Partial<T>; 3]) -> Self {
        let mut out = Dual2::fixed(value);
        let flat = matches!(dd, [Partial::Zero, Partial::Zero, Partial::Zero]);
        let times = Times::for_all(&[d[0], d[1], dd[0], dd[1], dd[2]]);
        out.low = self.low.min(y.low);
        out.high = self.high.max(y.high);
        let range = out.range();
        for i in range.clone() {
            let (a, b) = (self.gradient[i], y.gradient[i]);
            for j in range.start..=i {
                let mut h = times.by(d[0], self.lower[i][j]) + times.by(d[1], y.lower[i][j]);
                if !flat {
                    let (p, q) = (self.gradient[j], y.gradient[j]);
                    if !matches!(dd[0], Partial::Zero) {
                        h += times.by(dd[0], a * p);
                    }
                    if !matches!(dd[1], Partial::Zero) {
                        h += times.by(dd[1], a * q + b * p);
                    }
                    if !matches!(dd[2], Partial::Zero) {
                        h += times.by(dd[2], b * q);
                    }
                }
                out.lower[i][j] = h;
            }
            out.gradient[i] = times.by(d[0], a) + times.by(d[1], b);
        }
        out
    }

    #[inline(always)]
    fn chain2_assign(&mut self, y: &Self, d: [Partial<T>; 2]) {
        let times = Times::for_all(&d);
        self.low = self.low.min(y.low);
        self.high = self.high.max(y.high);
        let range = y.range();
        for i in range.clone() {
            for j in range.start..=i {
                self.lower[i][j] = times.by(d[0], self.lower[i][j]) + times.by(d[1], y.lower[i][j]);
            }
            self.gradient[i] = times.by(d[0], self.gradient[i]) + times.by(d[1], y.gradient[i]);
        }
    }
}

/// Products with partials: plain ones, or, if a partial is not finite, such that zero stays zero.
#[derive(Clone, Copy)]
struct Times {
    strong: bool,
}

impl Times {
    #[inline(always)]
    fn for_all<T: Elementary>(partials: &[Partial<T>]) -> Times {
        let delicate = |d: T| !d.all_finite() || d.vanishes();
        let strong = partials.iter().any(|p| matches!(p, Partial::Is(d) if delicate(*d)));
        Times { strong }
    }

    #[inline(always)]
    fn by<T: Elementary>(self, partial: Partial<T>, x: T) -> T {
        match partial {
            Partial::Zero => T::zero(),
            Partial::One => x,
            Partial::MinusOne => -x,
            Partial::Is(d) if self.strong => product(x, d),
            Partial::Is(d) => x * d,
        }
    }
}

impl<T: Elementary, const K: usize> Lift for Dual2<T, K> {
    type Mask = T::Mask;

    const RECORDS: bool = T::RECORDS;

    #[inline(always)]
    fn lift(c: f64) -> Self {
        Dual2::fixed(T::constant(c))
    }

    #[inline(always)]
    fn lift_rounded(c: f64) -> Self {
        Dual2::fixed(T::rounded(c))
    }

    #[inline]
    fn precision() -> Precision {
        T::precision()
    }

    #[inline(always)]
    #[track_caller]
    fn primal(self) -> f64 {
        self.value.value()
    }

    #[inline(always)]
    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        let x = self.value;
        let y = op.value(x);
        self.chain(y, op.d(x, y), op.dd(x, y))
    }

    #[inline(always)]
    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        let (a, b) = (self.value, y.value);
        let z = op.value(a, b);
        self.chain2(&y, z, [op.d1(a, b, z), op.d2(a, b, z)], op.dd(a, b, z))
    }

    #[inline(always)]
    #[track_caller]
    fn binary_assign<O: Binary>(&mut self, y: Self, op: O) {
        let (a, b) = (self.value, y.value);
        let z = op.value(a, b);
        let d = [op.d1(a, b, z), op.d2(a, b, z)];
        let dd = op.dd(a, b, z);
        let flat = matches!(dd, [Partial::Zero, Partial::Zero, Partial::Zero]);
        if flat && matches!(d[0], Partial::One) {
            self.chain2_assign(&y, d);
            self.value = z;
        } else {
            *self = self.chain2(&y, z, [op.d1(a, b, z), op.d2(a, b, z)], op.dd(a, b, z));
        }
    }

    #[inline(always)]
    #[track_caller]
    fn binary_constant<O: Binary>(self, c: f64, op: O) -> Self {
        let (a, b) = (self.value, T::constant(c));
        let z = a.with_constant(c, op);
        let [dd, ..] = op.dd(a, b, z);
        self.chain(z, op.d1(a, b, z), dd)
    }

    #[inline(always)]
    #[track_caller]
    fn constant_binary<O: Binary>(c: f64, y: Self, op: O) -> Self {
        let (a, b) = (T::constant(c), y.value);
        let z = T::constant_with(c, b, op);
        let [.., dd] = op.dd(a, b, z);
        y.chain(z, op.d2(a, b, z), dd)
    }

    #[inline(always)]
    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        // One rounding of the value; the derivatives are those of the composition.
        let w = op.value(self.value, y.value, z.value);
        let mut out = match O::INFO.opcode {
            Opcode::MulAdd => self.binary(y, ops::Mul).binary(z, ops::Add),
            _ => {
                let d = op.d(self.value, y.value, z.value, w);
                let two = self.chain2(&y, w, [d[0], d[1]], [Partial::Zero; 3]);
                two.chain2(&z, w, [Partial::One, d[2]], [Partial::Zero; 3])
            }
        };
        out.value = w;
        out
    }

    #[inline(always)]
    #[track_caller]
    fn compare(self, y: Self, comparison: Comparison) -> T::Mask {
        self.value.compare(y.value, comparison)
    }

    #[track_caller]
    fn choose(mask: T::Mask, x: Self, y: Self) -> Self {
        Dual2 {
            value: T::select(mask, x.value, y.value),
            gradient: std::array::from_fn(|i| T::select(mask, x.gradient[i], y.gradient[i])),
            lower: std::array::from_fn(|i| {
                std::array::from_fn(|j| T::select(mask, x.lower[i][j], y.lower[i][j]))
            }),
            low: x.low.min(y.low),
            high: x.high.max(y.high),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.value, &y.value)
    }

    fn vanishes(self) -> bool {
        let flat = |v: &[T; K]| v.iter().all(|p| p.vanishes());
        self.value.vanishes() && flat(&self.gradient) && self.lower.iter().all(flat)
    }

    fn all_finite(self) -> bool {
        let finite = |v: &[T; K]| v.iter().all(|p| p.all_finite());
        self.value.all_finite() && finite(&self.gradient) && self.lower.iter().all(finite)
    }
}

number!([T: Elementary, const K: usize] Dual2<T, K>);

impl<T: fmt::Debug, const K: usize> fmt::Debug for Dual2<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dual2")
            .field("value", &self.value)
            .field("gradient", &self.gradient)
            .field("lower", &self.lower)
            .finish()
    }
}

impl<T: fmt::Display, const K: usize> fmt::Display for Dual2<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value)
    }
}
