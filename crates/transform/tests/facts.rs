//! What is known of values holds of them when they are computed.

use cotangent_ir::{Fact, Function, Type, parse};
use cotangent_testkit::programs::{Options, arguments, random};

/// The function with all its scalar numbers and integers as results, as far as they are outside of bodies.
fn all_scalars(f: &Function) -> Option<(Function, Vec<usize>)> {
    let values: Vec<_> = f
        .values()
        .filter(|v| f.ty(*v).is_scalar() && f.ty(*v) != Type::PARTS && f.ty(*v) != Type::BOOL)
        .collect();
    let mut b = cotangent_ir::Builder::new(f.name());
    let args = b.params_of(f.params());
    let mut copies = cotangent_ir::Copied::new(f.len());
    f.values().for_each(|v| copies.value(&mut b, f, v, &args));
    let results: Vec<_> = values.iter().map(|v| copies.get(*v)).collect::<Option<_>>()?;
    Some((b.finish(results), values.iter().map(|v| v.index()).collect()))
}

#[test]
fn facts_hold_of_random_programs() {
    let (mut bounded, mut finite, mut ranges) = (0, 0, 0);
    for seed in 0..400 {
        let options = Options { operations: 5 + seed as usize % 120, ..Options::default() };
        let f = random(seed, &options);
        let x = arguments(&f, seed);
        // Each parameter lies where its numbers do.
        let mut at = 0;
        let params: Vec<Fact> = f
            .params()
            .iter()
            .map(|p| {
                let entries = &x[at..at + p.ty.len().unwrap()];
                at += entries.len();
                let low = entries.iter().copied().fold(f64::INFINITY, f64::min);
                let high = entries.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if !p.ty.is_float() || entries.is_empty() {
                    return Fact::default();
                }
                Fact::between(low, high)
            })
            .collect();
        let facts = f.facts(&params);
        let Some((all, places)) = all_scalars(&f) else { continue };
        for (y, place) in all.run(&x).unwrap().iter().zip(places) {
            let fact = facts[place];
            assert!(y.is_nan() || fact.bounds.contains(*y), "seed {seed}: {y} {fact:?}\n{f}");
            assert!(!fact.finite || y.is_finite(), "seed {seed}: {y} {fact:?}\n{f}");
            if let Some((low, high)) = fact.range {
                let inside = low as f64 <= *y && *y <= high as f64;
                assert!(inside, "seed {seed}: {y} {fact:?}\n{f}");
                ranges += 1;
            }
            bounded += usize::from(fact.bounds.width().is_finite());
            finite += usize::from(fact.finite);
        }
    }
    assert!(bounded > 1500 && finite > 1500 && ranges > 500, "{bounded} {finite} {ranges}");
}

#[track_caller]
fn fact(text: &str) -> Fact {
    let f = parse(text).unwrap();
    f.facts(&[])[f.results()[0].index()]
}

#[test]
fn lists_without_repetition_and_symmetric_matrices_are_seen() {
    let order = "fn @f(%x: [5]f64) -> [5]i64 { %o = argsort %x ret %o }";
    assert!(fact(order).unique);
    let turned = |step: &str| {
        format!("fn @f() -> [5]i64 {{ %o = tab (%i < 5) {{ {step} yield %k }} ret %o }}")
    };
    assert!(fact(&turned("%k = isub 4, %i")).unique);
    assert!(fact(&turned("%j = imul %i, 2 %k = iadd %j, 1")).unique);
    assert!(!fact(&turned("%k = irem %i, 2")).unique);
    assert_eq!(fact(&turned("%k = irem %i, 2")).range, Some((0, 1)));
    let matrix = |body: &str| {
        format!(
            "fn @f(%x: [3]f64, %a: [3, 3]f64) -> [3, 3]f64 {{ %m = tab (%i < 3, %j < 3) {{ {body} yield %r }} %s = sin %m ret %s }}"
        )
    };
    assert!(fact(&matrix("%u = ld %x[%i] %v = ld %x[%j] %r = mul %u, %v")).symmetric);
    assert!(fact(&matrix("%u = ld %a[%i, %j] %v = ld %a[%j, %i] %r = add %u, %v")).symmetric);
    assert!(!fact(&matrix("%u = ld %a[%i, %j] %v = ld %a[%j, %i] %r = sub %u, %v")).symmetric);
}
