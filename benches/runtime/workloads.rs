//! What is measured, and by whom.

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::peers;

pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) threads: usize,
    /// Who takes part, the runtime of this crate first.
    pub(crate) peers: &'static [Peer],
}

/// Its name, and what finds the figure.
pub(crate) type Peer = (&'static str, fn(Effort) -> f64);

/// How much is done for a figure.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    batches: usize,
    batch: u32,
}

/// How far ahead every deadline is: none is reached.
pub(crate) const AHEAD: Duration = Duration::from_secs(30);

pub(crate) const WORKLOADS: [Workload; 3] = [
    Workload {
        name: "timeout",
        about: "Make a timeout of 30 s around a future that is ready, poll it once, drop it. \
                Nanoseconds.",
        threads: 1,
        peers: &[
            ("tickwheel", peers::timeout_tickwheel),
            ("tokio, current thread", peers::timeout_tokio_current),
            ("tokio, multi thread", peers::timeout_tokio_multi),
            ("smol (async-io), `or`", peers::timeout_smol),
            ("futures-timer, `or`", peers::timeout_futures_timer),
        ],
    },
    Workload {
        name: "sleep",
        about: "Make a sleep of 30 s, poll it once, drop it. The clock is read, and the timer \
                registered and taken out. Nanoseconds.",
        threads: 1,
        peers: &[
            ("tickwheel", peers::sleep_tickwheel),
            ("tokio, current thread", peers::sleep_tokio_current),
            ("tokio, multi thread", peers::sleep_tokio_multi),
            ("smol (async-io)", peers::sleep_smol),
            ("futures-timer", peers::sleep_futures_timer),
        ],
    },
    Workload {
        name: "sleep, two threads",
        about: "The same in two threads at once, each with a waker of its own. Nanoseconds for each.",
        threads: 2,
        peers: &[
            ("tickwheel", peers::sleeps_tickwheel),
            ("tokio, multi thread", peers::sleeps_tokio_multi),
            ("smol (async-io)", peers::sleeps_smol),
            ("futures-timer", peers::sleeps_futures_timer),
        ],
    },
];

impl Effort {
    pub(crate) const TRY: Self = Self {
        batches: 1,
        batch: 100,
    };
    pub(crate) const MEASURE: Self = Self {
        batches: 41,
        batch: 20_000,
    };

    /// The median over the batches of what making, polling and dropping one takes, in nanoseconds.
    pub(crate) fn measure<F: Future>(
        self,
        mut make: impl FnMut() -> F,
        expect: fn(Poll<F::Output>) -> bool,
    ) -> f64 {
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
        figures[figures.len() / 2]
    }
}

/// The median of what two threads find that begin together.
pub(crate) fn twice(measure: impl Fn() -> f64 + Sync) -> f64 {
    let both = Barrier::new(2);
    thread::scope(|scope| {
        let threads = [(); 2].map(|()| {
            scope.spawn(|| {
                both.wait();
                measure()
            })
        });
        let figures = threads.map(|thread| thread.join().expect("no thread panics"));
        (figures[0] + figures[1]) / 2.0
    })
}

/// A task that is never woken. Its waker is counted.
struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}
