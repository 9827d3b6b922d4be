#![cfg(not(loom))]
//! Snapshots, taken in one process and restored in another, on clocks that are moved by hand.
//!
//! A machine of these tests has a runtime with a manual clock, and a wall clock that runs with it. What is stored goes through JSON
//! and a binary format each time.
//!
//! | file | properties |
//! |---|---|
//! | `deploy` | a service that is stopped and started again and again |
//! | `kinds` | what all that is stored has in common, so that the tests of time are the same for all |
//! | `time` | how much is left after a restoration, to the nanosecond, whatever the wall clocks did |
//! | `leases` | tokens, holders, lock delays |
//! | `leases_once` | what a snapshot of leases is taken up for, and what is in none |
//! | `codes` | digests, counts, cooldowns, wrong answers |
//! | `sessions` | ids, values, both deadlines, limits |
//! | `rooms` | how many sessions are restored |
//! | `occupied` | what is started while a snapshot is being restored |
//! | `steps` | accepted steps stay accepted |
//! | `hostile` | what is no snapshot, or none of these, is refused or does no harm |
//! | `threads` | what is in a snapshot that is taken while others go on |
//! | `file` | a file holds a whole snapshot, whenever its writer is killed |
//! | `model` | random programs with restarts do what a plain map does |

mod codes;
mod deploy;
mod file;
mod hostile;
mod kinds;
mod leases;
mod leases_once;
mod model;
mod occupied;
mod rooms;
mod sessions;
mod steps;
mod threads;
mod time;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tickwheel::snapshot::RestoreOptions;
use tickwheel::{Clock, EndReason, ManualClock, Timers, Timestamp, WallAnchor};

/// The key of all digests.
pub(crate) const KEY: [u8; 32] = [7; 32];

pub(crate) const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) const NANO: Duration = Duration::from_nanos(1);

/// A moment of the wall clocks, some time in 2030.
pub(crate) const NOON: Duration = Duration::from_secs(1_900_000_000);

/// A process on some machine.
pub(crate) struct Machine {
    pub(crate) clock: ManualClock,
    pub(crate) timers: Timers,
    pub(crate) anchor: WallAnchor,
}

impl Machine {
    /// One that starts when its wall clock shows that much after [`NOON`], or before.
    pub(crate) fn at(after: Duration, before: Duration) -> Self {
        // Clocks of different processes have different origins.
        let clock = ManualClock::starting_at(Timestamp::from_duration(secs(5_000)));
        let timers = Timers::builder()
            .clock(clock.clone())
            .build_hand_driven()
            .unwrap();
        Self::on(clock, timers, after, before)
    }

    pub(crate) fn on(
        clock: ManualClock,
        timers: Timers,
        after: Duration,
        before: Duration,
    ) -> Self {
        let wall = SystemTime::UNIX_EPOCH + NOON + after - before;
        let anchor = WallAnchor::new(clock.now(), wall);
        Self {
            clock,
            timers,
            anchor,
        }
    }

    pub(crate) fn after(span: Duration) -> Self {
        Self::at(span, Duration::ZERO)
    }

    pub(crate) fn before(span: Duration) -> Self {
        Self::at(Duration::ZERO, span)
    }

    pub(crate) fn noon() -> Self {
        Self::after(Duration::ZERO)
    }

    pub(crate) fn options(&self) -> RestoreOptions {
        RestoreOptions::new().anchor(self.anchor)
    }

    /// Lets time pass, and the driver come by.
    pub(crate) fn pass(&self, span: Duration) {
        self.clock.advance(span);
        self.timers.turn_fully().unwrap();
    }

    /// How long after noon it is.
    pub(crate) fn wall(&self) -> Duration {
        let wall = self.anchor.to_wall(self.now()).unwrap();
        wall.duration_since(SystemTime::UNIX_EPOCH + NOON).unwrap()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// The value as another process reads it.
pub(crate) fn stored<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).unwrap();
    let read: T = serde_json::from_str(&text).unwrap();
    let bytes = postcard::to_allocvec(&read).unwrap();
    let again: T = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), text);
    again
}

/// Ends that were told: why, and with which deadline.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<(EndReason, Timestamp)>>>);

impl Told {
    pub(crate) fn add(&self, reason: EndReason, deadline: Timestamp) {
        self.0.lock().unwrap().push((reason, deadline));
    }

    pub(crate) fn take(&self) -> Vec<(EndReason, Timestamp)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}
