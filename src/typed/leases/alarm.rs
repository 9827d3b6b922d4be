//! A timer that follows a time which others move.

use core::task::Waker;
use core::time::Duration;

use super::locked;
use crate::sync::Mutex;
use crate::{ArmError, TimerKey, Timers, Timestamp};

/// The timer of a record that is woken when it is to look at itself.
#[derive(Debug, Default)]
pub(super) struct Alarm(Mutex<Option<TimerKey>>);

// === impl Alarm ===

impl Alarm {
    /// Arms the timer for what `target` says, or cancels it if that is nothing.
    ///
    /// Of several who do so at once the last to look has the last word: each looks again after it has
    /// armed, so that no time is left armed that is not the target.
    pub(super) fn follow(
        &self,
        timers: &Timers,
        target: impl Fn() -> Option<Timestamp>,
        waker: impl Fn() -> Waker,
    ) -> Result<(), ArmError> {
        while let Some(at) = target() {
            self.arm(timers, at, &waker)?;
            if target() == Some(at) {
                return Ok(());
            }
        }
        self.cancel(timers);
        Ok(())
    }

    /// Arms the timer for that time.
    pub(super) fn arm(
        &self,
        timers: &Timers,
        at: Timestamp,
        waker: impl Fn() -> Waker,
    ) -> Result<(), ArmError> {
        let key = *locked(&self.0);
        if key.is_some_and(|key| timers.rearm_at(key, at).is_ok()) {
            return Ok(());
        }
        let new = timers.arm_waker(at, Duration::ZERO, waker())?;
        let old = locked(&self.0).replace(new);
        if let Some(old) = old {
            let _ = timers.cancel(old);
        }
        Ok(())
    }

    /// Takes the timer out. Whoever it was to wake may be dropped by this.
    pub(super) fn cancel(&self, timers: &Timers) {
        let key = locked(&self.0).take();
        if let Some(key) = key {
            let _ = timers.cancel(key);
        }
    }
}
