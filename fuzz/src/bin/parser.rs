//! Texts of the corpus, changed here and there: reading never panics; what is read prints to a fixed point,
//! is right or says why not, and runs and is differentiated without a panic.
//!
//! `cargo run --release --bin parser -- --seconds 60 --seed 0`

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use cotangent_fuzz::Plan;
use cotangent_ir::{Function, Op, Type, parse};
use cotangent_optimize::simplify;
use cotangent_transform::{gradient, jet, laplacian, linearize, reverse};
use fastrand::Rng;

fn collect(folder: &Path, found: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("testdata/ct is there")
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let program: Vec<&str> = text.lines().filter(|l| !l.starts_with("//")).collect();
            found.push(program.join("\n"));
            // What is expected of it is text to read, too.
            let answers: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("//> ")).collect();
            if answers.iter().any(|l| l.starts_with("fn @")) {
                found.push(answers.join("\n"));
            }
        }
    }
}

/// Where words begin and end.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let part = c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%' | '@');
        match (start, part) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                all.push((from, at));
                start = None;
            }
            _ => {}
        }
        if !part && !c.is_whitespace() {
            all.push((at, at + c.len_utf8()));
        }
    }
    all
}

const SPICE: [&str; 46] = [
    "%x",
    "%i",
    "0",
    "1",
    "-1",
    "2",
    "3",
    "0.0",
    "1.5",
    "nan",
    "inf",
    "~0.1",
    "true",
    "false",
    "f64",
    "f32",
    "i64",
    "i32",
    "bool",
    "[2]f64",
    "[0]f64",
    "[?]f64",
    "lin",
    "{",
    "}",
    "(",
    ")",
    ",",
    "=",
    "<",
    "yield",
    "ret",
    "tab",
    "red sum",
    "red argmax",
    "acc",
    "for",
    "while",
    "if",
    "call",
    "ld",
    "put",
    "put_add",
    "stop",
    "select",
    "guard",
];

fn changed(rng: &mut Rng, corpus: &[String]) -> String {
    let mut text = corpus[rng.usize(..corpus.len())].clone();
    for _ in 0..rng.usize(1..5) {
        let all = words(&text);
        if all.is_empty() {
            return text;
        }
        let (from, to) = all[rng.usize(..all.len())];
        match rng.u8(..8) {
            // A word for another one.
            0..3 => {
                let (a, b) = all[rng.usize(..all.len())];
                let other = text[a..b].to_string();
                text.replace_range(from..to, &other);
            }
            3 => text.replace_range(from..to, SPICE[rng.usize(..SPICE.len())]),
            4 => text.replace_range(from..to, ""),
            5 => {
                let (a, b) = all[rng.usize(..all.len())];
                let other = format!(" {} ", &text[a..b]);
                text.insert_str(from, &other);
            }
            // A line, twice or elsewhere.
            6 => {
                let mut lines: Vec<&str> = text.lines().collect();
                let line = lines[rng.usize(..lines.len())];
                lines.insert(rng.usize(..=lines.len()), line);
                text = lines.join("\n");
            }
            _ => {
                let mut bytes = text.clone().into_bytes();
                let at = rng.usize(..bytes.len());
                bytes[at] = rng.u8(..);
                text = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
    }
    text
}

/// Whether running it takes no longer than one likes: no number in it is large.
fn is_small(f: &Function) -> bool {
    f.values().all(|v| {
        let own = match f.op(v) {
            Op::Integer(c) => c.unsigned_abs() < 1000,
            _ => f.ty(v) == Type::PARTS || f.ty(v).len().is_none_or(|len| len < 10_000),
        };
        let bodies = f.structure(v).is_none_or(|s| {
            let small =
                |dim: &cotangent_ir::Dim| !matches!(dim, cotangent_ir::Dim::Size(n) if *n > 100);
            s.name() != "while" && s.domain().iter().all(small) && s.bodies().all(|b| is_small(b))
        });
        own && bodies
    })
}

fn check(text: &str) {
    let Ok(f) = parse(text) else { return };
    let printed = f.to_string();
    let again = parse(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(again.to_string(), printed);
    assert!(again == f, "not equal\n{printed}");
    if f.verify().is_err() || !is_small(&f) {
        return;
    }
    let run = |f: &Function| {
        if let Some(n) = f.inputs().filter(|n| *n < 10_000) {
            let x: Vec<f64> = (0..n).map(|k| [1.0, 2.0, 0.0, 3.0][k % 4]).collect();
            let _ = f.run(&x);
        }
    };
    run(&f);
    let simple = simplify(&f);
    simple.verify().unwrap_or_else(|e| panic!("{e}\n{f}\n{simple}"));
    // A Laplacian is written down direction by direction.
    let second = if f.inputs().is_some_and(|n| n <= 40) { laplacian(&f) } else { linearize(&f) };
    let all = [linearize(&f), reverse(&f), gradient(&f), jet(&f, 2), second];
    for made in all.into_iter().flatten() {
        made.verify().unwrap_or_else(|e| panic!("{e}\n{f}\n{made}"));
        let printed = made.to_string();
        let again = parse(&printed).unwrap_or_else(|e| panic!("{e}\n{f}\n{printed}"));
        assert_eq!(again.to_string(), printed, "{f}");
        run(&made);
    }
}

fn main() {
    let mut corpus = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/ct"), &mut corpus);
    for seed in Plan::from_arguments() {
        let text = changed(&mut Rng::with_seed(seed), &corpus);
        if catch_unwind(|| check(&text)).is_err() {
            println!("seed {seed}:\n{text}");
            std::process::exit(1);
        }
    }
}
