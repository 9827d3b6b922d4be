//! What keeps sessions of any kind: a map from keys to records, an index of when they are due, and the
//! driver's attention.
//!
//! A read looks the record up, compares, and moves the record's word: it writes nothing that another
//! session's reader reads. To start and to end one takes the lock of the index. Nobody's code runs under a
//! lock: the map hashes and compares keys outside, and what is dropped is dropped outside.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard, PoisonError};

use papaya::HashMap;
use seize::Collector;

use super::by_key::{ByKey, Sought};
use super::chains::Chains;
use super::index::{Assign, Drained, Index};
use super::owned::Aged;
use super::payload::Payload;
use super::policy::SessionPolicy;
use super::record::{Held, Record};
use super::tell::{Event, Hook, Telling};
use crate::shared::Padded;
use crate::sync::{AtomicU64, Ordering};
use crate::typed::EndReason;
use crate::typed::alarm::Alarm;
use crate::typed::deadline::Gone;
use crate::typed::panics::Panics;
use crate::{Timers, Timestamp};

/// Records that a thread takes out of the map before it looks whether any are still being read, and frees the others. To
/// look interrupts all other threads, and that is what those that read notice when many sessions end at once.
const GARBAGE: usize = 512;

pub(super) struct Registry<K, P, S> {
    pub(super) map: HashMap<ByKey<K, P>, (), S>,
    /// Off the lines that every read goes by.
    index: Padded<Mutex<Index<K, P>>>,
    pub(super) chains: Arc<Chains<K, P>>,
    /// The latest time that has been acted on. What has expired by then has ended, or is about to.
    seen: AtomicU64,
    /// The latest generation that was given.
    pub(super) generations: Padded<AtomicU64>,
    pub(super) policy: SessionPolicy,
    pub(super) hook: Option<Box<Hook<K, P>>>,
    /// By what keys are claimed.
    pub(super) claims: RandomState,
    pub(super) timers: Timers,
    pub(super) alarm: Alarm,
    /// Itself, for the driver.
    pub(super) this: Weak<Self>,
}

// === impl Registry ===

impl<K, P, S> Registry<K, P, S>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    P: Payload,
    S: BuildHasher + Send + Sync + 'static,
{
    pub(super) fn new(
        timers: &Timers,
        policy: SessionPolicy,
        hook: Option<Box<Hook<K, P>>>,
        hasher: S,
    ) -> Arc<Self> {
        let chains = Arc::new(Chains::new());
        Arc::new_cyclic(|this| Self {
            map: HashMap::builder()
                .hasher(hasher)
                .collector(Collector::new().batch_size(GARBAGE))
                .build(),
            index: Padded(Mutex::new(Index::new(&policy, Arc::clone(&chains)))),
            chains,
            seen: AtomicU64::new(0),
            generations: Padded(AtomicU64::new(0)),
            policy,
            hook,
            claims: RandomState::new(),
            timers: timers.clone(),
            alarm: Alarm::with_tolerance(policy.tolerance),
            this: this.clone(),
        })
    }

    /// Calls `f` with the record under a key, and what it holds, under its lock. If there is none, or `f` finds
    /// it gone, or it was gone before: gone, and ended if that was not done yet.
    #[inline]
    pub(super) fn visit<Q, R>(
        &self,
        key: &Q,
        now: Timestamp,
        mut f: impl FnMut(&ByKey<K, P>, &mut Held<P>) -> Result<R, Gone>,
    ) -> Result<R, Gone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        loop {
            let guard = self.map.guard();
            let found = self.map.get_key_value(&Sought(key), &guard);
            let (entry, ()) = found.ok_or(Gone)?;
            let record = &entry.record;
            if record.word.is_live(now) {
                let visited = {
                    let mut held = record.lock();
                    if held.payload.is_some() {
                        let visited = f(entry, &mut held);
                        if let Some(payload) = &held.payload {
                            entry.value.follow(payload);
                        }
                        visited
                    } else {
                        Err(Gone)
                    }
                };
                if visited.is_ok() || record.word.is_live(now) {
                    return visited;
                }
            }
            let record = Arc::clone(record);
            drop(guard);
            if self.is_over(key, &record, now) {
                return Err(Gone);
            }
        }
    }

    /// Calls `f` with the record under a key, which has not expired by `now`: as [`visit`](Self::visit), but not
    /// under its lock. For what the word alone can say.
    #[inline]
    pub(super) fn glance<Q, R>(
        &self,
        key: &Q,
        now: Timestamp,
        f: impl Fn(&Record<K, P>) -> Result<R, Gone>,
    ) -> Result<R, Gone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        loop {
            let guard = self.map.guard();
            let found = self.map.get_key_value(&Sought(key), &guard);
            let (ByKey { record, .. }, ()) = found.ok_or(Gone)?;
            if let Ok(seen) = f(record) {
                return Ok(seen);
            }
            let record = Arc::clone(record);
            drop(guard);
            if self.is_over(key, &record, now) {
                return Err(Gone);
            }
        }
    }

    /// Makes it permanent that a record has expired, unless somebody who has read the time before has touched it
    /// meanwhile; and looks whether another has taken its place. If neither, there is none.
    #[cold]
    fn is_over<Q>(&self, key: &Q, record: &Arc<Record<K, P>>, now: Timestamp) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.expire(record, now);
        if record.word.is_live(now) {
            return false;
        }
        let map = self.map.pin();
        let found = map.get_key_value(&Sought(key));
        found.is_none_or(|(ByKey { record: other, .. }, ())| Arc::ptr_eq(other, record))
    }

    /// The record under a key, if it lives.
    pub(super) fn find<Q>(&self, key: &Q, now: Timestamp) -> Result<Arc<Record<K, P>>, Gone>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.visit(key, now, |entry, _| Ok(Arc::clone(&entry.record)))
    }

    /// Makes it permanent that a record has expired.
    #[cold]
    pub(super) fn expire(&self, record: &Arc<Record<K, P>>, now: Timestamp) {
        let mut telling = Telling::new(self);
        let mut index = self.index();
        let now = self.see(now);
        index.expire(record, now, &mut telling.events);
    }

    /// Ends the record under a key, if it lives and `allowed` says so of what it holds.
    pub(super) fn end(
        &self,
        record: &Arc<Record<K, P>>,
        now: Timestamp,
        reason: EndReason,
        allowed: impl FnOnce(&mut P) -> bool,
    ) -> Result<(), Gone> {
        let mut telling = Telling::new(self);
        let mut index = self.index();
        let now = self.see(now);
        index.end(record, now, reason, allowed, &mut telling.events)
    }

    /// Ends the records of a principal that live, but for `keep`, if `allowed` says so once nobody else
    /// can end anything. Says how many.
    pub(super) fn end_all_of(
        &self,
        owner: &str,
        now: Timestamp,
        keep: Option<&Arc<Record<K, P>>>,
        allowed: impl FnOnce() -> bool,
    ) -> Result<usize, Gone> {
        let mut telling = Telling::new(self);
        let records;
        let mut index = self.index();
        let now = self.see(now);
        if !allowed() {
            return Err(Gone);
        }
        records = index.of(owner);
        let mut ended = 0;
        for Aged { record, .. } in &records {
            if keep.is_none_or(|keep| !Arc::ptr_eq(keep, record)) {
                // If both are there, the one has replaced the other by now.
                let replaced = index.is_superseded_for(record, owner);
                let reason = [EndReason::Revoked, EndReason::Replaced][usize::from(replaced)];
                let end = index.end(record, now, reason, |_| true, &mut telling.events);
                ended += usize::from(end.is_ok() && !replaced);
            }
        }
        Ok(ended)
    }

    /// Lets a record belong to a principal who has room for it, if `change` agrees to change what it holds.
    pub(super) fn assign(
        &self,
        aged: &Aged<K, P>,
        owner: &Arc<str>,
        now: Timestamp,
        allowed: impl FnOnce(&P) -> bool,
        change: impl FnOnce(&mut P, Timestamp) -> bool,
    ) -> Result<(), Assign> {
        let mut telling = Telling::new(self);
        let mut index = self.index();
        let now = self.see(now);
        let record = &aged.record;
        if !record.word.is_live(now) || !record.lock().payload.as_ref().is_some_and(allowed) {
            index.expire(record, now, &mut telling.events);
            return Err(Assign::Gone);
        }
        index.assign(
            aged,
            owner,
            &self.policy,
            now,
            |payload| change(payload, now),
            &mut telling.events,
        )
    }

    /// Alters what a record holds that lives, under the lock of the index.
    pub(super) fn alter(
        &self,
        record: &Arc<Record<K, P>>,
        now: Timestamp,
        change: impl FnOnce(&mut P, Timestamp) -> Result<(), Gone>,
    ) -> Result<(), Gone> {
        let mut telling = Telling::new(self);
        let mut index = self.index();
        let now = self.see(now);
        index.expire(record, now, &mut telling.events);
        let mut held = record.lock();
        change(held.payload.as_mut().ok_or(Gone)?, now)
    }

    /// The records of a principal, oldest first, of which what was due has ended.
    pub(super) fn of(&self, owner: &str, now: Timestamp) -> Vec<Aged<K, P>> {
        let mut telling = Telling::new(self);
        let records = {
            let mut index = self.index();
            let now = self.see(now);
            index.drain_fully(now, &mut telling.events);
            let mut records = index.of(owner);
            records.retain(|aged| !index.is_superseded_for(&aged.record, owner));
            records
        };
        // Before there is anything to return: should a hook panic, that would be leaked.
        drop(telling);
        records
    }

    /// Shows `f` each record that lives, in no particular order; under no lock.
    pub(super) fn for_each(&self, now: Timestamp, mut f: impl FnMut(&ByKey<K, P>)) {
        let mut expired = Vec::new();
        for entry in self.map.pin().keys() {
            if entry.record.word.is_live(now) {
                f(entry);
            } else {
                expired.push(Arc::clone(&entry.record));
            }
        }
        for record in expired {
            self.expire(&record, now);
        }
    }

    /// How many records live, and how many principals have one, once what is due has ended.
    pub(super) fn count(&self, now: Timestamp) -> (usize, usize) {
        let mut telling = Telling::new(self);
        loop {
            let mut index = self.index();
            let now = self.see(now);
            if index.drain(now, &mut telling.events) == Drained::All {
                return (index.len(), index.owners());
            }
        }
    }

    /// Another generation. Whoever asks has claimed the key that it is for.
    pub(super) fn generation(&self) -> u64 {
        // ORDERING: Relaxed. The number says nothing of anything else. Claims of one key follow each other, by the lock
        // of the index, and so do these.
        self.generations.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The time is acted on: that, or a later one that was acted on before. The lock of the index is held.
    pub(super) fn see(&self, now: Timestamp) -> Timestamp {
        // ORDERING: Relaxed, as in `now`. Nobody else writes, under the lock.
        let seen = self.seen.load(Ordering::Relaxed);
        if seen < now.as_nanos() {
            // ORDERING: as above.
            self.seen.store(now.as_nanos(), Ordering::Relaxed);
        }
        now.max(Timestamp::from_nanos(seen))
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index<K, P>> {
        // Nothing panics under the lock but by exhausting memory.
        self.index.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, P, S> Registry<K, P, S> {
    /// The time: that of the runtime's clock, but never before what was acted on.
    #[inline]
    pub(super) fn now(&self) -> Timestamp {
        // ORDERING: Relaxed. It is a bound that only matters if the clock goes back; that a record has
        // ended is said by its word.
        let seen = self.seen.load(Ordering::Relaxed);
        self.timers.now().max(Timestamp::from_nanos(seen))
    }
}

impl<K, P, S> Drop for Registry<K, P, S> {
    /// Ends all that live; what has expired ends as expired. Oldest first.
    fn drop(&mut self) {
        self.alarm.cancel(&self.timers);
        let now = self.now();
        let index = self.index.0.get_mut();
        let mut records = index.unwrap_or_else(PoisonError::into_inner).clear();
        records.sort_by_key(|record| record.generation);
        let mut panics = Panics::default();
        for record in records {
            let (deadline, reason) = match (record.word.end(now), record.word.get()) {
                (Ok(deadline), _) => (deadline, EndReason::Shutdown),
                (Err(_), Some(deadline)) => (deadline, record.reason(deadline)),
                (Err(_), None) => continue,
            };
            let (payload, owner) = {
                let mut held = record.lock();
                (held.payload.take(), held.take_owner())
            };
            let Some(payload) = payload else { continue };
            let event = Event {
                record,
                payload,
                owner,
                reason,
                deadline,
            };
            panics.run(|| self.call(event));
        }
        panics.end();
    }
}
