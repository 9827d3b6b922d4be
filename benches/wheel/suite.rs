//! Every workload: its figures, its settings, and what it is about.

use std::ops::RangeInclusive;

use crate::bursts::{self, burst, churn, jump, nothing};
use crate::figures::{self, latency, life, tickless};
use crate::harness::{Options, Peer, Shape, Workload};
use crate::parts::{arm, cancel_arm, expire, rearm, refresh};
use crate::peers::{Binary, Btree, Peer as _, Tickwheel};
use crate::published::{Hashed, Nexus, Queue};
use crate::replay::{self, replay};
use crate::workloads::Scenario;
use crate::years;

/// How many timers, and from which tick on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) n: usize,
    start: u64,
    /// How often all of them are gone over, where Criterion says that.
    pub(crate) passes: usize,
}

/// All peers, which do the same for each of them; the wheel first.
macro_rules! all {
    ($measure:ident) => {
        &[
            Peer::ours(Tickwheel::NAME, $measure::<Tickwheel>),
            Peer::other(Nexus::NAME, $measure::<Nexus>),
            Peer::other(Queue::NAME, $measure::<Queue>),
            Peer::other(Hashed::NAME, $measure::<Hashed>),
            Peer::other(Btree::NAME, $measure::<Btree>),
            Peer::other(Binary::NAME, $measure::<Binary>),
        ]
    };
}

/// How each is used.
pub(crate) const HOW: &[(&str, &str)] = &[
    (Tickwheel::NAME, Tickwheel::HOW),
    (Nexus::NAME, Nexus::HOW),
    (Queue::NAME, Queue::HOW),
    (Hashed::NAME, Hashed::HOW),
    (Btree::NAME, Btree::HOW),
    (Binary::NAME, Binary::HOW),
];

pub(crate) const WORKLOADS: &[Workload<Setting>] = &[
    Workload {
        name: "life",
        about: "Timers are armed, cancelled and armed again, moved to a random deadline (rearm), \
                moved to a later one half an hour away (refresh), and fired by an advance for each \
                tick (expire, with the ticks in between). Deadlines are uniform within a minute.",
        columns: &figures::COLUMNS,
        peers: all!(life),
        shapes: |options| {
            let starts: &[u64] = if options.table { &STARTS } else { &[0] };
            settings(sizes(options, USUAL, MANY), starts, options)
        },
        sampled: false,
    },
    Workload {
        name: "latency",
        about: "How long single calls take: every advance by a tick while all timers fire, and \
                every arm, of which a timer has just been cancelled. A reading of the clock is \
                included; a run in which the system took the processor away is \
                repeated, up to five times. From tick 0, and from just before a carry into a high digit of the time.",
        columns: &figures::LATENCY_COLUMNS,
        peers: all!(latency),
        shapes: |options| {
            let all = &[10_000, 1_000_000, 10_000_000];
            settings(sizes(options, &[1_000_000], all), &STARTS, options)
        },
        sampled: false,
    },
    Workload {
        name: "nothing due",
        about: "An advance by a tick while all timers are due in half an hour.",
        columns: &bursts::NOTHING_COLUMNS,
        peers: all!(nothing),
        shapes: |options| from_zero(sizes(options, USUAL, MANY)),
        sampled: false,
    },
    Workload {
        name: "burst",
        about: "All timers are armed for the same tick a minute away, and fire in one advance. \
                Before that, an advance for each tick.",
        columns: &bursts::BURST_COLUMNS,
        peers: all!(burst),
        shapes: |options| from_zero(sizes(options, USUAL, MANY)),
        sampled: false,
    },
    Workload {
        name: "tickless",
        about: "All timers fire; the peer is asked when it has something to do next, and advanced \
                to that tick. Asking is included.",
        columns: &figures::TICKLESS_COLUMNS,
        peers: all!(tickless),
        shapes: |options| from_zero(sizes(options, &[10_000, 1_000_000], MANY)),
        sampled: false,
    },
    Workload {
        name: "trace",
        about: "A server's connections: each has an idle timer of 30 s that requests push out, and \
                of which 95 in 100 are cancelled; lifetimes and pauses are heavy-tailed, clients \
                come in bursts and storms. An advance for each tick is included.",
        columns: &replay::COLUMNS,
        peers: all!(replay),
        shapes: |options| {
            let sizes: &[usize] = if options.full {
                &[10_000, 100_000, 1_000_000]
            } else {
                &[100_000]
            };
            from_zero(sizes.to_vec())
        },
        sampled: false,
    },
    Workload {
        name: "churn",
        about: "Memory when ten thousand timers are replaced two million times, a hundred in each \
                tick, and none gets old enough to fire.",
        columns: &bursts::CHURN_COLUMNS,
        peers: all!(churn),
        shapes: |_| from_zero(vec![10_000]),
        sampled: false,
    },
    Workload {
        name: "jump",
        about: "A hundred timers are spread over a day, and time moves by half a day at once.",
        columns: &bursts::JUMP_COLUMNS,
        peers: all!(jump),
        shapes: |_| from_zero(vec![100]),
        sampled: false,
    },
    Workload {
        name: "years",
        about: "An advance by ten years at once: over nothing, and over a hundred timers, half of \
                which are due.",
        columns: &years::COLUMNS,
        peers: &[Peer::ours(Tickwheel::NAME, |_| years::years())],
        shapes: |_| from_zero(vec![100]),
        sampled: false,
    },
];

/// Of `life`, for Criterion.
pub(crate) const PARTS: &[Workload<Setting>] = &[
    part("arm", all!(arm)),
    part("cancel_arm", all!(cancel_arm)),
    part("rearm", all!(rearm)),
    part("refresh", all!(refresh)),
    part("expire", all!(expire)),
];

const fn part(name: &'static str, peers: &'static [Peer<Setting>]) -> Workload<Setting> {
    Workload {
        name,
        about: "A part of `life`.",
        columns: &[("per timer, ns", 1)],
        peers,
        shapes: |_| from_zero(vec![10_000, 1_000_000]),
        sampled: true,
    }
}

const USUAL: &[usize] = &[1_000, 10_000, 100_000, 1_000_000];
const MANY: &[usize] = &[1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Zero, and two such that a carry into the fourth and into the fifth digit of the time, to the
/// base 64, happens while the timers run.
const STARTS: [u64; 3] = [0, (1 << 18) - 30_000, (1 << 24) - 30_000];

const N: &str = "--n";
const START: &str = "--start";

/// How many timers, and from which tick on. Some peers name a timer by 32 bits, and one skips to
/// its start by 32 bits of milliseconds.
pub(crate) const NUMBERS: &[(&str, RangeInclusive<usize>)] =
    &[(N, 1..=u32::MAX as usize), (START, 0..=u32::MAX as usize)];

/// Those of the options; two for tables, which are wide.
fn sizes(options: &Options, reduced: &[usize], full: &[usize]) -> Vec<usize> {
    match options.numbers.get(N) {
        Some(n) => vec![*n],
        None if options.full => full.to_vec(),
        None if options.table => vec![10_000, 1_000_000],
        None => reduced.to_vec(),
    }
}

fn settings(sizes: Vec<usize>, starts: &[u64], options: &Options) -> Vec<Setting> {
    let start = options.numbers.get(START).map(|start| [*start as u64]);
    let starts = start.as_ref().map_or(starts, |start| &start[..]);
    let sizes = sizes.into_iter();
    sizes
        .flat_map(|n| starts.iter().map(move |start| Setting::new(n, *start)))
        .collect()
}

fn from_zero(sizes: Vec<usize>) -> Vec<Setting> {
    sizes.into_iter().map(|n| Setting::new(n, 0)).collect()
}

/// Small ones vary more, and take less.
pub(crate) fn rounds(options: &Options, n: usize) -> usize {
    match n {
        _ if options.table => 3,
        ..=100_000 if options.full => 5,
        ..=100_000 => 3,
        ..=1_000_000 if options.full => 3,
        _ => 1,
    }
}

impl Setting {
    const fn new(n: usize, start: u64) -> Self {
        Self {
            n,
            start,
            passes: 1,
        }
    }

    pub(crate) fn scenario(&self) -> Scenario {
        Scenario::new(self.n, self.start)
    }
}

impl Shape for Setting {
    fn name(&self) -> String {
        format!("{} timers from tick {}", self.n, self.start)
    }

    fn special(&self) -> String {
        match self.start {
            0 => String::new(),
            start => format!("from tick {start}"),
        }
    }

    fn n(&self) -> usize {
        self.n
    }

    fn quick(&self) -> Self {
        Self {
            n: self.n.min(500),
            ..*self
        }
    }

    fn passes(&self, passes: usize) -> (Self, usize) {
        (Self { passes, ..*self }, self.n)
    }
}
