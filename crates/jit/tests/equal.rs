//! Machine code gives what the interpreter gives: on all programs in files, their derivatives, and on random programs.
//!
//! To the bit, functions included, where nothing is contracted. Only sums, products and accumulations over many points that become
//! lanes have an order of their own: their last digits differ. Singles, too.

use std::fs;

use cotangent_ir::{Dim, Element, Function, Reducer, Structure, Type, parse_all};
use cotangent_jit::{Compiled, JitError, Llvm, Options};
use cotangent_numbers::Plain;
use cotangent_optimize::simplify;
use cotangent_testkit::{files, programs};
use cotangent_transform::{gradient, has_derivatives, hessian, linearize, lower, reverse};

/// Whether there is an LLVM; says so if there is none.
#[allow(clippy::print_stdout, reason = "who runs the tests is told what was left out")]
fn llvm() -> bool {
    match Llvm::get() {
        Ok(_) => true,
        Err(why) => {
            println!("skipped: {why}");
            false
        }
    }
}

/// Whether sums of many points are in a program: their order differs.
fn sums(f: &Function) -> bool {
    f.values().any(|v| {
        let own = match f.structure(v) {
            Some(Structure::Red { reducer, .. }) => {
                matches!(reducer, Reducer::Sum | Reducer::Product)
            }
            Some(Structure::Acc { .. }) => true,
            _ => false,
        };
        own || f.structure(v).is_some_and(|s| s.bodies().any(|body| sums(body)))
    })
}

/// Whether there are numbers of one of the two kinds.
fn has(f: &Function, element: Element) -> bool {
    let own = f.values().any(|v| f.ty(v) != Type::PARTS && f.ty(v).element() == element);
    own || f
        .values()
        .any(|v| f.structure(v).is_some_and(|s| s.bodies().any(|body| has(body, element))))
}

/// A run of the interpreter: on singles, if the program is of those.
fn interpreted(f: &Function, x: &[f64], singles: bool) -> Result<Vec<f64>, cotangent_ir::RunError> {
    if !singles {
        return f.run(x);
    }
    let x: Vec<Plain<f32>> = x.iter().map(|x| Plain(*x as f32)).collect();
    Ok(f.run(&x)?.into_iter().map(|y| f64::from(y.0)).collect())
}

#[derive(Default)]
struct Tally {
    same: usize,
    /// Results of machine code as users get it.
    usual: usize,
    left: Vec<String>,
}

/// Compares a program with itself as machine code.
#[track_caller]
fn check(what: &str, f: &Function, x: &[f64], tally: &mut Tally) {
    let singles = has(f, Element::F32);
    // The interpreter has one kind of number at a time.
    if singles && has(f, Element::F64) {
        return;
    }
    let tolerance = if singles { 1e-4 } else { 1e-9 };
    // Every other program on threads, however small it is.
    let parallel = tally.same.is_multiple_of(4).then_some(1);
    let vectors = Options { parallel, ..Options::default().exact() };
    for options in
        [vectors, Options { scalar: true, contract: false, parallel: None, kernels: false }]
    {
        let compiled = match Compiled::new(f, &options) {
            Ok(compiled) => compiled,
            Err(JitError::Unsupported(why)) => {
                tally.left.push(format!("{what}: {why}"));
                return;
            }
            Err(error) => panic!(
                "{what}: {error}\n{f}\n{}",
                Compiled::text(f, &options, None).unwrap_or_default()
            ),
        };
        let mut workspace = compiled.workspace();
        // Twice: what a run leaves behind changes nothing.
        for _ in 0..2 {
            match (interpreted(f, x, singles), compiled.run(x, &mut workspace)) {
                (Ok(a), Ok(b)) => {
                    assert_eq!(a.len(), b.len(), "{what}");
                    for (k, (a, b)) in a.iter().zip(&b).enumerate() {
                        let close = (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()));
                        let same = a.to_bits() == b.to_bits()
                            || (a.is_nan() && b.is_nan())
                            || !options.scalar && *a == 0.0 && *b == 0.0
                            || (!options.scalar && sums(f) && close);
                        assert!(
                            same,
                            "{what}: result {k}: {a:?} by the interpreter, {b:?} by machine code\n{f}\n{}",
                            Compiled::text(f, &options, None).unwrap_or_default()
                        );
                    }
                }
                (Err(_), Err(_)) => {}
                // A flat function is interpreted on numbers alone.
                (Err(cotangent_ir::RunError::Truth { .. }), _) => return,
                (a, b) => panic!("{what}: {a:?} by the interpreter, {b:?} by machine code\n{f}"),
            }
        }
        tally.same += 1;
    }
}

/// Compares a program with itself as machine code as users get it: products and sums in one operation, plain products for strong
/// ones. Digits may differ, so results count that move little when the point is moved a little.
#[track_caller]
fn check_usual(what: &str, f: &Function, x: &[f64], tally: &mut Tally) {
    if has(f, Element::F32) {
        return;
    }
    let compiled = match Compiled::new(f, &Options::default()) {
        Ok(compiled) => compiled,
        Err(JitError::Unsupported(_)) => return,
        Err(error) => panic!("{what}: {error}\n{f}"),
    };
    let moved: Vec<f64> = x.iter().map(|x| x * (1.0 + 1e-12)).collect();
    let other: Vec<f64> = x.iter().map(|x| x * (1.0 - 1e-12)).collect();
    let points = [x, &moved, &other].map(|x| f.run(x));
    let [Ok(expected), Ok(above), Ok(below)] = points else { return };
    let found = compiled.run(x, &mut compiled.workspace());
    let found = found.unwrap_or_else(|error| panic!("{what}: {error}\n{f}"));
    for (k, (a, b)) in expected.iter().zip(&found).enumerate() {
        let spread = (above[k] - a).abs().max((below[k] - a).abs());
        if !a.is_finite() || spread.is_nan() || spread >= 1e-6 * (1.0 + a.abs()) {
            continue;
        }
        let bound = 1e-8 * (1.0 + a.abs()) + 1e3 * spread;
        assert!((a - b).abs() <= bound, "{what}: result {k}: {a:?} by the interpreter, {b:?}\n{f}");
        tally.usual += 1;
    }
}

/// A point: small positive numbers where numbers are asked for, small integers.
fn point(f: &Function, seed: u64) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut x = Vec::new();
    for param in f.params() {
        for _ in 0..param.ty.len().unwrap_or(0) {
            x.push(match param.ty.is_float() {
                true => 0.1 + rng.f64() * 1.8,
                false => f64::from(rng.u8(..3)),
            });
        }
    }
    x
}

/// The point of a line `//# run x=1 y=2`, if it fits.
fn given(f: &Function, text: &str) -> Option<Vec<f64>> {
    let line = text.lines().find_map(|line| line.strip_prefix("//# run "))?;
    let mut x = Vec::new();
    for param in f.params() {
        let word =
            line.split_whitespace().find_map(|w| w.strip_prefix(&format!("{}=", param.name)))?;
        x.extend(word.split(',').map_while(|n| n.parse::<f64>().ok()));
    }
    (f.inputs() == Some(x.len())).then_some(x)
}

/// Whether there is a loop that may not end at any point.
fn has_while(f: &Function) -> bool {
    f.values().any(|v| {
        let structure = f.structure(v);
        matches!(structure, Some(Structure::While { .. }))
            || structure.is_some_and(|s| s.bodies().any(|body| has_while(body)))
    })
}

/// All named dimensions are given sizes.
fn sized(f: &Function) -> Function {
    let mut names: Vec<&'static str> = Vec::new();
    for param in f.params() {
        for dim in param.ty.dims() {
            if let Dim::Symbol(name) = dim
                && !names.contains(name)
            {
                names.push(name);
            }
        }
    }
    let sizes: Vec<(&'static str, Dim)> =
        names.iter().enumerate().map(|(k, name)| (*name, Dim::Size(11 + 2 * k))).collect();
    f.specialised(&sizes)
}

#[test]
#[allow(clippy::print_stdout, reason = "what is left out is said")]
fn programs_in_files() {
    if !llvm() {
        return;
    }
    let paths = files::paths().unwrap();
    let mut tally = Tally::default();
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        let Ok(all) = parse_all(&text) else { continue };
        for f in all {
            if f.verify().is_err() {
                continue;
            }
            let f = if has_derivatives(&f) {
                match lower(&f) {
                    Ok(f) => f,
                    Err(_) => continue,
                }
            } else {
                (*f).clone()
            };
            // A loop that makes errors grow ninefold a round: digits say nothing there.
            if path.ends_with("residuals/fewest_bytes.ct") {
                continue;
            }
            let what = format!("{} @{}", path.display(), f.name());
            let f = sized(&f);
            if f.inputs().is_none() {
                continue;
            }
            let given = given(&f, &text);
            if given.is_none() && has_while(&f) {
                continue;
            }
            let x = given.unwrap_or_else(|| point(&f, 1));
            check(&what, &f, &x, &mut tally);
            check_usual(&what, &f, &x, &mut tally);
            check(&format!("{what} simplified"), &simplify(&f), &x, &mut tally);
            if has_while(&f) {
                continue;
            }
            for (mode, derived) in [
                ("rev", reverse(&f)),
                ("fwd", linearize(&f)),
                ("grad", gradient(&f)),
                ("hess", hessian(&f)),
            ] {
                if let Ok(g) = derived
                    && g.inputs().is_some_and(|n| n < 1000)
                    && g.operations() < 2000
                {
                    let (g, x) = (simplify(&g), point(&g, 3));
                    check(&format!("{what} {mode}"), &g, &x, &mut tally);
                    check_usual(&format!("{what} {mode}, usual"), &g, &x, &mut tally);
                }
            }
        }
    }
    println!("{} programs are the same; left out: {:#?}", tally.same, tally.left);
    assert!(tally.same > 600, "{}", tally.same);
}

#[test]
fn programs_of_singles() {
    if !llvm() {
        return;
    }
    let mut tally = Tally::default();
    for seed in 0..200 {
        let f = programs::random(seed, &programs::Options { unknown: false, ..Default::default() });
        let f = f.in_singles();
        let x: Vec<f64> =
            programs::arguments(&f, seed).into_iter().map(|x| f64::from(x as f32)).collect();
        check(&format!("seed {seed} in singles"), &f, &x, &mut tally);
    }
    assert!(tally.same > 100, "{}", tally.same);
}

#[test]
#[allow(clippy::print_stdout, reason = "what is left out is said")]
fn random_programs() {
    if !llvm() {
        return;
    }
    let from = std::env::var("COTANGENT_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0u64);
    let count =
        std::env::var("COTANGENT_PROGRAMS").ok().and_then(|s| s.parse().ok()).unwrap_or(2000u64);
    let mut tally = Tally::default();
    for seed in from..from + count {
        // Long arrays stand elsewhere than short ones.
        let options = programs::Options { long: seed % 4 == 3, ..programs::Options::default() };
        let f = programs::random(seed, &options);
        let x = programs::arguments(&f, seed);
        check(&format!("seed {seed}"), &f, &x, &mut tally);
        let simpler = simplify(&f);
        check(&format!("seed {seed} simplified"), &simpler, &x, &mut tally);
        check_usual(&format!("seed {seed}, usual"), &simpler, &x, &mut tally);
        // Derivatives are what machine code is made for: accumulations, stacks, strong products.
        if seed % 4 == 0
            && let Ok(along) = cotangent_transform::reverse(&simpler)
        {
            let along = simplify(&along);
            let x = point(&along, seed);
            check_usual(&format!("seed {seed} backwards, usual"), &along, &x, &mut tally);
        }
    }
    assert!(tally.usual as u64 > 2 * count, "{}", tally.usual);
    println!("{} are the same, {} left out", tally.same, tally.left.len());
    assert!(tally.same > 2 * tally.left.len());
}
