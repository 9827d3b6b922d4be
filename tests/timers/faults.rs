//! Faults that others have shipped, as sequences with the right answer: those that concern a
//! runtime and are not among the properties of the other files. Each names its public source.

use std::time::Duration;

use tickwheel::{ManualClock, Resolution, Timers, Timestamp};

use crate::{Bed, ms};

/// embassy-rs/embassy#3758: a deadline that passed while the driver was in its own pass was lost.
#[test]
fn a_deadline_that_passes_during_a_turn_is_served_without_another_arm() {
    let bed = Bed::new();
    let (clock, log) = (bed.clock.clone(), bed.log.clone());
    bed.timers
        .arm(ms(10), move |firing| {
            let timers = firing.timers();
            timers.arm(ms(1), move |_| log.add(0, "b")).unwrap();
            clock.advance(ms(5));
        })
        .unwrap();
    bed.drive_to(10);
    assert_eq!(bed.timers.next_timeout(), Some(Duration::ZERO));
    bed.timers.turn().unwrap();
    assert_eq!(bed.log.len(), 1);
}

/// RIOT-OS/RIOT#20924 and microsoft/msquic#3206: a timer that was moved later left a wake-up
/// behind, which found nothing to do and did harm.
#[test]
fn a_wake_up_for_a_timer_that_was_moved_does_no_harm() {
    let bed = Bed::new();
    let key = bed.timers.arm(ms(10), bed.logs("a")).unwrap();
    bed.timers.arm(ms(50), bed.logs("b")).unwrap();
    assert_eq!(bed.timers.next_timeout(), Some(ms(10)));
    bed.timers.rearm(key, ms(500)).unwrap();
    assert_eq!(bed.drive_to(10), 0);
    assert_eq!(bed.timers.next_timeout(), Some(ms(40)));
    assert_eq!(bed.drive_to(50), 1);
    assert_eq!(bed.drive_to(499), 0);
    assert_eq!(bed.drive_to(500), 1);
}

/// ben-manes/caffeine#195: after clearing, a later timer hid behind an earlier wake-up.
#[test]
fn a_wake_up_left_by_a_cancel_does_not_hide_what_comes_later() {
    let bed = Bed::new();
    let key = bed.timers.arm(ms(10), bed.logs("a")).unwrap();
    let _ = bed.timers.next_timeout();
    bed.drive_to(7);
    assert!(bed.timers.cancel(key).is_cancelled());
    bed.drive_to(8);
    bed.timers.arm(ms(10), bed.logs("b")).unwrap();
    while let Some(sleep) = bed.timers.next_timeout() {
        bed.clock.advance(sleep);
        bed.timers.turn().unwrap();
    }
    assert_eq!(bed.log.take(), [(18, "b")]);
}

/// moka-rs/moka#498: one call of the housekeeping took as long as there was anything to do.
#[test]
fn a_million_timers_that_expire_at_once_are_served_by_bounded_turns() {
    const COUNT: usize = 100_000;
    let bed = Bed::with(|builder| builder.batch(1_000, Duration::MAX));
    for _ in 0..COUNT {
        bed.timers.arm(ms(50), |_| {}).unwrap();
    }
    bed.clock.advance(ms(50));
    let mut left = COUNT;
    while left > 0 {
        let turned = bed.timers.turn().unwrap();
        assert!(turned.fired <= 1_000);
        left -= turned.fired;
        assert_eq!(bed.timers.len(), left);
        assert_eq!(turned.more, left > 0);
    }
}

/// tokio-rs/tokio-timer#7: a clock that went back by a little brought the driver down.
#[test]
fn a_clock_that_goes_back_stands_still() {
    let bed = Bed::new();
    let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
    bed.timers.arm_at(at(101), bed.logs("a")).unwrap();
    for now in [100, 99, 3, 100] {
        bed.clock.jump(at(now));
        assert_eq!(bed.timers.turn().unwrap().fired, 0);
    }
    bed.clock.jump(at(101));
    assert_eq!(bed.timers.turn().unwrap().fired, 1);
    assert_eq!(bed.timers.stats().panics, 0);
}

/// tokio-rs/tokio#6866: rounding up cost a tick when there was nothing to round.
#[test]
fn a_delay_of_whole_ticks_is_exact() {
    for after in [0, 1, 1_000] {
        let bed = Bed::new();
        bed.timers.arm(ms(after), bed.logs("a")).unwrap();
        if after > 0 {
            assert_eq!(bed.drive_to(after - 1), 0);
        }
        assert_eq!(bed.drive_to(after), 1);
    }
}

/// tokio-rs/tokio#2784: a machine that was suspended. A clock that counts that leaps ahead, and
/// what is due then fires at once; with one that does not, it is late by the time suspended.
#[test]
fn the_clock_decides_whether_suspended_time_counts() {
    let minute = Duration::from_secs(60);
    let suspended = Duration::from_secs(40);
    for counts in [true, false] {
        let bed = Bed::new();
        bed.timers.arm(minute, bed.logs("a")).unwrap();
        bed.drive_to(30_000);
        if counts {
            bed.clock.advance(suspended); // on resuming it shows 70 seconds
        }
        assert_eq!(bed.timers.turn().unwrap().fired, usize::from(counts));
        bed.clock.advance(Duration::from_secs(30));
        assert_eq!(bed.timers.turn().unwrap().fired, usize::from(!counts));
    }
}

/// h2o/h2o#2321: the wall clock was set, and every timeout came. Nothing here looks at it.
#[test]
fn only_the_clock_of_the_runtime_counts() {
    let (clock, wall) = (ManualClock::new(), ManualClock::new());
    let timers = Timers::builder().clock(clock).build_hand_driven().unwrap();
    timers.arm(ms(10), |_| unreachable!()).unwrap();
    wall.advance(Duration::from_secs(24 * 3600));
    assert_eq!(timers.turn().unwrap().fired, 0);
}

/// maypok86/otter#115: a resolution coarser than the delay. It is late by less than a tick, and
/// comes.
#[test]
fn a_delay_shorter_than_a_tick_comes_at_the_next_tick() {
    let bed = Bed::with(|builder| builder.resolution(Resolution::SECOND));
    bed.drive_to(300);
    bed.timers.arm(ms(100), bed.logs("a")).unwrap();
    assert_eq!(bed.drive_to(999), 0);
    assert_eq!(bed.drive_to(1_000), 1);
}

/// Sleeps as an event loop does, for as long as it may and not longer, up to `until`.
fn run_loop(bed: &Bed, until: u64) {
    while bed.now() < until {
        let left = ms(until - bed.now());
        let sleep = bed.timers.next_timeout().unwrap_or(left).min(left);
        bed.clock.advance(sleep);
        bed.timers.turn_fully().unwrap();
    }
}

/// tokio-rs/tokio#1700: a timer armed far ahead after one had fired hid those that were waiting.
#[test]
fn a_far_timer_armed_after_the_first_has_fired_hides_no_other() {
    let bed = Bed::new();
    for after in 1..=5 {
        bed.timers.arm(ms(after), bed.logs("near")).unwrap();
    }
    run_loop(&bed, 1);
    bed.timers.arm(ms(9), bed.logs("far")).unwrap();
    run_loop(&bed, 20);
    let times: Vec<_> = bed.log.take().into_iter().map(|(at, _)| at).collect();
    assert_eq!(times, [1, 2, 3, 4, 5, 10]);
}

/// tokio-rs/tokio#849: a timer that was moved to sooner was served at the end of its old slot.
#[test]
fn a_timer_that_is_moved_to_sooner_is_served_then() {
    for first in [70, 130, 199, 200, 4_100] {
        let bed = Bed::new();
        bed.drive_to(1);
        let key = bed.timers.arm(ms(first), bed.logs("a")).unwrap();
        let _ = bed.timers.next_timeout();
        run_loop(&bed, 3);
        bed.timers.rearm(key, ms(2)).unwrap();
        bed.timers.rearm(key, ms(2)).unwrap();
        run_loop(&bed, 50);
        assert_eq!(bed.log.take(), [(5, "a")], "first armed for {first}");
    }
}

/// tokio-rs/tokio#2290: a timer that was moved within a slot whose beginning was past.
#[test]
fn a_timer_that_is_moved_within_a_slot_that_has_begun_is_served_once_and_in_time() {
    let bed = Bed::new();
    let key = bed.timers.arm(ms(100), bed.logs("a")).unwrap();
    let _ = bed.timers.next_timeout();
    bed.drive_to(80);
    bed.timers.rearm(key, ms(40)).unwrap();
    run_loop(&bed, 300);
    assert_eq!(bed.log.take(), [(120, "a")]);
}

/// tokio-rs/tokio#868: several moves in a row corrupted what was thought to come first.
#[test]
fn several_moves_in_a_row_leave_each_timer_where_it_was_moved_to() {
    let bed = Bed::new();
    let long = bed.timers.arm(ms(200), bed.logs("l")).unwrap();
    let idle = bed.timers.arm(ms(250), bed.logs("i")).unwrap();
    let _ = bed.timers.next_timeout();
    bed.timers.rearm(long, ms(300)).unwrap();
    bed.timers.rearm(idle, ms(350)).unwrap();
    bed.timers.rearm(long, ms(400)).unwrap();
    assert!(bed.timers.next_timeout().unwrap() <= ms(350));
    run_loop(&bed, 500);
    assert_eq!(bed.log.take(), [(350, "i"), (400, "l")]);
}

/// What is armed while the clock is behind counts from where time stands still. Else it would be due in
/// what is the past for the wheel, and fire at once.
#[test]
fn what_is_armed_while_the_clock_is_behind_is_not_early() {
    let bed = Bed::new();
    let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
    bed.drive_to(100);
    bed.clock.jump(at(10));
    assert_eq!(bed.timers.now(), at(100));
    let key = bed.timers.arm(ms(5), bed.logs("once")).unwrap();
    bed.timers
        .every(ms(5), tickwheel::Missed::Skip, bed.logs("beat"))
        .unwrap();
    assert_eq!(bed.timers.remaining(key), Some(ms(5)));
    for now in [10, 15, 99, 100, 104] {
        bed.clock.jump(at(now));
        assert_eq!(bed.timers.turn().unwrap().fired, 0, "at {now}");
    }
    bed.clock.jump(at(105));
    assert_eq!(bed.timers.turn().unwrap().fired, 2);
    bed.clock.jump(at(20));
    assert_eq!(
        bed.timers.turn().unwrap().fired,
        0,
        "the next beat is at 110"
    );
}
