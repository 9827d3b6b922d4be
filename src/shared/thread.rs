//! Which thread this is: for sharing out shards, and for not waiting for oneself.

#[cfg(not(loom))]
use std::thread_local;

#[cfg(not(loom))]
use crate::sync::Ordering;
#[cfg(not(loom))]
use crate::sync::unmodelled::AtomicUsize;

#[cfg(not(loom))]
static THREADS: AtomicUsize = AtomicUsize::new(1);

#[cfg(not(loom))]
thread_local! {
    // ORDERING: Relaxed. Only that the numbers differ matters.
    static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

/// A number that no other living thread has, and that is not 0.
#[cfg(not(loom))]
#[inline]
pub(super) fn token() -> usize {
    // A thread that is going away has no number any more. It may do without: it is then taken
    // for one that drives nothing, which is right unless a destructor of a thread local drives.
    NUMBER.try_with(|number| *number).unwrap_or(usize::MAX)
}

#[cfg(loom)]
loom::thread_local! {
    static NUMBER: u8 = 0;
}

#[cfg(loom)]
pub(super) fn token() -> usize {
    NUMBER.with(|number| core::ptr::from_ref(number) as usize)
}

/// The shard of this thread, of so many.
#[cfg(not(loom))]
#[inline]
pub(super) fn shard(count: u32) -> u32 {
    let token = token() as u32;
    // A division takes as long as a read-modify-write, and is done at every arm and cancel.
    if count.is_power_of_two() {
        token & (count - 1)
    } else {
        token % count
    }
}

/// In the models, threads without a handle share the first shard.
#[cfg(loom)]
pub(super) fn shard(_count: u32) -> u32 {
    0
}
