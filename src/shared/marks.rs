//! Marks: how the driver learns which entries to look at.
//!
//! One bit per entry in its block, one per block in its group, and 64 at the root, which the
//! groups share. Whoever marks an entry goes up: sets the bit below, then makes sure of the one
//! above. The driver goes down: clears a word, then those below it.
//!
//! Marking does not depend on anybody else's having been finished, and can be done twice.
//! Nothing is lost, because on both sides each word is taken by a read-modify-write. Say the
//! driver cleared a block's marks too early to find one. Then whoever set that mark read what
//! the driver had written, hence also sees that the driver has cleared the group's and the
//! root's; what it finds set there has been set since, and will be swept.
//!
//! The last word in the chain is the tick until which the driver sleeps, see
//! [`announce`](Bell::announce).

use alloc::boxed::Box;
use core::fmt;

use super::arena::{self, Arena, Group};
use super::mutant::{mutant, ordering};
use crate::sync::{AtomicU64, Ordering};

/// What the driver listens to: read by all who mark an entry, written seldom.
pub(super) struct Bell {
    /// Bit `i` stands for the groups whose number leaves `i` when divided by 64.
    root: AtomicU64,
    /// The tick until which the driver sleeps; [`AWAKE`] if it does not.
    sleeps_until: AtomicU64,
    /// Wakes it.
    wake: Option<Box<dyn Fn() + Send + Sync>>,
}

/// Nothing is due before this.
const AWAKE: u64 = 0;

/// Bits of the root. One in the models, so that groups share it.
const ROOT: u32 = if cfg!(loom) { 1 } else { u64::BITS };

/// The driver's way down through the marks; it can stop anywhere.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// Root bits to go into, and up to which group.
    root: u64,
    groups: u32,
    /// The group to look at next; those of one root bit follow each other.
    group: Option<u32>,
    /// What is left of a group, and its number.
    blocks: u64,
    in_group: u32,
    /// What is left of a block, and its first entry.
    entries: u64,
    first: u32,
}

// === impl Bell ===

impl Bell {
    pub(super) fn new(wake: Option<Box<dyn Fn() + Send + Sync>>) -> Self {
        Self {
            root: AtomicU64::new(0),
            sleeps_until: AtomicU64::new(AWAKE),
            wake,
        }
    }

    /// Makes sure that the driver looks at the entry `index`, and wakes it if it sleeps beyond
    /// `due`. The word comes first.
    #[inline]
    pub(super) fn ring<T>(&self, index: u32, due: u64, arena: &Arena<T>) {
        let Some(group) = arena.group(arena::group_of(index)) else {
            unreachable!("entry {index} was never handed out")
        };
        let found = self.mark(index, group);
        if mutant!(WakeUnchecked) && found {
            return;
        }
        // ORDERING: Relaxed. Ordered after the root by its Acquire; see `announce`.
        if due < self.sleeps_until.load(Ordering::Relaxed) || mutant!(WakeAlways) {
            if let Some(wake) = &self.wake {
                wake();
            }
        }
    }

    /// Sets the marks of an entry. Says whether the root's was there.
    #[inline]
    fn mark<T>(&self, index: u32, group: &Group<T>) -> bool {
        let (block_bit, entry_bit) = arena::mark_bits(index);
        // ORDERING: AcqRel, a read-modify-write that pairs with the swap in `Sweep::next`.
        // Release: if the driver finds the bit, it sees the word. Acquire: if it swept before,
        // it is seen to have cleared what is above.
        let others = group
            .block_marks(index)
            .fetch_or(entry_bit, ordering!(AcqRel unless MarkRelaxed));
        if mutant!(GroupUnchecked) && others != 0 {
            return true;
        }
        // ORDERING: Acquire: whoever set it had seen the root; and the root is looked at later.
        if group
            .marks
            .0
            .load(ordering!(Acquire unless GroupFoundRelaxed))
            & block_bit
            == 0
        {
            // ORDERING: AcqRel, as for the block.
            let others = group
                .marks
                .0
                .fetch_or(block_bit, ordering!(AcqRel unless MarkRelaxed));
            if mutant!(RootUnchecked) && others != 0 {
                return true;
            }
        }
        let root_bit = 1 << (arena::group_of(index) & (ROOT - 1));
        // ORDERING: Acquire pairs with the AcqRel of whoever set it: if the driver announced its
        // sleep before that, the announcement is seen.
        let found = self.root.load(ordering!(Acquire unless RootFoundRelaxed)) & root_bit != 0;
        if !found {
            // ORDERING: AcqRel, a read-modify-write that pairs with those in `announce` and
            // `Sweep::next`, as for the block.
            self.root
                .fetch_or(root_bit, ordering!(AcqRel unless MarkRelaxed));
        }
        found
    }

    /// Whether anything seems to be marked.
    #[inline]
    pub(super) fn is_marked(&self) -> bool {
        // ORDERING: Relaxed. The swap that follows decides.
        self.root.load(Ordering::Relaxed) != 0
    }

    /// Whether the root bit of a group is set.
    pub(super) fn root_has(&self, group: u32) -> bool {
        // ORDERING: Relaxed. For the walker, which is alone.
        self.root.load(Ordering::Relaxed) >> (group & (ROOT - 1)) & 1 == 1
    }

    /// Announces that the driver sleeps until `tick`. Says whether it may: not if anything
    /// has been marked since the last sweep; then the announcement is withdrawn.
    ///
    /// From here on whoever marks an entry that is due earlier wakes the driver. One whose root
    /// bit comes before the read-modify-write is found by it. One whose root bit comes after
    /// reads what that wrote, hence sees the announcement. One who finds the root bit set by
    /// another has read what that other wrote, and is in the same case.
    pub(super) fn announce(&self, tick: u64) -> bool {
        let early = mutant!(AnnounceLate).then(|| self.root.fetch_or(0, Ordering::AcqRel));
        // ORDERING: Relaxed. Published by the read-modify-write.
        self.sleeps_until.store(tick, Ordering::Relaxed);
        let marked = if mutant!(AnnounceByLoad) {
            self.root.load(Ordering::Acquire)
        } else {
            // ORDERING: AcqRel pairs with the AcqRel in `mark`, both ways.
            early.unwrap_or_else(|| self.root.fetch_or(0, Ordering::AcqRel))
        };
        if marked != 0 {
            self.withdraw();
        }
        marked == 0
    }

    /// The driver is awake.
    #[inline]
    pub(super) fn withdraw(&self) {
        // ORDERING: Relaxed. Whoever misses it wakes the driver once more.
        self.sleeps_until.store(AWAKE, Ordering::Relaxed);
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell")
            .field("root", &self.root)
            .field("sleeps_until", &self.sleeps_until)
            .finish_non_exhaustive()
    }
}

// === impl Sweep ===

impl Sweep {
    /// Whether it has stopped on the way.
    pub(super) fn is_under_way(&self) -> bool {
        (self.root | self.blocks | self.entries) != 0 || self.group.is_some()
    }

    /// Begins at the root. Only when the last sweep is done.
    pub(super) fn begin<T>(&mut self, bell: &Bell, arena: &Arena<T>) {
        debug_assert!(!self.is_under_way(), "the last sweep is not done");
        // ORDERING: AcqRel, a read-modify-write that pairs with that in `mark`. Release: who
        // marks later sees this one. Acquire: the groups are there.
        self.root = bell.root.swap(0, ordering!(AcqRel unless SweepRelaxed));
        if self.root != 0 {
            self.groups = arena::groups(arena.used_now());
        }
    }

    /// The marked entries of the next block, up to `count` of them, whose marks are cleared:
    /// the first entry of the block, and a bit for each.
    #[inline]
    pub(super) fn next<T>(&mut self, count: usize, arena: &Arena<T>) -> Option<(u32, u64)> {
        while self.entries == 0 {
            self.next_block(arena)?;
        }
        let mut rest = self.entries;
        for _ in 0..count {
            rest &= rest.wrapping_sub(1);
        }
        let taken = self.entries & !rest;
        self.entries = rest;
        Some((self.first, taken))
    }

    /// Takes the marks of the next marked block.
    fn next_block<T>(&mut self, arena: &Arena<T>) -> Option<()> {
        while self.blocks == 0 {
            self.next_group(arena)?;
        }
        let at = pop_bit(&mut self.blocks)?;
        self.first = arena::first_of(self.in_group, at);
        let marks = arena.group(self.in_group)?.block_marks(self.first);
        // ORDERING: AcqRel, a read-modify-write that pairs with that in `mark`, both ways.
        self.entries = marks.swap(0, ordering!(AcqRel unless SweepRelaxed));
        Some(())
    }

    /// Takes the marks of the next group under a marked root bit.
    fn next_group<T>(&mut self, arena: &Arena<T>) -> Option<()> {
        let number = match self.group {
            Some(number) => number,
            None => pop_bit(&mut self.root)?,
        };
        let next = number + ROOT;
        self.group = (next < self.groups).then_some(next);
        if number < self.groups {
            self.in_group = number;
            let marks = &arena.group(number)?.marks.0;
            if mutant!(SweepByLoad) && marks.load(Ordering::Relaxed) == 0 {
                return Some(());
            }
            // ORDERING: AcqRel, as for the block.
            self.blocks = marks.swap(0, ordering!(AcqRel unless SweepRelaxed));
        }
        Some(())
    }
}

/// Takes the lowest bit out.
#[inline]
pub(super) fn pop_bit(bits: &mut u64) -> Option<u32> {
    let bit = bits.trailing_zeros();
    if bit == u64::BITS {
        return None;
    }
    *bits &= *bits - 1;
    Some(bit)
}
