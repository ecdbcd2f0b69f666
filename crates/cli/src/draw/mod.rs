//! What `show`, `opt` and `diff` write: the text of a program, or a picture of it.

mod dot;
mod outline;
mod place;
mod svg;

use clap::ValueEnum;
use cotangent_ir::Function;
use cotangent_jit::{Compiled, Options, Output};

use crate::Failure;
use outline::{Body, outline};

/// More lines than this make no picture that anybody reads. They also take long to place: seconds for a thousand
/// beside each other.
const MOST: usize = 1000;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// The text of the program.
    Text,
    /// A graph for Graphviz.
    Dot,
    /// A picture of the graph, of up to 1000 lines.
    Svg,
    /// The program in LLVM's text, before its passes.
    Llvm,
    /// Machine code, as assembler text.
    Asm,
}

/// The program as it was asked for.
pub(crate) fn written(f: &Function, emit: Emit) -> Result<String, Failure> {
    let machine = |output| {
        let text = Compiled::text(f, &Options::default(), output);
        text.map_err(|e| Failure::Input(e.to_string()))
    };
    match emit {
        Emit::Llvm => machine(None),
        Emit::Asm => machine(Some(Output::Assembly)),
        Emit::Text => Ok(f.to_string()),
        Emit::Dot => dot::dot(f.name(), &outline(&f.to_string())).map_err(|_| {
            Failure::Input(format!("the graph of @{} could not be written", f.name()))
        }),
        Emit::Svg => {
            // Without printing what is far too long.
            let functions = match f.operations() <= MOST {
                true => outline(&f.to_string()),
                false => Vec::new(),
            };
            let lines: usize = functions.iter().map(Body::len).sum();
            if functions.is_empty() || lines > MOST {
                return Err(Failure::Input(format!(
                    "@{} has {} operations, too many for a picture ({MOST} lines at most); \
                     `--emit dot` gives the graph for Graphviz",
                    f.name(),
                    f.operations()
                )));
            }
            svg::svg(f.name(), &functions)
        }
    }
}
