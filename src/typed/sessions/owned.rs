//! What a principal has: its name, and its records by age.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use std::collections::HashMap;

use super::record::{Name, Record};
use crate::Timestamp;

/// A record, and when it was started.
pub(super) struct Aged<K, P> {
    pub(super) record: Arc<Record<K, P>>,
    pub(super) created: Timestamp,
}

/// Oldest first: by generation.
pub(super) type ByAge<K, P> = BTreeMap<u64, Aged<K, P>>;

/// What a principal has.
pub(super) struct Owned<K, P> {
    /// The name, once for all its records.
    pub(super) name: Arc<Name>,
    pub(super) records: ByAge<K, P>,
}

// === impl Aged ===

impl<K, P> Clone for Aged<K, P> {
    fn clone(&self) -> Self {
        Self {
            record: Arc::clone(&self.record),
            created: self.created,
        }
    }
}

// === impl Owned ===

impl<K, P> Owned<K, P> {
    pub(super) fn of<'a>(
        owners: &'a mut HashMap<Arc<str>, Self>,
        owner: &Arc<str>,
    ) -> &'a mut Self {
        owners.entry(Arc::clone(owner)).or_insert_with(|| Self {
            name: Arc::new(Name(Arc::clone(owner))),
            records: BTreeMap::new(),
        })
    }
}
