//! A program as machine code, ready to run.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cotangent_ir::{Element, Function, Type};

use crate::apart::apart;
use crate::blocks::blocked;
use crate::dense::extracted;
use crate::dump::dump;
use crate::emit::{Emitted, Failure, emit};
use crate::fuse::{LEAST, fused};
use crate::joined::joined;
use crate::later::later;
use crate::llvm::{Llvm, Output};
use crate::load::Loaded;
use crate::quick::Quick;
use crate::recomputed::recomputed;
use crate::relaxed::relaxed;
use crate::rows::by_rows;
use crate::scales::unscaled;
use crate::steady::steady;
use crate::{JitError, Options, cache};

/// A program as machine code. It is immutable: many threads may run it, each with a workspace of its own.
#[derive(Debug)]
pub struct Compiled {
    /// Programs are counted, so that a workspace knows its own.
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) params: Vec<Type>,
    pub(crate) results: Vec<Type>,
    /// How parameters and results stand in memory: types are looked up in what all threads share, and a run may be short.
    pub(crate) takes: Layout,
    pub(crate) gives: Layout,
    pub(crate) code: Arc<Loaded>,
    pub(crate) run: unsafe extern "C" fn(*const *mut u8, *mut u8) -> u64,
    pub(crate) arena: usize,
    pub(crate) stacks: Vec<usize>,
    pub(crate) packed: bool,
    pub(crate) kernels: bool,
    /// Whether threads share tables.
    pub(crate) shared: bool,
    /// The results in which a NaN does not stop the run, as ranges of a list of all numbers; neighbours are one.
    pub(crate) unwatched: Vec<Range<usize>>,
    /// What everything is made of, if it is all the same: lists of such need not be converted.
    pub(crate) element: Option<Element>,
    pub(crate) failures: Vec<Failure>,
    /// How it is called without a workspace, if it is a short one.
    pub(crate) quick: Option<Box<Quick>>,
    /// The program as it is, if this is one with plain products.
    pub(crate) strict: Option<Box<Strict>>,
}

/// A program that is compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct Strict {
    f: Function,
    options: Options,
    compiled: OnceLock<Result<Box<Compiled>, JitError>>,
}

impl Strict {
    pub(crate) fn get(&self) -> Result<&Compiled, &JitError> {
        let llvm = Llvm::get().map_err(|why| JitError::NoLlvm(why.to_string()));
        let compiled = self
            .compiled
            .get_or_init(|| Compiled::as_it_is(llvm?, &self.f, &self.options).map(Box::new));
        compiled.as_deref()
    }
}

/// Results are looked through for what is no number, which takes its time, too: so many operations there must be for each, or few
/// results (the gradient of Rosenbrock, 100 variables, 20 operations for each: 1.3 times as long with plain products).
const WORK: f64 = 32.0;

/// The most results that are looked through whatever the work.
const FEW: usize = 8;

/// So many results are looked through at the speed of memory, and a third of the work is enough (ba, 4·10⁷ results, 0.7 of the time).
const LONG: usize = 4096;

impl Compiled {
    /// Compiles a function whose dimensions are all known and whose derivatives have been lowered.
    ///
    /// # Errors
    /// No LLVM; something that machine code is not made for.
    pub fn new(f: &Function, options: &Options) -> Result<Compiled, JitError> {
        let llvm = Llvm::get().map_err(|why| JitError::NoLlvm(why.to_string()))?;
        Compiled::with(llvm, f, options)
    }

    /// [`new`](Compiled::new) with a given LLVM.
    ///
    /// # Errors
    /// Something that machine code is not made for.
    pub fn with(llvm: &Llvm, f: &Function, options: &Options) -> Result<Compiled, JitError> {
        let Some(plain) = plain(llvm, f, options) else {
            return Compiled::as_it_is(llvm, f, options);
        };
        let mut compiled = Compiled::of(llvm, &plain, options, true)?;
        let (f, options) = (f.clone(), options.clone());
        compiled.strict = Some(Box::new(Strict { f, options, compiled: OnceLock::new() }));
        Ok(compiled)
    }

    /// With strong products, if there are any.
    fn as_it_is(llvm: &Llvm, f: &Function, options: &Options) -> Result<Compiled, JitError> {
        Compiled::of(llvm, f, options, false)
    }

    fn of(
        llvm: &Llvm,
        f: &Function,
        options: &Options,
        marked: bool,
    ) -> Result<Compiled, JitError> {
        let emitted = emitted(llvm, f, options, marked)?;
        let code = cache::loaded(llvm, &emitted.modules)?;
        let run = code
            .symbol("run")
            .ok_or_else(|| JitError::Object { why: "it has no function".into() })?;
        // SAFETY: `emit` writes the function `run` with this type.
        let run = unsafe {
            std::mem::transmute::<*const u8, unsafe extern "C" fn(*const *mut u8, *mut u8) -> u64>(
                run,
            )
        };
        let ty = |v: &cotangent_ir::Value| f.ty(*v);
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let takes = Layout::new(f.params().iter().map(|p| p.ty), emitted.packed);
        let gives = Layout::new(f.results().iter().map(ty), emitted.packed);
        let alone = !emitted.shared && !emitted.kernels && emitted.stacks.is_empty();
        let quick = Quick::new(&takes, &gives, emitted.packed, emitted.arena).filter(|_| alone);
        let mut unwatched: Vec<Range<usize>> = Vec::new();
        for (part, _) in gives.parts.iter().zip(&emitted.watched).filter(|(_, watched)| !**watched)
        {
            let end = part.start + part.len;
            match unwatched.last_mut().filter(|last| last.end == part.start) {
                Some(last) => last.end = end,
                None => unwatched.push(part.start..end),
            }
        }
        Ok(Compiled {
            number: COUNT.fetch_add(1, Ordering::Relaxed),
            takes,
            gives,
            quick,
            unwatched,
            name: f.name().to_string(),
            params: f.params().iter().map(|p| p.ty).collect(),
            results: f.results().iter().map(ty).collect(),
            code,
            run,
            arena: emitted.arena,
            stacks: emitted.stacks,
            packed: emitted.packed,
            kernels: emitted.kernels,
            shared: emitted.shared,
            element: common(f.params().iter().map(|p| p.ty).chain(f.results().iter().map(ty))),
            failures: emitted.failures,
            strict: None,
        })
    }

    /// LLVM's text, or machine code as assembler text.
    ///
    /// # Errors
    /// As [`new`](Compiled::new).
    pub fn text(
        f: &Function,
        options: &Options,
        output: Option<Output>,
    ) -> Result<String, JitError> {
        let llvm = Llvm::get().map_err(|why| JitError::NoLlvm(why.to_string()))?;
        let plain = plain(llvm, f, options);
        let emitted = emitted(llvm, plain.as_ref().unwrap_or(f), options, plain.is_some())?;
        match output {
            None => Ok(emitted.modules.join("\n")),
            Some(output) => {
                let mut all = String::new();
                for module in &emitted.modules {
                    all += &String::from_utf8_lossy(&llvm.compile(module, output)?);
                }
                Ok(all)
            }
        }
    }

    /// The types of the parameters.
    pub fn params(&self) -> &[Type] {
        &self.params
    }

    /// The types of the results.
    pub fn results(&self) -> &[Type] {
        &self.results
    }

    /// Bytes of machine code, and of memory that a run takes.
    pub fn sizes(&self) -> (usize, usize) {
        (self.code.len(), self.arena)
    }

    /// How many numbers it takes, and how many it gives.
    #[inline]
    pub fn lens(&self) -> (usize, usize) {
        (self.takes.len, self.gives.len)
    }
}

/// The program with plain products, if that may be and pays.
fn plain(llvm: &Llvm, f: &Function, options: &Options) -> Option<Function> {
    // Products are fused with sums, so that digits may differ in any case. The program as it is must be compiled in the same way.
    let usual = Llvm::get().is_ok_and(|usual| std::ptr::eq(usual, llvm));
    let lens = f.results().iter().map(|v| f.ty(*v).len()).sum::<Option<usize>>();
    let few = lens.is_some_and(|n| {
        let work = if n >= LONG { WORK / 3.0 } else { WORK };
        n <= FEW || f.cost().total() >= work * n as f64
    });
    if options.contract && usual && few { relaxed(f) } else { None }
}

/// How parameters or results stand in memory.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) parts: Vec<Part>,
    /// How many numbers all are.
    pub(crate) len: usize,
    /// How many bytes they take where they are converted.
    pub(crate) bytes: usize,
}

/// A parameter or a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) element: Element,
    pub(crate) len: usize,
    /// Where it begins in a list of all numbers.
    pub(crate) start: usize,
    /// Where it begins where it is converted, in bytes: on lines of its own, or behind the others if they are taken in one.
    pub(crate) place: usize,
}

impl Layout {
    fn new(types: impl Iterator<Item = Type>, packed: bool) -> Layout {
        let line = if packed { 1 } else { 64 };
        let mut layout = Layout { parts: Vec::new(), len: 0, bytes: 0 };
        for ty in types {
            let (element, len) = (ty.element(), ty.len().unwrap_or(0));
            let place = layout.bytes.next_multiple_of(line);
            layout.parts.push(Part { element, len, start: layout.len, place });
            layout.len += len;
            layout.bytes = place + len * element.bytes();
        }
        layout
    }
}

/// The element that all types have, if there is one.
fn common(mut types: impl Iterator<Item = Type>) -> Option<Element> {
    let first = types.next()?.element();
    types.all(|ty| ty.element() == first).then_some(first)
}

fn emitted(
    llvm: &Llvm,
    f: &Function,
    options: &Options,
    marked: bool,
) -> Result<Emitted, JitError> {
    let (ready, options) = prepared(f, options);
    let emitted = emit(&ready, &options, llvm.cpu.vector_bytes, false, marked)?;
    dump(llvm, f, &ready, &emitted);
    Ok(emitted)
}

/// The program as it is written for a machine, and the options for writing it.
pub(crate) fn prepared(f: &Function, options: &Options) -> (Function, Options) {
    let f = if options.kernels { &extracted(f) } else { f };
    // What threads are to share however short it is, is a table however short it is.
    let mut f = fused(f, options.parallel.unwrap_or(LEAST).min(LEAST));
    f = recomputed(&joined(&f));
    if !options.scalar {
        f = by_rows(&apart(&f));
    }
    let worth = options.parallel.filter(|least| f.cost().total() >= *least as f64);
    let options = Options { parallel: worth, ..options.clone() };
    if let Some(least) = options.least_shared() {
        f = blocked(&f, least);
    }
    if options.contract {
        f = steady(&unscaled(&f));
    }
    (later(&f), options)
}
