//! What is started while a snapshot is being restored.
//!
//! Properties: it stays, and what was to be restored in its place is told of, once.
//!
//! Nobody should do so. It is done here by a key that calls back when it is hashed.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tickwheel::{EndReason, Ended, Leases, SessionPolicy, Sessions};

use crate::{Machine, Told, secs};

/// A key that may call back.
#[derive(Clone)]
struct Key(&'static str, Arc<Bell>);

/// Calls once, when a key named `a` is hashed as often as that.
#[derive(Default)]
struct Bell {
    left: AtomicUsize,
    call: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Bell {
    fn set(&self, left: usize, call: impl FnOnce() + Send + 'static) {
        *self.call.lock().unwrap() = Some(Box::new(call));
        // ORDERING: Relaxed. One thread.
        self.left.store(left, Ordering::Relaxed);
    }

    fn hashed(&self) {
        // ORDERING: Relaxed, as above.
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            // ORDERING: Relaxed, as above.
            self.left.store(left - 1, Ordering::Relaxed);
        }
        if left == 1 {
            let call = self.call.lock().unwrap().take().unwrap();
            call();
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
        if self.0 == "a" {
            self.1.hashed();
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Once when the snapshot is checked, and then when it is restored.
const WHEN_RESTORED: usize = 2;

#[test]
fn a_session_that_was_started_meanwhile_stays() {
    let (machine, bell) = (Machine::noon(), Arc::new(Bell::default()));
    let [a, b] = ["a", "b"].map(|name| Key(name, Arc::clone(&bell)));
    let policy = SessionPolicy::new().idle(secs(60));
    let old = Sessions::new(&machine.timers, policy);
    old.start(a.clone(), "old").unwrap();
    old.start(b.clone(), "old").unwrap();
    let snapshot = old.snapshot_at(machine.anchor);

    let told = Told::default();
    let log = told.clone();
    let sessions = Sessions::with_events(
        &machine.timers,
        policy,
        move |ended: Ended<Key, Arc<&str>>| {
            // What lives ends with the store.
            if ended.reason != EndReason::Shutdown {
                assert_eq!(
                    (ended.key.0, *ended.value, ended.generation),
                    ("b", "old", 2)
                );
                log.add(ended.reason, ended.deadline);
            }
        },
    );
    let (other, key) = (sessions.clone(), b.clone());
    bell.set(WHEN_RESTORED, move || {
        assert_eq!(other.start(key, "new").unwrap().generation, 3);
    });
    let report = sessions.restore(snapshot, machine.options()).unwrap();
    assert_eq!(
        (report.restored, report.occupied, report.expired),
        (1, 1, 0)
    );
    assert_eq!(
        told.take(),
        [(EndReason::Replaced, machine.now() + secs(60))]
    );
    let values = [a, b].map(|key| *sessions.peek(&key).unwrap().value);
    assert_eq!((values, sessions.len()), (["old", "new"], 2));
}

#[test]
fn a_lease_that_was_granted_meanwhile_stays() {
    let (machine, bell) = (Machine::noon(), Arc::new(Bell::default()));
    let [a, b] = ["a", "b"].map(|name| Key(name, Arc::clone(&bell)));
    let old: Leases<Key> = Leases::new(&machine.timers);
    let _one = old.try_acquire(a.clone(), "old", secs(60)).unwrap();
    let _two = old.try_acquire(b.clone(), "old", secs(60)).unwrap();
    let snapshot = old.snapshot_at(machine.anchor);

    let told = Told::default();
    let log = told.clone();
    let leases: Leases<Key> = Leases::<Key, String>::builder()
        .on_end(move |ended| log.add(ended.reason, ended.deadline))
        .build(&machine.timers);
    let (other, resource) = (leases.clone(), b.clone());
    bell.set(WHEN_RESTORED, move || {
        let grant = other.try_acquire(resource, "new", secs(60)).unwrap();
        assert_eq!(grant.token().get(), 3);
    });
    let report = leases.restore(snapshot, machine.options()).unwrap();
    assert_eq!(
        (report.restored, report.occupied, report.expired),
        (1, 1, 0)
    );
    assert_eq!(
        told.take(),
        [(EndReason::Revoked, machine.now() + secs(60))]
    );
    let holders = [a, b].map(|resource| leases.holder(&resource).unwrap());
    assert_eq!(
        holders.map(|holding| holding.holder().clone()),
        ["old", "new"]
    );
}
