//! Desks: what a thread of a runtime has to itself, until it ends. In the models there is one, for all threads.
//!
//! Properties:
//! * whoever sits down has what whoever got up left there, and nobody else has it;
//! * what is cancelled at a desk is not counted before what was armed;
//! * an arm at a desk that meets a shutdown is refused, or its timer has an outcome.

use std::time::Duration;

use loom::thread;
use tickwheel::{ManualClock, Shutdown, Timers};

use crate::harness::{Bound, model};

/// The faults that these models have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("SitRelaxed", "desk::a_desk_goes_from_thread_to_thread"),
    ("LeaveRelaxed", "desk::a_desk_goes_from_thread_to_thread"),
    (
        "EndedRelaxed",
        "desk::what_is_armed_is_counted_while_another_is_cancelled",
    ),
    ("SealSkipped", "desk::an_arm_at_a_desk_meets_the_end"),
    ("CountRelaxed", "desk::an_arm_at_a_desk_meets_the_end"),
];

const LONG: Duration = Duration::from_secs(1 << 20);

fn timers() -> Timers {
    let builder = Timers::builder().shards(1).clock(ManualClock::new());
    builder.build_hand_driven().unwrap()
}

/// Arms a timer and cancels it.
fn come_and_go(timers: &Timers) {
    let key = timers.arm(LONG, |_| {}).unwrap();
    assert!(timers.cancel(key).is_cancelled());
}

/// A thread that comes, goes and ends, and another that may find the desk before, meanwhile and after.
///
/// Killed by: `SitRelaxed`, `LeaveRelaxed`.
#[test]
fn a_desk_goes_from_thread_to_thread() {
    model(
        "a_desk_goes_from_thread_to_thread",
        Bound::Preemptions(1),
        4_000,
        || {
            let timers = timers();
            let other = timers.clone();
            let ends = thread::spawn(move || come_and_go(&other));
            come_and_go(&timers);
            timers.arm(LONG, |_| {}).unwrap();
            ends.join().unwrap();
            timers.check(); // no entry is free twice, or free and armed
            assert_eq!((timers.len(), timers.stats().cancelled), (1, 2));
            assert_eq!(timers.stats().panics, 0);
        },
    );
}

/// One is armed all the time.
///
/// Killed by: `EndedRelaxed`.
#[test]
fn what_is_armed_is_counted_while_another_is_cancelled() {
    model(
        "armed_while_another_is_cancelled_at_a_desk",
        Bound::Preemptions(2),
        5_000,
        || {
            let timers = timers();
            let other = timers.clone();
            // In a thread that has left the desk when the next one comes.
            let armed = thread::spawn(move || other.arm(LONG, |_| {}).is_ok());
            assert!(armed.join().unwrap());
            let other = timers.clone();
            let comes_and_goes = thread::spawn(move || come_and_go(&other));
            assert!(!timers.is_empty(), "one is armed");
            comes_and_goes.join().unwrap();
            assert_eq!(timers.len(), 1);
            timers.check();
        },
    );
}

/// A thread that has used its desk before.
///
/// Killed by: `SealSkipped`, `CountRelaxed`.
#[test]
fn an_arm_at_a_desk_meets_the_end() {
    model(
        "an_arm_at_a_desk_meets_the_end",
        Bound::Preemptions(2),
        40_000,
        || {
            let timers = timers();
            let other = timers.clone();
            let arms = thread::spawn(move || {
                let armed = other.arm(LONG, |_| {});
                let Ok(key) = armed else { return false };
                // Given back, if it was not handed back.
                if !other.cancel(key).is_cancelled() {
                    return true;
                }
                other.arm(LONG, |_| {}).is_ok()
            });
            let handed_back = timers.shutdown(Shutdown::HandBack).len();
            let accepted = arms.join().unwrap();
            assert_eq!(
                usize::from(accepted),
                handed_back,
                "accepted, and handed back"
            );
            assert!(timers.is_empty());
            assert_eq!(timers.stats().panics, 0);
            timers.check();
        },
    );
}
