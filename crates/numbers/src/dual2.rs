//! Second-order forward mode: a value, its gradient and its Hessian on the stack.

use std::fmt;
use std::marker::PhantomData;

use cotangent_ops::{
    Binary, Comparison, Elementary, Lift, Opcode, Partial, Precision, Ternary, Unary, ops,
};

use crate::dual::Brand;
use crate::lanes::{self, product};
use crate::number::{inherent, number};

/// Four entries: what a vector instruction takes.
type Quad<T> = [T; 4];

/// How many variables a [`Dual2`] has, as a type.
pub trait Width: Copy + fmt::Debug + Send + Sync + 'static {
    /// The number of variables.
    const K: usize;
    /// Row and quad of each quad of the lower triangle.
    #[doc(hidden)]
    const PLACES: &'static [(usize, usize)];
    /// Room for a gradient.
    type Row<T: Elementary>: Copy + Send + Sync + AsRef<[Quad<T>]> + AsMut<[Quad<T>]>;
    /// Room for a lower triangle, each row rounded up to whole quads. What is beyond the diagonal in
    /// them is computed like the rest, and not used.
    type Rows<T: Elementary>: Copy + Send + Sync + AsRef<[Quad<T>]> + AsMut<[Quad<T>]>;
    /// Room for a gradient that is zero.
    #[doc(hidden)]
    fn row<T: Elementary>() -> Self::Row<T>;
    /// Room for a triangle that is zero.
    #[doc(hidden)]
    fn rows<T: Elementary>() -> Self::Rows<T>;
}

/// K variables, for a [`Dual2`].
#[derive(Clone, Copy, Debug)]
pub struct Variables<const K: usize>;

const fn quads_of_row(k: usize) -> usize {
    k.div_ceil(4)
}

/// The quads of the rows before the `k`-th.
const fn quads_before(k: usize) -> usize {
    let (mut quads, mut i) = (0, 0);
    while i < k {
        quads += i / 4 + 1;
        i += 1;
    }
    quads
}

const fn places<const Q: usize>() -> [(usize, usize); Q] {
    let mut places = [(0, 0); Q];
    let (mut i, mut q, mut at) = (0, 0, 0);
    while at < Q {
        places[at] = (i, q);
        if q == i / 4 {
            (i, q) = (i + 1, 0);
        } else {
            q += 1;
        }
        at += 1;
    }
    places
}

macro_rules! widths {
    ($($K:literal)*) => {$(
        impl Width for Variables<$K> {
            const K: usize = $K;
            const PLACES: &'static [(usize, usize)] = &places::<{ quads_before($K) }>();
            type Row<T: Elementary> = [Quad<T>; quads_of_row($K)];
            type Rows<T: Elementary> = [Quad<T>; quads_before($K)];

            #[inline(always)]
            fn row<T: Elementary>() -> Self::Row<T> {
                [lanes::zeros(); quads_of_row($K)]
            }

            #[inline(always)]
            fn rows<T: Elementary>() -> Self::Rows<T> {
                [lanes::zeros(); quads_before($K)]
            }
        }
    )*};
}

widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);

/// A number with its gradient and symmetric Hessian to K variables (1 to 16), for functions of few
/// variables.
///
/// ```
/// use cotangent_numbers::Dual2;
///
/// // x²y at (3, 5)
/// let x: Dual2<f64, 2> = Dual2::variable(3.0, 0);
/// let y = Dual2::variable(5.0, 1);
/// let f = x.powi(2) * y;
/// assert_eq!(f.gradient(), [30.0, 9.0]);
/// assert_eq!([f.second(0, 0), f.second(0, 1), f.second(1, 0), f.second(1, 1)], [10.0, 6.0, 6.0, 0.0]);
/// ```
pub type Dual2<T, const K: usize, B = ()> = Dual2Of<T, Variables<K>, B>;

/// A [`Dual2`], whose width is a type.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub struct Dual2Of<T: Elementary, W: Width, B = ()> {
    gradient: W::Row<T>,
    lower: W::Rows<T>,
    /// The value.
    pub value: T,
    brand: PhantomData<B>,
}

/// Up to this many variables the arithmetic is inlined, and the numbers stay in registers; beyond, a
/// call is cheap beside it, and saves copies and compile time.
const INLINE: usize = 6;

/// A first or second partial that is infinite or zero, so that products with it need care.
#[inline(always)]
fn delicate<T: Elementary>(partial: Partial<T>) -> bool {
    matches!(partial, Partial::Is(d) if !d.all_finite() || d.vanishes())
}

/// p times a partial.
#[inline(always)]
fn times<T: Elementary>(partial: Partial<T>, p: &Quad<T>) -> Quad<T> {
    match partial {
        Partial::Zero => lanes::zeros(),
        Partial::One => *p,
        Partial::MinusOne => lanes::neg(p),
        Partial::Is(d) => lanes::scale(false, p, d),
    }
}

/// x times a partial, where a zero on either side wins over ∞.
#[inline(always)]
fn times_strong<T: Elementary>(partial: Partial<T>, x: T) -> T {
    match partial {
        Partial::Zero => T::zero(),
        Partial::One => x,
        Partial::MinusOne => -x,
        Partial::Is(d) => product(x, d),
    }
}

impl<T: Elementary, W: Width, B: Brand> Dual2Of<T, W, B> {
    /// A number that depends on nothing.
    #[inline(always)]
    pub fn fixed(value: T) -> Self {
        Dual2Of { gradient: W::row(), lower: W::rows(), value, brand: PhantomData }
    }

    /// The `index`-th variable.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline(always)]
    pub fn variable(value: T, index: usize) -> Self {
        assert!(index < W::K, "variable {index} of a number of {} variables", W::K);
        let mut x: Self = Dual2Of::fixed(value);
        x.gradient.as_mut()[index / 4][index % 4] = T::one();
        x
    }

    /// The first derivatives.
    #[inline]
    pub fn gradient(&self) -> &[T] {
        &self.gradient.as_ref().as_flattened()[..W::K]
    }

    /// The second derivative to variables i and j.
    #[inline]
    pub fn second(&self, i: usize, j: usize) -> T {
        let (i, j) = (i.max(j), i.min(j));
        self.lower.as_ref()[quads_before(i) + j / 4][j % 4]
    }

    /// Writes the Hessian to the first n variables, column by column.
    ///
    /// # Panics
    /// If there are fewer variables or entries than that.
    pub fn hessian_into(&self, n: usize, hessian: &mut [T]) {
        for (quad, (i, q)) in self.lower.as_ref().iter().zip(W::PLACES) {
            if *i >= n {
                break;
            }
            for (entry, j) in quad.iter().zip(4 * q..=*i) {
                hessian[i + j * n] = *entry;
                hessian[j + i * n] = *entry;
            }
        }
    }

    /// Applies `each` to all quads of derivatives.
    #[inline(always)]
    fn map(&self, value: T, each: impl Fn(&Quad<T>) -> Quad<T>) -> Self {
        let mut out = *self;
        for (out, x) in out.gradient.as_mut().iter_mut().zip(self.gradient.as_ref()) {
            *out = each(x);
        }
        for (out, x) in out.lower.as_mut().iter_mut().zip(self.lower.as_ref()) {
            *out = each(x);
        }
        out.value = value;
        out
    }

    /// Replaces all quads of derivatives by `each` of them and those of y.
    #[inline(always)]
    fn zip_assign(&mut self, y: &Self, each: impl Fn(&Quad<T>, &Quad<T>) -> Quad<T>) {
        for (x, y) in self.gradient.as_mut().iter_mut().zip(y.gradient.as_ref()) {
            *x = each(x, y);
        }
        for (x, y) in self.lower.as_mut().iter_mut().zip(y.lower.as_ref()) {
            *x = each(x, y);
        }
    }

    /// All quads of derivatives by `each` of them and those of y.
    #[inline(always)]
    fn zip(&self, y: &Self, value: T, each: impl Fn(&Quad<T>, &Quad<T>) -> Quad<T>) -> Self {
        let mut out = *self;
        let rows = self.gradient.as_ref().iter().zip(y.gradient.as_ref());
        for (out, (x, y)) in out.gradient.as_mut().iter_mut().zip(rows) {
            *out = each(x, y);
        }
        let rows = self.lower.as_ref().iter().zip(y.lower.as_ref());
        for (out, (x, y)) in out.lower.as_mut().iter_mut().zip(rows) {
            *out = each(x, y);
        }
        out.value = value;
        out
    }

    /// f′·∇x and f′·∇²x + f″·∇x∇xᵀ.
    #[inline(always)]
    fn chain(&self, value: T, d: Partial<T>, dd: Partial<T>) -> Self {
        if B::GUARDED && (delicate(d) || delicate(dd)) {
            return self.chain_strong(value, d, dd);
        }
        match (d, dd) {
            (Partial::One, Partial::Zero) => Dual2Of { value, ..*self },
            (d, Partial::Zero) if W::K <= INLINE => self.map(value, |x| times(d, x)),
            (d, Partial::Zero) => self.scaled(value, d.value()),
            (d, dd) if W::K <= INLINE => self.curved(value, d.value(), dd.value()),
            (d, dd) => self.curved_call(value, d.value(), dd.value()),
        }
    }

    #[inline(never)]
    fn scaled(&self, value: T, d: T) -> Self {
        self.map(value, |x| lanes::scale(false, x, d))
    }

    #[inline(never)]
    fn curved_call(&self, value: T, d: T, dd: T) -> Self {
        self.curved(value, d, dd)
    }

    #[inline(always)]
    fn curved(&self, value: T, d: T, dd: T) -> Self {
        let mut out = *self;
        out.value = value;
        let x = self.gradient.as_ref();
        let mut s = self.gradient;
        for (s, x) in s.as_mut().iter_mut().zip(x) {
            *s = lanes::scale(false, x, dd);
        }
        if B::GUARDED && !all_finite(s.as_ref()) {
            return self.chain_strong(value, Partial::Is(d), Partial::Is(dd));
        }
        for (out, x) in out.gradient.as_mut().iter_mut().zip(x) {
            *out = lanes::scale(false, x, d);
        }
        let s = s.as_ref().as_flattened();
        let lower = self.lower.as_ref().iter().zip(W::PLACES);
        for (out, (h, (i, q))) in out.lower.as_mut().iter_mut().zip(lower) {
            *out = lanes::combine(false, h, d, &x[*q], s[*i]);
        }
        out
    }

    #[cold]
    #[inline(never)]
    fn chain_strong(&self, value: T, d: Partial<T>, dd: Partial<T>) -> Self {
        let mut out = self.map(value, |x| x.map(|x| times_strong(d, x)));
        let x = self.gradient.as_ref();
        for (out, (i, q)) in out.lower.as_mut().iter_mut().zip(W::PLACES) {
            let s = times_strong(dd, x[i / 4][i % 4]);
            for (out, x) in out.iter_mut().zip(&x[*q]) {
                *out += product(s, *x);
            }
        }
        out
    }

    /// The chain rule for z = f(self, y) with the first partials d and the second ones dd.
    #[inline(always)]
    fn chain2(&self, y: &Self, value: T, d: [Partial<T>; 2], dd: [Partial<T>; 3]) -> Self {
        if B::GUARDED && d.into_iter().chain(dd).any(delicate) {
            return self.chain2_strong(y, value, d, dd);
        }
        let flat = matches!(dd, [Partial::Zero, Partial::Zero, Partial::Zero]);
        match d {
            [d, Partial::Zero] if flat => self.chain(value, d, Partial::Zero),
            [Partial::Zero, e] if flat => y.chain(value, e, Partial::Zero),
            [Partial::One, Partial::One] if flat && W::K <= INLINE => {
                self.zip(y, value, lanes::add)
            }
            [Partial::One, Partial::One] if flat => self.sum(y, value),
            [Partial::One, Partial::MinusOne] if flat && W::K <= INLINE => {
                self.zip(y, value, lanes::sub)
            }
            [Partial::One, Partial::MinusOne] if flat => self.difference(y, value),
            [d, e] if W::K <= INLINE => self.curved2(y, value, [d.value(), e.value()], dd),
            [d, e] => self.curved2_call(y, value, [d.value(), e.value()], dd),
        }
    }

    #[inline(never)]
    fn sum(&self, y: &Self, value: T) -> Self {
        self.zip(y, value, lanes::add)
    }

    #[inline(never)]
    fn difference(&self, y: &Self, value: T) -> Self {
        self.zip(y, value, lanes::sub)
    }

    #[inline(never)]
    fn curved2_call(&self, y: &Self, value: T, d: [T; 2], dd: [Partial<T>; 3]) -> Self {
        self.curved2(y, value, d, dd)
    }

    /// d·∇²x + e·∇²y + s∇xᵀ + t∇yᵀ with s = f₁₁·∇x + f₁₂·∇y and t = f₁₂·∇x + f₂₂·∇y.
    #[inline(always)]
    fn curved2(&self, y: &Self, value: T, [d, e]: [T; 2], dd: [Partial<T>; 3]) -> Self {
        let (gx, gy) = (self.gradient.as_ref(), y.gradient.as_ref());
        let (mut s, mut t) = (self.gradient, y.gradient);
        let both = s.as_mut().iter_mut().zip(t.as_mut());
        for ((s, t), (x, y)) in both.zip(gx.iter().zip(gy)) {
            *s = lanes::add(&times(dd[0], x), &times(dd[1], y));
            *t = lanes::add(&times(dd[1], x), &times(dd[2], y));
        }
        if B::GUARDED && !(all_finite(s.as_ref()) && all_finite(t.as_ref())) {
            return self.chain2_strong(y, value, [Partial::Is(d), Partial::Is(e)], dd);
        }
        let mut out = self.zip(y, value, |x, y| lanes::combine(false, x, d, y, e));
        let (s, t) = (s.as_ref().as_flattened(), t.as_ref().as_flattened());
        for (out, (i, q)) in out.lower.as_mut().iter_mut().zip(W::PLACES) {
            *out = lanes::add(out, &lanes::combine(false, &gx[*q], s[*i], &gy[*q], t[*i]));
        }
        out
    }

    #[cold]
    #[inline(never)]
    fn chain2_strong(&self, y: &Self, value: T, d: [Partial<T>; 2], dd: [Partial<T>; 3]) -> Self {
        let mut out = self.zip(y, value, |x, y| {
            std::array::from_fn(|l| times_strong(d[0], x[l]) + times_strong(d[1], y[l]))
        });
        let (gx, gy) = (self.gradient.as_ref(), y.gradient.as_ref());
        for (out, (i, q)) in out.lower.as_mut().iter_mut().zip(W::PLACES) {
            let (a, b) = (gx[i / 4][i % 4], gy[i / 4][i % 4]);
            for (out, (p, r)) in out.iter_mut().zip(gx[*q].iter().zip(&gy[*q])) {
                *out += product(times_strong(dd[0], a), *p);
                *out += product(times_strong(dd[1], a), *r) + product(times_strong(dd[1], b), *p);
                *out += product(times_strong(dd[2], b), *r);
            }
        }
        out
    }
}

/// Whether all entries are finite: 0·x is NaN for those that are not.
#[inline(always)]
fn all_finite<T: Elementary>(row: &[Quad<T>]) -> bool {
    if T::as_f64s(&[]).is_none() {
        return row.as_flattened().iter().all(|x| x.all_finite());
    }
    let mut sum: Quad<T> = lanes::zeros();
    for quad in row {
        sum = lanes::add(&sum, &lanes::scale(false, quad, T::zero()));
    }
    sum.iter().fold(T::zero(), |a, b| a + *b).all_finite()
}

impl<T: Elementary, W: Width, B: Brand> Lift for Dual2Of<T, W, B> {
    type Mask = T::Mask;

    const RECORDS: bool = T::RECORDS;

    #[inline(always)]
    fn lift(c: f64) -> Self {
        Dual2Of::fixed(T::constant(c))
    }

    #[inline(always)]
    fn lift_rounded(c: f64) -> Self {
        Dual2Of::fixed(T::rounded(c))
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
        match const { O::INFO.opcode } {
            // In place, without a copy of the result.
            Opcode::Add => {
                self.value = op.value(self.value, y.value);
                self.zip_assign(&y, lanes::add);
            }
            _ => *self = self.binary(y, op),
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
        x.zip(&y, T::select(mask, x.value, y.value), |x, y| {
            std::array::from_fn(|l| T::select(mask, x[l], y[l]))
        })
    }

    #[inline(always)]
    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.value, &y.value)
    }

    fn vanishes(self) -> bool {
        let flat = |v: &[Quad<T>]| v.as_flattened().iter().all(|p| p.vanishes());
        self.value.vanishes() && flat(self.gradient.as_ref()) && flat(self.lower.as_ref())
    }

    fn all_finite(self) -> bool {
        let finite = |v: &[Quad<T>]| v.as_flattened().iter().all(|p| p.all_finite());
        self.value.all_finite() && finite(self.gradient.as_ref()) && finite(self.lower.as_ref())
    }
}

number!([T: Elementary, W: Width, B: Brand] Dual2Of<T, W, B>);

impl<T: Elementary, W: Width, B: Brand> fmt::Debug for Dual2Of<T, W, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |i: usize| (0..=i).map(|j| self.second(i, j)).collect::<Vec<_>>();
        f.debug_struct("Dual2")
            .field("value", &self.value)
            .field("gradient", &self.gradient())
            .field("lower", &(0..W::K).map(row).collect::<Vec<_>>())
            .finish()
    }
}

impl<T: Elementary + fmt::Display, W: Width, B: Brand> fmt::Display for Dual2Of<T, W, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}
