//! Keys, values and holders that are counted, and that panic when they are dropped, now and then; as do hooks.

use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::{future::Future, pin::Pin};

use tickwheel::{Leases, SessionPolicy, SessionStore, Sessions, Shutdown};

use super::*;

/// How often each was dropped.
struct Ledger {
    made: AtomicUsize,
    drops: Vec<AtomicU8>,
    /// One of so many panics when it is dropped; none, with 0.
    bad: usize,
}

/// Something that is counted. Clones are others.
struct Counted {
    number: usize,
    name: u8,
    ledger: Arc<Ledger>,
}

impl Ledger {
    fn new(bad: usize) -> Arc<Self> {
        Arc::new(Self {
            made: AtomicUsize::new(0),
            drops: (0..200_000).map(|_| AtomicU8::new(0)).collect(),
            bad,
        })
    }

    fn make(self: &Arc<Self>, name: u8) -> Counted {
        Counted {
            number: self.made.fetch_add(1, Ordering::Relaxed),
            name,
            ledger: Arc::clone(self),
        }
    }

    /// Or not at all, if there are bad ones: where a destructor has panicked what was to be dropped next by the same
    /// owner may be leaked. That is so for keys, which a map drops in batches of its own.
    fn assert_none_dropped_twice(&self, what: &str) {
        let made = self.made.load(Ordering::Relaxed);
        let most = self.drops[..made]
            .iter()
            .map(|drops| drops.load(Ordering::Relaxed));
        assert!(most.max() == Some(1), "{what}: one was dropped twice");
    }

    fn assert_each_dropped_once(&self, what: &str) {
        let made = self.made.load(Ordering::Relaxed);
        let drops = self.drops[..made].iter().enumerate();
        let drops = drops.map(|(number, drops)| (number, drops.load(Ordering::Relaxed)));
        let wrong: Vec<_> = drops.filter(|(_, drops)| *drops != 1).collect();
        assert!(wrong.is_empty(), "{what}, of {made}: {wrong:?}");
        assert!(made > 100, "{what}: only {made} were made");
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.ledger.make(self.name)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let before = self.ledger.drops[self.number].fetch_add(1, Ordering::Relaxed);
        let bad = self.ledger.bad > 0 && self.number % self.ledger.bad == 1;
        if bad && before == 0 && !thread::panicking() {
            resume_unwind(Box::new("a destructor"));
        }
    }
}

impl Hash for Counted {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.name.hash(state);
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Counted {}

/// Whatever comes of it.
fn try_it(f: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(f));
}

/// Panics one time in eleven.
fn moody(count: &AtomicUsize) {
    if count.fetch_add(1, Ordering::Relaxed) % 11 == 5 {
        resume_unwind(Box::new("a hook"));
    }
}

fn sessions(bad_keys: usize, bad_values: usize) {
    let (keys, values) = (Ledger::new(bad_keys), Ledger::new(bad_values));
    let (clock, timers) = hand_driven();
    let told = AtomicUsize::new(0);
    let policy = SessionPolicy::new().idle(nanos(30)).max_sessions(12);
    let sessions = Sessions::with_events(&timers, policy, move |end| {
        moody(&told);
        drop(end);
    });
    race(8, |n| {
        for step in 0..300 {
            let key = || keys.make(((n * 7 + step * 3) % 16) as u8);
            try_it(|| match (n + step) % 9 {
                0 | 1 => drop(sessions.start(key(), values.make(0))),
                2 | 3 => drop(sessions.touch_or_start(key(), || values.make(0))),
                4 => drop(sessions.modify(&key(), |_| values.make(0))),
                5 => drop(sessions.remove(&key())),
                6 => drop(sessions.get(&key())),
                7 => {
                    clock.advance(nanos(3));
                }
                _ => drop(timers.turn()),
            });
        }
    });
    try_it(|| drop(sessions));
    try_it(|| drop(timers));
    if bad_keys > 0 {
        values.assert_none_dropped_twice("values");
        return keys.assert_none_dropped_twice("keys");
    }
    values.assert_each_dropped_once("values");
    keys.assert_each_dropped_once("keys");
}

#[test]
fn keys_and_values_of_sessions_are_dropped_once_though_hooks_panic() {
    sessions(0, 0);
}

#[test]
fn values_of_sessions_are_dropped_once_though_some_panic() {
    sessions(0, 13);
}

#[test]
fn keys_of_sessions_that_panic_are_not_dropped_twice() {
    sessions(17, 0);
}

#[test]
fn values_of_a_store_are_dropped_once_whatever_panics() {
    for bad in [0, 13] {
        let values = Ledger::new(bad);
        let (clock, timers) = hand_driven();
        let told = AtomicUsize::new(0);
        let policy = SessionPolicy::new().idle(nanos(30)).max_per_principal(4);
        let store = SessionStore::with_events(&timers, policy, move |_| moody(&told)).unwrap();
        race(8, |n| {
            let mut id = None;
            for step in 0..300 {
                let name = ["ada", "bob"][step % 2];
                try_it(|| match (&id, (n + step) % 8) {
                    (_, 0) | (None, _) => {
                        let made = store.create(name, values.make(0));
                        id = made.ok().map(|(id, _)| id);
                    }
                    (Some(old), 1) => id = store.cycle_id(old).ok(),
                    (Some(id), 2) => drop(store.modify(id, |_| values.make(0))),
                    (Some(id), 3) => drop(store.revoke(id)),
                    (_, 4) if step % 5 == 0 => drop(store.revoke_all(name)),
                    (Some(id), 5) => drop(store.get(id)),
                    (_, 6) => drop(clock.advance(nanos(3))),
                    _ => drop(timers.turn()),
                });
            }
        });
        try_it(|| drop(store));
        try_it(|| drop(timers));
        values.assert_each_dropped_once("values");
    }
}

fn leases(bad_names: usize, bad_holders: usize) {
    let (names, holders) = (Ledger::new(bad_names), Ledger::new(bad_holders));
    let (clock, timers) = hand_driven();
    let told = AtomicUsize::new(0);
    let leases = Leases::<Counted, Counted>::builder()
        .lock_delay(nanos(2))
        .on_end(move |_| moody(&told))
        .build(&timers);
    race(8, |n| {
        let mut waiting = Vec::new();
        for step in 0..300 {
            let name = || names.make((step % 5) as u8);
            let holder = || holders.make(0);
            try_it(|| match (n + step) % 8 {
                0..3 => {
                    if let Ok(grant) = leases.try_acquire(name(), holder(), nanos(20)) {
                        match step % 3 {
                            0 => drop(leases.release(&grant)),
                            1 => drop(leases.renew(&grant)),
                            _ => {}
                        }
                    }
                }
                3 => drop(leases.revoke(&name())),
                4 => {
                    let mut acquire = leases.acquire(name(), holder(), nanos(20));
                    let mut cx = Context::from_waker(Waker::noop());
                    if Pin::new(&mut acquire).poll(&mut cx).is_pending() {
                        waiting.push(acquire);
                    }
                }
                5 if waiting.len() > 3 => drop(waiting.swap_remove(0)),
                6 => drop(clock.advance(nanos(3))),
                _ => drop(timers.turn()),
            });
        }
        for acquire in waiting {
            try_it(|| drop(acquire));
        }
    });
    try_it(|| drop(timers.shutdown(Shutdown::Drop)));
    try_it(|| drop(leases));
    try_it(|| drop(timers));
    if bad_names > 0 {
        holders.assert_none_dropped_twice("holders");
        return names.assert_none_dropped_twice("names");
    }
    holders.assert_each_dropped_once("holders");
    names.assert_each_dropped_once("names");
}

#[test]
fn names_and_holders_of_leases_are_dropped_once_though_hooks_panic() {
    leases(0, 0);
}

#[test]
fn holders_of_leases_are_dropped_once_though_some_panic() {
    leases(0, 13);
}

#[test]
fn names_of_leases_that_panic_are_not_dropped_twice() {
    leases(17, 0);
}
