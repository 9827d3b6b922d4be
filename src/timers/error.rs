//! What can be refused, and why.

use core::fmt;
use std::io;

/// A timer was not armed. Its callback has been dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArmError {
    /// As many timers are armed as [`limit`](super::TimersBuilder::limit) allows.
    Full,
    /// The runtime has been shut down.
    ShutDown,
    /// A periodic timer without a period.
    ZeroPeriod,
}

/// A runtime was not made.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A limit of no timers at all.
    ZeroLimit,
    /// A rate of no firings at all, or for no time.
    ZeroRate,
    /// The driver's thread, or the watchdog's, could not be started, or the system has refused what it sleeps on.
    Spawn(io::Error),
}

/// Waiting for the end of a runtime has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitError {
    /// The time was over first.
    TimedOut,
    /// The caller is a callback, which would wait for itself.
    FromCallback,
    /// Nobody has shut the runtime down.
    NotShutDown,
}

// === impl ArmError ===

impl fmt::Display for ArmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "as many timers are armed as may be",
            Self::ShutDown => "the timers have been shut down",
            Self::ZeroPeriod => "a periodic timer needs a period",
        })
    }
}

impl core::error::Error for ArmError {}

// === impl BuildError ===

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroLimit => "a limit of zero timers",
            Self::ZeroRate => "a rate of zero",
            Self::Spawn(_) => "a thread for the timers could not be started",
        })
    }
}

impl core::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Spawn(error) => Some(error),
            Self::ZeroLimit | Self::ZeroRate => None,
        }
    }
}

// === impl WaitError ===

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "callbacks are still running",
            Self::FromCallback => "a callback cannot wait for itself",
            Self::NotShutDown => "the timers have not been shut down",
        })
    }
}

impl core::error::Error for WaitError {}
