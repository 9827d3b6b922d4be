//! What has come of a restoration, and why there was none.

use core::fmt;
use core::time::Duration;

/// What has become of what a snapshot held. The counts add up to all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// Those that live.
    pub restored: usize,
    /// Of these, leases without a timer, since the runtime [is full](crate::ArmError::Full). Each expires at its deadline for
    /// all who ask, and is told of by whoever asks first; its next renewal tries for a timer again.
    pub untimed: usize,
    /// Those that have expired since, or had then. The hook was told of each, with
    /// [`Idle`](crate::EndReason::Idle) or [`Absolute`](crate::EndReason::Absolute).
    pub expired: usize,
    /// Those for which there is no room here. The hook was told of each, with
    /// [`Capacity`](crate::EndReason::Capacity).
    pub refused: usize,
    /// Those whose place is taken by one that was started meanwhile, which stays. The hook was told of each, with
    /// [`Replaced`](crate::EndReason::Replaced), of a lease with [`Revoked`](crate::EndReason::Revoked).
    pub occupied: usize,
    /// How much time has passed for them, by the [rule](super::RestoreOptions).
    pub elapsed: Duration,
}

/// Nothing was restored, and nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestoreError {
    /// The snapshot has a format that this version of the crate does not know.
    Version {
        /// The number of the format.
        found: u32,
    },
    /// The digests in the snapshot were made with another key. Restored, they would match nothing.
    OtherKey,
    /// Something was started here before. A snapshot is restored first.
    InUse,
    /// The snapshot holds what none that was taken does.
    Malformed(&'static str),
    /// The runtime is shut down.
    ShutDown,
}

// === impl RestoreError ===

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { found } => write!(f, "a snapshot of the unknown format {found}"),
            Self::OtherKey => f.write_str(
                "a snapshot with digests of another key; one that is not given is random",
            ),
            Self::InUse => {
                f.write_str("something was started here already, and a snapshot is restored first")
            }
            Self::Malformed(flaw) => write!(f, "no snapshot that was ever taken: {flaw}"),
            Self::ShutDown => f.write_str("the runtime is shut down"),
        }
    }
}

impl core::error::Error for RestoreError {}
