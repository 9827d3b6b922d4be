//! What can be done with one timer: by its key, and by a guard.

use core::fmt;
use core::time::Duration;

use super::job::Job;
use super::{Shared, Timers, inside};
use crate::{Cancel, StaleKey, TimerKey, Timestamp};

/// A timer that is cancelled when this is dropped: [`Timers::guard`].
///
/// A [`TimerKey`] is the other way to hold a timer: plain data, with which anybody can cancel, and
/// which does nothing by itself. A guard belongs to one owner, such as a connection whose timeouts
/// go when it goes. It keeps the runtime alive. [`detach`](Self::detach) makes a key of it again.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::{ManualClock, Timers};
///
/// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
/// let idle = timers.guard(timers.arm(Duration::from_secs(30), |_| unreachable!())?);
/// idle.rearm(Duration::from_secs(60))?;
/// drop(idle); // the connection is closed
/// assert!(timers.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped, it cancels the timer"]
pub struct TimerGuard {
    timers: Timers,
    key: TimerKey,
    detached: bool,
}

// === impl Timers ===

impl Timers {
    /// Cancels a timer, and drops its callback, here. O(1), lock-free.
    ///
    /// On [`Cancel::Cancelled`] it will not fire. [`Cancel::Running`] says that its callback is
    /// running, or on its way through an executor; a periodic timer will not be armed again after
    /// that. [`Cancel::Stale`] says that it has fired or was cancelled before, or that the key is of
    /// another runtime.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{Cancel, ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let key = timers.arm(Duration::from_secs(1), |_| unreachable!())?;
    /// assert_eq!(timers.cancel(key), Cancel::Cancelled(()));
    /// assert_eq!(timers.cancel(key), Cancel::Stale);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&self, key: TimerKey) -> Cancel<()> {
        dropped(self.shared.wheel.cancel(key))
    }

    /// As [`cancel`](Self::cancel), but does not return while the callback runs: once this has
    /// returned it is not running and will not run.
    ///
    /// After waiting the answer is [`Cancel::Stale`]; a periodic timer has ended all the same.
    /// In that very callback it answers [`Cancel::Running`] instead of hanging. A callback that
    /// waits here for another that waits for it hangs; and with an executor, whoever would have
    /// run the callback must not wait for it.
    pub fn cancel_wait(&self, key: TimerKey) -> Cancel<()> {
        if inside::runs(key) {
            return self.cancel(key);
        }
        dropped(self.shared.wheel.cancel_wait(key))
    }

    /// Moves a timer to that much from now: earlier or later; `Duration::MAX` suspends it. It keeps
    /// its key. Of a periodic timer this moves the next call, and those after it. O(1), lock-free.
    ///
    /// # Errors
    ///
    /// [`StaleKey`] if it has fired, is firing, was cancelled, or is of another runtime. A periodic timer
    /// whose callback is running is refused too, and goes on: whoever means to replace it cancels it first.
    pub fn rearm(&self, key: TimerKey, after: Duration) -> Result<(), StaleKey> {
        self.rearm_at(key, self.shared.after(after))
    }

    /// Moves a timer to that time. O(1), lock-free.
    ///
    /// # Errors
    ///
    /// [`StaleKey`], as [`rearm`](Self::rearm).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let key = timers.arm(Duration::from_secs(1), |_| {})?;
    /// timers.rearm_at(key, timers.now() + Duration::from_secs(9))?;
    /// assert_eq!(timers.remaining(key), Some(Duration::from_secs(9)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rearm_at(&self, key: TimerKey, deadline: Timestamp) -> Result<(), StaleKey> {
        self.shared.rearm_at(key, deadline)
    }

    /// Suspends a timer: it keeps its key and its callback, and does not fire until it is
    /// [re-armed](Self::rearm). O(1), lock-free.
    ///
    /// # Errors
    ///
    /// [`StaleKey`], as [`rearm`](Self::rearm).
    pub fn disarm(&self, key: TimerKey) -> Result<(), StaleKey> {
        self.rearm_at(key, Timestamp::NEVER)
    }

    /// Whether the timer is armed for a time that will come: not suspended, fired, firing or
    /// cancelled. O(1).
    #[must_use]
    pub fn is_armed(&self, key: TimerKey) -> bool {
        self.deadline(key).is_some_and(|at| !at.is_never())
    }

    /// The time a timer is armed for, rounded up to a tick and without its tolerance; [`Timestamp::NEVER`] if it is
    /// suspended, `None` for a stale key. O(1).
    #[must_use]
    pub fn deadline(&self, key: TimerKey) -> Option<Timestamp> {
        let tick = self.shared.wheel.deadline(key)?;
        Some(self.shared.resolution.start_of(tick))
    }

    /// How long it is until then; zero if it is past, `Duration::MAX` if the timer is suspended, `None`
    /// for a stale key. O(1).
    #[must_use]
    pub fn remaining(&self, key: TimerKey) -> Option<Duration> {
        let deadline = self.deadline(key)?;
        if deadline.is_never() {
            return Some(Duration::MAX);
        }
        Some(deadline.saturating_since(self.now()))
    }

    /// A guard that cancels the timer when it is dropped.
    pub fn guard(&self, key: TimerKey) -> TimerGuard {
        TimerGuard {
            timers: self.clone(),
            key,
            detached: false,
        }
    }
}

// === impl Shared ===

impl Shared {
    /// Moves a timer to that time, and counts that.
    pub(super) fn rearm_at(&self, key: TimerKey, deadline: Timestamp) -> Result<(), StaleKey> {
        self.wheel.rearm(key, self.resolution.deadline(deadline))?;
        self.counters.rearmed[self.wheel.shard_here()].0.add(1);
        Ok(())
    }
}

/// Drops what was cancelled.
fn dropped(cancel: Cancel<Job>) -> Cancel<()> {
    match cancel {
        Cancel::Cancelled(_) => Cancel::Cancelled(()),
        Cancel::Running => Cancel::Running,
        Cancel::Stale => Cancel::Stale,
    }
}

// === impl TimerGuard ===

impl TimerGuard {
    /// The key of the timer.
    #[must_use]
    pub fn key(&self) -> TimerKey {
        self.key
    }

    /// The runtime of the timer.
    #[must_use]
    pub fn timers(&self) -> &Timers {
        &self.timers
    }

    /// Lets the timer live without the guard.
    pub fn detach(mut self) -> TimerKey {
        self.detached = true;
        self.key
    }

    /// As [`Timers::cancel`], to see what came of it.
    pub fn cancel(mut self) -> Cancel<()> {
        self.detached = true;
        self.timers.cancel(self.key)
    }

    /// As [`Timers::cancel_wait`].
    pub fn cancel_wait(mut self) -> Cancel<()> {
        self.detached = true;
        self.timers.cancel_wait(self.key)
    }

    /// As [`Timers::rearm`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn rearm(&self, after: Duration) -> Result<(), StaleKey> {
        self.timers.rearm(self.key, after)
    }

    /// As [`Timers::rearm_at`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn rearm_at(&self, deadline: Timestamp) -> Result<(), StaleKey> {
        self.timers.rearm_at(self.key, deadline)
    }

    /// As [`Timers::disarm`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn disarm(&self) -> Result<(), StaleKey> {
        self.timers.disarm(self.key)
    }

    /// As [`Timers::is_armed`].
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.timers.is_armed(self.key)
    }

    /// As [`Timers::deadline`].
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.timers.deadline(self.key)
    }

    /// As [`Timers::remaining`].
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.timers.remaining(self.key)
    }
}

impl Drop for TimerGuard {
    fn drop(&mut self) {
        if !self.detached {
            let _ = self.timers.cancel(self.key);
        }
    }
}

impl fmt::Debug for TimerGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerGuard")
            .field("key", &self.key)
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}
