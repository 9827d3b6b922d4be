//! Properties: whatever way a runtime ends, each timer has exactly one outcome, and it ends once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tickwheel::{ArmError, Cancel, Missed, Shutdown, Timers, WaitError};

use crate::{Bed, ms};

const LONG: Duration = Duration::from_secs(60);

/// netty/netty#14081: what was handed back at the end was still thought to be armed.
#[test]
fn what_is_handed_back_is_not_armed_any_more_and_can_be_run() {
    let bed = Bed::new();
    let keys: Vec<_> = (0..5)
        .map(|_| {
            let options = bed.timers.options().label("five");
            options.arm(ms(5_000), bed.logs("ran")).unwrap()
        })
        .collect();
    let mut rest = bed.timers.shutdown(Shutdown::HandBack);
    assert_eq!(rest.len(), 5);
    for unfired in &rest {
        assert!(keys.contains(&unfired.key()));
        assert_eq!(unfired.label(), "five");
        assert_eq!(unfired.deadline().as_nanos(), 5_000_000_000);
    }
    assert!(
        keys.iter()
            .all(|key| bed.timers.cancel(*key) == Cancel::Stale)
    );
    rest.pop().unwrap().run();
    assert_eq!(bed.log.take(), [(0, "ran")]);
    drop(rest);
    assert_eq!(bed.drive_to(6_000), 0);
    assert_eq!(bed.log.len(), 0);
    assert_eq!(bed.timers.stats().returned, 5);
    assert_eq!(bed.timers.stats().cancelled, 0);
}

/// netty/netty#366: what was armed after the end was accepted and never fired.
#[test]
fn nothing_can_be_armed_after_the_end() {
    let bed = Bed::new();
    bed.timers.shutdown(Shutdown::Drop);
    assert!(bed.timers.is_shut_down());
    assert_eq!(bed.timers.arm(ms(1), |_| {}), Err(ArmError::ShutDown));
    assert_eq!(
        bed.timers.every(ms(1), Missed::Skip, |_| {}),
        Err(ArmError::ShutDown)
    );
    assert_eq!(bed.timers.next_timeout(), None);
    assert_eq!(bed.timers.turn().unwrap().fired, 0);
    assert!(!bed.timers.is_paused());
}

#[test]
fn the_first_shutdown_decides_and_others_do_nothing() {
    let bed = Bed::new();
    bed.timers.arm(ms(10), bed.logs("a")).unwrap();
    bed.clock.advance(ms(10));
    assert_eq!(bed.timers.shutdown(Shutdown::HandBack).len(), 1);
    assert_eq!(bed.timers.shutdown(Shutdown::HandBack).len(), 0);
    assert!(bed.timers.shutdown(Shutdown::FireDue).is_empty());
    assert_eq!(bed.log.len(), 0);
    assert_eq!(bed.timers.wait(Duration::ZERO), Ok(()));
}

#[test]
fn what_is_due_fires_and_the_rest_is_dropped() {
    let bed = Bed::with(|builder| builder.batch(64, Duration::MAX));
    let witness = Arc::new(());
    for after in 1..=300 {
        let (mut logs, held) = (bed.logs("fired"), witness.clone());
        bed.timers
            .arm(ms(after), move |firing| {
                let _held = held;
                logs(firing);
            })
            .unwrap();
    }
    bed.timers
        .every(ms(100), Missed::Burst, bed.logs("beat"))
        .unwrap();
    bed.clock.advance(ms(200));
    bed.timers.pause(); // an end is an end
    assert!(bed.timers.shutdown(Shutdown::FireDue).is_empty());
    let fired = bed.log.take();
    assert_eq!(
        fired.iter().filter(|(_, name)| *name == "fired").count(),
        200
    );
    assert_eq!(Arc::strong_count(&witness), 1);
    assert_eq!(bed.timers.wait(Duration::ZERO), Ok(()));
    assert!(bed.timers.is_empty());
}

/// corazawaf/coraza-spoa#353: to stop from a callback waited for that callback.
#[test]
fn a_callback_may_end_the_runtime_in_every_way() {
    for mode in [Shutdown::Drop, Shutdown::HandBack, Shutdown::FireDue] {
        let bed = Bed::new();
        let handed_back = Arc::new(AtomicUsize::new(0));
        let count = handed_back.clone();
        bed.timers
            .arm(ms(5), move |firing| {
                let timers = firing.timers();
                let rest = timers.shutdown(mode);
                count.store(rest.len(), Ordering::Relaxed);
                assert_eq!(timers.wait(LONG), Err(WaitError::FromCallback));
                assert_eq!(timers.arm(ms(1), |_| {}), Err(ArmError::ShutDown));
            })
            .unwrap();
        bed.timers.arm(ms(6), bed.logs("due")).unwrap();
        bed.timers.arm(ms(60), bed.logs("not due")).unwrap();
        bed.clock.advance(ms(10));
        bed.timers.turn().unwrap();
        assert_eq!(bed.timers.stats().panics, 0, "{mode:?}");
        let due = usize::from(mode == Shutdown::FireDue);
        assert_eq!(bed.log.len(), due, "{mode:?}");
        let back = if mode == Shutdown::HandBack { 2 } else { 0 };
        assert_eq!(handed_back.load(Ordering::Relaxed), back, "{mode:?}");
        assert_eq!(bed.timers.wait(Duration::ZERO), Ok(()), "{mode:?}");
        assert!(bed.timers.is_empty());
    }
}

#[test]
fn a_periodic_timer_that_ends_the_runtime_is_not_armed_again() {
    let bed = Bed::new();
    bed.timers
        .every(ms(5), Missed::Burst, |firing| {
            firing.timers().shutdown(Shutdown::Drop);
        })
        .unwrap();
    bed.drive_to(100);
    assert_eq!(bed.timers.stats().fired, 1);
    assert!(bed.timers.is_empty());
}

#[test]
fn only_a_runtime_that_was_shut_down_can_be_waited_for() {
    let bed = Bed::new();
    assert_eq!(bed.timers.wait(LONG), Err(WaitError::NotShutDown));
}

#[test]
fn a_callback_that_is_running_is_waited_for() {
    let timers = Timers::new().unwrap();
    let (began, wait) = std::sync::mpsc::channel();
    let (go_on, stuck) = std::sync::mpsc::channel::<()>();
    timers
        .arm(Duration::ZERO, move |_| {
            began.send(()).unwrap();
            let _ = stuck.recv();
        })
        .unwrap();
    wait.recv().unwrap();
    timers.shutdown(Shutdown::Drop);
    assert_eq!(timers.wait(ms(5)), Err(WaitError::TimedOut));
    drop(go_on);
    assert_eq!(timers.wait(LONG), Ok(()));
}

#[test]
fn a_thread_fires_what_is_due_before_it_ends() {
    let timers = Timers::new().unwrap();
    let fired = Arc::new(AtomicUsize::new(0));
    timers.pause();
    for _ in 0..10_000 {
        let fired = fired.clone();
        timers
            .arm(Duration::ZERO, move |_| {
                fired.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
    }
    timers.arm(LONG, |_| unreachable!()).unwrap();
    timers.shutdown(Shutdown::FireDue);
    assert_eq!(timers.wait(LONG), Ok(()));
    // Armed in the tick that is running, some are due in the next: those were dropped.
    let (fired, returned) = (fired.load(Ordering::Relaxed), timers.stats().returned);
    assert_eq!(fired as u64 + returned, 10_001);
    assert!(timers.is_empty());
}

/// netty/netty#366, raced: an arm either is refused or its timer has an outcome.
#[test]
fn an_arm_that_meets_the_end_is_refused_or_has_an_outcome() {
    for mode in [Shutdown::Drop, Shutdown::HandBack, Shutdown::FireDue] {
        for round in 0..200 {
            let timers = Timers::new().unwrap();
            let outcomes = Arc::new(AtomicUsize::new(0));
            let armers: Vec<_> = (0..2)
                .map(|_| {
                    let (timers, outcomes) = (timers.clone(), outcomes.clone());
                    thread::spawn(move || arm_until_refused(&timers, &outcomes))
                })
                .collect();
            for _ in 0..round * 10 {
                std::hint::spin_loop();
            }
            drop(timers.shutdown(mode));
            let accepted: usize = armers.into_iter().map(|armer| armer.join().unwrap()).sum();
            assert_eq!(timers.wait(LONG), Ok(()));
            assert_eq!(outcomes.load(Ordering::Acquire), accepted, "{mode:?}");
            assert!(timers.is_empty());
        }
    }
}

/// Arms timers whose callback, fired or dropped, is counted. Says how many were accepted.
fn arm_until_refused(timers: &Timers, outcomes: &Arc<AtomicUsize>) -> usize {
    struct Outcome(Option<Arc<AtomicUsize>>);

    impl Drop for Outcome {
        fn drop(&mut self) {
            if let Some(count) = self.0.take() {
                count.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    for accepted in 0.. {
        let outcome = Outcome(Some(outcomes.clone()));
        let after = if accepted % 2 == 0 { ms(0) } else { LONG };
        if timers.arm(after, move |_| drop(outcome)).is_err() {
            // That one was dropped here, and is counted as well.
            outcomes.fetch_sub(1, Ordering::AcqRel);
            return accepted;
        }
    }
    unreachable!()
}

#[test]
fn the_last_handle_ends_the_runtime_and_drops_what_is_armed() {
    let witness = Arc::new(());
    let timers = Timers::new().unwrap();
    let held = witness.clone();
    timers.arm(LONG, move |_| drop(held)).unwrap();
    let other = timers.clone();
    drop(timers);
    assert_eq!(Arc::strong_count(&witness), 2);
    drop(other);
    assert_eq!(Arc::strong_count(&witness), 1);
}

/// Whoever drives in vain must not say that the turn is over.
#[test]
fn a_turn_that_was_refused_does_not_end_the_one_under_way() {
    let bed = Bed::new();
    let (began, wait) = std::sync::mpsc::channel();
    let (go_on, stuck) = std::sync::mpsc::channel::<()>();
    bed.timers
        .arm(Duration::ZERO, move |_| {
            began.send(()).unwrap();
            assert!(stuck.recv().is_err());
        })
        .unwrap();
    let other = bed.timers.clone();
    let turns = thread::spawn(move || other.turn().unwrap());
    wait.recv().unwrap();
    assert!(bed.timers.turn().is_err());
    bed.timers.shutdown(Shutdown::Drop);
    assert_eq!(bed.timers.wait(ms(1)), Err(WaitError::TimedOut));
    drop(go_on);
    assert_eq!(bed.timers.wait(LONG), Ok(()));
    assert_eq!(turns.join().unwrap().fired, 1);
}

#[test]
fn what_fires_at_the_end_sees_what_time_it_is() {
    let bed = Bed::with(|builder| builder.on_overrun(ms(15), |overrun| panic!("{overrun:?}")));
    for _ in 0..5 {
        let (clock, mut logs) = (bed.clock.clone(), bed.logs("fired"));
        bed.timers
            .arm(ms(1), move |firing| {
                logs(firing);
                clock.advance(ms(12));
            })
            .unwrap();
    }
    bed.clock.advance(ms(1));
    bed.timers.shutdown(Shutdown::FireDue);
    let times: Vec<_> = bed.log.take().into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [1, 13, 25, 37, 49]);
    assert_eq!(bed.timers.stats().panics, 0);
}

#[test]
fn what_fails_at_the_end_is_not_promised_another_attempt() {
    let bed = Bed::with(|builder| builder.on_failure(|failure| assert_eq!(failure.again, None)));
    let backoff = tickwheel::Backoff::default();
    bed.timers
        .arm_fallible(ms(1), backoff, |_| Err("no"))
        .unwrap();
    bed.clock.advance(ms(1));
    bed.timers.shutdown(Shutdown::FireDue);
    let stats = bed.timers.stats();
    assert_eq!((stats.failures, stats.gave_up, stats.panics), (1, 1, 0));
}

#[test]
fn what_was_armed_within_an_unfinished_turn_fires_at_the_end_if_it_is_due() {
    let bed = Bed::new();
    let first = |firing: &mut tickwheel::Firing<'_>| assert!(firing.timers().pause());
    bed.timers.arm(ms(1), first).unwrap();
    assert_eq!(bed.drive_to(1), 1); // and then no more, in the middle of a turn
    assert!(bed.timers.resume());
    bed.timers.arm(ms(0), bed.logs("due")).unwrap();
    bed.timers.arm(ms(1), bed.logs("not due")).unwrap();
    bed.timers.shutdown(Shutdown::FireDue);
    assert_eq!(bed.log.take(), [(1, "due")]);
    assert!(bed.timers.is_empty());
}
