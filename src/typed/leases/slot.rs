//! One resource: who holds it, who waits for it, what is to be told of it.
//!
//! All of this is behind one short lock, under which no code of the user runs: what there is to run or to
//! drop is put into [`Effects`], for after the lock.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::hash::Hash;
use core::ops::DerefMut;
use core::task::Waker;
use core::time::Duration;
use std::sync::OnceLock;

use super::effects::Effects;
use super::record::{End, Life, Record};
use super::registry::Registry;
use super::token::{NoToken, Tokens};
use super::{AcquireError, FencingToken, locked};
use crate::sync::Mutex;
use crate::typed::EndReason;
use crate::typed::alarm::Alarm;
use crate::typed::deadline::{Deadline, Expiry};
use crate::{Timers, Timestamp};

pub(super) struct Slot<K, H> {
    pub(super) resource: K,
    state: Mutex<State<K, H>>,
    /// For the time before which nobody may have it.
    alarm: Alarm,
}

/// What that timer wakes.
struct Quiet<K, H> {
    registry: Arc<Registry<K, H>>,
    slot: Arc<Slot<K, H>>,
}

pub(super) struct State<K, H> {
    pub(super) current: Option<Arc<Record<K, H>>>,
    /// By the order in which they came.
    waiting: BTreeMap<u64, Waiting<K, H>>,
    next_ticket: u64,
    /// Before that nobody may have it, because it was lost. Zero once that is past.
    pub(super) delayed_until: Timestamp,
    /// Before that nobody may have anything. Zero once that is past.
    opens: Timestamp,
    /// Who is about to ask. The slot stays meanwhile.
    pub(super) pins: usize,
    /// Ended, and not told of yet.
    pub(super) untold: VecDeque<Arc<Record<K, H>>>,
    /// Somebody is telling. One at a time, so that ends are told in order.
    pub(super) telling: bool,
    /// It was put into its cell when it came to be idle, and was not wanted since.
    pub(super) parked: bool,
    /// All is over: it is not remembered when it is idle.
    pub(super) closed: bool,
    /// It is not in the map any more, or soon will not be.
    pub(super) dead: bool,
}

pub(super) struct Waiting<K, H> {
    record: Arc<Record<K, H>>,
    waker: Option<Waker>,
}

// === impl Slot ===

impl<K, H> Slot<K, H> {
    /// A slot that somebody is about to use.
    pub(super) fn pinned(resource: K, opens: Timestamp) -> Self {
        Self {
            resource,
            state: Mutex::new(State {
                current: None,
                waiting: BTreeMap::new(),
                next_ticket: 1,
                delayed_until: Timestamp::ZERO,
                opens,
                pins: 1,
                untold: VecDeque::new(),
                telling: false,
                parked: false,
                closed: false,
                dead: false,
            }),
            alarm: Alarm::default(),
        }
    }

    pub(super) fn lock(&self) -> impl DerefMut<Target = State<K, H>> + '_ {
        locked(&self.state)
    }

    /// Takes out the timer for the time before which nobody may have it.
    pub(super) fn disarm(&self, timers: &Timers) {
        self.alarm.cancel(timers);
    }

    /// Until when nobody may have it because it was lost, unless that was [found to be past](State::expire).
    fn delay(&self) -> Option<Timestamp> {
        let until = self.lock().delayed_until;
        (until > Timestamp::ZERO).then_some(until)
    }

    /// Until when nobody may have it, unless that was [found to be past](State::expire).
    pub(super) fn quiet(&self) -> Option<Timestamp> {
        let until = self.lock().quiet_until();
        (until > Timestamp::ZERO).then_some(until)
    }
}

impl<K, H> Slot<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// Has the timer follow the time before which nobody may have it. If there is no room for the timer, the
    /// first who waits has one for that too, and whoever comes next finds what is due.
    pub(super) fn follow_quiet(self: &Arc<Self>, registry: &Arc<Registry<K, H>>) {
        let target = || self.delay();
        let waker = || {
            let (registry, slot) = (Arc::clone(registry), Arc::clone(self));
            Waker::from(Arc::new(Quiet { registry, slot }))
        };
        let _ = self.alarm.follow(&registry.timers, target, waker);
    }
}

impl<K, H> Slot<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// Whether who holds it lives, if anybody does.
    pub(super) fn holds(&self, now: Timestamp) -> Option<bool> {
        let state = self.lock();
        state.current.as_ref().map(|held| held.is_live(now))
    }
}

impl<K, H> Wake for Quiet<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    fn wake(self: Arc<Self>) {
        let Self { registry, slot } = &*self;
        if registry.timers.is_shut_down() {
            registry.shut(slot);
        } else {
            registry.settle(slot, registry.now());
            slot.follow_quiet(registry);
        }
    }
}

// === impl State ===

impl<K, H> State<K, H> {
    /// Before that nobody may have it, for whatever reason.
    fn quiet_until(&self) -> Timestamp {
        self.delayed_until.max(self.opens)
    }
}

impl<K, H> State<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// Why a newcomer cannot have it now, if so.
    pub(super) fn refusal(&self, now: Timestamp) -> Option<AcquireError> {
        if let Some(record) = &self.current {
            let life = record.life.get()?;
            return Some(AcquireError::Held {
                token: life.token,
                deadline: life.deadline.get().unwrap_or(now),
            });
        }
        let until = self.quiet_until();
        (until > now).then_some(AcquireError::Delayed { until })
    }

    /// Whether a newcomer may have it: those who wait come first.
    pub(super) fn is_free(&self, now: Timestamp) -> bool {
        self.current.is_none() && self.waiting.is_empty() && self.quiet_until() <= now
    }

    pub(super) fn is_held_by(&self, record: &Arc<Record<K, H>>) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| Arc::ptr_eq(current, record))
    }

    /// Grants it, if there is a token.
    pub(super) fn grant(
        &mut self,
        record: &Arc<Record<K, H>>,
        now: Timestamp,
        tokens: &Tokens,
        max_hold: Duration,
    ) -> Result<(), NoToken> {
        let token = tokens.take()?;
        let cap = now.saturating_add(max_hold);
        let life = Life {
            token,
            deadline: Deadline::new(now.saturating_add(record.ttl).min(cap)),
            cap,
        };
        set(&record.life, life);
        self.current = Some(Arc::clone(record));
        Ok(())
    }

    /// Ends what has expired, delays too.
    pub(super) fn expire(&mut self, now: Timestamp, delay: Duration, effects: &mut Effects<K, H>) {
        let life = self.current.as_ref().and_then(|record| record.life.get());
        if let Some(Expiry::Expired(at)) = life.map(|life| life.deadline.expire(now)) {
            let quiet = at.saturating_add(delay);
            self.ended(EndReason::Absolute, at, quiet, effects);
        }
        // For good, whatever others read from the clock. Timers go by this and not by the clock, which may have passed the
        // delay when a timer is armed for it: nobody would find it to be over.
        for until in [&mut self.delayed_until, &mut self.opens] {
            if *until <= now {
                *until = Timestamp::ZERO;
            }
        }
    }

    /// Ends who holds it, if it lives.
    pub(super) fn end(
        &mut self,
        reason: EndReason,
        now: Timestamp,
        delay: Duration,
        effects: &mut Effects<K, H>,
    ) {
        let life = self.current.as_ref().and_then(|record| record.life.get());
        if let Some(Ok(at)) = life.map(|life| life.deadline.end(now)) {
            self.ended(reason, at, now.saturating_add(delay), effects);
        }
    }

    fn ended(
        &mut self,
        reason: EndReason,
        deadline: Timestamp,
        quiet: Timestamp,
        effects: &mut Effects<K, H>,
    ) {
        let Some(record) = self.current.take() else {
            return;
        };
        let lost = matches!(reason, EndReason::Absolute | EndReason::Revoked);
        if lost && record.registry.delays() {
            self.delayed_until = quiet;
            effects.quiet_moved = true;
        }
        set(&record.end, End { reason, deadline });
        if record.registry.on_end.is_some() {
            self.untold.push_back(Arc::clone(&record));
        }
        debug_assert!(effects.ended.is_none(), "one change ends one grant");
        effects.ended = Some(record);
    }

    /// Gives it to the first who waits, if nobody has it.
    pub(super) fn hand_over(
        &mut self,
        now: Timestamp,
        tokens: &Tokens,
        max_hold: Duration,
        effects: &mut Effects<K, H>,
    ) {
        while self.current.is_none() {
            let Some((&ticket, first)) = self.waiting.first_key_value() else {
                return;
            };
            let record = Arc::clone(&first.record);
            if record.give_up <= now {
                self.refuse(ticket, AcquireError::TimedOut, effects);
                continue;
            }
            if self.quiet_until() > now {
                effects.moved.push(record);
                return;
            }
            match self.grant(&record, now, tokens, max_hold) {
                Ok(()) => {
                    let waker = self.waiting.remove(&ticket).and_then(|first| first.waker);
                    effects.wakers.extend(waker);
                    effects.moved.push(record);
                }
                Err(NoToken::AtTheMark) => {
                    effects.at_the_mark = true;
                    return;
                }
                Err(NoToken::Exhausted) => {
                    self.refuse(ticket, AcquireError::TokensExhausted, effects);
                }
            }
        }
    }

    /// Lets somebody wait, behind all others.
    pub(super) fn enqueue(&mut self, record: Arc<Record<K, H>>, waker: Waker) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let waker = Some(waker);
        set(&record.ticket, ticket);
        self.waiting.insert(ticket, Waiting { record, waker });
        ticket
    }

    /// Has another waker woken. Hands out the one that was to be.
    pub(super) fn rewake(&mut self, ticket: u64, waker: Waker) -> Option<Waker> {
        match self.waiting.get_mut(&ticket) {
            Some(waiting) => waiting.waker.replace(waker),
            None => Some(waker),
        }
    }

    /// Lets somebody wait no longer.
    pub(super) fn refuse(&mut self, ticket: u64, error: AcquireError, fx: &mut Effects<K, H>) {
        if let Some(Waiting { record, waker }) = self.waiting.remove(&ticket) {
            set(&record.refused, error);
            fx.wakers.extend(waker);
            fx.over.push(record);
        }
    }

    /// Lets somebody go who does not want it any more. Hands out the waker, which is not to be woken.
    pub(super) fn leave(&mut self, ticket: u64, fx: &mut Effects<K, H>) -> Option<Waker> {
        let Waiting { record, waker } = self.waiting.remove(&ticket)?;
        set(&record.refused, AcquireError::TimedOut);
        fx.over.push(record);
        waker
    }

    /// Refuses all who wait.
    pub(super) fn refuse_all(&mut self, error: &AcquireError, fx: &mut Effects<K, H>) {
        while let Some((&ticket, _)) = self.waiting.first_key_value() {
            self.refuse(ticket, error.clone(), fx);
        }
    }

    /// Refuses whoever waits and whose time is over.
    pub(super) fn time_out(&mut self, now: Timestamp, fx: &mut Effects<K, H>) {
        let late = |(&ticket, waiting): (&u64, &Waiting<K, H>)| {
            (waiting.record.give_up <= now).then_some(ticket)
        };
        let late: Vec<u64> = self.waiting.iter().filter_map(late).collect();
        for ticket in late {
            self.refuse(ticket, AcquireError::TimedOut, fx);
        }
    }

    /// Refuses all who wait, and waits for nothing itself.
    pub(super) fn shut(&mut self, fx: &mut Effects<K, H>) {
        fx.quiet_moved |= self.quiet_until() > Timestamp::ZERO;
        self.delayed_until = Timestamp::ZERO;
        self.opens = Timestamp::ZERO;
        self.closed = true;
        self.refuse_all(&AcquireError::ShutDown, fx);
    }

    /// The token of who holds it.
    pub(super) fn token(&self) -> Option<FencingToken> {
        let life = self.current.as_ref()?.life.get()?;
        Some(life.token)
    }

    pub(super) fn waiters(&self) -> usize {
        self.waiting.len()
    }
}

/// Fills what only this fills, under the lock.
fn set<T>(cell: &OnceLock<T>, value: T) {
    let filled = cell.set(value);
    debug_assert!(filled.is_ok(), "a record moves on once");
}
