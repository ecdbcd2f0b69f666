//! What machine code calls for products, factorisations and solves: `faer`, on one thread, on memory that is handed in.
//!
//! Whatever `faer` makes of singular matrices, infinities and NaN, what comes out is what the library says: results that are
//! not finite numbers throughout are computed again by `plain.rs`.

use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use faer::dyn_stack::{MemStack, StackReq};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::lu::partial_pivoting::factor as lu;
use faer::linalg::{matmul, triangular_solve};
use faer::{Accum, MatMut, MatRef, Par};

use rayon::prelude::*;

use super::plain::{self, Real, Triangle};

/// What a product needs to know: sizes, and how far it is from one element to the next in both directions.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Rows, columns, and how many products are summed for each element.
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// From row to row and from column to column of the first.
    pub(crate) x: [usize; 2],
    /// The same of the second.
    pub(crate) y: [usize; 2],
    /// Whose zeros win over infinities and NaN: nobody's, those of the first, those of the second.
    pub(crate) strong: usize,
    /// How many rows are done at a time: threads share out blocks of rows.
    pub(crate) block: usize,
}

impl Shape {
    /// As numbers that machine code keeps.
    pub(crate) fn words(self) -> [usize; 9] {
        let Shape { m, n, k, x, y, strong, block } = self;
        [m, n, k, x[0], x[1], y[0], y[1], strong, block]
    }

    /// The same for threads that share products of at least so many operations. The blocks depend on the sizes only, and so do
    /// the digits.
    pub(crate) fn shared(self, least: usize) -> Shape {
        let work = self.m.saturating_mul(self.n).saturating_mul(self.k);
        let blocks = (work / least.max(1)).clamp(1, BLOCKS);
        Shape { block: self.m.div_ceil(blocks).next_multiple_of(ROWS), ..self }
    }
}

/// The most blocks that threads share out.
const BLOCKS: usize = 32;

/// The rows of a block are a multiple of what the kernels do at once: 48 doubles with the widest vectors.
const ROWS: usize = 48;

/// Pointers that threads share.
#[derive(Clone, Copy)]
struct Shared<T>(*const T, *const T, *mut T);

// SAFETY: blocks of rows write to rows of their own, and what they read nobody writes.
unsafe impl<T> Sync for Shared<T> {}

/// # Safety
/// As [`product`].
unsafe fn product_in_blocks<T: Real>(shape: &Shape, x: *const T, y: *const T, z: *mut T) {
    let block = shape.block.max(1);
    let count = shape.m.div_ceil(block);
    if count <= 1 {
        // SAFETY: as promised.
        return unsafe { product(shape, x, y, z) };
    }
    let shared = &Shared(x, y, z);
    (0..count).into_par_iter().with_max_len(1).for_each(|k| {
        let first = k * block;
        let own = Shape { m: block.min(shape.m - first), ..*shape };
        let Shared(x, y, z) = *shared;
        // SAFETY: rows of the first and of the result from there on, as promised for all of them.
        unsafe { product(&own, x.add(first * shape.x[0]), y, z.add(first * shape.n)) };
    });
}

/// Runs what may panic only by a mistake in it: whether it did not.
fn tried(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_ok()
}

/// # Safety
/// x and y have elements at all places that the shape tells, and z has m n; nothing else writes to them, and z is apart from
/// both.
unsafe fn product<T: Real>(shape: &Shape, x: *const T, y: *const T, z: *mut T) {
    let Shape { m, n, k, x: xs, y: ys, strong, .. } = *shape;
    // SAFETY: as promised.
    let done = tried(|| unsafe {
        let x = MatRef::from_raw_parts(x, m, k, xs[0] as isize, xs[1] as isize);
        let y = MatRef::from_raw_parts(y, k, n, ys[0] as isize, ys[1] as isize);
        let z = MatMut::from_raw_parts_mut(z, m, n, n as isize, 1);
        matmul::matmul(z, Accum::Replace, x, y, T::ONE, Par::Seq);
    });
    // SAFETY: as promised; all of it has been written, or will be.
    let z = unsafe { std::slice::from_raw_parts_mut(z, m * n) };
    // A zero that wins shows where there is something for it to win over.
    if done && (strong == 0 || z.iter().all(|z| z.is_number())) {
        return;
    }
    // SAFETY: as promised.
    let at = |p: *const T, place: usize| unsafe { *p.add(place) };
    for (place, z) in z.iter_mut().enumerate() {
        let (i, j) = (place / n, place % n);
        *z = (0..k).fold(T::ZERO, |sum, l| {
            let (x, y) = (at(x, i * xs[0] + l * xs[1]), at(y, l * ys[0] + j * ys[1]));
            sum + match strong {
                1 => x.strong_mul(y),
                2 => y.strong_mul(x),
                _ => x * y,
            }
        });
    }
}

fn triangular<T: Real>(triangle: Triangle, n: usize, m: usize, a: &[T], b: &[T], x: &mut [T]) {
    x.copy_from_slice(b);
    let done = tried(|| {
        let a = MatRef::from_row_major_slice(a, n, n);
        let a = if triangle.transposed { a.transpose() } else { a };
        let x = MatMut::from_row_major_slice_mut(x, n, m);
        match (triangle.lower != triangle.transposed, triangle.unit) {
            (true, true) => {
                triangular_solve::solve_unit_lower_triangular_in_place(a, x, Par::Seq);
            }
            (true, false) => triangular_solve::solve_lower_triangular_in_place(a, x, Par::Seq),
            (false, true) => {
                triangular_solve::solve_unit_upper_triangular_in_place(a, x, Par::Seq);
            }
            (false, false) => triangular_solve::solve_upper_triangular_in_place(a, x, Par::Seq),
        }
    });
    if !done || !x.iter().all(|x| x.is_number()) {
        x.copy_from_slice(b);
        plain::triangular(triangle, n, m, a, x);
    }
}

/// The places of the lower triangle, a few rows and columns at a time: going down a column, the next row is in another line of
/// the cache, and with powers of two in the way of the one before.
fn in_tiles(n: usize, mut each: impl FnMut(usize, usize)) {
    const TILE: usize = 8;
    for rows in (0..n).step_by(TILE) {
        for columns in (0..=rows).step_by(TILE) {
            for i in rows..(rows + TILE).min(n) {
                for j in columns..(columns + TILE).min(i + 1) {
                    each(i, j);
                }
            }
        }
    }
}

fn cholesky<T: Real>(n: usize, a: &[T], l: &mut [T], scratch: &mut [MaybeUninit<u8>]) {
    // The kernel wants columns; it looks at the lower triangle only, and writes nowhere else.
    in_tiles(n, |i, j| l[j * n + i] = a[i * n + j]);
    let mut positive = false;
    tried(|| {
        let columns = MatMut::from_column_major_slice_mut(l, n, n);
        let none = llt::LltRegularization::default();
        let stack = MemStack::new(scratch);
        let params = Default::default();
        positive = llt::cholesky_in_place(columns, none, Par::Seq, stack, params).is_ok();
    });
    if !positive {
        return plain::cholesky(n, a, l);
    }
    let mut finite = true;
    in_tiles(n, |i, j| {
        let x = l[j * n + i];
        finite &= x.is_number();
        if i > j {
            (l[j * n + i], l[i * n + j]) = (T::ZERO, x);
        }
    });
    if !finite {
        plain::cholesky(n, a, l);
    }
}

fn factor<T: Real>(
    n: usize,
    a: &[T],
    f: &mut [T],
    order: &mut [i64],
    back: &mut [usize],
    scratch: &mut [MaybeUninit<u8>],
) {
    // The kernel is faster on columns.
    in_tiles(n, |i, j| (f[j * n + i], f[i * n + j]) = (a[i * n + j], a[j * n + i]));
    // SAFETY: both are eight bytes of any value on the machines that there is machine code for, and the kernel writes
    // places of rows.
    let places = unsafe { std::slice::from_raw_parts_mut(order.as_mut_ptr().cast::<usize>(), n) };
    let done = tried(|| {
        let columns = MatMut::from_column_major_slice_mut(f, n, n);
        let stack = MemStack::new(scratch);
        lu::lu_in_place(columns, places, back, Par::Seq, stack, Default::default());
    });
    let regular = (0..n).all(|i| f[i * n + i] != T::ZERO) && f.iter().all(|x| x.is_number());
    if !done || !regular {
        f.copy_from_slice(a);
        return plain::lu(n, f, order);
    }
    in_tiles(n, |i, j| f.swap(i * n + j, j * n + i));
}

/// Bytes of scratch memory for a factorisation, whatever it is aligned to.
fn bytes(needs: StackReq) -> usize {
    needs.unaligned_bytes_required().max(1)
}

/// Bytes of scratch memory that a Cholesky factorisation takes.
pub(crate) fn cholesky_scratch<T: faer::traits::ComplexField>(n: usize) -> usize {
    bytes(llt::cholesky_in_place_scratch::<T>(n, Par::Seq, Default::default()))
}

/// Bytes of scratch memory that a factorisation into L and U takes: the way back of the order stands before the rest.
pub(crate) fn lu_scratch<T: faer::traits::ComplexField>(n: usize) -> usize {
    8 * n + bytes(lu::lu_in_place_scratch::<usize, T>(n, n, Par::Seq, Default::default()))
}

/// Makes a thread ready: what `faer` keeps for a thread is made by the first product that is large enough.
pub(crate) fn ready() {
    const N: usize = 64;
    let (x, mut z) = (vec![1.0; N * N], vec![0.0; N * N]);
    let shape = Shape { m: N, n: N, k: N, x: [N, 1], y: [N, 1], strong: 0, block: N };
    // SAFETY: all three are matrices of N rows and N columns.
    unsafe { product::<f64>(&shape, x.as_ptr(), x.as_ptr(), z.as_mut_ptr()) };
}

macro_rules! kernels {
    ($($T:ty: $product:ident, $triangular:ident, $cholesky:ident, $lu:ident;)*) => { $(
        pub(crate) unsafe extern "C" fn $product(
            shape: *const Shape,
            x: *const $T,
            y: *const $T,
            z: *mut $T,
        ) {
            // SAFETY: machine code of this crate gives a shape that fits the arrays it gives.
            unsafe { product_in_blocks(&*shape, x, y, z) }
        }

        pub(crate) unsafe extern "C" fn $triangular(
            code: usize,
            n: usize,
            m: usize,
            a: *const $T,
            b: *const $T,
            x: *mut $T,
        ) {
            // SAFETY: machine code of this crate gives arrays of these sizes, the last one apart from the others.
            let (a, b, x) = unsafe {
                (
                    std::slice::from_raw_parts(a, n * n),
                    std::slice::from_raw_parts(b, n * m),
                    std::slice::from_raw_parts_mut(x, n * m),
                )
            };
            triangular(Triangle::of_code(code), n, m, a, b, x);
        }

        pub(crate) unsafe extern "C" fn $cholesky(
            n: usize,
            a: *const $T,
            l: *mut $T,
            scratch: *mut MaybeUninit<u8>,
        ) {
            // SAFETY: machine code of this crate gives arrays of these sizes, apart from each other, and as many bytes of
            // scratch memory as were asked for.
            let (a, l, scratch) = unsafe {
                (
                    std::slice::from_raw_parts(a, n * n),
                    std::slice::from_raw_parts_mut(l, n * n),
                    std::slice::from_raw_parts_mut(scratch, cholesky_scratch::<$T>(n)),
                )
            };
            cholesky(n, a, l, scratch);
        }

        pub(crate) unsafe extern "C" fn $lu(
            n: usize,
            a: *const $T,
            f: *mut $T,
            order: *mut i64,
            scratch: *mut MaybeUninit<u8>,
        ) {
            // SAFETY: machine code of this crate gives arrays of these sizes, apart from each other, and as many bytes of
            // scratch memory as were asked for, at the beginning of a cache line; they hold numbers from now on.
            let (a, f, order, back, scratch) = unsafe {
                std::ptr::write_bytes(scratch, 0, 8 * n);
                (
                    std::slice::from_raw_parts(a, n * n),
                    std::slice::from_raw_parts_mut(f, n * n),
                    std::slice::from_raw_parts_mut(order, n),
                    std::slice::from_raw_parts_mut(scratch.cast::<usize>(), n),
                    std::slice::from_raw_parts_mut(scratch.add(8 * n), lu_scratch::<$T>(n) - 8 * n),
                )
            };
            factor(n, a, f, order, back, scratch);
        }
    )* };
}

kernels! {
    f64: product_f64, triangular_f64, cholesky_f64, lu_f64;
    f32: product_f32, triangular_f32, cholesky_f32, lu_f32;
}
