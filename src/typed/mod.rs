//! What services let expire, each with its own words: typed expiry over [`Timers`](crate::Timers).
//!
//! | file | what lives there |
//! |---|---|
//! | `alarm` | a timer that follows a time which others move |
//! | `deadline` | one word per record: when it expires, and that it has ended |
//! | `panics` | somebody's code, run whatever it does |
//! | `secret` | random bytes, digests, comparison in constant time |
//! | `sessions` | sessions: idle and absolute deadlines, under keys or secret ids |
//! | `codes` | one-time codes, and steps that are accepted once |
//! | `event` | how a record can end, and what its owner is told |
//! | `leases` | leases, fencing tokens, and guards that renew |
//! | `modelled` | what models use of this, in no normal build |
//! | `snapshot` | what snapshots of these have in common: times of day, how they are counted, a file |

mod alarm;
mod codes;
mod deadline;
mod event;
mod leases;
#[cfg(loom)]
pub mod modelled;
mod panics;
mod secret;
mod sessions;
#[cfg(feature = "serde")]
pub mod snapshot;

pub use codes::{
    Alphabet, BuildCodesError, CodeKey, CodeNonce, IssueError, Issued, OneTimeCodes,
    OneTimeCodesBuilder, Refused, RefusedCause, ReplayError, ReplayGuard, SecretCode, SubjectId,
};
pub use event::{EndReason, Ended};
pub use leases::{
    Acquire, AcquireError, FenceGate, FencingToken, Grant, GuardError, Holding, LeaseGuard,
    LeaseGuardOptions, Leases, LeasesBuilder, Lessor, Loss, Lost, Renewal, Stale, WhenLost,
};
pub use sessions::{
    CycleError, ParseSessionIdError, Session, SessionGone, SessionId, SessionLimits, SessionPolicy,
    SessionStore, SessionStoreBuilder, Sessions, StartError, TimeToLive, TouchPolicy, Touched,
    UpdateError, WhenFull,
};
