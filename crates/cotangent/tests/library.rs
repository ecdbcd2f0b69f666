//! Functions in a library are linked into programs that know nothing of cotangent.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cotangent::ir::sum_over;
use cotangent::prelude::*;
use cotangent::{Compiled, Library, compile, compile_arrays};

const N: usize = 37;

fn function() -> Compiled {
    let f = compile_arrays(&[&[N]], |x| {
        sum_over(0..N - 1, |i| {
            let (a, b) = (x[0].at(i), x[0].at(i + 1));
            (b - a * a).powi(2) * 100.0 + (a - 1.0).powi(2) + a.sin().exp()
        })
    });
    f.unwrap()
}

fn point() -> Vec<f64> {
    (0..N).map(|i| 0.5 + 0.01 * i as f64).collect()
}

#[allow(clippy::print_stdout, reason = "who runs the tests is told what was left out")]
fn llvm() -> bool {
    let found = cotangent::machine();
    if let Err(why) = &found {
        println!("skipped: {why}");
    }
    found.is_ok()
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn numbers(program: &Path) -> Vec<f64> {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn expected() -> Vec<f64> {
    let f = function();
    let (value, gradient) = f.value_and_gradient(&point()).unwrap();
    [vec![f.value(&point()).unwrap(), value], gradient].concat()
}

#[track_caller]
fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-13 * (1.0 + b.abs()), "{a} and {b}");
    }
}

fn library(level: Option<&str>) -> Library {
    let f = function();
    let mut library = Library::new("model");
    if let Some(level) = level {
        library = library.for_processor(level).unwrap();
    }
    library.value("chain", &f).unwrap().gradient("chain_gradient", &f).unwrap()
}

#[test]
fn a_program_in_rust() {
    if !llvm() {
        return;
    }
    for level in [None, Some("x86-64"), Some("x86-64-v3")] {
        let folder = folder(&format!("rust-{}", level.unwrap_or("native")));
        library(level).write(&folder).unwrap();
        let main = format!(
            "mod model {{ include!({:?}); }}
            fn main() {{
                let x: [f64; {N}] = std::array::from_fn(|i| 0.5 + 0.01 * i as f64);
                let mut workspace = model::Workspace::new();
                let (mut y, mut v, mut g) = ([0.0], [0.0], [0.0; {N}]);
                model::chain(&x, &mut y, &mut workspace).unwrap();
                model::chain_gradient(&x, &mut v, &mut g, &mut workspace).unwrap();
                for y in y.iter().chain(&v).chain(&g) {{ println!(\"{{y:e}}\"); }}
            }}",
            folder.join("model.rs")
        );
        fs::write(folder.join("main.rs"), main).unwrap();
        let program = folder.join("main");
        let made = Command::new("rustc")
            .args(["--edition", "2024", "-D", "warnings", "-l", "static=model", "-L"])
            .arg(&folder)
            .arg(folder.join("main.rs"))
            .arg("-o")
            .arg(&program)
            .output();
        let made = made.unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        close(&numbers(&program), &expected());
    }
}

#[test]
fn functions_of_singles_take_singles() {
    if !llvm() {
        return;
    }
    let f = function().in_singles();
    let many = compile(function!(|x: &[S]| -> S { x[0].sin() * x[12] }), 13).unwrap().in_singles();
    let library = Library::new("model").gradient("chain", &f).unwrap();
    let library = library.gradient("many", &many.in_recorded_order()).unwrap();
    let (header, bindings) = (library.header(), library.bindings());
    let chain = "chain(const float x0[37], float y0[1], float y1[37], void *workspace)";
    assert!(header.contains(chain), "{header}");
    // All numbers in one argument.
    assert!(header.contains("many(const float x[13], float y[14], void *workspace)"), "{header}");
    assert!(bindings.contains("x: &[f32; 13],"), "{bindings}");
    assert!(!header.contains("double") && !bindings.contains("f64"), "{header}{bindings}");
}

#[test]
#[allow(clippy::print_stdout, reason = "who runs the tests is told what was left out")]
fn a_program_in_c() {
    if !llvm() {
        return;
    }
    let folder = folder("c");
    library(None).write(&folder).unwrap();
    let main = format!(
        "#include <stdio.h>
        #include \"model.h\"
        static _Alignas(64) char workspace[CHAIN_WORKSPACE + CHAIN_GRADIENT_WORKSPACE];
        int main(void) {{
            double x[{N}], y[1], v[1], g[{N}];
            for (int i = 0; i < {N}; i++) x[i] = 0.5 + 0.01 * i;
            if (chain(x, y, workspace) != 0 || chain_gradient(x, v, g, workspace) != 0) return 1;
            printf(\"%.17g %.17g\", y[0], v[0]);
            for (int i = 0; i < {N}; i++) printf(\" %.17g\", g[i]);
            return 0;
        }}"
    );
    fs::write(folder.join("main.c"), main).unwrap();
    let program = folder.join("main");
    let made = Command::new("cc")
        .current_dir(&folder)
        .args(["-std=c11", "-Wall", "-Werror", "main.c", "libmodel.a", "-lm", "-o"])
        .arg(&program)
        .output();
    let Ok(made) = made else {
        println!("skipped: there is no C compiler");
        return;
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    close(&numbers(&program), &expected());
}

#[test]
fn many_numbers_come_in_one_array() {
    if !llvm() {
        return;
    }
    let f = function!(|x: &[S]| -> S { x.iter().map(|x| *x * *x).sum::<S>() });
    let f = compile(f, 20).unwrap();
    let library = Library::new("many").gradient("squares", &f).unwrap();
    assert!(library.header().contains("uint64_t squares(const double x[20], double y[21], void *"));
    assert!(library.bindings().contains("x: &[f64; 20]"));
}

#[test]
fn what_is_wrong_is_said() {
    if !llvm() {
        return;
    }
    let f = function();
    let say = |outcome: Result<Library, cotangent::Error>| outcome.unwrap_err().to_string();
    let new = || Library::new("model");
    assert!(say(new().value("Chain!", &f)).contains("letters"));
    assert!(say(new().value("a", &f).unwrap().value("a", &f)).contains("two functions"));
    assert!(say(new().for_processor("pentium")).contains("x86-64-v3"));
    let two = function!(|x: &[S]| -> Vec<S> { vec![x[0], x[1]] });
    let two = compile(two, 2).unwrap();
    assert!(say(new().gradient("a", &two)).contains("Jacobian"));
    let nothing = new().write(folder("nothing")).unwrap_err().to_string();
    assert!(nothing.contains("empty"), "{nothing}");
    let library = new().value("a", &f).unwrap();
    let file = folder("file").join("taken");
    fs::write(&file, "").unwrap();
    assert!(library.write(&file).unwrap_err().to_string().contains("cannot be written"));
}
