//! Storage: the entries, and the lists that thread through them.
//!
//! An entry is on at most one list, a *slot*; the lists are doubly linked and circular,
//! closed by a head per slot, so that an entry can be unlinked without knowing which
//! slot it is on. Links are indices: nothing here can dangle.
//!
//! | entry is | `held` | `due` | on a list | in |
//! |---|---|---|---|---|
//! | armed | some | its tick | yes | |
//! | free | none | its next generation | no | `free` |
//! | leaving: cancelled a moment ago | none | its generation | until it is met | `leaving` |
//! | kept: fired, may come back under its key | none | its generation | no | |
//! | used up: its generations have run out | none | [`USED_UP`] | no | |
//!
//! At a million timers every step along a list is a cache miss. Hence three habits:
//! * A neighbour is relinked by stores alone, because a load would be waited for. That is
//!   why the links lie outside what is held.
//! * Whoever cancels asks for the neighbours and leaves the unlinking to the cancel
//!   [`LEAVING`] later, by which time they have arrived.
//! * Each entry keeps a *hint*: the entry that a drain will want a few steps later, as far
//!   as is known when it is filed. A hint may be stale; it is only ever prefetched.

mod bulk;
mod check;
mod list;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::prefetch::prefetch;
pub(super) use bulk::{Entries, IntoEntries};
pub(super) use list::{End, LISTS, Popped};
use list::{Head, Link};

/// Which list, of all slots of all lanes.
pub(super) type SlotId = u32;

/// Which entry.
pub(super) type Index = u32;

/// Distinguishes the timers that use an entry one after the other.
pub(super) type Generation = NonZeroU32;

/// Cancelled entries that may be on a list still: the slack of a large wheel's memory.
const LEAVING: usize = 8;

/// No entry.
const NO_INDEX: Index = u32::MAX;

/// In place of a generation: there is none left.
const USED_UP: u64 = u64::MAX;

/// The most entries there can be: a link spends one bit on telling slots from entries,
/// and one index stands for none.
pub(super) const MAX_ENTRIES: usize = (1 << 31) - 1;

/// One timer. 32 bytes with an 8-byte value: two to a cache line.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Entry<T> {
    /// While armed, the tick at which it is due: the truth. The slot it is on may begin
    /// earlier, never later. Otherwise a generation; see the table above.
    due: u64,
    next: Link,
    prev: Link,
    held: Option<Held<T>>,
}

/// What an entry has while it is armed.
#[derive(Debug)]
#[repr(C)]
struct Held<T> {
    generation: Generation,
    hint: Index,
    value: T,
}

/// All entries of a wheel and all its slots.
#[derive(Debug)]
pub(super) struct Store<T> {
    entries: Vec<Entry<T>>,
    /// Grows up to the highest slot that was ever used.
    heads: Vec<Head>,
    /// Up to so many entries the caches hold them all, and a cancelled one is unlinked at once.
    small: usize,
    /// Entries to be used again, the last one first.
    free: Vec<Index>,
    /// Entries to be unlinked and freed, in a ring.
    leaving: [Index; LEAVING],
    /// Entries that have gone through the ring: where the next one goes.
    left: usize,
    /// Armed entries.
    len: usize,
    /// Generations below this may have been used by entries that were given back.
    floor: Generation,
}

// === impl Store ===

impl<T> Store<T> {
    /// An empty store. Of up to `small` entries, cancelled ones are unlinked at once.
    pub(super) const fn new(small: usize) -> Self {
        Self {
            entries: Vec::new(),
            heads: Vec::new(),
            small,
            free: Vec::new(),
            leaving: [NO_INDEX; LEAVING],
            left: 0,
            len: 0,
            floor: Generation::MIN,
        }
    }

    /// Armed entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The entry that [`insert`](Self::insert) will use next, made if there is none.
    pub(super) fn vacant(&mut self) -> (Index, Generation) {
        if self.free.is_empty() {
            self.grow();
        }
        let index = *self.free.last().expect("entries were made");
        (index, self.entries[index as usize].generation())
    }

    /// Uses up the generation of the vacant entry.
    pub(super) fn burn_vacant(&mut self) {
        if let Some(index) = self.free.pop() {
            self.release(index);
        }
    }

    /// Puts a value into a free entry, and that at the back of `slot`. Says which entry, and
    /// how many have been filed on `slot` since it was last empty.
    #[inline]
    pub(super) fn insert(&mut self, slot: SlotId, due: u64, value: T) -> (Index, Generation, u64) {
        if self.free.is_empty() || slot as usize >= self.heads.len() {
            self.make_ready(slot);
        }
        let index = self.free.pop().expect("entries were made");
        let (last, hint, filed) = self.append(slot, index);
        let entry = &mut self.entries[index as usize];
        debug_assert!(
            entry.held.is_none() && entry.next == Link::NONE,
            "entry {index} is in use"
        );
        let generation = entry.generation();
        (entry.due, entry.next, entry.prev) = (due, Link::head(slot), last);
        entry.held = Some(Held {
            generation,
            hint,
            value,
        });
        self.len += 1;
        self.set_next(last, Link::entry(index));
        (index, generation, filed)
    }

    /// Puts a value into an entry that was [taken](Self::take) and kept. It is on no list yet.
    pub(super) fn restore(&mut self, index: Index, due: u64, value: T) {
        let entry = &mut self.entries[index as usize];
        debug_assert!(entry.held.is_none(), "entry {index} is armed already");
        let generation = entry.generation();
        entry.due = due;
        entry.held = Some(Held {
            generation,
            hint: 0,
            value,
        });
        self.len += 1;
    }

    /// The armed entry with this index and generation.
    #[inline]
    pub(super) fn get(&self, index: Index, generation: Generation) -> Option<&Entry<T>> {
        self.entries
            .get(index as usize)
            .filter(|entry| entry.is(generation))
    }

    #[inline]
    pub(super) fn get_mut(
        &mut self,
        index: Index,
        generation: Generation,
    ) -> Option<&mut Entry<T>> {
        self.entries
            .get_mut(index as usize)
            .filter(|entry| entry.is(generation))
    }

    /// What the entry at `index` has, if it is armed.
    #[cfg(feature = "typed")]
    pub(super) fn held(&self, index: Index) -> Option<(Generation, &T)> {
        let held = self.entries.get(index as usize)?.held.as_ref()?;
        Some((held.generation, &held.value))
    }

    /// Whether the entry at `index` is kept for this generation.
    pub(super) fn is_kept(&self, index: Index, generation: Generation) -> bool {
        self.entries[index as usize].generation() == generation
    }

    /// Takes the value out of an armed entry, and lets the entry leave. Also says when it
    /// was due, and which slot this left empty: its own, or that of the one that left
    /// [`LEAVING`] cancels ago.
    #[inline]
    pub(super) fn cancel(
        &mut self,
        index: Index,
        generation: Generation,
    ) -> Option<(u64, T, Option<SlotId>)> {
        let entry = self.entries.get_mut(index as usize)?;
        if !entry.is(generation) {
            return None;
        }
        let Held { value, .. } = entry.held.take()?;
        let due = core::mem::replace(&mut entry.due, u64::from(generation.get()));
        let (next, prev) = (entry.next, entry.prev);
        self.len -= 1;
        // Alone on its list, there is no neighbour to wait for.
        let leaver = if next == prev || self.entries.len() <= self.small {
            index
        } else {
            self.ask(next);
            self.ask(prev);
            let place = &mut self.leaving[self.left % LEAVING];
            self.left = self.left.wrapping_add(1);
            core::mem::replace(place, index)
        };
        Some((due, value, self.leave(leaver)))
    }

    /// Unlinks and frees a cancelled entry.
    #[inline]
    fn leave(&mut self, index: Index) -> Option<SlotId> {
        if index == NO_INDEX {
            return None;
        }
        let emptied = self.unlink(index);
        self.release(index);
        emptied
    }

    /// Unlinks and frees all cancelled entries: calls `emptied` for every slot that leaves empty.
    pub(super) fn flush(&mut self, mut emptied: impl FnMut(SlotId)) {
        for place in 0..LEAVING {
            let index = core::mem::replace(&mut self.leaving[place], NO_INDEX);
            if let Some(slot) = self.leave(index) {
                emptied(slot);
            }
        }
    }

    /// Takes the value out of an entry that was popped, and keeps the entry.
    #[inline]
    pub(super) fn take(&mut self, index: Index) -> Option<(Generation, T)> {
        let entry = &mut self.entries[index as usize];
        let Held {
            generation, value, ..
        } = entry.held.take()?;
        entry.due = u64::from(generation.get());
        self.len -= 1;
        Some((generation, value))
    }

    /// Lets an entry that is not armed be used again, under another generation.
    #[inline]
    pub(super) fn release(&mut self, index: Index) {
        let entry = &mut self.entries[index as usize];
        match entry.generation().checked_add(1) {
            Some(next) => {
                entry.due = u64::from(next.get());
                self.free.push(index);
            }
            None => entry.due = USED_UP,
        }
    }

    /// Prefetches the entry a link leads to.
    #[inline]
    pub(super) fn ask(&self, link: Link) {
        if let Some(entry) = self.entries.get(link.index()) {
            prefetch(&raw const entry.next);
        }
    }
}

/// Entries whose index is somebody else's.
#[cfg(all(feature = "std", target_has_atomic = "64"))]
impl<T> Store<T> {
    /// Makes entries up to `index`. They are never handed out by [`insert`](Self::insert).
    pub(super) fn make(&mut self, index: Index) {
        while self.entries.len() <= index as usize {
            self.entries.push(Entry {
                due: USED_UP,
                next: Link::NONE,
                prev: Link::NONE,
                held: None,
            });
        }
    }

    /// The armed entry at `index`, if there is one.
    #[inline]
    pub(super) fn at(&mut self, index: Index) -> Option<&mut Entry<T>> {
        self.entries
            .get_mut(index as usize)
            .filter(|entry| entry.held.is_some())
    }

    /// Takes the value out of an entry that was popped and that [`make`](Self::make) made.
    #[inline]
    pub(super) fn vacate(&mut self, index: Index) -> Option<T> {
        let entry = &mut self.entries[index as usize];
        let Held { value, .. } = entry.held.take()?;
        entry.due = USED_UP;
        self.len -= 1;
        Some(value)
    }
}

// === impl Entry ===

impl<T> Entry<T> {
    #[inline]
    fn is(&self, generation: Generation) -> bool {
        self.held
            .as_ref()
            .is_some_and(|held| held.generation == generation)
    }

    /// The generation of an entry that is not armed: the one it had or will have.
    #[inline]
    fn generation(&self) -> Generation {
        debug_assert!(self.held.is_none(), "an armed entry holds its generation");
        Generation::new(self.due as u32).unwrap_or(Generation::MIN)
    }

    /// The tick at which an armed entry is due.
    #[inline]
    pub(super) fn due(&self) -> u64 {
        self.due
    }

    /// Says when an armed entry is due from now on, and returns when it was.
    #[inline]
    pub(super) fn replace_due(&mut self, due: u64) -> u64 {
        core::mem::replace(&mut self.due, due)
    }

    #[inline]
    pub(super) fn value(&self) -> Option<&T> {
        self.held.as_ref().map(|held| &held.value)
    }

    #[inline]
    pub(super) fn value_mut(&mut self) -> Option<&mut T> {
        self.held.as_mut().map(|held| &mut held.value)
    }
}
