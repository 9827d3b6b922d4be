//! Leases: who may use a resource, until when, and by which number the resource can tell.
//!
//! | file | what lives there |
//! |---|---|
//! | `handle` | what can be asked of leases |
//! | `registry` | all resources, and the one way to change one |
//! | `slot` | one resource: who holds it, who waits, what is to be told |
//! | `idle` | resources that nobody holds, and that are remembered |
//! | `record` | one grant, from the request on |
//! | `acquire` | asking: once, as a future, by a thread that waits |
//! | `unanswered` | a request on its way, let go of if its caller is not answered |
//! | `signal` | where that thread waits |
//! | `grant` | what a holder has in hand |
//! | `token` | fencing tokens, and how they survive a restart |
//! | `fence` | the resource's side |
//! | `lessor` | whoever grants leases, here or elsewhere |
//! | `guard`, `keeper` | a lease that is renewed and released by itself |
//! | `loss` | how a guard has come to hold nothing |
//! | `snapshot`, `revive` | leases, written down and taken up again |
//! | `effects` | what a change leaves to be done without a lock |
//! | `build`, `error` | how leases are made; what is refused |
//! | `modelled` | what models use of this, in no normal build |

mod acquire;
mod build;
mod effects;
mod error;
mod fence;
mod grant;
mod guard;
mod handle;
mod idle;
mod keeper;
mod lessor;
mod loss;
#[cfg(loom)]
mod modelled;
mod record;
mod registry;
#[cfg(feature = "serde")]
mod revive;
mod signal;
mod slot;
#[cfg(feature = "serde")]
mod snapshot;
mod token;
mod unanswered;

use core::ops::DerefMut;

use crate::sync::Mutex;

pub use acquire::Acquire;
pub use build::LeasesBuilder;
pub use error::{AcquireError, Lost};
pub use fence::{FenceGate, Stale};
pub use grant::{Grant, Holding};
pub use guard::{LeaseGuard, LeaseGuardOptions, WhenLost};
pub use handle::Leases;
pub use lessor::{Lessor, Renewal};
pub use loss::{GuardError, Loss};
#[cfg(loom)]
pub use modelled::ModelledTokens;
#[cfg(feature = "serde")]
pub use snapshot::{DelaySnapshot, LeaseSnapshot, LeasesSnapshot};
pub use token::FencingToken;

/// Locks what no panic leaves half done.
fn locked<T>(mutex: &Mutex<T>) -> impl DerefMut<Target = T> + '_ {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}
