//! What a change of a slot leaves to be done without its lock.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

use super::record::Record;
use crate::typed::Ended;

/// What is left to do when the lock is gone.
pub(super) struct Effects<K, H> {
    /// The grant that has ended: its timer goes. One change ends one at most.
    pub(super) ended: Option<Arc<Record<K, H>>>,
    /// Requests that were given up: their timers go.
    pub(super) over: Vec<Arc<Record<K, H>>>,
    /// Records whose timers are to follow them.
    pub(super) moved: Vec<Arc<Record<K, H>>>,
    pub(super) wakers: Vec<Waker>,
    /// The timer of the slot is to follow the time before which nobody may have it.
    pub(super) quiet_moved: bool,
    /// The first of those who wait needs a token, and the mark has to be moved.
    pub(super) at_the_mark: bool,
}

// === impl Effects ===

impl<K, H> Effects<K, H> {
    pub(super) fn new() -> Self {
        Self {
            ended: None,
            over: Vec::new(),
            moved: Vec::new(),
            wakers: Vec::new(),
            quiet_moved: false,
            at_the_mark: false,
        }
    }
}

impl<K, H> Effects<K, H> {
    /// Whether nothing is to be done, but for the mark.
    pub(super) fn is_none(&self) -> bool {
        self.ended.is_none()
            && self.over.is_empty()
            && self.moved.is_empty()
            && self.wakers.is_empty()
            && !self.quiet_moved
    }
}

impl<K, H> Record<K, H> {
    /// What the owner is told of a grant that has ended.
    pub(super) fn told(&self) -> Option<Ended<&K, &H>> {
        let (life, end) = (self.life.get()?, self.end.get()?);
        Some(Ended {
            key: &self.slot.resource,
            value: &self.holder,
            reason: end.reason,
            deadline: end.deadline,
            generation: life.token.get(),
        })
    }
}
