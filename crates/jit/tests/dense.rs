//! Dense linear algebra by kernels gives what the interpreter gives: at all sizes, in derivatives, and where matrices are
//! singular, not positive definite or not numbers.

use cotangent_ir::{Element, Function, parse};
use cotangent_jit::{Compiled, Llvm, Object, Options};
use cotangent_numbers::Plain;
use cotangent_optimize::simplify;
use cotangent_transform::{gradient, hessian, jacobian, linearize, reverse};

fn llvm() -> bool {
    Llvm::get().is_ok()
}

/// Sizes around those from which kernels are called.
const SIZES: [usize; 12] = [0, 1, 2, 5, 8, 15, 16, 17, 24, 32, 33, 48];

/// A program with a size for N and a number of columns for M.
fn program(text: &str, n: usize, m: usize) -> Function {
    let text = text.replace('N', &n.to_string()).replace('M', &m.to_string());
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A point: square matrices have a diagonal that makes them regular, and positive definite.
fn point(f: &Function, seed: u64) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut x = Vec::new();
    for param in f.params() {
        let dims = param.ty.dims();
        let square = dims.len() == 2 && dims[0] == dims[1];
        let len = param.ty.len().unwrap();
        let n = (len as f64).sqrt().round() as usize;
        for k in 0..len {
            let diagonal = square && k / n == k % n;
            x.push(f64::from((rng.f64() - 0.5) as f32) + if diagonal { n as f64 } else { 0.0 });
        }
    }
    x
}

fn singles(f: &Function) -> bool {
    f.params().iter().any(|p| p.ty.element() == Element::F32)
}

fn interpreted(f: &Function, x: &[f64]) -> Vec<f64> {
    if !singles(f) {
        return f.run(x).unwrap();
    }
    let x: Vec<Plain<f32>> = x.iter().map(|x| Plain(*x as f32)).collect();
    f.run(&x).unwrap().into_iter().map(|y| f64::from(y.0)).collect()
}

#[track_caller]
fn same(what: &str, found: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(found.len(), want.len(), "{what}");
    let largest = want.iter().copied().filter(|x| x.is_finite()).map(f64::abs).fold(1.0, f64::max);
    for (k, (a, b)) in found.iter().zip(want).enumerate() {
        let close = (a - b).abs() <= tolerance * largest;
        assert!(
            close || a == b || a.is_nan() && b.is_nan(),
            "{what}: result {k} is {a:e} by machine code, {b:e} by the interpreter"
        );
    }
}

fn tolerance(f: &Function) -> f64 {
    if singles(f) { 2e-4 } else { 1e-11 }
}

/// Compares a program with itself as machine code, on one thread and with tasks; the calls of kernels in its text.
#[track_caller]
fn check_at(what: &str, f: &Function, x: &[f64]) -> usize {
    let want = interpreted(f, x);
    let mut calls = 0;
    for parallel in [None, Some(1)] {
        let options = Options { parallel, ..Options::default() };
        let compiled = Compiled::new(f, &options).unwrap_or_else(|e| panic!("{what}: {e}\n{f}"));
        let mut workspace = compiled.workspace();
        for _ in 0..2 {
            let found = compiled.run(x, &mut workspace).unwrap();
            same(&format!("{what}, {f}"), &found, &want, tolerance(f));
        }
        calls = kernels(f, &options);
    }
    calls
}

/// How often kernels are called in the text of a program.
fn kernels(f: &Function, options: &Options) -> usize {
    let text = Compiled::text(f, options, None).unwrap();
    ["product", "triangular", "cholesky", "lu"]
        .iter()
        .map(|name| text.matches(&format!("call void @cotangent_{name}_f")).count())
        .sum()
}

#[track_caller]
fn check(what: &str, f: &Function) -> usize {
    check_at(what, f, &point(f, 3))
}

const PROGRAMS: [(&str, &str); 17] = [
    ("dot", "fn @f(%a: [N, M]f64, %b: [M, N]f64) -> [N, N]f64 { %c = call @lib.dot(%a, %b) ret %c }"),
    ("dot_tn", "fn @f(%a: [N, M]f64, %b: [N, M]f64) -> [M, M]f64 { %c = call @lib.dot_tn(%a, %b) ret %c }"),
    ("dot_nt", "fn @f(%a: [N, M]f64, %b: [N, M]f64) -> [N, N]f64 { %c = call @lib.dot_nt(%a, %b) ret %c }"),
    ("square", "fn @f(%a: [N, M]f64) -> [M, M]f64 { %c = call @lib.dot_tn(%a, %a) ret %c }"),
    ("list", "fn @f(%a: [N, M]f64, %b: [M]f64) -> [N]f64 { %c = call @lib.dot(%a, %b) ret %c }"),
    ("list on the left", "fn @f(%a: [N]f64, %b: [N, M]f64) -> [M]f64 { %c = call @lib.dot(%a, %b) ret %c }"),
    (
        "both transposed",
        "fn @f(%a: [M, N]f64, %b: [N, M]f64) -> [N, N]f64 {
           %c = tab (%i < N, %j < N) {
             %s = red sum (%k < M) { %x = ld %a[%k, %i] %y = ld %b[%j, %k] %p = mul %x, %y yield %p }
             yield %s
           }
           ret %c
         }",
    ),
    ("cholesky", "fn @f(%a: [N, N]f64) -> [N, N]f64 { %l = call @lib.cholesky(%a) ret %l }"),
    ("lu", "fn @f(%a: [N, N]f64) -> ([N, N]f64, [N]i64) { %f, %p = call @lib.lu(%a) ret %f, %p }"),
    ("solve", "fn @f(%a: [N, N]f64, %b: [N]f64) -> [N]f64 { %x = call @lib.solve(%a, %b) ret %x }"),
    ("solve many", "fn @f(%a: [N, N]f64, %b: [N, M]f64) -> [N, M]f64 { %x = call @lib.solve(%a, %b) ret %x }"),
    ("lower", "fn @f(%a: [N, N]f64, %b: [N]f64) -> [N]f64 { %x = call @lib.solve_lower(%a, %b) ret %x }"),
    (
        "lower transposed",
        "fn @f(%a: [N, N]f64, %b: [N, M]f64) -> [N, M]f64 { %x = call @lib.solve_lower_transposed(%a, %b) ret %x }",
    ),
    ("upper", "fn @f(%a: [N, N]f64, %b: [N, M]f64) -> [N, M]f64 { %x = call @lib.solve_upper(%a, %b) ret %x }"),
    (
        "upper transposed",
        "fn @f(%a: [N, N]f64, %b: [N]f64) -> [N]f64 { %x = call @lib.solve_upper_transposed(%a, %b) ret %x }",
    ),
    (
        "unit lower",
        "fn @f(%a: [N, N]f64, %b: [N, M]f64) -> [N, M]f64 {
           %s = tab (%i < N, %j < N) { %e = ld %a[%i, %j] %d = div %e, 100.0 yield %d }
           %y = call @lib.solve_unit_lower(%s, %b)
           %x = call @lib.solve_unit_lower_transposed(%s, %y)
           ret %x
         }",
    ),
    (
        "determinants",
        "fn @f(%a: [N, N]f64) -> (f64, f64) {
           %s = tab (%i < N, %j < N) { %e = ld %a[%i, %j] %d = div %e, 20.0 yield %d }
           %x = call @lib.determinant(%s)
           %y = call @lib.log_determinant(%a)
           ret %x, %y
         }",
    ),
];

#[test]
fn every_function_at_every_size() {
    if !llvm() {
        return;
    }
    for (name, text) in PROGRAMS {
        let mut called = 0;
        for n in SIZES {
            for m in [1, 19] {
                let f = program(text, n, m);
                called += check(&format!("{name} of {n} and {m}"), &f);
                called += check(&format!("{name} of {n} and {m}, simplified"), &simplify(&f));
            }
        }
        assert!(called > 0 || name.starts_with("list"), "no kernel is called for {name}");
    }
}

#[test]
fn every_function_on_singles() {
    if !llvm() {
        return;
    }
    for (name, text) in PROGRAMS {
        for n in [1, 16, 33] {
            let f = program(&text.replace("f64", "f32"), n, 19);
            check(&format!("{name} of {n} singles"), &f);
        }
    }
}

#[test]
fn derivatives_reach_the_same_kernels() {
    if !llvm() {
        return;
    }
    for (name, text) in PROGRAMS {
        for n in [1, 4, 16, 24, 33] {
            let f = simplify(&program(text, n, 19));
            let backward = simplify(&reverse(&f).unwrap());
            let forward = simplify(&linearize(&f).unwrap());
            let what = format!("{name} of {n}");
            let calls = kernels(&f, &Options::default());
            let back = check(&format!("{what}, backward"), &backward);
            let on = check(&format!("{what}, forward"), &forward);
            if n >= 24 && calls > 0 {
                assert!(
                    back > calls && on > calls,
                    "{what}: {calls} calls, {on} forward, {back} backward"
                );
            }
        }
    }
}

/// Functions of one number, not linear in anything.
const SCALARS: [(&str, &str); 4] = [
    (
        "product",
        "fn @f(%a: [N, N]f64, %b: [N, N]f64) -> f64 {
           %c = call @lib.dot(%a, %b)
           %s = red sum (%i < N, %j < N) { %e = ld %c[%i, %j] %q = sin %e yield %q }
           ret %s
         }",
    ),
    (
        "two layers",
        "fn @f(%a: [M, N]f64, %b: [N, N]f64, %c: [N]f64, %d: [N, N]f64) -> f64 {
           %y = call @lib.dot(%a, %b)
           %h = tab (%i < M, %j < N) { %e = ld %y[%i, %j] %k = ld %c[%j] %s = add %e, %k %t = tanh %s yield %t }
           %z = call @lib.dot(%h, %d)
           %s = red sum (%i < M, %j < N) { %e = ld %z[%i, %j] %q = mul %e, %e yield %q }
           ret %s
         }",
    ),
    (
        "cholesky",
        "fn @f(%a: [N, N]f64, %b: [N]f64) -> f64 {
           %l = call @lib.cholesky(%a)
           %y = call @lib.solve_lower(%l, %b)
           %s = call @lib.dot(%y, %y)
           ret %s
         }",
    ),
    (
        "solve",
        "fn @f(%a: [N, N]f64, %b: [N]f64) -> f64 {
           %x = call @lib.solve(%a, %b)
           %s = red sum (%i < N) { %e = ld %x[%i] %q = sin %e yield %q }
           %d = call @lib.log_determinant(%a)
           %r = mul %s, %d
           ret %r
         }",
    ),
];

#[test]
fn gradients_and_what_is_made_of_them() {
    if !llvm() {
        return;
    }
    for (name, text) in SCALARS {
        for n in [3, 16, 32] {
            let f = simplify(&program(text, n, 18));
            let g = simplify(&gradient(&f).unwrap());
            let what = format!("{name} of {n}");
            let calls = check(&format!("{what}, gradient"), &g);
            assert!(n < 32 || calls >= 3, "{what}: {calls} calls\n{g}");
            let over = simplify(&linearize(&g).unwrap());
            check(&format!("{what}, forward over reverse"), &over);
            let over = simplify(&reverse(&f).unwrap());
            check(&format!("{what}, reverse"), &over);
        }
        // Many columns at once: kernels within tables.
        let f = simplify(&program(text, 3, 2));
        check(&format!("{name}, Hessian"), &simplify(&hessian(&f).unwrap()));
    }
    let f = program(PROGRAMS[9].1, 16, 1);
    check("solve, Jacobian", &simplify(&jacobian(&simplify(&f)).unwrap()));
}

fn with(mut x: Vec<f64>, places: &[(usize, f64)]) -> Vec<f64> {
    places.iter().for_each(|(k, value)| x[*k] = *value);
    x
}

/// Matrices that kernels do not expect.
fn odd_matrices(n: usize) -> Vec<(String, Vec<f64>)> {
    let f = program(PROGRAMS[8].1, n, 1);
    let usual = point(&f, 5);
    let mut all: Vec<(String, Vec<f64>)> = Vec::new();
    let mut add = |what: &str, a: Vec<f64>| all.push((format!("{what}, {n}"), a));
    add("zeros", vec![0.0; n * n]);
    add("ones", vec![1.0; n * n]);
    add("rank 1", (0..n * n).map(|k| (1 + k / n) as f64 * (2 + k % n) as f64).collect());
    let half = n / 2;
    add("a row of zeros", (0..n * n).map(|k| if k / n == half { 0.0 } else { usual[k] }).collect());
    add(
        "a column of zeros",
        (0..n * n).map(|k| if k % n == half { 0.0 } else { usual[k] }).collect(),
    );
    add("minus one on the diagonal", with(usual.clone(), &[(half * n + half, -1.0)]));
    add("not definite at the end", with(usual.clone(), &[(n * n - 1, -7.0)]));
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-310, 1e300] {
        for place in [0, n - 1, half * n + half, (n - 1) * n, n * n - 1] {
            add(&format!("{odd:e} at {place}"), with(usual.clone(), &[(place, odd)]));
        }
    }
    // Ties in the choice of pivots; without rounding but for the first.
    let mut rng = fastrand::Rng::with_seed(n as u64);
    add("signs", (0..n * n).map(|_| if rng.bool() { 1.0 } else { -1.0 }).collect());
    let odd = |k: usize| ((k / n) & (k % n)).count_ones() % 2;
    let hadamard = |k: usize| 1.0 - 2.0 * f64::from(odd(k));
    add("Hadamard", (0..n * n).map(hadamard).collect());
    add("turned", (0..n * n).map(|k| f64::from(u8::from((k / n + 1) % n == k % n))).collect());
    let mut rotated = usual.clone();
    rotated.rotate_left(n * 5);
    add("rotated", rotated);
    all
}

#[test]
fn what_is_singular_or_no_number_is_so_in_machine_code() {
    if !llvm() {
        return;
    }
    for n in [16, 32, 40] {
        for (name, text) in PROGRAMS {
            let f = program(text, n, n);
            let b = point(&f, 7);
            for (what, a) in odd_matrices(n) {
                // Pivots that are rounded are nobody's to choose.
                let factors = ["lu", "determinants", "solve", "solve many"].contains(&name);
                if factors && ["signs", "rank 1"].iter().any(|w| what.starts_with(w)) {
                    continue;
                }
                let x = [&a, &b[a.len()..]].concat();
                check_odd(&format!("{name} of {what}"), &f, &x);
            }
        }
    }
}

/// As `check_at`, where results may overflow: by orders of magnitude there are no digits to compare.
#[track_caller]
fn check_odd(what: &str, f: &Function, x: &[f64]) {
    let want = interpreted(f, x);
    let compiled = Compiled::new(f, &Options::default()).unwrap();
    let found = compiled.run(x, &mut compiled.workspace()).unwrap();
    for (k, (a, b)) in found.iter().zip(&want).enumerate() {
        let close = (a - b).abs() <= 1e-9 * (1.0 + b.abs().max(a.abs()));
        assert!(
            close || a == b || a.is_nan() && b.is_nan(),
            "{what}: result {k} is {a:e} by machine code, {b:e} by the interpreter"
        );
    }
}

#[test]
fn the_other_triangle_is_not_looked_at() {
    if !llvm() {
        return;
    }
    let n = 40;
    for (name, below) in
        [("solve_lower", true), ("solve_upper_transposed", false), ("cholesky", true)]
    {
        let text = match name {
            "cholesky" => PROGRAMS[7].1.to_string(),
            _ => format!(
                "fn @f(%a: [N, N]f64, %b: [N]f64) -> [N]f64 {{ %x = call @lib.{name}(%a, %b) ret %x }}"
            ),
        };
        let f = program(&text, n, 1);
        let mut x = point(&f, 5);
        for i in 0..n {
            for j in (0..n).filter(|j| if below { *j > i } else { *j < i }) {
                x[i * n + j] = f64::NAN;
            }
        }
        assert!(check_at(name, &f, &x) > 0);
        let compiled = Compiled::new(&f, &Options::default()).unwrap();
        assert!(compiled.run(&x, &mut compiled.workspace()).unwrap().iter().all(|x| x.is_finite()));
    }
}

#[test]
fn a_zero_cotangent_stays_zero_whatever_the_matrix_is() {
    if !llvm() {
        return;
    }
    let n = 32;
    for (name, text) in [PROGRAMS[10], PROGRAMS[12], PROGRAMS[13], PROGRAMS[0]] {
        let f = simplify(&reverse(&simplify(&program(text, n, n))).unwrap());
        let (len, count) = (n * n, f.params().len());
        let mut x = vec![0.0; count * len];
        x[..len].fill(if name == "dot" { f64::INFINITY } else { 0.0 });
        x[len..2 * len].fill(1.0);
        check_at(name, &f, &x);
        let compiled = Compiled::new(&f, &Options::default()).unwrap();
        let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
        assert!(found[found.len() - len..].iter().all(|x| *x == 0.0), "{name}");
    }
}

#[test]
fn products_are_known_by_their_loops() {
    if !llvm() {
        return;
    }
    let n = 32;
    for (name, least, text) in [
        (
            "within a sum",
            1,
            "fn @f(%a: [N, N]f64, %b: [N, N]f64) -> f64 {
               %s = red sum (%i < N, %j < N) {
                 %t = red sum (%k < N) { %x = ld %a[%k, %i] %y = ld %b[%k, %j] %p = mul %x, %y yield %p }
                 %q = exp %t
                 yield %q
               }
               ret %s
             }",
        ),
        (
            "of what is computed",
            1,
            "fn @f(%a: [N, N]f64, %b: [N, N]f64, %c: [N]f64) -> [N, N]f64 {
               %s = tab (%j < N, %i < N) {
                 %w = ld %c[%i]
                 %t = red sum (%k < N) {
                   %x = ld %a[%i, %k]
                   %l = le %k, %i
                   %m = select %l, %x, 0.0
                   %z = mul %w, %m
                   %y = ld %b[%k, %j]
                   %p = mul %y, %z
                   yield %p
                 }
                 yield %t
               }
               ret %s
             }",
        ),
        (
            "two in a table",
            2,
            "fn @f(%a: [N, N]f64, %b: [N, N]f64) -> ([N, N]f64, [N, N]f64, [N, N]f64) {
               %r, %s, %t = tab (%i < N, %j < N) {
                 %u = red sum (%k < N) { %x = ld %a[%i, %k] %y = ld %b[%k, %j] %p = mul %x, %y yield %p }
                 %v = red sum (%k < N) { %x = ld %a[%k, %i] %y = ld %b[%j, %k] %p = mul %x, %y yield %p }
                 %w = sub %u, %v
                 yield %u, %w, %v
               }
               ret %r, %s, %t
             }",
        ),
        (
            "added up",
            2,
            "fn @f(%a: [N, N]f64, %b: [N, N]f64, %c: [N, N]f64, %d: [N]f64) -> ([N, N]f64, [N, N]f64, [N]f64, f64) {
               %r, %s, %t, %u = acc (%i < N, %j < N) (%x = %c, %y = %c, %z = %d, %o = 1.0) {
                 %e = ld %a[%i, %j]
                 %w = sin %e
                 %z1 = put_add %z[%j], %w
                 %o1 = add %o, %w
                 %x1, %y1 = acc (%k < N) (%x0 = %x, %y0 = %y) {
                   %g = ld %b[%k, %j]
                   %h = ld %a[%i, %k]
                   %p = mul %w, %g
                   %q = mul %h, %w
                   %x2 = put_add %x0[%i, %k], %p
                   %y2 = put_add %y0[%k, %j], %q
                   yield %x2, %y2
                 }
                 yield %x1, %y1, %z1, %o1
               }
               ret %r, %s, %t, %u
             }",
        ),
        (
            "in a loop and a branch",
            2,
            "fn @f(%a: [N, N]f64, %b: [N, N]f64, %c: f64) -> [N, N]f64 {
               %go = gt %c, -9.0
               %r = for %t < 3 (%s = %a) {
                 %z = if %go {
                   %x = call @lib.solve(%b, %s)
                   yield %x
                 } else {
                   %y = call @lib.dot(%b, %s)
                   yield %y
                 }
                 yield %z
               }
               ret %r
             }",
        ),
    ] {
        let f = program(text, n, 1);
        for (form, f) in [("", f.clone()), (", simplified", simplify(&f))] {
            let calls = check(&format!("{name}{form}"), &f);
            assert!(calls >= least, "{name}{form}: {calls} calls\n{f}");
        }
        if let Ok(g) = reverse(&simplify(&f)) {
            check(&format!("{name}, backward"), &simplify(&g));
        }
    }
}

/// Matrices of its own at each point of a table, and threads that share the points.
#[test]
fn tables_of_solves_on_any_number_of_threads() {
    if !llvm() {
        return;
    }
    let text = "fn @f(%a: [6, N, N]f64, %b: [6, N]f64) -> ([6, N]f64, [6, N, N]f64) {
       %x, %y = tab (%i < 6) {
         %m = ld %a[%i]
         %v = ld %b[%i]
         %x = call @lib.solve(%m, %v)
         %y = call @lib.dot_nt(%m, %m)
         yield %x, %y
       }
       ret %x, %y
     }";
    for n in [4, 24, 40] {
        let f = program(text, n, 1);
        let mut x = point(&f, 9);
        for k in 0..6 {
            (0..n).for_each(|i| x[k * n * n + i * n + i] += n as f64);
        }
        let options = Options { parallel: Some(1), ..Options::default() };
        for f in [f.clone(), simplify(&f), simplify(&reverse(&simplify(&f)).unwrap())] {
            let mut rng = fastrand::Rng::with_seed(1);
            let count = f.params().iter().map(|p| p.ty.len().unwrap()).sum();
            x.resize_with(count, || rng.f64());
            let calls = check_at(&format!("a table of solves, {n}"), &f, &x);
            assert!(calls > 0 || n == 4, "{n}");
            let compiled = Compiled::new(&f, &options).unwrap();
            let runs: Vec<Vec<f64>> = [1, 2, 3, 7]
                .iter()
                .map(|threads| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(*threads).build();
                    pool.unwrap().install(|| compiled.run(&x, &mut compiled.workspace()).unwrap())
                })
                .collect();
            assert!(runs.iter().all(|run| *run == runs[0]), "{n}");
        }
    }
}

/// Products large enough for several threads have the same digits on any number of them.
#[test]
fn large_products_on_any_number_of_threads() {
    if !llvm() {
        return;
    }
    let f = program(PROGRAMS[0].1, 150, 131);
    let x = point(&f, 4);
    let want = interpreted(&f, &x);
    for parallel in [None, Some(1), Some(1 << 20)] {
        let compiled = Compiled::new(&f, &Options { parallel, ..Options::default() }).unwrap();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| compiled.run(&x, &mut compiled.workspace()).unwrap())
        };
        let one = run(1);
        same("a large product", &one, &want, 1e-12);
        assert!([2, 3, 7].iter().all(|threads| run(*threads) == one));
    }
}

#[test]
fn small_ones_are_loops_and_so_are_objects() {
    if !llvm() {
        return;
    }
    for (name, text) in PROGRAMS {
        let f = program(text, 3, 4);
        assert_eq!(kernels(&f, &Options::default()), 0, "{name}");
        let f = program(text, 48, 48);
        assert_eq!(kernels(&f, &Options { kernels: false, ..Options::default() }), 0, "{name}");
        assert_eq!(kernels(&f, &Options::default().exact()), 0, "{name}");
        // What is linked elsewhere calls nothing of cotangent's, or it would be an error.
        Object::new(&f, "f", None, &Options::default()).unwrap();
    }
}
