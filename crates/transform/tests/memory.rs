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

/// The gradient's peak in bytes, after checking it.
#[track_caller]
fn peak(text: &str, x: &[f64]) -> usize {
    checked(text, x).peak_bytes().unwrap()
}

/// The gradient, after checking it against differences by the first parameter.
#[track_caller]
fn checked(text: &str, x: &[f64]) -> Function {
    let f = parse(text).unwrap();
    let g = gradient(&f).unwrap();
    g.verify().unwrap();
    let found = g.run(x).unwrap();
    let at = |d: f64| {
        let mut y = x.to_vec();
        y[0] += d;
        f.run(&y).unwrap()[0]
    };
    let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
    assert!((found[1] - difference).abs() < 1e-6 * (1.0 + difference.abs()), "{found:?}\n{g}");
    g
}

/// Of a large state that only a number is computed from, the number is kept.
#[test]
fn a_loop_keeps_the_values_that_take_the_fewest_bytes() {
    let (rounds, size) = (1000, 50);
    let x: Vec<f64> = (0..size).map(|k| 0.3 + 0.01 * f64::from(k)).collect();
    let text = format!(
        "fn @f(%x: [{size}]f64) -> f64 {{
           %y = for %i < {rounds} (%a = %x) {{
             %m = red sum (%k < {size}) {{ %e = ld %a[%k] %q = mul %e, 0.02 yield %q }}
             %s = sin %m
             %h = mul %s, 1e-2
             %b = add %a, %h
             yield %b
           }}
           %r = red sum (%k < {size}) {{ %e = ld %y[%k] yield %e }}
           ret %r
         }}"
    );
    // The slope of the sine is a number; the state is fifty.
    let bytes = peak(&text, &x);
    assert!(bytes < rounds * 16, "{bytes}");
}

/// Marks say what is kept and what is computed again.
#[test]
fn marks_decide_what_is_kept() {
    // More than stays in a cache.
    let rounds = 200_000;
    let text = |mark: &str| {
        format!(
            "fn @f(%x: f64) -> f64 {{
               %y, %z = for %i < {rounds} (%a = %x, %c = 0.5) {{
                 %e = exp %a
                 {mark}
                 %s = sin %k
                 %h = mul %s, 1e-3
                 %b = add %a, %h
                 %t = cos %k
                 %g = mul %t, 1e-3
                 %d = add %c, %g
                 yield %b, %d
               }}
               %r = mul %y, %z
               ret %r
             }}"
        )
    };
    // One number a round: what all three slopes come from.
    let plain = peak(&text("%k = add %e, 1.0"), &[0.2]);
    assert!((rounds * 8..rounds * 12).contains(&plain), "{plain}");
    let kept = peak(&text("%l = add %e, 1.0 %k = keep %l"), &[0.2]);
    assert!((rounds * 16..rounds * 20).contains(&kept), "{kept}");
    // A loop of few rounds keeps what takes longer to compute again than to read, marked or not.
    let few = text("%k = add %e, 1.0").replace(&rounds.to_string(), "1000");
    let few = peak(&few, &[0.2]);
    assert!((24_000..28_000).contains(&few), "{few}");
    let again = parse(&text("%l = add %e, 1.0 %k = recompute %l")).unwrap();
    let g = gradient(&again).unwrap().to_string();
    // On the way back it is computed from the state.
    assert!(g.matches("recompute").count() == 2, "{g}");
}

/// An integer that is only added to is not kept, and neither is anything for a loop of sums.
#[test]
fn integers_that_are_stepped_go_back_by_steps() {
    let rounds = 1000;
    let text = format!(
        "fn @f(%x: f64, %w: [3]f64) -> f64 {{
           %y, %n = for %i < {rounds} (%a = %x, %k = 7) {{
             %j = irem %k, 3
             %v = ld %w[%j]
             %b = mul %a, %v
             %l = iadd %k, 2
             yield %b, %l
           }}
           ret %y
         }}"
    );
    let x = [0.7, 1.001, 0.999, 1.0005];
    // The states for the cotangents of the factors, and no integers.
    let bytes = peak(&text, &x);
    assert!((rounds * 8..rounds * 10).contains(&bytes), "{bytes}");
    let sums = format!(
        "fn @f(%x: f64) -> f64 {{
           %y, %n = for %i < {rounds} (%a = 0.0, %k = 7) {{
             %c = cast %k : f64
             %v = mul %x, %c
             %b = add %a, %v
             %l = isub %k, 2
             yield %b, %l
           }}
           ret %y
         }}"
    );
    let bytes = peak(&sums, &[0.5]);
    assert!(bytes < 500, "{bytes}");
}

/// What takes very long for the bytes it gives is kept, even if it could be computed again.
#[test]
fn what_is_dear_is_not_computed_again() {
    let text = "fn @f(%x: f64) -> f64 {
       %y = for %i < 10 (%a = %x) {
         %m = red sum (%k < 100000) { %c = cast %k : f64 %d = mul %c, 1e-5 %e = mul %a, %d %s = sin %e yield %s }
         %n = stop %m
         %h = mul %n, 1e-5
         %p = mul %a, %h
         %b = add %a, %p
         yield %b
       }
       ret %y
     }";
    let f = parse(text).unwrap();
    let g = gradient(&f).unwrap();
    // Once on the way there, not on the way back.
    assert_eq!(g.to_string().matches("red sum").count(), 1, "{g}");
    assert!(g.cost().total() < 1.1 * f.cost().total());
}

/// What a round made of what it carries is known on the way back: the round after it has begun with it.
#[test]
fn what_a_round_has_made_is_not_computed_again() {
    let text = |rounds: usize| {
        format!(
            "fn @f(%x: f64) -> f64 {{
               %y, %z = for %i < {rounds} (%a = %x, %b = 0.25) {{
                 %s = mul %a, 1.25
                 %c = tanh %s
                 %u = mul %c, %b
                 %d = sin %u
                 %e = add %d, 0.5
                 yield %c, %e
               }}
               %r = mul %y, %z
               ret %r
             }}"
        )
    };
    // More rounds than what they have made would stay in a cache for.
    let rounds = 200_000;
    let bytes = peak(&text(rounds), &[0.3]);
    assert!((rounds * 16..rounds * 20).contains(&bytes), "{bytes}");
    let g = gradient(&parse(&text(rounds)).unwrap()).unwrap().to_string();
    assert_eq!(g.matches("tanh").count(), 1, "{g}");
    for rounds in [0, 1, 2, 9] {
        checked(&text(rounds), &[0.3]);
    }
    // Few rounds keep what they have made, and not what they begin with besides: that is the same.
    let bytes = peak(&text(1000), &[0.3]);
    assert!(bytes < 1000 * 44, "{bytes}");
    // Carries that change places are what others were.
    let turn = "fn @f(%x: f64) -> f64 {
       %y, %z, %k, _ = while (%a = %x, %b = 0.25, %n = 0) { %c = lt %n, 7 yield %c } do {
         %s = mul %a, %b
         %c = tanh %s
         %d = mul %c, %a
         %m = iadd %n, 1
         yield %b, %d, %m
       }
       %r = add %y, %z
       ret %r
     }";
    checked(turn, &[0.9]);
}
