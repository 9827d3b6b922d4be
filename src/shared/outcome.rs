//! Answers: small enums and errors, one per operation.

use core::fmt;

use crate::{Expired, Tick};

/// What became of a timer that was to be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "says whether the timer was cancelled, and may hold its value"]
pub enum Cancel<T> {
    /// It was armed, will not fire, and this is its value.
    Cancelled(T),
    /// Its callback is running now. It will not be armed again under this key: a callback
    /// that tries is [refused](Revoked).
    Running,
    /// It has fired or was cancelled before, or the key is of another wheel.
    Stale,
}

/// Another thread drives the wheel, or this one does already, in whose callback the call was
/// made. Nothing has been done.
///
/// Whoever asks for [`next_deadline`](crate::SharedWheel::next_deadline) holds the role for a moment too. So a
/// thread that is the only one to drive tries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Busy;

/// How long a driver may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the driver has announced that it sleeps"]
pub enum Park {
    /// Not at all: there is something to do.
    Now,
    /// Until this tick begins, or until it is woken.
    Until(Tick),
    /// Until it is woken.
    Idle,
}

/// The timer was cancelled while its callback ran, and is not armed again.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Revoked<T> {
    /// What was to be armed again.
    pub expired: Expired<T>,
}

// === impl Cancel ===

impl<T> Cancel<T> {
    /// The value of the timer, if it was cancelled.
    #[inline]
    #[must_use]
    pub fn value(self) -> Option<T> {
        match self {
            Self::Cancelled(value) => Some(value),
            Self::Running | Self::Stale => None,
        }
    }

    /// Whether the timer was armed and will not fire.
    #[inline]
    #[must_use]
    pub const fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }
}

// === impl Busy ===

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the wheel is being driven already")
    }
}

impl core::error::Error for Busy {}

// === impl Revoked ===

impl<T> fmt::Debug for Revoked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Revoked")
            .field("key", &self.expired.key)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Revoked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the timer was cancelled while its callback ran")
    }
}

impl<T> core::error::Error for Revoked<T> {}
