//! Re-rolled functions do what the flat ones do.

use cotangent_ir::{Function, Structure, Traced, trace, trace_at};
use cotangent_ops::Elementary;
use cotangent_optimize::{reroll, simplify};
use cotangent_transform::{gradient, jacobian};

/// The kernels of a function, by name.
fn kernels(f: &Function) -> Vec<&'static str> {
    f.values().filter_map(|v| f.structure(v)).map(Structure::name).collect()
}

fn rolled(f: &Function) -> Function {
    let flat = simplify(f);
    let new = reroll(&flat, flat.params().len(), &[]).expect("it repeats itself");
    new.verify().expect("it is well formed");
    simplify(&new)
}

fn close(a: &[f64], b: &[f64], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        let same = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-11 * b.abs().max(1.0);
        assert!(same, "{what}: {k}: {a} and {b}");
    }
}

fn point(n: usize, random: &mut fastrand::Rng) -> Vec<f64> {
    (0..n).map(|_| random.f64() * 2.0 - 0.7).collect()
}

/// The function and its Jacobian, flat and re-rolled.
fn same(f: &Function, n: usize) -> Function {
    let new = rolled(f);
    let mut random = fastrand::Rng::with_seed(n as u64);
    let derived = (simplify(&jacobian(f).unwrap()), simplify(&jacobian(&new).unwrap()));
    for _ in 0..3 {
        let x = point(n, &mut random);
        close(&new.run(&x).unwrap(), &f.run(&x).unwrap(), "values");
        close(&derived.1.run(&x).unwrap(), &derived.0.run(&x).unwrap(), "derivatives");
    }
    new
}

#[test]
fn sums_of_rounds() {
    // Two terms a round, and one that is taken away.
    let f = trace("f", 90, |x| {
        let mut s = x[0] * 0.0;
        for i in 0..89 {
            let d = x[i + 1] - x[i] * x[i];
            s = s + d * d * 100.0 + d.sin() - x[i];
        }
        vec![s]
    })
    .unwrap();
    assert_eq!(kernels(&same(&f, 90)), ["red"]);
}

#[test]
fn results_of_a_stencil() {
    let n = 120;
    let f = trace("f", n, |x| {
        let at = |i: usize| x[i % n];
        (0..n).map(|i| at(i + 1) - at(i) * 2.0 + at(i + n - 1) * at(i).exp()).collect()
    })
    .unwrap();
    let new = same(&f, n);
    assert_eq!(kernels(&new).len(), 1, "{new}");
    // The ring closes outside the kernel: inside, all is read at even steps.
    assert!(!new.to_string().contains("table"), "{new}");
}

#[test]
fn shared_intermediates_become_arrays() {
    let f = trace("f", 200, |x| {
        let y: Vec<Traced> = x.iter().map(|x| x.sin() * x.exp()).collect();
        (0..199).map(|i| y[i] * y[i + 1] + (y[i] - x[3]).tanh()).collect()
    })
    .unwrap();
    assert_eq!(kernels(&same(&f, 200)), ["tab", "tab"]);
}

#[test]
fn tables_where_nothing_is_even() {
    let mut random = fastrand::Rng::with_seed(5);
    let edges: Vec<(usize, usize, f64)> =
        (0..150).map(|_| (random.usize(..80), random.usize(..80), random.f64())).collect();
    let f = trace("f", 80, |x| {
        let spring = |(i, j, l): &(usize, usize, f64)| {
            let d = x[*i].sin() - x[*j] * x[*j];
            (d - *l).powi(2)
        };
        vec![edges.iter().map(spring).fold(x[0] * 0.0, |s, e| s + e)]
    })
    .unwrap();
    let new = same(&f, 80);
    assert!(new.to_string().contains("table"), "{new}");
}

#[test]
fn the_largest_and_ties() {
    let f = trace("f", 100, |x| {
        let m = x[1..].iter().fold(x[0], |m, x| m.max(*x));
        let s = x.iter().fold(x[0] * 0.0, |s, x| s + (*x - m).exp());
        vec![s.ln() + m]
    })
    .unwrap();
    let new = same(&f, 100);
    assert_eq!(kernels(&new), ["red", "red"]);
    let (one, two) = (gradient(&f).unwrap(), gradient(&new).unwrap());
    let mut x = vec![0.25; 100];
    close(&two.run(&x).unwrap(), &one.run(&x).unwrap(), "all equal");
    x[70] = f64::NAN;
    close(&new.run(&x).unwrap(), &f.run(&x).unwrap(), "not a number");
    x[70] = f64::NEG_INFINITY;
    close(&two.run(&x).unwrap(), &one.run(&x).unwrap(), "infinite");
}

#[test]
fn what_depends_on_itself_stays() {
    // A recurrence has no like parts that stand side by side.
    let f = trace("f", 100, |x| vec![x[1..].iter().fold(x[0], |y, x| (y * *x).sin())]).unwrap();
    assert!(reroll(&f, 100, &[]).is_none());
    let few = trace("f", 20, |x| x.iter().map(|x| x.sin()).collect()).unwrap();
    assert!(reroll(&few, 20, &[]).is_none());
}

#[test]
fn constants_come_in_an_array_of_their_own() {
    let f = trace("f", 200, |x| {
        vec![(0..100).fold(x[0] * 0.0, |s, i| s + (x[i] - x[100 + i]).powi(2) * (i as f64).sqrt())]
    })
    .unwrap();
    let new = reroll(&simplify(&f), 100, &[]).unwrap();
    assert_eq!(new.params().len(), 2);
    let x: Vec<f64> = (0..200).map(|i| f64::from(i).cos()).collect();
    close(&new.run(&x).unwrap(), &f.run(&x).unwrap(), "values");
}

#[test]
fn results_in_several_arrays() {
    let f = trace("f", 100, |x| {
        let sum = x.iter().fold(x[0] * 0.0, |s, x| s + x.exp());
        let squares = x.iter().map(|x| *x * *x);
        let rest = x.iter().map(|x| (*x / sum).sin());
        std::iter::once(sum).chain(squares).chain(rest).collect()
    })
    .unwrap();
    let new = simplify(&reroll(&simplify(&f), 100, &[1, 101]).unwrap());
    assert_eq!(new.results().len(), 3);
    // The tables are one with two results.
    assert_eq!(kernels(&new), ["red", "tab"]);
    let x: Vec<f64> = (0..100).map(|i| f64::from(i).cos()).collect();
    close(&new.run(&x).unwrap(), &f.run(&x).unwrap(), "values");
}

#[test]
fn guards_stay() {
    let x = vec![0.5; 100];
    let f = trace_at("f", &x, |x| {
        let shift = if x[7] > Traced::constant(0.0) { x[1] } else { x[2] };
        vec![x.iter().fold(x[0] * 0.0, |s, x| s + (*x + shift).sin())]
    })
    .unwrap();
    let new = rolled(&f);
    assert_eq!(new.guards().len(), 1);
    close(&new.run(&x).unwrap(), &f.run(&x).unwrap(), "values");
    assert!(new.run(&[-1.0; 100]).is_err());
}

/// One operation of a random loop.
fn step(random: &mut fastrand::Rng, pool: &[Traced]) -> Traced {
    let mut any = || pool[random.usize(..pool.len())];
    let (a, b) = (any(), any());
    match random.u8(..8) {
        0 => a + b,
        1 => a - b,
        2 => a * b,
        3 => a.sin(),
        4 => (a * 0.5).tanh(),
        5 => a.max(b),
        6 => a * (f64::from(random.u8(..9)) * 0.25),
        _ => (b * b + 1.0).sqrt() - a,
    }
}

#[test]
fn random_loops() {
    let mut found = 0;
    for seed in 0..60 {
        let random = fastrand::Rng::with_seed(seed);
        let n = 70 + seed as usize;
        let f = trace("f", n, |x| {
            let mut random = random.clone();
            let mut layers = vec![x.to_vec()];
            let mut sums = Vec::new();
            for _ in 0..random.usize(1..4) {
                // The same random body at every place, some of them special.
                let (seed, special) = (random.u64(..), random.usize(..n));
                let offsets: Vec<usize> = (0..4).map(|_| random.usize(..n)).collect();
                let source = layers.last().unwrap().clone();
                let layer: Vec<Traced> = (0..source.len())
                    .map(|i| {
                        let mut random = fastrand::Rng::with_seed(seed);
                        let mut pool: Vec<Traced> =
                            offsets.iter().map(|o| source[(i + o) % source.len()]).collect();
                        for _ in 0..random.usize(1..8) {
                            let next = step(&mut random, &pool);
                            pool.push(next);
                        }
                        let last = pool[pool.len() - 1];
                        if i == special { last * last } else { last }
                    })
                    .collect();
                if random.bool() {
                    let terms = layer.iter().enumerate();
                    let scale = |(i, t): (usize, &Traced)| *t * ((i % 7) as f64 + 0.5);
                    sums.push(terms.map(scale).fold(x[0] * 0.0, |s, t| s + t));
                }
                layers.push(layer);
            }
            if sums.is_empty() { layers.pop().unwrap() } else { sums }
        })
        .unwrap();
        let flat = simplify(&f);
        let Some(new) = reroll(&flat, n, &[]) else { continue };
        found += 1;
        new.verify().unwrap_or_else(|e| panic!("{seed}: {e}"));
        let new = simplify(&new);
        let mut random = fastrand::Rng::with_seed(seed + 1000);
        let derived = [&flat, &new].map(|f| simplify(&jacobian(f).unwrap()));
        for _ in 0..2 {
            let x = point(n, &mut random);
            let what = format!("seed {seed}\n{new}");
            close(&new.run(&x).unwrap(), &flat.run(&x).unwrap(), &what);
            close(&derived[1].run(&x).unwrap(), &derived[0].run(&x).unwrap(), &what);
        }
    }
    assert!(found > 40, "only {found} of them were re-rolled");
}
