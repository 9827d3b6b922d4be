//! What comes next: the next slot that begins, the next share that moves down.

use super::Calendar;
use crate::geometry::Geometry;
use crate::wheel::store::SlotId;

/// Ticks at which something happens next; `u64::MAX` if nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wheel) struct Ahead {
    /// A slot begins that holds something.
    pub(in crate::wheel) start: u64,
    /// There is work: a slot begins, or a share moves down.
    pub(in crate::wheel) work: u64,
}

impl<const BITS: u32> Calendar<BITS> {
    // --- what comes next ---

    /// What lies ahead of the cursor, over the next occupied slot of every lane.
    #[inline]
    pub(in crate::wheel) fn ahead(&self, crowd: impl Fn(SlotId) -> u32) -> Ahead {
        let mut ahead = Ahead {
            start: u64::MAX,
            work: u64::MAX,
        };
        let mut lanes = self.occupied;
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            lanes &= lanes - 1;
            let level = Self::level_of(lane);
            let shift = Geometry::<BITS>::shift(level);
            let current = self.now >> shift;
            let slot = (current & (Geometry::<BITS>::SLOTS - 1)) as u32;
            let distance = self.lanes[lane as usize]
                .occupied
                .distance_after(slot, Geometry::<BITS>::SLOTS);
            let start = (current + distance) << shift;
            let id = Self::id(lane, Geometry::<BITS>::slot(level, start));
            let work = if !Self::moves_early(lane, crowd(id)) {
                start
            } else if distance == 1 {
                self.lanes[lane as usize].share_due.max(self.now + 1)
            } else {
                start - (1 << shift)
            };
            ahead.start = ahead.start.min(start);
            ahead.work = ahead.work.min(work);
        }
        ahead
    }

    // --- moving down ahead of need ---

    /// The slot of `level` after the current one, if it holds anything, and when it begins.
    #[inline]
    pub(in crate::wheel) fn next_slot(&self, level: u32) -> Option<(SlotId, u64)> {
        let shift = Geometry::<BITS>::shift(level);
        let start = ((self.now >> shift) + 1) << shift;
        Some((self.occupied_slot(Self::plain(level), start)?, start))
    }

    /// How many entries of the next slot of `level` are due to move down now, given how many
    /// it holds. Says so once for every share.
    #[inline]
    pub(in crate::wheel) fn share(&mut self, level: u32, start: u64, crowd: u32) -> u32 {
        let lane = &mut self.lanes[Self::plain(level) as usize];
        if crowd <= Self::SHARE || lane.share_due > self.now {
            return 0;
        }
        let left = start - self.now;
        let pace = left.saturating_mul(u64::from(Self::SHARE)) / u64::from(crowd);
        lane.share_due = self.now + pace.max(1);
        Self::SHARE.max(u64::from(crowd).div_ceil(left) as u32)
    }

    /// The highest level whose plain lane holds something.
    #[inline]
    pub(in crate::wheel) fn top_level(&self) -> u32 {
        (self.occupied & Self::PLAIN)
            .checked_ilog2()
            .map_or(0, Self::level_of)
    }
}
