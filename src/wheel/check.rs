//! The dumb walker: every invariant of a wheel, asserted by looking at everything.

use alloc::vec::Vec;

use super::Wheel;
use super::calendar::Filed;

impl<T, const BITS: u32> Wheel<T, BITS> {
    /// Panics if anything about the wheel is not as it should be. O(slots + timers).
    ///
    /// For tests: ours run it after every step of every model. Not part of the API.
    #[doc(hidden)]
    pub fn check(&self) {
        let mut places: Vec<Option<Filed>> = Vec::new();
        self.calendar.check(
            |slot| self.store.is_empty(slot),
            |slot, filed| {
                let at = slot as usize;
                places.resize(places.len().max(at + 1), None);
                places[at] = Some(filed);
            },
        );
        let (mut earliest, mut nevers) = (u64::MAX, 0);
        self.store.check(self.fired, |slot, index, entry| {
            let due = entry.due();
            match places[slot as usize] {
                None => panic!("entry {index} is on slot {slot}, which is marked empty"),
                Some(Filed::Late) => {
                    assert!(
                        due <= self.now().get(),
                        "entry {index}: due {due}, but on a late list"
                    );
                    assert!(
                        self.calendar.is_awake(),
                        "entry {index} is late, but the wheel sleeps"
                    );
                }
                Some(Filed::Never) => {
                    assert_eq!(due, u64::MAX, "entry {index} is held as never due");
                }
                Some(Filed::From(start)) => {
                    assert!(
                        due >= start,
                        "entry {index}: due {due}, but on a slot that begins at {start}"
                    );
                }
                Some(Filed::Parked(start)) => {
                    assert!(
                        self.tolerance(index).is_some(),
                        "entry {index} is parked without a tolerance"
                    );
                    assert!(
                        due >= start,
                        "entry {index}: due {due}, but parked at {start}"
                    );
                }
            }
            if let Some(asked) = self.tolerance(index) {
                let coalesced = asked.deadline.coalesce(asked.span).get();
                assert_eq!(coalesced, due, "entry {index} is not due as {asked:?} says");
            }
            earliest = earliest.min(due);
            nevers += usize::from(due == u64::MAX);
        });
        assert_eq!(
            nevers,
            self.calendar.nevers(),
            "{nevers} are never due, {} counted",
            self.calendar.nevers()
        );
        match self.next_deadline() {
            None => assert_eq!(
                earliest,
                u64::MAX,
                "something is due at {earliest}, but the wheel waits for nothing"
            ),
            Some(next) => {
                assert!(
                    next >= self.now(),
                    "next deadline {next:?} is before {:?}",
                    self.now()
                );
                let bound = earliest.max(self.now().get());
                assert!(
                    next.get() <= bound,
                    "next deadline {next:?} is after the earliest, {earliest}"
                );
            }
        }
    }
}
