//! What callers see of a session.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
use core::time::Duration;

use crate::Timestamp;

/// A session as it was when it was looked at: its value, and which version of it.
///
/// It dereferences to the value. It is a snapshot: it does not keep the session alive, and
/// does not change when the session does.
pub struct Session<V> {
    /// What it holds.
    pub value: Arc<V>,
    /// How often the value was replaced, modulo 2<sup>32</sup>.
    pub version: u64,
    /// Which session of its store it is: a number that may be shown and logged. It stays when the id is
    /// cycled. No two have the same; those of one key grow.
    pub generation: u64,
    /// When it was started; of one that was restored, no earlier than the clock's origin. To show it to people, keep the time of day
    /// in the value.
    pub created: Timestamp,
}

/// What is left to a session, `None` for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeToLive {
    /// How long it may stay without use. No more than is left in all, and `None` if it may be idle for ever.
    pub idle: Option<Duration>,
    /// How long until it ends, used or not.
    pub absolute: Option<Duration>,
    /// The shorter of the two: how long it lives if nobody touches it.
    pub effective: Option<Duration>,
    /// The time at which that is over, and it is gone; [`Timestamp::NEVER`] if never.
    pub deadline: Timestamp,
}

/// What [`touch_or_start`](super::Sessions::touch_or_start) has done.
#[must_use]
pub enum Touched<V> {
    /// There was one. It was touched.
    Existing(Session<V>),
    /// There was none. One was started.
    Started(Session<V>),
}

// === impl Session ===

impl<V> Clone for Session<V> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            version: self.version,
            generation: self.generation,
            created: self.created,
        }
    }
}

impl<V> Deref for Session<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

impl<V: fmt::Debug> fmt::Debug for Session<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("value", &self.value)
            .field("version", &self.version)
            .field("generation", &self.generation)
            .field("created", &self.created)
            .finish()
    }
}

// === impl Touched ===

impl<V> Touched<V> {
    /// The session, whether it was there or was started.
    pub fn into_session(self) -> Session<V> {
        match self {
            Self::Existing(session) | Self::Started(session) => session,
        }
    }

    /// Whether it was started.
    #[must_use]
    pub const fn is_started(&self) -> bool {
        matches!(self, Self::Started(_))
    }
}

impl<V: fmt::Debug> fmt::Debug for Touched<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, session) = match self {
            Self::Existing(session) => ("Existing", session),
            Self::Started(session) => ("Started", session),
        };
        f.debug_tuple(name).field(session).finish()
    }
}
