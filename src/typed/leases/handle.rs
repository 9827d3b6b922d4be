//! The handle: what can be asked of leases.

use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;
use core::time::Duration;

use super::acquire::Answer;
use super::registry::Registry;
use super::{Acquire, AcquireError, FencingToken, Grant, Holding, LeasesBuilder, Lost};
use crate::typed::EndReason;
use crate::{Timers, Timestamp};

/// Leases of resources: each is held by one holder at most, for a time, and goes back by itself.
///
/// `K` names resources, `H` holders. A handle is cheap to clone; all clones are the same leases.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::{Leases, Lost, ManualClock, Timers};
///
/// let clock = ManualClock::new();
/// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
/// let leases: Leases<String> = Leases::new(&timers);
/// let ttl = Duration::from_secs(10);
///
/// let one = leases.try_acquire("report", "worker 1", ttl)?;
/// assert!(leases.try_acquire("report", "worker 2", ttl).unwrap_err().is_held());
/// clock.advance(Duration::from_secs(6));
/// leases.renew(&one)?; // another ten seconds from now
///
/// clock.advance(ttl); // worker 1 has stopped
/// let two = leases.try_acquire("report", "worker 2", ttl)?;
/// assert!(one.token() < two.token());
/// assert_eq!(leases.renew(&one), Err(Lost::Expired));
/// assert_eq!(leases.release(&one), Err(Lost::Expired)); // and does nothing to worker 2
/// assert_eq!(*leases.holder("report").unwrap().holder(), "worker 2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What a lease is not
///
/// It is not mutual exclusion. Leases (Gray & Cheriton, SOSP 1989) are granted by a clock, and a holder
/// is a program: it may be paused between looking at its lease and acting on it, for longer than the lease lives,
/// or have a slow clock, and then it acts after somebody else has begun. No time to live is
/// long enough to rule that out (Kleppmann, "How to do distributed locking", 2016).
///
/// So each grant has a [`FencingToken`] that is larger than those of all grants before. It goes with what
/// the holder sends, and what the lease protects refuses any token that is smaller than one it has
/// seen: a [`FenceGate`](crate::FenceGate). Where nothing can check tokens, a lease saves double work; it does not keep
/// anything from being done twice.
///
/// # When
///
/// A grant lives in `[granted, deadline)`: at its deadline it is expired, for every call, to the
/// nanosecond, whether or not a timer has fired. The timers tell of it and hand it on, by the tick that
/// follows. Expired is for good, whatever the clock shows later. A renewal and an expiry are one step on
/// one word: a grant is renewed or it expires, and never both. Renewals never bring a deadline
/// forward, and end at [`max_hold`](LeasesBuilder::max_hold).
///
/// | request | comes to |
/// |---|---|
/// | a time to live of zero | [`AcquireError::ZeroTtl`] |
/// | `Duration::MAX`, or one that ends beyond the range of the clock | a lease without end, until it is released or revoked |
/// | a clock that is far ahead | as any other; times that are out of range are never |
/// | a clock that goes back | what has expired remains so; what lives does so until the time of the runtime is its deadline |
/// | an empty name | a name as any other |
/// | a holder who asks for what it holds | refused or queued as anybody: leases are not re-entrant |
/// | a holder whose lease has expired, and nobody has it | a renewal is refused; it may acquire again, and has another token |
///
/// # Who waits
///
/// [`acquire`](Self::acquire) and [`acquire_blocking`](Self::acquire_blocking) wait in the order in which they
/// came. Whoever ends a lease hands it to the first, in the same step; nobody overtakes.
///
/// # Code of the user
///
/// Hooks, wakers and destructors run without any lock, and may use the leases. If some of them panic in
/// one call, all that the call has to do is done, and then the first panic goes on.
///
/// # Its life
///
/// It holds the runtime, and so does each [`Grant`]. When the last handle is dropped, or the runtime is
/// shut down, all grants end with [`Shutdown`](crate::EndReason::Shutdown), and all who wait with
/// [`AcquireError::ShutDown`].
///
/// Leases are in memory: after a restart nobody holds any, unless a snapshot is restored (`Leases::restore`, with the
/// feature `serde`). What its holders from before may still believe is for
/// [`start_delay`](LeasesBuilder::start_delay) and for fences, and
/// [`persist_tokens`](LeasesBuilder::persist_tokens) keeps the tokens increasing.
///
/// Each grant, and each who waits, has one timer of the runtime, and counts towards its
/// [limit](crate::TimersBuilder::limit). A holder is let go of as soon as its lease has ended. Of the resources that nobody
/// holds or wants, up to 1,024 are remembered, by their names, because most are wanted again soon. They have no timer, and
/// nobody gets to see them. All others are forgotten at once, and the map drops their names a little later.
pub struct Leases<K, H = String>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    owner: Arc<Owner<K, H>>,
}

/// What all handles share; records have the registry alone.
struct Owner<K, H>(Arc<Registry<K, H>>)
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static;

// === impl Leases ===

impl<K, H> Leases<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// Leases on that runtime, with tokens from 1 on, and neither a longest hold nor a lock delay.
    #[must_use]
    pub fn new(timers: &Timers) -> Self {
        Self::builder().build(timers)
    }

    /// Leases made otherwise.
    pub fn builder() -> LeasesBuilder<K, H> {
        LeasesBuilder::new()
    }

    pub(super) fn of(registry: Arc<Registry<K, H>>) -> Self {
        let owner = Arc::new(Owner(registry));
        Self { owner }
    }

    pub(super) fn registry(&self) -> &Arc<Registry<K, H>> {
        &self.owner.0
    }

    /// Grants a lease, if it can be had now. O(1).
    ///
    /// # Errors
    ///
    /// [`AcquireError::Held`] and [`AcquireError::Delayed`]; and [`ZeroTtl`](AcquireError::ZeroTtl),
    /// [`Full`](AcquireError::Full), [`ShutDown`](AcquireError::ShutDown),
    /// [`TokensExhausted`](AcquireError::TokensExhausted), [`Unpersisted`](AcquireError::Unpersisted), and
    /// [`Lapsed`](AcquireError::Lapsed) if the lease was over before this returns: this thread was stopped for the whole
    /// time, or somebody has revoked it.
    /// The holder is dropped.
    pub fn try_acquire(
        &self,
        resource: impl Into<K>,
        holder: impl Into<H>,
        ttl: Duration,
    ) -> Result<Grant<K, H>, AcquireError> {
        let (resource, holder) = (resource.into(), holder.into());
        match self
            .registry()
            .ask(resource, holder, ttl, Timestamp::ZERO, None)?
        {
            Answer::Granted(grant) => Ok(grant),
            // Nobody waits without a waker.
            Answer::Queued(..) => Err(AcquireError::TimedOut),
        }
    }

    /// A future that is ready when the lease is granted. See [`Acquire`]. O(log of who waits) for each poll.
    ///
    /// ```
    /// use std::future::Future;
    /// use std::pin::pin;
    /// use std::task::{Context, Poll, Waker};
    /// use std::time::Duration;
    /// use tickwheel::{Leases, ManualClock, Timers};
    ///
    /// let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    /// let leases: Leases<String> = Leases::new(&timers);
    /// let ttl = Duration::from_secs(10);
    /// let one = leases.try_acquire("report", "worker 1", ttl)?;
    ///
    /// let mut two = pin!(leases.acquire("report", "worker 2", ttl));
    /// let mut cx = Context::from_waker(Waker::noop());
    /// assert!(two.as_mut().poll(&mut cx).is_pending());
    /// leases.release(&one)?; // hands it over, and wakes the task
    /// let Poll::Ready(two) = two.poll(&mut cx) else { unreachable!() };
    /// assert_eq!(two?.token().get(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acquire(
        &self,
        resource: impl Into<K>,
        holder: impl Into<H>,
        ttl: Duration,
    ) -> Acquire<K, H> {
        Acquire::new(self.clone(), resource.into(), holder.into(), ttl)
    }

    /// Waits in this thread until the lease is granted, or for that long, by the clock of the runtime; `None`
    /// waits for as long as it takes.
    ///
    /// Somebody else has to drive the runtime: in one of its callbacks this may wait for ever.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`], and those of [`Acquire`].
    pub fn acquire_blocking(
        &self,
        resource: impl Into<K>,
        holder: impl Into<H>,
        ttl: Duration,
        timeout: Option<Duration>,
    ) -> Result<Grant<K, H>, AcquireError> {
        let acquire = self.acquire(resource, holder, ttl);
        match timeout {
            Some(timeout) => acquire.timeout(timeout).wait(),
            None => acquire.wait(),
        }
    }

    /// Lets a grant live for its whole time again, from now on, and says until when it lives. The token stays.
    /// O(1), lock-free while it lives.
    ///
    /// At the [longest hold](LeasesBuilder::max_hold) it moves nothing, and says so by the deadline that it
    /// returns.
    ///
    /// # Errors
    ///
    /// [`Lost`] if it is none any more, for good.
    pub fn renew(&self, grant: &Grant<K, H>) -> Result<Timestamp, Lost> {
        self.own(grant)?;
        grant.0.renew()
    }

    /// Gives a lease back. Whoever waits has it next, without a [delay](LeasesBuilder::lock_delay).
    /// Releasing it again is harmless, and `Ok`. O(1).
    ///
    /// # Errors
    ///
    /// [`Lost`] if it had ended otherwise. It does nothing to who holds the lease now.
    pub fn release(&self, grant: &Grant<K, H>) -> Result<(), Lost> {
        self.own(grant)?;
        let (registry, slot) = (self.registry(), &grant.0.slot);
        if grant.0.end.get().is_none() {
            let now = registry.now();
            registry.change(slot, now, |state, effects| {
                if state.is_held_by(&grant.0) {
                    state.end(EndReason::Released, now, Duration::ZERO, effects);
                }
            });
        }
        let lost = Lost::because(grant.0.ended().reason);
        if lost == Lost::Released {
            return Ok(());
        }
        Err(lost)
    }

    /// Takes a lease away, from whomever. Says which grant has ended; `None` if nobody held it. O(1).
    pub fn revoke<Q>(&self, resource: &Q) -> Option<FencingToken>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let registry = self.registry();
        let slot = registry.find(resource)?;
        let now = registry.now();
        registry.change(&slot, now, |state, effects| {
            let token = state.token();
            state.end(EndReason::Revoked, now, registry.lock_delay, effects);
            token
        })
    }

    /// Who holds a lease now; `None` if nobody does. O(1).
    #[must_use]
    pub fn holder<Q>(&self, resource: &Q) -> Option<Holding<K, H>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let slot = self.registry().find(resource)?;
        let (current, waited_for) = {
            let state = slot.lock();
            (state.current.clone(), state.waiters() > 0)
        };
        let now = self.registry().now();
        match current {
            Some(current) if current.is_live(now) => {
                return Some(Holding(current));
            }
            None if !waited_for => return None,
            Some(_) | None => {}
        }
        self.registry().settle(&slot, now);
        // It may have been handed on.
        let next = slot.lock().current.clone()?;
        Some(Holding(next))
    }

    /// How long a lease will live unless it is renewed, `Duration::MAX` if it has no end; `None` if nobody
    /// holds it. Never zero. O(1).
    #[must_use]
    pub fn time_to_live<Q>(&self, resource: &Q) -> Option<Duration>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.holder(resource)?.status().ok()
    }

    /// The largest token that was handed out; 0, or what [`tokens_from`](LeasesBuilder::tokens_from) was given, if
    /// none was.
    ///
    /// Stored when everything has come to rest, it does for `tokens_from` after a restart. After a
    /// crash it is too old: see [`persist_tokens`](LeasesBuilder::persist_tokens).
    #[must_use]
    pub fn high_water(&self) -> FencingToken {
        self.registry().tokens.last()
    }

    /// The runtime whose time and timers they use.
    #[must_use]
    pub fn timers(&self) -> &Timers {
        &self.registry().timers
    }

    fn own(&self, grant: &Grant<K, H>) -> Result<(), Lost> {
        if Arc::ptr_eq(self.registry(), &grant.0.registry) {
            return Ok(());
        }
        Err(Lost::Foreign)
    }
}

impl<K, H> Clone for Leases<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    fn clone(&self) -> Self {
        let owner = Arc::clone(&self.owner);
        Self { owner }
    }
}

impl<K, H> Drop for Owner<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    fn drop(&mut self) {
        self.0.shut_all();
    }
}

impl<K, H> fmt::Debug for Leases<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// Looks at no lease: nothing is reclaimed or told by a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leases")
            .field("high_water", &self.high_water())
            .finish_non_exhaustive()
    }
}
