//! What is still running of a runtime that was shut down, and waiting for it.

use core::time::Duration;
use std::time::Instant;

use super::WaitError;
use crate::shared::mutant::mutant;
use crate::sync::{AtomicU64, Condvar, Mutex, Ordering};

/// Shut down.
const CLOSED: u64 = 1;
/// There is a driver's thread, and it has not ended.
const THREAD: u64 = 2;
/// What is due has still to fire, and the rest to be dropped.
const DUE: u64 = 4;
/// Turns, callbacks on their way through an executor, and shutdowns under way, counted from this
/// bit.
const RUN: u64 = 8;

/// What is running.
///
/// Everything that changes it is a read-modify-write, so of two that change it one sees the
/// other: whoever is the last to end something sees that the runtime is shut down and tells
/// those who wait; or they see that it has ended.
#[derive(Debug)]
pub(super) struct Phase {
    word: AtomicU64,
    lock: Mutex<()>,
    told: Condvar,
}

// === impl Phase ===

impl Phase {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            lock: Mutex::new(()),
            told: Condvar::new(),
        }
    }

    pub(super) fn thread_begins(&self) {
        self.set(THREAD);
    }

    pub(super) fn thread_ends(&self) {
        self.clear(THREAD);
    }

    /// What was due has fired, and nothing is left.
    pub(super) fn due_ends(&self) {
        self.clear(DUE);
    }

    /// A turn, a callback or a shutdown begins.
    pub(super) fn run_begins(&self) {
        // ORDERING: as in `set`.
        self.word.fetch_add(RUN, Ordering::AcqRel);
    }

    /// Says whether what is due has still to fire: whoever began that may have found this turn
    /// under way.
    pub(super) fn run_ends(&self) -> bool {
        // ORDERING: as in `clear`. Adding the complement takes one away.
        let before = self.word.fetch_add(RUN.wrapping_neg(), Ordering::AcqRel);
        let now = before.wrapping_sub(RUN);
        self.tell(now);
        now & DUE != 0
    }

    /// Says that the runtime is shut down, and whether something is to fire yet.
    pub(super) fn close(&self, fire_due: bool) {
        self.set(if fire_due { CLOSED | DUE } else { CLOSED });
    }

    /// Whether the runtime is shut down so far that those who arm have been parted.
    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `close`: the wheel has been sealed.
        self.word.load(Ordering::Acquire) & CLOSED != 0
    }

    fn set(&self, flag: u64) {
        // ORDERING: AcqRel. What begins has seen everything that ended before, and says so.
        self.word.fetch_or(flag, Ordering::AcqRel);
    }

    fn clear(&self, flag: u64) {
        // ORDERING: Release pairs with the Acquire in `wait`: what has ended, has. Acquire pairs
        // with the Release in `close`: whether anybody may be waiting.
        let before = self.word.fetch_and(!flag, Ordering::AcqRel);
        self.tell(before & !flag);
    }

    /// Wakes those who wait if `now` is what they wait for.
    fn tell(&self, now: u64) {
        if now == CLOSED && !mutant!(PhaseUntold) {
            // Whoever looked before the change has let go of the lock by waiting.
            if !mutant!(PhaseUnlocked) {
                drop(
                    self.lock
                        .lock()
                        .unwrap_or_else(|poison| poison.into_inner()),
                );
            }
            self.told.notify_all();
        }
    }

    /// Waits until nothing is running of a runtime that was shut down.
    pub(super) fn wait(&self, timeout: Duration) -> Result<(), WaitError> {
        let until = Instant::now().checked_add(timeout);
        let mut guard = self
            .lock
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        loop {
            // ORDERING: Acquire pairs with the Release of what has ended.
            let now = self.word.load(Ordering::Acquire);
            if now == CLOSED {
                return Ok(());
            }
            if now & CLOSED == 0 {
                return Err(WaitError::NotShutDown);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            guard = match left {
                Some(Duration::ZERO) => return Err(WaitError::TimedOut),
                Some(left) => {
                    self.told
                        .wait_timeout(guard, left)
                        .unwrap_or_else(|poison| poison.into_inner())
                        .0
                }
                None => self
                    .told
                    .wait(guard)
                    .unwrap_or_else(|poison| poison.into_inner()),
            };
        }
    }
}
