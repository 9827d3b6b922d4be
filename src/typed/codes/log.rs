//! How often something has happened of late.

use alloc::collections::VecDeque;
#[cfg(feature = "serde")]
use alloc::vec::Vec;
use core::time::Duration;

use crate::Timestamp;

/// How often something may happen in any span of that length, its end not included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) count: u16,
    pub(super) span: Duration,
}

/// Until when each time counts that it has happened: as many as may be, at most, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Log(VecDeque<Timestamp>);

// === impl Log ===

impl Log {
    /// Forgets what counts no more.
    pub(super) fn forget(&mut self, now: Timestamp) {
        while self.0.front().is_some_and(|until| *until <= now) {
            self.0.pop_front();
        }
    }

    /// Until when it may not happen again, if it may not now. After [`forget`](Self::forget).
    pub(super) fn full_until(&self, limit: Limit) -> Option<Timestamp> {
        let oldest = self.0.front()?;
        (self.left(limit) == 0).then_some(*oldest)
    }

    /// How often it may still happen. In a span of no time, as often as it likes.
    pub(super) fn left(&self, limit: Limit) -> u32 {
        if limit.span.is_zero() {
            return u32::MAX;
        }
        let counted = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        u32::from(limit.count).saturating_sub(counted)
    }

    /// It happens, not earlier than the last time. A span of no time remembers nothing.
    pub(super) fn add(&mut self, now: Timestamp, limit: Limit) {
        if !limit.span.is_zero() {
            // One that was restored may count for longer, by other limits.
            let until = now.saturating_add(limit.span).max(self.until());
            self.0.push_back(until);
        }
    }

    /// From when on nothing counts.
    pub(super) fn until(&self) -> Timestamp {
        self.0.back().copied().unwrap_or(Timestamp::ZERO)
    }

    /// Until when each counts.
    #[cfg(feature = "serde")]
    pub(super) fn counted(&self) -> impl Iterator<Item = Timestamp> {
        self.0.iter().copied()
    }

    /// What counts until those times, in any order: the latest of them, if there are more than may be.
    #[cfg(feature = "serde")]
    pub(super) fn of(mut counted: Vec<Timestamp>, limit: Limit) -> Self {
        counted.sort_unstable();
        let excess = counted.len().saturating_sub(limit.count.into());
        Self(counted.drain(excess..).collect())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! Properties: in no span of the length does it happen more often than it may; where it may not, it
    //! may from the time on that is named, and not before.

    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn in_no_span_more_than_may_be(
            count in 1u16..5,
            span in 0u64..20,
            waits in prop::collection::vec(0u64..8, 0..60),
        ) {
            let limit = Limit { count, span: Duration::from_nanos(span) };
            let (mut log, mut times, mut now) = (Log::default(), Vec::<u64>::new(), 0);
            for wait in waits {
                now += wait;
                let at = Timestamp::from_nanos(now);
                log.forget(at);
                let counted = times.iter().filter(|time| now < **time + span).count();
                if span > 0 {
                    prop_assert_eq!(usize::from(count) - counted, log.left(limit) as usize);
                }
                if let Some(until) = log.full_until(limit) {
                    prop_assert_eq!(counted, usize::from(count));
                    prop_assert!(until > at);
                    let then = until.as_nanos();
                    let counted_then = |then| times.iter().filter(|time| then < **time + span).count();
                    prop_assert!(counted_then(then) < usize::from(count));
                    prop_assert_eq!(counted_then(then - 1), usize::from(count));
                } else {
                    log.add(at, limit);
                    times.push(now);
                }
                let last = times.last().map_or(0, |last| last + span);
                if log.until() > at {
                    prop_assert_eq!(log.until().as_nanos(), last);
                } else {
                    prop_assert!(last <= now);
                }
            }
        }
    }
}
