//! What a caller sees when time moves: the expired, and what may be done meanwhile.

use core::fmt;

use super::Wheel;
use crate::{StaleKey, Tick, Ticks, TimerKey, WheelFull};

/// A timer whose time has come.
///
/// The wheel has let go of it completely. Its key is still good for one thing: handing
/// this back to `rearm_expired` arms the same timer again under the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "this is the timer's value; the wheel no longer has it"]
pub struct Expired<T> {
    /// The key it was armed under.
    pub key: TimerKey,
    /// The deadline it was armed for, before its tolerance.
    pub deadline: Tick,
    /// How late it might have been served.
    pub tolerance: Ticks,
    /// What it was armed with.
    pub value: T,
}

/// The wheel as a callback of [`Wheel::advance`] may use it.
///
/// A callback may arm, cancel and re-arm whatever it likes, the timer that is firing
/// included. What it arms for later than [`now`](Self::now) but not later than the tick
/// being advanced to fires in this same `advance`. What it arms for `now` or before waits
/// for the next `advance`, even one to the same tick: no callback can keep `advance` busy
/// for ever. Whoever wants the whole wheel between two timers drives it by
/// [`poll`](Wheel::poll).
pub struct Turn<'a, T, const BITS: u32 = 8> {
    pub(super) wheel: &'a mut Wheel<T, BITS>,
}

/// How far a bounded [`advance`](Wheel::advance_bounded) has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "when more remains, somebody has to call again"]
pub enum Progress {
    /// Everything due has fired, but for what was armed during the turn for the tick it was
    /// at or before: that is due in the next one.
    Done {
        /// Timers fired by this call.
        fired: usize,
    },
    /// The budget ran out first: call again, with the same tick or a later one.
    More {
        /// Timers fired by this call.
        fired: usize,
    },
}

// === impl Turn ===

impl<T, const BITS: u32> Turn<'_, T, BITS> {
    /// The tick being fired.
    ///
    /// Not the one being advanced to: after a long gap it runs through every tick that
    /// has anything to fire.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Tick {
        self.wheel.now()
    }

    /// Arms a timer; see [`Wheel::arm`].
    ///
    /// # Panics
    ///
    /// If the wheel is full.
    #[inline]
    #[track_caller]
    pub fn arm(&mut self, deadline: Tick, value: T) -> TimerKey {
        self.wheel.arm(deadline, value)
    }

    /// Arms a timer, or gives the value back if the wheel is full; see [`Wheel::try_arm`].
    ///
    /// # Errors
    ///
    /// [`WheelFull`], with the value; nothing has changed.
    #[inline]
    pub fn try_arm(&mut self, deadline: Tick, value: T) -> Result<TimerKey, WheelFull<T>> {
        self.wheel.try_arm(deadline, value)
    }

    /// Arms a timer whose value is made from its key; see [`Wheel::arm_with`].
    ///
    /// # Panics
    ///
    /// If the wheel is full.
    #[track_caller]
    pub fn arm_with(&mut self, deadline: Tick, make: impl FnOnce(TimerKey) -> T) -> TimerKey {
        self.wheel.arm_with(deadline, make)
    }

    /// Arms a timer that may be served late; see [`Wheel::arm_tolerant`].
    ///
    /// # Panics
    ///
    /// If the wheel is full.
    #[track_caller]
    pub fn arm_tolerant(&mut self, deadline: Tick, tolerance: Ticks, value: T) -> TimerKey {
        self.wheel.arm_tolerant(deadline, tolerance, value)
    }

    /// Cancels a timer; see [`Wheel::cancel`]. One that is due at this very tick, and has
    /// not fired yet, does not fire.
    #[inline]
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        self.wheel.cancel(key)
    }

    /// Moves a timer; see [`Wheel::rearm`].
    ///
    /// # Errors
    ///
    /// [`StaleKey`] if the key names no armed timer. The timer that is firing is not armed;
    /// [`rearm_expired`](Self::rearm_expired) arms it again.
    #[inline]
    pub fn rearm(&mut self, key: TimerKey, deadline: Tick) -> Result<(), StaleKey> {
        self.wheel.rearm(key, deadline)
    }

    /// The deadline another timer is armed for; see [`Wheel::deadline`].
    #[must_use]
    pub fn deadline(&self, key: TimerKey) -> Option<Tick> {
        self.wheel.deadline(key)
    }

    /// The value of another timer; see [`Wheel::get`].
    #[must_use]
    pub fn get(&self, key: TimerKey) -> Option<&T> {
        self.wheel.get(key)
    }

    /// Arms the timer that is firing again, under the same key; see [`Wheel::rearm_expired`].
    ///
    /// A periodic timer that counts from `expired.deadline` does not drift, and after a gap
    /// makes up for every period it missed. One that counts from the tick being advanced to
    /// skips them.
    ///
    /// ```
    /// use tickwheel::{Tick, Ticks, Wheel};
    ///
    /// let mut wheel = Wheel::new();
    /// let heartbeat = wheel.arm(Tick::new(10), 0);
    /// wheel.advance(Tick::new(35), |turn, mut expired| {
    ///     expired.value += 1;
    ///     let next = turn.now() + Ticks::new(10);
    ///     turn.rearm_expired(expired, next);
    /// });
    /// assert_eq!(wheel.get(heartbeat), Some(&3)); // at 10, 20 and 30
    /// ```
    #[inline]
    pub fn rearm_expired(&mut self, expired: Expired<T>, deadline: Tick) -> TimerKey {
        self.wheel.rearm_expired(expired, deadline)
    }
}

impl<T, const BITS: u32> fmt::Debug for Turn<'_, T, BITS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("wheel", &self.wheel).finish()
    }
}

// === impl Progress ===

impl Progress {
    /// Timers fired by the call.
    #[must_use]
    pub const fn fired(self) -> usize {
        match self {
            Self::Done { fired } | Self::More { fired } => fired,
        }
    }

    /// Whether nothing is left to do for the tick that was asked for.
    #[must_use]
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Done { .. })
    }
}
