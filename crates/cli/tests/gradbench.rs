//! `cotangent gradbench` as `GradBench` uses it.
//!
//! Expected values are closed forms, differences of the functions themselves, and, where they are there, the
//! reference outputs of hand-written derivatives.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The tool, running.
struct Tool {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Tool {
    fn start() -> Tool {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cotangent"))
            .arg("gradbench")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let to = child.stdin.take().expect("its input");
        let from = BufReader::new(child.stdout.take().expect("its output"));
        Tool { child, to, from }
    }

    /// The answer to a line, whatever is in it.
    fn line(&mut self, line: &str) -> Value {
        self.to.write_all(line.as_bytes()).expect("it reads");
        self.to.write_all(b"\n").expect("it reads");
        let mut answer = String::new();
        self.from.read_line(&mut answer).expect("it answers");
        serde_json::from_str(&answer).expect("an answer is a line of JSON")
    }

    fn ask(&mut self, module: &str, function: &str, input: &Value) -> Value {
        let message = json!({
            "id": 7, "kind": "evaluate", "module": module, "function": function, "input": input,
        });
        let answer = self.line(&message.to_string());
        assert_eq!(answer["id"], 7);
        answer
    }

    /// The output of a function that must succeed.
    fn output(&mut self, module: &str, function: &str, input: &Value) -> Value {
        let mut answer = self.ask(module, function, input);
        assert_eq!(answer["success"], true, "{module} {function}: {}", answer["error"]);
        answer["output"].take()
    }

    fn numbers(&mut self, module: &str, function: &str, input: &Value) -> Vec<f64> {
        let mut all = Vec::new();
        flatten(&self.output(module, function, input), &mut all);
        all
    }

    /// The error of a function that must fail.
    fn error(&mut self, module: &str, function: &str, input: &Value) -> String {
        let answer = self.ask(module, function, input);
        assert_eq!(answer["success"], false, "{module} {function} {input}");
        answer["error"].as_str().expect("an error is a text").to_string()
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        // It is there for this test only.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All numbers, objects by their names in order.
fn flatten(value: &Value, to: &mut Vec<f64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|v| flatten(v, to)),
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            names.into_iter().for_each(|name| flatten(&fields[name], to));
        }
        other => to.push(other.as_f64().unwrap_or_else(|| panic!("{other} is no number"))),
    }
}

/// Each number as close as asked for, by its own size and a little of the largest.
fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        let bound = tolerance * (b.abs() + 1e-6 * largest);
        assert!((a - b).abs() <= bound, "{what}: number {k} is {a}, {b} was expected");
    }
}

/// As close as differences are.
fn near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        let bound = 1e-5 * b.abs() + 1e-7 * largest + 1e-9;
        assert!((a - b).abs() <= bound, "{what}: number {k} is {a}, {b} was expected");
    }
}

/// A gradient by central differences of one of the lists of an input.
fn differences(
    tool: &mut Tool,
    module: &str,
    function: &str,
    input: &Value,
    path: &str,
) -> Vec<f64> {
    let mut places = Vec::new();
    leaves(input.pointer(path).expect("a field"), path, &mut places);
    let step = 1e-5;
    let mut all = Vec::new();
    for place in places {
        let mut at = |shift: f64| {
            let mut moved = input.clone();
            let x = moved.pointer_mut(&place).expect("a number");
            *x = json!(x.as_f64().expect("a number") + shift);
            tool.numbers(module, function, &moved)
        };
        let (up, down) = (at(step), at(-step));
        all.push(up.iter().zip(&down).map(|(a, b)| (a - b) / (2.0 * step)).collect::<Vec<_>>());
    }
    all.concat()
}

/// Where the numbers of a value are.
fn leaves(value: &Value, path: &str, to: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(k, v)| leaves(v, &format!("{path}/{k}"), to));
        }
        _ => to.push(path.to_string()),
    }
}

fn normal(rng: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}

fn list(rng: &mut fastrand::Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| normal(rng)).collect()
}

fn rows(rng: &mut fastrand::Rng, n: usize, columns: usize) -> Vec<Vec<f64>> {
    (0..n).map(|_| list(rng, columns)).collect()
}

#[test]
fn the_protocol_is_spoken() {
    let mut tool = Tool::start();
    assert_eq!(tool.line(r#"{"id":0,"kind":"start"}"#), json!({ "id": 0, "tool": "cotangent" }));
    for module in [
        "hello", "lse", "llsq", "det", "ode", "kmeans", "gmm", "ba", "lstm", "ht", "particle",
        "saddle",
    ] {
        let message = json!({ "id": 1, "kind": "define", "module": module });
        assert_eq!(tool.line(&message.to_string()), json!({ "id": 1, "success": true }));
    }
    let unknown = tool.line(r#"{"id":2,"kind":"define","module":"lu"}"#);
    assert_eq!(unknown, json!({ "id": 2, "success": false }));
    let other = tool.line(r#"{"id":3,"kind":"analysis","of":1,"valid":true}"#);
    assert_eq!(other, json!({ "id": 3 }));
    // Empty lines are no messages; the next answer is to the next message.
    assert_eq!(tool.line("\n  \n{\"id\":4,\"kind\":\"start\"}")["id"], 4);
}

#[test]
fn evaluations_are_repeated_and_timed() {
    let mut tool = Tool::start();
    let answer = tool.ask("lse", "primal", &json!({ "x": [0.0, 0.0], "min_runs": 3 }));
    let names: Vec<&str> = answer["timings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|t| t["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["prepare", "evaluate", "evaluate", "evaluate"]);
    assert!(answer["timings"][1]["nanoseconds"].as_u64().is_some());
    let input = json!({ "x": [0.0, 0.0], "min_runs": 1, "min_seconds": 0.01 });
    let answer = tool.ask("lse", "primal", &input);
    let timings = answer["timings"].as_array().expect("a list");
    let total: u64 = timings[1..].iter().filter_map(|t| t["nanoseconds"].as_u64()).sum();
    assert!(total >= 10_000_000, "{total}");
}

#[test]
fn bad_lines_are_answered_and_the_next_is_served() {
    let mut tool = Tool::start();
    for line in [
        "",
        "{",
        "nonsense",
        "[]",
        "3",
        "null",
        "\"text\"",
        "{}",
        "{\"id\":1}",
        "{\"kind\":7}",
        "{\"kind\":\"evaluate\"}",
        "{\"kind\":\"evaluate\",\"module\":\"lse\"}",
        "{\"kind\":\"evaluate\",\"module\":\"lse\",\"function\":\"primal\"}",
        "{\"kind\":\"evaluate\",\"module\":7,\"function\":\"primal\",\"input\":{}}",
        "{\"kind\":\"evaluate\",\"module\":\"lse\",\"function\":\"primal\",\"input\":{\"x\":[NaN]}}",
        "{\"kind\":\"evaluate\",\"module\":\"lse\",\"function\":\"primal\",\"input\":{\"x\":[1e999]}}",
        "\u{0}\u{1}",
        "{\"id\":\"\\ud800\"}",
    ] {
        // An empty line has no answer; put a bad one behind it.
        let line = if line.is_empty() { "\n?" } else { line };
        let answer = tool.line(line);
        assert_eq!(answer["success"], false, "{line}: {answer}");
        assert!(answer["error"].is_string(), "{line}: {answer}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(tool.line(&deep)["success"], false);
    assert_eq!(tool.output("hello", "square", &json!(3.0)), json!(9.0));
}

/// A hand with something else in a place.
fn broken_hand(path: &str, with: Value) -> Value {
    let mut input = hand(&mut fastrand::Rng::with_seed(4), false, true);
    *input.pointer_mut(path).expect("a place") = with;
    input
}

#[test]
fn bad_inputs_are_answered_with_what_is_wrong() {
    let mut tool = Tool::start();
    let gmm = json!({ "d": 2, "k": 1, "n": 1, "m": 0, "gamma": 1.0, "x": [[1, 2]], "alpha": [1],
        "mu": [[0, 0]], "q": [[0, 0]], "l": [[0.5]] });
    tool.output("gmm", "objective", &gmm);
    let without = |name: &str| {
        let mut less = gmm.clone();
        less.as_object_mut().expect("an object").remove(name);
        less
    };
    for name in ["d", "k", "n", "m", "gamma", "x", "alpha", "mu", "q", "l"] {
        let error = tool.error("gmm", "jacobian", &without(name));
        assert!(error.contains(&format!("`{name}`")), "{name}: {error}");
    }
    let camera = vec![0; 11];
    let ba = json!({ "n": 1, "m": 1, "p": 1, "cam": camera, "x": [1, 2], "w": 1, "feat": [0, 0] });
    for (module, function, input, part) in [
        ("lu", "primal", json!({}), "no module"),
        ("lse", "hessian", json!({ "x": [1] }), "primal, gradient"),
        ("hello", "square", json!({ "x": 1 }), "number"),
        ("hello", "triple", json!(1), "square, double"),
        ("lse", "primal", json!({}), "`x` is missing"),
        ("lse", "primal", json!([1, 2]), "no object"),
        ("lse", "primal", json!({ "x": 3 }), "a list belongs"),
        ("lse", "primal", json!({ "x": [1, null] }), "null"),
        ("lse", "primal", json!({ "x": [1, "2"] }), "a text"),
        ("lse", "gradient", json!({ "x": [] }), "empty"),
        ("lse", "primal", json!({ "x": [1], "min_runs": -1 }), "min_runs"),
        ("lse", "primal", json!({ "x": [1], "min_seconds": "long" }), "min_seconds"),
        ("llsq", "primal", json!({ "x": [1] }), "`n`"),
        ("llsq", "primal", json!({ "x": [1], "n": 1 }), "from 2"),
        ("llsq", "primal", json!({ "x": [1], "n": 2.5 }), "whole"),
        ("det", "primal", json!({ "A": [1, 2, 3], "ell": 2 }), "3 numbers, not 4"),
        ("det", "primal", json!({ "A": [], "ell": 0 }), "from 1"),
        ("det", "primal", json!({ "A": [1], "ell": 1e300 }), "whole"),
        ("ode", "primal", json!({ "x": [1], "s": -3 }), "whole"),
        ("kmeans", "cost", json!({ "points": [[1, 2]], "centroids": [[1]] }), "coordinates"),
        ("kmeans", "cost", json!({ "points": [[1, 2], [3]], "centroids": [[1, 2]] }), "differ"),
        ("kmeans", "cost", json!({ "points": [[1]], "centroids": [] }), "no centroids"),
        // A centroid that no point is near has no direction.
        ("kmeans", "dir", json!({ "points": [[1]], "centroids": [[1], [9]] }), "no number"),
        ("ba", "objective", ba, "`x` has 2 numbers"),
        ("lstm", "objective", json!({ "state": [[1]], "sequence": [[1], [0]] }), "two rows"),
        ("lstm", "objective", json!({ "state": [[1], [1]], "sequence": [[1]] }), "two characters"),
        ("ht", "objective", json!({ "theta": [] }), "`data`"),
        ("ht", "objective", broken_hand("/data/correspondences/1", json!(4)), "below 4"),
        ("ht", "objective", broken_hand("/data/model/triangles/0/0", json!(0.5)), "triangles"),
        ("ht", "objective", broken_hand("/data/model/parents/3", json!(7)), "before"),
        ("ht", "objective", broken_hand("/data/model/is_mirrored", json!(1)), "truth"),
        ("ht", "objective", broken_hand("/data/model/weights", json!([])), "`weights`"),
        ("ht", "jacobian", broken_hand("/data/model/base_relatives/5", json!([[1]])), "4 × 4"),
        ("ht", "jacobian", broken_hand("/us", json!([[0, 0]])), "`us`"),
        ("particle", "fff", json!({ "w": 0 }), "ff, fr, rf, rr"),
        ("particle", "ff", json!({ "w": null }), "null"),
        // The charges push the particle away from the plane.
        ("particle", "fr", json!({ "w": 5 }), "the descent came to"),
        ("particle", "rr", json!({ "w": 1e300 }), "the descent came to"),
        ("saddle", "fr", json!({ "start": [1e300, 1] }), "the descent came to"),
        ("saddle", "rr", json!({ "start": [1, 1, 1] }), "3 numbers, not 2"),
    ] {
        let error = tool.error(module, function, &input);
        assert!(error.contains(part), "{module} {function}: {error}");
    }
}

#[test]
fn small_functions_have_their_closed_forms() {
    let mut tool = Tool::start();
    assert_eq!(tool.numbers("hello", "square", &json!(-1.5)), [2.25]);
    assert_eq!(tool.numbers("hello", "double", &json!(-1.5)), [-3.0]);
    let x = [0.0, 1.0_f64.ln(), 2.0_f64.ln(), -800.0];
    let input = json!({ "x": x });
    close(&tool.numbers("lse", "primal", &input), &[4.0_f64.ln()], 1e-14, "lse");
    close(&tool.numbers("lse", "gradient", &input), &[0.25, 0.25, 0.5, 0.0], 1e-14, "lse");
    // At −1, 0 and 1: the residuals of x₀ + x₁ t are −1 − x₀ + x₁, −x₀, 1 − x₀ − x₁.
    let input = json!({ "x": [0.25, 0.5], "n": 3 });
    let r = [-0.75, -0.25, 0.25];
    let half = 0.5 * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    close(&tool.numbers("llsq", "primal", &input), &[half], 1e-14, "llsq");
    let slopes = [-(r[0] + r[1] + r[2]), r[0] - r[2]];
    close(&tool.numbers("llsq", "gradient", &input), &slopes, 1e-14, "llsq");
    let input = json!({ "A": [2, 3, 1, 4, 5, -1, 0, 6, 7], "ell": 3 });
    // By Sarrus, and the cofactors.
    close(&tool.numbers("det", "primal", &input), &[22.0], 1e-14, "det");
    let cofactors = [41.0, -28.0, 24.0, -15.0, 14.0, -12.0, -8.0, 6.0, -2.0];
    close(&tool.numbers("det", "gradient", &input), &cofactors, 1e-14, "det");
    assert_eq!(tool.numbers("det", "gradient", &json!({ "A": [5], "ell": 1 })), [1.0]);
    // One centroid: half of the way, so the mean.
    let input = json!({ "points": [[1, 0], [3, 8]], "centroids": [[0, 1]] });
    assert_eq!(tool.numbers("kmeans", "cost", &input), [2.0 + 58.0]);
    assert_eq!(tool.numbers("kmeans", "dir", &input), [-2.0, -3.0]);
}

#[test]
fn a_chain_of_equations_grows_by_powers_of_time() {
    // With xᵢ = 1 yᵢ = tⁱ⁺¹/(i+1)!, and one step of Runge–Kutta is right to the fourth power.
    let mut tool = Tool::start();
    let input = json!({ "x": [1, 1, 1, 1], "s": 1 });
    let y = [2.0, 2.0, 4.0 / 3.0, 2.0 / 3.0];
    close(&tool.numbers("ode", "primal", &input), &y, 1e-14, "ode");
    // The last component is the product of all xᵢ, times that.
    let input = json!({ "x": [1, 2, 0.5, 3], "s": 1 });
    let last = 2.0;
    let slopes = [last, last / 2.0, last / 0.5, last / 3.0];
    close(&tool.numbers("ode", "gradient", &input), &slopes, 1e-14, "ode");
    let input = json!({ "x": [1.1, 0.3, 0.7, 1.9, 0.4, 0.8], "s": 7 });
    let by = differences(&mut tool, "ode", "primal", &input, "/x");
    let last: Vec<f64> = by.chunks(6).map(|column| column[5]).collect();
    near(&tool.numbers("ode", "gradient", &input), &last, "ode");
}

#[test]
fn gradients_are_those_of_differences() {
    let mut tool = Tool::start();
    let mut rng = fastrand::Rng::with_seed(1);
    for d in [1, 2, 4] {
        let (k, n) = (3, 5);
        let input = json!({
            "d": d, "k": k, "n": n, "m": 2, "gamma": 1.5, "x": rows(&mut rng, n, d),
            "alpha": list(&mut rng, k), "mu": rows(&mut rng, k, d), "q": rows(&mut rng, k, d),
            "l": rows(&mut rng, k, d * (d - 1) / 2),
        });
        let jacobian = tool.output("gmm", "jacobian", &input);
        for name in ["alpha", "mu", "q", "l"] {
            let mut found = Vec::new();
            flatten(&jacobian[name], &mut found);
            let path = format!("/{name}");
            let expected = differences(&mut tool, "gmm", "objective", &input, &path);
            near(&found, &expected, name);
        }
    }
    let (l, b, c) = (2, 3, 4);
    let input = json!({
        "main_params": rows(&mut rng, 2 * l, 4 * b), "extra_params": rows(&mut rng, 3, b),
        "state": rows(&mut rng, 2 * l, b), "sequence": rows(&mut rng, c, b),
    });
    let mut expected = differences(&mut tool, "lstm", "objective", &input, "/main_params");
    expected.extend(differences(&mut tool, "lstm", "objective", &input, "/extra_params"));
    near(&tool.numbers("lstm", "jacobian", &input), &expected, "lstm");
}

#[test]
fn the_jacobian_of_an_observation_is_that_of_differences() {
    let mut tool = Tool::start();
    for turn in [[0.3, -0.2, 0.5], [0.0, 0.0, 0.0]] {
        let camera = [&turn[..], &[0.1, 0.2, -3.0], &[2.0], &[0.3, -0.1], &[0.05, 0.01]].concat();
        let input = json!({
            "n": 1, "m": 1, "p": 1, "cam": camera, "x": [0.4, -0.7, 1.2], "w": 0.6,
            "feat": [0.2, 0.1],
        });
        let jacobian = tool.output("ba", "jacobian", &input);
        let mut values = Vec::new();
        flatten(&jacobian["vals"], &mut values);
        let columns: Vec<usize> = (0..15).chain(0..15).chain([14]).collect();
        assert_eq!(jacobian["cols"], json!(columns));
        assert_eq!(jacobian["rows"], json!([0, 15, 30, 31, 31]));
        let mut expected = vec![vec![0.0; 15]; 2];
        for (path, at) in [("/cam", 0), ("/x", 11), ("/w", 14)] {
            // By each number: the error of the weight is not among the elements of both.
            let by = differences(&mut tool, "ba", "objective", &input, path);
            // Elements, repeated, weight's error, repeated.
            for (k, column) in by.chunks(5).enumerate() {
                (expected[0][at + k], expected[1][at + k]) = (column[0], column[1]);
            }
        }
        let mut expected = expected.concat();
        expected.push(-1.2);
        near(&values, &expected, "ba");
    }
}

/// A hand of random bones and vertices.
fn hand(rng: &mut fastrand::Rng, mirrored: bool, in_triangles: bool) -> Value {
    let (bones, vertices, triangles, points) = (22, 6, 4, 3);
    let parents: Vec<i64> = (0..bones)
        .map(|b| {
            if b == 0 {
                -1
            } else if b % 4 == 1 {
                0
            } else {
                b - 1
            }
        })
        .collect();
    let matrices = |rng: &mut fastrand::Rng| -> Vec<Vec<Vec<f64>>> {
        let last = vec![0.0, 0.0, 0.0, 1.0];
        (0..bones).map(|_| [rows(rng, 3, 4), vec![last.clone()]].concat()).collect()
    };
    let below = |rng: &mut fastrand::Rng, n: usize, bound: usize| -> Vec<usize> {
        (0..n).map(|_| rng.usize(..bound)).collect()
    };
    let corners: Vec<Vec<usize>> = (0..triangles).map(|_| below(rng, 3, vertices)).collect();
    let bound = if in_triangles { triangles } else { vertices };
    let us = if in_triangles { rows(rng, points, 2) } else { Vec::new() };
    json!({
        "theta": list(rng, 26),
        "us": us,
        "data": {
            "correspondences": below(rng, points, bound),
            "points": rows(rng, points, 3),
            "model": {
                "bone_count": bones, "parents": parents, "base_relatives": matrices(rng),
                "inverse_base_absolutes": matrices(rng), "base_positions": rows(rng, vertices, 4),
                "weights": rows(rng, vertices, 22), "triangles": corners,
                "is_mirrored": mirrored,
            },
        },
    })
}

#[test]
fn the_jacobian_of_a_hand_is_that_of_differences() {
    let mut tool = Tool::start();
    let mut rng = fastrand::Rng::with_seed(3);
    for (mirrored, in_triangles, rest) in
        [(false, true, false), (true, true, false), (false, false, false), (true, false, true)]
    {
        let mut input = hand(&mut rng, mirrored, in_triangles);
        if rest {
            // The hand is not turned: a branch of its own.
            (0..3).for_each(|k| input["theta"][k] = json!(0.0));
        }
        let errors = 9;
        let found = tool.numbers("ht", "jacobian", &input);
        let columns = if in_triangles { 28 } else { 26 };
        let mut by = Vec::new();
        if in_triangles {
            // The columns of all points at once: each error depends on its own.
            let each = differences(&mut tool, "ht", "objective", &input, "/us");
            for axis in 0..2 {
                let column = (0..errors).map(|e| each[((e / 3) * 2 + axis) * errors + e]);
                by.push(column.collect::<Vec<f64>>());
            }
        }
        let pose = differences(&mut tool, "ht", "objective", &input, "/theta");
        by.extend(pose.chunks(errors).map(<[f64]>::to_vec));
        // Below a small angle the hand is not turned at all.
        (0..3).filter(|_| rest).for_each(|k| by[k].fill(0.0));
        let expected: Vec<f64> =
            (0..errors * columns).map(|e| by[e % columns][e / columns]).collect();
        near(&found, &expected, "ht");
    }
}

#[test]
fn nested_derivatives_agree_in_all_modes() {
    let mut tool = Tool::start();
    for modes in ["ff", "fr", "rf", "rr"] {
        let found = tool.numbers("particle", modes, &json!({ "w": 0 }));
        close(&found, &[0.207_191_874_648_611_6], 1e-8, modes);
        let found = tool.numbers("saddle", modes, &json!({ "start": [1, 1] }));
        close(&found, &[8.246_324_826_140_356e-6; 4], 1e-8, modes);
    }
}

/// Reads a reference: the module, the input, and the outputs by function.
fn reference(path: &std::path::Path) -> Value {
    let file = std::fs::File::open(path).expect("a file");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a compressed text");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
#[allow(clippy::print_stdout, reason = "a test that does nothing says so")]
fn outputs_are_those_of_hand_written_derivatives() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/gradbench");
    let folder = std::path::Path::new(folder);
    if !folder.is_dir() {
        println!("skipped: no references at {}", folder.display());
        return;
    }
    let mut tool = Tool::start();
    for name in [
        "lse-n2500",
        "lse-n40000",
        "llsq-n16_m128",
        "llsq-n1024_m128",
        "det-5",
        "det-8",
        "ode-n1000_s1",
        "ode-n10000_s10",
        "kmeans-k10_n1000_d8",
        "gmm-2_5_1000",
        "ba-ba1_n49_m7776_p31843",
        "lstm-l2_c1024",
        "ht-complicated_small_hand6_t26_c1600",
    ] {
        let path = folder.join(format!("{name}.json.gz"));
        if !path.is_file() {
            println!("skipped: no {name}");
            continue;
        }
        let reference = reference(&path);
        let module = reference["eval"].as_str().expect("a module");
        for (function, output) in reference["functions"].as_object().expect("functions") {
            let mut expected = Vec::new();
            flatten(output, &mut expected);
            let found = tool.numbers(module, function, &reference["input"]);
            close(&found, &expected, 1e-8, &format!("{name} {function}"));
        }
    }
}
