//! Properties: ends are told in order whatever is dead at birth, and whatever panics; the driver comes by in a full runtime; who is refused or fails
//! has ended nobody; what was replaced goes.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock, mpsc};
use std::thread;

use super::*;
use tickwheel::{SessionLimits, StartError, WhenFull};

const DEAD: SessionLimits = SessionLimits {
    idle: Some(Duration::ZERO),
    absolute: None,
};

fn for_long(seconds: u32) -> SessionLimits {
    SessionLimits {
        idle: Some(seconds * S),
        absolute: None,
    }
}

type Itself = Arc<OnceLock<Sessions<u32, u32>>>;

/// A store whose hook can use it, while what is returned is there.
fn with_itself(
    hook: impl Fn(&Sessions<u32, u32>, u32) + Send + Sync + 'static,
) -> (Itself, Rig<u32, u32>) {
    let rig: Rig<u32, u32> = Rig::new();
    let itself: Arc<OnceLock<Sessions<u32, u32>>> = Arc::default();
    let (within, tell) = (Arc::downgrade(&itself), rig.hook());
    let sessions = Sessions::with_events(&rig.timers, SessionPolicy::new(), move |end| {
        let value = *end.value;
        tell(end);
        hook(within.upgrade().unwrap().get().unwrap(), value);
    });
    assert!(itself.set(sessions).is_ok());
    (itself, rig)
}

fn values(rig: &Rig<u32, u32>) -> Vec<u32> {
    rig.ends().iter().map(|end| *end.value).collect()
}

#[test]
fn sessions_that_are_dead_at_birth_are_told_of_in_order_with_those_that_live() {
    let (itself, rig) = with_itself(|sessions, value| {
        if value == 1 {
            for dead in [2, 3] {
                sessions.start_with(7, dead, None, DEAD).unwrap();
            }
            sessions.start(7, 4).unwrap();
            sessions.remove(&7).unwrap();
        }
    });
    let sessions = itself.get().unwrap();
    sessions.start(7, 1).unwrap();
    sessions.remove(&7).unwrap();
    assert_eq!(values(&rig), [1, 2, 3, 4]);
    assert_eq!(sessions.resident(), 0);
}

#[test]
fn one_that_is_dead_at_birth_is_told_of_before_the_next_one_under_its_key() {
    let (itself, rig) = with_itself(|sessions, value| {
        if value == 1 {
            sessions.start(7, 3).unwrap();
            sessions.remove(&7).unwrap();
        }
    });
    let sessions = itself.get().unwrap();
    sessions.start(7, 1).unwrap();
    sessions.start_with(7, 2, None, DEAD).unwrap();
    assert_eq!(values(&rig), [1, 2, 3]);
}

#[test]
fn a_store_takes_one_place_in_a_full_runtime_and_keeps_it_while_anything_lives() {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone()).limit(1);
    let timers = timers.build_hand_driven().unwrap();
    let other = timers.arm(S, |_| {}).unwrap();
    let rig: Rig<u32, u32> = Rig::new();
    let sessions = Sessions::with_events(&timers, SessionPolicy::new(), rig.hook());
    let refused = sessions.start_with(1, 1, None, for_long(10)).unwrap_err();
    assert_eq!(refused, StartError::Full);
    assert!(sessions.is_empty());

    let _ = timers.cancel(other);
    for key in 0..100 {
        sessions
            .start_with(key, key, None, for_long(200 - key))
            .unwrap();
    }
    assert_eq!(timers.len(), 1);
    let mut told = 0;
    while told < 100 {
        // Nobody else gets the place, though the store's timer fires each time.
        assert!(timers.arm(S, |_| {}).is_err());
        assert!(timers.advance_to_next(&clock) > 0, "{told} were told of");
        told += rig.ends().len();
    }
    assert!(timers.is_empty());
    assert!(timers.arm(S, |_| {}).is_ok());
}

#[test]
fn a_store_that_was_empty_has_the_driver_come_by_again() {
    let rig: Rig<u32, u32> = Rig::new();
    let sessions = Sessions::with_events(&rig.timers, SessionPolicy::new(), rig.hook());
    sessions.start_with(1, 1, None, for_long(10)).unwrap();
    sessions.remove(&1).unwrap();
    sessions.start_with(2, 2, None, DEAD).unwrap(); // finds the store empty
    sessions.start_with(3, 3, None, for_long(20)).unwrap();
    assert_eq!(values(&rig), [1, 2]);
    while rig.timers.advance_to_next(&rig.clock) > 0 {}
    assert_eq!(values(&rig), [3]);
}

#[test]
fn ever_earlier_deadlines_take_one_timer() {
    let rig: Rig<u32, u32> = Rig::new();
    let sessions: Sessions<u32, u32> = Sessions::new(&rig.timers, SessionPolicy::new());
    for key in 0..1_000 {
        let limits = for_long(100_000 - key);
        sessions.start_with(key, 1, None, limits).unwrap();
        sessions.remove(&key).unwrap();
    }
    assert!(rig.timers.len() <= 1);
}

#[test]
fn what_expires_while_a_value_is_made_has_made_room_for_it() {
    let rig: Rig<u32, u32> = Rig::new();
    let policy = SessionPolicy::new().max_sessions(2);
    let sessions: Sessions<u32, u32> =
        Sessions::new(&rig.timers, policy.when_full(WhenFull::EndOldest));
    sessions.start(1, 1).unwrap();
    sessions.start_with(2, 2, None, for_long(1)).unwrap();
    let made = sessions.touch_or_start(3, || {
        rig.go(2 * S);
        3
    });
    assert!(made.unwrap().is_started());
    assert!(!sessions.contains(&2));
    assert!(sessions.contains(&1), "ended for a place that was free");
}

#[test]
fn a_grace_that_was_seen_to_be_over_is_over_for_good() {
    let rig: Rig<Option<Arc<str>>, u32> = Rig::new();
    let policy = SessionPolicy::new().cycle_grace(10 * NANO);
    let store: SessionStore<u32> = SessionStore::new(&rig.timers, policy).unwrap();
    let (id, _) = store.create("ada", 1).unwrap();
    store.cycle_id(&id).unwrap();
    rig.go(9 * NANO);
    assert!(store.contains(&id));
    rig.go(NANO);
    assert!(!store.contains(&id));
    rig.clock.jump(Timestamp::from_nanos(5));
    assert!(!store.contains(&id));
}

#[test]
fn a_login_leaves_nothing_to_the_id_before_it_and_neither_does_ending_all_others() {
    let rig: Rig<Option<Arc<str>>, u32> = Rig::new();
    let policy = SessionPolicy::new().cycle_grace(10 * S);
    let store: SessionStore<u32> = SessionStore::new(&rig.timers, policy).unwrap();
    let (planted, _) = store.create_anonymous(1).unwrap();
    let hers = store.cycle_id_as(&planted, "ada").unwrap();
    assert!(!store.contains(&planted));
    assert_eq!(store.principal(&hers).as_deref(), Some("ada"));

    let after = store.cycle_id(&hers).unwrap();
    assert!(store.contains(&hers), "for requests on their way");
    assert_eq!(store.revoke_others(&after), Ok(0));
    assert!(!store.contains(&hers) && store.contains(&after));
}

#[test]
fn a_replaced_session_and_its_key_go() {
    let rig: Rig<Arc<u32>, u32> = Rig::new();
    let sessions: Sessions<Arc<u32>, u32> = Sessions::new(&rig.timers, SessionPolicy::new());
    let key = Arc::new(7);
    sessions.start(Arc::clone(&key), 1).unwrap();
    sessions.start(Arc::clone(&key), 2).unwrap();
    // The map lets go of what was removed in batches.
    for other in 0..5_000 {
        sessions.start(Arc::new(100 + other), 1).unwrap();
        sessions.remove(&(100 + other)).unwrap();
    }
    assert_eq!(
        Arc::strong_count(&key),
        2,
        "the test's, and that of the one that lives"
    );
}

#[test]
fn a_panic_whose_payload_panics_when_dropped_loses_no_end() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a payload is dropped");
        }
    }
    let rig: Rig<u32, u32> = Rig::new();
    let tell = rig.hook();
    let sessions = Sessions::with_events(&rig.timers, SessionPolicy::new(), move |end| {
        tell(end);
        panic_any(Bomb);
    });
    for key in 0..5 {
        sessions
            .start_with(key, key, Some("ada"), SessionLimits::NONE)
            .unwrap();
    }
    let panic = catch_unwind(AssertUnwindSafe(|| sessions.revoke_all("ada")));
    std::mem::forget(panic);
    assert_eq!(values(&rig), [0, 1, 2, 3, 4]);
}

/// The last who knows the session before, and so drops its key, is the one that ends.
#[test]
fn a_key_that_panics_when_dropped_loses_no_end() {
    #[derive(Clone)]
    struct Key(u32, Arc<AtomicBool>);
    impl Hash for Key {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }
    impl PartialEq for Key {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for Key {}
    impl Drop for Key {
        fn drop(&mut self) {
            assert!(!self.1.swap(false, Ordering::Relaxed), "as ordered");
        }
    }
    let rig: Rig<u32, u32> = Rig::new();
    let fuse = Arc::new(AtomicBool::new(false));
    let itself: Arc<OnceLock<Sessions<Key, u32>>> = Arc::default();
    let (tell, told) = mpsc::channel();
    let within = Arc::downgrade(&itself);
    let policy = SessionPolicy::new();
    let sessions = Sessions::with_events(&rig.timers, policy, move |end: Ended<Key, Arc<u32>>| {
        tell.send(*end.value).unwrap();
        if *end.value == 1 {
            let itself = within.upgrade().unwrap();
            itself.get().unwrap().start(end.key, 2).unwrap(); // while the one before is told of
        }
    });
    assert!(itself.set(sessions.clone()).is_ok());
    let key = |key| Key(key, Arc::clone(&fuse));
    let seven = key(7);
    sessions.start(key(7), 1).unwrap();
    sessions.remove(&seven).unwrap();
    // The map lets go of what was removed in batches.
    for other in 100..2_000 {
        sessions.start(key(other), 0).unwrap();
        sessions.remove(&key(other)).unwrap();
    }
    fuse.store(true, Ordering::Relaxed);
    let removed = catch_unwind(AssertUnwindSafe(|| sessions.remove(&seven).is_ok()));
    assert!(removed.is_err(), "the panic is passed on");
    sessions.start(key(7), 3).unwrap();
    sessions.remove(&seven).unwrap();
    let told: Vec<_> = told.try_iter().filter(|value| *value > 0).collect();
    assert_eq!(told, [1, 2, 3]);
    assert_eq!(sessions.resident(), 0);
}

thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });

#[test]
fn a_key_may_use_the_store_when_it_is_dropped() {
    static STORE: OnceLock<Sessions<Key, u32>> = OnceLock::new();
    struct Key(u32);
    impl Clone for Key {
        fn clone(&self) -> Self {
            Self(self.0)
        }
    }
    impl Hash for Key {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }
    impl PartialEq for Key {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for Key {}
    impl Drop for Key {
        fn drop(&mut self) {
            if DEPTH.replace(1) == 0 {
                if let Some(store) = STORE.get() {
                    let _ = store.touch_or_start(Key(8), || 1).unwrap();
                    store.start(Key(7), 1).unwrap();
                }
                DEPTH.set(0);
            }
        }
    }
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        let rig: Rig<Key, u32> = Rig::new();
        let sessions = STORE.get_or_init(|| Sessions::new(&rig.timers, SessionPolicy::new()));
        for _ in 0..5_000 {
            sessions.start(Key(7), 1).unwrap();
            let _ = sessions.remove(&Key(7));
        }
        done.send(()).unwrap();
    });
    let waited = is_done.recv_timeout(120 * S);
    assert!(waited.is_ok(), "it waits for itself");
}

#[test]
fn a_login_that_fails_ends_no_other_session() {
    let rig: Rig<Option<Arc<str>>, u32> = Rig::new();
    let policy = SessionPolicy::new().max_per_principal(1);
    let policy = policy.when_full(WhenFull::EndOldest);
    let store: SessionStore<u32> = SessionStore::new(&rig.timers, policy).unwrap();
    for _ in 0..2_000 {
        let (hers, _) = store.create("ada", 1).unwrap();
        let (visitor, _) = store.create_anonymous(2).unwrap();
        let start = Barrier::new(2);
        let logged_in = thread::scope(|scope| {
            let login = scope.spawn(|| {
                start.wait();
                store.cycle_id_as(&visitor, "ada").is_ok()
            });
            start.wait();
            let _ = store.cycle_id(&visitor);
            login.join().unwrap()
        });
        assert!(logged_in || store.contains(&hers));
        store.revoke_all("ada");
    }
}
