//! What can be refused, and how a holder learns that it is none.

use alloc::sync::Arc;
use core::error::Error;
use core::fmt;

use super::FencingToken;
use crate::{ArmError, EndReason, Timestamp};

/// A lease was not granted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AcquireError {
    /// Somebody holds it.
    Held {
        /// The token of the grant.
        token: FencingToken,
        /// Until when it lives if it is not renewed; [`Timestamp::NEVER`] if it has no end.
        deadline: Timestamp,
    },
    /// It was lost by its holder, and nobody may have it [for a while](super::LeasesBuilder::lock_delay).
    Delayed {
        /// Until then.
        until: Timestamp,
    },
    /// A lease for no time at all.
    ZeroTtl,
    /// It was not granted in time.
    TimedOut,
    /// It was granted, and was over before the caller got to see it: expired, or revoked.
    Lapsed,
    /// The runtime has as many timers as it may.
    Full,
    /// The runtime, or the leases, have been shut down.
    ShutDown,
    /// The last token has been handed out.
    TokensExhausted,
    /// The hook that makes tokens durable has failed, or panicked.
    Unpersisted(Arc<dyn Error + Send + Sync>),
}

/// A grant that is none any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lost {
    /// Its time was over.
    Expired,
    /// Its holder has given it back.
    Released,
    /// It was taken away.
    Revoked,
    /// The runtime, or the leases, have been shut down.
    ShutDown,
    /// It is a grant of other leases.
    Foreign,
}

// === impl AcquireError ===

impl AcquireError {
    /// Whether another attempt may succeed as soon as somebody else is done.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Held { .. } | Self::Delayed { .. })
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { token, .. } => write!(f, "held by the grant with token {token}"),
            Self::Delayed { .. } => f.write_str("its last holder has lost it a short while ago"),
            Self::ZeroTtl => f.write_str("a lease needs a time to live"),
            Self::TimedOut => f.write_str("not granted in time"),
            Self::Lapsed => f.write_str("over before it was seen"),
            Self::Full => f.write_str("as many timers are armed as may be"),
            Self::ShutDown => f.write_str("the leases have been shut down"),
            Self::TokensExhausted => f.write_str("there are no more fencing tokens"),
            Self::Unpersisted(_) => f.write_str("fencing tokens could not be made durable"),
        }
    }
}

impl Error for AcquireError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unpersisted(error) => Some(&**error),
            Self::Held { .. }
            | Self::Delayed { .. }
            | Self::ZeroTtl
            | Self::TimedOut
            | Self::Lapsed
            | Self::Full
            | Self::ShutDown
            | Self::TokensExhausted => None,
        }
    }
}

impl From<ArmError> for AcquireError {
    fn from(error: ArmError) -> Self {
        match error {
            ArmError::ShutDown => Self::ShutDown,
            // A waker has no period.
            ArmError::Full | ArmError::ZeroPeriod => Self::Full,
        }
    }
}

// === impl Lost ===

impl Lost {
    pub(super) fn because(reason: EndReason) -> Self {
        match reason {
            EndReason::Released => Self::Released,
            EndReason::Revoked => Self::Revoked,
            EndReason::Shutdown => Self::ShutDown,
            EndReason::Absolute
            | EndReason::Idle
            | EndReason::Removed
            | EndReason::Replaced
            | EndReason::Capacity
            | EndReason::Consumed
            | EndReason::TooManyAttempts => Self::Expired,
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "the lease has expired",
            Self::Released => "the lease was released",
            Self::Revoked => "the lease was revoked",
            Self::ShutDown => "the leases have been shut down",
            Self::Foreign => "a lease of somebody else",
        })
    }
}

impl Error for Lost {}
