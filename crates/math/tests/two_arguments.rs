//! Functions of two arguments, and whole powers, against correctly rounded references.

#![allow(clippy::print_stdout, reason = "the largest errors are worth seeing")]

mod common;

use common::{everywhere, reference2, ulps, ulps_f32};
use cotangent_math::{Binary, Level, Pack, apply_powi, apply2_at, apply2_f32, apply2_f64, powi};

/// The largest error allowed, in units of the last place.
const LIMIT: f64 = 2.0;

/// Pairs of numbers: special ones with each other, random ones, and those with powers that matter.
fn pairs() -> (Vec<f64>, Vec<f64>) {
    let mut random = fastrand::Rng::with_seed(3);
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        -f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        1e-310,
        1.0_f64.next_up(),
        1.0_f64.next_down(),
        9_007_199_254_740_991.0,
        -9_007_199_254_740_991.0,
        9_007_199_254_740_993.0,
        4_503_599_627_370_495.5,
        1e300,
        -1e300,
        // Halves and thirds of the range of exponents.
        1.3e154,
        1.5e-154,
        1e-162,
    ];
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for x in special {
        for y in special {
            xs.push(x);
            ys.push(y);
        }
    }
    let mut all = everywhere(&mut random, 2_000);
    let mut other = all.clone();
    random.shuffle(&mut all);
    random.shuffle(&mut other);
    xs.extend(all);
    ys.extend(other);
    for _ in 0..150_000 {
        // Powers that are neither 0 nor ∞.
        let x = if random.bool() {
            10.0_f64.powf(600.0 * random.f64() - 300.0)
        } else {
            1.0 + (random.f64() - 0.5) * 10.0_f64.powf(-6.0 * random.f64())
        };
        xs.push(x);
        ys.push((random.f64() - 0.5) * 1490.0 / x.ln());
        // Numbers of like size.
        let x = f64::from_bits(random.u64(..));
        xs.push(x);
        ys.push(x * (random.f64() - 0.5) * 4.0);
        // Negative numbers to whole powers.
        xs.push(-10.0 * random.f64());
        ys.push(f64::from(random.i32(-300..300)));
    }
    (xs, ys)
}

#[test]
fn doubles_and_singles_are_within_two_units_of_the_last_place() {
    let (x, y) = pairs();
    let x32: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let y32: Vec<f32> = y.iter().map(|&y| y as f32).collect();
    let mut out = vec![0.0; x.len()];
    let mut out32 = vec![0.0; x.len()];
    let mut failed = Vec::new();
    for &function in Binary::ALL {
        let reference = reference2(function);
        apply2_f64(function, &x, &y, &mut out);
        apply2_f32(function, &x32, &y32, &mut out32);
        let mut worst = (0.0, 0);
        let mut worst32 = (0.0, 0);
        for i in 0..x.len() {
            let error = ulps(out[i], reference(x[i], y[i]));
            if error > worst.0 {
                worst = (error, i);
            }
            let error = ulps_f32(out32[i], reference(f64::from(x32[i]), f64::from(y32[i])));
            if error > worst32.0 {
                worst32 = (error, i);
            }
        }
        let (error, i) = worst;
        let want = reference(x[i], y[i]);
        let line =
            format!("{function:?} {error} at {:e} {:e}: {:e}, not {want:e}", x[i], y[i], out[i]);
        println!("f64 {line}");
        if error > LIMIT {
            failed.push(line);
        }
        let (error, i) = worst32;
        let want = reference(f64::from(x32[i]), f64::from(y32[i]));
        let line = format!(
            "{function:?} {error:.4} at {:e} {:e}: {:e}, not {want:e}",
            x32[i], y32[i], out32[i]
        );
        println!("f32 {line}");
        if error > LIMIT {
            failed.push(line);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn all_ways_give_the_same_bits() {
    let (x, y) = pairs();
    let x32: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let y32: Vec<f32> = y.iter().map(|&y| y as f32).collect();
    for &function in Binary::ALL {
        for level in [Level::Plain, Level::Avx2, Level::Avx512] {
            let mut out = vec![0.0; x.len()];
            let mut out32 = vec![0.0; x.len()];
            apply2_at(level, function, &x, &y, &mut out);
            apply2_at(level, function, &x32, &y32, &mut out32);
            for i in 0..x.len() {
                let one = function.apply(x[i], y[i]);
                let same = one.to_bits() == out[i].to_bits() || one.is_nan() && out[i].is_nan();
                assert!(same, "{function:?} {level:?} at {:e} {:e}", x[i], y[i]);
                let one = function.apply(x32[i], y32[i]);
                let same = one.to_bits() == out32[i].to_bits() || one.is_nan() && out32[i].is_nan();
                assert!(same, "{function:?} {level:?} at {:e} {:e}", x32[i], y32[i]);
            }
        }
        for i in (0..x.len() - 4).step_by(4) {
            let pack = |x: &[f64]| Pack([x[i], x[i + 1], x[i + 2], x[i + 3]]);
            let got = function.call(pack(&x), pack(&y)).0;
            for k in 0..4 {
                let one = function.apply(x[i + k], y[i + k]);
                assert!(one.to_bits() == got[k].to_bits() || one.is_nan() && got[k].is_nan());
            }
        }
    }
}

#[test]
fn whole_powers_are_within_two_units_of_the_last_place() {
    let mut random = fastrand::Rng::with_seed(4);
    let mut all = everywhere(&mut random, 300);
    all.extend((0..3000).map(|_| (random.f64() - 0.5) * 4.0));
    let all32: Vec<f32> = all.iter().map(|&x| x as f32).collect();
    let mut out = vec![0.0; all.len()];
    let mut out32 = vec![0.0; all.len()];
    let mut worst = (0.0, 0.0, 0);
    let mut worst32 = (0.0, 0.0, 0);
    let exponents =
        (-70..71).chain([100, 101, -333, 1000, 1023, -1074, 65_537, i32::MAX, i32::MIN]);
    for n in exponents {
        // Powers that matter: around the n-th roots of the greatest and the least number.
        let size = 700.0 / f64::from(n).abs().max(1.0);
        let near: Vec<f64> = all.iter().map(|x| (x.sin() * size).exp().copysign(*x)).collect();
        for xs in [&all, &near] {
            apply_powi(Level::Avx512, n, xs, &mut out);
            for (&x, &y) in xs.iter().zip(&out) {
                let error = ulps(y, core_math::pow(x, f64::from(n)));
                if error > worst.0 {
                    worst = (error, x, n);
                }
                let one = powi(x, n);
                assert!(one.to_bits() == y.to_bits() || one.is_nan() && y.is_nan(), "{x:e} {n}");
            }
            apply_powi(Level::Avx2, n, xs, &mut out);
            for (&x, &y) in xs.iter().zip(&out) {
                let one = powi(x, n);
                assert!(one.to_bits() == y.to_bits() || one.is_nan() && y.is_nan(), "{x:e} {n}");
            }
        }
        apply_powi(Level::Avx512, n, &all32, &mut out32);
        for (&x, &y) in all32.iter().zip(&out32) {
            let error = ulps_f32(y, core_math::pow(f64::from(x), f64::from(n)));
            if error > worst32.0 {
                worst32 = (error, f64::from(x), n);
            }
            let one = powi(x, n);
            assert!(one.to_bits() == y.to_bits() || one.is_nan() && y.is_nan(), "{x:e} {n}");
        }
    }
    println!("f64 Powi {worst:?}");
    println!("f32 Powi {worst32:?}");
    assert!(worst.0 <= LIMIT && worst32.0 <= LIMIT);
}
