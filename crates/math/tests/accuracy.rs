//! Errors of doubles and singles against correctly rounded references.

#![allow(clippy::print_stdout, reason = "the largest errors are worth seeing")]

mod common;

use common::{everywhere, reference, size, ulps_of, ulps_of_f32};
use cotangent_math::{Level, Unary, apply_at, apply_f32, apply_f64, cos, sin, sin_cos};

/// The largest error allowed, in units of the last place.
const LIMIT: f64 = 2.0;

#[test]
fn doubles_are_within_two_units_of_the_last_place() {
    doubles(1, 60_000);
}

#[test]
#[ignore = "takes minutes; run with --release"]
fn many_doubles_are_within_two_units_of_the_last_place() {
    doubles(5, 2_000_000);
}

/// Six numbers for each of `count`.
fn doubles(seed: u64, count: usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let x = everywhere(&mut random, count);
    let mut out = vec![0.0; x.len()];
    let mut failed = Vec::new();
    for &function in Unary::ALL {
        let reference = reference(function);
        apply_f64(function, &x, &mut out);
        let mut worst = (0.0, 0.0, 0.0);
        for (&x, &y) in x.iter().zip(&out) {
            let want = reference(x);
            let error = ulps_of(y, want, size(function, x, want));
            if error > worst.0 {
                worst = (error, x, y);
            }
        }
        let (error, x, y) = worst;
        let line = format!("{function:?} {error} at {x:e}: {y:e}, not {:e}", reference(x));
        println!("f64 {line}");
        if error > LIMIT {
            failed.push(line);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn singles_are_within_two_units_of_the_last_place() {
    let x: Vec<f32> = (0..=u32::MAX).step_by(9973).map(f32::from_bits).collect();
    let mut out = vec![0.0; x.len()];
    let mut failed = Vec::new();
    for &function in Unary::ALL {
        let reference = reference(function);
        apply_f32(function, &x, &mut out);
        let mut worst = (0.0, 0.0, 0.0);
        for (&x, &y) in x.iter().zip(&out) {
            let want = reference(f64::from(x));
            let error = ulps_of_f32(y, want, size(function, f64::from(x), want));
            if error > worst.0 {
                worst = (error, x, y);
            }
        }
        let (error, x, y) = worst;
        let line =
            format!("{function:?} {error:.4} at {x:e}: {y:e}, not {:e}", reference(f64::from(x)));
        println!("f32 {line}");
        if error > LIMIT {
            failed.push(line);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// All 2³² singles, against doubles of this crate, which the test above holds to the references.
/// With `MATH_ONLY=Sin,Cos` in the environment, only these are tried.
#[test]
#[ignore = "takes minutes; run with --release"]
fn every_single_is_within_two_units_of_the_last_place() {
    let only = std::env::var("MATH_ONLY").unwrap_or_default();
    const CHUNK: u32 = 1 << 16;
    let mut failed = Vec::new();
    for &function in Unary::ALL {
        if !only.is_empty() && !only.split(',').any(|name| name == format!("{function:?}")) {
            continue;
        }
        let mut worst = (0.0, 0.0, 0.0, 0.0);
        let mut out = vec![0.0; CHUNK as usize];
        let mut want = vec![0.0; CHUNK as usize];
        for start in (0..=u32::MAX).step_by(CHUNK as usize) {
            let x: Vec<f32> = (0..CHUNK).map(|i| f32::from_bits(start + i)).collect();
            let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            apply_f32(function, &x, &mut out);
            apply_f64(function, &wide, &mut want);
            for i in 0..CHUNK as usize {
                // Correctly rounded, or next to it.
                if out[i] == want[i] as f32 && out[i] != 0.0 {
                    continue;
                }
                let error = ulps_of_f32(out[i], want[i], size(function, wide[i], want[i]));
                if error > worst.0 {
                    worst = (error, x[i], out[i], want[i]);
                }
            }
        }
        let (error, x, y, want) = worst;
        let line = format!("{function:?} {error:.4} at {x:e}: {y:e}, not {want:e}");
        println!("every f32 {line}");
        if error > LIMIT {
            failed.push(line);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn all_ways_give_the_same_bits() {
    let mut random = fastrand::Rng::with_seed(2);
    let x = everywhere(&mut random, 20_000);
    let x32: Vec<f32> = (0..=u32::MAX).step_by(39_119).map(f32::from_bits).collect();
    for &function in Unary::ALL {
        let bits = |level| {
            let mut out = vec![0.0; x.len()];
            apply_at(level, function, &x, &mut out);
            let mut out32 = vec![0.0; x32.len()];
            apply_at(level, function, &x32, &mut out32);
            (out, out32)
        };
        let plain = bits(Level::Plain);
        let same = |other: &(Vec<f64>, Vec<f32>), name: &str| {
            for i in 0..x.len() {
                let (a, b) = (plain.0[i], other.0[i]);
                let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                assert!(same, "{function:?} at {:e}: {a:e}, {name} {b:e}", x[i]);
            }
            for i in 0..x32.len() {
                let (a, b) = (plain.1[i], other.1[i]);
                let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                assert!(same, "{function:?} at {:e}: {a:e}, {name} {b:e}", x32[i]);
            }
        };
        same(&bits(Level::Avx2), "AVX2");
        same(&bits(Level::Avx512), "AVX-512");
        let one = (
            x.iter().map(|&x| function.apply(x)).collect(),
            x32.iter().map(|&x| function.apply(x)).collect(),
        );
        same(&one, "one by one");
        let packs = (
            common::packs::<f64, 8>(&x, |x| function.call(x)),
            common::packs::<f32, 16>(&x32, |x| function.call(x)),
        );
        same(&packs, "packs");
    }
}

#[test]
fn sine_and_cosine_together_are_those_apart() {
    let mut random = fastrand::Rng::with_seed(6);
    for x in everywhere(&mut random, 1000) {
        let (sine, cosine) = sin_cos(x);
        assert!(sine.to_bits() == sin(x).to_bits() || x.is_nan() || x.is_infinite());
        assert!(cosine.to_bits() == cos(x).to_bits() || x.is_nan() || x.is_infinite());
    }
}
