#![cfg(not(loom))]
//! Many threads at one code, one lease, one session, on a clock that is moved by hand.
//!
//! | file | properties |
//! |---|---|
//! | `codes` | at its very deadline a code is accepted once or not at all, and no more wrong answers are compared than may be |
//! | `leases` | whoever sees a later holder has lost; tokens strictly increase and are durable; a gate never goes back |
//! | `sessions` | an end is told once and is for good; there are as many versions as updates |
//! | `readings` | of two who have read the clock at different times none is told what the other makes untrue |
//! | `drops` | every key, value and holder is dropped once, whatever panics |

mod codes;
mod drops;
mod leases;
mod readings;
mod sessions;

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use tickwheel::{ManualClock, Timers};

const THREADS: usize = 64;

const fn nanos(count: u64) -> Duration {
    Duration::from_nanos(count)
}

fn hand_driven() -> (ManualClock, Timers) {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone());
    (clock, timers.build_hand_driven().unwrap())
}

/// Runs `each` in that many threads at once. What each has returned.
fn race<R: Send>(threads: usize, each: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        let run = |n| {
            let (start, each) = (&start, &each);
            scope.spawn(move || {
                start.wait();
                each(n)
            })
        };
        let all: Vec<_> = (0..threads).map(run).collect();
        let joined = all.into_iter().map(|one| one.join());
        joined
            .map(|one| one.expect("a thread of the race"))
            .collect()
    })
}
