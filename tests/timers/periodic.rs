//! Properties: periodic, repeating and fallible timers come when they should, under one key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tickwheel::{Backoff, Cancel, Missed, Next, Timestamp};

use crate::{Bed, ms};

#[test]
fn a_periodic_timer_does_not_drift_and_keeps_its_key() {
    let bed = Bed::new();
    let key = bed
        .timers
        .every(ms(50), Missed::Skip, bed.logs("beat"))
        .unwrap();
    for now in 1..=500 {
        bed.drive_to(now);
    }
    let times: Vec<_> = bed.log.take().into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, (1..=10).map(|n| n * 50).collect::<Vec<_>>());
    assert_eq!(bed.timers.cancel(key), Cancel::Cancelled(()));
    assert_eq!(bed.drive_to(1_000), 0);
}

/// libuv/libuv#1142: the next time was counted from the end of the callback.
#[test]
fn the_time_that_a_callback_takes_is_not_added_to_the_period() {
    for (missed, expected) in [
        (Missed::Skip, vec![50, 100, 150, 200]),
        (Missed::Burst, vec![50, 100, 150, 200]),
        (Missed::Delay, vec![50, 114, 178]), // 14 later each time, as documented
    ] {
        let bed = Bed::new();
        let (clock, log) = (bed.clock.clone(), bed.log.clone());
        bed.timers
            .every(ms(50), missed, move |firing| {
                log.add(firing.now().as_nanos() / 1_000_000, "beat");
                clock.advance(ms(14));
            })
            .unwrap();
        while bed.now() < 201 {
            bed.drive_to(bed.now() + 1);
        }
        let times: Vec<_> = bed.log.take().into_iter().map(|(at, _)| at).collect();
        assert_eq!(times, expected, "{missed:?}");
    }
}

/// tokio-rs/tokio#3721: after a stall a timer fired once for every period that it had missed.
#[test]
fn what_was_missed_in_a_stall_is_as_the_policy_says() {
    for (missed, calls, next) in [
        (Missed::Skip, 1, 1001),
        (Missed::Burst, 1000, 1001),
        (Missed::Delay, 1, 1001),
    ] {
        let bed = Bed::new();
        let key = bed.timers.every(ms(1), missed, bed.logs("beat")).unwrap();
        assert_eq!(bed.drive_to(1_000), calls, "{missed:?}");
        let deadline = bed.timers.deadline(key).unwrap();
        assert_eq!(deadline.as_nanos(), next * 1_000_000, "{missed:?}");
    }
}

#[test]
fn a_timer_that_skips_stays_in_step_and_says_how_many() {
    let bed = Bed::new();
    let log = bed.log.clone();
    bed.timers
        .every(ms(10), Missed::Skip, move |firing| {
            assert!(firing.skipped() < 10);
            log.add(firing.skipped(), "skipped");
        })
        .unwrap();
    for now in [10, 47, 50, 60] {
        bed.drive_to(now);
    }
    // At 47 the one for 20 comes; then 50 is next, and 30 and 40 were passed over.
    let skipped: Vec<_> = bed.log.take().into_iter().map(|(count, _)| count).collect();
    assert_eq!(skipped, [0, 0, 2, 0]);
}

/// krasnoludkolo/haste#12: the stack grew with every period of a large step.
#[test]
fn a_large_step_of_a_periodic_timer_takes_no_stack() {
    let bed = Bed::new();
    let fifteen_days = Duration::from_secs(15 * 24 * 3600);
    bed.timers
        .every(Duration::from_secs(60), Missed::Burst, bed.logs("minute"))
        .unwrap();
    bed.clock.advance(fifteen_days);
    assert_eq!(bed.timers.turn_fully().unwrap().fired, 15 * 24 * 60);
}

#[test]
fn a_periodic_timer_that_is_moved_goes_on_from_there() {
    let bed = Bed::new();
    let key = bed
        .timers
        .every(ms(10), Missed::Skip, bed.logs("beat"))
        .unwrap();
    bed.timers.rearm(key, ms(13)).unwrap();
    for now in 1..=40 {
        bed.drive_to(now);
    }
    let times: Vec<_> = bed.log.take().into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [13, 23, 33]);
}

/// ETLCPP/etl#967: the automatic re-arm came on top of the callback's own. Here the callback is refused.
#[test]
fn a_periodic_timer_that_moves_itself_in_its_callback_is_armed_once() {
    let bed = Bed::new();
    let log = bed.log.clone();
    bed.timers
        .every(ms(10), Missed::Skip, move |firing| {
            log.add(firing.now().as_nanos() / 1_000_000, "beat");
            assert!(firing.timers().rearm(firing.key(), ms(25)).is_err());
        })
        .unwrap();
    for now in 1..=45 {
        bed.drive_to(now);
        assert_eq!(bed.timers.len(), 1, "at {now}");
    }
    let times: Vec<_> = bed.log.take().into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [10, 20, 30, 40]);
    assert_eq!(bed.timers.stats().panics, 0);
}

#[test]
fn a_period_shorter_than_a_tick_fires_as_the_policy_says() {
    let tenth = Duration::from_micros(100);
    for (missed, calls) in [(Missed::Skip, 1), (Missed::Burst, 10)] {
        let bed = Bed::new();
        bed.timers.every(tenth, missed, bed.logs("beat")).unwrap();
        bed.clock.advance(ms(1));
        let mut fired = 0;
        while let turned @ 1.. = bed.timers.turn_fully().unwrap().fired {
            fired += turned;
        }
        assert_eq!(fired, calls, "{missed:?}");
    }
}

#[test]
fn a_period_that_passes_the_end_of_time_ends_at_never() {
    let bed = Bed::new();
    let key = bed
        .timers
        .every(
            Duration::from_nanos(u64::MAX / 2),
            Missed::Skip,
            bed.logs("age"),
        )
        .unwrap();
    for _ in 0..3 {
        bed.timers.advance_to_next(&bed.clock);
    }
    assert_eq!(bed.log.len(), 1);
    assert_eq!(bed.timers.deadline(key), Some(Timestamp::NEVER));
}

#[test]
fn a_repeating_timer_comes_when_it_says() {
    let bed = Bed::new();
    let log = bed.log.clone();
    let mut plan = vec![
        Next::Stop,
        Next::At(Timestamp::from_nanos(40_000_000)),
        Next::After(ms(7)),
    ];
    let key = bed
        .timers
        .arm_repeating(ms(5), move |firing| {
            log.add(firing.now().as_nanos() / 1_000_000, "call");
            plan.pop().unwrap()
        })
        .unwrap();
    while bed.timers.advance_to_next(&bed.clock) > 0 {}
    assert_eq!(bed.log.take(), [(5, "call"), (12, "call"), (40, "call")]);
    assert_eq!(bed.timers.cancel(key), Cancel::Stale);
}

#[test]
fn what_fails_is_tried_again_until_it_does_not_and_a_panic_is_a_failure() {
    let bed = Bed::new();
    let log = bed.log.clone();
    let key = bed
        .timers
        .arm_fallible(ms(10), Backoff::new(ms(100), ms(300)), move |firing| {
            log.add(firing.now().as_nanos() / 1_000_000, "try");
            match firing.attempt() {
                1 | 3 => Err("no answer"),
                2 => panic!("as planned"),
                4 => Err("no answer"),
                _ => Ok(()),
            }
        })
        .unwrap();
    bed.timers.advance_to_next(&bed.clock);
    assert_eq!(bed.timers.stats().failing, 1);
    assert!(bed.timers.is_armed(key));
    while bed.timers.advance_to_next(&bed.clock) > 0 {}
    let times: Vec<_> = bed.log.take().into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [10, 110, 310, 610, 910]);
    let stats = bed.timers.stats();
    assert_eq!((stats.failures, stats.failing, stats.panics), (4, 0, 1));
    assert_eq!((stats.gave_up, stats.armed), (0, 0));
}

#[test]
fn what_fails_too_often_is_given_up_and_said_to_be() {
    let told = Arc::new(AtomicU32::new(0));
    let count = told.clone();
    let bed = Bed::with(|builder| {
        builder.on_failure(move |failure| {
            let before = count.fetch_add(1, Ordering::Relaxed);
            assert_eq!(failure.attempt, before + 1);
            assert_eq!(failure.again.is_none(), failure.attempt == 3);
            assert_eq!(failure.error.unwrap().to_string(), "disk full");
            assert_eq!(failure.label, "archive");
        })
    });
    let backoff = Backoff::new(ms(1), ms(1)).attempts(3);
    bed.timers
        .options()
        .label("archive")
        .arm_fallible(ms(1), backoff, |_| Err("disk full"))
        .unwrap();
    while bed.timers.advance_to_next(&bed.clock) > 0 {}
    let stats = bed.timers.stats();
    assert_eq!(
        (stats.failures, stats.gave_up, stats.failing, stats.armed),
        (3, 1, 0, 0)
    );
    assert_eq!(told.load(Ordering::Relaxed), 3);
}

#[test]
fn a_timer_that_is_cancelled_between_attempts_does_not_count_as_failing() {
    let bed = Bed::new();
    let key = bed
        .timers
        .arm_fallible(ms(1), Backoff::default(), |_| Err("no"))
        .unwrap();
    bed.drive_to(1);
    assert_eq!(bed.timers.stats().failing, 1);
    assert!(bed.timers.cancel(key).is_cancelled());
    assert_eq!(bed.timers.stats().failing, 0);
}

#[test]
fn waits_double_until_they_are_the_longest() {
    let wait = |failures| Backoff::new(Duration::from_nanos(1), Duration::MAX).wait(failures);
    for failures in 1..=64 {
        let expected = 1_u128 << (failures - 1);
        assert_eq!(wait(failures).unwrap().as_nanos(), expected, "{failures}");
    }
    let none = Backoff::new(Duration::ZERO, Duration::from_secs(86_400));
    assert_eq!(none.wait(u32::MAX), Some(Duration::ZERO));
    assert_eq!(
        Backoff::new(ms(1), Duration::ZERO).wait(1),
        Some(Duration::ZERO)
    );
}

#[test]
fn a_repeating_timer_that_stops_stops_whatever_it_returns() {
    let bed = Bed::new();
    bed.timers
        .arm_repeating(ms(1), |firing| {
            firing.stop();
            Next::After(ms(1))
        })
        .unwrap();
    bed.drive_to(1);
    assert!(bed.timers.is_empty());
}
