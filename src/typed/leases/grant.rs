//! What a holder has in hand, and what others see of it.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;
use core::time::Duration;

use super::record::Record;
use super::{FencingToken, Leases, Lost};
use crate::Timestamp;

/// A lease that was granted: what [`renew`](super::Leases::renew) and [`release`](super::Leases::release) ask for.
///
/// It belongs to this one grant, not to the resource nor to the name of the holder: when the lease was lost, this
/// says so, and it does nothing to whoever holds the lease then. Clones are the same grant. Dropped, it
/// does nothing; the lease expires. A [`LeaseGuard`](super::LeaseGuard) renews and releases.
#[must_use = "a lease that is not released is held until it expires"]
pub struct Grant<K, H>(pub(super) Arc<Record<K, H>>);

/// Who holds a lease: [`Leases::holder`](super::Leases::holder). It can be looked at, and does nothing.
pub struct Holding<K, H>(pub(super) Arc<Record<K, H>>);

macro_rules! views {
    ($name:ident) => {
        impl<K, H> $name<K, H>
        where
            K: Hash + Eq + Send + Sync + 'static,
            H: Send + Sync + 'static,
        {
            /// What is leased.
            #[must_use]
            pub fn resource(&self) -> &K {
                &self.0.slot.resource
            }

            /// To whom.
            #[must_use]
            pub fn holder(&self) -> &H {
                &self.0.holder
            }

            /// The number of the grant. A renewal keeps it.
            #[must_use]
            pub fn token(&self) -> FencingToken {
                let life = self.0.life.get();
                life.map_or(FencingToken::new(0), |life| life.token)
            }

            /// The moment from which it is expired unless it is renewed; when it has ended, the one
            /// that there was. [`Timestamp::NEVER`] for a lease without end.
            #[must_use]
            pub fn deadline(&self) -> Timestamp {
                self.0.deadline()
            }

            /// Whether it lives: it has not ended, and its deadline is not reached. Reads the clock.
            /// O(1), no lock if it lives.
            #[must_use]
            pub fn is_live(&self) -> bool {
                self.status().is_ok()
            }

            /// How long it will live unless it is renewed, `Duration::MAX` without end; or how it
            /// was lost. Reads the clock. O(1), no lock if it lives.
            ///
            /// # Errors
            ///
            /// [`Lost`], for good.
            pub fn status(&self) -> Result<Duration, Lost> {
                let now = self.0.registry.now();
                loop {
                    if self.0.is_live(now) {
                        return Ok(remaining(self.0.deadline(), now));
                    }
                    if let Some(lost) = self.0.lost(now) {
                        return Err(lost);
                    }
                }
            }
        }

        impl<K, H> Clone for $name<K, H> {
            fn clone(&self) -> Self {
                Self(Arc::clone(&self.0))
            }
        }

        impl<K: fmt::Debug, H: fmt::Debug> fmt::Debug for $name<K, H> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("resource", &self.0.slot.resource)
                    .field("holder", &self.0.holder)
                    .field("token", &self.0.life.get().map(|life| life.token))
                    .finish_non_exhaustive()
            }
        }
    };
}

views!(Grant);
views!(Holding);

// === impl Leases ===

impl<K, H> Leases<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// The grant with that token, if it lives: for a holder that has kept nothing but the number, in another process or
    /// since before a restart. Tokens are no secrets: whoever calls this has to know that it speaks for the
    /// holder. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{Leases, ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let leases: Leases<String> = Leases::new(&timers);
    /// let token = leases.try_acquire("report", "worker 1", Duration::from_secs(10))?.token();
    ///
    /// let grant = leases.resume("report", token).unwrap();
    /// leases.release(&grant)?;
    /// assert!(leases.resume("report", token).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume<Q>(&self, resource: &Q, token: FencingToken) -> Option<Grant<K, H>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let Holding(record) = self.holder(resource)?;
        let grant = Grant(record);
        (grant.token() == token).then_some(grant)
    }

    /// How many wait for a lease. Who has waited for as long as it was to is not counted. O(who waits).
    #[must_use]
    pub fn waiters<Q>(&self, resource: &Q) -> usize
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let registry = self.registry();
        let Some(slot) = registry.find(resource) else {
            return 0;
        };
        let now = registry.now();
        registry.change(&slot, now, |state, effects| state.time_out(now, effects));
        slot.lock().waiters()
    }

    /// Visits each lease that is held, with how long it will live unless it is renewed: `Duration::MAX` without end. In no
    /// particular order. O(resources), and so much memory for the time of the call.
    ///
    /// It is a look, and no more: all deadlines are compared with one reading of the clock, but each lease is looked at when
    /// its turn comes. One that is granted, released or handed on meanwhile is visited or not, none twice; `visit` may do
    /// all that itself, as no lock is held.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{Leases, ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let leases: Leases<String> = Leases::new(&timers);
    /// let one = leases.try_acquire("report", "worker 1", Duration::from_secs(10))?;
    /// let two = leases.try_acquire("backup", "worker 2", Duration::from_secs(20))?;
    /// leases.release(&one)?;
    ///
    /// let mut held = Vec::new();
    /// leases.for_each(|lease, left| held.push((lease.resource().clone(), lease.token(), left)));
    /// assert_eq!(held, [("backup".to_string(), two.token(), Duration::from_secs(20))]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each(&self, mut visit: impl FnMut(&Holding<K, H>, Duration)) {
        let registry = self.registry();
        // All of them first: then of two slots for one resource the earlier is over when it is looked at.
        let mut slots = Vec::new();
        registry.for_each(|slot| slots.push(Arc::clone(slot)));
        let now = registry.now();
        for slot in slots {
            if slot.holds(now) == Some(false) {
                // Then it is over for good, and may have been handed on.
                registry.settle(&slot, now);
            }
            let Some(record) = slot.lock().current.clone() else {
                continue;
            };
            if record.is_live(now) {
                let left = remaining(record.deadline(), now);
                visit(&Holding(record), left);
            }
        }
    }

    /// Leases that are held now: what has expired is not counted, fired or not. Exact when nobody acquires or
    /// releases meanwhile. O(resources).
    #[must_use]
    pub fn len(&self) -> usize {
        let registry = self.registry();
        let (now, mut count, mut over) = (registry.now(), 0, Vec::new());
        registry.for_each(|slot| match slot.holds(now) {
            Some(true) => count += 1,
            Some(false) => over.push(Arc::clone(slot)),
            None => {}
        });
        for slot in over {
            // Then it is over for good, and may have been handed on.
            registry.settle(&slot, now);
            count += usize::from(slot.holds(now) == Some(true));
        }
        count
    }

    /// Whether no lease is held now. O(resources).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How long it is until a deadline.
pub(super) fn remaining(deadline: Timestamp, now: Timestamp) -> Duration {
    if deadline.is_never() {
        Duration::MAX
    } else {
        deadline.saturating_since(now)
    }
}
