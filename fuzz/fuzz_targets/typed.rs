//! Sessions, stores of sessions, leases and one-time codes do what the plain models of `tests/typed_linearizable` do, on
//! programs that come as bytes: one thread, which also moves the clock and drives.

#![no_main]

#[path = "../../tests/typed_linearizable/codes.rs"]
mod codes;
#[path = "../../tests/typed_linearizable/kind.rs"]
mod kind;
#[path = "../../tests/typed_linearizable/leases.rs"]
mod leases;
#[path = "../../tests/typed_linearizable/sessions.rs"]
mod sessions;
#[path = "../../tests/typed_linearizable/store.rs"]
mod store;

/// What the models are used by elsewhere.
mod race {
    /// There is nobody to wait for.
    pub(crate) fn dawdle() {}
}

use kind::{Kind, Model, nanos};
use libfuzzer_sys::fuzz_target;
use tickwheel::{Clock, ManualClock, Timers};

/// When a program leaves a thing this many states that it may be in, it ends: each is compared with each.
const MANY: usize = 500;

/// Everything that a thing may be after what was seen of it.
struct Possible<M>(Vec<M>);

impl<M: Model> Possible<M> {
    fn after(&mut self, now: u64, did: &M::Did) {
        let before = std::mem::take(&mut self.0);
        for after in before.iter().flat_map(|model| model.after(now, did)) {
            if !self.0.contains(&after) {
                self.0.push(after);
            }
        }
        assert!(!self.0.is_empty(), "at {now}: {did:?} of {before:?}");
    }
}

fn run<K: Kind>(bytes: &[u8]) {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone());
    let timers = timers.shards(1).build_hand_driven().unwrap();
    let thing = K::new(&timers);
    let mut possible = Possible(vec![K::Model::default()]);
    let mut bytes = bytes.iter().copied();
    // What it does not say, it says with zeros.
    for _ in 0..80 {
        let Some(byte) = bytes.next() else { break };
        if possible.0.len() > MANY {
            break;
        }
        match byte % 4 {
            0 => drop(clock.advance(nanos(1 + u64::from(byte >> 2) % 12))),
            1 => {
                timers.turn_fully().unwrap();
                possible.after(clock.now().as_nanos(), &K::turned());
            }
            _ => {
                let mut pick = |end| u64::from(bytes.next().unwrap_or(0)) % end;
                for did in thing.act(&mut pick) {
                    possible.after(clock.now().as_nanos(), &did);
                }
            }
        }
    }
    possible.after(clock.now().as_nanos(), &thing.end());
    assert!(timers.is_empty() || timers.turn_fully().is_ok());
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, program)) = bytes.split_first() else {
        return;
    };
    match kind % 4 {
        0 => run::<sessions::Real>(program),
        1 => run::<store::Real>(program),
        2 => run::<leases::Real>(program),
        _ => run::<codes::Real>(program),
    }
});
