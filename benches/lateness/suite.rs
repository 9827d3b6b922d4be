//! What is measured, and by whom.

use std::time::Duration;

use crate::harness::{Column, Options, Peer, Shape, Workload};
use crate::load::load;
use crate::rest::idle;
use crate::soak::soak;
use crate::tasks::{self, FuturesTimer, Smol, Tasks as _, Tokio};

/// How many timers, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) timers: usize,
    pub(crate) seconds: u64,
}

const OURS: &str = "tickwheel";

/// How each is used.
pub(crate) const HOW: &[(&str, &str)] = &[
    (
        OURS,
        "`arm_repeating`, a callback for each timer; ticks of 1 ms",
    ),
    (
        Tokio::NAME,
        "a task for each timer, on as many threads as processors",
    ),
    (
        Smol::NAME,
        "`Timer::at` in a task for each timer, on an executor with as many threads as processors",
    ),
    (
        FuturesTimer::NAME,
        "`Delay` in a task for each timer, on the same executor",
    ),
];

const LATE: [Column; 4] = [
    ("p50, ms", 2),
    ("p99, ms", 2),
    ("p99.9, ms", 2),
    ("worst, ms", 2),
];

pub(crate) const WORKLOADS: &[Workload<Load>] = &[
    Workload {
        name: "load",
        about: "A million timers, each due ten seconds after it last was, at a time of its own \
                that is not rounded: 100,000 callbacks a second. How late each begins, read on \
                `Instant`; of a tick of a millisecond half a tick is rounding.",
        columns: &[LATE[0], LATE[1], LATE[2], LATE[3], ("of a processor, %", 1)],
        peers: &[
            Peer::ours(OURS, load),
            Peer::other(Tokio::NAME, tasks::load::<Tokio>),
            Peer::other(Smol::NAME, tasks::load::<Smol>),
            Peer::other(FuturesTimer::NAME, tasks::load::<FuturesTimer>),
        ],
        shapes: |options| vec![Load::of(options)],
        sampled: false,
    },
    Workload {
        name: "idle",
        about: "A million timers that are due in an hour and later, and nothing to do.",
        columns: &[
            ("wake-ups of the driver", 0),
            ("of other threads", 0),
            ("processor time, ms", 1),
        ],
        peers: &[Peer::ours(OURS, idle)],
        shapes: |options| when_named("idle", options),
        sampled: false,
    },
    Workload {
        name: "soak",
        about: "Two threads arm, cancel, move and suspend for all they are worth, with some rest; \
                timers are due within a second. Each has one outcome, none is early, and memory does \
                not grow: that is checked, the last from a minute on.",
        columns: &[
            ("armed", 0),
            ("fired", 0),
            LATE[0],
            LATE[1],
            LATE[2],
            LATE[3],
            ("memory when warm, MiB", 2),
            ("at the end, MiB", 2),
        ],
        peers: &[Peer::ours(OURS, soak)],
        shapes: |options| when_named("soak", options),
        sampled: false,
    },
];

const SECONDS: &str = "--seconds";
const TIMERS: &str = "--timers";

pub(crate) const NUMBERS: &[(&str, std::ops::RangeInclusive<usize>)] =
    &[(SECONDS, 1..=100_000), (TIMERS, 1..=100_000_000)];

/// Figures of ours alone are for whoever asks for them.
fn when_named(workload: &str, options: &Options) -> Vec<Load> {
    if options.json && !options.names(workload) {
        return Vec::new();
    }
    vec![Load::of(options)]
}

impl Load {
    fn of(options: &Options) -> Self {
        let number = |option| options.numbers.get(option).copied();
        let usual = if options.json && !options.full { 8 } else { 20 };
        Self {
            timers: number(TIMERS).unwrap_or(1_000_000),
            seconds: number(SECONDS).map_or(usual, |seconds| seconds as u64),
        }
    }

    /// For how long is measured.
    pub(crate) fn span(&self) -> Duration {
        Duration::from_secs(self.seconds).max(Duration::from_millis(50))
    }
}

impl Shape for Load {
    fn name(&self) -> String {
        format!("{} timers, {} s", self.timers, self.seconds)
    }

    fn n(&self) -> usize {
        self.timers
    }

    fn quick(&self) -> Self {
        Self {
            timers: 1_000,
            seconds: 0,
        }
    }
}
