//! The map's entries: a record is its own key, so that keys are held once.

use alloc::sync::Arc;
use core::borrow::Borrow;
use core::hash::{Hash, Hasher};

use papaya::Equivalent;

use super::record::Record;

/// A record, as good as its key.
pub(super) struct ByKey<K, P>(pub(super) Arc<Record<K, P>>);

/// A key that is looked for.
pub(super) struct Sought<'a, Q: ?Sized>(pub(super) &'a Q);

// === impl ByKey ===

impl<K: Hash, P> Hash for ByKey<K, P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

impl<K: Eq, P> PartialEq for ByKey<K, P> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl<K: Eq, P> Eq for ByKey<K, P> {}

// === impl Sought ===

impl<Q: Hash + ?Sized> Hash for Sought<'_, Q> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<K: Borrow<Q>, P, Q: Eq + ?Sized> Equivalent<ByKey<K, P>> for Sought<'_, Q> {
    #[inline]
    fn equivalent(&self, key: &ByKey<K, P>) -> bool {
        self.0 == key.0.key.borrow()
    }
}
