//! A session's record: its deadline in one word, and beside it what is kept under a lock of its own.
//!
//! | what | who reads and writes it |
//! |---|---|
//! | the word | anybody moves it later; it ends only under the lock of the index |
//! | limits, key, generation | nobody writes them |
//! | payload, version | under the record's lock |
//! | owner, place | under the record's lock; whose it is and where it is filed also under that of the index |
//!
//! When it was started is kept with the [map's entry](super::by_key::ByKey), where there was room for it.
//!
//! The lock of the index is taken before that of a record, never after. Under a record's lock
//! nothing runs but this crate's own code.

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::place::Place;
use super::{SessionLimits, TimeToLive};
use crate::Timestamp;
use crate::prefetch::prefetch;
use crate::timestamp::nanos;
use crate::typed::EndReason;
use crate::typed::deadline::{Deadline, Gone};

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
    held: Mutex<Held<P>>,
}

/// What a record's lock guards.
pub(super) struct Held<P> {
    /// What it holds, until it ends.
    pub(super) payload: Option<P>,
    /// How often the payload was replaced.
    pub(super) version: u32,
    /// Where it is filed, once it is, and how far it has got.
    pub(super) place: Place,
    owner: Option<Arc<Name>>,
}

/// The name of a principal, behind one word.
pub(super) struct Name(pub(super) Arc<str>);

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
            key,
            held: Mutex::new(Held {
                payload: Some(payload),
                version: 0,
                place: Place::default(),
                owner: owner.map(|owner| Arc::new(Name(owner))),
            }),
        }
    }

    /// Whether it is dead at birth. No word can say so at the beginning of time.
    pub(super) fn is_stillborn(&self, created: Timestamp) -> bool {
        until(created, self.idle, self.absolute) <= created
    }

    /// Asks for the memory of a record that is about to end.
    pub(super) fn ask(&self) {
        prefetch(&raw const self.word);
        prefetch(&raw const self.held);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Held<P>> {
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

impl<P> Held<P> {
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

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    //! What a session takes: a record, behind the two counts of its `Arc`.

    use super::super::guarded::Guarded;
    use super::*;

    #[test]
    fn a_record_is_64_bytes_and_its_key() {
        assert_eq!(size_of::<Record<u64, Arc<u128>>>(), 64 + 8);
        assert_eq!(size_of::<Record<u128, Arc<u128>>>(), 64 + 16);
        assert_eq!(size_of::<Record<u64, Guarded<u128>>>(), 64 + 8 + 40); // a digest, and the id before
    }
}
