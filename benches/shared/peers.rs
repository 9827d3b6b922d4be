//! What is compared: the traits, and the single-owner wheel behind locks.
//!
//! The value of a timer is its number, a `u64`. Times are milliseconds from the peer's
//! beginning.

use std::cell::RefCell;
use std::hint::black_box;

use parking_lot::Mutex;
use tickwheel::{Tick, TimerKey, Wheel};

/// Something that several threads arm timers with.
pub(crate) trait Peer: Sized {
    /// What a caller keeps of a timer, armed or not.
    type Timer;

    /// What a thread has of the peer.
    type Hand<'a>: Hand<Timer = Self::Timer>
    where
        Self: 'a;

    const NAME: &'static str;

    /// How it is used here.
    const HOW: &'static str;

    /// For so many threads.
    fn new(threads: usize) -> Self;

    /// The hand of one of them.
    fn hand(&self, thread: usize) -> Self::Hand<'_>;

    /// What `thread` cancels timers of the first thread by.
    fn canceller(&self, thread: usize) -> Self::Hand<'_> {
        self.hand(thread)
    }

    /// Moves time to `to`, as the one thread does that drives all timers; says how many fired.
    ///
    /// A peer that sees to that itself does nothing.
    fn drive(&self, to: u64) -> u64;
}

pub(crate) trait Hand {
    type Timer;

    /// Storage for a timer that is not armed.
    fn blank() -> Self::Timer;

    /// Arms a timer that is not armed.
    fn arm(&mut self, timer: &mut Self::Timer, at: u64, id: u64);

    /// The same for a deadline that may have passed by then.
    #[inline]
    fn arm_soon(&mut self, timer: &mut Self::Timer, at: u64, id: u64) {
        self.arm(timer, at, id);
    }

    fn cancel(&mut self, timer: &mut Self::Timer);

    /// Cancels a timer, or lets go of one that has fired meanwhile.
    fn retire(&mut self, timer: &mut Self::Timer);

    /// Cancels and arms again, unless the peer knows better.
    #[inline]
    fn rearm(&mut self, timer: &mut Self::Timer, at: u64, id: u64) {
        self.cancel(timer);
        self.arm(timer, at, id);
    }

    /// Waits until all that was asked for is done, where that happens elsewhere.
    fn settle(&mut self) {}
}

/// One wheel, one lock.
pub(crate) struct Single {
    wheel: Mutex<Wheel<u64>>,
}

/// A wheel for each thread, with a lock of its own, since another thread drives them all.
pub(crate) struct PerThread {
    wheels: Vec<Apart<Mutex<Wheel<u64>>>>,
}

/// On cache lines of its own, and not on the neighbour that is fetched with them.
#[repr(align(128))]
struct Apart<T>(T);

/// A thread's way to a wheel behind a lock.
pub(crate) struct Locked<'a> {
    wheel: &'a Mutex<Wheel<u64>>,
}

/// The wheel without a lock, for one thread.
pub(crate) struct Owned {
    wheel: RefCell<Wheel<u64>>,
}

pub(crate) struct Owner<'a> {
    wheel: &'a RefCell<Wheel<u64>>,
}

// === impl Single ===

impl Peer for Single {
    type Timer = Option<TimerKey>;
    type Hand<'a> = Locked<'a>;

    const NAME: &'static str = "Mutex<Wheel>";
    const HOW: &'static str = "this crate's wheel for one owner behind one lock of `parking_lot`";

    fn new(_threads: usize) -> Self {
        Self {
            wheel: Mutex::new(Wheel::new()),
        }
    }

    fn hand(&self, _thread: usize) -> Locked<'_> {
        Locked { wheel: &self.wheel }
    }

    fn drive(&self, to: u64) -> u64 {
        fire(&mut self.wheel.lock(), to)
    }
}

// === impl PerThread ===

impl Peer for PerThread {
    type Timer = Option<TimerKey>;
    type Hand<'a> = Locked<'a>;

    const NAME: &'static str = "Mutex<Wheel> per thread";
    const HOW: &'static str = "such a wheel and lock for each thread, all driven by one of them";

    fn new(threads: usize) -> Self {
        let wheel = |_| Apart(Mutex::new(Wheel::new()));
        Self {
            wheels: (0..threads).map(wheel).collect(),
        }
    }

    fn hand(&self, thread: usize) -> Locked<'_> {
        let Apart(wheel) = &self.wheels[thread];
        Locked { wheel }
    }

    /// A timer lies in the wheel of the thread that armed it.
    fn canceller(&self, _thread: usize) -> Locked<'_> {
        self.hand(0)
    }

    fn drive(&self, to: u64) -> u64 {
        let wheels = self.wheels.iter();
        wheels.map(|Apart(wheel)| fire(&mut wheel.lock(), to)).sum()
    }
}

// === impl Locked ===

impl Hand for Locked<'_> {
    type Timer = Option<TimerKey>;

    fn blank() -> Self::Timer {
        None
    }

    #[inline]
    fn arm(&mut self, timer: &mut Self::Timer, at: u64, id: u64) {
        *timer = Some(self.wheel.lock().arm(Tick::new(at), id));
    }

    #[inline]
    fn cancel(&mut self, timer: &mut Self::Timer) {
        let key = armed(timer.take());
        black_box(self.wheel.lock().cancel(key).expect("the timer is armed"));
    }

    #[inline]
    fn retire(&mut self, timer: &mut Self::Timer) {
        let key = armed(timer.take());
        black_box(self.wheel.lock().cancel(key));
    }

    #[inline]
    fn rearm(&mut self, timer: &mut Self::Timer, at: u64, _id: u64) {
        let key = armed(*timer);
        let done = self.wheel.lock().rearm(key, Tick::new(at));
        done.expect("the timer is armed");
    }
}

// === impl Owned ===

impl Peer for Owned {
    type Timer = Option<TimerKey>;
    type Hand<'a> = Owner<'a>;

    const NAME: &'static str = "Wheel, one owner";
    const HOW: &'static str = "this crate's wheel without a lock, for one thread";

    fn new(_threads: usize) -> Self {
        Self {
            wheel: RefCell::default(),
        }
    }

    fn hand(&self, _thread: usize) -> Owner<'_> {
        Owner { wheel: &self.wheel }
    }

    fn drive(&self, to: u64) -> u64 {
        fire(&mut self.wheel.borrow_mut(), to)
    }
}

// === impl Owner ===

impl Hand for Owner<'_> {
    type Timer = Option<TimerKey>;

    fn blank() -> Self::Timer {
        None
    }

    #[inline]
    fn arm(&mut self, timer: &mut Self::Timer, at: u64, id: u64) {
        *timer = Some(self.wheel.borrow_mut().arm(Tick::new(at), id));
    }

    #[inline]
    fn cancel(&mut self, timer: &mut Self::Timer) {
        let value = self.wheel.borrow_mut().cancel(armed(timer.take()));
        black_box(value.expect("the timer is armed"));
    }

    #[inline]
    fn retire(&mut self, timer: &mut Self::Timer) {
        black_box(self.wheel.borrow_mut().cancel(armed(timer.take())));
    }
}

// --- what they share ---

/// The key of a timer that is armed.
#[inline]
pub(crate) fn armed<K>(timer: Option<K>) -> K {
    timer.expect("the timer is armed")
}

fn fire(wheel: &mut Wheel<u64>, to: u64) -> u64 {
    let fired = wheel.advance(Tick::new(to), |_, expired| {
        black_box(expired.value);
    });
    fired as u64
}
