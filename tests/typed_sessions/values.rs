//! Properties: a value is dropped once, with the last who can see it, and what was seen does not change.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use tickwheel::SessionLimits;

/// The wheel's wakers do not keep a store, nor what it holds.
#[test]
fn values_are_dropped_once_and_with_the_store() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let rig: Rig<u32, &str> = Rig::new();
    let drops = Arc::new(AtomicUsize::new(0));
    let new = || Counted(Arc::clone(&drops));
    let sessions = Sessions::new(&rig.timers, idle(10 * S));
    let mut made = 0;
    for key in 0..100_u32 {
        let seen = sessions.start(key % 40, new()).unwrap();
        made += 1;
        if key % 3 == 0 {
            drop(sessions.update(&(key % 40), &seen, new()).unwrap());
            made += 1;
        }
        if key % 5 == 0 {
            drop(sessions.update(&(key % 40), &seen, new())); // a conflict, or not
            made += 1;
        }
        if key % 7 == 0 {
            drop(sessions.remove(&(key % 40)).unwrap());
        }
        drop(seen);
        rig.go(S / 4);
    }
    let live = sessions.len();
    assert_eq!(drops.load(Ordering::Relaxed), made - live);
    drop(sessions);
    assert_eq!(drops.load(Ordering::Relaxed), made);
}

#[test]
fn snapshots_outlive_their_session_and_do_not_change() {
    let rig = keyed();
    let sessions = rig.sessions(SessionPolicy::new());
    let seen = sessions
        .start_with(1, "v", None, SessionLimits::NONE)
        .unwrap();
    let new = sessions.modify(&1, |_| "w").unwrap();
    sessions.remove(&1).unwrap();
    assert_eq!(
        (*seen.value, seen.version, *new.value, new.version),
        ("v", 0, "w", 1)
    );
    assert_eq!(*rig.ends()[0].value, "w");
}
