//! The driver's attention: one timer for each store, for the time at which the next record may be due.
//!
//! It is armed before the first session is let in and as long as there is any, so that none is there that the driver
//! does not come by for, also in a runtime that is full.

use alloc::sync::{Arc, Weak};
use alloc::task::Wake;
use core::hash::{BuildHasher, Hash};
use core::task::Waker;

use super::StartError;
use super::index::Drained;
use super::payload::Payload;
use super::registry::Registry;
use super::tell::Telling;
use crate::ArmError;
use crate::typed::panics::Panics;

/// What the driver wakes when records are due. It does not keep the registry.
struct Bell<K, P, S>(Weak<Registry<K, P, S>>);

// === impl Registry ===

impl<K, P, S> Registry<K, P, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    P: Payload,
    S: BuildHasher + Send + Sync + 'static,
{
    /// Sees to it that the driver can be had come by. A key is claimed.
    pub(super) fn reserve_bell(&self) -> Result<(), StartError> {
        let reserved = self.alarm.reserve(&self.timers, || self.bell());
        reserved.map_err(|error| match error {
            ArmError::ShutDown => StartError::ShutDown,
            ArmError::Full | ArmError::ZeroPeriod => StartError::Full,
        })
    }

    /// Has the driver come by when the index says.
    pub(super) fn follow_bell(&self) {
        // What is refused is about to ring, and follows then; or the runtime is shut down.
        let _ = self
            .alarm
            .follow(&self.timers, || self.index().bell(), || self.bell());
    }

    fn bell(&self) -> Waker {
        Waker::from(Arc::new(Bell(self.this.clone())))
    }

    /// What the driver does when something may be due.
    fn ring(&self) {
        // A hook may let time pass, and start what expires meanwhile: that is for the next time.
        let now = self.now();
        let mut panics = Panics::default();
        loop {
            let mut drained = Drained::All;
            // Told of batch by batch, while their memory is at hand.
            panics.run(|| {
                let mut telling = Telling::new(self);
                let mut index = self.index();
                self.see(now);
                drained = index.drain(now, &mut telling.events);
                if drained == Drained::All {
                    index.bell_at = index.next();
                }
            });
            if drained == Drained::All {
                break;
            }
        }
        self.follow_bell();
        panics.end();
    }
}

// === impl Bell ===

impl<K, P, S> Wake for Bell<K, P, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    P: Payload,
    S: BuildHasher + Send + Sync + 'static,
{
    fn wake(self: Arc<Self>) {
        if let Some(registry) = self.0.upgrade() {
            registry.ring();
        }
    }
}
