//! Whoever grants leases: in this process, or elsewhere.

use alloc::sync::Arc;
use core::fmt;
use core::hash::Hash;
use core::time::Duration;

use super::{
    AcquireError, FencingToken, Grant, GuardError, LeaseGuard, LeaseGuardOptions, Leases, Lost,
};
use crate::Timestamp;

/// Grants, renews and takes back leases. [`Leases`] are one; a client of a lease service is another.
///
/// A lessor says how long a lease lives as a span, never as a time: clocks differ. A
/// [`LeaseGuard`](super::LeaseGuard) counts it from the moment before it has asked, so that it never believes in
/// a lease for longer than the lessor does.
pub trait Lessor: Send + Sync + 'static {
    /// What is asked for: a resource, and in whose name.
    type Request;
    /// What a holder has in hand.
    type Grant: Send + Sync + 'static;
    /// Why a lease is not granted.
    type Error;
    /// Why one is not taken back.
    type ReleaseError;

    /// Grants a lease, and says how long it lives from now on, at least. May block.
    ///
    /// # Errors
    ///
    /// Its own.
    fn acquire(
        &self,
        request: Self::Request,
        ttl: Duration,
    ) -> Result<(Self::Grant, Duration), Self::Error>;

    /// Asks for more time for a grant. It is called by the driver of the guard's runtime, and should not block: the
    /// answer may be given later, and from elsewhere.
    fn renew(&self, grant: &Self::Grant, renewal: Renewal);

    /// Takes a lease back. A grant that has ended does nothing to the next.
    ///
    /// # Errors
    ///
    /// Its own.
    fn release(&self, grant: &Self::Grant) -> Result<(), Self::ReleaseError>;

    /// The number of a grant.
    fn token(&self, grant: &Self::Grant) -> FencingToken;
}

/// A renewal that was asked for, to be answered once. Dropped without an answer it has
/// [failed](Self::fail).
///
/// An answer may come late, after others, or when the lease is over: it then counts for what it was asked
/// for, and never revives what is lost.
#[must_use = "dropped, it has failed"]
pub struct Renewal {
    asked: Timestamp,
    keeper: Option<Arc<dyn Hears>>,
}

/// Who has asked.
pub(super) trait Hears: Send + Sync {
    fn confirmed(self: Arc<Self>, asked: Timestamp, life: Duration);
    fn refused(self: Arc<Self>);
    fn failed(self: Arc<Self>);
}

// === impl Renewal ===

impl Renewal {
    pub(super) fn new(asked: Timestamp, keeper: Arc<dyn Hears>) -> Self {
        let keeper = Some(keeper);
        Self { asked, keeper }
    }

    /// When it was asked for, by the clock of whoever has asked.
    #[must_use]
    pub fn asked(&self) -> Timestamp {
        self.asked
    }

    /// It was renewed, and lives for that long from when the lessor was asked.
    pub fn confirm(mut self, life: Duration) {
        if let Some(keeper) = self.keeper.take() {
            keeper.confirmed(self.asked, life);
        }
    }

    /// The lessor says that the lease is over.
    pub fn refuse(mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.refused();
        }
    }

    /// The lessor has not answered, or could not be asked. It will be asked again soon.
    pub fn fail(self) {
        drop(self);
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.failed();
        }
    }
}

impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renewal")
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

// === impl Leases ===

impl<K, H> Lessor for Leases<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    type Request = (K, H);
    type Grant = Grant<K, H>;
    type Error = AcquireError;
    type ReleaseError = Lost;

    fn acquire(
        &self,
        (resource, holder): (K, H),
        ttl: Duration,
    ) -> Result<(Grant<K, H>, Duration), AcquireError> {
        let grant = self.try_acquire(resource, holder, ttl)?;
        let life = grant.status().map_err(|_| AcquireError::Lapsed)?;
        Ok((grant, life))
    }

    fn renew(&self, grant: &Grant<K, H>, renewal: Renewal) {
        // Before the renewal, and after it was asked for.
        let now = self.timers().now();
        match self.renew(grant) {
            Ok(until) => renewal.confirm(super::grant::remaining(until, now)),
            Err(_) => renewal.refuse(),
        }
    }

    fn release(&self, grant: &Grant<K, H>) -> Result<(), Lost> {
        self.release(grant)
    }

    fn token(&self, grant: &Grant<K, H>) -> FencingToken {
        grant.token()
    }
}

impl<K, H> Leases<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// As [`try_acquire`](Self::try_acquire), with a guard that renews and releases.
    ///
    /// # Errors
    ///
    /// As that.
    pub fn hold(
        &self,
        resource: impl Into<K>,
        holder: impl Into<H>,
        ttl: Duration,
    ) -> Result<LeaseGuard<Self>, AcquireError> {
        let options = LeaseGuardOptions::new(self.timers());
        let request = (resource.into(), holder.into());
        options
            .acquire(self.clone(), request, ttl)
            .map_err(|error| match error {
                GuardError::Refused(error) => error,
                GuardError::TooLate => AcquireError::Lapsed,
                GuardError::Timer(error) => error.into(),
            })
    }

    /// A guard for a grant of these leases: one that was [waited for](Self::acquire).
    ///
    /// # Errors
    ///
    /// [`AcquireError::Lapsed`] if it is over, and [`Full`](AcquireError::Full) and
    /// [`ShutDown`](AcquireError::ShutDown); the lease is released.
    pub fn guard(&self, grant: Grant<K, H>) -> Result<LeaseGuard<Self>, AcquireError> {
        if self.renew(&grant).is_err() {
            return Err(AcquireError::Lapsed);
        }
        let (ttl, deadline) = (grant.0.ttl, grant.deadline());
        let options = LeaseGuardOptions::new(self.timers());
        Ok(options.keep(self.clone(), grant, ttl, deadline)?)
    }
}
