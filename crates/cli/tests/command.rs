//! The command as users run it.

use std::process::{Command, Output};

fn cotangent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cotangent")).args(arguments).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn the_tour_shows_all_its_parts_without_colour_when_piped() {
    let out = cotangent(&["tour", "--no-times"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let shown = text(&out.stdout);
    for part in ["fn energy<S: Scalar>", "forward", "Hessian", "·t⁸", "≤ f ≤", "⣿", "sqrt", "1e200"]
    {
        assert!(shown.contains(part), "`{part}` is missing in\n{shown}");
    }
    // And of functions as programs.
    for part in
        ["@valley.grad", "for %i < 10000", "30 states", "as written", "··11    ···1", "Newton"]
    {
        assert!(shown.contains(part), "`{part}` is missing in\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "escape codes in a pipe");
}

#[test]
fn the_tour_is_in_colour_where_asked_for() {
    let out = Command::new(env!("CARGO_BIN_EXE_cotangent"))
        .args(["tour", "--no-times"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .expect("it starts");
    assert!(text(&out.stdout).contains('\u{1b}'));
}

#[test]
fn the_tour_as_json_has_the_same_gradient_by_all_ways() {
    let out = cotangent(&["tour", "--json"]);
    assert_eq!(out.status.code(), Some(0));
    let tour: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let row = |v: &serde_json::Value| -> Vec<f64> {
        v.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
    };
    let hand = row(&tour["gradient"]["hand"]);
    for way in ["forward", "reverse"] {
        for (a, b) in row(&tour["gradient"][way]).iter().zip(&hand) {
            assert!((a - b).abs() < 1e-12, "{way}: {a} for {b}");
        }
    }
    // The bounds hold the value and the gradient.
    let value = tour["value"].as_f64().expect("a number");
    let [low, high] = row(&tour["bounds"]["value"])[..] else { panic!("two ends") };
    assert!(low <= value && value <= high);
    for (ends, g) in tour["bounds"]["gradient"].as_array().expect("a list").iter().zip(&hand) {
        let [low, high] = row(ends)[..] else { panic!("two ends") };
        assert!(low <= *g && *g <= high);
    }
    // Two beads touch if they are neighbours: 20 diagonal blocks of 4 and 2·19 beside them.
    assert_eq!(tour["sparsity"]["nonzeros"], 20 * 4 + 2 * 19 * 4);
    assert!(tour["times"].as_array().expect("a list").len() >= 3 * 6);
    // Programs: the same by two ways, and few states are few bytes.
    for section in ["traced", "looped"] {
        let section = &tour["programs"][section];
        for (a, b) in row(&section["gradient"]).iter().zip(row(&section["by_dual_numbers"])) {
            assert!((a - b).abs() < 1e-9, "{a} for {b}");
        }
    }
    let [all, few] = row(&tour["programs"]["looped"]["peak_bytes"])[..] else {
        panic!("two peaks")
    };
    assert!(few < all / 50.0, "{few} {all}");
    let sizes = tour["programs"]["normalised"]["sizes"].as_array().expect("a list");
    let cost = |k: usize| sizes[k]["reverse"].as_f64().expect("a number");
    assert!(cost(1) < 110.0 * cost(0), "{} {}", cost(0), cost(1));
}

#[test]
fn one_operation_is_shown_with_its_partials() {
    let out = cotangent(&["ops", "atan2"]);
    assert_eq!(out.status.code(), Some(0));
    assert!(text(&out.stdout).contains("∂12 = "));
    let out = cotangent(&["ops", "--json"]);
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&out.stdout).expect("JSON");
    assert!(rows.len() >= 60 && rows.iter().any(|row| row["name"] == "softplus"));
}

#[test]
fn bad_input_is_named_with_a_remedy_and_status_2() {
    let out = cotangent(&["ops", "atan3"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("there is no operation `atan3`; did you mean"));
    assert_eq!(cotangent(&["tuor"]).status.code(), Some(2));
    assert_eq!(cotangent(&[]).status.code(), Some(2));
    let help = cotangent(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help.stdout).contains("tour"));
}

/// A file of its own for each test.
fn file(name: &str, text: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("cotangent-{}-{name}", std::process::id()));
    std::fs::write(&path, text).expect("a file");
    path
}

const ARROW: &str = "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 7\n1 1\n2 1\n3 1\n4 1\n2 2\n3 3\n4 4\n";

#[test]
fn a_matrix_is_coloured_and_checked() {
    let path = file("arrow.mtx", ARROW);
    let path = path.to_str().expect("UTF-8");
    let out = cotangent(&[
        "color",
        path,
        "--structure",
        "symmetric",
        "--order",
        "natural,largest-first",
        "--verify",
        "--json",
    ]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let rows: Vec<serde_json::Value> =
        text(&out.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!((&row["rows"], &row["nnz"]), (&4.into(), &10.into()));
        assert_eq!(row["verified"], true);
        assert_eq!(row["colors"]["total"], 2);
        assert!(row["seconds"]["order"].as_f64().expect("a number") >= 0.0);
    }
    assert_eq!(rows.iter().filter(|row| row["best"] == true).count(), 1);
    let out = cotangent(&["color", path, "--partition", "auto", "--order", "all"]);
    assert!(text(&out.stdout).contains("bidirectional"));
}

#[test]
fn threads_and_costs_are_taken_and_the_colours_do_not_depend_on_the_threads() {
    // An arrow: rows and columns together are best, unless products with the transpose are dear.
    let mut lines = String::from("%%MatrixMarket matrix coordinate pattern general\n9 9 25\n");
    for i in 1..=9 {
        lines += &format!("{i} {i}\n");
        if i > 1 {
            lines += &format!("{i} 1\n1 {i}\n");
        }
    }
    let path = file("threads.mtx", &lines);
    let path = path.to_str().expect("UTF-8");
    let colors = |more: &[&str]| {
        let out = cotangent(&[&["color", path, "--partition", "auto", "--json"], more].concat());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        let rows: Vec<serde_json::Value> =
            text(&out.stdout).lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        let best = rows.iter().find(|row| row["best"] == true).expect("one is best");
        (best["partition"].clone(), rows.iter().map(|r| r["colors"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(colors(&["--threads", "1"]), colors(&["--threads", "3"]));
    assert_eq!(colors(&[]).0, "bidirectional");
    assert_eq!(colors(&["--costs", "1,50"]).0, "column");
    for bad in [["--costs", "1"], ["--costs", "1,-2"], ["--threads", "0"], ["--costs", "1,x"]] {
        let out = cotangent(&["color", path, bad[0], bad[1]]);
        assert_eq!(out.status.code(), Some(2), "{bad:?}");
        assert!(!out.stderr.is_empty());
    }
}

#[test]
fn a_picture_is_drawn_and_written() {
    let path = file("picture.mtx", ARROW);
    let path = path.to_str().expect("UTF-8");
    assert!(text(&cotangent(&["spy", path]).stdout).starts_with("⡟⢍\n"));
    for (name, start) in [("a.svg", &b"<svg"[..]), ("a.png", b"\x89PNG")] {
        let target = file(name, "");
        let out = cotangent(&["spy", path, "--colors", "-o", target.to_str().expect("UTF-8")]);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert!(std::fs::read(&target).expect("written").starts_with(start));
    }
    let out = cotangent(&["spy", path, "-o", "picture.bmp"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("must end in .svg or .png"));
}

#[test]
fn malformed_matrices_are_named_with_their_line() {
    let header = "%%MatrixMarket matrix coordinate real general\n";
    for (name, body, line) in [
        ("outside.mtx", "2 2 1\n3 1 1.0\n", "line 3"),
        ("few.mtx", "2 2 2\n1 1 1.0\n", "line 3"),
        ("nan.mtx", "2 2 1\n1 1 nan\n", "line 3"),
        ("huge.mtx", "2 2 10000000000\n1 1 1\n", "line 3"),
        ("size.mtx", "two 2 1\n", "line 2"),
    ] {
        let path = file(name, &format!("{header}{body}"));
        let out = cotangent(&["color", path.to_str().expect("UTF-8")]);
        assert_eq!(out.status.code(), Some(2), "{name}");
        assert!(text(&out.stderr).contains(line), "{name}: {}", text(&out.stderr));
    }
    let path = file("lopsided.mtx", &format!("{header}2 2 1\n1 2 1.0\n"));
    let path = path.to_str().expect("UTF-8");
    let out = cotangent(&["color", path, "--structure", "symmetric"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("(0, 1) has no mirror image"));
    let out = cotangent(&["color", path, "--structure", "symmetric", "--partition", "row"]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(cotangent(&["color", path, "--order", "best"]).status.code(), Some(2));
    assert_eq!(cotangent(&["spy", "/nowhere/to/be/found.mtx"]).status.code(), Some(2));
}

const PRODUCT: &str =
    "fn @f(%x: f64, %y: f64) -> f64 {\n  %p = mul %x, %y\n  %r = sin %p\n  ret %r\n}\n";

#[test]
fn a_program_is_shown_differentiated_and_run() {
    let path = file("product.ct", PRODUCT);
    let path = path.to_str().expect("UTF-8");
    let shown = cotangent(&["show", path]);
    assert_eq!(shown.status.code(), Some(0));
    assert!(text(&shown.stdout).contains("%1 = sin %0"));
    assert!(text(&cotangent(&["show", path, "--emit", "dot"]).stdout).starts_with("digraph"));
    let gradient = cotangent(&["diff", path, "--wrt", "y"]);
    let derivative = file("gradient.ct", &text(&gradient.stdout));
    let derivative = derivative.to_str().expect("UTF-8");
    let point = file("point.json", "{\"x\": 1.5}");
    let point = point.to_str().expect("UTF-8");
    let out = cotangent(&["run", derivative, "--input-file", point, "--input", "y=0", "--json"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let results: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(results["results"], serde_json::json!([0.0, 1.5]));
    let second = cotangent(&["diff", path, "--mode", "fwd", "--order", "2", "--json"]);
    let second: serde_json::Value = serde_json::from_slice(&second.stdout).expect("JSON");
    assert_eq!((&second["params"], &second["results"]), (&8.into(), &4.into()));
    // Laplacians at two points: −(x² + y²) sin(x y).
    let many = cotangent(&["diff", path, "--mode", "lap", "--batch", "2"]);
    let many = file("many.ct", &text(&many.stdout));
    let many = many.to_str().expect("UTF-8");
    let out = cotangent(&["run", many, "--input", "x=1,2", "--input", "y=1,0", "--json"]);
    let results: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let found = results["results"][1].as_array().expect("a list");
    let expected = [-2.0 * 1f64.sin(), 0.0];
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.as_f64().expect("a number") - expected).abs() < 1e-12, "{results}");
    }
}

#[test]
fn a_program_is_run_in_singles() {
    let path = file("single.ct", PRODUCT);
    let path = path.to_str().expect("UTF-8");
    for engine in ["interpret", "compile"] {
        let mut arguments = vec!["run", path, "--input", "x=1", "--input", "y=0.1", "--single"];
        arguments.extend(["--engine", engine]);
        let out = cotangent(&arguments);
        let found: f64 = match out.status.code() {
            Some(0) => text(&out.stdout).trim().parse().expect("a number"),
            // There may be no LLVM.
            _ => continue,
        };
        let exact = f64::from(0.1_f32).sin();
        assert!(found == f64::from(found as f32) && (found - exact).abs() < 1e-8, "{found}");
    }
    let out = cotangent(&["run", path, "--input", "x=1", "--input", "y=0.1", "--single"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
}

#[test]
fn what_is_wrong_with_a_program_is_drawn_with_its_place() {
    let bad = file("bad.ct", "fn @f(%x: f64) -> f64 {\n  %y = sinn %x\n  ret %y\n}\n");
    let out = cotangent(&["show", bad.to_str().expect("UTF-8")]);
    assert_eq!(out.status.code(), Some(2));
    let said = text(&out.stderr);
    for part in ["2:8", "did you mean `sin`?", "%y = sinn %x", "here"] {
        assert!(said.contains(part), "`{part}` is missing in\n{said}");
    }
    let good = file("good.ct", PRODUCT);
    let good = good.to_str().expect("UTF-8");
    for (arguments, said) in [
        (vec!["run", good, "--input", "x=1"], "needs --input y="),
        (vec!["run", good, "--input", "x=1", "--input", "y=a"], "is not NAME=NUMBER"),
        (
            vec!["run", good, "--input", "x=1", "--input", "y=1", "--input", "z=1"],
            "has no parameter %z",
        ),
        (vec!["diff", good, "--wrt", "q"], "it has x, y"),
        (vec!["diff", good, "--order", "0"], "0 is not in 1..=64"),
        (vec!["diff", good, "--order", "9"], "taken 8 times at most"),
        (vec!["diff", good, "--mode", "lap", "--wrt", "x"], "by all numbers"),
        (vec!["show", "nowhere.ct"], "could not be read"),
    ] {
        let out = cotangent(&arguments);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}");
        assert!(text(&out.stderr).contains(said), "{}", text(&out.stderr));
    }
}

#[test]
fn a_program_becomes_a_library() {
    if cotangent::machine().is_err() {
        return;
    }
    let program = file("library.ct", PRODUCT);
    let folder = program.with_extension("out");
    let (program, folder) = (program.to_str().unwrap(), folder.to_str().unwrap());
    let built =
        cotangent(&["build", program, "--what", "value,grad,hvp", "--out", folder, "--json"]);
    assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
    let said: serde_json::Value = serde_json::from_slice(&built.stdout).unwrap();
    assert_eq!(said["functions"], serde_json::json!(["f", "f_grad", "f_hvp"]));
    let header = std::fs::read_to_string(said["header"].as_str().unwrap()).unwrap();
    assert!(
        header.contains("uint64_t f_grad(const double x0[1], const double x1[1], double y0[1]")
    );
    let archive = std::fs::read(said["library"].as_str().unwrap()).unwrap();
    assert!(archive.starts_with(b"!<arch>"));
    let single = cotangent(&["build", program, "--single", "--out", folder, "--json"]);
    assert_eq!(single.status.code(), Some(0), "{}", text(&single.stderr));
    let said: serde_json::Value = serde_json::from_slice(&single.stdout).unwrap();
    let header = std::fs::read_to_string(said["header"].as_str().unwrap()).unwrap();
    assert!(header.contains("const float x0[1], const float x1[1], float y0[1]"), "{header}");
    let bad = cotangent(&["build", program, "--cpu", "z80"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(text(&bad.stderr).contains("x86-64-v3"), "{}", text(&bad.stderr));
}
