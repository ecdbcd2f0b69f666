//! Hand tracking: errors of a posed hand, and the Jacobian by the bones that each angle moves.

use serde_json::json;

use super::{Case, Hand, Random, Size, rows};

const POSE: usize = 26;
const COLUMNS: usize = POSE + 2;
const BONES: usize = 22;

type Matrix = [[f64; 3]; 3];
/// Three rows of a matrix whose last row is 0, 0, 0, 1; of a derivative, 0, 0, 0, 0.
type Affine = [[f64; 4]; 3];

struct Ht {
    theta: Vec<f64>,
    us: Vec<[f64; 2]>,
    relatives: Vec<Affine>,
    inverses: Vec<Affine>,
    parents: Vec<Option<usize>>,
    positions: Vec<[f64; 3]>,
    weights: Vec<f64>,
    triangles: Vec<[usize; 3]>,
    correspondences: Vec<usize>,
    points: Vec<[f64; 3]>,
    /// Of the pose: each bone by its parent, and in the whole.
    posed: Vec<Affine>,
    absolutes: Vec<Affine>,
    transforms: Vec<Affine>,
    /// Before and after the whole hand is turned.
    skinned: Vec<[f64; 3]>,
    vertices: Vec<[f64; 3]>,
    /// What an angle does to bones.
    moved: Vec<Affine>,
    /// By vertex and number of the pose.
    slopes: Vec<[f64; 3]>,
    errors: Vec<f64>,
    jacobian: Vec<f64>,
}

pub fn case(size: Size) -> Case {
    // Vertices, triangles, points.
    let (v, t, c) =
        size.pick([(8, 6, 4), (544, 1_084, 100), (544, 1_084, 1_600), (544, 1_084, 12_800)]);
    let mut random = Random::new();
    let affine = |random: &mut Random| -> Affine {
        let (angles, shift) = (random.normal(3), random.normal(3));
        let turn = turn([angles[0], angles[1], angles[2]]);
        std::array::from_fn(|r| [turn[r][0], turn[r][1], turn[r][2], 0.1 * shift[r]])
    };
    let relatives: Vec<Affine> = (0..BONES).map(|_| affine(&mut random)).collect();
    let inverses: Vec<Affine> = (0..BONES).map(|_| affine(&mut random)).collect();
    let parents: Vec<Option<usize>> = (0..BONES)
        .map(|b| match b {
            0 => None,
            b if b % 4 == 1 => Some(0),
            b => Some(b - 1),
        })
        .collect();
    let vectors = |random: &mut Random, n: usize| -> Vec<[f64; 3]> {
        random.normal(3 * n).chunks(3).map(|x| [x[0], x[1], x[2]]).collect()
    };
    let positions = vectors(&mut random, v);
    let mut weights = vec![0.0; v * BONES];
    for weights in weights.chunks_mut(BONES) {
        (0..4).for_each(|_| weights[random.below(BONES)] += 0.25);
    }
    let triangles: Vec<[usize; 3]> =
        (0..t).map(|_| std::array::from_fn(|_| random.below(v))).collect();
    let correspondences: Vec<usize> = (0..c).map(|_| random.below(t)).collect();
    let points = vectors(&mut random, c);
    let theta = random.normal(POSE);
    let us: Vec<[f64; 2]> = random.uniform(2 * c).chunks(2).map(|u| [u[0], u[1]]).collect();
    let whole = |m: &Affine| [m[0], m[1], m[2], [0.0, 0.0, 0.0, 1.0]];
    let numbers = |all: &[Affine]| all.iter().map(whole).collect::<Vec<_>>();
    let input = json!({
        "theta": theta,
        "us": us,
        "data": {
            "correspondences": correspondences,
            "points": points,
            "model": {
                "bone_count": BONES,
                "parents": parents.iter().map(|p| p.map_or(-1, |p| p as i64)).collect::<Vec<_>>(),
                "base_relatives": numbers(&relatives),
                "inverse_base_absolutes": numbers(&inverses),
                "base_positions":
                    positions.iter().map(|x| [x[0], x[1], x[2], 1.0]).collect::<Vec<_>>(),
                "weights": rows(&weights, BONES),
                "triangles": triangles,
                "is_mirrored": false,
            },
        },
    });
    let none = [[0.0; 4]; 3];
    Case {
        module: "ht",
        label: format!("c={c}"),
        functions: [Some("objective"), Some("jacobian")],
        input,
        hand: Box::new(Ht {
            posed: vec![none; BONES],
            absolutes: vec![none; BONES],
            transforms: vec![none; BONES],
            skinned: vec![[0.0; 3]; v],
            vertices: vec![[0.0; 3]; v],
            moved: vec![none; BONES],
            slopes: vec![[0.0; 3]; v * POSE],
            errors: vec![0.0; 3 * c],
            jacobian: vec![0.0; 3 * c * COLUMNS],
            theta,
            us,
            relatives,
            inverses,
            parents,
            positions,
            weights,
            triangles,
            correspondences,
            points,
        }),
    }
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|r| std::array::from_fn(|c| (0..3).map(|k| a[r][k] * b[k][c]).sum()))
}

fn compose(a: &Affine, b: &Affine) -> Affine {
    std::array::from_fn(|r| {
        std::array::from_fn(|c| {
            let inner: f64 = (0..3).map(|k| a[r][k] * b[k][c]).sum();
            if c == 3 { inner + a[r][3] } else { inner }
        })
    })
}

fn apply(m: &Affine, x: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|r| m[r][0] * x[0] + m[r][1] * x[1] + m[r][2] * x[2] + m[r][3])
}

fn times(m: &Matrix, x: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|r| m[r][0] * x[0] + m[r][1] * x[1] + m[r][2] * x[2])
}

/// Turns about x, y and z from a sine and a cosine; `one` is what does not turn.
fn about(axis: usize, sin: f64, cos: f64, one: f64) -> Matrix {
    let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
    let mut m = [[0.0; 3]; 3];
    m[axis][axis] = one;
    (m[a][a], m[b][b]) = (cos, cos);
    (m[a][b], m[b][a]) = (-sin, sin);
    m
}

/// Rz(a₁) Ry(a₂) Rx(a₀), with the derivative by one of the angles in the place of its factor.
fn turn_or_slope(angles: [f64; 3], by: Option<usize>) -> Matrix {
    let factor = |angle: usize, axis: usize| {
        let (sin, cos) = angles[angle].sin_cos();
        match by == Some(angle) {
            true => about(axis, cos, -sin, 0.0),
            false => about(axis, sin, cos, 1.0),
        }
    };
    product(&product(&factor(1, 2), &factor(2, 1)), &factor(0, 0))
}

fn turn(angles: [f64; 3]) -> Matrix {
    turn_or_slope(angles, None)
}

/// A bone's base with a turn in its own frame; a slope has no shift.
fn based(base: &Affine, turn: &Matrix, shift: f64) -> Affine {
    std::array::from_fn(|r| {
        std::array::from_fn(|c| match c {
            3 => shift * base[r][3],
            _ => (0..3).map(|k| base[r][k] * turn[k][c]).sum(),
        })
    })
}

/// The matrix with a × x = [a] x.
fn across(a: [f64; 3]) -> Matrix {
    [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]]
}

/// The rotation about a vector by its length, and its derivatives.
fn rotation(r: [f64; 3]) -> (Matrix, [Matrix; 3]) {
    let angle = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]).sqrt();
    let unit = |k: usize, c: usize| if k == c { 1.0 } else { 0.0 };
    if angle < 1e-4 {
        return (std::array::from_fn(|k| std::array::from_fn(|c| unit(k, c))), Default::default());
    }
    let a = r.map(|r| r / angle);
    let (s, c) = angle.sin_cos();
    let turn = across(a);
    let whole = std::array::from_fn(|k| {
        std::array::from_fn(|l| c * unit(k, l) + s * turn[k][l] + (1.0 - c) * a[k] * a[l])
    });
    let slopes = std::array::from_fn(|j| {
        let da: [f64; 3] = std::array::from_fn(|k| (unit(k, j) - a[k] * a[j]) / angle);
        let d_turn = across(da);
        std::array::from_fn(|k| {
            std::array::from_fn(|l| {
                a[j] * (-s * unit(k, l) + c * turn[k][l] + s * a[k] * a[l])
                    + s * d_turn[k][l]
                    + (1.0 - c) * (da[k] * a[l] + a[k] * da[l])
            })
        })
    });
    (whole, slopes)
}

impl Ht {
    fn angles(&self, bone: usize) -> [f64; 3] {
        if bone == 0 || bone > 20 {
            return [0.0; 3];
        }
        let from = 6 + 4 * ((bone - 1) / 4);
        match (bone - 1) % 4 {
            0 => [0.0; 3],
            1 => [self.theta[from], self.theta[from + 1], 0.0],
            k => [self.theta[from + k], 0.0, 0.0],
        }
    }

    fn pose(&mut self) -> [Matrix; 3] {
        for bone in 0..BONES {
            self.posed[bone] = based(&self.relatives[bone], &turn(self.angles(bone)), 1.0);
            self.absolutes[bone] = match self.parents[bone] {
                Some(parent) => compose(&self.absolutes[parent], &self.posed[bone]),
                None => self.posed[bone],
            };
            self.transforms[bone] = compose(&self.absolutes[bone], &self.inverses[bone]);
        }
        let (turn, slopes) = rotation([self.theta[0], self.theta[1], self.theta[2]]);
        for (v, position) in self.positions.iter().enumerate() {
            let mut sum = [0.0; 3];
            for (weight, transform) in
                self.weights[v * BONES..][..BONES].iter().zip(&self.transforms)
            {
                let x = apply(transform, position);
                (0..3).for_each(|r| sum[r] += weight * x[r]);
            }
            self.skinned[v] = sum;
            let turned = times(&turn, &sum);
            self.vertices[v] = std::array::from_fn(|r| turned[r] + self.theta[3 + r]);
        }
        slopes
    }

    /// What one angle does to the vertices.
    fn angle(&mut self, number: usize, turn: &Matrix) {
        let (finger, k) = ((number - 6) / 4, (number - 6) % 4);
        let first = 2 + 4 * finger + k.saturating_sub(1);
        let by = if k == 1 { 1 } else { 0 };
        let slope = turn_or_slope(self.angles(first), Some(by));
        let slope = based(&self.relatives[first], &slope, 0.0);
        // The fingers hang together from bone to bone.
        let last = 4 + 4 * finger;
        for bone in first..=last {
            self.moved[bone] = match self.parents[bone] {
                Some(parent) if bone == first => {
                    let mut parent = self.absolutes[parent];
                    parent.iter_mut().for_each(|row| row[3] = 0.0);
                    compose(&parent, &slope)
                }
                _ if bone == first => slope,
                parent => compose(&self.moved[parent.unwrap_or(first)], &self.posed[bone]),
            };
        }
        let mut transforms = [[[0.0; 4]; 3]; 3];
        for bone in first..=last {
            transforms[bone - first] = compose(&self.moved[bone], &self.inverses[bone]);
        }
        for (v, position) in self.positions.iter().enumerate() {
            let mut sum = [0.0; 3];
            for bone in first..=last {
                let weight = self.weights[v * BONES + bone];
                let x = apply(&transforms[bone - first], position);
                (0..3).for_each(|r| sum[r] += weight * x[r]);
            }
            self.slopes[v * POSE + number] = times(turn, &sum);
        }
    }
}

impl Hand for Ht {
    fn primal(&mut self) -> &[f64] {
        self.pose();
        for i in 0..self.points.len() {
            let [a, b, c] = self.triangles[self.correspondences[i]].map(|v| self.vertices[v]);
            let [u, v] = self.us[i];
            for r in 0..3 {
                let place = u * a[r] + v * b[r] + (1.0 - u - v) * c[r];
                self.errors[3 * i + r] = self.points[i][r] - place;
            }
        }
        &self.errors
    }

    fn derivative(&mut self) -> &[f64] {
        let global = self.pose();
        let (turn, _) = rotation([self.theta[0], self.theta[1], self.theta[2]]);
        for v in 0..self.positions.len() {
            for (j, global) in global.iter().enumerate() {
                self.slopes[v * POSE + j] = times(global, &self.skinned[v]);
                self.slopes[v * POSE + 3 + j] = std::array::from_fn(|r| f64::from(r == j));
            }
        }
        (6..POSE).for_each(|number| self.angle(number, &turn));
        for i in 0..self.points.len() {
            let corners = self.triangles[self.correspondences[i]];
            let [a, b, c] = corners.map(|v| self.vertices[v]);
            let [sa, sb, sc] = corners.map(|v| &self.slopes[v * POSE..][..POSE]);
            let [u, v] = self.us[i];
            let w = 1.0 - u - v;
            for r in 0..3 {
                let row = &mut self.jacobian[(3 * i + r) * COLUMNS..][..COLUMNS];
                (row[0], row[1]) = (c[r] - a[r], c[r] - b[r]);
                for (k, to) in row[2..].iter_mut().enumerate() {
                    *to = -(u * sa[k][r] + v * sb[k][r] + w * sc[k][r]);
                }
            }
        }
        &self.jacobian
    }
}
