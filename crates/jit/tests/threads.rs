//! Threads share the work, and the digits do not depend on how many they are.

use cotangent_ir::{Function, fori, map_over, sum_over, trace_arrays};
use cotangent_jit::{Compiled, Llvm, Options};
use cotangent_optimize::simplify;
use cotangent_transform::gradient;

fn llvm() -> bool {
    Llvm::get().is_ok()
}

fn on(threads: usize, compiled: &Compiled, x: &[f64]) -> Result<Vec<f64>, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut workspace = compiled.workspace();
        let first = compiled.run(x, &mut workspace).map_err(|e| e.to_string());
        let again = compiled.run(x, &mut workspace).map_err(|e| e.to_string());
        assert_eq!(first, again);
        again
    })
}

/// Runs a program and its gradient on several numbers of threads, and on none.
fn check(f: &Function, x: &[f64]) {
    for f in [simplify(f), simplify(&gradient(&simplify(f)).unwrap())] {
        let options = Options { parallel: Some(1), ..Options::default() };
        let text = Compiled::text(&f, &options, None).unwrap();
        assert!(text.contains("call i64 @cotangent_tasks"), "{f}");
        let compiled = Compiled::new(&f, &options).unwrap();
        let alone = Compiled::new(&f, &Options { parallel: None, ..options }).unwrap();
        let expected = alone.run(x, &mut alone.workspace()).unwrap();
        let one = on(1, &compiled, x).unwrap();
        for (a, b) in one.iter().zip(&expected) {
            assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{a} and {b}\n{f}");
        }
        for threads in [2, 3, 7] {
            assert_eq!(on(threads, &compiled, x).unwrap(), one, "{threads} threads\n{f}");
        }
    }
}

fn point(n: usize) -> Vec<f64> {
    (0..n).map(|i| 0.5 + 0.3 * (1.7 * i as f64).sin()).collect()
}

#[test]
fn sums_and_tables_of_odd_sizes() {
    if !llvm() {
        return;
    }
    for n in [33, 64, 101, 1000, 1003] {
        let f = trace_arrays("f", &[&[n]], |x| {
            let y = map_over(0..n, |i| (x[0].at(i) * 3.0).sin());
            sum_over(0..n - 1, |i| (y.at(i) * x[0].at(i + 1)).exp() + y.at(i))
        });
        check(&f.unwrap(), &point(n));
    }
}

#[test]
fn accumulations_into_shared_arrays() {
    if !llvm() {
        return;
    }
    let (n, k) = (203, 5);
    // Each point goes with each centre: gradients of the centres are sums over points.
    let f = trace_arrays("f", &[&[n, 3], &[k, 3]], |x| {
        sum_over(0..n, |i| {
            let distances = map_over(0..k, |c| {
                sum_over(0..3usize, |j| {
                    let d = x[0].at((i, j)) - x[1].at((c, j));
                    d * d
                })
            });
            sum_over(0..k, |c| (-distances.at(c)).exp()).ln()
        })
    });
    check(&f.unwrap(), &point(n * 3 + k * 3));
}

#[test]
fn tables_within_a_loop() {
    if !llvm() {
        return;
    }
    let n = 150;
    let f = trace_arrays("f", &[&[n]], |x| {
        let y = fori(4usize, x[0], |_, y| {
            let mean = sum_over(0..n, |i| y.at(i)) / n as f64;
            map_over(0..n, |i| y.at(i) - (y.at(i) - mean).tanh() * 0.1)
        });
        sum_over(0..n, |i| y.at(i) * y.at(i))
    });
    check(&f.unwrap(), &point(n));
}

#[test]
fn the_first_that_fails_is_told() {
    if !llvm() {
        return;
    }
    let text = "fn @f(%x: [200]f64, %k: [200]i64) -> [200]f64 {
      %r = tab (%i < 200) {
        %j = ld %k[%i]
        %y = ld %x[%j]
        yield %y
      }
      ret %r
    }";
    let f = cotangent_ir::parse(text).unwrap();
    let options = Options { parallel: Some(1), ..Options::default() };
    let compiled = Compiled::new(&f, &options).unwrap();
    let mut x: Vec<f64> = point(200);
    x.extend((0..200).map(f64::from));
    let found = on(2, &compiled, &x).unwrap();
    assert_eq!(found, x[..200]);
    x[390] = 200.0;
    x[399] = -1.0;
    let why = on(1, &compiled, &x).unwrap_err();
    assert!(why.contains("out of range"), "{why}");
    assert_eq!(on(3, &compiled, &x).unwrap_err(), why);
}

#[test]
fn many_who_are_no_threads_of_a_pool_run_side_by_side() {
    if !llvm() {
        return;
    }
    let n = 4000;
    let f = trace_arrays("f", &[&[n]], |x| {
        let y = map_over(0..n, |i| (x[0].at(i) * 3.0).sin());
        sum_over(0..n, |i| y.at(i) * y.at(i))
    });
    let f = simplify(&gradient(&simplify(&f.unwrap())).unwrap());
    let options = Options { parallel: Some(1), ..Options::default() };
    let compiled = Compiled::new(&f, &options).unwrap();
    let x = point(n);
    let expected = compiled.run(&x, &mut compiled.workspace()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let mut workspace = compiled.workspace();
                for _ in 0..20 {
                    assert_eq!(compiled.run(&x, &mut workspace).unwrap(), expected);
                }
            });
        }
    });
}
