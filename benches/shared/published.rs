//! Peers from the registry, each used as its documentation says.

use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use hierarchical_hash_wheel_timer::thread_timer::{TimerRef, TimerWithThread};
use hierarchical_hash_wheel_timer::{OneshotState, PeriodicState, Timer, TimerReturn};
use parking_lot::Mutex;
use tokio::runtime::{Builder, EnterGuard, Runtime};
use tokio::time::{Instant as TokioInstant, Sleep, sleep_until};

use crate::peers::{Hand, Peer, armed};

/// `nexus-timer`, behind a lock.
///
/// The wheel is `Send`. Its handles are not: a thread can cancel what it armed itself, and
/// nobody else can. So it takes no part where one thread cancels for another.
pub(crate) struct Nexus {
    wheel: Mutex<nexus_timer::Wheel<u64>>,
    epoch: Instant,
}

impl Peer for Nexus {
    type Timer = Option<nexus_timer::TimerHandle<u64>>;
    type Hand<'a> = &'a Self;

    const NAME: &'static str = "Mutex<nexus_timer>";
    const HOW: &'static str = "unusual: made for one thread, here behind one lock of `parking_lot`";

    fn new(_threads: usize) -> Self {
        let epoch = Instant::now();
        Self {
            wheel: Mutex::new(nexus_timer::Wheel::unbounded(1024, epoch)),
            epoch,
        }
    }

    fn hand(&self, _thread: usize) -> &Self {
        self
    }

    fn drive(&self, to: u64) -> u64 {
        let mut fired = Vec::new();
        let now = self.epoch + Duration::from_millis(to);
        self.wheel.lock().poll_and_rebalance(now, &mut fired) as u64
    }
}

impl Hand for &Nexus {
    type Timer = Option<nexus_timer::TimerHandle<u64>>;

    fn blank() -> Self::Timer {
        None
    }

    #[inline]
    fn arm(&mut self, timer: &mut Self::Timer, at: u64, id: u64) {
        let at = self.epoch + Duration::from_millis(at);
        *timer = Some(self.wheel.lock().schedule(at, id));
    }

    #[inline]
    fn cancel(&mut self, timer: &mut Self::Timer) {
        let handle = armed(timer.take());
        black_box(self.wheel.lock().cancel(handle).expect("not fired yet"));
    }

    #[inline]
    fn retire(&mut self, timer: &mut Self::Timer) {
        let handle = armed(timer.take());
        black_box(self.wheel.lock().cancel(handle));
    }
}

/// Tokio's `Sleep`, pinned in storage that the caller keeps, so that arming allocates nothing.
///
/// Each thread has a runtime of its own, whose clock is paused and moved by hand. A `Sleep`
/// is armed by its first poll. It is polled outside of any task, so without a budget.
pub(crate) struct Tokio {
    runtimes: Vec<Runtime>,
}

pub(crate) struct Entered<'a> {
    epoch: TokioInstant,
    _runtime: EnterGuard<'a>,
}

impl Peer for Tokio {
    type Timer = Pin<Box<Option<Sleep>>>;
    type Hand<'a> = Entered<'a>;

    const NAME: &'static str = "tokio Sleep";
    const HOW: &'static str = "pinned in storage that is kept, armed by its first poll; unusual: a \
                               runtime for each thread, whose clock is paused and moved by hand";

    fn new(threads: usize) -> Self {
        let runtime = |_| {
            Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .expect("a runtime without I/O asks nothing of the system")
        };
        Self {
            runtimes: (0..threads).map(runtime).collect(),
        }
    }

    fn hand(&self, thread: usize) -> Entered<'_> {
        let runtime = &self.runtimes[thread];
        Entered {
            epoch: runtime.block_on(async { TokioInstant::now() }),
            _runtime: runtime.enter(),
        }
    }

    /// By a tick, wherever it stood: this peer is not asked to fire.
    fn drive(&self, _to: u64) -> u64 {
        for runtime in &self.runtimes {
            runtime.block_on(tokio::time::advance(Duration::from_millis(1)));
        }
        0
    }
}

impl Entered<'_> {
    #[inline]
    fn at(&self, millis: u64) -> TokioInstant {
        self.epoch + Duration::from_millis(millis)
    }
}

impl Hand for Entered<'_> {
    type Timer = Pin<Box<Option<Sleep>>>;

    fn blank() -> Self::Timer {
        Box::pin(None)
    }

    #[inline]
    fn arm(&mut self, timer: &mut Self::Timer, at: u64, _id: u64) {
        timer.as_mut().set(Some(sleep_until(self.at(at))));
        let sleep = armed(timer.as_mut().as_pin_mut());
        let polled = sleep.poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "a timer for {at} is due at once");
    }

    /// By the poll it may be due, and then it is not armed any more.
    #[inline]
    fn arm_soon(&mut self, timer: &mut Self::Timer, at: u64, _id: u64) {
        timer.as_mut().set(Some(sleep_until(self.at(at))));
        let sleep = armed(timer.as_mut().as_pin_mut());
        let _ = sleep.poll(&mut Context::from_waker(Waker::noop()));
    }

    #[inline]
    fn cancel(&mut self, timer: &mut Self::Timer) {
        timer.set(None);
    }

    #[inline]
    fn retire(&mut self, timer: &mut Self::Timer) {
        timer.set(None);
    }

    #[inline]
    fn rearm(&mut self, timer: &mut Self::Timer, at: u64, _id: u64) {
        armed(timer.as_mut().as_pin_mut()).reset(self.at(at));
    }
}

/// `hierarchical_hash_wheel_timer`'s timer with a thread, which is sent what to do.
///
/// Its clock is the system's. A call returns when the message is queued; with `DONE` the time
/// until all of them have been obeyed counts as well.
pub(crate) struct Hashed<const DONE: bool> {
    timer: Option<TimerWithThread<u64, Numbered, Never>>,
}

#[derive(Debug)]
pub(crate) struct Numbered {
    id: u64,
    reached: Option<Arc<AtomicBool>>,
}

/// No timer is periodic.
#[derive(Debug)]
pub(crate) enum Never {}

impl<const DONE: bool> Peer for Hashed<DONE> {
    type Timer = u64;
    type Hand<'a> = Told<DONE>;

    const NAME: &'static str = if DONE {
        "hierarchical_hash_wheel_timer thread, until done"
    } else {
        "hierarchical_hash_wheel_timer thread, until told"
    };
    const HOW: &'static str = if DONE {
        "its timer with a thread, which is sent what to do; until it has done all of it"
    } else {
        "its timer with a thread, which is sent what to do; until it has been sent"
    };

    fn new(_threads: usize) -> Self {
        Self {
            timer: Some(TimerWithThread::new().expect("a thread can be started")),
        }
    }

    fn hand(&self, thread: usize) -> Told<DONE> {
        Told {
            timer: armed(self.timer.as_ref()).timer_ref(),
            first: (thread as u64) << 32,
        }
    }

    fn drive(&self, _to: u64) -> u64 {
        0
    }
}

impl<const DONE: bool> Drop for Hashed<DONE> {
    fn drop(&mut self) {
        let timer = self.timer.take();
        timer.map(TimerWithThread::shutdown);
    }
}

pub(crate) struct Told<const DONE: bool> {
    timer: TimerRef<u64, Numbered, Never>,
    /// What the numbers of this thread's timers begin with.
    first: u64,
}

impl<const DONE: bool> Hand for Told<DONE> {
    type Timer = u64;

    fn blank() -> u64 {
        0
    }

    #[inline]
    fn arm(&mut self, timer: &mut u64, at: u64, id: u64) {
        *timer = self.first | id;
        let state = Numbered {
            id: *timer,
            reached: None,
        };
        self.timer.schedule_once(Duration::from_millis(at), state);
    }

    #[inline]
    fn cancel(&mut self, timer: &mut u64) {
        self.timer.cancel(timer);
    }

    #[inline]
    fn retire(&mut self, timer: &mut u64) {
        self.timer.cancel(timer);
    }

    /// A timer without delay fires when its message is read.
    fn settle(&mut self) {
        if !DONE {
            return;
        }
        let reached = Arc::new(AtomicBool::new(false));
        let state = Numbered {
            id: u64::MAX,
            reached: Some(Arc::clone(&reached)),
        };
        self.timer.schedule_once(Duration::ZERO, state);
        while !reached.load(Ordering::Acquire) {
            thread::yield_now();
        }
    }
}

impl OneshotState for Numbered {
    type Id = u64;

    fn id(&self) -> &u64 {
        &self.id
    }

    fn trigger(self) {
        if let Some(reached) = self.reached {
            reached.store(true, Ordering::Release);
        }
    }
}

impl PeriodicState for Never {
    type Id = u64;

    fn id(&self) -> &u64 {
        match *self {}
    }

    fn trigger(self) -> TimerReturn<Self> {
        match self {}
    }
}
