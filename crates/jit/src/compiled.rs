//! A program as machine code, ready to run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cotangent_ir::{Element, Function, Type};

use crate::blocks::blocked;
use crate::dense::extracted;
use crate::emit::{Emitted, Failure, emit};
use crate::fuse::{LEAST, fused};
use crate::llvm::{Llvm, Output};
use crate::load::Loaded;
use crate::{JitError, Options, cache};

/// A program as machine code. It is immutable: many threads may run it, each with a workspace of its own.
#[derive(Debug)]
pub struct Compiled {
    /// Programs are counted, so that a workspace knows its own.
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) params: Vec<Type>,
    pub(crate) results: Vec<Type>,
    /// Where each parameter and each result begins, if they stand one behind the other; at last, how many numbers there are.
    pub(crate) offsets: (Vec<usize>, Vec<usize>),
    pub(crate) code: Arc<Loaded>,
    pub(crate) run: unsafe extern "C" fn(*const *mut u8, *mut u8) -> u64,
    pub(crate) arena: usize,
    pub(crate) stacks: Vec<usize>,
    pub(crate) packed: bool,
    pub(crate) kernels: bool,
    /// What everything is made of, if it is all the same: lists of such need not be converted.
    pub(crate) element: Option<Element>,
    pub(crate) failures: Vec<Failure>,
}

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
        let emitted = emitted(llvm, f, options)?;
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
        Ok(Compiled {
            number: COUNT.fetch_add(1, Ordering::Relaxed),
            offsets: (
                offsets(f.params().iter().map(|p| p.ty)),
                offsets(f.results().iter().map(ty)),
            ),
            name: f.name().to_string(),
            params: f.params().iter().map(|p| p.ty).collect(),
            results: f.results().iter().map(ty).collect(),
            code,
            run,
            arena: emitted.arena,
            stacks: emitted.stacks,
            packed: emitted.packed,
            kernels: emitted.kernels,
            element: common(f.params().iter().map(|p| p.ty).chain(f.results().iter().map(ty))),
            failures: emitted.failures,
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
        let emitted = emitted(llvm, f, options)?;
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
    pub fn lens(&self) -> (usize, usize) {
        let all = |offsets: &[usize]| offsets.last().copied().unwrap_or(0);
        (all(&self.offsets.0), all(&self.offsets.1))
    }
}

/// Where values of these types begin, one behind the other, and where the last ends.
fn offsets(types: impl Iterator<Item = Type>) -> Vec<usize> {
    let mut offsets = vec![0];
    let mut end = 0;
    for ty in types {
        end += ty.len().unwrap_or(0);
        offsets.push(end);
    }
    offsets
}

/// The element that all types have, if there is one.
fn common(mut types: impl Iterator<Item = Type>) -> Option<Element> {
    let first = types.next()?.element();
    types.all(|ty| ty.element() == first).then_some(first)
}

fn emitted(llvm: &Llvm, f: &Function, options: &Options) -> Result<Emitted, JitError> {
    let f = if options.kernels { &extracted(f) } else { f };
    // What threads are to share however short it is, is a table however short it is.
    let mut f = fused(f, options.parallel.unwrap_or(LEAST).min(LEAST));
    if let Some(least) = options.parallel {
        f = blocked(&f, least as f64);
    }
    emit(&f, options, llvm.cpu.vector_bytes, false)
}
