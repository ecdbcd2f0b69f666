//! Running a program: its arguments, its memory, its results.

use std::sync::atomic::{AtomicBool, Ordering};

use cotangent_ir::{Element, RunError};
use rayon::prelude::*;

use crate::compiled::Part;
use crate::emit::Failure;
use crate::{Compiled, dense, runtime};

/// Results as many as this are looked through by several threads.
const SHARED: usize = 1 << 18;

/// A number that lists of arguments are made of: a double or a single.
pub trait Number: Copy + Into<f64> + Send + Sync + sealed::Sealed {
    /// Its kind.
    const ELEMENT: Element;

    /// The nearest to a double.
    fn nearest(x: f64) -> Self;
}

impl Number for f64 {
    const ELEMENT: Element = Element::F64;

    fn nearest(x: f64) -> f64 {
        x
    }
}

impl Number for f32 {
    const ELEMENT: Element = Element::F32;

    fn nearest(x: f64) -> f32 {
        x as f32
    }
}

mod sealed {
    /// Machine code is handed pointers to these: nobody else may say what is there.
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

/// Memory for a run, used again by the next one.
#[derive(Debug, Default)]
pub struct Workspace {
    /// The program that it was made for.
    program: u64,
    arena: Vec<Line>,
    /// Where in the arena memory that grows is noted.
    stacks: Vec<usize>,
    /// Arguments and results that are converted.
    inputs: Vec<Line>,
    outputs: Vec<Line>,
    pointers: Vec<Pointer>,
    /// That of the program with strong products, once there was need for it.
    strict: Option<Box<Workspace>>,
}

/// A cache line: arrays begin at whole ones.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; 64]);

/// A pointer to an argument. It is written before each run and means nothing in between.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Pointer(*mut u8);

// SAFETY: pointers are written anew before each run by the thread that runs.
unsafe impl Send for Pointer {}
// SAFETY: as above; nothing reads them through a shared reference.
unsafe impl Sync for Pointer {}

impl Workspace {
    fn strict(&mut self) -> &mut Workspace {
        self.strict.get_or_insert_default()
    }

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
    /// Memory for runs. What the kernels of matrices keep for each thread is made on this one, too.
    pub fn workspace(&self) -> Workspace {
        if self.kernels {
            dense::ready();
        }
        Workspace {
            program: self.number,
            arena: lines(self.arena),
            stacks: self.stacks.clone(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            pointers: Vec::with_capacity(self.params.len() + self.results.len()),
            strict: None,
        }
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
    #[inline]
    pub fn run_into<T: Number>(
        &self,
        x: &[T],
        results: &mut [T],
        workspace: &mut Workspace,
    ) -> Result<(), RunError> {
        match self.at_once(x, results) {
            Some(status) if self.is_done(status) => Ok(()),
            Some(status) => self.ended(status, &[x], &mut [results], workspace),
            None => self.run_slices(&[x], &mut [results], workspace),
        }
    }

    /// [`run_into`](Compiled::run_into) with arguments and results that stand in several lists: each list has some
    /// arguments (or results) whole, one behind the other. Nothing is copied or converted if all are of the kind that is given.
    ///
    /// # Errors
    /// As [`run_into`](Compiled::run_into); an argument or result that is cut in two.
    #[inline]
    pub fn run_slices<T: Number>(
        &self,
        x: &[&[T]],
        results: &mut [&mut [T]],
        workspace: &mut Workspace,
    ) -> Result<(), RunError> {
        let status = self.status(x, results, workspace)?;
        if self.is_done(status) {
            return Ok(());
        }
        self.ended(status, x, results, workspace)
    }

    /// What comes of a run: it is done again, or what it came to is told.
    #[cold]
    fn ended<T: Number>(
        &self,
        status: u64,
        x: &[&[T]],
        results: &mut [&mut [T]],
        workspace: &mut Workspace,
    ) -> Result<(), RunError> {
        match self.again(status, results) {
            Some(strict) => strict?.run_slices(x, results, workspace.strict()),
            None => self.outcome(status),
        }
    }

    /// Whether a run has come to its end, and nothing is left to be looked at.
    #[inline]
    pub(crate) fn is_done(&self, status: u64) -> bool {
        status == 0 && (self.strict.is_none() || self.unwatched.is_empty())
    }

    /// The program with strong products, if plain ones may have made the difference.
    fn again<T: Number>(
        &self,
        status: u64,
        results: &[&mut [T]],
    ) -> Option<Result<&Compiled, RunError>> {
        let strict = self.strict.as_ref()?;
        let undefined = match self.failure(status) {
            Some(failure) => matches!(failure, Failure::Undefined { .. }),
            None => self.has_nan(results),
        };
        undefined.then(|| {
            strict.get().map_err(|why| RunError::Value {
                function: format!("@{}", self.name),
                what: why.to_string(),
            })
        })
    }

    /// Whether there is a NaN among the results that were not looked at when they were written.
    pub(crate) fn has_nan<T: Number>(&self, results: &[&mut [T]]) -> bool {
        // Without a branch for each number, which vectors would not like.
        let nan = |chunk: &[T]| chunk.iter().fold(false, |any, y| any | (*y).into().is_nan());
        let mut first = 0;
        results.iter().any(|list| {
            let (from, to) = (first, first + list.len());
            first = to;
            self.unwatched.iter().any(|part| {
                let (start, end) = (part.start.max(from), part.end.min(to));
                let own = if start < end { &list[start - from..end - from] } else { &[] };
                match own.len() {
                    ..SHARED => own.chunks(256).any(nan),
                    _ => own.par_chunks(SHARED / 4).any(nan),
                }
            })
        })
    }

    /// [`run_slices`](Compiled::run_slices), but whether all guards hold is an answer and no error.
    ///
    /// # Errors
    /// All other errors of [`run_slices`](Compiled::run_slices).
    #[inline]
    pub fn run_guarded<T: Number>(
        &self,
        x: &[&[T]],
        results: &mut [&mut [T]],
        workspace: &mut Workspace,
    ) -> Result<bool, RunError> {
        let status = self.status(x, results, workspace)?;
        if self.is_done(status) {
            return Ok(true);
        }
        self.guarded(status, x, results, workspace)
    }

    /// [`ended`](Compiled::ended), where guards that do not hold are no error.
    #[cold]
    fn guarded<T: Number>(
        &self,
        status: u64,
        x: &[&[T]],
        results: &mut [&mut [T]],
        workspace: &mut Workspace,
    ) -> Result<bool, RunError> {
        if let Some(strict) = self.again(status, results) {
            return strict?.run_guarded(x, results, workspace.strict());
        }
        match self.failure(status) {
            Some(Failure::Guard { .. }) => Ok(false),
            _ => self.outcome(status).map(|()| true),
        }
    }

    /// A run, and what the code says at its end: nought, or which failure.
    #[inline]
    fn status<T: Number>(
        &self,
        x: &[&[T]],
        results: &mut [&mut [T]],
        workspace: &mut Workspace,
    ) -> Result<u64, RunError> {
        match self.quickly(x, results) {
            Some(status) => Ok(status),
            None => self.status_with(x, results, workspace),
        }
    }

    /// [`status`](Compiled::status) with a workspace.
    #[inline(never)]
    fn status_with<T: Number>(
        &self,
        x: &[&[T]],
        results: &mut [&mut [T]],
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
        workspace.pointers.clear();
        if self.element != Some(T::ELEMENT) {
            return match self.packed {
                true => self.run_converted(x, results, workspace),
                false => self.run_apart(x, results, workspace),
            };
        }
        let ([x], [results]) = (x, &mut *results) else {
            return match self.packed {
                true => Ok(self.run_together(x, results, workspace)),
                false => self.run_apart(x, results, workspace),
            };
        };
        let (x, results) = (x.as_ptr().cast_mut(), results.as_mut_ptr());
        if self.packed {
            workspace.pointers.extend([Pointer(x.cast()), Pointer(results.cast())]);
        } else {
            let at = |list: *mut T, part: &Part| Pointer(list.wrapping_add(part.start).cast());
            workspace.pointers.extend(self.takes.parts.iter().map(|part| at(x, part)));
            workspace.pointers.extend(self.gives.parts.iter().map(|part| at(results, part)));
        }
        Ok(self.go(workspace))
    }

    /// A run on several lists, of a program that takes all its arguments in one and gives all its results in one. Sizes have been
    /// checked.
    fn run_together<T: Number>(
        &self,
        x: &[&[T]],
        results: &mut [&mut [T]],
        workspace: &mut Workspace,
    ) -> u64 {
        let (takes, gives) = self.lens();
        let whole = x.iter().find(|x| x.len() == takes);
        let from = match whole {
            Some(x) => x.as_ptr().cast_mut(),
            None => {
                let room = numbers_mut::<T>(&mut workspace.inputs, takes);
                let places = room.iter_mut().zip(x.iter().flat_map(|x| x.iter()));
                places.for_each(|(to, x)| *to = *x);
                room.as_mut_ptr()
            }
        };
        if let Some(y) = results.iter_mut().find(|y| y.len() == gives) {
            workspace.pointers.extend([Pointer(from.cast()), Pointer(y.as_mut_ptr().cast())]);
            return self.go(workspace);
        }
        let to = numbers_mut::<T>(&mut workspace.outputs, gives).as_mut_ptr();
        workspace.pointers.extend([Pointer(from.cast()), Pointer(to.cast())]);
        let status = self.go(workspace);
        let mut rest = &*numbers_mut::<T>(&mut workspace.outputs, gives);
        for y in results {
            let (own, after) = rest.split_at(y.len());
            y.copy_from_slice(own);
            rest = after;
        }
        status
    }

    /// A run on several lists as they are; arguments and results of other kinds than are given go through memory of the
    /// workspace.
    fn run_apart<T: Number>(
        &self,
        x: &[&[T]],
        results: &mut [&mut [T]],
        workspace: &mut Workspace,
    ) -> Result<u64, RunError> {
        let cut = |what: &str| RunError::Value {
            function: format!("@{}", self.name),
            what: format!("{what} is cut in two; give it whole"),
        };
        let other = |part: &Part| part.element != T::ELEMENT;
        if self.takes.parts.iter().any(other) {
            workspace.inputs.resize(self.takes.bytes.div_ceil(64).max(1), Line([0; 64]));
        }
        if self.gives.parts.iter().any(other) {
            workspace.outputs.resize(self.gives.bytes.div_ceil(64).max(1), Line([0; 64]));
        }
        // Taken once: what is written through other references makes pointers of before void.
        let rooms = workspace.inputs.as_mut_ptr().cast::<u8>();
        let mut lists = x.iter();
        let mut rest: &[T] = &[];
        for part in &self.takes.parts {
            let Part { element, len, place, .. } = *part;
            if rest.is_empty() && len > 0 {
                rest = lists.find(|list| !list.is_empty()).copied().unwrap_or_default();
            }
            let (own, after) = rest.split_at_checked(len).ok_or_else(|| cut("an argument"))?;
            workspace.pointers.push(Pointer(match other(part) {
                false => own.as_ptr().cast_mut().cast(),
                true => {
                    let bytes = len * element.bytes();
                    // SAFETY: the rooms are as large as those of all arguments, each begins at its place, and nobody else
                    // looks at it now.
                    let to = unsafe { std::slice::from_raw_parts_mut(rooms.add(place), bytes) };
                    self.convert(own, element, to)?;
                    to.as_mut_ptr()
                }
            }));
            rest = after;
        }
        let rooms = workspace.outputs.as_mut_ptr().cast::<u8>();
        let mut lists = results.iter_mut();
        let mut rest: &mut [T] = &mut [];
        let mut later: Vec<(Element, usize, &mut [T])> = Vec::new();
        for part in &self.gives.parts {
            let Part { element, len, place, .. } = *part;
            if rest.is_empty() && len > 0 {
                rest =
                    lists.find(|list| !list.is_empty()).map(|list| &mut **list).unwrap_or_default();
            }
            let (own, after) = rest.split_at_mut_checked(len).ok_or_else(|| cut("a result"))?;
            workspace.pointers.push(Pointer(match other(part) {
                false => own.as_mut_ptr().cast(),
                true => {
                    later.push((element, place, own));
                    rooms.wrapping_add(place)
                }
            }));
            rest = after;
        }
        let status = self.go(workspace);
        for (element, place, to) in later {
            let bytes = &bytes_mut(&mut workspace.outputs)[place..];
            for (from, to) in bytes.chunks_exact(element.bytes()).zip(to) {
                *to = T::nearest(number(from, element));
            }
        }
        Ok(status)
    }

    /// Numbers as elements of another kind.
    fn convert<T: Number>(
        &self,
        numbers: &[T],
        element: Element,
        to: &mut [u8],
    ) -> Result<(), RunError> {
        fn each<T: Number, const N: usize>(
            to: &mut [u8],
            numbers: &[T],
            bytes: impl Fn(f64) -> [u8; N],
        ) {
            let places = to.as_chunks_mut::<N>().0.iter_mut();
            places.zip(numbers).for_each(|(to, x)| *to = bytes((*x).into()));
        }
        /// Whole numbers; the first that is none, or outside the range.
        fn whole<T: Number, const N: usize>(
            to: &mut [u8],
            numbers: &[T],
            range: std::ops::RangeInclusive<f64>,
            bytes: impl Fn(i64) -> [u8; N],
        ) -> Option<f64> {
            // Without `trunc`, which is a call where the build is for any processor, and without a branch for each number
            // (14 000 integers: 57 µs with the first, 16 with the second, 4 with neither).
            let is_whole = |x: f64| x as i64 as f64 == x && range.contains(&x);
            for (to, numbers) in to.chunks_mut(64 * N).zip(numbers.chunks(64)) {
                let mut all = true;
                for (to, x) in to.as_chunks_mut::<N>().0.iter_mut().zip(numbers) {
                    let x = (*x).into();
                    all &= is_whole(x);
                    *to = bytes(x as i64);
                }
                if !all {
                    return numbers.iter().map(|x| (*x).into()).find(|x| !is_whole(*x));
                }
            }
            None
        }
        let wrong = match element {
            Element::F64 => {
                each(to, numbers, f64::to_ne_bytes);
                None
            }
            Element::F32 => {
                each(to, numbers, |x| (x as f32).to_ne_bytes());
                None
            }
            Element::Bool => {
                each(to, numbers, |x| [u8::from(x != 0.0)]);
                None
            }
            Element::I64 => {
                let most = 8_999_999_999_999_999.0;
                whole(to, numbers, -most..=most, i64::to_ne_bytes)
            }
            Element::I32 => {
                let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
                whole(to, numbers, range, |x| (x as i32).to_ne_bytes())
            }
        };
        match wrong {
            None => Ok(()),
            Some(x) => {
                let what = format!("{x} was given for an integer");
                Err(RunError::Value { function: format!("@{}", self.name), what })
            }
        }
    }

    fn go(&self, workspace: &mut Workspace) -> u64 {
        if workspace.program != self.number {
            // It was made for another program.
            workspace.free();
            workspace.arena = lines(self.arena);
            workspace.stacks.clone_from(&self.stacks);
            workspace.program = self.number;
        }
        if self.shared
            && rayon::current_thread_index().is_none()
            && rayon::current_num_threads() > 1
            && let Some(_inside) = Inside::enter()
        {
            // Among the threads that share: from outside every table would have to wake them anew.
            return rayon::scope(|_| self.run_here(workspace));
        }
        self.run_here(workspace)
    }

    fn run_here(&self, workspace: &mut Workspace) -> u64 {
        let (pointers, arena) = (workspace.pointers.as_ptr(), workspace.arena.as_mut_ptr());
        // SAFETY: the code takes one pointer for each parameter and result (or one to all of either), to as many elements as their
        // types say, which the callers have checked; it reads parameters, writes to results and the arena only, within their
        // sizes: indices that are not known to be inside are checked.
        unsafe { (self.run)(pointers.cast(), arena.cast()) }
    }

    /// A run of a program that takes all its arguments in one list and gives all its results in one, with numbers of another
    /// kind.
    fn run_converted<T: Number>(
        &self,
        x: &[&[T]],
        results: &mut [&mut [T]],
        workspace: &mut Workspace,
    ) -> Result<u64, RunError> {
        let element = self.element.unwrap_or(Element::F64);
        workspace.inputs.resize(self.takes.bytes.div_ceil(64).max(1), Line([0; 64]));
        workspace.outputs.resize(self.gives.bytes.div_ceil(64).max(1), Line([0; 64]));
        let mut rest = bytes_mut(&mut workspace.inputs);
        for x in x {
            let (own, after) = rest.split_at_mut(x.len() * element.bytes());
            self.convert(x, element, own)?;
            rest = after;
        }
        let (from, to) = (bytes_mut(&mut workspace.inputs), bytes_mut(&mut workspace.outputs));
        workspace.pointers.extend([Pointer(from.as_mut_ptr()), Pointer(to.as_mut_ptr())]);
        let status = self.go(workspace);
        let places = results.iter_mut().flat_map(|y| y.iter_mut());
        let found = bytes_mut(&mut workspace.outputs).chunks_exact(element.bytes());
        found.zip(places).for_each(|(from, to)| *to = T::nearest(number(from, element)));
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

/// Whether a run has gone among the threads that share. One at a time: others have threads of their own, and a thread that waits for
/// a block could begin a second run on its stack.
static INSIDE: AtomicBool = AtomicBool::new(false);

struct Inside;

impl Inside {
    fn enter() -> Option<Inside> {
        (!INSIDE.swap(true, Ordering::Acquire)).then_some(Inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.store(false, Ordering::Release);
    }
}

/// Room for so many numbers.
fn numbers_mut<T: Number>(lines: &mut Vec<Line>, count: usize) -> &mut [T] {
    let bytes = count * T::ELEMENT.bytes();
    if lines.len() * 64 < bytes || lines.is_empty() {
        lines.resize(bytes.div_ceil(64).max(1), Line([0; 64]));
    }
    // SAFETY: lines are aligned for numbers, any bits are one, and there are as many bytes.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) }
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
