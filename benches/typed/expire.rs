//! Sessions that are started, and expire together.

use std::thread;
use std::time::{Duration, Instant};

use tickwheel::{ManualClock, SessionPolicy, Sessions, Timers};

use crate::batches::{quantiles, random_keys};
use crate::peers::Store;
use crate::suite::Shape;

/// A store that is told when to look for what has expired.
pub(crate) trait Expiring: Store {
    /// Waits for so long.
    fn wait(&self, span: Duration) {
        thread::sleep(span);
    }

    /// Takes out what has expired, or some of it. Says how many sessions are left.
    fn reclaim(&self) -> usize;
}

/// Sessions of this crate, whose timers this thread drives; on a clock of the system, or on one that is moved
/// by hand.
pub(crate) struct Driven<const BY_HAND: bool> {
    sessions: Sessions<u128, u128>,
    timers: Timers,
    /// The clock, if it is this one.
    clock: ManualClock,
}

/// How far a clock that is moved by hand goes from one session to the next.
const STEP: Duration = Duration::from_micros(1);

/// Starts sessions, waits until all have expired, and takes them out: nanoseconds per session for starting, and for
/// taking out.
pub(crate) fn expire<S: Expiring>(shape: &Shape) -> Vec<f64> {
    let keys = random_keys(shape.n);
    // None expires before all are started.
    let idle = Duration::from_millis(50) + shape.n as u32 * Duration::from_micros(10);
    let per_session = |clock: Instant| clock.elapsed().as_nanos() as f64 / shape.n as f64;
    let (starting, taking): (Vec<_>, Vec<_>) = (0..shape.batches)
        .map(|_| {
            let store = S::new(idle);
            let clock = Instant::now();
            for key in &keys {
                store.start(*key, !key);
            }
            store.settle();
            let starting = per_session(clock);
            store.wait(idle + Duration::from_millis(10));
            let clock = Instant::now();
            while store.reclaim() > 0 {}
            (starting, per_session(clock))
        })
        .unzip();
    [starting, taking]
        .map(|figures| quantiles(figures, [0.1])[0])
        .to_vec()
}

// === impl Driven ===

impl<const BY_HAND: bool> Store for Driven<BY_HAND> {
    type Key = u128;

    const NAME: &'static str = if BY_HAND {
        "Sessions, clock moved by hand"
    } else {
        "Sessions, clock of the system"
    };

    fn new(idle: Duration) -> Self {
        let clock = ManualClock::new();
        let mut builder = Timers::builder();
        if BY_HAND {
            builder = builder.clock(clock.clone());
        }
        let timers = builder.build_hand_driven().expect("a clock");
        Self {
            sessions: Sessions::new(&timers, SessionPolicy::new().idle(idle)),
            timers,
            clock,
        }
    }

    fn start(&self, key: u128, value: u128) -> u128 {
        if BY_HAND {
            self.clock.advance(STEP);
        }
        self.sessions.start(key, value).expect("there is room");
        key
    }

    fn get(&self, key: &u128) -> bool {
        self.sessions.get(key).is_some()
    }
}

impl<const BY_HAND: bool> Expiring for Driven<BY_HAND> {
    fn wait(&self, span: Duration) {
        if BY_HAND {
            self.clock.advance(span);
        } else {
            thread::sleep(span);
        }
    }

    /// Not one is looked for: the driver takes them out.
    fn reclaim(&self) -> usize {
        self.timers.turn_fully().expect("nobody else drives");
        self.sessions.resident()
    }
}
