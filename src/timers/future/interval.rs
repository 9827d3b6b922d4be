//! A time that comes again and again.

use core::fmt;
use core::future::poll_fn;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use super::super::{ArmError, Missed, Timers};
use super::Sleep;
use crate::Timestamp;

/// Ticks a task awaits one by one: [`Timers::interval`].
///
/// The first comes one period after the first poll: futures are lazy. Unless it is to
/// [wait between ticks](Missed::Delay) it does not drift. What it does about ticks that nobody
/// awaited in time is what [`Missed`] says, counted at the poll that serves a tick.
///
/// It is registered only while a task waits for a tick; so it costs nothing when nobody does. O(1), as
/// [`Sleep`]; nothing is allocated. With the feature `stream` it is a stream, which ends when the runtime
/// is shut down.
#[must_use = "an interval does nothing unless it is polled"]
pub struct Interval {
    sleep: Sleep,
    period: Duration,
    missed: Missed,
}

// === impl Timers ===

impl Timers {
    /// Ticks every `period`, the first one period after the first poll; `missed` says what becomes of those that
    /// could not be served. Does not read the clock. O(1).
    ///
    /// A period of `Duration::MAX` never ticks.
    ///
    /// # Errors
    ///
    /// [`ArmError::ZeroPeriod`].
    ///
    /// ```
    /// use std::task::{Context, Poll, Waker};
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Missed, Timers, Timestamp};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let mut cx = Context::from_waker(Waker::noop());
    /// let mut beats = timers.interval(Duration::from_secs(1), Missed::Skip)?;
    /// let at = |millis: u64| Poll::Ready(Ok(Timestamp::from_nanos(millis * 1_000_000)));
    ///
    /// assert!(beats.poll_tick(&mut cx).is_pending());
    /// clock.advance(Duration::from_millis(3_500));
    /// assert_eq!(beats.poll_tick(&mut cx), at(1_000)); // the others are passed over
    /// assert!(beats.poll_tick(&mut cx).is_pending());
    /// clock.advance(Duration::from_millis(500));
    /// assert_eq!(beats.poll_tick(&mut cx), at(4_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interval(&self, period: Duration, missed: Missed) -> Result<Interval, ArmError> {
        if period.is_zero() {
            return Err(ArmError::ZeroPeriod);
        }
        Ok(Interval {
            sleep: self.sleep(period),
            period,
            missed,
        })
    }
}

// === impl Interval ===

impl Interval {
    /// The next tick: the time at which it should have come, unrounded.
    ///
    /// Cancel-safe: if this is dropped before it is ready no tick is lost, and the next call waits for the same.
    ///
    /// # Errors
    ///
    /// As [`Sleep`]: [`ArmError::ShutDown`] and [`ArmError::Full`]. It may be called again, and waits for the same tick.
    ///
    /// ```no_run
    /// # async fn heartbeat(timers: tickwheel::Timers) -> Result<(), tickwheel::ArmError> {
    /// use std::time::Duration;
    /// use tickwheel::Missed;
    ///
    /// let mut beats = timers.interval(Duration::from_secs(5), Missed::Skip)?;
    /// loop {
    ///     let nominal = beats.tick().await?;
    ///     assert!(nominal <= timers.now());
    /// }
    /// # }
    /// # let _ = heartbeat;
    /// ```
    pub async fn tick(&mut self) -> Result<Timestamp, ArmError> {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Polls for the next tick, as [`tick`](Self::tick).
    ///
    /// # Errors
    ///
    /// As that.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Result<Timestamp, ArmError>> {
        ready!(self.sleep.poll_elapsed(cx))?;
        let now = self.sleep.shared().now();
        // It was polled, so it has a time.
        let nominal = self.sleep.deadline().unwrap_or(now);
        let (next, _) = self.missed.next(nominal, self.period, now);
        self.sleep.reset_at(next);
        Poll::Ready(Ok(nominal))
    }

    /// Begins anew: the next tick comes one period from now, and those after it count from that. Reads
    /// the clock. O(1).
    ///
    /// # Panics
    ///
    /// As [`Sleep::reset_at`].
    ///
    /// ```
    /// use std::task::{Context, Waker};
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Missed, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let mut cx = Context::from_waker(Waker::noop());
    /// let mut beats = timers.interval(Duration::from_secs(5), Missed::Skip)?;
    /// assert!(beats.poll_tick(&mut cx).is_pending());
    /// clock.advance(Duration::from_secs(4));
    /// beats.reset();
    /// clock.advance(beats.period());
    /// let tick = beats.poll_tick(&mut cx).map_ok(|at| at.as_nanos());
    /// assert_eq!(tick, std::task::Poll::Ready(Ok(9_000_000_000)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&mut self) {
        self.sleep.reset(self.period);
    }

    /// How long it is from tick to tick.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interval")
            .field("period", &self.period)
            .field("missed", &self.missed)
            .field("next", &self.sleep.deadline())
            .finish_non_exhaustive()
    }
}
