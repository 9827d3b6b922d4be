//! What concerns all entries at once: capacity, iteration, clearing.

use alloc::vec::{self, Vec};
use core::iter::Enumerate;
use core::slice;

use super::list::Link;
use super::{
    Entry, Generation, Head, Index, LEAVING, MAX_ENTRIES, NO_INDEX, SlotId, Store, USED_UP,
};

/// Entries made at a time, in memory that was never used.
const GROWTH: usize = 16;

/// Index, generation, due tick and value of every armed entry, by index.
pub(in crate::wheel) struct Entries<'a, T>(Enumerate<slice::Iter<'a, Entry<T>>>);

/// As [`Entries`], by value.
pub(in crate::wheel) struct IntoEntries<T>(Enumerate<vec::IntoIter<Entry<T>>>);

// === impl Store ===

impl<T> Store<T> {
    pub(in crate::wheel) fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    pub(in crate::wheel) fn reserve(&mut self, additional: usize) {
        // Some entries may be leaving, and one kept.
        let wanted = additional + LEAVING + 1;
        self.entries.reserve(wanted.saturating_sub(self.free.len()));
        self.reserve_free();
    }

    /// Makes room to free every entry, so that only arming allocates for entries.
    pub(super) fn reserve_free(&mut self) {
        let room = self.entries.capacity();
        self.free.reserve_exact(room - self.free.len());
    }

    /// Makes free entries, [`GROWTH`] at a time as far as there is room for so many, and one in
    /// any case.
    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self) {
        let from = self.entries.len();
        let room = self.entries.capacity().min(MAX_ENTRIES) - from;
        let to = from + room.clamp(1, GROWTH);
        assert!(
            to <= MAX_ENTRIES,
            "every index of the wheel is in use or used up"
        );
        let due = u64::from(self.floor.get());
        self.entries.resize_with(to, || Entry {
            due,
            next: Link::NONE,
            prev: Link::NONE,
            held: None,
        });
        self.reserve_free();
        self.free.extend((from as Index..to as Index).rev());
    }

    /// Makes whatever the next insertion on `slot` lacks: a free entry, or the slot. In one call
    /// and before anything else, so that an insertion that lacks nothing keeps all in registers.
    #[cold]
    #[inline(never)]
    pub(super) fn make_ready(&mut self, slot: SlotId) {
        if self.free.is_empty() {
            self.grow();
        }
        if slot as usize >= self.heads.len() {
            self.grow_heads(slot);
        }
    }

    pub(in crate::wheel) fn entries(&self) -> Entries<'_, T> {
        Entries(self.entries.iter().enumerate())
    }

    /// Takes every entry, and leaves every list empty. No index or generation is remembered.
    pub(in crate::wheel) fn take_entries(&mut self) -> IntoEntries<T> {
        IntoEntries(self.reset().into_iter().enumerate())
    }

    /// Drops every entry and keeps the memory. Everything is empty before the first is dropped.
    pub(in crate::wheel) fn clear(&mut self) {
        let mut entries = self.reset();
        entries.clear();
        self.entries = entries;
    }

    fn reset(&mut self) -> Vec<Entry<T>> {
        for (slot, head) in self.heads.iter_mut().enumerate() {
            *head = Head::new(slot as SlotId);
        }
        self.free.clear();
        self.leaving = [NO_INDEX; LEAVING];
        (self.len, self.floor) = (0, Generation::MIN);
        core::mem::take(&mut self.entries)
    }

    /// Gives back the memory of entries above the highest that is needed. Says how many are
    /// left. None may be leaving or kept.
    pub(in crate::wheel) fn shrink_to_fit(&mut self) -> usize {
        // One that has used up half of its generations stays: what is made in its place later
        // would have to begin where it ended.
        let stays = |entry: &Entry<T>| {
            entry.held.is_some() || entry.due == USED_UP || entry.generation().get() > u32::MAX / 2
        };
        let kept = self
            .entries
            .iter()
            .rposition(stays)
            .map_or(0, |highest| highest + 1);
        let dropped = self
            .entries
            .drain(kept..)
            .map(|entry| entry.generation())
            .max();
        self.floor = self.floor.max(dropped.unwrap_or(Generation::MIN));
        self.free.retain(|index| (*index as usize) < kept);
        self.entries.shrink_to_fit();
        self.free.shrink_to_fit();
        kept
    }
}

// === impl Entries ===

impl<T> Clone for Entries<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, T> Iterator for Entries<'a, T> {
    type Item = (Index, Generation, u64, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.find_map(|(index, entry)| {
            let held = entry.held.as_ref()?;
            Some((index as Index, held.generation, entry.due, &held.value))
        })
    }
}

// === impl IntoEntries ===

impl<T> Iterator for IntoEntries<T> {
    type Item = (Index, Generation, u64, T);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.find_map(|(index, entry)| {
            let held = entry.held?;
            Some((index as Index, held.generation, entry.due, held.value))
        })
    }
}
