//! Others are at a timer while its callback runs.
//!
//! Properties:
//! * a cancel is told that the callback runs exactly if the timer will not be armed again;
//! * who cancels a timer that its callback has armed again gets the value, and the entry is
//!   freed once, whether the callback has returned or not;
//! * until then nobody gets the entry;
//! * a timer that its callback has armed again can be moved like any other;
//! * a deadline that is read is one that was set;
//! * a callback that panics leaves what one that returns does.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;

use loom::sync::Arc;
use tickwheel::modelled::AtomicBool;
use tickwheel::{Cancel, Tick, TimerKey};

use crate::bed::Bed;
use crate::harness::{Bound, model};

/// The faults that these models have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    (
        "RearmRevoked",
        "callback::a_cancelled_callback_does_not_arm_again",
    ),
    (
        "FreeWhileTaking",
        "callback::a_cancelled_callback_does_not_arm_again",
    ),
    (
        "FreeWhileRunning",
        "callback::nobody_gets_the_entry_while_the_callback_runs",
    ),
    ("FarUnchecked", "callback::a_deadline_read_was_set"),
    ("BaseRelaxed", "callback::a_deadline_read_was_set"),
    (
        "RearmUnmarked",
        "callback::a_timer_armed_again_is_moved_like_any_other",
    ),
    (
        "FreeWhileTaking",
        "callback::a_callback_that_panics_leaves_a_wheel_in_order",
    ),
];

/// A wheel, and a timer for tick 10 with value 0 that the driver knows of.
fn bed() -> (Bed, TimerKey) {
    let bed = Bed::new();
    let key = bed.wheel.arm(Tick::new(10), 0);
    bed.file();
    (bed, key)
}

/// What a callback saw, and what the thread got that it had started.
struct Seen<R> {
    /// The key under which the timer was armed again, or the value that was refused.
    armed: Result<TimerKey, u32>,
    /// What the other thread got.
    other: R,
}

/// Advances to tick 10. The callback starts a thread that runs `other`, and arms its timer
/// again for tick 20, with value 1. So what the other does falls before that, between that
/// and the callback's return, or after.
fn race_the_callback<R: 'static>(bed: &Bed, other: impl FnOnce(Bed) -> R + 'static) -> Seen<R> {
    let (mut other, mut seen) = (Some(other), None);
    let fired = bed.wheel.advance(Tick::new(10), |turn, mut expired| {
        let other = other.take().map(|other| bed.spawn(other));
        bed.note(turn.now(), expired.value);
        expired.value += 1;
        let armed = turn.rearm_expired(expired, Tick::new(20));
        seen = Some((armed.map_err(|revoked| revoked.expired.value), other));
    });
    assert_eq!(fired, Ok(1), "timers fired by tick 10");
    let Some((armed, Some(other))) = seen else {
        panic!("the callback did not run once");
    };
    let other = other.join().unwrap();
    Seen { armed, other }
}

/// A callback arms its timer again while another thread cancels it.
///
/// Killed by: `RearmRevoked`, `FreeWhileTaking`, `FreeWhileRunning`.
#[test]
fn a_cancelled_callback_does_not_arm_again() {
    model("a_cancelled_callback", Bound::Preemptions(3), 5_000, || {
        let (bed, key) = bed();
        let seen = race_the_callback(&bed, move |bed| bed.wheel.cancel(key));
        match (seen.other, seen.armed) {
            (Cancel::Cancelled(1), Ok(again)) if again == key => {}
            (Cancel::Running, Err(1)) => {}
            (other, armed) => panic!("{other:?}, and the callback was told {armed:?}"),
        }
        assert_eq!(bed.wheel.deadline(key), None, "of a cancelled timer");
        bed.assert_fired(&[(10, 0)]);
        bed.assert_all_free();
    });
}

/// Who has cancelled a timer that its callback had armed again arms another. If that got the
/// entry, the next cancel would not find the callback there, which may still be running.
///
/// Killed by: `FreeWhileRunning`, `FreeWhileTaking`.
#[test]
fn nobody_gets_the_entry_while_the_callback_runs() {
    model(
        "nobody_gets_the_entry",
        Bound::Preemptions(2),
        4_200,
        || {
            let (bed, key) = bed();
            let mut canceller = None;
            let driven = bed.wheel.advance(Tick::new(10), |turn, expired| {
                let armed = turn.rearm_expired(expired, Tick::new(20));
                assert!(armed.is_ok(), "nobody cancels yet");
                let returning = Arc::new(AtomicBool::new(false));
                let told = Arc::clone(&returning);
                canceller = Some(bed.spawn(move |bed| {
                    let cancel = bed.wheel.cancel(key);
                    bed.arm(30);
                    let again = bed.wheel.cancel(key);
                    let returned = told.load(Relaxed);
                    (cancel, again, returned)
                }));
                returning.store(true, Relaxed);
            });
            assert_eq!(driven, Ok(1), "timers fired by tick 10");
            let seen = canceller.map(|canceller| canceller.join().unwrap());
            let Some((Cancel::Cancelled(0), again, returned)) = seen else {
                panic!("the timer was armed again, and the canceller saw {seen:?}");
            };
            assert!(
                again == Cancel::Running || again == Cancel::Stale && returned,
                "{again:?}, and the callback had returned: {returned}"
            );
            bed.arm(40);
            bed.assert_fired(&[(30, 30), (40, 40)]);
            bed.assert_all_free();
        },
    );
}

/// A callback arms its timer again while another thread moves it.
///
/// Killed by: `RearmUnmarked`, `RearmKeepsFiled`.
#[test]
fn a_timer_armed_again_is_moved_like_any_other() {
    for moved in [15, 30] {
        model(
            "a_timer_armed_again",
            Bound::Preemptions(2),
            3_400,
            move || {
                let (bed, key) = bed();
                let moving = move |bed: Bed| bed.wheel.rearm(key, Tick::new(moved));
                let seen = race_the_callback(&bed, moving);
                assert_eq!(seen.armed, Ok(key), "nobody cancels");
                let again = if seen.other.is_ok() { moved } else { 20 };
                bed.assert_fired(&[(10, 0), (again, 1)]);
                bed.assert_all_free();
            },
        );
    }
}

/// A callback arms its timer again for a tick so far away that near deadlines count from
/// another base, while another thread asks for the deadline.
///
/// Killed by: `FarUnchecked`, `BaseRelaxed`.
#[test]
fn a_deadline_read_was_set() {
    const LATER: u64 = 1 << 50;
    model(
        "a_deadline_read_was_set",
        Bound::Preemptions(3),
        25_000,
        || {
            let (bed, key) = bed();
            let reader = bed.spawn(move |bed| bed.wheel.deadline(key).map(Tick::get));
            let mut armed = None;
            let driven = bed.wheel.advance(Tick::new(10), |turn, expired| {
                armed = Some(turn.rearm_expired(expired, Tick::new(LATER)));
            });
            assert_eq!(driven, Ok(1), "timers fired by tick 10");
            assert_eq!(armed, Some(Ok(key)), "nobody cancels");
            let read = reader.join().unwrap();
            assert!(
                matches!(read, None | Some(10 | LATER)),
                "{read:?} was read, which nobody set"
            );
            bed.assert_fired(&[(LATER, 0)]);
            bed.assert_all_free();
        },
    );
}

/// A callback panics, having armed its timer again or not, while another thread cancels.
///
/// Killed by: `FreeWhileTaking`, `FreeWhileRunning`.
#[test]
fn a_callback_that_panics_leaves_a_wheel_in_order() {
    for again in [false, true] {
        model(
            "a_callback_that_panics",
            Bound::Preemptions(4),
            620,
            move || {
                let (bed, key) = bed();
                let mut canceller = None;
                let driven = catch_unwind(AssertUnwindSafe(|| {
                    bed.wheel.advance(Tick::new(10), |turn, expired| {
                        canceller = Some(bed.spawn(move |bed| bed.wheel.cancel(key)));
                        if again {
                            let _ = turn.rearm_expired(expired, Tick::new(20));
                        }
                        resume_unwind(Box::new("the callback panics")); // and prints nothing
                    })
                }));
                assert!(driven.is_err(), "the panic was kept: {driven:?}");
                let cancel = canceller.map(|canceller| canceller.join().unwrap());
                let possible = match cancel {
                    Some(Cancel::Cancelled(value)) => again && value == 0,
                    Some(Cancel::Running) => true,
                    Some(Cancel::Stale) => !again,
                    None => false,
                };
                assert!(possible, "{cancel:?}, of a timer armed again: {again}");
                bed.assert_fired(&[]);
                bed.assert_all_free();
            },
        );
    }
}
