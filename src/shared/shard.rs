//! Shards: what threads would meet on, once for each of some threads.

use alloc::boxed::Box;

use super::arena::Arena;
use super::desk::Desk;
use super::free::{BATCH, Batch, Chain, FreeList};
use super::mutant::{mutant, ordering};
use super::padded::Padded;
use super::thread;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// The free entries and the counts of some threads.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) free: FreeList,
    /// Counted by all threads of the shard.
    common: Counts,
    /// Whether a local handle counts here alone.
    claimed: AtomicBool,
    /// Counted by that handle.
    own: Counts,
}

/// Arms, and the cancels that ended them. Neither ever falls.
#[derive(Debug)]
struct Counts {
    armed: AtomicU64,
    ended: AtomicU64,
}

/// Which counts are whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Those of the shard, which others use as well.
    Common,
    /// Those of the only local handle of the shard.
    Own,
}

/// All shards, and the desks of their threads.
#[derive(Debug)]
pub(super) struct Shards {
    shards: Box<[Padded<Shard>]>,
    /// A power of two, or none.
    desks: Box<[Padded<Desk>]>,
}

// === impl Counts ===

impl Counts {
    fn new() -> Self {
        Self {
            armed: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }
}

// === impl Shard ===

impl Shard {
    fn new() -> Self {
        Self {
            free: FreeList::new(),
            common: Counts::new(),
            claimed: AtomicBool::new(false),
            own: Counts::new(),
        }
    }

    /// Claims the handle's own counts, if no other handle has.
    pub(super) fn claim(&self) -> Claim {
        // ORDERING: Acquire pairs with the Release in `give_up`: the counts go on from there.
        let claimed =
            self.claimed
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        if claimed.is_ok() {
            Claim::Own
        } else {
            Claim::Common
        }
    }

    pub(super) fn give_up(&self, claim: Claim) {
        if claim == Claim::Own {
            // ORDERING: Release, see `claim`.
            self.claimed
                .store(false, ordering!(Release unless ClaimRelaxed));
        }
    }

    /// Counts an arm, before the timer can be seen.
    #[inline]
    pub(super) fn count_armed(&self, claim: Claim) {
        match claim {
            // ORDERING: for `len` Relaxed would do, since the word publishes it. AcqRel pairs with
            // `seal`, which wants to know who came before it and to be seen by who comes after.
            Claim::Common => {
                self.common
                    .armed
                    .fetch_add(1, ordering!(AcqRel unless CountRelaxed));
            }
            // ORDERING: Relaxed. As above; nobody else writes it.
            Claim::Own => self.own.armed.store(
                self.own.armed.load(Ordering::Relaxed) + 1,
                Ordering::Relaxed,
            ),
        }
    }

    /// Counts a cancel, after the timer has been taken.
    #[inline]
    pub(super) fn count_ended(&self, claim: Claim) {
        match claim {
            // ORDERING: Release pairs with the Acquire in `Shards::len`.
            Claim::Common => {
                self.common
                    .ended
                    .fetch_add(1, ordering!(Release unless EndedRelaxed));
            }
            // ORDERING: Release, as above. Relaxed load: nobody else writes it.
            Claim::Own => self.own.ended.store(
                self.own.ended.load(Ordering::Relaxed) + 1,
                ordering!(Release unless EndedRelaxed),
            ),
        }
    }
}

// === impl Shards ===

impl Shards {
    /// So many shards, and so many desks: a power of two, or none.
    pub(super) fn new(count: usize, desks: usize) -> Self {
        let desk = |number: usize| Padded(Desk::new((number % count) as u32));
        Self {
            shards: (0..count).map(|_| Padded(Shard::new())).collect(),
            desks: (0..desks).map(desk).collect(),
        }
    }

    #[inline]
    pub(super) fn get(&self, shard: u32) -> &Shard {
        &self.shards[shard as usize].0
    }

    pub(super) fn count(&self) -> u32 {
        self.shards.len() as u32
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter().map(|shard| &shard.0)
    }

    // --- desks ---

    /// The desk that this thread may sit down at, if there are any.
    #[inline]
    pub(super) fn desk_here(&self) -> Option<&Desk> {
        self.desk(self.desk_number())
    }

    /// The number that the desk of this thread has, or would have.
    #[inline]
    pub(super) fn desk_number(&self) -> usize {
        thread::place() & self.desks.len().wrapping_sub(1)
    }

    #[inline]
    pub(super) fn desk(&self, number: usize) -> Option<&Desk> {
        Some(&self.desks.get(number)?.0)
    }

    pub(super) fn desks(&self) -> impl Iterator<Item = &Desk> {
        self.desks.iter().map(|desk| &desk.0)
    }

    // --- counts ---

    /// Timers armed at some moment during the call, if `fired` of them had fired when it began.
    ///
    /// First what has ended, then what was armed: the first count is not more than what had
    /// ended at the moment between, the second not less than what had been armed then. So 0
    /// says that at that moment there was none.
    pub(super) fn len(&self, fired: u64) -> usize {
        // ORDERING: Acquire pairs with the Release of `count_ended`, which comes after the
        // arm it ended was counted. Then Relaxed: what was counted by then is seen.
        let sum = |count: fn(&Counts) -> &AtomicU64, order| {
            self.iter()
                .flat_map(|shard| [count(&shard.common), count(&shard.own)])
                .map(|count| count.load(order))
                .sum::<u64>()
        };
        let at_desks = self
            .desks()
            .map(|desk| desk.ended().load(Ordering::Acquire));
        let ended = sum(|counts| &counts.ended, Ordering::Acquire) + at_desks.sum::<u64>() + fired;
        let armed = sum(|counts| &counts.armed, Ordering::Relaxed);
        debug_assert!(
            armed >= ended || mutant!(CountLate),
            "{ended} of {armed} timers ended"
        );
        armed.saturating_sub(ended) as usize
    }

    /// Parts those who arm, other than through a local handle, into two: whoever counts after this
    /// sees what was done before the call; all others are counted in [`len`](Self::len) from now on.
    pub(super) fn seal(&self) {
        for shard in self.iter() {
            // ORDERING: AcqRel. Release pairs with the Acquire in `count_armed` of those who come
            // after, Acquire with the Release of those who came before.
            shard.common.armed.fetch_add(0, Ordering::AcqRel);
        }
    }

    /// Timers that were cancelled so far.
    pub(super) fn ended(&self) -> u64 {
        // ORDERING: Relaxed. A number to look at.
        let shards = self
            .iter()
            .flat_map(|shard| [&shard.common.ended, &shard.own.ended]);
        shards
            .chain(self.desks().map(Desk::ended))
            .map(|ended| ended.load(Ordering::Relaxed))
            .sum()
    }

    /// Free entries from any shard but `shard`: as many as can be popped at once.
    pub(super) fn steal<T>(&self, shard: u32, arena: &Arena<T>) -> Option<Batch<BATCH>> {
        let count = self.count();
        (1..count)
            .map(|step| self.get((shard + step) % count))
            .filter(|victim| !victim.free.is_empty())
            .map(|victim| victim.free.pop(arena))
            .find(|batch| !batch.is_empty())
    }

    /// Gives one entry back.
    #[inline]
    pub(super) fn free<T>(&self, shard: u32, index: u32, arena: &Arena<T>) {
        let mut chain = Chain::default();
        chain.add(index, arena);
        self.get(shard).free.push(chain, arena);
    }
}
