//! Loops in tables, and tables in loops: the same numbers.

use cotangent_ir::{
    Function, IndexTable, Traced, TracedArray, TracedIndex, cond, fori, map_over, sum_over,
    trace_arrays,
};
use cotangent_numbers::Elementary;
use cotangent_optimize::{Options, optimize};
use cotangent_transform::gradient;

/// How long the arrays are that loops carry.
const LONG: usize = 7;
const ROUNDS: usize = 40;

/// What a round has: the same at all points, and not.
#[derive(Clone)]
struct State {
    shared: (TracedArray, Traced),
    own: (TracedArray, Traced),
}

/// A number that depends on what is shared alone, or on all.
fn number(random: &mut fastrand::Rng, state: &State, i: TracedIndex, all: bool) -> Traced {
    let table = IndexTable::new(&(0..ROUNDS).map(|_| random.usize(..LONG)).collect::<Vec<_>>());
    let (array, scalar) = if all && random.bool() { state.own } else { state.shared };
    let element = array.at(table.at(i));
    match random.u8(..6) {
        0 => (element * 0.5).sin(),
        1 => (scalar * 0.3).tanh() + element,
        2 => scalar * element * 0.2,
        3 => sum_over(0..LONG, |k| array.at(k) * 0.1) - scalar * 0.5,
        4 => cond(element.greater(scalar), || (element * 0.4).cos(), || scalar * 0.3),
        _ => map_over(0..LONG, |k| (array.at(k) + scalar).sin()).at(table.at(i)),
    }
}

/// One round: some elements are written, or all.
fn round(seed: u64, state: &State, i: TracedIndex) -> State {
    let mut random = fastrand::Rng::with_seed(seed);
    let place = |random: &mut fastrand::Rng| {
        IndexTable::new(&(0..ROUNDS).map(|_| random.usize(..LONG)).collect::<Vec<_>>()).at(i)
    };
    let mut new = state.clone();
    for _ in 0..random.usize(1..4) {
        let x = number(&mut random, state, i, false);
        match random.u8(..3) {
            0 => new.shared.1 = x * 0.9,
            1 => new.shared.0 = new.shared.0.with(place(&mut random), x),
            _ => new.shared.0 = map_over(0..LONG, |k| (state.shared.0.at(k) - x) * 0.8),
        }
    }
    for _ in 0..random.usize(1..4) {
        let (x, y) = (number(&mut random, state, i, true), number(&mut random, state, i, false));
        match random.u8(..4) {
            0 => new.own.1 = x * y + state.own.1 * 0.5,
            1 => new.own.0 = new.own.0.with(place(&mut random), x + y),
            2 => new.own.0 = map_over(0..LONG, |k| (state.own.0.at(k) * y - x) * 0.4),
            _ => new.own.0 = map_over(0..LONG, |k| state.own.0.at(k) * 0.9 + state.shared.0.at(k)),
        }
    }
    new
}

/// A table over points, each with a loop of its own.
fn program(seed: u64) -> Function {
    trace_arrays("f", &[&[LONG], &[6]], |x| {
        let table = map_over(0..6, |point| {
            let own = x[1].at(point);
            let start = State {
                shared: (x[0], Traced::constant(0.3)),
                own: (TracedArray::zeros([LONG]), own),
            };
            let carried = |s: State| (s.shared, s.own);
            let end = fori(ROUNDS, carried(start), |i, (shared, own)| {
                carried(round(seed, &State { shared, own }, i))
            });
            let (_, (array, scalar)) = end;
            sum_over(0..LONG, |k| array.at(k) * (scalar + own)) + end.0.1
        });
        sum_over(0..6, |p| table.at(p) * x[1].at(p))
    })
    .unwrap()
}

#[test]
fn random_loops_in_tables() {
    let mut apart = 0;
    for seed in 0..80 {
        let f = program(seed);
        let x: Vec<f64> = (0..LONG + 6).map(|k| (k as f64 * 0.7 + seed as f64).sin()).collect();
        for (what, f) in [("value", f.clone()), ("gradient", gradient(&f).unwrap())] {
            let optimised = optimize(&f, &Options::exact());
            apart += usize::from(optimised.stats.rules.contains_key("distribute"));
            let new = optimised.function;
            new.verify().unwrap_or_else(|e| panic!("{seed}: {e}\n{new}"));
            let (a, b) = (f.run(&x).unwrap(), new.run(&x).unwrap());
            let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&a), bits(&b), "{what} {seed}\n{f}\n{new}");
        }
    }
    assert!(apart > 20, "{apart}");
}

/// Stacks whose length a loop decides differ from point to point: no table of them.
#[test]
fn loops_with_stacks_of_unknown_length_stay_in_tables() {
    let f = cotangent_ir::parse(
        "fn @f(%d0: [4]f64) -> [4]f64 {
           %o = tab (%p < 4) {
             %dp = ld %d0[%p]
             %a, %b = for %i < 50 (%s = 1.0, %t = %dp) {
               %x, %st, %m = while (%y = %s) { %c = gt %y, 0.3 yield %c } do {
                 %z = mul %y, 0.7
                 %z2 = sin %z
                 yield %z2, %z
               }
               %x1 = add %x, 1.0
               %e = exp %st
               %e2 = mul %e, %t
               %u = for %k < %m (%v = 0.0) { %l = ld %e2[%k] %v2 = add %v, %l yield %v2 }
               yield %x1, %u
             }
             yield %b
           }
           ret %o
         }",
    )
    .unwrap();
    let simpler = cotangent_optimize::simplify(&f);
    simpler.verify().unwrap();
    let x = [0.5, 0.25, -1.0, 2.0];
    assert_eq!(simpler.run(&x).unwrap(), f.run(&x).unwrap());
}
