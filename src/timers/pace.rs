//! How much the driver does at a time, and how much may fire.

use core::time::Duration;
use std::sync::{Mutex, MutexGuard};

use super::rate::Rate;
use super::{BuildError, Timers};
use crate::Timestamp;

/// What a batch is held to. Locked twice for each, and by nobody for longer than an assignment.
#[derive(Debug)]
pub(super) struct Pace(Mutex<Limits>);

#[derive(Debug)]
struct Limits {
    batch: Allowance,
    rate: Option<Rate>,
}

/// What one batch may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowance {
    /// How many timers it may look at.
    pub(super) entries: usize,
    /// How long it may take.
    pub(super) time: Duration,
    /// How many may fire in it.
    pub(super) firings: usize,
}

// === impl Allowance ===

impl Allowance {
    /// The least that a batch may be: what is armed meanwhile has to be filed too.
    const LEAST: usize = 64;

    pub(super) fn new(entries: usize, time: Duration) -> Self {
        Self {
            entries: entries.max(Self::LEAST),
            time,
            firings: usize::MAX,
        }
    }
}

// === impl Pace ===

impl Pace {
    pub(super) fn new(batch: Allowance, rate: Option<Rate>) -> Self {
        Self(Mutex::new(Limits { batch, rate }))
    }

    fn limits(&self) -> MutexGuard<'_, Limits> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// What a batch may do now if nothing limits the rate.
    pub(super) fn batch(&self) -> Allowance {
        self.limits().batch
    }

    /// What a batch may do now, or how long to wait. The firings are its own: what it does not need
    /// of them is to be [given back](Self::give_back).
    pub(super) fn take(&self, now: Timestamp) -> Result<Allowance, Duration> {
        let mut limits = self.limits();
        let mut batch = limits.batch;
        if let Some(rate) = &mut limits.rate {
            batch.firings = rate.take(now, batch.entries)?;
        }
        Ok(batch)
    }

    /// Gives back what a batch was allowed and has not used.
    pub(super) fn give_back(&self, allowance: Allowance, fired: usize) {
        if allowance.firings < usize::MAX {
            if let Some(rate) = &mut self.limits().rate {
                rate.give_back(allowance.firings.saturating_sub(fired));
            }
        }
    }

    /// How long nothing may fire; `None` if something may.
    pub(super) fn wait(&self, now: Timestamp) -> Option<Duration> {
        self.limits().rate.as_mut()?.tokens(now).err()
    }
}

// === impl Timers ===

impl Timers {
    /// Sets what the driver does at a time, from its next batch on: see
    /// [`TimersBuilder::batch`](super::TimersBuilder::batch).
    pub fn set_batch(&self, entries: usize, time: Duration) {
        self.shared.pace.limits().batch = Allowance::new(entries, time);
    }

    /// Sets how many timers may fire in how much time, or lets all of them, from the next batch on: see
    /// [`TimersBuilder::rate_limit`](super::TimersBuilder::rate_limit). What the limit before allowed now
    /// is what this one allows now, if that is not more than a period's.
    ///
    /// # Errors
    ///
    /// [`BuildError::ZeroRate`]; nothing has changed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// for _ in 0..100 {
    ///     timers.arm(Duration::from_millis(1), |_| {})?;
    /// }
    /// clock.advance(Duration::from_secs(1));
    /// timers.set_rate_limit(Some((10, Duration::from_secs(1))))?;
    /// assert_eq!(timers.turn_fully()?.fired, 10);
    /// timers.set_rate_limit(None)?;
    /// assert_eq!(timers.turn_fully()?.fired, 90);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_rate_limit(&self, limit: Option<(u32, Duration)>) -> Result<(), BuildError> {
        let rate = Rate::limit(limit)?;
        let now = self.shared.now();
        let mut limits = self.shared.pace.limits();
        limits.rate = match (rate, &mut limits.rate) {
            (Some(rate), Some(before)) => Some(rate.instead_of(before, now)),
            (rate, _) => rate,
        };
        drop(limits);
        // It may be asleep until the old one allows something.
        self.shared.call_driver();
        Ok(())
    }
}
