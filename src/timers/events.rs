//! Events for `tracing`: what hooks are told, and a little more. Without the feature they are empty.
//!
//! A subscriber is somebody's code: what it panics with is caught and counted.

use core::time::Duration;

use super::hooks::{Failure, Overrun, Panicked};
use super::{Alarm, Shared, Shutdown};

/// Emits an event of this runtime, if there is anybody to emit it to.
#[cfg(feature = "tracing")]
macro_rules! emit {
    ($shared:expr, $level:ident, $($fields:tt)+) => {{
        let shared: &Shared = $shared;
        shared.caught(|| {
            tracing::$level!(target: "tickwheel", timers = &*shared.name, $($fields)+);
        });
    }};
}

/// Looks at the fields, so that they count as used.
#[cfg(not(feature = "tracing"))]
macro_rules! emit {
    ($shared:expr, $level:ident, $($name:ident = $sigil:tt $value:expr,)* $text:literal) => {{
        let _ = ($shared, $(&$value,)*);
    }};
}

impl Shared {
    pub(super) fn event_panicked(&self, panicked: &Panicked<'_>) {
        emit!(
            self, error,
            key = ?panicked.key,
            label = %panicked.label,
            panic = %panicked.message().unwrap_or("a panic without a message"),
            "a callback, a waker or a hook panicked"
        );
    }

    pub(super) fn event_failed(&self, failure: &Failure<'_>) {
        emit!(
            self, warn,
            key = ?failure.key,
            label = %failure.label,
            attempt = %failure.attempt,
            again = ?failure.again,
            error = ?failure.error,
            "an attempt failed"
        );
    }

    pub(super) fn event_overran(&self, overrun: &Overrun) {
        emit!(
            self, warn,
            key = ?overrun.key,
            label = %overrun.label,
            took = ?overrun.took,
            "a callback took too long"
        );
    }

    pub(super) fn event_alarm(&self, alarm: &Alarm) {
        match alarm {
            Alarm::Over { .. } => emit!(self, info, alarm = %alarm, "the watchdog's alarm is over"),
            Alarm::Late { .. }
            | Alarm::Stalled { .. }
            | Alarm::Stopped { .. }
            | Alarm::ClockStands { .. } => {
                emit!(self, warn, alarm = %alarm, "the watchdog raises an alarm");
            }
        }
    }

    pub(super) fn event_shut_down(&self, mode: Shutdown) {
        emit!(self, debug, mode = ?mode, "the timers are shut down");
    }

    #[inline]
    pub(super) fn event_batch(&self, fired: usize, took: Duration) {
        emit!(self, trace, fired = %fired, took = ?took, "a batch has fired");
    }
}
