//! Numbers to watch.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;

use super::histogram::{Histogram, Recorder};
use super::{Shared, Timers};
use crate::shared::Padded;
use crate::sync::Ordering;
use crate::sync::unmodelled::AtomicU64;

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

/// Callbacks that have failed and will be tried again, each one by its [`Failing`].
#[derive(Debug, Default, Clone)]
pub(super) struct Gauge(Arc<AtomicU64>);

/// One timer that has failed, until this is dropped with it.
#[derive(Debug)]
pub(super) struct Failing(Gauge);

/// What the runtime counts. Arms, cancels and moves are counted by the wheel.
pub(super) struct Counters {
    pub(super) fired: Counter,
    /// Shared with the wake hook.
    pub(super) panics: Arc<Counter>,
    pub(super) vetoed: Counter,
    pub(super) postponed: Counter,
    pub(super) failures: Counter,
    pub(super) gave_up: Counter,
    pub(super) overruns: Counter,
    pub(super) abandoned: Counter,
    pub(super) wake_ups: Counter,
    /// Timers taken out by a shutdown.
    pub(super) returned: Counter,
    /// Timers that were postponed or repeated themselves when a shutdown came.
    pub(super) unfired: Counter,
    /// Timers that were taken out again by who armed them, since a shutdown had come.
    pub(super) refused: Counter,
    pub(super) failing: Gauge,
    /// By the shard of the thread that re-arms: threads would meet on one.
    pub(super) rearmed: Box<[Padded<Counter>]>,
    pub(super) lateness: Recorder,
    pub(super) batches: Recorder,
}

/// What a runtime has done so far, and what it holds: [`Timers::stats`].
///
/// Read one after the other, not at one moment: under load they may disagree by what happened
/// meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Timers armed now, suspended ones included.
    pub armed: usize,
    /// Firings: of callbacks, and of futures that were woken.
    pub fired: u64,
    /// Timers cancelled: by key, by a guard, or with their future.
    pub cancelled: u64,
    /// Timers that were moved by key, or suspended.
    pub rearmed: u64,
    /// Timers that the driver met before they were due and moved closer: for coming from a coarse
    /// level of the wheel, or for having been re-armed.
    pub cascaded: u64,
    /// Places in the wheel that cancelled or suspended timers had left, and that the driver has cleared.
    pub husks: u64,
    /// Callbacks, wakers and hooks that panicked.
    pub panics: u64,
    /// Times that the driver's thread has woken up.
    pub wake_ups: u64,
    /// Callbacks that [`before_fire`](super::TimersBuilder::before_fire) has vetoed.
    pub vetoed: u64,
    /// Times that it has postponed one.
    pub postponed: u64,
    /// Attempts of fallible timers that failed.
    pub failures: u64,
    /// Fallible timers that have failed and wait for another attempt now.
    pub failing: usize,
    /// Fallible timers that have failed and are not tried again: they have failed as often as they may, have stopped, or
    /// the runtime was shut down.
    pub gave_up: u64,
    /// Callbacks that took longer than [`on_overrun`](super::TimersBuilder::on_overrun) allows.
    pub overruns: u64,
    /// Callbacks that an executor dropped.
    pub abandoned: u64,
    /// Timers dropped or handed back by a shutdown. Those that are run after that count as fired as well.
    pub returned: u64,
}

// === impl Counter ===

impl Counter {
    #[inline]
    pub(super) fn add(&self, count: u64) {
        // ORDERING: Relaxed. A number to look at.
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        // ORDERING: Relaxed, as in `add`.
        self.0.load(Ordering::Relaxed)
    }
}

// === impl Gauge ===

impl Gauge {
    pub(super) fn get(&self) -> usize {
        // ORDERING: Relaxed. A number to look at.
        self.0.load(Ordering::Relaxed) as usize
    }

    pub(super) fn one_more(&self) -> Failing {
        // ORDERING: Relaxed, as in `get`.
        self.0.fetch_add(1, Ordering::Relaxed);
        Failing(self.clone())
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        // ORDERING: Relaxed, as in `Gauge::get`.
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl Counters ===

impl Counters {
    pub(super) fn new(shards: u32, panics: Arc<Counter>) -> Self {
        Self {
            fired: Counter::default(),
            panics,
            vetoed: Counter::default(),
            postponed: Counter::default(),
            failures: Counter::default(),
            gave_up: Counter::default(),
            overruns: Counter::default(),
            abandoned: Counter::default(),
            wake_ups: Counter::default(),
            returned: Counter::default(),
            unfired: Counter::default(),
            refused: Counter::default(),
            failing: Gauge::default(),
            rearmed: (0..shards).map(|_| Padded::default()).collect(),
            lateness: Recorder::new(),
            batches: Recorder::new(),
        }
    }
}

// === impl Timers ===

impl Timers {
    /// What has happened so far, and what is armed. O(shards); takes no lock.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let keys: Vec<_> = (1..=3)
    ///     .map(|n| timers.arm(Duration::from_secs(n), |_| {}))
    ///     .collect::<Result<_, _>>()?;
    /// timers.rearm(keys[2], Duration::from_secs(9))?;
    /// assert!(timers.cancel(keys[1]).is_cancelled());
    /// timers.advance_to_next(&clock);
    ///
    /// let stats = timers.stats();
    /// assert_eq!((stats.armed, stats.fired, stats.cancelled, stats.rearmed), (1, 1, 1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// How late firings were: the time from the deadline, rounded up to a tick and by the tolerance, to
    /// the beginning of the callback. With an executor that is when it runs.
    #[must_use]
    pub fn lateness(&self) -> Histogram {
        self.shared.counters.lateness.read()
    }

    /// How long the driver took at a time, as [`batch`](super::TimersBuilder::batch) limits it. Counts
    /// the times at which something fired.
    #[must_use]
    pub fn batch_durations(&self) -> Histogram {
        self.shared.counters.batches.read()
    }

    /// How long the oldest timer that is due has been so; zero if none is.
    ///
    /// While the driver is at work this is the age of the tick it is at, and so an upper bound; as it is
    /// for a slot of timers that was to be moved closer by now.
    ///
    /// While the driver sleeps this reads a few numbers. Otherwise it may look at every timer that was
    /// armed or moved earlier since the driver did; whoever drives meanwhile waits for that. O(shards + levels).
    #[must_use]
    pub fn overdue(&self) -> Duration {
        self.shared.overdue()
    }
}

impl Shared {
    pub(super) fn stats(&self) -> Stats {
        let Self {
            wheel, counters, ..
        } = self;
        let returned = counters.returned.get();
        Stats {
            armed: wheel.len(),
            fired: counters.fired.get(),
            cancelled: wheel
                .ended()
                .saturating_sub(returned + counters.refused.get()),
            rearmed: counters.rearmed.iter().map(|count| count.0.get()).sum(),
            cascaded: wheel.moved(),
            husks: wheel.husks(),
            panics: counters.panics.get(),
            wake_ups: counters.wake_ups.get(),
            vetoed: counters.vetoed.get(),
            postponed: counters.postponed.get(),
            failures: counters.failures.get(),
            failing: counters.failing.get(),
            gave_up: counters.gave_up.get(),
            overruns: counters.overruns.get(),
            abandoned: counters.abandoned.get(),
            returned: returned + counters.unfired.get(),
        }
    }

    pub(super) fn overdue(&self) -> Duration {
        let now = self.now();
        // While the driver sleeps it has said until when: nobody else has to look.
        let next = match self.pulse.rests_until() {
            Some(next) => (!self.wheel.is_empty()).then_some(next),
            None => self.next_deadline(),
        };
        match next {
            Some(next) => now.saturating_since(self.resolution.start_of(next)),
            None => Duration::ZERO,
        }
    }
}
