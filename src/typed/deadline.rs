//! One word per record: when it expires, or that it has ended.
//!
//! | word | meaning | who may move it | to |
//! |---|---|---|---|
//! | 0 | ended | nobody | |
//! | a time | lives before that, and has expired from then on | whoever touches it, before that | a later time |
//! | | | whoever ends it | 0 |
//!
//! Each move is a `compare_exchange` on the word that was judged, so that a touch can neither
//! revive what has expired nor bring a deadline forward, and of those who would end a
//! record one does. That one has the record's end to tell of.
//!
//! A record is found to have expired by comparing, and that costs nobody a write. Whoever finds it so
//! has to [`expire`](Deadline::expire) it: from then on it is over even if the clock goes back.

use crate::Timestamp;
use crate::shared::mutant::{mutant, ordering};
use crate::sync::{AtomicU64, Ordering};

const ENDED: u64 = 0;

/// When a record expires.
#[derive(Debug)]
pub(crate) struct Deadline(AtomicU64);

/// It has ended, or its time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// What an attempt to expire a record has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// This call has ended it. It was to live until then.
    Expired(Timestamp),
    /// It lives, until then.
    Lives(Timestamp),
    /// Somebody else has ended it.
    Over,
}

// === impl Deadline ===

impl Deadline {
    /// A record that expires at that time.
    pub(crate) fn new(at: Timestamp) -> Self {
        Self(AtomicU64::new(word(at)))
    }

    /// The deadline, or `None` if the record has ended. It may be over.
    #[inline]
    pub(crate) fn get(&self) -> Option<Timestamp> {
        // ORDERING: Acquire pairs with the Release of whoever has moved it.
        let word = self.0.load(ordering!(Acquire unless DeadlineUnseen));
        (word != ENDED).then_some(Timestamp::from_nanos(word))
    }

    /// Whether the record lives at that time. One load and one comparison.
    #[inline]
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        // ORDERING: Acquire, as in `get`.
        self.0.load(Ordering::Acquire) > now.as_nanos()
    }

    /// Lets a record that lives at `now` live until `to`, or as long as it does if that is longer. Says
    /// until when it lives.
    #[inline]
    pub(crate) fn touch(&self, now: Timestamp, to: Timestamp) -> Result<Timestamp, Gone> {
        let to = word(to);
        // ORDERING: Acquire, as in `get`.
        let mut before = self.0.load(Ordering::Acquire);
        loop {
            if before <= now.as_nanos() {
                return Err(Gone);
            }
            if to <= before {
                return Ok(Timestamp::from_nanos(before));
            }
            if mutant!(TouchBlind) {
                // ORDERING: AcqRel, as below: it is the blindness that is to be noticed.
                before = self.0.swap(to, Ordering::AcqRel);
                return Ok(Timestamp::from_nanos(to.max(before)));
            }
            // ORDERING: AcqRel. Release pairs with the Acquire of whoever looks.
            let order = ordering!(AcqRel unless TouchRelaxed);
            match self
                .0
                .compare_exchange(before, to, order, Ordering::Acquire)
            {
                Ok(_) => return Ok(Timestamp::from_nanos(to)),
                Err(changed) => before = changed,
            }
        }
    }

    /// Ends a record whose time is over.
    pub(crate) fn expire(&self, now: Timestamp) -> Expiry {
        // ORDERING: Acquire, as in `get`.
        let mut before = self.0.load(Ordering::Acquire);
        loop {
            if before == ENDED {
                return Expiry::Over;
            }
            if before > now.as_nanos() {
                return Expiry::Lives(Timestamp::from_nanos(before));
            }
            match self.end_from(before) {
                Ok(()) => return Expiry::Expired(Timestamp::from_nanos(before)),
                Err(changed) => before = changed,
            }
        }
    }

    /// Ends a record, if it lives at `now`. Says until when it would have lived. What has expired
    /// is left to [`expire`](Self::expire).
    pub(crate) fn end(&self, now: Timestamp) -> Result<Timestamp, Gone> {
        // ORDERING: Acquire, as in `get`.
        let mut before = self.0.load(Ordering::Acquire);
        loop {
            if before <= now.as_nanos() {
                return Err(Gone);
            }
            match self.end_from(before) {
                Ok(()) => return Ok(Timestamp::from_nanos(before)),
                Err(changed) => before = changed,
            }
        }
    }

    fn end_from(&self, before: u64) -> Result<(), u64> {
        if mutant!(EndBlind) {
            // ORDERING: AcqRel, as below: it is the blindness that is to be noticed.
            self.0.swap(ENDED, Ordering::AcqRel);
            return Ok(());
        }
        // ORDERING: AcqRel. Whoever ends the record has seen all that was done to it, and whoever sees
        // that it has ended sees what was done before that.
        let order = ordering!(AcqRel unless EndRelaxed);
        self.0
            .compare_exchange(before, ENDED, order, Ordering::Acquire)
            .map(|_| ())
    }
}

/// The word for a deadline. At the beginning of time nothing lives, a nanosecond later neither.
fn word(at: Timestamp) -> u64 {
    at.as_nanos().max(ENDED + 1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! Properties: a record does what a cell with a deadline and a flag does; of many threads that
    //! end it one does, and none revives it.

    use alloc::vec::Vec;
    use std::sync::Barrier;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Touch(u64, u64),
        Expire(u64),
        End(u64),
    }

    proptest! {
        #[test]
        fn a_record_does_what_a_deadline_and_a_flag_do(
            start in 0u64..40,
            steps in prop::collection::vec(
                prop_oneof![
                    4 => (0u64..40, 0u64..50).prop_map(|(now, to)| Step::Touch(now, to)),
                    1 => (0u64..40).prop_map(Step::Expire),
                    1 => (0u64..40).prop_map(Step::End),
                ],
                0..20,
            ),
        ) {
            let at = Timestamp::from_nanos;
            let record = Deadline::new(at(start));
            let (mut deadline, mut ended) = (start.max(1), false);
            for step in steps {
                match step {
                    Step::Touch(now, to) => {
                        let lives = !ended && now < deadline;
                        if lives {
                            deadline = deadline.max(to);
                        }
                        let expected = if lives { Ok(at(deadline)) } else { Err(Gone) };
                        prop_assert_eq!(record.touch(at(now), at(to)), expected);
                    }
                    Step::Expire(now) => {
                        let expected = match (ended, now < deadline) {
                            (true, _) => Expiry::Over,
                            (false, true) => Expiry::Lives(at(deadline)),
                            (false, false) => Expiry::Expired(at(deadline)),
                        };
                        prop_assert_eq!(record.expire(at(now)), expected);
                        ended |= now >= deadline;
                    }
                    Step::End(now) => {
                        let lives = !ended && now < deadline;
                        let expected = if lives { Ok(at(deadline)) } else { Err(Gone) };
                        prop_assert_eq!(record.end(at(now)), expected);
                        ended |= lives;
                    }
                }
                prop_assert_eq!(record.get(), (!ended).then_some(at(deadline)));
                for now in [deadline - 1, deadline, deadline + 1] {
                    prop_assert_eq!(record.is_live(at(now)), !ended && now < deadline);
                }
            }
        }
    }

    #[test]
    fn never_is_never() {
        let record = Deadline::new(Timestamp::NEVER);
        let last = Timestamp::from_nanos(u64::MAX - 1);
        assert!(record.is_live(last));
        assert_eq!(record.expire(last), Expiry::Lives(Timestamp::NEVER));
        assert_eq!(record.touch(last, last), Ok(Timestamp::NEVER));
    }

    #[test]
    fn of_many_who_end_a_record_one_does() {
        let at = Timestamp::from_nanos;
        for round in 0..200 {
            let record = Deadline::new(at(10));
            let start = Barrier::new(8);
            let ended: usize = thread::scope(|scope| {
                let threads: Vec<_> = (0..8)
                    .map(|n| {
                        let (record, start) = (&record, &start);
                        scope.spawn(move || {
                            start.wait();
                            match (n + round) % 4 {
                                0 => {
                                    usize::from(matches!(record.expire(at(20)), Expiry::Expired(_)))
                                }
                                1 => usize::from(record.end(at(5)).is_ok()),
                                _ => {
                                    let _ = record.touch(at(9), at(15));
                                    0
                                }
                            }
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .sum()
            });
            assert_eq!(ended, 1);
            assert_eq!(record.get(), None);
            assert_eq!(record.touch(at(0), at(99)), Err(Gone));
        }
    }
}
