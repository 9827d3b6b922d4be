//! The lists: intrusive, circular, closed by a head per slot.

use super::{Entry, Index, NO_INDEX, SlotId, Store};
use crate::prefetch::prefetch;

/// How far ahead of a drain the entries are prefetched.
const AHEAD: usize = 8;

/// Slots that belong to no level come first, so many of them.
pub(in crate::wheel) const LISTS: SlotId = 3;

/// Heads are made so many at a time: the slots of one level.
const HEADS: usize = 512;

/// Points along a list: at an entry, or at the head that closes the circle, or nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wheel) struct Link(u32);

/// Where a link leads.
pub(super) enum Target {
    Entry(usize),
    Head(usize),
}

/// Closes the list of a slot.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) first: Link,
    pub(super) last: Link,
    /// Entries filed since the list was last empty, less those drained: not less than its
    /// length, and more once entries have been unlinked.
    pub(super) filed: u64,
    /// The entries filed last, in a ring.
    recent: [Index; AHEAD],
}

/// An end of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wheel) enum End {
    Front,
    Back,
}

/// What was taken off a slot.
#[derive(Clone, Copy, Debug)]
pub(in crate::wheel) struct Popped {
    pub(in crate::wheel) index: Index,
    /// When it is due; `None` if it was cancelled and is leaving.
    pub(in crate::wheel) due: Option<u64>,
    /// Whether it was the last one.
    pub(in crate::wheel) emptied: bool,
    /// An entry that will be wanted some steps later, as far as is known.
    #[cfg_attr(
        not(all(feature = "std", target_has_atomic = "64")),
        expect(dead_code, reason = "for the shared wheel")
    )]
    pub(in crate::wheel) hint: Index,
}

// === impl Link ===

impl Link {
    const HEAD: u32 = 1 << 31;

    /// On no list.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(super) const fn entry(index: Index) -> Self {
        Self(index)
    }

    #[inline]
    pub(super) const fn head(slot: SlotId) -> Self {
        Self(slot | Self::HEAD)
    }

    #[inline]
    pub(super) const fn target(self) -> Target {
        if self.0 & Self::HEAD == 0 {
            Target::Entry(self.0 as usize)
        } else {
            Target::Head((self.0 & !Self::HEAD) as usize)
        }
    }

    /// The index of the entry this leads to, or one that no entry has.
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

// === impl Head ===

impl Head {
    pub(super) const fn new(slot: SlotId) -> Self {
        Self {
            first: Link::head(slot),
            last: Link::head(slot),
            filed: 0,
            recent: [0; AHEAD],
        }
    }

    /// Notes that `index` is filed, and says which one was filed [`AHEAD`] before it.
    #[inline]
    fn note(&mut self, index: Index) -> Index {
        let place = &mut self.recent[self.filed as usize % AHEAD];
        self.filed += 1;
        core::mem::replace(place, index)
    }
}

// === impl Store ===

impl<T> Store<T> {
    #[inline]
    pub(super) fn set_next(&mut self, of: Link, next: Link) {
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
    pub(super) fn grow_heads(&mut self, slot: SlotId) {
        let from = self.heads.len();
        let levels = slot.saturating_sub(LISTS) as usize / HEADS + 1;
        let end = LISTS as usize + levels * HEADS;
        self.heads.reserve_exact(end - from);
        self.heads
            .extend((from..end).map(|slot| Head::new(slot as SlotId)));
    }

    #[inline]
    pub(in crate::wheel) fn is_empty(&self, slot: SlotId) -> bool {
        self.heads
            .get(slot as usize)
            .is_none_or(|head| head.first == Link::head(slot))
    }

    /// Not less than the number of entries on `slot`, nor more than all there are.
    #[inline]
    pub(in crate::wheel) fn crowd(&self, slot: SlotId) -> u32 {
        self.heads
            .get(slot as usize)
            .map_or(0, |head| head.filed)
            .min(self.entries.len() as u64) as u32
    }

    /// Hooks `index` to the back of the head of `slot`; linking the entries is the caller's.
    /// Returns the entry that was last, the hint, and how many have been filed.
    #[inline]
    pub(super) fn append(&mut self, slot: SlotId, index: Index) -> (Link, Index, u64) {
        let head = &mut self.heads[slot as usize];
        let hint = head.note(index);
        (
            core::mem::replace(&mut head.last, Link::entry(index)),
            hint,
            head.filed,
        )
    }

    /// Puts an armed entry that is on no list at the back of `slot`. Says how many have been
    /// filed there since it was last empty.
    #[inline(always)]
    pub(in crate::wheel) fn push_back(&mut self, slot: SlotId, index: Index) -> u64 {
        if slot as usize >= self.heads.len() {
            self.grow_heads(slot);
        }
        let (last, hint, filed) = self.append(slot, index);
        let entry = &mut self.entries[index as usize];
        (entry.next, entry.prev) = (Link::head(slot), last);
        entry.set_hint(hint);
        self.set_next(last, Link::entry(index));
        filed
    }

    /// Moves an armed entry from the list it is on to the back of `slot`. Says which slot
    /// that left empty, and how many have been filed on `slot` since it was last empty.
    #[inline]
    pub(in crate::wheel) fn refile(&mut self, slot: SlotId, index: Index) -> (Option<SlotId>, u64) {
        let Entry { next, prev, .. } = self.entries[index as usize];
        // Both at once: the stores that close the gap would fetch one line after the other.
        self.ask(next);
        self.ask(prev);
        let emptied = self.close_gap(next, prev);
        (emptied, self.push_back(slot, index))
    }

    /// Puts an armed entry that is on no list at the front of `slot`, which will be drained
    /// from the end `drained`. Says how many have been filed there since it was last empty.
    #[inline]
    pub(in crate::wheel) fn push_front(&mut self, slot: SlotId, index: Index, drained: End) -> u64 {
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
            End::Front => entry.set_hint(earlier),
            // The one filed earlier is drained first, and will want this one.
            End::Back => {
                if let Some(earlier) = self.entries.get_mut(earlier as usize) {
                    earlier.set_hint(index);
                }
            }
        }
        self.set_prev(first, Link::entry(index));
        filed
    }

    /// Takes an entry off its list, if it is on one. Says which slot that left empty.
    #[inline]
    pub(in crate::wheel) fn unlink(&mut self, index: Index) -> Option<SlotId> {
        let entry = &mut self.entries[index as usize];
        let (next, prev) = (entry.next, entry.prev);
        if next == Link::NONE {
            return None;
        }
        entry.next = Link::NONE;
        self.close_gap(next, prev)
    }

    /// Links the neighbours of an entry to each other. Says which slot that leaves empty.
    #[inline(always)]
    fn close_gap(&mut self, next: Link, prev: Link) -> Option<SlotId> {
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
    pub(in crate::wheel) fn pop_front(&mut self, slot: SlotId) -> Option<Popped> {
        let head = self.heads.get_mut(slot as usize)?;
        let Target::Entry(index) = head.first.target() else {
            return None;
        };
        let next = self.entries[index].next;
        head.first = next;
        let emptied = matches!(next.target(), Target::Head(_));
        head.filed = if emptied {
            0
        } else {
            head.filed.saturating_sub(1)
        };
        self.set_prev(next, Link::head(slot));
        Some(self.detach(index, emptied))
    }

    /// The first entries of `slot`, as many as no hint leads to.
    #[cfg(all(feature = "std", target_has_atomic = "64"))]
    #[inline]
    pub(in crate::wheel) fn first(&self, slot: SlotId) -> impl Iterator<Item = Index> {
        let mut at = self.heads.get(slot as usize).map(|head| head.first);
        core::iter::from_fn(move || match at?.target() {
            Target::Entry(index) => {
                at = Some(self.entries[index].next);
                Some(index as Index)
            }
            Target::Head(_) => None,
        })
        .take(AHEAD)
    }

    /// Takes the entry at `at` off the back of a slot whose end is open: begin with
    /// [`back`](Self::back), finish with [`seal_back`](Self::seal_back), and let nothing
    /// else touch the slot in between.
    #[inline]
    pub(in crate::wheel) fn pop_back(&mut self, at: &mut Link) -> Option<Popped> {
        let Target::Entry(index) = at.target() else {
            return None;
        };
        *at = self.entries[index].prev;
        Some(self.detach(index, matches!(at.target(), Target::Head(_))))
    }

    /// The last entry of `slot`.
    #[inline]
    pub(in crate::wheel) fn back(&self, slot: SlotId) -> Link {
        self.heads
            .get(slot as usize)
            .map_or(Link::head(slot), |head| head.last)
    }

    /// Makes `last` the last entry of `slot`, after so many were taken off.
    pub(in crate::wheel) fn seal_back(&mut self, slot: SlotId, last: Link, popped: u64) {
        let head = &mut self.heads[slot as usize];
        head.last = last;
        head.filed = if last == Link::head(slot) {
            0
        } else {
            head.filed.saturating_sub(popped)
        };
        self.set_next(last, Link::head(slot));
    }

    /// Marks an entry as on no list, and prefetches the one that will be wanted after it.
    #[inline]
    fn detach(&mut self, index: usize, emptied: bool) -> Popped {
        let entry = &mut self.entries[index];
        entry.next = Link::NONE;
        let due = entry.held.as_ref().map(|_| entry.due);
        let hint = entry.held.as_ref().map(|held| held.hint);
        if let Some(hint) = hint {
            self.prefetch(hint);
        }
        Popped {
            index: index as Index,
            due,
            emptied,
            hint: hint.unwrap_or(NO_INDEX),
        }
    }

    /// Prefetches an entry, which may lie on two lines.
    #[inline]
    fn prefetch(&self, index: Index) {
        if let Some(entry) = self.entries.get(index as usize) {
            prefetch(&raw const entry.due);
            prefetch(&raw const entry.held);
        }
    }

    /// Moves everything on `from` behind everything on `to`, in order. O(1).
    pub(in crate::wheel) fn splice(&mut self, from: SlotId, to: SlotId) {
        if self.is_empty(from) {
            return;
        }
        if to as usize >= self.heads.len() {
            self.grow_heads(to);
        }
        let Head {
            first, last, filed, ..
        } = core::mem::replace(&mut self.heads[from as usize], Head::new(from));
        let before = self.heads[to as usize].last;
        self.set_next(before, first);
        self.set_prev(first, before);
        self.set_next(last, Link::head(to));
        let head = &mut self.heads[to as usize];
        head.last = last;
        head.filed += filed;
    }
}

// === impl Entry ===

impl<T> Entry<T> {
    #[inline]
    fn set_hint(&mut self, hint: Index) {
        if let Some(held) = &mut self.held {
            held.hint = hint;
        }
    }
}
