//! Threads that begin together.

use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Lets threads through only all together.
///
/// They spin, so that they come out within nanoseconds of one another.
pub(crate) struct Gate {
    threads: usize,
    arrived: AtomicUsize,
}

/// Spins before the processor is left to others, in case there are fewer than threads.
const PATIENCE: u32 = 10_000;

impl Gate {
    pub(crate) fn wait(&self) {
        // What each thread did before is visible to all behind the gate.
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = (before / self.threads + 1) * self.threads;
        let mut spins = 0;
        while self.arrived.load(Ordering::Acquire) < all {
            spins += 1;
            if spins < PATIENCE {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Has the first thread do something while the others wait. Returns what came of it there.
    pub(crate) fn alone<R>(&self, thread: usize, work: impl FnOnce() -> R) -> Option<R> {
        self.wait();
        let done = (thread == 0).then(work);
        self.wait();
        done
    }
}

/// Runs `work` in so many threads, each told its number.
pub(crate) fn together<R: Send>(threads: usize, work: impl Fn(usize, &Gate) -> R + Sync) -> Vec<R> {
    let gate = Gate {
        threads,
        arrived: AtomicUsize::new(0),
    };
    thread::scope(|scope| {
        let (work, gate) = (&work, &gate);
        let running: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || work(thread, gate)))
            .collect();
        let joined = running.into_iter().map(|thread| thread.join());
        joined.map(|done| done.expect("no thread panics")).collect()
    })
}
