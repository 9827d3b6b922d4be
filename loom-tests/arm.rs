//! Arming while the driver is about.
//!
//! Properties:
//! * an arm fires once and never early, whenever it comes: at the tick that is being advanced
//!   to, at the one after the cursor, in a block or a group that the driver has not seen;
//! * it fires in the advance that begins after it has returned;
//! * what is armed all the time is counted all the time.

use loom::sync::Arc;
use loom::thread;
use tickwheel::Tick;

use crate::harness::{Bound, model};
use crate::rig::{Fired, Log, Returned, arm, rearm, wheel, wheel_with_free};

/// The ways to break the wheel that the models of this file have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("MarkFirst", "arm::an_arm_that_has_returned_fires"),
    (
        "GroupsByLoad",
        "arm::the_arena_grows_while_the_driver_sweeps",
    ),
    (
        "TakeRelaxed",
        "arm::the_arena_grows_while_the_driver_sweeps",
    ),
    (
        "EndedRelaxed",
        "arm::what_is_armed_is_counted_while_another_is_cancelled",
    ),
    (
        "FiredRelaxed",
        "arm::what_is_armed_is_counted_while_another_fires",
    ),
    ("CountLate", "arm::what_is_armed_is_counted"),
    ("MarkRelaxed", "arm::an_arm_at_the_boundary_fires_once"),
    (
        "SweepRelaxed",
        "arm::two_armers_and_the_driver_meet_at_a_slot",
    ),
];

/// An arm fires once, not early, and if it does not fire now it fires next time.
///
/// Killed by: `MarkRelaxed`, `SweepRelaxed`.
#[test]
fn an_arm_at_the_boundary_fires_once() {
    // The tick after the cursor, and the one that is being advanced to.
    for deadline in [1, 2] {
        model(
            "an_arm_at_the_boundary_fires_once",
            Bound::Preemptions(2),
            120,
            move || {
                let wheel = wheel(1);
                arm(&wheel, 1, 6);
                let theirs = Arc::clone(&wheel);
                let armer = thread::spawn(move || {
                    arm(&theirs, deadline, 7);
                });
                let mut log = Log::default();
                log.advance(&wheel, 2);
                armer.join().unwrap();
                log.finish(&wheel, 2);
                assert_eq!((log.times(6), log.times(7)), (1, 1), "{log:?}");
            },
        );
    }
}

/// An arm that returned before an advance began is fired by that advance.
///
/// Killed by: `MarkFirst`.
#[test]
fn an_arm_that_has_returned_fires() {
    model(
        "an_arm_that_has_returned_fires",
        Bound::Preemptions(2),
        120,
        || {
            let (wheel, returned) = (wheel(1), Returned::new());
            let (theirs, says) = (Arc::clone(&wheel), Arc::clone(&returned));
            let armer = thread::spawn(move || {
                arm(&theirs, 1, 7);
                says.set();
            });
            let mut log = Log::default();
            log.advance(&wheel, 0);
            let expected = returned.is_set();
            log.advance(&wheel, 1);
            assert!(log.times(7) == 1 || !expected, "returned, not fired");
            armer.join().unwrap();
            log.finish(&wheel, 1);
            assert_eq!(log.times(7), 1, "{log:?}");
        },
    );
}

/// Two armers, each with a block of its own, and the driver meet at one slot: all fire once.
///
/// Killed by: `SweepRelaxed`, `MarkRelaxed`.
#[test]
fn two_armers_and_the_driver_meet_at_a_slot() {
    model(
        "two_armers_and_the_driver_meet_at_a_slot",
        Bound::Preemptions(2),
        28_600,
        || {
            let wheel = wheel(2);
            let armers = [7, 8].map(|value| {
                let theirs = Arc::clone(&wheel);
                thread::spawn(move || {
                    theirs.local().arm(Tick::new(1), value);
                })
            });
            let mut log = Log::default();
            log.advance(&wheel, 1);
            for armer in armers {
                armer.join().unwrap();
            }
            log.finish(&wheel, 1);
            assert_eq!((log.times(7), log.times(8)), (1, 1), "{log:?}");
        },
    );
}

/// Who finds the root marked by its own last arm, and has taken an entry of a new group since,
/// is found in that group.
///
/// Killed by: `GroupsByLoad`, `TakeRelaxed`.
#[test]
fn the_arena_grows_while_the_driver_sweeps() {
    model(
        "the_arena_grows_while_the_driver_sweeps",
        Bound::Preemptions(3),
        170,
        || {
            let (wheel, mut log) = (wheel(1), Log::default());
            let keys: Vec<_> = (0..4).map(|value| arm(&wheel, 9, value)).collect(); // a group
            log.advance(&wheel, 0);
            let (theirs, key) = (Arc::clone(&wheel), keys[0]);
            let armer = thread::spawn(move || {
                assert!(rearm(&theirs, key, 1));
                arm(&theirs, 1, 7);
            });
            log.advance(&wheel, 0);
            armer.join().unwrap();
            log.advance(&wheel, 1);
            assert_eq!((log.times(0), log.times(7)), (1, 1), "{log:?}");
            log.finish(&wheel, 9);
        },
    );
}

/// Something is armed from beginning to end, so that the wheel is never empty.
///
/// Killed by: `CountLate`.
#[test]
fn what_is_armed_is_counted() {
    model(
        "what_is_armed_is_counted",
        Bound::Preemptions(2),
        84,
        || {
            let wheel = wheel_with_free(1, 2);
            arm(&wheel, 9, 6);
            let theirs = Arc::clone(&wheel);
            let armer = thread::spawn(move || {
                arm(&theirs, 1, 7);
            });
            let mut log = Log::default();
            log.advance_with(&wheel, 1, |fired: Fired| {
                assert!(!wheel.is_empty(), "{fired:?}, and another is armed");
            });
            assert!(!wheel.is_empty(), "{log:?}, and another is armed");
            armer.join().unwrap();
            log.finish(&wheel, 9);
            assert_eq!((log.times(6), log.times(7)), (1, 1), "{log:?}");
        },
    );
}

/// As above, while another timer is armed and cancelled.
///
/// Killed by: `EndedRelaxed`.
#[test]
fn what_is_armed_is_counted_while_another_is_cancelled() {
    let name = "what_is_armed_is_counted_while_another_is_cancelled";
    model(name, Bound::Preemptions(3), 15, || {
        let wheel = wheel(1);
        arm(&wheel, 9, 6);
        let theirs = Arc::clone(&wheel);
        let other = thread::spawn(move || {
            let key = arm(&theirs, 9, 7);
            assert!(theirs.cancel(key).is_cancelled());
        });
        assert!(!wheel.is_empty(), "one is armed");
        other.join().unwrap();
        assert_eq!(wheel.len(), 1, "one is armed");
        Log::default().finish(&wheel, 9);
    });
}

/// As above, while another timer is armed and fires, both in another thread.
///
/// Killed by: `FiredRelaxed`.
#[test]
fn what_is_armed_is_counted_while_another_fires() {
    let name = "what_is_armed_is_counted_while_another_fires";
    model(name, Bound::Preemptions(3), 17, || {
        let wheel = wheel(1);
        arm(&wheel, 9, 6);
        let theirs = Arc::clone(&wheel);
        let driver = thread::spawn(move || {
            let mut log = Log::default();
            arm(&theirs, 1, 7);
            log.advance(&theirs, 1);
            assert_eq!(log.times(7), 1, "{log:?}");
        });
        assert!(!wheel.is_empty(), "one is armed");
        driver.join().unwrap();
        assert_eq!(wheel.len(), 1, "one is armed");
        Log::default().finish(&wheel, 9);
    });
}
