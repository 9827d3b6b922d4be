#![cfg(not(loom))]
//! Faults of punctuality: fired too early, too late, or with a growing error.
//!
//! Properties:
//! * time that goes back counts as standing still;
//! * a deadline is where the caller's clock put it, whatever the wheel was told last;
//! * a timer that arms itself again neither drifts nor spins, and survives a late driver;
//! * rounding fires nothing early and adds nothing to an exact multiple of the resolution.

mod support;

use std::time::Duration;

use support::{Fired, at, drive_by_next_deadline, drive_to};
use tickwheel::{Resolution, Ticks, Timestamp, Wheel};

// nodejs/node#4541, nodejs/node#3512, nodejs/node#19015: 32-bit overflow, then a busy loop
#[test]
fn delays_beyond_32_bits_neither_fire_at_once_nor_spin() {
    for delay in [(1 << 31) - 1, 1 << 31, (1 << 32) - 5_000, (1 << 32) + 5_000] {
        let (mut wheel, mut fired) = (Wheel::new(), Fired::new());
        wheel.arm(at(delay), ());
        while let Some(next) = wheel.next_deadline().filter(|next| next.get() < 6 * delay) {
            fired.wakes += 1;
            wheel.advance(next, |turn, expired| {
                let next = expired.deadline + Ticks::new(delay);
                fired.log.push((turn.now().get(), ()));
                turn.rearm_expired(expired, next);
            });
            wheel.check();
        }
        let expected = [1, 2, 3, 4, 5].map(|nth| (nth * delay, ()));
        assert_eq!(fired, expected, "every {delay}");
        assert!(fired.wakes <= 6 * 6, "{} wakes, every {delay}", fired.wakes);
    }
}

// libuv/libuv#1068, joyent/libuv#678, nodejs/node-v0.x-archive#6147: counted from an old "now"
#[test]
fn a_distance_counts_from_the_present_not_from_the_last_advance() {
    let (ms, start) = (Resolution::MILLISECOND, Timestamp::ZERO);
    let mut wheel = Wheel::new();
    assert_eq!(drive_to(&mut wheel, 0), []);
    let clock = start + Duration::from_secs(5); // the wheel was not told
    wheel.arm(ms.deadline_after(clock, Duration::from_secs(5)), 'a');
    assert_eq!(drive_to(&mut wheel, 5_001), []);
    assert_eq!(drive_to(&mut wheel, 9_999), []);
    assert_eq!(drive_by_next_deadline(&mut wheel, 10_000), [(10_000, 'a')]);
}

// tokio-rs/tokio-timer#7: panicked when one reading was before another
// erlang/otp#4076: early after the clock was set back
#[test]
fn time_that_goes_back_stands_still() {
    let mut wheel = Wheel::new();
    wheel.arm(at(101), 'b');
    assert_eq!(drive_to(&mut wheel, 100), []);
    assert_eq!(drive_to(&mut wheel, 99), []);
    wheel.arm(at(100), 'a');
    assert_eq!(drive_to(&mut wheel, 0), [(100, 'a')]);
    assert_eq!(wheel.poll(at(3)), None);
    assert!(wheel.advance_bounded(at(4), 1, |_, _| {}).is_done());
    assert_eq!(wheel.now(), at(100));
    wheel.arm(at(98) + Ticks::new(4), 'c');
    assert_eq!(drive_to(&mut wheel, 101), [(101, 'b')]);
    assert_eq!(drive_to(&mut wheel, 102), [(102, 'c')]);
}

// netty/netty#1959, netty/netty#1961: drifted once the counter had passed the wheel's size
#[test]
fn a_timer_that_rearms_itself_does_not_drift() {
    fn run<const BITS: u32>() {
        let (mut wheel, mut fired) = (Wheel::<(), BITS>::default(), Fired::new());
        wheel.arm(at(100), ());
        for tick in 0..=12_300 {
            wheel.advance(at(tick), |turn, expired| {
                fired.log.push((tick, ()));
                let next = turn.now() + Ticks::new(100);
                turn.rearm_expired(expired, next);
            });
            wheel.check();
        }
        let expected: Vec<_> = (1..=123).map(|nth| (nth * 100, ())).collect();
        assert_eq!(fired.log, expected);
    }
    run::<8>();
    run::<2>();
}

// aeron-io/agrona#73: met in its slot before its exact deadline, and dropped
#[test]
fn a_visit_between_two_ticks_drops_nothing() {
    let resolution = |nanos| Resolution::new(Duration::from_nanos(nanos)).unwrap();
    let nanos = Timestamp::from_nanos;

    let (ten, mut wheel) = (resolution(10), Wheel::new());
    wheel.arm(ten.deadline(nanos(12)), 'a');
    assert_eq!(drive_to(&mut wheel, ten.now(nanos(10)).get()), []);
    assert_eq!(drive_to(&mut wheel, ten.now(nanos(19)).get()), []);
    assert_eq!(drive_to(&mut wheel, ten.now(nanos(20)).get()), [(2, 'a')]);

    let (twenty, mut wheel, mut fired) = (resolution(20), Wheel::new(), Vec::new());
    wheel.arm(twenty.deadline(nanos(110)), 'a');
    for step in 1..=30 {
        let log = drive_to(&mut wheel, twenty.now(nanos(18 * step)).get()).log;
        fired.extend(log.into_iter().map(|_| 18 * step));
    }
    assert_eq!(
        fired,
        [126],
        "a driver that looks every 18 ns at ticks of 20 ns"
    );
}

// nasa/osal#274: stopped at the first overrun if the period was not a whole number of ticks
#[test]
fn a_period_of_no_whole_number_of_ticks_survives_an_overrun() {
    let ten = Resolution::new(Duration::from_nanos(10)).unwrap();
    let due = |nth: u64| ten.deadline(Timestamp::from_nanos(15 * nth));
    let (mut wheel, mut fired) = (Wheel::new(), Fired::new());
    wheel.arm(due(1), 1);
    // The driver keeps pace to 30, is held up for 40, and keeps pace from there.
    for nanos in (0..=30).chain(70..=150) {
        wheel.advance(
            ten.now(Timestamp::from_nanos(nanos)),
            |turn, mut expired| {
                fired.log.push((nanos, expired.value));
                expired.value += 1;
                let next = due(expired.value);
                turn.rearm_expired(expired, next);
            },
        );
        wheel.check();
    }
    let expected = [
        (20, 1),
        (30, 2),
        (70, 3),
        (70, 4),
        (80, 5),
        (90, 6),
        (110, 7),
        (120, 8),
        (140, 9),
    ];
    assert_eq!(fired.log[..9], expected);
    assert_eq!(fired.log[9..], [(150, 10)]);
}

// tokio-rs/tokio#6866, akka/akka-core#21473: rounding up added a tick to an exact multiple
#[test]
fn an_exact_multiple_of_the_resolution_costs_no_extra_tick() {
    let ms = Resolution::MILLISECOND;
    for now in [Timestamp::ZERO, Timestamp::from_nanos(77_000_000)] {
        let mut wheel = Wheel::<u64>::starting_at(ms.now(now));
        let start = wheel.now().get();
        for after in [0, 1, 1_000] {
            wheel.arm(ms.deadline_after(now, Duration::from_millis(after)), after);
        }
        let fired = drive_by_next_deadline(&mut wheel, u64::MAX);
        assert_eq!(
            fired,
            [0, 1, 1_000].map(|after| (start + after, after)),
            "from {start}"
        );
    }
}
