//! Through what futures hold a runtime.
//!
//! An `Arc` counts who holds it, and all threads that make and drop futures would meet on that one count.
//! So there is one for the threads of each shard of the wheel, and each of those holds the runtime.

use alloc::sync::Arc;
use core::fmt;

use super::super::{Shared, Timers};

/// What the futures of some threads hold. On cache lines of its own, its count included.
#[repr(align(128))]
pub(in super::super) struct Seat {
    pub(super) shared: Arc<Shared>,
}

/// A seat for each shard, at least one.
pub(in super::super) type Seats = Arc<[Arc<Seat>]>;

// === impl Timers ===

impl Timers {
    /// The first handle of a runtime, which is counted already.
    pub(in super::super) fn first(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        let seats = (0..shared.wheel.shards()).map(|_| Seat::of(&shared));
        Self {
            seats: Seats::from_iter(seats).into(),
            shared,
        }
    }

    /// The seat for a future that is made by this thread.
    #[inline]
    pub(super) fn seat(&self) -> Arc<Seat> {
        // A handle that a callback was given has none yet, and will hardly need more than one.
        let seats = self.seats.get_or_init(|| [Seat::of(&self.shared)].into());
        let here = self.shared.wheel.shard_here();
        Arc::clone(seats.get(here).unwrap_or(&seats[0]))
    }
}

// === impl Seat ===

impl Seat {
    fn of(shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
        })
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").finish_non_exhaustive()
    }
}
