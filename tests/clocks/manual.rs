//! `ManualClock`: shows what it was told, whichever thread told it.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use tickwheel::{Clock, ManualClock, Resolution, Tick, Timestamp, Wheel};

use super::{LAST, at, printed};

#[derive(Clone, Copy, Debug)]
enum Move {
    Advance(Duration),
    Set(u64),
    Jump(u64),
}

/// Ordinary times, and those next to either end.
fn edgy() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..100u64,
        (0..100u64).prop_map(|d| u64::MAX - d)
    ]
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        (0..1000u64).prop_map(|nanos| Move::Advance(Duration::from_nanos(nanos))),
        (any::<u64>(), 0..1_000_000_000u32)
            .prop_map(|(secs, sub)| Move::Advance(Duration::new(secs, sub))),
        edgy().prop_map(Move::Set),
        edgy().prop_map(Move::Jump),
    ]
}

proptest! {
    #[test]
    fn it_shows_what_it_was_told_and_never_never(
        start in edgy(), moves in proptest::collection::vec(moves(), 0..20),
    ) {
        let last = u128::from(LAST.as_nanos());
        let clock = ManualClock::starting_at(at(start));
        let witness = clock.clone();
        let mut model = u128::from(start).min(last);
        for step in moves {
            let before = model;
            let (wanted, returned) = match step {
                Move::Advance(span) => (before + span.as_nanos(), Some(clock.advance(span))),
                Move::Set(to) => (before.max(to.into()), Some(clock.set(at(to)))),
                Move::Jump(to) => {
                    clock.jump(at(to));
                    (to.into(), None)
                }
            };
            model = wanted.min(last);
            let shown = witness.now();
            prop_assert_eq!(u128::from(shown.as_nanos()), model, "{} then {:?}", before, step);
            if let Some(returned) = returned {
                prop_assert_eq!(returned, shown, "returned by {:?} at {}", step, before);
            }
        }
    }
}

#[test]
fn told_to_show_never_it_shows_the_last_moment_before() {
    let told: [fn(&ManualClock); 3] = [
        |clock| clock.jump(Timestamp::NEVER),
        |clock| assert_eq!(clock.set(Timestamp::NEVER), LAST, "what `set` returned"),
        |clock| {
            assert_eq!(
                clock.advance(Duration::MAX),
                LAST,
                "what `advance` returned"
            );
        },
    ];
    for (how, tell) in told.into_iter().enumerate() {
        let clock = ManualClock::new();
        tell(&clock);
        assert_eq!(clock.now(), LAST, "told in way {how}");
    }
    let clock = ManualClock::starting_at(Timestamp::NEVER);
    assert_eq!(clock.now(), LAST, "started there");
    assert_eq!(
        clock.advance(Duration::from_nanos(1)),
        LAST,
        "advanced from {LAST:?}"
    );
}

#[test]
fn clones_share_the_time_and_new_clocks_do_not() {
    let clock = ManualClock::new();
    let (clone, other) = (clock.clone(), ManualClock::default());
    clone.advance(Duration::from_secs(1));
    assert_eq!(
        clock.now(),
        at(1_000_000_000),
        "a clone was advanced by 1 s"
    );
    assert_eq!(
        other.now(),
        Timestamp::ZERO,
        "another clock was advanced by 1 s"
    );
    assert_eq!(printed(&clock), "ManualClock(Timestamp(1s))");
}

#[test]
fn what_threads_add_at_once_adds_up() {
    const THREADS: u64 = 4;
    const TIMES: u64 = 200_000;
    let (clock, start) = (ManualClock::new(), Barrier::new(THREADS as usize));
    thread::scope(|scope| {
        for thread in 1..=THREADS {
            let (clock, start) = (clock.clone(), &start);
            scope.spawn(move || {
                start.wait();
                let mut shown = clock.now();
                for _ in 0..TIMES {
                    let after = clock.advance(Duration::from_nanos(thread));
                    let moved = after.as_nanos().saturating_sub(shown.as_nanos());
                    assert!(moved >= thread, "{shown:?} + {thread} ns showed {after:?}");
                    shown = after;
                }
            });
        }
    });
    let sum = TIMES * (1..=THREADS).sum::<u64>();
    assert_eq!(
        clock.now(),
        at(sum),
        "{THREADS} threads added 1, 2, ... ns {TIMES} times"
    );
}

#[test]
fn setting_it_from_several_threads_never_moves_it_back() {
    const THREADS: u64 = 3;
    const TIMES: u64 = 20_000;
    let (clock, start) = (ManualClock::new(), Barrier::new(THREADS as usize));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (clock, start) = (clock.clone(), &start);
            scope.spawn(move || {
                start.wait();
                let mut earlier = clock.now();
                for time in 0..TIMES {
                    let to = at(time * THREADS + thread);
                    let shown = clock.set(to);
                    let now = clock.now();
                    assert!(
                        to <= shown && earlier <= shown && shown <= now,
                        "{earlier:?}, set to {to:?}: showed {shown:?}, then {now:?}"
                    );
                    earlier = now;
                }
            });
        }
    });
    assert_eq!(
        clock.now(),
        at(TIMES * THREADS - 1),
        "the latest time it was set to"
    );
}

#[test]
fn who_sees_the_time_sees_what_was_done_before_it() {
    type Mover = fn(&ManualClock, u64);
    let movers: [(&str, Mover); 3] = [
        ("advance", |clock, _| {
            clock.advance(Duration::from_nanos(1));
        }),
        ("set", |clock, to| {
            clock.set(at(to));
        }),
        ("jump", |clock, to| clock.jump(at(to))),
    ];
    for (name, mover) in movers {
        let (clock, done) = (ManualClock::new(), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                for step in 1..=500 {
                    done.store(step, Ordering::Relaxed);
                    mover(&clock, step);
                }
            });
            let mut now = 0;
            while now < 500 {
                now = clock.now().as_nanos();
                let done = done.load(Ordering::Relaxed);
                assert!(
                    done >= now,
                    "{name}: the clock reads {now}, only {done} is done"
                );
                std::hint::spin_loop();
            }
        });
    }
}

#[test]
fn a_wheel_bears_a_clock_that_goes_back() {
    let (clock, ns) = (ManualClock::starting_at(at(100)), Resolution::NANOSECOND);
    let mut wheel = Wheel::new();
    assert!(wheel.poll(ns.now(clock.now())).is_none());
    wheel.arm(Tick::new(120), "due at 120");

    clock.jump(at(50));
    assert_eq!(
        wheel.poll(ns.now(clock.now())),
        None,
        "the clock went back to 50"
    );
    assert_eq!(wheel.now(), Tick::new(100), "the clock went back to 50");

    for now in [119, 120] {
        let fired = wheel
            .poll(ns.now(clock.set(at(now))))
            .map(|timer| timer.value);
        assert_eq!(fired, (now == 120).then_some("due at 120"), "at {now}");
    }
}
