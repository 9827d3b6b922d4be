//! Callbacks that go on after the driver's has returned: it hands a timer to somebody else, who
//! runs what is to be run, and until then the timer counts as running.
//!
//! Everything that is said of a running entry holds unchanged. Only that it is not the driver who
//! ends it, but whoever has the [`Deferred`].

use super::ops::Run;
use super::source::Common;
use super::{Revoked, SharedWheel};
use crate::{Expired, Tick, TimerKey};

/// The right to end the callback of one timer.
#[derive(Debug)]
#[must_use = "the timer runs until this is used"]
pub(crate) struct Deferred {
    index: u32,
}

// === impl Deferred ===

impl Deferred {
    pub(super) fn new(index: u32) -> Self {
        Self { index }
    }
}

// === impl SharedWheel ===

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    /// The callback has returned, wherever it ran.
    ///
    /// `deferred` is of this wheel.
    pub(crate) fn finish(&self, deferred: Deferred) {
        let entry = self.arena.entry(deferred.index);
        if self.returned(entry) {
            self.push(&mut Common::here(&self.shards), deferred.index);
        }
    }

    /// The callback has returned, and arms the timer again, under its key, as
    /// [`SharedTurn::rearm_expired`](super::SharedTurn::rearm_expired) does. If it may not, it has
    /// returned all the same.
    pub(crate) fn finish_rearmed(
        &self,
        deferred: Deferred,
        expired: Expired<T>,
        deadline: Tick,
    ) -> Result<TimerKey, Revoked<T>> {
        let armed = self.rearm_running(deferred.index, expired, deadline, Run::Ends);
        if armed.is_err() {
            self.finish(deferred);
        }
        armed
    }

    /// Whether the calling thread is running a callback of this wheel, as its driver.
    pub(crate) fn is_driven_here(&self) -> bool {
        self.drives_here()
    }

    /// Parts those who arm, other than through a [`Local`](super::Local) handle, into two: whoever arms
    /// after this sees what was done before it; the timers of all others count in
    /// [`len`](Self::len) from now on, though they may not yet be found. O(shards).
    pub(crate) fn seal(&self) {
        self.shards.seal();
    }
}
