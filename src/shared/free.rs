//! Free entries: a stack per shard (Treiber 1986), threaded through the entries.
//!
//! Its head carries a tag that changes with every push and pop. So the links of several entries
//! may be read and all of them popped by one exchange: it succeeds only if nothing happened.

use super::arena::Arena;
use super::mutant::{mutant, ordering};
use crate::sync::{AtomicU64, Ordering};

/// As many entries as are popped at once.
pub(super) const BATCH: usize = 32;

/// A stack of free entries. Zero is an empty one.
#[derive(Debug)]
pub(super) struct FreeList {
    /// Tag, and one more than the index of the first entry; 0 if there is none.
    head: AtomicU64,
}

/// Entries linked to each other, to be pushed at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    /// One more than the index, as in the list; 0 if there is none.
    first: u32,
    last: u32,
    len: u32,
    /// The entries added last, in a ring, also those of chains pushed before.
    recent: [u32; AHEAD],
    added: u8,
}

/// How far ahead of a pop the entries are prefetched.
const AHEAD: usize = 8;

/// Entries popped at once.
#[derive(Debug)]
pub(super) struct Batch<const N: usize> {
    entries: [u32; N],
    len: usize,
}

// === impl FreeList ===

impl FreeList {
    pub(super) fn new() -> Self {
        Self {
            head: AtomicU64::new(0),
        }
    }

    /// Pushes all entries of the chain. O(1).
    pub(super) fn push<T>(&self, chain: Chain, arena: &Arena<T>) {
        let Some(last) = chain.last.checked_sub(1) else {
            return;
        };
        let last = arena.entry(last);
        // ORDERING: Relaxed. Only compared and written back.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // ORDERING: Relaxed. Published by the exchange.
            last.link.store(head as u32, Ordering::Relaxed);
            // ORDERING: Release pairs with the Acquire in `pop`: whoever gets the entry gets it
            // with its value taken and its links written. Relaxed on failure, as above.
            let pushed = self.head.compare_exchange(
                head,
                next_tag(head) | u64::from(chain.first),
                ordering!(Release unless FreeRelaxed),
                Ordering::Relaxed,
            );
            match pushed {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Pops up to `N` entries. O(N).
    #[inline]
    pub(super) fn pop<const N: usize, T>(&self, arena: &Arena<T>) -> Batch<N> {
        let mut batch = Batch {
            entries: [0; N],
            len: 0,
        };
        // ORDERING: Acquire pairs with the Release in `push`, here and on both ways out of the
        // exchange. All pushes are read-modify-writes of the head, so that reading the last
        // is reading all of them.
        let mut head = self.head.load(ordering!(Acquire unless PopRelaxed));
        loop {
            let mut next = head as u32;
            batch.len = 0;
            while let Some(index) = next.checked_sub(1).filter(|_| batch.len < N) {
                // A link that is not in the list any more may lead to an entry whose group is
                // not seen yet. Then the head has changed too.
                let Some(entry) = arena.get(index) else {
                    break;
                };
                batch.entries[batch.len] = index;
                batch.len += 1;
                // ORDERING: Relaxed. If the entry is not in the list any more this may be any
                // index; then the tag has changed too, and the exchange fails.
                next = entry.link.load(Ordering::Relaxed);
                // ORDERING: Relaxed. Any index will do: it is only prefetched.
                if let Some(later) = entry.skip.load(Ordering::Relaxed).checked_sub(1) {
                    arena.prefetch(later);
                }
            }
            if batch.len == 0 {
                return batch;
            }
            let popped = self.head.compare_exchange(
                head,
                next_tag(head) | u64::from(next),
                ordering!(Acquire unless PopRelaxed),
                ordering!(Acquire unless PopRelaxed),
            );
            match popped {
                Ok(_) => return batch,
                Err(now) => head = now,
            }
        }
    }

    /// Whether there was nothing to pop a moment ago.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        // ORDERING: Relaxed. A hint where to look.
        self.head.load(Ordering::Relaxed) as u32 == 0
    }

    /// The entries in it, if nobody else uses the list.
    pub(super) fn iter<T>(&self, arena: &Arena<T>) -> impl Iterator<Item = u32> {
        // ORDERING: Acquire and Relaxed, as in `pop`.
        let mut next = self.head.load(Ordering::Acquire) as u32;
        core::iter::from_fn(move || {
            let index = next.checked_sub(1)?;
            next = arena.entry(index).link.load(Ordering::Relaxed);
            Some(index)
        })
    }
}

/// The tag after that of `head`. It has 2^32 values, so that none comes back within one pop.
#[inline]
fn next_tag(head: u64) -> u64 {
    if mutant!(FreeUntagged) {
        return 0;
    }
    (head >> 32).wrapping_add(1) << 32
}

// === impl Chain ===

impl Chain {
    pub(super) const fn len(self) -> usize {
        self.len as usize
    }

    /// Puts an entry in front.
    #[inline]
    pub(super) fn add<T>(&mut self, index: u32, arena: &Arena<T>) {
        let entry = arena.entry(index);
        // ORDERING: Relaxed. The entry is the caller's; published by the push.
        entry.link.store(self.first, Ordering::Relaxed);
        let place = usize::from(self.added) % AHEAD;
        let earlier = core::mem::replace(&mut self.recent[place], index + 1);
        self.added = self.added.wrapping_add(1);
        // ORDERING: Relaxed. A hint.
        entry.skip.store(earlier, Ordering::Relaxed);
        self.first = index + 1;
        if self.len == 0 {
            self.last = index + 1;
        }
        self.len += 1;
    }

    /// What is to be pushed. Goes on empty, and remembers what was added last.
    pub(super) fn take(&mut self) -> Self {
        let taken = *self;
        (self.first, self.last, self.len) = (0, 0, 0);
        taken
    }
}

// === impl Batch ===

impl<const N: usize> core::ops::Deref for Batch<N> {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.entries[..self.len]
    }
}
