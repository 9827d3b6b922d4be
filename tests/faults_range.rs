#![cfg(not(loom))]
//! Faults of arithmetic: fired too early, too late, or never, because a number ran out.
//!
//! Properties:
//! * a timer fires at its deadline from any start, on and around every level edge, near both
//!   ends of time, and however long the wheel has lived;
//! * what is past is due at once;
//! * no distance is too long: what overflows becomes "never", not "now", and never does not come;
//! * a gap of any length delivers all that came due in it, in order of tick.

mod support;

use std::time::Duration;

use support::{at, drive_by_next_deadline, drive_to};
use tickwheel::{Resolution, Tick, Ticks, Timestamp, Wheel};

/// The distances at which a level begins and at which its slots run out, with neighbours.
fn edges<const BITS: u32>() -> Vec<u64> {
    let levels = 0..64 / BITS;
    let starts = levels.map(|level| 1u64 << (level * BITS));
    let mut edges: Vec<_> = starts.flat_map(|start| [start, 2 * start]).collect();
    edges.extend(edges.clone().iter().flat_map(|edge| [edge - 1, edge + 1]));
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Whether time passes in one step or by many wake-ups must not matter.
fn fires_exactly_at<const BITS: u32>(start: u64, deadline: u64) {
    let armed = || {
        let mut wheel = Wheel::<char, BITS>::starting_at(at(start));
        wheel.arm(at(deadline), 'a');
        wheel
    };
    if let Some(before) = deadline.checked_sub(1).filter(|before| *before >= start) {
        let mut wheel = armed();
        assert_eq!(
            drive_to(&mut wheel, before),
            [],
            "from {start}, one tick before {deadline}"
        );
        assert_eq!(
            drive_to(&mut wheel, deadline),
            [(deadline, 'a')],
            "from {start}"
        );
    }
    let expected = [(deadline.max(start), 'a')];
    assert_eq!(
        drive_to(&mut armed(), u64::MAX),
        expected,
        "from {start} to the end of time"
    );
    assert_eq!(
        drive_by_next_deadline(&mut armed(), u64::MAX),
        expected,
        "from {start} by wakes"
    );
}

// akka/akka-core#1016: an exact multiple of the period went to the wrong slot
// Yiling-J/theine-go#64: one slot too few was swept
#[test]
fn no_distance_is_a_tick_or_a_lap_off() {
    fn run<const BITS: u32>() {
        for start in [
            0,
            1,
            2,
            63,
            64,
            65,
            127,
            128,
            4_095,
            4_096,
            8_191,
            (1 << 18) - 1,
        ] {
            for distance in edges::<BITS>() {
                fires_exactly_at::<BITS>(start, start + distance);
            }
        }
    }
    run::<8>();
    run::<2>();
}

// kernel merge 66e4b63624fc: what was beyond the capacity was clamped relative to zero
// restatedev/restate#5017: panicked beyond the span
#[test]
fn neither_a_long_distance_nor_a_large_deadline_is_clamped() {
    fn run<const BITS: u32>() {
        let now = 5_000_000;
        for level in 1..60 / BITS {
            let span = (2u64 << BITS) << (level * BITS);
            let (Some(far), Some(ten)) = (span.checked_add(now + 7), span.checked_mul(10)) else {
                continue;
            };
            let mut wheel = Wheel::<u64, BITS>::default();
            assert_eq!(drive_to(&mut wheel, now), []);
            let mut due = vec![far, span - 1, span, ten];
            for deadline in &due {
                wheel.arm(at(*deadline), *deadline);
            }
            due.sort_unstable();
            let expected: Vec<_> = due.iter().map(|due| ((*due).max(now), *due)).collect();
            let mut fired = drive_by_next_deadline(&mut wheel, u64::MAX).log;
            fired.sort_unstable(); // what is late fires in the order of arming
            assert_eq!(fired, expected, "span {span}");
        }
    }
    run::<8>();
    run::<2>();
}

// netty/netty#7765, netty/netty#7760: the sum overflowed and was due at once
#[test]
fn a_distance_that_overflows_means_never_and_a_past_one_now() {
    let mut wheel = Wheel::<u64>::starting_at(at(1_000));
    for distance in [
        u64::MAX,
        u64::MAX - 1,
        u64::MAX - 999,
        u64::MAX - 1_000,
        u64::MAX - 1_001,
    ] {
        wheel.arm(at(1_000) + Ticks::new(distance), distance);
    }
    assert_eq!(drive_to(&mut wheel, 1_000_000_000_000), []);
    wheel.arm(at(0), 0);
    assert_eq!(drive_to(&mut wheel, 0), [(1_000_000_000_000, 0)]);
    // Only the last of them lies within time.
    assert_eq!(drive_to(&mut wheel, u64::MAX - 2), []);
    assert_eq!(
        drive_to(&mut wheel, u64::MAX),
        [(u64::MAX - 1, u64::MAX - 1_001)]
    );
    assert_eq!((wheel.len(), wheel.next_deadline()), (4, None));
}

#[test]
fn never_does_not_come_even_at_the_end_of_time() {
    fn run<const BITS: u32>(start: u64) {
        let mut wheel = Wheel::<u64, BITS>::starting_at(at(start));
        let armed = wheel.arm(Tick::NEVER, 0);
        let moved = wheel.arm(at(7), 1);
        let tolerant = wheel.arm_tolerant(Tick::NEVER, Ticks::MAX, 2);
        assert_eq!(wheel.rearm(moved, Tick::NEVER), Ok(()));
        assert_eq!(drive_to(&mut wheel, u64::MAX), []);
        for key in [armed, moved, tolerant] {
            assert_eq!(wheel.rearm(key, Tick::NEVER), Ok(()));
            assert_eq!(wheel.deadline(key), Some(Tick::NEVER));
        }
        assert_eq!(drive_to(&mut wheel, u64::MAX), []);
        assert_eq!((wheel.next_deadline(), wheel.next_work()), (None, None));
        // At the end of time everything but "never" is past.
        assert_eq!(wheel.rearm(moved, at(u64::MAX - 1)), Ok(()));
        assert_eq!(
            drive_by_next_deadline(&mut wheel, u64::MAX),
            [(u64::MAX, 1)]
        );
        wheel.arm_tolerant(at(u64::MAX - 1), Ticks::MAX, 3);
        assert_eq!(drive_to(&mut wheel, 0), [(u64::MAX, 3)]);
        assert_eq!(wheel.len(), 2);
    }
    for start in [0, u64::MAX - 1, u64::MAX] {
        run::<8>(start);
        run::<2>(start);
    }
}

// camunda/camunda#767: one call served one tick
#[test]
fn one_call_serves_every_tick_of_a_gap_in_order() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<u64, BITS>::default();
        let mut due = edges::<BITS>();
        due.extend([5, 70, 700]);
        due.sort_unstable();
        for tick in due.iter().rev() {
            wheel.arm(at(*tick), *tick);
        }
        let expected: Vec<_> = due.iter().map(|tick| (*tick, *tick)).collect();
        assert_eq!(drive_to(&mut wheel, u64::MAX).log, expected);
    }
    run::<8>();
    run::<2>();
}

// tokio-rs/tokio#5536: any arm panicked once the wheel was older than its span
#[test]
fn an_old_wheel_arms_like_a_new_one() {
    fn run<const BITS: u32>() {
        let old = [
            (1 << 36) - 1,
            1 << 36,
            (1 << 36) + 1,
            3 << 36,
            1 << 42,
            1 << 60,
            3 << 62,
        ];
        for age in edges::<BITS>().into_iter().chain(old) {
            let mut wheel = Wheel::<u64, BITS>::default();
            wheel.arm(Tick::NEVER, 0);
            assert_eq!(drive_to(&mut wheel, age), []);
            for distance in [10, 100, 5_000] {
                wheel.arm(at(age + distance), distance);
            }
            let expected = [10, 100, 5_000].map(|distance| (age + distance, distance));
            assert_eq!(
                drive_by_next_deadline(&mut wheel, u64::MAX),
                expected,
                "age {age}"
            );
        }
    }
    run::<8>();
    run::<2>();
}

// tokio-rs/tokio#8334, tokio-rs/tokio#5630: the slots of the top level wrapped, and what was
// filed "behind" the present corrupted its list
#[test]
fn the_slots_of_any_level_may_wrap() {
    fn run<const BITS: u32>(level: u32, keep: bool) {
        let (width, slots) = (1u64 << (level * BITS), 2u64 << BITS);
        let lap = width * slots;
        let mut wheel = Wheel::<u64, BITS>::default();
        let now = lap - 5.min(width);
        assert_eq!(drive_to(&mut wheel, now), []);
        let (soon, next) = (lap - 1, lap + 5);
        // Both in the slot the present is in, one lap on, although by their distance one lies
        // just beyond the reach of the level and the other just within it.
        let (over, under) = (lap + lap - 1, lap + lap - width);
        wheel.arm(at(soon), soon);
        wheel.arm(at(next), next);
        let far = [over, under].map(|deadline| wheel.arm(at(deadline), deadline));
        assert_eq!(
            drive_by_next_deadline(&mut wheel, next),
            [(soon, soon), (next, next)]
        );
        if !keep {
            assert_eq!(far.map(|key| wheel.cancel(key)), [Some(over), Some(under)]);
        }
        let live = wheel.len();
        let crowd: Vec<_> = (0..1_000)
            .map(|id| wheel.arm(at(next - 40 + id % 80), 0))
            .collect();
        for key in crowd.iter().step_by(2) {
            assert_eq!(wheel.cancel(*key), Some(0));
        }
        assert_eq!(wheel.len(), live + 500, "level {level}");
        let fired = drive_by_next_deadline(&mut wheel, u64::MAX).log;
        let far: Vec<_> = fired
            .iter()
            .copied()
            .filter(|(_, value)| *value != 0)
            .collect();
        let expected = [(under, under), (over, over)];
        assert_eq!(
            far,
            if keep { expected.as_slice() } else { &[] },
            "level {level}"
        );
        assert_eq!(
            (fired.len(), wheel.len()),
            (500 + far.len(), 0),
            "level {level}"
        );
    }
    for keep in [true, false] {
        (1..=6).for_each(|level| run::<8>(level, keep));
        (2..=28).for_each(|level| run::<2>(level, keep));
    }
}

// akka/akka-core#19661: whether a delay was accepted hung on the length of the tick
#[test]
fn a_year_and_an_age_are_accepted_at_any_resolution() {
    let year = Duration::from_secs(365 * 24 * 3_600);
    for tick in [
        Duration::from_nanos(1),
        Duration::from_millis(1),
        Duration::from_millis(10),
    ] {
        let resolution = Resolution::new(tick).unwrap();
        for age in [year, 100 * year] {
            let due = resolution.deadline_after(Timestamp::ZERO, age).get();
            assert_eq!(
                u128::from(due),
                age.as_nanos() / tick.as_nanos(),
                "{age:?} in {tick:?}"
            );
            fires_exactly_at::<8>(0, due);
        }
        assert!(
            resolution
                .deadline_after(Timestamp::ZERO, 1_000 * year)
                .is_never()
        );
    }
}

// netty/netty#1953: a past deadline waited for a whole revolution
#[test]
fn a_past_deadline_is_due_in_the_next_pass() {
    fn run<const BITS: u32>() {
        for past in edges::<BITS>().into_iter().filter(|past| *past <= 500_000) {
            let mut wheel = Wheel::<char, BITS>::starting_at(at(500_000));
            wheel.arm(at(500_000 - past), 'a');
            assert_eq!(wheel.next_deadline(), Some(at(500_000)), "{past} ago");
            assert_eq!(
                drive_to(&mut wheel, 500_000),
                [(500_000, 'a')],
                "{past} ago"
            );
        }
    }
    run::<8>();
    run::<2>();
}
