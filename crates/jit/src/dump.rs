//! What becomes of programs, written to a folder for who wants to look: `COTANGENT_DUMP` names it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use cotangent_ir::Function;

use crate::emit::Emitted;
use crate::llvm::{Llvm, Output};

/// The variable that names a folder for programs on their way to machine code: as they are given (`.ct`), as text is written of
/// them (`.ready.ct`), LLVM's text (`.ll`) and assembler text (`.s`).
pub const DUMP_VARIABLE: &str = "COTANGENT_DUMP";

/// Writes a program's forms, if somebody has asked for that. A folder that cannot be written to costs the look, not the answer.
pub(crate) fn dump(llvm: &Llvm, given: &Function, ready: &Function, emitted: &Emitted) {
    let Some(folder) = std::env::var_os(DUMP_VARIABLE).filter(|name| !name.is_empty()) else {
        return;
    };
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let usual = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' };
    let name: String = given.name().chars().map(usual).take(80).collect();
    let stem = PathBuf::from(folder).join(format!("{number:04}-{name}"));
    if let Err(why) = write(llvm, &stem, given, ready, emitted) {
        tracing::warn!("{} is not written: {why}", stem.display());
    }
}

fn write(
    llvm: &Llvm,
    stem: &Path,
    given: &Function,
    ready: &Function,
    emitted: &Emitted,
) -> std::io::Result<()> {
    let named = |ending: &str| {
        let mut name = stem.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    if let Some(folder) = stem.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(named(".ct"), given.to_string())?;
    std::fs::write(named(".ready.ct"), ready.to_string())?;
    std::fs::write(named(".ll"), emitted.modules.join("\n"))?;
    let mut assembler = Vec::new();
    for module in &emitted.modules {
        assembler.extend(llvm.compile(module, Output::Assembly).map_err(std::io::Error::other)?);
    }
    std::fs::write(named(".s"), assembler)
}
