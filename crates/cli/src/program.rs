//! `cotangent show`, `diff` and `run`: programs in text.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use ariadne::{Color, Config, Label, Report, ReportKind, Source};
use clap::ValueEnum;
use cotangent_ir::{Function, Op, Param, ParseError, Type, parse};
use cotangent_numbers::Plain;
use cotangent_transform::{
    TransformError, gradient_to, hessian_to, jacobian_to, jet, linearize_to, reverse_to,
};
use serde::Serialize;

use crate::Failure;

/// Which program, and how it is shown.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cotangent show f.ct\n  cotangent show f.ct --emit dot | dot -Tsvg > f.svg"
)]
pub(crate) struct Show {
    /// A program in text.
    file: PathBuf,
    /// What is written.
    #[arg(long, value_enum, default_value_t = Emit::Text)]
    emit: Emit,
    /// The text and its sizes as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Which derivative of which program.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cotangent diff f.ct\n  cotangent diff f.ct --mode fwd --wrt x,y"
)]
pub(crate) struct Diff {
    /// A program in text.
    file: PathBuf,
    /// Which derivative.
    #[arg(long, value_enum, default_value_t = Mode::Grad)]
    mode: Mode,
    /// The parameters to differentiate by, separated by commas; all numbers if not given.
    #[arg(long, value_delimiter = ',')]
    wrt: Vec<String>,
    /// How often to differentiate; the order of a series.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    order: u8,
    /// What is written.
    #[arg(long, value_enum, default_value_t = Emit::Text)]
    emit: Emit,
    /// The text and its sizes as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Which program at which point.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cotangent run f.ct --input x=1.5 --input y=2\n  cotangent diff f.ct | cotangent run - --input-file point.json --json"
)]
pub(crate) struct Run {
    /// A program in text; `-` for standard input.
    file: PathBuf,
    /// A number for a parameter, as `x=1.5`.
    #[arg(long, value_name = "NAME=NUMBER")]
    input: Vec<String>,
    /// A JSON object with a number for each parameter.
    #[arg(long, value_name = "FILE")]
    input_file: Option<PathBuf>,
    /// What runs it.
    #[arg(long, value_enum, default_value_t = Engine::Interpret)]
    engine: Engine,
    /// The results as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The text of the program.
    Text,
    /// A graph for Graphviz.
    Dot,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Forward mode: a tangent for each number.
    Fwd,
    /// Reverse mode: a cotangent for each result.
    Rev,
    /// The value and the gradient of one result.
    Grad,
    /// The results and all partials.
    Jac,
    /// The value, the gradient and all second partials of one result.
    Hess,
    /// Taylor coefficients up to the order, of and for every number.
    Jet,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// One operation after the other.
    Interpret,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    params: usize,
    results: usize,
    operations: usize,
    guards: usize,
    hash: String,
    text: String,
}

impl From<TransformError> for Failure {
    fn from(error: TransformError) -> Self {
        Failure::Input(error.to_string())
    }
}

/// Reads and checks a program.
pub(crate) fn read(path: &Path) -> Result<Function, Failure> {
    let named =
        |e: std::io::Error| Failure::Input(format!("{} could not be read: {e}", path.display()));
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin()).map_err(named)?
    } else {
        std::fs::read_to_string(path).map_err(named)?
    };
    let function = parse(&text).map_err(|error| drawn(path, &text, &error))?;
    function.verify().map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?;
    Ok(function)
}

/// The error with the line it is in, and what is meant there.
fn drawn(path: &Path, text: &str, error: &ParseError) -> Failure {
    let file = path.display().to_string();
    let mut report = Vec::new();
    // The report counts characters.
    let chars = |byte: usize| text[..byte].chars().count();
    let span = chars(error.span.start)..chars(error.span.end);
    let written = Report::build(ReportKind::Error, (file.as_str(), span.clone()))
        .with_config(Config::default().with_compact(true))
        .with_message(format!("{file}:{error}"))
        .with_label(Label::new((file.as_str(), span)).with_color(Color::Red).with_message("here"))
        .finish()
        .write((file.as_str(), Source::from(text)), &mut report);
    match (written, String::from_utf8(report)) {
        (Ok(()), Ok(report)) => Failure::Drawn(report),
        _ => Failure::Input(format!("{file}:{error}")),
    }
}

pub(crate) fn show(arguments: &Show) -> Result<(), Failure> {
    write(&read(&arguments.file)?, arguments.emit, arguments.json)
}

pub(crate) fn diff(arguments: &Diff) -> Result<(), Failure> {
    let mut f = read(&arguments.file)?;
    if arguments.mode == Mode::Jet && !arguments.wrt.is_empty() {
        let remedy = "give zeros as coefficients of the others";
        return Err(Failure::Input(format!(
            "a series is in all parameters; leave out --wrt, and {remedy}"
        )));
    }
    for name in &arguments.wrt {
        if !f.params().iter().any(|p| p.name == *name && p.ty.is_float()) {
            let names: Vec<&str> =
                f.params().iter().filter(|p| p.ty.is_float()).map(|p| p.name.as_str()).collect();
            return Err(Failure::Input(format!(
                "@{} has no number %{name} among its parameters; it has {}",
                f.name(),
                names.join(", ")
            )));
        }
    }
    let moves = |p: &Param| arguments.wrt.is_empty() || arguments.wrt.contains(&p.name);
    // A series has its order; all else is done so often.
    let times = if arguments.mode == Mode::Jet { 1 } else { arguments.order };
    for _ in 0..times {
        f = match arguments.mode {
            Mode::Fwd => linearize_to(&f, moves)?,
            Mode::Rev => reverse_to(&f, moves)?,
            Mode::Grad => gradient_to(&f, moves)?,
            Mode::Jac => jacobian_to(&f, moves)?,
            Mode::Hess => hessian_to(&f, moves)?,
            Mode::Jet => jet(&f, arguments.order.into())?,
        };
    }
    write(&f, arguments.emit, arguments.json)
}

fn write(f: &Function, emit: Emit, json: bool) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let text = match emit {
        Emit::Text => f.to_string(),
        Emit::Dot => dot(f),
    };
    if !json {
        return Ok(write!(out, "{text}")?);
    }
    let shown = Shown {
        name: f.name().to_string(),
        params: f.params().len(),
        results: f.results().len(),
        operations: f.operations(),
        guards: f.guards().len(),
        hash: format!("{:016x}", f.structural_hash()),
        text,
    };
    let line = serde_json::to_string(&shown).map_err(std::io::Error::from)?;
    Ok(writeln!(out, "{line}")?)
}

/// The program as a graph for Graphviz.
fn dot(f: &Function) -> String {
    let mut text = format!("digraph \"{}\" {{\n  node [shape=box, style=rounded];\n", f.name());
    for value in f.values() {
        let label = match f.op(value) {
            Op::Param(k) => format!("%{}", f.params()[k as usize].name),
            Op::Constant(bits) => format!("{:?}", f64::from_bits(bits)),
            Op::Rounded(bits) => format!("~{:?}", f64::from_bits(bits)),
            Op::Truth(truth) => truth.to_string(),
            Op::Integer(c) => c.to_string(),
            Op::Elementary(code, parameter) if cotangent_ir::takes_parameter(code) => {
                format!("{} {parameter}", code.info().name)
            }
            op => op.name().to_string(),
        };
        text += &format!("  v{} [label=\"{label}\"];\n", value.index());
        for operand in f.operands(value) {
            text += &format!("  v{} -> v{};\n", operand.index(), value.index());
        }
    }
    for (k, result) in f.results().iter().enumerate() {
        text += &format!(
            "  r{k} [label=\"result {k}\", shape=plain];\n  v{} -> r{k};\n",
            result.index()
        );
    }
    text + "}\n"
}

pub(crate) fn run(arguments: &Run) -> Result<(), Failure> {
    let f = read(&arguments.file)?;
    let mut inputs = BTreeMap::new();
    if let Some(path) = &arguments.input_file {
        let named = |e: &dyn std::fmt::Display| Failure::Input(format!("{}: {e}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| named(&e))?;
        let given: BTreeMap<String, f64> = serde_json::from_str(&text).map_err(|e| named(&e))?;
        inputs.extend(given);
    }
    for given in &arguments.input {
        let parts = given.split_once('=').and_then(|(name, number)| {
            number
                .trim()
                .parse::<f64>()
                .ok()
                .map(|number| (name.trim().trim_start_matches('%'), number))
        });
        let Some((name, number)) = parts else {
            return Err(Failure::Input(format!("`{given}` is not NAME=NUMBER, such as x=1.5")));
        };
        inputs.insert(name.to_string(), number);
    }
    let point = point(&f, &mut inputs)?;
    let Engine::Interpret = arguments.engine;
    let single = f.params().iter().any(|p| p.ty == Type::F32);
    let results: Vec<f64> = if single {
        let point: Vec<Plain<f32>> = point.iter().map(|x| Plain(*x as f32)).collect();
        let found = f.run(&point).map_err(|e| Failure::Input(e.to_string()))?;
        found.into_iter().map(|y| f64::from(y.0)).collect()
    } else {
        f.run(&point).map_err(|e| Failure::Input(e.to_string()))?
    };
    let mut out = anstream::stdout().lock();
    if arguments.json {
        // JSON has no infinities and no NaN: they are strings.
        let numbers: Vec<serde_json::Value> = results
            .iter()
            .map(|y| {
                serde_json::Number::from_f64(*y).map_or_else(|| y.to_string().into(), Into::into)
            })
            .collect();
        writeln!(out, "{}", serde_json::json!({ "function": f.name(), "results": numbers }))?;
    } else {
        for y in results {
            writeln!(out, "{y:?}")?;
        }
    }
    Ok(())
}

/// A number for each parameter, and none besides.
fn point(f: &Function, inputs: &mut BTreeMap<String, f64>) -> Result<Vec<f64>, Failure> {
    let mut point = Vec::with_capacity(f.params().len());
    let mut missing = Vec::new();
    for param in f.params() {
        match inputs.remove(&param.name) {
            Some(number) => point.push(number),
            None => missing.push(format!("--input {}=…", param.name)),
        }
    }
    if !missing.is_empty() {
        return Err(Failure::Input(format!("@{} needs {}", f.name(), missing.join(" "))));
    }
    match inputs.keys().next() {
        Some(name) => Err(Failure::Input(format!("@{} has no parameter %{name}", f.name()))),
        None => Ok(point),
    }
}
