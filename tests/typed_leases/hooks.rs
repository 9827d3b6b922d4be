//! What the owner is told and asked: ends, once and in order; marks before tokens.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tickwheel::{AcquireError, EndReason, FencingToken, Leases, ManualClock, Timers};

use crate::{Bed, Task, ready, secs};

#[test]
fn tokens_go_on_from_the_mark_and_are_one_apart() {
    let bed = Bed::with(|builder| builder.tokens_from(FencingToken::new(41)));
    assert_eq!(bed.leases.high_water().get(), 41);
    for token in 42..45 {
        let grant = bed.ask("A", 10).unwrap();
        assert_eq!(
            (grant.token().get(), bed.leases.high_water().get()),
            (token, token)
        );
        bed.leases.release(&grant).unwrap();
    }
}

#[test]
fn a_mark_is_durable_before_any_token_beyond_the_last_is_handed_out() {
    let marks = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&marks);
    let bed = Bed::with(|builder| {
        builder.persist_tokens(3, move |mark| {
            log.lock().unwrap().push(mark.get());
            Ok::<(), std::io::Error>(())
        })
    });
    for token in 1..=7 {
        let grant = bed.ask("A", 10).unwrap();
        assert_eq!(grant.token().get(), token);
        assert!(*marks.lock().unwrap().last().unwrap() >= token);
        bed.leases.release(&grant).unwrap();
    }
    assert_eq!(*marks.lock().unwrap(), [3, 6, 9]);
}

#[test]
fn tokens_increase_across_restarts_however_often() {
    let file = Arc::new(AtomicU64::new(0));
    let mut last = 0;
    for _ in 0..5 {
        let store = Arc::clone(&file);
        let start = FencingToken::new(file.load(Ordering::Relaxed));
        let bed = Bed::with(|builder| {
            builder.tokens_from(start).persist_tokens(2, move |mark| {
                store.store(mark.get(), Ordering::Relaxed);
                Ok::<(), std::io::Error>(())
            })
        });
        for _ in 0..3 {
            let grant = bed.ask("A", 10).unwrap();
            assert!(grant.token().get() > last);
            last = grant.token().get();
            bed.leases.release(&grant).unwrap();
        }
        // It crashes here.
    }
}

#[test]
fn without_a_mark_there_is_no_grant_and_the_next_request_tries_again() {
    for panics in [false, true] {
        let broken = Arc::new(AtomicBool::new(true));
        let switch = Arc::clone(&broken);
        let bed = Bed::with(|builder| {
            builder.persist_tokens(1, move |_| {
                let broken = switch.load(Ordering::Relaxed);
                assert!(!(broken && panics), "on purpose");
                if broken {
                    Err("the disk is full")
                } else {
                    Ok(())
                }
            })
        });
        assert!(matches!(
            bed.ask("A", 10),
            Err(AcquireError::Unpersisted(_))
        ));
        assert_eq!(
            (bed.holder(), bed.timers.len(), bed.ends().len()),
            (None, 0, 0)
        );
        broken.store(false, Ordering::Relaxed);
        let grant = bed.ask("A", 10).unwrap();

        // Whoever waits is told, one after the other; nobody waits for ever.
        let tasks = [(); 2].map(|()| Task::new());
        let mut waiting = tasks.each_ref().map(|task| {
            let mut acquire = bed.leases.acquire("r", "B", secs(10));
            assert!(task.poll(&mut acquire).is_pending());
            acquire
        });
        broken.store(true, Ordering::Relaxed);
        bed.leases.release(&grant).unwrap();
        for (task, acquire) in tasks.iter().zip(&mut waiting) {
            let answer = ready(task.poll(acquire));
            assert!(matches!(answer, Err(AcquireError::Unpersisted(_))));
        }
        assert!(bed.timers.is_empty());
    }
}

#[test]
fn a_hook_that_asks_for_a_lease_itself_is_refused_and_does_not_hang() {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock).build_hand_driven().unwrap();
    let own: Arc<OnceLock<Leases<String>>> = Arc::default();
    let within = Arc::downgrade(&own);
    let refused = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&refused);
    let builder = Leases::builder().persist_tokens(1, move |_| {
        let own = within.upgrade().unwrap();
        let leases = own.get().unwrap();
        let inner = leases.try_acquire("other", "A", secs(1));
        seen.store(
            matches!(inner, Err(AcquireError::Unpersisted(_))),
            Ordering::Relaxed,
        );
        Ok::<(), std::io::Error>(())
    });
    let leases = builder.build(&timers);
    own.set(leases.clone()).unwrap();
    assert!(leases.try_acquire("r", "A", secs(1)).is_ok());
    assert!(refused.load(Ordering::Relaxed));
}

#[test]
fn the_last_token_is_the_last() {
    let bed = Bed::with(|builder| builder.tokens_from(FencingToken::new(u64::MAX - 1)));
    let grant = bed.ask("A", 10).unwrap();
    assert_eq!(grant.token().get(), u64::MAX);
    let (task, mut acquire) = (Task::new(), bed.leases.acquire("r", "B", secs(10)));
    assert!(task.poll(&mut acquire).is_pending());
    bed.leases.release(&grant).unwrap();
    let answer = ready(task.poll(&mut acquire));
    assert!(matches!(answer, Err(AcquireError::TokensExhausted)));
    assert!(matches!(
        bed.ask("C", 10),
        Err(AcquireError::TokensExhausted)
    ));
    assert!(bed.timers.is_empty());
}

#[test]
fn a_hook_may_use_the_leases_and_ends_stay_in_order() {
    let timers = Timers::builder()
        .clock(ManualClock::new())
        .build_hand_driven()
        .unwrap();
    let own: Arc<OnceLock<Leases<String>>> = Arc::default();
    let within = Arc::downgrade(&own);
    let log = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&log);
    let leases: Leases<String> = Leases::builder()
        .on_end(move |ended| {
            let own = within.upgrade().unwrap();
            let leases = own.get().unwrap();
            if ended.generation < 5 {
                // Inside: the next grant begins and ends. That is told when this has returned.
                let next = leases.try_acquire("r", "inside", secs(1)).unwrap();
                leases.release(&next).unwrap();
            }
            told.lock().unwrap().push((ended.generation, ended.reason));
        })
        .build(&timers);
    own.set(leases.clone()).unwrap();
    let grant = leases.try_acquire("r", "A", secs(1)).unwrap();
    leases.release(&grant).unwrap();
    let expected: Vec<_> = (1..=5).map(|token| (token, EndReason::Released)).collect();
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn the_end_of_a_grant_is_told_before_whoever_waited_is_woken() {
    let bed = Bed::new();
    let grant = bed.ask("A", 10).unwrap();
    let (task, mut acquire) = (Task::new(), bed.leases.acquire("r", "B", secs(10)));
    assert!(task.poll(&mut acquire).is_pending());
    bed.leases.release(&grant).unwrap();
    assert_eq!((task.wakes(), bed.ends().len()), (1, 1));
}
