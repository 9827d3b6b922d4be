//! Properties: counts and caps are of the living; the dead make room before anyone living is turned away; who goes
//! for another is the oldest; listings hold the living and no more.

use std::cell::Cell;
use std::sync::OnceLock;

use super::*;
use tickwheel::{StartError, WhenFull};

/// google/guava#2598, tkem/cachetools#24, tkem/cachetools#62, `stusmall/ttl_cache#4` (I8).
#[test]
fn all_counts_agree_on_who_lives() {
    let rig = keyed();
    let sessions = rig.sessions(SessionPolicy::new());
    for key in 0..5 {
        let limit = if key < 3 { 5 } else { 50 };
        sessions
            .start_with(key, "v", Some("p"), idle(limit * S).limits())
            .unwrap();
    }
    rig.at(6);
    assert_eq!((sessions.resident(), sessions.principals()), (5, 1));
    let listed: Vec<_> = sessions.list("p").iter().map(|(key, _)| *key).collect();
    assert_eq!(listed, [3, 4]);
    let mut seen = Vec::new();
    sessions.for_each(|key, _| seen.push(*key));
    seen.sort_unstable();
    assert_eq!(seen, [3, 4]);
    assert_eq!((0..5).filter(|key| sessions.contains(key)).count(), 2);
    assert_eq!(
        (sessions.len(), sessions.is_empty(), sessions.resident()),
        (2, false, 2)
    );
}

#[test]
fn all_counts_agree_on_who_lives_under_ids_too() {
    let rig = by_id();
    let store = rig.store(SessionPolicy::new());
    assert!(store.is_empty());
    let mut names = Vec::new();
    for (name, limit) in [("a", 5), ("a", 5), ("b", 50), ("b", 50), ("c", 50)] {
        let created = store.create_with(Some(name), name, idle(limit * S).limits());
        names.push(created.unwrap().0);
    }
    assert_eq!((store.len(), store.principals()), (5, 3));
    rig.at(6);
    assert_eq!(store.resident(), 5);
    let mut seen = Vec::new();
    store.for_each(|session| seen.push(*session));
    seen.sort_unstable();
    assert_eq!(seen, ["b", "b", "c"]);
    assert_eq!(
        (store.len(), store.principals(), store.resident()),
        (3, 2, 3)
    );
    assert!(!store.is_empty());
}

/// BaseIntelligence/bounty-challenge#11174, isaacs/node-lru-cache#189 (I9): the dead make room first.
#[test]
fn what_is_due_makes_room_before_anyone_who_lives_goes() {
    for when_full in [WhenFull::Refuse, WhenFull::EndOldest] {
        let rig = keyed();
        let sessions = rig.sessions(SessionPolicy::new().max_sessions(3).when_full(when_full));
        let start = |key, limit: u32| sessions.start_with(key, "v", None, idle(limit * S).limits());
        start(3, 100).unwrap(); // the oldest
        start(1, 5).unwrap();
        start(2, 5).unwrap();
        rig.at(6);
        start(4, 100).unwrap();
        start(5, 100).unwrap();
        assert_eq!(rig.reasons(), [EndReason::Idle; 2]);
        assert!([3, 4, 5].iter().all(|key| sessions.contains(key)));
        let sixth = start(6, 100);
        match when_full {
            WhenFull::EndOldest => {
                assert!(sixth.is_ok() && !sessions.contains(&3));
                assert_eq!(rig.reasons(), [EndReason::Capacity]);
            }
            WhenFull::Refuse | _ => assert_eq!(sixth.unwrap_err(), StartError::Full),
        }
        assert_eq!(sessions.len(), 3);
    }
}

#[test]
fn many_that_are_due_make_room_for_one() {
    let rig = keyed();
    let sessions = rig.sessions(idle(10 * S).max_sessions(1000));
    for key in 0..999 {
        sessions.start(key, "v").unwrap();
    }
    rig.at(5);
    for key in 0..999 {
        sessions.touch(&key).unwrap(); // the wheel does not know
    }
    sessions.start(999, "v").unwrap();
    rig.at(10);
    assert_eq!(sessions.start(1000, "v").unwrap_err(), StartError::Full);
    rig.at(15);
    sessions.start(1000, "v").unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!(rig.ends().len(), 1000);
}

#[test]
fn a_session_that_is_replaced_needs_no_room_of_its_own() {
    for when_full in [WhenFull::Refuse, WhenFull::EndOldest] {
        let rig = keyed();
        let sessions = rig.sessions(idle(S).max_sessions(2).when_full(when_full));
        sessions.start(1, "v").unwrap();
        sessions.start(2, "v").unwrap();
        sessions.start(2, "w").unwrap();
        sessions.start(1, "w").unwrap();
        assert_eq!(rig.reasons(), [EndReason::Replaced; 2]);
        assert!(!sessions.touch_or_start(1, || "x").unwrap().is_started());
        assert_eq!(sessions.len(), 2);
    }
}

#[test]
fn nothing_is_replaced_for_a_session_that_is_refused() {
    let rig = keyed();
    let policy = idle(S).max_per_principal(1);
    let sessions = rig.sessions(policy);
    sessions
        .start_with(1, "v", Some("alice"), policy.limits())
        .unwrap();
    sessions
        .start_with(2, "v", Some("bob"), policy.limits())
        .unwrap();
    let refused = sessions.start_with(2, "w", Some("alice"), policy.limits());
    assert_eq!(refused.unwrap_err(), StartError::Full);
    assert_eq!(*sessions.peek(&2).unwrap().value, "v");
    assert!(rig.ends().is_empty());
    sessions
        .start_with(1, "w", Some("alice"), policy.limits())
        .unwrap(); // her own goes
    assert_eq!(rig.reasons(), [EndReason::Replaced]);
}

#[test]
fn no_room_at_all_refuses_everyone() {
    for when_full in [WhenFull::Refuse, WhenFull::EndOldest] {
        let rig = keyed();
        let sessions = rig.sessions(idle(S).max_sessions(0).when_full(when_full));
        assert_eq!(sessions.start(1, "v").unwrap_err(), StartError::Full);
        assert_eq!(
            sessions.touch_or_start(1, || "v").unwrap_err(),
            StartError::Full
        );
        assert_eq!(sessions.len(), 0);
    }
}

#[test]
fn a_principal_has_so_many_sessions_and_others_are_not_asked() {
    let rig = by_id();
    let store = rig.store(
        idle(10 * S)
            .max_per_principal(2)
            .when_full(WhenFull::EndOldest),
    );
    let (other, _) = store.create("bob", "b").unwrap();
    let mut ids = Vec::new();
    for value in ["1", "2", "3", "4"] {
        ids.push(store.create("alice", value).unwrap().0);
        rig.go(S);
    }
    let values: Vec<_> = store
        .list("alice")
        .iter()
        .map(|(session, _)| *session.value)
        .collect();
    assert_eq!(values, ["3", "4"]);
    assert!(store.contains(&other));
    let ends = rig.ends();
    assert!(ends.iter().all(|end| end.key.as_deref() == Some("alice")));
    assert_eq!(
        ends.iter().map(|end| *end.value).collect::<Vec<_>>(),
        ["1", "2"]
    );
    for _ in 0..5 {
        store.create_anonymous("nobody").unwrap(); // no principal, no such limit
    }
    assert_eq!((store.len(), store.principals()), (8, 2));
}

/// spring-projects/spring-session#2869, spring-projects/spring-session#1531 (J14): no index keeps the dead.
#[test]
fn listings_forget_what_has_expired() {
    let rig = by_id();
    let store = rig.store(idle(10 * S));
    for _ in 0..1000 {
        store.create("alice", "v").unwrap();
    }
    assert_eq!((store.list("alice").len(), store.principals()), (1000, 1));
    rig.at(10);
    assert!(store.list("alice").is_empty());
    assert_eq!(
        (store.principals(), store.len(), store.resident()),
        (0, 0, 0)
    );
    assert_eq!(rig.reasons(), [EndReason::Idle; 1000]);
}

/// jaemk/cached#198 (I13): the dead go, the living stay.
#[test]
fn the_driver_ends_the_dead_and_not_the_living() {
    let rig = keyed();
    let sessions = rig.sessions(SessionPolicy::new());
    for key in 0..10 {
        let limit = if key % 2 == 0 { 5 } else { 50 };
        sessions
            .start_with(key, "v", None, idle(limit * S).limits())
            .unwrap();
    }
    rig.at(6);
    rig.drive();
    assert_eq!(sessions.resident(), 5);
    assert!((0..10).all(|key| sessions.contains(&key) == (key % 2 == 1)));
}

/// jbaldwin/libcappuccino#14 (I5): an expired session is in nobody's way.
#[test]
fn an_expired_session_blocks_no_start() {
    let rig = keyed();
    let sessions = rig.sessions(idle(5 * S).max_sessions(1));
    for round in 0..10 {
        assert!(
            sessions.touch_or_start(1, || "v").unwrap().is_started(),
            "{round}"
        );
        rig.go(6 * S);
    }
}

/// tkem/cachetools#6 (I12): reads that end sessions disturb no listing.
#[test]
fn a_listing_sees_the_living_while_others_end_the_dead() {
    let rig = keyed();
    let sessions = rig.sessions(SessionPolicy::new());
    for key in 0..2000 {
        let limit = if key % 2 == 0 { 5 } else { 50 };
        sessions
            .start_with(key, "v", Some("p"), idle(limit * S).limits())
            .unwrap();
    }
    rig.at(6);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..2000).for_each(|key| assert_eq!(sessions.get(&key).is_some(), key % 2 == 1));
        });
        scope.spawn(|| assert_eq!(sessions.list("p").len(), 1000));
        scope.spawn(|| {
            let mut seen = 0;
            sessions.for_each(|key, _| seen += usize::from(key % 2 == 1));
            assert_eq!(seen, 1000);
        });
    });
    assert_eq!((sessions.len(), rig.ends().len()), (1000, 1000));
}

/// A hook that starts sessions in a full store ends what is due, of which it is told in turn.
#[test]
fn hooks_that_start_sessions_are_not_called_one_within_the_other_for_all_that_is_due() {
    thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });
    const FULL: u32 = 2_000;
    for is_driver in [false, true] {
        let rig: Rig<u32, u32> = Rig::new();
        let itself: Arc<OnceLock<Sessions<u32, u32>>> = Arc::default();
        let deepest = Arc::new(Mutex::new(0));
        let within = Arc::downgrade(&itself);
        let (seen, tell) = (Arc::clone(&deepest), rig.hook());
        let policy = idle(10 * S).max_sessions(FULL as usize);
        let sessions = Sessions::with_events(&rig.timers, policy, move |end| {
            let key = end.key;
            tell(end);
            let depth = DEPTH.get() + 1;
            DEPTH.set(depth);
            {
                let mut deepest = seen.lock().unwrap();
                *deepest = depth.max(*deepest);
            }
            // The store is gone when it tells of those that end with it.
            if let Some(itself) = within.upgrade() {
                for next in [FULL + 2 * key, FULL + 2 * key + 1] {
                    let _ = itself.get().unwrap().start(next, key);
                }
            }
            DEPTH.set(depth - 1);
        });
        assert!(itself.set(sessions.clone()).is_ok());
        for key in 0..FULL {
            sessions.start(key, key).unwrap();
        }
        rig.at(10);
        if is_driver {
            rig.drive();
        } else {
            sessions.start(FULL - 1, 0).unwrap();
        }
        let mut ended: Vec<_> = rig.ends().iter().map(|end| end.key).collect();
        ended.sort_unstable();
        assert!(ended.into_iter().eq(0..FULL));
        assert_eq!(sessions.len(), FULL as usize);
        let deepest = *deepest.lock().unwrap();
        assert!(deepest <= 2, "{deepest} hooks within each other");
    }
}
