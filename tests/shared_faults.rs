#![cfg(all(not(loom), feature = "std"))]
//! Faults that timers shared between threads have shipped, and sequences made to provoke them.
//!
//! Properties:
//! * whatever threads do at the moment a timer fires, it has one outcome, and all agree on it;
//! * a timer that is due when it is armed fires, though the driver is just passing by;
//! * keys of timers that are gone are refused while other threads use their entries again;
//! * a timer fires where it was moved to, from wherever, also while a turn is under way;
//! * a callback may clear, drain, re-enter, wait for other threads and panic;
//! * a value may turn to the wheel when it is dropped, or panic;
//! * what may cross threads is what the values allow.

#[path = "shared_faults/callbacks.rs"]
mod callbacks;
#[path = "shared_stress/crew.rs"]
mod crew;
#[path = "shared_faults/keys.rs"]
mod keys;
#[path = "shared_faults/limits.rs"]
mod limits;
#[path = "shared_faults/moves.rs"]
mod moves;
#[path = "shared_faults/races.rs"]
mod races;
#[path = "shared_stress/token.rs"]
mod token;
#[path = "shared_faults/types.rs"]
mod types;
#[path = "shared_faults/values.rs"]
mod values;

use std::time::{Duration, Instant};

use tickwheel::Tick;

fn at(tick: u64) -> Tick {
    Tick::new(tick)
}

/// Waits for what another thread does, but not for ever.
#[track_caller]
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < patience, "in vain for: {what}");
        std::thread::yield_now();
    }
}
