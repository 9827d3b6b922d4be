//! What the tests stand on: a runtime with its clock, tasks that count how often they are woken, and clocks
//! that count how often they are read.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tickwheel::{Clock, ManualClock, Timers, TimersBuilder, Timestamp};

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

/// A runtime that is driven by hand.
pub(crate) struct Rig {
    pub(crate) clock: ManualClock,
    pub(crate) timers: Timers,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Timers::builder())
    }

    pub(crate) fn with(builder: TimersBuilder) -> Self {
        let clock = ManualClock::new();
        let timers = builder.clock(clock.clone()).build_hand_driven().unwrap();
        Self { clock, timers }
    }

    /// Moves the clock to that time, and fires what is due.
    pub(crate) fn go(&self, millis: u64) -> usize {
        self.clock.set(at(millis));
        self.timers.turn_fully().unwrap().fired
    }

    /// Moves the clock without anybody driving.
    pub(crate) fn stall(&self, millis: u64) {
        self.clock.set(at(millis));
    }

    /// What the clock shows, in milliseconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().as_nanos() / 1_000_000
    }
}

/// A task: polls with a waker of its own.
pub(crate) struct Task {
    wakes: Arc<Wakes>,
    waker: Waker,
}

pub(crate) struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Task {
    pub(crate) fn new() -> Self {
        let wakes = Arc::new(Wakes(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&wakes));
        Self { wakes, waker }
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    pub(crate) fn poll<F: Future + Unpin>(&self, future: &mut F) -> Poll<F::Output> {
        self.poll_pin(Pin::new(future))
    }

    pub(crate) fn poll_pin<F: Future + ?Sized>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(&self.waker))
    }

    /// Polls what is not a future itself.
    pub(crate) fn with<R>(&self, poll: impl FnOnce(&mut Context<'_>) -> R) -> R {
        poll(&mut Context::from_waker(&self.waker))
    }

    /// How often it was woken.
    pub(crate) fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::SeqCst)
    }

    /// How many wakers of it there are, its own included.
    pub(crate) fn wakers(&self) -> usize {
        Arc::strong_count(&self.wakes) - 1
    }
}

/// A clock that counts how often it is read.
#[derive(Clone)]
pub(crate) struct Counted {
    pub(crate) clock: ManualClock,
    reads: Arc<AtomicUsize>,
}

impl Counted {
    pub(crate) fn new() -> Self {
        Self {
            clock: ManualClock::new(),
            reads: Arc::new(AtomicUsize::new(0)),
        }
    }

    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

impl Clock for Counted {
    fn now(&self) -> Timestamp {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.clock.now()
    }
}

/// Runs a future on this thread, which parks while it is pending.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
