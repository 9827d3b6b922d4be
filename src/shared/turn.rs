//! What a callback sees while the driver fires.

use core::cell::Cell;
use core::fmt;

use super::defer::Deferred;
use super::ops::{Request, Run};
use super::source::Common;
use super::{Cancel, Revoked, SharedWheel};
use crate::{Expired, StaleKey, Tick, Ticks, TimerKey, WheelFull};

/// The wheel as a callback of [`SharedWheel::advance`] may use it.
///
/// A callback may use the wheel as any other thread may, through [`wheel`](Self::wheel) or
/// what it has captured. What only a callback can do is to
/// [arm its own timer again](Self::rearm_expired) under the same key.
pub struct SharedTurn<'a, T, const BITS: u32 = 8> {
    wheel: &'a SharedWheel<T, BITS>,
    index: u32,
    key: TimerKey,
    after: &'a After,
}

/// What is to be done when the callback has returned.
#[derive(Debug, Default)]
pub(super) struct After {
    /// The call ends as if its budget was spent.
    pub(super) stop: Cell<bool>,
    /// The timer goes on running, elsewhere.
    pub(super) deferred: Cell<bool>,
}

// === impl SharedTurn ===

impl<'a, T, const BITS: u32> SharedTurn<'a, T, BITS> {
    pub(super) fn new(
        wheel: &'a SharedWheel<T, BITS>,
        index: u32,
        key: TimerKey,
        after: &'a After,
    ) -> Self {
        Self {
            wheel,
            index,
            key,
            after,
        }
    }

    /// The wheel.
    #[inline]
    #[must_use]
    pub fn wheel(&self) -> &'a SharedWheel<T, BITS> {
        self.wheel
    }

    /// The tick being fired.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Tick {
        self.wheel.now()
    }

    /// Arms a timer; see [`SharedWheel::arm`].
    ///
    /// # Panics
    ///
    /// If the wheel is full.
    #[inline]
    #[track_caller]
    pub fn arm(&mut self, deadline: Tick, value: T) -> TimerKey {
        self.wheel.arm(deadline, value)
    }

    /// Arms a timer, or gives the value back; see [`SharedWheel::try_arm`].
    ///
    /// # Errors
    ///
    /// [`WheelFull`], with the value; nothing has changed.
    #[inline]
    pub fn try_arm(&mut self, deadline: Tick, value: T) -> Result<TimerKey, WheelFull<T>> {
        self.wheel.try_arm(deadline, value)
    }

    /// Arms a timer that may be served late; see [`SharedWheel::arm_tolerant`].
    ///
    /// # Panics
    ///
    /// If the wheel is full.
    #[inline]
    #[track_caller]
    pub fn arm_tolerant(&mut self, deadline: Tick, tolerance: Ticks, value: T) -> TimerKey {
        self.wheel.arm_tolerant(deadline, tolerance, value)
    }

    /// Cancels a timer; see [`SharedWheel::cancel`]. One that is due at this very tick, and has
    /// not fired yet, does not fire.
    #[inline]
    pub fn cancel(&mut self, key: TimerKey) -> Cancel<T> {
        self.wheel.cancel(key)
    }

    /// Moves a timer; see [`SharedWheel::rearm`].
    ///
    /// # Errors
    ///
    /// [`StaleKey`] if the key names no armed timer. The timer that is firing is not armed;
    /// [`rearm_expired`](Self::rearm_expired) arms it again.
    #[inline]
    pub fn rearm(&mut self, key: TimerKey, deadline: Tick) -> Result<(), StaleKey> {
        self.wheel.rearm(key, deadline)
    }

    /// Suspends a timer; see [`SharedWheel::disarm`].
    ///
    /// # Errors
    ///
    /// [`StaleKey`], as [`rearm`](Self::rearm).
    #[inline]
    pub fn disarm(&mut self, key: TimerKey) -> Result<(), StaleKey> {
        self.wheel.disarm(key)
    }

    /// Lets this callback be the last of this call: `advance` returns when the callback has, as
    /// [`advance_bounded`](SharedWheel::advance_bounded) does when its budget is spent.
    ///
    /// What is still due fires in the next call. For drivers whose callbacks take too long, or
    /// that are told to pause. O(1).
    ///
    /// ```
    /// use tickwheel::{Progress, SharedWheel, Tick};
    ///
    /// let wheel = SharedWheel::new();
    /// for id in 0..3 {
    ///     wheel.arm(Tick::new(10), id);
    /// }
    /// let progress = wheel.advance_bounded(Tick::new(10), 100, |turn, _| turn.stop()).unwrap();
    /// assert_eq!(progress, Progress::More { fired: 1 });
    /// ```
    #[inline]
    pub fn stop(&mut self) {
        self.after.stop.set(true);
    }

    /// Lets the timer go on running after the callback has returned: until
    /// [`finish`](SharedWheel::finish) or [`rearm_deferred`](SharedWheel::rearm_deferred).
    ///
    /// The callback must return without a panic.
    pub(crate) fn defer(&mut self) -> Deferred {
        self.after.deferred.set(true);
        Deferred::new(self.index)
    }

    /// Arms the timer that is firing again, with its tolerance, under the same key.
    ///
    /// From then on it is a timer like any other, even before the callback has returned. An
    /// expired timer that is not the one firing is armed under a new key. Either way
    /// the key returned is the one that counts. O(1).
    ///
    /// # Errors
    ///
    /// [`Revoked`], with the timer, if its key was cancelled while this callback ran: whoever
    /// did was told that the timer is [running](Cancel::Running), and may rely on its not
    /// running again.
    ///
    /// # Panics
    ///
    /// If the wheel is full and the timer is not the one firing.
    ///
    /// ```
    /// use tickwheel::{Cancel, SharedWheel, Tick, Ticks};
    ///
    /// let wheel = SharedWheel::new();
    /// let heartbeat = wheel.arm(Tick::new(10), 0);
    /// wheel.advance(Tick::new(35), |turn, mut expired| {
    ///     expired.value += 1;
    ///     let next = turn.now() + Ticks::new(10);
    ///     turn.rearm_expired(expired, next).unwrap();
    /// }).unwrap();
    /// assert_eq!(wheel.cancel(heartbeat), Cancel::Cancelled(3)); // at 10, 20 and 30
    /// ```
    pub fn rearm_expired(
        &mut self,
        expired: Expired<T>,
        deadline: Tick,
    ) -> Result<TimerKey, Revoked<T>> {
        if expired.key == self.key && self.wheel.is_out(self.index) {
            return self
                .wheel
                .rearm_running(self.index, expired, deadline, Run::GoesOn);
        }
        let Expired {
            tolerance, value, ..
        } = expired;
        let request = Request {
            deadline,
            tolerance,
            value,
        };
        Ok(self
            .wheel
            .arm_or_panic(&mut Common::here(&self.wheel.shards), request))
    }
}

impl<T, const BITS: u32> fmt::Debug for SharedTurn<'_, T, BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTurn")
            .field("key", &self.key)
            .field("wheel", &self.wheel)
            .finish()
    }
}
