//! A program as machine code, ready to run.

use cotangent_ir::{Element, Function, Type};

use crate::emit::{Failure, emit};
use crate::llvm::{Llvm, Output};
use crate::load::Loaded;
use crate::{JitError, Options, RunError, runtime};

/// A program as machine code. It is immutable: many threads may run it, each with a workspace of its own.
#[derive(Debug)]
pub struct Compiled {
    name: String,
    params: Vec<Type>,
    results: Vec<Type>,
    code: Loaded,
    run: unsafe extern "C" fn(*const *mut u8, *mut u8) -> u64,
    arena: usize,
    failures: Vec<Failure>,
}

/// Memory for a run, used again by the next one.
#[derive(Debug, Default)]
pub struct Workspace {
    arena: Vec<Line>,
    inputs: Vec<Vec<Line>>,
    outputs: Vec<Vec<Line>>,
    pointers: Vec<Pointer>,
}

/// A cache line: arrays begin at whole ones.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A pointer to an argument. It is written before each run and means nothing in between.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Pointer(*mut u8);

// SAFETY: pointers are written anew before each run by the thread that runs.
unsafe impl Send for Pointer {}
// SAFETY: as above; nothing reads them through a shared reference.
unsafe impl Sync for Pointer {}

fn lines(bytes: usize) -> Vec<Line> {
    vec![Line([0; 64]); bytes.div_ceil(64).max(1)]
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
        let emitted = emit(f, options, vector_bytes(llvm))?;
        let object = llvm.compile(&emitted.text, Output::Object)?;
        let code = Loaded::new(&object, runtime::address)?;
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
        Ok(Compiled {
            name: f.name().to_string(),
            params: f.params().iter().map(|p| p.ty).collect(),
            results: f.results().iter().map(ty).collect(),
            code,
            run,
            arena: emitted.arena,
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
        let emitted = emit(f, options, vector_bytes(llvm))?;
        match output {
            None => Ok(emitted.text),
            Some(output) => {
                let bytes = llvm.compile(&emitted.text, output)?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
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

    /// Memory for runs.
    pub fn workspace(&self) -> Workspace {
        let room = |ty: &Type| lines(ty.len().unwrap_or(0) * ty.element().bytes());
        Workspace {
            arena: lines(self.arena),
            inputs: self.params.iter().map(room).collect(),
            outputs: self.results.iter().map(room).collect(),
            pointers: Vec::with_capacity(self.params.len() + self.results.len()),
        }
    }

    /// The results at a point: arrays as the numbers they are made of, row by row, integers and truth values as numbers.
    ///
    /// # Errors
    /// Another number of arguments, an index outside an array, a guard that fails.
    pub fn run(&self, x: &[f64], workspace: &mut Workspace) -> Result<Vec<f64>, RunError> {
        let mut all = Vec::new();
        self.run_into(x, &mut all, workspace)?;
        Ok(all)
    }

    /// [`run`](Compiled::run) into a list, which is cleared first.
    ///
    /// # Errors
    /// As [`run`](Compiled::run).
    pub fn run_into(
        &self,
        x: &[f64],
        results: &mut Vec<f64>,
        workspace: &mut Workspace,
    ) -> Result<(), RunError> {
        let expected: usize = self.params.iter().map(|ty| ty.len().unwrap_or(0)).sum();
        if x.len() != expected {
            let function = self.name.clone();
            return Err(RunError::Arguments { function, expected, found: x.len() });
        }
        let mut rest = x;
        for (ty, room) in self.params.iter().zip(&mut workspace.inputs) {
            let (own, after) = rest.split_at(ty.len().unwrap_or(0));
            rest = after;
            let element = ty.element();
            let bytes = bytes_mut(room);
            if element == Element::F64 {
                for (to, x) in bytes.chunks_exact_mut(8).zip(own) {
                    to.copy_from_slice(&x.to_ne_bytes());
                }
                continue;
            }
            for (to, x) in bytes.chunks_exact_mut(element.bytes()).zip(own) {
                match element {
                    Element::F64 => {}
                    Element::F32 => to.copy_from_slice(&(*x as f32).to_ne_bytes()),
                    Element::Bool => to[0] = u8::from(*x != 0.0),
                    _ if x.trunc() != *x || x.abs() >= 9e15 => {
                        let what = format!("{x} was given for an integer");
                        return Err(RunError::Value { function: format!("@{}", self.name), what });
                    }
                    Element::I64 => to.copy_from_slice(&(*x as i64).to_ne_bytes()),
                    Element::I32 => to.copy_from_slice(&(*x as i32).to_ne_bytes()),
                }
            }
        }
        workspace.pointers.clear();
        let Workspace { arena, inputs, outputs, pointers } = workspace;
        pointers.extend(
            inputs
                .iter_mut()
                .chain(outputs.iter_mut())
                .map(|room| Pointer(room.as_mut_ptr().cast())),
        );
        // SAFETY: the code takes one pointer for each parameter and result, to as many elements as their types say, and
        // writes to results and the arena only, within their sizes: indices that are not known to be inside are checked.
        let status = unsafe { (self.run)(pointers.as_ptr().cast(), arena.as_mut_ptr().cast()) };
        self.outcome(status)?;
        results.clear();
        for (ty, room) in self.results.iter().zip(outputs) {
            let (len, element) = (ty.len().unwrap_or(0), ty.element());
            let bytes = bytes_mut(room);
            let chunks = bytes.chunks_exact(element.bytes()).take(len);
            results.extend(chunks.map(|from| number(from, element)));
        }
        Ok(())
    }

    fn outcome(&self, status: u64) -> Result<(), RunError> {
        let Some(k) = status.checked_sub(1) else { return Ok(()) };
        let place = |function: &str| match function.is_empty() {
            true => "a body".to_string(),
            false => format!("@{function}"),
        };
        let value =
            |function: &str, what: String| RunError::Value { function: place(function), what };
        Err(match self.failures.get(k as usize) {
            Some(Failure::Guard { function, guard }) => {
                RunError::Guard { function: function.clone(), guard: *guard }
            }
            Some(Failure::Index { function, dimension, ty }) => {
                value(function, format!("an index is out of range: dimension {dimension} of {ty}"))
            }
            Some(Failure::Endless { function }) => value(
                function,
                format!(
                    "a `while` was left after {} rounds; does it end at all?",
                    crate::emit::ROUNDS
                ),
            ),
            Some(Failure::Other { function, what }) => value(function, what.clone()),
            None => value(&self.name, format!("status {status}")),
        })
    }
}

fn bytes_mut(lines: &mut [Line]) -> &mut [u8] {
    // SAFETY: lines are bytes, and the length is theirs.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * 64) }
}

fn number(from: &[u8], element: Element) -> f64 {
    let eight = || <[u8; 8]>::try_from(from).unwrap_or_default();
    let four = || <[u8; 4]>::try_from(from).unwrap_or_default();
    match element {
        Element::F64 => f64::from_ne_bytes(eight()),
        Element::F32 => f64::from(f32::from_ne_bytes(four())),
        Element::Bool => f64::from(from[0] != 0),
        Element::I64 => i64::from_ne_bytes(eight()) as f64,
        Element::I32 => f64::from(i32::from_ne_bytes(four())),
    }
}

/// The width of vectors that the processor has.
fn vector_bytes(llvm: &Llvm) -> usize {
    match () {
        () if llvm.has("avx512f") && llvm.has("avx512dq") => 64,
        () if llvm.has("avx2") => 32,
        () => 16,
    }
}
