//! Starting a session, one at a time for each key.
//!
//! Whoever would start one claims its key, by a hash, and then looks again who lives there; if nobody does
//! the record is let in by the index, placed in the map, and published. It is let in before its key leads to it, so
//! that none is ever found for which there is no room, and whoever ends all of a principal finds every one that was
//! found by key. Should it end before it is placed, its end waits for that. One that it replaces ends after it was placed.
//!
//! Whoever finds a key claimed yields to the thread that has it. That one runs no user code meanwhile but the
//! hashing and comparing of keys: what the map lets go of is dropped afterwards.

use alloc::sync::Arc;
#[cfg(feature = "serde")]
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use std::thread;

use super::by_key::{ByKey, Sought};
use super::chains::Links;
use super::owned::Aged;
use super::payload::Payload;
use super::record::{Held, Record};
use super::registry::Registry;
use super::tell::{Event, Telling};
use super::{SessionLimits, StartError};
use crate::Timestamp;
use crate::typed::EndReason;

/// What is to be done with a session that lives under the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    /// End it.
    Replace,
    /// Touch it, and start none.
    Touch,
    /// Leave it.
    Keep,
}

/// What was done.
pub(super) enum Start<K, P, R> {
    Started(Aged<K, P>),
    /// What was seen of the one that lives.
    Touched(R),
    /// One lives there, and what was to be kept was not.
    Kept,
}

/// A claim to a key, and a record that was let in under it. What was not placed is withdrawn, should hashing or
/// comparing keys panic.
struct Claim<'a, K, P, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    P: Payload,
    S: BuildHasher + Send + Sync + 'static,
{
    registry: &'a Registry<K, P, S>,
    hash: u64,
    unplaced: Option<&'a Arc<Record<K, P>>>,
    /// When a record that was placed is due.
    due: Option<Timestamp>,
}

// === impl Registry ===

impl<K, P, S> Registry<K, P, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    P: Payload,
    S: BuildHasher + Send + Sync + 'static,
{
    /// Starts a session with what `make` makes, unless one lives under the key that is not to be replaced. Of that
    /// `view` is what is seen.
    pub(super) fn start<R>(
        &self,
        key: &K,
        owner: Option<Arc<str>>,
        limits: SessionLimits,
        existing: Existing,
        make: impl FnOnce() -> P,
        view: impl Fn(&Record<K, P>, Timestamp, &Held<P>) -> Option<R>,
    ) -> Result<Start<K, P, R>, StartError> {
        let began = self.now();
        let look = |found: Option<&Aged<K, P>>, now: Timestamp| {
            let Aged {
                record: found,
                created,
            } = found?;
            match existing {
                Existing::Touch => {
                    found.touch(now).ok()?;
                    view(found, *created, &found.lock()).map(Start::Touched)
                }
                Existing::Keep => found.word.is_live(now).then_some(Start::Kept),
                Existing::Replace => None,
            }
        };
        if existing != Existing::Replace {
            let there = look(self.find_any(key).as_ref(), began);
            if let Some(there) = there {
                return Ok(there);
            }
        }
        if self.timers.is_shut_down() {
            return Err(StartError::ShutDown);
        }
        let payload = make();
        let of_record = key.clone();
        // Dropped last, and so told when the key is free.
        let mut telling = Telling::new(self);
        let events = &mut telling.events;
        let (found, aged);
        // What the map lets go of meanwhile is dropped when the key is free: that may be somebody's code.
        let reclaim = self.map.guard();
        let mut claim = self.claim(key);
        // Making the value, and waiting for the key, has taken its time.
        let now = self.now().max(began);
        found = self.find_any(key);
        if let Some(there) = look(found.as_ref(), now) {
            return Ok(there);
        }
        let before = found.as_ref();
        let found = before.map(|found| &found.record);
        let generation = self.generation();
        let record = Record::new(of_record, payload, owner, limits, now, generation);
        aged = Aged {
            record: Arc::new(record),
            created: now,
        };
        let record = &aged.record;
        let stillborn = record.is_stillborn(now);
        if !stillborn {
            self.reserve_bell()?;
        }
        {
            let mut index = self.index();
            let now = self.see(now);
            while let Some(found) = found.filter(|_| existing != Existing::Replace) {
                index.expire(found, now, events);
                if !found.word.is_live(now) {
                    break;
                }
                // Somebody who has read the time before has touched it.
                drop(index);
                if let Some(there) = look(before, now) {
                    return Ok(there);
                }
                index = self.index();
            }
            if !stillborn {
                let admitted = index.admit(&aged, found, &self.policy, now, events);
                admitted.map_err(|_| StartError::Full)?;
            }
            if let Some(found) = found.filter(|_| stillborn && existing == Existing::Replace) {
                let _ = index.end(found, now, EndReason::Replaced, |_| true, events);
            }
        }
        if let Some(found) = found {
            if !found.lock().place.is_told() {
                let after = |links: &mut Links<K, P>| links.after = Some(Arc::clone(found));
                self.chains.link(generation, &mut record.lock(), after);
            }
        }
        claim.unplaced = Some(record);
        if stillborn {
            // It is placed all the same, so that the next one under the key is told of after it.
            let _ended = record.word.end(Timestamp::ZERO);
            self.lead_to(&aged);
            claim.unplaced = None;
            events.extend(Self::end_stillborn(record, now));
        } else {
            self.lead_to(&aged);
            claim.unplaced = None;
            // Only now, so that the key leads to one of them at any time.
            if let Some(found) = found.filter(|_| existing == Existing::Replace) {
                let mut index = self.index();
                let _ = index.end(found, now, EndReason::Replaced, |_| true, events);
                index.unsupersede(record);
            }
            claim.due = record.word.get();
            events.extend(self.publish(record));
        }
        drop(claim);
        drop(reclaim);
        // Before there is anything to return: should a hook panic, that would be leaked.
        drop(telling);
        if found.is_some_and(|found| found.lock().place.is_told()) {
            // Nobody waits for it, and it need not be kept.
            let after = |links: &mut Links<K, P>| links.after.take();
            let before = self.chains.take(generation, &mut record.lock(), after);
            drop(before);
        }
        Ok(Start::Started(aged))
    }

    /// What a key leads to, dead or alive.
    fn find_any(&self, key: &K) -> Option<Aged<K, P>> {
        let map = self.map.pin();
        let (found, ()) = map.get_key_value(&Sought(key))?;
        Some(found.aged())
    }

    /// Lets the key of a record lead to it.
    fn lead_to(&self, aged: &Aged<K, P>) {
        self.map.pin().insert(ByKey::new(aged.clone()), ());
    }

    /// The key of a record leads to it. Its end, if it has come before.
    fn publish(&self, record: &Record<K, P>) -> Option<Event<K, P>> {
        let mut held = record.lock();
        held.place.set_published();
        let own = |links: &mut Links<K, P>| links.own.take();
        self.chains.take(record.generation, &mut held, own)
    }

    /// Ends a record that is dead at birth. Nobody finds it, and its end is told.
    fn end_stillborn(record: &Arc<Record<K, P>>, now: Timestamp) -> Option<Event<K, P>> {
        let mut held = record.lock();
        held.place.set_published();
        Some(Event {
            record: Arc::clone(record),
            payload: held.payload.take()?,
            owner: held.take_owner(),
            reason: record.reason(now),
            deadline: now,
        })
    }

    /// Waits until nobody else starts a session under the key.
    fn claim(&self, key: &K) -> Claim<'_, K, P, S> {
        let hash = self.claims.hash_one(key);
        while !self.index().claim(hash) {
            thread::yield_now();
        }
        Claim {
            registry: self,
            hash,
            unplaced: None,
            due: None,
        }
    }
}

// === impl Claim ===

impl<K, P, S> Drop for Claim<'_, K, P, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    P: Payload,
    S: BuildHasher + Send + Sync + 'static,
{
    fn drop(&mut self) {
        let mut index = self.registry.index();
        index.unclaim(self.hash);
        if let Some(record) = self.unplaced {
            index.unsupersede(record);
            let payload = index.withdraw(record);
            drop(index);
            let chains = &self.registry.chains;
            let links = chains.take_all(record.generation, &mut record.lock());
            drop((payload, links));
        } else {
            let earlier = self.due.filter(|due| *due < index.bell_at);
            index.bell_at = earlier.unwrap_or(index.bell_at);
            let follows = earlier.is_some() || index.bell().is_none();
            drop(index);
            if follows {
                self.registry.follow_bell();
            }
        }
    }
}

// === records that have lived before ===

/// What has come of placing one.
#[cfg(feature = "serde")]
pub(super) enum Placed {
    /// Its key leads to it. So many others had to go.
    There {
        ended: usize,
    },
    NoRoom,
    /// Its key leads to one that lives.
    Occupied,
}

#[cfg(feature = "serde")]
impl<K, P, S> Registry<K, P, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    P: Payload,
    S: BuildHasher + Send + Sync + 'static,
{
    /// Lets a record that lives at `now` be what its key leads to, unless that is one that lives.
    pub(super) fn place(
        &self,
        aged: &Aged<K, P>,
        now: Timestamp,
        events: &mut Vec<Event<K, P>>,
    ) -> Placed {
        let record = &aged.record;
        let found;
        let _reclaim = self.map.guard();
        let mut claim = self.claim(&record.key);
        found = self.find_any(&record.key);
        if found.is_some() {
            // Nothing was started here before this was restored: it was just now.
            return Placed::Occupied;
        }
        if self.reserve_bell().is_err() {
            return Placed::NoRoom;
        }
        let before = events.len();
        let admitted = {
            let mut index = self.index();
            let now = self.see(now);
            index.admit(aged, None, &self.policy, now, events)
        };
        if admitted.is_err() {
            return Placed::NoRoom;
        }
        claim.unplaced = Some(record);
        self.lead_to(aged);
        claim.unplaced = None;
        claim.due = record.word.get();
        let ended = events.len() - before;
        events.extend(self.publish(record));
        Placed::There { ended }
    }
}
