//! Marks: set on the way up by some, swept on the way down by the driver.
//!
//! Properties:
//! * no mark is lost, whoever else marks an entry of the same block or group meanwhile;
//! * a mark counts as soon as whoever set it has returned, though another, who found less and
//!   has more to set, is held up.

use loom::sync::Arc;
use loom::thread;

use crate::harness::{Bound, model};
use crate::rig::{Log, Returned, arm, rearm, wheel};

/// The ways to break the wheel that the models of this file have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    (
        "GroupUnchecked",
        "marks::two_threads_mark_entries_of_a_block",
    ),
    (
        "GroupFoundRelaxed",
        "marks::two_threads_mark_a_group_that_was_swept",
    ),
    ("RootUnchecked", "marks::two_threads_mark_blocks_of_a_group"),
    ("MarkRelaxed", "marks::a_mark_brings_the_word_along"),
    ("SweepRelaxed", "marks::a_mark_brings_the_word_along"),
    (
        "SweepByLoad",
        "marks::a_thread_marks_two_groups_while_the_driver_sweeps",
    ),
];

/// Two threads move the timers `first` and `second` of a filed wheel to tick 1. If the second has
/// returned when an advance begins, that fires its timer.
fn two_threads_mark(name: &str, first: usize, second: usize) {
    model(name, Bound::Preemptions(2), 3_200, move || {
        let (wheel, returned) = (wheel(1), Returned::new());
        let keys: Vec<_> = (0..=2).map(|value| arm(&wheel, 20, value)).collect();
        let mut log = Log::default();
        log.advance(&wheel, 0);

        let (theirs, key) = (Arc::clone(&wheel), keys[first]);
        let slow = thread::spawn(move || assert!(rearm(&theirs, key, 1)));
        let (theirs, key, says) = (Arc::clone(&wheel), keys[second], Arc::clone(&returned));
        let quick = thread::spawn(move || {
            assert!(rearm(&theirs, key, 1));
            says.set();
        });
        let expected = returned.is_set();
        log.advance(&wheel, 1);
        assert!(
            log.times(second as u32) == 1 || !expected,
            "returned, not fired"
        );
        slow.join().unwrap();
        quick.join().unwrap();
        log.advance(&wheel, 1);
        assert_eq!(
            (log.times(first as u32), log.times(second as u32)),
            (1, 1),
            "{log:?}"
        );
        log.finish(&wheel, 20);
    });
}

/// Who finds that another has marked the block makes sure of the group all the same.
///
/// Killed by: `GroupUnchecked`.
#[test]
fn two_threads_mark_entries_of_a_block() {
    two_threads_mark("two_threads_mark_entries_of_a_block", 0, 1);
}

/// Who finds that another has marked the group makes sure of the root all the same.
///
/// Killed by: `RootUnchecked`.
#[test]
fn two_threads_mark_blocks_of_a_group() {
    two_threads_mark("two_threads_mark_blocks_of_a_group", 0, 2);
}

/// The driver that finds a mark sees what was armed, and that it was armed.
///
/// Killed by: `MarkRelaxed`, `SweepRelaxed`.
#[test]
fn a_mark_brings_the_word_along() {
    model(
        "a_mark_brings_the_word_along",
        Bound::Preemptions(3),
        30,
        || {
            let wheel = wheel(1);
            let theirs = Arc::clone(&wheel);
            let armer = thread::spawn(move || {
                arm(&theirs, 1, 7);
            });
            let mut log = Log::default();
            log.advance(&wheel, 1);
            armer.join().unwrap();
            log.finish(&wheel, 1);
            assert_eq!(log.times(7), 1, "{log:?}");
        },
    );
}

/// One thread marks entries of two groups, which share a mark at the root, while the driver
/// sweeps: each is found by this sweep or by the next.
///
/// Killed by: `SweepByLoad`.
#[test]
fn a_thread_marks_two_groups_while_the_driver_sweeps() {
    let name = "a_thread_marks_two_groups_while_the_driver_sweeps";
    model(name, Bound::Preemptions(2), 66, || {
        let wheel = wheel(1);
        let keys: Vec<_> = (0..5).map(|value| arm(&wheel, 20, value)).collect();
        let mut log = Log::default();
        log.advance(&wheel, 0);
        let theirs = Arc::clone(&wheel);
        let (near, far) = (keys[0], keys[4]);
        let mover = thread::spawn(move || {
            for key in [near, far] {
                assert!(rearm(&theirs, key, 1));
            }
        });
        log.advance(&wheel, 1);
        mover.join().unwrap();
        log.advance(&wheel, 1);
        assert_eq!((log.times(0), log.times(4)), (1, 1), "{log:?}");
        log.finish(&wheel, 20);
    });
}

/// Who finds the group marked by another, that has not come to the root yet, sees at the root what
/// the other saw: that it has been swept.
///
/// Killed by: `GroupFoundRelaxed`.
#[test]
fn two_threads_mark_a_group_that_was_swept() {
    let name = "two_threads_mark_a_group_that_was_swept";
    model(name, Bound::Preemptions(2), 4_400, || {
        let (wheel, returned) = (wheel(1), Returned::new());
        let keys = [7, 8].map(|value| arm(&wheel, 20, value));
        let mut log = Log::default();
        log.advance(&wheel, 0);
        arm(&wheel, 20, 9); // something to sweep

        let theirs = Arc::clone(&wheel);
        let slow = thread::spawn(move || assert!(rearm(&theirs, keys[0], 1)));
        let (theirs, says) = (Arc::clone(&wheel), Arc::clone(&returned));
        let quick = thread::spawn(move || {
            assert!(rearm(&theirs, keys[1], 1));
            says.set();
        });
        log.advance(&wheel, 0);
        if returned.is_set() {
            log.advance(&wheel, 1);
            assert_eq!(log.times(8), 1, "returned, not fired");
        }
        slow.join().unwrap();
        quick.join().unwrap();
        log.advance(&wheel, 1);
        assert_eq!((log.times(7), log.times(8)), (1, 1), "{log:?}");
        log.finish(&wheel, 20);
    });
}
