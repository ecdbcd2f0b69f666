//! How the blocks of a table are shared among threads.
//!
//! Each thread begins with blocks of its own, the same ones in each table of a program: what it wrote in one table it reads in the
//! next, from its own cache. Who is done takes blocks of others. (With blocks handed out by halves to whoever comes, two threads took
//! longer for a chain of 10⁵ equations than one.) Nothing is allocated, and nobody waits for a thread that has not begun.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most threads that share a table.
const LANES: usize = 32;

/// The next block of a lane, in a cache line of its own.
#[repr(align(64))]
struct Next(AtomicUsize);

/// The blocks of a table while they are run.
struct Shared<'a, F> {
    run: &'a F,
    count: usize,
    lanes: usize,
    next: [Next; LANES],
    /// The first block that is known to have failed.
    least: AtomicUsize,
    failed: Mutex<Option<(usize, u64)>>,
}

/// Runs blocks on the threads of this pool: the status of the first that fails, or 0.
pub(crate) fn shared(count: usize, threads: usize, run: &(impl Fn(usize) -> u64 + Sync)) -> u64 {
    let lanes = threads.min(count).min(LANES);
    if lanes <= 1 {
        return (0..count).map(run).find(|status| *status != 0).unwrap_or(0);
    }
    let shared = Shared {
        run,
        count,
        lanes,
        next: std::array::from_fn(|lane| Next(AtomicUsize::new(begin(lane, count, lanes)))),
        least: AtomicUsize::new(usize::MAX),
        failed: Mutex::new(None),
    };
    shared.split(0, lanes);
    let failed = shared.failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failed.map_or(0, |(_, status)| status)
}

/// The first block of a lane.
fn begin(lane: usize, count: usize, lanes: usize) -> usize {
    lane.min(lanes) * count / lanes
}

impl<F: Fn(usize) -> u64 + Sync> Shared<'_, F> {
    /// Runs lanes, one of them here.
    fn split(&self, from: usize, to: usize) {
        if to - from == 1 {
            return self.lane(from);
        }
        let middle = usize::midpoint(from, to);
        rayon::join(|| self.split(from, middle), || self.split(middle, to));
    }

    /// Runs what is left of a lane, then of the others.
    fn lane(&self, first: usize) {
        for lane in (first..self.lanes).chain(0..first) {
            let end = begin(lane + 1, self.count, self.lanes);
            loop {
                // Which thread has a block is all that is decided here; threads see what others wrote by way of `join`.
                let block = self.next[lane].0.fetch_add(1, Ordering::Relaxed);
                if block >= end {
                    break;
                }
                if block < self.least.load(Ordering::Relaxed) {
                    self.block(block);
                }
            }
        }
    }

    fn block(&self, block: usize) {
        let status = (self.run)(block);
        if status != 0 {
            self.least.fetch_min(block, Ordering::Relaxed);
            let mut failed = self.failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if failed.is_none_or(|(known, _)| block < known) {
                *failed = Some((block, status));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(threads: usize, count: usize, run: &(impl Fn(usize) -> u64 + Sync)) -> u64 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| shared(count, threads, run))
    }

    #[test]
    fn every_block_is_run_once() {
        for threads in [1, 2, 3, 7, 40] {
            for count in [0, 1, 2, 5, 32, 100] {
                let runs: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                let status = on(threads, count, &|block| {
                    runs[block].fetch_add(1, Ordering::Relaxed);
                    0
                });
                assert_eq!(status, 0);
                assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn the_first_block_that_fails_is_the_one_that_is_told() {
        for threads in [1, 2, 3, 7] {
            for _ in 0..20 {
                let failing = |block: usize| if block % 7 == 3 { block as u64 } else { 0 };
                assert_eq!(on(threads, 32, &failing), 3);
            }
        }
    }
}
