//! Every workload: its shapes, its figures, and who takes part.

use std::time::Duration;

use crate::cross::cross;
use crate::drive::drive;
use crate::latency::latency;
use crate::memory::{bytes_per_timer, churn, churn_cross};
use crate::mixed::mixed;
use crate::one_runtime::OneRuntime;
use crate::ours::{ByLocal, ByRef};
use crate::peers::{Owned, Peer, PerThread, Single};
use crate::published::{Hashed, Nexus, Tokio};
use crate::rounds::Column;
use crate::workloads::{SPAN, Shape, Steps, arm_cancel, rearm_earlier, rearm_later};

pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) shapes: &'static [Shape],
    /// What its figures are.
    pub(crate) columns: &'static [Column],
    /// Who takes part, the shared wheel first.
    pub(crate) peers: &'static [Contender],
    pub(crate) kind: Kind,
}

/// One of those that are compared.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) how: &'static str,
    pub(crate) measure: fn(&Shape) -> Vec<f64>,
}

/// What the figures of a workload are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nanoseconds per timer come first, so that Criterion can sample it.
    Time,
    /// Each run is a distribution.
    Latency,
    Memory,
    /// Memory again; the number of passes is the caller's to say.
    Churn,
}

pub(crate) const ARM_CANCEL: &str = "arm_cancel";
pub(crate) const REARM_LATER: &str = "rearm_later";
pub(crate) const LATENCY: &str = "latency";
pub(crate) const DRIVE: &str = "drive";
pub(crate) const BYTES: &str = "bytes";

pub(crate) const MILLION: usize = 1_000_000;

pub(crate) const WORKLOADS: [Workload; 10] = [
    Workload {
        name: ARM_CANCEL,
        about: "Cancel the oldest of 1,000 timers and arm another one, 30 to 60 s ahead. \
                Nanoseconds per pair and thread.",
        shapes: &[Shape::of(1, 1_000), Shape::of(2, 1_000)],
        columns: &[("cancel+arm, ns", 1)],
        peers: &[
            Contender::new::<ByLocal>(arm_cancel::<ByLocal>),
            Contender::new::<ByRef>(arm_cancel::<ByRef>),
            Contender::new::<Single>(arm_cancel::<Single>),
            Contender::new::<PerThread>(arm_cancel::<PerThread>),
            Contender::new::<Nexus>(arm_cancel::<Nexus>),
            Contender::new::<Tokio>(arm_cancel::<Tokio>),
            Contender::new::<Hashed<false>>(arm_cancel::<Hashed<false>>),
            Contender::new::<Hashed<true>>(arm_cancel::<Hashed<true>>),
        ],
        kind: Kind::Time,
    },
    Workload {
        name: "mixed",
        about: "Each thread replaces its timers over and over, and the first one drives: nine in ten \
                are cancelled, one in ten fires. Nanoseconds per timer and thread.",
        shapes: &[Shape::of(1, 1_000), Shape::of(2, 1_000)],
        columns: &[("arm and cancel or fire, ns", 1)],
        peers: &[
            Contender::new::<ByLocal>(mixed::<ByLocal>),
            Contender::new::<ByRef>(mixed::<ByRef>),
            Contender::new::<Single>(mixed::<Single>),
            Contender::new::<PerThread>(mixed::<PerThread>),
            Contender::new::<Nexus>(mixed::<Nexus>),
            Contender::new::<Tokio>(mixed::<Tokio>),
            Contender::new::<Hashed<true>>(mixed::<Hashed<true>>),
        ],
        kind: Kind::Time,
    },
    Workload {
        name: REARM_LATER,
        about: "Move all timers to a later deadline, keys in hand, timers scattered. \
                Nanoseconds per timer and thread.",
        shapes: &REARM_SHAPES,
        columns: &[("rearm, ns", 1)],
        peers: &[
            Contender::new::<ByLocal>(rearm_later::<ByLocal>),
            Contender::new::<ByRef>(rearm_later::<ByRef>),
            Contender::new::<Single>(rearm_later::<Single>),
            Contender::new::<PerThread>(rearm_later::<PerThread>),
            Contender::new::<Tokio>(rearm_later::<Tokio>),
        ],
        kind: Kind::Time,
    },
    Workload {
        name: "rearm_earlier",
        about: "Move all timers to an earlier deadline; then the driver looks after what that \
                left to it. Nanoseconds per timer.",
        shapes: &REARM_SHAPES,
        columns: &[
            ("rearm, ns", 1),
            ("driver, ns", 1),
            ("rearm and driver, ns", 1),
        ],
        peers: &[
            Contender::new::<ByLocal>(rearm_earlier::<ByLocal>),
            Contender::new::<ByRef>(rearm_earlier::<ByRef>),
            Contender::new::<Single>(rearm_earlier::<Single>),
            Contender::new::<PerThread>(rearm_earlier::<PerThread>),
            Contender::new::<Tokio>(rearm_earlier::<Tokio>),
        ],
        kind: Kind::Time,
    },
    Workload {
        name: "cross",
        about: "One thread arms batches of 1,000, another one cancels them, both at once. \
                Nanoseconds per timer.",
        shapes: &[Shape::of(2, 1_000)],
        columns: &[("both, ns", 1), ("arm, ns", 1), ("cancel, ns", 1)],
        peers: &[
            Contender::new::<ByLocal>(cross::<ByLocal>),
            Contender::new::<ByRef>(cross::<ByRef>),
            Contender::new::<Single>(cross::<Single>),
            Contender::new::<PerThread>(cross::<PerThread>),
            Contender::new::<Tokio>(cross::<Tokio>),
            Contender::new::<Hashed<false>>(cross::<Hashed<false>>),
        ],
        kind: Kind::Time,
    },
    Workload {
        name: LATENCY,
        about: "Cancel and arm while another thread fires 1,000,000 timers in one advance. \
                Microseconds per pair.",
        shapes: &[
            Shape {
                name: EVERY_MICROSECOND,
                every: Duration::from_micros(1),
                ..Shape::of(2, MILLION)
            },
            Shape {
                name: "back to back",
                ..Shape::of(2, MILLION)
            },
        ],
        columns: &[
            ("p50, µs", 2),
            ("p99, µs", 2),
            ("p99.9, µs", 2),
            ("p99.99, µs", 2),
            ("worst, µs", 2),
            ("requests", 0),
            ("interruptions", 0),
        ],
        peers: &[
            Contender::new::<ByLocal>(latency::<ByLocal>),
            Contender::new::<ByRef>(latency::<ByRef>),
            Contender::new::<Single>(latency::<Single>),
            Contender::new::<PerThread>(latency::<PerThread>),
            Contender::new::<Nexus>(latency::<Nexus>),
            Contender::new::<OneRuntime>(latency::<OneRuntime>),
        ],
        kind: Kind::Latency,
    },
    Workload {
        name: DRIVE,
        about: "Arm 1,000,000 timers, then fire them all. Nanoseconds per timer.",
        shapes: &[
            Shape {
                name: "over 60 s, one advance",
                ..Shape::of(1, MILLION)
            },
            Shape {
                name: "over 60 s, an advance per tick",
                steps: Steps::PerTick,
                ..Shape::of(1, MILLION)
            },
            Shape {
                name: "in one tick, one advance",
                span: 1,
                ..Shape::of(1, MILLION)
            },
            Shape {
                name: "in one tick, an advance per tick",
                steps: Steps::PerTick,
                span: 1,
                ..Shape::of(1, MILLION)
            },
        ],
        columns: &[("fire, ns", 1), ("arm, ns", 1)],
        peers: &[
            Contender::new::<ByLocal>(drive::<ByLocal>),
            Contender::new::<ByRef>(drive::<ByRef>),
            Contender::new::<Owned>(drive::<Owned>),
        ],
        kind: Kind::Time,
    },
    Workload {
        name: BYTES,
        about: "Resident memory of timers with a `u64`, armed and filed. Bytes per timer.",
        shapes: &[
            Shape::of(1, MILLION),
            Shape {
                name: BEYOND_A_POWER,
                ..Shape::of(1, 1_100_000)
            },
        ],
        columns: &[("memory, B/timer", 1)],
        peers: &[
            Contender::new::<ByLocal>(bytes_per_timer::<ByLocal>),
            Contender::new::<ByRef>(bytes_per_timer::<ByRef>),
            Contender::new::<Owned>(bytes_per_timer::<Owned>),
        ],
        kind: Kind::Memory,
    },
    Workload {
        name: "churn",
        about: "Resident memory before and after many timers come and go, 10,000 at a time, \
                while nobody drives.",
        shapes: &[Shape::of(1, 10_000)],
        columns: &[("grown, KiB", 0), ("before, KiB", 0)],
        peers: &[
            Contender::new::<ByLocal>(churn::<ByLocal>),
            Contender::new::<ByRef>(churn::<ByRef>),
            Contender::new::<Single>(churn::<Single>),
        ],
        kind: Kind::Churn,
    },
    Workload {
        name: "churn_cross",
        about: "The same where one thread arms and another one cancels.",
        shapes: &[Shape::of(2, 10_000)],
        columns: &[("grown, KiB", 0), ("before, KiB", 0)],
        peers: &[
            Contender::new::<ByLocal>(churn_cross::<ByLocal>),
            Contender::new::<ByRef>(churn_cross::<ByRef>),
            Contender::new::<Single>(churn_cross::<Single>),
        ],
        kind: Kind::Churn,
    },
];

const REARM_SHAPES: [Shape; 4] = [
    Shape::of(1, 1_000),
    Shape::of(2, 1_000),
    Shape::of(1, MILLION),
    Shape::of(2, MILLION),
];

/// What doubles has just doubled.
pub(crate) const BEYOND_A_POWER: &str = "1,100,000, 1 thread";

pub(crate) const EVERY_MICROSECOND: &str = "a request per µs";

/// Timers that are gone over: many passes over few timers, few over many.
const OPERATIONS: usize = 4_000_000;

impl Contender {
    const fn new<P: Peer>(measure: fn(&Shape) -> Vec<f64>) -> Self {
        Self {
            name: P::NAME,
            how: P::HOW,
            measure,
        }
    }
}

impl Shape {
    /// So many threads, so many timers, and nothing out of the ordinary.
    pub(crate) const fn of(threads: usize, n: usize) -> Self {
        Self {
            name: match (threads, n) {
                (1, 1_000) => "1,000, 1 thread",
                (_, 1_000) => "1,000, 2 threads",
                (1, MILLION) => "1,000,000, 1 thread",
                (_, MILLION) => "1,000,000, 2 threads",
                (_, _) => "10,000",
            },
            threads,
            n,
            passes: match OPERATIONS / n {
                many @ 4.. => many,
                _ => 4,
            },
            steps: Steps::One,
            span: SPAN,
            every: Duration::ZERO,
        }
    }

    /// What is special about it beside how many timers and threads there are.
    pub(crate) fn special(&self) -> &'static str {
        if self.name.starts_with(|c: char| c.is_ascii_digit()) {
            ""
        } else {
            self.name
        }
    }

    /// Small enough to see that everything runs.
    pub(crate) fn quick(&self) -> Self {
        Self {
            n: self.n.min(200),
            passes: 2,
            ..*self
        }
    }
}
