//! One session.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tickwheel::{Clock, EndReason, SessionPolicy, SessionStore, Sessions, Timestamp, UpdateError};

use super::*;

/// Once it is gone for one it is gone for all who look later, though the clock is moved over the deadline while others
/// touch.
#[test]
fn a_session_that_is_gone_for_one_is_gone_for_all_who_look_later() {
    for round in 0..60_u64 {
        let (clock, timers) = hand_driven();
        let ends = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&ends);
        let policy = SessionPolicy::new().idle(nanos(10));
        let sessions = Sessions::with_events(&timers, policy, move |end| {
            log.lock()
                .unwrap()
                .push((end.generation, *end.value, end.reason));
        });
        let first = sessions.start(1, 0).unwrap();
        let (gone, updates) = (AtomicBool::new(false), AtomicU64::new(0));
        let removed = race(THREADS, |n| {
            let mut removed = 0;
            for step in 0..20 {
                let was_gone = gone.load(Ordering::SeqCst);
                let lives = match (n as u64 + step) % 8 {
                    0 => sessions.touch(&1).is_ok(),
                    1 => sessions.get(&1).is_some(),
                    2 => sessions.contains(&1),
                    3 | 4 => match sessions.peek(&1) {
                        Some(seen) => match sessions.update(&1, &seen, *seen.value + 1) {
                            Ok(_) => {
                                updates.fetch_add(1, Ordering::SeqCst);
                                true
                            }
                            Err(UpdateError::Conflict { version }) => version > seen.version,
                            Err(_) => false,
                        },
                        None => false,
                    },
                    5 => {
                        // To the very deadline, or almost.
                        let left = sessions.time_to_live(&1);
                        let to = left.map_or_else(|_| clock.now(), |left| left.deadline);
                        let over = (round + step) % 9 == 8;
                        clock.set(if over {
                            to
                        } else {
                            Timestamp::from_nanos(to.as_nanos() - 1)
                        });
                        continue;
                    }
                    6 if step > 12 && n % 32 == 6 => {
                        removed += usize::from(sessions.remove(&1).is_ok());
                        false
                    }
                    _ => {
                        let _ = timers.turn();
                        continue;
                    }
                };
                assert!(!(was_gone && lives), "seen after it was gone");
                if !lives && sessions.peek(&1).is_none() {
                    gone.store(true, Ordering::SeqCst);
                }
            }
            removed
        });
        let removed: usize = removed.into_iter().sum();
        let shut_down = sessions.contains(&1);
        drop(sessions);
        let (ends, updates) = (ends.lock().unwrap(), updates.into_inner());
        let reason = match (removed, shut_down) {
            (1, false) => EndReason::Removed,
            (0, true) => EndReason::Shutdown,
            (0, false) => EndReason::Idle,
            other => panic!("removed, alive: {other:?}"),
        };
        assert_eq!(*ends, [(first.generation, updates, reason)]);
    }
}

/// Values count their updates, so do versions, and ids their cycles.
#[test]
fn there_are_as_many_versions_as_updates_and_as_many_ids_as_cycles() {
    for _ in 0..20 {
        let (_, timers) = hand_driven();
        let store = SessionStore::new(&timers, SessionPolicy::new()).unwrap();
        let (id, _) = store.create("ada", 0_u64).unwrap();
        let present = Mutex::new(vec![id]);
        let updates = race(THREADS, |n| {
            let mut updates = 0;
            for step in 0..10 {
                let id = present.lock().unwrap().last().unwrap().clone();
                if (n + step) % 4 == 0 {
                    // Under the lock: so that the last is the present one.
                    let mut present = present.lock().unwrap();
                    let last = present.last().unwrap();
                    let fresh = store.cycle_id(last).expect("it is the present one");
                    assert!(store.cycle_id(last).is_err() && store.get(last).is_none());
                    present.push(fresh);
                } else if let Some(seen) = store.get(&id) {
                    assert_eq!(*seen.value, seen.version);
                    let updated = store.update(&id, &seen, *seen.value + 1);
                    updates += u64::from(updated.is_ok());
                }
            }
            updates
        });
        let id = present.lock().unwrap().last().unwrap().clone();
        let last = store.get(&id).unwrap();
        let updates: u64 = updates.into_iter().sum();
        assert_eq!((last.version, *last.value), (updates, updates));
        assert!(updates > 0);
    }
}
