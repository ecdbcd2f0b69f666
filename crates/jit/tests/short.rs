//! Loops over short arrays, which stand in registers, are written in place, carried as rows of others, and computed where they are
//! needed: machine code is what the interpreter says.

use cotangent_ir::{Function, parse};
use cotangent_jit::{Compiled, Llvm, Options};
use cotangent_numbers::Plain;
use cotangent_optimize::simplify;
use cotangent_transform::gradient;
use fastrand::Rng;

/// A loop of random operations on arrays that it carries, and on rows of a matrix.
fn random(seed: u64, operations: usize) -> (Function, usize) {
    let mut rng = Rng::with_seed(seed);
    let (len, rounds) = (rng.usize(2..36), rng.usize(0..7));
    let rows = rounds + 2;
    let mut arrays: Vec<String> = ["%a", "%b", "%c", "%d"].map(String::from).to_vec();
    let mut numbers = vec!["%s".to_string(), "0.5".to_string(), "-2.0".to_string()];
    let mut text = "%h = iadd %i, 1 %w0 = ld %w[%i] %w1 = ld %w[%h]\n".to_string();
    arrays.extend(["%w0".to_string(), "%w1".to_string()]);
    for k in 0..operations {
        // What is new is used more than what is old.
        let pick = |rng: &mut Rng, of: &[String]| match rng.bool() {
            true => of[rng.usize(..of.len())].clone(),
            false => of[of.len() - 1 - rng.usize(..of.len().min(4))].clone(),
        };
        let (x, y) = (pick(&mut rng, &arrays), pick(&mut rng, &arrays));
        let number = pick(&mut rng, &numbers);
        let place = rng.usize(..len);
        text += &match rng.u8(..16) {
            0..3 => format!("%v{k} = mul {x}, {y}\n"),
            3..5 => format!("%v{k} = add {x}, {y}\n"),
            5 => format!("%v{k} = sub {x}, {y}\n"),
            6..9 => format!("%v{k} = tanh {x}\n"),
            9..11 => format!("%v{k} = sin {x}\n"),
            11 => format!("%v{k} = neg {x}\n"),
            12 | 13 => format!("%v{k} = mul {x}, {number}\n"),
            14 => format!("%e{k} = ld {x}[{place}] %v{k} = put {y}[{place}], %e{k}\n"),
            _ => {
                numbers.push(format!("%n{k}"));
                format!(
                    "%v{k} = sin {x} %m{k} = red sum (%j < {len}) {{ %q = ld %v{k}[%j] yield %q }} \
                     %n{k} = mul %m{k}, 0.125\n"
                )
            }
        };
        arrays.push(format!("%v{k}"));
    }
    let any = |rng: &mut Rng| arrays[rng.usize(..arrays.len())].clone();
    // Carries are what was made, one another, or rows that are only read.
    let mut next = || match rng.u8(..4) {
        0 => ["%w0", "%w1", "%a", "%b"][rng.usize(..4)].to_string(),
        _ => any(&mut rng),
    };
    let (a, b, c, d) = (next(), next(), next(), next());
    let last = numbers.last().cloned().unwrap_or_default();
    // Values stay small.
    text += &format!(
        "%a1 = tanh {a} %z = red sum (%j < {len}) {{ %q = ld {b}[%j] %r = sin %q yield %r }} \
         %t1 = add %t, %z %t2 = mul {last}, 0.01 %t3 = add %t1, %t2\n"
    );
    let head = format!("for %i < {rounds} (%a = %x, %b = %y, %c = %x, %d = %w2, %t = 0.0)");
    let source = format!(
        "fn @f(%x: [{len}]f64, %y: [{len}]f64, %w: [{rows}, {len}]f64, %s: f64) -> f64 {{
           %w2 = ld %w[1]
           %ra, %rb, _, _, %rt = {head} {{ {text} yield %a1, {b}, {c}, {d}, %t3 }}
           %p = red sum (%j < {len}) {{ %u = ld %ra[%j] %v = ld %rb[%j] %q = sin %v %r = mul %u, %q yield %r }}
           %o = add %p, %rt
           ret %o
         }}"
    );
    let f = parse(&source).unwrap_or_else(|e| panic!("{source}\n{e}"));
    (f, 2 * len + rows * len + 1)
}

/// A run of the interpreter: on singles, if the program is of those.
fn interpreted(f: &Function, x: &[f64], singles: bool) -> Vec<f64> {
    if !singles {
        return f.run(x).unwrap();
    }
    let x: Vec<Plain<f32>> = x.iter().map(|x| Plain(*x as f32)).collect();
    f.run(&x).unwrap().into_iter().map(|y| f64::from(y.0)).collect()
}

#[test]
fn loops_over_short_arrays_are_what_the_interpreter_says() {
    if Llvm::get().is_err() {
        return;
    }
    for seed in 0..40 {
        // Few operations, and more than registers hold.
        let (f, count) = random(seed, if seed % 2 == 0 { 9 } else { 70 });
        let mut rng = Rng::with_seed(seed);
        let x: Vec<f64> = (0..count).map(|_| f64::from((rng.f64() - 0.5) as f32)).collect();
        for f in [simplify(&f), simplify(&gradient(&f).unwrap())] {
            // Sums over lanes have an order of their own, and are carried from round to round.
            for (singles, options, bound) in [
                (false, Options::default().exact(), 1e-11),
                (false, Options::default(), 1e-9),
                (true, Options::default(), 2e-3),
            ] {
                let f = if singles { &f.in_singles() } else { &f };
                let expected = interpreted(f, &x, singles);
                let compiled = Compiled::new(f, &options).unwrap();
                let found = compiled.run(&x, &mut compiled.workspace()).unwrap();
                assert_eq!(found.len(), expected.len(), "seed {seed}");
                let largest = expected.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
                for (a, b) in found.iter().zip(&expected) {
                    let close = (a - b).abs() <= bound * largest;
                    assert!(close, "seed {seed}: {a} and {b} {singles}\n{f}");
                }
            }
        }
    }
}
