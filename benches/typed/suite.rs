//! Every workload: its shapes, its figures, and who takes part.

use crate::codes;
use crate::expire::{Driven, expire};
use crate::get::get;
use crate::harness::{self, Options, Peer, Workload};
use crate::leases::{Lend as _, Ours, Papaya, again, renew};
use crate::memory::{of_codes, of_leases, of_sessions};
use crate::peers::{ById, Get, Store as _, Touch};
use crate::published::{MiniMoka, Moka, MokaExpiry, Tower};
use crate::storm::storm;
use crate::textbook::Textbook;

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

/// What the batches of a workload come to.
const NANOS: &[harness::Column] = &[("10th percentile, ns", 1), ("median, ns", 1)];

pub(crate) const WORKLOADS: &[Workload<Shape>] = &[
    Workload {
        name: "get",
        about: "Read a session that lives, which is a use of it, in an order without a pattern. \
                Real clocks. Nanoseconds for each, in each thread. `Sessions::touch` reads no \
                value; `MemoryStore` has no touch, so a session is loaded and saved again.",
        shapes: |_| ONE_AND_TWO.to_vec(),
        columns: NANOS,
        peers: &[
            Peer::ours(Get::NAME, get::<Get>),
            Peer::ours(Touch::NAME, get::<Touch>),
            Peer::ours(ById::NAME, get::<ById>),
            Peer::other(Moka::NAME, get::<Moka>),
            Peer::other(MokaExpiry::NAME, get::<MokaExpiry>),
            Peer::other(MiniMoka::NAME, get::<MiniMoka>),
            Peer::other(Textbook::NAME, get::<Textbook>),
            Peer::other(Tower::NAME, get::<Tower>),
        ],
        sampled: true,
    },
    Workload {
        name: "expire",
        about: "Start sessions in a store without any, wait until all have expired, and have them \
                taken out. What a store puts off until somebody asks for it is asked for. The \
                least of some passes, in nanoseconds per session. Peers are on real clocks. \
                `MemoryStore` does not take part: it keeps what has expired.",
        shapes: |_| {
            vec![
                Shape {
                    batches: 11,
                    ..Shape::of(1, 1_000)
                },
                Shape {
                    batches: 5,
                    ..Shape::of(1, 100_000)
                },
            ]
        },
        columns: &[("start, ns", 1), ("take out, ns", 1)],
        peers: &[
            Peer::ours(<Driven<false>>::NAME, expire::<Driven<false>>),
            Peer::ours(<Driven<true>>::NAME, expire::<Driven<true>>),
            Peer::other(Moka::NAME, expire::<Moka>),
            Peer::other(MokaExpiry::NAME, expire::<MokaExpiry>),
            Peer::other(MiniMoka::NAME, expire::<MiniMoka>),
            Peer::other(Textbook::NAME, expire::<Textbook>),
        ],
        sampled: false,
    },
    Workload {
        name: "code",
        about: "Answer to a one-time code of six digits, one for each subject, in an order \
                without a pattern. The digests are BLAKE3, keyed, of the same texts: who is meant, \
                and the answer. What is left without them is measured in the same process. \
                Nanoseconds for each.",
        shapes: |_| {
            vec![
                Shape {
                    batch: 1_000,
                    ..Shape::of(1, 1_000)
                },
                Shape::of(1, 100_000),
            ]
        },
        columns: NANOS,
        peers: &[
            answer("right", codes::right),
            answer("wrong", codes::wrong),
            answer("of an unknown subject", codes::unknown),
            Peer {
                ours: false,
                ..answer("the two digests alone", codes::digests)
            },
            answer("wrong, without the digests", codes::rest),
        ],
        sampled: true,
    },
    Workload {
        name: LEASE,
        about: "Release a lease and acquire it again, which nobody else wants. Each thread has \
                leases of its own: one, or many, in an order without a pattern. Nanoseconds per \
                pair and thread.",
        shapes: |options| leases(LEASE, options),
        columns: NANOS,
        peers: &[
            Peer::ours(Ours::NAME, again::<Ours>),
            Peer::other(Papaya::NAME, again::<Papaya>),
        ],
        sampled: true,
    },
    Workload {
        name: RENEW,
        about: "Renew a lease. Otherwise as before. Nanoseconds for each, in each thread.",
        shapes: |options| leases(RENEW, options),
        columns: NANOS,
        peers: &[Peer::ours(Ours::NAME, renew::<Ours>)],
        sampled: true,
    },
    Workload {
        name: "storm",
        about: "Read one of 10,000 sessions that live, again and again, while the thread of the \
                runtime ends a million others, whose deadlines are spread over a second. Each \
                end is told of, each of the 10,000 is found, and none that has expired: that is \
                checked. Microseconds that a read takes, with twice the reading of the clock; \
                the last end after its deadline in milliseconds; how often the system took the \
                processor away from the reader.",
        shapes: |options| {
            vec![Shape {
                name: "in a second",
                ..Shape::of(1, options.numbers.get(STORM).copied().unwrap_or(1_000_000))
            }]
        },
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
        peers: &[Peer::ours(Get::NAME, storm)],
        sampled: false,
    },
    Workload {
        name: "bytes",
        about: "Resident memory. Bytes for each session, with a key and a value of 16 bytes; for \
                each lease held, with a name of 16 bytes, a holder of 8, and what it has in hand; \
                for each subject that has a code.",
        shapes: |options| {
            let million = Shape {
                name: "1,000,000",
                ..Shape::of(1, 1_000_000)
            };
            // Where the map has just grown, it is larger: a second size shows by how much.
            let fewer = Shape {
                name: "900,000",
                n: 900_000,
                ..million
            };
            if options.json && !options.full {
                vec![million]
            } else {
                vec![fewer, million]
            }
        },
        columns: &[("memory, B", 1)],
        peers: &[
            doing(A_SESSION, Peer::ours("Sessions", of_sessions::<Get>)),
            doing(A_SESSION, Peer::ours("SessionStore", of_sessions::<ById>)),
            doing(A_SESSION, Peer::other(Moka::NAME, of_sessions::<Moka>)),
            doing(
                A_SESSION,
                Peer::other(MokaExpiry::NAME, of_sessions::<MokaExpiry>),
            ),
            doing(
                A_SESSION,
                Peer::other(MiniMoka::NAME, of_sessions::<MiniMoka>),
            ),
            doing(
                A_SESSION,
                Peer::other(Textbook::NAME, of_sessions::<Textbook>),
            ),
            doing(A_LEASE, Peer::ours("Leases", of_leases::<Ours>)),
            doing(
                A_LEASE,
                Peer::other("papaya, as leases", of_leases::<Papaya>),
            ),
            doing(
                "a subject with a code",
                Peer::ours("OneTimeCodes", of_codes),
            ),
        ],
        sampled: false,
    },
];

const LEASE: &str = "lease";
const RENEW: &str = "renew";

/// The option that says how many sessions expire within a second.
pub(crate) const STORM: &str = "--storm";

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

const A_SESSION: &str = "a session";
const A_LEASE: &str = "a lease";

/// An answer to a code: each kind is a matter of its own.
const fn answer(name: &'static str, measure: fn(&Shape) -> Vec<f64>) -> Peer<Shape> {
    doing(name, Peer::ours(name, measure))
}

const fn doing(does: &'static str, peer: Peer<Shape>) -> Peer<Shape> {
    Peer { does, ..peer }
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
}

/// These take a minute, and are left out where all is to be quick.
fn leases(workload: &str, options: &Options) -> Vec<Shape> {
    if options.json && !options.full && !options.names(workload) {
        return vec![ONE_AND_TWO[0], ONE_AND_TWO[2]];
    }
    LEASES.to_vec()
}

impl harness::Shape for Shape {
    fn name(&self) -> String {
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
            batch: self.batch.min(200),
            batches: 2,
            ..*self
        }
    }

    fn passes(&self, passes: usize) -> (Self, usize) {
        let shape = Self {
            batches: passes,
            ..*self
        };
        (shape, self.batch)
    }
}

/// How each is used.
pub(crate) const HOW: &[(&str, &str)] = &[
    (
        "Sessions, SessionStore, Leases, OneTimeCodes",
        "on `Timers` with its thread, and real clocks unless it says otherwise",
    ),
    (
        "moka",
        "`sync::Cache`, with `time_to_idle`, and with an `Expiry` for each entry",
    ),
    ("mini-moka", "`sync::Cache` with `time_to_idle`"),
    (
        "tower-sessions MemoryStore",
        "it has no touch: a session is loaded, and saved with another date",
    ),
    (
        "Mutex<HashMap + BinaryHeap>",
        "what a textbook has: dead entries of the heap are passed over when they come up",
    ),
    (
        "papaya alone",
        "the map under `Leases`, without deadlines: what a lease costs at least",
    ),
];
