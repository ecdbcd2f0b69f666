//! How much reverse mode keeps.

use cotangent_ir::{Function, loop_lengths, parse};
use cotangent_transform::{checkpoint, gradient};

fn march(rounds: usize, size: usize) -> Function {
    parse(&format!(
        "fn @march(%x: [{size}]f64) -> f64 {{
           %y = for %i < {rounds} (%a = %x) {{
             %s = sin %a
             %h = mul %s, 1e-3
             %b = add %a, %h
             yield %b
           }}
           %r = red sum (%k < {size}) {{ %e = ld %y[%k] %q = mul %e, %e yield %q }}
           ret %r
         }}"
    ))
    .unwrap()
}

#[test]
fn lengths_are_enough_and_not_too_many() {
    for rounds in 1..300 {
        for states in 2..40 {
            match loop_lengths(rounds, states) {
                Some(lengths) => {
                    assert!(lengths.iter().product::<usize>() >= rounds, "{rounds} {states}");
                    assert!(lengths.iter().sum::<usize>() <= states, "{rounds} {states}");
                }
                // The largest product of numbers with this sum is made of threes and twos.
                None => {
                    let mut most = vec![1usize; states + 1];
                    for sum in 1..=states {
                        let products = (1..=sum).map(|n| n.saturating_mul(most[sum - n]));
                        most[sum] = products.max().unwrap_or(1);
                    }
                    assert!(most[states] < rounds, "{rounds} {states}");
                }
            }
        }
    }
}

/// The same gradient, to the bit, within a cap on the states that are kept.
#[test]
fn checkpoints_keep_few_states_and_change_nothing() {
    let (rounds, size) = (4000, 10);
    let f = march(rounds, size);
    let x: Vec<f64> = (0..size).map(|k| 0.1 + 0.2 * k as f64).collect();
    let plain = gradient(&f).unwrap();
    let expected = plain.run(&x).unwrap();
    let state = 8 * size;
    assert!(plain.peak_bytes().unwrap() >= rounds * state);
    for states in [25, 40, 100, 130] {
        let split = checkpoint(&f, states).unwrap();
        split.verify().unwrap();
        assert_eq!(split.run(&x).unwrap(), f.run(&x).unwrap());
        let few = gradient(&split).unwrap();
        few.verify().unwrap();
        // Besides the states: the point, the gradient, and what a round needs.
        let most = (states + 40) * state;
        let peak = few.peak_bytes().unwrap();
        assert!(peak <= most, "{states}: {peak} > {most}");
        assert_eq!(few.run(&x).unwrap(), expected, "{states} states");
    }
    assert!(checkpoint(&f, 3).is_err());
}

/// An array that is changed in places costs what is changed, not the array, round by round.
#[test]
fn a_loop_that_changes_an_array_in_place_keeps_what_it_changed() {
    let (rounds, size) = (500, 300);
    let f = parse(&format!(
        "fn @relax(%x: [{size}]f64) -> f64 {{
           %y = for %i < {rounds} (%a = %x) {{
             %k = irem %i, {inner}
             %l = iadd %k, 1
             %u = ld %a[%k]
             %v = ld %a[%l]
             %p = mul %u, %v
             %s = sin %p
             %b = put %a[%l], %s
             yield %b
           }}
           %r = red sum (%k < {size}) {{ %e = ld %y[%k] yield %e }}
           ret %r
         }}",
        inner = size - 1
    ))
    .unwrap();
    let g = gradient(&f).unwrap();
    g.verify().unwrap();
    let peak = g.peak_bytes().unwrap();
    assert!(peak < rounds * 8 * 8 + 20 * size * 8, "{peak}");
    let x: Vec<f64> = (0..size).map(|k| (k as f64 * 0.37).cos()).collect();
    let found = g.run(&x).unwrap();
    // Against differences in a few places.
    let h = 1e-6;
    for k in [0, 1, 7, 150, size - 1] {
        let at = |d: f64| {
            let mut y = x.clone();
            y[k] += d;
            f.run(&y).unwrap()[0]
        };
        let difference = (at(h) - at(-h)) / (2.0 * h);
        assert!((found[1 + k] - difference).abs() < 1e-6, "{k}: {} {difference}", found[1 + k]);
    }
}
