//! Compiled functions of singles give what those of doubles give, to the accuracy of singles.

use std::fs;
use std::process::Command;

use cotangent::ir::{self, TracedArray, sum_over};
use cotangent::prelude::*;
use cotangent::{Compiled, Matrix, SparseMatrix, compile, compile_arrays, compile_at, machine};
use cotangent_testkit::files;

fn singles(x: &[f64]) -> Vec<f32> {
    x.iter().map(|x| *x as f32).collect()
}

/// Numbers that singles hold.
fn point(n: usize) -> Vec<f64> {
    (0..n).map(|k| f64::from((0.6 + 0.3 * (k as f32).sin()).min(1.0))).collect()
}

/// Whether singles are what doubles are, but for the digits that they lack.
fn agree(a: &[f32], b: &[f64], tolerance: f64) -> Result<(), String> {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().filter(|b| b.is_finite()).fold(1.0, |m: f64, b| m.max(b.abs()));
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        let same = f64::from(*a) == *b || a.is_nan() && b.is_nan();
        // What is too large for a single is infinite.
        let large = b.abs() > f64::from(f32::MAX) && a.abs() == f32::INFINITY;
        let near = (f64::from(*a) - b).abs() <= tolerance * scale;
        if !(same || large || near) {
            return Err(format!("number {k}: {a} in singles, {b} in doubles"));
        }
    }
    Ok(())
}

#[track_caller]
fn close(a: &[f32], b: &[f64]) {
    agree(a, b, 2e-5).unwrap();
}

#[track_caller]
fn close_dense(a: &Matrix<f32>, b: &Matrix) {
    assert_eq!((a.nrows(), a.ncols()), (b.nrows(), b.ncols()));
    close(a.as_slice(), b.as_slice());
}

#[track_caller]
fn close_sparse(a: &SparseMatrix<f32>, b: &SparseMatrix) {
    assert_eq!(a.pattern(), b.pattern());
    close(a.values(), b.values());
}

fn wave<S: Scalar>(x: &[S]) -> S {
    let mut s = x[0].exp() * x[1].tanh();
    for k in 1..x.len() {
        s += (x[k] * x[k - 1]).sin() + x[k].powi(3) * 0.5 + (x[k] * x[k] + 1.0).ln();
    }
    s
}

fn neighbours<S: Scalar>(x: &[S], y: &mut [S]) {
    let n = x.len();
    for i in 0..n {
        y[i] = x[(i + 1) % n].sin() * x[i] - x[(i + n - 1) % n].exp() * 0.1;
    }
}

fn two_arrays() -> Compiled {
    let energy = |x: &[TracedArray]| {
        sum_over(0..5, |i| {
            let y = sum_over(0..3, |j| x[1].at((i, j)) * x[0].at(j));
            y.tanh() * y
        })
    };
    compile_arrays(&[&[3], &[5, 3]], energy).unwrap()
}

/// All that can be asked of a function with one output.
fn one_output(make: impl Fn() -> Compiled) {
    let (f, g) = (make(), make().in_singles());
    let (n, _) = f.sizes();
    assert_eq!(g.sizes(), f.sizes());
    assert_eq!(g.is_machine_code().unwrap(), machine().is_ok());
    let (x, v) = (point(n), point(2 * n)[n..].to_vec());
    let (y, w) = (singles(&x), singles(&v));
    close(&[g.value(&y).unwrap()], &[f.value(&x).unwrap()]);
    close(&g.gradient(&y).unwrap(), &f.gradient(&x).unwrap());
    let (mut value, mut image) = ([0.0_f32], [0.0_f32]);
    g.pushforward_into(&y, &w, &mut value, &mut image).unwrap();
    let (expected, along) = f.pushforward(&x, &v).unwrap();
    close(&value, &expected);
    close(&image, &along);
    close(&g.pullback(&y, &[2.0]).unwrap().1, &f.pullback(&x, &[2.0]).unwrap().1);
    let (mut gradient, mut product) = (vec![0.0_f32; n], vec![0.0_f32; n]);
    let (value, slope) = g.hvp_into(&y, &w, &mut gradient, &mut product).unwrap();
    let (expected, along) = f.hvp(&x, &v).unwrap();
    close(&gradient, &expected);
    close(&product, &along);
    close(&[value, slope], &[f.value(&x).unwrap(), f.pushforward(&x, &v).unwrap().1[0]]);
    let mut first = vec![0.0_f32; 1 + n];
    let mut h = Matrix::filled(n, n, f32::NAN);
    g.hessian_into(&y, &mut first, &mut h).unwrap();
    close_dense(&h, &f.hessian(&x).unwrap());
    close(&first[1..], &f.gradient(&x).unwrap());
    close_dense(&g.jacobian(&y).unwrap(), &f.jacobian(&x).unwrap());
    let mut h = g.sparse_hessian(&y).unwrap();
    close_sparse(&h, &f.sparse_hessian(&x).unwrap());
    first.fill(0.0);
    g.sparse_hessian_into(&w, &mut first, &mut h).unwrap();
    close_sparse(&h, &f.sparse_hessian(&v).unwrap());
    close(&first[1..], &f.gradient(&v).unwrap());
}

#[test]
fn all_derivatives_of_one_output() {
    // Written out, re-rolled, with products for the entries.
    for n in [7, 100] {
        one_output(|| compile(function!(|x: &[S]| -> S { wave(x) }), n).unwrap());
        one_output(|| {
            compile(function!(|x: &[S]| -> S { wave(x) }), n).unwrap().in_recorded_order()
        });
    }
    one_output(|| compile(function!(|x: &[S]| -> S { wave(x) }), 3000).unwrap());
    one_output(two_arrays);
}

#[test]
fn several_outputs() {
    for n in [5, 100, 3000] {
        let make =
            || compile(function!(|x: &[S], y: &mut [S; x.len()]| { neighbours(x, y) }), n).unwrap();
        let (f, g) = (make(), make().in_singles());
        let (x, y) = (point(n), singles(&point(n)));
        close(&g.values(&y).unwrap(), &f.values(&x).unwrap());
        close_sparse(&g.sparse_jacobian(&y).unwrap(), &f.sparse_jacobian(&x).unwrap());
        if n <= 100 {
            close_dense(&g.jacobian(&y).unwrap(), &f.jacobian(&x).unwrap());
        }
        let (a, b) = (g.pullback(&y, &y).unwrap(), f.pullback(&x, &x).unwrap());
        close(&a.1, &b.1);
        assert!(g.gradient(&y).unwrap_err().to_string().contains("Jacobian"));
    }
}

#[test]
fn many_points() {
    for make in [two_arrays, || compile(function!(|x: &[S]| -> S { wave(x) }), 18).unwrap()] {
        let (f, g) = (make(), make().in_singles());
        for count in [0usize, 1, 7, 256, 300] {
            let x = point(18 * count);
            let y = singles(&x);
            close(&g.values_many(&y).unwrap(), &f.values_many(&x).unwrap());
            let gradients = g.gradients_many(&y).unwrap();
            close(&gradients, &f.gradients_many(&x).unwrap());
            let mut again = vec![f32::NAN; 19 * count];
            g.gradients_many_into(&y, &mut again).unwrap();
            assert_eq!(again, gradients);
            assert!(g.gradients_many_into(&y, &mut [0.0; 5]).is_err());
        }
        assert!(g.values_many(&[1.0; 19]).is_err());
    }
}

#[test]
fn what_is_known_is_computed_in_doubles() {
    // In singles the two constants are one.
    let f = function!(|x: &[S]| -> S { x[0] * (S::one() * 16_777_217.0 - 16_777_216.0) });
    let f = compile(f, 1).unwrap().in_singles();
    assert_eq!(f.value(&[3.0]).unwrap(), 3.0);
    assert_eq!(f.gradient(&[3.0]).unwrap(), [1.0]);
}

#[test]
fn branches_are_recorded_where_they_go() {
    let f = function!(|x: &[S]| -> S {
        if x[0] > 1.0 {
            x[0] * x[1]
        } else if x[1] > 0.0 {
            x[0] + x[1] * x[1]
        } else {
            x[1].exp()
        }
    });
    let compiled = compile_at(f, &[2.0, 2.0]).unwrap().in_singles();
    for x in [[2.0, 2.0], [0.0, 3.0], [0.0, -1.0], [3.0, 1.0], [-1.0, 2.0], [0.5, -2.0]] {
        close(&compiled.gradient(&singles(&x)).unwrap(), &gradient(&f, &Auto, &x[..]).unwrap());
        close_dense(&compiled.hessian(&singles(&x)).unwrap(), &hessian(&f, &Auto, &x[..]).unwrap());
    }
    assert_eq!(compiled.recordings(), 3);
}

#[test]
fn where_a_branch_turns_something_comes_out() {
    let f = function!(|x: &[S]| -> S {
        let y = (x[0] * x[1]).exp().ln().sin();
        if y > x[2] { y * x[0] } else { y + x[0] }
    });
    let compiled = compile_at(f, &[1.0, 1.0, 0.0]).unwrap().in_singles();
    for k in 0..100_u8 {
        let (a, b) = (0.3 + 0.03 * f32::from(k), 1.1 - 0.009 * f32::from(k));
        let turn = (a * b).exp().ln().sin();
        for turn in [turn.next_down(), turn, turn.next_up()] {
            let found = compiled.gradient(&[a, b, turn]).unwrap();
            assert!(found.iter().all(|g| g.is_finite()));
        }
    }
    assert_eq!(compiled.recordings(), 2);
}

#[test]
fn errors_are_those_of_doubles() {
    let make = || compile(function!(|x: &[S]| -> S { wave(x) }), 4).unwrap();
    let (f, g) = (make(), make().in_singles());
    let same = |a: cotangent::Error, b: cotangent::Error| {
        assert_eq!(a.to_string().replace("f32", "f64"), b.to_string());
    };
    same(g.value(&[1.0; 3]).unwrap_err(), f.value(&[1.0; 3]).unwrap_err());
    let (mut a, mut b) = ([0.0_f32; 3], [0.0; 3]);
    same(
        g.gradient_into(&[1.0; 4], &mut a).unwrap_err(),
        f.gradient_into(&[1.0; 4], &mut b).unwrap_err(),
    );
    same(g.hvp(&[1.0; 4], &[1.0; 5]).unwrap_err(), f.hvp(&[1.0; 4], &[1.0; 5]).unwrap_err());
    same(g.values_many(&[1.0; 5]).unwrap_err(), f.values_many(&[1.0; 5]).unwrap_err());
    // A NaN goes through, as it does in doubles.
    assert!(f.value(&[f64::NAN; 4]).unwrap().is_nan());
    assert!(g.value(&[f32::NAN; 4]).unwrap().is_nan());
    let text = "fn @f(%x: [3]f64, %k: i64) -> f64 { %y = ld %x[%k] ret %y }";
    let make = || Compiled::program(&ir::parse(text).unwrap()).unwrap();
    let (f, g) = (make(), make().in_singles());
    assert_eq!(g.values(&[1.0, 2.0, 3.0, 1.0]).unwrap(), [2.0]);
    for k in [7.0, 0.5] {
        let (a, b) = ([1.0, 2.0, 3.0, k as f32], [1.0, 2.0, 3.0, k]);
        same(g.values(&a).unwrap_err(), f.values(&b).unwrap_err());
    }
}

#[test]
fn prepared_derivatives_at_points_of_singles() {
    let f = function!(|x: &[S], constant p| -> S { wave(x) * p[0] });
    let prepared =
        prepare_gradient(f, &cotangent::MachineCode, (&[0.5_f32; 5], &[2.0_f32])).unwrap();
    let (x, p) = (singles(&point(5)), [0.75_f32]);
    let (value, g) = prepared.value_and_gradient((&x, &p)).unwrap();
    let (expected, exact) = value_and_gradient(&f, &Auto, (&point(5), &[0.75])).unwrap();
    close(&[value], &[expected]);
    close(&g, &exact);
    let h = hessian(&f, &cotangent::MachineCode, (&x, &p)).unwrap();
    close_dense(&h, &hessian(&f, &Auto, (&point(5), &[0.75])).unwrap());
}

/// Whether there is a loop that may not end at any point.
fn has_while(f: &ir::Function) -> bool {
    let own = |s: &ir::Structure| matches!(s, ir::Structure::While { .. });
    f.values()
        .filter_map(|v| f.structure(v))
        .any(|s| own(s) || s.bodies().any(|body| has_while(body)))
}

#[test]
#[allow(clippy::print_stdout, reason = "what was compared is said")]
fn programs_in_files() {
    let mut same = 0;
    for path in files::paths().unwrap() {
        let Ok(all) = ir::parse_all(&fs::read_to_string(&path).unwrap()) else { continue };
        // A loop that makes errors grow ninefold a round: digits say nothing there.
        if path.ends_with("residuals/fewest_bytes.ct") {
            continue;
        }
        for program in all {
            let ready =
                program.verify().is_ok() && program.cost().total() < 1e5 && !has_while(&program);
            let Some(f) = ready.then(|| Compiled::program(&program).ok()).flatten() else {
                continue;
            };
            let Ok(g) = Compiled::program(&program).map(Compiled::in_singles) else { continue };
            let mut x = Vec::new();
            for param in program.params() {
                let count = param.ty.len().unwrap_or(0);
                let number = |k: usize| if param.ty.is_float() { point(k + 1)[k] } else { 1.0 };
                x.extend((0..count).map(number));
            }
            let what = format!("{} @{}", path.display(), program.name());
            type Found<T> = Result<Vec<T>, cotangent::Error>;
            let check = |a: Found<f32>, b: Found<f64>| match (a, b) {
                (Ok(a), Ok(b)) => agree(&a, &b, 1e-3).unwrap_or_else(|e| panic!("{what}: {e}")),
                (Err(_), Err(_)) => {}
                (a, b) => panic!("{what}: {a:?} in singles, {b:?} in doubles"),
            };
            check(g.values(&singles(&x)), f.values(&x));
            check(g.gradient(&singles(&x)), f.gradient(&x));
            same += 1;
        }
    }
    println!("{same} programs are the same");
    assert!(same > 100, "{same}");
}

#[test]
fn all_of_this_holds_without_machine_code() {
    const VARIABLE: &str = cotangent::jit::VARIABLE;
    if std::env::var_os(VARIABLE).is_some_and(|value| value == "off") {
        assert!(machine().is_err());
        return;
    }
    let run = Command::new(std::env::current_exe().unwrap()).env(VARIABLE, "off").output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}
