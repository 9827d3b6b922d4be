//! How leases are made.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;
use core::hash::Hash;
use core::time::Duration;

use super::registry::{OnEnd, Registry};
use super::token::{Persist, Tokens};
use super::{FencingToken, Leases};
use crate::typed::Ended;
use crate::{Timers, Timestamp};

/// Makes [`Leases`] otherwise than [`Leases::new`] does: [`Leases::builder`].
#[must_use = "it makes nothing until it is told to"]
pub struct LeasesBuilder<K, H> {
    max_hold: Duration,
    lock_delay: Duration,
    start_delay: Duration,
    high: FencingToken,
    block: u64,
    persist: Option<Persist>,
    on_end: Option<OnEnd<K, H>>,
}

// === impl LeasesBuilder ===

impl<K, H> LeasesBuilder<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    pub(super) fn new() -> Self {
        Self {
            max_hold: Duration::MAX,
            lock_delay: Duration::ZERO,
            start_delay: Duration::ZERO,
            high: FencingToken::new(0),
            block: 1,
            persist: None,
            on_end: None,
        }
    }

    /// No grant lives longer than that from its beginning, however often it is renewed: a holder that
    /// hangs but renews does not hold for ever. The default is `Duration::MAX`, no bound. With zero
    /// nothing is granted: [`ZeroTtl`](super::AcquireError::ZeroTtl).
    pub fn max_hold(mut self, span: Duration) -> Self {
        self.max_hold = span;
        self
    }

    /// For that long after a lease has expired or was revoked nobody gets it, so that what its
    /// last holder has sent arrives, or is given up. Not after a release. The default is zero: it may
    /// be had from its deadline on. `Duration::MAX` keeps a lost lease for ever.
    ///
    /// Counted from the deadline of a lease that has expired, and from the call of a revocation.
    pub fn lock_delay(mut self, span: Duration) -> Self {
        self.lock_delay = span;
        self
    }

    /// For that long after [`build`](Self::build) nobody gets anything: who held a lease of an earlier process, which
    /// this one knows nothing of, may believe in it until then. The default is zero. After a crash it should be the
    /// longest time to live that is ever granted, unless everything checks tokens.
    pub fn start_delay(mut self, span: Duration) -> Self {
        self.start_delay = span;
        self
    }

    /// All tokens are larger than that: the mark that [`persist_tokens`](Self::persist_tokens) was last given, or
    /// any number at least as large as all tokens that were ever handed out. The default is 0, so that the first
    /// token is 1. If the mark was lost, the [highest](super::FenceGate::highest) that any gate has let pass will do.
    pub fn tokens_from(mut self, high: FencingToken) -> Self {
        self.high = high;
        self
    }

    /// Calls `hook` with a mark before any token beyond the last mark is handed out: `block` tokens further
    /// each time, at least one.
    ///
    /// Once the hook has returned `Ok` the mark has to be durable. After a restart
    /// [`tokens_from`](Self::tokens_from) takes the last one, so that no number is ever used twice; those
    /// that were reserved and not used are passed over. A block of 1000 costs one write for 1000 grants.
    ///
    /// The hook is called by whoever is to hand out the next token: who asks, or who releases or
    /// expires a lease for which others wait, which may be the driver of the runtime. It is called by one
    /// thread at a time, and others that need a token wait for it. If it fails or panics, whoever
    /// was to have the token gets [`Unpersisted`](super::AcquireError::Unpersisted), and so do all who wait for the same
    /// resource; the next request calls it again. So does a request for a lease from within the hook.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use std::time::Duration;
    /// use tickwheel::{FencingToken, Leases, ManualClock, Timers};
    ///
    /// let file = Arc::new(Mutex::new(FencingToken::new(0))); // something durable
    /// let start = || -> Result<Leases<String>, tickwheel::BuildError> {
    ///     let timers = Timers::builder().clock(ManualClock::new()).build_hand_driven()?;
    ///     let (last, store) = (*file.lock().unwrap(), Arc::clone(&file));
    ///     let builder = Leases::builder().tokens_from(last);
    ///     Ok(builder
    ///         .persist_tokens(1000, move |mark| {
    ///             *store.lock().unwrap() = mark;
    ///             Ok::<(), std::io::Error>(())
    ///         })
    ///         .build(&timers))
    /// };
    /// let ttl = Duration::from_secs(10);
    /// let before = start()?.try_acquire("report", "worker 1", ttl)?.token();
    /// // A crash, and another start.
    /// let after = start()?.try_acquire("report", "worker 2", ttl)?.token();
    /// assert_eq!((before.get(), after.get()), (1, 1001));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn persist_tokens<E>(
        mut self,
        block: u64,
        hook: impl Fn(FencingToken) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.block = block;
        self.persist = Some(Box::new(move |mark| hook(mark).map_err(Into::into)));
        self
    }

    /// Tells `hook` of each grant that has ended, once: its resource, holder, reason and deadline, with its token as
    /// the generation.
    ///
    /// The reasons are [`Released`](crate::EndReason::Released), [`Revoked`](crate::EndReason::Revoked),
    /// [`Absolute`](crate::EndReason::Absolute) for a lease that has expired, and
    /// [`Shutdown`](crate::EndReason::Shutdown). No grant is ever replaced: it ends before the next begins.
    ///
    /// Those of one resource are told one after the other, in the order of their tokens, by whoever has
    /// ended one or finds one that has expired: any caller, or the driver. No lock is held, and the hook may use
    /// the leases. By then the next grant may have begun. A hook that panics is not called again for
    /// the same grant, which has ended all the same: the panic goes to whoever has made the call, when all
    /// else that the call is to do is done, or to the runtime's [`on_panic`](crate::TimersBuilder::on_panic).
    pub fn on_end(mut self, hook: impl Fn(Ended<&K, &H>) + Send + Sync + 'static) -> Self {
        self.on_end = Some(Box::new(hook));
        self
    }

    /// Leases whose time and timers are those of that runtime.
    pub fn build(self, timers: &Timers) -> Leases<K, H> {
        let tokens = Tokens::new(self.high, self.block, self.persist);
        // Without a delay it is open whatever the clock shows later, also if it goes back behind now.
        let opens = match self.start_delay {
            Duration::ZERO => Timestamp::ZERO,
            delay => timers.now().saturating_add(delay),
        };
        let spans = (self.max_hold, self.lock_delay);
        let timers = timers.clone();
        Leases::of(Arc::new(Registry::new(
            timers,
            tokens,
            spans,
            opens,
            self.on_end,
        )))
    }
}

impl<K, H> fmt::Debug for LeasesBuilder<K, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeasesBuilder")
            .field("max_hold", &self.max_hold)
            .field("lock_delay", &self.lock_delay)
            .field("start_delay", &self.start_delay)
            .field("tokens_from", &self.high)
            .finish_non_exhaustive()
    }
}
