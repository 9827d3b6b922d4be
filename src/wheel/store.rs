//! Storage: the entries, and the lists that thread through them.
//!
//! An entry is on at most one list, a *slot*; the lists are doubly linked and circular,
//! closed by a head per slot, so that an entry can be unlinked without knowing which
//! slot it is on. Links are indices: nothing here can dangle.
//!
//! | entry is | `value` | on a list | in `free` | in `leaving` |
//! |---|---|---|---|---|
//! | armed | some | yes | no | no |
//! | free | none | no | yes | no |
//! | leaving: cancelled a moment ago | none | until it is met | no | yes |
//! | kept: fired, may come back under its key | none | no | no | no |
//! | used up: its generations have run out | none | no | no | no |
//!
//! At a million timers every step along a list is a cache miss. Hence three habits:
//! * A neighbour is relinked by stores alone, because a load would be waited for.
//! * Whoever cancels asks for the neighbours and leaves the unlinking to the cancel
//!   [`LEAVING`] later, by which time they have arrived.
//! * Each entry keeps a *hint*: the entry that a drain will want [`AHEAD`] steps later, as
//!   far as is known when it is filed. A hint may be stale; it is only ever prefetched.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::prefetch::prefetch;

/// Which list, of all slots of all lanes.
pub(super) type SlotId = u32;

/// Which entry.
pub(super) type Index = u32;

/// How far ahead of a drain the entries are prefetched.
const AHEAD: usize = 8;

/// Cancelled entries that may be on a list still: the slack of a large wheel's memory.
const LEAVING: usize = 8;

/// No entry.
const NO_INDEX: Index = u32::MAX;

/// The most entries there can be: a link spends one bit on telling slots from entries.
pub(super) const MAX_ENTRIES: usize = 1 << 31;

/// One timer. What a drain looks at comes first, so that one prefetch brings it however
/// large the value is. 40 bytes with an 8-byte value.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Entry<T> {
    /// The tick at which it is due: the truth. The slot it is on may begin earlier, never later.
    pub(super) due: u64,
    next: Link,
    prev: Link,
    hint: Index,
    /// Distinguishes the timers that use this entry one after the other.
    generation: NonZeroU32,
    value: Option<T>,
}

/// Points along a list: at an entry, or at the head that closes the circle, or nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(u32);

/// Where a link leads.
enum Target {
    Entry(usize),
    Head(usize),
}

/// Closes the list of a slot.
#[derive(Clone, Debug)]
struct Head {
    first: Link,
    last: Link,
    /// Entries filed since the list was last empty, less those drained: not less than its
    /// length, and more once entries have been unlinked.
    filed: u64,
    /// The entries filed last, in a ring.
    recent: [Index; AHEAD],
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
    /// Entries cancelled so far: where in the ring the next one goes.
    cancelled: usize,
    /// Entries with a value.
    len: usize,
    /// Generations below this may have been used by entries that were given back.
    floor: NonZeroU32,
}

/// An end of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

/// What pushing or popping did to slots, for the calendar to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Popped {
    pub(super) index: Index,
    pub(super) due: u64,
    /// Whether there is a timer in it; if not, it was cancelled and is leaving.
    pub(super) armed: bool,
    pub(super) emptied: bool,
}

// === impl Link ===

impl Link {
    const HEAD: u32 = 1 << 31;
    /// On no list.
    const NONE: Self = Self(u32::MAX);

    #[inline]
    const fn entry(index: Index) -> Self {
        Self(index)
    }

    #[inline]
    const fn head(slot: SlotId) -> Self {
        Self(slot | Self::HEAD)
    }

    #[inline]
    const fn target(self) -> Target {
        if self.0 & Self::HEAD == 0 {
            Target::Entry(self.0 as usize)
        } else {
            Target::Head((self.0 & !Self::HEAD) as usize)
        }
    }
}

// === impl Head ===

impl Head {
    const fn new(slot: SlotId) -> Self {
        Self { first: Link::head(slot), last: Link::head(slot), filed: 0, recent: [0; AHEAD] }
    }

    /// Notes that `index` is filed, and says which one was filed [`AHEAD`] before it.
    #[inline]
    fn note(&mut self, index: Index) -> Index {
        let place = &mut self.recent[self.filed as usize % AHEAD];
        self.filed += 1;
        core::mem::replace(place, index)
    }
}

// === impl Store: entries ===

impl<T> Store<T> {
    /// An empty store. Of up to `small` entries, cancelled ones are unlinked at once.
    pub(super) const fn new(small: usize) -> Self {
        Self {
            entries: Vec::new(),
            heads: Vec::new(),
            small,
            free: Vec::new(),
            leaving: [NO_INDEX; LEAVING],
            cancelled: 0,
            len: 0,
            floor: NonZeroU32::MIN,
        }
    }

    /// Entries with a value.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The entry that [`insert`](Self::insert) will use next, made if there is none.
    pub(super) fn vacant(&mut self) -> (Index, NonZeroU32) {
        let index = self.free.pop().unwrap_or_else(|| self.grow());
        self.free.push(index);
        (index, self.entries[index as usize].generation)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Index {
        let index = self.entries.len();
        assert!(index < MAX_ENTRIES - 1, "every index of the wheel is in use or used up");
        let generation = self.floor;
        self.entries.push(Entry { due: 0, next: Link::NONE, prev: Link::NONE, hint: 0, generation, value: None });
        index as Index
    }

    /// Puts a value into a free entry, and that at the back of `slot`. Says which entry, and
    /// how many have been filed on `slot` since it was last empty.
    #[inline]
    pub(super) fn insert(&mut self, slot: SlotId, due: u64, value: T) -> (Index, NonZeroU32, u64) {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.grow(),
        };
        let (last, hint, filed) = self.append(slot, index);
        let entry = &mut self.entries[index as usize];
        debug_assert!(entry.value.is_none() && entry.next == Link::NONE, "entry {index} is in use");
        (entry.due, entry.next, entry.prev, entry.hint) = (due, Link::head(slot), last, hint);
        entry.value = Some(value);
        let generation = entry.generation;
        self.len += 1;
        self.set_next(last, Link::entry(index));
        (index, generation, filed)
    }

    /// Puts a value into an entry that was [taken](Self::take) and kept.
    pub(super) fn restore(&mut self, index: Index, due: u64, value: T) {
        let entry = &mut self.entries[index as usize];
        debug_assert!(entry.value.is_none(), "entry {index} holds a timer already");
        entry.value = Some(value);
        entry.due = due;
        self.len += 1;
    }

    /// The armed entry with this index and generation.
    #[inline]
    pub(super) fn get(&self, index: Index, generation: NonZeroU32) -> Option<&Entry<T>> {
        self.entries.get(index as usize).filter(|entry| entry.generation == generation && entry.value.is_some())
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: Index, generation: NonZeroU32) -> Option<&mut Entry<T>> {
        self.entries.get_mut(index as usize).filter(|entry| entry.generation == generation && entry.value.is_some())
    }

    #[inline]
    pub(super) fn generation(&self, index: Index) -> NonZeroU32 {
        self.entries[index as usize].generation
    }

    /// Takes the value out of an armed entry, and lets the entry leave. Also says when it
    /// was due, and which slot this left empty: its own, or that of the one that left [`LEAVING`] cancels ago.
    #[inline]
    pub(super) fn cancel(&mut self, index: Index, generation: NonZeroU32) -> Option<(u64, T, Option<SlotId>)> {
        let entry = self.entries.get_mut(index as usize)?;
        if entry.generation != generation {
            return None;
        }
        let value = entry.value.take()?;
        let Entry { due, next, prev, .. } = *entry;
        self.len -= 1;
        // Alone on its list, there is no neighbour to wait for.
        let leaver = if next == prev || self.entries.len() <= self.small {
            index
        } else {
            self.ask(next);
            self.ask(prev);
            let place = &mut self.leaving[self.cancelled % LEAVING];
            self.cancelled = self.cancelled.wrapping_add(1);
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

    /// Prefetches the entry a link leads to.
    #[inline]
    fn ask(&self, link: Link) {
        if let Some(entry) = self.entries.get(link.0 as usize) {
            prefetch(&raw const entry.next);
        }
    }

    /// Takes the value out of an entry that was popped, and keeps the entry.
    #[inline]
    pub(super) fn take(&mut self, index: Index) -> Option<T> {
        let value = self.entries[index as usize].value.take();
        self.len -= usize::from(value.is_some());
        value
    }

    /// Lets an entry without a value be used again, under another generation.
    #[inline]
    pub(super) fn release(&mut self, index: Index) {
        let entry = &mut self.entries[index as usize];
        if let Some(generation) = entry.generation.checked_add(1) {
            entry.generation = generation;
            self.free.push(index);
        }
    }
}

// === impl Store: lists ===

impl<T> Store<T> {
    #[inline]
    fn set_next(&mut self, of: Link, next: Link) {
        match of.target() {
            Target::Entry(index) => self.entries[index].next = next,
            Target::Head(slot) => self.heads[slot].first = next,
        }
    }

    #[inline]
    fn set_prev(&mut self, of: Link, prev: Link) {
        match of.target() {
            Target::Entry(index) => self.entries[index].prev = prev,
            Target::Head(slot) => self.heads[slot].last = prev,
        }
    }

    #[cold]
    fn grow_heads(&mut self, slot: SlotId) {
        let from = self.heads.len() as SlotId;
        self.heads.extend((from..=slot).map(Head::new));
    }

    #[inline]
    pub(super) fn is_empty(&self, slot: SlotId) -> bool {
        self.heads.get(slot as usize).is_none_or(|head| head.first == Link::head(slot))
    }

    /// Not less than the number of entries on `slot`, nor more than all there are.
    #[inline]
    pub(super) fn crowd(&self, slot: SlotId) -> u32 {
        self.heads.get(slot as usize).map_or(0, |head| head.filed).min(self.entries.len() as u64) as u32
    }

    /// Hooks `index` to the back of the head of `slot`; linking the entries is the caller's.
    /// Returns the entry that was last, the hint, and how many have been filed.
    #[inline]
    fn append(&mut self, slot: SlotId, index: Index) -> (Link, Index, u64) {
        if slot as usize >= self.heads.len() {
            self.grow_heads(slot);
        }
        let head = &mut self.heads[slot as usize];
        let hint = head.note(index);
        (core::mem::replace(&mut head.last, Link::entry(index)), hint, head.filed)
    }

    /// Puts an entry that is on no list at the back of `slot`. Says how many have been filed
    /// there since it was last empty.
    #[inline]
    pub(super) fn push_back(&mut self, slot: SlotId, index: Index) -> u64 {
        let (last, hint, filed) = self.append(slot, index);
        let entry = &mut self.entries[index as usize];
        (entry.next, entry.prev, entry.hint) = (Link::head(slot), last, hint);
        self.set_next(last, Link::entry(index));
        filed
    }

    /// Puts an entry that is on no list at the front of `slot`, which will be drained from
    /// the end `drained`. Says how many have been filed there since it was last empty.
    #[inline]
    pub(super) fn push_front(&mut self, slot: SlotId, index: Index, drained: End) -> u64 {
        if slot as usize >= self.heads.len() {
            self.grow_heads(slot);
        }
        let head = &mut self.heads[slot as usize];
        let earlier = head.note(index);
        let filed = head.filed;
        let first = core::mem::replace(&mut head.first, Link::entry(index));
        let entry = &mut self.entries[index as usize];
        (entry.next, entry.prev) = (first, Link::head(slot));
        match drained {
            End::Front => entry.hint = earlier,
            // The one filed earlier is drained first, and will want this one.
            End::Back => {
                if let Some(earlier) = self.entries.get_mut(earlier as usize) {
                    earlier.hint = index;
                }
            }
        }
        self.set_prev(first, Link::entry(index));
        filed
    }

    /// Takes an entry off its list, if it is on one. Says which slot that left empty.
    #[inline]
    pub(super) fn unlink(&mut self, index: Index) -> Option<SlotId> {
        let entry = &mut self.entries[index as usize];
        let (next, prev) = (entry.next, entry.prev);
        if next == Link::NONE {
            return None;
        }
        entry.next = Link::NONE;
        self.set_next(prev, next);
        self.set_prev(next, prev);
        if next != prev {
            return None;
        }
        match next.target() {
            Target::Entry(_) => None,
            Target::Head(slot) => {
                self.heads[slot].filed = 0;
                Some(slot as SlotId)
            }
        }
    }

    /// Takes the entry at the front of `slot` off, and prefetches what comes after it.
    #[inline]
    pub(super) fn pop_front(&mut self, slot: SlotId) -> Option<Popped> {
        let head = self.heads.get_mut(slot as usize)?;
        let Target::Entry(index) = head.first.target() else { return None };
        let Entry { hint, next, .. } = self.entries[index];
        head.first = next;
        let emptied = matches!(next.target(), Target::Head(_));
        head.filed = if emptied { 0 } else { head.filed.saturating_sub(1) };
        self.ahead(hint);
        self.set_prev(next, Link::head(slot));
        Some(self.detached(index, emptied))
    }

    /// Takes the entry at `at` off the back of a slot whose end is open: begin with
    /// [`back`](Self::back), finish with [`seal_back`](Self::seal_back), and let nothing
    /// else touch the slot in between.
    #[inline]
    pub(super) fn pop_back(&mut self, at: &mut Link) -> Option<Popped> {
        let Target::Entry(index) = at.target() else { return None };
        let Entry { hint, prev, .. } = self.entries[index];
        *at = prev;
        self.ahead(hint);
        Some(self.detached(index, matches!(prev.target(), Target::Head(_))))
    }

    /// The last entry of `slot`.
    #[inline]
    pub(super) fn back(&self, slot: SlotId) -> Link {
        self.heads.get(slot as usize).map_or(Link::head(slot), |head| head.last)
    }

    /// Makes `last` the last entry of `slot`, after so many were taken off.
    pub(super) fn seal_back(&mut self, slot: SlotId, last: Link, popped: u64) {
        let head = &mut self.heads[slot as usize];
        head.last = last;
        head.filed = if last == Link::head(slot) { 0 } else { head.filed.saturating_sub(popped) };
        self.set_next(last, Link::head(slot));
    }

    #[inline]
    fn detached(&mut self, index: usize, emptied: bool) -> Popped {
        let entry = &mut self.entries[index];
        entry.next = Link::NONE;
        Popped { index: index as Index, due: entry.due, armed: entry.value.is_some(), emptied }
    }

    /// Prefetches an entry, from its due tick to the tag of its value, which may lie on two lines.
    #[inline]
    fn ahead(&self, hint: Index) {
        if let Some(entry) = self.entries.get(hint as usize) {
            prefetch(&raw const entry.due);
            prefetch(&raw const entry.value);
        }
    }

    /// Moves everything on `from` behind everything on `to`, in order. O(1).
    pub(super) fn splice(&mut self, from: SlotId, to: SlotId) {
        if self.is_empty(from) {
            return;
        }
        if to as usize >= self.heads.len() {
            self.grow_heads(to);
        }
        let Head { first, last, filed, .. } = core::mem::replace(&mut self.heads[from as usize], Head::new(from));
        let before = self.heads[to as usize].last;
        self.set_next(before, first);
        self.set_prev(first, before);
        self.set_next(last, Link::head(to));
        let head = &mut self.heads[to as usize];
        head.last = last;
        head.filed += filed;
    }
}

// === impl Store: everything at once ===

/// Index, generation, due tick and value of every armed entry, by index.
pub(super) struct Entries<'a, T>(core::iter::Enumerate<core::slice::Iter<'a, Entry<T>>>);

/// As [`Entries`], by value.
pub(super) struct IntoEntries<T>(core::iter::Enumerate<alloc::vec::IntoIter<Entry<T>>>);

impl<T> Store<T> {
    pub(super) fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.entries.reserve(additional.saturating_sub(self.free.len()));
    }

    pub(super) fn entries(&self) -> Entries<'_, T> {
        Entries(self.entries.iter().enumerate())
    }

    /// Takes every entry, and leaves every list empty. No index or generation is remembered.
    pub(super) fn take_entries(&mut self) -> IntoEntries<T> {
        IntoEntries(self.reset().into_iter().enumerate())
    }

    /// Drops every entry and keeps the memory. Everything is empty before the first is dropped.
    pub(super) fn clear(&mut self) {
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
        (self.len, self.floor) = (0, NonZeroU32::MIN);
        core::mem::take(&mut self.entries)
    }

    /// Gives back the memory of entries above the highest that is needed. Says how many are
    /// left. None may be leaving.
    pub(super) fn shrink_to_fit(&mut self) -> usize {
        let stays = |entry: &Entry<T>| entry.value.is_some() || entry.generation == NonZeroU32::MAX;
        let kept = self.entries.iter().rposition(stays).map_or(0, |highest| highest + 1);
        let dropped = self.entries.drain(kept..).map(|entry| entry.generation).max();
        self.floor = self.floor.max(dropped.unwrap_or(NonZeroU32::MIN));
        self.free.retain(|index| (*index as usize) < kept);
        self.entries.shrink_to_fit();
        self.free.shrink_to_fit();
        kept
    }
}

impl<T> Store<T> {
    /// Walks every list and asserts what this file promises, given which entry is kept;
    /// calls `each(slot, index, entry)` for every entry on a list. See [`super::check`].
    pub(super) fn check(&self, kept: Option<Index>, mut each: impl FnMut(SlotId, Index, &Entry<T>)) {
        let mut listed = 0;
        for (slot, head) in self.heads.iter().enumerate() {
            let (mut before, mut at, mut len) = (Link::head(slot as SlotId), head.first, 0);
            while let Target::Entry(index) = at.target() {
                let entry = &self.entries[index];
                assert_eq!(entry.prev, before, "slot {slot}: entry {index} points back to the wrong place");
                let leaving = self.leaving.contains(&(index as Index));
                assert_eq!(entry.value.is_none(), leaving, "slot {slot}: entry {index} should not be here");
                each(slot as SlotId, index as Index, entry);
                listed += usize::from(!leaving);
                (before, at, len) = (at, entry.next, len + 1);
                assert!(len <= self.entries.len(), "slot {slot}: the list is longer than all there is");
            }
            assert_eq!(at, Link::head(slot as SlotId), "slot {slot}: the list ends at another slot");
            assert_eq!(head.last, before, "slot {slot}: wrong last entry");
            assert!(head.filed as usize >= len, "slot {slot}: {len} entries, but only {} filed", head.filed);
            assert!(len > 0 || head.filed == 0, "slot {slot}: empty, but {} filed", head.filed);
        }
        assert_eq!(listed, self.len, "{listed} armed entries on lists, {} counted", self.len);
        let values = self.entries.iter().filter(|entry| entry.value.is_some()).count();
        assert_eq!(values, self.len, "{values} entries with a value, {} counted", self.len);

        for index in &self.free {
            let entry = &self.entries[*index as usize];
            assert!(entry.value.is_none(), "free entry {index} holds a timer");
            assert_eq!(entry.next, Link::NONE, "free entry {index} is on a list");
        }
        let leaving = self.leaving.iter().filter(|index| **index != NO_INDEX).count();
        let used_up = self.entries.iter().enumerate().filter(|(index, entry)| {
            let index = *index as Index;
            let unused = entry.value.is_none() && entry.generation == NonZeroU32::MAX;
            unused && kept != Some(index) && !self.leaving.contains(&index) && !self.free.contains(&index)
        });
        let kept = usize::from(kept.is_some());
        let accounted = self.len + self.free.len() + leaving + kept + used_up.count();
        assert_eq!(accounted, self.entries.len(), "entries lost, or counted twice");
    }
}

impl<T> Clone for Entries<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, T> Iterator for Entries<'a, T> {
    type Item = (Index, NonZeroU32, u64, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.find_map(|(index, entry)| {
            entry.value().map(|value| (index as Index, entry.generation, entry.due, value))
        })
    }
}

impl<T> Iterator for IntoEntries<T> {
    type Item = (Index, NonZeroU32, u64, T);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.find_map(|(index, entry)| {
            entry.value.map(|value| (index as Index, entry.generation, entry.due, value))
        })
    }
}

// === impl Entry ===

impl<T> Entry<T> {
    #[inline]
    pub(super) fn value(&self) -> Option<&T> {
        self.value.as_ref()
    }

    #[inline]
    pub(super) fn value_mut(&mut self) -> Option<&mut T> {
        self.value.as_mut()
    }
}
