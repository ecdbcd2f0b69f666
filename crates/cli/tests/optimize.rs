//! `cotangent opt` as users run it.

use std::process::{Command, Output};

fn cotangent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cotangent")).args(arguments).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn file(name: &str, text: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(name);
    std::fs::write(&path, text).expect("it is written");
    path.display().to_string()
}

const PROGRAM: &str = "fn @f(%x: f64, %y: f64) -> f64 {\n  %a = neg %y\n  %b = add %x, %a\n  %c = add %b, 0.0\n  ret %c\n}\n";

#[test]
fn a_program_is_made_simpler() {
    let path = file("simple.ct", PROGRAM);
    let out = cotangent(&["opt", &path]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let simple = "fn @f(%x: f64, %y: f64) -> f64 {\n  %0 = sub %x, %y\n  ret %0\n}\n";
    assert_eq!(text(&out.stdout), simple);
    // To the bit, the sign of a zero stays.
    let out = cotangent(&["opt", &path, "--class", "exact"]);
    assert!(text(&out.stdout).contains("add %0, 0.0"));
    // With remarks it is a program still, and the same.
    let out = cotangent(&["opt", &path, "--trace-rules", "--stats"]);
    let shown = text(&out.stdout);
    assert!(shown.contains("// add_neg: add(%x, neg(%y)) → sub(%x, %y)"), "{shown}");
    assert!(shown.contains("// before  3 = 3 flops\n// after   1 = 1 flops"), "{shown}");
    let again = file("again.ct", &shown);
    assert_eq!(text(&cotangent(&["opt", &again]).stdout), simple);
}

#[test]
fn what_was_done_is_an_object() {
    let path = file("object.ct", PROGRAM);
    let out = cotangent(&["opt", &path, "--json", "--trace-rules"]);
    let done: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(done["rules"]["add_neg"], 1);
    assert_eq!(done["before"]["total"], 3.0);
    assert_eq!(done["after"]["flops"], 1.0);
    assert_eq!(done["steps"][0]["rule"], "add_neg");
    assert!(done["text"].as_str().expect("a text").starts_with("fn @f"));
}

#[test]
fn what_is_repeated_becomes_kernels() {
    let params: Vec<String> = (0..80).map(|k| format!("%x{k}: f64")).collect();
    let sines: String = (0..80).map(|k| format!("%a{k} = sin %x{k}\n")).collect();
    let results: Vec<String> = (0..80).map(|k| format!("%a{k}")).collect();
    let types = ["f64"; 80].join(", ");
    let params = params.join(", ");
    let flat = format!("fn @f({params}) -> ({types}) {{\n{sines}ret {}\n}}\n", results.join(", "));
    let out = cotangent(&["opt", &file("flat.ct", &flat), "--reroll"]);
    let shown = text(&out.stdout);
    assert!(
        shown.starts_with("fn @f(%x: [80]f64) -> [80]f64 {\n  %0 = tab (%i < 80) {"),
        "{shown}"
    );
    let out = cotangent(&["opt", &file("few.ct", PROGRAM), "--reroll"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("@f has no parts that are repeated"));
}

#[test]
fn a_class_that_is_not_there_is_named() {
    let path = file("class.ct", PROGRAM);
    let out = cotangent(&["opt", &path, "--class", "fast"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("reassoc"));
    assert_eq!(cotangent(&["opt", "nowhere.ct"]).status.code(), Some(2));
}
