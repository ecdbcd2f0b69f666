//! A jet whose order is chosen at run time.

use std::fmt;

use cotangent_ops::{Binary, Comparison, Lift, Precision, Ternary, Unary};

use super::series::{self, Carrier};
use crate::Base;
use crate::fault::{Fault, catch, raise};
use crate::number::{inherent, number};
use crate::trace::{self, Arena, Header, NO_STAMP};

/// A truncated power series of an order chosen at run time, inside [`expand`].
#[derive(Clone, Copy)]
pub struct Taylor<T = f64> {
    value: T,
    /// The position of the coefficients in the arena; meaningless for a constant.
    start: u32,
    stamp: u32,
}

/// The coefficients of all series of one expansion.
#[repr(C)]
struct Coefficients<T> {
    header: Header,
    length: usize,
    data: Vec<T>,
    pool: Vec<Vec<T>>,
}

// SAFETY: `repr(C)` with the header first.
unsafe impl<T: 'static> Arena for Coefficients<T> {}

/// The Taylor coefficients, up to `order`, of the outputs of `f` along the curves whose coefficients
/// are the rows of `x`; missing coefficients are zero.
///
/// ```
/// use cotangent_numbers::expand;
///
/// // exp(t) to order 20
/// let rows = expand(20, &[&[0.0, 1.0]], |x| vec![x[0].exp()]).unwrap();
/// let factorial: f64 = (1..=20).map(f64::from).product();
/// assert!((rows[0][20] * factorial - 1.0).abs() < 1e-12);
/// ```
///
/// # Errors
/// What the function raised.
pub fn expand<T: Base>(
    order: usize,
    x: &[&[T]],
    f: impl FnOnce(&[Taylor<T>]) -> Vec<Taylor<T>>,
) -> Result<Vec<Vec<T>>, Fault> {
    let mut arena = Coefficients::new();
    arena.reset(order);
    let starts: Vec<u32> = x.iter().map(|curve| arena.push(curve)).collect();
    let outputs = trace::activate(&mut arena, |stamp| {
        let value = |curve: &[T]| curve.first().copied().unwrap_or_else(T::zero);
        let inputs: Vec<Taylor<T>> = x
            .iter()
            .zip(starts)
            .map(|(curve, start)| Taylor { value: value(curve), start, stamp })
            .collect();
        catch(|| {
            let outputs = f(&inputs);
            outputs.iter().for_each(|y| y.check(stamp));
            outputs
        })
    })?;
    let mut rows = vec![vec![T::zero(); order + 1]; outputs.len()];
    for (row, y) in rows.iter_mut().zip(outputs) {
        y.copy_to(&arena, row);
    }
    Ok(rows)
}

/// Room for expansions of a function along lines, kept from one to the next.
pub struct Expansion<T: Base = f64> {
    arena: Coefficients<T>,
    x: Vec<Taylor<T>>,
    y: Vec<Taylor<T>>,
    constants: Vec<Taylor<T>>,
    cache: Vec<Taylor<T>>,
}

/// A line through a point, and the constants of the function.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a, T> {
    /// The point.
    pub x: &'a [T],
    /// The direction, as long as the point.
    pub direction: &'a [T],
    /// Numbers that stay as they are.
    pub constants: &'a [T],
}

impl<T: Base> Default for Expansion<T> {
    fn default() -> Self {
        Expansion::new()
    }
}

impl<T: Base> Expansion<T> {
    /// Room that grows with the first use.
    pub fn new() -> Self {
        Expansion {
            arena: Coefficients::new(),
            x: Vec::new(),
            y: Vec::new(),
            constants: Vec::new(),
            cache: Vec::new(),
        }
    }

    /// Expands a function of input, output, constants and `cache` numbers of cache. The coefficients
    /// of the outputs, up to `order`, are written row by row; faults pass through.
    pub fn along(
        &mut self,
        order: usize,
        line: Line<'_, T>,
        cache: usize,
        coefficients: &mut [T],
        f: impl FnOnce(&[Taylor<T>], &mut [Taylor<T>], &[Taylor<T>], &mut [Taylor<T>]),
    ) {
        let Expansion { arena, x, y, constants, cache: room } = self;
        arena.reset(order);
        x.clear();
        for (value, slope) in line.x.iter().zip(line.direction) {
            let start = arena.push(&[*value, *slope]);
            x.push(Taylor { value: *value, start, stamp: NO_STAMP });
        }
        constants.clear();
        constants.extend(line.constants.iter().map(|c| Taylor {
            value: *c,
            start: 0,
            stamp: NO_STAMP,
        }));
        for (numbers, count) in [(&mut *y, coefficients.len() / (order + 1)), (&mut *room, cache)] {
            numbers.clear();
            numbers.resize(count, Taylor::from(0.0));
        }
        trace::activate(arena, |stamp| {
            for x in x.iter_mut() {
                x.stamp = stamp;
            }
            f(x, y, constants, room);
            y.iter().for_each(|y| y.check(stamp));
        });
        for (row, y) in coefficients.chunks_mut(order + 1).zip(y.iter()) {
            y.copy_to(arena, row);
        }
    }
}

impl<T: Base> Coefficients<T> {
    fn new() -> Self {
        Coefficients { header: Header::default(), length: 1, data: Vec::new(), pool: Vec::new() }
    }

    fn reset(&mut self, order: usize) {
        self.length = order + 1;
        self.data.clear();
    }
}

impl<T: Base> Coefficients<T> {
    fn push(&mut self, coefficients: &[T]) -> u32 {
        let start = self.data.len();
        let Ok(place) = u32::try_from(start) else {
            raise(Fault::TraceTooLong { limit: u64::from(u32::MAX) })
        };
        let given = coefficients.len().min(self.length);
        self.data.extend_from_slice(&coefficients[..given]);
        self.data.resize(start + self.length, T::zero());
        place
    }
}

impl<T: Base> Taylor<T> {
    /// Refuses a number of another expansion.
    #[track_caller]
    fn check(self, stamp: u32) {
        trace::join(self.stamp, stamp);
    }

    fn copy_to(&self, arena: &Coefficients<T>, out: &mut [T]) {
        if self.stamp == NO_STAMP {
            out.fill(T::zero());
            out[0] = self.value;
        } else {
            let start = self.start as usize;
            out.copy_from_slice(&arena.data[start..start + arena.length]);
        }
    }
}

/// Series in the arena with this stamp.
struct Runtime {
    stamp: u32,
}

/// A buffer that goes back to its arena's pool.
struct Buffer<T: Base> {
    data: Vec<T>,
    stamp: u32,
}

impl<T: Base> AsMut<[T]> for Buffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T: Base> Drop for Buffer<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let data = std::mem::take(&mut self.data);
            trace::with::<Coefficients<T>, _>(self.stamp, |arena| arena.pool.push(data));
        }
    }
}

impl Runtime {
    #[track_caller]
    fn load<T: Base>(&self, x: Taylor<T>) -> Buffer<T> {
        let mut buffer = self.scratch(T::zero());
        trace::with::<Coefficients<T>, _>(self.stamp, |arena| x.copy_to(arena, buffer.as_mut()));
        buffer
    }
}

impl<T: Base> Carrier<T> for Runtime {
    type Number = Taylor<T>;
    type Scratch = Buffer<T>;

    fn scratch(&self, fill: T) -> Buffer<T> {
        let data = trace::with::<Coefficients<T>, _>(self.stamp, |arena| {
            let mut data = arena.pool.pop().unwrap_or_default();
            data.clear();
            data.resize(arena.length, fill);
            data
        });
        Buffer { data, stamp: self.stamp }
    }

    fn number(&self, coefficients: &[T]) -> Taylor<T> {
        let start = trace::with::<Coefficients<T>, _>(self.stamp, |arena| arena.push(coefficients));
        Taylor { value: coefficients[0], start, stamp: self.stamp }
    }

    fn coefficients(&self, number: Taylor<T>, out: &mut [T]) {
        trace::with::<Coefficients<T>, _>(self.stamp, |arena| number.copy_to(arena, out));
    }
}

impl<T: Base> Lift for Taylor<T> {
    type Mask = T::Mask;

    fn lift(c: f64) -> Self {
        Taylor { value: T::constant(c), start: 0, stamp: NO_STAMP }
    }

    fn lift_rounded(c: f64) -> Self {
        Taylor { value: T::rounded(c), start: 0, stamp: NO_STAMP }
    }

    fn precision() -> Precision {
        T::precision()
    }

    #[track_caller]
    fn primal(self) -> f64 {
        self.value.value()
    }

    #[inline]
    fn sample(self) -> Option<f64> {
        self.value.sample()
    }

    #[track_caller]
    fn unary<O: Unary>(self, op: O) -> Self {
        if self.stamp == NO_STAMP {
            return Taylor { value: op.value(self.value), ..self };
        }
        let runtime = Runtime { stamp: self.stamp };
        let mut x = runtime.load(self);
        let mut out = runtime.scratch(T::zero());
        series::unary(&runtime, op, x.as_mut(), out.as_mut());
        runtime.number(out.as_mut())
    }

    #[track_caller]
    fn binary<O: Binary>(self, y: Self, op: O) -> Self {
        let stamp = trace::join(self.stamp, y.stamp);
        if stamp == NO_STAMP {
            return Taylor { value: op.value(self.value, y.value), ..self };
        }
        let runtime = Runtime { stamp };
        let (mut a, mut b) = (runtime.load(self), runtime.load(y));
        let mut out = runtime.scratch(T::zero());
        series::binary(&runtime, op, a.as_mut(), b.as_mut(), out.as_mut());
        runtime.number(out.as_mut())
    }

    #[track_caller]
    fn ternary<O: Ternary>(self, y: Self, z: Self, op: O) -> Self {
        let stamp = trace::join(trace::join(self.stamp, y.stamp), z.stamp);
        if stamp == NO_STAMP {
            return Taylor { value: op.value(self.value, y.value, z.value), ..self };
        }
        let runtime = Runtime { stamp };
        let (mut a, mut b, mut c) = (runtime.load(self), runtime.load(y), runtime.load(z));
        let mut out = runtime.scratch(T::zero());
        series::ternary(op, a.as_mut(), b.as_mut(), c.as_mut(), out.as_mut());
        runtime.number(out.as_mut())
    }

    #[track_caller]
    fn compare(self, y: Self, comparison: Comparison) -> T::Mask {
        self.value.compare(y.value, comparison)
    }

    #[track_caller]
    fn choose(mask: T::Mask, x: Self, y: Self) -> Self {
        let stamp = trace::join(x.stamp, y.stamp);
        let value = T::select(mask, x.value, y.value);
        if stamp == NO_STAMP {
            return Taylor { value, ..x };
        }
        let runtime = Runtime { stamp };
        let (mut a, mut b) = (runtime.load(x), runtime.load(y));
        for (a, b) in a.as_mut().iter_mut().zip(b.as_mut()) {
            *a = T::select(mask, *a, *b);
        }
        runtime.number(a.as_mut())
    }

    #[track_caller]
    fn decide(self, y: Self, comparison: Comparison) -> bool {
        comparison.holds(&self.value, &y.value)
    }

    fn vanishes(self) -> bool {
        self.value.vanishes() && (self.stamp == NO_STAMP || self.all(T::vanishes))
    }

    fn all_finite(self) -> bool {
        self.value.all_finite() && (self.stamp == NO_STAMP || self.all(T::all_finite))
    }
}

impl<T: Base> Taylor<T> {
    fn all(self, test: impl Fn(T) -> bool) -> bool {
        Runtime { stamp: self.stamp }.load(self).as_mut().iter().all(|c| test(*c))
    }
}

number!([T: Base] Taylor<T>);

impl<T: fmt::Debug> fmt::Debug for Taylor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taylor").field("value", &self.value).finish_non_exhaustive()
    }
}

impl<T: fmt::Display> fmt::Display for Taylor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
