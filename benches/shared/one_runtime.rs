//! Tokio's timers in one runtime that all threads share.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use tokio::runtime::{Builder, EnterGuard, Runtime};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::peers::{Hand, Peer, armed};

/// A runtime whose clock is paused and moved by the thread that drives. Its driver fires under
/// the lock that arming and cancelling take, and gives it back after every 32 timers.
pub(crate) struct OneRuntime {
    runtime: Runtime,
    now: AtomicU64,
    woken: Arc<Woken>,
}

/// A task that only counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicU64);

pub(crate) struct Entered<'a> {
    epoch: Instant,
    waker: Waker,
    _runtime: EnterGuard<'a>,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Peer for OneRuntime {
    type Timer = Pin<Box<Option<Sleep>>>;
    type Hand<'a> = Entered<'a>;

    const NAME: &'static str = "tokio Sleep, one runtime";
    const HOW: &'static str = "unusual: one runtime for all threads, whose clock is paused and moved \
                               by hand; a timer that fires wakes a task that only counts";

    fn new(_threads: usize) -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        Self {
            runtime: runtime.expect("a runtime without I/O asks nothing of the system"),
            now: AtomicU64::new(0),
            woken: Arc::default(),
        }
    }

    /// Before time has moved.
    fn hand(&self, _thread: usize) -> Entered<'_> {
        let _runtime = self.runtime.enter();
        Entered {
            epoch: Instant::now(),
            waker: Waker::from(Arc::clone(&self.woken)),
            _runtime,
        }
    }

    fn drive(&self, to: u64) -> u64 {
        let before = self.woken.0.load(Ordering::Relaxed);
        // One thread drives.
        let step = to - self.now.swap(to, Ordering::Relaxed);
        if step > 0 {
            let moved = tokio::time::advance(Duration::from_millis(step));
            self.runtime.block_on(moved);
        }
        self.woken.0.load(Ordering::Relaxed) - before
    }
}

impl Entered<'_> {
    #[inline]
    fn at(&self, millis: u64) -> Instant {
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
        let _ = sleep.poll(&mut Context::from_waker(&self.waker));
    }

    #[inline]
    fn cancel(&mut self, timer: &mut Self::Timer) {
        timer.set(None);
    }

    #[inline]
    fn retire(&mut self, timer: &mut Self::Timer) {
        timer.set(None);
    }
}
