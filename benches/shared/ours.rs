//! The shared wheel, through a handle of each thread and without one.

use std::hint::black_box;

use tickwheel::{Cancel, Local, SharedWheel, Tick, TimerKey};

use crate::peers::{Hand, Peer, armed};

/// Each thread has a `local()` handle.
pub(crate) struct ByLocal {
    wheel: SharedWheel<u64>,
}

/// All threads call the wheel itself.
pub(crate) struct ByRef {
    wheel: SharedWheel<u64>,
}

// === impl ByLocal ===

impl Peer for ByLocal {
    type Timer = Option<TimerKey>;
    type Hand<'a> = Local<'a, u64>;

    const NAME: &'static str = "SharedWheel, local()";
    const HOW: &'static str = "a handle of its own for each thread";

    fn new(_threads: usize) -> Self {
        Self {
            wheel: SharedWheel::new(),
        }
    }

    fn hand(&self, _thread: usize) -> Local<'_, u64> {
        self.wheel.local()
    }

    fn drive(&self, to: u64) -> u64 {
        fire(&self.wheel, to)
    }
}

impl Hand for Local<'_, u64> {
    type Timer = Option<TimerKey>;

    fn blank() -> Self::Timer {
        None
    }

    #[inline]
    fn arm(&mut self, timer: &mut Self::Timer, at: u64, id: u64) {
        *timer = Some(Local::arm(self, Tick::new(at), id));
    }

    #[inline]
    fn cancel(&mut self, timer: &mut Self::Timer) {
        cancelled(Local::cancel(self, armed(timer.take())));
    }

    #[inline]
    fn retire(&mut self, timer: &mut Self::Timer) {
        let _ = black_box(Local::cancel(self, armed(timer.take())));
    }

    #[inline]
    fn rearm(&mut self, timer: &mut Self::Timer, at: u64, _id: u64) {
        let done = Local::rearm(self, armed(*timer), Tick::new(at));
        done.expect("the timer is armed");
    }
}

// === impl ByRef ===

impl Peer for ByRef {
    type Timer = Option<TimerKey>;
    type Hand<'a> = &'a SharedWheel<u64>;

    const NAME: &'static str = "SharedWheel, &self";
    const HOW: &'static str = "all threads call the wheel itself";

    fn new(_threads: usize) -> Self {
        Self {
            wheel: SharedWheel::new(),
        }
    }

    fn hand(&self, _thread: usize) -> &SharedWheel<u64> {
        &self.wheel
    }

    fn drive(&self, to: u64) -> u64 {
        fire(&self.wheel, to)
    }
}

impl Hand for &SharedWheel<u64> {
    type Timer = Option<TimerKey>;

    fn blank() -> Self::Timer {
        None
    }

    #[inline]
    fn arm(&mut self, timer: &mut Self::Timer, at: u64, id: u64) {
        *timer = Some(SharedWheel::arm(self, Tick::new(at), id));
    }

    #[inline]
    fn cancel(&mut self, timer: &mut Self::Timer) {
        cancelled(SharedWheel::cancel(self, armed(timer.take())));
    }

    #[inline]
    fn retire(&mut self, timer: &mut Self::Timer) {
        let _ = black_box(SharedWheel::cancel(self, armed(timer.take())));
    }

    #[inline]
    fn rearm(&mut self, timer: &mut Self::Timer, at: u64, _id: u64) {
        let done = SharedWheel::rearm(self, armed(*timer), Tick::new(at));
        done.expect("the timer is armed");
    }
}

// --- what both share ---

#[inline]
fn cancelled(cancel: Cancel<u64>) {
    black_box(cancel.value().expect("the timer is armed"));
}

fn fire(wheel: &SharedWheel<u64>, to: u64) -> u64 {
    let fired = wheel.advance(Tick::new(to), |_, expired| {
        black_box(expired.value);
    });
    fired.expect("nobody else drives") as u64
}
