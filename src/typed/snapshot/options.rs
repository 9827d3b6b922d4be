//! How time is counted between a snapshot and its restoration.

use core::time::Duration;

use crate::WallAnchor;

/// What becomes of the time for which the process was down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestorePolicy {
    /// It counts: what was to end at noon ends at noon, or has ended.
    #[default]
    KeepDeadline,
    /// It does not count: what had ten minutes left when the snapshot was taken has ten minutes left. By the wall clock it
    /// lives longer than it was to: by all the time for which the process was down, also beyond an absolute limit.
    KeepRemaining,
}

/// How a snapshot is restored. As made by [`new`](Self::new), deadlines are kept, and the wall clocks of who has
/// written and who reads are taken to agree.
///
/// One rule holds for everything that is restored:
///
/// ```text
/// elapsed = max(0, wall clock now - wall clock at the snapshot - skew margin)
/// left    = left at the snapshot - elapsed
/// ```
///
/// and with [`KeepRemaining`](RestorePolicy::KeepRemaining) nothing has elapsed. What has nothing left has expired: at
/// exactly its deadline, as everywhere. So nothing ever has more left than it had at the snapshot, however often it is
/// stored and restored, and a wall clock that was set back lengthens no life.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::snapshot::{RestoreOptions, RestorePolicy};
///
/// let options = RestoreOptions::new()
///     .policy(RestorePolicy::KeepDeadline)
///     .skew_margin(Duration::from_secs(2));
/// assert_ne!(options, RestoreOptions::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "options do nothing until something is restored"]
pub struct RestoreOptions {
    pub(super) policy: RestorePolicy,
    pub(super) margin: Duration,
    pub(super) anchor: Option<WallAnchor>,
}

// === impl RestoreOptions ===

impl RestoreOptions {
    /// Deadlines are kept, without a margin, by the wall clock of this machine.
    pub const fn new() -> Self {
        Self {
            policy: RestorePolicy::KeepDeadline,
            margin: Duration::ZERO,
            anchor: None,
        }
    }

    /// Whether the time for which the process was down counts.
    pub const fn policy(mut self, policy: RestorePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// How far the wall clock of who restores may be ahead of that of who has taken the snapshot. A clock that is ahead by
    /// no more than this ends nothing too early.
    ///
    /// The other side of it: what has expired meanwhile may live for up to that much longer. For a lease that is the safe
    /// side, since nobody else gets it; for a session or a code it is time that it was not to have.
    pub const fn skew_margin(mut self, margin: Duration) -> Self {
        self.margin = margin;
        self
    }

    /// Takes the time of day from that anchor, which has to be one of the clock of the runtime, instead of from the
    /// machine's wall clock: for tests, and for services that know the time better.
    pub const fn anchor(mut self, anchor: WallAnchor) -> Self {
        self.anchor = Some(anchor);
        self
    }
}
