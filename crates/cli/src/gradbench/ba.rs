//! Bundle adjustment: residuals of observations, and their sparse Jacobian.

use cotangent_ir::input::array;
use cotangent_ir::{Function, Traced, TracedArray, call, map_over, select, trace, trace_with};
use cotangent_numbers::Elementary;
use cotangent_transform::{gradient, jacobian_to};
use serde_json::{Value, json};

use super::input;
use super::task::{Task, failed, unknown};

/// Cameras, points and observations.
#[derive(Clone, Copy)]
struct Sizes {
    n: usize,
    m: usize,
    p: usize,
}

/// More than any evaluation has.
const MOST: usize = 1 << 24;

/// The numbers of a camera.
const CAMERA: usize = 11;
/// The numbers that an observation depends on: a camera, a point and its weight.
const MOVING: usize = CAMERA + 3 + 1;

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let size = |name| input::count(given, name, 1, MOST);
    let sizes = Sizes { n: size("n")?, m: size("m")?, p: size("p")? };
    let Sizes { n, m, p } = sizes;
    let camera = input::list_of(given, "cam", CAMERA)?;
    let point = input::list_of(given, "x", 3)?;
    let feature = input::list_of(given, "feat", 2)?;
    let weight = input::number(given, "w")?;
    let mut inputs = camera.repeat(n);
    inputs.extend(point.repeat(m));
    inputs.extend(std::iter::repeat_n(weight, p));
    inputs.extend(feature.repeat(p));
    let shape = format!("{n} {m} {p}");
    match function {
        "objective" => Ok(Task::program(
            shape,
            inputs,
            move || objective(sizes),
            move |y| {
                json!({
                    "reproj_error": { "elements": [y[0], y[1]], "repeated": p },
                    "w_err": { "element": y[2 * p], "repeated": p },
                })
            },
        )),
        "jacobian" => {
            Ok(Task::program(shape, inputs, move || jacobian(sizes), move |y| sent(sizes, y)))
        }
        other => Err(unknown(other, &["objective", "jacobian"])),
    }
}

/// What is sent of the Jacobian: the beginning and the end of each list.
fn sent(sizes: Sizes, values: &[f64]) -> Value {
    let (rows, columns) = structure(sizes);
    fn ends<T: Copy + Into<Value>>(list: &[T]) -> Value {
        list.iter().take(30).chain(list.last()).map(|x| (*x).into()).collect()
    }
    json!({ "rows": ends(&rows), "cols": ends(&columns), "vals": ends(values) })
}

/// Where the entries stand: the places at which rows begin, and the columns.
fn structure(Sizes { n, m, p }: Sizes) -> (Vec<usize>, Vec<usize>) {
    let (points, weights) = (CAMERA * n, CAMERA * n + 3 * m);
    let (mut rows, mut columns) = (vec![0], Vec::with_capacity(31 * p));
    for i in 0..p {
        for _ in 0..2 {
            columns.extend((0..CAMERA).map(|c| CAMERA * (i % n) + c));
            columns.extend((0..3).map(|c| points + 3 * (i % m) + c));
            columns.push(weights + i);
            rows.push(columns.len());
        }
    }
    for i in 0..p {
        columns.push(weights + i);
        rows.push(columns.len());
    }
    (rows, columns)
}

/// The residuals of one observation: of a camera, a point, a weight, and a feature.
fn residuals() -> Result<Function, String> {
    trace("residuals", MOVING + 2, |x| {
        let (camera, point, weight) = (&x[..CAMERA], &x[CAMERA..CAMERA + 3], x[CAMERA + 3]);
        let from = [0, 1, 2].map(|c| point[c] - camera[3 + c]);
        let [x0, x1, x2] = rotated([camera[0], camera[1], camera[2]], from);
        let (u, v) = (x0 / x2, x1 / x2);
        let r = u * u + v * v;
        let distortion = 1.0 + camera[9] * r + camera[10] * r * r;
        let seen = |u: Traced, axis: usize| u * distortion * camera[6] + camera[7 + axis];
        (0..2).map(|axis| weight * (seen([u, v][axis], axis) - x[MOVING + axis])).collect()
    })
    .map_err(failed)
}

/// A vector turned about another by its length.
fn rotated(about: [Traced; 3], x: [Traced; 3]) -> [Traced; 3] {
    let cross = |a: [Traced; 3], b: [Traced; 3]| {
        [0, 1, 2].map(|c| a[(c + 1) % 3] * b[(c + 2) % 3] - a[(c + 2) % 3] * b[(c + 1) % 3])
    };
    let squared = about[0] * about[0] + about[1] * about[1] + about[2] * about[2];
    let turns = squared.greater(0.0);
    // Both ways are computed, and the one that is not taken must have derivatives.
    let angle = select(turns, squared, 1.0.into()).sqrt();
    let axis = about.map(|x| x / angle);
    let (sin, cos) = (angle.sin(), angle.cos());
    let across = cross(axis, x);
    let along = (axis[0] * x[0] + axis[1] * x[1] + axis[2] * x[2]) * (1.0 - cos);
    let little = cross(about, x);
    [0, 1, 2]
        .map(|c| select(turns, x[c] * cos + across[c] * sin + axis[c] * along, x[c] + little[c]))
}

/// The error of a weight.
fn weight_error() -> Result<Function, String> {
    trace("weight_error", 1, |w| vec![1.0 - w[0] * w[0]]).map_err(failed)
}

/// Something of every observation, and something of every weight.
fn of_all(
    Sizes { n, m, p }: Sizes,
    of_observation: &Function,
    of_weight: &Function,
    skipped: [usize; 2],
) -> Result<Function, String> {
    let inputs = (array([n, CAMERA]), array([m, 3]), array([p]), array([p, 2]));
    trace_with("ba", inputs, |(cameras, points, weights, features)| {
        let taken = |f: &Function, args: &[Traced], skipped: usize| -> Vec<Traced> {
            let args: Vec<_> = args.iter().map(|x| (*x).into()).collect();
            let mut found = call(f, &args);
            (0..f.results().len()).map(|_| found.take()).skip(skipped).collect()
        };
        let observations = map_over(0..p, |i| {
            let camera = (0..CAMERA).map(|c| cameras.at((i % n, c)));
            let point = (0..3).map(|c| points.at((i % m, c)));
            let feature = (0..2).map(|c| features.at((i, c)));
            let args: Vec<Traced> =
                camera.chain(point).chain([weights.at(i)]).chain(feature).collect();
            TracedArray::from_numbers(&taken(of_observation, &args, skipped[0]))
        });
        let errors = map_over(0..p, |i| {
            let found = taken(of_weight, &[weights.at(i)], skipped[1]);
            found.first().copied().unwrap_or_else(|| 0.0.into())
        });
        (observations, errors)
    })
    .map_err(failed)
}

fn objective(sizes: Sizes) -> Result<Function, String> {
    of_all(sizes, &residuals()?, &weight_error()?, [0, 0])
}

/// All entries as they stand in compressed rows: the Jacobian of one observation for each, and the derivative
/// of each weight's error.
fn jacobian(sizes: Sizes) -> Result<Function, String> {
    let residuals = residuals()?;
    let moving: Vec<&str> = residuals.params()[..MOVING].iter().map(|p| &*p.name).collect();
    let of_observation = jacobian_to(&residuals, |p| moving.contains(&&*p.name)).map_err(failed)?;
    let of_weight = gradient(&weight_error()?).map_err(failed)?;
    // The values stand before the partials.
    of_all(sizes, &of_observation, &of_weight, [2, 1])
}
