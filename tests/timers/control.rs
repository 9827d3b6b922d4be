//! Properties: arming, cancelling, moving and suspending do what they say, by key and by guard.

use std::time::Duration;

use tickwheel::{ArmError, BuildError, Cancel, Missed, Timers, Timestamp};

use crate::{Bed, ms};

#[test]
fn a_timer_fires_at_its_tick_and_not_before() {
    let bed = Bed::new();
    bed.timers
        .arm(Duration::from_micros(4_200), bed.logs("a"))
        .unwrap();
    assert_eq!(bed.drive_to(4), 0);
    assert_eq!(bed.drive_to(5), 1);
    assert_eq!(bed.log.take(), [(5, "a")]);
    assert!(bed.timers.is_empty());
}

#[test]
fn what_lies_in_the_past_fires_on_the_next_turn() {
    let bed = Bed::new();
    bed.drive_to(100);
    bed.timers.arm(Duration::ZERO, bed.logs("now")).unwrap();
    let past = Timestamp::from_nanos(3);
    bed.timers.arm_at(past, bed.logs("past")).unwrap();
    assert_eq!(bed.timers.next_timeout(), Some(Duration::ZERO));
    assert_eq!(bed.timers.turn().unwrap().fired, 2);
    assert_eq!(bed.log.take().len(), 2);
}

#[test]
fn the_longest_duration_means_never_until_the_timer_is_armed_again() {
    let bed = Bed::new();
    let key = bed.timers.arm(Duration::MAX, bed.logs("a")).unwrap();
    assert_eq!(bed.timers.deadline(key), Some(Timestamp::NEVER));
    assert_eq!(bed.timers.remaining(key), Some(Duration::MAX));
    assert!(!bed.timers.is_armed(key));
    assert_eq!(bed.timers.next_timeout(), None);
    assert_eq!(bed.drive_to(1_000_000_000), 0);
    bed.timers.rearm(key, ms(1)).unwrap();
    assert!(bed.timers.is_armed(key));
    assert_eq!(bed.drive_to(1_000_000_001), 1);
}

#[test]
fn a_timer_that_is_suspended_keeps_its_key_and_its_callback() {
    let bed = Bed::new();
    let key = bed.timers.arm(ms(10), bed.logs("a")).unwrap();
    bed.timers.disarm(key).unwrap();
    assert_eq!((bed.drive_to(50), bed.timers.len()), (0, 1));
    bed.timers.rearm(key, ms(10)).unwrap();
    assert_eq!(bed.timers.remaining(key), Some(ms(10)));
    assert_eq!(bed.drive_to(60), 1);
    assert!(bed.timers.rearm(key, ms(1)).is_err());
    assert!(bed.timers.disarm(key).is_err());
    assert_eq!(bed.timers.remaining(key), None);
}

#[test]
fn a_cancel_drops_the_callback_at_once_and_answers_once() {
    let bed = Bed::new();
    let witness = std::sync::Arc::new(());
    let held = witness.clone();
    let key = bed.timers.arm(ms(10), move |_| drop(held)).unwrap();
    assert_eq!(bed.timers.cancel(key), Cancel::Cancelled(()));
    assert_eq!(std::sync::Arc::strong_count(&witness), 1);
    assert_eq!(bed.timers.cancel(key), Cancel::Stale);
    assert_eq!(bed.timers.cancel_wait(key), Cancel::Stale);
    assert_eq!(bed.drive_to(20), 0);
}

#[test]
fn a_key_of_another_runtime_is_refused() {
    let (bed, other) = (Bed::new(), Bed::new());
    let key = bed.timers.arm(ms(10), |_| {}).unwrap();
    let _ = other.timers.arm(ms(10), |_| {}).unwrap();
    assert_eq!(other.timers.cancel(key), Cancel::Stale);
    assert!(other.timers.rearm(key, ms(1)).is_err());
    assert_eq!(other.timers.deadline(key), None);
    assert!(bed.timers.is_armed(key));
}

#[test]
fn a_guard_cancels_when_it_is_dropped_and_a_detached_one_does_not() {
    let bed = Bed::new();
    let arm = |name| bed.timers.arm(ms(10), bed.logs(name)).unwrap();
    drop(bed.timers.guard(arm("dropped")));
    let kept = bed.timers.guard(arm("detached"));
    let key = kept.key();
    assert_eq!(kept.detach(), key);
    assert_eq!(
        bed.timers.guard(arm("cancelled")).cancel(),
        Cancel::Cancelled(())
    );
    let guard = bed.timers.guard(arm("moved"));
    guard.rearm(ms(20)).unwrap();
    assert_eq!(guard.remaining(), Some(ms(20)));
    assert!(guard.is_armed());
    bed.drive_to(30);
    assert_eq!(guard.cancel(), Cancel::Stale);
    assert_eq!(bed.log.take(), [(30, "detached"), (30, "moved")]);
}

#[test]
fn a_tolerance_is_never_exceeded_and_never_early() {
    let bed = Bed::new();
    for after in 1..200 {
        let tolerance = ms(after / 3);
        let log = bed.log.clone();
        bed.timers
            .options()
            .tolerance(tolerance)
            .arm(ms(after), move |firing| {
                assert!(firing.lateness() <= tolerance, "{firing:?}");
                assert!(firing.now() >= firing.deadline());
                log.add(after, "fired");
            })
            .unwrap();
    }
    let mut turns = 0;
    for now in 1..=300 {
        turns += usize::from(bed.drive_to(now) > 0);
    }
    assert_eq!(bed.log.len(), 199);
    assert!(turns < 50, "{turns} ticks: nothing was shared");
}

#[test]
fn no_more_timers_are_armed_than_the_limit_allows() {
    let bed = Bed::with(|builder| builder.limit(2));
    let keys: Vec<_> = (0..2)
        .map(|_| bed.timers.arm(ms(5), |_| {}).unwrap())
        .collect();
    assert_eq!(bed.timers.arm(ms(5), |_| {}), Err(ArmError::Full));
    assert_eq!(
        bed.timers.every(ms(5), Missed::Skip, |_| {}),
        Err(ArmError::Full)
    );
    assert!(bed.timers.cancel(keys[0]).is_cancelled());
    assert!(bed.timers.arm(ms(5), |_| {}).is_ok());
}

#[test]
fn what_makes_no_sense_is_refused_when_it_is_asked_for() {
    let limit = Timers::builder().limit(0).build_hand_driven();
    assert!(matches!(limit, Err(BuildError::ZeroLimit)));
    for (count, per) in [(0, ms(1)), (1, Duration::ZERO)] {
        let rate = Timers::builder().rate_limit(count, per).build_hand_driven();
        assert!(matches!(rate, Err(BuildError::ZeroRate)));
    }
    let bed = Bed::new();
    let every = bed.timers.every(Duration::ZERO, Missed::Burst, |_| {});
    assert_eq!(every, Err(ArmError::ZeroPeriod));
}

#[test]
fn what_was_done_is_counted() {
    let bed = Bed::new();
    let keys: Vec<_> = (0..6)
        .map(|_| bed.timers.arm(ms(5), |_| {}).unwrap())
        .collect();
    bed.drive_to(1); // the driver has met them
    bed.timers.rearm(keys[0], ms(700)).unwrap();
    bed.timers.disarm(keys[1]).unwrap();
    assert!(bed.timers.cancel(keys[2]).is_cancelled());
    bed.drive_to(10);
    let stats = bed.timers.stats();
    assert_eq!((stats.armed, stats.fired), (2, 3));
    assert_eq!((stats.cancelled, stats.rearmed), (1, 2));
    assert_eq!((stats.cascaded, stats.husks), (1, 2)); // that of 700; of the suspended and the cancelled one
    assert_eq!(bed.timers.lateness().count(), 3);
    assert_eq!(bed.timers.lateness().max(), ms(5));
    assert_eq!(bed.timers.batch_durations().count(), 1);
}
