//! `cotangent doctor`: what was found on this machine, and what will be used.

use std::io::Write;

use cotangent_jit::{Compiled, Llvm, Options, VARIABLE};
use serde::Serialize;

use crate::Failure;

/// How it is said.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cotangent doctor\n  COTANGENT_LLVM=/usr/lib/llvm-19/lib cotangent doctor --json\n  \
                  COTANGENT_CPU=x86-64-v3 cotangent doctor"
)]
pub(crate) struct Arguments {
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Found {
    engine: &'static str,
    library: Option<String>,
    version: Option<String>,
    processor: Option<String>,
    features: Vec<String>,
    lanes_f64: usize,
    lanes_f32: usize,
    threads: usize,
    works: bool,
    why: Option<String>,
}

/// Features that say how wide vectors are and what they can do.
const TOLD: [&str; 8] =
    ["sse4.2", "avx", "avx2", "fma", "avx512f", "avx512dq", "avx512vl", "avx512bw"];

/// A gradient is compiled and run.
fn tried() -> Result<(), String> {
    let text = "fn @f(%x: [9]f64) -> f64 {
      %s = red sum (%i < 9) { %a = ld %x[%i] %b = exp %a yield %b }
      ret %s
    }";
    let f = cotangent_ir::parse(text).map_err(|e| e.to_string())?;
    let compiled = Compiled::new(&f, &Options::default()).map_err(|e| e.to_string())?;
    let found = compiled.run(&[0.0; 9], &mut compiled.workspace()).map_err(|e| e.to_string())?;
    match found == [9.0] {
        true => Ok(()),
        false => Err(format!("a program gave {found:?} instead of 9")),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let threads = rayon::current_num_threads();
    let found = match Llvm::get() {
        Ok(llvm) => {
            let bytes = llvm.cpu.vector_bytes;
            let (major, minor, patch) = llvm.version;
            let why = tried().err();
            Found {
                engine: if why.is_none() { "machine code" } else { "interpreter" },
                library: Some(llvm.path.display().to_string()),
                version: Some(format!("{major}.{minor}.{patch}")),
                processor: Some(llvm.cpu.name.clone()),
                features: TOLD
                    .iter()
                    .filter(|f| llvm.cpu.has(f))
                    .map(ToString::to_string)
                    .collect(),
                lanes_f64: bytes / 8,
                lanes_f32: bytes / 4,
                threads,
                works: why.is_none(),
                why,
            }
        }
        Err(why) => Found {
            engine: "interpreter",
            library: None,
            version: None,
            processor: None,
            features: Vec::new(),
            lanes_f64: 1,
            lanes_f32: 1,
            threads,
            works: true,
            why: Some(why.to_string()),
        },
    };
    let mut out = anstream::stdout().lock();
    if arguments.json {
        let line = serde_json::to_string(&found).map_err(|e| Failure::Input(e.to_string()))?;
        writeln!(out, "{line}")?;
    } else {
        let mut line = |name: &str, what: &str| writeln!(out, "{name:<12}{what}");
        line("engine", found.engine)?;
        if let (Some(library), Some(version)) = (&found.library, &found.version) {
            line("libLLVM", &format!("{version}, {library}"))?;
        }
        if let Some(processor) = &found.processor {
            line("processor", &format!("{processor}: {}", found.features.join(" ")))?;
            line("vectors", &format!("{} doubles, {} singles", found.lanes_f64, found.lanes_f32))?;
        }
        line("threads", &found.threads.to_string())?;
        if let Some(why) = &found.why {
            line("because", why)?;
            if found.library.is_none() {
                line(
                    "remedy",
                    &format!("set {VARIABLE} to a libLLVM (15 or later) or a folder with one"),
                )?;
            }
        }
    }
    match found.works {
        true => Ok(()),
        false => Err(Failure::No(
            "machine code does not work here; programs are interpreted".to_string(),
        )),
    }
}
