#![cfg(not(loom))]
//! Faults of wake-ups: a driver that sleeps until `next_deadline` and does nothing else.
//!
//! Properties:
//! * whatever was armed, re-armed, cancelled or cleared since the driver asked last, the
//!   next answer takes it into account: no timer waits for another one's wake-up;
//! * a wake-up that finds nothing to fire is harmless and is not repeated for ever;
//! * an empty wheel, or one of timers that are never due, asks for no wake-up;
//! * what a callback arms needs no further stimulus.

mod support;

use support::{at, drive_by_next_deadline, drive_to};
use tickwheel::{Tick, Ticks, Wheel};

// tokio-rs/tokio#1700, tokio-rs/tokio#2285: the earlier ones were held back to the new one
#[test]
fn a_far_arm_after_a_delivery_hides_nothing() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<u64, BITS>::default();
        for tick in 1..=5 {
            wheel.arm(at(tick), tick);
        }
        assert_eq!(drive_to(&mut wheel, 1), [(1, 1)]);
        wheel.arm(at(10), 10);
        let fired = drive_by_next_deadline(&mut wheel, 10);
        assert_eq!(fired, [(2, 2), (3, 3), (4, 4), (5, 5), (10, 10)]);
    }
    run::<8>();
    run::<2>();
}

// tokio-rs/tokio#849: the wake-up stayed at the boundary of the old slot
#[test]
fn a_rearm_to_sooner_moves_the_wake_up() {
    fn run<const BITS: u32>(first: u64) {
        let mut wheel = Wheel::<char, BITS>::starting_at(at(1));
        let key = wheel.arm(at(first), 'a');
        assert!(
            wheel.next_deadline() <= Some(at(first)),
            "{:?}",
            wheel.next_deadline()
        );
        assert_eq!(drive_to(&mut wheel, 3), []);
        assert_eq!(wheel.rearm(key, at(6)), Ok(()));
        assert_eq!(wheel.rearm(key, at(5)), Ok(()));
        assert!(
            wheel.next_deadline() <= Some(at(5)),
            "{:?}",
            wheel.next_deadline()
        );
        assert_eq!(
            drive_by_next_deadline(&mut wheel, 2 * first),
            [(5, 'a')],
            "first {first}"
        );
    }
    for first in [
        70,
        130,
        199,
        200,
        4_100,
        8_200,
        1 << 18,
        1 << 40,
        u64::MAX / 2,
    ] {
        run::<8>(first);
        run::<2>(first);
    }
}

// tokio-rs/tokio#2290: it fired at once, because the start of its slot was past
#[test]
fn a_rearm_within_a_slot_that_has_begun_costs_no_busy_wake() {
    fn run<const BITS: u32>(first: u64, now: u64, second: u64) {
        let mut wheel = Wheel::<char, BITS>::default();
        let key = wheel.arm(at(first), 'a');
        assert_eq!(drive_to(&mut wheel, now), []);
        assert_eq!(wheel.rearm(key, at(second)), Ok(()));
        let fired = drive_by_next_deadline(&mut wheel, second);
        assert_eq!(fired, [(second, 'a')], "re-armed at {now}");
        let most = 64 / u64::from(BITS) + 1;
        assert!(
            fired.wakes <= most,
            "{} wakes from {now} to {second}",
            fired.wakes
        );
    }
    for (first, now, second) in [
        (100, 80, 120),
        (5_000, 4_998, 5_050),
        (8_300, 8_200, 12_200),
    ] {
        run::<8>(first, now, second);
        run::<2>(first, now, second);
    }
}

// tokio-rs/tokio#8274: the waiter was not told
#[test]
fn a_rearm_into_the_past_is_due_at_once() {
    let mut wheel = Wheel::new();
    let key = wheel.arm(at(1_000), 'a');
    assert_eq!(drive_to(&mut wheel, 50), []);
    assert_eq!(wheel.rearm(key, at(10)), Ok(()));
    assert_eq!(wheel.next_deadline(), Some(at(50)));
    assert_eq!(wheel.next_work(), Some(at(50)));
    assert_eq!(drive_by_next_deadline(&mut wheel, 50), [(50, 'a')]);
}

// tokio-rs/tokio#6751: the waiter slept to the deadline of the timer that was gone
#[test]
fn removing_the_last_timer_leaves_nothing_to_wait_for() {
    fn run<const BITS: u32>(count: usize) {
        let mut wheel = Wheel::<usize, BITS>::default();
        let keys: Vec<_> = (0..count).map(|id| wheel.arm(at(100_000), id)).collect();
        wheel.arm(Tick::NEVER, usize::MAX);
        for key in keys {
            assert!(wheel.next_deadline() <= Some(at(100_000)) && wheel.next_deadline().is_some());
            assert!(wheel.cancel(key).is_some());
            wheel.check();
        }
        assert_eq!(
            (wheel.next_deadline(), wheel.next_work()),
            (None, None),
            "of {count}"
        );
    }
    for count in [1, 2, 3, 100] {
        run::<8>(count);
        run::<2>(count);
    }
}

// tokio-rs/tokio#8320: the same, for all timers at once
#[test]
fn clearing_leaves_nothing_to_wait_for() {
    let mut wheel = Wheel::new();
    wheel.arm(at(100_000), 'a');
    wheel.arm(at(0), 'b');
    assert_eq!(wheel.next_deadline(), Some(at(0)));
    for _ in 0..2 {
        wheel.clear();
        wheel.check();
        assert_eq!((wheel.next_deadline(), wheel.next_work()), (None, None));
        assert_eq!(drive_to(&mut wheel, 7), []);
    }
    wheel.arm(at(9), 'c');
    assert_eq!(drive_by_next_deadline(&mut wheel, 200_000), [(9, 'c')]);
}

// tokio-rs/tokio#868, tokio-rs/tokio#871: the stored earliest deadline became garbage
#[test]
fn rearms_in_a_row_keep_the_earliest_deadline_right() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<char, BITS>::default();
        let long = wheel.arm(at(200), 'l');
        let idle = wheel.arm(at(250), 'i');
        for (key, tick) in [(long, 300), (idle, 350), (long, 400)] {
            assert_eq!(wheel.rearm(key, at(tick)), Ok(()));
            wheel.check();
        }
        assert!(
            wheel.next_deadline() <= Some(at(350)),
            "{:?}",
            wheel.next_deadline()
        );
        assert_eq!(
            drive_by_next_deadline(&mut wheel, 1_000),
            [(350, 'i'), (400, 'l')]
        );
    }
    run::<8>();
    run::<2>();
}

// quinn-rs/quinn#587: the driver looked again only after the old wake-up
// esp-rs/esp-hal#4212: the later one, armed last, replaced the wake-up of the earlier
#[test]
fn two_arms_in_either_order_both_wake() {
    fn run<const BITS: u32>(first: u64, second: u64) {
        let mut wheel = Wheel::<u64, BITS>::default();
        wheel.arm(at(first), first);
        assert!(
            wheel.next_deadline() <= Some(at(first)),
            "{:?}",
            wheel.next_deadline()
        );
        wheel.arm(at(second), second);
        let (early, late) = (first.min(second), first.max(second));
        let fired = drive_by_next_deadline(&mut wheel, late);
        assert_eq!(
            fired,
            [(early, early), (late, late)],
            "armed {first}, then {second}"
        );
    }
    for (first, second) in [
        (100, 50),
        (10, 100),
        (5_000, 50),
        (50, 5_000),
        (1 << 30, 1 << 20),
    ] {
        run::<8>(first, second);
        run::<2>(first, second);
    }
}

// RIOT-OS/RIOT#20924: the wake-up of the old head stayed and took the new head's place
#[test]
fn moving_the_head_back_lets_the_second_wake_on_time() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<char, BITS>::default();
        let head = wheel.arm(at(10), 'a');
        wheel.arm(at(50), 'b');
        assert_eq!(wheel.rearm(head, at(100)), Ok(()));
        assert_eq!(
            drive_by_next_deadline(&mut wheel, 1_000),
            [(50, 'b'), (100, 'a')]
        );
    }
    run::<8>();
    run::<2>();
}

// microsoft/msquic#3206: the empty wake-up left the wheel in a bad state
#[test]
fn a_stale_wake_up_parks_again_and_loses_nothing() {
    fn run<const BITS: u32>(later: u64) {
        let mut wheel = Wheel::<char, BITS>::default();
        let key = wheel.arm(at(10), 'a');
        assert_eq!(wheel.rearm(key, at(later)), Ok(()));
        assert_eq!(drive_to(&mut wheel, 10), []);
        let next = wheel.next_deadline();
        assert!(
            Some(at(10)) < next && next <= Some(at(later)),
            "{next:?} towards {later}"
        );
        assert_eq!(drive_by_next_deadline(&mut wheel, later), [(later, 'a')]);
    }
    for later in [11, 64, 128, 500, 4_096, 8_192, 1 << 18, 1 << 50] {
        run::<8>(later);
        run::<2>(later);
    }
}

// embassy-rs/embassy#3758, embassy-rs/embassy#3763: armed and past while the pass still ran
#[test]
fn what_a_callback_arms_needs_no_other_stimulus() {
    fn run<const BITS: u32>(after: u64) {
        let mut wheel = Wheel::<char, BITS>::default();
        wheel.arm(at(10), 'a');
        wheel.advance(at(10), |turn, _| {
            let soon = turn.now() + Ticks::new(after);
            turn.arm(soon, 'b');
        });
        let next = wheel.next_deadline();
        assert!(
            next <= Some(at(10 + after)) && next.is_some(),
            "{next:?}, armed +{after}"
        );
        assert_eq!(
            drive_by_next_deadline(&mut wheel, 10 + after),
            [(10 + after, 'b')]
        );
    }
    for after in [0, 1, 54, 118, 5_000] {
        run::<8>(after);
        run::<2>(after);
    }
}

#[test]
fn cancelling_the_earliest_of_a_crowd_leaves_the_rest_on_time() {
    fn run<const BITS: u32>(spread: u64) {
        let mut wheel = Wheel::<u64, BITS>::default();
        let keys: Vec<_> = (1..=200)
            .map(|id| (id, wheel.arm(at(id * spread), id * spread)))
            .collect();
        for (_, key) in keys.iter().filter(|(id, _)| id % 3 != 0) {
            assert!(wheel.cancel(*key).is_some());
        }
        let fired = drive_by_next_deadline(&mut wheel, u64::MAX);
        let due: Vec<_> = (3..=200)
            .step_by(3)
            .map(|id| (id * spread, id * spread))
            .collect();
        assert_eq!(fired.log, due, "spread {spread}");
    }
    for spread in [1, 7, 64, 1_000, 4_096] {
        run::<8>(spread);
        run::<2>(spread);
    }
}

#[test]
fn sleeping_until_next_work_is_as_punctual() {
    fn run<const BITS: u32>() {
        let mut wheel = Wheel::<u64, BITS>::default();
        let due: Vec<u64> = (0..1_000).map(|id| 8_192 + id * 7 % 4_096).collect();
        for tick in &due {
            wheel.arm(at(*tick), *tick);
        }
        let mut wakes = 0;
        let mut fired = 0;
        while let Some(work) = wheel.next_work() {
            assert!(
                wheel.next_deadline() >= Some(work),
                "{work} is after the next deadline"
            );
            wheel.advance(work, |_, expired| {
                assert_eq!(expired.value, work.get(), "fired at the wake-up for {work}");
                fired += 1;
            });
            wheel.check();
            wakes += 1;
        }
        let most = due.len() * 64 / BITS as usize;
        assert_eq!(fired, due.len());
        assert!(wakes <= most, "{wakes} wakes for {} timers", due.len());
    }
    run::<8>();
    run::<2>();
}
