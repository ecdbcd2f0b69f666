//! The function of the tour, and its derivative written by hand.

use cotangent::Scalar;

// The tour shows the lines from here:
/// The energy of a chain of beads hanging from a nail at the origin:
/// x[2i] and x[2i+1] are the position of bead i, and a stiff spring of length 1 leads to the next.
pub(super) fn energy<S: Scalar>(x: &[S]) -> S {
    let mut energy = S::zero();
    let mut last = (S::zero(), S::zero());
    for bead in x.chunks_exact(2) {
        let (u, v) = (bead[0] - last.0, bead[1] - last.1);
        let stretch = (u * u + v * v).sqrt() - 1.0;
        energy += stretch * stretch * 50.0 + bead[1]; // spring, gravity
        last = (bead[0], bead[1]);
    }
    energy
}
// to here.

/// The lines of this file that the tour shows.
pub(super) fn source() -> String {
    super::shown(include_str!("chain.rs"))
}

/// The value and the gradient, as one would write them by hand.
pub(super) fn energy_gradient(x: &[f64], gradient: &mut [f64]) -> f64 {
    let mut energy = 0.0;
    let (mut a, mut b) = (0.0, 0.0);
    gradient.fill(0.0);
    for i in 0..x.len() / 2 {
        let (p, q) = (x[2 * i], x[2 * i + 1]);
        let (u, v) = (p - a, q - b);
        let length = (u * u + v * v).sqrt();
        let stretch = length - 1.0;
        energy += 50.0 * stretch * stretch + q;
        let force = 100.0 * stretch / length;
        gradient[2 * i] += force * u;
        gradient[2 * i + 1] += force * v + 1.0;
        if i > 0 {
            gradient[2 * i - 2] -= force * u;
            gradient[2 * i - 1] -= force * v;
        }
        (a, b) = (p, q);
    }
    energy
}

/// A chain that swings out to the right: the positions of some beads.
pub(super) fn swinging(beads: usize) -> Vec<f64> {
    let mut x = Vec::with_capacity(2 * beads);
    let (mut p, mut q) = (0.0, 0.0);
    for i in 0..beads {
        let angle = 0.4 + 0.9 * (i as f64 * 0.61).sin();
        p += 1.02 * angle.sin();
        q -= 1.02 * angle.cos();
        x.extend([p, q]);
    }
    x
}
