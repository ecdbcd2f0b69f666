//! What machine code calls: operations that have no text of their own, and the few functions that LLVM takes for
//! granted.

use std::ffi::c_void;

use cotangent_ops::{Apply, Elementary, Opcode};

use crate::share::shared;

/// The number by which machine code names an operation.
pub(crate) fn code_number(code: Opcode) -> usize {
    Opcode::ALL.iter().position(|c| *c == code).unwrap_or(0)
}

/// An operation of the table on some numbers.
///
/// # Safety
/// `out` must have room for n numbers; x, y and z must point to n numbers each, or to nothing if the operation has no such
/// operand.
unsafe fn table<T: Elementary>(
    code: u32,
    parameter: i32,
    n: usize,
    out: *mut T,
    operands: [*const T; 3],
) {
    let Some(code) = Opcode::ALL.get(code as usize) else { return };
    for k in 0..n {
        let x = operands.map(|x| match x.is_null() {
            true => T::zero(),
            // SAFETY: the caller has given n numbers.
            false => unsafe { *x.add(k) },
        });
        // SAFETY: the caller has given room for n numbers.
        unsafe { *out.add(k) = code.visit(parameter, Apply(x)) };
    }
}

unsafe extern "C" fn table_f64(
    code: u32,
    parameter: i32,
    n: usize,
    out: *mut f64,
    x: *const f64,
    y: *const f64,
    z: *const f64,
) {
    // SAFETY: machine code of this crate gives places on its stack that are large enough.
    unsafe { table(code, parameter, n, out, [x, y, z]) }
}

unsafe extern "C" fn table_f32(
    code: u32,
    parameter: i32,
    n: usize,
    out: *mut f32,
    x: *const f32,
    y: *const f32,
    z: *const f32,
) {
    // SAFETY: machine code of this crate gives places on its stack that are large enough.
    unsafe { table(code, parameter, n, out, [x, y, z]) }
}

/// The order of some numbers, the smallest first, equal ones as they stand.
unsafe extern "C" fn argsort_f64(n: usize, x: *const f64, out: *mut i64) {
    // SAFETY: machine code of this crate gives arrays of n elements.
    let (x, out) =
        unsafe { (std::slice::from_raw_parts(x, n), std::slice::from_raw_parts_mut(out, n)) };
    order(x, out);
}

unsafe extern "C" fn argsort_f32(n: usize, x: *const f32, out: *mut i64) {
    // SAFETY: machine code of this crate gives arrays of n elements.
    let (x, out) =
        unsafe { (std::slice::from_raw_parts(x, n), std::slice::from_raw_parts_mut(out, n)) };
    order(x, out);
}

fn order<T: Copy + Into<f64>>(x: &[T], out: &mut [i64]) {
    for (k, place) in out.iter_mut().enumerate() {
        *place = k as i64;
    }
    let at = |k: &i64| -> f64 { x[*k as usize].into() };
    out.sort_by(|a, b| at(a).total_cmp(&at(b)));
}

/// Memory that grows: where it is, and how many bytes it has.
#[repr(C)]
pub(crate) struct Grown {
    pointer: *mut u8,
    bytes: usize,
}

impl Grown {
    /// A line at a time: vectors are read and written at whole ones.
    fn layout(bytes: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(bytes.max(64), 64)
            .unwrap_or(std::alloc::Layout::new::<[u64; 8]>())
    }

    /// Gives the memory back.
    pub(crate) fn free(&mut self) {
        if !self.pointer.is_null() {
            // SAFETY: it was made by `grow` with this layout, and nobody has it any more.
            unsafe { std::alloc::dealloc(self.pointer, Self::layout(self.bytes)) };
            (self.pointer, self.bytes) = (std::ptr::null_mut(), 0);
        }
    }
}

/// Makes memory larger, at least twofold, and keeps what is in it.
unsafe extern "C" fn grow(place: *mut Grown, bytes: usize) {
    // SAFETY: machine code of this crate gives a place in the arena that is kept for this and begins as zeros.
    let grown = unsafe { &mut *place };
    let wanted = bytes.max(grown.bytes.saturating_mul(2)).max(4096).next_multiple_of(64);
    let layout = Grown::layout(wanted);
    // SAFETY: the size is not zero.
    let pointer = unsafe { std::alloc::alloc(layout) };
    if pointer.is_null() || layout.size() < wanted {
        std::alloc::handle_alloc_error(layout);
    }
    if !grown.pointer.is_null() {
        // SAFETY: both are at least as long as what there was.
        unsafe { std::ptr::copy_nonoverlapping(grown.pointer, pointer, grown.bytes) };
        grown.free();
    }
    (grown.pointer, grown.bytes) = (pointer, wanted);
}

/// A function that does a block of a table: arguments, arena, memory of its own, which block.
type Task = unsafe extern "C" fn(*const *mut u8, *mut u8, *mut u8, usize) -> u64;

/// What all blocks are given.
#[derive(Clone, Copy)]
struct Given {
    task: Task,
    args: *const *mut u8,
    arena: *mut u8,
    /// Memory for each thread, and how many bytes it is.
    own: *mut u8,
    bytes: usize,
}

// SAFETY: blocks write to places of their own only, and each thread has memory of its own.
unsafe impl Sync for Given {}

impl Given {
    fn run(&self, thread: usize, block: usize) -> u64 {
        // SAFETY: there is memory for each thread, and machine code of this crate gave all the rest.
        unsafe { (self.task)(self.args, self.arena, self.own.add(thread * self.bytes), block) }
    }
}

/// Runs all blocks of a table, on the threads there are: the status of the first that fails.
unsafe extern "C" fn tasks(
    task: Task,
    args: *const *mut u8,
    arena: *mut u8,
    pool: *mut Grown,
    bytes: usize,
    count: usize,
) -> u64 {
    // Who is not among the threads that share does everything.
    let thread = rayon::current_thread_index();
    let threads = if thread.is_some() { rayon::current_num_threads() } else { 1 };
    let wanted = (bytes * threads).max(64);
    // SAFETY: machine code of this crate gives a place in the arena that is kept for this and begins as zeros.
    if unsafe { &*pool }.bytes < wanted {
        // SAFETY: as above.
        unsafe { grow(pool, wanted) };
    }
    // SAFETY: as above.
    let given = Given { task, args, arena, own: unsafe { &*pool }.pointer, bytes };
    let given = &given;
    // A block never waits for another, so a thread is in one at a time.
    shared(count, threads, &|block| given.run(rayon::current_thread_index().unwrap_or(0), block))
}

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: i32, n: usize) -> *mut c_void;
}

macro_rules! plain {
    ($($name:ident: $f:expr, $F:ty;)*) => {
        $(extern "C" fn $name(x: $F) -> $F { $f(x) })*
    };
}

plain! {
    floor: f64::floor, f64;
    ceil: f64::ceil, f64;
    trunc: f64::trunc, f64;
    round: f64::round, f64;
    floorf: f32::floor, f32;
    ceilf: f32::ceil, f32;
    truncf: f32::trunc, f32;
    roundf: f32::round, f32;
    roundeven: f64::round_ties_even, f64;
    roundevenf: f32::round_ties_even, f32;
}

extern "C" fn fma(x: f64, y: f64, z: f64) -> f64 {
    x.mul_add(y, z)
}

extern "C" fn fmaf(x: f32, y: f32, z: f32) -> f32 {
    x.mul_add(y, z)
}

extern "C" fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

extern "C" fn fmodf(x: f32, y: f32) -> f32 {
    x % y
}

/// The address of a function that machine code may call.
pub(crate) fn address(name: &str) -> Option<usize> {
    Some(match name {
        "cotangent_table_f64" => table_f64 as *const () as usize,
        "cotangent_table_f32" => table_f32 as *const () as usize,
        "cotangent_argsort_f64" => argsort_f64 as *const () as usize,
        "cotangent_argsort_f32" => argsort_f32 as *const () as usize,
        "cotangent_grow" => grow as *const () as usize,
        "memcpy" => memcpy as *const () as usize,
        "cotangent_tasks" => tasks as *const () as usize,
        "memmove" => memmove as *const () as usize,
        "memset" => memset as *const () as usize,
        "floor" => floor as *const () as usize,
        "ceil" => ceil as *const () as usize,
        "trunc" => trunc as *const () as usize,
        "round" => round as *const () as usize,
        "floorf" => floorf as *const () as usize,
        "ceilf" => ceilf as *const () as usize,
        "truncf" => truncf as *const () as usize,
        "roundf" => roundf as *const () as usize,
        "roundeven" => roundeven as *const () as usize,
        "roundevenf" => roundevenf as *const () as usize,
        "fma" => fma as *const () as usize,
        "fmaf" => fmaf as *const () as usize,
        "fmod" => fmod as *const () as usize,
        "fmodf" => fmodf as *const () as usize,
        _ => return crate::dense::address(name),
    })
}
