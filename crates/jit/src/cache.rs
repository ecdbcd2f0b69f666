//! Machine code that is there already: in memory as long as somebody has it, and in a folder if one is named.
//!
//! A key is made of the text and of all that decides what becomes of it: version and place of the library, processor, features.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use rustc_hash::FxHashMap;

use crate::llvm::{Llvm, Output};
use crate::load::Loaded;
use crate::{JitError, runtime};

/// The variable that names a folder for machine code. Whoever can write there decides what is run.
pub const CACHE_VARIABLE: &str = "COTANGENT_CACHE";

/// How a file begins.
const MAGIC: &[u8] = b"cotangent object 1\n";

/// A hash of 128 bits.
fn hash(what: &impl Hash) -> u128 {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        what.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}

/// Machine code of some modules, which call each other: found or made.
pub(crate) fn loaded(llvm: &Llvm, modules: &[String]) -> Result<Arc<Loaded>, JitError> {
    static KNOWN: OnceLock<Mutex<FxHashMap<u128, Weak<Loaded>>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let about = (env!("CARGO_PKG_VERSION"), llvm.version, &llvm.path, &llvm.cpu);
    let key = hash(&(&about, modules));
    let found =
        known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).and_then(Weak::upgrade);
    if let Some(code) = found {
        return Ok(code);
    }
    let folder =
        std::env::var_os(CACHE_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    let keys: Vec<u128> = modules.iter().map(|text| hash(&(&about, text))).collect();
    let stored: Option<Vec<Vec<u8>>> =
        folder.as_deref().and_then(|folder| keys.iter().map(|key| read(folder, *key)).collect());
    // What cannot be loaded is made anew.
    let code = match stored.and_then(|objects| Loaded::new(&objects, runtime::address).ok()) {
        Some(code) => Arc::new(code),
        None => {
            let object = |text: &String| llvm.compile(text, Output::Object);
            let made: Result<Vec<Vec<u8>>, JitError> = match modules {
                [one] => object(one).map(|object| vec![object]),
                all => side_by_side(all, object),
            };
            let objects = made?;
            if let Some(folder) = &folder {
                for (key, object) in keys.iter().zip(&objects) {
                    // A folder that cannot be written to costs time, not the answer.
                    let _ = write(folder, *key, object);
                }
            }
            Arc::new(Loaded::new(&objects, runtime::address)?)
        }
    };
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() > 1024 {
        known.retain(|_, code| code.strong_count() > 0);
    }
    known.insert(key, Arc::downgrade(&code));
    Ok(code)
}

/// Compiles modules on as many threads as there are for work. On threads of their own: a thread of a pool that waits may take up
/// work of its caller's, which may wait for this very program.
fn side_by_side(
    modules: &[String],
    object: impl Fn(&String) -> Result<Vec<u8>, JitError> + Sync,
) -> Result<Vec<Vec<u8>>, JitError> {
    let threads = rayon::current_num_threads().min(modules.len()).max(1);
    let made: Vec<OnceLock<Result<Vec<u8>, JitError>>> =
        modules.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(k) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|k| *k < made.len()) {
            let _ = made[k].set(object(&modules[k]));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let missing = || JitError::Internal("a module was not compiled".to_string());
    made.into_iter().map(|object| object.into_inner().unwrap_or_else(|| Err(missing()))).collect()
}

fn place(folder: &Path, key: u128) -> PathBuf {
    folder.join(format!("{key:032x}.o"))
}

/// An object from a folder, if there is one and it is whole.
fn read(folder: &Path, key: u128) -> Option<Vec<u8>> {
    let bytes = fs::read(place(folder, key)).ok()?;
    let (sum, object) = bytes.strip_prefix(MAGIC)?.split_at_checked(16)?;
    (sum == hash(&(key, object)).to_le_bytes()).then(|| object.to_vec())
}

/// Writes an object; others see it whole or not at all.
fn write(folder: &Path, key: u128, object: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let other = folder.join(format!(".{key:032x}.{}", std::process::id()));
    let sum = hash(&(key, object)).to_le_bytes();
    fs::write(&other, [MAGIC, &sum, object].concat())?;
    fs::rename(&other, place(folder, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_unless_it_was_changed() {
        let folder = std::env::temp_dir().join(format!("cotangent-cache-{}", std::process::id()));
        let object = b"an object".to_vec();
        assert_eq!(read(&folder, 7), None);
        write(&folder, 7, &object).unwrap();
        assert_eq!(read(&folder, 7), Some(object.clone()));
        assert_eq!(read(&folder, 8), None);
        let whole = fs::read(place(&folder, 7)).unwrap();
        for k in 0..whole.len() {
            let mut broken = whole.clone();
            broken[k] ^= 1;
            fs::write(place(&folder, 7), &broken).unwrap();
            assert_eq!(read(&folder, 7), None, "byte {k}");
            fs::write(place(&folder, 7), &whole[..k]).unwrap();
            assert_eq!(read(&folder, 7), None, "cut at {k}");
        }
        // Under another name it is not what it says.
        fs::write(place(&folder, 9), &whole).unwrap();
        assert_eq!(read(&folder, 9), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn equal_texts_are_compiled_once() {
        let Ok(llvm) = Llvm::get() else { return };
        let text = |status: u32| {
            [format!("define i64 @run(ptr %args, ptr %arena) {{ ret i64 {status} }}")]
        };
        let (a, b) = (loaded(llvm, &text(0)).unwrap(), loaded(llvm, &text(0)).unwrap());
        assert!(Arc::ptr_eq(&a, &b));
        let other = loaded(llvm, &text(1)).unwrap();
        assert!(!Arc::ptr_eq(&a, &other));
    }
}
