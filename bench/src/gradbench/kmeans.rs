//! The cost of clusters, and a step of Newton's method for each coordinate of the centroids.

use serde_json::json;

use super::{Case, Hand, Random, Size, rows};

struct Kmeans {
    d: usize,
    points: Vec<f64>,
    centroids: Vec<f64>,
    value: [f64; 1],
    /// The gradient, then the direction.
    g: Vec<f64>,
    /// How many points are nearest to each centroid.
    counts: Vec<f64>,
}

pub fn case(size: Size) -> Case {
    let (k, n, d) = size.pick([(2, 9, 3), (10, 1_000, 8), (100, 10_000, 8), (1_000, 10_000, 16)]);
    let points = Random::new().uniform(n * d);
    let centroids = points[(n - k) * d..].to_vec();
    Case {
        module: "kmeans",
        label: format!("k={k} n={n} d={d}"),
        functions: [Some("cost"), Some("dir")],
        input: json!({ "points": rows(&points, d), "centroids": rows(&centroids, d) }),
        hand: Box::new(Kmeans {
            value: [0.0],
            g: vec![0.0; k * d],
            counts: vec![0.0; k],
            d,
            points,
            centroids,
        }),
    }
}

/// The nearest centroid, and the square of its distance.
fn nearest(point: &[f64], centroids: &[f64]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (j, centroid) in centroids.chunks_exact(point.len()).enumerate() {
        let squares = point.iter().zip(centroid).map(|(p, c)| (p - c) * (p - c));
        let distance: f64 = squares.sum();
        if distance < best.1 {
            best = (j, distance);
        }
    }
    best
}

impl Hand for Kmeans {
    fn primal(&mut self) -> &[f64] {
        let points = self.points.chunks_exact(self.d);
        self.value = [points.map(|point| nearest(point, &self.centroids).1).sum()];
        &self.value
    }

    fn derivative(&mut self) -> &[f64] {
        let d = self.d;
        self.g.fill(0.0);
        self.counts.fill(0.0);
        for point in self.points.chunks_exact(d) {
            let (j, _) = nearest(point, &self.centroids);
            let centroid = &self.centroids[j * d..][..d];
            for ((g, p), c) in self.g[j * d..][..d].iter_mut().zip(point).zip(centroid) {
                *g += 2.0 * (c - p);
            }
            self.counts[j] += 2.0;
        }
        for (g, count) in self.g.chunks_exact_mut(d).zip(&self.counts) {
            g.iter_mut().for_each(|g| *g /= count);
        }
        &self.g
    }
}
