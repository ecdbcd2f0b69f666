//! Forward mode: a value and N partial derivatives on the stack.

use std::fmt;
use std::marker::PhantomData;

use cotangent_ops::{
    Binary, Comparison, Elementary, Lift, Opcode, Partial, Precision, Primitive, Ternary, Unary,
};

use crate::lanes;
use crate::number::{inherent, number};

/// What distinguishes the dual numbers of one derivative from those of another.
pub trait Brand: Copy + fmt::Debug + Send + Sync {
    /// Whether a zero partial stays zero through an infinite derivative.
    const GUARDED: bool = true;
}

impl Brand for () {}

/// The brand of an engine that looks for NaN in the result and, if there is one, computes it anew
/// with guarded numbers. A partial that came through 0·∞ unguarded is NaN, never a wrong number.
#[derive(Clone, Copy, Debug)]
pub struct Unguarded;

impl Brand for Unguarded {
    const GUARDED: bool = false;
}

/// The brand of one call: its lifetime is fresh, so that numbers of two calls are of two types.
#[derive(Clone, Copy, Debug)]
pub struct Branded<'call>(PhantomData<fn(&'call ()) -> &'call ()>);

impl Brand for Branded<'_> {}

/// A dual number: a value and its partial derivatives in N directions.
///
/// The base `T` is `f64`, `f32` or another number; `Dual<Dual<f64, 1>, 1>` holds second derivatives.
///
/// ```
/// use cotangent_numbers::Dual;
///
/// // x·y + sin(x) at (1, 2), with both partials
/// let x: Dual<f64, 2> = Dual::new(1.0, [1.0, 0.0]);
/// let y = Dual::new(2.0, [0.0, 1.0]);
/// let f = x * y + x.sin();
/// assert_eq!(f.value, 2.0 + 1.0_f64.sin());
/// assert_eq!(f.partials, [2.0 + 1.0_f64.cos(), 1.0]);
/// ```
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Dual<T, const N: usize = 1, B = ()> {
    // The partials come first: then they are as aligned as the number itself.
    /// The partial derivatives.
    pub partials: [T; N],
    /// The value.
    pub value: T,
    brand: PhantomData<B>,
}

impl<T: Elementary, const N: usize, B: Brand> Dual<T, N, B> {
    /// A number with the given value and partials.
    #[inline(always)]
    pub fn new(value: T, partials: [T; N]) -> Self {
        Dual { partials, value, brand: PhantomData }
    }

    /// A number that does not depend on anything: an outer value in an inner derivative.
    #[inline(always)]
    pub fn fixed(value: T) -> Self {
        Dual::new(value, lanes::zeros())
    }

    /// The `lane`-th independent variable.
    #[inline(always)]
    pub fn variable(value: T, lane: usize) -> Self {
        let mut x = Dual::fixed(value);
        x.partials[lane] = T::one();
        x
    }

    /// A constant at the level of this number, for the point of an inner derivative.
    #[inline(always)]
    #[must_use]
    pub fn like(self, c: f64) -> Self {
        Self::lift(c)
    }

    #[inline(always)]
    fn is_fixed(&self) -> bool {
        self.partials.iter().all(|p| p.vanishes())
    }
}

/// partial·p in every lane.
#[inline(always)]
fn chain<T: Elementary, B: Brand, const N: usize>(partial: Partial<T>, p: &[T; N]) -> [T; N] {
    match partial {
        Partial::Zero => lanes::zeros(),
        Partial::One => *p,
        Partial::MinusOne => lanes::neg(p),
        Partial::Is(d) => lanes::scale(B::GUARDED, p, d),
    }
}

/// d·p + e·q in every lane.
#[inline(always)]
fn chain2<T: Elementary, B: Brand, const N: usize>(
    d: Partial<T>,
    p: &[T; N],
    e: Partial<T>,
    q: &[T; N],
) -> [T; N] {
    match (d, e) {
        (d, Partial::Zero) => chain::<T, B, N>(d, p),
        (Partial::Zero, e) => chain::<T, B, N>(e, q),
        (Partial::Is(d), Partial::Is(e)) => lanes::combine(B::GUARDED, p, d, q, e),
        (d, Partial::MinusOne) => lanes::sub(&chain::<T, B, N>(d, p), q),
        (d, e) => lanes::add(&chain::<T, B, N>(d, p), &chain::<T, B, N>(e, q)),
    }
}

/// The partials of `x op c` or `c op x` for a constant c: a product needs no constant of type `T`.
#[inline(always)]
fn chain_constant<T: Elementary, B: Brand, O: Binary, const N: usize>(
    d: Partial<T>,
    p: &[T; N],
    c: f64,
) -> [T; N] {
    if matches!(O::INFO.opcode, Opcode::Mul) && T::as_f64s(p).is_none() && c.is_finite() && c != 0.0
    {
        return p.map(|p| p.with_constant(c, cotangent_ops::ops::Mul));
    }
    chain::<T, B, N>(d, p)
}

impl<T: Elementary, const N: usize, B: Brand> Lift for Dual<T, N, B> {
    type Mask = T::Mask;

    const RECORDS: bool = T::RECORDS;

    #[inline(always)]
    fn lift(c: f64) -> Self {
        Dual::fixed(T::constant(c))
    }

    #[inline(always)]
    fn lift_rounded(c: f64) -> Self {
        Dual::fixed(T::rounded(c))
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

    #[inline]
    fn sample(self) -> Option<f64> {
        self.value.sample()
    }

    #[inline(always)]
    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        let y = op.value(self.value);
        Dual::new(y, chain::<T, B, N>(op.d(self.value, y), &self.partials))
    }

    #[inline(always)]
    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        let (a, b) = (self.value, y.value);
        let z = op.value(a, b);
        let flags = const { O::INFO.flags };
        // Operations that are nonlinear in both arguments (powers, logarithms) have one partial
        // that costs as much as the value; constant exponents are the rule.
        if flags.second[0] && flags.second[1] && y.is_fixed() {
            return Dual::new(z, chain::<T, B, N>(op.d1(a, b, z), &self.partials));
        }
        let (d, e) = (op.d1(a, b, z), op.d2(a, b, z));
        Dual::new(z, chain2::<T, B, N>(d, &self.partials, e, &y.partials))
    }

    #[inline(always)]
    #[track_caller]
    fn binary_constant<O: Binary>(self, c: f64, op: O) -> Self {
        let (a, b) = (self.value, T::constant(c));
        let z = a.with_constant(c, op);
        Dual::new(z, chain_constant::<T, B, O, N>(op.d1(a, b, z), &self.partials, c))
    }

    #[inline(always)]
    #[track_caller]
    fn constant_binary<O: Binary>(c: f64, y: Self, op: O) -> Self {
        let (a, b) = (T::constant(c), y.value);
        let z = T::constant_with(c, b, op);
        Dual::new(z, chain_constant::<T, B, O, N>(op.d2(a, b, z), &y.partials, c))
    }

    #[inline(always)]
    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        let (a, b, c) = (self.value, y.value, z.value);
        let w = op.value(a, b, c);
        let [d, e, f] = op.d(a, b, c, w);
        let first_two = chain2::<T, B, N>(d, &self.partials, e, &y.partials);
        Dual::new(w, chain2::<T, B, N>(Partial::One, &first_two, f, &z.partials))
    }

    #[inline(always)]
    #[track_caller]
    fn compare(self, y: Self, comparison: Comparison) -> T::Mask {
        self.value.compare(y.value, comparison)
    }

    #[inline(always)]
    #[track_caller]
    fn choose(mask: T::Mask, x: Self, y: Self) -> Self {
        Dual::new(
            T::select(mask, x.value, y.value),
            std::array::from_fn(|i| T::select(mask, x.partials[i], y.partials[i])),
        )
    }

    #[inline(always)]
    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.value, &y.value)
    }

    #[inline(always)]
    fn vanishes(self) -> bool {
        self.value.vanishes() && self.is_fixed()
    }

    #[inline(always)]
    fn all_finite(self) -> bool {
        self.value.all_finite() && self.partials.iter().all(|p| p.all_finite())
    }

    #[track_caller]
    fn array<P: Primitive>(primitive: &P, x: &[Self], y: &mut [Self]) {
        let values: Vec<T> = x.iter().map(|x| x.value).collect();
        let mut results = vec![T::zero(); y.len()];
        T::array(primitive, &values, &mut results);
        for (y, value) in y.iter_mut().zip(&results) {
            y.value = *value;
        }
        let mut tangent = vec![T::zero(); x.len()];
        let mut image = vec![T::zero(); y.len()];
        for lane in 0..N {
            for (t, x) in tangent.iter_mut().zip(x) {
                *t = x.partials[lane];
            }
            primitive.pushforward(&values, &results, &tangent, &mut image);
            for (y, value) in y.iter_mut().zip(&image) {
                y.partials[lane] = *value;
            }
        }
    }
}

number!([T: Elementary, const N: usize, B: Brand] Dual<T, N, B>);

impl<T: fmt::Debug, const N: usize, B> fmt::Debug for Dual<T, N, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dual")
            .field("value", &self.value)
            .field("partials", &self.partials)
            .finish()
    }
}

impl<T: fmt::Display, const N: usize, B> fmt::Display for Dual<T, N, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)?;
        f.write_str(" + [")?;
        for (i, p) in self.partials.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            p.fmt(f)?;
        }
        f.write_str("]ε")
    }
}
