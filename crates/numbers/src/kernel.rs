//! Mixed mode: scalar kernels, fused into one node, with partials from forward mode.
//!
//! A function of few scalars that is applied to whole arrays is recorded as one node. Its partials
//! come from one evaluation with dual numbers an element, so the tape does not see the operations
//! inside.

use cotangent_ops::{Elementary, Primitive, Scalar};

use crate::dual::{Brand, Dual, Unguarded};
use crate::fault::{Fault, raise};
use crate::lanes::product;

/// A scalar function of K arguments, over any number. [`kernel!`](crate::kernel) makes one.
pub trait Kernel<const K: usize>: Clone + Send + Sync + 'static {
    /// The value.
    fn call<S: Scalar>(&self, x: [S; K]) -> S;
}

/// Makes a [`Kernel`] of an expression; plain values it uses are listed before the arguments.
///
/// ```
/// use cotangent_numbers::{kernel, map, zip};
///
/// let softsign = kernel!(|x| x / (x.abs() + 1.0));
/// assert_eq!(map(&softsign, &[1.0, -3.0]), [0.5, -0.75]);
///
/// let rate = 2.0;
/// let decay = kernel!([rate: f64] |x, t| x * (t * -rate).exp());
/// assert_eq!(zip(&decay, &[1.0, 5.0], &[0.0, 0.0]), [1.0, 5.0]);
/// ```
#[macro_export]
macro_rules! kernel {
    ([$($name:ident : $type:ty),* $(,)?] |$($x:ident),+ $(,)?| $body:expr) => {{
        #[derive(Clone)]
        struct Fused { $($name: $type),* }

        impl $crate::Kernel<{ $crate::kernel!(@count $($x)+) }> for Fused {
            #[inline]
            fn call<S: $crate::Scalar>(&self, [$($x),+]: [S; { $crate::kernel!(@count $($x)+) }]) -> S {
                $(let $name = ::core::clone::Clone::clone(&self.$name);)*
                $body
            }
        }
        Fused { $($name),* }
    }};
    (|$($x:ident),+ $(,)?| $body:expr) => { $crate::kernel!([] |$($x),+| $body) };
    (@count $($x:ident)+) => { 0 $(+ $crate::kernel!(@one $x))+ };
    (@one $x:ident) => { 1 };
}

/// A kernel applied element by element: yᵢ = f(xᵢ, xₙ₊ᵢ, …) for K arrays of n elements.
#[derive(Clone, Copy, Debug)]
pub struct Map<F, const K: usize> {
    /// The kernel.
    pub kernel: F,
    /// The number of elements.
    pub n: usize,
}

impl<F: Kernel<K>, const K: usize> Map<F, K> {
    /// The arguments of element i.
    #[inline(always)]
    fn element<T: Copy>(&self, x: &[T], i: usize) -> [T; K] {
        std::array::from_fn(|k| x[k * self.n + i])
    }

    /// The value and all partials of element i. Unguarded numbers are twice as fast, and tell by a NaN
    /// that guarded ones are needed.
    #[inline(always)]
    fn differentiate<T: Elementary>(&self, x: &[T], i: usize) -> (T, [T; K]) {
        let (value, partials) = self.differentiate_with::<T, Unguarded>(x, i);
        if partials.iter().all(|p| p.all_finite()) {
            return (value, partials);
        }
        self.differentiate_guarded(x, i)
    }

    #[cold]
    #[inline(never)]
    fn differentiate_guarded<T: Elementary>(&self, x: &[T], i: usize) -> (T, [T; K]) {
        self.differentiate_with::<T, ()>(x, i)
    }

    #[inline(always)]
    fn differentiate_with<T: Elementary, B: Brand>(&self, x: &[T], i: usize) -> (T, [T; K]) {
        let mut lane = 0;
        let z = self.kernel.call(self.element(x, i).map(|v| {
            lane += 1;
            Dual::<T, K, B>::variable(v, lane - 1)
        }));
        (z.value, z.partials)
    }
}

impl<F: Kernel<K>, const K: usize> Primitive for Map<F, K> {
    /// The partials, the K of an element together.
    type Saved<T: Elementary> = Vec<T>;

    fn name(&self) -> &str {
        "map"
    }

    fn value<T: Elementary>(&self, x: &[T], y: &mut [T]) {
        for (i, y) in y.iter_mut().enumerate() {
            // Without partials: a base is not always a `Scalar`, a dual number over it is.
            *y = self.kernel.call(self.element(x, i).map(Dual::<T, 0>::fixed)).value;
        }
    }

    fn value_and_save<T: Elementary>(&self, x: &[T], y: &mut [T]) -> Vec<T> {
        let mut partials = Vec::with_capacity(x.len());
        for (i, y) in y.iter_mut().enumerate() {
            let (value, own) = self.differentiate(x, i);
            *y = value;
            partials.extend_from_slice(&own);
        }
        partials
    }

    fn pushforward<T: Elementary>(&self, x: &[T], _: &[T], dx: &[T], dy: &mut [T]) {
        for (i, dy) in dy.iter_mut().enumerate() {
            let (_, partials) = self.differentiate(x, i);
            let tangent = self.element(dx, i);
            *dy = (0..K).fold(T::zero(), |sum, k| sum + product(tangent[k], partials[k]));
        }
    }

    fn pullback<T: Elementary>(
        &self,
        _: &[T],
        _: &[T],
        saved: &Vec<T>,
        cotangent: &[T],
        gradient: &mut [T],
    ) {
        for (i, (weight, partials)) in cotangent.iter().zip(saved.chunks(K)).enumerate() {
            for (k, partial) in partials.iter().enumerate() {
                gradient[k * self.n + i] += product(*weight, *partial);
            }
        }
    }

    fn depends(&self, output: usize, input: usize) -> bool {
        input % self.n == output
    }
}

/// Applies a kernel to every element; a tape keeps one node for the whole array.
pub fn map<S: Scalar, F: Kernel<1>>(kernel: &F, x: &[S]) -> Vec<S> {
    if !S::RECORDS {
        return x.iter().map(|x| kernel.call([*x])).collect();
    }
    let mut y = vec![S::zero(); x.len()];
    S::array(&Map { kernel: kernel.clone(), n: x.len() }, x, &mut y);
    y
}

/// Applies a kernel to every pair of elements; a tape keeps one node for the whole array. The lengths
/// must agree.
#[track_caller]
pub fn zip<S: Scalar, F: Kernel<2>>(kernel: &F, a: &[S], b: &[S]) -> Vec<S> {
    if a.len() != b.len() {
        raise(Fault::Length {
            name: "zip".to_string(),
            what: "the second array",
            expected: a.len(),
            found: b.len(),
        });
    }
    if !S::RECORDS {
        return a.iter().zip(b).map(|(a, b)| kernel.call([*a, *b])).collect();
    }
    let mut y = vec![S::zero(); a.len()];
    S::array(&Map { kernel: kernel.clone(), n: a.len() }, &[a, b].concat(), &mut y);
    y
}

/// Applies a kernel to scalars; a tape keeps one node for all operations inside.
pub fn fuse<S: Scalar, F: Kernel<K>, const K: usize>(kernel: &F, x: [S; K]) -> S {
    if !S::RECORDS {
        return kernel.call(x);
    }
    let mut y = [S::zero()];
    S::array(&Map { kernel: kernel.clone(), n: 1 }, &x, &mut y);
    y[0]
}
