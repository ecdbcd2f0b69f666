//! Programs in files with what is expected of them: `testdata/ct/<area>/*.ct`.
//!
//! A line `//# WHAT` asks for something, the lines `//> …` after it are the answer: `parse` (an error, or the
//! printed program), `fwd`, `rev`, `grad`, `fwd fwd` and so on, `opt`, `grad opt`, `run x=1 y=2`, `grad run x=1`.
//! `COTANGENT_BLESS=1` writes the answers into the files.

use std::fs;

use cotangent_ir::{Dim, Function, parse};
use cotangent_optimize::{Class, Options, optimize};
use cotangent_testkit::files;
use cotangent_transform::{
    Analysis, batch, canonicalise, collapsed, gradient, hessian, jacobian, jet, laplacian,
    linearize, lower, reverse,
};

/// What a program answers to a directive.
fn answer(text: &str, directive: &str) -> String {
    let mut f: Function = match parse(text) {
        Ok(f) => f,
        Err(error) => return error.to_string(),
    };
    if let Err(error) = f.verify() {
        return error.to_string();
    }
    let mut words = directive.split_whitespace().peekable();
    while let Some(word) = words.next_if(|word| *word != "run") {
        let changed = match word {
            "parse" => Ok(f.clone()),
            "fwd" => linearize(&f),
            "rev" => reverse(&f),
            "grad" => gradient(&f),
            "jac" => jacobian(&f),
            "hess" => hessian(&f),
            "jet" => jet(&f, 3),
            "lap" => laplacian(&f),
            "collapsed" => collapsed(&f, 2),
            "batch" => batch(&f, Dim::Size(2), |p| p.ty.is_float()),
            "opt" => Ok(optimize(&f, &Options::default()).function),
            "exact" => Ok(optimize(&f, &Options::exact()).function),
            "reassoc" => Ok(optimize(&f, &Options::default().with(Class::Reassoc)).function),
            "contract" => Ok(optimize(&f, &Options::default().with(Class::Contract)).function),
            "approx" => Ok(optimize(&f, &Options::default().with(Class::Approx)).function),
            "uses" => canonicalise(&f, Analysis::Uses),
            "activity" => canonicalise(&f, Analysis::Dataflow),
            "lower" => lower(&f),
            other => panic!("there is no directive `{other}`"),
        };
        f = match changed {
            Ok(f) => f,
            Err(error) => return error.to_string(),
        };
        f.verify().unwrap();
        assert_eq!(parse(&f.to_string()).unwrap().to_string(), f.to_string());
    }
    if words.next().is_none() {
        return f.to_string();
    }
    let inputs: Vec<(&str, Vec<f64>)> = words
        .map(|word| {
            let (name, numbers) = word.split_once('=').expect("name=number");
            (name, numbers.split(',').map(|number| number.parse().expect("a number")).collect())
        })
        .collect();
    let point: Vec<f64> = f
        .params()
        .iter()
        .flat_map(|p| {
            let given = inputs.iter().find(|(name, _)| *name == p.name);
            given.unwrap_or_else(|| panic!("%{} is not given", p.name)).1.clone()
        })
        .collect();
    match f.run(&point) {
        Ok(results) => results.iter().map(|y| format!("{y:.12e}\n")).collect(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn files_say_what_is_expected_of_them() {
    let paths = files::paths().unwrap();
    let bless = std::env::var_os("COTANGENT_BLESS").is_some();
    let (mut asked, mut wrong) = (0, Vec::new());
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        let program: String = text
            .lines()
            .filter(|l| !l.starts_with("//#") && !l.starts_with("//>"))
            .map(|l| format!("{l}\n"))
            .collect();
        let mut answered = program.clone();
        for directive in text.lines().filter_map(|line| line.strip_prefix("//#")) {
            asked += 1;
            answered += &format!("//#{directive}\n");
            for line in answer(&program, directive).lines() {
                answered += format!("//> {line}").trim_end();
                answered += "\n";
            }
        }
        if answered != text {
            if bless {
                fs::write(path, &answered).unwrap();
            } else {
                wrong.push(format!("{}:\n{answered}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} files differ; the first should be\n{}", wrong.len(), wrong[0]);
    assert!(paths.len() >= 500 && asked >= 1200, "{} files, {asked} questions", paths.len());
}
