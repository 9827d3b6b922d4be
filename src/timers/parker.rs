//! Where a driver sleeps: a token of its own, which no callback can take away.
//!
//! `std::thread::park` would do but for that: a callback that blocks on a future in the
//! driver's thread uses up the one token there is.

use core::time::Duration;

use crate::shared::mutant::mutant;
use crate::sync::{AtomicBool, Condvar, Mutex, Ordering};

/// A token that is there or not, and one thread that waits for it.
#[derive(Debug)]
pub(super) struct Parker {
    token: AtomicBool,
    lock: Mutex<()>,
    told: Condvar,
}

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// There was a token.
    Called,
    /// The time was over.
    InTime,
}

// === impl Parker ===

impl Parker {
    pub(super) fn new() -> Self {
        Self {
            token: AtomicBool::new(false),
            lock: Mutex::new(()),
            told: Condvar::new(),
        }
    }

    /// Waits for the token and takes it, or waits for as long as that.
    pub(super) fn park(&self, timeout: Option<Duration>) -> Woken {
        let mut guard = self
            .lock
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        // ORDERING: Acquire pairs with the Release in `unpark`: what was done before is seen.
        if self.token.swap(false, Ordering::AcqRel) {
            return Woken::Called;
        }
        // A wake-up without reason counts as one in time: who sleeps looks at its clock anyway.
        guard = match timeout {
            None => self
                .told
                .wait(guard)
                .unwrap_or_else(|poison| poison.into_inner()),
            Some(timeout) => {
                self.told
                    .wait_timeout(guard, timeout)
                    .unwrap_or_else(|poison| poison.into_inner())
                    .0
            }
        };
        drop(guard);
        // ORDERING: as above.
        if self.token.swap(false, Ordering::AcqRel) {
            Woken::Called
        } else {
            Woken::InTime
        }
    }

    /// Puts the token there. If it is there already nobody is waiting, and this costs one exchange.
    pub(super) fn unpark(&self) {
        // ORDERING: Release pairs with the Acquire in `park`.
        if self.token.swap(true, Ordering::AcqRel) {
            return;
        }
        // Whoever looked for the token before that has let go of the lock by waiting.
        if !mutant!(UnparkUnlocked) {
            drop(
                self.lock
                    .lock()
                    .unwrap_or_else(|poison| poison.into_inner()),
            );
        }
        self.told.notify_one();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! Properties: a token is kept for who comes later, once; without one a sleep ends in time.

    use super::*;

    #[test]
    fn a_token_is_kept_for_who_comes_later() {
        let parker = Parker::new();
        parker.unpark();
        parker.unpark();
        assert_eq!(parker.park(None), Woken::Called);
        assert_eq!(parker.park(Some(Duration::ZERO)), Woken::InTime);
    }

    #[test]
    fn who_sleeps_is_woken_from_another_thread() {
        let parker = Parker::new();
        std::thread::scope(|scope| {
            scope.spawn(|| parker.unpark());
            while parker.park(None) != Woken::Called {}
        });
    }
}
