//! Sessions: idle and absolute deadlines, under keys of the caller's or ids of the store's.
//!
//! | file | what lives there |
//! |---|---|
//! | `record` | one session: its word, and what its lock guards |
//! | `place` | where a record is filed, and how far it has got, in four bytes |
//! | `chains` | what is told after what |
//! | `index` | what one lock guards: when records are due, whose they are, how many live |
//! | `bell` | the driver's attention |
//! | `room` | how many live, whose they are, and whether there is room for one more |
//! | `by_key` | the map's entries |
//! | `payload` | what a record holds: its value, and where that is |
//! | `owned` | the records of a principal |
//! | `registry` | the map and the index: reading and ending |
//! | `start` | letting a record in, in one step for its key |
//! | `tell` | each end told once, in order, under no lock |
//! | `seen` | what is seen of a session, and how that is replaced |
//! | `keyed`, `many` | sessions under the caller's keys |
//! | `store`, `build`, `cycle`, `logins` | sessions under ids that the store makes |
//! | `snapshot`, `restore` | sessions, written down; and living on |
//! | `guarded`, `id` | what a store keeps of an id; ids and their text |
//! | `policy`, `session`, `error` | rules; what callers see; what is refused |

mod bell;
mod build;
mod by_key;
mod chains;
mod cycle;
mod error;
mod guarded;
mod id;
mod index;
mod keyed;
mod logins;
mod many;
mod owned;
mod payload;
mod place;
mod policy;
mod record;
mod registry;
#[cfg(feature = "serde")]
mod restore;
mod room;
mod seen;
mod session;
#[cfg(feature = "serde")]
mod snapshot;
mod start;
mod store;
mod tell;

use alloc::sync::Arc;

pub use build::SessionStoreBuilder;
pub use error::{CycleError, ParseSessionIdError, SessionGone, StartError, UpdateError};
pub use id::SessionId;
pub use keyed::Sessions;
pub use policy::{SessionLimits, SessionPolicy, TouchPolicy, WhenFull};
pub use session::{Session, TimeToLive, Touched};
#[cfg(feature = "serde")]
pub use snapshot::{FormerId, HashedId, SessionSnapshot, SessionStoreSnapshot, SessionsSnapshot};
pub use store::SessionStore;

/// A principal by name.
fn principal(name: Option<&str>) -> Result<Option<Arc<str>>, StartError> {
    match name {
        Some("") => Err(StartError::EmptyPrincipal),
        name => Ok(name.map(Arc::from)),
    }
}
