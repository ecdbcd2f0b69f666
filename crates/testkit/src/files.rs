//! The programs in files: `testdata/ct/<area>/*.ct`.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The paths of all programs in files, in the order of their names.
///
/// # Errors
/// A folder that cannot be read.
pub fn paths() -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ct"), &mut found)?;
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries: io::Result<Vec<PathBuf>> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "ct") {
            found.push(path);
        }
    }
    Ok(())
}
