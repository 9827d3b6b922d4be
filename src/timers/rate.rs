//! At most so many firings in so much time: a bucket of tokens.

use core::time::Duration;

use super::BuildError;
use crate::Timestamp;

/// Lets through as many at once as in every `period` after that, spread evenly.
#[derive(Debug)]
pub(super) struct Rate {
    /// Nanoseconds for one firing.
    each: u64,
    period: u64,
    /// When the bucket was, or will have been, empty, counted from one period before the beginning
    /// of time: it holds what has flowed in since.
    empty: u64,
}

// === impl Rate ===

impl Rate {
    /// A rate of so many in so much time, if there is to be one.
    pub(super) fn limit(limit: Option<(u32, Duration)>) -> Result<Option<Self>, BuildError> {
        limit
            .map(|(count, per)| Self::new(count, per).ok_or(BuildError::ZeroRate))
            .transpose()
    }

    /// `None` if it would let nothing through, or more than one in a nanosecond.
    pub(super) fn new(count: u32, period: Duration) -> Option<Self> {
        let period = u64::try_from(period.as_nanos()).ok()?;
        let each = period.checked_div(u64::from(count))?;
        (each > 0).then_some(Self {
            each,
            period: each * u64::from(count),
            empty: 0,
        })
    }

    /// How many may fire now; if none, how long to wait for the first.
    pub(super) fn tokens(&mut self, now: Timestamp) -> Result<usize, Duration> {
        // The bucket is full at the beginning of time: as if there had been a period before it.
        let now = now.as_nanos().saturating_add(self.period);
        // More than one period's worth is not kept. A clock that went back is waited for no
        // longer than that.
        self.empty = self
            .empty
            .clamp(now - self.period, now.saturating_add(self.period));
        let tokens = now.saturating_sub(self.empty) / self.each;
        if tokens > 0 {
            return Ok(tokens as usize);
        }
        let next = self.empty.saturating_add(self.each);
        Err(Duration::from_nanos(next.saturating_sub(now)))
    }

    /// Takes as many as there are, or `most`; if there is none, says how long to wait for the first.
    pub(super) fn take(&mut self, now: Timestamp, most: usize) -> Result<usize, Duration> {
        let taken = self.tokens(now)?.min(most);
        let spent = self.each.saturating_mul(taken as u64);
        self.empty = self.empty.saturating_add(spent);
        Ok(taken)
    }

    /// Puts some back.
    pub(super) fn give_back(&mut self, tokens: usize) {
        let unspent = self.each.saturating_mul(tokens as u64);
        self.empty = self.empty.saturating_sub(unspent);
    }

    /// This rate, holding what another one holds.
    pub(super) fn instead_of(mut self, before: &mut Self, now: Timestamp) -> Self {
        let held = before.tokens(now).unwrap_or(0) as u64;
        let full = now.as_nanos().saturating_add(self.period);
        self.empty = full - self.each.saturating_mul(held).min(self.period);
        self
    }
}

#[cfg(test)]
mod tests {
    //! Property: in no stretch of time does more pass than the rate and one burst allow.

    use alloc::vec::Vec;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_more_passes_than_a_burst_and_the_rate(
            count in 1u32..20, steps in prop::collection::vec(0u64..40, 1..60),
        ) {
            let mut rate = Rate::new(count, Duration::from_nanos(u64::from(count) * 10)).unwrap();
            let (mut now, mut log) = (0, Vec::new());
            for step in steps {
                now += step;
                match rate.take(Timestamp::from_nanos(now), usize::MAX) {
                    Ok(allowed) => {
                        log.push((now, allowed as u64));
                    }
                    Err(wait) => prop_assert!(wait > Duration::ZERO && wait.as_nanos() <= 10),
                }
            }
            for from in 0..log.len() {
                for to in from..log.len() {
                    let passed: u64 = log[from..=to].iter().map(|(_, count)| count).sum();
                    let span = log[to].0 - log[from].0;
                    prop_assert!(passed <= u64::from(count) + span / 10 + 1);
                }
            }
        }
    }

    #[test]
    fn a_rate_of_nothing_is_none() {
        assert!(Rate::new(0, Duration::from_secs(1)).is_none());
        assert!(Rate::new(1, Duration::ZERO).is_none());
        assert!(Rate::new(2, Duration::from_nanos(1)).is_none());
    }
}
