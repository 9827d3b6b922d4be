//! Moving a timer while the driver files it, meets it and fires it.
//!
//! Properties:
//! * a timer that was moved fires once, for its new deadline and on time, and never for the old;
//!   one that could not be moved has fired for the old;
//! * so it is wherever the driver has filed it, and whatever it does with it just now;
//! * so it is for one that is suspended in between;
//! * of several moves the last counts, and a cancel is the last.

use loom::sync::Arc;
use loom::thread;
use tickwheel::{Cancel, TimerKey};

use crate::harness::{Bound, model};
use crate::rig::{Log, Returned, Wheel, arm, rearm, wheel};

/// The ways to break the wheel that the models of this file have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("FireBlind", "rearm::a_later_move_meets_a_fire"),
    ("FileBlind", "rearm::a_move_meets_the_filing"),
    ("RearmKeepsFiled", "rearm::a_move_that_has_returned_counts"),
    ("RearmUnmarked", "rearm::a_move_that_has_returned_counts"),
    ("RearmUnmarked", "rearm::an_earlier_move_meets_a_cascade"),
    ("MeetBlind", "rearm::an_earlier_move_meets_a_later_filing"),
    ("FireBlind", "rearm::a_timer_is_suspended_while_it_is_due"),
    ("RearmBlind", "rearm::a_move_meets_a_cancel"),
    ("RearmBlind", "rearm::a_move_a_cancel_and_a_fire_meet"),
    ("RearmKeepsFiled", "rearm::two_moves_and_the_driver_meet"),
];

/// Moves a timer in another thread.
fn mover(wheel: &Arc<Wheel>, key: TimerKey, deadline: u64) -> thread::JoinHandle<bool> {
    let wheel = Arc::clone(wheel);
    thread::spawn(move || rearm(&wheel, key, deadline))
}

/// Requires that the timer 7 has fired once, for this deadline and at this tick.
#[track_caller]
fn fired_for(log: &Log, deadline: u64) {
    let fired = log.of(7).map(|fired| (fired.deadline, fired.tick));
    assert_eq!(fired, Some((deadline, deadline)), "{log:?}");
}

/// The driver meets an entry that is moved on: it leaves it, or the move fails.
///
/// Killed by: `FireBlind`.
#[test]
fn a_later_move_meets_a_fire() {
    model(
        "a_later_move_meets_a_fire",
        Bound::Preemptions(3),
        200,
        || {
            let (wheel, mut log) = (wheel(1), Log::default());
            let key = arm(&wheel, 1, 7);
            log.advance(&wheel, 0);
            let mover = mover(&wheel, key, 3);
            log.advance(&wheel, 1);
            let moved = mover.join().unwrap();
            log.finish(&wheel, 3);
            fired_for(&log, if moved { 3 } else { 1 });
        },
    );
}

/// The driver files an entry that is moved to an earlier tick or to a later one.
///
/// Killed by: `FileBlind`.
#[test]
fn a_move_meets_the_filing() {
    for deadline in [5, 30] {
        model(
            "a_move_meets_the_filing",
            Bound::Preemptions(3),
            560,
            move || {
                let (wheel, mut log) = (wheel(1), Log::default());
                let key = arm(&wheel, 20, 7);
                let mover = mover(&wheel, key, deadline);
                log.advance(&wheel, 1);
                assert!(mover.join().unwrap());
                log.advance(&wheel, deadline - 1);
                log.finish(&wheel, deadline);
                fired_for(&log, deadline);
            },
        );
    }
}

/// An entry is moved to an earlier tick out of a coarse slot that the driver empties.
///
/// Killed by: `RearmUnmarked`, `RearmKeepsFiled`.
#[test]
fn an_earlier_move_meets_a_cascade() {
    model(
        "an_earlier_move_meets_a_cascade",
        Bound::Preemptions(3),
        120,
        || {
            let (wheel, mut log) = (wheel(1), Log::default());
            let key = arm(&wheel, 21, 7);
            arm(&wheel, 16, 8); // a stop at the tick where the coarse slot begins
            log.advance(&wheel, 15);
            let mover = mover(&wheel, key, 18);
            log.advance(&wheel, 18);
            assert!(mover.join().unwrap());
            log.finish(&wheel, 18);
            fired_for(&log, 18);
        },
    );
}

/// The driver meets an entry that had been moved on, and files it anew without telling anybody,
/// while it is moved back.
///
/// Killed by: `MeetBlind`, `RearmUnmarked`, `RearmKeepsFiled`.
#[test]
fn an_earlier_move_meets_a_later_filing() {
    model(
        "an_earlier_move_meets_a_later_filing",
        Bound::Preemptions(3),
        1_500,
        || {
            let (wheel, mut log) = (wheel(1), Log::default());
            let key = arm(&wheel, 1, 7);
            log.advance(&wheel, 0);
            assert!(rearm(&wheel, key, 20));
            let mover = mover(&wheel, key, 3);
            log.advance(&wheel, 1);
            assert!(mover.join().unwrap());
            log.advance(&wheel, 2);
            log.finish(&wheel, 3);
            fired_for(&log, 3);
        },
    );
}

/// A move that returned before an advance began is known to it.
///
/// Killed by: `RearmKeepsFiled`, `RearmUnmarked`.
#[test]
fn a_move_that_has_returned_counts() {
    model(
        "a_move_that_has_returned_counts",
        Bound::Preemptions(3),
        57,
        || {
            let (wheel, returned, mut log) = (wheel(1), Returned::new(), Log::default());
            let key = arm(&wheel, 9, 7);
            log.advance(&wheel, 0);
            let (theirs, says) = (Arc::clone(&wheel), Arc::clone(&returned));
            let mover = thread::spawn(move || {
                assert!(rearm(&theirs, key, 1));
                says.set();
            });
            let expected = returned.is_set();
            log.advance(&wheel, 1);
            assert!(log.times(7) == 1 || !expected, "returned, not fired");
            mover.join().unwrap();
            log.finish(&wheel, 1);
            fired_for(&log, 1);
        },
    );
}

/// A timer is suspended and taken up again, for earlier or for later, while it is due.
///
/// Killed by: `FireBlind`, `RearmBlind`.
#[test]
fn a_timer_is_suspended_while_it_is_due() {
    // Back for an earlier tick it is marked as well, so there is one more place to interrupt.
    for (deadline, bound) in [(1, Bound::Preemptions(4)), (3, Bound::Preemptions(3))] {
        model(
            "a_timer_is_suspended_while_it_is_due",
            bound,
            650,
            move || {
                let (wheel, mut log) = (wheel(1), Log::default());
                let key = arm(&wheel, 2, 7);
                log.advance(&wheel, 0);
                let theirs = Arc::clone(&wheel);
                let other = thread::spawn(move || {
                    let suspended = theirs.disarm(key).is_ok();
                    (suspended, rearm(&theirs, key, deadline))
                });
                log.advance(&wheel, 2);
                let (suspended, moved) = other.join().unwrap();
                log.finish(&wheel, 3);
                assert_eq!(suspended, moved, "nothing fires a suspended timer");
                let fired = log.of(7).map(|fired| fired.deadline);
                assert_eq!(fired, Some(if moved { deadline } else { 2 }), "{log:?}");
            },
        );
    }
}

/// A cancel finds a timer that is being moved: wherever it is by then, it never fires.
///
/// Killed by: `RearmBlind`, `CancelUnchecked`.
#[test]
fn a_move_meets_a_cancel() {
    for deadline in [1, 5] {
        model(
            "a_move_meets_a_cancel",
            Bound::Preemptions(3),
            39,
            move || {
                let (wheel, mut log) = (wheel(1), Log::default());
                let key = arm(&wheel, 3, 7);
                log.advance(&wheel, 0);
                let mover = mover(&wheel, key, deadline);
                assert_eq!(wheel.cancel(key), Cancel::Cancelled(7));
                mover.join().unwrap();
                assert!(!rearm(&wheel, key, 9), "it was cancelled");
                log.finish(&wheel, 5);
                assert_eq!(log.times(7), 0, "{log:?}");
            },
        );
    }
}

/// A timer that is moved to the tick that is being fired, and cancelled: one thing happens to it.
///
/// Killed by: `RearmBlind`, `CancelBlind`, `CancelUnchecked`.
#[test]
fn a_move_a_cancel_and_a_fire_meet() {
    let name = "a_move_a_cancel_and_a_fire_meet";
    model(name, Bound::Preemptions(3), 4_700, || {
        let (wheel, mut log) = (wheel(1), Log::default());
        let key = arm(&wheel, 9, 7);
        log.advance(&wheel, 0);
        let mover = mover(&wheel, key, 1);
        let theirs = Arc::clone(&wheel);
        let canceller = thread::spawn(move || theirs.cancel(key));
        log.advance(&wheel, 1);
        let moved = mover.join().unwrap();
        let answer = canceller.join().unwrap();
        log.finish(&wheel, 1);
        let cancelled = answer == Cancel::Cancelled(7);
        assert!(moved || cancelled, "{answer:?}");
        assert_eq!(
            usize::from(cancelled) + log.times(7),
            1,
            "{answer:?}, {log:?}"
        );
    });
}

/// Two threads move a timer while the driver files it. It fires for the deadline it had last.
///
/// Killed by: `RearmKeepsFiled`, `FileBlind`.
#[test]
fn two_moves_and_the_driver_meet() {
    model(
        "two_moves_and_the_driver_meet",
        Bound::Preemptions(2),
        15_500,
        || {
            let (wheel, mut log) = (wheel(1), Log::default());
            let key = arm(&wheel, 9, 7);
            log.advance(&wheel, 0);
            let movers = [1, 2].map(|deadline| mover(&wheel, key, deadline));
            log.advance(&wheel, 0);
            let moved = movers.map(|mover| mover.join().unwrap());
            let last = wheel.deadline(key).map(|deadline| deadline.get());
            log.finish(&wheel, 2);
            assert_eq!(moved, [true; 2], "nothing was due");
            fired_for(&log, last.expect("it was armed"));
        },
    );
}
