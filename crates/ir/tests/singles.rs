//! Programs of doubles as programs of singles: well formed, and the same but for the digits that singles lack.

use std::fs;

use cotangent_ir::{Dim, Element, Function, Op, Structure, Type, parse, parse_all};
use cotangent_numbers::Plain;
use cotangent_testkit::{files, programs};

/// Whether there are doubles anywhere.
fn has_doubles(f: &Function) -> bool {
    let of = |ty: Type| ty != Type::PARTS && ty.element() == Element::F64;
    f.values().any(|v| {
        of(f.ty(v)) || f.structure(v).is_some_and(|s| s.bodies().any(|body| has_doubles(body)))
    })
}

/// Whether it cannot be run, or not everywhere: derivatives, and loops that may not end.
fn is_open(f: &Function) -> bool {
    f.values().any(|v| {
        f.structure(v).is_some_and(|s| {
            let own = matches!(s, Structure::Derive(_) | Structure::While { .. });
            own || s.bodies().any(|body| is_open(body))
        })
    })
}

/// The program in singles, once it has been looked at.
#[track_caller]
fn in_singles(f: &Function, what: &str) -> Function {
    let g = f.in_singles();
    assert!(g.verify().is_ok(), "{what}: {:?}\n{f}\n{g}", g.verify());
    assert!(!has_doubles(&g), "{what}\n{g}");
    assert_eq!(g.guards().len(), f.guards().len(), "{what}");
    assert_eq!(g.in_singles(), g, "{what}");
    match parse(&g.to_string()) {
        Ok(again) => assert_eq!(again, g, "{what}\n{g}\n{again}"),
        Err(error) => panic!("{what}: {error}\n{g}"),
    }
    g
}

/// How many programs were the same, and which were not.
#[derive(Default)]
struct Tally {
    same: usize,
    apart: Vec<String>,
}

/// Compares both on singles.
fn compare(f: &Function, g: &Function, x: &[f64], what: &str, tally: &mut Tally) {
    let x: Vec<Plain<f32>> = x.iter().map(|x| Plain(*x as f32)).collect();
    let doubles: Vec<f64> = x.iter().map(|x| f64::from(x.0)).collect();
    let (Ok(a), Ok(b)) = (g.run(&x), f.run(&doubles)) else { return };
    assert_eq!(a.len(), b.len(), "{what}");
    let scale = b.iter().filter(|b| b.is_finite()).fold(1.0, |m: f64, b| m.max(b.abs()));
    for (k, (a, b)) in a.iter().zip(&b).enumerate() {
        let a = f64::from(a.0);
        let large = b.abs() > f64::from(f32::MAX) && a.is_infinite();
        let close = (a - b).abs() <= 1e-3 * scale || a.is_nan() && b.is_nan() || a == *b || large;
        if !close {
            tally.apart.push(format!("{what}: result {k}: {a} in singles, {b} in doubles\n{f}"));
            return;
        }
    }
    tally.same += 1;
}

#[test]
fn programs_in_files_and_the_library() {
    let mut tally = Tally::default();
    for path in files::paths().unwrap() {
        let Ok(all) = parse_all(&fs::read_to_string(&path).unwrap()) else { continue };
        for f in all {
            let what = format!("{} @{}", path.display(), f.name());
            if f.verify().is_err() {
                continue;
            }
            let g = in_singles(&f, &what);
            // A loop that makes errors grow ninefold a round: digits say nothing there.
            if is_open(&f) || path.ends_with("residuals/fewest_bytes.ct") {
                continue;
            }
            let names = f.params().iter().flat_map(|p| p.ty.dims());
            let sizes: Vec<(&'static str, Dim)> = names
                .filter_map(|dim| if let Dim::Symbol(name) = dim { Some(*name) } else { None })
                .map(|name| (name, Dim::Size(5)))
                .collect();
            let (f, g) = (f.specialised(&sizes), g.specialised(&sizes));
            if f.cost().total() > 1e5 {
                continue;
            }
            let mut x = Vec::new();
            for param in f.params() {
                let number = |k: usize| match param.ty.is_float() {
                    true => 0.6 + 0.3 * (k as f64).sin(),
                    false => 1.0,
                };
                x.extend((0..param.ty.len().unwrap_or(0)).map(number));
            }
            compare(&f, &g, &x, &what, &mut tally);
        }
    }
    assert!(tally.same > 100, "{}", tally.same);
    assert!(tally.apart.is_empty(), "{}", tally.apart.join("\n"));
}

#[test]
fn random_programs() {
    let mut tally = Tally::default();
    for seed in 0..500 {
        let f = programs::random(seed, &programs::Options::default());
        let what = format!("seed {seed}");
        let g = in_singles(&f, &what);
        compare(&f, &g, &programs::arguments(&f, seed), &what, &mut tally);
    }
    // The sine of a sum of 300 terms, an index that a number decides: some programs have no accuracy in singles.
    assert!(tally.same > 400, "{}", tally.same);
    assert!(tally.apart.len() < 5, "{}", tally.apart.join("\n"));
}

#[test]
fn casts_between_numbers_go_and_others_stay() {
    let f = parse(
        "fn @f(%x: f64, %y: f32, %k: i64) -> (f32, f64, i64, f64) {
           %a = cast %x : f32 %b = add %a, %y %c = cast %b : f64 %d = mul %c, %x
           %i = cast %d : i64 %j = iadd %i, %k %e = cast %j : f64 ret %b, %d, %j, %e }",
    )
    .unwrap();
    let g = in_singles(&f, "casts");
    let casts = g.values().filter(|v| g.op(*v) == Op::Cast).count();
    assert_eq!(casts, 2, "{g}");
    let x = [1.5_f32, 2.25, 7.0].map(Plain);
    let y: Vec<f32> = g.run(&x).unwrap().iter().map(|y| y.0).collect();
    assert_eq!(y, [3.75, 5.625, 12.0, 12.0]);
}

#[test]
fn guards_constants_tables_and_rules_come_along() {
    let f =
        cotangent_ir::trace_at("f", &[2.0], |x| vec![if x[0] > 0.1 { x[0] * 0.1 } else { x[0] }])
            .unwrap();
    let g = in_singles(&f, "guards");
    assert_eq!(g.guards().len(), 1);
    assert_eq!(g.run(&[Plain(2.0_f32)]).unwrap()[0].0, 2.0 * 0.1_f32);
    assert!(g.run(&[Plain(0.0_f32)]).is_err());
    // A table and a large constant: rounded, and infinite.
    let text = "fn @f(%i: i64) -> (f64, f64) { %t = table [0.1, 1e300] : [2]f64 %a = ld %t[%i] \
                %b = mul %a, 1e39 ret %a, %b }";
    let g = in_singles(&parse(text).unwrap(), "table");
    let at = |i: f32| -> Vec<f32> { g.run(&[Plain(i)]).unwrap().iter().map(|y| y.0).collect() };
    assert_eq!(at(0.0), [0.1, f32::INFINITY]);
    assert_eq!(at(1.0), [f32::INFINITY, f32::INFINITY]);
}
