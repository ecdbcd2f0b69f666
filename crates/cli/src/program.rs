//! `cotangent show`, `diff` and `run`: programs in text.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use ariadne::{Color, Config, Label, Report, ReportKind, Source};
use clap::ValueEnum;
use cotangent_ir::{Dim, Element, Function, Param, ParseError, Type, parse};
use cotangent_numbers::Plain;
use cotangent_transform::{
    Analysis, TransformError, batch, canonicalise, checkpoint, gradient_to, hessian_to,
    jacobian_to, jet, laplacian, linearize_to, lower, reverse_to,
};
use serde::Serialize;

use crate::Failure;
use cotangent_jit::{Compiled, Options};

use crate::draw::{Emit, written};

/// Which program, and how it is shown.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cotangent show f.ct\n  cotangent show f.ct --emit svg > f.svg"
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

/// How often derivatives are taken, at most.
const MOST_TIMES: u8 = 8;

/// Which derivative of which program.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cotangent diff f.ct\n  cotangent diff f.ct --mode fwd --wrt x,y\n  cotangent diff f.ct --emit svg > f.grad.svg"
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
    /// Reduce derivative operations of the program to what is used of them, before all else.
    #[arg(long, value_enum)]
    activity: Option<Activity>,
    /// Keep no more than so many states of a loop for the way back, and compute the others again.
    #[arg(long, value_name = "STATES")]
    checkpoint: Option<usize>,
    /// At so many points at once: every number gets one more dimension, the first.
    #[arg(long, value_name = "POINTS")]
    batch: Option<usize>,
    /// How often to differentiate; the order of a series.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
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
    /// A number for a parameter, as `x=1.5`; for an array its numbers row by row, as `x=1,2,3`.
    #[arg(long, value_name = "NAME=NUMBERS")]
    input: Vec<String>,
    /// A JSON object with a number or (nested) lists of numbers for each parameter.
    #[arg(long, value_name = "FILE")]
    input_file: Option<PathBuf>,
    /// What runs it.
    #[arg(long, value_enum, default_value_t = Engine::Interpret)]
    engine: Engine,
    /// In singles: all numbers of the program are rounded to `f32`, and so is what is computed with them.
    #[arg(long)]
    single: bool,
    /// The results as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Activity {
    /// By what is used, and by seeds that are zero.
    Uses,
    /// Also by what depends on what.
    Dataflow,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Nothing but the derivative operations of the program, written out.
    Lower,
    /// Nothing at all: the program as it is (after --activity and --checkpoint).
    None,
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
    /// The results and their Laplacians by all numbers.
    Lap,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// One operation after the other.
    Interpret,
    /// Machine code, by LLVM.
    Compile,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    params: usize,
    results: usize,
    operations: usize,
    guards: usize,
    /// The bytes of all values that are there at once, if their sizes are known.
    peak_bytes: Option<usize>,
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
    if !arguments.wrt.is_empty() {
        let message = match arguments.mode {
            Mode::Jet => {
                "a series is in all parameters; leave out --wrt, and give zeros as coefficients of the others"
            }
            Mode::Lap => "a Laplacian is by all numbers; leave out --wrt",
            _ => "",
        };
        if !message.is_empty() {
            return Err(Failure::Input(message.to_string()));
        }
    }
    if arguments.mode != Mode::Jet && arguments.order > MOST_TIMES {
        return Err(Failure::Input(format!(
            "--order {} is for series; derivatives are taken {MOST_TIMES} times at most",
            arguments.order
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
    if let Some(activity) = arguments.activity {
        let analysis = match activity {
            Activity::Uses => Analysis::Uses,
            Activity::Dataflow => Analysis::Dataflow,
        };
        f = canonicalise(&f, analysis)?;
    }
    if let Some(states) = arguments.checkpoint {
        f = checkpoint(&f, states)?;
    }
    let moves = |p: &Param| arguments.wrt.is_empty() || arguments.wrt.contains(&p.name);
    // A series has its order; all else is done so often.
    let times = if arguments.mode == Mode::Jet { 1 } else { arguments.order };
    for _ in 0..times {
        f = match arguments.mode {
            Mode::None => break,
            Mode::Lower => lower(&f)?,
            Mode::Fwd => linearize_to(&f, moves)?,
            Mode::Rev => reverse_to(&f, moves)?,
            Mode::Grad => gradient_to(&f, moves)?,
            Mode::Jac => jacobian_to(&f, moves)?,
            Mode::Hess => hessian_to(&f, moves)?,
            Mode::Jet => jet(&f, arguments.order.into())?,
            Mode::Lap => laplacian(&f)?,
        };
    }
    if let Some(points) = arguments.batch {
        f = batch(&f, Dim::Size(points), |p| p.ty.is_float())?;
    }
    write(&f, arguments.emit, arguments.json)
}

fn write(f: &Function, emit: Emit, json: bool) -> Result<(), Failure> {
    let text = written(f, emit)?;
    let mut out = anstream::stdout().lock();
    if !json {
        return Ok(write!(out, "{text}")?);
    }
    let shown = Shown {
        name: f.name().to_string(),
        params: f.params().len(),
        results: f.results().len(),
        operations: f.operations(),
        guards: f.guards().len(),
        peak_bytes: f.peak_bytes(),
        hash: format!("{:016x}", f.structural_hash()),
        text,
    };
    let line = serde_json::to_string(&shown).map_err(std::io::Error::from)?;
    Ok(writeln!(out, "{line}")?)
}

pub(crate) fn run(arguments: &Run) -> Result<(), Failure> {
    let f = lower(&read(&arguments.file)?)?;
    let f = if arguments.single { f.in_singles() } else { f };
    let mut inputs = BTreeMap::new();
    if let Some(path) = &arguments.input_file {
        let named = |e: &dyn std::fmt::Display| Failure::Input(format!("{}: {e}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| named(&e))?;
        let given: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&text).map_err(|e| named(&e))?;
        for (name, value) in given {
            let given = Given::from_json(&value).ok_or_else(|| {
                named(&format!("`{name}` is no number and no regular list of numbers"))
            })?;
            inputs.insert(name, given);
        }
    }
    for given in &arguments.input {
        let parts = given.split_once('=').and_then(|(name, numbers)| {
            let numbers: Option<Vec<f64>> = match numbers.trim() {
                "" => Some(Vec::new()),
                list => list.split(',').map(|x| x.trim().parse::<f64>().ok()).collect(),
            };
            Some((name.trim().trim_start_matches('%'), numbers?))
        });
        let Some((name, numbers)) = parts else {
            let message =
                format!("`{given}` is not NAME=NUMBER or NAME=NUMBER,NUMBER,…, such as x=1.5");
            return Err(Failure::Input(message));
        };
        inputs.insert(name.to_string(), Given { shape: None, numbers });
    }
    let (f, point) = point(&f, &mut inputs)?;
    let single = f.params().iter().any(|p| p.ty.element() == Element::F32);
    let results: Vec<f64> = if arguments.engine == Engine::Compile {
        let compiled =
            Compiled::new(&f, &Options::default()).map_err(|e| Failure::Input(e.to_string()))?;
        let found = compiled.run(&point, &mut compiled.workspace());
        found.map_err(|e| Failure::Input(e.to_string()))?
    } else if single {
        let point: Vec<Plain<f32>> = point.iter().map(|x| Plain(*x as f32)).collect();
        let found = f.run(&point).map_err(|e| Failure::Input(e.to_string()))?;
        found.into_iter().map(|y| f64::from(y.0)).collect()
    } else {
        f.run(&point).map_err(|e| Failure::Input(e.to_string()))?
    };
    let mut out = anstream::stdout().lock();
    // By results, as far as their sizes are known.
    let types: Vec<Type> = f.results().iter().map(|v| f.ty(*v)).collect();
    let mut rest = &results[..];
    let mut grouped = Vec::new();
    for ty in &types {
        let count = ty.len().unwrap_or(rest.len()).min(rest.len());
        let (own, after) = rest.split_at(count);
        let sizes: Vec<usize> =
            ty.dims().iter().map(|dim| if let Dim::Size(n) = dim { *n } else { count }).collect();
        grouped.push(nested(own, &sizes));
        rest = after;
    }
    if arguments.json {
        let line = serde_json::json!({ "function": f.name(), "results": grouped });
        writeln!(out, "{line}")?;
    } else {
        for (value, ty) in grouped.iter().zip(&types) {
            match value.as_f64() {
                Some(y) if ty.is_scalar() && ty.is_float() => writeln!(out, "{y:?}")?,
                _ => writeln!(out, "{}", value.to_string().replace('"', ""))?,
            }
        }
    }
    Ok(())
}

/// Numbers as nested lists. JSON has no infinities and no NaN: they are strings.
fn nested(numbers: &[f64], sizes: &[usize]) -> serde_json::Value {
    match sizes.split_first() {
        None => numbers.first().map_or(serde_json::Value::Null, |y| {
            serde_json::Number::from_f64(*y).map_or_else(|| y.to_string().into(), Into::into)
        }),
        Some((0, _)) => serde_json::Value::Array(Vec::new()),
        Some((n, inner)) => {
            let each = (numbers.len() / n).max(1);
            numbers.chunks(each).map(|row| nested(row, inner)).collect()
        }
    }
}

/// What was given for a parameter.
struct Given {
    /// The dimensions, if they are known.
    shape: Option<Vec<usize>>,
    numbers: Vec<f64>,
}

impl Given {
    /// A number, or lists of lists of equal lengths.
    fn from_json(value: &serde_json::Value) -> Option<Given> {
        match value {
            serde_json::Value::Array(rows) => {
                let rows: Vec<Given> = rows.iter().map(Given::from_json).collect::<Option<_>>()?;
                let inner = rows.first().map_or(Some(Vec::new()), |row| row.shape.clone())?;
                if rows.iter().any(|row| row.shape.as_ref() != Some(&inner)) {
                    return None;
                }
                let shape = std::iter::once(rows.len()).chain(inner).collect();
                let numbers = rows.into_iter().flat_map(|row| row.numbers).collect();
                Some(Given { shape: Some(shape), numbers })
            }
            serde_json::Value::Bool(truth) => {
                Some(Given { shape: Some(Vec::new()), numbers: vec![f64::from(u8::from(*truth))] })
            }
            // Infinities and NaN are strings, as they are printed.
            serde_json::Value::String(text) => {
                let number = text.parse().ok()?;
                Some(Given { shape: Some(Vec::new()), numbers: vec![number] })
            }
            other => Some(Given { shape: Some(Vec::new()), numbers: vec![other.as_f64()?] }),
        }
    }
}

/// The function with sizes for its dimensions, and numbers for each parameter, and none besides.
fn point(
    f: &Function,
    inputs: &mut BTreeMap<String, Given>,
) -> Result<(Function, Vec<f64>), Failure> {
    let mut given = Vec::with_capacity(f.params().len());
    let mut missing = Vec::new();
    for param in f.params() {
        match inputs.remove(&param.name) {
            Some(found) => given.push(found),
            None => missing.push(format!("--input {}=…", param.name)),
        }
    }
    if !missing.is_empty() {
        return Err(Failure::Input(format!("@{} needs {}", f.name(), missing.join(" "))));
    }
    if let Some(name) = inputs.keys().next() {
        return Err(Failure::Input(format!("@{} has no parameter %{name}", f.name())));
    }
    // Dimensions with names: from shapes, and from how many numbers there are.
    let mut sizes: Vec<(&'static str, Dim)> = Vec::new();
    // One that is found may tell another.
    let rounds = f.params().len();
    for (param, given) in (0..rounds).flat_map(|_| f.params().iter().zip(&given)) {
        let dims = param.ty.dims();
        let size = |dim: &Dim, sizes: &[(&'static str, Dim)]| match dim {
            Dim::Symbol(name) => {
                sizes.iter().find(|(symbol, _)| symbol == name).and_then(|(_, d)| size_of(*d))
            }
            other => size_of(*other),
        };
        let open: Vec<usize> =
            (0..dims.len()).filter(|k| size(&dims[*k], &sizes).is_none()).collect();
        let found: Vec<usize> = match (&given.shape, &open[..]) {
            (Some(shape), _) if shape.len() == dims.len() => {
                open.iter().map(|k| shape[*k]).collect()
            }
            (_, [_]) => {
                let known: usize = dims.iter().filter_map(|d| size(d, &sizes)).product();
                vec![given.numbers.len() / known.max(1)]
            }
            _ => Vec::new(),
        };
        for (k, n) in open.iter().zip(found) {
            if let Dim::Symbol(name) = dims[*k]
                && size(&dims[*k], &sizes).is_none()
            {
                sizes.push((name, Dim::Size(n)));
            }
        }
    }
    let f = if sizes.is_empty() { f.clone() } else { f.specialised(&sizes) };
    let mut point = Vec::new();
    for (param, given) in f.params().iter().zip(&given) {
        let Some(wants) = param.ty.len() else {
            let message = format!(
                "the size of %{}: {} does not follow from what is given; give nested lists in a JSON file",
                param.name, param.ty
            );
            return Err(Failure::Input(message));
        };
        let has = given.numbers.len();
        let shape_fits = given.shape.as_ref().is_none_or(|shape| {
            let dims: Vec<usize> = param.ty.dims().iter().filter_map(|d| size_of(*d)).collect();
            *shape == dims || shape.len() <= 1
        });
        if wants != has || !shape_fits {
            let message =
                format!("%{} is {}: {wants} numbers, {has} are given", param.name, param.ty);
            return Err(Failure::Input(message));
        }
        point.extend(&given.numbers);
    }
    Ok((f, point))
}

fn size_of(dim: Dim) -> Option<usize> {
    match dim {
        Dim::Size(n) => Some(n),
        _ => None,
    }
}
