//! Deadlines too far from the first for the word, which then refers to another entry.
//!
//! Properties:
//! * a deadline that is read is one that the timer had, although the entry which kept it may
//!   have passed to another timer in the midst;
//! * so is one by which the driver files or fires;
//! * of a far re-arm and a fire, a cancel or another re-arm each finds either all of the other or
//!   nothing;
//! * no entry is lost, whoever loses such a race: when nothing is armed all are free.

use tickwheel::{Tick, TimerKey};

use crate::bed::Bed;
use crate::harness::{Bound, model};

/// The faults that these models have to notice.
pub(crate) const MUTANTS: &[(&str, &str)] = &[
    ("FarUnchecked", "far::a_deadline_read_was_the_timers"),
    ("FarRelaxed", "far::a_deadline_read_was_the_timers"),
    ("FarUnchecked", "far::a_timer_is_filed_by_its_own_deadline"),
    ("FarUnversioned", "far::a_timer_fires_by_its_own_deadline"),
    (
        "FireBlind",
        "far::a_far_rearm_wins_or_loses_against_the_fire",
    ),
    ("FarLeaked", "far::two_far_rearms_lose_no_entry"),
    (
        "CancelBlind",
        "far::a_cancel_finds_the_entry_that_keeps_the_deadline",
    ),
];

/// Farther than any near deadline can be from one around the beginning, and from each other.
const FAR: [u64; 4] = [1 << 40, 2 << 40, 3 << 40, 4 << 40];

/// A wheel with a timer for tick 10, with value 0, that the driver knows of.
fn bed() -> (Bed, TimerKey) {
    let bed = Bed::new();
    let key = bed.wheel.arm(Tick::new(10), 0);
    bed.file();
    (bed, key)
}

/// Moves a timer. Says whether there was one to move.
fn rearm(bed: &Bed, key: TimerKey, deadline: u64) -> bool {
    bed.wheel.rearm(key, Tick::new(deadline)).is_ok()
}

/// A timer is moved far away while the driver comes for it.
///
/// Killed by: `FireBlind`.
#[test]
fn a_far_rearm_wins_or_loses_against_the_fire() {
    model("a_far_rearm", Bound::Preemptions(3), 15_000, || {
        let (bed, key) = bed();
        let mover = bed.spawn(move |bed| rearm(&bed, key, FAR[0]));
        let fired = bed.advance(10);
        let moved = mover.join().unwrap();
        assert_eq!(fired, Ok(usize::from(!moved)), "moved: {moved}");
        bed.assert_fired(&[(if moved { FAR[0] } else { 10 }, 0)]);
        bed.assert_all_free();
    });
}

/// A far deadline is read while its timer is moved and another timer gets the entry that kept
/// it.
///
/// Killed by: `FarUnchecked`, `FarRelaxed`.
#[test]
fn a_deadline_read_was_the_timers() {
    model("a_deadline_read", Bound::Preemptions(4), 4_800, || {
        let (bed, key) = bed();
        let other = bed.wheel.arm(Tick::new(10), 1);
        assert!(rearm(&bed, key, FAR[0]), "it is armed");
        let mover = bed.spawn(move |bed| {
            assert!(rearm(&bed, key, FAR[1]), "it is armed");
            assert!(rearm(&bed, other, FAR[2]), "it is armed");
        });
        let read = bed.wheel.deadline(key).map(Tick::get);
        mover.join().unwrap();
        assert!(
            read == Some(FAR[0]) || read == Some(FAR[1]),
            "{read:?} was read, which was never this timer's"
        );
        bed.assert_fired(&[(FAR[1], 0), (FAR[2], 1)]);
        bed.assert_all_free();
    });
}

/// The driver meets a timer that was moved, to find out where it is due now, while the same
/// goes on.
///
/// Killed by: `FarUnchecked`.
#[test]
fn a_timer_is_filed_by_its_own_deadline() {
    model("a_timer_is_filed", Bound::Preemptions(2), 1_300, || {
        let (bed, key) = bed();
        let other = bed.wheel.arm(Tick::NEVER, 1);
        assert!(rearm(&bed, key, FAR[0]), "it is armed");
        let mover = bed.spawn(move |bed| {
            assert!(rearm(&bed, key, FAR[1]), "it is armed");
            assert!(rearm(&bed, other, FAR[3]), "it is suspended");
        });
        assert_eq!(bed.advance(10), Ok(0), "timers fired by tick 10");
        mover.join().unwrap();
        bed.assert_fired(&[(FAR[1], 0), (FAR[3], 1)]);
        bed.assert_all_free();
    });
}

/// The driver comes for a far timer, which is moved twice: the second time to the entry that
/// kept the first deadline.
///
/// Killed by: `FarUnversioned`.
#[test]
fn a_timer_fires_by_its_own_deadline() {
    model("a_timer_fires", Bound::Preemptions(2), 8_700, || {
        let (bed, key) = bed();
        assert!(rearm(&bed, key, FAR[0]), "it is armed");
        let mover = bed.spawn(move |bed| [FAR[1], FAR[2]].map(|far| rearm(&bed, key, far)));
        let fired = bed.advance(FAR[0]);
        let moved = mover.join().unwrap();
        let due = match moved {
            [true, true] => FAR[2],
            [false, false] => FAR[0],
            [true, false] | [false, true] => panic!("{moved:?}, and {fired:?} fired"),
        };
        assert_eq!(fired, Ok(usize::from(!moved[0])), "moved: {moved:?}");
        bed.assert_fired(&[(due, 0)]);
        bed.assert_all_free();
    });
}

/// Two threads move a timer, each far away; so both have an entry for it, and one of them
/// perhaps in vain.
///
/// Killed by: `FarLeaked`.
#[test]
fn two_far_rearms_lose_no_entry() {
    model("two_far_rearms", Bound::Preemptions(3), 5_200, || {
        let (bed, key) = bed();
        let mover = bed.spawn(move |bed| rearm(&bed, key, FAR[0]));
        assert!(rearm(&bed, key, FAR[1]), "it is armed");
        assert!(mover.join().unwrap(), "it is armed");
        let last = bed.wheel.deadline(key).map_or(0, Tick::get);
        assert!(FAR[..2].contains(&last), "{last} was set by nobody");
        bed.assert_fired(&[(last, 0)]);
        bed.assert_all_free();
    });
}

/// A far timer is cancelled while it is moved. Then another timer is moved far away, and gets
/// an entry that was the first one's.
///
/// Killed by: `CancelBlind`.
#[test]
fn a_cancel_finds_the_entry_that_keeps_the_deadline() {
    model(
        "a_cancel_finds_the_entry",
        Bound::Preemptions(2),
        3_000,
        || {
            let (bed, key) = bed();
            let other = bed.wheel.arm(Tick::new(10), 1);
            assert!(rearm(&bed, key, FAR[0]), "it is armed");
            let mover = bed.spawn(move |bed| rearm(&bed, key, FAR[1]));
            let cancelled = bed.wheel.cancel(key).value();
            assert!(rearm(&bed, other, FAR[2]), "it is armed");
            let moved = mover.join().unwrap();
            assert_eq!(cancelled, Some(0), "moved: {moved}");
            let read = bed.wheel.deadline(other).map(Tick::get);
            assert_eq!(read, Some(FAR[2]), "of the other timer");
            bed.assert_fired(&[(FAR[2], 1)]);
            bed.assert_all_free();
        },
    );
}
