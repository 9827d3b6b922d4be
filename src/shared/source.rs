//! Where an operation gets entries, gives them back, and counts.

use super::arena::{Arena, BLOCK, MAX_ENTRIES};
use super::desk::{Desk, HALF};
use super::free::{BATCH, Chain};
use super::shard::{Claim, Shards};
use super::thread;

/// A shard as threads without a handle use it, or a local handle.
pub(super) trait Source {
    /// The shard that entries armed here go back to.
    fn shard(&self) -> u32;

    /// Counts an arm, before the timer can be seen.
    fn count_armed(&self, shards: &Shards);

    /// Counts a cancel, after the timer has been taken.
    fn count_ended(&self, shards: &Shards);

    /// A free entry; `None` if there is none below `limit`.
    fn pop<T>(&mut self, arena: &Arena<T>, shards: &Shards, limit: u32) -> Option<u32>;

    /// Gives an entry back, which is empty and whose value has been taken.
    fn push<T>(&mut self, index: u32, arena: &Arena<T>, shards: &Shards);
}

/// A shard, as all its threads use it, and the desk of this thread, if it sits at one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common<'a> {
    shard: u32,
    desk: Option<&'a Desk>,
}

/// Free entries that one thread has to itself.
#[derive(Debug)]
pub(super) struct Magazine {
    shard: u32,
    claim: Claim,
    entries: [u32; MAGAZINE],
    len: usize,
}

/// Entries a magazine holds at most.
const MAGAZINE: usize = 2 * BATCH;

const _: () = assert!(MAGAZINE >= BLOCK as usize, "a block fits into a magazine");

// === impl Common ===

impl<'a> Common<'a> {
    /// The shard of this thread, and its desk.
    #[inline]
    pub(super) fn here(shards: &'a Shards) -> Self {
        match shards.desk_here() {
            Some(desk) if desk.sits() == thread::token() => Self {
                shard: desk.shard(),
                desk: Some(desk),
            },
            Some(_) | None => Self::of(thread::shard(shards.count())),
        }
    }

    /// A shard, and no desk.
    #[inline]
    fn of(shard: u32) -> Self {
        Self { shard, desk: None }
    }
}

/// As [`Common`], for an operation that will hardly need it: finds out when it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rarely(pub(super) u32);

impl Source for Rarely {
    fn shard(&self) -> u32 {
        thread::shard(self.0)
    }

    fn count_armed(&self, shards: &Shards) {
        shards.get(self.shard()).count_armed(Claim::Common);
    }

    fn count_ended(&self, shards: &Shards) {
        shards.get(self.shard()).count_ended(Claim::Common);
    }

    fn pop<T>(&mut self, arena: &Arena<T>, shards: &Shards, limit: u32) -> Option<u32> {
        Common::of(self.shard()).pop(arena, shards, limit)
    }

    fn push<T>(&mut self, index: u32, arena: &Arena<T>, shards: &Shards) {
        shards.free(self.shard(), index, arena);
    }
}

impl Source for Common<'_> {
    #[inline]
    fn shard(&self) -> u32 {
        self.shard
    }

    #[inline]
    fn count_armed(&self, shards: &Shards) {
        // Also at a desk: `Shards::seal` has to meet it.
        shards.get(self.shard).count_armed(Claim::Common);
    }

    #[inline]
    fn count_ended(&self, shards: &Shards) {
        match self.desk {
            Some(desk) => desk.count_ended(),
            None => shards.get(self.shard).count_ended(Claim::Common),
        }
    }

    #[inline]
    fn pop<T>(&mut self, arena: &Arena<T>, shards: &Shards, limit: u32) -> Option<u32> {
        if let Some(desk) = self.desk {
            return desk
                .pop()
                .or_else(|| self.pop_for(desk, arena, shards, limit));
        }
        let own = shards.get(self.shard).free.pop::<1, T>(arena);
        if let Some(index) = own.first() {
            return Some(*index);
        }
        self.pop_more(arena, shards, limit)
    }

    #[inline]
    fn push<T>(&mut self, index: u32, arena: &Arena<T>, shards: &Shards) {
        let Some(desk) = self.desk else {
            return shards.free(self.shard, index, arena);
        };
        if desk.push(index).is_none() {
            desk.give(HALF, &shards.get(self.shard).free, arena);
            desk.push(index).expect("half of the room is free");
        }
    }
}

impl Common<'_> {
    /// A free entry of the shard, and some more for the desk, which is empty.
    #[cold]
    fn pop_for<T>(
        &self,
        desk: &Desk,
        arena: &Arena<T>,
        shards: &Shards,
        limit: u32,
    ) -> Option<u32> {
        let own = shards.get(self.shard).free.pop::<HALF, T>(arena);
        let Some((first, rest)) = own.split_first() else {
            return self.pop_more(arena, shards, limit);
        };
        for index in rest.iter().rev() {
            desk.push(*index).expect("the desk was empty");
        }
        Some(*first)
    }

    /// An entry of another shard, or one that was never used. What else was found there is free in this shard.
    #[cold]
    fn pop_more<T>(&self, arena: &Arena<T>, shards: &Shards, limit: u32) -> Option<u32> {
        let mut rest = Chain::default();
        let mut first = None;
        more(self.shard, arena, shards, limit, |index| match first {
            None => first = Some(index),
            Some(_) => rest.add(index, arena),
        });
        shards.get(self.shard).free.push(rest, arena);
        first
    }
}

/// Free entries of other shards, or else entries that were never used.
#[cold]
fn more<T>(shard: u32, arena: &Arena<T>, shards: &Shards, limit: u32, mut each: impl FnMut(u32)) {
    if let Some(batch) = shards.steal(shard, arena) {
        batch.iter().copied().for_each(each);
    } else if let Some((first, count)) = arena.take(BLOCK, limit) {
        (first..first + count).rev().for_each(&mut each);
    }
}

// === impl Magazine ===

impl Magazine {
    pub(super) fn new(shard: u32, shards: &Shards) -> Self {
        Self {
            shard,
            claim: shards.get(shard).claim(),
            entries: [0; MAGAZINE],
            len: 0,
        }
    }

    /// Gives back all but `keep` entries.
    pub(super) fn flush<T>(&mut self, keep: usize, arena: &Arena<T>, shards: &Shards) {
        let mut chain = Chain::default();
        let given = self.len.saturating_sub(keep);
        for index in &self.entries[..given] {
            chain.add(*index, arena);
        }
        // Those that came last stay: the caches have them.
        self.entries.copy_within(given..self.len, 0);
        self.len -= given;
        shards.get(self.shard).free.push(chain, arena);
    }

    /// Gives everything back, the claim too.
    pub(super) fn close<T>(&mut self, arena: &Arena<T>, shards: &Shards) {
        self.flush(0, arena, shards);
        shards.get(self.shard).give_up(self.claim);
    }

    #[cold]
    fn refill<T>(&mut self, arena: &Arena<T>, shards: &Shards, limit: u32) {
        let (entries, len) = (&mut self.entries, &mut self.len);
        let mut put = |index| {
            entries[*len] = index;
            *len += 1;
        };
        let own = shards.get(self.shard).free.pop::<BATCH, T>(arena);
        if own.is_empty() {
            more(self.shard, arena, shards, limit, put);
        } else {
            own.iter().copied().for_each(&mut put);
        }
    }
}

impl Source for Magazine {
    #[inline]
    fn shard(&self) -> u32 {
        self.shard
    }

    #[inline]
    fn count_armed(&self, shards: &Shards) {
        shards.get(self.shard).count_armed(self.claim);
    }

    #[inline]
    fn count_ended(&self, shards: &Shards) {
        shards.get(self.shard).count_ended(self.claim);
    }

    #[inline]
    fn pop<T>(&mut self, arena: &Arena<T>, shards: &Shards, limit: u32) -> Option<u32> {
        if self.len == 0 {
            self.refill(arena, shards, limit);
        }
        self.len = self.len.checked_sub(1)?;
        Some(self.entries[self.len])
    }

    #[inline]
    fn push<T>(&mut self, index: u32, arena: &Arena<T>, shards: &Shards) {
        if self.len == MAGAZINE {
            self.flush(BATCH, arena, shards);
        }
        self.entries[self.len] = index;
        self.len += 1;
    }
}

/// An entry to keep a far deadline in. If none is free below the limit, one beyond it.
pub(super) fn companion<T>(
    source: &mut impl Source,
    arena: &Arena<T>,
    shards: &Shards,
    limit: u32,
) -> Option<u32> {
    source
        .pop(arena, shards, limit)
        .or_else(|| arena.take(1, MAX_ENTRIES).map(|(index, _)| index))
}
