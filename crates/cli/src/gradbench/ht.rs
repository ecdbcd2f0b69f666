//! Hand tracking: the vertices of a posed hand against points, and the Jacobian.

use cotangent_ir::input::{array, indices};
use cotangent_ir::{
    Function, IndexTable, Traced, TracedArray, TracedIndex, TracedIndices, call, fori, map_over,
    select, sum_over, trace_with,
};
use cotangent_numbers::Elementary;
use cotangent_transform::linearize_to;
use serde_json::Value;

use super::input;
use super::task::{Task, failed, list, rows, unknown};

/// The numbers of a pose.
const POSE: usize = 26;
/// The bones that a pose moves, the wrist before them.
const LEAST_BONES: usize = 21;

/// Bones, vertices, triangles and correspondences.
#[derive(Clone, Copy)]
struct Sizes {
    bones: usize,
    vertices: usize,
    triangles: usize,
    points: usize,
    mirrored: bool,
    /// Whether a point belongs to a place in a triangle, and not to a vertex.
    in_triangles: bool,
}

impl Sizes {
    /// The numbers of places in triangles.
    fn places(self) -> usize {
        if self.in_triangles { self.points } else { 0 }
    }

    /// The columns of the Jacobian.
    fn columns(self) -> usize {
        POSE + if self.in_triangles { 2 } else { 0 }
    }
}

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let data = input::field(given, "data")?;
    let model = input::field(data, "model")?;
    let theta = input::list_of(given, "theta", POSE)?;
    let us = input::rows(given, "us")?;
    let bones = input::count(model, "bone_count", LEAST_BONES, 1 << 16)?;
    let parents = parents(model, bones)?;
    let positions = input::rows(model, "base_positions")?;
    let triangles = input::rows(model, "triangles")?;
    let correspondences = input::list(data, "correspondences")?;
    let sizes = Sizes {
        bones,
        vertices: positions.rows,
        triangles: triangles.rows,
        points: correspondences.len(),
        mirrored: input::field(model, "is_mirrored")?
            .as_bool()
            .ok_or("`is_mirrored` must be a truth value")?,
        in_triangles: us.rows > 0,
    };
    if positions.columns != 4 || (triangles.rows > 0 && triangles.columns != 3) {
        return Err("`base_positions` has rows of 4 numbers, `triangles` of 3".to_string());
    }
    if sizes.points == 0 {
        return Err("`correspondences` is empty".to_string());
    }
    if sizes.in_triangles && (us.rows != sizes.points || us.columns != 2) {
        return Err(format!("`us` is {} × {}, not {} × 2", us.rows, us.columns, sizes.points));
    }
    input::check_indices(&triangles.numbers, "triangles", sizes.vertices)?;
    let bound = if sizes.in_triangles { sizes.triangles } else { sizes.vertices };
    input::check_indices(&correspondences, "correspondences", bound)?;
    let mut inputs = theta;
    inputs.extend(us.numbers);
    inputs.extend(matrices(model, "base_relatives", bones)?);
    inputs.extend(matrices(model, "inverse_base_absolutes", bones)?);
    inputs.extend(parents);
    inputs.extend(positions.numbers);
    inputs.extend(input::rows_of(model, "weights", sizes.vertices, bones)?);
    inputs.extend(triangles.numbers);
    inputs.extend(correspondences);
    inputs.extend(input::rows_of(data, "points", sizes.points, 3)?);
    let shape = format!(
        "{bones} {} {} {} {} {}",
        sizes.vertices, sizes.triangles, sizes.points, sizes.mirrored, sizes.in_triangles
    );
    match function {
        "objective" => Ok(Task::program(shape, inputs, move || objective(sizes), list)),
        "jacobian" => {
            let answer = move |y: &[f64]| rows(y, sizes.columns());
            Ok(Task::program(shape, inputs, move || jacobian(sizes), answer))
        }
        other => Err(unknown(other, &["objective", "jacobian"])),
    }
}

/// The parent of each bone, counted from one; zero is what has none.
fn parents(model: &Value, bones: usize) -> Result<Vec<f64>, String> {
    let parents = input::list_of(model, "parents", bones)?;
    for (bone, parent) in parents.iter().enumerate() {
        if parent.fract() != 0.0 || *parent < -1.0 || *parent >= bone as f64 {
            return Err(format!("bone {bone} has the parent {parent}, which does not come before"));
        }
    }
    Ok(parents.iter().map(|parent| parent + 1.0).collect())
}

/// A matrix for each bone.
fn matrices(model: &Value, name: &str, bones: usize) -> Result<Vec<f64>, String> {
    let Value::Array(items) = input::field(model, name)? else {
        return Err(format!("`{name}` is no list"));
    };
    if items.len() != bones {
        return Err(format!("`{name}` has {} matrices, not {bones}", items.len()));
    }
    let mut all = Vec::with_capacity(bones * 16);
    for item in items {
        let matrix = serde_json::json!({ name: item });
        all.extend(input::rows_of(&matrix, name, 4, 4)?);
    }
    Ok(all)
}

/// What the function takes.
#[derive(Clone)]
struct Hand {
    theta: TracedArray,
    us: TracedArray,
    relatives: TracedArray,
    inverses: TracedArray,
    parents: TracedIndices,
    positions: TracedArray,
    weights: TracedArray,
    triangles: TracedIndices,
    correspondences: TracedIndices,
    points: TracedArray,
}

/// Traces a function of a hand.
fn traced(
    name: &str,
    sizes: Sizes,
    f: impl FnOnce(&Hand) -> TracedArray,
) -> Result<Function, String> {
    let Sizes { bones, vertices, triangles, points, .. } = sizes;
    let moving = (array([POSE]), array([sizes.places(), 2]));
    let skeleton = (array([bones, 4, 4]), array([bones, 4, 4]), indices([bones]));
    let mesh = (array([vertices, 4]), array([vertices, bones]), indices([triangles, 3]));
    let seen = (indices([points]), array([points, 3]));
    trace_with(name, (moving, skeleton, mesh, seen), |(moving, skeleton, mesh, seen)| {
        let ((theta, us), (relatives, inverses, parents)) = (moving, skeleton);
        let ((positions, weights, triangles), (correspondences, points)) = (mesh, seen);
        f(&Hand {
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
        })
    })
    .map_err(failed)
}

fn objective(sizes: Sizes) -> Result<Function, String> {
    traced("ht", sizes, |hand| errors(sizes, hand))
}

/// The tangents of the errors along the places in triangles, all at once since each error depends on its own,
/// and along each number of the pose.
fn jacobian(sizes: Sizes) -> Result<Function, String> {
    let moves = ["x0", "x1"];
    let along = linearize_to(&objective(sizes)?, |p| {
        moves.contains(&&*p.name) && (p.name == "x0" || sizes.in_triangles)
    })
    .map_err(failed)?;
    let columns = sizes.columns();
    let places = columns - POSE;
    let one_if = |mask| select(mask, Traced::from(1.0), 0.0.into());
    traced("ht.jacobian", sizes, |hand| {
        let tangents = map_over(0..columns, |column| {
            let pose = map_over(0..POSE, |j| one_if((j + places).equal(column)));
            let mut args = vec![
                hand.theta.into(),
                hand.us.into(),
                hand.relatives.into(),
                hand.inverses.into(),
                hand.parents.into(),
                hand.positions.into(),
                hand.weights.into(),
                hand.triangles.into(),
                hand.correspondences.into(),
                hand.points.into(),
                pose.into(),
            ];
            if sizes.in_triangles {
                let all = (0..sizes.points, 0..2);
                args.push(map_over(all, |(_, j)| one_if(j.equal(column))).into());
            }
            let mut found = call(&along, &args);
            let _errors: TracedArray = found.take();
            found.take::<TracedArray>()
        });
        map_over((0..sizes.points, 0..3, 0..columns), |(i, axis, column)| {
            tangents.at((column, i, axis))
        })
    })
}

/// Where each point is, from where the hand is.
fn errors(sizes: Sizes, hand: &Hand) -> TracedArray {
    let vertices = vertices(sizes, hand);
    map_over((0..sizes.points, 0..3), |(i, axis)| {
        let place = hand.correspondences.at(i);
        let point = hand.points.at((i, axis));
        if !sizes.in_triangles {
            return point - vertices.at((place, axis));
        }
        let [a, b, c] = [0, 1, 2].map(|k| vertices.at((hand.triangles.at((place, k)), axis)));
        let (u, v) = (hand.us.at((i, 0)), hand.us.at((i, 1)));
        point - (u * a + v * b + (1.0 - u - v) * c)
    })
}

/// The vertices of the posed hand.
fn vertices(sizes: Sizes, hand: &Hand) -> TracedArray {
    let transforms = transforms(sizes, hand);
    let skinned = map_over((0..sizes.vertices, 0..3), |(v, row)| {
        let position = sum_over((0..sizes.bones, 0..4), |(bone, k)| {
            hand.weights.at((v, bone)) * hand.positions.at((v, k)) * transforms.at((bone, row, k))
        });
        match sizes.mirrored {
            true => select(row.equal(0), -position, position),
            false => position,
        }
    });
    // The scale of the whole is one.
    let turn = rotation([0, 1, 2].map(|k| hand.theta.at(k)));
    map_over((0..sizes.vertices, 0..3), |(v, row)| {
        let turned = sum_over(0..3, |k| turn.at((row, k)) * skinned.at((v, k)));
        turned + hand.theta.at(row + 3)
    })
}

/// For each bone: from where a vertex is at rest to where it is in the pose.
fn transforms(sizes: Sizes, hand: &Hand) -> TracedArray {
    let bones = sizes.bones;
    // Where the angles of a bone stand in the pose; a zero stands behind it.
    let mut places = vec![POSE; bones * 3];
    for finger in 0..5 {
        let (first, from) = (2 + 4 * finger, 6 + 4 * finger);
        (places[first * 3], places[first * 3 + 1]) = (from, from + 1);
        (places[first * 3 + 3], places[first * 3 + 6]) = (from + 2, from + 3);
    }
    let places = IndexTable::new(&places);
    let pose = hand.theta.concat(TracedArray::zeros([1]));
    let angle = |bone: TracedIndex, axis: usize| pose.at(places.at(bone * 3 + axis));
    let relatives = map_over(0..bones, |bone| {
        let turn = turned([0, 1, 2].map(|axis| angle(bone, axis)));
        let base = |row: usize, k: usize| hand.relatives.at((bone, row, k));
        let entries: Vec<Traced> = (0..16)
            .map(|e| (e / 4, e % 4))
            .map(|(row, column)| match column {
                3 => base(row, 3),
                _ => {
                    let terms = [0, 1, 2].map(|k| base(row, k) * turn[k][column]);
                    terms[0] + terms[1] + terms[2]
                }
            })
            .collect();
        TracedArray::from_numbers(&entries)
    });
    // Behind the identity, each bone after its parent.
    let start = map_over((0..bones + 1, 0..4, 0..4), |(bone, row, column)| {
        let one = bone.equal(0) & row.equal(column);
        select(one, Traced::from(1.0), 0.0.into())
    });
    let absolutes = fori(bones, start, |bone, all| {
        let parent = hand.parents.at(bone);
        let absolute = map_over((0..4, 0..4), |(row, column)| {
            sum_over(0..4, |k| all.at((parent, row, k)) * relatives.at((bone, k * 4 + column)))
        });
        all.with(bone + 1, absolute)
    });
    map_over((0..bones, 0..4, 0..4), |(bone, row, column)| {
        sum_over(0..4, |k| absolutes.at((bone + 1, row, k)) * hand.inverses.at((bone, k, column)))
    })
}

/// Rz(a₁) Ry(a₂) Rx(a₀).
fn turned(angles: [Traced; 3]) -> [[Traced; 3]; 3] {
    let [sx, sz, sy] = angles.map(|a| a.sin());
    let [cx, cz, cy] = angles.map(|a| a.cos());
    [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
        [-sy, cy * sx, cy * cx],
    ]
}

/// The rotation about a vector by its length; none if that is small.
fn rotation(about: [Traced; 3]) -> TracedArray {
    let squared = about[0] * about[0] + about[1] * about[1] + about[2] * about[2];
    let turns = squared.at_least(1e-8);
    // Both ways are computed, and the one that is not taken must have derivatives.
    let angle = select(turns, squared, 1.0.into()).sqrt();
    let [x, y, z] = about.map(|a| a / angle);
    let (s, c) = (angle.sin(), angle.cos());
    let d = 1.0 - c;
    let entries = [
        x * x + (1.0 - x * x) * c,
        x * y * d - z * s,
        x * z * d + y * s,
        x * y * d + z * s,
        y * y + (1.0 - y * y) * c,
        y * z * d - x * s,
        x * z * d - y * s,
        z * y * d + x * s,
        z * z + (1.0 - z * z) * c,
    ];
    let entries: Vec<Traced> =
        (0..9).map(|e| select(turns, entries[e], f64::from(u8::from(e % 4 == 0)).into())).collect();
    TracedArray::from_numbers(&entries).reshape([3, 3])
}
