//! Ends are told once each, along a key in the order of its records, under no lock.
//!
//! Who has ended a record tells of it, before it returns, unless the record before it under the same key
//! is not told of yet: then it leaves the event with that record, and whoever tells of that one goes on
//! with it. So nobody waits, and a hook may start and end sessions under the very key it is told of.
//! To find the record before, whoever starts one looks at what its key led to; the map keeps a record
//! until its end was told.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::hash::{BuildHasher, Hash};

use super::by_key::Sought;
use super::chains::Links;
use super::record::Record;
use super::registry::Registry;
use crate::Timestamp;
use crate::typed::EndReason;
use crate::typed::panics::Panics;

/// The end of a record, which is to be told.
pub(super) struct Event<K, P> {
    pub(super) record: Arc<Record<K, P>>,
    pub(super) payload: P,
    pub(super) owner: Option<Arc<str>>,
    pub(super) reason: EndReason,
    pub(super) deadline: Timestamp,
}

pub(super) type Hook<K, P> = dyn Fn(Event<K, P>) + Send + Sync;

std::thread_local! {
    /// Whether this thread tells of ends, of whichever store, and so runs somebody's code.
    static TELLS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is called from a hook, or from what else runs while ends are told.
pub(super) fn is_within_a_hook() -> bool {
    TELLS.get()
}

/// Ends that are told when this is dropped: also if anything panics before. It has to be made
/// before any lock is taken.
pub(super) struct Telling<'a, K: Hash + Eq, P, S: BuildHasher> {
    registry: &'a Registry<K, P, S>,
    pub(super) events: Vec<Event<K, P>>,
}

// === impl Telling ===

impl<'a, K: Hash + Eq, P, S: BuildHasher> Telling<'a, K, P, S> {
    pub(super) fn new(registry: &'a Registry<K, P, S>) -> Self {
        Self {
            registry,
            events: Vec::new(),
        }
    }
}

impl<K: Hash + Eq, P, S: BuildHasher> Drop for Telling<'_, K, P, S> {
    /// Tells of all; then passes on the first panic, unless there is one already.
    fn drop(&mut self) {
        let mut panics = Panics::default();
        let within = TELLS.replace(true);
        for event in self.events.drain(..) {
            panics.run(|| self.registry.tell(event));
        }
        TELLS.set(within);
        panics.end();
    }
}

// === impl Registry ===

impl<K: Hash + Eq, P, S: BuildHasher> Registry<K, P, S> {
    /// Tells of an end, or leaves it to whoever is about to tell of the one before.
    fn tell(&self, mut event: Event<K, P>) {
        let after = {
            let mut held = event.record.lock();
            let after = |links: &mut Links<K, P>| links.after.take();
            self.chains.take(event.record.generation, &mut held, after)
        };
        if let Some(before) = &after {
            let mut held = before.lock();
            if !held.place.is_told() {
                let then = |links: &mut Links<K, P>| links.then = Some(event);
                self.chains.link(before.generation, &mut held, then);
                return;
            }
        }
        let mut panics = Panics::default();
        // With the last handle to a record its key is dropped: somebody's code, which may panic.
        panics.run(|| drop(after));
        loop {
            let record = Arc::clone(&event.record);
            panics.run(|| self.call(event));
            panics.run(|| self.forget(&record));
            let links = {
                let mut held = record.lock();
                held.place.set_told();
                self.chains.take_all(record.generation, &mut held)
            };
            panics.run(|| drop(record));
            match links.and_then(|links| links.then) {
                Some(next) => event = next,
                None => break,
            }
        }
        panics.end();
    }

    /// Lets the key lead nowhere, if it still leads to that record.
    fn forget(&self, record: &Arc<Record<K, P>>) {
        let guard = self.map.guard();
        let _ = self.map.remove_if(
            &Sought(&record.key),
            |found, ()| Arc::ptr_eq(&found.record, record),
            &guard,
        );
    }
}

impl<K, P, S> Registry<K, P, S> {
    /// Calls the hook; without one the payload is dropped.
    pub(super) fn call(&self, event: Event<K, P>) {
        match &self.hook {
            Some(hook) => hook(event),
            None => drop(event),
        }
    }
}
