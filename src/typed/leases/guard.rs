//! A lease that is renewed for as long as its owner lives, and released with it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::panic::AssertUnwindSafe;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::panic::{catch_unwind, resume_unwind};

use super::keeper::{Hooks, Keeper};
use super::{FencingToken, GuardError, Lessor, Loss};
use crate::typed::panics::{Panics, forgotten};
use crate::{ArmError, Timers, Timestamp};

/// A lease that is held, renewed by itself, and released when this is dropped.
///
/// It asks for a renewal every third of the time to live, a little earlier by [jitter](LeaseGuardOptions::jitter),
/// and after a failure a ninth later; by timers of its own, in the driver of its runtime. So two renewals may fail
/// before it is lost.
///
/// The driver renews, not the worker: one that hangs, in a process that does not, keeps its lease for ever. A
/// [longest hold](super::LeasesBuilder::max_hold), which is off by default, ends that.
///
/// It keeps a deadline of its own, counted from the moment before each request that was confirmed, so that it
/// never believes in the lease for longer than the lessor does, if both clocks run alike. They need not:
/// what it protects has to check its [token](Self::token).
///
/// # At risk, and lost
///
/// From a third of the time to live before the deadline on it is [at risk](Self::is_at_risk): two renewals
/// were not confirmed, or the longest hold is near. It is lost at the deadline, at once when the lessor says so, and when the
/// runtime is shut down. [`is_lost`](Self::is_lost) is exact by what
/// the guard knows: that somebody else has ended the lease it learns with the next renewal. [`on_lost`](LeaseGuardOptions::on_lost)
/// and [`lost`](Self::lost) follow by the next tick. Lost is for good.
///
/// To release it, or to drop it, first stops the renewals. A renewal that is on its way then changes
/// nothing. Forgotten, with `core::mem::forget`, it renews for ever.
///
/// ```
/// use std::time::Duration;
/// use tickwheel::{Leases, ManualClock, Timers};
///
/// let clock = ManualClock::new();
/// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
/// let leases: Leases<String> = Leases::new(&timers);
/// let guard = leases.hold("report", "worker 1", Duration::from_secs(30))?;
/// for _ in 0..100 {
///     clock.advance(Duration::from_secs(5));
///     timers.turn_fully()?; // renews
///     assert!(!guard.is_lost());
/// }
/// drop(guard);
/// assert!(leases.holder("report").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped, it releases the lease"]
pub struct LeaseGuard<L: Lessor> {
    keeper: Arc<Keeper<L>>,
    /// It is released, or somebody else sees to that.
    given_up: bool,
}

/// How a guard renews, and what it tells its holder.
#[must_use = "it does nothing until it is told to"]
pub struct LeaseGuardOptions {
    timers: Timers,
    jitter: u32,
    hooks: Hooks,
}

/// A future that is ready when the lease is not held any more: [`LeaseGuard::lost`].
///
/// It may outlive the guard. Each has its own waker.
#[must_use = "futures do nothing unless they are polled"]
pub struct WhenLost<L: Lessor> {
    keeper: Arc<Keeper<L>>,
    id: Option<u64>,
}

// === impl LeaseGuardOptions ===

impl LeaseGuardOptions {
    /// Guards with the timers of that runtime: renewals up to 10 per cent early, and no hooks.
    pub fn new(timers: &Timers) -> Self {
        Self {
            timers: timers.clone(),
            jitter: 10,
            hooks: Hooks::default(),
        }
    }

    /// Asks up to that many per cent earlier than every third of the time to live, at random, so
    /// that many guards do not ask together. 50 at most. It is only ever earlier.
    pub fn jitter(mut self, percent: u32) -> Self {
        self.jitter = percent.min(50);
        self
    }

    /// Calls `hook` once when the lease is lost, but not when it is released: by the driver, or by
    /// whoever finds it lost first. A panic goes to whoever has called, or to the runtime's hook.
    pub fn on_lost(mut self, hook: impl Fn(Loss) + Send + Sync + 'static) -> Self {
        self.hooks.on_lost = Some(Box::new(hook));
        self
    }

    /// Calls `hook` with the time that is left when the lease comes to be at risk: once, and again if it was
    /// renewed in between. By the driver.
    pub fn on_risk(mut self, hook: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        self.hooks.on_risk = Some(Box::new(hook));
        self
    }

    /// Asks a lessor for a lease, once, and keeps it. Renewals go by the life that the lessor gives, if that is
    /// shorter than `ttl`, and by that alone if `ttl` is zero.
    ///
    /// # Errors
    ///
    /// [`GuardError`].
    pub fn acquire<L: Lessor>(
        self,
        lessor: L,
        request: L::Request,
        ttl: Duration,
    ) -> Result<LeaseGuard<L>, GuardError<L::Error>> {
        let asked = self.timers.now();
        let (grant, life) = lessor.acquire(request, ttl).map_err(GuardError::Refused)?;
        let deadline = asked.saturating_add(life);
        let timers = self.timers.clone();
        let guard = self.keep_for(lessor, grant, (ttl, life), deadline);
        let guard = guard.map_err(GuardError::Timer)?;
        if guard.keeper.deadline.is_live(timers.now()) {
            Ok(guard)
        } else {
            Err(GuardError::TooLate)
        }
    }

    /// Keeps a lease that was granted before, which the holder may believe in until `deadline`: a time from
    /// before it was asked for, and its life. It is renewed at once if more than a third of `ttl` is over; with
    /// a `ttl` of zero what is left counts as its life.
    ///
    /// # Errors
    ///
    /// [`ArmError`]. The lease is released.
    pub fn keep<L: Lessor>(
        self,
        lessor: L,
        grant: L::Grant,
        ttl: Duration,
        deadline: Timestamp,
    ) -> Result<LeaseGuard<L>, ArmError> {
        let life = if ttl.is_zero() {
            super::grant::remaining(deadline, self.timers.now())
        } else {
            ttl
        };
        self.keep_for(lessor, grant, (ttl, life), deadline)
    }

    fn keep_for<L: Lessor>(
        self,
        lessor: L,
        grant: L::Grant,
        lives: (Duration, Duration),
        deadline: Timestamp,
    ) -> Result<LeaseGuard<L>, ArmError> {
        let (jitter, hooks) = (self.jitter, self.hooks);
        let token = token_or_release(&lessor, &grant);
        let lease = (lessor, grant, token);
        let keeper = Keeper::new(self.timers, lease, lives, deadline, jitter, hooks);
        let guard = LeaseGuard {
            keeper,
            given_up: false,
        };
        guard.keeper.follow()?;
        Ok(guard)
    }
}

// === impl LeaseGuard ===

impl<L: Lessor> LeaseGuard<L> {
    /// The number of the grant, for what the lease protects.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.keeper.token
    }

    /// The grant.
    #[must_use]
    pub fn grant(&self) -> &L::Grant {
        &self.keeper.grant
    }

    /// Whether it is lost: from its deadline on, or before if the lessor has said so. Reads the clock. O(1).
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.loss().is_some()
    }

    /// How it was lost; `None` while it is held. Reads the clock. O(1).
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        self.keeper.loss()
    }

    /// Whether it is held, and will be lost within a third of its time unless a renewal is confirmed. O(1).
    #[must_use]
    pub fn is_at_risk(&self) -> bool {
        !self.is_lost()
            && self.keeper.deadline.get().is_some_and(|until| {
                !until.is_never() && self.keeper.timers.now() >= self.keeper.risk_at(until)
            })
    }

    /// Until when the holder may believe in the lease if nothing is heard from the lessor; `None` once it is
    /// lost.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        if self.is_lost() {
            return None;
        }
        self.keeper.deadline.get()
    }

    /// A future that is ready when the lease is not held any more.
    pub fn lost(&self) -> WhenLost<L> {
        WhenLost {
            keeper: Arc::clone(&self.keeper),
            id: None,
        }
    }

    /// Stops the renewals, gives the lease back, and says what the lessor has said. If it was lost, the lessor is
    /// told all the same.
    ///
    /// # Errors
    ///
    /// Those of the lessor.
    ///
    /// # Panics
    ///
    /// If a waker of [`lost`](Self::lost) or the lessor has panicked: when the lessor was told.
    pub fn release(mut self) -> Result<(), L::ReleaseError> {
        self.given_up = true;
        let mut panics = Panics::default();
        panics.run(|| self.keeper.stop(Loss::Released));
        let release = || self.keeper.lessor.release(&self.keeper.grant);
        panics.end_with(catch_unwind(AssertUnwindSafe(release)))
    }

    /// Stops the renewals, and hands the grant to the caller, who renews and releases it from now on, or lets it expire. The
    /// lessor is not told. If it was lost, the grant is that of a lease which is over.
    ///
    /// The guard has held it [until](Self::deadline) a time that is gone with it: to be asked for before, where the grant
    /// does not know. A renewal that is on its way may let it live longer. [`lost`](Self::lost) is ready, with
    /// [`Loss::Detached`]; [`on_lost`](LeaseGuardOptions::on_lost) is not called. O(1), and O(who waits for the loss).
    ///
    /// # Panics
    ///
    /// If a waker of [`lost`](Self::lost) has panicked. The lease then expires.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tickwheel::{Leases, ManualClock, Timers};
    ///
    /// let clock = ManualClock::new();
    /// let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    /// let leases: Leases<String> = Leases::new(&timers);
    /// let guard = leases.hold("report", "worker 1", Duration::from_secs(30))?;
    /// let grant = guard.detach();
    /// assert_eq!(*leases.holder("report").unwrap().holder(), "worker 1");
    ///
    /// clock.advance(Duration::from_secs(20));
    /// leases.renew(&grant)?; // nobody else does
    /// clock.advance(Duration::from_secs(30));
    /// timers.turn_fully()?;
    /// assert!(leases.holder("report").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(mut self) -> L::Grant
    where
        L::Grant: Clone,
    {
        // Before anything is stopped: it is somebody's code.
        let grant = self.keeper.grant.clone();
        self.given_up = true;
        self.keeper.stop(Loss::Detached);
        grant
    }
}

/// The number of a grant. A lessor that panics instead has it back before that goes on.
fn token_or_release<L: Lessor>(lessor: &L, grant: &L::Grant) -> FencingToken {
    match catch_unwind(AssertUnwindSafe(|| lessor.token(grant))) {
        Ok(token) => token,
        Err(panic) => {
            let release = || drop(lessor.release(grant));
            if let Err(again) = catch_unwind(AssertUnwindSafe(release)) {
                forgotten(again);
            }
            resume_unwind(panic)
        }
    }
}

impl<L: Lessor> Drop for LeaseGuard<L> {
    fn drop(&mut self) {
        if !self.given_up {
            let mut panics = Panics::default();
            panics.run(|| self.keeper.stop(Loss::Released));
            panics.run(|| drop(self.keeper.lessor.release(&self.keeper.grant)));
            panics.end();
        }
    }
}

impl<L: Lessor> fmt::Debug for LeaseGuard<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseGuard")
            .field("token", &self.token())
            .field("deadline", &self.keeper.deadline.get())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for LeaseGuardOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseGuardOptions")
            .field("jitter", &self.jitter)
            .finish_non_exhaustive()
    }
}

// === impl WhenLost ===

impl<L: Lessor> Future for WhenLost<L> {
    type Output = Loss;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Loss> {
        let Self { keeper, id } = &mut *self;
        keeper.poll_lost(id, cx)
    }
}

impl<L: Lessor> Drop for WhenLost<L> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.keeper.unwatch(id);
        }
    }
}

impl<L: Lessor> fmt::Debug for WhenLost<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WhenLost").finish_non_exhaustive()
    }
}
