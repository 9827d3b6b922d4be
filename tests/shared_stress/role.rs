//! One driver at a time, and waiting for its callback.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::thread;

use tickwheel::{Cancel, SharedWheel, Tick};

use crate::crew::{self, Gate};
use crate::token::{Ledger, Random, Token, scale};

fn at(tick: u64) -> Tick {
    Tick::new(tick)
}

#[test]
fn while_one_thread_advances_any_other_is_told_that_it_is_busy() {
    let wheel = SharedWheel::<&str>::new();
    wheel.arm(at(5), "five");
    wheel.arm(at(9), "nine");
    let (inside, leave) = (Gate::new(2), Gate::new(2));
    crew::scope(|scope| {
        let driver = scope.spawn(|| {
            wheel.advance(at(5), |_, _| {
                inside.wait();
                leave.wait();
            })
        });
        inside.wait();
        let plain = wheel.advance(at(9), |_, _| panic!("two at once"));
        let bounded = wheel.advance_bounded(at(9), 1, |_, _| panic!("two at once"));
        assert!(plain.is_err() && bounded.is_err(), "{plain:?} {bounded:?}");
        let park = wheel.prepare_park();
        assert!(park.is_err(), "parks in the middle of an advance: {park:?}");
        assert_eq!(wheel.next_deadline(), Some(wheel.now()));
        leave.wait();
        assert_eq!(driver.join().unwrap().unwrap(), 1);
    });
    assert_eq!(wheel.advance(at(9), |_, _| {}).unwrap(), 1);
    wheel.check();
}

#[test]
fn of_many_that_advance_at_once_one_at_a_time_does() {
    let rounds = 20 * scale() as u64;
    let ledger = Ledger::new(rounds as usize * 40);
    let wheel: SharedWheel<Token<'_>> = SharedWheel::new();
    let (within, fired, busy) = (
        AtomicBool::new(false),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    for round in 1..=rounds {
        for id in 0..40 {
            wheel.arm(at(round * 10 - id % 10), ledger.token());
        }
        let start = Gate::new(4);
        crew::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    let call = wheel.advance(at(round * 10), |_, expired| {
                        assert!(!within.swap(true, Ordering::Relaxed), "two at once");
                        expired.value.assert_whole();
                        within.store(false, Ordering::Relaxed);
                    });
                    match call {
                        Ok(count) => fired.fetch_add(count, Ordering::Relaxed),
                        Err(_) => busy.fetch_add(1, Ordering::Relaxed),
                    }
                });
            }
        });
        assert!(wheel.is_empty(), "round {round}: {wheel:?}");
    }
    wheel.check();
    let (fired, busy) = (fired.into_inner(), busy.into_inner());
    assert_eq!(
        fired,
        ledger.made(),
        "fired the first of the second, {busy} busy"
    );
    ledger.assert_each_dropped_once();
}

const BEGUN: u8 = 1;
const ENDED: u8 = 2;

#[test]
fn a_waiting_cancel_returns_after_the_callback() {
    let rounds = 150 * scale();
    let states: Vec<_> = (0..rounds).map(|_| AtomicU8::new(0)).collect();
    let wheel = SharedWheel::<usize>::new();
    let (mut cancelled, mut waited) = (0, 0);
    for (round, state) in states.iter().enumerate() {
        let key = wheel.arm(at(round as u64), round);
        let start = Gate::new(2);
        let (fired, answer) = crew::scope(|scope| {
            let driver = scope.spawn(|| {
                start.wait();
                wheel.advance(at(round as u64), |_, expired| {
                    let state = &states[expired.value];
                    state.store(BEGUN, Ordering::Relaxed);
                    (0..round % 50).for_each(|_| thread::yield_now());
                    state.store(ENDED, Ordering::Relaxed);
                })
            });
            start.wait();
            (0..round % 400).for_each(|_| std::hint::spin_loop());
            let answer = wheel.cancel_wait(key);
            let seen = state.load(Ordering::Relaxed);
            let fits = match answer {
                Cancel::Cancelled(value) => value == round && seen == 0,
                Cancel::Running => false,
                Cancel::Stale => seen == ENDED,
            };
            assert!(fits, "{answer:?} while the callback was at {seen}");
            (driver.join().unwrap().unwrap(), answer)
        });
        cancelled += usize::from(answer.is_cancelled());
        waited += fired;
        assert_eq!(
            fired == 0,
            answer.is_cancelled(),
            "{answer:?}, {fired} fired"
        );
    }
    wheel.check();
    assert_eq!(cancelled + waited, rounds, "cancelled and fired");
    assert!(wheel.is_empty(), "{wheel:?}");
}

#[test]
fn a_waiting_cancel_waits_for_a_callback_that_is_known_to_run() {
    let wheel = SharedWheel::<()>::new();
    let key = wheel.arm(at(1), ());
    let (inside, over) = (Gate::new(3), AtomicBool::new(false));
    crew::scope(|scope| {
        let driver = scope.spawn(|| {
            wheel.advance(at(1), |_, _| {
                inside.wait();
                (0..100).for_each(|_| thread::yield_now());
                over.store(true, Ordering::Relaxed);
            })
        });
        for _ in 0..2 {
            scope.spawn(|| {
                inside.wait();
                let answer = wheel.cancel_wait(key);
                assert!(over.load(Ordering::Relaxed), "{answer:?} before the end");
                assert_eq!(answer, Cancel::Stale);
            });
        }
        assert_eq!(driver.join().unwrap().unwrap(), 1);
    });
}

#[test]
fn a_waiting_cancel_from_its_own_callback_does_not_wait() {
    let wheel = SharedWheel::<u64>::new();
    let keys = [1, 2].map(|id| wheel.arm(at(5), id));
    let mut answers = Vec::new();
    let fired = wheel.advance(at(5), |turn, expired| {
        let own = turn.wheel().cancel_wait(expired.key);
        let other = keys.into_iter().find(|key| *key != expired.key).unwrap();
        answers.push((own, turn.wheel().cancel_wait(other).is_cancelled()));
    });
    assert_eq!(fired.unwrap(), 1, "the other was cancelled: {answers:?}");
    assert_eq!(answers, [(Cancel::Running, true)]);
    wheel.check();
}

#[test]
fn a_waiting_cancel_outlasts_a_callback_that_panics() {
    let wheel = SharedWheel::<()>::new();
    for tick in 1..20 * scale() as u64 {
        let key = wheel.arm(at(tick), ());
        let inside = Gate::new(2);
        crew::scope(|scope| {
            let driver = scope.spawn(|| {
                wheel.advance(at(tick), |_, _| {
                    inside.wait();
                    // Without a message: this is as planned.
                    std::panic::resume_unwind(Box::new(()));
                })
            });
            inside.wait();
            assert_eq!(wheel.cancel_wait(key), Cancel::Stale, "of {tick}");
            assert!(driver.join().is_err());
        });
        assert!(wheel.is_empty(), "{wheel:?}");
        assert!(!wheel.contains(key));
        wheel.check();
    }
    wheel.arm(at(0), ());
    assert_eq!(
        wheel.advance(at(0), |_, _| {}).ok(),
        Some(1),
        "the role is lost"
    );
}

#[test]
fn values_go_over_to_another_driver_whole() {
    let ops = 1_000 * scale();
    let ledger = Ledger::new(ops);
    let wheel = SharedWheel::<Token<'_>, 2>::builder().shards(2).build();
    let done = AtomicBool::new(false);
    crew::scope(|scope| {
        let (wheel, done) = (&wheel, &done);
        for id in 0..2 {
            scope.spawn(move || {
                let mut random = Random::new(7, id);
                while !done.load(Ordering::Relaxed) {
                    let now = at(wheel.now().get() + random.below(3));
                    let budget = 1 + random.index(4);
                    // Busy, or unfinished: the other goes on.
                    let _ = wheel.advance_bounded(now, budget, |_, expired| {
                        expired.value.assert_whole();
                    });
                    thread::yield_now();
                }
            });
        }
        let mut random = Random::new(7, 2);
        let mut local = wheel.local();
        for _ in 0..ops {
            let deadline = at(wheel.now().get() + random.below(100));
            local.arm(deadline, ledger.token());
        }
        done.store(true, Ordering::Relaxed);
    });
    let end = at(wheel.now().get() + 100);
    wheel.advance(end, |_, _| {}).unwrap();
    wheel.check();
    assert!(wheel.is_empty(), "{wheel:?}");
    ledger.assert_each_dropped_once();
}
