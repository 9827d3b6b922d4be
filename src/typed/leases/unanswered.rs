//! A request on its way.

use alloc::sync::Arc;
use core::hash::Hash;

use super::record::Record;
use super::registry::Registry;
use super::slot::Slot;
use crate::typed::panics::Panics;

/// A request that is let go of unless its caller is answered, whatever panics before that.
pub(super) struct Unanswered<'a, K, H>(pub(super) Option<&'a Arc<Record<K, H>>>)
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static;

/// A slot that was [pinned](Registry::pin), until this is dropped.
pub(super) struct Pinned<'a, K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    registry: &'a Arc<Registry<K, H>>,
    slot: &'a Arc<Slot<K, H>>,
    pub(super) held: bool,
}

impl<K, H> Drop for Unanswered<'_, K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    fn drop(&mut self) {
        let Some(record) = self.0 else {
            return;
        };
        let mut panics = Panics::default();
        if record.life.get().is_some() || record.ticket.get().is_some() {
            panics.run(|| record.registry.abandon(record));
        }
        panics.run(|| record.alarm.cancel(&record.registry.timers));
        panics.end();
    }
}

impl<'a, K, H> Pinned<'a, K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    pub(super) fn new(registry: &'a Arc<Registry<K, H>>, slot: &'a Arc<Slot<K, H>>) -> Self {
        Self {
            registry,
            slot,
            held: true,
        }
    }
}

impl<K, H> Drop for Pinned<'_, K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    fn drop(&mut self) {
        if self.held {
            let registry = self.registry;
            registry.change(self.slot, registry.now(), |state, _| state.pins -= 1);
        }
    }
}
