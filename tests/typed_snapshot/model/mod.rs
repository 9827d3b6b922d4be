//! Random programs in which the process is restarted, compared with a plain map.
//!
//! The map has one clock, which runs as time passes for what is stored: while the process runs, and while it is down if deadlines are
//! kept and the wall clock says so. It knows nothing of snapshots.
//!
//! Properties: after every step the same things live, with the same time left; each has ended once, for the same reason;
//! numbers only grow.

mod codes;
mod leases;
mod sessions;

use std::time::Duration;

use proptest::prelude::*;
use tickwheel::snapshot::{RestoreOptions, RestorePolicy};

use crate::{Machine, secs};

/// A step that is the same for all.
#[derive(Clone, Debug)]
pub(crate) enum Time {
    /// Time passes, and the driver comes by.
    Pass(u64),
    /// The process is restarted. The wall clock of the next one is ahead or behind.
    Restart {
        down: u64,
        behind: bool,
        margin: u64,
        keeps_remaining: bool,
    },
}

pub(crate) fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        2 => (0..30u64).prop_map(Time::Pass),
        2 => (0..30u64, prop::bool::weighted(0.2), 0..10u64, prop::bool::weighted(0.2)).prop_map(
            |(down, behind, margin, keeps_remaining)| Time::Restart {
                down,
                behind,
                margin,
                keeps_remaining,
            }
        ),
    ]
}

/// The wall clock at which the next process starts, and how long a restart takes by the oracle.
pub(crate) fn restart(
    machine: &Machine,
    down: u64,
    behind: bool,
    margin: u64,
    keeps_remaining: bool,
) -> (Machine, RestoreOptions, u64) {
    let wall = machine.wall();
    let next = if behind {
        Machine::after(wall - secs(down).min(wall))
    } else {
        Machine::after(wall + secs(down))
    };
    let policy = if keeps_remaining {
        RestorePolicy::KeepRemaining
    } else {
        RestorePolicy::KeepDeadline
    };
    let options = next.options().policy(policy).skew_margin(secs(margin));
    let elapsed = if behind || keeps_remaining {
        0
    } else {
        down.saturating_sub(margin)
    };
    (next, options, elapsed)
}

pub(crate) fn left(now: u64, deadline: u64) -> Option<Duration> {
    (deadline > now).then(|| secs(deadline - now))
}
