//! Collapsed second order: a value, its slopes along some directions, and the sum of its second derivatives
//! along them.
//!
//! With the unit vectors as directions the sum is the Laplacian. Second derivatives enter the chain rule
//! linearly, so that their sum can be carried instead of all of them: N + 2 numbers, where N second-order
//! series would take 2 N + 1.

use std::fmt;

use cotangent_ops::{
    Binary, Comparison, Elementary, Lift, Opcode, Partial, Precision, Ternary, Unary, ops,
};

use crate::number::{inherent, number};

/// A number with its slopes along N directions and the sum of its second derivatives along them.
///
/// ```
/// use cotangent_numbers::Collapsed;
///
/// // x³y at (2, 5): Δ = 6xy
/// let x: Collapsed<f64, 2> = Collapsed::variable(2.0, 0);
/// let y = Collapsed::variable(5.0, 1);
/// let f = x.powi(3) * y;
/// assert_eq!((f.value, f.slopes, f.second), (40.0, [60.0, 8.0], 60.0));
/// ```
#[derive(Clone, Copy)]
pub struct Collapsed<T, const N: usize> {
    /// The value.
    pub value: T,
    /// The derivative along each direction.
    pub slopes: [T; N],
    /// The second derivatives along the directions, summed.
    pub second: T,
}

impl<T: Elementary, const N: usize> Collapsed<T, N> {
    /// A number that depends on nothing.
    pub fn fixed(value: T) -> Self {
        Collapsed { value, slopes: [T::zero(); N], second: T::zero() }
    }

    /// The variable that the `index`-th direction moves.
    ///
    /// # Panics
    /// If there are not so many directions.
    pub fn variable(value: T, index: usize) -> Self {
        assert!(index < N, "direction {index} of {N}");
        let mut x = Self::fixed(value);
        x.slopes[index] = T::one();
        x
    }

    fn moves(&self) -> bool {
        !self.slopes.iter().all(|s| s.vanishes())
    }

    /// Σ x·y over the directions.
    fn dot(&self, y: &Self) -> T {
        let terms = self.slopes.iter().zip(&y.slopes);
        let mut terms =
            terms.filter(|(a, b)| !a.vanishes() && !b.vanishes()).map(|(a, b)| a.strong_mul(*b));
        match terms.next() {
            Some(first) => terms.fold(first, |sum, term| sum + term),
            None => T::zero(),
        }
    }

    fn chain(&self, value: T, d: Partial<T>, dd: Partial<T>) -> Self {
        let slopes = self.slopes.map(|s| d.times(s));
        let bend = if matches!(dd, Partial::Zero) || !self.moves() {
            T::zero()
        } else {
            dd.times(self.dot(self))
        };
        Collapsed { value, slopes, second: plus(d.times(self.second), bend) }
    }

    fn chain2(&self, y: &Self, value: T, d: [Partial<T>; 2], dd: [Partial<T>; 3]) -> Self {
        let slopes =
            std::array::from_fn(|k| plus(d[0].times(self.slopes[k]), d[1].times(y.slopes[k])));
        let mut second = plus(d[0].times(self.second), d[1].times(y.second));
        for (partial, a, b, twice) in
            [(dd[0], self, self, false), (dd[1], self, y, true), (dd[2], y, y, false)]
        {
            if matches!(partial, Partial::Zero) || !a.moves() || !b.moves() {
                continue;
            }
            let term = partial.times(a.dot(b));
            second = plus(second, if twice { term + term } else { term });
        }
        Collapsed { value, slopes, second }
    }
}

/// A sum without what is zero for all points: a record of it has no such terms.
fn plus<T: Elementary>(a: T, b: T) -> T {
    match (a.vanishes(), b.vanishes()) {
        (true, _) => b,
        (_, true) => a,
        _ => a + b,
    }
}

impl<T: Elementary, const N: usize> Lift for Collapsed<T, N> {
    type Mask = T::Mask;

    const RECORDS: bool = T::RECORDS;

    fn lift(c: f64) -> Self {
        Collapsed::fixed(T::constant(c))
    }

    fn lift_rounded(c: f64) -> Self {
        Collapsed::fixed(T::rounded(c))
    }

    fn precision() -> Precision {
        T::precision()
    }

    #[track_caller]
    fn primal(self) -> f64 {
        self.value.value()
    }

    fn sample(self) -> Option<f64> {
        self.value.sample()
    }

    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        let x = self.value;
        let y = op.value(x);
        self.chain(y, op.d(x, y), op.dd(x, y))
    }

    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        let (a, b) = (self.value, y.value);
        let z = op.value(a, b);
        self.chain2(&y, z, [op.d1(a, b, z), op.d2(a, b, z)], op.dd(a, b, z))
    }

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

    #[track_caller]
    fn compare(self, y: Self, comparison: Comparison) -> T::Mask {
        self.value.compare(y.value, comparison)
    }

    #[track_caller]
    fn choose(mask: T::Mask, x: Self, y: Self) -> Self {
        Collapsed {
            value: T::select(mask, x.value, y.value),
            slopes: std::array::from_fn(|k| T::select(mask, x.slopes[k], y.slopes[k])),
            second: T::select(mask, x.second, y.second),
        }
    }

    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.value, &y.value)
    }

    fn vanishes(self) -> bool {
        self.value.vanishes() && !self.moves() && self.second.vanishes()
    }

    fn all_finite(self) -> bool {
        let slopes = self.slopes.iter().all(|s| s.all_finite());
        self.value.all_finite() && slopes && self.second.all_finite()
    }
}

number!([T: Elementary, const N: usize] Collapsed<T, N>);

impl<T: Elementary, const N: usize> fmt::Debug for Collapsed<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collapsed")
            .field("value", &self.value)
            .field("slopes", &self.slopes)
            .field("second", &self.second)
            .finish()
    }
}

impl<T: Elementary + fmt::Display, const N: usize> fmt::Display for Collapsed<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dual2;

    /// Against the trace of the Hessian, for all kinds of operations.
    #[test]
    fn the_sum_is_the_trace_of_the_hessian() {
        fn f<S: cotangent_ops::Scalar>(x: &[S]) -> S {
            let a = (x[0] * x[1]).sin() + x[2].exp() / (x[0] * x[0] + 1.5);
            let b = (a - x[1]).tanh().powi(3) + x[2].atan2(x[0]) + (x[1] + 3.0).powf(x[2]);
            let c = a.max(b) * b.mul_add(x[0], x[1]) + (x[0] + 2.0).ln().sqrt();
            c / (a + 4.0) - x[2].hypot(x[1])
        }
        let mut rng = fastrand::Rng::with_seed(4);
        for _ in 0..200 {
            let x: [f64; 3] = std::array::from_fn(|_| 0.2 + rng.f64());
            let full = f(&[0, 1, 2].map(|k| Dual2::<f64, 3>::variable(x[k], k)));
            let few = f(&[0, 1, 2].map(|k| Collapsed::<f64, 3>::variable(x[k], k)));
            let trace: f64 = (0..3).map(|k| full.second(k, k)).sum();
            assert!((few.value - full.value).abs() < 1e-14);
            for k in 0..3 {
                assert!((few.slopes[k] - full.gradient()[k]).abs() < 1e-11);
            }
            assert!((few.second - trace).abs() <= 1e-10 * trace.abs().max(1.0), "{x:?}");
        }
    }
}
