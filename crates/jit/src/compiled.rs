//! A program as machine code, ready to run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cotangent_ir::{Element, Function, RunError, Type};

use crate::blocks::blocked;
use crate::emit::{Emitted, Failure, emit};
use crate::llvm::{Llvm, Output};
use crate::load::Loaded;
use crate::number::{Number, common};
use crate::{JitError, Options, cache, runtime};

/// A program as machine code. It is immutable: many threads may run it, each with a workspace of its own.
#[derive(Debug)]
pub struct Compiled {
    /// Programs are counted, so that a workspace knows its own.
    number: u64,
    name: String,
    params: Vec<Type>,
    results: Vec<Type>,
    /// How many numbers each parameter and each result is.
    sizes: (Vec<usize>, Vec<usize>),
    lens: (usize, usize),
    code: Arc<Loaded>,
    run: unsafe extern "C" fn(*const *mut u8, *mut u8) -> u64,
    arena: usize,
    stacks: Vec<usize>,
    packed: bool,
    /// What everything is made of, if it is all the same: lists of such need not be converted.
    element: Option<Element>,
    failures: Vec<Failure>,
}

/// Memory for a run, used again by the next one.
#[derive(Debug, Default)]
pub struct Workspace {
    /// The program that it was made for.
    program: u64,
    arena: Vec<Line>,
    /// Where in the arena memory that grows is noted.
    stacks: Vec<usize>,
    inputs: Vec<Vec<Line>>,
    outputs: Vec<Vec<Line>>,
    pointers: Vec<Pointer>,
    /// Arguments and results, where they are given in several lists and taken in one.
    lists: (Vec<f64>, Vec<f64>),
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

impl Workspace {
    /// Gives back memory that has grown.
    fn free(&mut self) {
        for at in &self.stacks {
            let place = self.arena.as_mut_ptr().cast::<u8>();
            // SAFETY: machine code notes its memory at this place of the arena, and nothing else is ever written there.
            unsafe { (*place.add(*at).cast::<runtime::Grown>()).free() };
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.free();
    }
}

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
        let emitted = emitted(llvm, f, options)?;
        let code = cache::loaded(llvm, &emitted.text)?;
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
        let len = |ty: Type| ty.len().unwrap_or(0);
        let takes: Vec<usize> = f.params().iter().map(|p| len(p.ty)).collect();
        let gives: Vec<usize> = f.results().iter().map(|v| len(f.ty(*v))).collect();
        static COUNT: AtomicU64 = AtomicU64::new(1);
        Ok(Compiled {
            number: COUNT.fetch_add(1, Ordering::Relaxed),
            lens: (takes.iter().sum(), gives.iter().sum()),
            sizes: (takes, gives),
            name: f.name().to_string(),
            params: f.params().iter().map(|p| p.ty).collect(),
            results: f.results().iter().map(ty).collect(),
            code,
            run,
            arena: emitted.arena,
            stacks: emitted.stacks,
            packed: emitted.packed,
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
        // Room for what is converted is made when something is.
        let rooms = |types: &[Type]| match self.plain() {
            true => Vec::new(),
            false => vec![Vec::new(); types.len()],
        };
        Workspace {
            program: self.number,
            arena: lines(self.arena),
            stacks: self.stacks.clone(),
            inputs: rooms(&self.params),
            outputs: rooms(&self.results),
            pointers: Vec::with_capacity(self.params.len() + self.results.len()),
            lists: Default::default(),
        }
    }

    /// How many numbers it takes, and how many it gives.
    pub fn lens(&self) -> (usize, usize) {
        self.lens
    }

    /// The results at a point: arrays as the numbers they are made of, row by row, integers and truth values as numbers.
    ///
    /// # Errors
    /// Another number of arguments, an index outside an array, a guard that fails.
    pub fn run(&self, x: &[f64], workspace: &mut Workspace) -> Result<Vec<f64>, RunError> {
        let mut all = vec![0.0; self.lens().1];
        self.run_into(x, &mut all, workspace)?;
        Ok(all)
    }

    /// [`run`](Compiled::run) into a list of as many numbers as there are results.
    ///
    /// # Errors
    /// As [`run`](Compiled::run), and another number of results.
    pub fn run_into(
        &self,
        x: &[f64],
        results: &mut [f64],
        workspace: &mut Workspace,
    ) -> Result<(), RunError> {
        self.run_slices(&[x], &mut [results], workspace)
    }

    /// [`run_into`](Compiled::run_into) with arguments and results that stand in several lists: each list has some
    /// arguments (or results) whole, one behind the other.
    ///
    /// # Errors
    /// As [`run_into`](Compiled::run_into); an argument or result that is cut in two.
    pub fn run_slices(
        &self,
        x: &[&[f64]],
        results: &mut [&mut [f64]],
        workspace: &mut Workspace,
    ) -> Result<(), RunError> {
        let status = self.status(x, results, workspace)?;
        self.outcome(status)
    }

    /// [`run_into`](Compiled::run_into) with each argument and each result in a list of its own, of doubles or singles.
    ///
    /// Nothing is copied or converted if all parameters and results are of the kind that is given.
    ///
    /// # Errors
    /// As [`run_into`](Compiled::run_into).
    pub fn call<T: Number>(
        &self,
        inputs: &[&[T]],
        outputs: &mut [&mut [T]],
        workspace: &mut Workspace,
    ) -> Result<(), RunError> {
        let wrong = |expected: usize, found: usize| RunError::Arguments {
            function: self.name.clone(),
            expected,
            found,
        };
        if inputs.len() != self.params.len() {
            return Err(wrong(self.params.len(), inputs.len()));
        }
        if outputs.len() != self.results.len() {
            return Err(wrong(self.results.len(), outputs.len()));
        }
        let sizes = inputs.iter().map(|x| x.len()).chain(outputs.iter().map(|y| y.len()));
        for (expected, found) in self.sizes.0.iter().chain(&self.sizes.1).zip(sizes) {
            if *expected != found {
                return Err(wrong(*expected, found));
            }
        }
        if self.element != Some(T::ELEMENT) || self.packed {
            let x: Vec<f64> = inputs.iter().flat_map(|x| x.iter().map(|x| (*x).into())).collect();
            let all = self.run(&x, workspace)?;
            let places = outputs.iter_mut().flat_map(|output| output.iter_mut());
            places.zip(all).for_each(|(place, x)| *place = T::nearest(x));
            return Ok(());
        }
        workspace.pointers.clear();
        workspace.pointers.extend(inputs.iter().map(|x| Pointer(x.as_ptr().cast_mut().cast())));
        workspace.pointers.extend(outputs.iter_mut().map(|y| Pointer(y.as_mut_ptr().cast())));
        let status = self.go(workspace);
        self.outcome(status)
    }

    /// Whether everything is doubles, so that nothing has to be converted.
    fn plain(&self) -> bool {
        self.element == Some(Element::F64)
    }

    /// [`run_slices`](Compiled::run_slices), but whether all guards hold is an answer and no error.
    ///
    /// # Errors
    /// All other errors of [`run_slices`](Compiled::run_slices).
    pub fn run_guarded(
        &self,
        x: &[&[f64]],
        results: &mut [&mut [f64]],
        workspace: &mut Workspace,
    ) -> Result<bool, RunError> {
        let status = self.status(x, results, workspace)?;
        match self.failure(status) {
            Some(Failure::Guard { .. }) => Ok(false),
            _ => self.outcome(status).map(|()| true),
        }
    }

    /// A run, and what the code says at its end: nought, or which failure.
    fn status(
        &self,
        x: &[&[f64]],
        results: &mut [&mut [f64]],
        workspace: &mut Workspace,
    ) -> Result<u64, RunError> {
        let (takes, gives) = self.lens();
        let given = x.iter().map(|x| x.len()).sum();
        let asked = results.iter().map(|y| y.len()).sum();
        for (expected, found) in [(takes, given), (gives, asked)] {
            if expected != found {
                return Err(RunError::Arguments { function: self.name.clone(), expected, found });
            }
        }
        if let ([x], [results]) = (x, &mut *results) {
            if !self.plain() {
                return self.run_converted(x, results, workspace);
            }
            if self.packed {
                workspace.pointers.clear();
                workspace.pointers.push(Pointer(x.as_ptr().cast_mut().cast()));
                workspace.pointers.push(Pointer(results.as_mut_ptr().cast()));
                return Ok(self.go(workspace));
            }
        } else if !self.plain() || self.packed {
            return self.run_together(x, results, workspace);
        }
        workspace.pointers.clear();
        let cut = |what: &str| RunError::Value {
            function: format!("@{}", self.name),
            what: format!("{what} is cut in two; give it whole"),
        };
        let mut lists = x.iter();
        let mut rest: &[f64] = &[];
        for len in &self.sizes.0 {
            if rest.is_empty() && *len > 0 {
                rest = lists.find(|list| !list.is_empty()).copied().unwrap_or_default();
            }
            let (own, after) = rest.split_at_checked(*len).ok_or_else(|| cut("an argument"))?;
            workspace.pointers.push(Pointer(own.as_ptr().cast_mut().cast()));
            rest = after;
        }
        let mut lists = results.iter_mut();
        let mut rest: &mut [f64] = &mut [];
        for len in &self.sizes.1 {
            if rest.is_empty() && *len > 0 {
                rest =
                    lists.find(|list| !list.is_empty()).map(|list| &mut **list).unwrap_or_default();
            }
            let (own, after) = rest.split_at_mut_checked(*len).ok_or_else(|| cut("a result"))?;
            workspace.pointers.push(Pointer(own.as_mut_ptr().cast()));
            rest = after;
        }
        Ok(self.go(workspace))
    }

    /// A run through lists of the workspace, for what takes all arguments in one.
    fn run_together(
        &self,
        x: &[&[f64]],
        results: &mut [&mut [f64]],
        workspace: &mut Workspace,
    ) -> Result<u64, RunError> {
        let (mut all, mut found) = std::mem::take(&mut workspace.lists);
        all.clear();
        x.iter().for_each(|x| all.extend_from_slice(x));
        found.resize(self.lens.1, 0.0);
        let outcome = self.status(&[&all], &mut [&mut found], workspace);
        let mut rest = &found[..];
        for to in results {
            let (own, after) = rest.split_at(to.len());
            to.copy_from_slice(own);
            rest = after;
        }
        workspace.lists = (all, found);
        outcome
    }

    fn go(&self, workspace: &mut Workspace) -> u64 {
        if workspace.program != self.number {
            // It was made for another program.
            workspace.free();
            workspace.arena = lines(self.arena);
            workspace.stacks.clone_from(&self.stacks);
            workspace.program = self.number;
        }
        let (pointers, arena) = (workspace.pointers.as_ptr(), workspace.arena.as_mut_ptr());
        // SAFETY: the code takes one pointer for each parameter and result (or one to all of either), to as many elements as their
        // types say, which the callers have checked; it reads parameters, writes to results and the arena only, within their
        // sizes: indices that are not known to be inside are checked.
        unsafe { (self.run)(pointers.cast(), arena.cast()) }
    }

    /// A run with other things than doubles.
    fn run_converted(
        &self,
        x: &[f64],
        results: &mut [f64],
        workspace: &mut Workspace,
    ) -> Result<u64, RunError> {
        if workspace.inputs.len() != self.params.len()
            || workspace.outputs.len() != self.results.len()
        {
            *workspace = self.workspace();
        }
        let mut rest = x;
        for (ty, room) in self.params.iter().zip(&mut workspace.inputs) {
            let (own, after) = rest.split_at(ty.len().unwrap_or(0));
            rest = after;
            let element = ty.element();
            room.resize((own.len() * element.bytes()).div_ceil(64).max(1), Line([0; 64]));
            for (to, x) in bytes_mut(room).chunks_exact_mut(element.bytes()).zip(own) {
                match element {
                    Element::F64 => to.copy_from_slice(&x.to_ne_bytes()),
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
        for (ty, room) in self.results.iter().zip(&mut workspace.outputs) {
            let bytes = ty.len().unwrap_or(0) * ty.element().bytes();
            room.resize(bytes.div_ceil(64).max(1), Line([0; 64]));
        }
        workspace.pointers.clear();
        let Workspace { inputs, outputs, pointers, .. } = workspace;
        pointers.extend(
            inputs
                .iter_mut()
                .chain(outputs.iter_mut())
                .map(|room| Pointer(room.as_mut_ptr().cast())),
        );
        let status = self.go(workspace);
        let mut rest = results;
        for (ty, room) in self.results.iter().zip(&mut workspace.outputs) {
            let (own, after) = rest.split_at_mut(ty.len().unwrap_or(0));
            rest = after;
            let element = ty.element();
            for (to, from) in own.iter_mut().zip(bytes_mut(room).chunks_exact(element.bytes())) {
                *to = number(from, element);
            }
        }
        Ok(status)
    }

    fn failure(&self, status: u64) -> Option<&Failure> {
        self.failures.get(usize::try_from(status.checked_sub(1)?).ok()?)
    }

    fn outcome(&self, status: u64) -> Result<(), RunError> {
        if status == 0 {
            return Ok(());
        }
        Err(match self.failure(status) {
            Some(Failure::Guard { function, guard }) => {
                RunError::Guard { function: function.clone(), guard: *guard }
            }
            Some(failure) => RunError::Value { function: failure.place(), what: failure.what() },
            None => RunError::Value {
                function: format!("@{}", self.name),
                what: format!("status {status}"),
            },
        })
    }
}

fn emitted(llvm: &Llvm, f: &Function, options: &Options) -> Result<Emitted, JitError> {
    let blocked = options.parallel.map(|least| blocked(f, least as f64));
    emit(blocked.as_ref().unwrap_or(f), options, llvm.cpu.vector_bytes)
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
