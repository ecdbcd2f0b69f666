//! Sparse matrices of compiled functions, and dense ones that come by way of them.

use cotangent::ir::sum_over;
use cotangent::prelude::*;
use cotangent::{
    Compiled, Matrix, Sparse, SparseMatrix, compile, compile_arrays, compile_at, sparse_hessian,
    sparse_jacobian,
};

fn point(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.4 + 0.3 * (i as f64).sin()).collect()
}

fn close(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-10 * b.abs().max(1.0), "{what}: {a} and {b}");
}

/// Two sparse matrices; the first may leave out what is zero by chance of algebra.
fn same(ours: &SparseMatrix, other: &SparseMatrix, what: &str) {
    for (i, j, value) in other.entries() {
        close(ours[(i, j)], value, &format!("{what} ({i}, {j})"));
    }
    for (i, j, value) in ours.entries() {
        close(value, other[(i, j)], &format!("{what} ({i}, {j})"));
    }
}

fn same_dense(ours: &Matrix, sparse: &SparseMatrix, what: &str) {
    for i in 0..ours.nrows() {
        for j in 0..ours.ncols() {
            close(ours[(i, j)], sparse[(i, j)], &format!("{what} ({i}, {j})"));
        }
    }
}

fn chained<S: Scalar>(x: &[S]) -> S {
    let mut s = S::zero();
    for i in 0..x.len() - 1 {
        let (d, e) = (x[i + 1] - x[i] * x[i], -x[i] + 1.0);
        s = s + d * d * 100.0 + e * e;
    }
    s
}

fn chained_in_kernels(n: usize) -> Compiled {
    compile_arrays(&[&[n]], |x| {
        sum_over(0..n - 1, |i| {
            let (a, b) = (x[0].at(i), x[0].at(i + 1));
            (b - a * a).powi(2) * 100.0 + (a - 1.0).powi(2)
        })
    })
    .unwrap()
}

#[test]
fn hessians_of_plain_code_and_of_kernels() {
    let f = function!(|x: &[S]| -> S { chained(x) });
    // Written out whole, re-rolled, and by products.
    for n in [3, 10, 50, 80, 500, 4000] {
        let x = point(n);
        let expected = sparse_hessian(&f, &Sparse::default(), &x).unwrap();
        for (form, ours) in [("flat", compile(f, n).unwrap()), ("kernels", chained_in_kernels(n))] {
            let what = format!("{form} {n}");
            let h = ours.sparse_hessian(&x).unwrap();
            assert_eq!(h.pattern(), expected.pattern(), "{what}");
            same(&h, &expected, &what);
            if n <= 500 {
                same_dense(&ours.hessian(&x).unwrap(), &expected, &what);
            }
        }
    }
}

#[test]
fn in_place_with_value_and_gradient() {
    let n = 200;
    let f = chained_in_kernels(n);
    let (value, gradient) = f.value_and_gradient(&point(n)).unwrap();
    let mut h = f.sparse_hessian(&vec![0.0; n]).unwrap();
    let mut first = vec![0.0; 1 + n];
    f.sparse_hessian_into(&point(n), &mut first, &mut h).unwrap();
    same(&h, &f.sparse_hessian(&point(n)).unwrap(), "again");
    close(first[0], value, "value");
    first[1..].iter().zip(&gradient).for_each(|(a, b)| close(*a, *b, "gradient"));
    assert!(f.sparse_hessian_into(&point(n), &mut first[1..], &mut h).is_err());
    assert!(f.sparse_hessian(&[1.0]).is_err());
}

#[test]
fn jacobians() {
    let f = function!(|x: &[S], y: &mut [S; x.len()]| {
        let n = x.len();
        for i in 0..n {
            y[i] = x[(i + 1) % n].sin() * x[i] - x[(i + n - 1) % n].exp() * 0.1;
        }
    });
    for n in [5, 100, 3000] {
        let x = point(n);
        let expected = sparse_jacobian(&f, &Sparse::default(), &x).unwrap();
        let ours = compile(f, n).unwrap();
        let j = ours.sparse_jacobian(&x).unwrap();
        assert_eq!(j.pattern(), expected.pattern(), "{n}");
        same(&j, &expected, &format!("{n}"));
        if n <= 100 {
            same_dense(&ours.jacobian(&x).unwrap(), &expected, &format!("{n}"));
        }
        let mut values = vec![0.0; n];
        let mut again = ours.sparse_jacobian(&vec![0.0; n]).unwrap();
        ours.sparse_jacobian_into(&x, &mut values, &mut again).unwrap();
        same(&again, &expected, "in place");
        values.iter().zip(ours.values(&x).unwrap()).for_each(|(a, b)| close(*a, b, "value"));
    }
}

#[test]
fn nothing_to_compute() {
    let f = compile(function!(|x: &[S]| -> S { x[0] * 2.0 + x[1] }), 2).unwrap();
    let h = f.sparse_hessian(&[1.0, 2.0]).unwrap();
    assert_eq!(h.pattern().nnz(), 0);
    assert_eq!(f.hessian(&[1.0, 2.0]).unwrap(), Matrix::filled(2, 2, 0.0));
    // Too large to be written out, and linear.
    let n = 30_000;
    let f = compile_arrays(&[&[n]], |x| sum_over(0..n, |i| x[0].at(i) * 3.0)).unwrap();
    let mut first = vec![0.0; 1 + n];
    let mut h = f.sparse_hessian(&point(n)).unwrap();
    f.sparse_hessian_into(&point(n), &mut first, &mut h).unwrap();
    assert_eq!((h.pattern().nnz(), first[n]), (0, 3.0));
}

#[test]
fn branches_change_the_pattern() {
    let f = function!(|x: &[S]| -> S { if x[0] > 0.0 { x[0] * x[1] } else { x[1] * x[1] * x[1] } });
    let f = compile_at(f, &[1.0, 2.0]).unwrap();
    let mut h = f.sparse_hessian(&[1.0, 2.0]).unwrap();
    assert_eq!((h.pattern().nnz(), h[(0, 1)], h[(1, 0)]), (2, 1.0, 1.0));
    f.sparse_hessian_into(&[-1.0, 2.0], &mut [0.0; 3], &mut h).unwrap();
    assert_eq!((h.pattern().nnz(), h[(1, 1)]), (1, 12.0));
    assert_eq!(f.hessian(&[-1.0, 2.0]).unwrap()[(1, 1)], 12.0);
    assert_eq!(f.recordings(), 2);
}

#[test]
fn several_parameters_in_blocks() {
    // Small enough to be written out; entries must stand as kernels give them.
    let f = compile_arrays(&[&[3], &[2, 2]], |x| {
        sum_over(0..3, |i| {
            x[0].at(i).sin() * x[1].at([0, 1]) + x[1].at([1, 1]) * x[0].at(i) * x[0].at(i)
        })
    })
    .unwrap();
    let x: Vec<f64> = point(7);
    let h = f.hessian(&x).unwrap();
    for (i, direction) in
        (0..7).map(|i| (i, std::array::from_fn::<f64, 7, _>(|j| f64::from(u8::from(i == j)))))
    {
        let (_, column) = f.hvp(&x, &direction).unwrap();
        column.iter().enumerate().for_each(|(j, c)| close(h[(j, i)], *c, "column"));
    }
}

#[test]
fn what_stops_derivatives_stops_all_of_them() {
    let f = compile_arrays(&[&[4]], |x| {
        sum_over(0..3, |i| x[0].at(i).stop() * x[0].at(i + 1) * x[0].at(i + 1))
    })
    .unwrap();
    let x = point(4);
    let g = f.gradient(&x).unwrap();
    assert_eq!(f.jacobian(&x).unwrap().row(0), g);
    let sparse = f.sparse_jacobian(&x).unwrap();
    (0..4).for_each(|j| assert_eq!(sparse[(0, j)], g[j]));
    let h = f.hessian(&x).unwrap();
    assert_eq!((h[(0, 1)], h[(1, 1)]), (0.0, 2.0 * x[0]));
    assert_eq!(f.sparse_hessian(&x).unwrap()[(2, 2)], 2.0 * x[1]);
}

#[test]
fn truths_among_the_results_are_refused() {
    let text = "fn @f(%x: f64, %y: f64) -> (bool, f64, f64) {
        %g = gt %x, %y %a = mul %x, %x %b = mul %y, %y ret %g, %a, %b }";
    let f = Compiled::program(&cotangent::ir::parse(text).unwrap()).unwrap();
    // Rows would stand for other results than they seem to: it is refused.
    assert!(f.jacobian(&[3.0, 2.0]).is_err());
    assert!(f.sparse_jacobian(&[3.0, 2.0]).is_err());
}

#[test]
fn the_recorded_order_is_kept_beside_derivatives() {
    let n = 1000;
    let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin() * 1e3).collect();
    let f = function!(|x: &[S]| -> S {
        let mut sum = S::zero();
        x.iter().for_each(|x| sum += *x * 3.0);
        sum
    });
    let f = compile(f, n).unwrap().in_recorded_order();
    let mut first = vec![0.0; 1 + n];
    let mut h = f.sparse_hessian(&x).unwrap();
    f.sparse_hessian_into(&x, &mut first, &mut h).unwrap();
    assert_eq!(first[0], f.value(&x).unwrap());
}

#[test]
fn many_entries_are_not_written_out() {
    // Each input meets each: 360 000 entries, none of them zero.
    let n = 600;
    let f = function!(|x: &[S]| -> S { x.iter().map(|x| x.exp()).sum::<S>().ln() });
    let f = compile(f, n).unwrap();
    let h = f.hessian(&point(n)).unwrap();
    let g = f.gradient(&point(n)).unwrap();
    close(h[(3, 7)], -g[3] * g[7], "entry");
    close(h[(5, 5)], g[5] - g[5] * g[5], "diagonal");
}
