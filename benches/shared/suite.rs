//! Every workload: its shapes, its figures, and who takes part.

use std::time::Duration;

use crate::cross::cross;
use crate::drive::drive;
use crate::harness::{self, Options, Peer, Workload};
use crate::latency::latency;
use crate::memory::{bytes_per_timer, churn, churn_cross};
use crate::mixed::mixed;
use crate::one_runtime::OneRuntime;
use crate::ours::{ByLocal, ByRef};
use crate::peers::{Owned, Peer as _, PerThread, Single};
use crate::published::{Hashed, Nexus, Tokio};
use crate::workloads::{SPAN, Shape, Steps, arm_cancel, rearm_earlier, rearm_later};

pub(crate) const ARM_CANCEL: &str = "arm_cancel";
pub(crate) const REARM_LATER: &str = "rearm_later";
pub(crate) const LATENCY: &str = "latency";
pub(crate) const DRIVE: &str = "drive";
pub(crate) const BYTES: &str = "bytes";

pub(crate) const MILLION: usize = 1_000_000;

pub(crate) const WORKLOADS: &[Workload<Shape>] = &[
    Workload {
        name: ARM_CANCEL,
        about: "Cancel the oldest of 1,000 timers and arm another one, 30 to 60 s ahead. \
                Nanoseconds per pair and thread.",
        shapes: |_| vec![Shape::of(1, 1_000), Shape::of(2, 1_000)],
        columns: &[("cancel+arm, ns", 1)],
        peers: &[
            Peer::ours(ByLocal::NAME, arm_cancel::<ByLocal>),
            Peer::ours(ByRef::NAME, arm_cancel::<ByRef>),
            Peer::other(Single::NAME, arm_cancel::<Single>),
            Peer::other(PerThread::NAME, arm_cancel::<PerThread>),
            Peer::other(Nexus::NAME, arm_cancel::<Nexus>),
            Peer::other(Tokio::NAME, arm_cancel::<Tokio>),
            Peer::other(<Hashed<false>>::NAME, arm_cancel::<Hashed<false>>),
            Peer::other(<Hashed<true>>::NAME, arm_cancel::<Hashed<true>>),
        ],
        sampled: true,
    },
    Workload {
        name: "mixed",
        about: "Each thread replaces its timers over and over, and the first one drives: nine in ten \
                are cancelled, one in ten fires. Nanoseconds per timer and thread.",
        shapes: |_| vec![Shape::of(1, 1_000), Shape::of(2, 1_000)],
        columns: &[("arm and cancel or fire, ns", 1)],
        peers: &[
            Peer::ours(ByLocal::NAME, mixed::<ByLocal>),
            Peer::ours(ByRef::NAME, mixed::<ByRef>),
            Peer::other(Single::NAME, mixed::<Single>),
            Peer::other(PerThread::NAME, mixed::<PerThread>),
            Peer::other(Nexus::NAME, mixed::<Nexus>),
            Peer::other(Tokio::NAME, mixed::<Tokio>),
            Peer::other(<Hashed<true>>::NAME, mixed::<Hashed<true>>),
        ],
        sampled: true,
    },
    Workload {
        name: REARM_LATER,
        about: "Move all timers to a later deadline, keys in hand, timers scattered. \
                Nanoseconds per timer and thread.",
        shapes: |_| REARM_SHAPES.to_vec(),
        columns: &[("rearm, ns", 1)],
        peers: &[
            Peer::ours(ByLocal::NAME, rearm_later::<ByLocal>),
            Peer::ours(ByRef::NAME, rearm_later::<ByRef>),
            Peer::other(Single::NAME, rearm_later::<Single>),
            Peer::other(PerThread::NAME, rearm_later::<PerThread>),
            Peer::other(Tokio::NAME, rearm_later::<Tokio>),
        ],
        sampled: true,
    },
    Workload {
        name: "rearm_earlier",
        about: "Move all timers to an earlier deadline; then the driver looks after what that \
                left to it. Nanoseconds per timer.",
        shapes: |_| REARM_SHAPES.to_vec(),
        columns: &[
            ("rearm, ns", 1),
            ("driver, ns", 1),
            ("rearm and driver, ns", 1),
        ],
        peers: &[
            Peer::ours(ByLocal::NAME, rearm_earlier::<ByLocal>),
            Peer::ours(ByRef::NAME, rearm_earlier::<ByRef>),
            Peer::other(Single::NAME, rearm_earlier::<Single>),
            Peer::other(PerThread::NAME, rearm_earlier::<PerThread>),
            Peer::other(Tokio::NAME, rearm_earlier::<Tokio>),
        ],
        sampled: true,
    },
    Workload {
        name: "cross",
        about: "One thread arms batches of 1,000, another one cancels them, both at once. \
                Nanoseconds per timer.",
        shapes: |_| vec![Shape::of(2, 1_000)],
        columns: &[("both, ns", 1), ("arm, ns", 1), ("cancel, ns", 1)],
        peers: &[
            Peer::ours(ByLocal::NAME, cross::<ByLocal>),
            Peer::ours(ByRef::NAME, cross::<ByRef>),
            Peer::other(Single::NAME, cross::<Single>),
            Peer::other(PerThread::NAME, cross::<PerThread>),
            Peer::other(Tokio::NAME, cross::<Tokio>),
            Peer::other(<Hashed<false>>::NAME, cross::<Hashed<false>>),
        ],
        sampled: true,
    },
    Workload {
        name: LATENCY,
        about: "Cancel and arm while another thread fires 1,000,000 timers in one advance. \
                Microseconds per pair.",
        shapes: |_| {
            vec![
                Shape {
                    name: EVERY_MICROSECOND,
                    every: Duration::from_micros(1),
                    ..Shape::of(2, MILLION)
                },
                Shape {
                    name: "back to back",
                    ..Shape::of(2, MILLION)
                },
            ]
        },
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
            Peer::ours(ByLocal::NAME, latency::<ByLocal>),
            Peer::ours(ByRef::NAME, latency::<ByRef>),
            Peer::other(Single::NAME, latency::<Single>),
            Peer::other(PerThread::NAME, latency::<PerThread>),
            Peer::other(Nexus::NAME, latency::<Nexus>),
            Peer::other(OneRuntime::NAME, latency::<OneRuntime>),
        ],
        sampled: false,
    },
    Workload {
        name: DRIVE,
        about: "Arm 1,000,000 timers, then fire them all. Nanoseconds per timer.",
        shapes: |_| DRIVE_SHAPES.to_vec(),
        columns: &[("fire, ns", 1), ("arm, ns", 1)],
        peers: &[
            Peer::ours(ByLocal::NAME, drive::<ByLocal>),
            Peer::ours(ByRef::NAME, drive::<ByRef>),
            Peer::other(Owned::NAME, drive::<Owned>),
        ],
        sampled: true,
    },
    Workload {
        name: BYTES,
        about: "Resident memory of timers with a `u64`, armed and filed. Bytes per timer.",
        shapes: |_| {
            vec![
                Shape::of(1, MILLION),
                Shape {
                    name: BEYOND_A_POWER,
                    ..Shape::of(1, 1_100_000)
                },
            ]
        },
        columns: &[("memory, B/timer", 1)],
        peers: &[
            Peer::ours(ByLocal::NAME, bytes_per_timer::<ByLocal>),
            Peer::ours(ByRef::NAME, bytes_per_timer::<ByRef>),
            Peer::other(Owned::NAME, bytes_per_timer::<Owned>),
        ],
        sampled: false,
    },
    Workload {
        name: "churn",
        about: "Resident memory before and after many timers come and go, 10,000 at a time, \
                while nobody drives.",
        shapes: |options| vec![Shape::churn(1, options)],
        columns: &[("grown, KiB", 0), ("before, KiB", 0)],
        peers: &[
            Peer::ours(ByLocal::NAME, churn::<ByLocal>),
            Peer::ours(ByRef::NAME, churn::<ByRef>),
            Peer::other(Single::NAME, churn::<Single>),
        ],
        sampled: false,
    },
    Workload {
        name: "churn_cross",
        about: "The same where one thread arms and another one cancels.",
        shapes: |options| vec![Shape::churn(2, options)],
        columns: &[("grown, KiB", 0), ("before, KiB", 0)],
        peers: &[
            Peer::ours(ByLocal::NAME, churn_cross::<ByLocal>),
            Peer::ours(ByRef::NAME, churn_cross::<ByRef>),
            Peer::other(Single::NAME, churn_cross::<Single>),
        ],
        sampled: false,
    },
];

const REARM_SHAPES: [Shape; 4] = [
    Shape::of(1, 1_000),
    Shape::of(2, 1_000),
    Shape::of(1, MILLION),
    Shape::of(2, MILLION),
];

pub(crate) const DRIVE_SHAPES: [Shape; 4] = [
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
];

/// What doubles has just doubled.
pub(crate) const BEYOND_A_POWER: &str = "1,100,000, 1 thread";

pub(crate) const EVERY_MICROSECOND: &str = "a request per µs";

/// The option that says how many timers come and go where memory is looked after.
pub(crate) const CHURN: &str = "--churn";

/// Timers that are gone over: many passes over few timers, few over many.
const OPERATIONS: usize = 4_000_000;

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

    /// So many threads that replace timers, as often as the options say.
    fn churn(threads: usize, options: &Options) -> Self {
        let timers = options.numbers.get(CHURN).copied().unwrap_or(2_000_000);
        let shape = Self::of(threads, 10_000);
        Self {
            passes: timers.div_ceil(shape.n),
            ..shape
        }
    }
}

impl harness::Shape for Shape {
    fn name(&self) -> String {
        self.name.into()
    }

    fn special(&self) -> String {
        if self.name.starts_with(|c: char| c.is_ascii_digit()) {
            return String::new();
        }
        self.name.into()
    }

    fn n(&self) -> usize {
        self.n
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn quick(&self) -> Self {
        Self {
            n: self.n.min(200),
            passes: 2,
            ..*self
        }
    }

    fn passes(&self, passes: usize) -> (Self, usize) {
        (Self { passes, ..*self }, self.n)
    }
}

/// How each is used.
pub(crate) const HOW: &[(&str, &str)] = &[
    (ByLocal::NAME, ByLocal::HOW),
    (ByRef::NAME, ByRef::HOW),
    (Single::NAME, Single::HOW),
    (PerThread::NAME, PerThread::HOW),
    (Nexus::NAME, Nexus::HOW),
    (Tokio::NAME, Tokio::HOW),
    (<Hashed<false>>::NAME, <Hashed<false>>::HOW),
    (<Hashed<true>>::NAME, <Hashed<true>>::HOW),
    (OneRuntime::NAME, OneRuntime::HOW),
    (Owned::NAME, Owned::HOW),
];
