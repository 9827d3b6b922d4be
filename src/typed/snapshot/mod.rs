//! Snapshots: what services let expire, written down and read again.
//!
//! A service that is stopped and started again takes a snapshot of its sessions, leases and codes, stores it, and
//! restores it before it serves: nobody is logged out, no resource changes hands, and no token is handed out twice.
//!
//! ```
//! use tickwheel::snapshot::{CodesSnapshot, RestoreOptions};
//! use tickwheel::{ManualClock, OneTimeCodes, Timers};
//!
//! let key = [7; 32]; // from where the service keeps its secrets
//! let start = || -> Result<OneTimeCodes, Box<dyn std::error::Error>> {
//!     let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
//!     Ok(OneTimeCodes::builder(&timers).digest_key(key).build()?)
//! };
//! let codes = start()?;
//! let issued = codes.issue("ada", "login")?;
//! let stored = serde_json::to_string(&codes.snapshot())?;
//! drop(codes);
//!
//! // Another process.
//! let codes = start()?;
//! let snapshot: CodesSnapshot = serde_json::from_str(&stored)?;
//! let report = codes.restore(snapshot, &["login"], RestoreOptions::new())?;
//! assert_eq!((report.restored, report.expired), (1, 0));
//! assert!(codes.verify("ada", "login", issued.code.expose()).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A snapshot is plain data, `Serialize` and `Deserialize`: the format is the caller's. [`SnapshotFile`] replaces a file as a whole.
//!
//! # What is in it
//!
//! What lives at the moment it is taken: what has expired by then is not, whether or not a timer has fired. Deadlines are
//! written as times of day, to the nanosecond, and as `None` where there is none. With them goes the time of day at which
//! the snapshot was taken.
//!
//! | | in it | not in it |
//! |---|---|---|
//! | [`Sessions`](crate::Sessions) | keys, values, principals, versions, generations, both deadlines | |
//! | [`SessionStore`](crate::SessionStore) | the same, under keyed digests of ids | ids, the key |
//! | [`OneTimeCodes`](crate::OneTimeCodes) | keyed digests of codes and subjects, wrong answers so far, cooldowns, counts | codes, subjects, the key |
//! | [`Leases`](crate::Leases) | grants with tokens, holders and deadlines; lock delays; the largest token | who waits |
//! | [`ReplayGuard`](crate::ReplayGuard) | keyed digests of subjects, the newest step of each | subjects, the key |
//!
//! While other threads go on, what lives from the beginning of the call to its end is in it, once; what has ended before is not; what
//! begins or ends meanwhile may be. Each record is in it as it was at one moment. No lock is held for longer than one record
//! takes.
//!
//! It is to be taken before the runtime is shut down and before the last handle is dropped. A shutdown ends all leases and codes,
//! and the last handle all sessions, and they are told of as [`Shutdown`](crate::EndReason::Shutdown). A
//! [`LeaseGuard`](crate::LeaseGuard) that is dropped has released its lease. What is in a snapshot is told of so by the process that
//! goes, and may live on.
//!
//! # When it is restored
//!
//! First, before anything else is started: else [`RestoreError::InUse`]. Nothing has changed if an error is returned.
//! Time is counted by [one rule](RestoreOptions). What has expired meanwhile is not restored: the hook is told of
//! its end, once, with the reason and the deadline it had. Limits hold: what there is no room for ends, and is told
//! of. The [`RestoreReport`] counts all of it. Numbers go on: generations and tokens that are given later are larger than all in
//! the snapshot.
//!
//! A clock's origin is often the start of the process. A time before that is given as the origin: deadlines of what has
//! expired, and when a session was started.
//!
//! # Keys
//!
//! Digests are good with the key that has made them: the service keeps that, 32 random bytes, where it keeps its secrets: in a
//! secret manager, or in a file of its own that is not stored with the snapshots. A snapshot has a check value of the key, so that
//! another key is an error ([`RestoreError::OtherKey`]), and not a service that refuses everybody. Without a key that is kept each
//! process has one of its own, and a snapshot can be restored by nobody else. One key may serve all stores. To change the key is to
//! log everybody out.
//!
//! # When it fails
//!
//! Each restoration is a step of its own. A file that cannot be read, or is refused, should not keep the service from starting: set
//! it aside and start empty, with leases that have a [start delay](crate::LeasesBuilder::start_delay).
//!
//! # What a snapshot cannot know
//!
//! It is as old as it is. What has ended after it was taken lives again when it is restored: a session that was logged
//! out, a code that was used. So the last one is to be taken when the service has stopped serving; after a crash,
//! with snapshots that were taken from time to time, decide whether a stale one is better than none. For leases see
//! [`Leases::restore`](crate::Leases::restore).
//!
//! Whoever can write the file can change whose a session is, and how long it lives. It is to be kept as the service's data are.

// | file | what lives there |
// |---|---|
// | `wall` | times of day, as they are written |
// | `options` | how time is counted between a snapshot and its restoration |
// | `passage` | times, translated out and in |
// | `report` | what has come of a restoration; what is refused |
// | `file` | a file that is replaced as a whole |

mod file;
mod options;
mod passage;
mod report;
mod wall;

pub use super::codes::{
    CodeSnapshot, CodesSnapshot, PurposeSnapshot, ReplaySnapshot, StepSnapshot, SubjectSnapshot,
};
pub use super::leases::{DelaySnapshot, LeaseSnapshot, LeasesSnapshot};
pub use super::sessions::{
    FormerId, HashedId, SessionSnapshot, SessionStoreSnapshot, SessionsSnapshot,
};
pub use file::SnapshotFile;
pub use options::{RestoreOptions, RestorePolicy};
pub(in crate::typed) use passage::{Departure, Left, Passage};
pub use report::{RestoreError, RestoreReport};
pub use wall::WallTime;

/// The format in which snapshots are written.
pub(in crate::typed) const VERSION: u32 = 1;

/// Refuses what is of another format.
pub(in crate::typed) fn check_version(found: u32) -> Result<(), RestoreError> {
    if found == VERSION {
        return Ok(());
    }
    Err(RestoreError::Version { found })
}
