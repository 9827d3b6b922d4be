//! Cancelling while the driver fires, while others cancel, and while the entry is used again.
//!
//! Properties:
//! * of a cancel and a firing one happens, and whoever it is has the value;
//! * of several cancels one has the value, the others are told that the key is stale;
//! * what was cancelled while its batch fires does not fire;
//! * a stale key does not reach the next timer in the entry, a key needs no other message to
//!   be good, and a value is out of the entry before the next goes in.

use loom::sync::Arc;
use loom::thread;
use tickwheel::{Cancel, Tick, TimerKey};

use crate::harness::{Bound, model};
use crate::rig::{Log, Post, Wheel, arm, wheel};

/// The ways to break the wheel that the models of this file have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("ArmRelaxed", "cancel::a_key_needs_no_other_message"),
    ("GroupRelaxed", "cancel::a_key_needs_no_other_message"),
    (
        "ArmUnversioned",
        "cancel::a_stale_key_does_not_reach_the_next_timer",
    ),
    (
        "CancelRelaxed",
        "cancel::a_cancel_takes_what_the_callback_armed_again",
    ),
    (
        "CancelBlind",
        "cancel::a_stale_key_does_not_reach_the_next_timer",
    ),
    (
        "GenerationUnchecked",
        "cancel::a_stale_key_does_not_reach_the_next_timer",
    ),
    (
        "FreeBeforeTake",
        "cancel::a_value_is_out_before_the_next_goes_in",
    ),
    (
        "FreeRelaxed",
        "cancel::a_value_is_out_before_the_next_goes_in",
    ),
    (
        "PopRelaxed",
        "cancel::a_value_is_out_before_the_next_goes_in",
    ),
    (
        "CancelUnchecked",
        "cancel::a_cancel_meets_a_fire_of_a_marked_entry",
    ),
    (
        "FireBlind",
        "cancel::a_cancel_meets_a_fire_of_a_filed_entry",
    ),
    ("CancelUnchecked", "cancel::two_cancels_get_one_value"),
    (
        "FireBlind",
        "cancel::a_sibling_is_cancelled_while_its_batch_fires",
    ),
];

/// A cancel in another thread.
fn canceller(wheel: &Arc<Wheel>, key: TimerKey) -> thread::JoinHandle<Cancel<u32>> {
    let wheel = Arc::clone(wheel);
    thread::spawn(move || wheel.cancel(key))
}

/// Cancels a timer while it is due: it is cancelled or it fires, not both and not neither.
fn cancel_against_fire(name: &str, filed: bool) {
    model(name, Bound::Preemptions(3), 280, move || {
        let wheel = wheel(1);
        let mut log = Log::default();
        let key = arm(&wheel, 1, 7);
        if filed {
            log.advance(&wheel, 0);
        }
        let canceller = canceller(&wheel, key);
        log.advance(&wheel, 1);
        let answer = canceller.join().unwrap();
        log.finish(&wheel, 1);
        // Running says that it fires.
        let cancelled = answer == Cancel::Cancelled(7);
        assert_eq!(
            usize::from(cancelled) + log.times(7),
            1,
            "{answer:?}, {log:?}"
        );
    });
}

/// The driver files the entry and fires it, and a cancel comes in between somewhere.
///
/// Killed by: `CancelUnchecked`.
#[test]
fn a_cancel_meets_a_fire_of_a_marked_entry() {
    cancel_against_fire("a_cancel_meets_a_fire_of_a_marked_entry", false);
}

/// The driver meets an entry that it filed before.
///
/// Killed by: `FireBlind`, `CancelBlind`, `CancelUnchecked`.
#[test]
fn a_cancel_meets_a_fire_of_a_filed_entry() {
    cancel_against_fire("a_cancel_meets_a_fire_of_a_filed_entry", true);
}

/// Of two cancels one gets the value.
///
/// Killed by: `CancelUnchecked`.
#[test]
fn two_cancels_get_one_value() {
    model(
        "two_cancels_get_one_value",
        Bound::Preemptions(3),
        53,
        || {
            let wheel = wheel(1);
            let key = arm(&wheel, 1, 7);
            let canceller = canceller(&wheel, key);
            let answers = [wheel.cancel(key), canceller.join().unwrap()];
            assert!(
                matches!(
                    answers,
                    [Cancel::Cancelled(7), Cancel::Stale] | [Cancel::Stale, Cancel::Cancelled(7)]
                ),
                "{answers:?}"
            );
            Log::default().finish(&wheel, 1);
        },
    );
}

/// A cancel with the key of a timer that is gone does nothing to the timer that has its entry.
///
/// Killed by: `ArmUnversioned`, `CancelBlind`, `GenerationUnchecked`.
#[test]
fn a_stale_key_does_not_reach_the_next_timer() {
    model(
        "a_stale_key_does_not_reach_the_next_timer",
        Bound::Preemptions(3),
        400,
        || {
            let wheel = wheel(1);
            let key = arm(&wheel, 1, 7);
            let late = canceller(&wheel, key);
            let first = wheel.cancel(key);
            arm(&wheel, 1, 8); // the same deadline, and mostly the same entry
            let second = late.join().unwrap();
            assert!(
                matches!(
                    [first, second],
                    [Cancel::Cancelled(7), Cancel::Stale] | [Cancel::Stale, Cancel::Cancelled(7)]
                ),
                "{first:?}, {second:?}"
            );
            let mut log = Log::default();
            log.finish(&wheel, 1);
            assert_eq!((log.times(7), log.times(8)), (0, 1), "{log:?}");
        },
    );
}

/// What a callback or another thread cancels does not fire, though it is due at this tick.
///
/// Killed by: `FireBlind`, `CancelBlind`, `CancelUnchecked`.
#[test]
fn a_sibling_is_cancelled_while_its_batch_fires() {
    model(
        "a_sibling_is_cancelled_while_its_batch_fires",
        Bound::Preemptions(3),
        550,
        || {
            let wheel = wheel(1);
            let keys = [7, 8].map(|value| arm(&wheel, 1, value));
            let mut log = Log::default();
            log.advance(&wheel, 0);
            let other = canceller(&wheel, keys[1]);
            let mut own = Vec::new();
            log.advance_with(&wheel, 1, |fired| {
                if fired.value == 7 {
                    own.push(wheel.cancel(keys[1]));
                }
            });
            let answers = [own[0], other.join().unwrap()];
            let cancelled = answers
                .iter()
                .filter(|answer| answer.is_cancelled())
                .count();
            log.finish(&wheel, 1);
            assert_eq!(log.times(7), 1, "{log:?}");
            assert_eq!(cancelled + log.times(8), 1, "{answers:?}, {log:?}");
        },
    );
}

/// A thread that knows a key, and knows nothing else of what was done before, cancels with it.
/// It may find that the timer is not there yet; if it finds it, it finds its value.
///
/// Killed by: `ArmRelaxed`, `GroupRelaxed`.
#[test]
fn a_key_needs_no_other_message() {
    model(
        "a_key_needs_no_other_message",
        Bound::Preemptions(3),
        10,
        || {
            let (wheel, post) = (wheel(1), Post::new());
            let (theirs, sent) = (Arc::clone(&wheel), Arc::clone(&post));
            let armer = thread::spawn(move || sent.send(arm(&theirs, 1, 7)));
            let answer = post
                .receive()
                .map_or(Cancel::Stale, |key| wheel.cancel(key));
            armer.join().unwrap();
            let mut log = Log::default();
            log.finish(&wheel, 1);
            let cancelled = answer == Cancel::Cancelled(7);
            assert_eq!(
                usize::from(cancelled) + log.times(7),
                1,
                "{answer:?}, {log:?}"
            );
        },
    );
}

/// Whoever arms a timer in the entry of one that is just being cancelled, leaves the value of the
/// latter to its canceller.
///
/// Killed by: `FreeBeforeTake`, `FreeRelaxed`, `PopRelaxed`.
#[test]
fn a_value_is_out_before_the_next_goes_in() {
    model(
        "a_value_is_out_before_the_next_goes_in",
        Bound::Preemptions(3),
        14,
        || {
            let wheel = wheel(1);
            let key = arm(&wheel, 1, 7);
            let canceller = canceller(&wheel, key);
            arm(&wheel, 1, 8);
            let answer = canceller.join().unwrap();
            assert_eq!(answer, Cancel::Cancelled(7));
            let mut log = Log::default();
            log.finish(&wheel, 1);
            assert_eq!((log.times(7), log.times(8)), (0, 1), "{log:?}");
        },
    );
}

/// A callback arms its timer again, with a new value, while a cancel is under way: that is
/// told that the callback runs, or gets the old value, or the new.
///
/// Killed by: `CancelRelaxed`.
#[test]
fn a_cancel_takes_what_the_callback_armed_again() {
    let name = "a_cancel_takes_what_the_callback_armed_again";
    model(name, Bound::Preemptions(4), 3_600, || {
        let wheel = wheel(1);
        let key = arm(&wheel, 1, 7);
        let mut log = Log::default();
        log.advance(&wheel, 0);
        let canceller = canceller(&wheel, key);
        let (mut fired, mut revoked) = (0, 0);
        wheel
            .advance(Tick::new(1), |turn, mut expired| {
                assert_eq!(expired.value, 7);
                fired += 1;
                expired.value = 8;
                revoked += u32::from(turn.rearm_expired(expired, Tick::new(2)).is_err());
            })
            .expect("nobody else drives");
        let answer = canceller.join().unwrap();
        log.finish(&wheel, 2);
        let expected = match answer {
            Cancel::Cancelled(7) => (0, 0, 0),
            Cancel::Cancelled(_) => (1, 0, 0),
            Cancel::Running => (1, 1, 0),
            Cancel::Stale => unreachable!("fired and armed again, it is as good as ever"),
        };
        assert_eq!((fired, revoked, log.times(8)), expected, "{answer:?}");
    });
}
