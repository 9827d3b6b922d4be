//! The storage part of the dumb walker.

use alloc::collections::BTreeSet;

use super::list::{Link, Target};
use super::{Entry, Index, NO_INDEX, SlotId, Store, USED_UP};

impl<T> Store<T> {
    /// Walks every list and asserts what this module promises, given which entry is kept;
    /// calls `each(slot, index, entry)` for every entry on a list that is not leaving.
    /// See [`Wheel::check`](crate::Wheel::check).
    pub(in crate::wheel) fn check(
        &self,
        kept: Option<Index>,
        mut each: impl FnMut(SlotId, Index, &Entry<T>),
    ) {
        let leaving: BTreeSet<Index> = self
            .leaving
            .iter()
            .copied()
            .filter(|index| *index != NO_INDEX)
            .collect();
        let mut listed = 0;
        for (slot, head) in self.heads.iter().enumerate() {
            let (mut before, mut at, mut len) = (Link::head(slot as SlotId), head.first, 0);
            while let Target::Entry(index) = at.target() {
                let entry = &self.entries[index];
                assert_eq!(
                    entry.prev, before,
                    "slot {slot}: entry {index} points back to the wrong place"
                );
                let leaves = leaving.contains(&(index as Index));
                assert_eq!(
                    entry.held.is_none(),
                    leaves,
                    "slot {slot}: entry {index} should not be here"
                );
                if !leaves {
                    listed += 1;
                    each(slot as SlotId, index as Index, entry);
                }
                (before, at, len) = (at, entry.next, len + 1);
                assert!(
                    len as usize <= self.entries.len(),
                    "slot {slot}: the list is longer than all there is"
                );
            }
            assert_eq!(
                at,
                Link::head(slot as SlotId),
                "slot {slot}: the list ends at another slot"
            );
            assert_eq!(head.last, before, "slot {slot}: wrong last entry");
            assert!(
                head.filed >= len,
                "slot {slot}: {len} entries, but only {} filed",
                head.filed
            );
            assert!(
                len > 0 || head.filed == 0,
                "slot {slot}: empty, but {} filed",
                head.filed
            );
        }
        assert_eq!(
            listed, self.len,
            "{listed} armed entries on lists, {} counted",
            self.len
        );
        let armed = self
            .entries
            .iter()
            .filter(|entry| entry.held.is_some())
            .count();
        assert_eq!(
            armed, self.len,
            "{armed} armed entries, {} counted",
            self.len
        );

        let free: BTreeSet<Index> = self.free.iter().copied().collect();
        assert_eq!(free.len(), self.free.len(), "an entry is free twice");
        for index in &free {
            let entry = &self.entries[*index as usize];
            assert!(entry.held.is_none(), "free entry {index} is armed");
            assert_eq!(entry.next, Link::NONE, "free entry {index} is on a list");
        }
        assert!(free.is_disjoint(&leaving), "an entry is free and leaving");
        assert!(
            kept.is_none_or(|kept| !free.contains(&kept) && !leaving.contains(&kept)),
            "{kept:?} is kept and free"
        );
        let used_up = self
            .entries
            .iter()
            .filter(|entry| entry.held.is_none() && entry.due == USED_UP)
            .count();
        let accounted =
            self.len + free.len() + leaving.len() + usize::from(kept.is_some()) + used_up;
        assert_eq!(
            accounted,
            self.entries.len(),
            "entries lost, or counted twice"
        );
    }
}
