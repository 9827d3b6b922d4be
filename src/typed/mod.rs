//! What services let expire, each with its own words: typed expiry over [`Timers`](crate::Timers).
//!
//! | file | what lives there |
//! |---|---|
//! | `deadline` | one word per record: when it expires, and that it has ended |
//! | `secret` | random bytes, digests, comparison in constant time |
//! | `sessions` | sessions: idle and absolute deadlines, under keys or secret ids |
//! | `codes` | one-time codes, and steps that are accepted once |
//! | `event` | how a record can end, and what its owner is told |
//! | `leases` | leases, fencing tokens, and guards that renew |

mod codes;
mod deadline;
mod event;
mod leases;
mod secret;
mod sessions;

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
    SessionStore, Sessions, StartError, TimeToLive, TouchPolicy, Touched, UpdateError, WhenFull,
};
