//! What one lock guards: when records are due, whose they are, how many live.
//!
//! A record that was let in counts until it is taken out, and it ends only with that: under this
//! lock. So whoever holds it knows how many live, as soon as it has ended what is due. Ends are
//! told after the lock is released.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::collections::HashMap;

use super::owned::{ByAge, Owned};
use super::policy::{SessionPolicy, WhenFull};
use super::record::Record;
use super::tell::Event;
use crate::typed::EndReason;
use crate::typed::deadline::{Expiry, Gone};
use crate::{Tick, Timestamp, Wheel};

/// How many records are ended, or found to live longer, before whoever waits for room looks again.
const BATCH: usize = 64;

pub(super) struct Index<K, P> {
    /// When each record is to be looked at: no later than it expires. In ticks of a nanosecond, so that what has
    /// expired is found at once.
    wheel: Wheel<Arc<Record<K, P>>>,
    owners: HashMap<Arc<str>, Owned<K, P>>,
    /// All of them, if the oldest has to be found.
    all: Option<ByAge<K, P>>,
    /// Hashes of the keys under which somebody is about to start a session.
    claimed: Vec<u64>,
    pub(super) bell: Bell,
}

/// When the driver will come by.
pub(super) struct Bell {
    /// The earliest of the timers that are armed.
    pub(super) at: Timestamp,
    /// How many are armed.
    pub(super) armed: usize,
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

/// What there is too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// Sessions of one principal.
    Principal,
    /// Sessions.
    All,
}

// === impl Index ===

impl<K, P> Index<K, P> {
    pub(super) fn new(policy: &SessionPolicy) -> Self {
        let by_age = policy.when_full == WhenFull::EndOldest && policy.max_sessions != usize::MAX;
        Self {
            wheel: Wheel::new(),
            owners: HashMap::new(),
            all: by_age.then(BTreeMap::new),
            claimed: Vec::new(),
            bell: Bell {
                at: Timestamp::NEVER,
                armed: 0,
            },
        }
    }

    /// Records that have not ended.
    pub(super) fn len(&self) -> usize {
        self.wheel.len()
    }

    /// Principals who have records that have not ended.
    pub(super) fn owners(&self) -> usize {
        self.owners.len()
    }

    /// When the driver has to come by for a record due at `next`, unless it does so anyway. Whoever asks arms
    /// that timer.
    pub(super) fn next_bell(&mut self, next: Option<Timestamp>) -> Option<Timestamp> {
        let next = next.filter(|next| *next < self.bell.at)?;
        self.bell.at = next;
        self.bell.armed += 1;
        Some(next)
    }

    /// A time before which nothing is due.
    pub(super) fn next(&self) -> Timestamp {
        self.wheel
            .next_deadline()
            .map_or(Timestamp::NEVER, |tick| Timestamp::from_nanos(tick.get()))
    }

    /// The records of a principal that have not ended, oldest first.
    pub(super) fn of(&self, owner: &str) -> Vec<Arc<Record<K, P>>> {
        let owned = self.owners.get(owner);
        owned.map_or_else(Vec::new, |owned| owned.records.values().cloned().collect())
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

    /// All records that have not ended, taken out: for a store that is dropped.
    pub(super) fn clear(&mut self) -> Vec<Arc<Record<K, P>>> {
        self.owners.clear();
        self.all = None;
        self.wheel.drain().map(|(_, _, record)| record).collect()
    }

    /// Ends what is due at `now`, as far as one batch goes.
    pub(super) fn drain(&mut self, now: Timestamp, events: &mut Vec<Event<K, P>>) -> Drained {
        for _ in 0..BATCH {
            let Some(expired) = self.wheel.poll(tick(now)) else {
                return Drained::All;
            };
            match expired.value.word.expire(now) {
                Expiry::Lives(until) => {
                    // It was touched since.
                    self.wheel.rearm_expired(expired, tick(until));
                }
                Expiry::Expired(deadline) => {
                    let reason = expired.value.reason(deadline);
                    events.extend(self.take_out(expired.value, deadline, reason));
                }
                Expiry::Over => unreachable!("it ends only with being taken out"),
            }
        }
        Drained::Some
    }

    /// Ends everything that is due at `now`.
    pub(super) fn drain_fully(&mut self, now: Timestamp, events: &mut Vec<Event<K, P>>) {
        while self.drain(now, events) == Drained::Some {}
    }

    /// Lets a record in, if there is room once what is due has ended; the oldest may have to go. The one that it is
    /// to replace counts as gone.
    pub(super) fn admit(
        &mut self,
        record: &Arc<Record<K, P>>,
        replaces: Option<&Arc<Record<K, P>>>,
        policy: &SessionPolicy,
        now: Timestamp,
        events: &mut Vec<Event<K, P>>,
    ) -> Result<(), Full> {
        let owner = record.lock().owner();
        self.make_room(owner.as_deref(), replaces, policy, now, events)?;
        let deadline = record.word.get().unwrap_or(Timestamp::ZERO);
        let timer = self
            .wheel
            .try_arm(tick(deadline), Arc::clone(record))
            .map_err(|_| Full)?;
        let mut held = record.lock();
        held.timer = Some(timer);
        if let Some(owner) = owner {
            let owned = Owned::of(&mut self.owners, &owner);
            owned.records.insert(record.generation, Arc::clone(record));
            held.replace_owner(Arc::clone(&owned.name));
        }
        if let Some(all) = &mut self.all {
            all.insert(record.generation, Arc::clone(record));
        }
        Ok(())
    }

    /// Lets a record belong to a principal who has room for it, if `change` agrees to change what it holds.
    pub(super) fn assign(
        &mut self,
        record: &Arc<Record<K, P>>,
        owner: &Arc<str>,
        policy: &SessionPolicy,
        now: Timestamp,
        change: impl FnOnce(&mut P) -> bool,
        events: &mut Vec<Event<K, P>>,
    ) -> Result<(), Assign> {
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
        owned.records.insert(record.generation, Arc::clone(record));
        Ok(())
    }

    /// Sees to it that there is room for one more, of that principal and in all: what is due ends, and then the oldest,
    /// if that is the policy.
    fn make_room(
        &mut self,
        owner: Option<&str>,
        replaces: Option<&Arc<Record<K, P>>>,
        policy: &SessionPolicy,
        now: Timestamp,
        events: &mut Vec<Event<K, P>>,
    ) -> Result<(), Full> {
        let mut drained = Drained::Some;
        while let Some(over) = self.over(owner, replaces, policy) {
            if drained == Drained::Some {
                drained = self.drain(now, events);
                continue;
            }
            if policy.when_full == WhenFull::Refuse {
                return Err(Full);
            }
            let oldest = self.oldest(over, owner, replaces).ok_or(Full)?;
            let _ = self.end(&oldest, now, EndReason::Capacity, |_| true, events);
        }
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
        allowed: impl FnOnce(&P) -> bool,
        events: &mut Vec<Event<K, P>>,
    ) -> Result<(), Gone> {
        let ended = {
            let held = record.lock();
            if !held.payload.as_ref().is_some_and(allowed) {
                return Err(Gone);
            }
            // Still under the lock: whoever is allowed now may not be so later.
            record.word.end(now)
        };
        if let Ok(deadline) = ended {
            events.extend(self.take_out(Arc::clone(record), deadline, reason));
        } else if let Expiry::Expired(deadline) = record.word.expire(now) {
            let reason = record.reason(deadline);
            events.extend(self.take_out(Arc::clone(record), deadline, reason));
        }
        ended.map(|_| ())
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
        let own = record.lock().take_own();
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
        if let Some(timer) = held.timer.take() {
            self.wheel.cancel(timer);
        }
        let owner = held.take_owner();
        if let Some(owner) = &owner {
            self.disown(owner, record.generation);
        }
        let payload = held.payload.take()?;
        let event = Event {
            record: Arc::clone(&record),
            payload,
            owner,
            reason,
            deadline,
        };
        if held.published {
            Some(event)
        } else {
            held.links().own = Some(event);
            None
        }
    }

    /// What there is too much of for one more.
    fn over(
        &self,
        owner: Option<&str>,
        replaces: Option<&Arc<Record<K, P>>>,
        policy: &SessionPolicy,
    ) -> Option<Over> {
        let (mut all, mut own) = (self.len(), 0);
        if let Some(owned) = owner.and_then(|owner| self.owners.get(owner)) {
            own = owned.records.len();
        }
        if let Some(replaced) = replaces {
            let held = replaced.lock();
            let counts = held.payload.is_some();
            all -= usize::from(counts);
            own -= usize::from(counts && owner.is_some() && held.owner().as_deref() == owner);
        }
        if owner.is_some() && own >= policy.max_per_principal {
            Some(Over::Principal)
        } else {
            (all >= policy.max_sessions).then_some(Over::All)
        }
    }

    fn oldest(
        &self,
        over: Over,
        owner: Option<&str>,
        but: Option<&Arc<Record<K, P>>>,
    ) -> Option<Arc<Record<K, P>>> {
        let records = match over {
            Over::Principal => self.owners.get(owner?).map(|owned| &owned.records),
            Over::All => self.all.as_ref(),
        };
        let is_other = |record: &&Arc<_>| but.is_none_or(|but| !Arc::ptr_eq(but, record));
        records?.values().find(is_other).cloned()
    }
}

/// In the index a tick is a nanosecond.
fn tick(at: Timestamp) -> Tick {
    Tick::new(at.as_nanos())
}
