//! A prepared derivative allocates nothing when it is evaluated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cotangent::Real;
use cotangent::prelude::*;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator; a counter of the thread is all that is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Fails if `f` allocates.
#[track_caller]
fn allocates_nothing(what: &str, mut f: impl FnMut(f64)) {
    let before = ALLOCATIONS.get();
    for k in 0..5 {
        f(0.5 + 0.1 * f64::from(k));
    }
    assert_eq!(ALLOCATIONS.get() - before, 0, "{what}");
}

const N: usize = 30;

fn point(s: f64) -> [f64; N] {
    std::array::from_fn(|i| s + 0.01 * i as f64)
}

#[test]
fn first_order_evaluations_allocate_nothing() {
    let f = function!(|x: &[S], constant p, cache c: &mut [S; x.len()]| -> S {
        for i in 0..x.len() {
            c[i] = x[i].sin() * p[0] + x[i].powi(2);
        }
        c.iter().copied().sum::<S>().exp().ln()
    });
    let p = [0.3];
    macro_rules! gradients {
        ($($backend:expr),*) => {$(
            let prepared = prepare_gradient(f, &$backend, (&point(1.0), &p)).unwrap();
            let mut workspace = prepared.workspace();
            let mut g = [0.0; N];
            allocates_nothing(stringify!($backend), |s| {
                prepared.value_and_gradient_into((&point(s), &p), &mut g, &mut workspace).unwrap();
            });
        )*};
    }
    gradients!(
        Forward::default(),
        Forward { chunk: Some(1) },
        Reverse::default(),
        Reverse { replay: true },
        FiniteDifferences::default(),
        FiniteDifferences::richardson(),
        Auto
    );

    let g = function!(|x: &[S], y: &mut [S; x.len() + 3]| {
        for i in 0..y.len() {
            y[i] = x[i % x.len()] * x[(i + 1) % x.len()].cos();
        }
    });
    macro_rules! jacobians {
        ($($backend:expr),*) => {$(
            let prepared = prepare_jacobian(g, &$backend, &point(1.0)).unwrap();
            let mut workspace = prepared.workspace();
            let mut j = vec![0.0; N * (N + 3)];
            allocates_nothing(stringify!($backend), |s| {
                prepared.jacobian_into(&point(s), &mut j, &mut workspace).unwrap();
            });
            let prepared = prepare_pushforward(g, &$backend, &point(1.0)).unwrap();
            let mut workspace = prepared.workspace();
            let (t, mut images) = (vec![0.3; 2 * N], vec![0.0; 2 * (N + 3)]);
            allocates_nothing(concat!("pushforward, ", stringify!($backend)), |s| {
                prepared.pushforward_into(&point(s), &t, &mut images, &mut workspace).unwrap();
            });
            let prepared = prepare_pullback(g, &$backend, &point(1.0)).unwrap();
            let mut workspace = prepared.workspace();
            let (w, mut images) = (vec![0.3; 2 * (N + 3)], vec![0.0; 2 * N]);
            allocates_nothing(concat!("pullback, ", stringify!($backend)), |s| {
                prepared.pullback_into(&point(s), &w, &mut images, &mut workspace).unwrap();
            });
        )*};
    }
    jacobians!(
        Forward::default(),
        Reverse::default(),
        Reverse { replay: true },
        FiniteDifferences::default(),
        Auto
    );

    let h = function!(|t: S| -> [S; 2] { [t.cos(), t.sin()] });
    let prepared = prepare_derivative(h, &Forward::default(), 0.3).unwrap();
    let mut workspace = prepared.workspace();
    let mut d = [0.0; 2];
    allocates_nothing("derivative", |s| {
        prepared.derivative_into(s, &mut d, &mut workspace).unwrap();
    });
}

#[test]
fn second_order_evaluations_allocate_nothing() {
    let f = function!(|x: &[S]| -> S {
        x.windows(2).map(|w| (w[1] - w[0] * w[0]).powi(2) + w[0].exp()).sum::<S>()
    });
    macro_rules! hessians {
        ($($backend:expr),*) => {$(
            for n in [3, N] {
                let prepared = prepare_hessian(f, &$backend, &point(1.0)[..n]).unwrap();
                let mut workspace = prepared.workspace();
                let mut h = vec![0.0; n * n];
                allocates_nothing(stringify!($backend), |s| {
                    prepared.hessian_into(&point(s)[..n], &mut h, &mut workspace).unwrap();
                });
                let prepared = prepare_hvp(f, &$backend, &point(1.0)[..n]).unwrap();
                let mut workspace = prepared.workspace();
                let (t, mut images) = (vec![0.3; 2 * n], vec![0.0; 2 * n]);
                allocates_nothing(concat!("hvp, ", stringify!($backend)), |s| {
                    prepared.hvp_into(&point(s)[..n], &t, &mut images, &mut workspace).unwrap();
                });
            }
        )*};
    }
    let (forward, reverse) = (Forward::default(), Reverse::default());
    hessians!(
        forward,
        reverse,
        Auto,
        FiniteDifferences::default(),
        SecondOrder { outer: forward, inner: forward },
        SecondOrder { outer: reverse, inner: forward },
        SecondOrder { outer: reverse, inner: reverse }
    );
    let g = function!(|x| x.sin() * x);
    let prepared = prepare_second_derivative(g, &Forward::default(), 0.3).unwrap();
    let mut workspace = prepared.workspace();
    let mut d = [0.0];
    allocates_nothing("second derivative", |s| {
        prepared.second_derivative_into(s, &mut d, &mut workspace).unwrap();
    });
    for order in [1, 3, 5, 11, 30] {
        let prepared = prepare_taylor(g, &[0.3], order).unwrap();
        let mut workspace = prepared.workspace();
        let mut c = vec![0.0; order + 1];
        allocates_nothing("taylor", |s| {
            prepared.taylor_into(&[s], &[1.0], &mut c, &mut workspace).unwrap();
        });
    }
}

#[test]
fn sparse_evaluations_allocate_nothing() {
    use cotangent::coloring::Decompression;
    use cotangent::{
        Sparse, prepare_edge_pushing, prepare_sparse_hessian, prepare_sparse_jacobian,
    };
    // An arrow, so that both kinds of products are needed.
    let f = function!(|x: &[S], y: &mut [S; x.len()]| {
        for i in 1..x.len() {
            y[i] = x[i].sin() * x[0];
            y[0] += x[i] * x[i];
        }
    });
    for decompression in [Decompression::Direct, Decompression::Substitution] {
        let backend = Sparse { decompression, ..Sparse::default() };
        let prepared = prepare_sparse_jacobian(f, &backend, &point(0.5)).unwrap();
        let (mut workspace, mut values) =
            (prepared.workspace(), vec![0.0; prepared.pattern().nnz()]);
        allocates_nothing("sparse jacobian", |s| {
            prepared.jacobian_into(&point(s), &mut values, &mut workspace).unwrap();
        });
        let g = function!(|x: &[S]| -> S { x.windows(2).map(|w| (w[0] * w[1]).sin()).sum::<S>() });
        let prepared = prepare_sparse_hessian(g, &backend, &point(0.5)).unwrap();
        let (mut workspace, mut values) =
            (prepared.workspace(), vec![0.0; prepared.pattern().nnz()]);
        allocates_nothing("sparse hessian", |s| {
            prepared.hessian_into(&point(s), &mut values, &mut workspace).unwrap();
        });
        let prepared = prepare_edge_pushing(g, &point(0.5)).unwrap();
        let (mut workspace, mut values) =
            (prepared.workspace(), vec![0.0; prepared.pattern().nnz()]);
        allocates_nothing("edge pushing", |s| {
            prepared.hessian_into(&point(s), &mut values, &mut workspace).unwrap();
        });
    }
}

#[test]
fn compiled_evaluations_allocate_nothing() {
    if cotangent::machine().is_err() {
        // The interpreter allocates.
        return;
    }
    let flat = function!(|x: &[S]| -> S { x.iter().map(|x| x.sin() * *x).sum::<S>() });
    let branchy = function!(|x: &[S]| -> S { if x[0] > 0.7 { x[1] * x[0] } else { x[2].exp() } });
    let all = || {
        let loops = cotangent::compile_arrays(&[&[N]], |x| {
            cotangent::ir::sum_over(0..N, |i| x[0].at(i).sin() * x[0].at(i))
        });
        // What stops derivatives is not written out, so entries come by products.
        let products = cotangent::compile_arrays(&[&[N]], |x| {
            cotangent::ir::sum_over(0..N, |i| x[0].at(i).sin() * x[0].at(i) + x[0].at(i).stop())
        });
        [
            cotangent::compile(flat, N).unwrap(),
            cotangent::compile_at(branchy, &point(1.0)).unwrap(),
            loops.unwrap(),
            products.unwrap(),
        ]
    };
    all().iter().for_each(compiled_evaluations);
    all().map(cotangent::Compiled::in_singles).iter().for_each(compiled_evaluations);
}

fn compiled_evaluations<T: Real>(f: &cotangent::Compiled<T>) {
    let n = f.sizes().0;
    let numbers = |s: f64, to: &mut [T]| {
        to.iter_mut().zip(0..).for_each(|(to, i)| *to = T::constant(s + 0.01 * f64::from(i)));
    };
    let zeros = vec![T::zero(); n];
    let (mut x, mut v, mut g, mut h) = (zeros.clone(), zeros.clone(), zeros.clone(), zeros);
    numbers(0.3, &mut v);
    let mut first = vec![T::zero(); 1 + n];
    let mut dense = cotangent::Matrix::filled(n, n, T::zero());
    let mut sparse = [0.5, 0.9].map(|s| {
        numbers(s, &mut x);
        f.sparse_hessian(&x).unwrap()
    });
    let (points, mut all) = (vec![T::one(); 7 * n], vec![T::zero(); 7 * (1 + n)]);
    let branches = f.recordings() > 1;
    let mut each = |s: f64| {
        numbers(s, &mut x);
        let value = f.value(&x).unwrap();
        assert_eq!(f.gradient_into(&x, &mut g).unwrap(), value);
        let mut y = [T::zero()];
        f.pushforward_into(&x, &v, &mut y, &mut [T::zero()]).unwrap();
        f.pullback_into(&x, &[T::one()], &mut y, &mut h).unwrap();
        // Another program for the same: products are fused with other sums.
        for (g, h) in g.iter().zip(&h) {
            let (g, h): (f64, f64) = ((*g).into(), (*h).into());
            let digits = if size_of::<T>() == 8 { 1e-14 } else { 1e-6 };
            assert!((g - h).abs() <= digits * g.abs(), "{g} {h}");
        }
        f.hvp_into(&x, &v, &mut g, &mut h).unwrap();
        f.hessian_into(&x, &mut first, &mut dense).unwrap();
        // Another way through the branches has another pattern.
        let sparse = &mut sparse[usize::from(s > 0.7)];
        f.sparse_hessian_into(&x, &mut first, sparse).unwrap();
        if !branches {
            f.gradients_many_into(&points, &mut all).unwrap();
        }
    };
    // Compiles, on both ways through the branch.
    each(0.5);
    each(0.9);
    allocates_nothing("compiled", each);
}

#[test]
fn kernels_of_matrices_allocate_nothing() {
    if cotangent::machine().is_err() {
        return;
    }
    const ROWS: usize = 40;
    let f = cotangent::compile_arrays(&[&[ROWS, ROWS], &[ROWS]], |x| {
        let square = x[0].matmul(x[0].transposed());
        let l = square.cholesky();
        let (y, z) = (l.solve_lower(x[1]), x[0].solve(x[1]));
        y.dot(y) + z.dot(z)
    })
    .unwrap();
    let count = ROWS * ROWS + ROWS;
    let diagonal = |k: usize| if k < ROWS * ROWS && k / ROWS == k % ROWS { 20.0 } else { 0.0 };
    let mut x: Vec<f64> = (0..count).map(|k| (k as f64).sin() + diagonal(k)).collect();
    let mut g = vec![0.0; count];
    let mut each = |s: f64| {
        x[0] = 20.0 + s;
        let value = f.value(&x).unwrap();
        let other = f.gradient_into(&x, &mut g).unwrap();
        assert!((value - other).abs() <= 1e-12 * value.abs());
        assert!(g.iter().all(|g| g.is_finite()));
    };
    each(0.5);
    allocates_nothing("kernels of matrices", each);
}
