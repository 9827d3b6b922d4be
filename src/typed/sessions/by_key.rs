//! The map's entries: a record is its own key, so that keys are held once.
//!
//! The map has an allocation for each. Three words take no more than one would, since allocators round up; so what only they
//! who look in the map want to know is here and not in the record.

use alloc::sync::Arc;
use core::borrow::Borrow;
use core::hash::{Hash, Hasher};

use papaya::Equivalent;

use super::owned::Aged;
use super::payload::{Payload, Whereabouts};
use super::record::Record;
use crate::Timestamp;

/// A record, as good as its key.
pub(super) struct ByKey<K, P> {
    pub(super) record: Arc<Record<K, P>>,
    /// When it was started.
    pub(super) created: Timestamp,
    /// Where the value is, to have it come while the record does.
    pub(super) value: Whereabouts,
}

/// A key that is looked for.
pub(super) struct Sought<'a, Q: ?Sized>(pub(super) &'a Q);

// === impl ByKey ===

impl<K, P: Payload> ByKey<K, P> {
    pub(super) fn new(Aged { record, created }: Aged<K, P>) -> Self {
        let value = Whereabouts::of(record.lock().payload.as_ref());
        Self {
            record,
            created,
            value,
        }
    }

    pub(super) fn aged(&self) -> Aged<K, P> {
        Aged {
            record: Arc::clone(&self.record),
            created: self.created,
        }
    }
}

impl<K: Hash, P> Hash for ByKey<K, P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.record.key.hash(state);
    }
}

impl<K: Eq, P> PartialEq for ByKey<K, P> {
    fn eq(&self, other: &Self) -> bool {
        self.record.key == other.record.key
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
        key.value.ask();
        self.0 == key.record.key.borrow()
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_three_words() {
        assert_eq!(size_of::<ByKey<u128, Arc<u128>>>(), 24);
    }
}
