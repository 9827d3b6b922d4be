//! Waiting for a callback to return: the one place where anybody waits.

use core::num::NonZeroU32;

use super::SharedWheel;
use super::entry::Entry;
use super::mutant::mutant;
use super::word::State;
use crate::sync::{Condvar, Mutex, Ordering, fence};

/// Those who wait.
#[derive(Debug)]
pub(super) struct Waiters {
    /// Held by nobody for longer than a look at a word.
    lock: Mutex<()>,
    told: Condvar,
}

// === impl Waiters ===

impl Waiters {
    pub(super) fn new() -> Self {
        Self {
            lock: Mutex::new(()),
            told: Condvar::new(),
        }
    }

    /// Waits until `waiting` is not so any more and [`tell`](Self::tell) has been called since.
    pub(super) fn wait_while(&self, waiting: impl Fn() -> bool) {
        // Nothing can panic under the lock, and it guards nothing: poison means nothing.
        let mut guard = self
            .lock
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        while waiting() {
            guard = self
                .told
                .wait(guard)
                .unwrap_or_else(|poison| poison.into_inner());
        }
    }

    /// Wakes those who wait, after what they wait for has happened.
    #[cold]
    pub(super) fn tell(&self) {
        // Whoever looked before that happened has let go of the lock by waiting.
        if !mutant!(TellUnlocked) {
            drop(
                self.lock
                    .lock()
                    .unwrap_or_else(|poison| poison.into_inner()),
            );
        }
        if mutant!(ReturnToldOnce) {
            return self.told.notify_one();
        }
        self.told.notify_all();
    }

    /// Lets another thread do the next thing it does.
    pub(super) fn pause(&self) {
        #[cfg(loom)]
        loom::thread::yield_now();
        #[cfg(not(loom))]
        std::thread::yield_now();
    }
}

// === impl SharedWheel ===

impl<T, const BITS: u32> SharedWheel<T, BITS> {
    /// Waits while a callback runs for the timer of this generation, which has been cancelled.
    pub(super) fn wait_for_callback(&self, entry: &Entry<T>, generation: NonZeroU32) {
        if self.drives_here() {
            return;
        }
        loop {
            let word = entry.word();
            if !Self::is_of(entry, generation) {
                // ORDERING: Acquire, as in `cancel_key`.
                return fence(Ordering::Acquire);
            }
            if !word.is_running() {
                return;
            }
            let awaited = word.with_state(State::Awaited);
            if word == awaited || entry.transition(word, awaited).is_ok() {
                self.waiters.wait_while(|| entry.word() == awaited);
                return;
            }
        }
    }
}
