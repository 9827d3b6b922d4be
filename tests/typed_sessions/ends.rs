//! Properties: each session ends once, and of that end is told once, with what it held, why, when it was to
//! expire and which it was; along a key in order; under no lock; and a panic loses nothing.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread;

use super::*;
use tickwheel::SessionGone;

#[test]
fn each_way_to_end_has_its_reason() {
    type End = fn(&Rig<u32, &'static str>, Sessions<u32, &'static str>);
    let table: [(End, EndReason); 8] = [
        (
            |rig, s| (rig.at(10), assert!(s.get(&1).is_none())).1,
            EndReason::Idle,
        ),
        (
            |rig, s| {
                rig.at(9);
                s.touch(&1).unwrap();
                rig.at(15);
                assert!(s.get(&1).is_none());
            },
            EndReason::Absolute,
        ),
        (
            |_, s| assert_eq!(*s.remove(&1).unwrap(), "v"),
            EndReason::Removed,
        ),
        (
            |_, s| assert_eq!(*s.revoke(&1).unwrap(), "v"),
            EndReason::Revoked,
        ),
        (|_, s| assert_eq!(s.revoke_all("p"), 1), EndReason::Revoked),
        (|_, s| drop(s.start(1, "w").unwrap()), EndReason::Replaced),
        (|_, s| drop(s.start(2, "w").unwrap()), EndReason::Capacity),
        (|_, s| drop(s), EndReason::Shutdown),
    ];
    for (end, reason) in table {
        let rig = keyed();
        let policy = idle(10 * S).absolute(15 * S).max_sessions(1);
        let policy = policy.when_full(tickwheel::WhenFull::EndOldest);
        let sessions = rig.sessions(policy);
        let session = sessions
            .start_with(1, "v", Some("p"), policy.limits())
            .unwrap();
        let (tx, rx) = mpsc::channel();
        tx.send(sessions).unwrap();
        end(&rig, rx.recv().unwrap());
        let ends = rig.ends();
        let first = &ends[0];
        assert_eq!((first.key, *first.value, first.reason), (1, "v", reason));
        assert_eq!(first.generation, session.generation);
        let deadline = if reason == EndReason::Absolute {
            15
        } else {
            10
        };
        assert_eq!(first.deadline, Timestamp::ZERO + deadline * S);
        let again = ends
            .iter()
            .filter(|end| end.generation == session.generation);
        assert_eq!(again.count(), 1, "{reason}");
    }
}

/// moka-rs/moka#601, moka-rs/mini-moka#14 (I15): the end of what has expired is told as that, with the start of
/// what comes after it, which never sees the old value.
#[test]
fn what_has_expired_ends_as_expired_whoever_comes_upon_it() {
    type Come = fn(&Sessions<u32, &'static str>);
    let table: [Come; 5] = [
        |s| drop(s.start(1, "new").unwrap()),
        |s| assert!(s.touch_or_start(1, || "new").unwrap().is_started()),
        |s| assert_eq!(s.remove(&1), Err(SessionGone)),
        |s| assert_eq!(s.revoke_all("p"), 0),
        |s| assert_eq!(s.len(), 0),
    ];
    for come in table {
        let rig = keyed();
        let sessions = rig.sessions(idle(5 * S));
        sessions
            .start_with(1, "old", Some("p"), idle(5 * S).limits())
            .unwrap();
        rig.at(9);
        come(&sessions);
        let ends = rig.ends();
        assert_eq!(ends.len(), 1);
        assert_eq!((*ends[0].value, ends[0].reason), ("old", EndReason::Idle));
        assert_eq!(ends[0].deadline, Timestamp::ZERO + 5 * S);
        rig.at(20);
        rig.drive();
        assert!(rig.ends().iter().all(|end| *end.value == "new"));
    }
}

/// google/guava#2110, ben-manes/caffeine#452, `stusmall/ttl_cache#18`, moka-rs/moka#544 (I20): no call is
/// needed for a value to be dropped.
#[test]
fn a_value_is_dropped_when_its_time_is_over_though_nobody_calls() {
    let rig: Rig<u32, u32> = Rig::new();
    let value = Arc::new(());
    let sessions = Sessions::new(&rig.timers, idle(10 * S));
    sessions.start(1, Arc::clone(&value)).unwrap();
    rig.at(9);
    rig.drive();
    assert_eq!(Arc::strong_count(&value), 2);
    rig.at(10);
    rig.drive();
    assert_eq!(
        Arc::strong_count(&value),
        1,
        "kept by a store that needs it no more"
    );
    drop(sessions);
}

#[test]
fn the_drivers_thread_tells_of_what_nobody_asked_for() {
    let clock = ManualClock::new();
    let timers = Timers::builder()
        .clock(clock.clone())
        .build_hand_driven()
        .unwrap();
    let (tell, told) = mpsc::channel();
    let sessions = Sessions::with_events(&timers, idle(10 * S), move |end| {
        tell.send((end.reason, thread::current().id())).unwrap();
    });
    sessions.start(1, "v").unwrap();
    sessions.start(2, "v").unwrap();
    sessions.remove(&2).unwrap();
    assert_eq!(
        told.try_recv().unwrap(),
        (EndReason::Removed, thread::current().id())
    );
    clock.advance(10 * S);
    let driver = thread::spawn(move || timers.turn().map(|_| thread::current().id()).unwrap());
    let driver = driver.join().unwrap();
    assert_eq!(told.try_recv().unwrap(), (EndReason::Idle, driver));
}

#[test]
fn a_replaced_session_is_told_of_before_start_returns() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    let old = sessions.start(1, "a").unwrap();
    let new = sessions.start(1, "b").unwrap();
    assert!(old.generation < new.generation);
    assert_eq!(rig.reasons(), [EndReason::Replaced]);
    assert_eq!((*old.value, *sessions.get(&1).unwrap().value), ("a", "b"));
}

/// A hook may use the store, under the key it is told of too.
#[test]
fn a_hook_may_start_and_end_sessions_under_its_key() {
    let rig: Rig<u32, &str> = Rig::new();
    let store: Arc<OnceLock<Sessions<u32, u32>>> = Arc::default();
    let order = Arc::new(Mutex::new(Vec::new()));
    let hook = {
        let (store, order) = (Arc::downgrade(&store), Arc::clone(&order));
        move |end: Ended<u32, Arc<u32>>| {
            order.lock().unwrap().push((*end.value, end.generation));
            let Some(store) = store.upgrade() else { return };
            let Some(store) = store.get() else { return };
            assert!(store.peek(&end.key).is_none(), "the dead is seen");
            if *end.value < 5 {
                store.start(end.key, *end.value + 1).unwrap();
                store.revoke(&end.key).unwrap();
            }
        }
    };
    let sessions = Sessions::with_events(&rig.timers, idle(10 * S), hook);
    store.set(sessions.clone()).unwrap();
    sessions.start(1, 0).unwrap();
    rig.at(10);
    assert!(sessions.get(&1).is_none());
    let order = order.lock().unwrap().clone();
    assert_eq!(
        order.iter().map(|(value, _)| *value).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5]
    );
    assert!(order.windows(2).all(|two| two[0].1 < two[1].1), "{order:?}");
    assert_eq!((sessions.len(), sessions.resident()), (0, 0));
}

/// While the end of one is told by another thread, the next under the key can start and end; its end is
/// told afterwards, by that thread, and nobody waits.
#[test]
fn ends_along_a_key_are_told_in_order_and_nobody_waits() {
    let rig: Rig<u32, &str> = Rig::new();
    let (entered, wait_entered) = mpsc::channel();
    let (go, wait_go) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let wait_go = Mutex::new(wait_go);
    let sessions = Sessions::with_events(&rig.timers, idle(10 * S), move |end| {
        if *end.value == "first" {
            entered.send(()).unwrap();
            wait_go.lock().unwrap().recv().unwrap();
        }
        tell.send((*end.value, end.reason, thread::current().id()))
            .unwrap();
    });
    sessions.start(1, "first").unwrap();
    let slow = {
        let sessions = sessions.clone();
        thread::spawn(move || {
            sessions.revoke(&1).unwrap();
            thread::current().id()
        })
    };
    wait_entered.recv().unwrap();
    for value in ["second", "third"] {
        assert!(sessions.touch_or_start(1, || value).unwrap().is_started());
        assert_eq!(*sessions.remove(&1).unwrap(), value);
    }
    sessions.start(2, "elsewhere").unwrap();
    sessions.remove(&2).unwrap();
    assert_eq!(told.try_recv().unwrap().0, "elsewhere");
    assert!(told.try_recv().is_err());
    go.send(()).unwrap();
    let teller = slow.join().unwrap();
    let ends: Vec<_> = told.try_iter().collect();
    let expected = [
        ("first", EndReason::Revoked, teller),
        ("second", EndReason::Removed, teller),
        ("third", EndReason::Removed, teller),
    ];
    assert_eq!(ends, expected);
    assert_eq!(sessions.resident(), 0);
}

#[test]
fn a_panic_in_a_hook_loses_nothing() {
    let rig: Rig<u32, &str> = Rig::new();
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let sessions = Sessions::with_events(&rig.timers, idle(10 * S), move |end| {
        count.fetch_add(1, Ordering::Relaxed);
        assert!(*end.value % 10 != 3, "as ordered");
    });
    for key in 0..100 {
        let limits = idle(10 * S).limits();
        sessions.start_with(key, key, Some("p"), limits).unwrap();
    }
    let all = catch_unwind(AssertUnwindSafe(|| sessions.revoke_all("p")));
    assert!(all.is_err(), "the panic is passed on");
    assert_eq!(told.load(Ordering::Relaxed), 100);
    assert_eq!(
        (sessions.len(), sessions.resident(), sessions.principals()),
        (0, 0, 0)
    );

    for key in 0..100 {
        sessions.start(key, key).unwrap();
    }
    rig.at(10);
    rig.drive(); // the driver catches it
    assert_eq!(told.load(Ordering::Relaxed), 200);
    assert_eq!(sessions.resident(), 0);
    assert_eq!(rig.timers.stats().panics, 1);

    sessions.start(3, 3).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| sessions.remove(&3))).is_err());
    assert!(!sessions.contains(&3));
    for key in 0..10 {
        sessions.start(key, key).unwrap();
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(sessions))).is_err());
    assert_eq!(told.load(Ordering::Relaxed), 211);
}

#[test]
fn of_many_that_come_due_together_those_that_were_touched_end_later() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    for key in 0..200 {
        sessions.start(key, "v").unwrap();
    }
    rig.at(5);
    for key in (0..200).filter(|key| key % 2 == 1) {
        sessions.touch(&key).unwrap();
    }
    rig.at(10);
    rig.drive();
    let keys = |ends: Vec<Ended<u32, _>>| -> BTreeSet<u32> {
        let len = ends.len();
        let keys: BTreeSet<u32> = ends.into_iter().map(|end| end.key).collect();
        assert_eq!(keys.len(), len, "one has ended twice");
        keys
    };
    let expected = |rest| -> BTreeSet<u32> { (0..200).filter(|key| key % 4 == rest).collect() };
    let even: BTreeSet<u32> = (0..200).filter(|key| key % 2 == 0).collect();
    assert_eq!(keys(rig.ends()), even);
    assert_eq!((sessions.len(), sessions.resident()), (100, 100));

    for key in (0..200).filter(|key| key % 4 == 1) {
        sessions.remove(&key).unwrap();
    }
    assert_eq!(keys(rig.ends()), expected(1));
    assert_eq!((sessions.len(), sessions.resident()), (50, 50));
    rig.at(15);
    rig.drive();
    assert_eq!(keys(rig.ends()), expected(3));
    assert_eq!((sessions.len(), sessions.resident()), (0, 0));
}

#[test]
fn a_panic_in_make_starts_nothing() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S).max_sessions(1));
    let made = catch_unwind(AssertUnwindSafe(|| {
        sessions.touch_or_start(1, || panic!("as ordered"))
    }));
    assert!(made.is_err());
    assert!(sessions.touch_or_start(1, || "v").unwrap().is_started());
    assert_eq!(sessions.len(), 1);
}

#[test]
fn keys_that_panic_when_compared_leave_no_session_behind() {
    #[derive(Clone, Debug)]
    struct Key(u32, Arc<AtomicUsize>);
    impl std::hash::Hash for Key {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            let left = self.1.load(Ordering::Relaxed);
            self.1.store(left.saturating_sub(1), Ordering::Relaxed);
            assert!(left != 1, "as ordered");
            self.0.hash(state);
        }
    }
    impl PartialEq for Key {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for Key {}

    let rig: Rig<u32, &str> = Rig::new();
    let fuse = Arc::new(AtomicUsize::new(0));
    for hashes in 1..4 {
        let sessions = Sessions::new(&rig.timers, idle(10 * S).max_sessions(1));
        let key = Key(1, Arc::clone(&fuse));
        fuse.store(hashes, Ordering::Relaxed);
        let started = catch_unwind(AssertUnwindSafe(|| {
            sessions.start(key.clone(), "v").is_ok()
        }));
        fuse.store(0, Ordering::Relaxed);
        assert_eq!(sessions.len(), usize::from(started.is_ok()), "{hashes}");
        assert_eq!(sessions.contains(&key), started.is_ok());
    }
}

#[test]
fn a_store_that_is_dropped_ends_all_that_live_once() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S));
    for key in 0..10 {
        sessions.start(key, "v").unwrap();
        rig.go(S);
    }
    let clone = sessions.clone();
    drop(sessions);
    assert!(rig.ends().is_empty(), "there is another handle");
    drop(clone);
    let ends = rig.ends();
    let expected: Vec<_> = (0..10)
        .map(|key| {
            (
                key,
                if key == 0 {
                    EndReason::Idle
                } else {
                    EndReason::Shutdown
                },
            )
        })
        .collect();
    assert_eq!(
        ends.iter()
            .map(|end| (end.key, end.reason))
            .collect::<Vec<_>>(),
        expected
    );
    rig.at(100);
    rig.drive(); // what is left of its timers wakes nobody
    assert!(rig.ends().is_empty());
    assert!(rig.timers.is_empty());
}
