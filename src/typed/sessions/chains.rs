//! What few records have, and most of those for a moment: neighbours in the order of events. A session that was started
//! by the hook of the one before, under the same key, keeps that one until it ends itself.
//!
//! It is kept beside the records, by generation, so that the others have no room for it. A record
//! that is linked [says so](super::place::Place), and all but those that are pass by here without a look.
//!
//! The lock here is taken last, under that of the record that is asked about. Nothing is dropped under it.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::record::{Held, Record};
use super::tell::Event;

/// What is to be told after what, of all records of a store.
pub(super) struct Chains<K, P>(Mutex<BTreeMap<u64, Links<K, P>>>);

/// What a record is linked to.
pub(super) struct Links<K, P> {
    /// The record under the same key whose end is told first.
    pub(super) after: Option<Arc<Record<K, P>>>,
    /// The end of the next one, told once that of this one is.
    pub(super) then: Option<Event<K, P>>,
    /// Its own end, if it ended before it was published.
    pub(super) own: Option<Event<K, P>>,
}

// === impl Chains ===

impl<K, P> Chains<K, P> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Links a record, whose lock is held: `link` says to what.
    pub(super) fn link(
        &self,
        generation: u64,
        held: &mut Held<P>,
        link: impl FnOnce(&mut Links<K, P>),
    ) {
        held.place.set_linked(true);
        link(self.lock().entry(generation).or_insert(Links {
            after: None,
            then: None,
            own: None,
        }));
    }

    /// Takes from what a record is linked to, and lets it be linked to the rest.
    pub(super) fn take<R>(
        &self,
        generation: u64,
        held: &mut Held<P>,
        take: impl FnOnce(&mut Links<K, P>) -> Option<R>,
    ) -> Option<R> {
        if !held.place.is_linked() {
            return None;
        }
        let mut chains = self.lock();
        let links = chains.get_mut(&generation)?;
        let taken = take(links);
        if links.is_empty() {
            chains.remove(&generation);
            held.place.set_linked(false);
        }
        taken
    }

    /// Takes all that a record is linked to.
    pub(super) fn take_all(&self, generation: u64, held: &mut Held<P>) -> Option<Links<K, P>> {
        if !held.place.is_linked() {
            return None;
        }
        held.place.set_linked(false);
        self.lock().remove(&generation)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Links<K, P>>> {
        // Nothing panics under the lock but by exhausting memory.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Links ===

impl<K, P> Links<K, P> {
    fn is_empty(&self) -> bool {
        self.after.is_none() && self.then.is_none() && self.own.is_none()
    }
}
