//! A jet whose order is chosen at run time.

use std::fmt;

use cotangent_ops::{Binary, Comparison, Elementary, Lift, Precision, Ternary, Unary};

use super::series::{self, Carrier};
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
pub fn expand<T: Elementary + 'static>(
    order: usize,
    x: &[&[T]],
    f: impl FnOnce(&[Taylor<T>]) -> Vec<Taylor<T>>,
) -> Result<Vec<Vec<T>>, Fault> {
    let length = order + 1;
    let mut arena =
        Coefficients { header: Header::default(), length, data: Vec::new(), pool: Vec::new() };
    let mut starts = Vec::with_capacity(x.len());
    for curve in x {
        starts.push(arena.push(curve));
    }
    let outputs = trace::activate(&mut arena, |stamp| {
        let inputs: Vec<Taylor<T>> = x
            .iter()
            .zip(starts)
            .map(|(curve, start)| Taylor {
                value: curve.first().copied().unwrap_or_else(T::zero),
                start,
                stamp,
            })
            .collect();
        catch(|| {
            let outputs = f(&inputs);
            if let Some(stray) = outputs.iter().find(|y| y.stamp != stamp && y.stamp != NO_STAMP) {
                // A result that belongs elsewhere: name the mixing rather than read garbage.
                trace::with::<Coefficients<T>, _>(stray.stamp, |_| ());
            }
            outputs
        })
    })?;
    Ok(outputs.iter().map(|y| y.read(&arena)).collect())
}

impl<T: Elementary> Coefficients<T> {
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

impl<T: Elementary + 'static> Taylor<T> {
    fn read(&self, arena: &Coefficients<T>) -> Vec<T> {
        let mut out = vec![T::zero(); arena.length];
        self.copy_to(arena, &mut out);
        out
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
struct Buffer<T: Elementary + 'static> {
    data: Vec<T>,
    stamp: u32,
}

impl<T: Elementary + 'static> AsMut<[T]> for Buffer<T> {
    fn as_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T: Elementary + 'static> Drop for Buffer<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let data = std::mem::take(&mut self.data);
            trace::with::<Coefficients<T>, _>(self.stamp, |arena| arena.pool.push(data));
        }
    }
}

impl Runtime {
    #[track_caller]
    fn load<T: Elementary + 'static>(&self, x: Taylor<T>) -> Buffer<T> {
        let mut buffer = self.scratch(T::zero());
        trace::with::<Coefficients<T>, _>(self.stamp, |arena| x.copy_to(arena, buffer.as_mut()));
        buffer
    }
}

impl<T: Elementary + 'static> Carrier<T> for Runtime {
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

impl<T: Elementary + 'static> Lift for Taylor<T> {
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

impl<T: Elementary + 'static> Taylor<T> {
    fn all(self, test: impl Fn(T) -> bool) -> bool {
        Runtime { stamp: self.stamp }.load(self).as_mut().iter().all(|c| test(*c))
    }
}

number!([T: Elementary + 'static] Taylor<T>);

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
