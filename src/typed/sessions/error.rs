//! What is refused, and what is gone.

use core::fmt;

/// There is no such session: it has ended, was never started, or the id is not its id any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionGone;

/// Why a session was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// There are as many sessions as there may be, of this principal or in all, and all of them live. Or there is no room in the
    /// runtime for the timer of a store that has no session yet. No store holds more than 2<sup>29</sup> sessions.
    Full,
    /// A principal without a name.
    EmptyPrincipal,
    /// The runtime that would reclaim it is shut down.
    ShutDown,
    /// The operating system gave no random bytes for an id.
    Random,
}

/// Why a session was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateError {
    /// There is no such session. None was made.
    Gone,
    /// It was changed meanwhile.
    Conflict {
        /// Its version now.
        version: u64,
    },
}

/// Why an id was not changed for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CycleError {
    /// There is no such session.
    Gone,
    /// The principal has as many sessions as there may be.
    Full,
    /// A principal without a name.
    EmptyPrincipal,
    /// The operating system gave no random bytes for an id.
    Random,
}

/// Why a text is not a session id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseSessionIdError {
    /// It has not the length of one.
    Length {
        /// The bytes it has.
        found: usize,
    },
    /// There is a byte in it that is not of the alphabet.
    Character {
        /// Where.
        at: usize,
    },
}

// === impl SessionGone ===

impl fmt::Display for SessionGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no such session")
    }
}

impl core::error::Error for SessionGone {}

// === impl StartError ===

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("there is no room for another session: of this principal, in the store, or in the runtime"),
            Self::EmptyPrincipal => f.write_str("the principal has no name"),
            Self::ShutDown => f.write_str("the runtime is shut down"),
            Self::Random => f.write_str("no random bytes for an id"),
        }
    }
}

impl core::error::Error for StartError {}

// === impl UpdateError ===

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => SessionGone.fmt(f),
            Self::Conflict { version } => {
                write!(f, "the session was changed: it is at version {version}")
            }
        }
    }
}

impl core::error::Error for UpdateError {}

// === impl CycleError ===

impl fmt::Display for CycleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => SessionGone.fmt(f),
            Self::Full => StartError::Full.fmt(f),
            Self::EmptyPrincipal => StartError::EmptyPrincipal.fmt(f),
            Self::Random => f.write_str("no random bytes for an id"),
        }
    }
}

impl core::error::Error for CycleError {}

// === impl ParseSessionIdError ===

impl fmt::Display for ParseSessionIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { found } => {
                write!(
                    f,
                    "a session id has {} characters, not {found}",
                    super::SessionId::LEN
                )
            }
            Self::Character { at } => write!(f, "byte {at} is of no session id"),
        }
    }
}

impl core::error::Error for ParseSessionIdError {}
