//! Programs as pictures, as users ask for them.

use std::process::{Command, Output};

fn cotangent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cotangent")).args(arguments).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn file(name: &str, text: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("it is written");
    path.display().to_string()
}

/// Every element that is opened is closed, in its order; attributes are quoted and nothing is left bare.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, after) = piece.split_once('>').expect("a tag ends");
        assert!(!after.contains('>'), "a bare > in {piece}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        for entity in piece.split('&').skip(1) {
            let name = entity.split_once(';').map_or("", |(name, _)| name);
            assert!(["amp", "lt", "gt", "quot", "apos"].contains(&name), "&{entity}");
        }
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{piece}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

fn drawn(arguments: &[&str]) -> String {
    let out = cotangent(&[arguments, &["--emit", "svg"]].concat());
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {}", text(&out.stderr));
    let svg = text(&out.stdout);
    assert!(svg.starts_with("<svg xmlns"), "{svg}");
    assert_well_formed(&svg);
    svg
}

const LOOP: &str = "fn @walk(%x: f64, %n: i64) -> f64 {
  %y = for %i < %n (%a = %x) {
    %s = sin %a
    %c = gt %s, 0.0
    %b = if %c { %p = mul %s, %a yield %p } else { yield %a }
    yield %b
  }
  %r = mul %y, %x
  ret %r
}
";

#[test]
fn a_program_is_drawn_with_its_bodies_inside_their_operations() {
    let path = file("walk.ct", LOOP);
    let svg = drawn(&["show", &path]);
    for part in ["<title>@walk</title>", "for %i &lt; %n (%a = %x)", "= sin %a", ">then<", ">else<"]
    {
        assert!(svg.contains(part), "`{part}` is missing in\n{svg}");
    }
    // One box that holds a body for each of `for` and `if`; three bodies and the function itself.
    assert_eq!(svg.matches("class=\"region\"").count(), 2);
    assert_eq!(svg.matches("class=\"body\"").count(), 4);
    let dot = text(&cotangent(&["show", &path, "--emit", "dot"]).stdout);
    assert!(dot.starts_with("digraph \"walk\"") && dot.matches("subgraph").count() == 4, "{dot}");
    // In the function, what comes out of the loop is used once.
    assert!(dot.contains("= sin %a"), "{dot}");
}

#[test]
fn derivatives_and_simplified_programs_are_drawn_too() {
    let path = file("walk2.ct", LOOP);
    assert!(drawn(&["diff", &path, "--mode", "fwd"]).contains("cos"));
    assert!(drawn(&["diff", &path]).contains("@walk.grad"));
    assert!(drawn(&["opt", &path]).contains("sin"));
    let out = cotangent(&["opt", &path, "--emit", "svg", "--stats"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("leave out --emit"));
    let out = cotangent(&["show", &path, "--emit", "svg", "--json"]);
    let shown: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert!(shown["text"].as_str().expect("a text").starts_with("<svg"));
}

#[test]
fn all_whole_programs_of_the_test_data_are_drawn() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/ct/programs");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path().display().to_string();
        if cotangent(&["show", &path]).status.success() {
            drawn(&["show", &path]);
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen}");
}

/// A chain in which each operation uses the two before it: there are as many paths as Fibonacci numbers.
fn chain(operations: usize) -> String {
    let mut text = String::from("fn @chain(%x: f64, %y: f64) -> f64 {\n  %a = mul %x, %y\n");
    text += "  %b0 = mul %a, %y\n  %b1 = mul %b0, %a\n";
    for k in 2..operations {
        text += &format!("  %b{k} = mul %b{}, %b{}\n", k - 1, k - 2);
    }
    text + &format!("  ret %b{}\n}}\n", operations - 1)
}

#[test]
fn many_paths_and_long_lines_take_no_time() {
    let path = file("chain.ct", &chain(200));
    let start = std::time::Instant::now();
    drawn(&["show", &path]);
    // The way back uses what the way there has made.
    let svg = drawn(&["diff", &path]);
    assert!(svg.contains("long arrows are left out"));
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn what_is_too_large_for_a_picture_is_refused_with_a_remedy() {
    let path = file("large.ct", &chain(1100));
    let out = cotangent(&["show", &path, "--emit", "svg"]);
    assert_eq!(out.status.code(), Some(2));
    let said = text(&out.stderr);
    assert!(said.contains("too many for a picture") && said.contains("--emit dot"), "{said}");
    assert!(text(&cotangent(&["show", &path, "--emit", "dot"]).stdout).starts_with("digraph"));
}
