//! A chain of masses and springs, held at both ends, comes to rest by gradient descent.

mod chain {
    include!(concat!(env!("OUT_DIR"), "/chain.rs"));
}

const MASSES: usize = 12;

fn main() -> Result<(), &'static str> {
    let mut x: [f64; 2 * MASSES] =
        std::array::from_fn(|k| if k % 2 == 0 { 0.4 * k as f64 } else { 0.0 });
    let mut workspace = chain::Workspace::new();
    let (mut value, mut gradient) = ([0.0], [0.0; 2 * MASSES]);
    let mut slope = f64::INFINITY;
    let mut steps = 0;
    while slope > 1e-9 && steps < 100_000 {
        chain::energy(&x, &mut value, &mut gradient, &mut workspace)?;
        // The ends are held.
        let free = 2..2 * MASSES - 2;
        slope = gradient[free.clone()].iter().fold(0.0, |most, g| g.abs().max(most));
        free.for_each(|k| x[k] -= 0.004 * gradient[k]);
        steps += 1;
    }
    let mut stiffness = [0.0; 4 * MASSES * MASSES];
    chain::stiffness(&x, &mut value, &mut gradient, &mut stiffness, &mut workspace)?;
    let lowest = x.iter().skip(1).step_by(2).fold(0.0, |low: f64, y| low.min(*y));
    println!("energy {:.6} after {steps} steps, the lowest mass at {lowest:.4}", value[0]);
    println!("stiffness of the middle: {:.3}", stiffness[(MASSES + 1) * (2 * MASSES + 1)]);
    Ok(())
}
