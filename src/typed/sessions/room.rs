//! How many live, whose they are, and whether there is room for one more.
//!
//! Whoever replaces a session lets the new one in first, so that its key leads to one of them at any time. Until the old one
//! has ended both are in the index, and the new one counts.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::index::{Drained, Full, Index};
use super::owned::{Aged, ByAge};
use super::payload::Payload;
use super::policy::{SessionPolicy, WhenFull};
use super::record::Record;
use super::tell::{Event, is_within_a_hook};
use crate::Timestamp;
use crate::typed::EndReason;

/// What there is too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// Sessions of one principal.
    Principal,
    /// Sessions.
    All,
}

// === impl Index ===

impl<K, P: Payload> Index<K, P> {
    /// Records that have not ended.
    pub(super) fn len(&self) -> usize {
        self.wheel.len() - self.superseded().count()
    }

    /// Principals who have records that have not ended.
    pub(super) fn owners(&self) -> usize {
        if self.superseded.is_empty() {
            return self.owners.len();
        }
        let counts = |owner: &str, records: &ByAge<K, P>| {
            let mut records = records.values();
            records.any(|aged| !self.is_superseded_for(&aged.record, owner))
        };
        let owners = self.owners.iter();
        let owners = owners.filter(|(owner, owned)| counts(owner, &owned.records));
        owners.count()
    }

    /// The records of a principal that have not ended, oldest first.
    pub(super) fn of(&self, owner: &str) -> Vec<Aged<K, P>> {
        let owned = self.owners.get(owner);
        owned.map_or_else(Vec::new, |owned| owned.records.values().cloned().collect())
    }

    /// Whether another will be found in the place of that record, and is the same principal's.
    pub(super) fn is_superseded_for(&self, record: &Arc<Record<K, P>>, owner: &str) -> bool {
        let mut pairs = self.superseded.iter();
        let pair = pairs.find(|[old, _]| Arc::ptr_eq(old, record));
        pair.is_some_and(|[_, new]| new.lock().owner().as_deref() == Some(owner))
    }

    /// A record has ended that was to be replaced, or it will not be.
    pub(super) fn unsupersede(&mut self, record: &Arc<Record<K, P>>) {
        self.superseded.retain(|[_, new]| !Arc::ptr_eq(new, record));
    }

    /// Those of a principal that do not count, since the one that will be found in the place of each does.
    fn superseded_of<'a>(
        &'a self,
        owner: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Arc<Record<K, P>>> {
        let mine = move |record: &Record<K, P>| record.lock().owner().as_deref() == owner;
        let pairs = self.superseded.iter();
        let pairs = pairs.filter(move |[old, new]| mine(old) && mine(new));
        let living = pairs.filter(|[old, _]| old.lock().payload.is_some());
        living.map(|[old, _]| old)
    }

    fn is_superseded(&self, record: &Arc<Record<K, P>>) -> bool {
        self.superseded().any(|old| Arc::ptr_eq(old, record))
    }

    /// Those that do not count though they have not ended.
    fn superseded(&self) -> impl Iterator<Item = &Arc<Record<K, P>>> {
        let all = self.superseded.iter().map(|[old, _]| old);
        all.filter(|old| old.lock().payload.is_some())
    }

    /// Sees to it that there is room for one more, of that principal and in all: what is due ends, and then the oldest,
    /// if that is the policy.
    pub(super) fn make_room(
        &mut self,
        owner: Option<&str>,
        replaces: Option<&Arc<Record<K, P>>>,
        policy: &SessionPolicy,
        now: Timestamp,
        events: &mut Vec<Event<K, P>>,
    ) -> Result<(), Full> {
        let mut drained = Drained::Some;
        while let Some(over) = self.over(owner, replaces, policy) {
            if drained == Drained::Some {
                drained = self.drain(now, events);
                if is_within_a_hook() {
                    // Told of batch by batch, each within a hook of the one before, they would need a stack for each.
                    self.drain_fully(now, events);
                }
                continue;
            }
            if policy.when_full == WhenFull::Refuse {
                return Err(Full);
            }
            let oldest = self.oldest(over, owner, replaces).ok_or(Full)?;
            let _ = self.end(&oldest, now, EndReason::Capacity, |_| true, events);
        }
        Ok(())
    }

    /// What there is too much of for one more.
    fn over(
        &self,
        owner: Option<&str>,
        replaces: Option<&Arc<Record<K, P>>>,
        policy: &SessionPolicy,
    ) -> Option<Over> {
        let (mut all, mut own) = (self.len(), 0);
        if let Some(owned) = owner.and_then(|owner| self.owners.get(owner)) {
            own = owned.records.len() - self.superseded_of(owner).count();
        }
        if let Some(replaced) = replaces {
            let held = replaced.lock();
            let counts = held.payload.is_some();
            all -= usize::from(counts);
            own -= usize::from(counts && owner.is_some() && held.owner().as_deref() == owner);
        }
        if owner.is_some() && own >= policy.max_per_principal {
            Some(Over::Principal)
        } else {
            (all >= policy.max_sessions).then_some(Over::All)
        }
    }

    fn oldest(
        &self,
        over: Over,
        owner: Option<&str>,
        but: Option<&Arc<Record<K, P>>>,
    ) -> Option<Arc<Record<K, P>>> {
        let records = match over {
            Over::Principal => self.owners.get(owner?).map(|owned| &owned.records),
            Over::All => self.all.as_ref(),
        };
        let is_other = |record: &&Arc<_>| -> bool {
            let counts = match over {
                Over::Principal => !self.is_superseded_for(record, owner.unwrap_or_default()),
                Over::All => !self.is_superseded(record),
            };
            counts && but.is_none_or(|but| !Arc::ptr_eq(but, record))
        };
        records?
            .values()
            .map(|aged| &aged.record)
            .find(is_other)
            .cloned()
    }
}
