//! Arming.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use super::backoff::Backoff;
use super::firing::Firing;
use super::job::{Body, Call, Failed, Job, Missed, Next};
use super::{ArmError, Shared, Timers};
use crate::shared::mutant::mutant;
use crate::{Tick, Ticks, TimerKey, Timestamp};

/// How a timer is to be armed, apart from when: [`Timers::options`].
#[derive(Clone, Copy)]
#[must_use = "options do nothing until something is armed"]
pub struct TimerOptions<'a> {
    timers: &'a Timers,
    tolerance: Duration,
    label: &'static str,
}

// === impl Timers ===

impl Timers {
    /// Options for the next timer: a tolerance, a label.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// timers
    ///     .options()
    ///     .label("sweep")
    ///     .tolerance(Duration::from_secs(5)) // share a wake-up with others
    ///     .arm(Duration::from_secs(60), |firing| assert_eq!(firing.label(), "sweep"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn options(&self) -> TimerOptions<'_> {
        TimerOptions {
            timers: self,
            tolerance: Duration::ZERO,
            label: "",
        }
    }

    /// Calls `callback` once, after that time; `Duration::MAX` means never, until it is
    /// [re-armed](Self::rearm). Reads the clock: the time counts from the call, not from the last turn.
    /// O(1), lock-free.
    ///
    /// # Errors
    ///
    /// [`ArmError::Full`] and [`ArmError::ShutDown`]. The callback is dropped.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ArmError, ManualClock, Shutdown, Timers};
    ///
    /// let timers = Timers::builder().limit(1).clock(ManualClock::new()).build_hand_driven()?;
    /// assert!(timers.arm(Duration::from_secs(1), |_| {}).is_ok());
    /// assert_eq!(timers.arm(Duration::from_secs(1), |_| {}), Err(ArmError::Full));
    /// timers.shutdown(Shutdown::Drop);
    /// assert_eq!(timers.arm(Duration::from_secs(1), |_| {}), Err(ArmError::ShutDown));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn arm(
        &self,
        after: Duration,
        callback: impl FnOnce(&mut Firing<'_>) + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        self.options().arm(after, callback)
    }

    /// Calls `callback` once, at that time of the runtime's clock; a time in the past means as soon as
    /// possible, [`Timestamp::NEVER`] never. A [`WallAnchor`](crate::WallAnchor) makes such a time of a
    /// `SystemTime`. O(1), lock-free.
    ///
    /// # Errors
    ///
    /// As [`arm`](Self::arm).
    pub fn arm_at(
        &self,
        deadline: Timestamp,
        callback: impl FnOnce(&mut Firing<'_>) + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        self.options().arm_at(deadline, callback)
    }

    /// Calls `callback` every `period`, first after one period; `missed` says what becomes of times
    /// that could not be served. It keeps its key, and ends when it is cancelled or
    /// [stops](Firing::stop).
    ///
    /// Unless it is to wait between calls it does not drift: it is due at multiples of the
    /// period, counted from the time it was armed at, or re-armed for. A period shorter than a tick
    /// falls on the same tick several times: it is late, and skips or catches up. If a call panics, the
    /// next comes all the same.
    ///
    /// # Errors
    ///
    /// [`ArmError::ZeroPeriod`]; otherwise as [`arm`](Self::arm).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Missed, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let mut beats = 0;
    /// timers.every(Duration::from_secs(1), Missed::Skip, move |firing| {
    ///     beats += 1;
    ///     if beats == 3 {
    ///         firing.stop();
    ///     }
    /// })?;
    /// while timers.advance_to_next(&clock) > 0 {}
    /// assert_eq!(clock.advance(Duration::ZERO).as_nanos(), 3_000_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn every(
        &self,
        period: Duration,
        missed: Missed,
        callback: impl FnMut(&mut Firing<'_>) + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        self.options().every(period, missed, callback)
    }

    /// Calls `callback` after that time, and then again as it says itself. It keeps its key. If a call
    /// panics, the timer is over.
    ///
    /// # Errors
    ///
    /// As [`arm`](Self::arm).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Next, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let mut wait = Duration::from_secs(1);
    /// timers.arm_repeating(wait, move |_| {
    ///     wait *= 2;
    ///     if wait < Duration::from_secs(10) { Next::After(wait) } else { Next::Stop }
    /// })?;
    /// while timers.advance_to_next(&clock) > 0 {}
    /// assert_eq!(clock.advance(Duration::ZERO).as_nanos(), (1 + 2 + 4 + 8) * 1_000_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn arm_repeating(
        &self,
        after: Duration,
        callback: impl FnMut(&mut Firing<'_>) -> Next + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        self.options().arm_repeating(after, callback)
    }

    /// Calls `callback` after that time, and again, ever later, for as long as it fails: an expiry that
    /// has to happen is not forgotten because it failed once. It keeps its key. A panic is a failure.
    ///
    /// [`on_failure`](super::TimersBuilder::on_failure) is told of each; [`stats`](Self::stats) shows
    /// how many wait for another attempt.
    ///
    /// # Errors
    ///
    /// As [`arm`](Self::arm).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{Backoff, ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// timers.arm_fallible(Duration::from_secs(1), Backoff::default(), |firing| {
    ///     let answers: usize = if firing.attempt() < 3 { "none" } else { "1" }.parse()?;
    ///     assert_eq!(answers, 1);
    ///     Ok::<(), std::num::ParseIntError>(()) // `?` needs to know the error's type
    /// })?;
    /// timers.advance_to_next(&clock);
    /// assert_eq!(timers.stats().failing, 1);
    /// while timers.advance_to_next(&clock) > 0 {}
    /// assert_eq!((timers.stats().failures, timers.stats().failing), (2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn arm_fallible<E: Into<Failed>>(
        &self,
        after: Duration,
        backoff: Backoff,
        callback: impl FnMut(&mut Firing<'_>) -> Result<(), E> + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        self.options().arm_fallible(after, backoff, callback)
    }
}

// === impl TimerOptions ===

impl TimerOptions<'_> {
    /// Lets the timer be served that much late, so that several share one wake-up: due at the roundest tick
    /// in that range, see [`Tick::coalesce`]. It stays with the timer when it is re-armed.
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// A name under which hooks and callbacks are told of the timer.
    pub fn label(mut self, label: &'static str) -> Self {
        self.label = label;
        self
    }

    /// As [`Timers::arm`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn arm(
        self,
        after: Duration,
        callback: impl FnOnce(&mut Firing<'_>) + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        self.arm_at(self.after(after), callback)
    }

    /// As [`Timers::arm_at`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn arm_at(
        self,
        deadline: Timestamp,
        callback: impl FnOnce(&mut Firing<'_>) + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        self.arm_body(deadline, || Body::Once(Some(Box::new(callback))))
    }

    /// As [`Timers::every`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn every(
        self,
        period: Duration,
        missed: Missed,
        callback: impl FnMut(&mut Firing<'_>) + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        if period.is_zero() {
            return Err(ArmError::ZeroPeriod);
        }
        let shared = &self.timers.shared;
        let nominal = self.after(period);
        self.arm_body(nominal, || Body::Every {
            period,
            missed,
            nominal,
            armed: shared.resolution.deadline(nominal),
            skipped: 0,
            run: Box::new(callback),
        })
    }

    /// As [`Timers::arm_repeating`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn arm_repeating(
        self,
        after: Duration,
        callback: impl FnMut(&mut Firing<'_>) -> Next + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        self.arm_body(self.after(after), || Body::Repeat(Box::new(callback)))
    }

    /// As [`Timers::arm_fallible`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn arm_fallible<E: Into<Failed>>(
        self,
        after: Duration,
        backoff: Backoff,
        mut callback: impl FnMut(&mut Firing<'_>) -> Result<(), E> + Send + 'static,
    ) -> Result<TimerKey, ArmError> {
        self.arm_body(self.after(after), || Body::Fallible {
            backoff,
            failures: 0,
            failing: None,
            run: Box::new(move |firing| callback(firing).map_err(Into::into)),
        })
    }

    fn after(self, after: Duration) -> Timestamp {
        self.timers.shared.after(after)
    }

    fn arm_body(
        self,
        deadline: Timestamp,
        body: impl FnOnce() -> Body,
    ) -> Result<TimerKey, ArmError> {
        let shared = &self.timers.shared;
        let deadline = shared.resolution.deadline(deadline);
        let tolerance = shared.whole_ticks(self.tolerance);
        let label = self.label;
        let call = || {
            Job::Call(Box::new(Call {
                label,
                body: body(),
            }))
        };
        shared.arm_job(deadline, tolerance, call)
    }
}

impl fmt::Debug for TimerOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerOptions")
            .field("tolerance", &self.tolerance)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    /// A tolerance in ticks: whole ones, so that it is not exceeded.
    pub(super) fn whole_ticks(&self, tolerance: Duration) -> Ticks {
        let ticks = self.resolution.now(Timestamp::from_duration(tolerance));
        Ticks::new(ticks.get())
    }

    /// The time that much from now.
    pub(super) fn after(&self, after: Duration) -> Timestamp {
        self.now().saturating_add(after)
    }

    /// Arms a timer, unless the runtime is shut down.
    #[inline]
    pub(super) fn arm_job(
        self: &Arc<Self>,
        deadline: Tick,
        tolerance: Ticks,
        job: impl FnOnce() -> Job,
    ) -> Result<TimerKey, ArmError> {
        if self.gate.look().is_closed() {
            return Err(ArmError::ShutDown);
        }
        if self.wheel.desk_is_free() {
            self.sit_down();
        }
        let key = self
            .wheel
            .try_arm_tolerant(deadline, tolerance, job())
            .map_err(|_| ArmError::Full)?;
        // Who shuts down closes the gate, and then has the wheel part those who arm into two: those
        // who have counted their timer by then, and whose timers are waited for and taken out; and all others,
        // who see here that the gate is closed. So no timer is left behind.
        let look_again = !mutant!(GateUnlooked);
        if look_again && self.gate.look().is_closed() && self.wheel.cancel(key).is_cancelled() {
            self.counters.refused.add(1);
            return Err(ArmError::ShutDown);
        }
        Ok(key)
    }

    /// As `arm_job` does at the end, for a callback that was armed again.
    pub(super) fn recheck(&self, key: TimerKey) {
        if self.gate.look().is_closed() {
            let cancelled = self.wheel.cancel(key);
            self.counters
                .returned
                .add(u64::from(cancelled.is_cancelled()));
            self.guarded(key, "", || drop(cancelled));
        }
    }
}
