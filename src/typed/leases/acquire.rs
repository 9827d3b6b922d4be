//! Asking for a lease: once, as a future, or by a thread that waits.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::hash::Hash;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::OnceLock;

use super::record::Record;
use super::registry::Registry;
use super::signal::Signal;
use super::slot::State;
use super::token::NoToken;
use super::unanswered::{Pinned, Unanswered};
use super::{AcquireError, Grant, Leases, Lost};
use crate::Timestamp;
use crate::typed::EndReason;

/// A future that is ready when the lease is granted: [`Leases::acquire`].
///
/// It does nothing until it is polled. The first poll takes the last place in the queue of the
/// resource, or the lease if that is free. The lease begins when it is handed over, not when the task
/// gets to run: its deadline is that of the [`Grant`].
///
/// Dropped while it waits, it leaves the queue. Dropped when the lease was handed over already, it
/// releases that, and the next has its turn.
///
/// # Output
///
/// A grant, or an [`AcquireError`]: never [`Held`](AcquireError::Held) or
/// [`Delayed`](AcquireError::Delayed), for which it waits. [`Lapsed`](AcquireError::Lapsed) says that the lease
/// was over when the task was polled: its time had passed, or it was revoked.
///
/// # Panics
///
/// If it is polled after it was ready.
#[must_use = "futures do nothing unless they are polled"]
pub struct Acquire<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    leases: Leases<K, H>,
    step: Step<K, H>,
}

enum Step<K, H> {
    Asked {
        resource: K,
        holder: H,
        ttl: Duration,
        timeout: Option<Duration>,
    },
    Waiting(Arc<Record<K, H>>, u64),
    Over,
}

/// What has come of asking.
pub(super) enum Answer<K, H> {
    Granted(Grant<K, H>),
    /// In the queue, with that ticket.
    Queued(Arc<Record<K, H>>, u64),
}

/// What one look at the slot has come to.
enum Turn {
    Granted,
    Queued(u64),
    Refused(AcquireError),
    AtTheMark,
}

// === impl Registry ===

impl<K, H> Registry<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// Asks for a lease, for a holder who waits if there is a waker.
    pub(super) fn ask(
        self: &Arc<Self>,
        resource: K,
        holder: H,
        ttl: Duration,
        give_up: Timestamp,
        waker: Option<&Waker>,
    ) -> Result<Answer<K, H>, AcquireError> {
        if ttl.min(self.max_hold).is_zero() {
            return Err(AcquireError::ZeroTtl);
        }
        let now = self.now();
        let slot = self.pin(resource, |state| match waker {
            Some(_) => None,
            None => refusal(state, now),
        })?;
        let record = Arc::new(Record {
            registry: Arc::clone(self),
            slot,
            holder,
            ttl,
            give_up,
            ticket: OnceLock::new(),
            life: OnceLock::new(),
            end: OnceLock::new(),
            refused: OnceLock::new(),
            alarm: self.alarm(),
        });
        let pinned = Pinned::new(self, &record.slot);
        self.ask_for(pinned, now, &record, waker)
    }

    fn ask_for(
        self: &Arc<Self>,
        mut pinned: Pinned<'_, K, H>,
        mut now: Timestamp,
        record: &Arc<Record<K, H>>,
        waker: Option<&Waker>,
    ) -> Result<Answer<K, H>, AcquireError> {
        let slot = &record.slot;
        let mut unanswered = Unanswered(Some(record));
        let timer = || Waker::from(Arc::clone(record));
        let until = |now: Timestamp| now.saturating_add(record.ttl.min(self.max_hold));
        // Armed first, so that there is no grant without a timer.
        record.alarm.arm_first(&self.timers, until(now), timer())?;
        loop {
            let mut spare = waker.cloned();
            let turn = self.change(slot, now, |state, effects| {
                let turn = if !state.is_free(now) {
                    match (spare.take(), state.refusal(now)) {
                        (Some(waker), _) => Turn::Queued(state.enqueue(Arc::clone(record), waker)),
                        (None, Some(refusal)) => Turn::Refused(refusal),
                        // They wait for it, and are about to have it.
                        (None, None) => Turn::AtTheMark,
                    }
                } else {
                    match state.grant(record, now, &self.tokens, self.max_hold) {
                        Ok(()) => Turn::Granted,
                        Err(NoToken::AtTheMark) => Turn::AtTheMark,
                        Err(NoToken::Exhausted) => Turn::Refused(AcquireError::TokensExhausted),
                    }
                };
                if !matches!(turn, Turn::AtTheMark) {
                    state.pins -= usize::from(pinned.held);
                    pinned.held = false;
                }
                if let Turn::Queued(_) = turn {
                    effects.moved.push(Arc::clone(record));
                }
                turn
            });
            // Whoever shuts down closes the gate, and then wakes all timers. It sees this record in
            // its slot, or the gate is seen closed here.
            if self.timers.is_shut_down() {
                self.shut(slot);
            }
            match turn {
                Turn::Granted => {
                    let grant = self.take(record)?;
                    unanswered.0 = None;
                    return Ok(Answer::Granted(grant));
                }
                Turn::Queued(ticket) => {
                    unanswered.0 = None;
                    return Ok(Answer::Queued(Arc::clone(record), ticket));
                }
                Turn::Refused(error) => return Err(error),
                Turn::AtTheMark => {
                    self.tokens.reserve()?;
                    now = self.now();
                    record.alarm.arm(&self.timers, until(now), timer)?;
                }
            }
        }
    }

    /// Gives its owner what was granted, unless that is over.
    fn take(self: &Arc<Self>, record: &Arc<Record<K, H>>) -> Result<Grant<K, H>, AcquireError> {
        let now = self.now();
        loop {
            if record.is_live(now) {
                return Ok(Grant(Arc::clone(record)));
            }
            match record.lost(now) {
                Some(Lost::ShutDown) => return Err(AcquireError::ShutDown),
                Some(_) => return Err(AcquireError::Lapsed),
                None => {}
            }
        }
    }

    /// Looks whether somebody who waits has been answered, and has this waker woken if not.
    fn look(
        self: &Arc<Self>,
        record: &Arc<Record<K, H>>,
        ticket: u64,
        waker: &Waker,
    ) -> Poll<Result<Grant<K, H>, AcquireError>> {
        if record.is_waiting() {
            let now = self.now();
            let mut spare = Some(waker.clone());
            self.change(&record.slot, now, |state, effects| {
                if record.give_up <= now {
                    state.refuse(ticket, AcquireError::TimedOut, effects);
                }
                spare = spare.take().and_then(|waker| state.rewake(ticket, waker));
            });
            drop(spare);
        }
        if let Some(error) = record.refused.get() {
            return Poll::Ready(Err(error.clone()));
        }
        if record.life.get().is_some() {
            return Poll::Ready(self.take(record));
        }
        Poll::Pending
    }

    /// Lets somebody go who waits, or has it and does not know.
    pub(super) fn abandon(self: &Arc<Self>, record: &Arc<Record<K, H>>) {
        if record.refused.get().is_some() || record.end.get().is_some() {
            return;
        }
        let now = self.now();
        let waker = self.change(&record.slot, now, |state, effects| {
            if state.is_held_by(record) {
                state.end(EndReason::Released, now, Duration::ZERO, effects);
            }
            let ticket = record.ticket.get();
            ticket.and_then(|ticket| state.leave(*ticket, effects))
        });
        drop(waker);
    }
}

/// Why somebody who does not wait need not go on. Most who are refused are refused here.
fn refusal<K, H>(state: &State<K, H>, now: Timestamp) -> Option<AcquireError>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    match &state.current {
        Some(record) if !record.is_live(now) => None,
        _ => state.refusal(now),
    }
}

// === impl Acquire ===

impl<K, H> Acquire<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    pub(super) fn new(leases: Leases<K, H>, resource: K, holder: H, ttl: Duration) -> Self {
        let step = Step::Asked {
            resource,
            holder,
            ttl,
            timeout: None,
        };
        Self { leases, step }
    }

    /// Lets it wait for that long at most, counted from the first poll, by the clock of the
    /// runtime. It then ends with [`AcquireError::TimedOut`]. No time at all asks once. Has no effect once
    /// it was polled.
    pub fn timeout(mut self, after: Duration) -> Self {
        if let Step::Asked { timeout, .. } = &mut self.step {
            *timeout = Some(after);
        }
        self
    }

    /// Waits in this thread.
    pub(super) fn wait(mut self) -> Result<Grant<K, H>, AcquireError> {
        let signal = Arc::new(Signal::default());
        let waker = Waker::from(Arc::clone(&signal));
        let mut cx = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(result) = Pin::new(&mut self).poll(&mut cx) {
                return result;
            }
            signal.wait();
        }
    }
}

/// What it holds is moved out and never pinned.
impl<K, H> Unpin for Acquire<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
}

impl<K, H> Future for Acquire<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    type Output = Result<Grant<K, H>, AcquireError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let registry = Arc::clone(this.leases.registry());
        match core::mem::replace(&mut this.step, Step::Over) {
            Step::Over => panic!("`Acquire` was polled after it was ready"),
            Step::Asked {
                resource,
                holder,
                ttl,
                timeout,
            } => {
                let give_up = timeout.map_or(Timestamp::NEVER, |timeout| {
                    registry.now().saturating_add(timeout)
                });
                match registry.ask(resource, holder, ttl, give_up, Some(cx.waker())) {
                    Ok(Answer::Granted(grant)) => Poll::Ready(Ok(grant)),
                    Err(error) => Poll::Ready(Err(error)),
                    Ok(Answer::Queued(record, ticket)) => {
                        // It may have been answered meanwhile; and no time at all is over.
                        this.step = Step::Waiting(record, ticket);
                        this.look(&registry, cx)
                    }
                }
            }
            step @ Step::Waiting(..) => {
                this.step = step;
                this.look(&registry, cx)
            }
        }
    }
}

impl<K, H> Acquire<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    fn look(
        &mut self,
        registry: &Arc<Registry<K, H>>,
        cx: &Context<'_>,
    ) -> Poll<Result<Grant<K, H>, AcquireError>> {
        let Step::Waiting(record, ticket) = &self.step else {
            return Poll::Pending;
        };
        let answer = registry.look(record, *ticket, cx.waker());
        if answer.is_ready() {
            self.step = Step::Over;
        }
        answer
    }
}

impl<K, H> Drop for Acquire<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    fn drop(&mut self) {
        if let Step::Waiting(record, _) = &self.step {
            self.leases.registry().abandon(record);
        }
    }
}

impl<K, H> fmt::Debug for Acquire<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.step {
            Step::Asked { .. } => "not polled",
            Step::Waiting(..) => "waiting",
            Step::Over => "over",
        };
        f.debug_tuple("Acquire").field(&step).finish()
    }
}
