//! Resources that nobody holds or wants, and that are remembered all the same: most are wanted again soon.
//!
//! | a slot is | in the map | in its cell | who may move it | to |
//! |---|---|---|---|---|
//! | used | yes | no | who lets go of it last | idle |
//! | idle | yes | yes, or on its way to be let go of | who wants it | used |
//! | | | | who has put another into its cell | dead |
//! | dead | no, or soon not | no | nobody | |
//!
//! All moves are made under the lock of the slot. That of a cell is taken within it, and nothing within that. As a cell
//! holds one slot, there are never more idle ones than cells.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::hash::Hash;
use std::sync::OnceLock;

use super::locked;
use super::registry::Registry;
use super::slot::{Slot, State};
use crate::Timestamp;
use crate::sync::Mutex;
use crate::typed::panics::Panics;

/// How many resources that nobody holds or wants are remembered at most.
const CELLS: usize = 1 << CELL_BITS;
const CELL_BITS: u32 = 10;

/// A place for a slot that is idle.
type Cell<K, H> = Mutex<Option<Arc<Slot<K, H>>>>;

/// All slots that are idle, each in the cell that goes by its address.
pub(super) struct Idle<K, H> {
    /// Made when the first slot is idle. 16 KiB.
    cells: OnceLock<Box<[Cell<K, H>]>>,
}

/// What becomes of a slot after a change.
#[must_use = "others may have to be let go of"]
pub(super) enum Rest<K, H> {
    /// Somebody has a use for it, or it is over already.
    Used,
    /// Nobody has. It has come to be idle, and may have driven out another.
    Idle(Option<Arc<Slot<K, H>>>),
    /// Nobody has, and it is over.
    Over,
}

// === impl Idle ===

impl<K, H> Idle<K, H> {
    pub(super) fn new() -> Self {
        Self {
            cells: OnceLock::new(),
        }
    }

    /// Puts a slot into its cell. Hands out the one that was there.
    pub(super) fn put(&self, slot: &Arc<Slot<K, H>>) -> Option<Arc<Slot<K, H>>> {
        locked(self.cell(slot)).replace(Arc::clone(slot))
    }

    /// Takes a slot out of its cell, if it is there. Hands it out.
    pub(super) fn take(&self, slot: &Arc<Slot<K, H>>) -> Option<Arc<Slot<K, H>>> {
        locked(self.cell(slot)).take_if(|idle| Arc::ptr_eq(idle, slot))
    }

    /// Whether a slot is in its cell.
    pub(super) fn has(&self, slot: &Arc<Slot<K, H>>) -> bool {
        let cell = locked(self.cell(slot));
        cell.as_ref().is_some_and(|idle| Arc::ptr_eq(idle, slot))
    }

    fn cell(&self, slot: &Arc<Slot<K, H>>) -> &Cell<K, H> {
        let cells = self
            .cells
            .get_or_init(|| (0..CELLS).map(|_| Mutex::new(None)).collect());
        // Fibonacci hashing: slots lie at even distances.
        let address = Arc::as_ptr(slot).addr() as u64;
        let hash = address.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &cells[(hash >> (u64::BITS - CELL_BITS)) as usize]
    }
}

// === impl Rest ===

impl<K, H> Rest<K, H> {
    pub(super) fn is_used(&self) -> bool {
        matches!(self, Self::Used)
    }
}

// === impl State ===

impl<K, H> State<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// Whether nobody has any use for it, but for a delay.
    fn is_unused(&self) -> bool {
        self.current.is_none()
            && self.waiters() == 0
            && self.pins == 0
            && self.untold.is_empty()
            && !self.telling
    }

    /// Lets the slot be idle if nobody has any use for it, or be over. Of several who find that, one is told.
    pub(super) fn rest(
        &mut self,
        slot: &Arc<Slot<K, H>>,
        now: Timestamp,
        idle: &Idle<K, H>,
    ) -> Rest<K, H> {
        if self.dead || !self.is_unused() || self.delayed_until > now {
            return Rest::Used;
        }
        if self.closed {
            if core::mem::take(&mut self.parked) {
                // Not the last: whoever calls has one.
                drop(idle.take(slot));
            }
            self.dead = true;
            return Rest::Over;
        }
        if self.parked {
            return Rest::Used;
        }
        self.parked = true;
        Rest::Idle(idle.put(slot))
    }

    /// Keeps the slot for somebody who wants it, unless it is on its way out.
    pub(super) fn pin(
        &mut self,
        slot: &Arc<Slot<K, H>>,
        idle: &Idle<K, H>,
    ) -> Option<Arc<Slot<K, H>>> {
        if self.dead {
            return None;
        }
        self.pins += 1;
        let parked = core::mem::take(&mut self.parked);
        let idle = parked.then(|| idle.take(slot)).flatten();
        Some(idle.unwrap_or_else(|| Arc::clone(slot)))
    }

    /// Lets go of a slot that another has driven out of its cell, unless it is wanted again. Whether it is over by that.
    pub(super) fn evict(&mut self, slot: &Arc<Slot<K, H>>, idle: &Idle<K, H>) -> bool {
        // It may have been wanted since, and be back in its cell.
        let over = self.parked && !self.dead && self.is_unused() && !idle.has(slot);
        self.dead |= over;
        over
    }
}

// === impl Registry ===

impl<K, H> Registry<K, H>
where
    K: Hash + Eq + Send + Sync + 'static,
    H: Send + Sync + 'static,
{
    /// What is to be done when nobody has any use for a slot any more.
    pub(super) fn follow_rest(
        self: &Arc<Self>,
        slot: &Arc<Slot<K, H>>,
        rest: Rest<K, H>,
        panics: &mut Panics,
    ) {
        match rest {
            Rest::Used => {}
            Rest::Idle(other) => {
                if self.delays() {
                    // It may have been found to be over before the timer was.
                    panics.run(|| slot.follow_quiet(self));
                }
                if let Some(other) = other {
                    panics.run(|| self.evict(other));
                }
            }
            Rest::Over => panics.run(|| self.forget(slot)),
        }
    }

    /// Lets go of a slot that another has driven out of its cell.
    fn evict(&self, slot: Arc<Slot<K, H>>) {
        let over = slot.lock().evict(&slot, &self.idle);
        if over {
            self.forget(&slot);
        }
    }
}
