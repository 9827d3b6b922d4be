//! Real threads on one lease: one holder at any time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use tickwheel::{EndReason, FenceGate, Leases, ManualClock, Timers};

use crate::secs;

const THREADS: u64 = 64;

/// Tokens and ends of all threads, checked when all is over.
#[derive(Default)]
struct Record {
    tokens: Mutex<Vec<u64>>,
    ends: Mutex<Vec<(u64, EndReason)>>,
}

/// Each holder enters before its deadline can have come (the clock stands still meanwhile), and leaves
/// before it gives the lease back. So nobody may meet anybody inside.
#[test]
fn of_64_threads_one_at_a_time_holds_the_lease() {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone());
    let timers = timers.build_hand_driven().unwrap();
    let record = Arc::new(Record::default());
    let log = Arc::clone(&record);
    let leases: Leases<String, u64> = Leases::builder()
        .on_end(move |ended| {
            let mut ends = log.ends.lock().unwrap();
            ends.push((ended.generation, ended.reason));
        })
        .build(&timers);
    let (inside, gate, start) = (
        AtomicU64::new(0),
        FenceGate::new(),
        Barrier::new(THREADS as usize),
    );
    thread::scope(|scope| {
        for me in 1..=THREADS {
            let (leases, record) = (&leases, &record);
            let (inside, gate, start) = (&inside, &gate, &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..200 {
                    let asked = if (me + round) % 3 == 0 {
                        leases.acquire_blocking("r", me, secs(10), None)
                    } else {
                        leases.try_acquire("r", me, secs(10))
                    };
                    let Ok(grant) = asked else { continue };
                    let before = inside.swap(me, Ordering::AcqRel);
                    assert_eq!(before, 0, "{me} meets {before}");
                    assert!(gate.check(grant.token()).is_ok(), "tokens increase");
                    assert!(leases.renew(&grant).is_ok());
                    assert_eq!(*leases.holder("r").unwrap().holder(), me);
                    assert_eq!(inside.swap(0, Ordering::AcqRel), me);
                    record.tokens.lock().unwrap().push(grant.token().get());
                    if round % 7 == 0 {
                        assert!(leases.revoke("r").is_some(), "it is its own");
                        assert!(leases.release(&grant).is_err());
                    } else {
                        assert!(leases.release(&grant).is_ok());
                    }
                }
            });
        }
    });
    let (mut tokens, ends) = (
        record.tokens.lock().unwrap().clone(),
        record.ends.lock().unwrap(),
    );
    assert!(tokens.is_sorted_by(|a, b| a < b), "in the order of holding");
    tokens.dedup();
    assert!(
        ends.is_sorted_by(|a, b| a.0 < b.0),
        "told once each, in order"
    );
    assert_eq!(ends.len(), tokens.len());
    assert_eq!(leases.high_water().get(), tokens.len() as u64);
    assert!(leases.is_empty() && timers.is_empty());
}

/// The clock runs, leases expire under their holders, and strangers revoke: then only the tokens and the
/// ends tell. Each grant ends once, in order, and a grant that says it lives is the last one.
#[test]
fn while_leases_expire_and_are_revoked_under_64_threads_each_ends_once() {
    let clock = ManualClock::new();
    let timers = Timers::builder().clock(clock.clone());
    let timers = timers.build_hand_driven().unwrap();
    let record = Arc::new(Record::default());
    let log = Arc::clone(&record);
    let leases: Leases<String, u64> = Leases::builder()
        .on_end(move |ended| {
            let mut ends = log.ends.lock().unwrap();
            ends.push((ended.generation, ended.reason));
        })
        .build(&timers);
    let (start, done) = (Barrier::new(THREADS as usize), AtomicBool::new(false));
    let granted = AtomicU64::new(0);
    thread::scope(|scope| {
        let (leases, start, granted) = (&leases, &start, &granted);
        let threads: Vec<_> = (1..=THREADS)
            .map(|me| {
                scope.spawn(move || {
                    start.wait();
                    let mut last = 0;
                    for round in 0..100 {
                        let asked = if (me + round) % 2 == 0 {
                            leases.acquire_blocking("r", me, secs(3), Some(secs(2)))
                        } else {
                            leases.try_acquire("r", me, secs(3))
                        };
                        if let Ok(grant) = asked {
                            granted.fetch_add(1, Ordering::Relaxed);
                            assert!(grant.token().get() > last);
                            last = grant.token().get();
                            let renewed = leases.renew(&grant).is_ok();
                            let high = leases.high_water();
                            if grant.is_live() {
                                assert!(renewed, "once lost, for good");
                                assert_eq!(high, grant.token(), "nobody had it after it");
                            }
                            match round % 4 {
                                0 => {} // forgotten: it expires
                                1 => {
                                    let _ = leases.revoke("r");
                                }
                                _ => {
                                    let released = leases.release(&grant);
                                    assert_eq!(leases.release(&grant), released);
                                    assert!(!grant.is_live());
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        let driver = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                clock.advance(secs(1));
                timers.turn_fully().unwrap();
                thread::yield_now();
            }
        });
        for thread in threads {
            thread.join().unwrap();
        }
        done.store(true, Ordering::Release);
        driver.join().unwrap();
    });
    clock.advance(secs(100));
    timers.turn_fully().unwrap();
    let ends = record.ends.lock().unwrap();
    assert!(
        ends.is_sorted_by(|a, b| a.0 < b.0),
        "told once each, in order"
    );
    assert_eq!(
        ends.len() as u64,
        leases.high_water().get(),
        "each grant has ended"
    );
    assert!(ends.len() as u64 >= granted.load(Ordering::Relaxed));
    assert!(leases.is_empty());
    assert_eq!(timers.len(), 0, "no timer is left");
}
