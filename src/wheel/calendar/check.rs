//! The calendar's part of the dumb walker.

use super::Calendar;
use crate::geometry::{Geometry, Occupancy};
use crate::wheel::store::SlotId;

/// What [`Calendar::check`] knows of a slot.
#[derive(Clone, Copy, Debug)]
pub(in crate::wheel) enum Filed {
    /// The list of what is due at the cursor.
    Late,
    /// The list of what is never due.
    Never,
    /// A slot that begins at this tick.
    From(u64),
    /// A slot of parked timers that begins at this tick.
    Parked(u64),
}

impl<const BITS: u32> Calendar<BITS> {
    /// Asserts what this file promises about slots, given whether each is empty, and
    /// calls `each(slot, where)` for all of them; see [`super::check`].
    pub(in crate::wheel) fn check(
        &self,
        is_empty: impl Fn(SlotId) -> bool,
        mut each: impl FnMut(SlotId, Filed),
    ) {
        let mut work = u64::MAX;
        for list in Self::LATE {
            if !is_empty(list) {
                work = 0;
            }
            each(list, Filed::Late);
        }
        each(Self::NEVER, Filed::Never);
        for lane in 0..Self::LANES {
            let level = Self::level_of(lane);
            let (shift, current) = (
                Geometry::<BITS>::shift(level),
                self.now >> Geometry::<BITS>::shift(level),
            );
            let occupied = self
                .lanes
                .get(lane as usize)
                .map_or(Occupancy::default(), |lane| lane.occupied);
            assert_eq!(
                self.occupied >> lane & 1 == 0,
                occupied.is_empty(),
                "lane {lane}: wrong mark"
            );
            for slot in 0..Self::SLOTS {
                let id = Self::id(lane, slot);
                assert_eq!(
                    occupied.contains(slot),
                    !is_empty(id),
                    "lane {lane} slot {slot}: wrong mark"
                );
                if is_empty(id) {
                    continue;
                }
                let distance =
                    u64::from(slot).wrapping_sub(current) & (Geometry::<BITS>::SLOTS - 1);
                let start = (current + distance) << shift;
                if lane == 0 || !Self::is_plain(lane) {
                    assert!(
                        start >= self.now,
                        "lane {lane} slot {slot} begins at {start}, before {}",
                        self.now
                    );
                } else {
                    assert_ne!(distance, 0, "lane {lane}: the current slot is occupied");
                }
                work = work.min(if start == self.now { 0 } else { start });
                each(
                    id,
                    if Self::is_plain(lane) {
                        Filed::From(start)
                    } else {
                        Filed::Parked(start)
                    },
                );
            }
        }
        assert!(
            self.wake <= work,
            "there is work at {work}, but the wheel sleeps until {}",
            self.wake
        );
        if !self.is_awake() {
            assert_eq!(
                self.start, work,
                "the next slot begins at {work}, not {}",
                self.start
            );
        }
    }
}
