//! A grant of an earlier process, taken up again.

use alloc::sync::Arc;
use core::hash::Hash;
use core::task::Waker;
use core::time::Duration;
use std::sync::OnceLock;

use super::record::{Life, Record};
use super::registry::Registry;
use super::slot::Slot;
use super::unanswered::Pinned;
use crate::Timestamp;

/// A grant to be taken up again.
pub(super) struct Revived<H> {
    pub(super) holder: H,
    pub(super) ttl: Duration,
    pub(super) life: Life,
    pub(super) until: Timestamp,
}

/// What has become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revival {
    Lives,
    /// It lives, and there is no timer that ends it.
    Untimed,
    /// Somebody has the resource.
    Occupied,
}

// === impl Registry ===

impl<K, H> Registry<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// Lets a grant live on, unless somebody has the resource.
    pub(super) fn revive(
        self: &Arc<Self>,
        resource: K,
        now: Timestamp,
        revived: Revived<H>,
    ) -> Revival {
        let Some(slot) = self.pinned(resource) else {
            return Revival::Occupied;
        };
        let Revived {
            holder,
            ttl,
            life,
            until,
        } = revived;
        let record = Arc::new(Record {
            registry: Arc::clone(self),
            slot,
            holder,
            ttl,
            give_up: Timestamp::ZERO,
            ticket: OnceLock::new(),
            life: OnceLock::new(),
            end: OnceLock::new(),
            refused: OnceLock::new(),
            alarm: self.alarm(),
        });
        let mut pinned = Pinned::new(self, &record.slot);
        let waker = || Waker::from(Arc::clone(&record));
        let mut armed = record.alarm.arm_first(&self.timers, until, waker());
        let lives = self.change(&record.slot, now, |state, _| {
            let free = state.current.is_none();
            if free {
                let _ = record.life.set(life);
                state.current = Some(Arc::clone(&record));
            }
            state.pins -= 1;
            pinned.held = false;
            free
        });
        if lives {
            // It may have fired before there was anything to end.
            armed = record.follow();
        } else {
            record.alarm.cancel(&self.timers);
        }
        // Whoever shuts down sees this record in its slot, or that is seen here.
        if self.timers.is_shut_down() {
            self.shut(&record.slot);
        }
        match (lives, armed) {
            (false, _) => Revival::Occupied,
            (true, Ok(())) => Revival::Lives,
            (true, Err(_)) => Revival::Untimed,
        }
    }

    /// Lets nobody have a resource before that.
    pub(super) fn keep_quiet(self: &Arc<Self>, resource: K, now: Timestamp, until: Timestamp) {
        let Some(slot) = self.pinned(resource) else {
            return;
        };
        let mut pinned = Pinned::new(self, &slot);
        self.change(&slot, now, |state, effects| {
            state.delayed_until = state.delayed_until.max(until);
            effects.quiet_moved = true;
            state.pins -= 1;
            pinned.held = false;
        });
        if self.timers.is_shut_down() {
            self.shut(&slot);
        }
    }

    fn pinned(self: &Arc<Self>, resource: K) -> Option<Arc<Slot<K, H>>> {
        // It refuses nothing.
        self.pin(resource, |_| None).ok()
    }
}
