//! What comes next: the next slot that begins, the next share that moves down.

use super::Calendar;
use crate::geometry::Geometry;
use crate::wheel::store::SlotId;

impl<const BITS: u32> Calendar<BITS> {
    // --- what comes next ---

    /// The first tick ahead at which a slot begins that holds something.
    #[inline]
    pub(in crate::wheel) fn next_start(&self) -> Option<u64> {
        self.earliest(|_, _, start| start)
    }

    /// The first tick ahead at which there is work: a slot begins, or a share moves down.
    #[inline]
    pub(in crate::wheel) fn next_work(&self, crowd: impl Fn(SlotId) -> u32) -> Option<u64> {
        self.earliest(|lane, distance, start| {
            let level = Self::level_of(lane);
            let id = Self::id(lane, Geometry::<BITS>::slot(level, start));
            if !Self::moves_early(lane, crowd(id)) {
                start
            } else if distance == 1 {
                self.lanes[lane as usize].share_due.max(self.now + 1)
            } else {
                start - (1 << Geometry::<BITS>::shift(level))
            }
        })
    }

    /// The least `of(lane, slots ahead, start)` over the next occupied slot of every lane.
    #[inline]
    fn earliest(&self, of: impl Fn(u32, u64, u64) -> u64) -> Option<u64> {
        let mut earliest = None;
        let mut lanes = self.occupied;
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            lanes &= lanes - 1;
            let shift = Geometry::<BITS>::shift(Self::level_of(lane));
            let current = self.now >> shift;
            let slot = (current & (Geometry::<BITS>::SLOTS - 1)) as u32;
            let distance = self.lanes[lane as usize]
                .occupied
                .distance_after(slot, Geometry::<BITS>::SLOTS);
            let tick = of(lane, distance, (current + distance) << shift);
            earliest = Some(earliest.map_or(tick, |other: u64| other.min(tick)));
        }
        earliest
    }

    // --- moving down ahead of need ---

    /// The slot of `level` whose next share is due to move down now: which, when it
    /// begins, and how many entries.
    #[inline]
    pub(in crate::wheel) fn share(
        &mut self,
        level: u32,
        crowd: impl Fn(SlotId) -> u32,
    ) -> Option<(SlotId, u64, u32)> {
        let shift = Geometry::<BITS>::shift(level);
        let start = ((self.now >> shift) + 1) << shift;
        let id = self.occupied_slot(Self::plain(level), start)?;
        let crowd = crowd(id);
        let lane = &mut self.lanes[Self::plain(level) as usize];
        if crowd <= Self::SHARE || lane.share_due > self.now {
            return None;
        }
        let left = start - self.now;
        let pace = left.saturating_mul(u64::from(Self::SHARE)) / u64::from(crowd);
        lane.share_due = self.now + pace.max(1);
        Some((
            id,
            start,
            Self::SHARE.max(u64::from(crowd).div_ceil(left) as u32),
        ))
    }

    /// Levels above the lowest whose plain lane holds something, the highest first.
    #[inline]
    pub(in crate::wheel) fn coarse_levels(&self) -> impl Iterator<Item = u32> + use<BITS> {
        let mut lanes = self.occupied & !Self::PARKED & !1;
        core::iter::from_fn(move || {
            let lane = lanes.checked_ilog2()?;
            lanes &= !(1 << lane);
            Some(Self::level_of(lane))
        })
    }
}
