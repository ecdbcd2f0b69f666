//! `cotangent build`: a program and its derivatives as a library for C and Rust.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use cotangent::{Compiled, Library, Real};
use serde::Serialize;

use crate::Failure;
use crate::program::read;

/// Which program, and what of it.
#[derive(clap::Args)]
#[command(
    after_help = "Writes libNAME.a, NAME.h and NAME.rs. A function is named as the program, its derivatives NAME_grad and so on.\n\n\
                  Examples:\n  cotangent build f.ct\n  cotangent build f.ct --what value,grad,hvp --cpu x86-64-v3 --out derivatives"
)]
pub(crate) struct Arguments {
    /// A program in text; `-` for standard input.
    file: PathBuf,
    /// The functions, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "value,grad")]
    what: Vec<What>,
    /// The name of the library; that of the program if not given.
    #[arg(long)]
    name: Option<String>,
    /// The folder to write to.
    #[arg(long, default_value = ".")]
    out: PathBuf,
    /// The least processor: x86-64, x86-64-v2, x86-64-v3, x86-64-v4; this one if not given.
    #[arg(long, value_name = "LEVEL")]
    cpu: Option<String>,
    /// Functions of singles: `float`, `f32`.
    #[arg(long)]
    single: bool,
    /// What was written as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The program itself.
    Value,
    /// The value and the gradient.
    Grad,
    /// The results and all partials.
    Jac,
    /// The value, the gradient and all second partials.
    Hess,
    /// The results and the Jacobian times a vector.
    Fwd,
    /// The results and the transposed Jacobian times a vector.
    Rev,
    /// The gradient and the Hessian times a vector.
    Hvp,
}

#[derive(Serialize)]
struct Built {
    library: String,
    header: String,
    bindings: String,
    functions: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let program = read(&arguments.file)?;
    let own = program.name().to_string();
    let f = Compiled::program(&program)?;
    match arguments.single {
        true => write(arguments, &own, &f.in_singles()),
        false => write(arguments, &own, &f),
    }
}

fn write<T: Real>(arguments: &Arguments, own: &str, f: &Compiled<T>) -> Result<(), Failure> {
    let mut library = Library::new(arguments.name.clone().unwrap_or_else(|| own.to_string()));
    if let Some(level) = &arguments.cpu {
        library = library.for_processor(level)?;
    }
    let mut functions = Vec::new();
    for what in &arguments.what {
        let suffix = what.to_possible_value().map_or(String::new(), |v| v.get_name().to_string());
        let name = match what {
            What::Value => own.to_string(),
            _ => format!("{own}_{suffix}"),
        };
        library = match what {
            What::Value => library.value(&name, f),
            What::Grad => library.gradient(&name, f),
            What::Jac => library.jacobian(&name, f),
            What::Hess => library.hessian(&name, f),
            What::Fwd => library.pushforward(&name, f),
            What::Rev => library.pullback(&name, f),
            What::Hvp => library.hvp(&name, f),
        }?;
        functions.push(name);
    }
    let [archive, header, bindings] =
        library.write(&arguments.out)?.map(|path| path.display().to_string());
    let mut out = anstream::stdout().lock();
    if arguments.json {
        let built = Built { library: archive, header, bindings, functions };
        let line = serde_json::to_string(&built).map_err(|e| Failure::Input(e.to_string()))?;
        writeln!(out, "{line}")?;
    } else {
        for path in [archive, header, bindings] {
            writeln!(out, "{path}")?;
        }
    }
    Ok(())
}
