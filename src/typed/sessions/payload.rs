//! What a record holds, as far as all kinds of stores are concerned: its value, and where that is.
//!
//! At a hundred thousand sessions each line of memory that is read is a miss. The value can be asked for while the record
//! that leads to it is on its way, if somebody remembers where it was.

use alloc::sync::Arc;
use core::ptr;

use crate::prefetch::prefetch;
use crate::sync::Ordering;
use crate::sync::unmodelled::AtomicUsize;

/// What a record holds.
pub(super) trait Payload: Send + Sync + 'static {
    /// What callers keep in it.
    type Value: Send + Sync + 'static;

    fn value(&self) -> &Arc<Self::Value>;

    fn value_mut(&mut self) -> &mut Arc<Self::Value>;

    /// Where the value is.
    #[inline]
    fn address(&self) -> usize {
        Arc::as_ptr(self.value()).addr()
    }

    /// Asks for the memory of the value.
    #[inline]
    fn ask(&self) {
        ask(self.address());
    }
}

/// Where a value was when somebody looked last. Nobody reads what is there: an address that is out of date costs time
/// and nothing else.
#[derive(Debug)]
pub(super) struct Whereabouts(AtomicUsize);

// === impl Payload ===

impl<V: Send + Sync + 'static> Payload for Arc<V> {
    type Value = V;

    #[inline]
    fn value(&self) -> &Self {
        self
    }

    #[inline]
    fn value_mut(&mut self) -> &mut Self {
        self
    }
}

// === impl Whereabouts ===

impl Whereabouts {
    pub(super) fn of<P: Payload>(payload: Option<&P>) -> Self {
        Self(AtomicUsize::new(payload.map_or(0, Payload::address)))
    }

    /// Asks for the memory of the value.
    #[inline]
    pub(super) fn ask(&self) {
        // ORDERING: Relaxed. Nothing is read through it.
        ask(self.0.load(Ordering::Relaxed));
    }

    /// The value is there.
    #[inline]
    pub(super) fn follow<P: Payload>(&self, payload: &P) {
        let address = payload.address();
        // ORDERING: Relaxed, as in `ask`. Read first, so that readers write nothing that others read.
        if self.0.load(Ordering::Relaxed) != address {
            // ORDERING: as above.
            self.0.store(address, Ordering::Relaxed);
        }
    }
}

#[inline]
fn ask(address: usize) {
    prefetch::<u8>(ptr::without_provenance(address));
}
