//! Sessions: what lives, until when, and what is told of its end.
//!
//! | file | properties |
//! |---|---|
//! | `deadlines` | every read path ends a session at exactly its deadline; touches never revive, shorten or pass the absolute one |
//! | `clocks` | one clock for reads, writes and the driver; what has expired stays so |
//! | `values` | values are dropped once; what was seen does not change |
//! | `ends` | one end each, with its reason, in order along a key, under no lock, whatever panics |
//! | `rooms` | caps count the living; the dead make room first |
//! | `ids` | ids are secret, made by the store, cycled in one step |
//! | `bad_input` | what is no id, no name, no time, or too long |
//! | `pressed` | ends in order, a full runtime, slow callers, ids and keys that go |
//! | `replaced` | what is replaced, and what replaces it, count as one |
//! | `races` | many threads on one session and on one key |
//! | `model` | random programs do what a map of deadlines does |

mod bad_input;
mod clocks;
mod deadlines;
mod ends;
mod ids;
mod model;
mod pressed;
mod races;
mod replaced;
mod rooms;
mod shown;
mod values;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tickwheel::{
    Clock, EndReason, Ended, ManualClock, SessionPolicy, SessionStore, Sessions, Timers, Timestamp,
};

/// A second: the unit of most tests.
const S: Duration = Duration::from_secs(1);
/// The smallest time there is.
const NANO: Duration = Duration::from_nanos(1);

/// A clock, a runtime that nobody drives unless a test does, and what was told.
struct Rig<K, V> {
    clock: ManualClock,
    timers: Timers,
    told: Told<K, V>,
}

type Told<K, V> = Arc<Mutex<Vec<Ended<K, Arc<V>>>>>;

impl<K: Clone + Send + 'static, V: Send + Sync + 'static> Rig<K, V> {
    fn new() -> Self {
        let clock = ManualClock::new();
        let timers = Timers::builder().clock(clock.clone()).build_hand_driven();
        Self {
            clock,
            timers: timers.unwrap(),
            told: Arc::default(),
        }
    }

    fn hook(&self) -> impl Fn(Ended<K, Arc<V>>) + Send + Sync + 'static {
        let told = Arc::clone(&self.told);
        move |end| told.lock().unwrap().push(end)
    }

    /// Takes what was told since it was last asked.
    fn ends(&self) -> Vec<Ended<K, Arc<V>>> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    /// Takes the reasons that were told.
    fn reasons(&self) -> Vec<EndReason> {
        self.ends().into_iter().map(|end| end.reason).collect()
    }

    fn go(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Moves the clock to `seconds` seconds.
    fn at(&self, seconds: u32) {
        self.clock.set(Timestamp::ZERO + seconds * S);
    }

    /// What the driver would do.
    fn drive(&self) -> usize {
        self.timers.turn_fully().unwrap().fired
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl Rig<u32, &'static str> {
    fn sessions(&self, policy: SessionPolicy) -> Sessions<u32, &'static str> {
        Sessions::with_events(&self.timers, policy, self.hook())
    }
}

impl Rig<Option<Arc<str>>, &'static str> {
    fn store(&self, policy: SessionPolicy) -> SessionStore<&'static str> {
        SessionStore::with_events(&self.timers, policy, self.hook()).unwrap()
    }
}

fn keyed() -> Rig<u32, &'static str> {
    Rig::new()
}

fn by_id() -> Rig<Option<Arc<str>>, &'static str> {
    Rig::new()
}

fn idle(limit: Duration) -> SessionPolicy {
    SessionPolicy::new().idle(limit)
}
