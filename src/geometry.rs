//! Pure arithmetic of the hierarchy: which level, which slot, which tick.
//!
//! A wheel of `BITS` bits per level has levels of `2^(BITS + 1)` slots, and a slot
//! of level *l* spans `2^(BITS * l)` ticks. Levels therefore overlap by half: what
//! a coarse slot holds is already within reach of the level below while the slot
//! before it is current, so its entries can move down a few at a time instead of
//! all at once when it comes up.
//!
//! The idea of the hierarchy is Varghese & Lauck's ("Hashed and Hierarchical Timing
//! Wheels", SOSP 1987, scheme 7); the overlap is ours.

use core::num::NonZeroU64;

/// Geometry of a wheel with `BITS` bits per level, from 2 to 8.
pub(crate) struct Geometry<const BITS: u32>;

/// A level, and what it takes to tell whether it reaches far enough.
#[derive(Clone, Copy)]
struct Reach {
    level: u32,
    /// Mask of the ticks within one slot.
    within: u64,
    /// The last of the ticks that all slots together span.
    last: u64,
}

/// One bit per slot of a level: set while the slot holds something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Occupancy([u64; WORDS]);

const WORDS: usize = 8;

// === impl Geometry ===

impl<const BITS: u32> Geometry<BITS> {
    /// Slots per level: twice the radix, and at most the bits of an [`Occupancy`].
    pub(crate) const SLOTS: u64 = {
        assert!(BITS >= 2 && BITS <= 8, "a level has from 8 to 512 slots");
        2 << BITS
    };

    /// Levels that together reach every `u64` tick.
    pub(crate) const LEVELS: u32 = u64::BITS.div_ceil(BITS);

    /// log2 of the ticks one slot of `level` spans.
    #[inline]
    pub(crate) const fn shift(level: u32) -> u32 {
        level * BITS
    }

    /// The slot of `level` that covers `tick`.
    #[inline]
    pub(crate) const fn slot(level: u32, tick: u64) -> u32 {
        ((tick >> Self::shift(level)) & (Self::SLOTS - 1)) as u32
    }

    /// The lowest level whose window of [`SLOTS`](Self::SLOTS) slots, seen from `now`, reaches
    /// the tick `ahead` ticks later.
    ///
    /// Being the *lowest* is what keeps direct arms out of the coarse slot that is being
    /// emptied.
    #[inline]
    pub(crate) const fn lowest_level(now: u64, ahead: NonZeroU64) -> u32 {
        // The level that would do if `now` stood at the start of a slot, and one more if the
        // part of the slot already spent pushes the tick out of reach.
        let reach = &Self::REACH[ahead.ilog2() as usize];
        reach.level + (ahead.get() + (now & reach.within) > reach.last) as u32
    }

    /// By the binary logarithm of a distance: the lowest level whose window spans it.
    const REACH: [Reach; u64::BITS as usize] = {
        let mut reach = [Reach {
            level: 0,
            within: 0,
            last: 0,
        }; u64::BITS as usize];
        let mut log = 0;
        while log < u64::BITS {
            let level = log.saturating_sub(BITS).div_ceil(BITS);
            let within = (1 << Self::shift(level)) - 1;
            let span = Self::SLOTS as u128 * (within as u128 + 1);
            let last = if span > u64::MAX as u128 {
                u64::MAX
            } else {
                span as u64 - 1
            };
            reach[log as usize] = Reach {
                level,
                within,
                last,
            };
            log += 1;
        }
        reach
    };

    /// The highest level at which a slot begins exactly at `due` (0 for most ticks).
    #[inline]
    pub(crate) const fn alignment(due: u64) -> u32 {
        let level = due.trailing_zeros() / BITS;
        if level < Self::LEVELS {
            level
        } else {
            Self::LEVELS - 1
        }
    }
}

// === impl Occupancy ===

impl Occupancy {
    #[inline]
    pub(crate) const fn insert(&mut self, slot: u32) {
        self.0[slot as usize / 64] |= 1 << (slot % 64);
    }

    #[inline]
    pub(crate) const fn remove(&mut self, slot: u32) {
        self.0[slot as usize / 64] &= !(1 << (slot % 64));
    }

    #[inline]
    pub(crate) const fn contains(&self, slot: u32) -> bool {
        self.0[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Slots from `slot` (exclusive) to the next occupied one, going round: `1..=slots`.
    ///
    /// Needs at least one occupied slot, all of them below `slots`.
    #[inline]
    pub(crate) const fn distance_after(&self, slot: u32, slots: u64) -> u64 {
        let from = (slot as u64 + 1) & (slots - 1);
        let mut word = from / 64;
        let ahead = self.0[word as usize] >> (from % 64);
        if ahead != 0 {
            return 1 + ahead.trailing_zeros() as u64;
        }
        // Slots from `from` to the end of its word; a narrow level ends before its word does.
        let narrow = slots < 64;
        let mut passed = if narrow { slots } else { 64 } - from % 64;
        loop {
            word = if (word + 1) * 64 < slots { word + 1 } else { 0 };
            let bits = self.0[word as usize];
            if bits != 0 {
                return 1 + passed + bits.trailing_zeros() as u64;
            }
            passed += 64;
        }
    }
}

#[cfg(test)]
mod tests {
    //! Properties: the closed forms equal the slow scans they replace.

    use super::*;
    use proptest::prelude::*;

    fn slow_lowest<const BITS: u32>(now: u64, due: u64) -> u32 {
        (0..Geometry::<BITS>::LEVELS)
            .find(|level| {
                let shift = Geometry::<BITS>::shift(*level);
                (due >> shift) - (now >> shift) < Geometry::<BITS>::SLOTS
            })
            .expect("the top level reaches everything")
    }

    fn check_lowest<const BITS: u32>(now: u64, due: u64) {
        let Some(ahead) = NonZeroU64::new(due - now) else {
            return;
        };
        assert_eq!(
            Geometry::<BITS>::lowest_level(now, ahead),
            slow_lowest::<BITS>(now, due),
            "bits {BITS} now {now} due {due}"
        );
    }

    fn check_alignment<const BITS: u32>(due: u64) {
        let begins = |level| u128::from(due) % (1u128 << (BITS * level)) == 0;
        let highest = (0..Geometry::<BITS>::LEVELS).rfind(|level| begins(*level));
        let level = Geometry::<BITS>::alignment(due);
        assert_eq!(Some(level), highest, "bits {BITS} due {due}");
    }

    fn ticks() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            (0..64u32, -3i64..=3).prop_map(|(bit, off)| (1u64 << bit).wrapping_add_signed(off)),
        ]
    }

    proptest! {
        #[test]
        fn the_lowest_level_is_what_a_scan_finds(a in ticks(), b in ticks()) {
            let (now, due) = (a.min(b), a.max(b));
            check_lowest::<2>(now, due);
            check_lowest::<3>(now, due);
            check_lowest::<4>(now, due);
            check_lowest::<5>(now, due);
            check_lowest::<6>(now, due);
            check_lowest::<7>(now, due);
            check_lowest::<8>(now, due);
        }

        #[test]
        fn a_tick_is_in_the_slot_that_a_division_finds(tick in ticks(), level in 0..Geometry::<6>::LEVELS) {
            let slot = u128::from(tick) / 64u128.pow(level) % 128;
            prop_assert_eq!(u128::from(Geometry::<6>::slot(level, tick)), slot, "level {} tick {}", level, tick);
        }

        #[test]
        fn the_distance_is_what_a_walk_finds(
            log in 3u32..=9, occupied in proptest::collection::vec(0u32..512, 1..6), slot in 0u32..512,
        ) {
            let (slots, mut occupancy) = (1 << log, Occupancy::default());
            occupied.iter().for_each(|other| occupancy.insert(other % slots));
            let walk = (1..=slots).find(|d| occupancy.contains((slot + d) % slots)).unwrap();
            let found = occupancy.distance_after(slot % slots, u64::from(slots));
            prop_assert_eq!(found, u64::from(walk), "{} slots, {:?} occupied", slots, occupied);
        }

        #[test]
        fn occupied_slots_are_a_set(slots in proptest::collection::vec((0u32..512, any::<bool>()), 0..40)) {
            let (mut occupancy, mut set) = (Occupancy::default(), [false; 512]);
            for (slot, comes) in slots {
                if comes { occupancy.insert(slot) } else { occupancy.remove(slot) }
                set[slot as usize] = comes;
                prop_assert!((0..512).all(|slot| occupancy.contains(slot) == set[slot as usize]), "after {slot}");
                prop_assert_eq!(occupancy.is_empty(), !set.contains(&true));
            }
        }

        #[test]
        fn a_slot_begins_at_its_alignment_and_at_no_higher_level(due in prop_oneof![9 => ticks(), 1 => Just(0)]) {
            check_alignment::<2>(due);
            check_alignment::<6>(due);
            check_alignment::<8>(due);
        }
    }
}
