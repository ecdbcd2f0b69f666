//! libLLVM, opened at run time: which one, and the few functions of its C interface that are used.
//!
//! Programs go in as text, which all versions read alike; nothing is linked when cotangent is built. The library is
//! never closed: LLVM keeps threads' and process-wide state.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libloading::Library;

use crate::{Cpu, JitError};

/// The variable that names a library, a folder of libraries, or `off`.
pub const VARIABLE: &str = "COTANGENT_LLVM";

/// The variable that names a level of x86-64, such as `x86-64-v3`: machine code then uses no instructions beyond it. What is added
/// up in vectors has the same digits on all processors of that level and above.
pub const CPU_VARIABLE: &str = "COTANGENT_CPU";

/// The oldest version whose text and passes are understood.
const OLDEST: u32 = 15;

type Ptr = *mut c_void;

macro_rules! functions {
    ($($name:ident : fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        #[allow(non_snake_case, reason = "the names of the C interface")]
        struct Functions { $($name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)* }

        impl Functions {
            /// # Safety
            /// The library must be libLLVM: its functions must have these types.
            unsafe fn load(library: &Library) -> Result<Functions, String> {
                Ok(Functions {
                    $($name: {
                        let name = concat!(stringify!($name), "\0");
                        // SAFETY: the caller says that it is libLLVM, whose C interface has this function.
                        let symbol = unsafe { library.get(name.as_bytes()) };
                        *symbol.map_err(|_| concat!("it lacks ", stringify!($name)).to_string())?
                    },)*
                })
            }
        }
    };
}

functions! {
    LLVMInitializeX86TargetInfo: fn();
    LLVMInitializeX86Target: fn();
    LLVMInitializeX86TargetMC: fn();
    LLVMInitializeX86AsmPrinter: fn();
    LLVMGetHostCPUName: fn() -> *mut c_char;
    LLVMGetHostCPUFeatures: fn() -> *mut c_char;
    LLVMDisposeMessage: fn(*mut c_char);
    LLVMGetTargetFromTriple: fn(*const c_char, *mut Ptr, *mut *mut c_char) -> c_int;
    LLVMCreateTargetMachine: fn(Ptr, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Ptr;
    LLVMDisposeTargetMachine: fn(Ptr);
    LLVMCreateTargetDataLayout: fn(Ptr) -> Ptr;
    LLVMDisposeTargetData: fn(Ptr);
    LLVMSetModuleDataLayout: fn(Ptr, Ptr);
    LLVMSetTarget: fn(Ptr, *const c_char);
    LLVMContextCreate: fn() -> Ptr;
    LLVMContextDispose: fn(Ptr);
    LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(*const c_char, usize, *const c_char) -> Ptr;
    LLVMParseIRInContext: fn(Ptr, Ptr, *mut Ptr, *mut *mut c_char) -> c_int;
    LLVMVerifyModule: fn(Ptr, c_int, *mut *mut c_char) -> c_int;
    LLVMDisposeModule: fn(Ptr);
    LLVMPrintModuleToString: fn(Ptr) -> *mut c_char;
    LLVMCreatePassBuilderOptions: fn() -> Ptr;
    LLVMDisposePassBuilderOptions: fn(Ptr);
    LLVMRunPasses: fn(Ptr, *const c_char, Ptr, Ptr) -> Ptr;
    LLVMGetErrorMessage: fn(Ptr) -> *mut c_char;
    LLVMDisposeErrorMessage: fn(*mut c_char);
    LLVMTargetMachineEmitToMemoryBuffer: fn(Ptr, Ptr, c_int, *mut *mut c_char, *mut Ptr) -> c_int;
    LLVMGetBufferStart: fn(Ptr) -> *const c_char;
    LLVMGetBufferSize: fn(Ptr) -> usize;
    LLVMDisposeMemoryBuffer: fn(Ptr);
}

impl Functions {
    /// A message of LLVM, which is freed.
    fn take(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: LLVM gives messages that end with a zero, to be freed by this function.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.LLVMDisposeMessage)(message);
            text
        }
    }
}

/// A library that has been opened and understood.
pub struct Llvm {
    functions: Functions,
    _library: Library,
    /// Where it was found.
    pub path: PathBuf,
    /// Its version: major, minor, patch.
    pub version: (u32, u32, u32),
    /// The processor.
    pub cpu: Cpu,
}

/// What machine code comes out as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// An object file in memory.
    Object,
    /// Assembler text.
    Assembly,
    /// LLVM's own text, after its passes.
    Text,
}

/// ELF wherever it runs: objects are loaded by this crate, not by the system.
const TRIPLE: &CStr = c"x86_64-unknown-linux-gnu";

impl Llvm {
    /// The library of this process: searched for once.
    ///
    /// # Errors
    /// What was tried, and why each was no good.
    pub fn get() -> Result<&'static Llvm, &'static str> {
        static FOUND: OnceLock<Result<Llvm, String>> = OnceLock::new();
        FOUND.get_or_init(Llvm::search).as_ref().map_err(String::as_str)
    }

    fn search() -> Result<Llvm, String> {
        if !cfg!(target_arch = "x86_64") {
            return Err("machine code is made for x86-64 only; other processors interpret".into());
        }
        let mut tried = Vec::new();
        for path in candidates()? {
            match Llvm::open(&path) {
                Ok(llvm) => return Ok(llvm),
                Err(why) => tried.push(format!("{}: {why}", path.display())),
            }
        }
        match tried.is_empty() {
            true => Err(format!(
                "no libLLVM was found; set {VARIABLE} to one (version {OLDEST} or later)"
            )),
            false => Err(tried.join("; ")),
        }
    }

    /// Opens one.
    ///
    /// # Errors
    /// It is no library, lacks a function, or is too old.
    pub fn open(path: &Path) -> Result<Llvm, String> {
        // SAFETY: opening a library runs its initialisers; libLLVM's have no effect on others.
        let library = unsafe { Library::new(path) }.map_err(|e| short(&e.to_string()))?;
        let version = version_of(&library)
            .or_else(|| version_by_name(path))
            .ok_or("its version is not known")?;
        if version.0 < OLDEST {
            return Err(format!("version {} is too old: {OLDEST} or later is needed", version.0));
        }
        // SAFETY: it has LLVM's version function or is named so, hence is libLLVM.
        let functions = unsafe { Functions::load(&library) }?;
        // SAFETY: these take nothing and may be called at any time, repeatedly.
        unsafe {
            (functions.LLVMInitializeX86TargetInfo)();
            (functions.LLVMInitializeX86Target)();
            (functions.LLVMInitializeX86TargetMC)();
            (functions.LLVMInitializeX86AsmPrinter)();
        }
        // SAFETY: both give a message that is ours to free.
        let (cpu, features) =
            unsafe { ((functions.LLVMGetHostCPUName)(), (functions.LLVMGetHostCPUFeatures)()) };
        let host = Cpu::with_features(functions.take(cpu), functions.take(features));
        let cpu = match std::env::var(CPU_VARIABLE).ok().filter(|level| !level.is_empty()) {
            Some(level) => host.at_most(&level).map_err(|why| format!("{CPU_VARIABLE}: {why}"))?,
            None => host.tuned(version.0),
        };
        Ok(Llvm { functions, _library: library, path: path.to_path_buf(), version, cpu })
    }

    /// The passes: short, because the text is vectors already.
    fn passes(&self, loops: bool) -> String {
        // From 18 on the plain name stops the process where one round is not enough.
        let combine =
            if self.version.0 >= 18 { "instcombine<no-verify-fixpoint>" } else { "instcombine" };
        if !loops {
            // The program has no equal operations any more, and memory is only what is kept from part to part.
            return format!("always-inline,function(sroa,early-cse,{combine},simplifycfg)");
        }
        format!(
            "always-inline,function(sroa,early-cse<memssa>,{combine},simplifycfg,\
             loop-mssa(licm),gvn,{combine},dse,simplifycfg)"
        )
    }

    /// Machine code of a program in LLVM's text, for this processor.
    ///
    /// # Errors
    /// What LLVM has to say against the text.
    pub fn compile(&self, text: &str, output: Output) -> Result<Vec<u8>, JitError> {
        self.compile_for(&self.cpu, text, output)
    }

    /// [`compile`](Llvm::compile) for another processor.
    ///
    /// # Errors
    /// As [`compile`](Llvm::compile).
    pub fn compile_for(&self, cpu: &Cpu, text: &str, output: Output) -> Result<Vec<u8>, JitError> {
        let fault = |what: &str, why: String| JitError::Llvm { what: what.to_string(), why };
        let c =
            |s: &str| CString::new(s).map_err(|_| fault("a name", "it has a zero in it".into()));
        let (cpu, features, passes) =
            (c(&cpu.name)?, c(&cpu.features)?, c(&self.passes(text.contains(" phi ")))?);
        let f = &self.functions;
        // SAFETY: every object is made by LLVM here, used as its interface says and freed once by the guards below, in
        // the order in which they depend on each other: module, buffers and machine before the context.
        unsafe {
            let mut message: *mut c_char = std::ptr::null_mut();
            let mut target: Ptr = std::ptr::null_mut();
            if (f.LLVMGetTargetFromTriple)(TRIPLE.as_ptr(), &raw mut target, &raw mut message) != 0
            {
                return Err(fault("the target", f.take(message)));
            }
            let context = Guarded((f.LLVMContextCreate)(), f.LLVMContextDispose);
            // Aggressive code, position independent, the small code model.
            let machine = (f.LLVMCreateTargetMachine)(
                target,
                TRIPLE.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                2,
                2,
                3,
            );
            let machine = Guarded(machine, f.LLVMDisposeTargetMachine);
            let buffer = (f.LLVMCreateMemoryBufferWithMemoryRangeCopy)(
                text.as_ptr().cast(),
                text.len(),
                c"program".as_ptr(),
            );
            let mut module: Ptr = std::ptr::null_mut();
            // The buffer is taken over.
            if (f.LLVMParseIRInContext)(context.0, buffer, &raw mut module, &raw mut message) != 0 {
                return Err(fault("the text", f.take(message)));
            }
            let module = Guarded(module, f.LLVMDisposeModule);
            let layout =
                Guarded((f.LLVMCreateTargetDataLayout)(machine.0), f.LLVMDisposeTargetData);
            (f.LLVMSetModuleDataLayout)(module.0, layout.0);
            (f.LLVMSetTarget)(module.0, TRIPLE.as_ptr());
            if cfg!(debug_assertions) {
                // 2: say so and go on.
                if (f.LLVMVerifyModule)(module.0, 2, &raw mut message) != 0 {
                    return Err(fault("the module", f.take(message)));
                }
                drop(f.take(message));
            }
            let options =
                Guarded((f.LLVMCreatePassBuilderOptions)(), f.LLVMDisposePassBuilderOptions);
            let error = (f.LLVMRunPasses)(module.0, passes.as_ptr(), machine.0, options.0);
            if !error.is_null() {
                let message = (f.LLVMGetErrorMessage)(error);
                let why = CStr::from_ptr(message).to_string_lossy().into_owned();
                (f.LLVMDisposeErrorMessage)(message);
                return Err(fault("the passes", why));
            }
            if output == Output::Text {
                return Ok(f.take((f.LLVMPrintModuleToString)(module.0)).into_bytes());
            }
            let kind = c_int::from(output == Output::Object);
            let mut object: Ptr = std::ptr::null_mut();
            message = std::ptr::null_mut();
            let failed = (f.LLVMTargetMachineEmitToMemoryBuffer)(
                machine.0,
                module.0,
                kind,
                &raw mut message,
                &raw mut object,
            );
            if failed != 0 {
                return Err(fault("machine code", f.take(message)));
            }
            let object = Guarded(object, f.LLVMDisposeMemoryBuffer);
            let (start, len) = ((f.LLVMGetBufferStart)(object.0), (f.LLVMGetBufferSize)(object.0));
            Ok(std::slice::from_raw_parts(start.cast::<u8>(), len).to_vec())
        }
    }
}

/// An object of LLVM that is freed at the end.
struct Guarded(Ptr, unsafe extern "C" fn(Ptr));

impl Drop for Guarded {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: made by LLVM, freed by the function that belongs to it, once.
            unsafe { (self.1)(self.0) }
        }
    }
}

fn short(message: &str) -> String {
    message.lines().next().unwrap_or("it cannot be opened").to_string()
}

fn version_of(library: &Library) -> Option<(u32, u32, u32)> {
    type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
    // SAFETY: this is the type of that function in all versions that have it.
    let symbol = unsafe { library.get::<Version>(b"LLVMGetVersion\0") }.ok()?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: it writes three numbers.
    unsafe { symbol(&raw mut major, &raw mut minor, &raw mut patch) };
    Some((major, minor, patch))
}

/// Version 15 cannot be asked: the name says it.
fn version_by_name(path: &Path) -> Option<(u32, u32, u32)> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let name = real.file_name()?.to_str()?.strip_prefix("libLLVM")?.to_string();
    let digits: String = name
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    Some((digits.parse().ok()?, 0, 0))
}

/// Libraries to try, the best first.
fn candidates() -> Result<Vec<PathBuf>, String> {
    if let Some(given) = std::env::var_os(VARIABLE) {
        if given.is_empty() || given == "off" {
            return Err(format!("{VARIABLE} says that none is to be used"));
        }
        let path = PathBuf::from(given);
        return match path.is_dir() {
            true => Ok(libraries_in(&path)),
            // Also a name that the system's loader finds by itself.
            false => Ok(vec![path]),
        };
    }
    let mut found = Vec::new();
    for root in sysroots() {
        found.extend(libraries_in(&root.join("lib")));
    }
    for folder in [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
        "/opt/homebrew/opt/llvm/lib",
        "/usr/local/opt/llvm/lib",
    ] {
        found.extend(libraries_in(Path::new(folder)));
    }
    for version in (OLDEST..=22).rev() {
        found.extend(libraries_in(Path::new(&format!("/usr/lib/llvm-{version}/lib"))));
    }
    Ok(found)
}

/// Where Rust toolchains are: that of the environment, the one in use, those of rustup.
fn sysroots() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> =
        std::env::var_os("SYSROOT").map(PathBuf::from).into_iter().collect();
    let home = std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")));
    if let Some(home) = home
        && let Ok(entries) = std::fs::read_dir(home.join("toolchains"))
    {
        let mut toolchains: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        // Stable ones first; the same on every run.
        toolchains.sort_by_key(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (!name.starts_with("stable"), name.starts_with("nightly"), name)
        });
        roots.extend(toolchains);
    }
    if roots.is_empty()
        && let Ok(output) = Command::new("rustc").args(["--print", "sysroot"]).output()
    {
        let path = String::from_utf8_lossy(&output.stdout).trim().to_string();
        if !path.is_empty() {
            roots.push(PathBuf::from(path));
        }
    }
    roots
}

/// The libraries of a folder, the latest version first.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            let library = name.contains(".so") || name.ends_with(".dylib");
            let (major, _, _) = version_by_name(&path)?;
            (name.starts_with("libLLVM") && library && major >= OLDEST).then_some((major, path))
        })
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    // Links to the same file are one.
    found.dedup_by_key(|(_, path)| std::fs::canonicalize(path).ok());
    found.into_iter().map(|(_, path)| path).collect()
}
