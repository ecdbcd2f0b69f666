//! The gradient of a million steps of a hundred numbers, with a hundred states kept.
//!
//! `cargo run --release -p cotangent-transform --example checkpoints [ROUNDS [STATES]]`

use std::time::Instant;

use cotangent_ir::parse;
use cotangent_transform::{checkpoint, gradient};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<usize>());
    let rounds = arguments.next().transpose()?.unwrap_or(1_000_000);
    let states = arguments.next().transpose()?.unwrap_or(100);
    // An oscillator chain, one explicit step a round: x ← x + h (0.3 − x²) x.
    let f = parse(&format!(
        "fn @march(%x: [100]f64) -> f64 {{
           %y = for %i < {rounds} (%a = %x) {{
             %q = mul %a, %a
             %d = sub 0.3, %q
             %p = mul %d, %a
             %h = mul %p, 1e-5
             %b = add %a, %h
             yield %b
           }}
           %r = red sum (%k < 100) {{ %e = ld %y[%k] %s = mul %e, %e yield %s }}
           ret %r
         }}"
    ))?;
    let x: Vec<f64> = (0..100).map(|k| 0.1 + 0.01 * f64::from(k)).collect();
    let bytes =
        |b: Option<usize>| b.map_or("?".to_string(), |b| format!("{:.2} MB", b as f64 / 1e6));
    let plain = gradient(&f)?;
    let few = gradient(&checkpoint(&f, states)?)?;
    let start = Instant::now();
    f.run(&x)?;
    let once = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let found = few.run(&x)?;
    let took = start.elapsed().as_secs_f64();
    let show = |line: String| {
        use std::io::Write;
        writeln!(std::io::stdout(), "{line}")
    };
    show(format!("{rounds} rounds: the function takes {once:.2} s"))?;
    show(format!("all states: {} at the peak", bytes(plain.peak_bytes())))?;
    show(format!(
        "{states} states: {} at the peak, the gradient takes {took:.2} s, {:.1} times the function",
        bytes(few.peak_bytes()),
        took / once
    ))?;
    show(format!("value {:.6}, first partials {:.6?}", found[0], &found[1..4]))?;
    if rounds <= 100_000 {
        let same = plain.run(&x)? == found;
        show(format!("the same as with all states, to the bit: {same}"))?;
    }
    Ok(())
}
