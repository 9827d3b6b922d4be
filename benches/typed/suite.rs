//! Every workload: its shapes, its figures, and who takes part.

use crate::codes;
use crate::expire::{Driven, expire};
use crate::get::get;
use crate::leases::{Lend, Ours, Papaya, again, renew};
use crate::memory::{of_codes, of_leases, of_sessions};
use crate::peers::{ById, Get, Store, Touch};
use crate::published::{MiniMoka, Moka, MokaExpiry, Tower};
use crate::rounds::Column;
use crate::storm::storm;
use crate::textbook::Textbook;

pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) shapes: &'static [Shape],
    /// What its figures are.
    pub(crate) columns: &'static [Column],
    /// Who takes part, this crate first.
    pub(crate) peers: &'static [Contender],
    pub(crate) kind: Kind,
}

/// One of those that are compared.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) measure: fn(&Shape) -> Vec<f64>,
}

/// What a workload is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    /// Sessions, leases or subjects: of each thread, where each has its own.
    pub(crate) n: usize,
    /// Operations after which the clock is read.
    pub(crate) batch: usize,
    /// How many batches there are.
    pub(crate) batches: usize,
}

/// What the figures of a workload are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nanoseconds per operation come first, so that Criterion can sample it.
    Time,
    /// Much goes on while no clock runs, so that Criterion cannot.
    Table,
    /// A distribution. How many sessions there are is the caller's to say.
    Storm,
}

/// What the batches of a workload come to.
const NANOS: &[Column] = &[("10th percentile, ns", 1), ("median, ns", 1)];

pub(crate) const WORKLOADS: [Workload; 7] = [
    Workload {
        name: "get",
        about: "Read a session that lives, which is a use of it, in an order without a pattern. \
                Real clocks. Nanoseconds for each, in each thread. `Sessions::touch` reads no \
                value; `MemoryStore` has no touch, so a session is loaded and saved again.",
        shapes: &ONE_AND_TWO,
        columns: NANOS,
        peers: &[
            Contender::of::<Get>(get::<Get>),
            Contender::of::<Touch>(get::<Touch>),
            Contender::of::<ById>(get::<ById>),
            Contender::of::<Moka>(get::<Moka>),
            Contender::of::<MokaExpiry>(get::<MokaExpiry>),
            Contender::of::<MiniMoka>(get::<MiniMoka>),
            Contender::of::<Textbook>(get::<Textbook>),
            Contender::of::<Tower>(get::<Tower>),
        ],
        kind: Kind::Time,
    },
    Workload {
        name: "expire",
        about: "Start sessions in a store without any, wait until all have expired, and have them \
                taken out. What a store puts off until somebody asks for it is asked for. The \
                least of some passes, in nanoseconds per session. Peers are on real clocks. \
                `MemoryStore` does not take part: it keeps what has expired.",
        shapes: &[
            Shape {
                batches: 11,
                ..Shape::of(1, 1_000)
            },
            Shape {
                batches: 5,
                ..Shape::of(1, 100_000)
            },
        ],
        columns: &[("start, ns", 1), ("take out, ns", 1)],
        peers: &[
            Contender::of::<Driven<true>>(expire::<Driven<true>>),
            Contender::of::<Driven<false>>(expire::<Driven<false>>),
            Contender::of::<Moka>(expire::<Moka>),
            Contender::of::<MokaExpiry>(expire::<MokaExpiry>),
            Contender::of::<MiniMoka>(expire::<MiniMoka>),
            Contender::of::<Textbook>(expire::<Textbook>),
        ],
        kind: Kind::Table,
    },
    Workload {
        name: "code",
        about: "Answer to a one-time code of six digits, one for each subject, in an order \
                without a pattern. The digests are BLAKE3, keyed, of the same texts: who is meant, \
                and the answer. What is left without them is measured in the same process. \
                Nanoseconds for each.",
        shapes: &[
            Shape {
                batch: 1_000,
                ..Shape::of(1, 1_000)
            },
            Shape::of(1, 100_000),
        ],
        columns: NANOS,
        peers: &[
            Contender::new("right", codes::right),
            Contender::new("wrong", codes::wrong),
            Contender::new("of an unknown subject", codes::unknown),
            Contender::new("the two digests alone", codes::digests),
            Contender::new("wrong, without the digests", codes::rest),
        ],
        kind: Kind::Time,
    },
    Workload {
        name: "lease",
        about: "Release a lease and acquire it again, which nobody else wants. Each thread has \
                leases of its own: one, or many, in an order without a pattern. Nanoseconds per \
                pair and thread.",
        shapes: &LEASES,
        columns: NANOS,
        peers: &[
            Contender::new(Ours::NAME, again::<Ours>),
            Contender::new(Papaya::NAME, again::<Papaya>),
        ],
        kind: Kind::Time,
    },
    Workload {
        name: "renew",
        about: "Renew a lease. Otherwise as before. Nanoseconds for each, in each thread.",
        shapes: &LEASES,
        columns: NANOS,
        peers: &[Contender::new(Ours::NAME, renew::<Ours>)],
        kind: Kind::Time,
    },
    Workload {
        name: "storm",
        about: "Read one of 10,000 sessions that live, again and again, while the thread of the \
                runtime ends a million others, whose deadlines are spread over a second. Each \
                end is told of, each of the 10,000 is found, and none that has expired: that is \
                checked. Microseconds that a read takes, with twice the reading of the clock; \
                the last end after its deadline in milliseconds; how often the system took the \
                processor away from the reader.",
        shapes: &[Shape {
            name: "1,000,000",
            ..Shape::of(1, 1_000_000)
        }],
        columns: &[
            ("calm p50, µs", 2),
            ("calm p99, µs", 2),
            ("calm p99.9, µs", 2),
            ("calm worst, µs", 1),
            ("during p50, µs", 2),
            ("during p99, µs", 2),
            ("during p99.9, µs", 2),
            ("during worst, µs", 1),
            ("reads", 0),
            ("looks", 0),
            ("last late by, ms", 1),
            ("interrupted", 0),
        ],
        peers: &[Contender::of::<Get>(storm)],
        kind: Kind::Storm,
    },
    Workload {
        name: "bytes",
        about: "Resident memory. Bytes for each session, with a key and a value of 16 bytes; for \
                each lease held, with a name of 16 bytes, a holder of 8, and what it has in hand; \
                for each subject that has a code.",
        shapes: &[
            Shape {
                name: "900,000",
                ..Shape::of(1, 900_000)
            },
            Shape {
                name: "1,000,000",
                ..Shape::of(1, 1_000_000)
            },
        ],
        columns: &[("memory, B", 1)],
        peers: &[
            Contender::new("Sessions", of_sessions::<Get>),
            Contender::new("SessionStore", of_sessions::<ById>),
            Contender::of::<Moka>(of_sessions::<Moka>),
            Contender::of::<MokaExpiry>(of_sessions::<MokaExpiry>),
            Contender::of::<MiniMoka>(of_sessions::<MiniMoka>),
            Contender::of::<Textbook>(of_sessions::<Textbook>),
            Contender::new("Leases", of_leases::<Ours>),
            Contender::new("papaya, as leases", of_leases::<Papaya>),
            Contender::new("OneTimeCodes", of_codes),
        ],
        kind: Kind::Table,
    },
];

const ONE_AND_TWO: [Shape; 4] = [
    Shape::of(1, 1_000),
    Shape::of(2, 1_000),
    Shape::of(1, 100_000),
    Shape::of(2, 100_000),
];

const LEASES: [Shape; 6] = [
    Shape {
        name: "1, 1 thread",
        ..Shape::of(1, 1)
    },
    Shape {
        name: "1, 2 threads",
        ..Shape::of(2, 1)
    },
    ONE_AND_TWO[0],
    ONE_AND_TWO[1],
    ONE_AND_TWO[2],
    ONE_AND_TWO[3],
];

impl Contender {
    const fn new(name: &'static str, measure: fn(&Shape) -> Vec<f64>) -> Self {
        Self { name, measure }
    }

    const fn of<S: Store>(measure: fn(&Shape) -> Vec<f64>) -> Self {
        Self::new(S::NAME, measure)
    }
}

impl Shape {
    /// So many threads and sessions, and nothing out of the ordinary.
    const fn of(threads: usize, n: usize) -> Self {
        Self {
            name: match (threads, n) {
                (1, 1_000) => "1,000, 1 thread",
                (_, 1_000) => "1,000, 2 threads",
                (1, _) => "100,000, 1 thread",
                (_, _) => "100,000, 2 threads",
            },
            threads,
            n,
            batch: 5_000,
            batches: 400,
        }
    }

    /// Small enough to see that everything runs.
    pub(crate) fn quick(&self) -> Self {
        Self {
            n: self.n.min(200),
            batch: self.batch.min(200),
            batches: 2,
            ..*self
        }
    }
}
