//! Properties, with real threads: whatever they do at once, a session ends once, is not seen after its end, and
//! ends along a key come in order; caps are never exceeded; nothing is lost.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use super::*;
use tickwheel::{UpdateError, WhenFull};

const THREADS: usize = 64;

/// 64 threads on one session: they touch it, read it, write it, cycle its id, end it, and move the clock over its
/// deadline.
#[test]
fn a_session_that_all_are_after_ends_once_and_stays_dead() {
    for round in 0..40_u64 {
        let rig = by_id();
        let store = rig.store(idle(10 * S).cycle_grace(S));
        let (id, session) = store.create("alice", "0").unwrap();
        let present = Mutex::new(vec![id.clone()]);
        let start = Barrier::new(THREADS);
        let written = AtomicU64::new(0);
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for n in 0..THREADS {
                let (rig, store, session) = (&rig, &store, &session);
                let (present, start, written, over) = (&present, &start, &written, &over);
                scope.spawn(move || {
                    start.wait();
                    for step in 0..20_u64 {
                        let id = present.lock().unwrap().last().unwrap().clone();
                        // Whoever has seen the end before looks sees nothing after.
                        let was_over = over.load(Ordering::SeqCst);
                        let lives = match (n as u64 + step) % 8 {
                            0 => store.touch(&id).is_ok(),
                            1 => store.get(&id).is_some(),
                            2 => store.peek(&id).is_some(),
                            3 => match store.cycle_id(&id) {
                                Ok(new) => {
                                    present.lock().unwrap().push(new);
                                    true
                                }
                                Err(_) => false,
                            },
                            4 => match store.update(&id, session, "w") {
                                Ok(_) => {
                                    written.fetch_add(1, Ordering::Relaxed);
                                    true
                                }
                                Err(UpdateError::Conflict { .. }) => true,
                                Err(_) => false,
                            },
                            5 => store.list("alice").len() == 1,
                            6 => {
                                rig.go(if (round + step) % 3 == 0 { 4 * S } else { NANO });
                                store.len() == 1
                            }
                            _ => {
                                let ends = step == 10 + round % 7;
                                if ends && n % 2 == 0 && store.revoke_all("alice") == 1
                                    || ends && store.revoke(&id).is_ok()
                                {
                                    over.store(true, Ordering::SeqCst);
                                }
                                false
                            }
                        };
                        assert!(!(was_over && lives), "seen after its end");
                        let _ = rig.timers.turn();
                    }
                });
            }
        });
        rig.go(20 * S);
        assert_eq!(
            (store.len(), store.resident(), store.principals()),
            (0, 0, 0)
        );
        let ends = rig.ends();
        assert_eq!(ends.len(), 1, "{ends:?}");
        assert_eq!(ends[0].generation, session.generation);
        let versions = written.load(Ordering::Relaxed);
        assert!(
            versions <= 1,
            "of those who update one version one does: {versions}"
        );
        assert_eq!(*ends[0].value, if versions == 1 { "w" } else { "0" });
        for id in present.into_inner().unwrap() {
            assert!(!store.contains(&id));
        }
    }
}

/// Threads that start, replace, touch and end sessions under few keys, while the clock moves.
#[test]
fn ends_along_a_key_are_told_in_order_however_many_end_them() {
    let rig: Rig<u32, u64> = Rig::new();
    let started = AtomicUsize::new(0);
    let sessions = Sessions::with_events(&rig.timers, idle(10 * S), rig.hook());
    thread::scope(|scope| {
        for n in 0..16_u32 {
            let (rig, sessions, started) = (&rig, &sessions, &started);
            scope.spawn(move || {
                for step in 0..400_u32 {
                    let key = (n + step * 7) % 3;
                    match (n * 5 + step) % 8 {
                        0 | 1 => {
                            sessions.start(key, 0).unwrap();
                            started.fetch_add(1, Ordering::Relaxed);
                        }
                        2 | 3 => {
                            let touched = sessions.touch_or_start(key, || 0).unwrap();
                            started.fetch_add(usize::from(touched.is_started()), Ordering::Relaxed);
                        }
                        4 => drop(sessions.remove(&key)),
                        5 => drop(sessions.revoke(&key)),
                        6 => {
                            let _ = rig.timers.turn();
                        }
                        _ => rig.go(S),
                    }
                }
            });
        }
    });
    drop(sessions);
    let ends = rig.ends();
    assert_eq!(ends.len(), started.into_inner());
    let mut last = BTreeMap::new();
    for end in &ends {
        let before = last.insert(end.key, end.generation);
        assert!(
            before < Some(end.generation),
            "{before:?}, then {}",
            end.generation
        );
    }
}

#[test]
fn of_many_who_start_a_session_one_does_and_the_others_touch_it() {
    for round in 0..50 {
        let rig = keyed();
        let policy = idle(10 * S).max_sessions(1).when_full(WhenFull::Refuse);
        let sessions = rig.sessions(policy);
        if round % 2 == 0 {
            sessions.start(1, "old").unwrap();
            rig.at(10);
        }
        let start = Barrier::new(8);
        let started: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        usize::from(sessions.touch_or_start(1, || "new").unwrap().is_started())
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(started, 1);
        assert_eq!((sessions.len(), sessions.resident()), (1, 1));
        drop(sessions);
        let ends = rig.reasons();
        assert_eq!(ends.last(), Some(&EndReason::Shutdown));
        assert_eq!(ends.len(), 1 + usize::from(round % 2 == 0));
    }
}

#[test]
fn of_many_who_cycle_one_id_one_gets_another() {
    for _ in 0..50 {
        let rig = by_id();
        let store = rig.store(idle(10 * S));
        let (id, _) = store.create("alice", "v").unwrap();
        let start = Barrier::new(8);
        let new: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|n| {
                    let (store, id, start) = (&store, &id, &start);
                    scope.spawn(move || {
                        start.wait();
                        if n % 2 == 0 {
                            store.cycle_id(id)
                        } else {
                            store.cycle_id_as(id, "alice")
                        }
                    })
                })
                .collect();
            threads
                .into_iter()
                .filter_map(|thread| thread.join().unwrap().ok())
                .collect()
        });
        assert_eq!(new.len(), 1);
        assert!(!store.contains(&id) && store.contains(&new[0]));
        assert_eq!((store.len(), store.list("alice").len()), (1, 1));
    }
}

#[test]
fn no_cap_is_exceeded_by_many_who_start_at_once() {
    for when_full in [WhenFull::Refuse, WhenFull::EndOldest] {
        let rig = by_id();
        let policy = idle(10 * S).max_sessions(10).max_per_principal(3);
        let store = rig.store(policy.when_full(when_full));
        thread::scope(|scope| {
            for n in 0..8 {
                let (rig, store) = (&rig, &store);
                scope.spawn(move || {
                    let names = ["alice", "bob", "carol", "dave"];
                    for step in 0..100 {
                        let name = names[(n + step) % names.len()];
                        drop(store.create(name, "v"));
                        let (all, own) = (store.len(), store.list(name).len());
                        assert!(all <= 10 && own <= 3, "{all} in all, {own} of {name}");
                        if step % 10 == 0 {
                            rig.go(S);
                        }
                    }
                });
            }
        });
        drop(store);
    }
}

/// Whoever ends all of a principal finds what others have found before.
#[test]
fn ending_all_misses_none_that_was_seen_before() {
    for _ in 0..30 {
        let rig = keyed();
        let policy = idle(10 * S);
        let sessions = rig.sessions(policy);
        let start = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                for key in 0..200 {
                    sessions
                        .start_with(key, "v", Some("alice"), policy.limits())
                        .unwrap();
                }
            });
            scope.spawn(|| {
                start.wait();
                for key in 0..200 {
                    let Some(seen) = sessions.peek(&key) else {
                        continue;
                    };
                    sessions.revoke_all("alice");
                    let after = sessions.peek(&key);
                    assert!(after.is_none_or(|after| after.generation != seen.generation));
                }
            });
        });
        sessions.revoke_all("alice");
        assert_eq!(sessions.len(), 0);
        assert_eq!(rig.reasons(), [EndReason::Revoked; 200]);
    }
}

/// A store that is dropped while its driver comes by.
#[test]
fn a_store_dropped_while_the_driver_ends_what_is_due_tells_each_end_once() {
    for _ in 0..100 {
        let rig = keyed();
        let sessions = rig.sessions(idle(10 * S));
        for key in 0..100 {
            sessions.start(key, "v").unwrap();
        }
        rig.at(10);
        thread::scope(|scope| {
            scope.spawn(|| rig.timers.turn().is_ok());
            scope.spawn(move || drop(sessions));
        });
        let mut keys: Vec<_> = rig.ends().iter().map(|end| (end.key, end.reason)).collect();
        keys.sort_unstable_by_key(|(key, _)| *key);
        let expected: Vec<_> = (0..100).map(|key| (key, EndReason::Idle)).collect();
        assert_eq!(keys, expected);
    }
}
