//! Desks: what a thread has to itself of a wheel that it uses without a handle.
//!
//! A thread [sits down](Desk::sit) at a desk where nobody sits, and [gets up](Desk::leave) when it ends. What lies
//! on a desk is changed by the thread that sits there and by no other: so a load tells whether this
//! thread may, and nothing on it takes a read-modify-write.
//!
//! | `sits` | who may change the rest | becomes |
//! |---|---|---|
//! | 0 | nobody | a thread's number, by that thread: `sit` |
//! | a number | that thread | 0, by that thread, when the entries are given back: `leave` |
//!
//! The price is that others do not get at the entries, however long their thread does nothing. So a wheel with a limit
//! has no desks.

use super::arena::Arena;
use super::free::{Chain, FreeList};
use super::mutant::ordering;
use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Free entries that a desk has room for. With it, a desk fills two cache lines.
#[cfg(not(loom))]
pub(super) const ROOM: usize = 16;
#[cfg(loom)]
pub(super) const ROOM: usize = 2;

/// Entries that come and go at once.
pub(super) const HALF: usize = ROOM / 2;

/// Free entries, and a count.
#[derive(Debug)]
pub(super) struct Desk {
    /// The [token](super::thread::token) of the thread that sits here, or 0.
    sits: AtomicUsize,
    /// The shard that the entries are of.
    shard: u32,
    /// How many entries there are; they come first.
    len: AtomicU32,
    entries: [AtomicU32; ROOM],
    /// Cancels. Never falls.
    ended: AtomicU64,
}

// === impl Desk ===

impl Desk {
    pub(super) fn new(shard: u32) -> Self {
        Self {
            sits: AtomicUsize::new(0),
            shard,
            len: AtomicU32::new(0),
            entries: core::array::from_fn(|_| AtomicU32::new(0)),
            ended: AtomicU64::new(0),
        }
    }

    pub(super) fn shard(&self) -> u32 {
        self.shard
    }

    // --- who sits here ---

    /// Who sits here, or 0. A hint, unless that is this thread.
    #[inline]
    pub(super) fn sits(&self) -> usize {
        // ORDERING: Relaxed. A thread finds its own number only if it has sat down, and not got up since.
        self.sits.load(Ordering::Relaxed)
    }

    /// Lets a thread sit down, if nobody sits here. Says whether it does now.
    pub(super) fn sit(&self, token: usize) -> bool {
        // ORDERING: Acquire pairs with the Release in `leave`: what lies here is as it was left.
        self.sits
            .compare_exchange(
                0,
                token,
                ordering!(Acquire unless SitRelaxed),
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// The thread that sits here gives all entries back, and gets up.
    pub(super) fn leave<T>(&self, free: &FreeList, arena: &Arena<T>) {
        self.give(0, free, arena);
        // ORDERING: Release, see `sit`.
        self.sits.store(0, ordering!(Release unless LeaveRelaxed));
    }

    // --- for the thread that sits here ---

    // ORDERING: Relaxed for all that follows. Nobody else reads or writes it, but for `ended`.

    #[inline]
    pub(super) fn pop(&self) -> Option<u32> {
        let len = self.len.load(Ordering::Relaxed).checked_sub(1)?;
        self.len.store(len, Ordering::Relaxed);
        Some(self.entries[len as usize].load(Ordering::Relaxed))
    }

    /// Puts an entry here, if there is room.
    #[inline]
    #[must_use = "there may be no room"]
    pub(super) fn push(&self, index: u32) -> Option<()> {
        let len = self.len.load(Ordering::Relaxed);
        self.entries
            .get(len as usize)?
            .store(index, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
        Some(())
    }

    /// Gives all but `keep` entries back.
    #[cold]
    pub(super) fn give<T>(&self, keep: usize, free: &FreeList, arena: &Arena<T>) {
        let mut chain = Chain::default();
        let len = self.len.load(Ordering::Relaxed) as usize;
        let given = len.saturating_sub(keep);
        for (place, entry) in self.entries[..len].iter().enumerate() {
            let index = entry.load(Ordering::Relaxed);
            // Those that came last stay: the caches have them.
            match place.checked_sub(given) {
                None => chain.add(index, arena),
                Some(place) => self.entries[place].store(index, Ordering::Relaxed),
            }
        }
        self.len.store((len - given) as u32, Ordering::Relaxed);
        free.push(chain, arena);
    }

    /// Counts a cancel, after the timer has been taken.
    #[inline]
    pub(super) fn count_ended(&self) {
        // ORDERING: Release pairs with the Acquire in `Shards::len`. Relaxed load: nobody else writes it.
        self.ended.store(
            self.ended.load(Ordering::Relaxed) + 1,
            ordering!(Release unless EndedRelaxed),
        );
    }

    // --- for all ---

    /// The count of the cancels.
    pub(super) fn ended(&self) -> &AtomicU64 {
        &self.ended
    }

    /// The entries here, if nobody uses the wheel.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        // ORDERING: Relaxed. Nobody changes them. Who looked at the free lists first, acquiring, sees what was given back.
        let len = self.len.load(Ordering::Relaxed) as usize;
        self.entries[..len]
            .iter()
            .map(|entry| entry.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use alloc::vec::Vec;
    use std::thread;

    use super::{HALF, ROOM};
    use crate::{SharedWheel, Tick, TimerKey};

    /// A wheel with few desks.
    fn wheel() -> SharedWheel<usize> {
        SharedWheel::builder().desks().shards(1).build()
    }

    /// Arms so many timers and cancels them, the first one first.
    fn come_and_go(wheel: &SharedWheel<usize>, count: usize) {
        let keys: Vec<TimerKey> = (0..count).map(|id| wheel.arm(Tick::new(9), id)).collect();
        for (id, key) in keys.into_iter().enumerate() {
            assert_eq!(wheel.cancel(key).value(), Some(id));
        }
    }

    /// Entries that lie on desks.
    fn lying(wheel: &SharedWheel<usize>) -> usize {
        wheel.shards.desks().map(|desk| desk.iter().count()).sum()
    }

    #[test]
    fn a_desk_holds_what_was_cancelled_up_to_its_room() {
        let wheel = wheel();
        come_and_go(&wheel, 100);
        assert_eq!(lying(&wheel), 0, "nobody sits anywhere");
        let desk = wheel.sit().expect("all desks are free");
        for count in [1, ROOM - 1, ROOM, ROOM + 1, 5 * ROOM, 100] {
            come_and_go(&wheel, count);
            assert!(lying(&wheel) <= ROOM, "{} of {ROOM}", lying(&wheel));
            assert!(lying(&wheel) >= HALF.min(count), "{}", lying(&wheel));
            wheel.check();
        }
        wheel.leave(desk);
        assert_eq!(lying(&wheel), 0, "given back");
        wheel.check();
    }

    #[test]
    fn what_a_thread_leaves_is_anybodys() {
        let wheel = wheel();
        for round in 1..10 {
            thread::scope(|scope| {
                scope.spawn(|| {
                    let desk = wheel.sit().expect("all desks are free");
                    come_and_go(&wheel, 200);
                    assert!(wheel.sit().is_none(), "somebody sits here");
                    wheel.leave(desk);
                });
            });
            come_and_go(&wheel, 200);
            let blocks = 200_usize.next_multiple_of(64);
            assert_eq!(wheel.entries(), blocks, "round {round}");
            assert_eq!(wheel.shards.ended(), round * 400, "cancels");
            wheel.check();
        }
    }

    #[test]
    fn a_wheel_counts_what_is_armed_at_one_desk_and_cancelled_at_another() {
        let wheel = wheel();
        let desk = wheel.sit().expect("all desks are free");
        for _ in 0..10 {
            let keys: Vec<TimerKey> = (0..50).map(|id| wheel.arm(Tick::new(9), id)).collect();
            thread::scope(|scope| {
                scope.spawn(|| {
                    let desk = wheel.sit();
                    for key in keys {
                        assert!(wheel.cancel(key).is_cancelled());
                    }
                    desk.into_iter().for_each(|desk| wheel.leave(desk));
                });
            });
            assert!(wheel.is_empty(), "{} are armed", wheel.len());
            wheel.check();
        }
        wheel.leave(desk);
        wheel.check();
    }
}
