//! A session's record: its deadline in one word, and beside it what is kept under a lock of its own.
//!
//! | what | who reads and writes it |
//! |---|---|
//! | the word | anybody moves it later; it ends only under the lock of the index |
//! | limits, key, birth, generation | nobody writes them |
//! | payload, version | under the record's lock |
//! | owner, timer, published, what is told in which order | under the record's lock; all but the last also under that of the index |
//!
//! The lock of the index is taken before that of a record, never after. Under a record's lock
//! nothing runs but this crate's own code.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::tell::Event;
use super::{SessionLimits, TimeToLive};
use crate::timestamp::nanos;
use crate::typed::EndReason;
use crate::typed::deadline::{Deadline, Gone};
use crate::{TimerKey, Timestamp};

/// What a key leads to.
pub(super) struct Record<K, P> {
    pub(super) key: K,
    pub(super) word: Deadline,
    /// For how many nanoseconds it may be idle.
    idle: u64,
    /// When it ends in any case.
    absolute: Timestamp,
    /// Which of the records of its store it is. Later ones have larger numbers, those of one key without exception.
    pub(super) generation: u64,
    pub(super) created: Timestamp,
    held: Mutex<Held<K, P>>,
}

/// What a record's lock guards.
pub(super) struct Held<K, P> {
    /// What it holds, until it ends.
    pub(super) payload: Option<P>,
    /// How often the payload was replaced.
    pub(super) version: u32,
    /// Whether its key leads to it, or has done so.
    pub(super) published: bool,
    /// Whether its end was told.
    pub(super) told: bool,
    owner: Option<Arc<Name>>,
    links: Option<Box<Links<K, P>>>,
    /// Where it is filed, once it is.
    pub(super) timer: Option<TimerKey>,
}

/// The name of a principal, behind one word.
pub(super) struct Name(pub(super) Arc<str>);

/// What few records have: neighbours in the order of events.
pub(super) struct Links<K, P> {
    /// The record under the same key whose end is told first.
    pub(super) after: Option<Arc<Record<K, P>>>,
    /// The end of the next one, told once that of this one is.
    pub(super) then: Option<Event<K, P>>,
    /// Its own end, if it ended before it was published.
    pub(super) own: Option<Event<K, P>>,
}

// === impl Record ===

impl<K, P> Record<K, P> {
    /// A record born at `now`.
    pub(super) fn new(
        key: K,
        payload: P,
        owner: Option<Arc<str>>,
        limits: SessionLimits,
        now: Timestamp,
        generation: u64,
    ) -> Self {
        let absolute = limits
            .absolute
            .map_or(Timestamp::NEVER, |span| now.saturating_add(span));
        let idle = limits.idle.map_or(u64::MAX, nanos);
        Self {
            word: Deadline::new(until(now, idle, absolute)),
            absolute,
            idle,
            generation,
            created: now,
            key,
            held: Mutex::new(Held {
                payload: Some(payload),
                version: 0,
                owner: owner.map(|owner| Arc::new(Name(owner))),
                timer: None,
                published: false,
                told: false,
                links: None,
            }),
        }
    }

    /// Whether it is dead at birth. No word can say so at the beginning of time.
    pub(super) fn is_stillborn(&self) -> bool {
        until(self.created, self.idle, self.absolute) <= self.created
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Held<K, P>> {
        // Nothing panics under the lock; if anything did, what it guards would still be whole.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets it live for as long as it may be idle, and no longer than it may at all.
    #[inline]
    pub(super) fn touch(&self, now: Timestamp) -> Result<Timestamp, Gone> {
        self.word.touch(now, until(now, self.idle, self.absolute))
    }

    /// Why it ends at that deadline. If both limits fall together, the one that no touch could have moved.
    pub(super) fn reason(&self, deadline: Timestamp) -> EndReason {
        if deadline >= self.absolute {
            EndReason::Absolute
        } else {
            EndReason::Idle
        }
    }

    /// What is left to it at `now`, if it lives until `deadline`.
    pub(super) fn time_to_live(&self, deadline: Timestamp, now: Timestamp) -> TimeToLive {
        let left = |until: Timestamp| (!until.is_never()).then(|| until - now);
        TimeToLive {
            idle: (self.idle != u64::MAX).then(|| deadline - now),
            absolute: left(self.absolute),
            effective: left(deadline),
            deadline,
        }
    }
}

/// When a record touched at `now` expires.
#[inline]
fn until(now: Timestamp, idle: u64, absolute: Timestamp) -> Timestamp {
    now.saturating_add(Duration::from_nanos(idle)).min(absolute)
}

// === impl Held ===

impl<K, P> Held<K, P> {
    /// Whose it is.
    pub(super) fn owner(&self) -> Option<Arc<str>> {
        Some(Arc::clone(&self.owner.as_ref()?.0))
    }

    /// Says whose it is, and whose it was.
    pub(super) fn replace_owner(&mut self, owner: Arc<Name>) -> Option<Arc<str>> {
        Some(Arc::clone(&self.owner.replace(owner)?.0))
    }

    pub(super) fn take_owner(&mut self) -> Option<Arc<str>> {
        Some(Arc::clone(&self.owner.take()?.0))
    }

    pub(super) fn links(&mut self) -> &mut Links<K, P> {
        self.links.get_or_insert_with(|| {
            Box::new(Links {
                after: None,
                then: None,
                own: None,
            })
        })
    }

    pub(super) fn take_links(&mut self) -> Option<Box<Links<K, P>>> {
        self.links.take()
    }

    /// The record whose end is to be told first.
    pub(super) fn take_after(&mut self) -> Option<Arc<Record<K, P>>> {
        self.links.as_mut()?.after.take()
    }

    /// Its end, if it came before it was published.
    pub(super) fn take_own(&mut self) -> Option<Event<K, P>> {
        self.links.as_mut()?.own.take()
    }
}

#[cfg(feature = "serde")]
impl<K, P> Record<K, P> {
    /// One that has lived before, under its numbers: generation and version.
    pub(super) fn restored(
        key: K,
        payload: P,
        owner: Option<Arc<str>>,
        life: &super::restore::Life,
        (generation, version): (u64, u32),
    ) -> Self {
        let limits = SessionLimits {
            idle: life.idle,
            absolute: None,
        };
        let record = Self::new(key, payload, owner, limits, life.created, generation);
        record.lock().version = version;
        Self {
            word: Deadline::new(life.deadline.min(life.absolute)),
            absolute: life.absolute,
            ..record
        }
    }

    /// For how long it may be idle, and when it ends in any case.
    pub(super) fn spans(&self) -> (Option<Duration>, Timestamp) {
        let idle = (self.idle != u64::MAX).then(|| Duration::from_nanos(self.idle));
        (idle, self.absolute)
    }
}
