//! Which thread this is: for sharing out shards, and for not waiting for oneself.

#[cfg(loom)]
use loom::thread_local;
#[cfg(not(loom))]
use std::thread_local;

use crate::sync::Ordering;
use crate::sync::unmodelled::AtomicUsize;

static THREADS: AtomicUsize = AtomicUsize::new(1);

/// The number of whoever has none of its own.
const NONE: usize = usize::MAX;

thread_local! {
    static NUMBER: usize = next(&THREADS);
}

/// A number that was not given to anybody before, or [`NONE`] once there are no more: no number is given twice.
fn next(threads: &AtomicUsize) -> usize {
    // ORDERING: Relaxed for both. Only that the numbers differ matters.
    let next = |number: usize| number.checked_add(1);
    let given = threads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    given.unwrap_or(NONE)
}

/// A number that no other thread has or had, and that is not 0; or [`NONE`].
#[inline]
pub(super) fn token() -> usize {
    // On some targets a thread that is going away has no number any more. It may do without: it is then taken
    // for one that drives nothing, which is right unless a destructor of a thread local drives.
    NUMBER.try_with(|number| *number).unwrap_or(NONE)
}

/// A number as [`token`], if this thread has one to itself.
#[inline]
pub(super) fn numbered() -> Option<usize> {
    Some(token()).filter(|number| *number != NONE)
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_given_twice_however_many_threads_there_were() {
        let threads = AtomicUsize::new(usize::MAX - 2);
        let given = [(); 4].map(|()| next(&threads));
        assert_eq!(given, [usize::MAX - 2, usize::MAX - 1, NONE, NONE]);
        assert_eq!(numbered(), Some(token()));
    }
}
