//! Deadlines so far from the first that a second entry keeps them.
//!
//! Properties:
//! * such a deadline is exact, whoever asks while others move the timer;
//! * it is not mixed up with the deadline that the second entry kept before or keeps next;
//! * a re-arm to such a deadline and a firing exclude each other as any other two;
//! * the second entry is free again once the timer has gone or come near.

use loom::sync::Arc;
use loom::thread;
use tickwheel::Tick;

use crate::harness::{Bound, model};
use crate::rig::{Log, arm, rearm, wheel};

/// The ways to break the wheel that the models of this file have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    (
        "FarUnchecked",
        "far::a_deadline_is_never_that_of_another_timer",
    ),
    (
        "FarUnversioned",
        "far::a_deadline_comes_back_in_the_same_entry",
    ),
];

/// Beyond what the word of an entry armed for a near deadline can hold.
const FAR: u64 = 1 << 50;

/// One timer goes from one far deadline to another, while a third thread's timer goes far: whoever
/// asks for the deadline of the first hears one that it had.
///
/// Killed by: `FarUnchecked`.
#[test]
fn a_deadline_is_never_that_of_another_timer() {
    let name = "a_deadline_is_never_that_of_another_timer";
    model(name, Bound::Preemptions(2), 10, || {
        let wheel = wheel(1);
        let (key, other) = (arm(&wheel, 1, 6), arm(&wheel, 1, 7));
        assert!(rearm(&wheel, key, FAR));
        let theirs = Arc::clone(&wheel);
        let mover = thread::spawn(move || {
            assert!(rearm(&theirs, key, 2)); // the second entry is free
            assert!(rearm(&theirs, other, FAR + 7)); // and used again
        });
        let deadline = wheel.deadline(key).map(Tick::get);
        assert!(deadline == Some(FAR) || deadline == Some(2), "{deadline:?}");
        mover.join().unwrap();
        let mut log = Log::default();
        log.advance(&wheel, 2);
        assert_eq!((log.times(6), log.times(7)), (1, 0), "{log:?}");
        log.finish(&wheel, FAR + 7);
        assert_eq!(log.of(7).map(|fired| fired.tick), Some(FAR + 7), "{log:?}");
    });
}

/// Later and later again, so that the second entry of the first deadline keeps the third: an
/// exchange that was judged by the first does not succeed on the third.
///
/// Killed by: `FarUnversioned`.
#[test]
fn a_deadline_comes_back_in_the_same_entry() {
    let name = "a_deadline_comes_back_in_the_same_entry";
    model(name, Bound::Preemptions(2), 10, || {
        let wheel = wheel(1);
        let key = arm(&wheel, 1, 6);
        assert!(rearm(&wheel, key, FAR));
        let mut log = Log::default();
        log.advance(&wheel, 1);
        let theirs = Arc::clone(&wheel);
        let mover = thread::spawn(move || {
            // Each is honoured, or too late because the timer has fired for the one before.
            rearm(&theirs, key, FAR + 8) && rearm(&theirs, key, FAR + 9)
        });
        log.advance(&wheel, FAR);
        let moved = mover.join().unwrap();
        assert!(
            log.times(6) == 0 || !moved,
            "fired for a deadline that it had no more: {log:?}"
        );
        log.advance(&wheel, FAR + 9);
        assert_eq!(log.times(6), 1, "moved {moved}, {log:?}");
        log.finish(&wheel, FAR + 9);
    });
}

/// To a far deadline, while it is due.
#[test]
fn far_against_fire() {
    model("far_against_fire", Bound::Preemptions(3), 10, || {
        let wheel = wheel(1);
        let key = arm(&wheel, 1, 6);
        let mut log = Log::default();
        log.advance(&wheel, 0);
        let theirs = Arc::clone(&wheel);
        let mover = thread::spawn(move || rearm(&theirs, key, FAR));
        log.advance(&wheel, 1);
        let moved = mover.join().unwrap();
        assert_eq!(log.times(6), usize::from(!moved), "moved {moved}, {log:?}");
        log.finish(&wheel, FAR);
        let deadline = log.of(6).map(|fired| fired.deadline);
        assert_eq!(deadline, Some(if moved { FAR } else { 1 }), "{log:?}");
        // One entry and the second one, and no more for the next pair.
        let key = arm(&wheel, FAR, 7);
        assert!(rearm(&wheel, key, 3 * FAR));
        assert!(wheel.cancel(key).is_cancelled());
        assert_eq!(wheel.entries(), 2);
    });
}

/// Two threads move one timer far away: it has one of the two deadlines, and both second entries
/// but one are free.
#[test]
fn twice_far_at_once() {
    model("twice_far_at_once", Bound::Preemptions(2), 100, || {
        let wheel = wheel(1);
        let key = arm(&wheel, 1, 6);
        let theirs = Arc::clone(&wheel);
        let mover = thread::spawn(move || assert!(rearm(&theirs, key, FAR + 1)));
        assert!(rearm(&wheel, key, FAR + 2));
        mover.join().unwrap();
        let deadline = wheel.deadline(key).map(Tick::get);
        assert!(
            deadline == Some(FAR + 1) || deadline == Some(FAR + 2),
            "{deadline:?}"
        );
        let mut log = Log::default();
        log.finish(&wheel, FAR + 2);
        assert_eq!(log.of(6).map(|fired| fired.deadline), deadline, "{log:?}");
        for value in 0..wheel.entries() as u32 {
            arm(&wheel, FAR + 3, value);
        }
        assert!(wheel.entries() <= 4, "{} entries", wheel.entries());
    });
}

/// To a far deadline against a cancel: the value is had by one, and nothing is lost.
#[test]
fn far_against_cancel() {
    model("far_against_cancel", Bound::Preemptions(3), 10, || {
        let wheel = wheel(1);
        let key = arm(&wheel, 1, 6);
        let theirs = Arc::clone(&wheel);
        let mover = thread::spawn(move || rearm(&theirs, key, FAR));
        assert_eq!(wheel.cancel(key).value(), Some(6));
        mover.join().unwrap();
        for value in 0..2 {
            arm(&wheel, 1, value); // both entries are free
        }
        assert_eq!(wheel.entries(), 2);
        Log::default().finish(&wheel, FAR);
    });
}
