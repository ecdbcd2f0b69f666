//! Bundle adjustment: residuals, and the entries of their Jacobian in compressed rows.

use serde_json::json;

use super::{Case, Hand, Size};

struct Ba {
    cameras: Vec<[f64; 11]>,
    points: Vec<[f64; 3]>,
    weights: Vec<f64>,
    features: Vec<[f64; 2]>,
    /// Two a observation, then one a weight.
    errors: Vec<f64>,
    /// Thirty a observation, then one a weight.
    entries: Vec<f64>,
}

pub fn case(size: Size) -> Case {
    let (n, m, p) = size.pick([
        (2, 3, 5),
        (49, 7_776, 31_843),
        (93, 61_203, 287_451),
        (356, 226_730, 1_255_268),
    ]);
    let camera = [0.3, -0.2, 0.5, 1.0, 2.0, -30.0, 420.0, 5.0, -8.0, 0.05, 0.003];
    let (point, weight, feature) = ([7.2, 0.1, 3.0], 0.4, [271.0, 834.0]);
    Case {
        module: "ba",
        label: format!("n={n} m={m} p={p}"),
        functions: [Some("objective"), Some("jacobian")],
        input: json!({
            "n": n, "m": m, "p": p, "cam": camera, "x": point, "w": weight, "feat": feature,
        }),
        hand: Box::new(Ba {
            cameras: vec![camera; n],
            points: vec![point; m],
            weights: vec![weight; p],
            features: vec![feature; p],
            errors: vec![0.0; 3 * p],
            entries: vec![0.0; 31 * p],
        }),
    }
}

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn vector(f: impl Fn(usize) -> f64) -> Vector {
    std::array::from_fn(f)
}

fn unit(j: usize) -> Vector {
    vector(|k| if j == k { 1.0 } else { 0.0 })
}

fn rotated(about: Vector, x: Vector) -> Vector {
    let squared = dot(about, about);
    if squared == 0.0 {
        let across = cross(about, x);
        return vector(|k| x[k] + across[k]);
    }
    let angle = squared.sqrt();
    let (sin, cos) = angle.sin_cos();
    let axis = about.map(|a| a / angle);
    let (across, along) = (cross(axis, x), dot(axis, x) * (1.0 - cos));
    vector(|k| x[k] * cos + across[k] * sin + axis[k] * along)
}

/// A vector turned, and by columns the derivatives by what it is turned about and by itself.
fn rotated_with(about: Vector, x: Vector) -> (Vector, [Vector; 3], [Vector; 3]) {
    let squared = dot(about, about);
    if squared == 0.0 {
        let by_about = [0, 1, 2].map(|j| cross(unit(j), x));
        let by_x = [0, 1, 2].map(|j| {
            let (e, across) = (unit(j), cross(about, unit(j)));
            vector(|k| e[k] + across[k])
        });
        return (rotated(about, x), by_about, by_x);
    }
    let angle = squared.sqrt();
    let (sin, cos) = angle.sin_cos();
    let axis = about.map(|a| a / angle);
    let (across, inner, less) = (cross(axis, x), dot(axis, x), 1.0 - cos);
    let turned = vector(|k| x[k] * cos + across[k] * sin + axis[k] * inner * less);
    let by_angle = vector(|k| -x[k] * sin + across[k] * cos + axis[k] * inner * sin);
    let by_about = [0, 1, 2].map(|j| {
        let by_axis = vector(|k| (unit(j)[k] - axis[k] * axis[j]) / angle);
        let (moved, turn) = (dot(by_axis, x), cross(by_axis, x));
        vector(|k| {
            axis[j] * by_angle[k] + turn[k] * sin + (by_axis[k] * inner + axis[k] * moved) * less
        })
    });
    let by_x = [0, 1, 2].map(|j| {
        let turn = cross(axis, unit(j));
        vector(|k| unit(j)[k] * cos + turn[k] * sin + axis[k] * axis[j] * less)
    });
    (turned, by_about, by_x)
}

fn errors(camera: &[f64; 11], point: &Vector, weight: f64, feature: &[f64; 2]) -> [f64; 2] {
    let from = vector(|k| point[k] - camera[3 + k]);
    let seen = rotated([camera[0], camera[1], camera[2]], from);
    let uv = [seen[0] / seen[2], seen[1] / seen[2]];
    let r = uv[0] * uv[0] + uv[1] * uv[1];
    let distortion = 1.0 + camera[9] * r + camera[10] * r * r;
    [0, 1].map(|a| weight * (uv[a] * distortion * camera[6] + camera[7 + a] - feature[a]))
}

fn entries(camera: &[f64; 11], point: &Vector, weight: f64, feature: &[f64; 2], to: &mut [f64]) {
    let from = vector(|k| point[k] - camera[3 + k]);
    let (seen, by_about, by_x) = rotated_with([camera[0], camera[1], camera[2]], from);
    let inverse = 1.0 / seen[2];
    let uv = [seen[0] * inverse, seen[1] * inverse];
    let r = uv[0] * uv[0] + uv[1] * uv[1];
    let distortion = 1.0 + camera[9] * r + camera[10] * r * r;
    let slope = camera[9] + 2.0 * camera[10] * r;
    let focal = camera[6];
    for a in 0..2 {
        let row = &mut to[15 * a..15 * (a + 1)];
        let by = |b: usize| {
            let own = if a == b { distortion } else { 0.0 };
            weight * focal * (own + uv[a] * slope * 2.0 * uv[b])
        };
        let (by_u, by_v) = (by(0) * inverse, by(1) * inverse);
        let by_seen = [by_u, by_v, -by_u * uv[0] - by_v * uv[1]];
        for j in 0..3 {
            row[j] = dot(by_seen, by_about[j]);
            let by_point = dot(by_seen, by_x[j]);
            row[3 + j] = -by_point;
            row[11 + j] = by_point;
        }
        let projected = uv[a] * distortion;
        row[6] = weight * projected;
        row[7] = if a == 0 { weight } else { 0.0 };
        row[8] = if a == 1 { weight } else { 0.0 };
        row[9] = weight * focal * uv[a] * r;
        row[10] = row[9] * r;
        row[14] = projected * focal + camera[7 + a] - feature[a];
    }
}

impl Hand for Ba {
    fn primal(&mut self) -> &[f64] {
        let (n, m, p) = (self.cameras.len(), self.points.len(), self.weights.len());
        let (residuals, of_weights) = self.errors.split_at_mut(2 * p);
        for (i, to) in residuals.chunks_exact_mut(2).enumerate() {
            let (camera, point) = (&self.cameras[i % n], &self.points[i % m]);
            to.copy_from_slice(&errors(camera, point, self.weights[i], &self.features[i]));
        }
        for (to, w) in of_weights.iter_mut().zip(&self.weights) {
            *to = 1.0 - w * w;
        }
        &self.errors
    }

    fn derivative(&mut self) -> &[f64] {
        let (n, m, p) = (self.cameras.len(), self.points.len(), self.weights.len());
        let (blocks, of_weights) = self.entries.split_at_mut(30 * p);
        for (i, to) in blocks.chunks_exact_mut(30).enumerate() {
            let (camera, point) = (&self.cameras[i % n], &self.points[i % m]);
            entries(camera, point, self.weights[i], &self.features[i], to);
        }
        for (to, w) in of_weights.iter_mut().zip(&self.weights) {
            *to = -2.0 * w;
        }
        &self.entries
    }
}
