//! How a record can end, and what its owner is told.

use core::fmt;

use crate::Timestamp;

/// Why a record has ended. Decided once, in the step that ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum EndReason {
    /// Nobody has used it for as long as it may be idle.
    Idle,
    /// It has reached the end of its life, used or not.
    Absolute,
    /// It was removed by its owner.
    Removed,
    /// Another record has taken its place.
    Replaced,
    /// It had to make room for another one.
    Capacity,
    /// Its holder has given it back.
    Released,
    /// It was taken away.
    Revoked,
    /// It was used, and can be used but once.
    Consumed,
    /// It was tried in vain as often as it may be.
    TooManyAttempts,
    /// What keeps it was shut down.
    Shutdown,
}

/// A record that has ended: told once for each, with what it held.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended<K, V> {
    /// Under what it was kept.
    pub key: K,
    /// What it held.
    pub value: V,
    /// Why it has ended.
    pub reason: EndReason,
    /// When it was to expire; [`Timestamp::NEVER`] if it was not.
    pub deadline: Timestamp,
    /// Which of the records under this key it was. Each has another, and later ones have larger ones.
    pub generation: u64,
}

// === impl EndReason ===

impl EndReason {
    /// Whether its time was over, rather than that anybody has ended it.
    #[must_use]
    pub const fn is_expiry(self) -> bool {
        matches!(self, Self::Idle | Self::Absolute)
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle for too long",
            Self::Absolute => "at the end of its life",
            Self::Removed => "removed",
            Self::Replaced => "replaced",
            Self::Capacity => "made room",
            Self::Released => "released",
            Self::Revoked => "revoked",
            Self::Consumed => "used",
            Self::TooManyAttempts => "tried too often",
            Self::Shutdown => "shut down",
        })
    }
}
