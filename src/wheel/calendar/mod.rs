//! The calendar: which slot a tick belongs to, and when there is work. Knows ticks and
//! slots, never entries.
//!
//! A *lane* is one ring of slots. Every level has a plain lane; every level above the
//! lowest has a second one for *parked* timers, which are due exactly when their slot
//! begins and so fire from it without moving down. Before the lanes there are three lists:
//! two for what is due at the cursor already, one for what is never due.
//!
//! What holds between any two operations:
//! * What is on a plain slot is due at or after the slot's start. The slot lies ahead of
//!   the cursor by 1 to `SLOTS - 1` slots. At level 0 the cursor's own slot may be
//!   occupied too: what is left of it is due.
//! * What is on a parked slot is due at or after the slot's start, which is ahead of
//!   the cursor, or at it.
//! * `wake` is not after the first tick at which there is work, moves ahead of need
//!   included; 0 while there is work at the cursor.
//! * While `wake` is not 0, `start` is the first tick ahead at which a slot begins that
//!   holds something.

mod ahead;
mod check;

use alloc::vec::Vec;
use core::num::NonZeroU64;

use crate::geometry::{Geometry, Occupancy};
use crate::wheel::store::{LISTS, SlotId};
pub(in crate::wheel) use ahead::Ahead;
pub(in crate::wheel) use check::Filed;

/// One ring of slots.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    occupied: Occupancy,
    /// When the next share of the slot after the current one moves down.
    share_due: u64,
}

/// How far time has come, and which slots hold something.
#[derive(Debug)]
pub(in crate::wheel) struct Calendar<const BITS: u32> {
    now: u64,
    wake: u64,
    start: u64,
    /// Bit `i` is set while lane `i` holds something.
    occupied: u64,
    /// Lanes up to the highest that was ever used.
    lanes: Vec<Lane>,
    /// Which of the two late lists takes what is armed at or before the cursor.
    /// The other is being fired.
    accepting: usize,
    /// How many are held without a deadline.
    nevers: usize,
}

// === impl Calendar ===

impl<const BITS: u32> Calendar<BITS> {
    const SLOTS: u32 = Geometry::<BITS>::SLOTS as u32;
    const LEVELS: u32 = Geometry::<BITS>::LEVELS;
    /// The plain lanes, and behind them the parked ones, which not every wheel needs.
    const LANES: u32 = 2 * Self::LEVELS - 1;
    /// Bits of the plain lanes.
    const PLAIN: u64 = (1 << Self::LEVELS) - 1;

    /// What is due at the cursor.
    const LATE: [SlotId; 2] = [0, 1];
    /// What is held without a deadline.
    const NEVER: SlotId = 2;
    /// How many entries move down at a time ahead of need, and what a slot may hold and
    /// still be left to move down all at once. Fewer in the small geometries of tests.
    const SHARE: u32 = if BITS < 6 { 1 << (BITS - 1) } else { 32 };

    pub(in crate::wheel) fn new(now: u64) -> Self {
        const { assert!(Self::LANES <= u64::BITS, "one bit per lane") };
        Self {
            now,
            wake: u64::MAX,
            start: u64::MAX,
            occupied: 0,
            lanes: Vec::new(),
            accepting: 0,
            nevers: 0,
        }
    }

    // --- lanes and slots ---

    /// The lane of ordinary timers at `level`.
    const fn plain(level: u32) -> u32 {
        level
    }

    /// The lane of parked timers at `level`, which is above the lowest.
    const fn parked(level: u32) -> u32 {
        Self::LEVELS + level - 1
    }

    const fn is_plain(lane: u32) -> bool {
        lane < Self::LEVELS
    }

    const fn level_of(lane: u32) -> u32 {
        if Self::is_plain(lane) {
            lane
        } else {
            lane + 1 - Self::LEVELS
        }
    }

    #[inline]
    const fn id(lane: u32, slot: u32) -> SlotId {
        LISTS + lane * Self::SLOTS + slot
    }

    /// The lane and slot of an id; `None` if it is one of the lists.
    const fn position(id: SlotId) -> Option<(u32, u32)> {
        match id.checked_sub(LISTS) {
            Some(position) => Some((position / Self::SLOTS, position % Self::SLOTS)),
            None => None,
        }
    }

    /// The slot of `lane` that covers `tick`, if it holds anything.
    #[inline]
    fn occupied_slot(&self, lane: u32, tick: u64) -> Option<SlotId> {
        if self.occupied >> lane & 1 == 0 {
            return None;
        }
        let slot = Geometry::<BITS>::slot(Self::level_of(lane), tick);
        self.lanes[lane as usize]
            .occupied
            .contains(slot)
            .then_some(Self::id(lane, slot))
    }

    /// Clears the marks of a slot that has become empty.
    #[inline(never)]
    pub(in crate::wheel) fn emptied(&mut self, id: SlotId) {
        let Some((lane, slot)) = Self::position(id) else {
            return;
        };
        let occupied = &mut self.lanes[lane as usize].occupied;
        occupied.remove(slot);
        if occupied.is_empty() {
            self.occupied &= !(1 << lane);
        }
        let shift = Geometry::<BITS>::shift(Self::level_of(lane));
        if !self.is_awake()
            && self.start >> shift << shift == self.start
            && Geometry::<BITS>::slot(Self::level_of(lane), self.start) == slot
        {
            self.start = self.ahead(|_| 0).start;
        }
    }

    /// To be told how many have been filed on a slot after each push: marks the slot when it
    /// becomes occupied, or crowded enough to move down early.
    #[inline]
    pub(in crate::wheel) fn filed(&mut self, id: SlotId, due: u64, filed: u64) {
        if filed == 1 || filed == u64::from(Self::SHARE) + 1 {
            self.mark(id, due, filed as u32);
        }
    }

    #[inline(never)]
    fn mark(&mut self, id: SlotId, due: u64, filed: u32) {
        let Some((lane, slot)) = Self::position(id) else {
            return;
        };
        if self.lanes.len() <= lane as usize {
            self.lanes.resize(lane as usize + 1, Lane::default());
        }
        self.lanes[lane as usize].occupied.insert(slot);
        self.occupied |= 1 << lane;
        let shift = Geometry::<BITS>::shift(Self::level_of(lane));
        let start = due >> shift << shift;
        let work = if Self::moves_early(lane, filed) {
            // It opens when the slot before it becomes current, which may be by now.
            (start - (1 << shift)).max(self.now + 1)
        } else {
            start
        };
        self.start = self.start.min(start);
        self.wake = self.wake.min(work);
    }

    const fn moves_early(lane: u32, crowd: u32) -> bool {
        lane > 0 && Self::is_plain(lane) && crowd > Self::SHARE
    }

    // --- filing ---

    /// The slot for an entry due at `due`. Everything at or before the cursor is late.
    #[inline]
    pub(in crate::wheel) fn slot_for(&mut self, due: u64, tolerant: bool) -> SlotId {
        if due == u64::MAX {
            self.nevers += 1;
            return Self::NEVER;
        }
        let Some(ahead) = due.checked_sub(self.now).and_then(NonZeroU64::new) else {
            self.wake = 0;
            return Self::LATE[self.accepting];
        };
        let level = Geometry::<BITS>::lowest_level(self.now, ahead);
        if tolerant {
            let aligned = Geometry::<BITS>::alignment(due);
            if aligned >= level.max(1) {
                return Self::id(Self::parked(aligned), Geometry::<BITS>::slot(aligned, due));
            }
        }
        Self::id(Self::plain(level), Geometry::<BITS>::slot(level, due))
    }

    /// To be told when what was filed as never due is filed so no longer.
    #[inline]
    pub(in crate::wheel) fn unfiled_never(&mut self) {
        self.nevers -= 1;
    }

    /// How many are held without a deadline.
    #[inline]
    pub(in crate::wheel) fn nevers(&self) -> usize {
        self.nevers
    }

    /// The slot for an entry due at `due` one level below `level`.
    #[inline]
    pub(in crate::wheel) const fn slot_below(level: u32, due: u64) -> SlotId {
        Self::id(
            Self::plain(level - 1),
            Geometry::<BITS>::slot(level - 1, due),
        )
    }

    // --- time ---

    #[inline]
    pub(in crate::wheel) fn now(&self) -> u64 {
        self.now
    }

    /// Moves the cursor. The caller has dealt with every slot that begins before `tick`.
    #[inline]
    pub(in crate::wheel) fn set_now(&mut self, tick: u64) {
        debug_assert!(
            tick >= self.now,
            "the cursor never goes back: {tick} < {}",
            self.now
        );
        self.now = tick;
    }

    /// If there is nothing to do up to `target`, goes there. A compare and a store.
    #[inline]
    pub(in crate::wheel) fn skip_to(&mut self, target: u64) -> bool {
        let idle = target < self.wake;
        if idle {
            self.now = self.now.max(target);
        }
        idle
    }

    /// Says that there is work at the cursor.
    #[inline]
    pub(in crate::wheel) fn stay_awake(&mut self) {
        self.wake = 0;
    }

    /// Goes to `target`, up to which nothing is left to do. Stays awake if something waits
    /// for the next turn.
    #[inline]
    pub(in crate::wheel) fn rest(&mut self, target: u64, ahead: Ahead, something_waits: bool) {
        self.now = self.now.max(target);
        self.start = ahead.start;
        self.wake = if something_waits { 0 } else { ahead.work };
    }

    /// The first tick ahead at which a slot begins that holds something, of a calendar that
    /// is not [awake](Self::is_awake).
    #[inline]
    pub(in crate::wheel) fn next_start(&self) -> u64 {
        self.start
    }

    /// Whether there may be work at the cursor.
    #[inline]
    pub(in crate::wheel) fn is_awake(&self) -> bool {
        self.wake == 0
    }

    // --- what is due at the cursor ---

    /// The list of what was armed at or before the cursor, and the one that is being fired.
    #[inline]
    pub(in crate::wheel) fn late(&self) -> (SlotId, SlotId) {
        (Self::LATE[self.accepting], Self::LATE[1 - self.accepting])
    }

    /// Exchanges the two late lists.
    pub(in crate::wheel) fn swap_late(&mut self) {
        self.accepting = 1 - self.accepting;
    }

    /// The slot that begins at the cursor and holds something.
    #[inline]
    pub(in crate::wheel) fn due_slot(&self) -> Option<SlotId> {
        let plain = self.occupied_slot(Self::plain(0), self.now);
        if plain.is_some() || self.occupied & !Self::PLAIN == 0 {
            return plain;
        }
        self.due_parked()
    }

    #[inline(never)]
    fn due_parked(&self) -> Option<SlotId> {
        (1..=Geometry::<BITS>::alignment(self.now))
            .find_map(|level| self.occupied_slot(Self::parked(level), self.now))
    }

    /// The plain slot of `level` that begins at `tick`, if it holds anything.
    #[inline]
    pub(in crate::wheel) fn slot_beginning(&self, level: u32, tick: u64) -> Option<SlotId> {
        self.occupied_slot(Self::plain(level), tick)
    }

    /// Forgets everything but the time.
    pub(in crate::wheel) fn clear(&mut self) {
        *self = Self::new(self.now);
    }
}
