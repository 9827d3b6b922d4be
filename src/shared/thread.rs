//! Which thread this is: for sharing out shards, and for not waiting for oneself.

#[cfg(loom)]
use loom::thread_local;
#[cfg(not(loom))]
use std::thread_local;

use crate::sync::Ordering;
use crate::sync::unmodelled::AtomicUsize;

static THREADS: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    // ORDERING: Relaxed. Only that the numbers differ matters.
    static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

/// A number that no other thread has or had, and that is not 0.
#[inline]
pub(super) fn token() -> usize {
    // A thread that is going away has no number any more. It may do without: it is then taken
    // for one that drives nothing, which is right unless a destructor of a thread local drives.
    numbered().unwrap_or(usize::MAX)
}

/// A number as [`token`], or none for a thread that is going away: what it has to itself, two might have then.
#[inline]
pub(super) fn numbered() -> Option<usize> {
    NUMBER.try_with(|number| *number).ok()
}

/// The shard of this thread, of so many.
#[inline]
pub(super) fn shard(count: u32) -> u32 {
    let place = place() as u32;
    // A division takes as long as a read-modify-write, and is done at every arm and cancel.
    if count.is_power_of_two() {
        place & (count - 1)
    } else {
        place % count
    }
}

/// A number by which threads share things out.
#[cfg(not(loom))]
#[inline]
pub(super) fn place() -> usize {
    token()
}

/// In the models, threads without a handle share the first of everything.
#[cfg(loom)]
pub(super) fn place() -> usize {
    0
}
