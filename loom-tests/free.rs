//! Free entries: popped and pushed by many at once.
//!
//! Properties:
//! * no entry is given to two, and none is lost, though it is popped and pushed between another's
//!   look and its exchange;
//! * whoever gets an entry gets it with its value gone;
//! * a handle finds the entries of another's shard before it takes new ones;
//! * a fired entry goes back to where it was armed;
//! * what a handle has counted is not forgotten by the next.

use loom::sync::Arc;
use loom::thread;
use tickwheel::Tick;

use crate::harness::{Bound, model};
use crate::rig::{Log, arm, wheel, wheel_with_free};

/// The ways to break the wheel that the models of this file have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("FreeUntagged", "free::an_entry_comes_and_goes_during_a_pop"),
    (
        "ClaimRelaxed",
        "free::a_handle_counts_on_from_the_one_before",
    ),
    ("FreeRelaxed", "free::an_entry_changes_hands"),
    ("PopRelaxed", "free::an_entry_changes_hands"),
    ("FreeBeforeTake", "free::an_entry_changes_hands"),
    ("FreeUntagged", "free::a_handle_takes_what_is_free"),
    ("FreeRelaxed", "free::a_handle_steals_from_another_shard"),
    ("HomeForgotten", "free::fired_entries_go_home"),
];

/// One pops; the other pops two and pushes the first of them back. Each has its own.
///
/// Killed by: `FreeUntagged`.
#[test]
fn an_entry_comes_and_goes_during_a_pop() {
    model(
        "an_entry_comes_and_goes_during_a_pop",
        Bound::Preemptions(2),
        2_500,
        || {
            let wheel = wheel_with_free(1, 4);
            let theirs = Arc::clone(&wheel);
            let other = thread::spawn(move || {
                arm(&theirs, 9, 1);
            });
            let first = arm(&wheel, 9, 2);
            arm(&wheel, 9, 3);
            assert_eq!(wheel.cancel(first).value(), Some(2));
            other.join().unwrap();
            for value in 4..6 {
                arm(&wheel, 9, value);
            }
            let mut log = Log::default();
            log.finish(&wheel, 9);
            for value in [1, 3, 4, 5] {
                assert_eq!(log.times(value), 1, "{value}: {log:?}");
            }
            assert_eq!(wheel.entries(), 4, "four were armed at a time");
        },
    );
}

/// One cancels, the other arms, perhaps in the entry of the cancelled: both values are whole.
///
/// Killed by: `FreeRelaxed`, `PopRelaxed`, `FreeBeforeTake`.
#[test]
fn an_entry_changes_hands() {
    model("an_entry_changes_hands", Bound::Preemptions(3), 27, || {
        let wheel = wheel(1);
        let key = arm(&wheel, 9, 6);
        arm(&wheel, 9, 5); // the block is full
        let theirs = Arc::clone(&wheel);
        let other = thread::spawn(move || theirs.cancel(key).value());
        let next = arm(&wheel, 9, 7);
        assert_eq!(other.join().unwrap(), Some(6));
        assert_eq!(wheel.cancel(next).value(), Some(7));
        Log::default().finish(&wheel, 9);
    });
}

/// A handle takes all the free entries at once, of its own shard or of the other, while a thread
/// without a handle takes one: each is taken by one of them.
fn a_handle_takes_a_batch(name: &str, own: bool) {
    model(name, Bound::Preemptions(3), 10, move || {
        let wheel = wheel_with_free(2, 2); // in the first shard
        if !own {
            drop(wheel.local()); // the next one has the second shard
        }
        let theirs = Arc::clone(&wheel);
        let other = thread::spawn(move || {
            theirs.local().arm(Tick::new(1), 7);
        });
        arm(&wheel, 1, 6);
        other.join().unwrap();
        let mut log = Log::default();
        log.finish(&wheel, 1);
        assert_eq!((log.times(6), log.times(7)), (1, 1), "{log:?}");
    });
}

/// From its own shard.
///
/// Killed by: `FreeUntagged`, `FreeRelaxed`, `PopRelaxed`.
#[test]
fn a_handle_takes_what_is_free() {
    a_handle_takes_a_batch("a_handle_takes_what_is_free", true);
}

/// From another shard, because its own has nothing.
///
/// Killed by: `FreeRelaxed`, `PopRelaxed`.
#[test]
fn a_handle_steals_from_another_shard() {
    a_handle_takes_a_batch("a_handle_steals_from_another_shard", false);
}

/// Entries that fire go back to their shard while their handle arms from it.
///
/// Killed by: `HomeForgotten`, `PopRelaxed`.
#[test]
fn fired_entries_go_home() {
    model(
        "fired_entries_go_home",
        Bound::Preemptions(3),
        6_300,
        || {
            let wheel = wheel(2);
            let mut handles = [wheel.local(), wheel.local()]; // they take turns at the shards
            for (handle, value) in handles.iter_mut().zip([5, 6]) {
                handle.arm(Tick::new(1), value);
            }
            drop(handles); // and leave each shard the other entry of its block
            let mut log = Log::default();
            log.advance(&wheel, 0);
            let theirs = Arc::clone(&wheel);
            let other = thread::spawn(move || {
                theirs.local().arm(Tick::new(2), 7);
            });
            log.advance(&wheel, 1);
            other.join().unwrap();
            log.advance(&wheel, 2);
            log.finish(&wheel, 2);
            for value in 5..8 {
                assert_eq!(log.times(value), 1, "{value}: {log:?}");
            }
            let mut handles = [wheel.local(), wheel.local()];
            for handle in &mut handles {
                for value in 8..10 {
                    handle.arm(Tick::new(3), value); // the first takes all that its shard has
                }
            }
            assert_eq!(wheel.entries(), 4, "two for each shard");
        },
    );
}

/// A handle takes over the counts of the one that had its shard before, wherever that was dropped.
///
/// Killed by: `ClaimRelaxed`.
#[test]
fn a_handle_counts_on_from_the_one_before() {
    let name = "a_handle_counts_on_from_the_one_before";
    model(name, Bound::Preemptions(3), 13_700, || {
        let wheel = wheel(1);
        let theirs = Arc::clone(&wheel);
        let other = thread::spawn(move || {
            theirs.local().arm(Tick::new(1), 6);
        });
        wheel.local().arm(Tick::new(1), 7);
        other.join().unwrap();
        assert_eq!(wheel.len(), 2, "two are armed");
        let mut log = Log::default();
        log.finish(&wheel, 1);
        assert_eq!((log.times(6), log.times(7)), (1, 1), "{log:?}");
    });
}
