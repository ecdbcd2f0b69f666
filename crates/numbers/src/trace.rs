//! The arenas that numbers point into: stamped, thread-local, checked at every use.
//!
//! A variable of a tape, a sparsity tracer and a series of run-time order are small `Copy` values
//! that name a place in an arena. Which arena, says its stamp. The arenas that are being filled on
//! this thread form a chain; an operation looks for the stamp there, nearly always at the top.
//! Anything else (another recording, one that has ended, another thread) is a fault, so numbers of
//! two recordings cannot be mixed into a wrong result.

use std::any::TypeId;
use std::cell::Cell;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fault::{Fault, raise};
use crate::place::here;

/// The stamp of numbers that belong to no arena: constants.
pub(crate) const NO_STAMP: u32 = 0;

/// The first field of an arena.
#[repr(C)]
pub(crate) struct Header {
    stamp: u32,
    kind: TypeId,
    parent: *mut Header,
}

impl Default for Header {
    fn default() -> Self {
        Header { stamp: NO_STAMP, kind: TypeId::of::<()>(), parent: ptr::null_mut() }
    }
}

// The pointer is only followed while the arena is active, on the thread that activated it.
// SAFETY: an inactive header holds a null pointer, so moving it between threads shares nothing.
unsafe impl Send for Header {}
// SAFETY: nothing reads the pointer through a shared reference.
unsafe impl Sync for Header {}

/// An arena that numbers point into.
///
/// # Safety
/// The type is `repr(C)` and its first field is a [`Header`].
pub(crate) unsafe trait Arena: 'static {}

thread_local! {
    static TOP: Cell<*mut Header> = const { Cell::new(ptr::null_mut()) };
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A fresh stamp. After 2³² arenas stamps repeat; a number would have to survive all of them to be
/// taken for another's, and even then only of the same kind of arena.
fn fresh() -> u32 {
    loop {
        let stamp = NEXT.fetch_add(1, Ordering::Relaxed) as u32;
        if stamp != NO_STAMP {
            return stamp;
        }
    }
}

/// Whether stamps may have repeated, so that what relies on them for its safety must look.
pub(crate) fn may_repeat() -> bool {
    NEXT.load(Ordering::Relaxed) > u64::from(u32::MAX)
}

/// Makes an arena the top of the chain while `f` runs; `f` gets its stamp.
pub(crate) fn activate<A: Arena, R>(arena: &mut A, f: impl FnOnce(u32) -> R) -> R {
    struct Deactivate(*mut Header);
    impl Drop for Deactivate {
        fn drop(&mut self) {
            // SAFETY: the header is that of the arena borrowed by the enclosing call, and the last
            // to use it; reading and resetting it ends its place in the chain.
            unsafe {
                TOP.set((*self.0).parent);
                self.0.write(Header::default());
            }
        }
    }
    let stamp = fresh();
    let header = ptr::from_mut(arena).cast::<Header>();
    // SAFETY: an `Arena` begins with a `Header`, and `arena` is borrowed mutably for the whole call.
    unsafe { header.write(Header { stamp, kind: TypeId::of::<A>(), parent: TOP.get() }) };
    let _deactivate = Deactivate(header);
    TOP.set(header);
    f(stamp)
}

/// Gives `f` the arena with this stamp.
///
/// `f` must not operate on numbers: that would give out the arena a second time.
#[inline(always)]
#[track_caller]
pub(crate) fn with<A: Arena, R>(stamp: u32, f: impl FnOnce(&mut A) -> R) -> R {
    let header = TOP.get();
    // SAFETY: a header in the chain belongs to an arena that `activate` has borrowed on this thread.
    let found = !header.is_null()
        && unsafe { (*header).stamp == stamp && (*header).kind == TypeId::of::<A>() };
    let header = if found { header } else { search::<A>(stamp, here(Location::caller())) };
    // SAFETY: the kind says that the header is the first field of an `A`, which `activate` has
    // borrowed mutably and does not touch until its closure returns; `f` does not come back here.
    f(unsafe { &mut *header.cast::<A>() })
}

#[cold]
#[inline(never)]
fn search<A: Arena>(stamp: u32, at: &'static Location<'static>) -> *mut Header {
    let mut header = TOP.get();
    while !header.is_null() {
        // SAFETY: headers in the chain belong to active arenas of this thread.
        let (found, parent) = unsafe {
            let h = &*header;
            (h.stamp == stamp && h.kind == TypeId::of::<A>(), h.parent)
        };
        if found {
            return header;
        }
        header = parent;
    }
    raise(Fault::MixedTraces { at })
}

/// The stamp of two operands: the one that is not constant; a fault if they differ.
#[inline(always)]
#[track_caller]
pub(crate) fn join(a: u32, b: u32) -> u32 {
    if a == b || b == NO_STAMP {
        a
    } else if a == NO_STAMP {
        b
    } else {
        raise(Fault::MixedTraces { at: here(Location::caller()) })
    }
}
