//! A timer that follows a time which others move.

use core::task::Waker;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{ArmError, TimerKey, Timers, Timestamp};

/// The timer of whatever is woken when it is to look at itself.
///
/// It stays armed, for never, when it has fired, and so keeps its place in a runtime that is full, until it is
/// cancelled.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    key: Mutex<Option<TimerKey>>,
    /// How late it may be.
    tolerance: Duration,
    /// It gives its place back when it has fired.
    passing: bool,
}

// === impl Alarm ===

impl Alarm {
    pub(super) fn with_tolerance(tolerance: Duration) -> Self {
        Self {
            key: Mutex::default(),
            tolerance,
            passing: false,
        }
    }

    /// One that gives its place back when it has fired, and takes another when it is armed again: for a runtime
    /// with places enough. It needs no allocation.
    pub(super) fn passing() -> Self {
        Self {
            passing: true,
            ..Self::default()
        }
    }

    /// Arms the timer for what `target` says, or cancels it if that is nothing.
    ///
    /// Of several who do so at once the last to look has the last word: each looks again after it has
    /// armed or cancelled, so that no time is left armed that is not the target.
    pub(super) fn follow(
        &self,
        timers: &Timers,
        target: impl Fn() -> Option<Timestamp>,
        waker: impl Fn() -> Waker,
    ) -> Result<(), ArmError> {
        let mut at = target();
        loop {
            match at {
                Some(at) => self.arm(timers, at, &waker)?,
                None => self.cancel(timers),
            }
            let now = target();
            if now == at {
                return Ok(());
            }
            at = now;
        }
    }

    /// As [`arm`](Self::arm), the first time.
    pub(super) fn arm_first(
        &self,
        timers: &Timers,
        at: Timestamp,
        waker: Waker,
    ) -> Result<(), ArmError> {
        let new = self.armed(timers, at, waker)?;
        let old = self.key().replace(new);
        debug_assert!(old.is_none(), "it was armed before");
        Ok(())
    }

    /// Arms the timer for that time.
    pub(super) fn arm(
        &self,
        timers: &Timers,
        at: Timestamp,
        waker: impl Fn() -> Waker,
    ) -> Result<(), ArmError> {
        let key = *self.key();
        if key.is_some_and(|key| timers.rearm_at(key, at).is_ok()) {
            return Ok(());
        }
        let new = self.armed(timers, at, waker())?;
        let old = self.key().replace(new);
        if let Some(old) = old {
            let _ = timers.cancel(old);
        }
        Ok(())
    }

    /// Arms it for never, unless it is armed: then it has a place.
    pub(super) fn reserve(
        &self,
        timers: &Timers,
        waker: impl Fn() -> Waker,
    ) -> Result<(), ArmError> {
        if self.key().is_some() {
            return Ok(());
        }
        let new = self.armed(timers, Timestamp::NEVER, waker())?;
        let spare = {
            let mut key = self.key();
            if key.is_some() {
                Some(new)
            } else {
                *key = Some(new);
                None
            }
        };
        if let Some(spare) = spare {
            let _ = timers.cancel(spare);
        }
        Ok(())
    }

    /// Takes the timer out. Whoever it was to wake may be dropped by this.
    pub(super) fn cancel(&self, timers: &Timers) {
        let key = self.key().take();
        if let Some(key) = key {
            let _ = timers.cancel(key);
        }
    }

    fn armed(&self, timers: &Timers, at: Timestamp, waker: Waker) -> Result<TimerKey, ArmError> {
        if self.passing {
            timers.arm_waker(at, self.tolerance, waker)
        } else {
            timers.arm_kept(at, self.tolerance, waker)
        }
    }

    fn key(&self) -> MutexGuard<'_, Option<TimerKey>> {
        // Nothing panics under the lock.
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
