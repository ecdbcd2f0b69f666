//! How much memory a piece of code takes at its peak.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

/// The system's allocator. It counts only while it is asked to, so that timings do not pay for it.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

static ON: AtomicBool = AtomicBool::new(false);
/// Signed: what was allocated before counting began may be freed.
static NOW: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

fn count(more: usize, less: usize) {
    if ON.load(Relaxed) {
        let change = more as isize - less as isize;
        PEAK.fetch_max(NOW.fetch_add(change, Relaxed) + change, Relaxed);
    }
}

// SAFETY: All calls go to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: As the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: As the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Counted as growing in place, as the system does it for large blocks.
        count(size, layout.size());
        // SAFETY: As the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: As the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Runs `f`; also how many bytes it had allocated at most, beyond what there was.
pub fn peak<R>(f: impl FnOnce() -> R) -> (R, usize) {
    NOW.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    ON.store(true, Relaxed);
    let result = f();
    ON.store(false, Relaxed);
    (result, PEAK.load(Relaxed).max(0) as usize)
}
