//! Programs that call the library, optimised.

use cotangent_ir::{Function, parse};
use cotangent_optimize::{Options, optimize};
use cotangent_transform::{gradient, linearize};

fn point(n: usize, count: usize) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(n as u64);
    (0..count)
        .map(|k| rng.f64() + if k < n * n && k / n == k % n { 2.0 * n as f64 } else { 0.0 })
        .collect()
}

/// A function, its gradient, its tangent and the tangent of its gradient give the same when they are optimised,
/// and read back.
fn check(f: &Function, n: usize) {
    let g = gradient(f).unwrap();
    for f in [f.clone(), linearize(f).unwrap(), linearize(&g).unwrap(), g] {
        let x = point(n, f.params().iter().map(|p| p.ty.len().unwrap()).sum());
        let done = optimize(&f, &Options::default()).function;
        done.verify().unwrap();
        assert_eq!(parse(&done.to_string()).unwrap(), done);
        for (a, b) in f.run(&x).unwrap().iter().zip(done.run(&x).unwrap()) {
            assert!((a - b).abs() <= 1e-10 * (1.0 + a.abs()), "{a} became {b} in\n{done}");
        }
    }
}

#[test]
fn programs_with_the_library_stay_what_they_are() {
    for n in 1..4 {
        let program = |lines: &str| {
            let text = format!("fn @f(%a: [N, N]f64, %b: [N]f64) -> f64 {{ {lines} }}");
            parse(&text.replace('N', &n.to_string())).unwrap()
        };
        check(
            &program(
                "%l = call @lib.cholesky(%a)
                 %y = call @lib.solve_lower(%l, %b)
                 %s = call @lib.dot(%y, %y)
                 ret %s",
            ),
            n,
        );
        check(
            &program(
                "%x = call @lib.solve(%a, %b)
                 %d = call @lib.log_determinant(%a)
                 %s = call @lib.cumsum(%x)
                 %t = call @lib.dot(%s, %b)
                 %r = mul %t, %d
                 ret %r",
            ),
            n,
        );
    }
}
