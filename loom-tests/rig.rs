//! What the models share: a small wheel, a log of what fires, and a flag.

use loom::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use tickwheel::modelled::AtomicBool;
use tickwheel::{SharedWheel, Tick, TimerKey};

/// Levels of four slots, so that deadlines a few ticks away lie in coarse slots.
pub(crate) type Wheel = SharedWheel<u32, 2>;

/// A wheel at tick zero.
pub(crate) fn wheel(shards: usize) -> Arc<Wheel> {
    Arc::new(SharedWheel::builder().shards(shards).build())
}

/// A wheel that has free entries, as many as given, in its first shard. No mark is left of them,
/// and none is filed.
pub(crate) fn wheel_with_free(shards: usize, entries: u32) -> Arc<Wheel> {
    let wheel = wheel(shards);
    let keys: Vec<_> = (0..entries).map(|value| arm(&wheel, 1, value)).collect();
    for key in keys {
        assert!(wheel.cancel(key).is_cancelled());
    }
    Log::default().advance(&wheel, 0);
    wheel
}

/// Arms a timer.
pub(crate) fn arm(wheel: &Wheel, deadline: u64, value: u32) -> TimerKey {
    wheel.arm(Tick::new(deadline), value)
}

/// Moves a timer. Says whether there was one to move.
pub(crate) fn rearm(wheel: &Wheel, key: TimerKey, deadline: u64) -> bool {
    wheel.rearm(key, Tick::new(deadline)).is_ok()
}

/// A timer that has fired.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fired {
    pub(crate) value: u32,
    pub(crate) deadline: u64,
    /// Where the cursor was.
    pub(crate) tick: u64,
}

/// What has fired so far.
#[derive(Debug, Default)]
pub(crate) struct Log(Vec<Fired>);

impl Log {
    /// Advances. Nothing fires before its deadline, nor at an earlier tick than what fired last.
    pub(crate) fn advance(&mut self, wheel: &Wheel, now: u64) {
        self.advance_with(wheel, now, |_| ());
    }

    /// Advances, and lets the callback of each timer do something.
    pub(crate) fn advance_with(&mut self, wheel: &Wheel, now: u64, mut react: impl FnMut(Fired)) {
        let driven = wheel.advance(Tick::new(now), |turn, expired| {
            let fired = Fired {
                value: expired.value,
                deadline: expired.deadline.get(),
                tick: turn.now().get(),
            };
            self.note(fired);
            react(fired);
        });
        assert!(driven.is_ok(), "somebody else drives");
    }

    /// Notes down what a callback was given.
    pub(crate) fn note(&mut self, fired: Fired) {
        let last = self.0.last().map_or(0, |last| last.tick);
        assert!(
            fired.deadline <= fired.tick && last <= fired.tick,
            "{fired:?} is early, or after {last}"
        );
        self.0.push(fired);
    }

    /// Advances for the last time. Then nothing is armed, and nothing is wrong with the wheel.
    pub(crate) fn finish(&mut self, wheel: &Wheel, now: u64) {
        self.advance(wheel, now);
        assert_eq!(wheel.len(), 0, "armed at the end, with {self:?}");
        wheel.check();
    }

    /// How often the value has fired.
    pub(crate) fn times(&self, value: u32) -> usize {
        self.0.iter().filter(|fired| fired.value == value).count()
    }

    /// The firing of a value, if it has fired. It has not fired twice.
    pub(crate) fn of(&self, value: u32) -> Option<Fired> {
        assert!(self.times(value) <= 1, "{value} fired twice: {self:?}");
        self.0.iter().copied().find(|fired| fired.value == value)
    }
}

/// Says that an operation has returned: who sees that it has knows all that happened before.
#[derive(Debug)]
pub(crate) struct Returned(AtomicBool);

impl Returned {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(false)))
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Release);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Acquire)
    }
}

/// A key that goes from thread to thread and brings nothing else along.
#[derive(Debug)]
pub(crate) struct Post {
    /// Not modelled, so that the model knows of no order but that of `is_there`, which is none.
    key: std::sync::Mutex<Option<TimerKey>>,
    is_there: AtomicBool,
}

impl Post {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            key: std::sync::Mutex::new(None),
            is_there: AtomicBool::new(false),
        })
    }

    pub(crate) fn send(&self, key: TimerKey) {
        *self.key.lock().expect("nobody panics in here") = Some(key);
        self.is_there.store(true, Relaxed);
    }

    pub(crate) fn receive(&self) -> Option<TimerKey> {
        let key = || *self.key.lock().expect("nobody panics in here");
        self.is_there.load(Relaxed).then(key).flatten()
    }
}
