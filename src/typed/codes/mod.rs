//! One-time codes, and a guard against the replay of steps.
//!
//! | file | what lives there |
//! |---|---|
//! | `one_time` | what can be done with codes |
//! | `policy` | what codes are like, and how often they may be asked for and guessed at |
//! | `alphabet` | drawing codes and reading answers |
//! | `issued`, `error` | what is handed out; what is refused |
//! | `account` | the record of a subject, moved under its lock: no clocks, no timers, no calls |
//! | `log` | how often something has happened of late |
//! | `table`, `draft` | all records, and what happens around a step of one |
//! | `snapshot`, `revive` | codes, written down; and let live again |
//! | `replay_snapshot` | accepted steps, written down and remembered again |
//! | `hash` | hashing what is uniform already |
//! | `replay` | steps that are accepted once |

mod account;
mod alphabet;
mod draft;
mod error;
mod hash;
mod issued;
mod log;
mod one_time;
mod policy;
mod replay;
#[cfg(feature = "serde")]
mod replay_snapshot;
#[cfg(feature = "serde")]
mod revive;
#[cfg(feature = "serde")]
mod snapshot;
mod table;

pub use alphabet::Alphabet;
pub use error::{BuildCodesError, IssueError, Refused, RefusedCause, ReplayError};
pub use issued::{CodeKey, CodeNonce, Issued, SecretCode, SubjectId};
pub use one_time::OneTimeCodes;
pub use policy::OneTimeCodesBuilder;
pub use replay::ReplayGuard;
#[cfg(feature = "serde")]
pub use replay_snapshot::{ReplaySnapshot, StepSnapshot};
#[cfg(feature = "serde")]
pub use snapshot::{CodeSnapshot, CodesSnapshot, PurposeSnapshot, SubjectSnapshot};

/// The most bytes of a subject.
const MAX_SUBJECT: usize = 512;

/// Whether that may be a subject.
fn is_subject(subject: &[u8]) -> bool {
    (1..=MAX_SUBJECT).contains(&subject.len())
}
