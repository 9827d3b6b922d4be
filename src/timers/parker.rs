//! Where a driver sleeps: a token of its own, which no callback can take away.
//!
//! `std::thread::park` would do but for that: a callback that blocks on a future in the
//! driver's thread uses up the one token there is.

use core::time::Duration;

#[cfg(all(
    feature = "boot-clock",
    any(target_os = "linux", target_os = "android")
))]
use super::suspend::Suspendable;
use crate::shared::mutant::mutant;
use crate::sync::{AtomicBool, Condvar, Mutex, Ordering};

/// A token that is there or not, and one thread that waits for it.
#[derive(Debug)]
pub(super) struct Parker {
    token: AtomicBool,
    lock: Mutex<()>,
    told: Condvar,
    /// Another way to sleep, if suspended time counts.
    #[cfg(all(
        feature = "boot-clock",
        any(target_os = "linux", target_os = "android")
    ))]
    suspendable: Option<Suspendable>,
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
            #[cfg(all(
                feature = "boot-clock",
                any(target_os = "linux", target_os = "android")
            ))]
            suspendable: None,
        }
    }

    /// One whose sleeps end in time also if the machine is suspended meanwhile.
    #[cfg(all(
        feature = "boot-clock",
        any(target_os = "linux", target_os = "android")
    ))]
    pub(super) fn suspendable() -> std::io::Result<Self> {
        Ok(Self {
            suspendable: Some(Suspendable::new()?),
            ..Self::new()
        })
    }

    /// Waits for the token and takes it, or waits for as long as that.
    pub(super) fn park(&self, timeout: Option<Duration>) -> Woken {
        #[cfg(all(
            feature = "boot-clock",
            any(target_os = "linux", target_os = "android")
        ))]
        if let Some(suspendable) = &self.suspendable {
            if self.take() {
                return Woken::Called;
            }
            suspendable.park(timeout);
            return self.woken();
        }
        let mut guard = self
            .lock
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        if self.take() {
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
        self.woken()
    }

    /// Takes the token, if it is there.
    fn take(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `unpark`: what was done before is seen.
        self.token.swap(false, Ordering::AcqRel)
    }

    fn woken(&self) -> Woken {
        if self.take() {
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
        #[cfg(all(
            feature = "boot-clock",
            any(target_os = "linux", target_os = "android")
        ))]
        if let Some(suspendable) = &self.suspendable {
            return suspendable.unpark();
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
