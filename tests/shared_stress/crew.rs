//! Threads, as the standard library has them, but so that a sanitizer sees when one waits
//! for another: the standard library itself is compiled without it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

/// Threads of tests that have ended.
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// [`thread::scope`].
pub(crate) fn scope<'env, R>(work: impl for<'scope> FnOnce(Crew<'scope, 'env>) -> R) -> R {
    let done = thread::scope(|scope| work(Crew(scope)));
    ENDED.load(Ordering::Acquire); // all that was spawned has ended
    done
}

/// [`Scope`].
#[derive(Clone, Copy)]
pub(crate) struct Crew<'scope, 'env>(&'scope Scope<'scope, 'env>);

impl<'scope> Crew<'scope, '_> {
    pub(crate) fn spawn<T: Send + 'scope>(
        &self,
        work: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        self.0.spawn(move || {
            let _ended = Ended;
            work()
        })
    }
}

struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::Release);
    }
}

/// [`Barrier`](std::sync::Barrier).
pub(crate) struct Gate {
    threads: usize,
    arrived: AtomicUsize,
}

impl Gate {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
        }
    }

    /// Waits until all have come.
    pub(crate) fn wait(&self) {
        let turn = self.arrived.fetch_add(1, Ordering::AcqRel) / self.threads;
        while self.arrived.load(Ordering::Acquire) / self.threads <= turn {
            thread::yield_now();
        }
    }
}
