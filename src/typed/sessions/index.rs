//! What one lock guards: when records are due, whose they are, how many live.
//!
//! A record that was let in counts until it is taken out, and it ends only with that: under this
//! lock. So whoever holds it knows how many live, as soon as it has ended what is due. Ends are
//! told after the lock is released.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use std::collections::HashMap;

use super::chains::{Chains, Links};
use super::owned::{Aged, ByAge, Owned};
use super::payload::Payload;
use super::place::ENTRIES;
use super::policy::{SessionPolicy, WhenFull};
use super::record::Record;
use super::tell::Event;
use crate::typed::EndReason;
use crate::typed::deadline::{Expiry, Gone};
use crate::{Expired, Tick, Timestamp, Wheel};

/// How many records are ended, or found to live longer, before whoever waits for room looks again.
const BATCH: usize = 64;

/// How many of them are asked for before the first is looked at.
const AHEAD: usize = 16;

pub(super) struct Index<K, P> {
    /// When each record is to be looked at: no later than it expires. In ticks of a nanosecond, so that what has
    /// expired is found at once.
    pub(super) wheel: Wheel<Arc<Record<K, P>>>,
    pub(super) owners: HashMap<Arc<str>, Owned<K, P>>,
    /// All of them, if the oldest has to be found.
    pub(super) all: Option<ByAge<K, P>>,
    /// Records that live and are about to be replaced, each with the one that will be found in its place. That one counts.
    pub(super) superseded: Vec<[Arc<Record<K, P>>; 2]>,
    /// Hashes of the keys under which somebody is about to start a session.
    claimed: Vec<u64>,
    chains: Arc<Chains<K, P>>,
    /// Room for what has come due and was not looked at yet.
    due: Vec<Expired<Arc<Record<K, P>>>>,
    /// When the driver has to come by.
    pub(super) bell_at: Timestamp,
}

/// There is no room.
#[derive(Debug)]
pub(super) struct Full;

/// Why a record could not be assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assign {
    Gone,
    Full,
}

/// How far a batch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Drained {
    /// All that was due has ended.
    All,
    /// More may be due.
    Some,
}

// === impl Index ===

impl<K, P> Index<K, P> {
    /// All records that have not ended, taken out: for a store that is dropped.
    pub(super) fn clear(&mut self) -> Vec<Arc<Record<K, P>>> {
        self.owners.clear();
        self.all = None;
        self.wheel.drain().map(|(_, _, record)| record).collect()
    }
}

impl<K, P: Payload> Index<K, P> {
    pub(super) fn new(policy: &SessionPolicy, chains: Arc<Chains<K, P>>) -> Self {
        let by_age = policy.when_full == WhenFull::EndOldest && policy.max_sessions != usize::MAX;
        Self {
            wheel: Wheel::new(),
            owners: HashMap::new(),
            all: by_age.then(BTreeMap::new),
            superseded: Vec::new(),
            claimed: Vec::new(),
            chains,
            due: Vec::new(),
            bell_at: Timestamp::NEVER,
        }
    }

    /// When the driver has to come by; not at all, if there is nothing and nobody is about to start anything.
    pub(super) fn bell(&mut self) -> Option<Timestamp> {
        if self.wheel.is_empty() && self.claimed.is_empty() {
            // Whoever starts something next has the driver come by.
            self.bell_at = Timestamp::NEVER;
            return None;
        }
        Some(self.bell_at)
    }

    /// A time before which nothing is due.
    pub(super) fn next(&self) -> Timestamp {
        self.wheel
            .next_deadline()
            .map_or(Timestamp::NEVER, |tick| Timestamp::from_nanos(tick.get()))
    }

    /// Claims a key, unless somebody else has.
    #[must_use]
    pub(super) fn claim(&mut self, hash: u64) -> bool {
        let free = !self.claimed.contains(&hash);
        if free {
            self.claimed.push(hash);
        }
        free
    }

    pub(super) fn unclaim(&mut self, hash: u64) {
        self.claimed.retain(|claimed| *claimed != hash);
    }

    /// Ends what is due at `now`, as far as one batch goes.
    pub(super) fn drain(&mut self, now: Timestamp, events: &mut Vec<Event<K, P>>) -> Drained {
        // One miss after the other would cost more than all the rest: some are asked for before any is looked at.
        let mut due = mem::take(&mut self.due);
        let mut drained = Drained::Some;
        for _ in 0..BATCH / AHEAD {
            while due.len() < AHEAD {
                let Some(expired) = self.wheel.poll(tick(now)) else {
                    drained = Drained::All;
                    break;
                };
                expired.value.ask();
                due.push(expired);
            }
            for expired in due.drain(..) {
                self.end_if_over(expired, now, events);
            }
            if drained == Drained::All {
                break;
            }
        }
        self.due = due;
        drained
    }

    /// Ends a record that has come due, or files it again, if it was touched since.
    fn end_if_over(
        &mut self,
        expired: Expired<Arc<Record<K, P>>>,
        now: Timestamp,
        events: &mut Vec<Event<K, P>>,
    ) {
        match expired.value.word.expire(now) {
            Expiry::Lives(until) => {
                let record = Arc::clone(&expired.value);
                let timer = self.wheel.rearm_expired(expired, tick(until));
                if let Some(entry) = self.wheel.entry_of(timer) {
                    // It is none beyond the others: what has come due has left its entries free.
                    record.lock().place.file(entry);
                }
            }
            Expiry::Expired(deadline) => {
                let reason = expired.value.reason(deadline);
                events.extend(self.take_out(expired.value, deadline, reason));
            }
            Expiry::Over => unreachable!("it ends only with being taken out"),
        }
    }

    /// Ends everything that is due at `now`.
    pub(super) fn drain_fully(&mut self, now: Timestamp, events: &mut Vec<Event<K, P>>) {
        while self.drain(now, events) == Drained::Some {}
    }

    /// Lets a record in, if there is room once what is due has ended; the oldest may have to go. The one that it is
    /// to replace counts as gone.
    pub(super) fn admit(
        &mut self,
        aged: &Aged<K, P>,
        replaces: Option<&Arc<Record<K, P>>>,
        policy: &SessionPolicy,
        now: Timestamp,
        events: &mut Vec<Event<K, P>>,
    ) -> Result<(), Full> {
        let record = &aged.record;
        let owner = record.lock().owner();
        self.make_room(owner.as_deref(), replaces, policy, now, events)?;
        let deadline = record.word.get().unwrap_or(Timestamp::ZERO);
        let timer = self
            .wheel
            .try_arm(tick(deadline), Arc::clone(record))
            .map_err(|_| Full)?;
        let Some(entry) = self.wheel.entry_of(timer).filter(|entry| *entry < ENTRIES) else {
            // None of the handles that go here is the last.
            self.wheel.cancel(timer);
            return Err(Full);
        };
        if let Some(replaced) = replaces.filter(|replaced| replaced.lock().payload.is_some()) {
            self.superseded
                .push([Arc::clone(replaced), Arc::clone(record)]);
        }
        let mut held = record.lock();
        held.place.file(entry);
        if let Some(owner) = owner {
            let owned = Owned::of(&mut self.owners, &owner);
            owned.records.insert(record.generation, aged.clone());
            held.replace_owner(Arc::clone(&owned.name));
        }
        if let Some(all) = &mut self.all {
            all.insert(record.generation, aged.clone());
        }
        Ok(())
    }

    /// Lets a record belong to a principal who has room for it, if `change` agrees to change what it holds.
    pub(super) fn assign(
        &mut self,
        aged: &Aged<K, P>,
        owner: &Arc<str>,
        policy: &SessionPolicy,
        now: Timestamp,
        change: impl FnOnce(&mut P) -> bool,
        events: &mut Vec<Event<K, P>>,
    ) -> Result<(), Assign> {
        let record = &aged.record;
        // It is there already, so of all there is no other than before.
        self.make_room(Some(owner), Some(record), policy, now, events)
            .map_err(|_| Assign::Full)?;
        let mut held = record.lock();
        if !held.payload.as_mut().is_some_and(change) {
            return Err(Assign::Gone);
        }
        let owned = Owned::of(&mut self.owners, owner);
        let before = held.replace_owner(Arc::clone(&owned.name));
        if let Some(before) = before.filter(|before| before != owner) {
            self.disown(&before, record.generation);
        }
        let owned = Owned::of(&mut self.owners, owner);
        owned.records.insert(record.generation, aged.clone());
        Ok(())
    }

    fn disown(&mut self, owner: &Arc<str>, generation: u64) {
        if let Some(owned) = self.owners.get_mut(owner) {
            owned.records.remove(&generation);
            if owned.records.is_empty() {
                self.owners.remove(owner);
            }
        }
    }

    /// Ends a record that lives at `now`, and what `allowed` says may be ended. What has expired is ended as
    /// expired. Whether this call has ended it as asked.
    pub(super) fn end(
        &mut self,
        record: &Arc<Record<K, P>>,
        now: Timestamp,
        reason: EndReason,
        allowed: impl FnOnce(&mut P) -> bool,
        events: &mut Vec<Event<K, P>>,
    ) -> Result<(), Gone> {
        // Still under the lock: whoever is allowed now may not be so later.
        let mut held = record.lock();
        if !held.payload.as_mut().is_some_and(allowed) {
            return Err(Gone);
        }
        let (deadline, ended) = loop {
            if let Ok(deadline) = record.word.end(now) {
                break (deadline, Ok(()));
            }
            match record.word.expire(now) {
                Expiry::Expired(deadline) => break (deadline, Err(Gone)),
                // Somebody who has read the time before has touched it.
                Expiry::Lives(_) => {}
                Expiry::Over => return Err(Gone),
            }
        };
        drop(held);
        let reason = match ended {
            Ok(()) => reason,
            Err(Gone) => record.reason(deadline),
        };
        events.extend(self.take_out(Arc::clone(record), deadline, reason));
        ended
    }

    /// Ends a record if it has expired.
    pub(super) fn expire(
        &mut self,
        record: &Arc<Record<K, P>>,
        now: Timestamp,
        events: &mut Vec<Event<K, P>>,
    ) {
        if let Expiry::Expired(deadline) = record.word.expire(now) {
            let reason = record.reason(deadline);
            events.extend(self.take_out(Arc::clone(record), deadline, reason));
        }
    }

    /// Takes out a record to which nothing leads yet, as if it had never been let in, and gives its payload
    /// back.
    pub(super) fn withdraw(&mut self, record: &Arc<Record<K, P>>) -> Option<P> {
        if record.word.end(Timestamp::ZERO).is_ok() {
            let _kept = self.take_out(Arc::clone(record), Timestamp::ZERO, EndReason::Removed);
        }
        let mut held = record.lock();
        let own = |links: &mut Links<K, P>| links.own.take();
        let own = self.chains.take(record.generation, &mut held, own);
        own.map(|event| event.payload)
    }

    /// Takes out a record that was just ended.
    fn take_out(
        &mut self,
        record: Arc<Record<K, P>>,
        deadline: Timestamp,
        reason: EndReason,
    ) -> Option<Event<K, P>> {
        // None of the handles that go here is the last: `record` is another.
        if let Some(all) = &mut self.all {
            all.remove(&record.generation);
        }
        let mut held = record.lock();
        let timer = held.place.unfile().and_then(|entry| {
            let (timer, filed) = self.wheel.at_entry(entry)?;
            // It may have been handed out, and its entry used again.
            Arc::ptr_eq(filed, &record).then_some(timer)
        });
        if let Some(timer) = timer {
            self.wheel.cancel(timer);
        }
        let owner = held.take_owner();
        if let Some(owner) = &owner {
            self.disown(owner, record.generation);
        }
        let payload = held.payload.take()?;
        // It is told of soon, with its value.
        payload.ask();
        let event = Event {
            record: Arc::clone(&record),
            payload,
            owner,
            reason,
            deadline,
        };
        if held.place.is_published() {
            return Some(event);
        }
        let chains = &self.chains;
        chains.link(record.generation, &mut held, |links| {
            links.own = Some(event);
        });
        None
    }
}

/// In the index a tick is a nanosecond.
fn tick(at: Timestamp) -> Tick {
    Tick::new(at.as_nanos())
}
