//! How long sessions live, what counts as use, and how many there may be.

use core::time::Duration;

/// How long a session may live: idle, and at all. `None`, and `Duration::MAX`, mean for ever.
///
/// A session lives while the time is before both deadlines, and is gone at exactly the earlier one. If
/// `absolute` is not longer than `idle`, no idle session ends sooner than others. Zero is dead at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SessionLimits {
    /// Time without use.
    pub idle: Option<Duration>,
    /// Time since it was started, used or not.
    pub absolute: Option<Duration>,
}

/// What extends a session's idle deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TouchPolicy {
    /// Reading it with `get`, writing to it, and `touch`.
    #[default]
    OnAccess,
    /// Writing to it, and `touch`.
    OnWrite,
    /// `touch` alone, and `touch_or_start`.
    Manual,
}

/// What becomes of a new session when there is no room for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenFull {
    /// It is refused.
    #[default]
    Refuse,
    /// The one that was started first ends: of its principal if that has too many, else of all, whosever it is. So
    /// with [`max_sessions`](SessionPolicy::max_sessions) whoever can start sessions can end those of others.
    EndOldest,
}

/// The rules for a store of sessions. As made by [`new`](Self::new), sessions live until they are
/// ended, and there may be any number.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::{SessionPolicy, TouchPolicy};
///
/// const MINUTE: Duration = Duration::from_secs(60);
/// let policy = SessionPolicy::new()
///     .idle(30 * MINUTE)
///     .absolute(12 * 60 * MINUTE)
///     .touch(TouchPolicy::OnAccess)
///     .max_per_principal(5);
/// assert_eq!(policy.limits().idle, Some(30 * MINUTE));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a policy does nothing until there is a store"]
pub struct SessionPolicy {
    pub(super) limits: SessionLimits,
    pub(super) touch: TouchPolicy,
    pub(super) tolerance: Duration,
    pub(super) grace: Duration,
    pub(super) max_sessions: usize,
    pub(super) max_per_principal: usize,
    pub(super) when_full: WhenFull,
}

// === impl SessionLimits ===

impl SessionLimits {
    /// No limits.
    pub const NONE: Self = Self {
        idle: None,
        absolute: None,
    };
}

// === impl SessionPolicy ===

impl SessionPolicy {
    /// No limits of any kind; every access is a touch; what does not fit is refused.
    pub const fn new() -> Self {
        Self {
            limits: SessionLimits::NONE,
            touch: TouchPolicy::OnAccess,
            tolerance: Duration::ZERO,
            grace: Duration::ZERO,
            max_sessions: usize::MAX,
            max_per_principal: usize::MAX,
            when_full: WhenFull::Refuse,
        }
    }

    /// Sessions end after that long without use.
    pub const fn idle(mut self, limit: Duration) -> Self {
        self.limits.idle = Some(limit);
        self
    }

    /// Sessions end that long after they were started, used or not.
    pub const fn absolute(mut self, limit: Duration) -> Self {
        self.limits.absolute = Some(limit);
        self
    }

    /// What counts as use. By default, any access.
    pub const fn touch(mut self, touch: TouchPolicy) -> Self {
        self.touch = touch;
        self
    }

    /// How much later than a tick after its end a session that nobody asks for may be reclaimed and told of, so that
    /// several share one wake-up. By default zero. Reads are exact all the same.
    pub const fn reclaim_tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// For how long an id that was [cycled](super::SessionStore::cycle_id) still leads to its session, for
    /// requests that are on their way. By default zero: not at all. Whoever has a copy of the old id has the session for
    /// as long; [`cycle_id_as`](super::SessionStore::cycle_id_as) and
    /// [`revoke_others`](super::SessionStore::revoke_others) give no grace.
    pub const fn cycle_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How many sessions may live at a time. By default any number.
    pub const fn max_sessions(mut self, count: usize) -> Self {
        self.max_sessions = count;
        self
    }

    /// How many sessions of one principal may live at a time. By default any number.
    pub const fn max_per_principal(mut self, count: usize) -> Self {
        self.max_per_principal = count;
        self
    }

    /// What becomes of a session for which there is no room. By default it is refused.
    pub const fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// How long sessions live by these rules.
    #[must_use]
    pub const fn limits(&self) -> SessionLimits {
        self.limits
    }
}

impl Default for SessionPolicy {
    fn default() -> Self {
        Self::new()
    }
}
