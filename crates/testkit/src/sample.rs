//! Points at which operations are tested.

use cotangent_ops::Opcode;

/// Parameters to try for an operation that takes one; a single 0 for the others.
pub fn parameters(op: Opcode) -> &'static [i32] {
    match op {
        Opcode::Powi => &[-3, -1, 0, 1, 2, 3, 5, 8],
        Opcode::SincDerivative => &[1, 2, 3, 6],
        Opcode::Polygamma => &[1, 2, 3, 5],
        _ => &[0],
    }
}

/// Random points in the sample range of an operation, at least `margin` from its kinks.
pub fn points(op: Opcode, count: usize, margin: f64, seed: u64) -> Vec<Vec<f64>> {
    let info = op.info();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut points = Vec::with_capacity(count);
    while points.len() < count {
        let x: Vec<f64> = info.sample[..info.arity]
            .iter()
            .map(|(low, high)| low + (high - low) * rng.f64())
            .collect();
        if info.kink.distance(&x) > margin {
            points.push(x);
        }
    }
    points
}
