//! Programs as object files, for others to link: nothing of cotangent is needed to run them.

use std::fmt::Write as _;

use cotangent_ir::{Function, Type};
use object::{Object as _, ObjectSymbol};

use crate::compiled::prepared;
use crate::emit::{Failure, emit};
use crate::llvm::{Llvm, Output};
use crate::{Cpu, JitError, Options, runtime};

/// A program as an object file. Its function takes a pointer to each parameter and each result and one to memory, and
/// gives a status: 0 is fine.
#[derive(Clone, Debug)]
pub struct Object {
    /// The name of the function.
    pub name: String,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// Names and types of the parameters.
    pub params: Vec<(String, Type)>,
    /// The types of the results.
    pub results: Vec<Type>,
    /// Whether all parameters come in one array, and so do the results; all are doubles then, or singles.
    pub packed: bool,
    /// Bytes of memory that a run needs, to be aligned to 64. What it holds before and after means nothing.
    pub workspace: usize,
    /// What the statuses from 1 on mean.
    pub statuses: Vec<String>,
}

impl Object {
    /// Compiles a function whose dimensions are all known and whose derivatives have been lowered, under a name.
    ///
    /// # Errors
    /// No LLVM; something that machine code is not made for, or that calls cotangent; a name that C does not take.
    pub fn new(
        f: &Function,
        name: &str,
        cpu: Option<&Cpu>,
        options: &Options,
    ) -> Result<Object, JitError> {
        let llvm = Llvm::get().map_err(|why| JitError::NoLlvm(why.to_string()))?;
        let cpu = cpu.unwrap_or(&llvm.cpu);
        check_name(name)?;
        // Threads are cotangent's, and so are the kernels that are called.
        let options = Options { parallel: None, kernels: false, ..options.clone() };
        let (program, options) = prepared(f, &options);
        let emitted = emit(&program, &options, cpu.vector_bytes, true, false)?;
        if !emitted.stacks.is_empty() {
            let what =
                format!("@{} ahead of time: a loop in it keeps as much as it needs", f.name());
            return Err(JitError::Unsupported(what));
        }
        let count = match emitted.packed {
            true => 2,
            false => f.params().len() + f.results().len(),
        };
        let text = emitted.modules.concat();
        let text = text.replacen("define i64 @run(", "define internal i64 @run(", 1);
        let text = text + &wrapper(name, count);
        let bytes = llvm.compile_for(cpu, &text, Output::Object)?;
        for missing in outside(&bytes)? {
            // The system's libraries have what is not cotangent's.
            if missing.starts_with("cotangent_") || runtime::address(&missing).is_none() {
                let what = format!("@{} ahead of time: it calls {missing}", f.name());
                return Err(JitError::Unsupported(what));
            }
        }
        Ok(Object {
            name: name.to_string(),
            bytes,
            params: f.params().iter().map(|p| (p.name.clone(), p.ty)).collect(),
            results: f.results().iter().map(|v| f.ty(*v)).collect(),
            packed: emitted.packed,
            workspace: emitted.arena.max(64),
            statuses: emitted.failures.iter().map(Failure::to_string).collect(),
        })
    }
}

fn check_name(name: &str) -> Result<(), JitError> {
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let goes_on = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match begins && goes_on && !["run", "part0"].contains(&name) {
        true => Ok(()),
        false => Err(JitError::Unsupported(format!(
            "a function named `{name}`: a name is letters, digits and _, and begins with a small letter"
        ))),
    }
}

/// The function that others call: it puts its pointers into a list.
fn wrapper(name: &str, count: usize) -> String {
    let params: Vec<String> = (0..count).map(|k| format!("ptr %a{k}, ")).collect();
    let mut text = format!(
        "\ndefine i64 @{name}({}ptr %workspace) #0 {{\n  %args = alloca ptr, i64 {count}\n",
        params.concat()
    );
    for k in 0..count {
        let _ = writeln!(text, "  %p{k} = getelementptr ptr, ptr %args, i64 {k}");
        let _ = writeln!(text, "  store ptr %a{k}, ptr %p{k}");
    }
    text + "  %s = call i64 @run(ptr %args, ptr %workspace)\n  ret i64 %s\n}\n"
}

/// The functions that an object does not have itself.
fn outside(bytes: &[u8]) -> Result<Vec<String>, JitError> {
    let file = object::File::parse(bytes).map_err(|e| JitError::Object { why: e.to_string() })?;
    let missing = file.symbols().filter(ObjectSymbol::is_undefined);
    Ok(missing
        .filter_map(|symbol| symbol.name().ok().map(str::to_string))
        .filter(|name| !name.is_empty())
        .collect())
}
