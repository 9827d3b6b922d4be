//! At whose desks this thread sits, so that it gets up when it ends.
//!
//! A runtime that goes first is not held: what lies on its desks goes with it.

use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::cell::RefCell;

use super::Shared;
use super::job::{caught, discard};

/// The runtimes at whose desks a thread sits, and the numbers of the desks.
struct Sitting(RefCell<Vec<(Weak<Shared>, usize)>>);

#[cfg(not(loom))]
std::thread_local! {
    static SITTING: Sitting = const { Sitting(RefCell::new(Vec::new())) };
}

#[cfg(loom)]
loom::thread_local! {
    static SITTING: Sitting = Sitting(RefCell::new(Vec::new()));
}

// === impl Shared ===

impl Shared {
    /// Sits down at the desk of this thread, if nobody else does and the thread is not going away.
    #[cold]
    pub(super) fn sit_down(self: &Arc<Self>) {
        // A thread whose locals are gone does without.
        let _ = SITTING.try_with(|sitting| {
            let Ok(mut runtimes) = sitting.0.try_borrow_mut() else {
                return;
            };
            if runtimes.len() == runtimes.capacity() {
                // The memory of a runtime that is gone stays allocated until here, its contents do not.
                runtimes.retain(|(runtime, _)| runtime.strong_count() > 0);
                runtimes.reserve(1);
            }
            if let Some(desk) = self.wheel.sit() {
                runtimes.push((Arc::downgrade(self), desk));
            }
        });
    }
}

// === impl Sitting ===

impl Drop for Sitting {
    fn drop(&mut self) {
        for (runtime, desk) in self.0.take() {
            let Some(runtime) = runtime.upgrade() else {
                continue;
            };
            runtime.wheel.leave(desk);
            // It may have been kept by this alone meanwhile, and what it holds is somebody's.
            if let Err(panic) = caught(|| drop(runtime)) {
                discard(panic);
            }
        }
    }
}
