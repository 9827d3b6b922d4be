//! How a guard has come to hold nothing, and why there is none.

use core::fmt;

use crate::ArmError;

/// How a guard has come to hold nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// No renewal was confirmed before the deadline.
    Expired,
    /// The lessor has said that the lease is over.
    Refused,
    /// The holder has given it back.
    Released,
    /// The runtime of the guard was shut down, and nobody would renew it.
    ShutDown,
    /// The guard was [detached](super::LeaseGuard::detach): the lease may live, and nobody renews it by itself.
    Detached,
}

/// There is no guard.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GuardError<E> {
    /// The lessor does not grant the lease.
    Refused(E),
    /// The lessor has answered after the lease was over. It was released.
    TooLate,
    /// There is no timer to renew it by. It was released.
    Timer(ArmError),
}

// === impl Loss ===

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "no renewal was confirmed in time",
            Self::Refused => "the lessor says that the lease is over",
            Self::Released => "the lease was released",
            Self::ShutDown => "the runtime has been shut down",
            Self::Detached => "the guard was detached",
        })
    }
}

impl<E: fmt::Display> fmt::Display for GuardError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::TooLate => f.write_str("the lease was over before the lessor had answered"),
            Self::Timer(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for GuardError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Refused(error) => error.source(),
            Self::Timer(error) => error.source(),
            Self::TooLate => None,
        }
    }
}
