//! A cancelled entry stays filed, and the next timer takes over both.
//!
//! Properties:
//! * the timer that took over fires once and not late, whether or not the driver just comes by;
//! * so it does if it is due before the one that was cancelled;
//! * so it does if the cancelled one had been moved to an earlier tick that the driver has not
//!   heard of;
//! * an entry that has fired brings nothing of its first timer to its second;
//! * a question about the first timer is not answered with anything of the second.

use loom::sync::Arc;
use loom::thread;
use tickwheel::Tick;

use crate::harness::{Bound, model};
use crate::rig::{Log, Returned, arm, rearm, wheel};

/// The ways to break the wheel that the models of this file have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    (
        "BaseRelaxed",
        "recycle::a_deadline_is_asked_for_while_another_timer_takes_over",
    ),
    ("UnfileBlind", "recycle::a_later_timer_takes_over"),
    (
        "UnfileSilently",
        "recycle::a_later_timer_takes_over_what_was_met",
    ),
    (
        "LazyIgnoresDeadline",
        "recycle::an_earlier_timer_takes_over",
    ),
    (
        "ArmRelaxed",
        "recycle::what_took_over_brings_its_value_along",
    ),
    (
        "FireRelaxed",
        "recycle::what_took_over_brings_its_value_along",
    ),
    (
        "RearmKeepsFiled",
        "recycle::a_moved_timer_is_cancelled_and_its_entry_armed",
    ),
    ("UnfileBlind", "recycle::what_took_over_and_returned_fires"),
    (
        "FreeRelaxed",
        "recycle::an_entry_that_fired_is_armed_by_another_thread",
    ),
];

/// Cancel and arm for later, against the driver that meets the cancelled entry: the entry is on
/// a slot for the second timer, or the driver is told.
///
/// Killed by: `UnfileBlind`.
#[test]
fn a_later_timer_takes_over() {
    model(
        "a_later_timer_takes_over",
        Bound::Preemptions(3),
        2_200,
        || {
            let wheel = wheel(1);
            let key = arm(&wheel, 2, 6);
            let mut log = Log::default();
            log.advance(&wheel, 0);
            let theirs = Arc::clone(&wheel);
            let armer = thread::spawn(move || {
                let value = theirs.cancel(key).value();
                arm(&theirs, 3, 7);
                value
            });
            log.advance(&wheel, 2);
            let cancelled = armer.join().unwrap();
            log.advance(&wheel, 3);
            let fired = log.times(6) + usize::from(cancelled == Some(6));
            assert_eq!((fired, log.times(7)), (1, 1), "{cancelled:?}, {log:?}");
            log.finish(&wheel, 3);
        },
    );
}

/// As above, but the driver has met the cancelled entry before anybody armed it again.
///
/// Killed by: `UnfileSilently`.
#[test]
fn a_later_timer_takes_over_what_was_met() {
    model(
        "a_later_timer_takes_over_what_was_met",
        Bound::Preemptions(3),
        59,
        || {
            let wheel = wheel(1);
            let key = arm(&wheel, 2, 6);
            let mut log = Log::default();
            log.advance(&wheel, 0);
            assert!(wheel.cancel(key).is_cancelled());
            let theirs = Arc::clone(&wheel);
            let armer = thread::spawn(move || {
                arm(&theirs, 4, 7);
            });
            log.advance(&wheel, 3);
            armer.join().unwrap();
            log.advance(&wheel, 4);
            assert_eq!(log.times(7), 1, "{log:?}");
            log.finish(&wheel, 4);
        },
    );
}

/// Cancel and arm for earlier, in an entry that is filed for later: the driver is told.
///
/// Killed by: `LazyIgnoresDeadline`.
#[test]
fn an_earlier_timer_takes_over() {
    model(
        "an_earlier_timer_takes_over",
        Bound::Preemptions(3),
        30,
        || {
            let wheel = wheel(1);
            let key = arm(&wheel, 9, 6);
            let mut log = Log::default();
            log.advance(&wheel, 0);
            let theirs = Arc::clone(&wheel);
            let armer = thread::spawn(move || {
                assert!(theirs.cancel(key).is_cancelled());
                arm(&theirs, 2, 7);
            });
            log.advance(&wheel, 2);
            armer.join().unwrap();
            log.advance(&wheel, 2);
            assert_eq!(log.times(7), 1, "{log:?}");
            log.finish(&wheel, 9);
            assert_eq!(log.times(6), 0, "{log:?}");
        },
    );
}

/// Re-arm earlier, cancel, arm for in between, against the driver that sweeps: the filing for
/// the first deadline is not taken for one that serves the last.
///
/// Killed by: `RearmKeepsFiled`.
#[test]
fn a_moved_timer_is_cancelled_and_its_entry_armed() {
    let name = "a_moved_timer_is_cancelled_and_its_entry_armed";
    model(name, Bound::Preemptions(3), 1_200, || {
        let wheel = wheel(1);
        let key = arm(&wheel, 9, 6);
        let mut log = Log::default();
        log.advance(&wheel, 0);
        let theirs = Arc::clone(&wheel);
        let armer = thread::spawn(move || {
            assert!(rearm(&theirs, key, 3));
            assert_eq!(theirs.cancel(key).value(), Some(6));
            arm(&theirs, 5, 7);
        });
        log.advance(&wheel, 1);
        armer.join().unwrap();
        log.advance(&wheel, 5);
        assert_eq!(log.times(7), 1, "{log:?}");
        log.finish(&wheel, 9);
        assert_eq!(log.times(6), 0, "{log:?}");
    });
}

/// A timer that relies on a filing reaches the driver through its word alone, and its value
/// comes with it.
///
/// Killed by: `ArmRelaxed`, `FireRelaxed`.
#[test]
fn what_took_over_brings_its_value_along() {
    model(
        "what_took_over_brings_its_value_along",
        Bound::Preemptions(3),
        59,
        || {
            let wheel = wheel(1);
            let key = arm(&wheel, 2, 6);
            let mut log = Log::default();
            log.advance(&wheel, 0);
            assert!(wheel.cancel(key).is_cancelled());
            let theirs = Arc::clone(&wheel);
            let armer = thread::spawn(move || {
                arm(&theirs, 2, 7);
            });
            log.advance(&wheel, 2);
            armer.join().unwrap();
            log.advance(&wheel, 2);
            assert_eq!(log.times(7), 1, "{log:?}");
            log.finish(&wheel, 2);
        },
    );
}

/// A cancel and an arm that have returned are honoured by the advance that begins after.
///
/// Killed by: `UnfileBlind`, `UnfileSilently`.
#[test]
fn what_took_over_and_returned_fires() {
    model(
        "what_took_over_and_returned_fires",
        Bound::Preemptions(2),
        2_000,
        || {
            let (wheel, returned) = (wheel(1), Returned::new());
            let key = arm(&wheel, 3, 6);
            let mut log = Log::default();
            log.advance(&wheel, 0);
            let (theirs, says) = (Arc::clone(&wheel), Arc::clone(&returned));
            let armer = thread::spawn(move || {
                let cancelled = theirs.cancel(key).is_cancelled();
                arm(&theirs, 5, 7);
                says.set();
                cancelled
            });
            log.advance(&wheel, 3);
            let expected = returned.is_set();
            log.advance(&wheel, 5);
            assert!(
                log.times(7) == 1 || !expected,
                "returned, not fired: {log:?}"
            );
            let cancelled = armer.join().unwrap();
            log.advance(&wheel, 5);
            assert_eq!(
                (log.times(6), log.times(7)),
                (usize::from(!cancelled), 1),
                "{log:?}"
            );
            log.finish(&wheel, 5);
        },
    );
}

/// One fires, and another thread arms, perhaps the entry that has become free.
///
/// Killed by: `FreeRelaxed`, `PopRelaxed`.
#[test]
fn an_entry_that_fired_is_armed_by_another_thread() {
    let name = "an_entry_that_fired_is_armed_by_another_thread";
    model(name, Bound::Preemptions(3), 430, || {
        let wheel = wheel(1);
        arm(&wheel, 1, 6);
        arm(&wheel, 9, 5); // the block is full
        let mut log = Log::default();
        log.advance(&wheel, 0);
        let theirs = Arc::clone(&wheel);
        let armer = thread::spawn(move || {
            arm(&theirs, 3, 7);
        });
        log.advance(&wheel, 1);
        armer.join().unwrap();
        log.advance(&wheel, 3);
        assert_eq!((log.times(6), log.times(7)), (1, 1), "{log:?}");
        log.finish(&wheel, 9);
    });
}

/// Asked for the deadline of a timer whose entry another one takes over, the wheel says what it
/// was, or that there is none; not something made of both.
///
/// Killed by: `BaseRelaxed`.
#[test]
fn a_deadline_is_asked_for_while_another_timer_takes_over() {
    let name = "a_deadline_is_asked_for_while_another_timer_takes_over";
    model(name, Bound::Preemptions(3), 460, || {
        const FAR: u64 = 1 << 50; // it does not count from the base of the first
        let wheel = wheel(1);
        let key = arm(&wheel, 1, 6);
        let theirs = Arc::clone(&wheel);
        let armer = thread::spawn(move || {
            assert!(theirs.cancel(key).is_cancelled());
            arm(&theirs, FAR, 7)
        });
        let told = wheel.deadline(key).map(Tick::get);
        assert!(told.is_none_or(|told| told == 1), "{told:?}");
        let next = armer.join().unwrap();
        assert_eq!(wheel.deadline(next), Some(Tick::new(FAR)));
        assert!(wheel.cancel(next).is_cancelled());
        Log::default().finish(&wheel, 1);
    });
}
