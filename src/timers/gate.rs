//! Whether timers may be armed, and whether they may fire: one word that every arm reads.

use crate::sync::{AtomicU32, Ordering};

const CLOSED: u32 = 1;
const PAUSED: u32 = 2;
const FIRE_DUE: u32 = 4;

/// What all threads have to know before they arm or fire anything.
#[derive(Debug)]
pub(super) struct Gate(AtomicU32);

/// The gate as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags(u32);

// === impl Gate ===

impl Gate {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    #[inline]
    pub(super) fn look(&self) -> Flags {
        // ORDERING: Acquire pairs with the Release of whoever has set a flag. For who has armed a
        // timer Relaxed would do: see `Shared::arm_job`.
        Flags(self.0.load(Ordering::Acquire))
    }

    /// Lets nobody arm from now on. Says whether this call has done so.
    pub(super) fn close(&self, fire_due: bool) -> bool {
        let flags = if fire_due { CLOSED | FIRE_DUE } else { CLOSED };
        // ORDERING: Acquire, so that who comes second sees what the first has done. Release pairs
        // with the Acquire in `look`; and `seal` of the wheel orders this with the arms.
        let mut now = self.0.load(Ordering::Relaxed);
        while now & CLOSED == 0 {
            match self
                .0
                .compare_exchange(now, now | flags, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(changed) => now = changed,
            }
        }
        false
    }

    /// Lets nothing fire, or lets it fire again. Says whether that was otherwise.
    pub(super) fn pause(&self, paused: bool) -> bool {
        // ORDERING: as in `close`.
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            let next = if paused { now | PAUSED } else { now & !PAUSED };
            if next == now {
                return false;
            }
            match self
                .0
                .compare_exchange(now, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(changed) => now = changed,
            }
        }
    }
}

// === impl Flags ===

impl Flags {
    #[inline]
    pub(super) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Paused; who is shut down is not paused any more.
    #[inline]
    pub(super) fn is_paused(self) -> bool {
        self.0 & (PAUSED | CLOSED) == PAUSED
    }

    /// Whether what is due fires before the rest goes.
    pub(super) fn fires_due(self) -> bool {
        self.0 & FIRE_DUE != 0
    }

    /// Whether a turn may begin.
    #[inline]
    pub(super) fn is_open(self) -> bool {
        self.0 == 0
    }

    /// Whether a batch may go on.
    #[inline]
    pub(super) fn lets_fire(self) -> bool {
        self.is_open() || self.fires_due()
    }
}
