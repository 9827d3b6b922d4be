//! One grant, from the request on: waiting, granted, ended.
//!
//! | it is | `life` | `end` | `refused` | who may move it on |
//! |---|---|---|---|---|
//! | asked for, or waiting | | | | whoever holds the slot's lock |
//! | refused | | | set | nobody |
//! | granted | set | | | whoever holds the slot's lock; its deadline alone: whoever renews |
//! | ended | set | set | | nobody |
//!
//! Whether a grant lives is in the one word of its deadline; a renewal is one step on that word and
//! takes no lock.

use alloc::sync::Arc;
use alloc::task::Wake;
use core::hash::Hash;
use core::task::Waker;
use core::time::Duration;
use std::sync::OnceLock;

use super::registry::Registry;
use super::slot::Slot;
use super::{AcquireError, FencingToken, Lost};
use crate::typed::EndReason;
use crate::typed::alarm::Alarm;
use crate::typed::deadline::Deadline;
use crate::{ArmError, Timestamp};

pub(super) struct Record<K, H> {
    pub(super) registry: Arc<Registry<K, H>>,
    pub(super) slot: Arc<Slot<K, H>>,
    pub(super) holder: H,
    pub(super) ttl: Duration,
    /// When whoever waits gives up.
    pub(super) give_up: Timestamp,
    /// Its place in the queue, if it has had one.
    pub(super) ticket: OnceLock<u64>,
    pub(super) life: OnceLock<Life>,
    pub(super) end: OnceLock<End>,
    pub(super) refused: OnceLock<AcquireError>,
    pub(super) alarm: Alarm,
}

/// What a request is given.
pub(super) struct Life {
    pub(super) token: FencingToken,
    pub(super) deadline: Deadline,
    /// Beyond which no renewal goes.
    pub(super) cap: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) reason: EndReason,
    /// When it was to expire.
    pub(super) deadline: Timestamp,
}

// === impl Record ===

impl<K, H> Record<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// When it ends if it is not renewed, or did.
    pub(super) fn deadline(&self) -> Timestamp {
        match (self.end.get(), self.life.get()) {
            (Some(end), _) => end.deadline,
            // Between the two looks it may have ended.
            (None, Some(life)) => life.deadline.get().unwrap_or_else(|| self.ended().deadline),
            (None, None) => Timestamp::NEVER,
        }
    }

    /// Whether it was not answered yet, or was just now.
    pub(super) fn is_waiting(&self) -> bool {
        self.life.get().is_none() && self.refused.get().is_none()
    }

    pub(super) fn is_live(&self, now: Timestamp) -> bool {
        self.life
            .get()
            .is_some_and(|life| life.deadline.is_live(now))
    }

    /// How a grant has ended whose deadline says that it has.
    pub(super) fn ended(&self) -> End {
        if self.end.get().is_none() {
            // It ends, and says how, under the lock.
            drop(self.slot.lock());
        }
        self.end.get().copied().unwrap_or(End {
            reason: EndReason::Absolute,
            deadline: Timestamp::NEVER,
        })
    }

    /// How it was lost, for good, after it was found not to live at `now`. `None` if it lives all the same: somebody
    /// who has read the clock before has renewed it meanwhile.
    pub(super) fn lost(&self, now: Timestamp) -> Option<Lost> {
        if self.end.get().is_none() {
            self.registry.settle(&self.slot, now);
        }
        (!self.is_live(now)).then(|| Lost::because(self.ended().reason))
    }

    /// Lets a grant live for its time from now on, but not beyond its cap.
    pub(super) fn renew(self: &Arc<Self>) -> Result<Timestamp, Lost> {
        let life = self.life.get().ok_or(Lost::Foreign)?;
        let now = self.registry.now();
        let to = now.saturating_add(self.ttl).min(life.cap);
        let until = loop {
            if let Ok(until) = life.deadline.touch(now, to) {
                break until;
            }
            if let Some(lost) = self.lost(now) {
                return Err(lost);
            }
        };
        // If this is refused the timer is late. It is looked for again with each renewal, and whoever
        // wants the lease sees the deadline.
        let _ = self.follow();
        Ok(until)
    }

    /// When it is to be looked at.
    fn target(&self) -> Option<Timestamp> {
        if self.refused.get().is_some() || self.end.get().is_some() {
            return None;
        }
        match self.life.get() {
            Some(life) => life.deadline.get(),
            // Asked for, and neither granted nor in the queue: whoever asks sees to it.
            None if self.ticket.get().is_none() => None,
            None => Some(match self.slot.quiet() {
                Some(quiet) => quiet.min(self.give_up),
                None => self.give_up,
            }),
        }
    }

    /// Has the timer follow the record.
    pub(super) fn follow(self: &Arc<Self>) -> Result<(), ArmError> {
        let waker = || Waker::from(Arc::clone(self));
        self.alarm
            .follow(&self.registry.timers, || self.target(), waker)
    }
}

impl<K, H> Wake for Record<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// Its time may have come, or the runtime has been shut down.
    fn wake(self: Arc<Self>) {
        if self.registry.timers.is_shut_down() {
            self.registry.shut(&self.slot);
        } else {
            self.registry.awaken(&self);
            let _ = self.follow();
        }
    }
}
