//! What is measured, and by whom.

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Column, Peer, Shape, Workload};
use crate::peers;

/// How much is done for a figure, by how many threads.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    threads: usize,
    batches: usize,
    batch: u32,
}

/// How far ahead every deadline is: none is reached.
pub(crate) const AHEAD: Duration = Duration::from_secs(30);

const COLUMNS: &[Column] = &[("make, poll, drop, ns", 1)];

pub(crate) const WORKLOADS: &[Workload<Effort>] = &[
    Workload {
        name: "timeout",
        about: "Make a timeout of 30 s around a future that is ready, poll it once, drop it. \
                Nanoseconds.",
        columns: COLUMNS,
        peers: &[
            Peer::ours("tickwheel", peers::timeout_tickwheel),
            Peer::other("tokio, current thread", peers::timeout_tokio_current),
            Peer::other("tokio, multi thread", peers::timeout_tokio_multi),
            Peer::other("smol (async-io), `or`", peers::timeout_smol),
            Peer::other("futures-timer, `or`", peers::timeout_futures_timer),
        ],
        shapes: |_| vec![Effort::of(1)],
        sampled: true,
    },
    Workload {
        name: "sleep",
        about: "Make a sleep of 30 s, poll it once, drop it. The clock is read, and the timer \
                registered and taken out. Nanoseconds.",
        columns: COLUMNS,
        peers: &[
            Peer::ours("tickwheel", peers::sleep_tickwheel),
            Peer::other("tokio, current thread", peers::sleep_tokio_current),
            Peer::other("tokio, multi thread", peers::sleep_tokio_multi),
            Peer::other("smol (async-io)", peers::sleep_smol),
            Peer::other("futures-timer", peers::sleep_futures_timer),
        ],
        shapes: |_| vec![Effort::of(1)],
        sampled: true,
    },
    Workload {
        name: "sleep, two threads",
        about: "The same in two threads at once, each with a waker of its own. Nanoseconds for each.",
        columns: COLUMNS,
        peers: &[
            Peer::ours("tickwheel", peers::sleeps_tickwheel),
            Peer::other("tokio, multi thread", peers::sleeps_tokio_multi),
            Peer::other("smol (async-io)", peers::sleeps_smol),
            Peer::other("futures-timer", peers::sleeps_futures_timer),
        ],
        shapes: |_| vec![Effort::of(2)],
        sampled: true,
    },
];

impl Shape for Effort {
    fn name(&self) -> String {
        match self.threads {
            1 => "1 thread".into(),
            threads => format!("{threads} threads"),
        }
    }

    fn n(&self) -> usize {
        1
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn quick(&self) -> Self {
        Self {
            batches: 1,
            batch: 100,
            ..*self
        }
    }

    fn passes(&self, passes: usize) -> (Self, usize) {
        let effort = Self {
            batches: passes,
            ..*self
        };
        (effort, self.batch as usize)
    }
}

impl Effort {
    const fn of(threads: usize) -> Self {
        Self {
            threads,
            batches: 41,
            batch: 20_000,
        }
    }

    /// The median over the batches of what making, polling and dropping one takes, in nanoseconds.
    pub(crate) fn measure<F: Future>(
        &self,
        mut make: impl FnMut() -> F,
        expect: fn(Poll<F::Output>) -> bool,
    ) -> Vec<f64> {
        let waker = Waker::from(Arc::new(Nobody));
        let mut cx = Context::from_waker(&waker);
        let mut once = || {
            let future = pin!(make());
            let polled = black_box(future).poll(&mut cx);
            assert!(expect(polled), "the future is as it should be");
        };
        // Memory is there, and the driver asleep.
        (0..self.batch).for_each(|_| once());
        let mut figures: Vec<f64> = (0..self.batches)
            .map(|_| {
                let start = Instant::now();
                (0..self.batch).for_each(|_| once());
                start.elapsed().as_nanos() as f64 / f64::from(self.batch)
            })
            .collect();
        figures.sort_unstable_by(f64::total_cmp);
        vec![figures[figures.len() / 2]]
    }
}

/// The mean of what two threads find that begin together.
pub(crate) fn twice(measure: impl Fn() -> Vec<f64> + Sync) -> Vec<f64> {
    let both = Barrier::new(2);
    thread::scope(|scope| {
        let threads = [(); 2].map(|()| {
            scope.spawn(|| {
                both.wait();
                measure()
            })
        });
        let figures = threads.map(|thread| thread.join().expect("no thread panics"));
        vec![f64::midpoint(figures[0][0], figures[1][0])]
    })
}

/// A task that is never woken. Its waker is counted.
struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}
