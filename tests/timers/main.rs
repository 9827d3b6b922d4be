//! The runtime `Timers`: driven by hand on a manual clock wherever that can show a thing, and by
//! its thread on the real one where it cannot. Then nothing is asserted but what a loaded machine
//! guarantees: never early, and eventually.

mod control;
mod desks;
mod drive;
mod elsewhere;
mod ending;
mod faults;
mod hooks;
mod model;
mod panics;
mod periodic;
mod shutdown;
mod thread;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::{Clock, ManualClock, Timers, TimersBuilder};

/// A runtime on a manual clock, driven by hand, and a log for its callbacks.
pub(crate) struct Bed {
    pub(crate) clock: ManualClock,
    pub(crate) timers: Timers,
    pub(crate) log: Log,
}

/// What callbacks have to say, and when: in milliseconds.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<(u64, &'static str)>>>);

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(build: impl FnOnce(TimersBuilder) -> TimersBuilder) -> Self {
        let clock = ManualClock::new();
        let timers = build(Timers::builder().clock(clock.clone()))
            .build_hand_driven()
            .unwrap();
        Self {
            clock,
            timers,
            log: Log::default(),
        }
    }

    /// The time, in milliseconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().as_nanos() / 1_000_000
    }

    /// Lets the clock show `to`, and drives once: everything that is due then.
    pub(crate) fn drive_to(&self, to: u64) -> usize {
        self.clock
            .advance(ms(to) - Duration::from_nanos(self.clock.now().as_nanos()));
        self.timers.turn_fully().unwrap().fired
    }

    /// A callback that logs a name.
    pub(crate) fn logs(
        &self,
        name: &'static str,
    ) -> impl FnMut(&mut tickwheel::Firing<'_>) + Send + 'static {
        let log = self.log.clone();
        move |firing| log.add(firing.now().as_nanos() / 1_000_000, name)
    }
}

impl Log {
    pub(crate) fn add(&self, at: u64, name: &'static str) {
        self.0.lock().unwrap().push((at, name));
    }

    /// What was logged since the last call.
    pub(crate) fn take(&self) -> Vec<(u64, &'static str)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}
