//! Every workload: its figures, its settings, and what it is about.

use std::time::Duration;

use crate::cli::Effort;
use crate::peers::Peer;
use crate::rounds::Column;
use crate::workloads::Scenario;
use crate::{bursts, figures, replay};

/// What is done to a peer. Each in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Life,
    Latency,
    Nothing,
    Burst,
    Tickless,
    Trace,
    Churn,
    Jump,
}

pub(crate) struct Workload {
    pub(crate) work: Work,
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) columns: &'static [Column],
    /// How many timers, and from which tick on.
    pub(crate) settings: fn(Effort) -> Vec<(usize, u64)>,
}

pub(crate) const WORKLOADS: [Workload; 8] = [
    Workload {
        work: Work::Life,
        name: "life",
        about: "Timers are armed, cancelled and armed again, moved to a random deadline (rearm), \
                moved to a later one half an hour away (refresh), and fired by an advance for each \
                tick (expire, with the ticks in between). Deadlines are uniform within a minute.",
        columns: &figures::COLUMNS,
        settings: |effort| from_zero(effort.sizes()),
    },
    Workload {
        work: Work::Latency,
        name: "latency",
        about: "How long single calls take: every advance by a tick while all timers fire, and \
                every arm, of which a timer has just been cancelled. A reading of the clock is \
                included; a run in which the system took the processor away is \
                repeated, up to five times. From tick 0, and from just before a carry into a high digit of the time.",
        columns: &figures::LATENCY_COLUMNS,
        settings: |effort| {
            let sizes = effort.of(&[1_000_000], &[10_000, 1_000_000, 10_000_000]);
            let starts = |n| STARTS.map(|start| (n, start));
            sizes.iter().flat_map(|n| starts(*n)).collect()
        },
    },
    Workload {
        work: Work::Nothing,
        name: "nothing due",
        about: "An advance by a tick while all timers are due in half an hour.",
        columns: &bursts::NOTHING_COLUMNS,
        settings: |effort| from_zero(effort.sizes()),
    },
    Workload {
        work: Work::Burst,
        name: "burst",
        about: "All timers are armed for the same tick a minute away, and fire in one advance. \
                Before that, an advance for each tick.",
        columns: &bursts::BURST_COLUMNS,
        settings: |effort| from_zero(effort.sizes()),
    },
    Workload {
        work: Work::Tickless,
        name: "tickless",
        about: "All timers fire; the peer is asked when it has something to do next, and advanced \
                to that tick. Asking is included.",
        columns: &figures::TICKLESS_COLUMNS,
        settings: |effort| {
            from_zero(effort.of(&[10_000, 1_000_000], &[1_000, 10_000, 100_000, 1_000_000]))
        },
    },
    Workload {
        work: Work::Trace,
        name: "trace",
        about: "A server's connections: each has an idle timer of 30 s that requests push out, and \
                of which 95 in 100 are cancelled; lifetimes and pauses are heavy-tailed, clients \
                come in bursts and storms. An advance for each tick is included.",
        columns: &replay::COLUMNS,
        settings: |effort| from_zero(effort.of(&[100_000], &[10_000, 100_000, 1_000_000])),
    },
    Workload {
        work: Work::Churn,
        name: "churn",
        about: "Memory when ten thousand timers are replaced two million times, a hundred in each \
                tick, and none gets old enough to fire.",
        columns: &bursts::CHURN_COLUMNS,
        settings: |_| from_zero(&[10_000]),
    },
    Workload {
        work: Work::Jump,
        name: "jump",
        about: "A hundred timers are spread over a day, and time moves by half a day at once.",
        columns: &bursts::JUMP_COLUMNS,
        settings: |_| from_zero(&[100]),
    },
];

/// Zero, and two such that a carry into the fourth and into the fifth digit of the time, to the
/// base 64, happens while the timers run.
pub(crate) const STARTS: [u64; 3] = [0, (1 << 18) - 30_000, (1 << 24) - 30_000];

fn from_zero(sizes: &[usize]) -> Vec<(usize, u64)> {
    sizes.iter().map(|n| (*n, 0)).collect()
}

pub(crate) fn measure<P: Peer>(work: Work, scenario: &Scenario) -> Vec<f64> {
    match work {
        Work::Life => figures::measure::<P>(scenario),
        Work::Latency => figures::latency::<P>(scenario),
        Work::Nothing => bursts::nothing::<P>(scenario),
        Work::Burst => bursts::burst::<P>(scenario),
        Work::Tickless => figures::tickless::<P>(scenario),
        Work::Trace => replay::replay::<P>(scenario),
        Work::Churn => bursts::churn::<P>(scenario),
        Work::Jump => bursts::jump::<P>(scenario),
    }
}

// === impl Effort ===

impl Effort {
    fn of(self, reduced: &'static [usize], full: &'static [usize]) -> &'static [usize] {
        match self {
            Self::Reduced => reduced,
            Self::Full => full,
        }
    }

    fn sizes(self) -> &'static [usize] {
        self.of(
            &[1_000, 10_000, 100_000, 1_000_000],
            &[1_000, 10_000, 100_000, 1_000_000, 10_000_000],
        )
    }

    /// Small ones vary more, and take less.
    pub(crate) fn rounds(self, n: usize) -> usize {
        match (self, n) {
            (Self::Full, ..=100_000) => 5,
            (Self::Reduced, ..=100_000) | (Self::Full, 100_001..=1_000_000) => 3,
            (Self::Reduced | Self::Full, _) => 1,
        }
    }

    pub(crate) fn limit(self) -> Duration {
        Duration::from_secs(match self {
            Self::Reduced => 180,
            Self::Full => 1_800,
        })
    }
}
