//! What a callback sees.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use super::{Shared, Timers};
use crate::{TimerKey, Timestamp};

/// A timer that is firing, as its callback sees it.
pub struct Firing<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) key: TimerKey,
    pub(super) label: &'static str,
    pub(super) deadline: Timestamp,
    pub(super) now: Timestamp,
    pub(super) skipped: u64,
    pub(super) attempt: u32,
    pub(super) stopped: bool,
}

// === impl Firing ===

impl Firing<'_> {
    /// A handle of the runtime, to arm with.
    ///
    /// A callback that captures one instead keeps the runtime alive for as long as it is armed.
    #[must_use]
    pub fn timers(&self) -> Timers {
        Timers::of(self.shared)
    }

    /// The key of the timer. While the callback runs every operation refuses it; a periodic timer is armed
    /// again under it afterwards.
    #[must_use]
    pub fn key(&self) -> TimerKey {
        self.key
    }

    /// The label it was armed with, or an empty one.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// The time it was armed for, rounded up to a tick.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// The time when this call began.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// How late this call is: [`now`](Self::now) less [`deadline`](Self::deadline). A tolerance counts
    /// as lateness here.
    #[must_use]
    pub fn lateness(&self) -> Duration {
        self.now.saturating_since(self.deadline)
    }

    /// Periods that a periodic timer has passed over since the call before this, by
    /// [`Missed::Skip`](super::Missed::Skip).
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Which attempt of a fallible timer this is: 1, 2, and so on.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Lets this be the last call of a periodic timer, or the last attempt of a fallible one.
    pub fn stop(&mut self) {
        self.stopped = true;
    }
}

impl fmt::Debug for Firing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Firing")
            .field("key", &self.key)
            .field("label", &self.label)
            .field("deadline", &self.deadline)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
