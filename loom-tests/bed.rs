//! What models share in which callbacks do things, or any thread may drive: a wheel, a log that
//! all threads write, and an account at the end of what fired and of the entries.

use std::sync::{Arc as Plain, Mutex};

use loom::sync::Arc;
use loom::thread;
use tickwheel::{Busy, Progress, Tick, TimerKey};

use crate::rig::{self, Wheel};

/// A wheel, and what has fired, as tick and value.
#[derive(Clone)]
pub(crate) struct Bed {
    pub(crate) wheel: Arc<Wheel>,
    log: Plain<Mutex<Vec<(u64, u32)>>>,
}

// === impl Bed ===

impl Bed {
    pub(crate) fn new() -> Self {
        Self {
            wheel: rig::wheel(1),
            log: Plain::default(),
        }
    }

    /// Arms a timer whose value is its deadline.
    pub(crate) fn arm(&self, due: u32) -> TimerKey {
        rig::arm(&self.wheel, due.into(), due)
    }

    /// Lets the driver know of all timers.
    #[track_caller]
    pub(crate) fn file(&self) {
        let next = self.wheel.next_deadline();
        assert!(
            next > Some(self.wheel.now()),
            "the driver waits for {next:?}"
        );
    }

    /// Runs `run` in a thread of its own.
    pub(crate) fn spawn<R: 'static>(
        &self,
        run: impl FnOnce(Self) -> R + 'static,
    ) -> thread::JoinHandle<R> {
        let bed = self.clone();
        thread::spawn(move || run(bed))
    }

    // --- time ---

    /// Records that a timer has fired.
    pub(crate) fn note(&self, tick: Tick, value: u32) {
        self.log.lock().unwrap().push((tick.get(), value));
    }

    pub(crate) fn advance(&self, now: u64) -> Result<usize, Busy> {
        self.wheel.advance(Tick::new(now), |turn, expired| {
            self.note(turn.now(), expired.value);
        })
    }

    pub(crate) fn advance_by_one(&self, now: u64) -> Result<Progress, Busy> {
        self.wheel
            .advance_bounded(Tick::new(now), 1, |turn, expired| {
                self.note(turn.now(), expired.value);
            })
    }

    /// What has fired, as tick and value.
    pub(crate) fn fired(&self) -> Vec<(u64, u32)> {
        self.log.lock().unwrap().clone()
    }

    // --- the account; only while nobody else uses the wheel ---

    /// Fires the rest, and requires that these have fired in all, as tick and value.
    #[track_caller]
    pub(crate) fn assert_fired(&self, expected: &[(u64, u32)]) {
        self.wheel.check();
        let end = Tick::NEVER.get() - 1;
        assert!(self.advance(end).is_ok(), "nobody else drives");
        assert_eq!(self.fired(), expected, "what fired, as tick and value");
        self.wheel.check();
        assert!(self.wheel.is_empty(), "{} timers armed", self.wheel.len());
    }

    /// Requires that every entry is free, and only once: there is room for as many timers.
    #[track_caller]
    pub(crate) fn assert_all_free(&self) {
        self.wheel.check();
        let entries = self.wheel.entries();
        let mut keys: Vec<_> = (0..entries)
            .map(|_| self.wheel.arm(Tick::NEVER, 0))
            .collect();
        assert_eq!(
            self.wheel.entries(),
            entries,
            "entries, with as many timers as there were entries"
        );
        while let Some(key) = keys.pop() {
            let value = self.wheel.cancel(key).value();
            assert_eq!(value, Some(0), "of {key:?}, with {} to go", keys.len());
        }
        self.wheel.check();
    }
}
