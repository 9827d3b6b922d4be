//! Where a thread waits for its waker.

use alloc::sync::Arc;
use alloc::task::Wake;

use super::locked;
use crate::sync::{Condvar, Mutex};

/// A thread that waits until it is woken. Who is woken before it waits does not wait.
#[derive(Default)]
pub(super) struct Signal {
    given: Mutex<bool>,
    told: Condvar,
}

// === impl Signal ===

impl Signal {
    pub(super) fn wait(&self) {
        let mut given = self
            .given
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        while !*given {
            given = self
                .told
                .wait(given)
                .unwrap_or_else(|poison| poison.into_inner());
        }
        *given = false;
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *locked(&self.given) = true;
        self.told.notify_one();
    }
}
