//! Functions of plain numbers have the same bits one by one and in blocks, and are what the table says.

use cotangent_ir::functions::{is_function, on_lanes};
use cotangent_ir::{Batch, Builder, Function, Type};
use cotangent_numbers::Plain;
use cotangent_ops::{Apply, Opcode};

/// Everything from 0 and NaN to the usual.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -3.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e-310,
        1e300,
    ];
    let mut random = fastrand::Rng::with_seed(seed);
    let one = |k: usize| match k % 4 {
        0 => special[random.usize(..special.len())],
        1 => (random.f64() - 0.5) * 2000.0,
        _ => random.f64() * 10.0,
    };
    (0..count).map(one).collect()
}

/// All operations of one and two operands, with the parameters that some take.
fn operations() -> Vec<(Opcode, i32)> {
    let all = Opcode::ALL.iter().filter(|code| code.info().arity < 3);
    let with = |code: &Opcode| match code {
        Opcode::Powi => vec![-40, -3, 0, 2, 5, 16, 17, 100],
        _ if cotangent_ir::takes_parameter(*code) => vec![1],
        _ => vec![0],
    };
    all.flat_map(|code| with(code).into_iter().map(|n| (*code, n))).collect()
}

fn program(code: Opcode, parameter: i32) -> Function {
    let mut b = Builder::new("f");
    let operands: Vec<_> =
        ["x", "y"].iter().take(code.info().arity).map(|name| b.param(*name, Type::F64)).collect();
    let y = b.elementary(code, parameter, &operands);
    b.finish(vec![y])
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

#[test]
fn one_by_one_in_blocks_and_on_lanes() {
    const N: usize = 301;
    let (x, y) = (numbers(N, 1), numbers(N, 2));
    for (code, parameter) in operations() {
        let f = program(code, parameter);
        let arity = code.info().arity;
        let points: Vec<f64> = (0..N).flat_map(|i| [x[i], y[i]].into_iter().take(arity)).collect();
        let block = Batch::new(&f).run(&points, N).unwrap();
        let short: Vec<Plain<f32>> = points.iter().map(|x| Plain(*x as f32)).collect();
        let short_block = Batch::new(&f).run(&short, N).unwrap();
        for i in 0..N {
            let what = format!("{} {parameter} at {} {}", code.info().name, x[i], y[i]);
            let one = f.run(&points[arity * i..arity * (i + 1)]).unwrap()[0];
            assert!(same(one, block[i]), "{what}: {one} alone, {} in a block", block[i]);
            let single = f.run(&short[arity * i..arity * (i + 1)]).unwrap()[0].0;
            let beside = short_block[i].0;
            assert!(same(single.into(), beside.into()), "{what}: {single} and {beside}");
            if is_function(code, parameter) {
                let lanes = on_lanes(code, parameter, x[i], y[i]).unwrap();
                assert!(same(lanes, one), "{what}: {lanes} on lanes, {one} here");
            }
        }
    }
}

#[test]
fn they_are_what_the_table_says_but_for_the_last_digits() {
    let (x, y) = (numbers(400, 3), numbers(400, 4));
    for (code, parameter) in operations() {
        let f = program(code, parameter);
        for (x, y) in x.iter().zip(&y) {
            let found = f.run(&[*x, *y][..code.info().arity]).unwrap()[0];
            let expected: f64 = code.visit(parameter, Apply([*x, *y, 0.0]));
            let what = format!("{} {parameter} at {x} {y}", code.info().name);
            let ulps = f64::from(2 * code.info().ulps.max(1));
            let near = match code {
                // Near a zero the error is absolute.
                Opcode::LnGamma | Opcode::Digamma => 1e-12 * (1.0 + expected.abs()),
                // Exponents up to 1000 times the logarithm: the table's own powers are that far off.
                Opcode::Powi => 1e-12 * expected.abs(),
                _ => (ulps * f64::EPSILON * expected.abs()).max(f64::MIN_POSITIVE),
            };
            let close = same(found, expected) || (found - expected).abs() <= near;
            assert!(close, "{what}: {found:e}, not {expected:e}");
        }
    }
}
