#![cfg(not(loom))]
//! Faults of callbacks: starvation, storms, panics, and callbacks that take the wheel apart.
//!
//! Properties:
//! * no callback keeps a call busy for ever, nor holds up what is due later, with a budget
//!   or without;
//! * what a callback arms for later fires in the same call if that goes so far, what it arms
//!   for now or before in the next;
//! * a backlog is worked off in bounded calls that say whether more remains;
//! * a period keeps its phase as the caller chooses, through stalls and slow callbacks;
//! * after a panic in a callback everything else fires.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use support::{at, drive_by_next_deadline, drive_to};
use tickwheel::{Expired, Progress, Tick, Ticks, Turn, Wheel};

// libuv/libuv#4245, libuv/libuv#4250, envoyproxy/envoy#11823: re-armed for now, for ever
#[test]
fn a_callback_that_rearms_for_now_fires_once_in_a_call() {
    fn run<const BITS: u32>(back: u64) {
        let mut wheel = Wheel::<char, BITS>::default();
        for value in ['a', 'b'] {
            wheel.arm(at(10), value);
        }
        wheel.arm(at(5_000), 'c');
        let mut pass = |target| {
            let mut fired = String::new();
            wheel.advance(at(target), |turn, expired| {
                fired.push(expired.value);
                if expired.value == 'a' {
                    let past = Tick::new(turn.now().get() - back);
                    turn.rearm_expired(expired, past);
                }
            });
            wheel.check();
            (fired, wheel.next_deadline() == Some(wheel.now()))
        };
        assert_eq!(pass(10), ("ab".into(), true), "{back} back");
        assert_eq!(pass(10), ("a".into(), true), "{back} back");
        assert_eq!(pass(6_000), ("ac".into(), true), "{back} back");
        assert_eq!(pass(0), ("a".into(), true), "{back} back");
    }
    for back in [0, 1, 10] {
        run::<8>(back);
        run::<2>(back);
    }
}

// libuv/libuv#4245: the same, when the calls are bounded: the budget went to the same few
#[test]
fn callbacks_that_rearm_for_now_do_not_eat_the_budget_of_the_others() {
    fn run<const BITS: u32>(greedy: usize, budget: usize) {
        let mut wheel = Wheel::<bool, BITS>::default();
        for _ in 0..greedy {
            wheel.arm(at(10), true);
        }
        wheel.arm(at(500), false);
        let (mut modest, mut calls) = (0, 0);
        while modest == 0 {
            let progress = wheel.advance_bounded(at(1_000), budget, |turn, expired| {
                if expired.value {
                    let now = turn.now();
                    turn.rearm_expired(expired, now);
                } else {
                    modest += 1;
                }
            });
            wheel.check();
            calls += 1;
            assert!(
                calls <= 100,
                "{progress:?}: {greedy} of budget {budget} starve the other"
            );
        }
    }
    for (greedy, budget) in [(1, 2), (1, 1), (2, 1), (3, 3), (5, 2)] {
        run::<8>(greedy, budget);
        run::<2>(greedy, budget);
    }
}

// krasnoludkolo/haste#12: one stack frame a period
#[test]
fn a_large_gap_costs_a_periodic_timer_no_stack() {
    let (minute, days) = (60_000, 15 * 24 * 60 * 60_000);
    let mut wheel = Wheel::new();
    wheel.arm(at(minute), ());
    let fired = wheel.advance(at(days), |turn, expired| {
        let next = expired.deadline + Ticks::new(minute);
        turn.rearm_expired(expired, next);
    });
    wheel.check();
    assert_eq!((fired as u64, wheel.now()), (days / minute, at(days)));
}

// moka-rs/moka#498, moka-rs/moka#345: one call took very long, or many never came to an end
#[test]
fn a_backlog_is_worked_off_in_bounded_calls() {
    fn run<const BITS: u32>(deadline: u64, budget: usize) {
        let (mut wheel, count) = (Wheel::<usize, BITS>::default(), 20_000);
        for id in 0..count {
            wheel.arm(at(deadline), id);
        }
        let (mut next, mut calls) = (0, 0);
        loop {
            let progress = wheel.advance_bounded(at(deadline), budget, |_, expired| {
                assert_eq!(expired.value, next, "out of order at {deadline}");
                next += 1;
            });
            calls += 1;
            wheel.check();
            assert!(
                progress.fired() <= budget,
                "{progress:?} on a budget of {budget}"
            );
            assert_eq!(
                progress.is_done(),
                wheel.is_empty(),
                "{progress:?}, but {wheel:?}"
            );
            if progress.is_done() {
                break;
            }
            assert!(
                wheel.next_deadline() <= Some(at(deadline)),
                "{progress:?}, but {wheel:?}"
            );
        }
        // Each timer moves down at most once a level, and fires.
        let most = count * 64usize.div_ceil(BITS as usize) / budget + 1;
        assert!(
            next == count && calls <= most,
            "{next} fired in {calls} calls, not {most}"
        );
    }
    for deadline in [0, 50, 5_000, 1 << 20] {
        run::<8>(deadline, 1_000);
        run::<2>(deadline, 999);
    }
}

// netty/netty#11723: a callback that takes long holds up its neighbours
#[test]
fn a_slow_callback_makes_others_late_and_loses_none() {
    let mut wheel = Wheel::new();
    wheel.arm(at(10), 'a');
    wheel.arm(at(11), 'b');
    assert_eq!(drive_to(&mut wheel, 10), [(10, 'a')]); // and takes 100 ticks
    assert_eq!(wheel.next_deadline(), Some(at(11)));
    assert_eq!(drive_to(&mut wheel, 110), [(11, 'b')]);
}

// tokio-rs/tokio#3721, lightningdevkit/ldk-sample#108, oxidecomputer/omicron#9428: a storm of
// ticks after a stall
#[test]
fn after_a_stall_a_period_bursts_delays_or_skips_as_the_caller_chooses() {
    type Next = fn(Tick, Tick) -> u64;
    let policies: [(&str, Next, usize, u64); 3] = [
        ("burst", |deadline, _| deadline.get() + 10, 100, 1_010),
        ("delay", |_, target| target.get() + 10, 1, 1_013),
        ("skip", |_, target| (target.get() / 10 + 1) * 10, 1, 1_010),
    ];
    for (policy, next, ticks, then) in policies {
        let mut wheel = Wheel::new();
        let key = wheel.arm(at(10), ());
        let target = at(1_003);
        let fired = wheel.advance(target, |turn, expired| {
            let next = at(next(expired.deadline, target));
            turn.rearm_expired(expired, next);
        });
        wheel.check();
        assert_eq!(
            (fired, wheel.deadline(key)),
            (ticks, Some(at(then))),
            "{policy}"
        );
        assert_eq!(
            drive_by_next_deadline(&mut wheel, 2_000),
            [(then, ())],
            "{policy}"
        );
    }
}

// libuv/libuv#1142, libuv/libuv#2901, libuv/libuv#181: the callback's own time was added
#[test]
fn a_period_counted_from_its_deadlines_ignores_how_long_callbacks_take() {
    let mut wheel = Wheel::new();
    wheel.arm(at(50), 50);
    wheel.arm(at(7), 7);
    let (mut clock, mut fired) = (0, Vec::new());
    while clock < 400 {
        let mut took = 0;
        wheel.advance(at(clock), |turn, expired| {
            took += if expired.value == 50 { 14 } else { 1 };
            if expired.value == 50 {
                fired.push(expired.deadline.get());
            }
            let next = expired.deadline + Ticks::new(expired.value);
            turn.rearm_expired(expired, next);
        });
        wheel.check();
        clock = (clock + took).max(wheel.next_deadline().map_or(clock, Tick::get));
    }
    assert_eq!(fired, [50, 100, 150, 200, 250, 300, 350]);
}

// ben-manes/caffeine#195: an early wake-up left over from before
#[test]
fn a_wake_up_from_before_a_clear_does_no_harm() {
    let mut wheel = Wheel::new();
    wheel.arm(at(10), 1);
    assert_eq!(drive_to(&mut wheel, 7), []);
    wheel.clear();
    assert_eq!(drive_to(&mut wheel, 8), []);
    wheel.arm(at(18), 2);
    assert_eq!(drive_to(&mut wheel, 10), []);
    assert_eq!(drive_by_next_deadline(&mut wheel, 100), [(18, 2)]);
}

// tokio-rs/tokio#6584: the rest of the batch was lost with the one that panicked
#[test]
fn after_a_panic_in_a_callback_the_rest_fires_in_the_next_call() {
    fn run<const BITS: u32>(spread: u64, bounded: bool) {
        let mut wheel = Wheel::<u64, BITS>::default();
        for id in 1..=10 {
            wheel.arm(at(10 + id * spread), id);
        }
        let end = at(10 + 10 * spread);
        let mut fired = Vec::new();
        let mut fire = |_: &mut Turn<'_, u64, BITS>, expired: Expired<u64>| {
            fired.push(expired.value);
            assert_ne!(expired.value, 4, "as planned");
        };
        let panicked = catch_unwind(AssertUnwindSafe(|| match bounded {
            true => wheel.advance_bounded(end, 100, &mut fire),
            false => Progress::Done {
                fired: wheel.advance(end, &mut fire),
            },
        }));
        assert!(panicked.is_err(), "{panicked:?}");
        wheel.check();
        assert_eq!((wheel.len(), wheel.next_deadline().is_some()), (6, true));
        assert_eq!(wheel.advance(end, fire), 6);
        wheel.check();
        assert_eq!(fired, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "spread {spread}");
    }
    for spread in [0, 1, 13, 64, 5_000] {
        run::<8>(spread, false);
        run::<2>(spread, true);
    }
}

#[test]
fn a_panic_in_the_maker_of_a_value_arms_nothing() {
    let mut wheel = Wheel::<u64>::new();
    for _ in 0..3 {
        let make = |_| panic!("as planned");
        let panicked = catch_unwind(AssertUnwindSafe(|| wheel.arm_with(at(5), make)));
        assert!(panicked.is_err(), "{panicked:?}");
        wheel.check();
        assert_eq!((wheel.len(), wheel.next_deadline()), (0, None));
    }
    let key = wheel.arm_with(at(5), |_| 1);
    assert_eq!((wheel.get(key), wheel.capacity() <= 4), (Some(&1), true));
}

#[test]
fn nothing_that_is_done_between_two_polls_makes_a_turn_endless() {
    type Meanwhile = fn(&mut Wheel<char>);
    let meanwhile: [(&str, Meanwhile); 4] = [
        ("reserve", |wheel| wheel.reserve(100)),
        ("shrink", Wheel::shrink_to_fit),
        ("clear", Wheel::clear),
        ("drain", |wheel| drop(wheel.drain())),
    ];
    for (what, meanwhile) in meanwhile {
        let mut wheel = Wheel::new();
        wheel.arm(at(5), 'a');
        let mut polls = 0;
        while let Some(expired) = wheel.poll(at(5)) {
            polls += 1;
            assert!(polls <= 3, "{what}: fires again and again in one turn");
            meanwhile(&mut wheel);
            wheel.rearm_expired(expired, at(5));
            wheel.check();
        }
        assert_eq!((polls, wheel.next_deadline()), (1, Some(at(5))), "{what}");
    }
}

#[test]
fn a_budget_does_not_change_the_order_of_what_was_rearmed() {
    let order = |budget| {
        let mut wheel = Wheel::<char, 2>::default();
        let a = wheel.arm(at(6), 'a');
        wheel.arm(at(8), 'x');
        let b = wheel.arm(at(10), 'b');
        for tick in 9..12 {
            wheel.arm(at(tick), 'x'); // with b, one more than may move down all at once
        }
        for key in [a, b] {
            assert_eq!(wheel.rearm(key, at(25)), Ok(()));
        }
        let mut fired = String::new();
        let mut fire = |_: &mut Turn<'_, _, 2>, expired: Expired<_>| fired.push(expired.value);
        while !wheel.advance_bounded(at(30), budget, &mut fire).is_done() {
            wheel.check();
        }
        fired
    };
    let unbounded = order(usize::MAX);
    for budget in [1, 2, 3, 5] {
        assert_eq!(order(budget), unbounded, "on a budget of {budget}");
    }
}

#[test]
fn while_a_budget_has_run_out_the_next_deadline_is_now() {
    let mut wheel = Wheel::<u64>::new();
    for id in 0..1_000 {
        wheel.arm(at(10_000), id);
    }
    let mut calls = 0;
    while !wheel.advance_bounded(at(10_000), 7, |_, _| {}).is_done() {
        calls += 1;
        let now = Some(wheel.now());
        assert_eq!(
            (wheel.next_deadline(), wheel.next_work()),
            (now, now),
            "after {calls} calls"
        );
    }
    assert!(calls >= 1_000 / 7, "{calls} calls of 7 for 1000 timers");
    assert_eq!(wheel.next_deadline(), None);
}
