//! Properties: turns, sleeps, batches, pauses and rates of a driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tickwheel::{Missed, Resolution, Timestamp};

use crate::{Bed, ms};

#[test]
fn an_event_loop_sleeps_for_whole_milliseconds_and_not_less_than_it_must() {
    let bed = Bed::with(|builder| builder.resolution(Resolution::MICROSECOND));
    assert_eq!(bed.timers.next_timeout(), None);
    bed.timers
        .arm(Duration::from_micros(200), bed.logs("a"))
        .unwrap();
    assert_eq!(bed.timers.next_timeout(), Some(ms(1)));
    bed.clock.advance(Duration::from_micros(199));
    assert_eq!(bed.timers.next_timeout(), Some(ms(1)));
    bed.clock.advance(Duration::from_micros(1));
    assert_eq!(bed.timers.next_timeout(), Some(Duration::ZERO));
    assert_eq!(bed.timers.turn().unwrap().fired, 1);
    assert_eq!(bed.timers.next_timeout(), None);
}

#[test]
fn whoever_drives_is_called_for_what_is_earlier_than_announced_and_for_nothing_else() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let bed = Bed::with(|builder| {
        builder.wake(move || {
            count.fetch_add(1, Ordering::Relaxed);
        })
    });
    let called = || calls.swap(0, Ordering::Relaxed);
    let arm = |after| bed.timers.arm(ms(after), |_| {}).unwrap();

    let first = arm(100);
    assert_eq!(bed.timers.next_timeout(), Some(ms(100)));
    called();
    arm(100);
    let later = arm(500);
    arm(u64::MAX / 1_000_000);
    bed.timers.rearm(first, ms(300)).unwrap();
    bed.timers.disarm(later).unwrap();
    assert_eq!(called(), 0);
    arm(99);
    assert!(called() > 0);
    assert_eq!(bed.timers.next_timeout(), Some(ms(99)));
    bed.timers.rearm(first, ms(50)).unwrap();
    assert!(called() > 0);
}

#[test]
fn a_batch_is_bounded_and_the_rest_comes_in_the_next() {
    let bed = Bed::with(|builder| builder.batch(100, Duration::MAX));
    for _ in 0..1_000 {
        bed.timers.arm(ms(50), |_| {}).unwrap();
    }
    bed.clock.advance(ms(50));
    let mut turns = 0;
    loop {
        let turned = bed.timers.turn().unwrap();
        assert!(turned.fired <= 100);
        turns += 1;
        if !turned.more {
            break;
        }
    }
    assert!(turns >= 10);
    assert!(bed.timers.is_empty());
}

#[test]
fn a_batch_ends_when_its_time_is_over() {
    let bed = Bed::with(|builder| builder.batch(4_096, ms(10)));
    for _ in 0..10 {
        let clock = bed.clock.clone();
        bed.timers
            .arm(ms(50), move |_| {
                clock.advance(ms(4));
            })
            .unwrap();
    }
    bed.clock.advance(ms(50));
    let turned = bed.timers.turn().unwrap();
    assert_eq!((turned.fired, turned.more), (3, true)); // 12 ms
    assert_eq!(bed.timers.turn_fully().unwrap().fired, 7);
}

#[test]
fn a_long_stall_is_caught_up_with_without_a_turn_for_each_tick() {
    let bed = Bed::new();
    for day in 1..=3 {
        bed.timers
            .arm(Duration::from_secs(day * 24 * 3600), bed.logs("day"))
            .unwrap();
    }
    bed.clock.advance(Duration::from_secs(365 * 24 * 3600));
    let turned = bed.timers.turn().unwrap();
    assert_eq!((turned.fired, turned.more), (3, false));
}

#[test]
fn nothing_fires_while_paused_and_everything_after_that() {
    let bed = Bed::new();
    bed.timers.arm(ms(1), bed.logs("once")).unwrap();
    bed.timers
        .every(ms(1), Missed::Skip, bed.logs("beat"))
        .unwrap();
    assert!(bed.timers.pause());
    assert!(!bed.timers.pause());
    assert!(bed.timers.is_paused());
    bed.timers.arm(ms(2), bed.logs("meanwhile")).unwrap();
    assert_eq!(bed.drive_to(10), 0);
    assert_eq!(bed.timers.next_timeout(), None);
    assert_eq!(bed.timers.advance_to_next(&bed.clock), 0);
    assert!(bed.timers.resume());
    assert!(!bed.timers.resume());
    assert_eq!(bed.timers.turn_fully().unwrap().fired, 3);
}

#[test]
fn a_callback_that_pauses_is_the_last_one() {
    let bed = Bed::new();
    for _ in 0..5 {
        let log = bed.log.clone();
        bed.timers
            .arm(ms(1), move |firing| {
                firing.timers().pause();
                log.add(0, "fired");
            })
            .unwrap();
    }
    bed.clock.advance(ms(1));
    for fired in 1..=5 {
        assert_eq!(bed.timers.turn_fully().unwrap().fired, 1);
        assert_eq!(bed.log.len(), fired);
        bed.timers.resume();
    }
}

#[test]
fn no_more_fire_than_the_rate_allows_and_none_is_lost() {
    let bed = Bed::with(|builder| builder.rate_limit(10, ms(100)));
    for _ in 0..50 {
        bed.timers.arm(ms(1), |_| {}).unwrap();
    }
    bed.clock.advance(ms(1));
    let mut fired = Vec::new();
    while !bed.timers.is_empty() {
        while let turned @ 1.. = bed.timers.turn_fully().unwrap().fired {
            fired.extend((0..turned).map(|_| bed.now()));
        }
        let sleep = bed.timers.next_timeout();
        bed.clock.advance(sleep.unwrap_or_default());
    }
    assert_eq!(fired.len(), 50);
    assert!(fired.windows(21).all(|some| some[20] - some[0] >= 100));
    assert!(bed.now() >= 400, "a burst of 10, then one in 10 ms");
}

#[test]
fn the_clock_moves_to_whatever_is_next() {
    let bed = Bed::new();
    for after in [7_000_000, 3, 40_000, 3] {
        bed.timers.arm(ms(after), bed.logs("fired")).unwrap();
    }
    let mut moved = Vec::new();
    while let fired @ 1.. = bed.timers.advance_to_next(&bed.clock) {
        moved.push((bed.now(), fired));
    }
    assert_eq!(moved, [(3, 2), (40_000, 1), (7_000_000, 1)]);
}

#[test]
fn how_long_the_oldest_timer_is_overdue_can_be_seen() {
    let bed = Bed::new();
    assert_eq!(bed.timers.overdue(), Duration::ZERO);
    bed.timers.arm(ms(10), |_| {}).unwrap();
    assert_eq!(bed.timers.overdue(), Duration::ZERO);
    bed.clock.advance(ms(35));
    assert_eq!(bed.timers.overdue(), ms(25));
    bed.timers.turn().unwrap();
    assert_eq!(bed.timers.overdue(), Duration::ZERO);
    assert_eq!(bed.timers.lateness().max(), ms(25));
}

#[test]
fn a_turn_in_a_callback_is_refused() {
    let bed = Bed::new();
    bed.timers
        .arm(ms(1), |firing| {
            assert!(firing.timers().turn().is_err());
            assert!(firing.timers().turn_fully().is_err());
        })
        .unwrap();
    bed.drive_to(1);
    assert_eq!(bed.timers.stats().panics, 0);
}

#[test]
fn a_callback_that_takes_long_is_reported() {
    let log = crate::Log::default();
    let told = log.clone();
    let bed = Bed::with(|builder| {
        builder.on_overrun(ms(5), move |overrun| {
            told.add(overrun.took.as_millis() as u64, overrun.label);
        })
    });
    for (label, takes) in [("quick", 5), ("slow", 6)] {
        let clock = bed.clock.clone();
        bed.timers
            .options()
            .label(label)
            .arm(ms(1), move |_| {
                clock.advance(ms(takes));
            })
            .unwrap();
    }
    bed.drive_to(1);
    assert_eq!(log.take(), [(6, "slow")]);
    assert_eq!(bed.timers.stats().overruns, 1);
}

#[test]
fn a_runtime_starts_where_its_clock_is() {
    let bed = Bed::new();
    bed.clock
        .set(Timestamp::from_nanos(u64::MAX / 2_000_000 * 1_000_000));
    let timers = tickwheel::Timers::builder()
        .clock(bed.clock.clone())
        .build_hand_driven()
        .unwrap();
    timers.arm(ms(3), bed.logs("a")).unwrap();
    assert_eq!(timers.next_timeout(), Some(ms(3)));
    bed.clock.advance(ms(3));
    assert_eq!(timers.turn().unwrap().fired, 1);
}

#[test]
fn each_timer_fires_at_its_own_time_on_the_way() {
    let bed = Bed::new();
    let (log, clock) = (bed.log.clone(), bed.clock.clone());
    bed.timers
        .arm(ms(1_000), move |firing| {
            let log = log.clone();
            let next = move |firing: &mut tickwheel::Firing<'_>| {
                log.add(firing.now().as_nanos() / 1_000_000, "b");
            };
            firing.timers().arm(ms(1_000), next).unwrap();
        })
        .unwrap();
    assert_eq!(bed.timers.advance_by(&clock, ms(1_999)), 1);
    assert_eq!(bed.now(), 1_999);
    assert_eq!(bed.timers.advance_by(&clock, ms(1)), 1);
    assert_eq!(bed.log.take(), [(2_000, "b")]);
}

#[test]
fn a_callback_that_comes_back_at_once_does_not_keep_time_from_going_on() {
    let bed = Bed::new();
    bed.timers
        .arm_repeating(ms(10), |firing| tickwheel::Next::At(firing.now()))
        .unwrap();
    let fired = bed.timers.advance_by(&bed.clock, ms(20));
    // Twice in each tick: what waited for the next turn is asked at the new time, and is due then.
    assert!((10..=22).contains(&fired), "{fired} in ten ticks");
    assert_eq!(bed.now(), 20);
    bed.timers.pause();
    assert_eq!(bed.timers.advance_by(&bed.clock, ms(5)), 0);
    assert_eq!(bed.now(), 25);
}

#[test]
#[should_panic(expected = "not the clock of the runtime")]
fn a_clock_that_is_not_the_runtimes_is_refused() {
    let bed = Bed::new();
    bed.timers.arm(ms(10), |_| {}).unwrap();
    bed.timers.advance_to_next(&tickwheel::ManualClock::new());
}

#[test]
fn a_rate_that_is_set_again_does_not_let_more_through() {
    let bed = Bed::with(|builder| builder.rate_limit(10, ms(1_000)));
    for _ in 0..100 {
        bed.timers.arm(ms(1), |_| {}).unwrap();
    }
    bed.clock.advance(ms(1));
    let mut fired = 0;
    for _ in 0..5 {
        fired += bed.timers.turn_fully().unwrap().fired;
        bed.timers.set_rate_limit(Some((10, ms(1_000)))).unwrap();
    }
    assert_eq!(fired, 10);
}

#[test]
fn a_callback_begins_after_the_hook_that_was_asked_about_it() {
    let clock = tickwheel::ManualClock::new();
    let (hook, told) = (clock.clone(), crate::Log::default());
    let log = told.clone();
    let timers = tickwheel::Timers::builder()
        .clock(clock.clone())
        .before_fire(move |_| {
            hook.advance(ms(50));
            tickwheel::Verdict::Fire
        })
        .on_overrun(ms(10), |overrun| panic!("{overrun:?}"))
        .build_hand_driven()
        .unwrap();
    timers
        .arm(ms(1), move |firing| {
            log.add(firing.lateness().as_millis() as u64, "late");
        })
        .unwrap();
    clock.advance(ms(1));
    timers.turn().unwrap();
    assert_eq!(told.take(), [(50, "late")]);
    assert_eq!(timers.stats().overruns, 0);
}

#[test]
fn a_postponement_for_no_time_at_all_does_not_keep_the_clock_from_returning() {
    let bed =
        Bed::with(|builder| builder.before_fire(|_| tickwheel::Verdict::Postpone(Duration::ZERO)));
    bed.timers.arm(ms(1), |_| {}).unwrap();
    assert_eq!(bed.timers.advance_to_next(&bed.clock), 0);
    let limited = Bed::with(|builder| builder.rate_limit(1, Duration::from_secs(1)));
    limited.clock.set(Timestamp::from_nanos(u64::MAX - 1));
    for _ in 0..2 {
        limited.timers.arm(Duration::ZERO, |_| {}).unwrap();
    }
    while limited.timers.advance_to_next(&limited.clock) > 0 {}
}
